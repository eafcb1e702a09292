//! A thread that goes round and round: what it does at every turn.

use super::text::{Arg, Step};
use super::thread::Thread;
use sassafras_ir::cfg::Cfg;
use sassafras_ir::loops::{Loop, Loops};
use sassafras_ir::{Block, Effects, Function, Inst, Lane, Operand};
use std::collections::{BTreeMap, VecDeque};

/// What an instruction has to do with transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A barrier object is made.
    Init,
    /// A barrier object is waited for.
    Wait,
    /// A bulk load into shared memory; it arrives at a barrier object.
    Load,
    /// A bulk store from shared memory.
    Store,
    /// Every thread copies some bytes into shared memory.
    Copy,
    /// Copies so far arrive at a barrier object when they are done.
    Arrive,
    /// Copies so far become a group.
    Commit,
    /// All but some groups are waited for.
    Settle,
    /// Shared memory is read.
    Read,
    /// Registers are loaded from global memory.
    Fetch,
    /// A register is read that a [`Kind::Fetch`] has loaded: `inst` is the load.
    Use,
}

impl Kind {
    pub(super) fn of(step: &Step) -> Option<Kind> {
        Some(match step.name() {
            "SYNCS" if step.has("EXCH") => Kind::Init,
            "SYNCS" if step.has("PHASECHK") => Kind::Wait,
            "UTMALDG" | "UBLKCP" => Kind::Load,
            "UTMASTG" => Kind::Store,
            "LDGSTS" => Kind::Copy,
            "ARRIVES" if step.has("LDGSTSBAR") => Kind::Arrive,
            "LDGDEPBAR" => Kind::Commit,
            "DEPBAR" if step.has("LE") => Kind::Settle,
            "LDS" | "LDSM" => Kind::Read,
            "LDG" => Kind::Fetch,
            _ => return None,
        })
    }

    /// Whether something is moved between global and shared memory without the thread waiting for it.
    pub(super) fn is_transfer(self) -> bool {
        matches!(self, Kind::Load | Kind::Store | Kind::Copy)
    }
}

/// Something that the thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub inst: Inst,
    pub kind: Kind,
    /// How often it had come to the head of the loop.
    pub turn: u32,
    /// Where in shared memory.
    pub address: Option<u32>,
    /// The barrier object of a load, the last operand of what is done with a barrier object, the turn that a register was
    /// loaded in, the groups that may stay open.
    pub other: Option<u32>,
}

/// What a thread saw on its way.
#[derive(Clone, Debug, Default)]
pub(super) struct Walk {
    pub seen: Vec<Seen>,
    /// How often it came to its goal.
    pub visits: usize,
}

/// Code that threads can be sent through.
pub(super) struct Ground<'f> {
    pub function: &'f Function,
    pub steps: &'f [Option<Step>],
    pub cfg: &'f Cfg,
    pub loops: &'f Loops,
}

/// Directions to a block, from every other one.
pub(super) struct Way {
    goal: Block,
    /// Without going back in any loop.
    forward: Vec<Option<u32>>,
    /// To the end of each loop around it, inner ones first: the loop, its head and the directions.
    rounds: Vec<(Loop, Block, Vec<Option<u32>>)>,
    any: Vec<Option<u32>>,
}

/// How many instructions may pass without coming to the goal.
const PATIENCE: usize = 60_000;

/// A thread on its way.
struct Walker<'g, 'f> {
    ground: &'g Ground<'f>,
    thread: Thread,
    turn: u32,
    seen: Vec<Seen>,
    /// The load and the turn that a register has its value from.
    fetched: BTreeMap<Lane, (Inst, u32)>,
}

/// How a block was left.
enum End {
    /// At its end.
    Reached,
    /// By a call of another block of the function, as compilers also leave loops.
    Called(Block),
    /// By a call of something else, or by something unknown: nothing is known behind it.
    Gone,
}

impl<'f> Ground<'f> {
    pub(super) fn step(&self, inst: Inst) -> Option<&'f Step> {
        self.steps[inst.as_u32() as usize].as_ref()
    }

    /// How many blocks there are between each block and one of `goals`, at least; `forward` is without going back in any loop.
    fn distances(&self, goals: &[Block], forward: bool) -> Vec<Option<u32>> {
        let mut distances = vec![None; self.function.block_count()];
        let mut queue: VecDeque<Block> = goals.iter().copied().collect();
        goals.iter().for_each(|goal| distances[goal.as_u32() as usize] = Some(0));
        while let Some(block) = queue.pop_front() {
            let next = distances[block.as_u32() as usize].map(|distance| distance + 1);
            for &pred in self.cfg.preds(block) {
                let place = &mut distances[pred.as_u32() as usize];
                if place.is_none() && !self.is_left(pred) && !(forward && self.goes_back(pred, block)) {
                    *place = next;
                    queue.push_back(pred);
                }
            }
        }
        distances
    }

    /// How an instruction in the middle of a block leaves it.
    fn leaves(&self, inst: Inst) -> Option<End> {
        let effects = self.function.inst(inst).effects;
        if effects.contains(Effects::CALL) {
            let target = self.function.uses(inst).iter().find_map(|operand| match operand {
                Operand::Label(block) => Some(*block),
                _ => None,
            });
            return Some(target.map_or(End::Gone, End::Called));
        }
        let unknown = effects.contains(Effects::OPAQUE) && !effects.intersects(Effects::TERMINATOR);
        unknown.then_some(End::Gone)
    }

    /// Whether nobody comes to the end of a block.
    fn is_left(&self, block: Block) -> bool {
        let gone = |inst: &Inst| {
            self.function.inst(*inst).guard.is_none() && matches!(self.leaves(*inst), Some(End::Gone))
        };
        self.function.block_insts(block).iter().any(gone)
    }

    fn goes_back(&self, from: Block, to: Block) -> bool {
        self.cfg.rpo_index(to) <= self.cfg.rpo_index(from)
    }

    /// The way to `goal`, and from there back to it.
    pub(super) fn way(&self, goal: Block) -> Way {
        let mut rounds = Vec::new();
        let mut around = self.loops.innermost(goal);
        while let Some(id) = around {
            let head = self.loops.header(id);
            rounds.push((id, head, self.distances(self.loops.latches(id), true)));
            around = self.loops.parent(id);
        }
        Way { goal, forward: self.distances(&[goal], true), rounds, any: self.distances(&[goal], false) }
    }

    /// Sends thread `number` of a block from the start of the code to a goal and on to it again, until it has been there `times`
    /// times or cannot get there. Turns are counted where the loop around the goal begins.
    pub(super) fn walk(&self, number: u32, way: &Way, times: usize) -> Walk {
        let goal = way.goal;
        let head = way.rounds.first().map(|(_, head, _)| *head);
        let mut walker = Walker {
            ground: self,
            thread: Thread::new(number),
            turn: 0,
            seen: Vec::new(),
            fetched: BTreeMap::new(),
        };
        let mut at = self.function.blocks().next();
        let (mut taken, mut visits) = (0, 0);
        while let Some(block) = at {
            walker.turn += u32::from(Some(block) == head);
            let end = walker.block(block);
            taken += self.function.block_insts(block).len();
            if block == goal {
                (visits, taken) = (visits + 1, 0);
            }
            if visits == times || taken > PATIENCE {
                break;
            }
            at = match end {
                End::Reached => walker.next(block, way),
                End::Called(target) => Some(target),
                End::Gone => None,
            };
        }
        Walk { seen: walker.seen, visits }
    }
}

impl Walker<'_, '_> {
    /// Goes through a block.
    fn block(&mut self, block: Block) -> End {
        let function = self.ground.function;
        for &inst in function.block_insts(block) {
            let runs = self.guard(inst);
            if runs == Some(false) || self.ground.step(inst).is_some_and(|step| step.never) {
                continue;
            }
            match self.ground.leaves(inst) {
                None => self.execute(inst, runs.is_none()),
                Some(leaves) if runs == Some(true) => return leaves,
                Some(_) => {}
            }
        }
        End::Reached
    }

    /// Whether the instruction runs.
    fn guard(&self, inst: Inst) -> Option<bool> {
        match self.ground.function.inst(inst).guard {
            Some(guard) => self.thread.bit(Some(guard.lane)).map(|bit| bit != guard.negated),
            None => Some(true),
        }
    }

    /// Runs an instruction. When it only may run, what it writes is known only if it was there before.
    fn execute(&mut self, inst: Inst, may: bool) {
        let step = self.ground.step(inst);
        let kind = step.and_then(Kind::of);
        if let (Some(step), Some(kind)) = (step, kind) {
            self.look(inst, kind, step);
        }
        self.follow(inst, kind, step);
        let before = may.then(|| self.thread.clone());
        let written = step.and_then(|step| self.thread.step(step));
        for operand in self.ground.function.defs(inst) {
            if let Operand::Reg(span) = operand {
                span.lanes().for_each(|lane| self.thread.forget(lane));
            }
        }
        for (arg, written) in step.iter().flat_map(|step| &step.args).zip(written.into_iter().flatten()) {
            if let Arg::Register { lane: Some(lane), .. } | Arg::Predicate { lane: Some(lane), .. } = *arg {
                self.thread.set(lane, written);
            }
        }
        if let Some(before) = before {
            self.thread.keep_common(&before);
        }
    }

    fn look(&mut self, inst: Inst, kind: Kind, step: &Step) {
        let address = step.args.iter().find(|arg| matches!(arg, Arg::Address { .. }));
        let other = match (kind, address) {
            // The register behind that of the address has the barrier object.
            (Kind::Load, Some(Arg::Address { registers, .. })) => match registers[..] {
                [Some(lane)] => Lane::physical(lane.class(), lane.index() + 1)
                    .and_then(|next| self.thread.word(Some(next))),
                _ => None,
            },
            (Kind::Wait | Kind::Init | Kind::Settle, _) => {
                step.args.last().and_then(|last| self.thread.value(last))
            }
            _ => None,
        };
        let address = address.and_then(|address| self.thread.value(address));
        self.seen.push(Seen { inst, kind, turn: self.turn, address, other });
    }

    /// Follows what loads leave in registers, through moves, to whoever wants it.
    fn follow(&mut self, inst: Inst, kind: Option<Kind>, step: Option<&Step>) {
        let function = self.ground.function;
        let moves = step.is_some_and(|step| step.name() == "MOV" || step.has("MOV"));
        let mut moved = None;
        if !self.fetched.is_empty() {
            function.for_each_read(inst, |read| {
                if let Some(&(load, turn)) = self.fetched.get(&read.lane) {
                    let use_ = Seen {
                        inst: load,
                        kind: Kind::Use,
                        turn: self.turn,
                        address: None,
                        other: Some(turn),
                    };
                    if moves { moved = Some((load, turn)) } else { self.seen.push(use_) }
                }
            });
        }
        let loaded = (kind == Some(Kind::Fetch)).then_some((inst, self.turn)).or(moved);
        for operand in function.defs(inst) {
            let Operand::Reg(span) = operand else { continue };
            for lane in span.lanes() {
                match loaded {
                    Some(loaded) => self.fetched.insert(lane, loaded),
                    None => self.fetched.remove(&lane),
                };
            }
        }
    }

    /// Where it goes from the end of a block.
    fn next(&self, block: Block, way: &Way) -> Option<Block> {
        let (function, succs) = (self.ground.function, self.ground.cfg.succs(block));
        let below = Some(Block::from_u32(block.as_u32() + 1)).filter(|below| succs.contains(below));
        let Some(&last) = function.block_insts(block).last() else { return below };
        let effects = function.inst(last).effects;
        if !effects.intersects(Effects::TERMINATOR) {
            return below;
        }
        let condition = match self.ground.step(last).and_then(|step| step.args.first()) {
            Some(&Arg::Predicate { lane, negated }) => self.thread.bit(lane).map(|bit| bit != negated),
            Some(Arg::Register { .. }) => None,
            _ => Some(true),
        };
        match (self.guard(last), condition) {
            (Some(false), _) | (_, Some(false)) => below,
            (Some(true), Some(true)) if effects.contains(Effects::BRANCH) => {
                let mut targets = function.branch_targets(last);
                let first = targets.next();
                let computed = targets.any(|other| Some(other) != first && Some(other) != below);
                if computed { self.choose(block, below, way) } else { first }
            }
            (Some(true), Some(true)) => None,
            _ => self.choose(block, below, way),
        }
    }

    /// Where it goes when nothing tells: to the goal without going back; from behind the goal, round the innermost loop that can be
    /// gone round; of several ways straight on, so that what a branch would skip is done.
    fn choose(&self, block: Block, below: Option<Block>, way: &Way) -> Option<Block> {
        let ground = self.ground;
        let succs = ground.cfg.succs(block);
        let pick = |distances: &[Option<u32>], may: &dyn Fn(Block) -> bool| {
            let near = |succ: &Block| distances[succ.as_u32() as usize];
            let fit = |succ: &Block| may(*succ) && near(succ).is_some();
            below.filter(fit).or_else(|| succs.iter().copied().filter(fit).min_by_key(near))
        };
        let onward = |succ| !ground.goes_back(block, succ);
        pick(&way.forward, &onward)
            .or_else(|| {
                way.rounds.iter().find_map(|(id, head, latches)| {
                    let inside = |succ| ground.loops.contains(*id, succ);
                    pick(latches, &|succ| onward(succ) && inside(succ))
                        .or_else(|| succs.contains(head).then_some(*head))
                })
            })
            .or_else(|| pick(&way.any, &|_| true))
    }
}
