//! Goal: waits and stalls for the instructions as they stand, with scoreboards assigned.
//!
//! One forward data flow over the blocks. Every instruction waits for the scoreboards of what it touches and has not been
//! waited for on every path to it: the last place where that is safe, and nothing is waited for twice. Every result of
//! fixed latency is given its cycles by the stall of the instruction before; where a block starts too soon behind
//! another, the last instruction of that one stalls longer. Scoreboards stay under way across branches and back edges.
//!
//! In order of priority: no hazard; no wait or stall that is not needed.
//!
//! Cost: linear in the operands per round; a function settles in two or three. Source: the ptxas-scheduling document
//! (scoreboard tracking, wait optimiser, stall propagation and stall-count optimiser); distances are mined.

use crate::boards::Boards;
use crate::came::{Step, least_cycles};
use crate::code::{Between, Code, Distances, LANES, Sighting, Special, Touch, index};
use crate::control::Keep;
use crate::obstacle::{Obstacle, Rule, Unsolvable};
use crate::original::{Depbar, Fields, Original};
use crate::queue::Queue;
use crate::spacing::{LONGEST, Spacing, longest_read};
use crate::state::{Exit, Pending, Reading, Recent, State, Tag, boards, exclude, predicate_place};
use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;
use sassafras_ir::cfg::Cfg;
use sassafras_ir::{Block, Effects, Inst, Operand, Payload};
use sassafras_machine::Category;
use sassafras_machine::constants;
use sassafras_machine::dispatch::Pipe;
use sassafras_machine::mined::seen::REACH;
use sassafras_machine::mined::{File, Use};
use smallvec::SmallVec;
use std::cell::Cell;
use std::rc::Rc;

/// How many pipes there are.
pub const PIPES: usize = Pipe::ALL.len();

const MAX_STALL: u8 = 15;
/// How many blocks back stalls are looked for.
const DEEP: u32 = 3;

/// From these expected cycles on nobody waits for a result only to overwrite a source.
const SLOW: u16 = 100;
/// How often a block is done again because long distances take several stalls.
const PASSES: u32 = 64;
/// How often a block may be gone through before its waits only grow.
const FREE_VISITS: u32 = 8;

/// What is asked for again and again, whatever the scoreboards are.
pub struct Tools<'c, 'f> {
    distances: Distances<'c, 'f>,
    spacing: Spacing<'c, 'f>,
    state: Option<State>,
    visited: Visited,
}

/// What came of going through blocks, for when they are gone through again with nothing changed: from one round to the next most blocks
/// have the same scoreboards.
#[derive(Default)]
struct Visited {
    /// By block, the last ones behind the others.
    by_block: Vec<Vec<Known>>,
    /// How much is kept.
    size: usize,
}

/// A block that was gone through with nothing to be done elsewhere because of it, and what came of that.
struct Known {
    entry: Rc<Exit>,
    /// By instruction of the block.
    floors: Vec<u8>,
    /// How many of its instructions are eased; none is ever taken back.
    eased: usize,
    /// By instruction of the block; the scoreboards are those that were given.
    fields: Vec<Fields>,
    /// The states at calls inside the code.
    calls: Vec<(Block, Inst, Rc<Exit>)>,
    exit: Rc<Exit>,
}

impl Visited {
    /// How many visits of a block are kept.
    const EACH: usize = 4;
    /// How many instructions and results under way are kept, about.
    const MOST: usize = 1 << 20;

    fn insert(&mut self, block: Block, known: Known) {
        let size = known.fields.len() + known.entry.pending.len() + known.exit.pending.len();
        if self.size + size > Visited::MOST {
            self.by_block.iter_mut().for_each(Vec::clear);
            self.size = 0;
        }
        self.size += size;
        let kept = &mut self.by_block[block.as_u32() as usize];
        if kept.len() == Visited::EACH {
            kept.remove(0);
        }
        kept.push(known);
    }
}

thread_local! {
    /// A state that nobody uses: blocks by themselves are gone through thousands of times.
    static SPARE: Cell<Option<State>> = const { Cell::new(None) };
}

impl Drop for Tools<'_, '_> {
    fn drop(&mut self) {
        SPARE.set(self.state.take());
    }
}

impl<'c, 'f> Tools<'c, 'f> {
    /// Nothing asked yet.
    pub fn new(code: &'c Code<'f>, original: &'c Original) -> Tools<'c, 'f> {
        let lanes = usize::from(LANES) + original.tokens.len();
        let mut state = SPARE.take().unwrap_or_else(|| State::new(lanes));
        state.fit(lanes);
        let visited = Visited { by_block: (0..code.f.block_count()).map(|_| Vec::new()).collect(), size: 0 };
        Tools {
            distances: Distances::new(code),
            spacing: Spacing::new(code, original),
            state: Some(state),
            visited,
        }
    }
}

/// Waits and stalls for every instruction. Instructions whose sources are overwritten with nothing to wait for are
/// added to `reads`: they need a read scoreboard, and the fields do not count. Those that are `eased` stand no further behind others than they came.
pub fn assign<'f>(
    (code, original, keep): (&Code<'f>, &Original, Keep<'_>),
    cfg: &Cfg,
    boards: &[Boards],
    (reads, eased): (&mut FixedBitSet, &FixedBitSet),
    tools: &mut Tools<'_, 'f>,
) -> Result<Vec<Fields>, Unsolvable> {
    let f = code.f;
    let Tools { distances, spacing, state, visited } = tools;
    let state = state.get_or_insert_with(|| State::new(usize::from(LANES) + original.tokens.len()));
    let blank = Fields { stall: 1, yields: false, write: None, read: None, wait: 0, reuse: 0 };
    let mut pass = Pass {
        code,
        original,
        keep,
        boards,
        cfg,
        distances,
        spacing,
        state,
        visited,
        fields: vec![blank; f.inst_count()],
        floors: vec![0; f.inst_count()],
        edges: Edges::new(code, cfg),
        block_of: vec![Block::from_u32(0); f.inst_count()],
        visits: vec![0; f.block_count()],
        reads,
        eased,
        any_eased: !eased.is_clear(),
        settles: FxHashMap::default(),
        left: FxHashMap::default(),
        arounds: FxHashMap::default(),
    };
    for block in f.blocks() {
        for &inst in f.block_insts(block) {
            pass.block_of[index(inst)] = block;
            if keep.keeps(inst) {
                pass.floors[index(inst)] = original.fields[index(inst)].stall;
            }
        }
    }
    pass.run()?;
    Ok(pass.fields)
}

/// States on the edges of the control flow graph. A call inside the code is an edge too.
struct Edges {
    /// By block: the instructions that control comes from, each with the state behind it.
    entering: Vec<Vec<(Inst, Option<Rc<Exit>>)>>,
}

impl Edges {
    fn new(code: &Code<'_>, cfg: &Cfg) -> Edges {
        let f = code.f;
        let mut entering = vec![Vec::new(); f.block_count()];
        for block in f.blocks() {
            let insts = f.block_insts(block);
            if let Some(&last) = insts.last() {
                for succ in cfg.succs(block) {
                    entering[succ.as_u32() as usize].push((last, None));
                }
            }
            for &inst in insts {
                if let Some(callee) = callee(code, inst) {
                    entering[callee.as_u32() as usize].push((inst, None));
                }
            }
        }
        Edges { entering }
    }

    /// A new state behind an instruction. Returns whether it changed.
    fn set(&mut self, to: Block, from: Inst, state: &Rc<Exit>, block_of: &[Block]) -> bool {
        let edges = &mut self.entering[to.as_u32() as usize];
        // They are there block by block, and there may be as many as blocks.
        let block = block_of[index(from)];
        let first = edges.partition_point(|(inst, _)| block_of[index(*inst)] < block);
        let Some((_, slot)) = edges[first..].iter_mut().find(|(inst, _)| *inst == from) else { return false };
        let changed = slot.as_ref() != Some(state);
        if changed {
            *slot = Some(state.clone());
        }
        changed
    }

    fn merged(&self, block: Block) -> Rc<Exit> {
        let mut states =
            self.entering[block.as_u32() as usize].iter().filter_map(|(_, state)| state.as_ref());
        let Some(first) = states.next() else { return Rc::default() };
        let mut merged = Rc::clone(first);
        for state in states.filter(|state| !Rc::ptr_eq(state, first)) {
            Rc::make_mut(&mut merged).merge(state);
        }
        merged
    }
}

/// What to say of instructions whose waits and stalls do not settle.
fn unsettled(insts: &[Inst]) -> Unsolvable {
    let inst = insts.first().copied().unwrap_or_else(|| Inst::from_u32(0));
    Unsolvable { inst, obstacle: Obstacle::Unsettled }
}

/// The block that a call inside the code goes to.
fn callee(code: &Code<'_>, inst: Inst) -> Option<Block> {
    let f = code.f;
    if !f.inst(inst).effects.contains(Effects::CALL) {
        return None;
    }
    f.uses(inst).iter().find_map(|op| match op {
        Operand::Label(block) => Some(*block),
        _ => None,
    })
}

/// When an instruction can go, and what it stands away from until then.
#[derive(Clone, Copy, Debug)]
struct Ready {
    at: i32,
    rule: Option<Rule>,
}

impl Ready {
    /// Not before this cycle, by this rule.
    fn not_before(&mut self, at: i32, rule: Rule) {
        if at > self.at {
            *self = Ready { at, rule: Some(rule) };
        }
    }

    /// The instruction that it stands away from, if one is known: stalls before that one do not help.
    fn behind(self) -> Option<Inst> {
        match self.rule {
            Some(Rule::Behind { producer, .. }) => Some(producer),
            Some(Rule::Seen { first, .. }) => Some(first),
            _ => None,
        }
    }

    /// What to say if an instruction cannot come that late.
    fn missed(self, inst: Inst, short: u32) -> Unsolvable {
        Unsolvable { inst, obstacle: Obstacle::TooClose { short, rule: self.rule } }
    }
}

/// What comes of going through a block.
#[derive(Default)]
struct Visit {
    /// Blocks to go through again.
    again: Vec<Block>,
    /// Whether it has to be gone through again when these have been.
    waits: bool,
}

struct Pass<'a, 'c, 'f> {
    code: &'a Code<'f>,
    original: &'a Original,
    keep: Keep<'a>,
    boards: &'a [Boards],
    cfg: &'a Cfg,
    distances: &'a mut Distances<'c, 'f>,
    spacing: &'a mut Spacing<'c, 'f>,
    state: &'a mut State,
    visited: &'a mut Visited,
    fields: Vec<Fields>,
    /// Least stalls, found in earlier rounds.
    floors: Vec<u8>,
    edges: Edges,
    block_of: Vec<Block>,
    /// How often each block was gone through.
    visits: Vec<u32>,
    reads: &'a mut FixedBitSet,
    /// Instructions that stand no further behind others than they came, whatever the tables say.
    eased: &'a FixedBitSet,
    /// Whether there are any: finding that out goes through all of them.
    any_eased: bool,
    /// How long instructions settle that take longer than a stall.
    settles: FxHashMap<Inst, u8>,
    /// Cycles that the code that came left from one instruction to another.
    left: FxHashMap<(Inst, Inst), u16>,
    /// The same to one of the next iteration; whether it waits is part of the question.
    arounds: FxHashMap<(Inst, Inst, bool), i32>,
}

impl Pass<'_, '_, '_> {
    fn run(&mut self) -> Result<(), Unsolvable> {
        let f = self.code.f;
        let mut order = self.cfg.reverse_post_order().to_vec();
        order.extend(f.blocks().filter(|&block| !self.cfg.is_reachable(block)));
        let mut place = vec![0; f.block_count()];
        for (i, block) in order.iter().enumerate() {
            place[block.as_u32() as usize] = i;
        }
        let mut queue = Queue::full(order.len());
        // A block is done anew when a state before it changes or a floor in it rises, both of which end.
        let mut budget = 64 * order.len() + 1024;
        // Those that wait for stalls of blocks before them come when nothing else is to be done.
        let mut waiting = Queue::new(order.len());
        while let Some(next) = queue.pop().or_else(|| waiting.pop()) {
            let (block, left) = (order[next], budget.checked_sub(1));
            budget = left.ok_or_else(|| unsettled(f.block_insts(block)))?;
            let Visit { again, waits } = self.block(block)?;
            waiting.set(next, waits);
            let again = again.into_iter().map(|changed| place[changed.as_u32() as usize]);
            again.filter(|&place| !waiting.contains(place)).for_each(|place| queue.set(place, true));
        }
        Ok(())
    }

    /// Goes through a block.
    fn block(&mut self, block: Block) -> Result<Visit, Unsolvable> {
        self.visits[block.as_u32() as usize] += 1;
        let entry = self.edges.merged(block);
        let insts = self.code.f.block_insts(block);
        let Some(&first) = insts.first() else { return Ok(Visit::default()) };
        let mut again = Vec::new();
        // Waits of blocks that only grow depend on those that were there.
        let free = self.visits[block.as_u32() as usize] <= FREE_VISITS;
        if free && self.repeat(block, &entry, &mut again) {
            return Ok(Visit { again, waits: false });
        }
        let (deficit, mask) = self.deficit(&entry, first, 0);
        if deficit.at > 0 {
            // Whoever leads here too soon stalls longer. All must be ready for what is waited for on any way here.
            let edges = self.edges.entering[block.as_u32() as usize].clone();
            for (from, state) in &edges {
                let Some(state) = state else { continue };
                let (deficit, _) = self.deficit(state, first, mask);
                if deficit.at > 0 {
                    let raised = self.raise(*from, deficit.at, deficit.behind());
                    again.extend(raised.map_err(|short| deficit.missed(first, short))?);
                }
            }
        }
        let mut missed = unsettled(insts);
        let mut alone = free && deficit.at <= 0;
        for _ in 0..PASSES {
            let mut calls = Vec::new();
            let (mut again_here, mut waits) = (false, false);
            self.state.enter(&entry);
            let mut clock = 0;
            let mut before: Option<Inst> = None;
            for (i, &inst) in insts.iter().enumerate() {
                self.state.number += 1;
                let ready = self.wait(inst, clock, 0);
                if let Some(before) = before
                    && ready.at > clock
                {
                    let more = ready.at - clock;
                    let stall = i32::from(self.fields[index(before)].stall) + more;
                    if stall > i32::from(MAX_STALL) {
                        alone = false;
                        self.floors[index(before)] = MAX_STALL;
                        let rest = stall - i32::from(MAX_STALL);
                        self.fields[index(before)].stall = MAX_STALL;
                        let changed = self.spread((block, &insts[..i]), rest, ready.behind(), DEEP);
                        let changed = changed.map_err(|short| ready.missed(inst, short))?;
                        if changed.len() > 1 {
                            // Blocks before it take the rest; it goes on as if they had, and is done again when they have.
                            again.extend(changed.into_iter().filter(|&other| other != block));
                            waits = true;
                        } else {
                            // Those before it in the block do. Everything is looked at once before it is done again.
                            again_here = true;
                            missed = ready.missed(inst, rest as u32);
                        }
                    } else {
                        self.fields[index(before)].stall = stall as u8;
                    }
                }
                clock = ready.at;
                self.issue(inst, clock);
                let least = self.least(inst).max(self.floors[index(inst)]).min(MAX_STALL);
                self.fields[index(inst)].stall = least;
                clock += i32::from(least);
                before = Some(inst);
                if self.code.f.inst(inst).effects.contains(Effects::CALL) {
                    if let Some(callee) = callee(self.code, inst) {
                        let exit = Rc::new(self.state.leave(clock));
                        if self.edges.set(callee, inst, &exit, &self.block_of) {
                            again.push(callee);
                        }
                        calls.push((callee, inst, exit));
                    }
                    // A call and a return take longer than anything of fixed latency.
                    self.state.clear();
                }
            }
            if again_here && !waits {
                continue;
            }
            let exit = Rc::new(self.state.leave(clock));
            for &succ in self.cfg.succs(block) {
                if self.edges.set(succ, insts[insts.len() - 1], &exit, &self.block_of) {
                    again.push(succ);
                }
            }
            if alone {
                let known = Known {
                    entry,
                    floors: insts.iter().map(|&inst| self.floors[index(inst)]).collect(),
                    eased: self.count_eased(insts),
                    fields: insts.iter().map(|&inst| self.fields[index(inst)]).collect(),
                    calls,
                    exit,
                };
                self.visited.insert(block, known);
            }
            return Ok(Visit { again, waits });
        }
        Err(missed)
    }

    /// Takes over what came of a block that was gone through before with all that matters the same, and the blocks to go through again.
    /// Who asked for a scoreboard then has asked.
    fn repeat(&mut self, block: Block, entry: &Rc<Exit>, again: &mut Vec<Block>) -> bool {
        let kept = &self.visited.by_block[block.as_u32() as usize];
        if kept.is_empty() {
            return false;
        }
        let insts = self.code.f.block_insts(block);
        let eased = self.count_eased(insts);
        let same = |known: &&Known| {
            let came = || insts.iter().map(|&inst| (self.boards[index(inst)], self.floors[index(inst)]));
            let were = known.fields.iter().zip(&known.floors);
            let were =
                were.map(|(fields, &floor)| (Boards { write: fields.write, read: fields.read }, floor));
            known.eased == eased
                && came().eq(were)
                && (Rc::ptr_eq(&known.entry, entry) || known.entry == *entry)
        };
        let Some(known) = kept.iter().rev().find(same) else { return false };
        for (&inst, &fields) in insts.iter().zip(&known.fields) {
            self.fields[index(inst)] = fields;
        }
        let last = insts[insts.len() - 1];
        let calls = known.calls.iter().map(|(callee, inst, exit)| (*callee, *inst, exit));
        let succs = self.cfg.succs(block).iter().map(|&succ| (succ, last, &known.exit));
        for (to, from, exit) in calls.chain(succs) {
            if self.edges.set(to, from, exit, &self.block_of) {
                again.push(to);
            }
        }
        true
    }

    fn count_eased(&self, insts: &[Inst]) -> usize {
        if !self.any_eased {
            0
        } else {
            insts.iter().filter(|&&inst| self.eased.contains(index(inst))).count()
        }
    }

    /// The least stall of an instruction, whatever follows. What never runs stands there for its stall alone.
    fn least(&self, inst: Inst) -> u8 {
        let least = self.code.op(inst).dispatch.least;
        if self.original.drains(inst) {
            return MAX_STALL;
        }
        let fills = |word: u128| word >> 12 & 15 == 15;
        match self.code.f.inst(inst).payload {
            Payload::Word(word) if fills(word) => least.max(self.original.fields[index(inst)].stall),
            _ => least,
        }
    }

    /// How many cycles too soon an instruction comes right behind a state, and what it waits for: these scoreboards at least.
    fn deficit(&mut self, entry: &Exit, first: Inst, mask: u8) -> (Ready, u8) {
        self.state.enter(entry);
        self.state.number += 1;
        let wait = self.fields[index(first)].wait;
        let ready = self.wait(first, 0, mask);
        let mask = std::mem::replace(&mut self.fields[index(first)].wait, wait);
        (ready, mask)
    }

    /// An instruction that control leaves from stalls longer than it does now. Returns the blocks that changed, or how many cycles are
    /// missing.
    fn raise(&mut self, inst: Inst, cycles: i32, behind: Option<Inst>) -> Result<Vec<Block>, u32> {
        let block = self.block_of[index(inst)];
        let insts = self.code.f.block_insts(block);
        let at = insts.iter().position(|&other| other == inst).unwrap_or(0);
        self.spread((block, &insts[..=at]), cycles, behind, DEEP)
    }

    /// Instructions of a block stall longer, the last ones first and none before `behind`; what they cannot take those before the block do.
    /// Returns the blocks that changed, or how many cycles are missing.
    fn spread(
        &mut self,
        (block, insts): (Block, &[Inst]),
        mut cycles: i32,
        behind: Option<Inst>,
        deep: u32,
    ) -> Result<Vec<Block>, u32> {
        for &inst in insts.iter().rev() {
            let now = self.fields[index(inst)].stall.max(self.floors[index(inst)]);
            let more = cycles.min(i32::from(MAX_STALL - now));
            self.floors[index(inst)] = now + more as u8;
            cycles -= more;
            if cycles == 0 {
                return Ok(vec![block]);
            }
            if behind == Some(inst) {
                return Err(cycles as u32);
            }
        }
        let before: Vec<Inst> =
            self.edges.entering[block.as_u32() as usize].iter().map(|&(from, _)| from).collect();
        if before.is_empty() || deep == 0 {
            return Err(cycles as u32);
        }
        let mut changed = vec![block];
        for from in before {
            let block = self.block_of[index(from)];
            let insts = self.code.f.block_insts(block);
            let at = insts.iter().position(|&other| other == from).unwrap_or(0);
            changed.extend(self.spread((block, &insts[..=at]), cycles, behind, deep - 1)?);
        }
        Ok(changed)
    }

    /// Places the waits of an instruction, for these scoreboards at least. Returns when it can go: its operands of fixed latency are there, its pipes take
    /// it, and the scoreboards that it waits for are surely set. What waits may take is not counted on: an instruction
    /// that set a scoreboard under a guard may not have run.
    fn wait(&mut self, inst: Inst, clock: i32, at_least: u8) -> Ready {
        let code = self.code;
        let effects = code.f.inst(inst).effects;
        // Once a block has been gone through often, waits only grow, so that everything settles.
        let settling = self.visits[self.block_of[index(inst)].as_u32() as usize] > FREE_VISITS;
        let came = if self.keep.keeps(inst) { self.original.fields[index(inst)].wait } else { 0 };
        let mut mask = at_least | came | if settling { self.fields[index(inst)].wait } else { 0 };
        let mut ready = Ready { at: clock, rule: None };
        let guard = self.guard(inst);
        for touch in code.reads(inst).iter().chain(code.writes(inst)) {
            self.meet(inst, touch, guard, &mut mask, &mut ready);
        }
        if let Some(tokens) = self.original.waits.get(&inst) {
            for &lane in tokens {
                for pending in self.state.on(lane) {
                    if !self.state.is_over(pending) && code.op(inst).special != Special::Depbar {
                        mask |= self.board_for(pending, mask).unwrap_or(0);
                    }
                }
            }
        }
        if code.op(inst).arrives {
            self.arrive(inst, &mut mask);
        }
        let collective = code.op(inst).special == Special::Collective;
        if effects.intersects(Effects::CALL | Effects::RET) || collective {
            for pending in self.state.guarded() {
                match self.board_for(&pending, mask) {
                    Some(board) => mask |= board,
                    None => self.reads.insert(index(pending.producer)),
                }
            }
        }
        if collective {
            mask |=
                self.state.set.iter().enumerate().fold(0, |all, (b, set)| all | u8::from(set.is_some()) << b);
        }
        if mask != 0 {
            for b in boards(mask) {
                if let Some(set) = self.state.set[b] {
                    let set = set + i32::from(constants().scoreboard_set_to_wait);
                    ready.not_before(set, Rule::Scoreboard { board: b as u8 });
                }
            }
            self.state.wait(mask);
        }
        if let (Special::Depbar, Payload::Word(word)) = (code.op(inst).special, code.f.inst(inst).payload) {
            let depbar = Depbar::of(word);
            self.state.wait(depbar.drained);
            self.state.count_down(depbar.board, depbar.count);
        }
        self.fields[index(inst)].wait = mask;
        let op = code.op(inst);
        for pipe in op.dispatch.needed() {
            ready.not_before(self.state.free[pipe as usize], Rule::Pipe(pipe));
        }
        if op.switches {
            ready.not_before(self.state.settled, Rule::Settled);
        }
        self.spaced(inst, clock, &mut ready);
        ready
    }

    /// No instruction is closer to those before it than compiled code was ever seen to leave them.
    fn spaced(&mut self, inst: Inst, clock: i32, ready: &mut Ready) {
        let sensitive = self.spacing.is_sensitive(inst);
        let recent = if sensitive { &self.state.recent } else { &self.state.sensitive };
        let last = self.state.recent.last().map(|recent| recent.inst);
        let block = self.block_of[index(inst)];
        let waits = self.fields[index(inst)].wait != 0;
        let mut carried: SmallVec<[(Inst, i32); 4]> = SmallVec::new();
        for &Recent { inst: first, at: issued, .. } in recent.iter().rev() {
            // Nothing is further away than the longest stall.
            if clock - issued >= i32::from(REACH) || ready.at - issued >= LONGEST {
                break;
            }
            let same = self.block_of[index(first)] == block;
            // In a loop of one block: what the iteration before leaves.
            let before = issued < 0;
            let next = same && last == Some(first);
            let cycles = match self.spacing.needed(first, inst, next, same, waits) {
                Some(cycles) => cycles,
                None if before => {
                    carried.push((first, issued));
                    continue;
                }
                None => self.spacing.kept(first, inst, waits),
            };
            ready.not_before(issued + cycles, Rule::Seen { first, cycles: cycles as u16 });
        }
        for (first, issued) in carried {
            let cycles = self.around(first, inst, waits);
            ready.not_before(issued + cycles, Rule::Seen { first, cycles: cycles as u16 });
        }
    }

    /// Products of a warpgroup wait for no scoreboard: what they read and overwrite is waited for where the warpgroup arrives.
    fn arrive(&mut self, inst: Inst, mask: &mut u8) {
        let code = self.code;
        let insts = code.f.block_insts(self.block_of[index(inst)]);
        let behind = insts.iter().skip_while(|&&other| other != inst).skip(1);
        let products = behind.take_while(|&&other| !code.op(other).arrives);
        for &product in products.filter(|&&other| code.op(other).special == Special::Warpgroup) {
            let touched = code.reads(product).iter().chain(code.writes(product));
            for touch in touched.filter(|touch| touch.file == File::General) {
                let overwrites = touch.used_as == Use::Overwrite;
                for pending in self.state.on(touch.lane) {
                    let meets = pending.write || overwrites;
                    if pending.guarded && meets && !self.state.is_over(pending) {
                        *mask |= self.board_for(pending, *mask).unwrap_or(0);
                    }
                }
            }
        }
    }

    fn guard(&self, inst: Inst) -> Option<Tag> {
        let guard = self.code.f.inst(inst).guard?;
        let touch =
            self.code.reads(inst).iter().find(|touch| matches!(touch.used_as, Use::Guard | Use::Branch))?;
        let predicate = predicate_place(touch)?;
        Some(Tag { predicate, negated: guard.negated, version: self.state.versions[usize::from(predicate)] })
    }

    /// What is under way on a lane that an instruction touches.
    fn meet(&mut self, inst: Inst, touch: &Touch, guard: Option<Tag>, mask: &mut u8, ready: &mut Ready) {
        let queues = self.code.op(inst).queues;
        let overwrites = touch.used_as == Use::Overwrite;
        if overwrites {
            let reading = self.state.reading(touch.lane);
            let varies = self.code.is_guarded(inst, touch);
            ready.not_before(if varies { reading.varying } else { reading.fixed }, Rule::Source);
        }
        for i in 0..self.state.on(touch.lane).len() {
            let pending = self.state.on(touch.lane)[i];
            if !pending.write && !overwrites {
                continue;
            }
            // What comes back through the same queue comes when it is its turn; and some results are written so late that
            // those before them in the block have read their sources.
            let in_turn = match pending.write {
                true => pending.queue != 0 && pending.queue == queues.returns,
                false => pending.number > 0 && queues.overwrites(self.code.op(pending.producer).queues),
            };
            if in_turn && (overwrites || touch.addend && pending.guarded)
                || exclude(self.state.current(pending.tag), guard)
            {
                continue;
            }
            if !pending.guarded {
                let cycles = match pending.write {
                    true => self.reached(&pending, inst, touch),
                    false => u16::from(self.code.op(inst).overwrites_uniform),
                };
                let rule = Rule::Behind { producer: pending.producer, cycles };
                ready.not_before(pending.issued + i32::from(cycles), rule);
            } else if !self.state.is_over(&pending) {
                if self.is_slow(&pending, *mask) {
                    self.reads.insert(index(pending.producer));
                }
                match self.board_for(&pending, *mask) {
                    Some(board) => *mask |= board,
                    None => self.reads.insert(index(pending.producer)),
                }
            }
        }
    }

    /// Cycles until a result of fixed latency may be touched. Who reads one that is seldom read so keeps its distance.
    fn reached(&mut self, pending: &Pending, inst: Inst, touch: &Touch) -> u16 {
        let Between { cycles, seen } = self.distances.between(pending.producer, pending.high, inst, touch);
        let still = self.original.is_still(pending.producer) || self.original.is_still(inst);
        let together = self.block_of[index(pending.producer)] == self.block_of[index(inst)];
        let cycles = self.ease(pending.producer, inst, cycles);
        // Compilers may know better than what was seen of them.
        let keeps = together && (still || matches!(seen, Sighting::Rare | Sighting::Least(_)));
        let kept = match pending.number {
            _ if !keeps => 0,
            // Of the iteration before.
            0 => match self.around(pending.producer, inst, false) {
                cycles if cycles < LONGEST => cycles.min(longest_read()),
                _ => LONGEST,
            },
            _ => self.spacing.kept_read(pending.producer, inst),
        } as u16;
        match seen {
            _ if still && together => cycles.max(kept),
            Sighting::Rare if together => cycles.max(kept),
            Sighting::Least(least) if together => cycles.max(least.min(kept)),
            Sighting::Least(least) => cycles.max(least.min(longest_read() as u16)),
            Sighting::Rare | Sighting::Unasked => cycles,
        }
    }

    /// Cycles that the code that came left from an instruction to one that follows in the next iteration of a loop, the longest stall where
    /// there are more, or where a wait on the way takes longer than stalls tell.
    fn around(&mut self, first: Inst, second: Inst, waits: bool) -> i32 {
        if let Some(&known) = self.arounds.get(&(first, second, waits)) {
            return known;
        }
        let fields = &self.original.fields;
        let step = |other: Inst| match other {
            _ if !waits && fields[index(other)].wait != 0 => Step::Unknown,
            _ if other == second => Step::Found,
            _ => Step::On,
        };
        let left = self.came(first, LONGEST as u32, step);
        let cycles = left.map_or(LONGEST, |left| left.max(1) as i32);
        self.arounds.insert((first, second, waits), cycles);
        cycles
    }

    /// Cycles until the warp's turn may go to other threads of it. What takes longer than any stall, or what no table knows, takes no
    /// longer than the code that came left it.
    fn settle(&mut self, inst: Inst) -> u8 {
        let settle = self.code.settle(inst);
        if settle <= MAX_STALL {
            return settle;
        }
        if let Some(&known) = self.settles.get(&inst) {
            return known;
        }
        let code = self.code;
        let switches = |other| if code.op(other).switches { Step::Found } else { Step::On };
        let left = self.came(inst, u32::from(settle), switches);
        let settle = left.map_or(settle, |left| settle.min(left.max(1) as u8));
        self.settles.insert(inst, settle);
        settle
    }

    /// Least cycles that the code that came left from an instruction to one that is looked for; none where there are more than `limit`.
    fn came(&self, from: Inst, limit: u32, what: impl Fn(Inst) -> Step) -> Option<u32> {
        if !matches!(self.code.f.inst(from).payload, Payload::Word(_)) {
            return None; // it had no fields
        }
        let block = self.block_of[index(from)];
        least_cycles(self.code, self.cfg, &self.original.fields, (block, from), limit, what)
    }

    /// Cycles between two instructions, no more than the code that came left where the second is eased. A wait between
    /// takes longer than its stall, so that the stalls say nothing.
    fn ease(&mut self, first: Inst, second: Inst, cycles: u16) -> u16 {
        if cycles <= u16::from(MAX_STALL) || !self.eased.contains(index(second)) {
            return cycles;
        }
        if let Some(&left) = self.left.get(&(first, second)) {
            return left;
        }
        let fields = &self.original.fields;
        let step = |other: Inst| match other {
            _ if fields[index(other)].wait != 0 => Step::Unknown,
            _ if other == second => Step::Found,
            _ => Step::On,
        };
        let left = self.came(first, u32::from(cycles), step).map_or(cycles, |left| left.max(1) as u16);
        self.left.insert((first, second), left);
        left
    }

    /// Whether only the result of a slow instruction would show that it has read its sources.
    fn is_slow(&self, pending: &Pending, mask: u8) -> bool {
        let known = pending.write || self.boards[index(pending.producer)].read.is_some();
        let slow = self.code.op(pending.producer).expected.write >= SLOW;
        !known && slow && (pending.own | self.state.cover(pending)) & mask == 0
    }

    /// The scoreboard to wait for, as a mask; none when nothing will say when it is over.
    fn board_for(&self, pending: &Pending, mask: u8) -> Option<u8> {
        // A scoreboard that is counted down stays under way on purpose.
        let cover = self.state.cover(pending) & !self.original.pinned;
        if (pending.own | cover) & mask != 0 {
            return Some(0);
        }
        if pending.board < 6 {
            return Some(1 << pending.board);
        }
        let any = if pending.own != 0 { pending.own } else { cover };
        (any != 0).then(|| 1 << any.trailing_zeros())
    }

    /// The instruction goes: what it leaves under way.
    fn issue(&mut self, inst: Inst, clock: i32) {
        let code = self.code;
        let op = code.op(inst);
        let Boards { write, read } = self.boards[index(inst)];
        let fields = &mut self.fields[index(inst)];
        (fields.write, fields.read) = (write, read);
        let tag = self.guard(inst);
        let kills = code.f.inst(inst).guard.is_none();
        for (pipe, cycles) in op.dispatch.pipes() {
            let free = &mut self.state.free[pipe as usize];
            *free = (*free).max(clock + i32::from(cycles));
        }
        let settle = self.settle(inst);
        self.state.settled = self.state.settled.max(clock + i32::from(settle));
        self.state.issue(inst, clock, self.spacing.is_sensitive(inst));
        for touch in code.writes(inst) {
            if kills {
                self.state.overwrite(touch.lane);
            }
            if let Some(place) = predicate_place(touch) {
                self.state.versions[usize::from(place)] += 1;
            }
        }
        self.state.set(write, read, op.queues.reads, op.queues.returns, clock);
        let tag = self.state.current(tag);
        if op.special == Special::Warpgroup {
            return;
        }
        let mask = |board: Option<u8>| board.map_or(0, |board| 1 << board);
        let result = write.or(read);
        let number = self.state.number;
        let new = |lane: u16, is_write: bool, high: bool, guarded: bool, board: Option<u8>, state: &State| {
            Pending {
                lane,
                producer: inst,
                write: is_write,
                high,
                guarded,
                board: board.unwrap_or(7),
                own: if is_write { mask(board) } else { mask(read) | mask(write) },
                cover: 0,
                queue: if is_write { op.queues.returns } else { op.queues.reads },
                issued: clock,
                number,
                count: state.sets(board),
                tag,
            }
        };
        for touch in code.writes(inst) {
            let guarded = code.is_guarded(inst, touch);
            let board = result.filter(|_| guarded);
            let pending = new(touch.lane, true, touch.high, guarded, board, self.state);
            self.state.add(pending);
        }
        if op.decoupled {
            for touch in code.reads(inst) {
                let plain = matches!(touch.used_as, Use::Operand | Use::Address);
                let general = touch.file == File::General;
                // Uniform registers are read at issue, but by bulk copies, which have no other sources.
                let uniform = touch.file == File::Uniform && self.original.is_fence(inst);
                if plain && (general || uniform) {
                    let pending = new(touch.lane, false, touch.high, true, read.or(write), self.state);
                    self.state.add(pending);
                }
            }
        }
        if !op.decoupled {
            let [fixed, varying] = op.reads.map(|cycles| clock + i32::from(cycles));
            for touch in code.reads(inst) {
                if matches!(touch.file, File::General | File::Uniform) && touch.used_as != Use::Guard {
                    self.state.read(touch.lane, Reading { fixed, varying });
                }
            }
        }
        if op.category == Some(Category::Uniform) && !op.decoupled {
            // Uniform arithmetic reads its sources later than uniform loads and moves write theirs.
            for touch in code.reads(inst).iter().filter(|touch| touch.file == File::Uniform) {
                let pending = new(touch.lane, false, touch.high, false, None, self.state);
                self.state.add(pending);
            }
        }
        if let Some(&lane) = self.original.tokens.get(&inst) {
            let mut pending = new(lane, true, false, true, result, self.state);
            if !self.original.is_fence(inst) {
                pending.queue = 0; // whoever orders memory waits for the read itself, not for a later one
            }
            self.state.add(pending);
        }
    }
}
