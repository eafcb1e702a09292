//! `sassafras verify`

mod ptx;

use crate::binary::{self, Lifted, Site};
use crate::failure::{Failure, say};
use crate::input::{Binary, Input, Selection, Text, kind_name};
use crate::listing::Listing;
use crate::output;
use anyhow::{Context, Result, bail};
use sassafras_cubin::{ImageKind, Library};
use sassafras_ir::Function;
use sassafras_machine::state::StateTable;
use sassafras_sass::program::Routine;
use sassafras_verify::against::{self, Comparison};
use sassafras_verify::hazards::{self, Finding, HazardKind, Paths, Rules};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

/// Check scheduled code: hazards, and that it is a legal reordering
///
/// Follows every path through every function of a cubin (fatbinary, host file, archive) and reports each pair of
/// instructions that neither a stall nor a scoreboard keeps apart. With `--against`, also compares the file with the one
/// it was made from: same instructions, apart from the registers that they use, an order that computes the same, and
/// everything that names an instruction following it. PTX is compared with the PTX that it was made from; it has no control
/// fields, so there are no hazards in it.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// What to check; `-` is standard input
    input: PathBuf,
    /// The file that it was made from
    #[arg(long, value_name = "ORIGINAL")]
    against: Option<PathBuf>,
    #[command(flatten)]
    selection: Selection,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  sassafras verify k.cubin
  sassafras verify libkernels.so --arch sm_90 --json
  sassafras verify fast.cubin --against k.cubin
  sassafras verify fast.ptx --against k.ptx

Exit status: 0 clean; 1 a hazard or an illegal reordering; 2 unreadable, or nothing in it was checked.";

/// Findings of one section that are shown in words: nobody reads more, and the rest is counted.
const MOST_SHOWN: usize = 100;

/// The JSON form. Bump `schema` when a field changes its meaning or goes away.
#[derive(Serialize)]
struct Report {
    schema: u32,
    kernels: Vec<Kernel>,
    /// Code sections that were not checked, by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    unchecked: BTreeMap<String, usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reordering: Option<Reordering>,
}

/// A code section: a kernel and the functions placed with it.
#[derive(Serialize, Default)]
struct Kernel {
    name: String,
    arch: String,
    instructions: u64,
    opaque: u64,
    /// Pairs of instructions that were looked at.
    pairs: u64,
    /// Those of them whose needed distance no table knows.
    unknown: u64,
    hazards: Vec<Hazard>,
    /// Whether the host can launch it; else a function by itself.
    #[serde(skip)]
    entry: bool,
    /// The findings for people.
    #[serde(skip)]
    text: String,
    /// Why it was not checked.
    #[serde(skip)]
    skipped: Option<String>,
}

#[derive(Serialize)]
struct Hazard {
    /// Of the consumer, in its section.
    offset: u64,
    kind: &'static str,
    register: Option<String>,
    /// The consumer, as the listing has it.
    instruction: String,
    /// Offset of the producer.
    producer: u64,
    producer_instruction: String,
    needed: Needed,
    given: u16,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Needed {
    Cycles(u16),
    Scoreboard(&'static str),
}

#[derive(Serialize)]
struct Reordering {
    instructions: u64,
    moved: u64,
    /// Those that use other registers.
    renamed: u64,
    /// Those with two operands exchanged; of PTX only.
    #[serde(skip_serializing_if = "Option::is_none")]
    commuted: Option<u64>,
    differences: Vec<Place>,
}

#[derive(Serialize)]
struct Place {
    image: String,
    section: String,
    offset: Option<u64>,
    /// Of PTX: the line in the new file and in the original.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    original_line: Option<usize>,
    change: String,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let original = arguments.against.as_deref().map(Input::read).transpose()?;
    match (Input::read(&arguments.input)?, original) {
        (Input::Text(input), None) => {
            input.check(&arguments.selection)?;
            bail!(
                "{}: the text IR has no control fields, so there are no hazards to look for; with `--against ORIGINAL` \
                 its order is checked",
                input.name
            )
        }
        (Input::Text(input), Some(Input::Text(original))) => text(arguments, &input, &original),
        (Input::Binary(input), None) => binary(arguments, &input, None),
        (Input::Binary(input), Some(Input::Binary(original))) => binary(arguments, &input, Some(&original)),
        (Input::Text(text), Some(Input::Binary(binary)))
        | (Input::Binary(binary), Some(Input::Text(text))) => {
            bail!("{} is text IR and {} is not: they cannot be compared", text.name, binary.name)
        }
        (Input::Ptx(input), Some(Input::Ptx(original))) => ptx::compare(arguments, &input, &original),
        (Input::Ptx(input), _) | (_, Some(Input::Ptx(input))) => {
            bail!("{}: PTX is compared with PTX: `verify new.ptx --against old.ptx`", input.name)
        }
    }
}

fn text(arguments: &Arguments, input: &Text, original: &Text) -> Result<()> {
    if !arguments.selection.kernels.is_empty() || !arguments.selection.archs.is_empty() {
        bail!("`--against` compares whole files; leave `--kernel` and `--arch` out");
    }
    let found = against::modules(&original.module, &input.module);
    if arguments.json {
        let instructions = input.module.functions.iter().map(|f| f.inst_count() as u64).sum();
        let place = |change: String| Place {
            image: String::new(),
            section: String::new(),
            offset: None,
            line: None,
            original_line: None,
            change,
        };
        let differences = found.iter().map(|mismatch| place(mismatch.to_string())).collect();
        let reordering = Some(Reordering { instructions, moved: 0, renamed: 0, commuted: None, differences });
        output::print_json(&Report {
            schema: 1,
            kernels: Vec::new(),
            unchecked: BTreeMap::new(),
            reordering,
        })?;
    } else {
        let mut out = String::new();
        for mismatch in &found {
            writeln!(out, "{mismatch}")?;
        }
        if found.is_empty() {
            writeln!(out, "{} is a legal reordering of {}", input.name, original.name)?;
            writeln!(out, "the text IR has no control fields: hazards were not looked for")?;
        }
        output::print(&out)?;
    }
    verdict(&input.name, 0, found.len())
}

fn binary(arguments: &Arguments, input: &Binary, original: Option<&Binary>) -> Result<()> {
    let selection = &arguments.selection;
    // Two files that are compared are both in memory; else one image after the other is.
    let containers = match original {
        Some(original) => Some((input.container()?, original.container()?, original.name.as_str())),
        None => None,
    };
    let library = input.library()?;
    let kernels =
        input.visit(&library, selection, |site| check(&input.name, site, selection, !arguments.json))?;
    let comparison = match &containers {
        Some((new, old, name)) => {
            let context = || format!("{} against {name}", input.name);
            Some(against::files(old, new).with_context(context)?)
        }
        None => None,
    };
    let (skipped, kernels): (Vec<Kernel>, Vec<Kernel>) =
        kernels.into_iter().partition(|k| k.skipped.is_some());
    let mut unchecked: BTreeMap<String, usize> = BTreeMap::new();
    for kernel in &skipped {
        *unchecked.entry(kernel.skipped.clone().unwrap_or_default()).or_default() += 1;
    }
    for (reason, count) in &unchecked {
        say(&format!("warning: {}: {count} kernels are not checked: {reason}", input.name));
    }
    if kernels.iter().all(|kernel| kernel.instructions == 0) {
        let why = nothing_checked(&library, skipped.len());
        if comparison.is_none() {
            bail!("{}: nothing in it was checked: {why}", input.name);
        }
        say(&format!("warning: {}: no code in it was checked for hazards: {why}", input.name));
    }
    let hazards = kernels.iter().map(|kernel| kernel.hazards.len()).sum();
    let differences = comparison.as_ref().map_or(0, |comparison| comparison.differences.len());
    if arguments.json {
        let reordering = comparison.as_ref().map(reordering);
        output::print_json(&Report { schema: 1, kernels, unchecked, reordering })?;
    } else {
        output::print(&summary(kind_name(library.kind()), input, &kernels, comparison.as_ref())?)?;
    }
    verdict(&input.name, hazards, differences)
}

/// Why there is nothing to say about hazards.
fn nothing_checked(library: &Library<'_>, skipped: usize) -> String {
    let (cubins, images) = (library.cubins().count(), library.images().len());
    let ptx = library.images().iter().filter(|image| image.kind == ImageKind::Ptx).count();
    match (cubins, images) {
        (_, 0) => "it holds no image".to_owned(),
        (0, _) if ptx == 1 => "it holds 1 image of PTX and no cubin".to_owned(),
        (0, _) if ptx > 0 => format!("it holds {ptx} images of PTX and no cubin"),
        (0, _) => "it holds no cubin".to_owned(),
        _ if skipped > 0 => "all code in it is for architectures that are not checked".to_owned(),
        _ => "its cubins hold no code".to_owned(),
    }
}

fn verdict(name: &str, hazards: usize, differences: usize) -> Result<()> {
    let mut wrong = Vec::new();
    if hazards > 0 {
        wrong.push(format!("{hazards} hazard{}", if hazards == 1 { "" } else { "s" }));
    }
    if differences > 0 {
        wrong.push(format!(
            "{differences} difference{} from a legal reordering",
            if differences == 1 { "" } else { "s" }
        ));
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(Failure::Wrong(format!("{name}: {}", wrong.join(", "))).into())
    }
}

fn check(file: &str, site: &Site<'_, '_>, selection: &Selection, in_words: bool) -> Result<Kernel> {
    let mut kernel = Kernel {
        name: site.code.name.to_owned(),
        arch: site.sm.clone(),
        entry: site.code.is_kernel(),
        ..Kernel::default()
    };
    let (arch, routines) = match binary::lift(file, site, selection)? {
        Lifted::Routines(arch, routines) => (arch, routines),
        Lifted::No(reason) => {
            kernel.skipped = Some(reason);
            return Ok(kernel);
        }
    };
    let rules = Rules::of(arch);
    for routine in &routines {
        let f = &routine.lifted.function;
        let report = hazards::check(f, rules);
        kernel.instructions += f.inst_count() as u64;
        kernel.opaque += routine.lifted.opaque as u64;
        kernel.unknown += report.unknown;
        kernel.pairs += report.pairs;
        if report.findings.is_empty() {
            continue;
        }
        let listing = Listing::new(arch, routine);
        if in_words {
            let room = MOST_SHOWN.saturating_sub(kernel.hazards.len());
            let paths = Paths::new(f);
            for finding in report.findings.iter().take(room) {
                describe(&mut kernel.text, &listing, f, &paths, finding)?;
            }
        }
        kernel.hazards.extend(report.findings.iter().map(|finding| hazard(routine, &listing, finding)));
    }
    if in_words && kernel.hazards.len() > MOST_SHOWN {
        writeln!(kernel.text, "  and {} more: `--json` has all", kernel.hazards.len() - MOST_SHOWN)?;
    }
    Ok(kernel)
}

fn hazard(routine: &Routine, listing: &Listing<'_>, finding: &Finding) -> Hazard {
    Hazard {
        offset: routine.offset(finding.consumer),
        kind: finding.kind.name(),
        register: finding.lane.map(|lane| lane.to_string()),
        instruction: listing.text(finding.consumer),
        producer: routine.offset(finding.producer),
        producer_instruction: listing.text(finding.producer),
        needed: finding.needed.map_or(Needed::Scoreboard("scoreboard"), Needed::Cycles),
        given: finding.given,
    }
}

/// What the two instructions of a finding share besides registers.
fn hidden(f: &Function, finding: &Finding) -> String {
    let state = |inst| StateTable::documented().get(f.opcode_text(f.inst(inst).opcode)).unwrap_or_default();
    let names: Vec<&str> = state(finding.producer).shared(state(finding.consumer)).names().collect();
    if names.is_empty() { String::new() } else { format!(" on {}", names.join(", ")) }
}

fn describe(
    out: &mut String,
    listing: &Listing<'_>,
    f: &Function,
    paths: &Paths<'_>,
    finding: &Finding,
) -> Result<()> {
    let bold = anstyle::Style::new().bold();
    let what = match finding.kind {
        HazardKind::Raw => "reads a result that may not be there",
        HazardKind::War => "overwrites a source that may not have been read",
        HazardKind::Waw => "overwrites a result that may not be there",
        HazardKind::WaitTooSoon => "waits for a scoreboard that may not be set yet",
        HazardKind::Stall => "stalls less than its opcode needs, whatever follows",
        HazardKind::Pipe => "goes into a pipe that has not taken up the one before",
        HazardKind::Settle if finding.needed.is_none() => {
            "lets threads that run apart converge or part with this in flight"
        }
        HazardKind::Settle => "gives the warp's turn away before the one before has settled",
        HazardKind::Reuse => "reads a source that was kept at hand, and whose register was written since",
        HazardKind::Acquire => "orders memory, and no longer waits for a read of memory that it waited for",
        HazardKind::Unseen => "stands closer than compiled code was ever seen to leave such a pair",
        HazardKind::Field => "has a control field that means nothing on this machine",
    };
    let lane = match finding.lane {
        Some(lane) => format!(" on {lane}"),
        None if finding.kind == HazardKind::Unseen => hidden(f, finding),
        None => String::new(),
    };
    let needed = match finding.needed {
        Some(1) => "1 cycle".to_owned(),
        Some(cycles) => format!("{cycles} cycles"),
        None => "a scoreboard".to_owned(),
    };
    writeln!(
        out,
        "  {bold}{}{lane}{bold:#}: {what}; needs {needed}, has {}",
        finding.kind.name(),
        finding.given
    )?;
    writeln!(out, "    {}", listing.line(finding.producer))?;
    writeln!(out, "    {}", listing.line(finding.consumer))?;
    let path: Vec<String> = paths.of(finding).into_iter().map(|block| listing.label(block)).collect();
    if path.len() > 1 {
        writeln!(out, "    by {}", path.join(" → "))?;
    }
    Ok(())
}

fn reordering(comparison: &Comparison) -> Reordering {
    let place = |difference: &against::Difference| Place {
        image: difference.image.clone(),
        section: difference.section.clone(),
        offset: difference.offset,
        line: None,
        original_line: None,
        change: difference.change.to_string(),
    };
    Reordering {
        instructions: comparison.instructions,
        moved: comparison.moved,
        renamed: comparison.renamed,
        commuted: None,
        differences: comparison.differences.iter().map(place).collect(),
    }
}

#[derive(Default)]
struct Totals {
    kernels: u64,
    instructions: u64,
    opaque: u64,
    pairs: u64,
    unknown: u64,
    hazards: u64,
}

fn summary(
    kind: &str,
    input: &Binary,
    kernels: &[Kernel],
    comparison: Option<&Comparison>,
) -> Result<String> {
    let bold = anstyle::Style::new().bold();
    let mut out = String::new();
    writeln!(out, "{bold}{}{bold:#}, {kind}\n", input.name)?;
    // Architectures in the order of the file.
    let mut archs: Vec<&str> = Vec::new();
    let mut totals: BTreeMap<&str, Totals> = BTreeMap::new();
    for kernel in kernels {
        if !kernel.hazards.is_empty() {
            writeln!(out, "{bold}{}{bold:#} ({})\n{}", kernel.name, kernel.arch, kernel.text)?;
        }
        if !totals.contains_key(kernel.arch.as_str()) {
            archs.push(&kernel.arch);
        }
        let line = totals.entry(&kernel.arch).or_default();
        line.kernels += u64::from(kernel.entry);
        line.instructions += kernel.instructions;
        line.opaque += kernel.opaque;
        line.pairs += kernel.pairs;
        line.unknown += kernel.unknown;
        line.hazards += kernel.hazards.len() as u64;
    }
    let heading = ["arch", "kernels", "instructions", "opaque", "pairs", "unknown", "hazards"];
    let mut table = output::table(&heading, &[1, 2, 3, 4, 5, 6]);
    for arch in archs {
        let line = &totals[arch];
        let share = 100.0 * line.opaque as f64 / line.instructions.max(1) as f64;
        table.add_row([
            arch.to_owned(),
            line.kernels.to_string(),
            line.instructions.to_string(),
            format!("{share:.2} %"),
            line.pairs.to_string(),
            line.unknown.to_string(),
            line.hazards.to_string(),
        ]);
    }
    out.push_str(&output::render(&table));
    if let Some(comparison) = comparison {
        writeln!(out)?;
        for difference in &comparison.differences {
            writeln!(out, "{difference}")?;
        }
        if comparison.is_legal() {
            let Comparison { moved, renamed, instructions, .. } = comparison;
            write!(out, "a legal reordering: {moved} of {instructions} instructions moved")?;
            match renamed {
                0 => writeln!(out)?,
                _ => writeln!(out, ", {renamed} with other registers")?,
            }
        }
    }
    Ok(out)
}
