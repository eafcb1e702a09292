//! An II decided by a general constraint solver: a second opinion beside [`exact`], in the same types.
//!
//! Goal: to have the claims "this II has no schedule" and "this II is the least" from two searches that have nothing in
//! common but the longest paths, so that tests can set one against the other, and to decide a few loops that are hard for
//! [`branch`](crate::branch). Compiled with the feature `pumpkin` only.
//!
//! Encoding, at one II:
//! * *Variables.* Per operation a row of `0..II`; per operation on a circuit with others also a stage, so that its time is
//!   `row + II·stage`.
//! * *Dependences.* `row(a) + II·stage(a) + latency ≤ row(b) + II·(stage(b) + distance)` for the edges within a strongly
//!   connected part. An edge between two parts forbids no rows, since the part that waits can wait for whole turns: those
//!   edges are met at the end, by stages as early as can be.
//! * *Horizon.* Stages have bounds that lose no schedule, so that "infeasible" is a proof. A part can be moved by whole turns
//!   and keep its rows; let its first operation, `f`, be in stage 0. Then every time of the part is at least the longest path
//!   from `f`, and at most `II − 1` less the longest path to `f`.
//! * *Resources.* A use of `rows` rows holds its units in every row `rows / II` times, which is taken off the capacity; what is
//!   left of it, shorter than II, is a task that starts at `row + start mod II` and may run over the end of the turn. Every
//!   resource is a cumulative constraint over as many copies of these tasks, whole turns apart, as reach into the II cycles
//!   from `2·II − 1` on: one to three of each. There every row has all that holds it; elsewhere copies are missing,
//!   which only asks for less. Copies are views of the row and no variables. A resource that all tasks can have at once is
//!   left out, and one of which all tasks want more than a turn has is the end of it.
//! * *Symmetry.* Operations that share a resource or a circuit, directly or over others, can be rotated together: the one that
//!   holds most is in row 0. Operations with the same tasks and on no circuit take their rows in their order.
//!
//! Cost: exponential at worst. The model is linear in edges and uses beside one closure. Time is looked at between two steps of
//! the solver, each of them a propagation to the end. [`MAX_II`], [`MAX_OPS`], [`MAX_USES`] and [`MAX_STAGES`] keep these
//! short; a larger problem is left undecided ([`Why::Size`]). Limits of 100 ms were overrun by 10 ms with 1,000 operations and
//! 8,000 uses, and by 60 ms with 40,000 stages, which is more than are allowed, on a busy machine.
//!
//! What the solver says is not taken on trust where it need not be: schedules are verified, and a panic inside the solver
//! leaves the II undecided ([`Why::Failed`]; where panics abort the program, they still do). That "no solution" is right rests
//! on the solver and on the tests that compare it with enumeration and with [`exact`]. Two things are known to make it
//! wrong and are kept out of the model: pumpkin 0.5 takes a profile that starts at −1 for none at all, and panics or goes on
//! without it, so that cumulative constraints have no times before 0; and all numbers are small enough that no sum of
//! a constraint's terms leaves `i32`.
//!
//! Source: Pumpkin, a lazy-clause-generation solver (Flippo and others, CP 2024); the cumulative constraint explained
//! by time-tables follows Schutt and others (2011). Modulo resources as a cumulative constraint over copies: Bonfietti and
//! others, *CROSS cyclic resource-constrained scheduling solver* (2014), have the same idea as a constraint of its own.

use crate::branch::stages;
use crate::closure::{ClosureError, Distances};
use crate::exact::{Exact, ExactError, ExactFound, Options, Why, walk};
use cranelift_entity::EntityRef;
use pumpkin_conflict_resolvers::resolvers::ResolutionResolver;
use pumpkin_constraints::{cumulative_with_options, less_than_or_equals};
use pumpkin_core::Solver;
use pumpkin_core::options::{RestartOptions, SolverOptions};
use pumpkin_core::results::{ProblemSolution, SatisfactionResult};
use pumpkin_core::termination::TerminationCondition;
use pumpkin_core::variables::{AffineView, DomainId, TransformableVariable};
use pumpkin_propagators::cumulative::options::{CumulativeOptions, CumulativePropagationMethod};
use pumpkin_propagators::cumulative::time_table::CumulativeExplanationType;
use sassafras_problem::verify;
use sassafras_problem::{Problem, Schedule};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

#[cfg(doc)]
use crate::exact;

/// The largest II that is asked for, as in [`branch`](crate::branch::MAX_II).
pub const MAX_II: u32 = 1 << 14;

/// The most operations of a problem, for the time that the longest paths take.
pub const MAX_OPS: usize = 1 << 10;

/// The most uses of resources that can run out.
pub const MAX_USES: usize = 1 << 13;

/// The most stages that all operations together may have to choose from: a propagation may go through them one by one.
pub const MAX_STAGES: u32 = 1 << 14;

/// The largest time of the model, positive or negative, and the most units of all tasks of a resource: four of either fit `i32`.
const MAX_NUMBER: i64 = 1 << 28;

/// A capacity, where the shares that operations hold of different ones are added up.
const SHARE: i64 = 1 << 10;

/// Conflicts before the first restart. The solver's own 10,000 are more than a second has.
const FIRST_RESTART: u64 = 100;

/// Decides one II within `limit`.
pub fn decide(problem: &Problem, ii: u32, limit: Duration) -> Result<Exact, ExactError> {
    problem.check()?;
    decide_until(problem, ii, Instant::now().checked_add(limit))
}

/// The least II, or what is known of it when time is up: [`exact::least_ii`] with every II decided by the solver.
pub fn least_ii(problem: &Problem, options: &Options) -> Result<ExactFound, ExactError> {
    walk(problem, options, |ii, deadline| decide_until(problem, ii, deadline))
}

fn decide_until(problem: &Problem, ii: u32, deadline: Option<Instant>) -> Result<Exact, ExactError> {
    if ii == 0 {
        return Ok(Exact::Infeasible);
    }
    if ii > MAX_II || problem.ops().len() > MAX_OPS {
        return Ok(Exact::Undecided(Why::Size));
    }
    let distances = match Distances::new(problem, ii) {
        Ok(distances) => distances,
        Err(ClosureError::PositiveCircuit(_)) => return Ok(Exact::Infeasible),
        Err(error) => return Err(ExactError::Closure(error)),
    };
    let answer = match Model::new(problem, &distances) {
        Ok(model) => guarded(|| model.solve(deadline)),
        Err(answer) => answer,
    };
    match answer {
        Answer::Rows(rows) => {
            // Dependences hold within every part, so there are stages; if not, nothing is claimed.
            let Some(times) = stages(problem, ii, &rows) else { return Ok(Exact::Undecided(Why::Failed)) };
            let schedule = Schedule { ii, times };
            verify(problem, &schedule).map_err(ExactError::Refused)?;
            Ok(Exact::Feasible(schedule))
        }
        Answer::None => Ok(Exact::Infeasible),
        Answer::Unknown(why) => Ok(Exact::Undecided(why)),
    }
}

/// What the solver says.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    /// The row of every operation.
    Rows(Vec<u32>),
    /// There are none.
    None,
    Unknown(Why),
}

/// The answer, or none where a panic came instead: the solver has asserts, and a model that it fails on must not end the program
/// of whoever asked for a second opinion.
fn guarded(solve: impl FnOnce() -> Answer) -> Answer {
    // Nothing that the solver has touched is used afterwards.
    catch_unwind(AssertUnwindSafe(solve)).unwrap_or(Answer::Unknown(Why::Failed))
}

/// `units` during `rows` rows, fewer than II, from `start` after the row of `op` on, less than II.
#[derive(Clone, Copy, Debug)]
struct Task {
    op: usize,
    start: i32,
    rows: i32,
    units: i32,
}

/// A resource that can run out: what is left of it beside whole turns, and who wants it.
#[derive(Debug)]
struct Pool {
    capacity: i32,
    tasks: Vec<Task>,
}

/// The model, before the solver knows it.
#[derive(Debug)]
struct Model {
    ii: i32,
    /// Per operation the first and last stage, for those on a circuit with others; the first of each circuit has stage 0.
    stages: Vec<Option<(i32, i32)>>,
    /// `time(from) + cycles ≤ time(to)`.
    edges: Vec<(usize, usize, i32)>,
    pools: Vec<Pool>,
    /// Operations in row 0.
    first: Vec<usize>,
    /// `row(a) ≤ row(b)`.
    ordered: Vec<(usize, usize)>,
}

impl Model {
    /// The model of a valid problem at the II of `distances`, or the answer where none is needed.
    fn new(problem: &Problem, distances: &Distances) -> Result<Model, Answer> {
        let n = problem.ops().len();
        let ii = i64::from(distances.ii());
        let circuit = circuits(n, distances);
        let pools = pools(problem, ii)?;
        let mut windows = vec![None; n];
        let mut stages = vec![None; n];
        let mut choices = 0;
        for (op, &first) in circuit.iter().enumerate().filter(|(op, first)| op != *first) {
            let path = |from, to| distances.at(from, to).map_or(0, i64::from);
            let (early, late) = (path(first, op), ii - 1 - path(op, first));
            let (low, high) = (early.div_euclid(ii), late.div_euclid(ii));
            choices += high - low + 1;
            if early < -MAX_NUMBER || late > MAX_NUMBER || choices > i64::from(MAX_STAGES) {
                return Err(Answer::Unknown(Why::Size));
            }
            stages[op] = Some((low as i32, high as i32));
            windows[op] = Some((early, late));
            windows[first] = Some((0, ii - 1));
            stages[first] = Some((0, 0));
        }
        let mut edges = Vec::new();
        for e in problem.edges() {
            let (from, to) = (e.from.index(), e.to.index());
            if let (Some((_, late)), Some((early, _))) = (windows[from], windows[to])
                && circuit[from] == circuit[to]
                && from != to
            {
                let cycles = i64::from(e.latency) - ii * i64::from(e.distance);
                // What the windows grant is left out; what is not has cycles within the windows.
                if late + cycles > early {
                    edges.push((from, to, cycles as i32));
                }
            }
        }
        let (first, ordered) = symmetry(n, &circuit, &pools);
        Ok(Model { ii: ii as i32, stages, edges, pools, first, ordered })
    }

    /// Asks the solver. Panics if it does.
    fn solve(&self, deadline: Option<Instant>) -> Answer {
        let mut solver = Solver::with_options(SolverOptions {
            restart_options: RestartOptions {
                min_num_conflicts_before_first_restart: FIRST_RESTART,
                ..RestartOptions::default()
            },
            // MiB; a solver is made for every II, and most need little.
            memory_preallocated: 1,
            ..SolverOptions::default()
        });
        let mut last = vec![self.ii - 1; self.stages.len()];
        self.first.iter().for_each(|&op| last[op] = 0);
        let rows: Vec<DomainId> = last.iter().map(|&last| solver.new_bounded_integer(0, last)).collect();
        let stages: Vec<Option<DomainId>> = (self.stages.iter())
            .map(|stages| stages.map(|(low, high)| solver.new_bounded_integer(low, high)))
            .collect();
        for &(a, b) in &self.ordered {
            let tag = solver.new_constraint_tag();
            let terms = [rows[a].scaled(1), rows[b].scaled(-1)];
            solver.add_constraint(less_than_or_equals(terms, 0, tag)).post();
        }
        for &(from, to, cycles) in &self.edges {
            let tag = solver.new_constraint_tag();
            let mut terms = vec![rows[from].scaled(1), rows[to].scaled(-1)];
            terms.extend(stages[from].map(|stage| stage.scaled(self.ii)));
            terms.extend(stages[to].map(|stage| stage.scaled(-self.ii)));
            solver.add_constraint(less_than_or_equals(terms, -cycles, tag)).post();
        }
        for pool in &self.pools {
            let tag = solver.new_constraint_tag();
            let (starts, tasks): (Vec<AffineView<DomainId>>, Vec<Task>) = (pool.tasks.iter())
                .flat_map(|task| copies(task, self.ii).map(|start| (rows[task.op].offset(start), *task)))
                .unzip();
            let lengths: Vec<i32> = tasks.iter().map(|t| t.rows).collect();
            let units: Vec<i32> = tasks.iter().map(|t| t.units).collect();
            let options = cumulative_options();
            let constraint = cumulative_with_options(starts, lengths, units, pool.capacity, options, tag);
            solver.add_constraint(constraint).post();
        }
        let mut brancher = solver.default_brancher();
        let mut resolver = ResolutionResolver::default();
        match solver.satisfy(&mut brancher, &mut Until(deadline), &mut resolver) {
            SatisfactionResult::Satisfiable(found) => {
                let solution = found.solution();
                // Rows are 0 or more.
                Answer::Rows(rows.iter().map(|&row| solution.get_integer_value(row) as u32).collect())
            }
            SatisfactionResult::Unsatisfiable(..) => Answer::None,
            SatisfactionResult::Unknown(..) => Answer::Unknown(Why::Time),
        }
    }
}

struct Until(Option<Instant>);

impl TerminationCondition for Until {
    fn should_stop(&mut self) -> bool {
        self.0.is_some_and(|end| Instant::now() >= end)
    }
}

/// Explanations for single points, and all of a chain of profiles that push a task on: of the solver's ways they left the fewest
/// of 160 random loops undecided, 9 against 12 with its defaults.
fn cumulative_options() -> CumulativeOptions {
    let holes = false;
    let chains = true;
    let backtracking = false;
    CumulativeOptions::new(
        holes,
        CumulativeExplanationType::Pointwise,
        chains,
        CumulativePropagationMethod::TimeTableOverIntervalIncremental,
        backtracking,
    )
}

/// The starts, after a row, of the copies of a task that reach into the II cycles from `2·II − 1` on.
fn copies(task: &Task, ii: i32) -> impl Iterator<Item = i32> {
    // With a row of 0..II, the copy of a turn before is past `2·II − 1` only if the task runs over the end of its turn from
    // row II − 1, and that of a turn after begins before `3·II − 1` only if the task starts before the last row.
    let before = task.start + task.rows > ii;
    let after = task.start < ii - 1;
    [before.then_some(0), Some(ii), after.then_some(2 * ii)]
        .into_iter()
        .flatten()
        .map(move |turn| turn + task.start)
}

/// Per operation the first one of its strongly connected part.
fn circuits(n: usize, distances: &Distances) -> Vec<usize> {
    let mut first: Vec<usize> = (0..n).collect();
    for i in 0..n {
        if first[i] != i {
            continue;
        }
        for (j, first) in first.iter_mut().enumerate().skip(i + 1) {
            if distances.at(i, j).is_some() && distances.at(j, i).is_some() {
                *first = i;
            }
        }
    }
    first
}

/// The resources that can run out, or the answer where one must, or where its numbers are too large.
fn pools(problem: &Problem, ii: i64) -> Result<Vec<Pool>, Answer> {
    // Per resource: what is left of it, and uses shorter than II as operation, start, rows and units.
    let mut left: Vec<i64> = problem.resources().map(|r| i64::from(problem.capacity(r))).collect();
    let mut uses = vec![Vec::new(); left.len()];
    for (op, u) in problem.ops().flat_map(|op| problem.uses(op).iter().map(move |u| (op.index(), u))) {
        let (rows, units) = (i64::from(u.rows), i64::from(u.units));
        // At most 2²⁰ rows and 2³² units.
        let left = &mut left[u.resource.index()];
        *left = left.saturating_sub(rows / ii * units);
        if rows % ii > 0 {
            uses[u.resource.index()].push((op, i64::from(u.start) % ii, rows % ii, units));
        }
    }
    let mut pools = Vec::new();
    let mut known = 0;
    for (&capacity, uses) in left.iter().zip(&uses) {
        let most: i64 = uses.iter().map(|&(.., units)| units).sum();
        // Sums of what has to go somewhere are what searches over places are worst at.
        let area: i128 = uses.iter().map(|&(_, _, rows, units)| i128::from(rows) * i128::from(units)).sum();
        if capacity < 0
            || area > i128::from(capacity) * i128::from(ii)
            || uses.iter().any(|&(.., units)| units > capacity)
        {
            return Err(Answer::None);
        }
        if most <= capacity {
            continue;
        }
        known += uses.len();
        if most > MAX_NUMBER || known > MAX_USES {
            return Err(Answer::Unknown(Why::Size));
        }
        let tasks = (uses.iter())
            .map(|&(op, start, rows, units)| Task {
                op,
                start: start as i32,
                rows: rows as i32,
                units: units as i32,
            })
            .collect();
        pools.push(Pool { capacity: capacity as i32, tasks });
    }
    Ok(pools)
}

/// Operations that can be put into row 0, one per group that can be rotated, and pairs that can be put in order.
fn symmetry(n: usize, circuit: &[usize], pools: &[Pool]) -> (Vec<usize>, Vec<(usize, usize)>) {
    let mut group: Vec<usize> = circuit.to_vec();
    let join = |group: &mut [usize], a: usize, b: usize| {
        let (a, b) = (group[a], group[b]);
        if a != b {
            group.iter_mut().filter(|g| **g == b).for_each(|g| *g = a);
        }
    };
    // Per operation its tasks with their pools, and how much of them it holds: whole numbers, which are the same for the same
    // tasks in any order.
    let mut tasks = vec![Vec::new(); n];
    let mut held = vec![0i64; n];
    for (at, pool) in pools.iter().enumerate() {
        for t in &pool.tasks {
            join(&mut group, pool.tasks[0].op, t.op);
            tasks[t.op].push((at, t.start, t.rows, t.units));
            held[t.op] += SHARE * i64::from(t.rows) * i64::from(t.units) / i64::from(pool.capacity);
        }
    }
    tasks.iter_mut().for_each(|tasks| tasks.sort_unstable());
    // The first of those that hold most, so that of operations with the same tasks it is the one with the least row.
    let mut most: Vec<Option<usize>> = vec![None; n];
    for op in 0..n {
        let most = &mut most[group[op]];
        if most.is_none_or(|other| held[op] > held[other]) {
            *most = Some(op);
        }
    }
    let mut size = vec![0; n];
    circuit.iter().for_each(|&first| size[first] += 1);
    let free = |op: usize| !tasks[op].is_empty() && size[circuit[op]] == 1;
    let mut ordered = Vec::new();
    for a in (0..n).filter(|&op| free(op)) {
        ordered.extend((a + 1..n).find(|&b| free(b) && tasks[a] == tasks[b]).map(|b| (a, b)));
    }
    (most.into_iter().flatten().collect(), ordered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::Verdict;
    use sassafras_problem::{Op, Resource, Use};

    const LONG: Duration = Duration::from_secs(60);

    fn at(resource: Resource, start: u32, rows: u32, units: u32) -> Use {
        Use { resource, start, rows, units }
    }

    fn verdict(p: &Problem, ii: u32) -> &'static str {
        match decide(p, ii, LONG).expect("valid") {
            Exact::Feasible(_) => "feasible",
            Exact::Infeasible => "infeasible",
            Exact::Undecided(_) => "undecided",
        }
    }

    #[test]
    fn between_the_bound_and_the_least() {
        let mut p = Problem::new();
        let r = p.add_resource("port", 1);
        let a = p.add_op("a", vec![at(r, 0, 1, 1), at(r, 1, 1, 1)]);
        let b = p.add_op("b", vec![at(r, 0, 1, 1)]);
        p.add_edge(a, b, 4, 0);
        p.add_edge(b, a, -1, 1);
        let found = least_ii(&p, &Options::default()).expect("valid");
        let verdicts = [(3, Verdict::Infeasible), (4, Verdict::Infeasible), (5, Verdict::Feasible)];
        assert_eq!((found.least(), &found.verdicts[..]), (Some(5), &verdicts[..]));
        assert_eq!(decide(&p, 0, LONG), Ok(Exact::Infeasible));
        let none = least_ii(&p, &Options { total: Duration::ZERO, ..Options::default() }).expect("valid");
        assert_eq!(none.verdicts, []);
    }

    #[test]
    fn patterns_that_wrap_and_are_longer_than_the_interval() {
        // At II 2 five rows are two turns and a row: of three units one is left, in one of the two rows.
        let mut p = Problem::new();
        let r = p.add_resource("pool", 3);
        let long = p.add_op("long", vec![at(r, 3, 5, 1)]);
        let short = p.add_op("short", vec![at(r, 0, 1, 1)]);
        p.add_edge(long, short, 1, 0);
        p.add_edge(short, long, -1, 0);
        // `short` is one row after `long`: row 1 where `long` holds row 1 a third time.
        assert_eq!(verdict(&p, 2), "infeasible");
        assert_eq!(verdict(&p, 3), "feasible");
        let mut free = Problem::new();
        let r = free.add_resource("pool", 3);
        free.add_op("long", vec![at(r, 3, 5, 1)]);
        free.add_op("short", vec![at(r, 0, 1, 1)]);
        assert_eq!(verdict(&free, 2), "feasible");
        assert_eq!(verdict(&free, 1), "infeasible");
    }

    #[test]
    fn every_copy_that_matters_is_there() {
        // By counting: in the cycles that are looked at, every row is held as often as it is in the modulo table.
        for ii in 1..8 {
            for (start, rows) in (0..ii).flat_map(|start| (1..ii).map(move |rows| (start, rows))) {
                let task = Task { op: 0, start, rows, units: 1 };
                for row in 0..ii {
                    let starts: Vec<i32> = copies(&task, ii).map(|s| s + row).collect();
                    assert!(starts.iter().all(|&s| s >= 0));
                    for cycle in 2 * ii - 1..3 * ii - 1 {
                        let held = starts.iter().filter(|&&s| (s..s + rows).contains(&cycle)).count();
                        let wanted = (0..rows).filter(|i| (row + start + i - cycle) % ii == 0).count();
                        assert_eq!(held, wanted, "II {ii}, {task:?} in row {row}, cycle {cycle}");
                    }
                }
            }
        }
    }

    #[test]
    fn twins_and_the_one_in_row_0_do_not_contradict() {
        // Uses in another order are the same uses, and three twins fit only if none is put before the one in row 0.
        let mut p = Problem::new();
        let (r, s) = (p.add_resource("r", 1), p.add_resource("s", 1));
        p.add_op("a", vec![at(r, 0, 1, 1), at(s, 1, 1, 1)]);
        p.add_op("b", vec![at(s, 1, 1, 1), at(r, 0, 1, 1)]);
        p.add_op("c", vec![at(r, 0, 1, 1), at(s, 1, 1, 1)]);
        assert_eq!((verdict(&p, 2), verdict(&p, 3)), ("infeasible", "feasible"));
        let model = Model::new(&p, &Distances::new(&p, 3).expect("small")).expect("a model");
        assert_eq!((model.first, model.ordered), (vec![0], vec![(0, 1), (1, 2)]));
    }

    #[test]
    fn what_is_too_large_is_not_decided() {
        let size = Ok(Exact::Undecided(Why::Size));
        let mut p = Problem::new();
        let r = p.add_resource("huge", u32::MAX);
        let a = p.add_op("a", vec![at(r, 0, 1, u32::MAX)]);
        assert_eq!(decide(&p, MAX_II + 1, LONG), size);
        assert_eq!(verdict(&p, MAX_II), "feasible");
        let b = p.add_op("b", vec![at(r, 0, 1, u32::MAX)]);
        assert_eq!(decide(&p, 5, LONG), size);
        let mut wide = Problem::new();
        for name in ["a", "b"] {
            wide.add_op(name, vec![]);
        }
        wide.add_edge(a, b, 1, 0);
        wide.add_edge(b, a, 1, MAX_STAGES);
        assert_eq!(decide(&wide, 2, LONG), size);
        let mut many = Problem::new();
        for _ in 0..=MAX_OPS {
            many.add_op("", vec![]);
        }
        assert_eq!(decide(&many, 1, LONG), size);
    }

    #[test]
    fn it_stops_near_its_limit() {
        let limit = Duration::from_millis(100);
        // No order of rows exists, and the solver goes through all stages before it knows, again and again.
        let mut ring = Problem::new();
        let r = ring.add_resource("port", 1);
        let loose = ring.add_op("loose", vec![]);
        let ops: Vec<Op> = (0..40)
            .map(|i| ring.add_op("ring", if i == 0 || i == 2 { vec![Use::first(r, 1)] } else { vec![] }))
            .collect();
        for (i, &op) in ops.iter().enumerate() {
            ring.add_edge(op, ops[(i + 1) % 40], 1, if i == 39 { 20 } else { 0 });
        }
        ring.add_edge(loose, ops[0], 0, 0);
        ring.add_edge(ops[1], loose, 0, 350);
        let dense = crate::random::problem(crate::random::Shape::Dense, 60, 1);
        let mii = crate::bounds::bounds(&dense).mii() as u32;
        for (p, ii) in [(ring, 2), (dense, mii)] {
            let start = Instant::now();
            let verdict = decide(&p, ii, limit).expect("valid");
            // For a machine with other work; without, 110 ms.
            assert!(start.elapsed() < 20 * limit, "{verdict:?} after {:?}", start.elapsed());
            assert!(!matches!(verdict, Exact::Feasible(_)));
        }
    }

    #[test]
    fn a_panic_is_no_verdict() {
        assert_eq!(guarded(|| panic!("as a solver might")), Answer::Unknown(Why::Failed));
        assert_eq!(guarded(|| Answer::None), Answer::None);
    }
}
