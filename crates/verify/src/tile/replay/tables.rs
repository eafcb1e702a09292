//! The tables that a schedule is laid out in, once, before any run.

use super::NONE;
use crate::tile::structure;
use cranelift_entity::EntityRef;
use sassafras_tileir::program::{Execution, Op, Program};
use sassafras_tileir::scheduled::{Action, Backing, Base, Input, Pipe, Reader, Scheduled, Step};
use std::collections::BTreeMap;
use std::ops::Range;

pub(super) struct OpTable {
    pub(super) agent: u32,
    /// Whether the agent is busy until it completes.
    pub(super) sync: bool,
    pub(super) queue: u32,
    pub(super) kind: u32,
    pub(super) latency: u32,
    pub(super) writes: Range<usize>,
    pub(super) reads: Range<usize>,
    pub(super) mutexes: Range<usize>,
}

/// An operation as a reader of a pipe.
pub(super) struct ReadTable {
    pub(super) pipe: usize,
    pub(super) op: Op,
    pub(super) distance: i64,
    pub(super) in_place: bool,
    /// Where the value is, for values with storage.
    pub(super) place: Option<usize>,
    pub(super) input: Input,
}

/// A pipe's value in a buffer.
pub(super) struct PlaceTable {
    pub(super) buffer: usize,
    /// Turns between two fills.
    pub(super) apart: i64,
    /// The turn of fill 0.
    pub(super) first: i64,
    pub(super) depth: i64,
    /// The number of the buffer's first slot.
    pub(super) slot: usize,
}

pub(super) struct PipeTable {
    /// Operations that write it.
    pub(super) writers: Vec<Op>,
    /// Its readers, as positions among all reads.
    pub(super) readers: Vec<usize>,
    pub(super) places: Range<usize>,
    pub(super) depth: i64,
    pub(super) initial: i64,
    pub(super) furthest: i64,
    /// Whether its slots have barriers: whoever fills one again must not be seen by those who wait for the fill before.
    pub(super) barriers: bool,
    /// Whether every writer must commit: somebody waits until a fill of it is full.
    pub(super) commits: bool,
    /// Whether anybody ever waits until a fill of it is free.
    pub(super) acquired: bool,
}

#[derive(Clone, Copy)]
pub(super) enum Do {
    Acquire(usize),
    Run(usize),
    Commit(usize),
    Wait(usize, i64),
    Release(usize),
    Lock(usize, usize),
    Unlock(usize, usize),
}

#[derive(Clone, Copy)]
pub(super) struct Planned {
    pub(super) what: Do,
    pub(super) base: Base,
    pub(super) offset: i64,
}

pub(super) struct Tables {
    pub(super) ops: Vec<OpTable>,
    /// Pipes that each operation writes.
    pub(super) writes: Vec<usize>,
    /// For each of them the places of what it writes.
    pub(super) write_places: Vec<Vec<usize>>,
    /// Whose writes those are.
    pub(super) write_ops: Vec<usize>,
    pub(super) reads: Vec<ReadTable>,
    pub(super) op_mutexes: Vec<usize>,
    pub(super) pipes: Vec<PipeTable>,
    pub(super) places: Vec<PlaceTable>,
    /// For each buffer its members: the pipe and the turn of fill 0.
    pub(super) members: Vec<Vec<(usize, i64)>>,
    pub(super) slots: usize,
    /// For each agent prologue, steady, epilogue and short steps.
    pub(super) agents: Vec<[Vec<Planned>; 4]>,
    pub(super) queues: usize,
    pub(super) kinds: u32,
}

impl Tables {
    /// For what the structure has found nothing wrong with: every number is of something.
    pub(super) fn new(program: &Program, scheduled: &Scheduled) -> Tables {
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
                        let v = carried.find(|&&v| p.is_within(o.value, v))?;
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
    pub(super) fn write_op(&self, write: usize) -> usize {
        self.write_ops[write]
    }
}
