//! A schedule, run as an asynchronous machine would.
//!
//! [`Replayer::new`] checks the structure once and lays everything out in tables; [`Replayer::run`] then costs a little per
//! step: no step looks at more than the ends of one pipe. What has happened is counted per fill (writers that have not
//! completed, readers that have not, parts not yet published, parts not yet given back), so that a step asks a number; the
//! lists behind the numbers are looked at only where a number is not 0 and a message or an exception (in place, one
//! queue) needs them.

mod end;
mod events;
mod start;
mod state;
mod steps;
mod tables;

use self::state::{AgentState, Fill, Held, MutexState, Status};
use self::tables::Tables;
use super::names::Names;
use super::random::Random;
use super::structure;
use super::violation::Violation;
use super::{Delay, Limits, Replay, Span};
use sassafras_tileir::program::Program;
use sassafras_tileir::scheduled::Scheduled;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// No instance, fill, agent or queue.
const NONE: u32 = u32::MAX;

type Outcome<T> = Result<T, Box<Violation>>;

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
}
