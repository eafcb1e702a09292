//! `sassafras schedule` on PTX.

use super::{Arguments, change, peak_change, refuse_binary_options, to_stdout, trace};
use crate::failure::of_library;
use crate::input::{Ptx, say_several};
use crate::output;
use anyhow::Result;
use sassafras::PtxOptions;
use sassafras::ptx::reschedule_module;
use sassafras_knobs::{KnobSet, keys};
use sassafras_list::registry::Input as Takes;
use sassafras_passes::{FunctionReport, LatencySource, Options};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The JSON form. Bump `schema` when a field changes its meaning or goes away.
#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    input: &'a str,
    strategy: &'static str,
    latency: LatencySource,
    moved: usize,
    functions: &'a [FunctionReport],
}

pub(super) fn run(arguments: &Arguments, options: &Options, knobs: KnobSet, input: Ptx) -> Result<()> {
    refuse_binary_options(arguments, &input.name, Takes::Ptx)?;
    let critical = knobs.get(keys::PRINT_CRITICAL) == Some(true);
    let selection = arguments.selection.get();
    let options = PtxOptions { selection, list: *options, registers: arguments.registers, knobs };
    let work = || reschedule_module(*input.module, &options);
    let done = arguments.job.install(None, work)?.map_err(|error| of_library(&input.name, error))?;
    say_several(&input.name, &done.several);
    let dumps: String = done.functions.iter().map(|function| function.dumps.as_str()).collect();
    if super::print_watched(arguments, &dumps)? {
        return Ok(());
    }
    if let Some(path) = &arguments.output {
        output::write_file(path, done.text.as_bytes())?;
    }
    if to_stdout(arguments) {
        return Ok(());
    }
    let strategy = done.strategy.name;
    if arguments.json {
        return output::print_json(&Report {
            schema: 1,
            input: &input.name,
            strategy,
            latency: options.list.latency,
            moved: done.moved,
            functions: &done.functions,
        });
    }
    output::print(&summary(&input.name, strategy, &done.functions, critical)?)
}

fn summary(name: &str, strategy: &str, reports: &[FunctionReport], critical: bool) -> Result<String> {
    let bold = anstyle::Style::new().bold();
    let mut out = String::new();
    writeln!(out, "{bold}{name}{bold:#}, strategy {strategy}\n")?;
    let heading = ["function", "arch", "insts", "blocks", "kept", "cycles", "stalls", "peak R", "orders by"];
    let mut table = output::table(&heading, &[2, 3, 4, 5, 6, 7]);
    for report in reports {
        let (before, after) = report.totals();
        let insts: usize = report.blocks.iter().map(|block| block.instructions).sum();
        let kept = report.blocks.iter().filter(|block| block.kept.is_some()).count();
        table.add_row([
            report.name.clone(),
            report.arch.clone(),
            insts.to_string(),
            report.blocks.len().to_string(),
            kept.to_string(),
            change(before.cycles, after.cycles),
            change(before.stalls, after.stalls),
            peak_change(&before, &after, "R"),
            makers(report),
        ]);
    }
    out.push_str(&output::render(&table));
    writeln!(
        out,
        "\nCycles by the model, every block counted once; peak R: registers of 32 bits live at once."
    )?;
    if critical {
        for report in reports {
            for block in &report.blocks {
                writeln!(
                    out,
                    "{}, block `{}`: critical path {}",
                    report.name, block.name, block.critical_path
                )?;
            }
        }
    }
    for block in reports.iter().flat_map(|report| &report.blocks).filter(|block| !block.picks.is_empty()) {
        out.push_str(&trace(block)?);
    }
    Ok(out)
}

/// Who made the orders of a function, and of how many blocks.
fn makers(report: &FunctionReport) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for block in report.blocks.iter().filter(|block| block.kept.is_none()) {
        *counts.entry(block.by).or_default() += 1;
    }
    let counted = counts.into_iter().map(|(by, count)| format!("{by} {count}"));
    counted.collect::<Vec<_>>().join(", ")
}
