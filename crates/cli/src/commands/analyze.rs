//! `sassafras analyze`: where the cycles of scheduled code go.

use crate::failure::{of_library, say};
use crate::input::{Input, SelectionArguments, Text, say_several};
use crate::output;
use crate::progress::Bar;
use anyhow::{Result, bail};
use clap::ValueEnum;
use sassafras::AnalyzeOptions;
use sassafras::analyze::{Traced, Versions, analyze_library, analyze_text, compare_versions};
use sassafras::reschedule::LaunchHint;
use sassafras_analyze::Kernel;
use sassafras_analyze::compare::Comparison;
use sassafras_report::text::{Parts, View};
use sassafras_report::{page, side_by_side, text, trace};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Say where the cycles go: bottleneck, latencies, what each loop waits for
///
/// Runs code as it stands, control fields included, on the model that schedules it. Cycles are those of the model; loops are taken
/// to go round ten times.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A cubin, fatbinary or host file, or text IR with control fields; `-` is standard input
    input: PathBuf,
    /// Another version of it: both are shown side by side
    other: Option<PathBuf>,
    #[command(flatten)]
    selection: SelectionArguments,
    /// Only this loop, by the offset or the number of the block that it starts with; may be given several times
    #[arg(long = "loop", value_name = "OFFSET", value_parser = offset)]
    loops: Vec<u64>,
    /// Only this block, by its number; may be given several times
    #[arg(long = "block", value_name = "NUMBER")]
    blocks: Vec<u32>,
    /// What is shown [default: summary, guidance, lost, hiding, scoreboards, critical for up to eight kernels, a line each for
    /// more]
    #[arg(long, value_name = "VIEW", value_delimiter = ',')]
    view: Vec<ViewArgument>,
    /// How the kernels are launched, as for `schedule`
    #[arg(long, value_name = "block=N,blocks-per-sm=N,smem=N")]
    launch: Option<LaunchHint>,
    /// Write what all warps of the hottest loop do, or of those of `--loop`, as a trace for Perfetto or chrome://tracing
    #[arg(long, value_name = "FILE", conflicts_with = "other")]
    trace: Option<PathBuf>,
    /// Write a page with pictures and explanations of all kernels, for a browser
    #[arg(long, value_name = "FILE", conflicts_with = "other")]
    report: Option<PathBuf>,
    /// Print JSON: everything, whatever is shown
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  sassafras analyze k.cubin
  sassafras analyze k.cubin --kernel saxpy --view all
  sassafras analyze k.cubin --view timeline,critical --loop 0x4b0
  sassafras analyze k.cubin --launch block=256,smem=49152
  sassafras analyze libkernels.so --arch sm_90
  sassafras analyze ptxas.cubin ours.cubin
  sassafras analyze k.cubin --report k.html
  sassafras analyze k.cubin --kernel saxpy --trace saxpy.json
  sassafras analyze k.cubin --json";

/// More kernels get a line each.
const MANY: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ViewArgument {
    /// The kernel in a few numbers, and its warps
    Summary,
    /// Latencies, the bottleneck, utilisation of units, loops
    Guidance,
    /// What the cycles of each loop go to
    Lost,
    /// Latency hiding
    Hiding,
    /// Scoreboard pressure
    Scoreboards,
    /// Statistics of blocks, ratios of loop classes
    Blocks,
    /// Every instruction: class, unit, latency, stall, what it waits for
    Instructions,
    /// Which units each loop keeps busy
    Resources,
    /// A loop in its steady state, as a picture
    Timeline,
    /// What an iteration waits for
    Critical,
    /// All of these
    All,
}

impl ViewArgument {
    fn views(self) -> Vec<View> {
        match self {
            ViewArgument::Summary => vec![View::Summary],
            ViewArgument::Guidance => vec![View::Guidance],
            ViewArgument::Lost => vec![View::Lost],
            ViewArgument::Hiding => vec![View::Hiding],
            ViewArgument::Scoreboards => vec![View::Scoreboards],
            ViewArgument::Blocks => vec![View::Blocks],
            ViewArgument::Instructions => vec![View::Instructions],
            ViewArgument::Resources => vec![View::Resources],
            ViewArgument::Timeline => vec![View::Timeline],
            ViewArgument::Critical => vec![View::Critical],
            ViewArgument::All => View::ALL.to_vec(),
        }
    }
}

fn offset(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("`{text}` is neither a number nor 0x and hexadecimal digits"))
}

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    input: &'a str,
    kernels: &'a [Kernel],
}

#[derive(Serialize)]
struct ComparisonReport<'a> {
    schema: u32,
    before: &'a str,
    after: &'a str,
    kernels: &'a [Comparison],
    /// Kernels that only one of the two has.
    alone: &'a [String],
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    let (name, kernels) = kernels(arguments, &arguments.input)?;
    match &arguments.other {
        Some(other) => two(arguments, &name, &kernels, other),
        None => one(arguments, &name, &kernels),
    }
}

fn one(arguments: &Arguments, name: &str, kernels: &[Kernel]) -> Result<()> {
    check(arguments, name, kernels)?;
    if written(arguments, name, kernels)? && !arguments.json && arguments.view.is_empty() {
        return Ok(());
    }
    if arguments.json {
        return output::print_json(&Report { schema: 1, input: name, kernels });
    }
    let mut views: Vec<View> = arguments.view.iter().flat_map(|view| view.views()).collect();
    if views.is_empty() && kernels.len() > MANY {
        output::print(&text::list(kernels))?;
        return output::print("\n--kernel NAME shows one of them, --view all everything\n");
    }
    if views.is_empty() {
        views = View::USUAL.to_vec();
    }
    let parts = Parts { views, loops: arguments.loops.clone(), blocks: arguments.blocks.clone() };
    let mut out = output::Stream::new();
    for kernel in kernels {
        out.write(&text::kernel(kernel, &parts))?;
    }
    out.end()
}

/// Writes the files that are asked for. Returns whether there are any: then nothing is printed beside them unless somebody wants it.
fn written(arguments: &Arguments, name: &str, kernels: &[Kernel]) -> Result<bool> {
    if let Some(path) = &arguments.trace {
        if !kernels.iter().flat_map(|kernel| &kernel.loops).any(|found| found.trace.is_some()) {
            bail!("{name}: there is no loop to trace");
        }
        output::write_file(path, trace::json(name, kernels).as_bytes())?;
    }
    if let Some(path) = &arguments.report {
        output::write_file(path, page::html(name, kernels).as_bytes())?;
    }
    Ok(arguments.trace.is_some() || arguments.report.is_some())
}

/// A loop or block that is asked for has to be in one of the kernels.
fn check(arguments: &Arguments, name: &str, kernels: &[Kernel]) -> Result<()> {
    for &wanted in &arguments.loops {
        if !kernels.iter().flat_map(|kernel| &kernel.loops).any(|found| found.is_at(wanted)) {
            bail!("{name}: no loop starts at {wanted:#x}, or with block {wanted}");
        }
    }
    for &wanted in &arguments.blocks {
        if !kernels.iter().flat_map(|kernel| &kernel.blocks).any(|block| block.block == wanted) {
            bail!("{name}: there is no block {wanted}");
        }
    }
    Ok(())
}

fn two(arguments: &Arguments, name: &str, before: &[Kernel], other: &Path) -> Result<()> {
    let (other_name, after) = kernels(arguments, other)?;
    let Versions { both: pairs, only_before, only_after } = compare_versions(before, &after);
    let only = |kernels: &[&Kernel], file: &str| -> Vec<String> {
        kernels.iter().map(|kernel| format!("{} ({}) is only in {file}", kernel.name, kernel.arch)).collect()
    };
    let alone = [only(&only_before, name), only(&only_after, &other_name)].concat();
    if pairs.is_empty() {
        bail!("{name} and {other_name} have no kernel in common");
    }
    if arguments.json {
        let report =
            ComparisonReport { schema: 1, before: name, after: &other_name, kernels: &pairs, alone: &alone };
        return output::print_json(&report);
    }
    let mut out = output::Stream::new();
    for pair in &pairs {
        out.write(&side_by_side::comparison(pair, side_by_side::USUAL_ROWS))?;
    }
    for line in &alone {
        out.write(&format!("{line}\n"))?;
    }
    out.end()
}

fn kernels(arguments: &Arguments, path: &Path) -> Result<(String, Vec<Kernel>)> {
    let options = AnalyzeOptions {
        selection: arguments.selection.get(),
        launch: arguments.launch.unwrap_or_default(),
        traced: match &arguments.trace {
            Some(_) if arguments.loops.is_empty() => Traced::Hottest,
            Some(_) => Traced::These(arguments.loops.clone()),
            None => Traced::No,
        },
    };
    let input = match Input::read(path)? {
        Input::Binary(input) => input,
        Input::Text(input) if input.is_machine_code() => return of_text(&options, &input),
        Input::Text(input) => bail!("{}: this text has no control fields to look at", input.name),
        Input::Ptx(input) => bail!("{}: PTX is not machine code; compile it with ptxas first", input.name),
    };
    let found = analyze_library(&input.library()?, &options, &Bar::new(&input.name));
    let found = found.map_err(|error| of_library(&input.name, error))?;
    say_several(&input.name, &found.several);
    for place in &found.left_out {
        say(&format!("warning: {}: not looked at: {place}", input.name));
    }
    if found.kernels.is_empty() {
        bail!("{}: no code that can be looked at", input.name);
    }
    Ok((input.name, found.kernels))
}

/// The kernels of a text that is machine code.
fn of_text(options: &AnalyzeOptions, input: &Text) -> Result<(String, Vec<Kernel>)> {
    input.check(&options.selection)?;
    let found = analyze_text(&input.functions, options).map_err(|error| of_library(&input.name, error))?;
    Ok((input.name.clone(), found.kernels))
}
