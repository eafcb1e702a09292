//! The steps of agents: what each one does, waits for and wakes.

use super::state::Status;
use super::tables::{Do, Planned};
use super::{NONE, Outcome, Replayer};
use crate::tile::structure;
use crate::tile::violation::Violation;
use cranelift_entity::EntityRef;
use sassafras_tileir::scheduled::{Agent, Base};

pub(super) enum Performed {
    Done,
    /// On the list of those that wait.
    Blocked,
    /// The agent goes on when the operation completes.
    Busy,
}

impl Replayer<'_> {
    /// Performs steps of an agent until it has to wait.
    pub(super) fn advance(&mut self, a: usize) -> Outcome<()> {
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
    pub(super) fn upcoming(&mut self, a: usize) -> Option<Planned> {
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
    pub(super) fn current(&self, a: usize) -> (String, String) {
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
    pub(super) fn publish(&mut self, pipe: usize, i: i64) {
        let Some(fill) = self.fill(pipe, i) else { return };
        let f = &mut self.fills[fill];
        f.unpublished -= 1;
        if f.unpublished == 0 {
            let first = std::mem::replace(&mut f.full_waiter, NONE);
            self.wake(first);
        }
    }

    /// A reader no longer needs a fill.
    pub(super) fn give_back(&mut self, read: usize, i: i64) {
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

    pub(super) fn leave(&mut self, mutex: usize) {
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
    pub(super) fn not_free(&self, pipe: usize, i: i64) -> Option<usize> {
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
    pub(super) fn keeps(&self, fill: usize, pipe: usize, i: i64) -> Option<(usize, i64)> {
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
}
