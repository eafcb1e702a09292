//! A schedule, run as an asynchronous machine would.
//!
//! [`Replayer::new`] checks the structure once and lays everything out in tables; [`Replayer::run`] then costs a little per
//! step: no step looks at more than the ends of one pipe. What has happened is counted per fill (writers that have not
//! completed, readers that have not, parts not yet published, parts not yet given back), so that a step asks a number; the
//! lists behind the numbers are looked at only where a number is not 0 and a message or an exception (in place, one
//! queue) needs them.

use super::names::Names;
use super::random::Random;
use super::structure;
use super::violation::{Progress, Stuck, Violation};
use super::{Delay, Limits, Replay, Span};
use cranelift_entity::EntityRef;
use sassafras_tileir::program::{Execution, Op, Program};
use sassafras_tileir::scheduled::{
    Action, Agent, At, Backing, Base, Input, Mutex, Pipe, Reader, Scheduled, Step,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::ops::Range;

/// No instance, fill, agent or queue.
const NONE: u32 = u32::MAX;
/// The most table entries and steps of a replay.
const MAX_WORK: u64 = 1 << 26;

type Outcome<T> = Result<T, Box<Violation>>;

struct OpTable {
    agent: u32,
    /// Whether the agent is busy until it completes.
    sync: bool,
    queue: u32,
    kind: u32,
    latency: u32,
    writes: Range<usize>,
    reads: Range<usize>,
    mutexes: Range<usize>,
}

/// An operation as a reader of a pipe.
struct ReadTable {
    pipe: usize,
    op: Op,
    distance: i64,
    in_place: bool,
    /// Where the value is, for values with storage.
    place: Option<usize>,
    input: Input,
}

/// A pipe's value in a buffer.
struct PlaceTable {
    buffer: usize,
    /// Turns between two fills.
    apart: i64,
    /// The turn of fill 0.
    first: i64,
    depth: i64,
    /// The number of the buffer's first slot.
    slot: usize,
}

struct PipeTable {
    /// Operations that write it.
    writers: Vec<Op>,
    /// Its readers, as positions among all reads.
    readers: Vec<usize>,
    places: Range<usize>,
    depth: i64,
    initial: i64,
    furthest: i64,
    /// Whether its slots have barriers: whoever fills one again must not be seen by those who wait for the fill before.
    barriers: bool,
    /// Whether every writer must commit: somebody waits until a fill of it is full.
    commits: bool,
    /// Whether anybody ever waits until a fill of it is free.
    acquired: bool,
}

#[derive(Clone, Copy)]
enum Do {
    Acquire(usize),
    Run(usize),
    Commit(usize),
    Wait(usize, i64),
    Release(usize),
    Lock(usize, usize),
    Unlock(usize, usize),
}

#[derive(Clone, Copy)]
struct Planned {
    what: Do,
    base: Base,
    offset: i64,
}

struct Tables {
    ops: Vec<OpTable>,
    /// Pipes that each operation writes.
    writes: Vec<usize>,
    /// For each of them the places of what it writes.
    write_places: Vec<Vec<usize>>,
    /// Whose writes those are.
    write_ops: Vec<usize>,
    reads: Vec<ReadTable>,
    op_mutexes: Vec<usize>,
    pipes: Vec<PipeTable>,
    places: Vec<PlaceTable>,
    /// For each buffer its members: the pipe and the turn of fill 0.
    members: Vec<Vec<(usize, i64)>>,
    slots: usize,
    /// For each agent prologue, steady, epilogue and short steps.
    agents: Vec<[Vec<Planned>; 4]>,
    queues: usize,
    kinds: u32,
}

#[derive(Clone, Copy)]
struct Fill {
    pipe: u32,
    writers: u32,
    unpublished: u32,
    readers: u32,
    taken: u32,
    /// The first agent that waits until it is full, and until it is free.
    full_waiter: u32,
    free_waiter: u32,
}

#[derive(Clone, Copy)]
struct AgentState {
    part: u8,
    rounds_left: u64,
    round: u64,
    at: usize,
    next_waiter: u32,
}

#[derive(Clone, Copy)]
struct MutexState {
    holder: u32,
    leaving: bool,
    waiter: u32,
    under_way: u32,
    queue: u32,
    last: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Not,
    Started,
    Done,
}

enum Performed {
    Done,
    /// On the list of those that wait.
    Blocked,
    /// The agent goes on when the operation completes.
    Busy,
}

/// A schedule laid out for replays; see the module's comment.
pub struct Replayer<'a> {
    names: Names<'a>,
    t: Tables,
    // The state of a run; the memory is kept from run to run.
    trips: i64,
    status: Vec<Status>,
    fills: Vec<Fill>,
    fill_base: Vec<usize>,
    slots: Vec<u32>,
    committed: Vec<bool>,
    released: Vec<bool>,
    agents: Vec<AgentState>,
    mutexes: Vec<MutexState>,
    /// When the last of each queue completes, and those that stand behind one that does not.
    queue_time: Vec<u64>,
    queued: Vec<VecDeque<u32>>,
    events: BinaryHeap<Reverse<(u64, u32, u32)>>,
    /// Operations under way that complete only when nobody can go on.
    pending: Vec<u32>,
    random: Random,
    delay: Delay,
    slow: u32,
    held: Held,
    now: u64,
    steps: u64,
    finished: usize,
    starts: Option<Vec<u64>>,
    spans: Vec<Span>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    /// Nothing is.
    No,
    /// This will be when it starts.
    Later(u32),
    /// This is.
    Now(u32),
}

impl<'a> Replayer<'a> {
    /// Checks the structure (budgets aside) and lays out tables. Cost: near-linear in program and schedule.
    ///
    /// # Errors
    /// The first violation of [`check`](super::check).
    pub fn new(program: &'a Program, scheduled: &'a Scheduled) -> Result<Replayer<'a>, Violation> {
        match structure::violations(program, scheduled, &Limits::NONE).into_iter().next() {
            Some(violation) => Err(violation),
            None => Ok(Replayer::of_checked(program, scheduled)),
        }
    }

    /// For what `structure` has found nothing wrong with.
    pub(super) fn of_checked(program: &'a Program, scheduled: &'a Scheduled) -> Replayer<'a> {
        let t = Tables::new(program, scheduled);
        let (queues, agents) = (t.queues, t.agents.len());
        Replayer {
            names: Names { p: program, s: scheduled },
            t,
            trips: 0,
            status: Vec::new(),
            fills: Vec::new(),
            fill_base: Vec::new(),
            slots: Vec::new(),
            committed: Vec::new(),
            released: Vec::new(),
            agents: Vec::with_capacity(agents),
            mutexes: Vec::new(),
            queue_time: vec![0; queues],
            queued: vec![VecDeque::new(); queues],
            events: BinaryHeap::new(),
            pending: Vec::new(),
            random: Random::new(0),
            delay: Delay::None,
            slow: 0,
            held: Held::No,
            now: 0,
            steps: 0,
            finished: 0,
            starts: None,
            spans: Vec::new(),
        }
    }

    /// Whether one run per operation of each iteration, that one held back until nobody else can go on, finds whatever can
    /// go wrong: no agent and no queue ever has a choice. See [`prove`](super::prove).
    pub fn monotone(&self) -> bool {
        let mut feeder: Vec<Option<u32>> = vec![None; self.t.queues];
        let one_agent = self
            .t
            .ops
            .iter()
            .all(|o| o.queue == NONE || *feeder[o.queue as usize].get_or_insert(o.agent) == o.agent);
        one_agent && self.names.s.mutexes.is_empty()
    }

    /// Runs the loop once. `traced` asks for the time line.
    ///
    /// # Errors
    /// The first thing that goes wrong.
    pub fn run(&mut self, trips: u64, seed: u64, delay: Delay, traced: bool) -> Result<Replay, Violation> {
        self.reset(trips, seed, delay, traced)?;
        self.go().map_err(|v| *v)?;
        let spans = self.starts.is_some().then(|| {
            let mut spans = std::mem::take(&mut self.spans);
            spans.sort_by_key(|s| (s.start, s.op, s.iteration));
            spans
        });
        let operations = self.t.ops.len() as u64 * trips;
        Ok(Replay { trips, steps: self.steps, operations, time: self.now, spans })
    }

    fn reset(&mut self, trips: u64, seed: u64, delay: Delay, traced: bool) -> Result<(), Violation> {
        let s = self.names.s;
        let roles = self.t.ops.len() + self.t.writes.len() + self.t.reads.len() + self.t.pipes.len();
        let initial: u64 = self.t.pipes.iter().map(|p| p.initial as u64).sum();
        let per_round: u64 =
            s.agents.values().map(|a| a.steady.len().max(a.short.len()) as u64).sum::<u64>() + roles as u64;
        let work = trips.saturating_add(1).saturating_mul(per_round).saturating_add(initial);
        if work > MAX_WORK {
            let what = "steps of a replay:".into();
            return Err(Violation::TooLarge { what, number: work, limit: MAX_WORK });
        }
        let n = trips as usize;
        self.trips = trips as i64;
        self.status.clear();
        self.status.resize(self.t.ops.len() * n, Status::Not);
        self.committed.clear();
        self.committed.resize(self.t.writes.len() * n, false);
        self.released.clear();
        self.released.resize(self.t.reads.len() * n, false);
        self.slots.clear();
        self.slots.resize(self.t.slots, NONE);
        self.fills.clear();
        self.fill_base.clear();
        for (x, p) in self.t.pipes.iter().enumerate() {
            self.fill_base.push(self.fills.len());
            if p.writers.is_empty() {
                continue;
            }
            let writers = p.writers.len() as u32;
            for j in -p.initial..self.trips {
                let readers = if j >= 0 && j + p.furthest < self.trips {
                    p.readers.len()
                } else {
                    let read = |&&r: &&usize| (0..self.trips).contains(&(j + self.t.reads[r].distance));
                    p.readers.iter().filter(read).count()
                };
                let before = j < 0;
                self.fills.push(Fill {
                    pipe: x as u32,
                    writers: if before { 0 } else { writers },
                    unpublished: if before { 0 } else { writers },
                    readers: readers as u32,
                    taken: readers as u32,
                    full_waiter: NONE,
                    free_waiter: NONE,
                });
            }
            for place in p.places.clone() {
                for j in -p.initial..0 {
                    let slot = self.slot(place, j);
                    self.slots[slot] = (self.fill_base[x] as i64 + j + p.initial) as u32;
                }
            }
        }
        let short = trips < s.short_below;
        self.agents.clear();
        for a in s.agents.values() {
            let (part, rounds_left) = if short { (3, trips) } else { (0, 1) };
            debug_assert!(short || u64::from(a.lead) <= trips);
            self.agents.push(AgentState { part, rounds_left, round: 0, at: 0, next_waiter: NONE });
        }
        self.mutexes.clear();
        self.mutexes.resize(
            s.mutexes.len(),
            MutexState { holder: NONE, leaving: false, waiter: NONE, under_way: 0, queue: NONE, last: NONE },
        );
        self.queue_time.fill(0);
        self.queued.iter_mut().for_each(VecDeque::clear);
        self.events.clear();
        self.pending.clear();
        self.random = Random::new(seed);
        self.delay = delay;
        self.held = Held::No;
        self.slow = match delay {
            Delay::SlowKind => self.random.below(self.t.kinds.max(1)),
            Delay::SlowAgent => self.random.below((s.agents.len() as u32).max(1)),
            _ => NONE,
        };
        if let Delay::Hold { op, iteration } = delay
            && op.index() < self.t.ops.len()
            && iteration < trips
        {
            self.held = Held::Later((op.index() * n + iteration as usize) as u32);
        }
        (self.now, self.steps, self.finished) = (0, 0, 0);
        self.starts = traced.then(|| vec![0; self.status.len()]);
        self.spans.clear();
        Ok(())
    }

    fn go(&mut self) -> Outcome<()> {
        for a in 0..self.agents.len() {
            self.ready(a as u32);
        }
        let agents = self.agents.len() as u32;
        loop {
            while let Some(Reverse((time, _, event))) = self.events.pop() {
                self.now = time;
                if event < agents {
                    self.advance(event as usize)?;
                } else {
                    self.complete(event - agents);
                }
            }
            // Nobody can go on: now what has been held back completes.
            if let Held::Now(instance) = self.held {
                self.held = Held::No;
                self.complete(instance);
                // Those behind it in its queue had nothing else to wait for.
                let queue = self.t.ops[self.op_of(instance)].queue;
                if queue != NONE {
                    while let Some(next) = self.queued[queue as usize].pop_front() {
                        self.complete(next);
                    }
                }
            } else if !self.pending.is_empty() {
                let which = match self.delay {
                    Delay::Lifo => self.pending.len() - 1,
                    _ => self.random.below(self.pending.len() as u32) as usize,
                };
                let instance = self.pending.swap_remove(which);
                self.complete(instance);
                let queue = self.t.ops[self.op_of(instance)].queue;
                if queue != NONE {
                    let queue = &mut self.queued[queue as usize];
                    queue.pop_front();
                    self.pending.extend(queue.front());
                }
            } else {
                break;
            }
        }
        if self.finished < self.agents.len() {
            return Err(Box::new(self.deadlock()));
        }
        self.at_end()
    }

    fn op_of(&self, instance: u32) -> usize {
        instance as usize / self.trips.max(1) as usize
    }

    fn iteration_of(&self, instance: u32) -> i64 {
        i64::from(instance) % self.trips.max(1)
    }

    fn instance(&self, op: usize, iteration: i64) -> usize {
        op * self.trips as usize + iteration as usize
    }

    fn slot(&self, place: usize, j: i64) -> usize {
        let p = &self.t.places[place];
        p.slot + ((p.apart * j + p.first).rem_euclid(p.depth)) as usize
    }

    /// The number of a fill, if there is one.
    fn fill(&self, pipe: usize, j: i64) -> Option<usize> {
        let p = &self.t.pipes[pipe];
        (j >= -p.initial && j < self.trips).then(|| self.fill_base[pipe] + (j + p.initial) as usize)
    }

    /// The iteration of a fill.
    fn fill_iteration(&self, fill: usize) -> i64 {
        let pipe = self.fills[fill].pipe as usize;
        (fill - self.fill_base[pipe]) as i64 - self.t.pipes[pipe].initial
    }

    fn push(&mut self, time: u64, event: u32) {
        let tie = match self.delay {
            // Time lines are the same every time.
            Delay::Latency => event,
            _ => self.random.next() as u32,
        };
        self.events.push(Reverse((time, tie, event)));
    }

    /// An agent goes on, now or a little later.
    fn ready(&mut self, agent: u32) {
        let time = self.now + self.pause(agent);
        self.push(time, agent);
    }

    fn pause(&mut self, agent: u32) -> u64 {
        match self.delay {
            Delay::Hold { .. } | Delay::Latency => 0,
            Delay::SlowAgent if agent == self.slow => 200 + u64::from(self.random.below(200)),
            _ => {
                let r = self.random.next();
                // Most of the time it goes on at once.
                if r & 3 == 0 { 1 + (r >> 2 & 3) } else { 0 }
            }
        }
    }

    /// Performs steps of an agent until it has to wait.
    fn advance(&mut self, a: usize) -> Outcome<()> {
        loop {
            let Some(Planned { what, base, offset }) = self.upcoming(a) else {
                self.finished += 1;
                return Ok(());
            };
            let state = &self.agents[a];
            let from = match base {
                Base::First => 0,
                Base::Round => state.round as i64,
                Base::Trips => self.trips,
            };
            let iteration = from.saturating_add(offset);
            if iteration < 0 || iteration >= self.trips {
                let (agent, step) = self.current(a);
                let trips = self.trips as u64;
                return Err(Box::new(Violation::OutsideLoop { agent, step, iteration, trips }));
            }
            match self.perform(a, what, iteration)? {
                Performed::Done => {
                    self.agents[a].at += 1;
                    self.steps += 1;
                }
                Performed::Blocked | Performed::Busy => return Ok(()),
            }
            let pause = self.pause(a as u32);
            if pause > 0 {
                self.push(self.now + pause, a as u32);
                return Ok(());
            }
        }
    }

    /// The next step of an agent; rounds and parts that are over are left behind.
    fn upcoming(&mut self, a: usize) -> Option<Planned> {
        let state = &mut self.agents[a];
        let parts = &self.t.agents[a];
        loop {
            let steps = &parts[state.part as usize];
            if state.rounds_left > 0 && !steps.is_empty() {
                if let Some(&step) = steps.get(state.at) {
                    return Some(step);
                }
                state.at = 0;
                state.round += 1;
                state.rounds_left -= 1;
                continue;
            }
            if state.part >= 2 {
                return None;
            }
            state.part += 1;
            (state.at, state.round) = (0, 0);
            let lead = i64::from(self.names.s.agents[Agent::new(a)].lead);
            state.rounds_left = if state.part == 1 { (self.trips - lead).max(0) as u64 } else { 1 };
        }
    }

    /// The names of an agent and of the step that it is at.
    fn current(&self, a: usize) -> (String, String) {
        let data = &self.names.s.agents[Agent::new(a)];
        let state = &self.agents[a];
        let steps = structure::parts(data)[state.part as usize].1;
        (data.name.clone(), steps.get(state.at).map_or(String::new(), |s| self.names.step(s.action)))
    }

    fn perform(&mut self, a: usize, what: Do, i: i64) -> Outcome<Performed> {
        match what {
            Do::Run(op) => return self.start(op, i),
            Do::Acquire(pipe) => {
                if let Some(fill) = self.not_free(pipe, i) {
                    self.agents[a].next_waiter =
                        std::mem::replace(&mut self.fills[fill].free_waiter, a as u32);
                    return Ok(Performed::Blocked);
                }
            }
            Do::Wait(pipe, distance) => {
                if let Some(fill) = self.fill(pipe, i - distance)
                    && !self.t.pipes[pipe].writers.is_empty()
                    && self.fills[fill].unpublished > 0
                {
                    self.agents[a].next_waiter =
                        std::mem::replace(&mut self.fills[fill].full_waiter, a as u32);
                    return Ok(Performed::Blocked);
                }
            }
            Do::Commit(write) => {
                let op = self.t.write_op(write);
                let status = self.status[self.instance(op, i)];
                self.first_time(a, i, status, self.committed[self.instance(write, i)])?;
                let at = self.instance(write, i);
                self.committed[at] = true;
                if status == Status::Done {
                    self.publish(self.t.writes[write], i);
                }
            }
            Do::Release(read) => {
                let op = self.t.reads[read].op.index();
                let status = self.status[self.instance(op, i)];
                self.first_time(a, i, status, self.released[self.instance(read, i)])?;
                let at = self.instance(read, i);
                self.released[at] = true;
                if status == Status::Done {
                    self.give_back(read, i);
                }
            }
            Do::Lock(mutex, op) => {
                let instance = self.instance(op, i) as u32;
                let m = &mut self.mutexes[mutex];
                if m.holder != NONE {
                    self.agents[a].next_waiter = std::mem::replace(&mut m.waiter, a as u32);
                    return Ok(Performed::Blocked);
                }
                (m.holder, m.leaving) = (instance, false);
            }
            Do::Unlock(mutex, op) => {
                let instance = self.instance(op, i);
                let status = self.status[instance];
                self.first_time(a, i, status, false)?;
                let m = &mut self.mutexes[mutex];
                if m.holder != instance as u32 || m.leaving {
                    let (agent, step) = self.current(a);
                    return Err(Box::new(Violation::NotLocked { agent, step, iteration: i }));
                }
                m.leaving = true;
                if status == Status::Done {
                    self.leave(mutex);
                }
            }
        }
        Ok(Performed::Done)
    }

    /// A step that follows a run, once.
    fn first_time(&self, a: usize, iteration: i64, status: Status, before: bool) -> Outcome<()> {
        if status == Status::Not {
            let (agent, step) = self.current(a);
            return Err(Box::new(Violation::WithoutRun { agent, step, iteration }));
        }
        if before {
            let (agent, step) = self.current(a);
            return Err(Box::new(Violation::StepTwice { agent, step, iteration }));
        }
        Ok(())
    }

    /// A part of a fill is there.
    fn publish(&mut self, pipe: usize, i: i64) {
        let Some(fill) = self.fill(pipe, i) else { return };
        let f = &mut self.fills[fill];
        f.unpublished -= 1;
        if f.unpublished == 0 {
            let first = std::mem::replace(&mut f.full_waiter, NONE);
            self.wake(first);
        }
    }

    /// A reader no longer needs a fill.
    fn give_back(&mut self, read: usize, i: i64) {
        let r = &self.t.reads[read];
        if self.t.pipes[r.pipe].writers.is_empty() {
            return;
        }
        let Some(fill) = self.fill(r.pipe, i - r.distance) else { return };
        let f = &mut self.fills[fill];
        f.taken -= 1;
        // Not only at 0: a reader in place may be the last one.
        let first = std::mem::replace(&mut f.free_waiter, NONE);
        self.wake(first);
    }

    fn leave(&mut self, mutex: usize) {
        let m = &mut self.mutexes[mutex];
        (m.holder, m.leaving) = (NONE, false);
        let first = std::mem::replace(&mut m.waiter, NONE);
        self.wake(first);
    }

    fn wake(&mut self, first: u32) {
        let mut next = first;
        while next != NONE {
            let agent = next;
            next = std::mem::replace(&mut self.agents[agent as usize].next_waiter, NONE);
            self.ready(agent);
        }
    }

    /// A fill that must be free before fill `i` of a pipe can be written, and is not.
    fn not_free(&self, pipe: usize, i: i64) -> Option<usize> {
        let p = &self.t.pipes[pipe];
        if p.places.is_empty() {
            let before = self.fill(pipe, i - p.depth)?;
            return (!self.free_for(before, pipe, i)).then_some(before);
        }
        p.places.clone().find_map(|place| {
            let place = &self.t.places[place];
            let turn = place.apart * i + place.first - place.depth;
            let (other, first) = self.t.members[place.buffer][turn.rem_euclid(place.apart) as usize];
            if turn < 0 {
                return None;
            }
            let before = self.fill(other, (turn - first) / place.apart)?;
            (!self.free_for(before, pipe, i)).then_some(before)
        })
    }

    fn free_for(&self, fill: usize, pipe: usize, i: i64) -> bool {
        self.fills[fill].taken == 0 || self.keeps(fill, pipe, i).is_none()
    }

    /// A reader that has not given back a fill and is not replaced in place by iteration `i` of a pipe's writers.
    fn keeps(&self, fill: usize, pipe: usize, i: i64) -> Option<(usize, i64)> {
        let j = self.fill_iteration(fill);
        let owner = &self.t.pipes[self.fills[fill].pipe as usize];
        owner.readers.iter().find_map(|&r| {
            let read = &self.t.reads[r];
            let iteration = j + read.distance;
            if !(0..self.trips).contains(&iteration) {
                return None;
            }
            let done = self.status[self.instance(read.op.index(), iteration)] == Status::Done;
            let freed = done && self.released[self.instance(r, iteration)];
            let replaced = read.in_place && iteration == i && self.t.pipes[pipe].writers.contains(&read.op);
            (!freed && !replaced).then_some((r, iteration))
        })
    }

    fn start(&mut self, op: usize, i: i64) -> Outcome<Performed> {
        let at = self.instance(op, i);
        if self.status[at] != Status::Not {
            let instance = self.names.instance(Op::new(op), i);
            return Err(Box::new(Violation::RunTwice { instance }));
        }
        for read in self.t.ops[op].reads.clone() {
            self.check_read(op, read, i)?;
        }
        self.status[at] = Status::Started;
        for write in self.t.ops[op].writes.clone() {
            self.check_write(op, write, i)?;
        }
        for m in self.t.ops[op].mutexes.clone() {
            self.enter(self.t.op_mutexes[m], op, i)?;
        }
        if let Some(starts) = &mut self.starts {
            starts[at] = self.now;
        }
        Ok(self.under_way(op, at as u32))
    }

    /// An operation has started; when does it complete?
    fn under_way(&mut self, op: usize, instance: u32) -> Performed {
        let o = &self.t.ops[op];
        let (sync, queue) = (o.sync, o.queue);
        let after = if sync { Performed::Busy } else { Performed::Done };
        match self.delay {
            Delay::Lifo | Delay::Late => {
                if queue != NONE {
                    let queue = &mut self.queued[queue as usize];
                    queue.push_back(instance);
                    if queue.len() > 1 {
                        return after;
                    }
                }
                self.pending.push(instance);
                after
            }
            Delay::Hold { .. } | Delay::None => {
                match self.held {
                    Held::Later(x) if x == instance => {
                        self.held = Held::Now(x);
                        return after;
                    }
                    Held::Now(x) if queue != NONE && self.t.ops[self.op_of(x)].queue == queue => {
                        self.queued[queue as usize].push_back(instance);
                        return after;
                    }
                    _ => {}
                }
                self.finish(op, instance);
                Performed::Done
            }
            _ => {
                let mut time = self.now + self.duration(op);
                if queue != NONE {
                    let last = &mut self.queue_time[queue as usize];
                    time = time.max(*last + 1);
                    *last = time;
                }
                let agents = self.agents.len() as u32;
                self.push(time, agents + instance);
                after
            }
        }
    }

    fn duration(&mut self, op: usize) -> u64 {
        let r = self.random.next();
        match self.delay {
            Delay::Latency => self.t.ops[op].latency.into(),
            Delay::HeavyTail => {
                // Half as likely for each doubling.
                let doublings = (r >> 8).trailing_ones().min(12);
                (r & 3) << doublings
            }
            Delay::SlowKind if self.t.ops[op].kind == self.slow => 200 + r % 200,
            _ => r & 7,
        }
    }

    /// An operation completes that was not complete at once.
    fn complete(&mut self, instance: u32) {
        let op = self.op_of(instance);
        self.finish(op, instance);
        if self.t.ops[op].sync {
            let agent = self.t.ops[op].agent;
            self.agents[agent as usize].at += 1;
            self.steps += 1;
            self.ready(agent);
        }
    }

    fn finish(&mut self, op: usize, instance: u32) {
        let i = self.iteration_of(instance);
        self.status[instance as usize] = Status::Done;
        for write in self.t.ops[op].writes.clone() {
            let pipe = self.t.writes[write];
            if let Some(fill) = self.fill(pipe, i) {
                self.fills[fill].writers -= 1;
            }
            if self.committed[self.instance(write, i)] {
                self.publish(pipe, i);
            }
        }
        for read in self.t.ops[op].reads.clone() {
            let r = &self.t.reads[read];
            if self.t.pipes[r.pipe].writers.is_empty() {
                continue;
            }
            if let Some(fill) = self.fill(r.pipe, i - r.distance) {
                self.fills[fill].readers -= 1;
            }
            if self.released[self.instance(read, i)] {
                self.give_back(read, i);
            }
        }
        for m in self.t.ops[op].mutexes.clone() {
            let mutex = self.t.op_mutexes[m];
            let state = &mut self.mutexes[mutex];
            state.under_way -= 1;
            if state.holder == instance && state.leaving {
                self.leave(mutex);
            }
        }
        if let Some(starts) = &self.starts {
            let (start, end) = (starts[instance as usize], self.now);
            let agent = Agent::new(self.t.ops[op].agent as usize);
            self.spans.push(Span { agent, op: Op::new(op), iteration: i as u64, start, end });
        }
    }

    /// Whether the queue keeps one operation behind another: both are on it, and the other one is already.
    fn behind(&self, op: usize, other: usize, other_instance: usize) -> bool {
        let queue = self.t.ops[op].queue;
        queue != NONE && self.t.ops[other].queue == queue && self.status[other_instance] == Status::Started
    }

    fn progress(&self, instance: usize) -> Progress {
        if self.status[instance] == Status::Not { Progress::NotStarted } else { Progress::UnderWay }
    }

    /// What an operation reads is there.
    fn check_read(&self, op: usize, read: usize, i: i64) -> Outcome<()> {
        let r = &self.t.reads[read];
        let p = &self.t.pipes[r.pipe];
        if p.writers.is_empty() {
            return Ok(());
        }
        let j = i - r.distance;
        // The structure has as many initial fills as readers want.
        let Some(fill) = self.fill(r.pipe, j) else { return Ok(()) };
        if self.fills[fill].writers > 0 {
            let wanted = match r.input {
                Input::Order(o) => std::slice::from_ref(&self.names.p.orders[o as usize].from),
                Input::Operand(_) => &p.writers,
            };
            for &writer in wanted {
                let instance = self.instance(writer.index(), j);
                if self.status[instance] == Status::Done || self.behind(op, writer.index(), instance) {
                    continue;
                }
                let (reader, writer) = (self.names.instance(r.op, i), self.names.instance(writer, j));
                let progress = self.progress(instance);
                return Err(Box::new(match r.input {
                    Input::Order(_) => Violation::OrderBroken { from: writer, to: reader, progress },
                    Input::Operand(_) => {
                        let pipe = Pipe::new(r.pipe).to_string();
                        Violation::NotFull { reader, pipe, fill: j, writer, progress }
                    }
                }));
            }
        }
        if let Some(place) = r.place {
            let slot = self.slot(place, j);
            if self.slots[slot] != fill as u32 {
                let holds = match self.slots[slot] {
                    NONE => "nothing".into(),
                    f => {
                        let pipe = Pipe::new(self.fills[f as usize].pipe as usize);
                        format!("fill {} of {pipe}", self.fill_iteration(f as usize))
                    }
                };
                return Err(Box::new(Violation::WrongFill {
                    reader: self.names.instance(r.op, i),
                    pipe: Pipe::new(r.pipe).to_string(),
                    fill: j,
                    place: self.place_name(place, slot),
                    holds,
                }));
            }
        }
        Ok(())
    }

    fn place_name(&self, place: usize, slot: usize) -> String {
        let p = &self.t.places[place];
        format!("slot {} of buffer{}", slot - p.slot, p.buffer)
    }

    /// Whatever was in the slots that an operation writes is no longer wanted.
    fn check_write(&mut self, op: usize, write: usize, i: i64) -> Outcome<()> {
        let pipe = self.t.writes[write];
        let Some(fill) = self.fill(pipe, i) else { return Ok(()) };
        for at in 0..self.t.write_places[write].len() {
            let place = self.t.write_places[write][at];
            let slot = self.slot(place, i);
            let before = std::mem::replace(&mut self.slots[slot], fill as u32);
            if before != NONE && before != fill as u32 {
                self.check_replaced(op, i, before as usize, true, || self.place_name(place, slot))?;
            }
        }
        let p = &self.t.pipes[pipe];
        if p.barriers
            && let Some(before) = self.fill(pipe, i - p.depth)
        {
            let slot = (i + p.initial).rem_euclid(p.depth);
            self.check_replaced(op, i, before, false, || format!("slot {slot} of the pipe"))?;
        }
        Ok(())
    }

    fn check_replaced(
        &self,
        op: usize,
        i: i64,
        fill: usize,
        written: bool,
        place: impl Fn() -> String,
    ) -> Outcome<()> {
        let f = &self.fills[fill];
        if f.readers == 0 && (f.writers == 0 || !written) {
            return Ok(());
        }
        let this = self.instance(op, i);
        let j = self.fill_iteration(fill);
        let p = &self.t.pipes[f.pipe as usize];
        let pipe = || Pipe::new(f.pipe as usize).to_string();
        let writer = || self.names.instance(Op::new(op), i);
        for &r in &p.readers {
            let read = &self.t.reads[r];
            let iteration = j + read.distance;
            if !(0..self.trips).contains(&iteration) {
                continue;
            }
            let instance = self.instance(read.op.index(), iteration);
            let fine = self.status[instance] == Status::Done
                || if instance == this { read.in_place } else { self.behind(op, read.op.index(), instance) };
            if !fine {
                return Err(Box::new(Violation::Overwritten {
                    writer: writer(),
                    place: place(),
                    pipe: pipe(),
                    fill: j,
                    reader: self.names.instance(read.op, iteration),
                    progress: self.progress(instance),
                }));
            }
        }
        if written && j >= 0 {
            for &other in &p.writers {
                let instance = self.instance(other.index(), j);
                let fine = self.status[instance] == Status::Done
                    || instance != this && self.behind(op, other.index(), instance);
                if !fine {
                    return Err(Box::new(Violation::WriteRace {
                        writer: writer(),
                        place: place(),
                        pipe: pipe(),
                        fill: j,
                        other: self.names.instance(other, j),
                        progress: self.progress(instance),
                    }));
                }
            }
        }
        Ok(())
    }

    /// No other operation of a mutex is under way, but for those that the queue lets go first.
    fn enter(&mut self, mutex: usize, op: usize, i: i64) -> Outcome<()> {
        let queue = self.t.ops[op].queue;
        let m = self.mutexes[mutex];
        if m.under_way > 0 && (queue == NONE || m.queue != queue) {
            let of = self.names.s.mutexes[Mutex::new(mutex)].of;
            let first = self.names.instance(Op::new(self.op_of(m.last)), self.iteration_of(m.last));
            return Err(Box::new(Violation::MutexBroken {
                mutex: self.names.p.mutexes[of].name.clone(),
                first,
                second: self.names.instance(Op::new(op), i),
            }));
        }
        let last = self.instance(op, i) as u32;
        self.mutexes[mutex] = MutexState { under_way: m.under_way + 1, queue, last, ..m };
        Ok(())
    }

    /// Who waits for what.
    fn deadlock(&mut self) -> Violation {
        let mut stuck = Vec::new();
        for a in 0..self.agents.len() {
            let Some(planned) = self.upcoming(a) else { continue };
            let (agent, step) = self.current(a);
            let at = At { base: planned.base, offset: planned.offset };
            let iteration = at.iteration(self.agents[a].round, self.trips as u64);
            let waits_for = self.reason(planned.what, iteration);
            stuck.push(Stuck { agent, step, iteration, waits_for });
        }
        Violation::Deadlock { stuck }
    }

    fn reason(&self, what: Do, i: i64) -> String {
        match what {
            Do::Acquire(pipe) => {
                let Some(fill) = self.not_free(pipe, i) else { return String::new() };
                let (j, owner) = (self.fill_iteration(fill), Pipe::new(self.fills[fill].pipe as usize));
                let Some((r, iteration)) = self.keeps(fill, pipe, i) else { return String::new() };
                let read = &self.t.reads[r];
                let who = self.names.instance(read.op, iteration);
                let instance = self.instance(read.op.index(), iteration);
                let state = match self.status[instance] {
                    Status::Not => "has not started",
                    _ if !self.released[self.instance(r, iteration)] => "has not released it",
                    _ => "has not completed",
                };
                format!("fill {j} of {owner} is not free: {who} {state}")
            }
            Do::Wait(pipe, distance) => {
                let j = i - distance;
                let missing = self.t.pipes[pipe].writers.iter().find_map(|&w| {
                    let instance = self.instance(w.index(), j);
                    let write = self.t.ops[w.index()].writes.clone().find(|&x| self.t.writes[x] == pipe)?;
                    let state = match self.status[instance] {
                        Status::Not => "has not started",
                        _ if !self.committed[self.instance(write, j)] => "has not committed it",
                        Status::Started => "has not completed",
                        Status::Done => return None,
                    };
                    Some(format!("{} {state}", self.names.instance(w, j)))
                });
                format!("fill {j} of {} is not full: {}", Pipe::new(pipe), missing.unwrap_or_default())
            }
            Do::Lock(mutex, _) => {
                let holder = self.mutexes[mutex].holder;
                let who = self.names.instance(Op::new(self.op_of(holder)), self.iteration_of(holder));
                format!("{who} holds {}", Mutex::new(mutex))
            }
            Do::Run(_) | Do::Commit(_) | Do::Release(_) | Do::Unlock(..) => "nothing".into(),
        }
    }

    /// What must have happened when all agents have come to their end.
    fn at_end(&self) -> Outcome<()> {
        let n = self.trips.max(1) as usize;
        if let Some(at) = self.status.iter().position(|&s| s == Status::Not) {
            let instance = self.names.instance(Op::new(at / n), (at % n) as i64);
            return Err(Box::new(Violation::NeverRun { instance }));
        }
        let uncommitted = self.committed.iter().enumerate().filter(|(_, c)| !**c);
        for (at, _) in uncommitted {
            let write = at / n;
            let pipe = self.t.writes[write];
            if self.t.pipes[pipe].commits {
                let writer = self.names.instance(Op::new(self.t.write_op(write)), (at % n) as i64);
                return Err(Box::new(Violation::NotCommitted { pipe: Pipe::new(pipe).to_string(), writer }));
            }
        }
        let unreleased = self.released.iter().enumerate().filter(|(_, r)| !**r);
        for (at, _) in unreleased {
            let r = &self.t.reads[at / n];
            if self.t.pipes[r.pipe].acquired {
                return Err(Box::new(Violation::NotReleased {
                    pipe: Pipe::new(r.pipe).to_string(),
                    reader: self.names.instance(r.op, (at % n) as i64),
                    input: self.names.input(Reader { op: r.op, input: r.input }),
                }));
            }
        }
        for (m, state) in self.mutexes.iter().enumerate() {
            if state.holder != NONE {
                let holder = state.holder;
                let holder = self.names.instance(Op::new(self.op_of(holder)), self.iteration_of(holder));
                return Err(Box::new(Violation::NotUnlocked { mutex: Mutex::new(m).to_string(), holder }));
            }
        }
        Ok(())
    }
}

impl Tables {
    /// For what the structure has found nothing wrong with: every number is of something.
    fn new(program: &Program, scheduled: &Scheduled) -> Tables {
        let (p, s) = (program, scheduled);
        let mut owner = vec![0u32; p.ops.len()];
        let mut acquires = vec![false; s.pipes.len()];
        let mut waits = acquires.clone();
        for (a, d) in s.agents.iter() {
            for step in structure::parts(d).iter().flat_map(|part| part.1) {
                match step.action {
                    Action::Run(o) => owner[o.index()] = a.as_u32(),
                    Action::Acquire(x) => acquires[x.index()] = true,
                    Action::Wait(x, _) => waits[x.index()] = true,
                    _ => {}
                }
            }
        }
        let mut awaited = acquires.clone();
        let mut slots = 0;
        let mut members = Vec::new();
        let mut placed: BTreeMap<(usize, usize), PlaceTable> = BTreeMap::new();
        for (b, d) in s.buffers.iter() {
            let apart = d.members.len() as i64;
            let first = |m: usize| apart * i64::from(d.members[m].shift) + m as i64;
            for (m, member) in d.members.iter().enumerate() {
                placed.insert(
                    (member.pipe.index(), member.value.index()),
                    PlaceTable {
                        buffer: b.index(),
                        apart,
                        first: first(m),
                        depth: d.depth.into(),
                        slot: slots,
                    },
                );
            }
            members.push((0..d.members.len()).map(|m| (d.members[m].pipe.index(), first(m))).collect());
            slots += d.depth as usize;
            // An acquire of one member waits for the readers of all.
            if d.members.iter().any(|m| acquires[m.pipe.index()]) {
                d.members.iter().for_each(|m| awaited[m.pipe.index()] = true);
            }
        }
        let mut places = Vec::new();
        let mut place_of: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        let mut pipes: Vec<PipeTable> = Vec::new();
        let mut op_writes: Vec<Vec<usize>> = vec![Vec::new(); p.ops.len()];
        let mut op_reads: Vec<Vec<(usize, Reader)>> = vec![Vec::new(); p.ops.len()];
        for (x, d) in s.pipes.iter() {
            let first = places.len();
            for v in &d.values {
                if let Some(place) = placed.remove(&(x.index(), v.index())) {
                    place_of.insert((x.index(), v.index()), places.len());
                    places.push(place);
                }
            }
            d.writers.iter().for_each(|o| op_writes[o.index()].push(x.index()));
            d.readers.iter().for_each(|&r| op_reads[r.op.index()].push((x.index(), r)));
            let shared = d.backing != Backing::Local && !d.writers.is_empty();
            pipes.push(PipeTable {
                writers: d.writers.clone(),
                readers: Vec::new(),
                places: first..places.len(),
                depth: d.depth.into(),
                initial: d.initial.into(),
                furthest: d.readers.iter().filter_map(|r| r.distance(p)).max().unwrap_or(0).into(),
                barriers: shared,
                commits: shared && waits[x.index()],
                acquired: shared && awaited[x.index()],
            });
        }
        let (mut writes, mut write_ops, mut write_places) = (Vec::new(), Vec::new(), Vec::new());
        let (mut reads, mut op_mutexes) = (Vec::new(), Vec::new());
        let mut of_op: Vec<Vec<usize>> = vec![Vec::new(); p.ops.len()];
        for (m, d) in s.mutexes.iter() {
            p.mutexes[d.of].ops.iter().for_each(|o| of_op[o.index()].push(m.index()));
        }
        let mut kinds: BTreeMap<&str, u32> = BTreeMap::new();
        let mut queues: BTreeMap<&str, u32> = BTreeMap::new();
        let mut ops = Vec::new();
        for (op, d) in p.ops.iter() {
            let first = (writes.len(), reads.len(), op_mutexes.len());
            writes.extend(&op_writes[op.index()]);
            write_ops.resize(writes.len(), op.index());
            for &pipe in &op_writes[op.index()] {
                let carried = s.pipes[Pipe::new(pipe)].values.iter();
                let own = carried.filter(|&&v| d.results.iter().any(|&r| structure::overlap(p, r, v)));
                write_places.push(own.filter_map(|v| place_of.get(&(pipe, v.index())).copied()).collect());
            }
            for &(pipe, reader) in &op_reads[op.index()] {
                let operand = match reader.input {
                    Input::Operand(i) => Some(d.operands[i as usize]),
                    Input::Order(_) => None,
                };
                pipes[pipe].readers.push(reads.len());
                reads.push(ReadTable {
                    pipe,
                    op,
                    distance: reader.distance(p).unwrap_or(0).into(),
                    in_place: operand.is_some_and(|o| o.in_place),
                    place: operand.and_then(|o| {
                        let mut carried = s.pipes[Pipe::new(pipe)].values.iter();
                        let v = carried.find(|&&v| structure::within(p, o.value, v))?;
                        place_of.get(&(pipe, v.index())).copied()
                    }),
                    input: reader.input,
                });
            }
            op_mutexes.extend(&of_op[op.index()]);
            let new = kinds.len() as u32;
            let kind = *kinds.entry(d.kind.as_str()).or_insert(new);
            let new = queues.len() as u32;
            let queue = p.queue(op).map_or(NONE, |q| *queues.entry(q).or_insert(new));
            ops.push(OpTable {
                agent: owner[op.index()],
                sync: d.execution == Execution::Sync,
                queue,
                kind,
                latency: d.latency,
                writes: first.0..writes.len(),
                reads: first.1..reads.len(),
                mutexes: first.2..op_mutexes.len(),
            });
        }
        let (queues, kinds) = (queues.len(), kinds.len() as u32);
        let mut t = Tables {
            ops,
            writes,
            write_places,
            write_ops,
            reads,
            op_mutexes,
            pipes,
            places,
            members,
            slots,
            agents: Vec::new(),
            queues,
            kinds,
        };
        t.agents = s.agents.values().map(|d| structure::parts(d).map(|part| t.plan(p, part.1))).collect();
        t
    }

    fn plan(&self, p: &Program, steps: &[Step]) -> Vec<Planned> {
        // The structure has made sure that steps name writers and readers that there are.
        let write = |x: Pipe, o: Op| {
            let mut of = self.ops[o.index()].writes.clone();
            of.find(|&w| self.writes[w] == x.index()).unwrap_or(0)
        };
        let read = |x: Pipe, r: Reader| {
            let mut of = self.ops[r.op.index()].reads.clone();
            of.find(|&n| self.reads[n].pipe == x.index() && self.reads[n].input == r.input).unwrap_or(0)
        };
        let planned = |step: &Step| {
            let what = match step.action {
                Action::Acquire(x) => Do::Acquire(x.index()),
                Action::Run(o) => Do::Run(o.index()),
                Action::Commit(x, o) => Do::Commit(write(x, o)),
                Action::Wait(x, r) => Do::Wait(x.index(), r.distance(p).unwrap_or(0).into()),
                Action::Release(x, r) => Do::Release(read(x, r)),
                Action::Lock(m, o) => Do::Lock(m.index(), o.index()),
                Action::Unlock(m, o) => Do::Unlock(m.index(), o.index()),
            };
            Planned { what, base: step.at.base, offset: step.at.offset }
        };
        steps.iter().map(planned).collect()
    }

    /// Whose write this is.
    fn write_op(&self, write: usize) -> usize {
        self.write_ops[write]
    }
}
