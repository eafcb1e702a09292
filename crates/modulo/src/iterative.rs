//! Iterative modulo scheduling: place by priority, eject what is in the way, give up after a budget, search rows by branch and
//! bound, try a larger II.
//!
//! Goal: a schedule at the least II, or near it, in little time; no attention to registers.
//!
//! Priorities: the longest path that leaves an operation (its *height*), larger first; then the order of operations. Where
//! that fails, and the loop is small, operations of tight circuits first, then those of little slack. An operation goes into
//! the first row that is free within the window that the placed ones leave it. Windows come from the
//! [closure](crate::closure), not from edges, so that no placement within them makes the dependences of the rest
//! impossible. Where no row of the window is free the operation goes past it, into the first row that is, or, if there
//! is none at all, one row later than the last time; whatever conflicts is ejected.
//!
//!
//! What ejection does not settle is a puzzle of rows, and [branch and bound](crate::branch) over rows alone does better
//! there: it looks back, and sees that a gap is too short for anything that waits. It comes last, because it gives no thought
//! to how long values wait. It may also prove that an II has no schedule.
//!
//! Cost: one closure per II, at most `3 · budget · n` placements, each with a look at all placed operations and at most
//! II probes, and some nodes of branch and bound. All of it is counted, so that the result never depends on the clock:
//! once [`Options::work`] is spent, an II gets only what it takes to find any schedule, and when one is found the search ends.
//!
//! Source: Rau, *Iterative modulo scheduling* (1996); windows from the closure as in Huff's slack scheduling (1993). II is
//! searched by [`first_feasible`], which says what is known of smaller ones.

use crate::bounds::{Bounds, Reason, bounds};
use crate::branch::{self, Limits, Outcome};
use crate::closure::{ClosureError, Distances};
use crate::search::{Confirm, Evidence, Gallop, Search, first_feasible};
use crate::table::{Table, TableError};
use crate::what_if::{Standing, WhatIf};
use cranelift_entity::EntityRef;
use sassafras_problem::{Op, Problem, ProblemError, Resource, Schedule};
use sassafras_problem::{Violation, verify};
use thiserror::Error;

/// How much is tried.
#[derive(Clone, Debug)]
pub struct Options {
    /// Placements per operation, priority and II before the next priority or branch and bound is tried.
    pub budget: u32,
    /// The most nodes of branch and bound per II; loops of many operations and rows get fewer, but enough to place
    /// everything twice, or once where work is spent. 0 for none.
    pub nodes: u32,
    /// Work in all: a placement counts as many units as there are operations, a node as many as operations times words of
    /// 64 rows. Nothing for 75 times the square of the operations, and at least 3,000,000: about 20 ms.
    pub work: Option<u64>,
    /// The largest II to try; nothing for one at which iterations hardly overlap.
    pub max_ii: Option<u32>,
    /// Which smaller IIs are tried once one is found, as far as work is left.
    pub confirm: Confirm,
}

impl Default for Options {
    fn default() -> Options {
        Options { budget: 8, nodes: 4000, work: None, max_ii: None, confirm: Confirm::Bracket }
    }
}

/// Operations up to which all priorities are tried at an II; of larger loops branch and bound alone finds more in less time.
const SMALL: usize = 64;
/// Placements per operation for loops of more.
const LARGE_BUDGET: u32 = 2;
/// The work of branch and bound at an II, unless placing everything once takes more.
const NODE_WORK: u64 = 200_000;

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
    /// The IIs from the bound on that were proven to have no schedule, ascending.
    pub refuted: Vec<u32>,
    /// Where the scheduler was stuck at the largest II below the schedule's; nothing where the schedule is at the bound.
    pub obstacle: Option<Obstacle>,
}

impl Found {
    /// Whether no schedule of a smaller II exists at all.
    pub fn is_optimal(&self) -> bool {
        (self.bounds.mii()..u64::from(self.schedule.ii)).all(|ii| self.is_refuted(ii))
    }

    /// Whether no schedule of this II exists, by the bounds or by proof.
    pub fn is_refuted(&self, ii: u64) -> bool {
        ii < self.bounds.mii() || u32::try_from(ii).is_ok_and(|ii| self.refuted.binary_search(&ii).is_ok())
    }

    /// What would have to change for an II of one less; nothing where II is 1.
    pub fn what_if(&self, problem: &Problem) -> Option<WhatIf> {
        let ii = self.schedule.ii.checked_sub(1).filter(|&ii| ii > 0)?;
        let mut what_if = WhatIf::new(problem, ii);
        if what_if.standing == Standing::Untried {
            if self.is_refuted(u64::from(ii)) {
                what_if.standing = Standing::Refuted;
            } else if self.probes.iter().any(|&(probe, _)| probe == ii) {
                what_if.standing = Standing::Tried;
            }
        }
        Some(what_if)
    }

    /// Why II is not lower, as a sentence.
    pub fn explain(&self, problem: &Problem) -> String {
        let (ii, mii) = (self.schedule.ii, self.bounds.mii());
        let reason = match self.bounds.reason() {
            Reason::Nothing => "an iteration starts every cycle".to_owned(),
            reason => reason.explain(problem),
        };
        if u64::from(ii) == mii {
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
        if self.is_optimal() {
            let last = ii - 1;
            let which =
                if u64::from(last) == mii { format!("{last} was") } else { format!("{mii} to {last} were") };
            return format!(
                "II {ii} is the least there is, {which} proven infeasible; the bound is {mii}: {reason}"
            );
        }
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
    let n = problem.ops().len() as u64;
    let mut work = Work { spent: 0, limit: options.work.unwrap_or(3_000_000.max(75 * n * n)) };
    let mut failure = None;
    let mut obstacles: Vec<Obstacle> = Vec::new();
    let (mut refuted, mut skipped): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    let mut any = false;
    // Of large loops every probe counts, and an II of two parts in a hundred more is near enough to start from.
    let gallop = if n as usize > SMALL { Gallop::Stride((mii / 50).max(1)) } else { Gallop::Step };
    let mut search: Search<Schedule> = first_feasible(mii..=max, gallop, options.confirm, |ii| {
        // What does not fit in memory or numbers will not at a larger II.
        if failure.is_some() {
            return None;
        }
        if any && work.spent >= work.limit {
            skipped.push(ii);
            return None;
        }
        match attempt(problem, ii, options, &mut work) {
            Ok(Tried::Schedule(schedule)) => {
                any = true;
                Some(schedule)
            }
            Ok(Tried::Stuck { obstacle, proven }) => {
                obstacles.extend(obstacle);
                refuted.extend(proven.then_some(ii));
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
    search.probes.retain(|(ii, _)| !skipped.contains(ii));
    let left_out = skipped.into_iter().filter(|&s| s < ii).max();
    let evidence = match (left_out, search.evidence) {
        (None, evidence) => evidence,
        (Some(last), Evidence::Exhaustive) if last + 1 < ii => Evidence::From(last + 1),
        (Some(last), Evidence::From(from)) if last + 1 < ii => Evidence::From(from.max(last + 1)),
        _ => Evidence::Monotone,
    };
    refuted.sort_unstable();
    let obstacle = obstacles.into_iter().filter(|o| o.ii < ii).max_by_key(|o| o.ii);
    Ok(Found { schedule, bounds, evidence, probes: search.probes, refuted, obstacle })
}

/// Work that was done, and how much may be.
struct Work {
    spent: u64,
    limit: u64,
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

/// What became of an II.
enum Tried {
    Schedule(Schedule),
    /// Where it was stuck, and whether there is no schedule at all.
    Stuck {
        obstacle: Option<Obstacle>,
        proven: bool,
    },
}

/// One II: a schedule, or where it was stuck.
fn attempt(problem: &Problem, ii: u32, options: &Options, work: &mut Work) -> Result<Tried, IterativeError> {
    let distances = match Distances::new(problem, ii) {
        Ok(distances) => distances,
        Err(ClosureError::PositiveCircuit(_)) => return Ok(Tried::Stuck { obstacle: None, proven: true }),
        Err(error) => return Err(IterativeError::Closure(error)),
    };
    let table = Table::new(problem, ii).map_err(IterativeError::Table)?;
    // At an II above the bound an operation may be in its own way again, and then nothing needs to be tried.
    let alone = problem.ops().find_map(|op| Some((op, table.conflict(op, 0)?.0)));
    if let Some((op, resource)) = alone {
        let obstacle = Some(Obstacle { ii, op, forced: 1, resource: Some(resource) });
        return Ok(Tried::Stuck { obstacle, proven: true });
    }
    let n = problem.ops().len();
    // The closure, whose relaxations are vectors of many.
    work.spent += 2 * (n * n) as u64;
    let small = n <= SMALL && work.spent < work.limit;
    let budget = if small { options.budget } else { options.budget.min(LARGE_BUDGET) };
    let mut obstacle = None;
    for priority in Priority::ALL.into_iter().take(if small { Priority::ALL.len() } else { 1 }) {
        let (result, placements) = Attempt::new(problem, &distances, table.clone(), priority).run(budget);
        work.spent += placements * n as u64;
        match result {
            Ok(schedule) => return Ok(Tried::Schedule(schedule)),
            Err(stuck) => obstacle = obstacle.or(stuck),
        }
    }
    let unit = n.max(1) as u64 * u64::from(ii.div_ceil(64));
    let nodes =
        u64::from(options.nodes).min((NODE_WORK / unit).max(branch::runs(n, work.spent < work.limit)));
    if nodes > 0 {
        let (outcome, nodes) = branch::solve_closed(problem, &distances, &Limits { nodes, deadline: None });
        work.spent += nodes * unit;
        match outcome {
            Outcome::Feasible(schedule) => return Ok(Tried::Schedule(schedule)),
            Outcome::Infeasible => return Ok(Tried::Stuck { obstacle, proven: true }),
            Outcome::Stopped => {}
        }
    }
    Ok(Tried::Stuck { obstacle, proven: false })
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

    /// A schedule, or where it was stuck; with the placements that it took.
    fn run(mut self, budget: u32) -> (Result<Schedule, Option<Obstacle>>, u64) {
        let most = u64::from(budget.max(1)) * self.ops.len() as u64;
        let mut placements = 0;
        while placements < most
            && let Some(place) = self.waiting.pop_first()
        {
            placements += 1;
            self.place(self.order[place]);
        }
        (self.finish(), placements)
    }

    /// The schedule, if everything is placed.
    fn finish(&self) -> Result<Schedule, Option<Obstacle>> {
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
    use sassafras_problem::Use;

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
        assert_eq!(
            found.explain(&p),
            "II 5 is the least there is, 3 to 4 were proven infeasible; the bound is 3: the circuit `a`, `b` takes 3 cycles \
             in 1 iterations"
        );
        assert_eq!(found.evidence, Evidence::Exhaustive);
        let found = schedule(&p, &Options { nodes: 0, ..Options::default() }).expect("schedulable");
        let text = found.explain(&p);
        assert!(
            text.starts_with("II 5, where the bound is 3: ") && text.contains("for want of `port`"),
            "{text}"
        );
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
