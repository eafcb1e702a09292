//! What a run knows at any moment: how it begins, and where in it things are found.

use super::{NONE, Replayer};
use crate::tile::Delay;
use crate::tile::random::Random;
use crate::tile::violation::Violation;
use cranelift_entity::EntityRef;
use std::collections::VecDeque;

/// The most table entries and steps of a replay.
const MAX_WORK: u64 = 1 << 26;

#[derive(Clone, Copy)]
pub(super) struct Fill {
    pub(super) pipe: u32,
    pub(super) writers: u32,
    pub(super) unpublished: u32,
    pub(super) readers: u32,
    pub(super) taken: u32,
    /// The first agent that waits until it is full, and until it is free.
    pub(super) full_waiter: u32,
    pub(super) free_waiter: u32,
}

#[derive(Clone, Copy)]
pub(super) struct AgentState {
    pub(super) part: u8,
    pub(super) rounds_left: u64,
    pub(super) round: u64,
    pub(super) at: usize,
    pub(super) next_waiter: u32,
}

#[derive(Clone, Copy)]
pub(super) struct MutexState {
    pub(super) holder: u32,
    pub(super) leaving: bool,
    pub(super) waiter: u32,
    pub(super) under_way: u32,
    pub(super) queue: u32,
    pub(super) last: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Not,
    Started,
    Done,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// Nothing is.
    No,
    /// This will be when it starts.
    Later(u32),
    /// This is.
    Now(u32),
}

impl Replayer<'_> {
    pub(super) fn reset(
        &mut self,
        trips: u64,
        seed: u64,
        delay: Delay,
        traced: bool,
    ) -> Result<(), Violation> {
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

    pub(super) fn op_of(&self, instance: u32) -> usize {
        instance as usize / self.trips.max(1) as usize
    }

    pub(super) fn iteration_of(&self, instance: u32) -> i64 {
        i64::from(instance) % self.trips.max(1)
    }

    pub(super) fn instance(&self, op: usize, iteration: i64) -> usize {
        op * self.trips as usize + iteration as usize
    }

    pub(super) fn slot(&self, place: usize, j: i64) -> usize {
        let p = &self.t.places[place];
        p.slot + ((p.apart * j + p.first).rem_euclid(p.depth)) as usize
    }

    /// The number of a fill, if there is one.
    pub(super) fn fill(&self, pipe: usize, j: i64) -> Option<usize> {
        let p = &self.t.pipes[pipe];
        (j >= -p.initial && j < self.trips).then(|| self.fill_base[pipe] + (j + p.initial) as usize)
    }

    /// The iteration of a fill.
    pub(super) fn fill_iteration(&self, fill: usize) -> i64 {
        let pipe = self.fills[fill].pipe as usize;
        (fill - self.fill_base[pipe]) as i64 - self.t.pipes[pipe].initial
    }
}
