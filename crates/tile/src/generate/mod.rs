//! Generation: II, a stage and an order for every operation.
//!
//! ```text
//! loop ──▶ problem ──▶ bounds ──▶ search over II ──▶ groups × arms ──▶ compaction ──▶ buffers fit? ──▶ analysis
//!             ▲                                                                           │ no
//!             └──────────────────────────── fewer slots ◀────────────────────────────────┘
//! ```
//!
//! Where fewer slots are not enough, II grows until buffers fit, and only then iterations do not overlap at all.
//!
//! The arms are asked first, at II from the bound on. Where they need more than the bound, the iterative scheduler of
//! [`modulo`](sassafras_modulo) is asked whether it can do with less. Whatever comes out is verified before it is published.
//!
//! Source: `tile-scheduler`, `tile-driver`, `tile-gates`.

pub mod arms;
pub mod compact;
pub mod cost;
pub mod driver;
pub mod evaluate;
pub mod groups;
pub mod problem;
pub mod serial;
pub mod state;

use crate::agents::{self, Plan};
use crate::analysis::{Analysis, Generator, Mii, places};
use crate::buffers::{self, Layout};
use crate::contract::{self, ContractError};
use crate::options::{Options, Selection};
use crate::solve;
use arms::Arm;
use cranelift_entity::EntityRef;
use groups::Groups;
use problem::Built;
use sassafras_machine::tile::{SlotKind, slot};
use sassafras_modulo::{
    ClosureError, Confirm, Distances, Evidence, Gallop, IterativeError, Problem, ProblemError, Schedule,
    Table, TableError, Violation, bounds, branch, first_feasible, iterative, verify,
};
use sassafras_tileir::program::{Execution, Program, ProgramError, Storage, Value};
use sassafras_tileir::scheduled::{Strategy, TileLoop};
use state::State;
use std::collections::BTreeMap;
use thiserror::Error;

/// Why a loop was not scheduled.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum GenerateError {
    /// The loop makes no sense.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A shape that a persistent loop cannot have.
    #[error(transparent)]
    Contract(#[from] ContractError),
    /// The problem that was made of it makes no sense.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// Too many operations, or paths too long.
    #[error(transparent)]
    Closure(ClosureError),
    /// A table would be too large.
    #[error(transparent)]
    Table(TableError),
    /// Not even one iteration after the other.
    #[error("no schedule: operations that wait for each other, or times beyond all numbers")]
    None,
    /// Prescribed stages or groups that no II fulfils.
    #[error("the prescribed stages and groups cannot be kept at any II up to {most}")]
    Prescribed {
        /// The largest II that was tried.
        most: u32,
    },
    /// One slot for each value is too much.
    #[error(
        "fails to assign {storage} buffers: {need} bytes are needed with one iteration at a time, {have} are there"
    )]
    Buffers {
        /// Which storage.
        storage: Storage,
        /// Bytes needed.
        need: u64,
        /// Bytes there.
        have: u64,
    },
    /// A limit on slots below what the loop carries from one iteration to another.
    #[error("`{value}` cannot do with {asked} slots: {least} iterations of it are wanted at once")]
    Depth {
        /// The value.
        value: String,
        /// What was asked for.
        asked: u32,
        /// What it needs.
        least: u32,
    },
    /// A defect of a generator.
    #[error("the schedule is wrong: {0}")]
    Refused(Violation),
}

/// A published schedule and where its values live.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// The schedule.
    pub analysis: Analysis,
    /// Slots and buffers.
    pub layout: Layout,
    /// Who runs what.
    pub plans: Vec<Plan>,
    /// The loop over tiles around it.
    pub tile_loop: Option<TileLoop>,
}

/// Schedules a loop. The same loop and options give the same schedule.
///
/// Where buffers do not fit, limits on slots are tried first, then larger II, then one iteration after the other.
pub fn generate(program: &Program, options: &Options) -> Result<Generated, GenerateError> {
    let mut generated = fitted(program, options)?;
    let pipes = solve::pipes(program, &generated.analysis);
    buffers::fit_warps(program, &pipes, &generated.layout, &mut generated.plans);
    Ok(generated)
}

/// A schedule and buffers that fit.
fn fitted(program: &Program, options: &Options) -> Result<Generated, GenerateError> {
    program.check()?;
    let tile_loop = contract::check(program, options.clusters)?;
    let asked = asked_depths(program, options)?;
    let mut caps = asked.clone();
    let plans = agents::plan(program, options);
    let mut iterations = 0;
    // The II at which buffers did not fit without further limits.
    let mut first = None;
    let fitted = loop {
        let mut analysis = schedule(program, &plans, options, &caps)?;
        analysis.constraint_iterations = iterations;
        let pipes = solve::pipes(program, &analysis);
        let over = match buffers::assign(program, &analysis, &pipes, &plans, options) {
            Ok(layout) => {
                break Some(Generated {
                    analysis,
                    layout,
                    plans: plans.clone(),
                    tile_loop: tile_loop.clone(),
                });
            }
            Err(over) => over,
        };
        if analysis.generator == Generator::Serial && iterations == 0 {
            return Err(GenerateError::Buffers { storage: over.storage, need: over.need, have: over.have });
        }
        first = first.or(Some(analysis.ii));
        match over.caps {
            Some(tighter)
                if iterations < options.max_constraint_iterations
                    && analysis.generator != Generator::Serial =>
            {
                iterations += 1;
                tighten(program, &mut caps, tighter);
            }
            _ => break None,
        }
    };
    let Some(first) = first else { return fitted.ok_or(GenerateError::None) };
    // Too tight for this II: with a larger one fewer iterations overlap. Perhaps that costs less than the limits did. Who
    // allows no attempts gets none.
    let most = fitted.as_ref().map_or(u32::MAX, |g| g.analysis.ii - 1);
    if options.max_constraint_iterations > 0
        && let Some(mut found) = roomier(program, options, &asked, &plans, first, most)?
    {
        found.analysis.constraint_iterations += iterations;
        found.tile_loop = tile_loop;
        return Ok(found);
    }
    if let Some(fitted) = fitted {
        return Ok(fitted);
    }
    let mut serial = serial_analysis(program, &plans, &BTreeMap::new(), "buffers do not fit otherwise")?;
    serial.trivial = true;
    serial.constraint_iterations = iterations;
    let pipes = solve::pipes(program, &serial);
    let layout = buffers::assign(program, &serial, &pipes, &plans, options)
        .map_err(|o| GenerateError::Buffers { storage: o.storage, need: o.need, have: o.have })?;
    Ok(Generated { analysis: serial, layout, plans, tile_loop })
}

/// Adds limits.
fn tighten(program: &Program, caps: &mut BTreeMap<Value, u32>, tighter: BTreeMap<Value, u32>) {
    for (value, depth) in tighter {
        let cap = caps.entry(program.origin(value)).or_insert(depth);
        *cap = depth.min(*cap);
    }
}

/// Attempts to limit slots at one II of [`roomier`].
const LIMITS_PER_II: u32 = 3;

/// The least II of a range (in cycles) at which buffers fit, as far as arms can tell. The last end is cut to where
/// iterations do not overlap.
fn roomier(
    program: &Program,
    options: &Options,
    asked: &BTreeMap<Value, u32>,
    plans: &[Plan],
    first: u32,
    most: u32,
) -> Result<Option<Generated>, GenerateError> {
    let built = problem::build(program, plans, asked, 1);
    let serial = serial::generate(program, &built.problem, 1).ok_or(GenerateError::None)?;
    // Quantised as much as the search that failed, so that tables stay small.
    let quantum = quantum(options, first.into());
    let range = first / quantum..=most.min(serial.ii).div_ceil(quantum).min(most / quantum);
    let stride = (serial.ii.saturating_sub(first) / quantum / 64).max(1);
    let groups = Groups::of(program);
    let pinned = pinned(program, &groups);
    let stages = stages(options);
    let mut failure = None;
    let search = first_feasible(range, Gallop::Stride(stride), Confirm::Nothing, |ii| {
        let mut caps = asked.clone();
        for _ in 0..=LIMITS_PER_II {
            let built = problem::build(program, plans, &caps, quantum);
            let (mut schedule, arms) = match attempt(program, &built.problem, &groups, ii, stages, options) {
                Ok(found) => found?,
                Err(error) => {
                    failure.get_or_insert(error);
                    return None;
                }
            };
            if !pinned {
                schedule = shortened(program, &built.problem, schedule, stages, true);
            }
            if let Err(violation) = verify(&built.problem, &schedule) {
                failure.get_or_insert(GenerateError::Refused(violation));
                return None;
            }
            let mut analysis = publish(program, plans, &built, &schedule, &caps);
            analysis.arms = arms;
            let pipes = solve::pipes(program, &analysis);
            match buffers::assign(program, &analysis, &pipes, plans, options) {
                Ok(layout) => {
                    return Some(Generated { analysis, layout, plans: plans.to_vec(), tile_loop: None });
                }
                Err(over) => tighten(program, &mut caps, over.caps?),
            }
        }
        None
    });
    if let Some(error) = failure {
        return Err(error);
    }
    // What budgets did not allow is no less feasible for that, so nothing is known of smaller II.
    Ok(search.found.map(|(_, mut found)| {
        found.analysis.evidence = Evidence::Monotone;
        found.analysis.probes = search.probes;
        found
    }))
}

/// The limits on slots that attributes and options ask for.
fn asked_depths(program: &Program, options: &Options) -> Result<BTreeMap<Value, u32>, GenerateError> {
    let mut caps: BTreeMap<Value, u32> = BTreeMap::new();
    for o in program.ops.values() {
        if let Some(depth) = o.attributes.max_depth {
            o.results.iter().for_each(|&v| {
                caps.insert(program.origin(v), depth.max(1));
            });
        }
    }
    for (v, data) in program.values.iter() {
        if let Some(&depth) = options.depths.get(&data.name) {
            caps.insert(program.origin(v), depth.max(1));
        }
    }
    for (&value, &asked) in &caps {
        let operands = program.ops.values().flat_map(|o| &o.operands);
        let least =
            operands.filter(|o| program.origin(o.value) == value).map(|o| o.distance).max().unwrap_or(0);
        let least = least.max(program.wanted_after(value).map_or(0, |d| d + 1));
        if asked < least {
            return Err(GenerateError::Depth { value: program.values[value].name.clone(), asked, least });
        }
    }
    Ok(caps)
}

/// Why the documented selection is serial, if it is.
fn serial_reason(program: &Program, options: &Options) -> Option<&'static str> {
    if options.selection == Selection::Serial || options.strategy == Strategy::None {
        return Some("asked for");
    }
    if program.serial || program.ops.values().any(|o| o.attributes.serial) {
        return Some("the source forces serial execution");
    }
    if options.selection == Selection::Documented {
        if program.ops.len() < options.serial_threshold as usize {
            return Some("fewer operations than the threshold");
        }
        if program.ops.values().all(|o| o.execution == Execution::Sync) {
            return Some("no asynchronous operation");
        }
    }
    None
}

/// Bounds of a loop, with what binds in words: in cycles, whatever a row of the table stands for.
fn mii(program: &Program, plans: &[Plan], caps: &BTreeMap<Value, u32>) -> (Mii, String) {
    let problem = problem::build(program, plans, caps, 1).problem;
    let own = bounds(&problem);
    let free = if caps.is_empty() {
        own.clone()
    } else {
        bounds(&problem::build(program, plans, &BTreeMap::new(), 1).problem)
    };
    let mut fine = Problem::new();
    let resources: Vec<_> = problem
        .resources()
        .map(|r| fine.add_resource(problem.resource_name(r), problem.capacity(r)))
        .collect();
    for op in problem.ops() {
        let is_fine = |r| slot(problem.resource_name(r)).is_some_and(|s| s.kind == SlotKind::Fine);
        let uses = problem.uses(op).iter().filter(|u| is_fine(u.resource));
        let uses = uses.map(|u| sassafras_modulo::Use { resource: resources[u.resource.index()], ..*u });
        fine.add_op(problem.name(op), uses.collect());
    }
    let found = Mii {
        recurrence: free.recurrence,
        resource: own.resource,
        fine: bounds(&fine).resource,
        dependence: own.recurrence,
    };
    (found, own.reason().explain(&problem))
}

fn serial_analysis(
    program: &Program,
    plans: &[Plan],
    caps: &BTreeMap<Value, u32>,
    because: &'static str,
) -> Result<Analysis, GenerateError> {
    let built = problem::build(program, plans, caps, 1);
    built.problem.check()?;
    let schedule = serial::generate(program, &built.problem, 1).ok_or(GenerateError::None)?;
    verify(&built.problem, &schedule).map_err(GenerateError::Refused)?;
    let mut found = publish(program, plans, &built, &schedule, caps);
    found.generator = Generator::Serial;
    found.serial_because = Some(because);
    Ok(found)
}

/// The analysis of a schedule in rows of the problem.
fn publish(
    program: &Program,
    plans: &[Plan],
    built: &Built,
    schedule: &Schedule,
    caps: &BTreeMap<Value, u32>,
) -> Analysis {
    let q = built.quantum;
    let in_cycles = Schedule {
        ii: schedule.ii.saturating_mul(q),
        times: schedule.times.iter().map(|t| t * i64::from(q)).collect(),
    };
    let places = places(program, &in_cycles);
    let groups = Groups::of(program);
    let (mii, bound) = mii(program, plans, caps);
    Analysis {
        ii: in_cycles.ii,
        stages: places.iter().map(|p| p.stage + 1).max().unwrap_or(1),
        places,
        generator: Generator::Arms,
        serial_because: None,
        trivial: false,
        arms: Vec::new(),
        mii,
        bound,
        evidence: Evidence::Exhaustive,
        proven: false,
        probes: Vec::new(),
        cost: cost::of_schedule(&built.problem, schedule, cost::Feasibility::Slots, None),
        caps: caps.clone(),
        constraint_iterations: 0,
        quantum: q,
        leaders: program.ops.keys().map(|op| groups.leaders[groups.of[op.index()]]).collect(),
    }
}

/// Cycles that one row stands for, so that a table of this II is not too large.
fn quantum(options: &Options, ii: u64) -> u32 {
    match u64::from(options.rrt_size_threshold) {
        0 => 1,
        rows => u32::try_from(ii.div_ceil(rows)).unwrap_or(u32::MAX).max(1),
    }
}

/// The most stages, where there is a limit.
fn stages(options: &Options) -> Option<u32> {
    (options.strategy == Strategy::Unspecialize).then_some(options.unspecialized_stages.max(1))
}

/// Whether operations must be in certain stages, or in the same as others.
fn pinned(program: &Program, groups: &Groups) -> bool {
    program.ops.values().any(|o| o.attributes.stage.is_some()) || groups.members.len() < program.ops.len()
}

/// One schedule under the given limits.
fn schedule(
    program: &Program,
    plans: &[Plan],
    options: &Options,
    caps: &BTreeMap<Value, u32>,
) -> Result<Analysis, GenerateError> {
    if let Some(because) = serial_reason(program, options) {
        return serial_analysis(program, plans, caps, because);
    }
    let mut built = problem::build(program, plans, caps, 1);
    built.problem.check()?;
    let least = bounds(&built.problem).mii();
    let quantum = quantum(options, least);
    if quantum > 1 {
        built = problem::build(program, plans, caps, quantum);
        built.problem.check()?;
    }
    let problem = &built.problem;
    let groups = Groups::of(program);
    let bound = bounds(problem);
    let least = u32::try_from(bound.mii().max(1)).map_err(|_| GenerateError::None)?;
    let serial = serial::generate(program, problem, built.quantum).ok_or(GenerateError::None)?;
    let most = serial.ii.max(least);
    let stages = stages(options);
    let mut failure = None;
    let search = first_feasible(least..=most, Gallop::Step, Confirm::Bracket, |ii| {
        if failure.is_some() {
            return None;
        }
        match attempt(program, problem, &groups, ii, stages, options) {
            Ok(found) => found,
            Err(error) => {
                failure = Some(error);
                None
            }
        }
    });
    if let Some(error) = failure {
        return Err(error);
    }
    let pinned = pinned(program, &groups);
    let arms_ii = search.found.as_ref().map(|f| f.0);
    let mut evidence = search.evidence;
    let mut by = Generator::Arms;
    let mut found: Option<(Schedule, Vec<Arm>)> = search.found.map(|f| f.1);
    let mut proven = false;
    if options.rescue && !pinned && arms_ii.is_none_or(|ii| ii > least) {
        let below = arms_ii.map_or(most, |ii| ii - 1);
        let ask = iterative::Options { max_ii: Some(below), ..iterative::Options::default() };
        let staged = stages.map(|s| within_stages(problem, s));
        let asked = staged.as_ref().unwrap_or(problem);
        match iterative::schedule(asked, &ask) {
            Ok(other) => {
                evidence = other.evidence;
                proven = other.is_optimal();
                by = Generator::Iterative;
                found = Some((from_first(other.schedule, program.ops.len()), Vec::new()));
            }
            Err(IterativeError::NotFound { .. } | IterativeError::Bound { .. }) => {}
            Err(IterativeError::Refused(violation)) => return Err(GenerateError::Refused(violation)),
            Err(_) => {}
        }
        if let Some(ii) = found.as_ref().map(|f| f.0.ii).filter(|_| !proven) {
            let exact = decide_below(asked, least, ii)?;
            proven = exact.proven;
            if let Some(schedule) = exact.schedule {
                by = Generator::Iterative;
                evidence = Evidence::Monotone;
                found = Some((from_first(schedule, program.ops.len()), Vec::new()));
            }
        }
    }
    let Some((mut schedule, arms)) = found else {
        if pinned {
            return Err(GenerateError::Prescribed { most });
        }
        let mut serial =
            serial_analysis(program, plans, caps, "no generator found a schedule that overlaps")?;
        serial.trivial = true;
        serial.probes = search.probes;
        return Ok(serial);
    };
    if !pinned {
        schedule = shortened(program, problem, schedule, stages, false);
    }
    verify(problem, &schedule).map_err(GenerateError::Refused)?;
    let mut analysis = publish(program, plans, &built, &schedule, caps);
    analysis.generator = by;
    analysis.arms = arms;
    analysis.evidence = evidence;
    analysis.probes = search.probes;
    // What is proven of rows is not proven of cycles where a row is several.
    analysis.proven = proven && built.quantum == 1;
    Ok(analysis)
}

/// The schedule with shorter lifetimes, or itself where that would take more stages than there may be: what waits only for
/// other iterations can move away from all others.
fn shortened(
    program: &Program,
    problem: &Problem,
    schedule: Schedule,
    stages: Option<u32>,
    squeeze: bool,
) -> Schedule {
    let mut shorter = schedule.clone();
    if squeeze {
        compact::squeeze(program, problem, &mut shorter);
    }
    compact::compact(program, problem, &mut shorter, |_| false);
    compact::to_start(&mut shorter);
    let last = shorter.times.iter().max().map_or(0, |t| t.div_euclid(i64::from(shorter.ii.max(1))));
    if stages.is_none_or(|s| last < i64::from(s)) {
        return shorter;
    }
    let mut schedule = schedule;
    compact::to_start(&mut schedule);
    schedule
}

/// The problem with one more operation, the last, that starts with the first of all and holds the others to so many
/// stages from there.
fn within_stages(problem: &Problem, stages: u32) -> Problem {
    let mut staged = problem.clone();
    let start = staged.add_op("start", Vec::new());
    for op in problem.ops() {
        staged.add_edge(start, op, 0, 0);
        staged.add_edge(op, start, 1, stages);
    }
    staged
}

/// The schedule of the first `count` operations, from where the one of [`within_stages`] is, if there is one.
fn from_first(mut schedule: Schedule, count: usize) -> Schedule {
    if let Some(&start) = schedule.times.get(count) {
        schedule.times.truncate(count);
        schedule.times.iter_mut().for_each(|t| *t -= start);
    }
    schedule
}

/// Operations up to which smaller II are decided by exact search.
const DECIDED_OPS: usize = 40;
/// The work of that: nodes times operations times words of 64 rows; about 20 ms.
const DECIDED_WORK: u64 = 3_000_000;

/// What exact search says of II below the one at hand.
struct Decided {
    schedule: Option<Schedule>,
    /// Whether all II below the schedule's, or below the one at hand, have no schedule.
    proven: bool,
}

/// Decides II from `least` on, below `ii`, while work is left. The same answer each time: work is counted, not time.
fn decide_below(problem: &Problem, least: u32, ii: u32) -> Result<Decided, GenerateError> {
    let count = problem.ops().len();
    let mut decided = Decided { schedule: None, proven: least == ii };
    if count > DECIDED_OPS || least >= ii {
        return Ok(decided);
    }
    let unit = count.max(1) as u64 * u64::from(ii.div_ceil(64));
    // As much for each II, so that a hard one does not keep others from being looked at.
    let nodes = DECIDED_WORK / unit / u64::from(ii - least);
    let mut all = true;
    for at in least..ii {
        match branch::solve(problem, at, &branch::Limits { nodes, deadline: None }) {
            Ok(branch::Outcome::Feasible(schedule)) => {
                verify(problem, &schedule).map_err(GenerateError::Refused)?;
                decided.schedule = Some(schedule);
                break;
            }
            Ok(branch::Outcome::Infeasible) => {}
            Ok(branch::Outcome::Stopped) => all = false,
            Err(error) => return Err(GenerateError::Closure(error)),
        }
    }
    decided.proven = all;
    Ok(decided)
}

type Placed = Option<(Schedule, Vec<Arm>)>;

fn attempt(
    program: &Program,
    problem: &Problem,
    groups: &Groups,
    ii: u32,
    stages: Option<u32>,
    options: &Options,
) -> Result<Placed, GenerateError> {
    let distances = match Distances::new(problem, ii) {
        Ok(distances) => distances,
        Err(ClosureError::PositiveCircuit(_)) => return Ok(None),
        Err(error) => return Err(GenerateError::Closure(error)),
    };
    let table = Table::new(problem, ii).map_err(GenerateError::Table)?;
    let mut state = State::new(program, problem, groups, &distances, table, stages);
    Ok(driver::place(&mut state, options).ok())
}
