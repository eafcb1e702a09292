//! What is looked at when nobody goes on: who is stuck, and what has been left undone.

use super::state::Status;
use super::tables::Do;
use super::{NONE, Outcome, Replayer};
use crate::tile::violation::{Stuck, Violation};
use cranelift_entity::EntityRef;
use sassafras_tileir::program::Op;
use sassafras_tileir::scheduled::{At, Mutex, Pipe, Reader};

impl Replayer<'_> {
    /// Who waits for what.
    pub(super) fn deadlock(&mut self) -> Violation {
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
    pub(super) fn at_end(&self) -> Outcome<()> {
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
