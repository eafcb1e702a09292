//! Iterative modulo scheduling: place by priority, eject what is in the way, give up after a budget, try a larger II.
//!
//! Goal: a schedule at the least II, or near it, in little time; no attention to registers.
//!
//! Priorities: the longest path that leaves an operation (its *height*), larger first; then the order of operations. Where
//! that fails, operations of tight circuits first, then those of little slack, before II is given up. An operation goes into the first row that is free within the window that the placed ones leave it. Windows come from
//! the [closure](crate::closure), not from edges, so that no placement within them makes the dependences of the rest
//! impossible. Where no row of the window is free the operation goes past it, into the first row that is, or, if there
//! is none at all, one row later than the last time; whatever conflicts is ejected.
//!
//! Cost: one closure per II, and at most `3 · budget · n` placements, each with a look at all placed operations and at most
//! II probes.
//!
//! Source: Rau, *Iterative modulo scheduling* (1996); windows from the closure as in Huff's slack scheduling (1993). II is
//! searched by [`first_feasible`], which says what is known of smaller ones.

use crate::bounds::{Bounds, Reason, bounds};
use crate::closure::{ClosureError, Distances};
use crate::problem::{Op, Problem, ProblemError, Resource, Schedule};
use crate::search::{Confirm, Evidence, Gallop, Search, first_feasible};
use crate::table::{Table, TableError};
use crate::verify::{Violation, verify};
use cranelift_entity::EntityRef;
use thiserror::Error;

/// How much is tried.
#[derive(Clone, Debug)]
pub struct Options {
    /// Placements per operation, priority and II before the next priority or II is tried. Of 200 random loops 186 reach
    /// the bound with 6, 196 with 20 and 198 with 100.
    pub budget: u32,
    /// The largest II to try; nothing for one at which iterations hardly overlap.
    pub max_ii: Option<u32>,
    /// Which smaller IIs are tried once one is found.
    pub confirm: Confirm,
}

impl Default for Options {
    fn default() -> Options {
        Options { budget: 20, max_ii: None, confirm: Confirm::Bracket }
    }
}

/// Where the scheduler was stuck at an II that it gave up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// The II.
    pub ii: u32,
    /// The operation that was forced in most often.
    pub op: Op,
    /// How often.
    pub forced: u32,
    /// The resource that was in its way the last time.
    pub resource: Option<Resource>,
}

/// A schedule and what is known about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The schedule; it has been verified.
    pub schedule: Schedule,
    /// The bounds of the problem.
    pub bounds: Bounds,
    /// What is known of smaller IIs: whether this scheduler failed at each of them from the bound on.
    pub evidence: Evidence,
    /// The IIs that were tried, in order, with whether they worked.
    pub probes: Vec<(u32, bool)>,
    /// Where the scheduler was stuck at the largest II below the schedule's; nothing where the schedule is at the bound.
    pub obstacle: Option<Obstacle>,
}

impl Found {
    /// Whether no schedule of a smaller II exists at all.
    pub fn is_optimal(&self) -> bool {
        u64::from(self.schedule.ii) == self.bounds.mii()
    }

    /// Why II is not lower, as a sentence.
    pub fn explain(&self, problem: &Problem) -> String {
        let (ii, mii) = (self.schedule.ii, self.bounds.mii());
        let reason = match self.bounds.reason() {
            Reason::Nothing => "an iteration starts every cycle".to_owned(),
            reason => reason.explain(problem),
        };
        if self.is_optimal() {
            return format!("II {ii} is the least there is: {reason}");
        }
        let stuck = self.obstacle.as_ref().map_or(String::new(), |o| {
            let what =
                o.resource.map_or(String::new(), |r| format!(", for want of `{}`", problem.resource_name(r)));
            format!(
                "; at {} operation `{}` found no row in its window {} times{what}",
                o.ii,
                problem.name(o.op),
                o.forced
            )
        });
        let known = match self.evidence {
            Evidence::Exhaustive => "every smaller II was tried".to_owned(),
            Evidence::From(from) => format!("every smaller II from {from} on was tried"),
            Evidence::Monotone => "not every smaller II was tried".to_owned(),
        };
        format!("II {ii}, where the bound is {mii}: {reason}{stuck}; {known}")
    }
}

/// Why there is no schedule.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum IterativeError {
    /// The problem makes no sense.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// The operations are too many, or their paths too long.
    #[error(transparent)]
    Closure(ClosureError),
    /// A table would be too large.
    #[error(transparent)]
    Table(TableError),
    /// The least II there could be is beyond the largest that was asked for.
    #[error("the least initiation interval is {mii}, the largest allowed {max}")]
    Bound {
        /// The bound.
        mii: u64,
        /// The largest II.
        max: u32,
    },
    /// No II up to the largest worked within the budget.
    #[error("no initiation interval up to {max} worked")]
    NotFound {
        /// The largest II.
        max: u32,
    },
    /// The verifier refused the schedule: a defect of the scheduler.
    #[error("the schedule is wrong: {0}")]
    Refused(Violation),
}

/// Schedules `problem`; the same problem and options give the same schedule.
pub fn schedule(problem: &Problem, options: &Options) -> Result<Found, IterativeError> {
    problem.check()?;
    let bounds = bounds(problem);
    let max = options.max_ii.unwrap_or_else(|| relaxed_ii(problem, bounds.mii()));
    let Some(mii) = u32::try_from(bounds.mii()).ok().filter(|&mii| mii <= max) else {
        return Err(IterativeError::Bound { mii: bounds.mii(), max });
    };
    let mut failure = None;
    let mut obstacles: Vec<Obstacle> = Vec::new();
    let search: Search<Schedule> = first_feasible(mii..=max, Gallop::Step, options.confirm, |ii| {
        // What does not fit in memory or numbers will not at a larger II.
        if failure.is_some() {
            return None;
        }
        match attempt(problem, ii, options) {
            Ok(Ok(schedule)) => Some(schedule),
            Ok(Err(obstacle)) => {
                obstacles.extend(obstacle);
                None
            }
            Err(error) => {
                failure = Some(error);
                None
            }
        }
    });
    let Some((ii, schedule)) = search.found else {
        return Err(failure.unwrap_or(IterativeError::NotFound { max }));
    };
    verify(problem, &schedule).map_err(IterativeError::Refused)?;
    let obstacle = obstacles.into_iter().filter(|o| o.ii < ii).max_by_key(|o| o.ii);
    Ok(Found { schedule, bounds, evidence: search.evidence, probes: search.probes, obstacle })
}

/// An II at which every operation can have its rows for itself and wait for all others.
fn relaxed_ii(problem: &Problem, mii: u64) -> u32 {
    let mut latency = vec![0u64; problem.ops().len()];
    for e in problem.edges() {
        let most = &mut latency[e.from.index()];
        *most = (*most).max(u64::try_from(e.latency).unwrap_or(0));
    }
    let spans: u64 = problem.ops().map(|op| problem.span(op)).sum();
    u32::try_from(spans + latency.iter().sum::<u64>() + mii).unwrap_or(u32::MAX)
}

/// One II: a schedule, or where it was stuck.
fn attempt(
    problem: &Problem,
    ii: u32,
    options: &Options,
) -> Result<Result<Schedule, Option<Obstacle>>, IterativeError> {
    let distances = match Distances::new(problem, ii) {
        Ok(distances) => distances,
        Err(ClosureError::PositiveCircuit(_)) => return Ok(Err(None)),
        Err(error) => return Err(IterativeError::Closure(error)),
    };
    let table = Table::new(problem, ii).map_err(IterativeError::Table)?;
    // At an II above the bound an operation may be in its own way again, and then nothing needs to be tried.
    let alone = problem.ops().find_map(|op| Some((op, table.conflict(op, 0)?.0)));
    if let Some((op, resource)) = alone {
        return Ok(Err(Some(Obstacle { ii, op, forced: 1, resource: Some(resource) })));
    }
    let mut stuck = None;
    for priority in Priority::ALL {
        match Attempt::new(problem, &distances, table.clone(), priority).run(options.budget) {
            Ok(schedule) => return Ok(Ok(schedule)),
            Err(obstacle) => stuck = stuck.or(obstacle),
        }
    }
    Ok(Err(stuck))
}

/// Which operations are placed first. One order after the other is tried before an II is given up.
#[derive(Clone, Copy)]
enum Priority {
    /// The longest path that leaves an operation.
    Height,
    /// How little room the tightest circuit through it leaves, then the height: the rows of a recurrence are found while
    /// the table is empty.
    Circuit,
    /// How little room the longest path through it leaves, as Huff has it.
    Slack,
}

impl Priority {
    const ALL: [Priority; 3] = [Priority::Height, Priority::Circuit, Priority::Slack];
}

struct Attempt<'a> {
    ops: Vec<Op>,
    distances: &'a Distances,
    table: Table,
    /// The earliest start with nothing placed: the longest path that ends at the operation.
    depth: Vec<i64>,
    /// Where each operation was placed last, so that it is forced in elsewhere.
    last: Vec<Option<i64>>,
    forced: Vec<u32>,
    blocked_by: Vec<Option<Resource>>,
    /// Operations by priority, and the places in that order that wait.
    order: Vec<usize>,
    rank: Vec<usize>,
    waiting: std::collections::BTreeSet<usize>,
}

impl<'a> Attempt<'a> {
    fn new(problem: &Problem, distances: &'a Distances, table: Table, priority: Priority) -> Attempt<'a> {
        let ops: Vec<Op> = problem.ops().collect();
        let n = ops.len();
        let (mut depth, mut height) = (vec![0i64; n], vec![0i64; n]);
        for (from, height) in height.iter_mut().enumerate() {
            for (to, depth) in depth.iter_mut().enumerate() {
                if let Some(d) = distances.at(from, to).map(i64::from) {
                    *height = d.max(*height);
                    *depth = d.max(*depth);
                }
            }
        }
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by_cached_key(|&i| {
            let first = match priority {
                Priority::Height => 0,
                Priority::Circuit => {
                    let around = |j| Some(i64::from(distances.at(i, j)?) + i64::from(distances.at(j, i)?));
                    -(0..n).filter(|&j| j != i).filter_map(around).max().unwrap_or(i64::MIN / 2)
                }
                Priority::Slack => -(height[i] + depth[i]),
            };
            (first, -height[i], i)
        });
        let mut rank = vec![0; n];
        for (place, &i) in order.iter().enumerate() {
            rank[i] = place;
        }
        Attempt {
            ops,
            distances,
            table,
            depth,
            last: vec![None; n],
            forced: vec![0; n],
            blocked_by: vec![None; n],
            order,
            rank,
            waiting: (0..n).collect(),
        }
    }

    fn run(mut self, budget: u32) -> Result<Schedule, Option<Obstacle>> {
        let mut left = u64::from(budget.max(1)) * self.ops.len() as u64;
        while let Some(place) = self.waiting.pop_first() {
            if left == 0 {
                return Err(self.obstacle());
            }
            left -= 1;
            self.place(self.order[place]);
        }
        let times: Option<Vec<i64>> = self.ops.iter().map(|&op| self.table.time(op)).collect();
        let Some(mut times) = times else { return Err(self.obstacle()) };
        // Whole turns earlier or later change no row: the first operation starts in stage 0.
        let ii = i64::from(self.table.ii());
        let first = times.iter().min().map_or(0, |t| t.div_euclid(ii) * ii);
        times.iter_mut().for_each(|t| *t -= first);
        Ok(Schedule { ii: self.table.ii(), times })
    }

    /// The operation that was forced in most often, the first of several.
    fn obstacle(&self) -> Option<Obstacle> {
        let most = (0..self.ops.len()).rev().max_by_key(|&i| self.forced[i])?;
        Some(Obstacle {
            ii: self.table.ii(),
            op: self.ops[most],
            forced: self.forced[most],
            resource: self.blocked_by[most],
        })
    }

    /// The earliest and the latest start that the placed operations leave; nothing where there is no such end.
    fn window(&self, i: usize) -> (Option<i64>, Option<i64>) {
        let (mut early, mut late) = (None, None);
        for (j, &other) in self.ops.iter().enumerate() {
            let Some(time) = self.table.time(other) else { continue };
            if let Some(d) = self.distances.at(j, i) {
                early = early.max(Some(time + i64::from(d)));
            }
            if let Some(d) = self.distances.at(i, j) {
                let before = time - i64::from(d);
                late = Some(late.map_or(before, |l: i64| l.min(before)));
            }
        }
        (early, late)
    }

    fn place(&mut self, i: usize) {
        let op = self.ops[i];
        let ii = i64::from(self.table.ii());
        let (early, late) = self.window(i);
        let first = early.unwrap_or(self.depth[i]);
        let free = match (early, late) {
            // As late as can be where only what follows is placed, so that the value waits less.
            (None, Some(late)) => self.table.latest(op, late - ii + 1..=late),
            _ => self.table.earliest(op, first..=first + ii - 1),
        };
        let time = match free {
            Some(time) if late.is_none_or(|late| time <= late) => time,
            // Past the window, if a row is free there: what follows is ejected and comes later. To eject what is in the way
            // within the window instead lets operations that others pin take turns there for ever.
            _ => {
                self.forced[i] += 1;
                let first = late.unwrap_or(first).min(first);
                self.blocked_by[i] = self.table.conflict(op, first).map(|c| c.0).or(self.blocked_by[i]);
                // Later than the last time, so that no two eject each other in the same rows for ever.
                let time = free.unwrap_or_else(|| self.last[i].map_or(first, |last| first.max(last + 1)));
                self.make_room(i, time);
                time
            }
        };
        self.last[i] = Some(time);
        if self.table.place(op, time).is_err() {
            // Room was made for it and it fits alone, so this does not happen; if it did, the budget would run out.
            self.waiting.insert(self.rank[i]);
        }
    }

    /// Ejects what `i` cannot stand beside at `time`.
    fn make_room(&mut self, i: usize, time: i64) {
        let mut eject: Vec<usize> =
            self.table.blockers(self.ops[i], time).into_iter().map(EntityRef::index).collect();
        for (j, &other) in self.ops.iter().enumerate() {
            let Some(at) = self.table.time(other) else { continue };
            let early = self.distances.at(j, i).is_some_and(|d| at + i64::from(d) > time);
            let late = self.distances.at(i, j).is_some_and(|d| time + i64::from(d) > at);
            if early || late {
                eject.push(j);
            }
        }
        for j in eject {
            if self.table.unplace(self.ops[j]).is_some() {
                self.waiting.insert(self.rank[j]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Use;

    #[test]
    fn the_worked_example_needs_15() {
        // The four operations of tile-scheduler, whose own placement at II 8 holds tp_smem_wr for 15 of 8 cycles.
        let mut p = Problem::new();
        let [tma, write, tensor, mma, read] =
            ["tma", "tp_smem_wr", "tc_and_mma", "tp_mma", "tp_smem_rd"].map(|n| p.add_resource(n, 1));
        let load = p.add_op("tiled_tma_load", vec![Use::first(tma, 8), Use::first(write, 8)]);
        let store = p.add_op("smem_write", vec![Use::first(write, 7)]);
        let wgmma = p.add_op("wgmma", vec![Use::first(tensor, 8), Use::first(mma, 8)]);
        let fetch = p.add_op("smem_read", vec![Use::first(read, 7)]);
        p.add_edge(load, fetch, 8, 0);
        p.add_edge(fetch, wgmma, 7, 0);
        p.add_edge(wgmma, store, 16, 0);
        let found = schedule(&p, &Options::default()).expect("schedulable");
        assert_eq!(found.schedule.ii, 15);
        assert!(found.is_optimal());
        assert_eq!(
            found.explain(&p),
            "II 15 is the least there is: resource `tp_smem_wr` is wanted for 15 unit-cycles per iteration and has 1 \
             units"
        );
        let eight = schedule(&p, &Options { max_ii: Some(8), ..Options::default() });
        assert_eq!(eight, Err(IterativeError::Bound { mii: 15, max: 8 }));
    }

    #[test]
    fn above_the_bound_it_says_why() {
        // Rows of the two patterns meet at every distance but one, and the edges forbid that one at II 3.
        let mut p = Problem::new();
        let r = p.add_resource("port", 1);
        let at = |start| Use { resource: r, start, rows: 1, units: 1 };
        let a = p.add_op("a", vec![at(0), at(1)]);
        let b = p.add_op("b", vec![at(0)]);
        p.add_edge(a, b, 4, 0);
        p.add_edge(b, a, -1, 1);
        let found = schedule(&p, &Options::default()).expect("schedulable");
        assert_eq!((found.bounds.mii(), found.schedule.ii), (3, 5), "{}", found.explain(&p));
        let text = found.explain(&p);
        assert!(
            text.starts_with("II 5, where the bound is 3: ") && text.contains("for want of `port`"),
            "{text}"
        );
        assert_eq!(found.evidence, Evidence::Exhaustive);
    }

    #[test]
    fn nothing_to_do() {
        let found = schedule(&Problem::new(), &Options::default()).expect("trivial");
        assert_eq!((found.schedule.ii, found.schedule.times.len()), (1, 0));
        assert_eq!(
            found.explain(&Problem::new()),
            "II 1 is the least there is: an iteration starts every cycle"
        );
    }
}
