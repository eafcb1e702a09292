//! `sassafras schedule` on PTX.

use super::{Arguments, change, peak_change, refuse_binary_options, to_stdout, trace};
use crate::failure::Failure;
use crate::input::Ptx;
use crate::output;
use anyhow::Result;
use sassafras_knobs::{KnobSet, keys};
use sassafras_passes::ptx::schedule_ptx;
use sassafras_passes::{Choice, FunctionReport, LatencySource, Options};
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

pub(super) fn run(arguments: &Arguments, options: &Options, knobs: &KnobSet, mut input: Ptx) -> Result<()> {
    refuse_binary_options(arguments, &input.name)?;
    input.check(&arguments.selection)?;
    let strategy = match knobs.get(keys::BEFORE_ALLOCATION) {
        Some(false) => Choice::Original,
        _ => options.strategy,
    };
    let options = Options { strategy, ..*options };
    let target = input.module.target().unwrap_or_default().to_owned();
    let selection = &arguments.selection;
    let wanted = |name: &str| selection.takes_name(name) && selection.takes_arch(&target);
    let work = || schedule_ptx(&mut input.module, &options, arguments.registers, wanted);
    let reports = arguments.job.install(None, work)?;
    let reports = reports.map_err(|error| Failure::Wrong(format!("{}: {error}", input.name)))?;
    if let Some(path) = &arguments.output {
        output::write_file(path, input.module.print().as_bytes())?;
    }
    if to_stdout(arguments) {
        return Ok(());
    }
    let moved = input.module.moved();
    if arguments.json {
        return output::print_json(&Report {
            schema: 1,
            input: &input.name,
            strategy: options.strategy.name(),
            latency: options.latency,
            moved,
            functions: &reports,
        });
    }
    let critical = knobs.get(keys::PRINT_CRITICAL) == Some(true);
    output::print(&summary(&input.name, &options, &reports, critical)?)
}

fn summary(name: &str, options: &Options, reports: &[FunctionReport], critical: bool) -> Result<String> {
    let bold = anstyle::Style::new().bold();
    let mut out = String::new();
    writeln!(out, "{bold}{name}{bold:#}, strategy {}\n", options.strategy.name())?;
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
