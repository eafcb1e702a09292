//! The data flow.

use super::conditions::{self, Value, Values};
use super::fields::{Depbar, Fields, bar_blocks, ends_group, warpgroup_wait};
use super::rules::{OpcodeInfo, Rules, Special, Timing, addend, file, used_as};
use super::state::{
    Board, Fact, GuardTag, Holds, Live, MAX_ELAPSED, NewFact, State, Timed, WARPGROUP, exclude,
};
use fixedbitset::FixedBitSet;
use rustc_hash::{FxHashMap, FxHashSet};
use sassafras_control::Violation;
use sassafras_ir::cfg::Cfg;
use sassafras_ir::{Block, Effects, Function, Inst, Lane, LaneRef, Operand, RegClass, Role};
use sassafras_machine::collectives::InFlight;
use sassafras_machine::mined::{ClassNumber, File, Queues, Use};
use sassafras_machine::{Category, constants};
use std::collections::BTreeSet;

/// What two instructions collide over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HazardKind {
    /// Reads a result that may not be there.
    Raw,
    /// Overwrites a source that may not have been read.
    War,
    /// Overwrites a result that may not be there.
    Waw,
    /// Waits for a scoreboard that may not be set yet.
    WaitTooSoon,
    /// The next instruction comes sooner than the opcode allows, whatever it is.
    Stall,
    /// Goes into a pipe that has not taken up the instruction before.
    Pipe,
    /// Gives the warp's turn to other threads of it before an instruction has settled.
    Settle,
    /// The control field means nothing on this machine.
    Field,
    /// Closer than compiled code was ever seen to leave such a pair.
    Unseen,
    /// Keeps a source at hand that the register no longer holds.
    Reuse,
    /// Orders memory, and no longer waits for a read of memory that it waited for.
    Acquire,
    /// More is under way than is followed, and nothing waits for any of it.
    Crowded,
}

impl HazardKind {
    /// Every kind.
    pub const ALL: [HazardKind; 12] = [
        HazardKind::Raw,
        HazardKind::War,
        HazardKind::Waw,
        HazardKind::WaitTooSoon,
        HazardKind::Stall,
        HazardKind::Pipe,
        HazardKind::Settle,
        HazardKind::Field,
        HazardKind::Unseen,
        HazardKind::Reuse,
        HazardKind::Acquire,
        HazardKind::Crowded,
    ];

    /// A short name.
    pub const fn name(self) -> &'static str {
        match self {
            HazardKind::Raw => "raw",
            HazardKind::War => "war",
            HazardKind::Waw => "waw",
            HazardKind::WaitTooSoon => "wait-too-soon",
            HazardKind::Stall => "stall",
            HazardKind::Pipe => "pipe",
            HazardKind::Settle => "settle",
            HazardKind::Field => "field",
            HazardKind::Unseen => "unseen",
            HazardKind::Reuse => "reuse",
            HazardKind::Acquire => "acquire",
            HazardKind::Crowded => "crowded",
        }
    }
}

/// Two instructions that meet on a lane, and that no scoreboard keeps apart.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    /// The function.
    pub function: &'a Function,
    /// What they collide over.
    pub kind: HazardKind,
    /// Where; none for [`HazardKind::WaitTooSoon`].
    pub lane: Option<Lane>,
    /// The one under way.
    pub producer: Inst,
    /// The one that comes.
    pub consumer: Inst,
    /// The first one's class in the table.
    pub producer_class: Option<ClassNumber>,
    /// The second one's.
    pub consumer_class: Option<ClassNumber>,
    /// How the second one uses the lane.
    pub used_as: Use,
    /// Which lane of the first one's operand.
    pub part: u8,
    /// At which place among the second one's operands, and whether in an odd lane of it.
    pub slot: (u8, bool),
    /// Fewest cycles between the two on any path, waits credited.
    pub elapsed: u16,
    /// A wait lies between, or at the second one.
    pub waited: bool,
    /// The first one set a scoreboard for this.
    pub guarded: bool,
    /// The first one takes as long as it takes.
    pub decoupled: bool,
    /// Both run under the same guard, so that the second surely meets the first.
    pub same_guard: bool,
    /// For [`HazardKind::Stall`]: the least stall of the opcode. For [`HazardKind::Pipe`] and [`HazardKind::Settle`], and for
    /// others that no mined distance is asked for: the cycles between the two. Otherwise 0.
    pub required_stall: u8,
}

impl Pair<'_> {
    /// The register file.
    pub fn file(&self) -> File {
        self.lane.map_or(File::General, |lane| file(lane.class()))
    }

    /// The number of the predicate, if it is about one.
    pub fn predicate(&self) -> Option<u8> {
        self.lane.filter(|lane| lane.class() == RegClass::Pred).map(|lane| lane.index() as u8)
    }

    /// Whether it is about a scoreboard that nobody waited for where threads that run apart converge or part.
    pub(super) const fn leaves_in_flight(&self) -> bool {
        matches!(self.kind, HazardKind::Settle) && self.required_stall == 0
    }
}

/// Who is told of the pairs.
pub trait Observer {
    /// A block is walked; what was told of it before no longer counts.
    fn block(&mut self, block: Block);
    /// Two instructions meet, the second in that block.
    fn pair(&mut self, pair: &Pair<'_>);
    /// Two instructions that a pipe, a turn, a source or the first one's opcode keeps apart are far enough from each other. Shown
    /// to those who want them ([`Observer::WANTS_ALL`]).
    fn kept(&mut self, _pair: &Pair<'_>) {}
    /// Two instructions would meet, but their guards exclude each other. Shown to those who want them, too.
    fn excluded(&mut self, _pair: &Pair<'_>) {}
    /// Whether [`Observer::kept`] and [`Observer::excluded`] do anything: finding those takes time.
    const WANTS_ALL: bool = false;
}

/// Shows every pair of instructions that meet on a lane and that no scoreboard keeps apart.
///
/// Only blocks that can be reached are walked. A block may be walked several times until nothing changes; the last time
/// counts ([`Observer::block`]). Instructions without a word have no control field and count as stall 1.
pub fn walk(f: &Function, rules: &Rules, observer: &mut impl Observer) {
    Flow::new(f).run(f, rules, observer);
}

/// Longer than a stall: so long after a distance was kept an observer that wants to know is told.
const LINGER: i32 = 24;

/// What is kept of a function at the edges of its blocks, all together: in memory half a gigabyte.
const MOST_KEPT: usize = 1 << 23;

/// Which blocks wait to be walked, and in which state.
struct Flow {
    cfg: Cfg,
    /// Blocks in the order they are taken from the queue: reverse post-order, then what the entry does not reach.
    order: Vec<Block>,
    place: Vec<u32>,
    entry: Vec<Option<State>>,
    /// How much is under way in all of these; it only grows.
    kept: usize,
    /// Places in that order. A set that is sorted: a function may have as many blocks as instructions, and nearly all are queued once.
    queued: BTreeSet<u32>,
    calls: Calls,
    /// By block that ends in `WARPSYNC.COLLECTIVE`: where that sends threads when they have run what stands between it and `ENDCOLLECTIVE`. They all run that
    /// first.
    behind: FxHashMap<Block, Block>,
}

/// By block that ends in `WARPSYNC.COLLECTIVE`, the block behind its `ENDCOLLECTIVE`, where the two belong together.
fn collectives(f: &Function, cfg: &Cfg) -> FxHashMap<Block, Block> {
    let is_collective = |text: &str| Special::of(text) == Special::Collective(InFlight::Nothing);
    if !f.opcodes().any(is_collective) {
        return FxHashMap::default();
    }
    let ends = |block: Block| {
        f.block_insts(block).last().copied().filter(|&inst| is_collective(f.opcode_text(f.inst(inst).opcode)))
    };
    let behind = |block: Block| {
        let mut labels = f.branch_targets(ends(block)?);
        let (target, body) = (labels.next()?, labels.next()?);
        (ends(body).is_some() && cfg.succs(body) == [target]).then_some((block, target))
    };
    f.blocks().filter_map(behind).collect()
}

/// By callee inside the code: the scoreboards that it, or what it reaches, waits for.
///
/// A call enters its callee with the state of the call; behind the call everything that the callee may have waited for is
/// taken to be over, and so is everything of fixed latency: a call and a return take longer. What a callee leaves under
/// way at its return is not carried to its callers.
#[derive(Default)]
struct Calls(FxHashMap<Block, u8>);

impl Calls {
    fn new(f: &Function, cfg: &Cfg) -> Calls {
        let insts = || f.blocks().flat_map(|block| f.block_insts(block));
        let callees: FxHashSet<Block> = insts().filter_map(|&inst| local_callee(f, inst)).collect();
        let waits = |callee: Block| {
            let mut seen = FixedBitSet::with_capacity(f.block_count());
            let mut stack = vec![callee];
            let mut mask = 0;
            while let Some(block) = stack.pop() {
                if !seen.put(block.as_u32() as usize) {
                    stack.extend(cfg.succs(block));
                    for &inst in f.block_insts(block) {
                        mask |= Fields::of(f, inst).wait;
                        stack.extend(local_callee(f, inst));
                    }
                }
            }
            mask
        };
        Calls(callees.into_iter().map(|callee| (callee, waits(callee))).collect())
    }
}

/// The block that a call inside the code goes to.
fn local_callee(f: &Function, inst: Inst) -> Option<Block> {
    if !f.inst(inst).effects.contains(Effects::CALL) {
        return None;
    }
    f.uses(inst).iter().find_map(|op| match op {
        Operand::Label(block) => Some(*block),
        _ => None,
    })
}

impl Flow {
    fn new(f: &Function) -> Flow {
        let cfg = Cfg::new(f);
        let mut order = cfg.reverse_post_order().to_vec();
        order.extend(f.blocks().filter(|&block| !cfg.is_reachable(block)));
        let mut place = vec![0; f.block_count()];
        for (i, block) in order.iter().enumerate() {
            place[block.as_u32() as usize] = i as u32;
        }
        let queued = BTreeSet::new();
        let calls = Calls::new(f, &cfg);
        let behind = collectives(f, &cfg);
        Flow { cfg, place, entry: vec![None; f.block_count()], kept: 0, queued, order, calls, behind }
    }

    fn run<O: Observer>(&mut self, f: &Function, rules: &Rules, observer: &mut O) {
        let mut walker = Walker::new(f, rules);
        walker.live.linger = if O::WANTS_ALL { LINGER } else { 0 };
        // Whatever nothing reaches is entered from outside the code, with nothing under way.
        for root in 0..self.order.len() {
            let slot = &mut self.entry[self.order[root].as_u32() as usize];
            if slot.is_some() {
                continue;
            }
            *slot = Some(State::default());
            self.queued.insert(root as u32);
            while let Some(next) = self.queued.pop_first() {
                self.block(f, &mut walker, self.order[next as usize], observer);
            }
        }
    }

    fn block(&mut self, f: &Function, walker: &mut Walker<'_>, block: Block, observer: &mut impl Observer) {
        let Some(state) = &self.entry[block.as_u32() as usize] else { return };
        // Blocks also end where nothing branches.
        let goes_on = self.goes_on(block);
        walker.live.enter(state, goes_on);
        observer.block(block);
        for &inst in f.block_insts(block) {
            walker.step(inst, observer);
            if f.inst(inst).effects.contains(Effects::CALL) {
                let callee = local_callee(f, inst);
                if let Some(callee) = callee {
                    let out = walker.leave();
                    self.reach(callee, &out, 0);
                }
                // Code elsewhere keeps to the calling convention, which leaves nothing under way.
                walker.live.call(callee.map_or(0x3f, |callee| self.calls.0[&callee]));
            }
        }
        let mut out = walker.leave();
        let last = f.block_insts(block).last().copied();
        if self.kept + out.len() * self.cfg.succs(block).len() > MOST_KEPT {
            out.forget();
            if let Some(last) = last {
                observer.pair(&walker.bare(HazardKind::Crowded, last, last, 0, 0));
            }
        }
        let target = last.and_then(|last| f.branch_targets(last).next());
        let decides = last.and_then(|last| conditions::decides(f, last));
        let skipped = self.behind.get(&block).copied();
        for i in 0..self.cfg.succs(block).len() {
            let succ = self.cfg.succs(block)[i];
            if Some(succ) == skipped {
                continue;
            }
            let value = match decides {
                // Where the block below is the target, too, either may be the case.
                Some((value, _)) if Some(succ) == target => {
                    (self.cfg.succs(block).len() > 1).then_some(value)
                }
                Some((value, alone)) => alone.then(|| value.opposite()),
                None => None,
            };
            self.reach(succ, &out, out.holds(value));
        }
    }

    /// Whether control comes from one block alone, and from there nowhere else.
    fn goes_on(&self, block: Block) -> bool {
        let comes = |from: &&Block| self.behind.get(from) != Some(&block);
        let mut from = self.cfg.preds(block).iter().filter(comes);
        let (Some(only), None) = (from.next(), from.next()) else { return false };
        self.cfg.succs(*only).len() == 1 + usize::from(self.behind.contains_key(only))
    }

    /// Control may come to the block in this state, if these hold.
    fn reach(&mut self, block: Block, out: &State, holds: Values) {
        let slot = &mut self.entry[block.as_u32() as usize];
        let before = slot.as_ref().map_or(0, State::len);
        let changed = match slot {
            None => {
                *slot = Some(out.where_holds(holds));
                true
            }
            Some(old) => old.merge(out, holds),
        };
        self.kept += slot.as_ref().map_or(0, State::len).saturating_sub(before);
        if changed {
            self.queued.insert(self.place[block.as_u32() as usize]);
        }
    }
}

/// Goes through the instructions of a block, one after the other.
pub(super) struct Walker<'a> {
    pub f: &'a Function,
    pub rules: &'a Rules,
    opcodes: Vec<OpcodeInfo>,
    classes: Vec<Option<ClassNumber>>,
    shapes: FxHashMap<Inst, Timing>,
    pub live: Live,
}

impl<'a> Walker<'a> {
    fn new(f: &'a Function, rules: &'a Rules) -> Walker<'a> {
        let opcodes = rules.opcodes(f);
        let classes = rules.classes(f, &opcodes);
        let shapes = rules.shapes(f, &opcodes);
        Walker { f, rules, opcodes, classes, shapes, live: Live::new() }
    }

    pub(super) fn info(&self, inst: Inst) -> &OpcodeInfo {
        &self.opcodes[self.f.inst(inst).opcode.as_u32() as usize]
    }

    pub(super) fn timing(&self, inst: Inst) -> &Timing {
        let info = self.info(inst);
        let shaped = || self.shapes.get(&inst).unwrap_or(&info.timing);
        if info.category == Some(Category::Tensor) { shaped() } else { &info.timing }
    }

    fn class(&self, inst: Inst) -> Option<ClassNumber> {
        self.classes[inst.as_u32() as usize]
    }

    fn leave(&mut self) -> State {
        let clock = self.live.clock - self.live.linger;
        let (f, opcodes) = (self.f, &self.opcodes);
        self.live.end_where(|fact| is_over(f, opcodes, fact, clock));
        self.live.leave()
    }

    fn pair(&self, fact: &Fact, consumer: Inst, kind: HazardKind, lane: LaneRef, used_as: Use) -> Pair<'a> {
        let f = self.f;
        let guard = f.inst(consumer).guard.and_then(|g| self.live.tag(g.lane, g.negated));
        let same_guard = match f.inst(fact.producer).guard {
            None => guard.is_none(),
            Some(_) => guard.is_some() && self.live.current(fact.tag) == guard,
        };
        let first = self.info(fact.producer);
        // Both counted from its issue.
        let there = fact.there_at().filter(|_| kind == HazardKind::Raw);
        let required = there.and_then(|at| u8::try_from(at - fact.issued).ok()).unwrap_or(0);
        let place = match lane.role {
            Role::Guard => 0,
            Role::Operand(place) | Role::Address(place) => place,
        };
        Pair {
            function: self.f,
            kind,
            lane: Some(fact.lane),
            producer: fact.producer,
            consumer,
            producer_class: self.class(fact.producer),
            consumer_class: self.class(consumer),
            used_as,
            part: fact.part,
            slot: (place.min(255) as u8, lane.part % 2 == 1),
            elapsed: (self.live.clock - fact.issued).clamp(0, MAX_ELAPSED) as u16,
            waited: self.live.waited(fact),
            guarded: fact.guard.is_some(),
            // Convergence barriers are written at a fixed time, whatever else the instruction does.
            decoupled: first.facts.decoupled && fact.lane.class() != RegClass::Barrier,
            same_guard,
            required_stall: required,
        }
    }

    /// A pair that meets on no lane.
    pub(super) fn bare(
        &self,
        kind: HazardKind,
        first: Inst,
        second: Inst,
        elapsed: u16,
        required: u8,
    ) -> Pair<'a> {
        Pair {
            function: self.f,
            kind,
            lane: None,
            producer: first,
            consumer: second,
            producer_class: None,
            consumer_class: None,
            used_as: Use::Operand,
            part: 0,
            slot: (0, false),
            elapsed,
            waited: false,
            guarded: true,
            decoupled: true,
            same_guard: true,
            required_stall: required,
        }
    }

    /// Whether the fields mean something, and the stall is long enough for the opcode itself.
    fn legality<O: Observer>(&self, inst: Inst, control: &Fields, observer: &mut O) {
        // On texture instructions and DEPBAR the reuse flags mean something else, and sparse matrix instructions have one more.
        let info = self.info(inst);
        let differs = |violation: Violation| match info.category {
            Some(Category::Texture) => true,
            Some(Category::Tensor) => violation == Violation::ReservedBit,
            // Where the warp yields nothing stays at hand: such a flag means nothing (spconv 2.3; hand-written kernels).
            _ => matches!(violation, Violation::ReuseAcrossYield { .. }) || info.special == Special::Depbar,
        };
        if control.violation.is_some_and(|violation| !differs(violation)) {
            observer.pair(&self.bare(HazardKind::Field, inst, inst, 0, 0));
        }
        let required = info.facts.min_stall;
        // Stall 0 drains the pipes, which takes longer than any stall.
        if control.stall != 0 && (control.stall < required || O::WANTS_ALL) {
            let pair = self.bare(HazardKind::Stall, inst, inst, u16::from(control.stall), required);
            if control.stall < required { observer.pair(&pair) } else { observer.kept(&pair) }
        }
    }

    fn step<O: Observer>(&mut self, inst: Inst, observer: &mut O) {
        let f = self.f;
        let control = Fields::of(f, inst);
        self.legality(inst, &control, observer);
        if self.info(inst).special == Special::WarpgroupMma {
            self.multiplied(inst, observer);
        }
        self.wait(inst, &control, observer);
        if let Special::Collective(allowed) = self.info(inst).special {
            self.collective(inst, allowed, observer);
        }
        // On sm_70 an `IADD3 RZ, RZ, RZ, RZ` stands where nothing is to be done.
        if control.runs && !(f.defs(inst).is_empty() && f.uses(inst).is_empty() && is_alu(self.info(inst))) {
            self.held_up(inst, observer);
        }
        let data = f.inst(inst);
        let queues = self.info(inst).queues;
        let guard = data.guard.and_then(|guard| self.live.tag(guard.lane, guard.negated));
        let under = self.live.given(data.guard.and_then(Value::of));
        let apart =
            |live: &Live, fact: &Fact| exclude(live.current(fact.tag), guard) || live.apart(fact, under);
        // Warpgroup matrix instructions add to one accumulator in order, without waiting for each other.
        let is_group = self.info(inst).special == Special::WarpgroupMma;
        let accumulates = |fact: &Fact| is_group && fact.guard == Some(WARPGROUP);
        // So do others of one pipe: what they add to is read when its turn has come.
        let addend = addend(f, inst).filter(|_| self.info(inst).category == Some(Category::Tensor));
        let in_turn = |fact: &Fact, read: &LaneRef| {
            fact.queue != 0
                && fact.queue == queues.returns
                && addend.is_some_and(|place| read.role == Role::Operand(place))
        };
        // A result that is there at a fixed time behind the reading of its sources needs no scoreboard then.
        let clock = self.live.clock;
        let is_there = |fact: &Fact| fact.there_at().is_some_and(|at| at <= clock);
        f.for_each_read(inst, |read| {
            for fact in self.live.on(read.lane).filter(|fact| !is_there(fact)) {
                if in_turn(fact, &read) {
                    // That holds where scoreboards do; where latencies are fixed, no instruction waits for its turn.
                    let required = self.timing(fact.producer).addend;
                    let fixed = fact.write && fact.guard.is_none() && required > 0;
                    if fixed && !apart(&self.live, fact) {
                        let pair = self.pair(fact, inst, HazardKind::Raw, read, Use::Operand);
                        observer.pair(&Pair { required_stall: required, ..pair });
                    }
                    continue;
                }
                if !fact.write || accumulates(fact) {
                    continue;
                }
                // What stays at hand for the next one stays so for all threads, not for those alone that run this one.
                let keeps = !self.info(inst).facts.decoupled && control.keeps(read.lane);
                let excluded = apart(&self.live, fact) && !keeps;
                if !excluded || O::WANTS_ALL {
                    let pair = self.pair(fact, inst, HazardKind::Raw, read, used_as(f, inst, read.role));
                    if excluded { observer.excluded(&pair) } else { observer.pair(&pair) }
                }
            }
        });
        // Matrix and FP64 instructions run one behind the other, memory instructions only queue up.
        let in_order_pipe = matches!(self.info(inst).category, Some(Category::Tensor | Category::Fp64));
        // Arithmetic of one kind reads its sources in order, whatever scoreboards some of it sets for them (HADD2 of sm_75).
        let own = *self.info(inst);
        let reads_first = |fact: &Fact| {
            let first = self.info(fact.producer);
            let boarded = !fact.write && fact.guard.is_some() && !first.facts.decoupled;
            boarded && !own.facts.decoupled && first.category == own.category
        };
        f.for_each_write(inst, |write| {
            for fact in self.live.on(write.lane).filter(|fact| !is_there(fact)) {
                // A later instruction of the same queue overwrites when it is its turn.
                let in_turn = match fact.write {
                    true => fact.queue == queues.returns,
                    false => {
                        fact.queue == queues.reads
                            && (fact.recent || in_order_pipe)
                            && queues.overwrites(self.info(fact.producer).queues)
                    }
                };
                let in_order = accumulates(fact) || fact.queue != 0 && in_turn || reads_first(fact);
                let excluded = !in_order && apart(&self.live, fact);
                if !in_order && (!excluded || O::WANTS_ALL) {
                    let kind = if fact.write { HazardKind::Waw } else { HazardKind::War };
                    let pair = self.pair(fact, inst, kind, write, Use::Overwrite);
                    if excluded { observer.excluded(&pair) } else { observer.pair(&pair) }
                }
            }
        });
        if control.runs {
            self.overwrite(inst, guard, observer);
        }
        let kills = f.kills(inst);
        let mut writes_predicates = false;
        f.for_each_write(inst, |write| {
            if kills {
                self.live.kill_where(write.lane, |_| true);
            }
            self.live.redefine(write.lane);
            writes_predicates |= write.lane.class() == RegClass::Pred;
        });
        if data.effects.contains(Effects::OPAQUE) {
            self.live.forget_predicates();
        } else if writes_predicates {
            self.live.write_predicates(f, inst, control.runs);
        }
        self.issue(inst, &control, guard, under);
        let (opcodes, clock) = (&self.opcodes, self.live.clock);
        if control.stall == 0 {
            // Stall 0 drains the pipes: code that is compiled for debugging relies on it for loads too.
            self.live.end_where(|fact| fact.guard.is_none());
            self.live.holds = Holds::default();
            self.live.all_read();
        }
        self.live.tidy(|fact| is_over(f, opcodes, fact, clock));
        if self.live.was_crowded() {
            observer.pair(&self.bare(HazardKind::Crowded, inst, inst, 0, 0));
        }
        // How long draining takes is not known, but a scoreboard is set meanwhile.
        let stall = if control.stall == 0 { constants().scoreboard_set_to_wait } else { control.stall };
        self.live.clock += i32::from(stall);
        self.live.advance();
    }

    /// The registers that a product of a warpgroup multiplies have to be there before it: its own wait holds for what follows and for uniform registers alone
    /// (on an H200 products of registers that it waited for itself were wrong).
    fn multiplied(&self, inst: Inst, observer: &mut impl Observer) {
        self.f.for_each_read(inst, |read| {
            let late = |fact: &&Fact| fact.write && fact.guard.is_some_and(|guard| guard != WARPGROUP);
            for fact in self.live.on(read.lane).filter(late) {
                if read.lane.class() == RegClass::Gpr {
                    observer.pair(&self.pair(fact, inst, HazardKind::Raw, read, Use::Operand));
                }
            }
        });
    }

    /// Waits for scoreboards: what they cover is no longer under way. The clock moves on by what waiting credits.
    fn wait(&mut self, inst: Inst, control: &Fields, observer: &mut impl Observer) {
        let depbar = match self.info(inst).special {
            Special::Depbar => Depbar::of(self.f, inst),
            _ => None,
        };
        if self.info(inst).special == Special::WarpgroupWait
            && let Some(left) = warpgroup_wait(self.f, inst)
        {
            self.live.end_where(|fact| fact.guard == Some(WARPGROUP) && fact.behind > left);
        }
        let drained = control.wait | depbar.map_or(0, |d| d.drained);
        let waits = drained | depbar.map_or(0, |d| 1 << d.board);
        if waits == 0 {
            return;
        }
        let clock = self.live.clock;
        for board in 0..6u8 {
            let Some(set) = self.live.boards[usize::from(board)].filter(|_| waits >> board & 1 == 1) else {
                continue;
            };
            // A DEPBAR looks at its scoreboards later than an instruction that waits before it is issued.
            if control.wait >> board & 1 == 1 {
                let elapsed = (clock - set.latest).clamp(0, MAX_ELAPSED) as u16;
                observer.pair(&self.bare(HazardKind::WaitTooSoon, set.setter, inst, elapsed, 0));
            }
            if drained >> board & 1 == 1 {
                self.live.clock = set.done.map_or(self.live.clock, |at| at.max(self.live.clock));
                self.live.boards[usize::from(board)] = None;
            }
        }
        let clock = self.live.clock;
        // A result that is there says that its sources have been read.
        let mut finished: Vec<Inst> = Vec::new();
        self.live.end_where(|fact| {
            fact.sources_read(drained, clock);
            let boards = fact.cover | fact.guard.map_or(0, |g| 1 << g);
            let counted = depbar.filter(|d| fact.counted == Some(d.board));
            let left_out = counted.is_some_and(|d| fact.behind >= d.count);
            if left_out && fact.write && fact.guard.is_some() {
                finished.push(fact.producer);
            }
            left_out || boards & drained != 0
        });
        if !finished.is_empty() {
            self.live.end_where(|fact| !fact.write && finished.contains(&fact.producer));
        }
        self.live.note_wait();
    }

    /// Who lets threads converge or part waits for everything that may not be in flight then.
    fn collective(&mut self, inst: Inst, allowed: InFlight, observer: &mut impl Observer) {
        let mut setters: Vec<Inst> = self
            .live
            .guarded()
            .filter(|fact| fact.write || allowed == InFlight::Nothing)
            .map(|fact| fact.producer)
            .collect();
        setters.dedup();
        for setter in setters {
            observer.pair(&self.bare(HazardKind::Settle, setter, inst, 0, 0));
        }
    }

    /// What the instruction leaves under way.
    fn issue(&mut self, inst: Inst, control: &Fields, tag: Option<GuardTag>, under: Values) {
        let f = self.f;
        let info = *self.info(inst);
        let Queues { reads, returns, .. } = info.queues;
        let clock = self.live.clock;
        let holds = info.special == Special::Bar && bar_blocks(f, inst) && f.inst(inst).guard.is_none();
        let has_read = holds && self.rules.barrier_reads;
        if has_read {
            // The warp goes on when the barrier has left the queue, and with it everything before.
            self.live.end_where(|fact| !fact.write && fact.queue == reads);
        }
        let boards = [control.write, control.read].into_iter().flatten().fold(0u8, |mask, b| mask | 1 << b);
        if boards != 0 {
            let finished = control.write.map_or(0, |b| 1 << b);
            let mut added: Vec<Lane> = Vec::new();
            if info.category == Some(Category::Tensor)
                && let Some(place) = addend(f, inst)
            {
                f.for_each_read(inst, |read| {
                    added.extend((read.role == Role::Operand(place)).then_some(read.lane))
                });
            }
            self.live.end_where(|fact| {
                // Inside a queue nothing overtakes: what reads or finishes later implies that this has.
                let implied = match fact.write {
                    // What is added to was there when it was read.
                    true if returns != 0 && fact.queue == returns && added.contains(&fact.lane) => boards,
                    true if returns != 0 && fact.queue == returns => finished,
                    false if reads != 0 && fact.queue == reads => boards,
                    false if info.special == Special::Fence => finished,
                    _ => 0,
                };
                fact.set(boards, implied);
                if let Some(timed) = fact.timed.as_mut().filter(|timed| reads != 0 && timed.reads == reads) {
                    timed.boards |= boards;
                }
                false
            });
        }
        for (board, least) in [(control.write, info.least.write), (control.read, info.least.read)] {
            let Some(board) = board else { continue };
            let slot = &mut self.live.boards[usize::from(board)];
            let before = slot.and_then(|b| b.done);
            // A guard may keep every thread from running it, and then nothing is waited for.
            let own = f.inst(inst).guard.is_none().then(|| clock + i32::from(least));
            *slot = Some(Board { setter: inst, latest: clock, done: before.max(own) });
        }
        if !info.facts.decoupled && info.special != Special::WarpgroupMma && boards == 0 && control.runs {
            self.read(inst, tag);
        }
        let cycles = self.timing(inst).after_reads;
        let timed = (cycles > 0).then_some(Timed { reads, boards, cycles, at: None });
        let live = &mut self.live;
        let mut add = |lane: LaneRef, write: bool, guard: Option<u8>, cover: u8| {
            let queue = if write { returns } else { reads };
            live.add(NewFact {
                lane: lane.lane,
                producer: inst,
                write,
                part: lane.part,
                guard,
                cover,
                queue,
                tag,
                under: if conditions::is_own(lane.lane) { under } else { 0 },
                timed: timed.filter(|_| write),
            });
        };
        // Convergence barriers are written at a fixed time even by instructions that set a scoreboard for something else.
        if info.special == Special::WarpgroupMma {
            f.for_each_write(inst, |lane| add(lane, true, Some(WARPGROUP), 0));
            f.for_each_read(inst, |lane| {
                if lane.lane.class() == RegClass::Gpr {
                    add(lane, false, Some(WARPGROUP), 0);
                }
            });
            if ends_group(f, inst) {
                self.live.end_where(|fact| {
                    fact.behind += u8::from(fact.guard == Some(WARPGROUP) && fact.behind < u8::MAX);
                    false
                });
            }
            return;
        }
        f.for_each_write(inst, |lane| match lane.lane.class() {
            RegClass::Barrier => add(lane, true, None, 0),
            RegClass::Pred if info.special == Special::GenericAtomic && control.read.is_some() => {
                add(lane, true, control.read, control.write.map_or(0, |board| 1 << board));
            }
            _ => add(lane, true, control.write, 0),
        });
        // Uniform arithmetic reads late: what writes a uniform register at once may come before it.
        if info.category == Some(Category::Uniform) && !info.facts.decoupled {
            f.for_each_read(inst, |lane| {
                if lane.role != Role::Guard && lane.lane.class() == RegClass::Uniform {
                    add(lane, false, None, 0);
                }
            });
        }
        // Sources of other fixed-latency instructions are read at issue. Others may say by a read scoreboard when they have
        // been; without one, a finished write says so too, or enough cycles.
        let finished = control.write.map_or(0, |board| 1 << board);
        if !has_read && (info.facts.decoupled || control.read.is_some()) {
            f.for_each_read(inst, |lane| {
                if lane.role != Role::Guard && lane.lane.class() == RegClass::Gpr {
                    add(lane, false, control.read, finished);
                }
            });
        }
    }
}

fn is_alu(info: &OpcodeInfo) -> bool {
    info.category == Some(Category::Alu)
}

fn is_over(f: &Function, opcodes: &[OpcodeInfo], fact: &Fact, clock: i32) -> bool {
    let info = &opcodes[f.inst(fact.producer).opcode.as_u32() as usize];
    fact.guard.is_none()
        && !info.facts.decoupled
        && clock - fact.issued >= i32::from(info.horizon[fact.lane.class() as usize])
}
