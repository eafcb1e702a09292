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
//! Cost: linear in the operands. Source: the ptxas-scheduling document, barrier assignment (a pool of free barriers,
//! returned when all dependents have waited), with sharing in place of eviction.

use crate::code::{Code, Special, index};
use crate::original::Original;
use fixedbitset::FixedBitSet;
use sassafras_ir::cfg::Cfg;
use sassafras_ir::{Block, Effects, Inst};
use sassafras_machine::mined::{File, Use};
use smallvec::SmallVec;

/// The scoreboards of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Boards {
    /// Says when the result is there.
    pub write: Option<u8>,
    /// Says when the sources have been read.
    pub read: Option<u8>,
}

/// Assigns scoreboards to all instructions of a function. `reads` names those whose sources need one.
pub fn assign(code: &Code<'_>, original: &Original, cfg: &Cfg, reads: &mut FixedBitSet) -> Vec<Boards> {
    let f = code.f;
    let mut assigner = Assigner {
        code,
        original,
        boards: vec![Boards::default(); f.inst_count()],
        leaving: vec![Vec::new(); f.block_count()],
        last_writer: vec![NOBODY; usize::from(crate::code::LANES)],
        readers: vec![SmallVec::new(); 256],
        touched: Vec::new(),
    };
    let blocks = cfg.reverse_post_order().iter().copied();
    let blocks = blocks.chain(f.blocks().filter(|&block| !cfg.is_reachable(block)));
    for block in blocks {
        let spans = assigner.spans(cfg, block, reads);
        let is_loop = cfg.succs(block).contains(&block);
        let rounds = if is_loop { 2 } else { 1 };
        for _ in 0..rounds {
            assigner.block(cfg, block, &spans);
        }
    }
    assigner.boards
}

const NOBODY: u32 = u32::MAX;
/// How far behind a block its successors are searched for who waits.
const LOOK: usize = 48;
/// Where someone waits who was not found.
const FAR: u32 = 64;

/// An instruction that needs a scoreboard, and where it is first waited for, both by position in the block.
#[derive(Clone, Copy, Debug)]
struct Need {
    at: u32,
    /// Nobody in sight waits.
    until: Option<u32>,
    latency: u32,
    is_read: bool,
}

/// A scoreboard in use: who waits for it next, and when the last result is expected.
#[derive(Clone, Copy, Debug)]
struct Held {
    until: u32,
    ready: u32,
}

struct Assigner<'a, 'f> {
    code: &'a Code<'f>,
    original: &'a Original,
    boards: Vec<Boards>,
    /// By block: scoreboards still held at its end, positions counted from there.
    leaving: Vec<Vec<(u8, Held)>>,
    last_writer: Vec<u32>,
    readers: Vec<SmallVec<[u32; 4]>>,
    touched: Vec<u16>,
}

impl Assigner<'_, '_> {
    /// What in a block needs scoreboards, in order.
    fn spans(&mut self, cfg: &Cfg, block: Block, reads: &mut FixedBitSet) -> Vec<Need> {
        let code = self.code;
        let insts = code.f.block_insts(block);
        let n = insts.len();
        let mut write_until = vec![NOBODY; n];
        let mut read_until = vec![NOBODY; n];
        for (at, &inst) in insts.iter().enumerate() {
            self.meet(insts, inst, at as u32, &mut write_until, &mut read_until, reads);
            self.enter(inst, at as u32);
        }
        // Who waits behind the block: the block itself when it is a loop, else what follows.
        let next = cfg.succs(block);
        for &succ in next.iter().filter(|&&succ| succ == block || !next.contains(&block)) {
            for (i, &inst) in
                code.f.block_insts(succ).iter().take(if succ == block { n } else { LOOK }).enumerate()
            {
                self.meet(insts, inst, (n + i) as u32, &mut write_until, &mut read_until, reads);
            }
        }
        for lane in self.touched.drain(..) {
            self.last_writer[usize::from(lane)] = NOBODY;
            if let Some(readers) = self.readers.get_mut(usize::from(lane)) {
                readers.clear();
            }
        }
        let mut needs = Vec::new();
        for (at, &inst) in insts.iter().enumerate() {
            let op = code.op(inst);
            if op.special == Special::Warpgroup {
                continue;
            }
            let old = &self.original.fields[index(inst)];
            let token = self.original.tokens.contains_key(&inst);
            let guarded = code.writes(inst).iter().any(|touch| code.is_guarded(inst, touch));
            let found = |until: u32| Some(until).filter(|&until| until != NOBODY);
            let mut need = |until, latency: u16, is_read| {
                needs.push(Need { at: at as u32, until: found(until), latency: u32::from(latency), is_read });
            };
            let by_read = guarded && self.original.announces_by_read(inst);
            if guarded && !by_read || token && old.write.is_some() {
                need(write_until[at], op.expected.write, false);
            }
            if by_read || token && old.read.is_some() || op.decoupled && reads.contains(index(inst)) {
                need(write_until[at].min(read_until[at]), op.expected.read, true);
            }
        }
        needs
    }

    /// An instruction waits for what is under way on the lanes that it touches. `at` may lie behind the block.
    fn meet(
        &mut self,
        insts: &[Inst],
        inst: Inst,
        at: u32,
        write_until: &mut [u32],
        read_until: &mut [u32],
        reads: &mut FixedBitSet,
    ) {
        let code = self.code;
        let queues = code.op(inst).queues;
        for touch in code.reads(inst) {
            let producer = self.last_writer[usize::from(touch.lane)];
            if producer != NOBODY && producer < at {
                let until = &mut write_until[producer as usize];
                *until = (*until).min(at);
            }
        }
        for touch in code.writes(inst) {
            let producer = self.last_writer[usize::from(touch.lane)];
            if producer != NOBODY && producer < at {
                let returns = code.op(insts[producer as usize]).queues.returns;
                if returns == 0 || returns != queues.returns {
                    let until = &mut write_until[producer as usize];
                    *until = (*until).min(at);
                }
            }
            if let Some(readers) = self.readers.get(usize::from(touch.lane)) {
                for &reader in readers {
                    if reader >= at {
                        continue;
                    }
                    // A result that was waited for shows that the sources had been read.
                    if write_until[reader as usize] > at {
                        let until = &mut read_until[reader as usize];
                        *until = (*until).min(at);
                        if (at as usize) < insts.len() {
                            reads.insert(index(insts[reader as usize]));
                        }
                    }
                }
            }
        }
    }

    /// An instruction of the block is under way.
    fn enter(&mut self, inst: Inst, at: u32) {
        let code = self.code;
        let kills = code.f.inst(inst).guard.is_none();
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

    fn block(&mut self, cfg: &Cfg, block: Block, needs: &[Need]) {
        let insts = self.code.f.block_insts(block);
        let n = insts.len() as u32;
        let mut held: [Option<Held>; 6] = [None; 6];
        let mut last_used = [0u32; 6];
        for &pred in cfg.preds(block) {
            for &(board, theirs) in &self.leaving[pred.as_u32() as usize] {
                let ours = &mut held[usize::from(board)];
                *ours = Some(ours.map_or(theirs, |ours| Held {
                    until: ours.until.max(theirs.until),
                    ready: ours.ready.max(theirs.ready),
                }));
            }
        }
        for need in needs {
            let inst = insts[need.at as usize];
            for slot in &mut held {
                if slot.is_some_and(|held| held.until <= need.at) {
                    *slot = None;
                }
            }
            // What nobody waits for is over when it is done.
            let ready = need.at + need.latency;
            let until = need.until.unwrap_or(ready.min(n + FAR));
            let board = self
                .pinned(inst, need)
                .unwrap_or_else(|| self.choose(&held, &last_used, until, ready, need.at));
            let slot = &mut held[usize::from(board)];
            *slot = Some(slot.map_or(Held { until, ready }, |held| Held {
                until: held.until.max(until),
                ready: held.ready.max(ready),
            }));
            last_used[usize::from(board)] = need.at + 1;
            let boards = &mut self.boards[index(inst)];
            if need.is_read {
                boards.read = Some(board);
            } else {
                boards.write = Some(board);
            }
        }
        let leaves = insts.last().is_some_and(|&last| {
            let effects = self.code.f.inst(last).effects;
            effects.intersects(Effects::EXIT | Effects::RET) && self.code.f.inst(last).guard.is_none()
        });
        let out = &mut self.leaving[block.as_u32() as usize];
        out.clear();
        if !leaves {
            for (board, held) in held.iter().enumerate() {
                if let Some(held) = held.filter(|held| held.until > n) {
                    let less = |at: u32| at.saturating_sub(n);
                    out.push((board as u8, Held { until: less(held.until), ready: less(held.ready) }));
                }
            }
        }
    }

    /// The scoreboard that an instruction keeps, if a `DEPBAR` counts on it.
    fn pinned(&self, inst: Inst, need: &Need) -> Option<u8> {
        let old = &self.original.fields[index(inst)];
        let board = if need.is_read { old.read } else { old.write };
        board.filter(|board| self.original.pinned >> board & 1 == 1)
    }

    fn choose(&self, held: &[Option<Held>; 6], last_used: &[u32; 6], until: u32, ready: u32, at: u32) -> u8 {
        let usable = (0..6u8).filter(|board| self.original.pinned >> board & 1 == 0);
        let cost = |board: u8| match held[usize::from(board)] {
            Some(held) if held.until == until => (0, 0),
            None => (1, last_used[usize::from(board)]),
            Some(held) => {
                let theirs = if held.until > at { ready.saturating_sub(held.until) } else { 0 };
                (2 + theirs + held.ready.saturating_sub(until), 0)
            }
        };
        usable.min_by_key(|&board| (cost(board), board)).unwrap_or(5)
    }
}
