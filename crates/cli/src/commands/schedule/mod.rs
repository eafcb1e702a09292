//! `sassafras schedule`

mod explain;
mod ptx;

use super::LatencyArgument;
use crate::failure::{Failure, of_library};
use crate::input::{Binary, Input, SelectionArguments, Text, is_selected};
use crate::job::JobArguments;
use crate::knobs::{unknown_latency, warn_rescheduling};
use crate::output;
use crate::progress::Bar;
use crate::strategy;
use anyhow::{Result, bail};
use clap::ValueEnum;
use rayon::prelude::*;
use sassafras::reschedule::{
    Bisection, Change, Counted, Outcome, Rescheduled, reschedule_text, reschedule_with,
};
use sassafras_analyze::compare::Comparison;
use sassafras_cubin::ContainerKind;
use sassafras_ir::text::print_annotated;
use sassafras_knobs::KnobSet;
use sassafras_list::Direction;
use sassafras_list::registry::{self, Entry, Input as Takes};
use sassafras_passes::{Figures, FunctionReport, Options, Pass, Watch, schedule_function};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

/// Reschedule code and say what it brought
///
/// Reads PTX, the text IR, or cubins and what holds them; without a file, the built-in sample. Every new order is checked by
/// independent checkers before anything is written. A block of text IR that gets no faster by the model stays as it was;
/// a kernel that something is in the way of stays byte for byte, with the reason.
///
/// For PTX, the instructions of each block get another order and everything else of the text stays. `auto` takes the best by
/// estimate of seven list schedulers and the order that came; it never calls ptxas.
///
/// Text IR with control fields is machine code, and scheduled as that of a binary is. For binaries, every control field of a kernel whose order changes is computed anew: stalls, yield, scoreboards, waits and
/// reuse. `original` writes the code back as it is, or with `--control rebuild` in its order with fields of our own; `shuffle`
/// gives a random legal order, for tests. In a library or executable where new code does not fit, since it compresses less well,
/// fatbinaries get a new place behind the last segment: the file grows.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// What to schedule; `-` is standard input [default: a built-in sample]
    input: Option<PathBuf>,
    /// Write the result here; `-` is standard output, which then gets nothing else
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    job: JobArguments,
    /// From which end the schedule grows, for `critical-path`; the others have ends of their own [default: top-down]
    #[arg(long, value_enum)]
    direction: Option<DirectionArgument>,
    /// Which latency table counts, for list strategies: the others have a model of the machine [default: measured]
    #[arg(long, value_enum)]
    latency: Option<LatencyArgument>,
    #[command(flatten)]
    selection: SelectionArguments,
    /// Bisection: only this block of each kernel gets another order; may be given several times
    #[arg(long = "only-block", value_name = "NUMBER")]
    only_blocks: Vec<u32>,
    /// Bisection: only so many blocks, counted through the file, get another order
    #[arg(long, value_name = "N")]
    cutoff: Option<u64>,
    /// Write the orders that blocks of binaries have now as text; `--strategy given` makes the same of them again if registers
    /// were kept
    #[arg(long, value_name = "FILE")]
    orders_out: Option<PathBuf>,
    /// Registers that a thread of PTX or the text IR may use [default: what the directives of PTX say, or 255]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=255))]
    registers: Option<u32>,
    /// Print kernels after this pass, those of binaries with the addresses of the original; `sassafras passes` lists them
    #[arg(long, value_name = "PASS")]
    print_after: Option<String>,
    /// Print kernels after this pass, run no other, and write nothing
    #[arg(long, value_name = "PASS")]
    stop_after: Option<String>,
    /// Print every pick with its reason
    #[arg(long)]
    trace: bool,
    /// For binaries: what each kernel that changed waited for before and waits for now, loop by loop, as `analyze` sees it
    /// [default: for the built-in sample]
    #[arg(long)]
    explain: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// So many lines about blocks that stay as they came.
const LEFT_SHOWN: usize = 20;

const EXAMPLES: &str = "\
Examples:
  sassafras schedule
  sassafras schedule k.cubin --explain
  sassafras schedule k.sir -o fast.sir
  sassafras schedule k.sir --strategy shuffle --seed 7 -o -
  sassafras schedule k.sir --trace --kernel saxpy
  sassafras schedule k.cubin --kernel saxpy --print-after propose
  sassafras schedule k.ptx -o better.ptx
  sassafras schedule k.ptx --strategy list-burr --registers 64 -o small.ptx
  sassafras schedule k.ptx --strategy list-ilp --trace --kernel saxpy
  sassafras schedule k.cubin -o fast.cubin
  sassafras schedule k.cubin --strategy converge -o converged.cubin
  sassafras schedule k.cubin --strategy original --control rebuild -o rebuilt.cubin
  sassafras schedule k.cubin --launch block=256,smem=49152 -o fast.cubin
  sassafras schedule k.cubin --knob tepid-aggressiveness=2 -o faster.cubin
  sassafras schedule k.cubin --cutoff 8 -o half.cubin
  sassafras schedule k.cubin --strategy reuse --orders-out k.orders
  sassafras schedule k.cubin --strategy given --orders k.orders -o mine.cubin
  sassafras schedule libkernels.so --strategy shuffle --seed 7 --arch sm_90 -o shuffled.so";

#[derive(Clone, Copy, ValueEnum)]
enum DirectionArgument {
    /// From the first instruction on
    TopDown,
    /// From the last instruction back
    BottomUp,
}

/// The JSON form. Bump `schema` when a field changes its meaning or goes away.
#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    input: &'a str,
    strategy: &'static str,
    latency: sassafras_passes::LatencySource,
    functions: &'a [FunctionReport],
}

/// The JSON form for binaries.
#[derive(Serialize)]
struct BinaryReport<'a> {
    schema: u32,
    input: &'a str,
    strategy: &'static str,
    /// Bytes of the file.
    size: Change,
    /// Objects that a link has used up, left as they came.
    used_up: usize,
    /// Whether nothing was searched, for the size of the file.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unsearched: bool,
    kernels: &'a [Outcome],
    /// With `--explain`, kernels that changed as `analyze` sees them, before and after.
    #[serde(skip_serializing_if = "Option::is_none")]
    explained: Option<&'a [Comparison]>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    if to_stdout(arguments) && (arguments.json || arguments.trace) {
        bail!("`-o -` and a report cannot both go to standard output; write the result to a file");
    }
    if arguments.orders_out.as_deref().is_some_and(|path| path.as_os_str() == "-") {
        bail!("`--orders-out -` and a report cannot both go to standard output; write the orders to a file");
    }
    if watches(arguments) && (to_stdout(arguments) || arguments.json) {
        bail!("`--json` or `-o -` and listings after a pass cannot both go to standard output");
    }
    let knobs = arguments.job.knobs.read()?;
    let input = match &arguments.input {
        Some(path) => Input::read(path)?,
        None => Input::Binary(Binary::sample()),
    };
    let default = match &input {
        Input::Ptx(_) => const { registry::get("auto") },
        _ => const { registry::get("critical-path") },
    };
    let options = Options {
        latency: arguments.latency.unwrap_or(LatencyArgument::Measured).into(),
        direction: match arguments.direction {
            Some(DirectionArgument::BottomUp) => Direction::BottomUp,
            Some(DirectionArgument::TopDown) | None => Direction::TopDown,
        },
        trace: arguments.trace,
        watch: watch(arguments, &input)?,
        ..arguments.job.list_options(unknown_latency(&knobs)?, &knobs, default)
    };
    let (name, kind, strategy) = match &input {
        Input::Text(input) if input.is_machine_code() => {
            (&*input.name, "binary", arguments.job.for_binaries().name)
        }
        Input::Text(input) => (&*input.name, "text", options.strategy.name),
        Input::Ptx(input) => (&*input.name, "ptx", options.strategy.name),
        Input::Binary(input) => (&*input.name, "binary", arguments.job.for_binaries().name),
    };
    arguments.refuse_unread(name, kind, strategy)?;
    warn_rescheduling(&knobs, kind, strategy);
    match input {
        Input::Text(input) if input.is_machine_code() => machine_text(arguments, &options, &input, knobs),
        Input::Text(input) => text(arguments, &options, input),
        Input::Ptx(input) => ptx::run(arguments, &options, knobs, input),
        Input::Binary(input) => binary(arguments, &options, &input, knobs),
    }
}

impl Arguments {
    /// Refuses options that a strategy does not look at.
    fn refuse_unread(&self, name: &str, kind: &str, strategy: &str) -> Result<()> {
        self.job.refuse_unread(name, strategy)?;
        if self.direction.is_some() && strategy != "critical-path" {
            bail!(
                "{name}: `--direction` is for `--strategy critical-path`; `{strategy}` has an end of its own"
            );
        }
        // Of binaries only strategies that take PTX, too, look at edges of the dependence graph.
        let looks = |entry: &Entry| entry.takes(Takes::Ptx) && !entry.keeps() && entry.name != "shuffle";
        let asks_no_table = kind == "binary" && !registry::find(strategy).is_some_and(looks);
        if self.latency.is_some() && asks_no_table {
            bail!(
                "{name}: `--latency` is for list strategies (critical-path, converge, ilpmax and others); for binaries `{strategy}` asks no such table"
            );
        }
        Ok(())
    }
}

fn watches(arguments: &Arguments) -> bool {
    arguments.print_after.is_some() || arguments.stop_after.is_some()
}

/// The passes that the user wants to watch, of those that the input goes through.
fn watch(arguments: &Arguments, input: &Input) -> Result<Watch> {
    let (name, takes) = match input {
        Input::Text(input) if input.is_machine_code() => (input.name.as_str(), Takes::Binary),
        Input::Text(input) => (input.name.as_str(), Takes::Text),
        Input::Ptx(input) => (input.name.as_str(), Takes::Ptx),
        Input::Binary(input) => (input.name.as_str(), Takes::Binary),
    };
    let find = |wanted: &Option<String>| {
        let Some(wanted) = wanted else { return Ok(None) };
        if let Some(pass) = Pass::of(takes).find(|pass| pass.name() == wanted) {
            return Ok(Some(pass));
        }
        let names: Vec<&str> = Pass::of(takes).map(Pass::name).collect();
        bail!("{name}: no pass `{wanted}` for {}; the passes are {}", takes.name(), names.join(", "))
    };
    let watch =
        Watch { print_after: find(&arguments.print_after)?, stop_after: find(&arguments.stop_after)? };
    let written = arguments.output.is_some() || arguments.orders_out.is_some() || arguments.explain;
    if watch.stop_after.is_some() && written {
        bail!("{name}: `--stop-after` writes nothing: `-o`, `--orders-out` and `--explain` need all passes");
    }
    Ok(watch)
}

/// Prints what was seen after passes. Returns whether that is all there is to say.
fn print_watched(arguments: &Arguments, dumps: &str) -> Result<bool> {
    output::print(dumps)?;
    if let (true, Some(pass)) =
        (dumps.is_empty(), arguments.stop_after.as_ref().or(arguments.print_after.as_ref()))
    {
        output::print(&format!("no kernel came to `{pass}`\n"))?;
    }
    let Some(pass) = &arguments.stop_after else { return Ok(false) };
    output::print(&format!("stopped after `{pass}`: nothing is written\n"))?;
    Ok(true)
}

fn to_stdout(arguments: &Arguments) -> bool {
    arguments.output.as_deref().is_some_and(|path| path.as_os_str() == "-")
}

fn text(arguments: &Arguments, options: &Options, mut input: Text) -> Result<()> {
    refuse_binary_options(arguments, &input.name, Takes::Text)?;
    let selection = &arguments.selection.get();
    input.check(selection)?;
    let mut options = *options;
    options.terms.budget = arguments.registers.map_or(options.terms.budget, i64::from);
    let options = &options;
    // All results first: of several errors the one reported is the first in the file, not the first in time.
    let results: Vec<_> = (input.functions.par_iter_mut())
        .map(|text| &mut text.function)
        .filter(|f| is_selected(f, selection))
        .map(|f| schedule_function(f, options))
        .collect();
    let reports = (results.into_iter().collect::<Result<Vec<_>, _>>())
        .map_err(|error| Failure::Wrong(format!("{}: {error}", input.name)))?;
    let mut dumps: String = reports.iter().map(|report| report.dumps.as_str()).collect();
    for f in (input.functions.iter().map(|text| &text.function))
        .filter(|f| reports.iter().any(|report| report.name == f.name))
    {
        dumps += &options.watch.dump_ir(Pass::Print, f);
    }
    if print_watched(arguments, &dumps)? {
        return Ok(());
    }
    if let Some(path) = &arguments.output {
        let texts = input.functions.iter().map(|text| print_annotated(&text.function, &text.annotations));
        output::write_file(path, texts.collect::<Vec<_>>().join("\n").as_bytes())?;
    }
    if to_stdout(arguments) {
        return Ok(());
    }
    if arguments.json {
        let report = Report {
            schema: 1,
            input: &input.name,
            strategy: options.strategy.name,
            latency: options.latency,
            functions: &reports,
        };
        return output::print_json(&report);
    }
    output::print(&summary(&input.name, options, &reports)?)
}

/// Options that mean nothing where there is no machine code.
fn refuse_binary_options(arguments: &Arguments, name: &str, takes: Takes) -> Result<()> {
    let job = &arguments.job;
    if let Some(strategy) = job.strategy {
        strategy::check(name, strategy, takes)?;
    }
    let given = [
        ("--orders-out", arguments.orders_out.is_some()),
        ("--only-block", !arguments.only_blocks.is_empty()),
        ("--cutoff", arguments.cutoff.is_some()),
        ("--control", job.control.is_some()),
        ("--launch", job.launch.is_some()),
        ("--orders", job.orders.is_some()),
        ("--keep-capsules", job.keep_capsules),
        ("--keep-registers", job.keep_registers),
        ("--move-unproven", job.move_unproven),
        ("--effort", job.effort.is_some()),
        ("--explain", arguments.explain),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => bail!("{name}: `{option}` is for binaries"),
        None => Ok(()),
    }
}

/// Text with control fields: scheduled as binaries are.
fn machine_text(arguments: &Arguments, list: &Options, input: &Text, knobs: KnobSet) -> Result<()> {
    refuse_list_options(arguments, &input.name)?;
    let job = &arguments.job;
    for (option, given) in [("--explain", arguments.explain), ("--keep-capsules", job.keep_capsules)] {
        if given {
            bail!("{}: `{option}` is for binaries", input.name);
        }
    }
    let bisection = Bisection::new(arguments.only_blocks.clone(), arguments.cutoff);
    let mut options = job.options(&input.name, &arguments.selection, list, knobs, bisection)?;
    options.keep_orders |= arguments.orders_out.is_some();
    options.watch = list.watch;
    input.check(&options.selection)?;
    let work = || reschedule_text(&input.functions, &options);
    let done =
        job.install(arguments.cutoff.map(|_| 1), work)?.map_err(|error| of_library(&input.name, error))?;
    let bytes: usize = (input.functions.iter())
        .map(|text| print_annotated(&text.function, &text.annotations).len() + 1)
        .sum();
    if print_watched(arguments, &dumps(arguments, &done))? {
        return Ok(());
    }
    write(arguments, &options, &input.name, &done)?;
    if to_stdout(arguments) {
        return Ok(());
    }
    report(arguments, &input.name, bytes.saturating_sub(1) as u64, &done, None)
}

/// Options that mean nothing for machine code.
fn refuse_list_options(arguments: &Arguments, name: &str) -> Result<()> {
    for (option, given) in [("--trace", arguments.trace), ("--registers", arguments.registers.is_some())] {
        if given {
            bail!("{name}: `{option}` is for PTX and the text IR without control fields");
        }
    }
    Ok(())
}

/// What was seen of kernels after passes; where nothing is written, why some were not seen.
fn dumps(arguments: &Arguments, done: &Rescheduled) -> String {
    let mut dumps: String = done.outcomes.iter().map(|outcome| outcome.dumps.as_str()).collect();
    if arguments.stop_after.is_some() {
        let kept = done.outcomes.iter().filter_map(|outcome| Some((&outcome.name, outcome.kept.as_ref()?)));
        dumps.extend(kept.map(|(name, why)| format!("{name}: kept: {why}\n")));
    }
    dumps
}

/// Writes the files that are asked for.
fn write(arguments: &Arguments, options: &sassafras::Options, name: &str, done: &Rescheduled) -> Result<()> {
    if options.strategy.is_given() {
        options.orders.check(&done.outcomes).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
    }
    if let Some(path) = &arguments.output {
        output::write_file_like(path, &done.bytes, arguments.input.as_deref())?;
    }
    if let Some(path) = &arguments.orders_out {
        let text: String = done.outcomes.iter().map(|outcome| outcome.orders.as_str()).collect();
        output::write_file(path, text.as_bytes())?;
    }
    Ok(())
}

/// Says what became of kernels, of a file that had so many bytes.
fn report(
    arguments: &Arguments,
    name: &str,
    before: u64,
    done: &Rescheduled,
    explained: Option<&[Comparison]>,
) -> Result<()> {
    let strategy = arguments.job.for_binaries();
    if arguments.json {
        return output::print_json(&BinaryReport {
            schema: 1,
            input: name,
            strategy: strategy.name,
            size: Change { before, after: done.bytes.len() as u64 },
            used_up: done.used_up,
            unsearched: done.unsearched,
            kernels: &done.outcomes,
            explained,
        });
    }
    output::print(&outcomes(name, strategy.name, done)?)?;
    output::print(&explain::text(explained.unwrap_or_default()))
}

fn binary(arguments: &Arguments, list: &Options, input: &Binary, knobs: KnobSet) -> Result<()> {
    refuse_list_options(arguments, &input.name)?;
    let bisection = Bisection::new(arguments.only_blocks.clone(), arguments.cutoff);
    let job = &arguments.job;
    let mut options = job.options(&input.name, &arguments.selection, list, knobs, bisection)?;
    options.keep_orders |= arguments.orders_out.is_some();
    options.watch = list.watch;
    // A name that is not there is an error before any work is done.
    if !options.selection.takes_all() {
        input.visit(&input.library()?, &options.selection, |_| Ok(()))?;
    }
    // Who counts blocks counts them in one order.
    let most = arguments.cutoff.map(|_| 1);
    let bytes = input.bytes()?;
    let work = || reschedule_with(bytes, &options, &Bar::new(&input.name));
    let done = job.install(most, work)?.map_err(|error| of_library(&input.name, error))?;
    if print_watched(arguments, &dumps(arguments, &done))? {
        return Ok(());
    }
    write(arguments, &options, &input.name, &done)?;
    if to_stdout(arguments) {
        return Ok(());
    }
    let explained = match arguments.explain || arguments.input.is_none() && !arguments.json {
        true => Some(explain::changed(&input.name, bytes, &done, options.launch)?),
        false => None,
    };
    report(arguments, &input.name, bytes.len() as u64, &done, explained.as_deref())?;
    if arguments.json {
        return Ok(());
    }
    if done.unsearched {
        output::print(
            "nothing was searched: the file stands for more code than files do; give its images decompressed\n",
        )?;
    }
    if done.used_up > 0 {
        let count = done.used_up;
        output::print(&format!(
            "{count} relocatable objects are left as they came: what runs is the code that they were linked into\n"
        ))?;
    }
    if input.library()?.kind() == ContainerKind::Host && done.bytes.len() > bytes.len() {
        let more = done.bytes.len() - bytes.len();
        output::print(&format!("fatbinaries have a new place behind the last segment: {more} bytes more\n"))?;
    }
    Ok(())
}

fn outcomes(name: &str, strategy: &str, done: &Rescheduled) -> Result<String> {
    let outcomes = &done.outcomes[..];
    let bold = anstyle::Style::new().bold();
    let mut out = String::new();
    writeln!(out, "{bold}{name}{bold:#}, strategy {strategy}\n")?;
    let heading = ["kernel", "arch", "insts", "moved", "cycles", "stalls", "scoreboards", ""];
    let mut table = output::table(&heading, &[2, 3, 4, 5, 6]);
    let shown = |figure: Change| change(figure.before, figure.after);
    for outcome in outcomes {
        table.add_row([
            outcome.name.clone(),
            outcome.arch.clone(),
            outcome.instructions.to_string(),
            outcome.moved.to_string(),
            outcome.cycles.map_or(String::new(), timed),
            shown(outcome.stalls),
            shown(outcome.scoreboards),
            note(outcome),
        ]);
    }
    out.push_str(&output::render(&table));
    if outcomes.iter().any(|outcome| outcome.cycles.is_some()) {
        out.push_str(LEGEND);
    }
    out.push_str(&left(outcomes));
    let kept = outcomes.iter().filter(|outcome| outcome.kept.is_some()).count();
    // As `verify --against` counts them.
    let Counted { moved, renamed } = done.counted;
    let others = match renamed {
        0 => String::new(),
        renamed => format!(", {renamed} with other registers"),
    };
    let still = match outcomes.iter().map(|outcome| outcome.unproven).sum::<u64>() {
        0 => String::new(),
        unproven => format!("; {unproven} unproven, of a form that never ran rescheduled on a device"),
    };
    let instructions: u64 = outcomes.iter().map(|outcome| outcome.instructions).sum();
    writeln!(
        out,
        "\n{} kernels, {kept} kept with a reason; {moved} of {instructions} instructions moved{others}{still}; {}",
        outcomes.len(),
        verified(outcomes)
    )?;
    Ok(out)
}

/// What the checkers looked at: kernels that changed. The others are as they came, with whatever is wrong in them.
fn verified(outcomes: &[Outcome]) -> String {
    let changed = outcomes.iter().filter(|outcome| !outcome.units.is_empty()).count();
    match (changed, outcomes.len() - changed) {
        (0, _) => "nothing changed, and nothing was checked".to_owned(),
        (_, 0) => format!("{changed} verified"),
        (_, 1) => format!("{changed} verified, 1 as it came and not checked"),
        (_, same) => format!("{changed} verified, {same} as they came and not checked"),
    }
}

/// What the figures of the table are.
const LEGEND: &str = "
cycles: estimate per warp of the code as it is written, every loop taken to go round ten times
";

/// Cycles before and after, with what that brings.
fn timed(cycles: Change) -> String {
    let Change { before, after } = cycles;
    if before == after {
        return before.to_string();
    }
    let percent = 100.0 * (after as f64 - before as f64) / before.max(1) as f64;
    format!("{before} → {after} ({percent:+.1} %)")
}

/// Lines for blocks and routines that stay as they came in kernels that change. That an order is not faster is no fault of the code.
fn left(outcomes: &[Outcome]) -> String {
    let changed = outcomes.iter().filter(|outcome| outcome.kept.is_none());
    let all = changed.flat_map(|outcome| outcome.left.iter().map(|left| (&outcome.name, left)));
    let all = all.filter(|(_, left)| !left.why.is_slower());
    let lines = all.clone().take(LEFT_SHOWN).map(|(name, left)| {
        let what = if left.block.is_some() { "block" } else { "routine" };
        format!("{name}, {what} at {:#x}: kept: {}\n", left.offset, left.why)
    });
    let mut out: String = lines.collect();
    match all.count().saturating_sub(LEFT_SHOWN) {
        0 => {}
        more => out += &format!("and {more} more: `--json` has all\n"),
    }
    if out.is_empty() { out } else { format!("\n{out}") }
}

/// What made the new orders, or why there are none.
fn note(outcome: &Outcome) -> String {
    match &outcome.kept {
        Some(why) => format!("kept: {why}"),
        None if !outcome.by.is_empty() => outcome.by.join(", "),
        None if !outcome.units.is_empty() => "control fields alone".to_owned(),
        None if outcome.cycles.is_some() => "unchanged: no better order".to_owned(),
        None => String::new(),
    }
}

fn summary(name: &str, options: &Options, reports: &[FunctionReport]) -> Result<String> {
    let bold = anstyle::Style::new().bold();
    let mut out = String::new();
    writeln!(out, "{bold}{name}{bold:#}, strategy {}\n", options.strategy.name)?;
    let classes: BTreeSet<&str> = reports
        .iter()
        .flat_map(|r| &r.blocks)
        .flat_map(|b| b.before.peak_registers.keys().chain(b.after.peak_registers.keys()))
        .copied()
        .collect();
    let mut heading = vec!["block", "insts", "cycles", "stalls", "critical path"];
    let peaks: Vec<String> = classes.iter().map(|c| format!("peak {c}")).collect();
    heading.extend(peaks.iter().map(String::as_str));
    heading.push("");
    let numbers: Vec<usize> = (1..heading.len() - 1).collect();
    for report in reports {
        writeln!(out, "{bold}{}{bold:#} ({})", report.name, report.arch)?;
        let mut table = output::table(&heading, &numbers);
        for block in &report.blocks {
            let mut row = vec![
                block.name.clone(),
                block.instructions.to_string(),
                change(block.before.cycles, block.after.cycles),
                change(block.before.stalls, block.after.stalls),
                block.critical_path.to_string(),
            ];
            row.extend(classes.iter().map(|class| peak_change(&block.before, &block.after, class)));
            row.push(block.kept.map_or(String::new(), |why| format!("kept: {why}")));
            table.add_row(row);
        }
        let (before, after) = report.totals();
        if report.blocks.len() > 1 {
            let mut row = vec!["all".to_owned(), String::new()];
            row.extend([
                change(before.cycles, after.cycles),
                change(before.stalls, after.stalls),
                String::new(),
            ]);
            row.extend(classes.iter().map(|class| peak_change(&before, &after, class)));
            table.add_row(row);
        }
        out.push_str(&output::render(&table));
        writeln!(out)?;
        for block in report.blocks.iter().filter(|b| !b.picks.is_empty()) {
            out.push_str(&trace(block)?);
        }
    }
    let (before, after) = reports
        .iter()
        .map(FunctionReport::totals)
        .fold((0, 0), |sum, (before, after)| (sum.0 + before.cycles, sum.1 + after.cycles));
    if after < before {
        let percent = 100.0 * (before - after) as f64 / before as f64;
        writeln!(
            out,
            "{before} → {after} cycles by the model: {percent:.1} % less, every block counted once"
        )?;
    } else {
        writeln!(out, "{before} → {after} cycles by the model, every block counted once")?;
    }
    Ok(out)
}

fn change(before: u64, after: u64) -> String {
    if before == after { before.to_string() } else { format!("{before} → {after}") }
}

fn peak_change(before: &Figures, after: &Figures, class: &str) -> String {
    let peak = |figures: &Figures| u64::from(figures.peak_registers.get(class).copied().unwrap_or(0));
    change(peak(before), peak(after))
}

fn trace(block: &sassafras_passes::BlockReport) -> Result<String> {
    let mut table = output::table(&["cycle", "was", "instruction", "because of"], &[0, 1]);
    for pick in &block.picks {
        table.add_row(vec![
            pick.cycle.to_string(),
            pick.from.to_string(),
            pick.instruction.clone(),
            pick.reason.to_owned(),
        ]);
    }
    Ok(format!("picks in `{}`\n{}\n", block.name, output::render(&table)))
}
