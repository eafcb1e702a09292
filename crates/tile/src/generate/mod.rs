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
//! [`modulo`](sassafras_modulo) is asked whether it can do with less, and then its exact search while that is cheap. Whatever
//! comes out is verified before it is published.
//!
//! Source: `tile-scheduler`, `tile-driver`, `tile-gates`.

pub mod arms;
pub mod compact;
pub mod cost;
pub mod driver;
pub mod evaluate;
pub mod groups;
pub mod limits;
pub mod problem;
pub mod serial;
pub mod state;

use crate::agents::{self, Plan};
use crate::analysis::{Analysis, Crowded, Generator, Mii, places};
use crate::buffers::{self, Layout, Over};
use crate::contract::{self, ContractError};
use crate::options::{Options, Selection};
use crate::solve;
use arms::Arm;
use cranelift_entity::EntityRef;
use groups::Groups;
use limits::Caps;
use problem::Built;
use sassafras_machine::tile::{SlotKind, slot, threshold};
use sassafras_modulo::{
    ClosureError, Confirm, Distances, Evidence, Gallop, IterativeError, Problem, ProblemError, Schedule,
    Search, Table, TableError, Violation, bounds, branch, first_feasible, iterative, verify,
};
use sassafras_tileir::program::{Execution, Program, ProgramError, Storage};
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
    /// A position within a stage that nothing says.
    #[error("`{op}` has an order but no stage: orders are positions within a stage")]
    Order {
        /// The operation.
        op: String,
    },
    /// A prescribed stage that would take a prologue of more operations than there may be.
    #[error("`{op}` cannot be in stage {stage}: a loop of {ops} operations can have {most} stages")]
    Stage {
        /// The operation.
        op: String,
        /// What is prescribed.
        stage: u32,
        /// Operations of the loop.
        ops: usize,
        /// Stages it can have.
        most: u32,
    },
    /// A value beyond all memories.
    #[error("`{value}` has {bytes} bytes; the limit is {MAX_BYTES}")]
    Bytes {
        /// The value.
        value: String,
        /// Its size.
        bytes: u64,
    },
    /// A defect of a generator.
    #[error("the schedule is wrong: {0}")]
    Refused(Violation),
}

/// The largest value: small enough that no sum over slots and values overflows.
pub const MAX_BYTES: u64 = 1 << 40;

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
/// Where buffers do not fit, limits on slots are tried first, then larger II, then one iteration after the other, except
/// where stages or groups are prescribed, which that could not keep.
pub fn generate(program: &Program, options: &Options) -> Result<Generated, GenerateError> {
    program.check()?;
    // What cannot be is refused before anything is solved.
    let tile_loop = contract::check(program, options.clusters)?;
    let mut generated = Generated { tile_loop, ..fitted(program, options)? };
    let analysis = &mut generated.analysis;
    // In the rows it was made of.
    let quantum = analysis.quantum;
    let problem = problem::build(program, &generated.plans, &analysis.caps, quantum).problem;
    let Schedule { ii, times } = analysis.schedule();
    let times = times.iter().map(|t| t / i64::from(quantum)).collect();
    let schedule = Schedule { ii: ii / quantum, times };
    analysis.cost = cost::of_schedule(&problem, &schedule, cost::Feasibility::Slots);
    buffers::fit_warps(program, &generated.layout, &mut generated.plans);
    Ok(generated)
}

/// A schedule and buffers that fit.
fn fitted(program: &Program, options: &Options) -> Result<Generated, GenerateError> {
    check(program)?;
    let plans = agents::plan(program, options);
    problem::build(program, &plans, &Caps::new(), 1).problem.check()?;
    let asked = limits::asked(program, &plans, options)?;
    let (mii, bound) = mii(program, &plans, &asked);
    let groups = &Groups::of(program);
    let task = Task { program, plans: &plans, options, asked: &asked, groups, mii, bound: &bound };
    let mut caps = asked.clone();
    let mut iterations = 0;
    // Where buffers did not fit, first and last.
    let (mut first, mut last) = (None, None);
    let fitted = loop {
        let mut analysis = match schedule(&task, &caps) {
            // Not at any II with so few slots: budgets are in the way of what is prescribed.
            Err(GenerateError::Prescribed { .. }) if iterations > 0 => break None,
            found => found?,
        };
        analysis.constraint_iterations = iterations;
        analysis.crowded = last;
        let fits = match layout(&task, &analysis) {
            Err(over) if over.storage == Storage::Register => {
                let (other, fits) = fewer_registers(&task, analysis, over)?;
                analysis = other;
                fits
            }
            fits => fits,
        };
        let over = match fits {
            Ok(layout) => break Some(Generated { analysis, layout, plans: plans.clone(), tile_loop: None }),
            Err(over) => over,
        };
        let serial = analysis.generator == Generator::Serial;
        if serial && iterations == 0 {
            return Err(over.into());
        }
        first = first.or(Some(analysis.ii));
        last = Some(Crowded::of(&over, analysis.ii));
        if serial || iterations == options.max_constraint_iterations {
            break None;
        }
        let Some(tighter) = limits::give_up(program, &plans, &caps, &over, analysis.ii) else { break None };
        caps = tighter;
        iterations += 1;
    };
    let Some(first) = first else { return fitted.ok_or(GenerateError::None) };
    // Too tight for this II: with a larger one fewer iterations overlap. Perhaps that costs less than the limits did. Who
    // allows no attempts gets none.
    let most = fitted.as_ref().map_or(u32::MAX, |g| g.analysis.ii - 1);
    if options.max_constraint_iterations > 0
        && let Some(mut found) = roomier(&task, first, most)?
    {
        found.analysis.constraint_iterations += iterations;
        found.analysis.crowded = found.analysis.crowded.or(last);
        return Ok(found);
    }
    if let Some(fitted) = fitted {
        return Ok(fitted);
    }
    if let (true, Some(crowded)) = (task.pinned(), last) {
        return Err(GenerateError::Buffers {
            storage: crowded.storage,
            need: crowded.need,
            have: crowded.have,
        });
    }
    let mut serial = serial_analysis(&task, &asked, "buffers do not fit otherwise")?;
    serial.trivial = true;
    serial.constraint_iterations = iterations;
    serial.crowded = last;
    let layout = layout(&task, &serial).map_err(GenerateError::from)?;
    Ok(Generated { analysis: serial, layout, plans, tile_loop: None })
}

/// A schedule whose registers do not fit, or the same with every operation as late as what needs it allows: whichever costs
/// less of registers above the budget, by the documented measure, then of bytes. Rows change, so that is no worse for anything
/// else only where it is needed.
fn fewer_registers(
    task: &Task<'_>,
    analysis: Analysis,
    over: Over,
) -> Result<(Analysis, Result<Layout, Over>), GenerateError> {
    // What is prescribed stays where it is, and so does what does not overlap. Steps of time are too coarse to gain by.
    if task.pinned() || analysis.generator == Generator::Serial || analysis.quantum > 1 {
        return Ok((analysis, Err(over)));
    }
    let built = task.build(&analysis.caps, 1);
    let schedule = shortened(task, &built, analysis.schedule(), analysis.stage_limit, true);
    verify(&built.problem, &schedule).map_err(GenerateError::Refused)?;
    let late = publish(task, &built, &schedule, &analysis.caps);
    let late = Analysis { places: late.places, stages: late.stages, ..analysis.clone() };
    let threads = task.plans.iter().map(|p| p.warps).max().unwrap_or(1).max(1) * 32;
    let excess = |over: &Over| match over.storage {
        Storage::Register => {
            let registers = (over.need - over.have).div_ceil(4 * u64::from(threads));
            (cost::register_excess(registers), over.need)
        }
        // Registers come first: where others are reported, they fit.
        Storage::Shared | Storage::Tensor => (0, 0),
    };
    Ok(match layout(task, &late) {
        Ok(layout) => (late, Ok(layout)),
        Err(less) if excess(&less) < excess(&over) => (late, Err(less)),
        Err(_) => (analysis, Err(over)),
    })
}

/// What is asked of the generators, whatever the limits on slots.
#[derive(Clone, Copy)]
struct Task<'a> {
    program: &'a Program,
    plans: &'a [Plan],
    options: &'a Options,
    /// The limits on slots that were asked for.
    asked: &'a Caps,
    groups: &'a Groups,
    mii: Mii,
    bound: &'a str,
}

impl Task<'_> {
    fn build(&self, caps: &Caps, quantum: u32) -> Built {
        problem::build(self.program, self.plans, caps, quantum)
    }

    /// The most stages where one agent runs everything, whatever strategy that comes from; nothing for any number.
    fn stages(&self) -> Option<u32> {
        let single = self.plans.len() == 1 && self.options.strategy != Strategy::None;
        single.then_some(self.options.unspecialized_stages.max(1))
    }

    /// Whether operations must be in certain stages, or in the same as others.
    fn pinned(&self) -> bool {
        let program = self.program;
        program.ops.values().any(|o| o.attributes.stage.is_some())
            || self.groups.members.len() < program.ops.len()
    }
}

/// The most stages of so many operations, so that prologues stay as long as a program can be.
fn most_stages(ops: usize) -> u32 {
    (threshold("pipelined_operations") / u32::try_from(ops.max(1)).unwrap_or(u32::MAX)).max(1)
}

/// What would be refused later, or never.
fn check(program: &Program) -> Result<(), GenerateError> {
    let most = most_stages(program.ops.len());
    for o in program.ops.values() {
        match (o.attributes.stage, o.attributes.order) {
            (None, Some(_)) => return Err(GenerateError::Order { op: o.name.clone() }),
            (Some(stage), _) if stage >= most => {
                let ops = program.ops.len();
                return Err(GenerateError::Stage { op: o.name.clone(), stage, ops, most });
            }
            _ => {}
        }
    }
    match program.values.values().find(|v| v.bytes > MAX_BYTES) {
        Some(v) => Err(GenerateError::Bytes { value: v.name.clone(), bytes: v.bytes }),
        None => Ok(()),
    }
}

/// Where the values of a schedule live.
fn layout(task: &Task<'_>, analysis: &Analysis) -> Result<Layout, Over> {
    let pipes = solve::pipes(task.program, analysis);
    buffers::assign(task.program, analysis, &pipes, task.plans, task.options)
}

impl From<Over> for GenerateError {
    fn from(over: Over) -> GenerateError {
        GenerateError::Buffers { storage: over.storage, need: over.need, have: over.have }
    }
}

/// Attempts to limit slots at one II of [`roomier`].
const LIMITS_PER_II: u32 = 3;

/// Operations up to which every II of [`roomier`]'s bracket is tried: of larger loops an attempt takes milliseconds, and there
/// can be hundreds.
const CONFIRMED_OPS: usize = 100;
/// The same of operations times rows.
const CONFIRMED_CELLS: u64 = 50_000;

/// The least II of a range (in cycles) at which buffers fit, as far as arms can tell. The last end is cut to where
/// iterations do not overlap.
fn roomier(task: &Task<'_>, first: u32, most: u32) -> Result<Option<Generated>, GenerateError> {
    // Quantised as much as the search that failed, so that tables stay small.
    let quantum = quantum(task.options, first.into());
    let built = task.build(task.asked, quantum);
    let serial = serial::generate(task.program, &built.problem, quantum).ok_or(GenerateError::None)?;
    let range = first / quantum..=serial.ii.min(most / quantum);
    let stride = (serial.ii.saturating_sub(first / quantum) / 64).max(1);
    let mut failure = None;
    // What did not fit, by II.
    let mut crowded = BTreeMap::new();
    let cells = task.program.ops.len() as u64 * u64::from(first / quantum);
    let small = task.program.ops.len() <= CONFIRMED_OPS && cells <= CONFIRMED_CELLS;
    let confirm = if small { Confirm::Bracket } else { Confirm::Nothing };
    let search = first_feasible(range, Gallop::Stride(stride), confirm, |ii| {
        if failure.is_some() {
            return None;
        }
        roomy(task, ii, quantum, &mut crowded).unwrap_or_else(|error| {
            failure = Some(error);
            None
        })
    });
    if let Some(error) = failure {
        return Err(error);
    }
    // What budgets did not allow is no less feasible for that, so nothing is known of smaller II.
    Ok(search.found.map(|(ii, mut found)| {
        found.analysis.evidence = Evidence::Monotone;
        found.analysis.probes = in_cycles(&search.probes, quantum);
        found.analysis.crowded = crowded.range(..ii).next_back().map(|c| *c.1);
        found
    }))
}

/// A schedule of so many rows whose buffers fit, if a few limits on slots are enough.
fn roomy(
    task: &Task<'_>,
    ii: u32,
    quantum: u32,
    crowded: &mut BTreeMap<u32, Crowded>,
) -> Result<Option<Generated>, GenerateError> {
    let stages = task.stages();
    let mut caps = task.asked.clone();
    for _ in 0..=LIMITS_PER_II {
        let built = task.build(&caps, quantum);
        let Some((mut schedule, arms)) = attempt(task, &built.problem, ii, stages)? else { return Ok(None) };
        if !task.pinned() {
            schedule = shortened(task, &built, schedule, stages, true);
        }
        verify(&built.problem, &schedule).map_err(GenerateError::Refused)?;
        let mut analysis = publish(task, &built, &schedule, &caps);
        analysis.arms = arms;
        analysis.stage_limit = stages;
        let over = match layout(task, &analysis) {
            Ok(layout) => {
                return Ok(Some(Generated { analysis, layout, plans: task.plans.to_vec(), tile_loop: None }));
            }
            Err(over) => over,
        };
        crowded.insert(ii, Crowded::of(&over, analysis.ii));
        match limits::give_up(task.program, task.plans, &caps, &over, analysis.ii) {
            Some(tighter) => caps = tighter,
            None => return Ok(None),
        }
    }
    Ok(None)
}

/// Probes of rows in cycles.
fn in_cycles(probes: &[(u32, bool)], quantum: u32) -> Vec<(u32, bool)> {
    probes.iter().map(|&(rows, worked)| (rows.saturating_mul(quantum), worked)).collect()
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

/// Bounds of a loop, with what binds in words: in cycles, whatever a row of the table stands for, and without the limits
/// on slots that nobody asked for.
fn mii(program: &Program, plans: &[Plan], asked: &Caps) -> (Mii, String) {
    let problem = problem::build(program, plans, asked, 1).problem;
    let own = bounds(&problem);
    let free = if asked.is_empty() {
        own.clone()
    } else {
        bounds(&problem::build(program, plans, &Caps::new(), 1).problem)
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

fn serial_analysis(task: &Task<'_>, caps: &Caps, because: &'static str) -> Result<Analysis, GenerateError> {
    let built = task.build(caps, 1);
    built.problem.check()?;
    let schedule = serial::generate(task.program, &built.problem, 1).ok_or(GenerateError::None)?;
    verify(&built.problem, &schedule).map_err(GenerateError::Refused)?;
    let mut found = publish(task, &built, &schedule, caps);
    found.generator = Generator::Serial;
    found.serial_because = Some(because);
    found.unkept = task.pinned();
    Ok(found)
}

/// The analysis of a schedule in rows of the problem. Nothing is known of smaller II yet.
fn publish(task: &Task<'_>, built: &Built, schedule: &Schedule, caps: &Caps) -> Analysis {
    let q = built.quantum;
    let in_cycles = Schedule {
        ii: schedule.ii.saturating_mul(q),
        times: schedule.times.iter().map(|t| t * i64::from(q)).collect(),
    };
    let places = places(task.program, &in_cycles);
    Analysis {
        ii: in_cycles.ii,
        stages: places.iter().map(|p| p.stage + 1).max().unwrap_or(1),
        places,
        generator: Generator::Arms,
        serial_because: None,
        trivial: false,
        arms: Vec::new(),
        mii: task.mii,
        bound: task.bound.to_owned(),
        evidence: Evidence::Monotone,
        proven: false,
        probes: Vec::new(),
        // Counted by `generate`, once this is the schedule.
        cost: cost::Cost::INFEASIBLE,
        caps: caps.clone(),
        asked: task.asked.clone(),
        stage_limit: None,
        unkept: false,
        crowded: None,
        constraint_iterations: 0,
        quantum: q,
    }
}

/// Cycles that one row stands for, so that a table of this II is not too large.
fn quantum(options: &Options, ii: u64) -> u32 {
    match u64::from(options.rrt_size_threshold) {
        0 => 1,
        rows => u32::try_from(ii.div_ceil(rows)).unwrap_or(u32::MAX).max(1),
    }
}

/// One schedule under the given limits on slots.
fn schedule(task: &Task<'_>, caps: &Caps) -> Result<Analysis, GenerateError> {
    if let Some(because) = serial_reason(task.program, task.options) {
        return serial_analysis(task, caps, because);
    }
    let found = schedule_within(task, caps, task.stages())?;
    let most = most_stages(task.program.ops.len());
    // So many iterations under way that the prologue is longer than any program: fewer, at a larger II.
    let found = if found.stages > most { schedule_within(task, caps, Some(most))? } else { found };
    if found.quantum == 1 || task.pinned() {
        return Ok(found);
    }
    // Coarse steps of time can cost more than overlap gains. Where cycles are too many for a table, there is nothing to compare.
    match serial_analysis(task, caps, "time in coarser steps overlaps nothing") {
        Ok(serial) if serial.ii <= found.ii => Ok(serial),
        _ => Ok(found),
    }
}

/// One schedule of at most so many stages.
fn schedule_within(task: &Task<'_>, caps: &Caps, stages: Option<u32>) -> Result<Analysis, GenerateError> {
    let (program, options) = (task.program, task.options);
    let mut built = task.build(caps, 1);
    built.problem.check()?;
    let quantum = quantum(options, bounds(&built.problem).mii());
    if quantum > 1 {
        built = task.build(caps, quantum);
        built.problem.check()?;
    }
    let problem = &built.problem;
    let staged = stages.map(|s| within_stages(problem, s));
    // What generators that know nothing of stages are asked for, and what the search starts from.
    let asked = staged.as_ref().unwrap_or(problem);
    let least = u32::try_from(bounds(asked).mii().max(1)).map_err(|_| GenerateError::None)?;
    let serial = serial::generate(program, problem, built.quantum).ok_or(GenerateError::None)?;
    let most = serial.ii.max(least);
    let pinned = task.pinned();
    let rescue = options.rescue && !pinned;
    let first = attempt(task, problem, least, stages)?;
    // The bound is what is reached nearly always, if not by the arms: a search for what they can do would be in vain.
    let at_bound = match first {
        None if rescue => by_iteration(asked, least)?,
        _ => None,
    };
    let mut failure = None;
    let search = match &at_bound {
        Some(_) => {
            Search { found: None, evidence: Evidence::Exhaustive, gap: false, probes: vec![(least, false)] }
        }
        None => {
            let mut first = Some(first);
            first_feasible(least..=most, Gallop::Step, Confirm::Bracket, |ii| {
                if failure.is_some() {
                    return None;
                }
                match first.take() {
                    Some(found) => found,
                    None => attempt(task, problem, ii, stages).unwrap_or_else(|error| {
                        failure = Some(error);
                        None
                    }),
                }
            })
        }
    };
    if let Some(error) = failure {
        return Err(error);
    }
    let arms_ii = search.found.as_ref().map(|f| f.0);
    let mut evidence = search.evidence;
    let mut by = Generator::Arms;
    let mut found: Option<(Schedule, Vec<Arm>)> = search.found.map(|f| f.1);
    let mut proven = false;
    if rescue && arms_ii.is_none_or(|ii| ii > least) {
        let below = arms_ii.map_or(most, |ii| ii - 1);
        let other = if at_bound.is_some() { at_bound } else { by_iteration(asked, below)? };
        if let Some(other) = other {
            evidence = other.evidence;
            proven = other.is_optimal();
            by = Generator::Iterative;
            found = Some((from_first(other.schedule, program.ops.len()), Vec::new()));
        }
        if let Some(ii) = found.as_ref().map(|f| f.0.ii).filter(|_| !proven) {
            let exact = decide_below(asked, least, ii)?;
            proven = exact.proven;
            if let Some(schedule) = exact.schedule {
                by = Generator::Exact;
                evidence = Evidence::Monotone;
                found = Some((from_first(schedule, program.ops.len()), Vec::new()));
            }
        }
    }
    let Some((mut schedule, arms)) = found else {
        if pinned {
            return Err(GenerateError::Prescribed { most: most.saturating_mul(built.quantum) });
        }
        let mut serial = serial_analysis(task, caps, "no generator found a schedule that overlaps")?;
        serial.trivial = true;
        serial.probes = in_cycles(&search.probes, built.quantum);
        return Ok(serial);
    };
    if !pinned {
        schedule = shortened(task, &built, schedule, stages, false);
    }
    verify(problem, &schedule).map_err(GenerateError::Refused)?;
    let mut analysis = publish(task, &built, &schedule, caps);
    analysis.generator = by;
    analysis.arms = arms;
    analysis.stage_limit = stages;
    analysis.probes = in_cycles(&search.probes, built.quantum);
    analysis.evidence = match evidence {
        Evidence::From(rows) => Evidence::From(rows.saturating_mul(built.quantum)),
        // Every number of rows is not every number of cycles.
        Evidence::Exhaustive if built.quantum > 1 => Evidence::From(least.saturating_mul(built.quantum)),
        other => other,
    };
    // What is proven of rows is not proven of cycles where a row is several.
    analysis.proven = proven && built.quantum == 1;
    Ok(analysis)
}

/// Operations up to which the iterative scheduler may work as much as the table says, and how many times as many nodes it gets.
const SEARCHED_OPS: usize = 64;
const SEARCHED_NODES: u32 = 10;

/// What the iterative scheduler finds up to an II.
fn by_iteration(problem: &Problem, max_ii: u32) -> Result<Option<iterative::Found>, GenerateError> {
    let mut ask = iterative::Options { max_ii: Some(max_ii), ..iterative::Options::default() };
    // Of small loops people wait for the best there is; of large ones for any.
    if problem.ops().len() <= SEARCHED_OPS {
        ask.work = Some(threshold("search_work").into());
        ask.nodes = ask.nodes.saturating_mul(SEARCHED_NODES);
    }
    match iterative::schedule(problem, &ask) {
        Ok(found) => Ok(Some(found)),
        Err(IterativeError::Refused(violation)) => Err(GenerateError::Refused(violation)),
        // Whatever is too large for it is not for the arms.
        Err(_) => Ok(None),
    }
}

/// The schedule with shorter lifetimes, or itself where that would take more stages than there may be: what waits only for
/// other iterations can move away from all others.
fn shortened(
    task: &Task<'_>,
    built: &Built,
    schedule: Schedule,
    stages: Option<u32>,
    squeeze: bool,
) -> Schedule {
    let mut shorter = schedule.clone();
    if squeeze {
        compact::squeeze(task.program, &built.problem, &mut shorter);
    }
    compact::compact(task.program, &built.problem, &mut shorter, |_| false);
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
pub(crate) fn within_stages(problem: &Problem, stages: u32) -> Problem {
    let mut staged = problem.clone();
    let start = staged.add_op("the first stage", Vec::new());
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

/// Operations up to which smaller II are decided by exact search. Its work is nodes times operations times words of 64 rows.
const DECIDED_OPS: usize = 64;

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
    // Half for the least, which is what everybody wants to know; as much for each of the others, so that a hard one does not
    // keep them from being looked at.
    let nodes = u64::from(threshold("decide_work")) / unit;
    let mut all = true;
    for at in least..ii {
        let nodes = if at == least { nodes / 2 } else { nodes / 2 / u64::from(ii - least) };
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

/// One attempt of the arms at so many rows: with as many candidates as they may choose among, and one by one. Of two schedules
/// the one whose values need fewer bytes, once lifetimes are as short as whole turns make them; the first among equals.
fn attempt(
    task: &Task<'_>,
    problem: &Problem,
    ii: u32,
    stages: Option<u32>,
) -> Result<Placed, GenerateError> {
    let distances = match Distances::new(problem, ii) {
        Ok(distances) => distances,
        Err(ClosureError::PositiveCircuit(_)) => return Ok(None),
        Err(error) => return Err(GenerateError::Closure(error)),
    };
    let table = Table::new(problem, ii).map_err(GenerateError::Table)?;
    let mut state = State::new(task.program, problem, task.groups, &distances, table, stages);
    let mut best: Placed = None;
    let mut least = u128::MAX;
    for candidates in [task.options.candidates, 1] {
        state.clear();
        let Ok(found) = driver::place(&mut state, candidates, task.options) else { continue };
        let mut shorter = found.0.clone();
        if !task.pinned() {
            compact::compact(task.program, problem, &mut shorter, |_| false);
        }
        let bytes = compact::bytes(task.program, &shorter);
        if bytes < least {
            (best, least) = (Some(found), bytes);
        }
        if task.options.candidates <= 1 {
            break;
        }
    }
    Ok(best)
}
