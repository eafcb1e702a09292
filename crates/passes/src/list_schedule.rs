//! List scheduling of every block of a function.
//!
//! Goal: fewer cycles by the model, and never a wrong order. Each block gets a dependence graph and resource records, the
//! chosen strategy orders it, one clock times the old and the new order, and the independent checker of
//! `sassafras-verify` has the last word: an order that it does not accept is an error, never a result. A new order that
//! is not faster by the model is dropped, except a shuffle, whose purpose is another order.
//!
//! Cost: near-linear in the size of the block.

use crate::resources::UnitTable;
use rayon::prelude::*;
use sassafras_deps::models::{Documented, Measured};
use sassafras_deps::paths::Paths;
use sassafras_deps::{BuildOptions, Graph, LatencyModel, build};
use sassafras_ir::cfg::Cfg;
use sassafras_ir::liveness::{self, Liveness};
use sassafras_ir::text::print_inst;
use sassafras_ir::{Block, Function, Inst, Module, RegClass, pressure};
use sassafras_list::strategies::{CriticalPath, Original, Shuffle};
use sassafras_list::{Direction, Resources, Schedule, Strategy, Timing, schedule, time};
use sassafras_machine::{Arch, ArchError};
use sassafras_verify::reorder::{self, Illegal};
use serde::Serialize;
use std::collections::BTreeMap;
use thiserror::Error;

/// Which strategy orders the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Keeps the order.
    Original,
    /// A random legal order.
    Shuffle {
        /// Chooses it.
        seed: u64,
    },
    /// The longest path first.
    CriticalPath,
}

impl Choice {
    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Choice::Original => Original::NAME,
            Choice::Shuffle { .. } => Shuffle::NAME,
            Choice::CriticalPath => CriticalPath::NAME,
        }
    }
}

/// Which of the two latency tables counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LatencySource {
    /// Cycles that hardware needs.
    Measured,
    /// Scheduling costs of the documents.
    Documented,
}

/// How to schedule.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The strategy.
    pub strategy: Choice,
    /// The latency table.
    pub latency: LatencySource,
    /// What a result costs that no latency table speaks of; `None` takes the table's own number.
    pub unknown_latency: Option<u16>,
    /// From which end.
    pub direction: Direction,
    /// Keep every pick with its reason.
    pub trace: bool,
}

/// Why a function could not be scheduled.
#[derive(Debug, Error)]
pub enum ScheduleError {
    /// The function's architecture is not known.
    #[error("function `{function}`: {source}")]
    Arch {
        /// The function.
        function: String,
        /// What is wrong.
        source: ArchError,
    },
    /// The function's live sets would not fit.
    #[error("function `{function}`: {source}")]
    TooLarge {
        /// The function.
        function: String,
        /// How large.
        source: liveness::TooLarge,
    },
    /// The new order was rejected by the checker: a defect of the scheduler. Nothing is written.
    #[error("function `{function}`, block `{block}`: the schedule was rejected: {source}")]
    Rejected {
        /// The function.
        function: String,
        /// The block.
        block: String,
        /// Why.
        source: Illegal,
    },
}

/// The figures of one order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Figures {
    /// From the first start to the cycle after the last, by the model.
    pub cycles: u64,
    /// Cycles in which nothing starts.
    pub stalls: u64,
    /// Most lanes live at once, by register class.
    pub peak_registers: BTreeMap<&'static str, u32>,
}

/// What happened to a block.
#[derive(Clone, Debug, Serialize)]
pub struct BlockReport {
    /// Its name.
    pub name: String,
    /// Its size.
    pub instructions: usize,
    /// The longest path through its dependences.
    pub critical_path: u64,
    /// As it came.
    pub before: Figures,
    /// As it is now.
    pub after: Figures,
    /// Why it was left as it came, if it was.
    pub kept: Option<&'static str>,
    /// Picks by reason.
    pub reasons: BTreeMap<&'static str, u64>,
    /// The picks, when asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub picks: Vec<PickReport>,
}

/// One pick.
#[derive(Clone, Debug, Serialize)]
pub struct PickReport {
    /// The instruction.
    pub instruction: String,
    /// Its place in the original order.
    pub from: u32,
    /// The cycle it starts in.
    pub cycle: u64,
    /// Why.
    pub reason: &'static str,
}

/// What happened to a function.
#[derive(Clone, Debug, Serialize)]
pub struct FunctionReport {
    /// Its name.
    pub name: String,
    /// Its architecture.
    pub arch: String,
    /// Its blocks.
    pub blocks: Vec<BlockReport>,
}

impl FunctionReport {
    /// Cycles summed over blocks, stalls likewise, and the highest peak: `(before, after)`.
    pub fn totals(&self) -> (Figures, Figures) {
        let total = |part: fn(&BlockReport) -> &Figures| {
            self.blocks.iter().fold(Figures::default(), |mut sum, block| {
                let figures = part(block);
                sum.cycles += figures.cycles;
                sum.stalls += figures.stalls;
                for (&class, &peak) in &figures.peak_registers {
                    let entry = sum.peak_registers.entry(class).or_default();
                    *entry = (*entry).max(peak);
                }
                sum
            })
        };
        (total(|b| &b.before), total(|b| &b.after))
    }
}

/// Schedules every function whose name `wanted` accepts, in parallel; the order of the reports is that of the module, and
/// of several errors the first in the module counts.
pub fn schedule_module(
    module: &mut Module,
    options: &Options,
    wanted: impl Fn(&str) -> bool + Sync,
) -> Result<Vec<FunctionReport>, ScheduleError> {
    // All results first: of several errors the one reported is the first in the module, not the first in time.
    let results: Vec<_> = module
        .functions
        .par_iter_mut()
        .filter(|f| wanted(&f.name))
        .map(|f| schedule_function(f, options))
        .collect();
    results.into_iter().collect()
}

/// Schedules one function.
pub fn schedule_function(f: &mut Function, options: &Options) -> Result<FunctionReport, ScheduleError> {
    let arch = Arch::parse_or_universal(&f.arch)
        .map_err(|source| ScheduleError::Arch { function: f.name.clone(), source })?;
    match options.latency {
        LatencySource::Measured => {
            schedule_with(f, arch, options, &Measured::new(f, arch, options.unknown_latency))
        }
        LatencySource::Documented => {
            schedule_with(f, arch, options, &Documented::new(f, arch, options.unknown_latency))
        }
    }
}

fn schedule_with(
    f: &mut Function,
    arch: Arch,
    options: &Options,
    model: &impl LatencyModel,
) -> Result<FunctionReport, ScheduleError> {
    let units = UnitTable::new(f, arch, options.latency);
    let liveness = Liveness::new(f, &Cfg::new(f))
        .map_err(|source| ScheduleError::TooLarge { function: f.name.clone(), source })?;
    let mut blocks = Vec::with_capacity(f.block_count());
    for block in f.blocks() {
        let old = f.block_insts(block).to_vec();
        let graph = build(f, &old, model, BuildOptions::default());
        let paths = Paths::new(&graph);
        let resources = units.resources(f, &old);
        let result = run(&graph, &paths, &resources, options);
        let mut new: Vec<Inst> = result.order.iter().map(|n| old[n.index()]).collect();
        reorder::check(f, &old, &new).map_err(|source| ScheduleError::Rejected {
            function: f.name.clone(),
            block: f.block_name(block).to_owned(),
            source,
        })?;
        let original: Vec<_> = graph.insts().collect();
        let before = figures(f, &liveness, block, &graph, &resources, &original, &old);
        let mut after = figures(f, &liveness, block, &graph, &resources, &result.order, &new);
        let kept = match options.strategy {
            Choice::Original => Some("asked to keep the order"),
            Choice::Shuffle { .. } => None,
            Choice::CriticalPath if after.cycles < before.cycles => None,
            Choice::CriticalPath => Some("no order found that is faster by the model"),
        };
        if kept.is_some() {
            (new, after) = (old.clone(), before.clone());
        }
        let mut reasons = BTreeMap::new();
        for (reason, count) in &result.statistics.reasons {
            *reasons.entry(reason.name()).or_default() += count;
        }
        blocks.push(BlockReport {
            name: f.block_name(block).to_owned(),
            instructions: old.len(),
            critical_path: paths.critical_length(),
            before,
            after,
            kept,
            reasons,
            picks: if options.trace {
                picks(f, &old, &result, &time(&graph, &resources, &result.order))
            } else {
                Vec::new()
            },
        });
        f.reorder(block, &new);
    }
    Ok(FunctionReport { name: f.name.clone(), arch: f.arch.clone(), blocks })
}

fn run(graph: &Graph, paths: &Paths, resources: &Resources, options: &Options) -> Schedule {
    let direction = options.direction;
    match options.strategy {
        Choice::Original => schedule(graph, paths, resources, direction, &mut Original),
        Choice::Shuffle { seed } => schedule(graph, paths, resources, direction, &mut Shuffle { seed }),
        Choice::CriticalPath => schedule(graph, paths, resources, direction, &mut CriticalPath),
    }
}

fn figures(
    f: &Function,
    liveness: &Liveness,
    block: Block,
    graph: &Graph,
    resources: &Resources,
    order: &[sassafras_deps::Node],
    insts: &[Inst],
) -> Figures {
    let timing = time(graph, resources, order);
    let peak = pressure::block_peak(f, liveness, block, insts);
    let peak_registers =
        RegClass::ALL.iter().filter(|&&c| peak[c] > 0).map(|&c| (c.prefix(), peak[c])).collect();
    Figures { cycles: timing.cycles, stalls: timing.stalls, peak_registers }
}

fn picks(f: &Function, old: &[Inst], result: &Schedule, timing: &Timing) -> Vec<PickReport> {
    result
        .picks
        .iter()
        .map(|pick| PickReport {
            instruction: print_inst(f, old[pick.node.index()]),
            from: pick.node.0,
            cycle: timing.start[pick.node.index()],
            reason: pick.reason.name(),
        })
        .collect()
}
