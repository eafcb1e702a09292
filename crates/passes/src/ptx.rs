//! Goal: the blocks of a PTX module in another order, with everything else as it came.
//!
//! Every function is lowered, its blocks are ordered by [`schedule_function`], and the text is moved. Products and sums that ptxas would fuse
//! keep their order among themselves, so that results stay the same bit for bit ([`sassafras_ptx::contraction`]). The checker of
//! `sassafras-verify` has the last word on the whole module.
//!
//! Cost: that of list scheduling; functions in parallel, with the same result whatever the number of threads.

use crate::budget;
use crate::commute;
use crate::dialect::Dialect;
use crate::list_schedule::{FunctionReport, Options, ScheduleError, schedule_function};
use crate::pipeline::Pass;
use rayon::prelude::*;
use sassafras_list::Contest;
use sassafras_list::strategies::Terms;
use sassafras_ptx::syntax::Function;
use sassafras_ptx::{BlockId, InstId, LowerError, Module, lower};
use thiserror::Error;

/// Why a module could not be scheduled.
#[derive(Debug, Error)]
pub enum PtxError {
    /// A function is too large for the IR.
    #[error(transparent)]
    Lower(#[from] LowerError),
    /// A function could not be scheduled.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// The checker of modules does not accept what would be written: a defect of the scheduler. Nothing is changed.
    #[error("the scheduled module was rejected: {0}")]
    Rejected(Box<sassafras_verify::ptx::Illegal>),
}

/// What is to change in a function: orders of blocks, and instructions whose operands change places.
#[derive(Default)]
struct Edits {
    orders: Vec<(BlockId, Vec<InstId>)>,
    commuted: Vec<InstId>,
}

/// Schedules the functions whose name `wanted` accepts. Each thread has `registers`, or what the directives of a function leave it.
///
/// Reports come in the order of the module, and of several errors the first in the
/// module counts. Nothing is changed when there is one.
///
/// # Errors
/// When a function is too large or an order is not accepted by the checker.
pub fn schedule_ptx(
    module: &mut Module,
    options: &Options,
    registers: Option<u32>,
    wanted: impl Fn(&str) -> bool + Sync,
) -> Result<Vec<FunctionReport>, PtxError> {
    let functions: Vec<&Function> = module
        .functions()
        .iter()
        .filter(|function| function.has_body() && wanted(module.text(function.name())))
        .collect();
    let one = |function: &&Function| schedule_one(module, function, options, registers);
    let results: Vec<Result<(FunctionReport, Edits), PtxError>> = functions.par_iter().map(one).collect();
    let results: Vec<(FunctionReport, Edits)> = results.into_iter().collect::<Result<_, _>>()?;
    let watch = options.watch;
    let mut reports = Vec::with_capacity(results.len());
    if watch.stops(Pass::Lower) || watch.stops(Pass::Schedule) {
        reports.extend(results.into_iter().map(|(report, _)| report));
        return Ok(reports);
    }
    let mut new = module.clone();
    for (report, edits) in results {
        for (block, order) in edits.orders {
            // An order that the module refuses is one that lost an instruction, which the checker would have said.
            if new.order(block) != order && new.reorder(block, &order).is_err() {
                unreachable!("checked orders are permutations");
            }
        }
        for inst in edits.commuted {
            if new.commute(inst).is_err() {
                unreachable!("found to commute");
            }
        }
        reports.push(report);
    }
    let dump = |pass: Pass, reports: &mut [FunctionReport]| {
        if let (true, Some(first)) = (watch.prints(pass), reports.first_mut()) {
            first.dumps += &watch.dump(pass, "the module", || new.print());
        }
    };
    dump(Pass::Commute, &mut reports);
    if watch.stops(Pass::Commute) {
        return Ok(reports);
    }
    sassafras_verify::ptx::check(module, &new).map_err(|illegal| PtxError::Rejected(Box::new(illegal)))?;
    dump(Pass::Verify, &mut reports);
    dump(Pass::Print, &mut reports);
    if watch.stop_after.is_none() {
        *module = new;
    }
    Ok(reports)
}

fn schedule_one(
    module: &Module,
    function: &Function,
    options: &Options,
    registers: Option<u32>,
) -> Result<(FunctionReport, Edits), PtxError> {
    let mut lowered = lower(module, function)?;
    let budget = registers.unwrap_or_else(|| budget::registers(module, function));
    let terms = Terms { budget: i64::from(budget), ..options.terms };
    let options = Options { dialect: Dialect::Ptx, terms, ..*options };
    let dumps = options.watch.dump_ir(Pass::Lower, &lowered.function);
    if options.watch.stops(Pass::Lower) {
        let (name, arch) = (lowered.function.name, lowered.function.arch);
        return Ok((FunctionReport { name, arch, blocks: Vec::new(), dumps }, Edits::default()));
    }
    let mut report = schedule_function(&mut lowered.function, &options)?;
    report.dumps.insert_str(0, &dumps);
    if options.watch.stops(Pass::Schedule) {
        return Ok((report, Edits::default()));
    }
    // Who asks for the order that came, or for a random one, wants nothing else changed.
    let commuted = match options.strategy.takes_part(Contest::Commute) {
        true => commute::recurrences(module, &lowered, options.terms.chain_limit),
        false => Vec::new(),
    };
    let orders = function.blocks().zip(lowered.function.blocks()).map(|(block, of)| {
        let insts = lowered.function.block_insts(of);
        (block, insts.iter().filter_map(|&inst| lowered.inst(inst)).collect())
    });
    Ok((report, Edits { orders: orders.collect(), commuted }))
}
