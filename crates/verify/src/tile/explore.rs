//! All interleavings and all orders of completion: the oracle for replays.
//!
//! Written from the description alone, in the plainest way: a state is how far each agent is, what has started, what has
//! completed and what is in each slot; everything else is asked anew each time. States are kept, so that each is looked at
//! once.
//!
//! One reduction: where an agent's next step is a wait that is over, a commit, a release or an unlock, only that step is
//! taken. Such a step disables nothing, and nothing disables it, so whatever can go wrong without it can go wrong
//! after it.

use super::names::Names;
use super::violation::{Progress, Stuck, Violation};
use super::{Limits, structure};
use cranelift_entity::EntityRef;
use sassafras_tileir::program::{Execution, Op, Program, Value};
use sassafras_tileir::scheduled::{Action, Agent, Backing, Input, Pipe, Reader, Scheduled};
use std::collections::HashSet;

/// What was explored without anything going wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explored {
    /// Different states.
    pub states: u64,
    /// Whether there were no more of them than allowed; if not, nothing is proven.
    pub complete: bool,
}

/// How far an operation of an iteration is.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Stage {
    Not,
    UnderWay,
    Complete,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    /// The next step of each agent.
    at: Vec<u32>,
    /// By operation, then iteration.
    stage: Vec<Stage>,
    /// For each buffer and slot the pipe and fill that is there.
    slots: Vec<Vec<Option<(Pipe, i64)>>>,
    /// Who holds each mutex, and whether it leaves when it completes.
    holders: Vec<Option<(Op, i64, bool)>>,
    /// In-order operations under way, in the order of their starts.
    started: Vec<(Op, i64)>,
    /// Steps that must not come twice: the agent and its position.
    committed: Vec<(Pipe, Op, i64)>,
    released: Vec<(Pipe, Reader, i64)>,
}

struct Explorer<'a> {
    n: Names<'a>,
    trips: i64,
    /// All steps of each agent, in order.
    steps: Vec<Vec<(Action, i64)>>,
    reduce: bool,
}

/// Tries everything that can happen in a loop of so many trips, up to a number of states. `reduce` leaves out interleavings
/// that cannot matter (see the source); without it there are many more states.
///
/// # Errors
/// Something that can go wrong, or the first thing that [`check`](super::check) refuses (limits aside).
pub fn explore(
    program: &Program,
    scheduled: &Scheduled,
    trips: u64,
    most: u64,
    reduce: bool,
) -> Result<Explored, Violation> {
    if let Some(violation) = structure::violations(program, scheduled, &Limits::NONE).into_iter().next() {
        return Err(violation);
    }
    let n = Names { p: program, s: scheduled };
    let mut steps = Vec::new();
    for a in scheduled.agents.values() {
        let mut all = Vec::new();
        let mut add = |part: &[sassafras_tileir::scheduled::Step], rounds: u64| {
            for round in 0..rounds {
                all.extend(part.iter().map(|s| (s.action, s.at.iteration(round, trips))));
            }
        };
        if trips < scheduled.short_below {
            add(&a.short, trips);
        } else {
            add(&a.prologue, 1);
            add(&a.steady, trips - u64::from(a.lead));
            add(&a.epilogue, 1);
        }
        steps.push(all);
    }
    Explorer { n, trips: trips as i64, steps, reduce }.explore(most)
}

impl Explorer<'_> {
    fn first(&self) -> State {
        let s = self.n.s;
        let mut slots: Vec<Vec<_>> = s.buffers.values().map(|b| vec![None; b.depth as usize]).collect();
        for (x, d) in s.pipes.iter().filter(|(_, d)| !d.writers.is_empty()) {
            for j in -i64::from(d.initial)..0 {
                for &v in &d.values {
                    if let Some((buffer, slot)) = self.slot(x, v, j) {
                        slots[buffer][slot] = Some((x, j));
                    }
                }
            }
        }
        State {
            at: vec![0; self.steps.len()],
            stage: vec![Stage::Not; self.n.p.ops.len() * self.trips as usize],
            slots,
            holders: vec![None; s.mutexes.len()],
            started: Vec::new(),
            committed: Vec::new(),
            released: Vec::new(),
        }
    }

    fn explore(&self, most: u64) -> Result<Explored, Violation> {
        let first = self.first();
        let mut seen = HashSet::from([first.clone()]);
        let mut todo = vec![first];
        while let Some(state) = todo.pop() {
            let next = self.successors(&state)?;
            if next.is_empty() {
                self.end(&state)?;
            }
            for s in next {
                if seen.len() as u64 >= most {
                    return Ok(Explored { states: most, complete: false });
                }
                if seen.insert(s.clone()) {
                    todo.push(s);
                }
            }
        }
        Ok(Explored { states: seen.len() as u64, complete: true })
    }

    fn stage(&self, s: &State, op: Op, i: i64) -> Stage {
        s.stage[op.index() * self.trips as usize + i as usize]
    }

    fn complete(&self, s: &State, op: Op, i: i64) -> bool {
        self.stage(s, op, i) == Stage::Complete
    }

    fn inside(&self, i: i64) -> bool {
        (0..self.trips).contains(&i)
    }

    fn slot(&self, x: Pipe, v: Value, j: i64) -> Option<(usize, usize)> {
        let (b, turn, depth) = self.turn(x, v, j)?;
        Some((b, turn.rem_euclid(depth) as usize))
    }

    fn turn(&self, x: Pipe, v: Value, j: i64) -> Option<(usize, i64, i64)> {
        self.n.s.buffers.iter().find_map(|(b, d)| {
            let m = d.members.iter().position(|m| m.pipe == x && m.value == v)?;
            let turn = d.members.len() as i64 * (j + i64::from(d.members[m].shift)) + m as i64;
            Some((b.index(), turn, d.depth.into()))
        })
    }

    fn full(&self, s: &State, x: Pipe, j: i64) -> bool {
        let d = &self.n.s.pipes[x];
        d.writers.is_empty()
            || j < 0
            || d.writers.iter().all(|&w| self.complete(s, w, j) && s.committed.contains(&(x, w, j)))
    }

    /// Readers of a fill, with their iterations.
    fn readers(&self, x: Pipe, j: i64) -> Vec<(Reader, i64)> {
        let all = self.n.s.pipes[x].readers.iter();
        let all = all.map(|&r| (r, j + i64::from(r.distance(self.n.p).unwrap_or(0))));
        all.filter(|&(_, i)| self.inside(i)).collect()
    }

    fn in_place(&self, r: Reader) -> bool {
        matches!(r.input, Input::Operand(o) if self.n.p.ops[r.op].operands[o as usize].in_place)
    }

    /// A reader that keeps fill `j` of `x` from being free for the writers of fill `i` of `to`.
    fn kept_by(&self, s: &State, x: Pipe, j: i64, to: Pipe, i: i64) -> Option<(Reader, i64)> {
        self.readers(x, j).into_iter().find(|&(r, at)| {
            let freed = self.complete(s, r.op, at) && s.released.contains(&(x, r, at));
            let replaced = self.in_place(r) && at == i && self.n.s.pipes[to].writers.contains(&r.op);
            !freed && !replaced
        })
    }

    /// The fills that must be free before fill `i` can be written.
    fn before(&self, x: Pipe, i: i64) -> Vec<(Pipe, i64)> {
        let d = &self.n.s.pipes[x];
        let there = |x: Pipe, j: i64| j >= -i64::from(self.n.s.pipes[x].initial) && j < self.trips;
        let turns: Vec<_> = d.values.iter().filter_map(|&v| self.turn(x, v, i)).collect();
        if turns.is_empty() {
            let j = i - i64::from(d.depth);
            return if there(x, j) { vec![(x, j)] } else { Vec::new() };
        }
        let mut found = Vec::new();
        for (b, turn, depth) in turns {
            let members = &self.n.s.buffers.values().nth(b).map(|d| d.members.clone()).unwrap_or_default();
            // Whoever has that turn, found by trying.
            for m in members {
                let own = |j: i64| self.turn(m.pipe, m.value, j).is_some_and(|t| t.1 == turn - depth);
                let first = -i64::from(self.n.s.pipes[m.pipe].initial);
                found.extend((first..self.trips).find(|&j| own(j)).map(|j| (m.pipe, j)));
            }
        }
        found
    }

    fn successors(&self, s: &State) -> Result<Vec<State>, Violation> {
        let mut found = Vec::new();
        for (a, steps) in self.steps.iter().enumerate() {
            let Some(&(action, i)) = steps.get(s.at[a] as usize) else { continue };
            if !self.inside(i) {
                return Err(Violation::OutsideLoop {
                    agent: self.n.agent(Agent::new(a)),
                    step: self.n.step(action),
                    iteration: i,
                    trips: self.trips as u64,
                });
            }
            let Some(next) = self.step(s, a, action, i)? else { continue };
            if self.reduce && !matches!(action, Action::Run(_) | Action::Lock(..)) {
                return Ok(vec![next]);
            }
            found.push(next);
        }
        for (op, d) in self.n.p.ops.iter() {
            for i in 0..self.trips {
                if self.stage(s, op, i) != Stage::UnderWay {
                    continue;
                }
                let queue = self.n.p.queue(op);
                let first = s.started.iter().find(|(o, _)| self.n.p.queue(*o) == queue);
                if d.execution == Execution::InOrder && first != Some(&(op, i)) {
                    continue;
                }
                found.push(self.completed(s, op, i));
            }
        }
        Ok(found)
    }

    /// A step of an agent; nothing if it has to wait.
    fn step(&self, s: &State, a: usize, action: Action, i: i64) -> Result<Option<State>, Violation> {
        let names = || (self.n.agent(Agent::new(a)), self.n.step(action));
        let without = |op: Op| {
            (self.stage(s, op, i) == Stage::Not).then(|| {
                let (agent, step) = names();
                Violation::WithoutRun { agent, step, iteration: i }
            })
        };
        let twice = || {
            let (agent, step) = names();
            Violation::StepTwice { agent, step, iteration: i }
        };
        let mut next = s.clone();
        next.at[a] += 1;
        match action {
            Action::Acquire(x) => {
                let kept = self.before(x, i).into_iter().any(|(y, j)| self.kept_by(s, y, j, x, i).is_some());
                if kept {
                    return Ok(None);
                }
            }
            Action::Wait(x, r) => {
                if !self.full(s, x, i - i64::from(r.distance(self.n.p).unwrap_or(0))) {
                    return Ok(None);
                }
            }
            Action::Commit(x, op) => {
                if let Some(v) = without(op) {
                    return Err(v);
                }
                if s.committed.contains(&(x, op, i)) {
                    return Err(twice());
                }
                next.committed.push((x, op, i));
                next.committed.sort_unstable();
            }
            Action::Release(x, r) => {
                if let Some(v) = without(r.op) {
                    return Err(v);
                }
                if s.released.contains(&(x, r, i)) {
                    return Err(twice());
                }
                next.released.push((x, r, i));
                next.released.sort_unstable();
            }
            Action::Lock(m, op) => {
                if s.holders[m.index()].is_some() {
                    return Ok(None);
                }
                next.holders[m.index()] = Some((op, i, false));
            }
            Action::Unlock(m, op) => {
                if let Some(v) = without(op) {
                    return Err(v);
                }
                if s.holders[m.index()] != Some((op, i, false)) {
                    let (agent, step) = names();
                    return Err(Violation::NotLocked { agent, step, iteration: i });
                }
                let left = self.complete(s, op, i);
                next.holders[m.index()] = (!left).then_some((op, i, true));
            }
            Action::Run(op) => {
                let sync = self.n.p.ops[op].execution == Execution::Sync;
                if sync && self.stage(s, op, i) == Stage::UnderWay {
                    return Ok(None);
                }
                if self.stage(s, op, i) != Stage::Not {
                    return Err(Violation::RunTwice { instance: self.n.instance(op, i) });
                }
                self.start(s, &mut next, op, i)?;
                if sync {
                    next.at[a] -= 1;
                }
            }
        }
        Ok(Some(next))
    }

    /// Whether `other` must be complete for `op` to start and is not; the queue may see to it.
    fn missing(&self, s: &State, op: Op, other: Op, i: i64) -> Option<Progress> {
        let queue = self.n.p.queue(op);
        match self.stage(s, other, i) {
            Stage::Complete => None,
            Stage::UnderWay if queue.is_some() && queue == self.n.p.queue(other) => None,
            Stage::UnderWay => Some(Progress::UnderWay),
            Stage::Not => Some(Progress::NotStarted),
        }
    }

    fn start(&self, s: &State, next: &mut State, op: Op, i: i64) -> Result<(), Violation> {
        let n = self.n;
        let me = || n.instance(op, i);
        for (x, d) in n.s.pipes.iter().filter(|(_, d)| !d.writers.is_empty()) {
            for r in d.readers.iter().filter(|r| r.op == op) {
                let j = i - i64::from(r.distance(n.p).unwrap_or(0));
                match r.input {
                    Input::Order(o) => {
                        let from = n.p.orders[o as usize].from;
                        if let Some(progress) = self.inside(j).then(|| self.missing(s, op, from, j)).flatten()
                        {
                            return Err(Violation::OrderBroken {
                                from: n.instance(from, j),
                                to: me(),
                                progress,
                            });
                        }
                    }
                    Input::Operand(o) => {
                        for &w in d.writers.iter().filter(|_| self.inside(j)) {
                            if let Some(progress) = self.missing(s, op, w, j) {
                                let writer = n.instance(w, j);
                                let pipe = x.to_string();
                                return Err(Violation::NotFull {
                                    reader: me(),
                                    pipe,
                                    fill: j,
                                    writer,
                                    progress,
                                });
                            }
                        }
                        let value = n.p.ops[op].operands[o as usize].value;
                        let carried = d.values.iter().find(|&&v| n.p.is_within(value, v));
                        if let Some((b, slot)) = carried.and_then(|&v| self.slot(x, v, j))
                            && s.slots[b][slot] != Some((x, j))
                        {
                            let holds = s.slots[b][slot];
                            let holds = holds.map_or("nothing".into(), |(y, k)| format!("fill {k} of {y}"));
                            let (pipe, place) = (x.to_string(), format!("slot {slot} of buffer{b}"));
                            return Err(Violation::WrongFill { reader: me(), pipe, fill: j, place, holds });
                        }
                    }
                }
            }
        }
        for (x, d) in n.s.pipes.iter().filter(|(_, d)| d.writers.contains(&op)) {
            let results = &n.p.ops[op].results;
            for &v in d.values.iter().filter(|v| results.iter().any(|&r| structure::overlap(n.p, r, **v))) {
                let Some((b, slot)) = self.slot(x, v, i) else { continue };
                let place = || format!("slot {slot} of buffer{b}");
                if let Some((y, j)) = next.slots[b][slot].replace((x, i))
                    && (y, j) != (x, i)
                {
                    self.replace(s, op, i, y, j, place)?;
                    let writers = n.s.pipes[y].writers.iter().filter(|_| self.inside(j));
                    for &w in writers {
                        let progress = if (w, j) == (op, i) {
                            Some(Progress::UnderWay)
                        } else {
                            self.missing(s, op, w, j)
                        };
                        if let Some(progress) = progress {
                            return Err(Violation::WriteRace {
                                writer: me(),
                                place: place(),
                                pipe: y.to_string(),
                                fill: j,
                                other: n.instance(w, j),
                                progress,
                            });
                        }
                    }
                }
            }
            let j = i - i64::from(d.depth);
            if d.backing != Backing::Local && j >= -i64::from(d.initial) {
                self.replace(s, op, i, x, j, || {
                    format!("slot {} of the pipe", (i + i64::from(d.initial)).rem_euclid(d.depth.into()))
                })?;
            }
        }
        for m in n.p.mutexes.values().filter(|m| m.ops.contains(&op)) {
            for &other in &m.ops {
                for k in 0..self.trips {
                    let queue = n.p.queue(op);
                    let kept = queue.is_some() && queue == n.p.queue(other);
                    if self.stage(s, other, k) == Stage::UnderWay && !kept {
                        let (mutex, first) = (m.name.clone(), n.instance(other, k));
                        return Err(Violation::MutexBroken { mutex, first, second: me() });
                    }
                }
            }
        }
        next.stage[op.index() * self.trips as usize + i as usize] = Stage::UnderWay;
        if n.p.ops[op].execution == Execution::InOrder {
            next.started.push((op, i));
        }
        Ok(())
    }

    /// Nobody wants to read fill `j` of `y` any more when `op` writes over it.
    fn replace(
        &self,
        s: &State,
        op: Op,
        i: i64,
        y: Pipe,
        j: i64,
        place: impl Fn() -> String,
    ) -> Result<(), Violation> {
        for (r, at) in self.readers(y, j) {
            let progress = if (r.op, at) == (op, i) {
                (!self.in_place(r)).then_some(Progress::UnderWay)
            } else {
                self.missing(s, op, r.op, at)
            };
            if let Some(progress) = progress {
                return Err(Violation::Overwritten {
                    writer: self.n.instance(op, i),
                    place: place(),
                    pipe: y.to_string(),
                    fill: j,
                    reader: self.n.instance(r.op, at),
                    progress,
                });
            }
        }
        Ok(())
    }

    fn completed(&self, s: &State, op: Op, i: i64) -> State {
        let mut next = s.clone();
        next.stage[op.index() * self.trips as usize + i as usize] = Stage::Complete;
        next.started.retain(|&x| x != (op, i));
        for holder in &mut next.holders {
            if *holder == Some((op, i, true)) {
                *holder = None;
            }
        }
        if self.n.p.ops[op].execution == Execution::Sync {
            let agent = self
                .steps
                .iter()
                .zip(&s.at)
                .position(|(steps, &at)| steps.get(at as usize) == Some(&(Action::Run(op), i)));
            if let Some(agent) = agent {
                next.at[agent] += 1;
            }
        }
        next
    }

    /// Nothing can happen any more: is everything done?
    fn end(&self, s: &State) -> Result<(), Violation> {
        let n = self.n;
        let mut stuck = Vec::new();
        for (a, steps) in self.steps.iter().enumerate() {
            if let Some(&(action, i)) = steps.get(s.at[a] as usize) {
                let (agent, step) = (n.agent(Agent::new(a)), n.step(action));
                stuck.push(Stuck { agent, step, iteration: i, waits_for: String::new() });
            }
        }
        if !stuck.is_empty() {
            return Err(Violation::Deadlock { stuck });
        }
        for op in n.p.ops.keys() {
            if let Some(i) = (0..self.trips).find(|&i| self.stage(s, op, i) == Stage::Not) {
                return Err(Violation::NeverRun { instance: n.instance(op, i) });
            }
        }
        let performed = |wanted: &dyn Fn(Action) -> bool| {
            let all = n.s.agents.values().flat_map(|a| structure::parts(a).into_iter().flat_map(|p| p.1));
            all.into_iter().any(|step| wanted(step.action))
        };
        let waited = |x: Pipe| performed(&|a| matches!(a, Action::Wait(y, _) if y == x));
        let acquired = |x: Pipe| {
            let together = |y: Pipe| {
                x == y
                    || n.s.buffers.values().any(|b| {
                        b.members.iter().any(|m| m.pipe == x) && b.members.iter().any(|m| m.pipe == y)
                    })
            };
            performed(&|a| matches!(a, Action::Acquire(y) if together(y)))
        };
        let shared =
            |d: &sassafras_tileir::scheduled::PipeData| d.backing != Backing::Local && !d.writers.is_empty();
        for (x, d) in n.s.pipes.iter().filter(|(_, d)| shared(d)) {
            for &w in d.writers.iter().filter(|_| waited(x)) {
                if let Some(i) = (0..self.trips).find(|&i| !s.committed.contains(&(x, w, i))) {
                    return Err(Violation::NotCommitted { pipe: x.to_string(), writer: n.instance(w, i) });
                }
            }
            for &r in d.readers.iter().filter(|_| acquired(x)) {
                if let Some(i) = (0..self.trips).find(|&i| !s.released.contains(&(x, r, i))) {
                    return Err(Violation::NotReleased {
                        pipe: x.to_string(),
                        reader: n.instance(r.op, i),
                        input: n.input(r),
                    });
                }
            }
        }
        for (m, holder) in n.s.mutexes.keys().zip(&s.holders) {
            if let Some((op, i, _)) = holder {
                let holder = n.instance(*op, *i);
                return Err(Violation::NotUnlocked { mutex: m.to_string(), holder });
            }
        }
        Ok(())
    }
}
