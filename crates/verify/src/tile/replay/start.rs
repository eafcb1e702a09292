//! What is looked at when an operation starts: reads, overwrites, orders, mutexes.

use super::state::{MutexState, Status};
use super::steps::Performed;
use super::{NONE, Outcome, Replayer};
use crate::tile::violation::{Progress, Violation};
use cranelift_entity::EntityRef;
use sassafras_tileir::program::Op;
use sassafras_tileir::scheduled::{Input, Mutex, Pipe};

impl Replayer<'_> {
    pub(super) fn start(&mut self, op: usize, i: i64) -> Outcome<Performed> {
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
}
