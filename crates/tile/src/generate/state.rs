//! What the arms work on at one II: the table, the longest paths, what has been placed, and the gates.
//!
//! # Gates
//!
//! Before an operation is seated, in this order:
//! 1. *pending*: something that it needs of the same iteration is neither seated nor a candidate: held over;
//! 2. *depth*: a `max_depth` of 1 or less marks it dead in the snapshot: of the arms that look, one moves nothing for it and the
//!    other skips it;
//! 3. *table*: a conflict moves it on, cycle by cycle (the table jumps over rows that cannot do);
//! 4. *leader*: members of a group share a stage, whichever is seated first; where that leaves none for the others, the
//!    first arm takes them in another order.
//!
//! Source: `tile-gates`. The document's second gate reads "at most 1 is viable" in one place and "unreachable" in its
//! failure path; what is kept is the effect: such operations never overlap further than one slot.

use super::cost::is_bank;
use super::groups::Groups;
use cranelift_entity::EntityRef;
use sassafras_modulo::{Distances, Op, Problem, Resource, Schedule, Table};
use sassafras_tileir::program::Program;
use std::ops::RangeInclusive;

/// What an attempt knows of an operation; the document keeps both roles in one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It can be seated.
    Live,
    /// An arm could not seat it: skipped until the snapshot is emptied.
    Dead,
}

/// The marks of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marks(Vec<Mark>);

impl Marks {
    /// All live.
    pub fn new(count: usize) -> Marks {
        Marks(vec![Mark::Live; count])
    }

    /// Marks an operation dead.
    pub fn kill(&mut self, op: Op) {
        self.0[op.index()] = Mark::Dead;
    }

    /// Marks it live again.
    pub fn revive(&mut self, op: Op) {
        self.0[op.index()] = Mark::Live;
    }

    /// Whether it is dead.
    pub fn dead(&self, op: Op) -> bool {
        self.0[op.index()] == Mark::Dead
    }
}

/// A placement attempt at one II.
pub struct State<'a> {
    /// The loop.
    pub program: &'a Program,
    /// The same as a problem.
    pub problem: &'a Problem,
    /// Its groups.
    pub groups: &'a Groups,
    /// Longest paths at this II.
    pub distances: &'a Distances,
    /// Who holds what.
    pub table: Table,
    /// Resources that count for bank pressure.
    pub banks: Vec<Resource>,
    /// The most stages; nothing for any number.
    pub stages: Option<u32>,
    times: Vec<Option<i64>>,
    /// The earliest start with nothing placed.
    depth: Vec<i64>,
    height: Vec<i64>,
    into: Vec<i64>,
    /// What each operation needs of the same iteration.
    needs: Vec<Vec<Op>>,
}

impl<'a> State<'a> {
    /// Nothing is placed.
    pub fn new(
        program: &'a Program,
        problem: &'a Problem,
        groups: &'a Groups,
        distances: &'a Distances,
        table: Table,
        stages: Option<u32>,
    ) -> State<'a> {
        let n = problem.ops().len();
        let (mut depth, mut height, mut into) = (vec![0; n], vec![0; n], vec![0; n]);
        for from in problem.ops() {
            for to in problem.ops() {
                if let Some(d) = distances.get(from, to).map(i64::from) {
                    depth[to.index()] = depth[to.index()].max(d);
                    height[from.index()] = height[from.index()].max(d);
                    if from != to {
                        into[to.index()] = into[to.index()].max(d);
                    }
                }
            }
        }
        let mut needs = vec![Vec::new(); n];
        for e in problem.edges().iter().filter(|e| e.distance == 0 && e.from != e.to) {
            needs[e.to.index()].push(e.from);
        }
        let banks = problem.resources().filter(|&r| is_bank(problem, r)).collect();
        let times = vec![None; n];
        State { program, problem, groups, distances, table, banks, stages, times, depth, height, into, needs }
    }

    /// Rows.
    pub fn ii(&self) -> u32 {
        self.table.ii()
    }

    /// When each operation was placed.
    pub fn times(&self) -> &[Option<i64>] {
        &self.times
    }

    /// When an operation was placed.
    pub fn time(&self, op: Op) -> Option<i64> {
        self.times[op.index()]
    }

    /// The longest path from any other operation to this one.
    pub fn longest_into(&self, op: Op) -> i64 {
        self.into[op.index()]
    }

    /// The longest path that leaves an operation.
    pub fn height(&self, op: Op) -> i64 {
        self.height[op.index()]
    }

    /// The earliest start with nothing placed.
    pub fn depth(&self, op: Op) -> i64 {
        self.depth[op.index()]
    }

    /// The operation's number in the program.
    pub fn source(&self, op: Op) -> sassafras_tileir::program::Op {
        sassafras_tileir::program::Op::new(op.index())
    }

    /// Whether the gate of pending operations holds it back: something that it needs is neither seated nor in `set`.
    pub fn pending(&self, op: Op, set: &[Op]) -> bool {
        self.needs[op.index()].iter().any(|&o| self.time(o).is_none() && !set.contains(&o))
    }

    /// Whether it leads its group.
    pub fn leads(&self, op: Op) -> bool {
        self.groups.leaders[self.groups.of[op.index()]] == self.source(op)
    }

    /// Whether the gate of depth holds it back.
    pub fn shallow(&self, op: Op) -> bool {
        self.program.ops[self.source(op)].attributes.max_depth.is_some_and(|d| d <= 1)
    }

    /// The starts that what is placed, the prescribed stage and the group leave; empty where there are none.
    pub fn window(&self, op: Op) -> RangeInclusive<i64> {
        let ii = i64::from(self.ii());
        let (mut early, mut late) = (self.depth[op.index()], i64::MAX);
        if let Some(s) = self.program.ops[self.source(op)].attributes.stage.map(i64::from) {
            early = early.max(s * ii);
            late = late.min((s + 1) * ii - 1);
        }
        if let Some(stages) = self.stages {
            late = late.min(i64::from(stages) * ii - 1);
        }
        let placed = self.problem.ops().filter_map(|other| Some((other, self.time(other)?)));
        self.narrow(op, early..=late, placed)
    }

    /// What operations at certain times leave of a window.
    pub fn narrow(
        &self,
        op: Op,
        window: RangeInclusive<i64>,
        others: impl Iterator<Item = (Op, i64)>,
    ) -> RangeInclusive<i64> {
        let ii = i64::from(self.ii());
        let (mut early, mut late) = window.into_inner();
        let group = self.groups.of[op.index()];
        for (other, time) in others {
            if let Some(d) = self.distances.get(other, op) {
                early = early.max(time + i64::from(d));
            }
            if let Some(d) = self.distances.get(op, other) {
                late = late.min(time - i64::from(d));
            }
            if self.groups.of[other.index()] == group {
                let stage = time.div_euclid(ii);
                early = early.max(stage * ii);
                late = late.min((stage + 1) * ii - 1);
            }
        }
        early..=late
    }

    /// The earliest start at which the table takes it; gates 3 and 4.
    pub fn seat(&self, op: Op) -> Option<i64> {
        self.table.earliest(op, self.window(op))
    }

    /// Places an operation; false if it does not fit there.
    pub fn place(&mut self, op: Op, time: i64) -> bool {
        self.window(op).contains(&time) && self.put(op, time)
    }

    /// Places an operation within its window; false if the table does not take it.
    pub fn put(&mut self, op: Op, time: i64) -> bool {
        let fits = self.table.place(op, time).is_ok();
        if fits {
            self.times[op.index()] = Some(time);
        }
        fits
    }

    /// Takes an operation out.
    pub fn remove(&mut self, op: Op) {
        self.table.unplace(op);
        self.times[op.index()] = None;
    }

    /// Takes everything out.
    pub fn clear(&mut self) {
        let ops: Vec<Op> = self.problem.ops().filter(|&op| self.time(op).is_some()).collect();
        self.remove_all(&ops);
    }

    /// Takes operations out.
    pub fn remove_all(&mut self, ops: &[Op]) {
        ops.iter().for_each(|&op| self.remove(op));
    }

    /// The schedule, once everything is placed.
    pub fn schedule(&self) -> Option<Schedule> {
        let times: Option<Vec<i64>> = self.times.iter().copied().collect();
        Some(Schedule { ii: self.ii(), times: times? })
    }
}
