//! List scheduling of every block of a function.
//!
//! Goal: fewer cycles by the model, and never a wrong order. Each block gets a dependence graph and resource records, the
//! chosen strategy orders it, one clock times the old and the new order, and the independent checker of
//! `sassafras-verify` has the last word: an order that it does not accept is an error, never a result. A new order that
//! is not faster by the model is dropped where the longest path went first; the seven strategies and a shuffle are taken at their
//! word, and `auto` chooses among them.
//!
//! Cost: near-linear in the size of the block.

use crate::auto;
use crate::block::{Prepared, Shared};
use crate::dialect::Dialect;
use crate::pipeline::{Pass, Watch};
use crate::resources::UnitTable;
use rayon::prelude::*;
use sassafras_deps::models::{Latencies, LatencySource};
use sassafras_ir::cfg::Cfg;
use sassafras_ir::liveness::{self, Liveness};
use sassafras_ir::text::print_inst;
use sassafras_ir::{Block, Function, Inst, Module, RegClass, pressure};
use sassafras_list::registry::{self, Contest, Entry, Input, Taken};
use sassafras_list::strategies::Terms;
use sassafras_list::{Direction, Schedule, Timing, time};
use sassafras_machine::{Arch, ArchError};
use sassafras_verify::reorder::{self, Illegal};
use serde::Serialize;
use std::collections::BTreeMap;
use thiserror::Error;

/// How to schedule.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The strategy.
    pub strategy: &'static Entry,
    /// The seed of a random order.
    pub seed: u64,
    /// The latency table.
    pub latency: LatencySource,
    /// What a result costs that no latency table speaks of; `None` takes the table's own number.
    pub unknown_latency: Option<u16>,
    /// From which end, where a strategy can grow from either.
    pub direction: Direction,
    /// What opcodes are of.
    pub dialect: Dialect,
    /// Switches of the strategies.
    pub terms: Terms,
    /// Cycles that asynchronous tensor copies take; none when they are like anything else.
    pub async_tensor: Option<u16>,
    /// Whether accesses to matrix fragments are put together by bank.
    pub group_wmma: bool,
    /// Whether the critical path goes around the loop.
    pub cyclic_critical_path: bool,
    /// Keep every pick with its reason.
    pub trace: bool,
    /// Passes after which functions are printed or left.
    pub watch: Watch,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            strategy: const { registry::get("critical-path") },
            seed: 0,
            latency: LatencySource::Measured,
            unknown_latency: None,
            direction: Direction::TopDown,
            dialect: Dialect::Sass,
            terms: Terms::default(),
            async_tensor: None,
            group_wmma: false,
            cyclic_critical_path: false,
            trace: false,
            watch: Watch::default(),
        }
    }
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
    /// The strategy is not for this code.
    #[error("function `{function}`: strategy `{strategy}` does not take this code")]
    Unsuited {
        /// The function.
        function: String,
        /// The strategy.
        strategy: &'static str,
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
    /// Who made its order.
    pub by: &'static str,
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
    /// What it looked like after the pass that was watched.
    #[serde(skip)]
    pub dumps: String,
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

/// Orders every block of a function and returns what the engine did; nothing is changed, checked or compared.
///
/// # Errors
/// When the architecture is not known, the function is too large, or the strategy does not order blocks of this code by itself.
pub fn order_blocks(f: &Function, options: &Options) -> Result<Vec<Schedule>, ScheduleError> {
    suited(f, options)?;
    let arch = arch_of(f)?;
    let model = latencies(f, arch, options);
    let units = UnitTable::new(f, arch, options.latency, options.dialect);
    let (cfg, liveness) = flow(f)?;
    let shared = Shared { f, cfg: &cfg, liveness: &liveness, model: &model, units: &units };
    let one = |block| {
        let prepared = Prepared::new(&shared, block, options);
        order(f, &prepared, options.strategy, options)
    };
    f.blocks().map(one).collect()
}

fn suited(f: &Function, options: &Options) -> Result<(), ScheduleError> {
    match options.strategy.takes(Input::Text) {
        true => Ok(()),
        false => Err(unsuited(f, options.strategy)),
    }
}

fn unsuited(f: &Function, strategy: &Entry) -> ScheduleError {
    ScheduleError::Unsuited { function: f.name.clone(), strategy: strategy.name }
}

fn latencies(f: &Function, arch: Arch, options: &Options) -> Latencies {
    let unknown = options.unknown_latency;
    Latencies::new(options.latency, f, arch, unknown, |opcode| options.dialect.machine_name(opcode))
}

fn arch_of(f: &Function) -> Result<Arch, ScheduleError> {
    Arch::parse_or_universal(&f.arch)
        .map_err(|source| ScheduleError::Arch { function: f.name.clone(), source })
}

fn flow(f: &Function) -> Result<(Cfg, Liveness), ScheduleError> {
    let cfg = Cfg::new(f);
    let liveness = Liveness::new(f, &cfg)
        .map_err(|source| ScheduleError::TooLarge { function: f.name.clone(), source })?;
    Ok((cfg, liveness))
}

/// Schedules one function.
pub fn schedule_function(f: &mut Function, options: &Options) -> Result<FunctionReport, ScheduleError> {
    let mut blocks = Vec::with_capacity(f.block_count());
    schedule_blocks(f, options, |report| blocks.push(report))?;
    let dumps = options.watch.dump_ir(Pass::Schedule, f);
    Ok(FunctionReport { name: f.name.clone(), arch: f.arch.clone(), blocks, dumps })
}

/// As [`schedule_function`], without a word about it: what is told of a block takes more than the block.
pub fn reorder_function(f: &mut Function, options: &Options) -> Result<(), ScheduleError> {
    schedule_blocks(f, options, drop)
}

/// Schedules the blocks of a function and tells what happened to each. Where an error is found, nothing has changed.
///
/// One block at a time is prepared, but where the orders of all of them are compared: a graph takes many times what its block does.
fn schedule_blocks(
    f: &mut Function,
    options: &Options,
    mut tell: impl FnMut(BlockReport),
) -> Result<(), ScheduleError> {
    suited(f, options)?;
    let arch = arch_of(f)?;
    let model = latencies(f, arch, options);
    let units = UnitTable::new(f, arch, options.latency, options.dialect);
    let (cfg, liveness) = flow(f)?;
    let shared = Shared { f: &*f, cfg: &cfg, liveness: &liveness, model: &model, units: &units };
    let mut taken: Vec<(Block, Vec<Inst>)> = Vec::with_capacity(f.block_count());
    let mut take = |block: &Prepared, orders, number| {
        let (report, order) = settle(shared.f, block, orders, number, options);
        taken.push((block.block, order));
        tell(report);
    };
    if options.strategy.is_contest() {
        let prepared: Vec<Prepared> =
            f.blocks().map(|block| Prepared::new(&shared, block, options)).collect();
        let made = prepared.iter().map(|block| make(f, &liveness, block, options));
        let made = made.collect::<Result<Vec<_>, _>>()?;
        let numbers = auto::choose(arch, &made, options);
        for ((block, orders), number) in prepared.iter().zip(made).zip(numbers) {
            take(block, orders, number);
        }
    } else {
        for block in f.blocks() {
            let block = Prepared::new(&shared, block, options);
            let orders = make(f, &liveness, &block, options)?;
            let last = orders.len() - 1;
            take(&block, orders, last);
        }
    }
    for (block, order) in taken {
        f.reorder(block, &order);
    }
    Ok(())
}

/// An order of a block, with what it costs.
pub(crate) struct Made {
    pub strategy: &'static Entry,
    pub schedule: Schedule,
    pub insts: Vec<Inst>,
    pub figures: Figures,
}

/// The order that a strategy gives a block.
fn order(
    f: &Function,
    block: &Prepared,
    strategy: &Entry,
    options: &Options,
) -> Result<Schedule, ScheduleError> {
    strategy.order(&block.problem(options)).ok_or_else(|| unsuited(f, strategy))
}

/// The orders of a block: first as it came, then what was asked for.
fn make(
    f: &Function,
    liveness: &Liveness,
    block: &Prepared,
    options: &Options,
) -> Result<Vec<Made>, ScheduleError> {
    let original = const { registry::get("original") };
    let strategies: Vec<&Entry> = match options.strategy {
        strategy if strategy.is_contest() => {
            [original].into_iter().chain(registry::contestants(Contest::Auto)).collect()
        }
        strategy if strategy.keeps() => vec![original],
        strategy => vec![original, strategy],
    };
    let mut all = Vec::with_capacity(strategies.len());
    for strategy in strategies {
        let schedule = order(f, block, strategy, options)?;
        let insts: Vec<Inst> = schedule.order.iter().map(|n| block.insts[n.index()]).collect();
        reorder::check(f, &block.insts, &insts).map_err(|source| ScheduleError::Rejected {
            function: f.name.clone(),
            block: f.block_name(block.block).to_owned(),
            source,
        })?;
        let figures = figures(f, liveness, block, &schedule.order, &insts);
        all.push(Made { strategy, schedule, insts, figures });
    }
    Ok(all)
}

/// The report of a block and its order.
fn settle(
    f: &Function,
    block: &Prepared,
    mut orders: Vec<Made>,
    taken: usize,
    options: &Options,
) -> (BlockReport, Vec<Inst>) {
    let before = orders[0].figures.clone();
    let new = orders.swap_remove(taken);
    let kept = match options.strategy.taken {
        Taken::Never => Some("asked to keep the order"),
        Taken::IfFaster if options.strategy.is_contest() => {
            new.strategy.keeps().then_some("no order found that is better by the estimate")
        }
        Taken::IfFaster => {
            (new.figures.cycles >= before.cycles).then_some("no order found that is faster by the model")
        }
        Taken::Always => None,
    };
    let mut reasons = BTreeMap::new();
    for (reason, count) in &new.schedule.statistics.reasons {
        *reasons.entry(reason.name()).or_default() += count;
    }
    let picks = match options.trace {
        true => {
            picks(f, &block.insts, &new.schedule, &time(block.timed(), &block.resources, &new.schedule.order))
        }
        false => Vec::new(),
    };
    let report = BlockReport {
        name: f.block_name(block.block).to_owned(),
        instructions: block.insts.len(),
        critical_path: block.paths.critical_length(),
        after: if kept.is_some() { before.clone() } else { new.figures },
        before,
        kept,
        by: new.strategy.name,
        reasons,
        picks,
    };
    (report, if kept.is_some() { block.insts.clone() } else { new.insts })
}

fn figures(
    f: &Function,
    liveness: &Liveness,
    block: &Prepared,
    order: &[sassafras_deps::Node],
    insts: &[Inst],
) -> Figures {
    let timing = time(block.timed(), &block.resources, order);
    let peak = pressure::block_peak(f, liveness, block.block, insts);
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
