//! The steps of one operation: what it waits for, the operation, what it gives on.
//!
//! In this order: waits for operands, free slots for results, mutexes by number (so that no two agents hold one each and
//! want the other's), the operation, mutexes left, operands released, results committed: who waits for the results can rely
//! on what was read being given back, as pipes that take turns at a named barrier do. A step that cannot matter is left out:
//! * a reader in step with all writers does not wait, nor does one whose agent has waited for the same fill before;
//! * a writer in step with all readers of what was in the slot does not acquire, nor does the second writer of an agent;
//! * a local pipe has no commits, and one whose slots nobody acquires no releases.

use super::emit::{must_acquire, must_wait, sharing};
use crate::agents::Plan;
use crate::analysis::Analysis;
use cranelift_entity::EntityRef;
use sassafras_tileir::program::{Op, Program};
use sassafras_tileir::scheduled::{Action, Backing, Mutex, Pipe, Reader, Scheduled};

/// What connects operations, looked up once.
pub struct Links {
    /// Per operation: pipes that it reads, with whether it must wait.
    reads: Vec<Vec<(Pipe, Reader, bool)>>,
    /// Per operation: pipes that it writes, with whether it must acquire.
    writes: Vec<Vec<(Pipe, bool)>>,
    /// Per operation: its mutexes.
    mutexes: Vec<Vec<Mutex>>,
    /// Per pipe: whether its ends meet at something.
    met: Vec<bool>,
    /// Per pipe: whether somebody acquires its slots.
    acquired: Vec<bool>,
}

impl Links {
    /// Looks everything up.
    pub fn new(program: &Program, scheduled: &Scheduled, plans: &[Plan]) -> Links {
        let n = program.ops.len();
        let mut links = Links {
            reads: vec![Vec::new(); n],
            writes: vec![Vec::new(); n],
            mutexes: vec![Vec::new(); n],
            met: vec![false; scheduled.pipes.len()],
            acquired: vec![false; scheduled.pipes.len()],
        };
        for (pipe, p) in scheduled.pipes.iter() {
            if p.backing == Backing::Local {
                continue;
            }
            links.met[pipe.index()] = true;
            for &r in &p.readers {
                let wait = must_wait(program, plans, p, r.op);
                links.reads[r.op.index()].push((pipe, r, wait));
            }
        }
        for (pipe, p) in scheduled.pipes.iter() {
            for &w in &p.writers {
                let acquire = must_acquire(program, plans, scheduled, pipe, w);
                links.writes[w.index()].push((pipe, acquire));
                if acquire {
                    sharing(scheduled, pipe).into_iter().for_each(|b| links.acquired[b.index()] = true);
                }
            }
        }
        for (mutex, m) in scheduled.mutexes.iter() {
            for op in &program.mutexes[m.of].ops {
                links.mutexes[op.index()].push(mutex);
            }
        }
        links
    }

    /// The steps of an operation. `earlier`: whether the agent has waited for a reader's fill already; `acquired`: whether
    /// it has acquired a pipe's slot already.
    fn actions(
        &self,
        program: &Program,
        op: Op,
        earlier: impl Fn(Pipe, Reader) -> bool,
        acquired: impl Fn(Pipe) -> bool,
    ) -> Vec<Action> {
        let i = op.index();
        let mut steps = Vec::new();
        for &(pipe, reader, wait) in &self.reads[i] {
            let again = self.reads[i]
                .iter()
                .take_while(|r| r.1 != reader)
                .any(|r| r.0 == pipe && r.1.distance(program) == reader.distance(program));
            if wait && !again && !earlier(pipe, reader) {
                steps.push(Action::Wait(pipe, reader));
            }
        }
        for &(pipe, acquire) in &self.writes[i] {
            if acquire && !acquired(pipe) {
                steps.push(Action::Acquire(pipe));
            }
        }
        steps.extend(self.mutexes[i].iter().map(|&m| Action::Lock(m, op)));
        steps.push(Action::Run(op));
        steps.extend(self.mutexes[i].iter().map(|&m| Action::Unlock(m, op)));
        for &(pipe, reader, _) in &self.reads[i] {
            if self.acquired[pipe.index()] {
                steps.push(Action::Release(pipe, reader));
            }
        }
        steps
            .extend(self.writes[i].iter().filter(|w| self.met[w.0.index()]).map(|w| Action::Commit(w.0, op)));
        steps
    }

    /// The steps of all operations of an agent, each operation's with the same iteration, in the order of their times.
    pub fn agent(&self, program: &Program, analysis: &Analysis, ops: &[Op]) -> Vec<(Op, Vec<Action>)> {
        let mut ops = ops.to_vec();
        ops.sort_by_key(|&op| (analysis.place(op).time, op));
        let mut out = Vec::with_capacity(ops.len());
        for &op in &ops {
            // A reader that reads each fill earlier than this one, in every iteration there is.
            let ii = i64::from(analysis.ii);
            let when = |r: Reader| {
                let d = i64::from(r.distance(program).unwrap_or(0));
                (analysis.place(r.op).time + d * ii, r.op)
            };
            let earlier = |pipe: Pipe, reader: Reader| {
                ops.iter().filter(|&&other| other != op).any(|&other| {
                    self.reads[other.index()].iter().any(|&(p, r, wait)| {
                        p == pipe
                            && wait
                            && when(r) < when(reader)
                            && r.distance(program) <= reader.distance(program)
                    })
                })
            };
            let acquired = |pipe: Pipe| {
                ops.iter()
                    .take_while(|&&o| o != op)
                    .any(|o| self.writes[o.index()].iter().any(|&(p, acquire)| p == pipe && acquire))
            };
            out.push((op, self.actions(program, op, earlier, acquired)));
        }
        out
    }
}
