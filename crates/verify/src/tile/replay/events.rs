//! What happens when: agents that go on, operations that are under way and complete.

use super::state::{Held, Status};
use super::steps::Performed;
use super::{NONE, Outcome, Replayer};
use crate::tile::{Delay, Span};
use cranelift_entity::EntityRef;
use sassafras_tileir::program::Op;
use sassafras_tileir::scheduled::Agent;
use std::cmp::Reverse;

impl Replayer<'_> {
    pub(super) fn go(&mut self) -> Outcome<()> {
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

    pub(super) fn push(&mut self, time: u64, event: u32) {
        let tie = match self.delay {
            // Time lines are the same every time.
            Delay::Latency => event,
            _ => self.random.next() as u32,
        };
        self.events.push(Reverse((time, tie, event)));
    }

    /// An agent goes on, now or a little later.
    pub(super) fn ready(&mut self, agent: u32) {
        let time = self.now + self.pause(agent);
        self.push(time, agent);
    }

    pub(super) fn pause(&mut self, agent: u32) -> u64 {
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

    /// An operation has started; when does it complete?
    pub(super) fn under_way(&mut self, op: usize, instance: u32) -> Performed {
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
}
