//! Schedules broken on purpose: small changes, each of one kind and at one place.
//!
//! Most of them make a schedule wrong; some do not, such as dropping a wait that another wait implies. [`mutants`] gives
//! all of them in a fixed order, [`mutate`] one by a seed.

use super::names::Names;
use super::structure::parts;
use sassafras_tileir::program::{Op, Program};
use sassafras_tileir::scheduled::{Action, Agent, AgentData, Buffer, Pipe, Scheduled, Step};

/// A kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A wait is left out.
    DropWait,
    /// An acquire is left out.
    DropAcquire,
    /// A release is left out.
    DropRelease,
    /// A commit is left out.
    DropCommit,
    /// A lock is left out.
    DropLock,
    /// An unlock is left out.
    DropUnlock,
    /// A run is left out.
    DropRun,
    /// A run and the step beside it that must come before or after it change places.
    Swap,
    /// A pipe and its buffers, or a buffer of several values, get one slot less.
    Depth,
    /// The values of one buffer move into another one like it.
    Merge,
    /// A buffer is laid over another one.
    Overlay,
    /// A step is about the iteration before or after.
    Offset,
    /// An operation and all its steps go to another agent.
    Move,
    /// The turns of a value in a buffer come one sooner or later.
    Shift,
    /// A pipe has one fill less from before the loop.
    DropInitial,
    /// A run reads an operand of the iteration before or after.
    Source,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 16] = [
        Kind::DropWait,
        Kind::DropAcquire,
        Kind::DropRelease,
        Kind::DropCommit,
        Kind::DropLock,
        Kind::DropUnlock,
        Kind::DropRun,
        Kind::Swap,
        Kind::Depth,
        Kind::Merge,
        Kind::Overlay,
        Kind::Offset,
        Kind::Move,
        Kind::Shift,
        Kind::DropInitial,
        Kind::Source,
    ];
}

/// A changed schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// The kind of change.
    pub kind: Kind,
    /// What was changed, for people.
    pub what: String,
    /// The result.
    pub scheduled: Scheduled,
}

/// The change of a kind that a seed chooses; nothing if there is no place for one.
pub fn mutate(program: &Program, scheduled: &Scheduled, kind: Kind, seed: u64) -> Option<Mutant> {
    let places = Places { program, scheduled }.of(kind);
    let at = (seed % (places.len() as u64).max(1)) as usize;
    places.get(at).map(|place| place.apply(program, scheduled, kind))
}

/// All changes of a kind.
pub fn mutants<'a>(
    program: &'a Program,
    scheduled: &'a Scheduled,
    kind: Kind,
) -> impl Iterator<Item = Mutant> + use<'a> {
    let places = Places { program, scheduled }.of(kind);
    places.into_iter().map(move |place| place.apply(program, scheduled, kind))
}

/// Which step: agent, part, position.
type At = (Agent, usize, usize);

enum Change {
    Drop(At),
    /// This step and the next one.
    Swap(At),
    Offset(At, i64),
    PipeDepth(Pipe),
    BufferDepth(Buffer),
    Merge(Buffer, Buffer),
    Overlay(Buffer, Buffer),
    Move(Op, Agent, Agent),
    Shift(Buffer, usize, bool),
    Initial(Pipe),
    /// The operand of a run, by so many iterations.
    Source(At, usize, i64),
}

struct Places<'a> {
    program: &'a Program,
    scheduled: &'a Scheduled,
}

impl Places<'_> {
    /// How many parts of an agent are ever performed: short steps, the last part, may not be.
    fn parts(&self) -> usize {
        if self.scheduled.short_below > 1 { 4 } else { 3 }
    }

    fn steps(&self, wanted: impl Fn(Action) -> bool) -> Vec<At> {
        let mut found = Vec::new();
        for (a, d) in self.scheduled.agents.iter() {
            for (part, (_, steps, ..)) in parts(d).into_iter().take(self.parts()).enumerate() {
                let here = steps.iter().enumerate().filter(|(_, s)| wanted(s.action));
                found.extend(here.map(|(at, _)| (a, part, at)));
            }
        }
        found
    }

    fn of(&self, kind: Kind) -> Vec<Change> {
        let s = self.scheduled;
        let drop = |wanted: fn(Action) -> bool| self.steps(wanted).into_iter().map(Change::Drop).collect();
        match kind {
            Kind::DropWait => drop(|a| matches!(a, Action::Wait(..))),
            Kind::DropAcquire => drop(|a| matches!(a, Action::Acquire(_))),
            Kind::DropRelease => drop(|a| matches!(a, Action::Release(..))),
            Kind::DropCommit => drop(|a| matches!(a, Action::Commit(..))),
            Kind::DropLock => drop(|a| matches!(a, Action::Lock(..))),
            Kind::DropUnlock => drop(|a| matches!(a, Action::Unlock(..))),
            Kind::DropRun => drop(|a| matches!(a, Action::Run(_))),
            Kind::Swap => self.swaps(),
            Kind::Depth => {
                let mut found = Vec::new();
                for (x, d) in s.pipes.iter().filter(|(_, d)| d.depth > 1) {
                    let alone = s
                        .buffers
                        .values()
                        .filter(|b| b.members.iter().any(|m| m.pipe == x))
                        .all(|b| b.members.len() == 1 && b.depth == d.depth);
                    found.extend(alone.then_some(Change::PipeDepth(x)));
                }
                let several = s.buffers.iter().filter(|(_, d)| d.members.len() > 1 && d.depth > 1);
                found.extend(several.map(|(b, _)| Change::BufferDepth(b)));
                found
            }
            Kind::Merge | Kind::Overlay => {
                let mut found = Vec::new();
                for (a, d) in s.buffers.iter() {
                    for (b, e) in s.buffers.iter().filter(|(b, _)| *b != a) {
                        if (d.storage, d.bytes) == (e.storage, e.bytes) && d.bytes > 0 {
                            let merge = kind == Kind::Merge;
                            found.push(if merge { Change::Merge(a, b) } else { Change::Overlay(a, b) });
                        }
                    }
                }
                found
            }
            Kind::Offset => {
                let all = self.steps(|_| true).into_iter();
                all.flat_map(|at| [Change::Offset(at, -1), Change::Offset(at, 1)]).collect()
            }
            Kind::Move => {
                let mut found = Vec::new();
                for op in self.program.ops.keys() {
                    let runs = self.steps(|a| a == Action::Run(op));
                    let Some(&(from, ..)) = runs.first() else { continue };
                    found.extend(
                        s.agents.keys().filter(|&to| to != from).map(|to| Change::Move(op, from, to)),
                    );
                }
                found
            }
            Kind::Shift => {
                let mut found = Vec::new();
                for (b, d) in s.buffers.iter() {
                    for (m, member) in d.members.iter().enumerate() {
                        found.push(Change::Shift(b, m, true));
                        found.extend((member.shift > 0).then_some(Change::Shift(b, m, false)));
                    }
                }
                found
            }
            Kind::DropInitial => {
                let some = s.pipes.iter().filter(|(_, d)| d.initial > 0);
                some.map(|(x, _)| Change::Initial(x)).collect()
            }
            Kind::Source => {
                let mut found = Vec::new();
                for at in self.steps(|a| matches!(a, Action::Run(_))) {
                    let sources = &parts(&s.agents[at.0])[at.1].1[at.2].sources;
                    let there = sources.iter().enumerate().filter(|(_, s)| s.is_some());
                    found.extend(there.flat_map(|(i, _)| [-1, 1].map(|by| Change::Source(at, i, by))));
                }
                found
            }
        }
    }

    /// Neighbours of which one is a run and the other is about the same operation.
    fn swaps(&self) -> Vec<Change> {
        let s = self.scheduled;
        let mut found = Vec::new();
        for (a, d) in s.agents.iter() {
            for (part, (_, steps, ..)) in parts(d).into_iter().take(self.parts()).enumerate() {
                for (at, pair) in steps.windows(2).enumerate() {
                    let before = |action: Action, op: Op| match action {
                        Action::Acquire(x) => s.pipes.get(x).is_some_and(|d| d.writers.contains(&op)),
                        Action::Wait(_, r) => r.op == op,
                        Action::Lock(_, o) => o == op,
                        _ => false,
                    };
                    let after = |action: Action, op: Op| match action {
                        Action::Commit(_, o) | Action::Unlock(_, o) => o == op,
                        Action::Release(_, r) => r.op == op,
                        _ => false,
                    };
                    let same = pair[0].at == pair[1].at;
                    let matters = match (pair[0].action, pair[1].action) {
                        (first, Action::Run(op)) => before(first, op),
                        (Action::Run(op), second) => after(second, op),
                        _ => false,
                    };
                    found.extend((same && matters).then_some(Change::Swap((a, part, at))));
                }
            }
        }
        found
    }
}

fn part(agent: &mut AgentData, part: usize) -> &mut Vec<Step> {
    match part {
        0 => &mut agent.prologue,
        1 => &mut agent.steady,
        2 => &mut agent.epilogue,
        _ => &mut agent.short,
    }
}

impl Change {
    fn apply(&self, program: &Program, scheduled: &Scheduled, kind: Kind) -> Mutant {
        let names = Names { p: program, s: scheduled };
        let place = |&(a, p, at): &At| {
            let (word, steps, ..) = parts(&scheduled.agents[a])[p];
            let step = &steps[at];
            format!("`{}` @ {:+} ({word} of `{}`)", names.step(step.action), step.at.offset, names.agent(a))
        };
        let mut s = scheduled.clone();
        let what = match self {
            Change::Drop(at) => {
                part(&mut s.agents[at.0], at.1).remove(at.2);
                format!("without {}", place(at))
            }
            Change::Swap(at) => {
                part(&mut s.agents[at.0], at.1).swap(at.2, at.2 + 1);
                format!("{} after {}", place(at), place(&(at.0, at.1, at.2 + 1)))
            }
            Change::Offset(at, by) => {
                let step = &mut part(&mut s.agents[at.0], at.1)[at.2];
                step.at.offset = step.at.offset.saturating_add(*by);
                format!("{} {by:+}", place(at))
            }
            Change::PipeDepth(x) => {
                s.pipes[*x].depth -= 1;
                for b in s.buffers.values_mut().filter(|b| b.members.iter().any(|m| m.pipe == *x)) {
                    b.depth -= 1;
                }
                format!("{x} with one slot less")
            }
            Change::BufferDepth(b) => {
                s.buffers[*b].depth -= 1;
                format!("{b} with one slot less")
            }
            Change::Merge(a, b) => {
                let moved = std::mem::take(&mut s.buffers[*b].members);
                s.buffers[*a].members.extend(moved);
                format!("the values of {b} in {a}")
            }
            Change::Overlay(a, b) => {
                s.buffers[*b].offset = s.buffers[*a].offset;
                format!("{b} over {a}")
            }
            Change::Move(op, from, to) => {
                // An acquire goes along where the operation is the only writer.
                let goes = |action: Action| match action {
                    Action::Run(o) | Action::Commit(_, o) | Action::Lock(_, o) | Action::Unlock(_, o) => {
                        o == *op
                    }
                    Action::Wait(_, r) | Action::Release(_, r) => r.op == *op,
                    Action::Acquire(x) => scheduled.pipes.get(x).is_some_and(|d| d.writers == [*op]),
                };
                for p in 0..4 {
                    let steps = std::mem::take(part(&mut s.agents[*from], p));
                    let (moved, kept): (Vec<_>, Vec<_>) = steps.into_iter().partition(|s| goes(s.action));
                    *part(&mut s.agents[*from], p) = kept;
                    part(&mut s.agents[*to], p).extend(moved);
                }
                format!("`{}` run by `{}`", names.op(*op), names.agent(*to))
            }
            Change::Shift(b, m, up) => {
                let shift = &mut s.buffers[*b].members[*m].shift;
                *shift = if *up { shift.saturating_add(1) } else { shift.saturating_sub(1) };
                let value = scheduled.buffers[*b].members[*m].value;
                format!("`{}` in {b} with a shift of {shift}", names.value(value))
            }
            Change::Initial(x) => {
                s.pipes[*x].initial -= 1;
                format!("{x} with one initial fill less")
            }
            Change::Source(at, operand, by) => {
                let step = &mut part(&mut s.agents[at.0], at.1)[at.2];
                if let Some(Some(source)) = step.sources.get_mut(*operand) {
                    source.fill = source.fill.saturating_add(*by);
                }
                format!("{} with operand {operand} {by:+}", place(at))
            }
        };
        // One thing is wrong with a mutant: what follows from pipes and buffers follows from the changed ones.
        if kind != Kind::Source {
            s.set_sources(program);
        }
        Mutant { kind, what, scheduled: s }
    }
}
