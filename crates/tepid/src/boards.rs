//! Goal: which of the six scoreboards each instruction sets.
//!
//! Any assignment is safe: waits are placed afterwards from what was assigned. A good one keeps instructions apart that
//! are waited for at different places. In order of priority:
//!
//! 1. an instruction that is first waited for where another one is, shares its scoreboard: that costs nothing;
//! 2. a scoreboard that nobody needs any more, the longest unused one first;
//! 3. the scoreboard with which sharing delays the least, by the expected latencies of those that would share it.
//!
//! Results and sources have scoreboards of their own (`write`, `read`). A read scoreboard is given only to an instruction
//! whose sources are overwritten before something else shows that they have been read. What leaves a block under way
//! keeps its scoreboard into the next one, and around a loop.
//!
//! Or each keeps the one that it came with ([`Keep`]), and only what came without one gets one in this way: where little moved, the
//! compiler that made the code knew where everybody waits, in other blocks, too.
//!
//! Cost: linear in the operands. Source: the ptxas-scheduling document, barrier assignment (a pool of free barriers,
//! returned when all dependents have waited), with sharing in place of eviction.

use crate::code::{Code, Special, index};
use crate::control::Keep;
use crate::original::Original;
use fixedbitset::FixedBitSet;
use sassafras_ir::cfg::Cfg;
use sassafras_ir::{Block, Effects, Inst};
use sassafras_machine::mined::{File, Use};
use smallvec::SmallVec;
use std::collections::VecDeque;

/// The scoreboards of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Boards {
    /// Says when the result is there.
    pub write: Option<u8>,
    /// Says when the sources have been read.
    pub read: Option<u8>,
}

/// Blocks as they were given scoreboards last, for when nothing has changed around them. For one function.
#[derive(Default)]
pub struct Given {
    /// The last two of each: a loop is gone through twice.
    by_block: Vec<Vec<Known>>,
}

/// What the scoreboards of a block depend on, and what came of it.
struct Known {
    entering: Vec<Leaving>,
    /// How many of its instructions need a scoreboard for their sources; none ever ceases to.
    reads: usize,
    boards: Vec<Boards>,
    leaving: Vec<Leaving>,
}

/// Assigns scoreboards to all instructions of a function. `reads` names those whose sources need one.
pub fn assign(
    (code, original): (&Code<'_>, &Original),
    cfg: &Cfg,
    keep: Keep<'_>,
    reads: &mut FixedBitSet,
    given: &mut Given,
) -> Vec<Boards> {
    let f = code.f;
    given.by_block.resize_with(f.block_count(), Vec::new);
    let mut assigner = Assigner {
        code,
        original,
        keep: keep != Keep::Nothing,
        boards: vec![Boards::default(); f.inst_count()],
        leaving: vec![Vec::new(); f.block_count()],
        last_writer: vec![NOBODY; usize::from(crate::code::LANES)],
        readers: vec![SmallVec::new(); 256],
        touched: Vec::new(),
    };
    let blocks = cfg.reverse_post_order().iter().copied();
    let blocks = blocks.chain(f.blocks().filter(|&block| !cfg.is_reachable(block)));
    for block in blocks {
        // A loop sees in the second round what it leaves under way itself.
        let rounds = if cfg.succs(block).contains(&block) { 2 } else { 1 };
        for _ in 0..rounds {
            assigner.block(cfg, block, reads, &mut given.by_block[block.as_u32() as usize]);
        }
    }
    let mut boards = assigner.boards;
    if let Keep::Blocks(kept) = keep {
        for inst in kept.ones() {
            let came = &original.fields[inst];
            boards[inst].write = came.write.or(boards[inst].write);
            boards[inst].read = came.read.or(boards[inst].read);
        }
    }
    boards
}

const NOBODY: u32 = u32::MAX;
/// How far behind a block, and in how many blocks, who waits is searched for.
const LOOK: usize = 160;
const LOOK_BLOCKS: usize = 8;
/// Slow instructions share a scoreboard, so that quick ones find another, when that delays nobody by more than this.
const SLOW: u32 = 100;
const SLOW_DELAY: u32 = 16;
const TOGETHER: u32 = 8;
/// They do not while so many scoreboards are free: an H200 runs q4_gemv 1.4 % slower when its two loads share one.
const PLENTY: usize = 3;
/// Where someone waits who was not found.
const FAR: u32 = 200;

/// Where an instruction is taken to be waited for when nobody was found: when it is done, somewhere behind the block. No two
/// instructions share a scoreboard because of it.
fn unknown(end: u32, ready: u32, at: u32) -> u32 {
    if ready <= end + LOOK as u32 { ready } else { end + FAR + at }
}

/// A scoreboard set by an instruction, and where it is first waited for, by position.
#[derive(Clone, Copy, Debug)]
struct Need {
    inst: Inst,
    at: u32,
    /// Nobody in sight waits.
    until: Option<u32>,
    latency: u32,
    is_read: bool,
}

/// What a block leaves under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Leaving {
    inst: Inst,
    board: u8,
    is_read: bool,
    /// Instructions until it is expected to be done.
    left: u32,
}

/// A scoreboard in use: who waits for it first and last, and when the last result is expected.
#[derive(Clone, Copy, Debug)]
struct Held {
    first: u32,
    last: u32,
    ready: u32,
}

struct Assigner<'a, 'f> {
    code: &'a Code<'f>,
    original: &'a Original,
    /// Whether instructions keep what they came with.
    keep: bool,
    boards: Vec<Boards>,
    leaving: Vec<Vec<Leaving>>,
    last_writer: Vec<u32>,
    readers: Vec<SmallVec<[u32; 4]>>,
    touched: Vec<u16>,
}

/// The instructions that may be under way in a block, those that enter it first, and where each is first waited for.
struct Window {
    insts: Vec<Inst>,
    write_until: Vec<u32>,
    read_until: Vec<u32>,
    /// How many entered.
    entered: u32,
}

impl Assigner<'_, '_> {
    fn block(&mut self, cfg: &Cfg, block: Block, reads: &mut FixedBitSet, given: &mut Vec<Known>) {
        let insts = self.code.f.block_insts(block);
        let mut entering: Vec<Leaving> = Vec::new();
        for &pred in cfg.preds(block) {
            for &theirs in &self.leaving[pred.as_u32() as usize] {
                let same = |ours: &&mut Leaving| (ours.inst, ours.is_read) == (theirs.inst, theirs.is_read);
                match entering.iter_mut().find(same) {
                    Some(ours) => ours.left = ours.left.max(theirs.left),
                    None => entering.push(theirs),
                }
            }
        }
        let asked = |reads: &FixedBitSet| insts.iter().filter(|&&inst| reads.contains(index(inst))).count();
        let needed = asked(reads);
        let same = |known: &&Known| known.reads == needed && known.entering == entering;
        if let Some(known) = given.iter().find(same) {
            for (&inst, &boards) in insts.iter().zip(&known.boards) {
                self.boards[index(inst)] = boards;
            }
            self.leaving[block.as_u32() as usize].clone_from(&known.leaving);
            return;
        }
        let window = self.window(cfg, block, &entering, reads);
        let end = window.insts.len() as u32;
        let mut held: [Option<Held>; 6] = [None; 6];
        let mut out = Vec::new();
        let hold = |held: &mut [Option<Held>; 6], board: u8, until: u32, ready: u32| {
            let slot = &mut held[usize::from(board)];
            *slot = Some(slot.map_or(Held { first: until, last: until, ready }, |held| Held {
                first: held.first.min(until),
                last: held.last.max(until),
                ready: held.ready.max(ready),
            }));
        };
        for (i, entered) in entering.iter().enumerate() {
            let found = if entered.is_read { window.read_until[i] } else { window.write_until[i] };
            let ready = window.entered + entered.left;
            let until = if found == NOBODY { unknown(end, ready, i as u32) } else { found };
            hold(&mut held, entered.board, until, ready);
            if found >= end && ready > end {
                out.push(Leaving { left: ready - end, ..*entered });
            }
        }
        let mut last_used = [0u32; 6];
        for need in self.needs(&window, reads) {
            for slot in &mut held {
                match slot {
                    Some(held) if held.last <= need.at => *slot = None,
                    // Who waited first waited for all that had been set.
                    Some(held) if held.first <= need.at => held.first = held.last,
                    _ => {}
                }
            }
            // What nobody waits for is over when it is done.
            let ready = need.at + need.latency;
            let until = need.until.unwrap_or_else(|| unknown(end, ready, need.at));
            let kept = self.kept(need.inst, &need);
            let board = kept.unwrap_or_else(|| self.choose(&held, &last_used, until, ready, need.at));
            hold(&mut held, board, until, ready);
            last_used[usize::from(board)] = need.at + 1;
            let boards = &mut self.boards[index(need.inst)];
            let side = if need.is_read { &mut boards.read } else { &mut boards.write };
            *side = Some(board);
            if need.until.is_none_or(|until| until >= end) && ready > end {
                out.push(Leaving { inst: need.inst, board, is_read: need.is_read, left: ready - end });
            }
        }
        let leaves = insts.last().is_some_and(|&last| {
            let effects = self.code.f.inst(last).effects;
            effects.intersects(Effects::EXIT | Effects::RET) && self.code.f.inst(last).guard.is_none()
        });
        let leaving = if leaves { Vec::new() } else { out };
        self.leaving[block.as_u32() as usize].clone_from(&leaving);
        let boards = insts.iter().map(|&inst| self.boards[index(inst)]).collect();
        if given.len() == 2 {
            given.remove(0);
        }
        given.push(Known { entering, reads: asked(reads), boards, leaving });
    }

    /// Finds who waits for what.
    fn window(&mut self, cfg: &Cfg, block: Block, entering: &[Leaving], reads: &mut FixedBitSet) -> Window {
        let code = self.code;
        let block_insts = code.f.block_insts(block);
        let insts: Vec<Inst> =
            entering.iter().map(|entered| entered.inst).chain(block_insts.iter().copied()).collect();
        let n = insts.len();
        let entered = entering.len() as u32;
        let mut window = Window { insts, write_until: vec![NOBODY; n], read_until: vec![NOBODY; n], entered };
        for at in 0..n {
            let inst = window.insts[at];
            if at as u32 >= entered {
                self.meet(&mut window, inst, at as u32, reads);
            }
            self.enter(inst, at as u32, at as u32 >= entered);
        }
        // Who waits behind the block: the block itself when it is a loop, else what follows, nearest first.
        let mut ahead: VecDeque<(Block, u32)> =
            cfg.succs(block).iter().map(|&succ| (succ, n as u32)).collect();
        if cfg.succs(block).contains(&block) {
            ahead = VecDeque::from([(block, n as u32)]);
        }
        let mut seen: SmallVec<[Block; 8]> = SmallVec::new();
        while let Some((succ, from)) = ahead.pop_front() {
            if seen.contains(&succ) || seen.len() >= LOOK_BLOCKS {
                continue;
            }
            seen.push(succ);
            let insts = code.f.block_insts(succ);
            let look = if succ == block { insts.len() } else { LOOK };
            for (&inst, at) in insts.iter().take(look).zip(from..) {
                self.meet(&mut window, inst, at, reads);
            }
            let next = from + insts.len() as u32;
            if succ != block && next < n as u32 + LOOK as u32 {
                ahead.extend(cfg.succs(succ).iter().map(|&succ| (succ, next)));
            }
        }
        for lane in self.touched.drain(..) {
            self.last_writer[usize::from(lane)] = NOBODY;
            if let Some(readers) = self.readers.get_mut(usize::from(lane)) {
                readers.clear();
            }
        }
        window
    }

    /// What in a block needs scoreboards, in order.
    fn needs(&self, window: &Window, reads: &FixedBitSet) -> Vec<Need> {
        let code = self.code;
        let mut needs = Vec::new();
        for (at, &inst) in window.insts.iter().enumerate().skip(window.entered as usize) {
            let op = code.op(inst);
            if op.special == Special::Warpgroup {
                continue;
            }
            let old = &self.original.fields[index(inst)];
            let token = self.original.is_fence(inst);
            let guarded = code.writes(inst).iter().any(|touch| code.is_guarded(inst, touch));
            let (write, read) = (window.write_until[at], window.read_until[at]);
            let mut need = |until: u32, latency: u16, is_read| {
                let until = Some(until).filter(|&until| until != NOBODY);
                needs.push(Need { inst, at: at as u32, until, latency: u32::from(latency), is_read });
            };
            let by_read = guarded && self.original.announces_by_read(code, inst);
            if guarded && !by_read || token && old.write.is_some() {
                need(write, op.expected.write, false);
            }
            // Where compiled code never has a scoreboard for sources, the result is waited for.
            let may = op.decoupled && !(op.shows_reads_by_result && guarded);
            if by_read || token && old.read.is_some() || may && reads.contains(index(inst)) {
                need(if by_read { write.min(read) } else { read }, op.expected.read, true);
            }
        }
        needs
    }

    /// An instruction waits for what is under way on the lanes that it touches. `at` may lie behind the block.
    fn meet(&mut self, window: &mut Window, inst: Inst, at: u32, reads: &mut FixedBitSet) {
        let code = self.code;
        let queues = code.op(inst).queues;
        for touch in code.reads(inst) {
            let producer = self.last_writer[usize::from(touch.lane)];
            if producer != NOBODY && producer < at {
                let until = &mut window.write_until[producer as usize];
                *until = (*until).min(at);
            }
        }
        for touch in code.writes(inst) {
            let producer = self.last_writer[usize::from(touch.lane)];
            if producer != NOBODY && producer < at {
                let returns = code.op(window.insts[producer as usize]).queues.returns;
                if returns == 0 || returns != queues.returns {
                    let until = &mut window.write_until[producer as usize];
                    *until = (*until).min(at);
                }
            }
            for &reader in self.readers.get(usize::from(touch.lane)).into_iter().flatten() {
                // Some results are written so late that those before them in the block have read their sources.
                let here = reader >= window.entered && (at as usize) < window.insts.len();
                if here && queues.overwrites(code.op(window.insts[reader as usize]).queues) {
                    continue;
                }
                // A result that was waited for shows that the sources had been read.
                if reader < at && window.write_until[reader as usize] > at {
                    let until = &mut window.read_until[reader as usize];
                    *until = (*until).min(at);
                    if reader >= window.entered && (at as usize) < window.insts.len() {
                        reads.insert(index(window.insts[reader as usize]));
                    }
                }
            }
        }
    }

    /// An instruction is under way.
    fn enter(&mut self, inst: Inst, at: u32, here: bool) {
        let code = self.code;
        let kills = here && code.f.inst(inst).guard.is_none();
        for touch in code.writes(inst) {
            let lane = usize::from(touch.lane);
            if kills || code.is_guarded(inst, touch) {
                self.last_writer[lane] = if code.is_guarded(inst, touch) { at } else { NOBODY };
                self.touched.push(touch.lane);
            }
            if kills && let Some(readers) = self.readers.get_mut(lane) {
                readers.clear();
            }
        }
        if code.op(inst).decoupled {
            for touch in code.reads(inst) {
                let plain = matches!(touch.used_as, Use::Operand | Use::Address);
                if touch.file == File::General && plain {
                    self.readers[usize::from(touch.lane)].push(at);
                    self.touched.push(touch.lane);
                }
            }
        }
    }

    /// The scoreboard that an instruction keeps: if a `DEPBAR` counts on it, or where all do.
    fn kept(&self, inst: Inst, need: &Need) -> Option<u8> {
        let old = &self.original.fields[index(inst)];
        let board = if need.is_read { old.read } else { old.write };
        board.filter(|board| self.keep || self.original.pinned >> board & 1 == 1)
    }

    fn choose(&self, held: &[Option<Held>; 6], last_used: &[u32; 6], until: u32, ready: u32, at: u32) -> u8 {
        let usable = (0..6u8).filter(|board| self.original.pinned >> board & 1 == 0);
        // While there are plenty, nobody has to wait for two results where one is asked for.
        let scarce = usable.clone().filter(|&board| held[usize::from(board)].is_none()).count() < PLENTY;
        let cost = |board: u8| match held[usize::from(board)] {
            Some(held) if held.first == until && held.last == until => (0, 0),
            None => (1, last_used[usize::from(board)]),
            Some(held) => {
                // How much longer each waits than it would alone.
                let both = ready.max(held.ready);
                let more = |until: u32, ready: u32| both.saturating_sub(until) - ready.saturating_sub(until);
                let delay = more(held.first, held.ready) + more(until, ready);
                let slow = ready - at >= SLOW && held.ready.saturating_sub(at) >= SLOW;
                let together =
                    held.first.abs_diff(until) <= TOGETHER && held.last.abs_diff(until) <= TOGETHER;
                (if scarce && slow && together && delay <= SLOW_DELAY { 0 } else { 2 + delay }, 0)
            }
        };
        usable.min_by_key(|&board| (cost(board), board)).unwrap_or(5)
    }
}
