//! `sassafras verify`

mod ptx;

use crate::failure::{Failure, of_library, say};
use crate::input::{Binary, Input, SelectionArguments, Text, kind_name, say_several};
use crate::output;
use crate::progress::Bar;
use anyhow::{Context, Result, bail};
use sassafras::Selection;
use sassafras::verify::{
    Comparison, Difference, Hazard, HazardKind, MOST_PATHS, Needed, Verification, VerifiedKernel,
    verify_library, verify_text,
};
use sassafras_cubin::{ImageKind, Library};
use sassafras_verify::against;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

/// Check scheduled code: hazards, and that it is a legal reordering
///
/// Follows every path through every function of a cubin (fatbinary, host file, archive) and reports each pair of
/// instructions that neither a stall nor a scoreboard keeps apart. With `--against`, also compares the file with the one
/// it was made from: same instructions, apart from the registers that they use, an order that computes the same, and
/// everything that names an instruction following it. Text IR with control fields is checked as its functions would be in a cubin. PTX is compared with the PTX that it was made from; it has no control
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
    selection: SelectionArguments,
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

/// The JSON form. Bump `schema` when a field changes its meaning or goes away.
#[derive(Serialize)]
struct Report {
    schema: u32,
    kernels: Vec<VerifiedKernel>,
    /// Code sections that were not checked, by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    unchecked: BTreeMap<String, usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reordering: Option<Reordering>,
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
        (Input::Text(input), None) => text_alone(arguments, &input),
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
    let found = against::annotated(&original.functions, &input.functions);
    let hazards = match input.is_machine_code() {
        true => Some(hazards_of(input, &Selection::default())?),
        false => None,
    };
    let count = hazards.as_ref().map_or(0, Verification::hazards);
    if arguments.json {
        let instructions = input.functions.iter().map(|text| text.function.inst_count() as u64).sum();
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
        let kernels = hazards.map_or_else(Vec::new, |hazards| hazards.kernels);
        output::print_json(&Report { schema: 1, kernels, unchecked: BTreeMap::new(), reordering })?;
    } else {
        let mut out = match &hazards {
            Some(hazards) => summary(KIND, &input.name, &hazards.kernels, None)? + "\n",
            None => String::new(),
        };
        for mismatch in &found {
            writeln!(out, "{mismatch}")?;
        }
        if found.is_empty() {
            writeln!(out, "{} is a legal reordering of {}", input.name, original.name)?;
            if hazards.is_none() {
                writeln!(out, "this text has no control fields: hazards were not looked for")?;
            }
        }
        output::print(&out)?;
    }
    verdict(&input.name, count, found.len())
}

/// What a text with control fields is called.
const KIND: &str = "text of machine code";

fn hazards_of(input: &Text, selection: &Selection) -> Result<Verification> {
    verify_text(&input.functions, selection).map_err(|error| of_library(&input.name, error))
}

fn text_alone(arguments: &Arguments, input: &Text) -> Result<()> {
    let selection = arguments.selection.get();
    input.check(&selection)?;
    if !input.is_machine_code() {
        bail!(
            "{}: this text has no control fields, so there are no hazards to look for; with `--against ORIGINAL` \
             its order is checked",
            input.name
        )
    }
    let found = hazards_of(input, &selection)?;
    let hazards = found.hazards();
    match arguments.json {
        true => {
            let (kernels, unchecked) = (found.kernels, found.unchecked);
            output::print_json(&Report { schema: 1, kernels, unchecked, reordering: None })?;
        }
        false => output::print(&summary(KIND, &input.name, &found.kernels, None)?)?,
    }
    verdict(&input.name, hazards, 0)
}

fn binary(arguments: &Arguments, input: &Binary, original: Option<&Binary>) -> Result<()> {
    // Two files that are compared are both in memory; else one image after the other is.
    let containers = match original {
        Some(original) => Some((input.container()?, original.container()?, original.name.as_str())),
        None => None,
    };
    let library = input.library()?;
    let found = verify_library(&library, &arguments.selection.get(), &Bar::new(&input.name));
    let found = found.map_err(|error| of_library(&input.name, error))?;
    say_several(&input.name, &found.several);
    let comparison = match &containers {
        Some((new, old, name)) => {
            let context = || format!("{} against {name}", input.name);
            Some(against::files(old, new).with_context(context)?)
        }
        None => None,
    };
    for (reason, count) in &found.unchecked {
        say(&format!("warning: {}: {count} kernels are not checked: {reason}", input.name));
    }
    if !found.checked_anything() {
        let why = nothing_checked(&library, found.unchecked.values().sum());
        if comparison.is_none() {
            bail!("{}: nothing in it was checked: {why}", input.name);
        }
        say(&format!("warning: {}: no code in it was checked for hazards: {why}", input.name));
    }
    let (hazards, left_out) = (found.hazards(), found.left_out);
    let differences = comparison.as_ref().map_or(0, |comparison| comparison.differences.len());
    if arguments.json {
        let reordering = comparison.as_ref().map(reordering);
        let (kernels, unchecked) = (found.kernels, found.unchecked);
        output::print_json(&Report { schema: 1, kernels, unchecked, reordering })?;
    } else {
        output::print(&summary(
            kind_name(library.kind()),
            &input.name,
            &found.kernels,
            comparison.as_ref(),
        )?)?;
    }
    verdict(&input.name, hazards, differences)?;
    // Clean is what was looked at, all of it.
    if left_out > 0 && comparison.is_none() {
        bail!(
            "{}: {left_out} kernels were not looked at; give their images decompressed, or one by one",
            input.name
        );
    }
    Ok(())
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

/// The hazards of a section for people.
fn describe_all(out: &mut String, kernel: &VerifiedKernel) -> Result<()> {
    for hazard in kernel.hazards.iter().take(MOST_PATHS) {
        describe(out, hazard)?;
    }
    let more = kernel.hazards.len().saturating_sub(MOST_PATHS);
    match (more as u64 + kernel.more_hazards, more) {
        (0, _) => {}
        (all, _) if kernel.more_hazards == 0 => writeln!(out, "  and {all} more: `--json` has all")?,
        (all, more) => writeln!(out, "  and {all} more: `--json` has the first {more} of them")?,
    }
    Ok(())
}

fn describe(out: &mut String, hazard: &Hazard) -> Result<()> {
    let bold = anstyle::Style::new().bold();
    let what = match hazard.kind {
        HazardKind::Raw => "reads a result that may not be there",
        HazardKind::War => "overwrites a source that may not have been read",
        HazardKind::Waw => "overwrites a result that may not be there",
        HazardKind::WaitTooSoon => "waits for a scoreboard that may not be set yet",
        HazardKind::Stall => "stalls less than its opcode needs, whatever follows",
        HazardKind::Pipe => "goes into a pipe that has not taken up the one before",
        HazardKind::Settle if hazard.needed == Needed::Scoreboard("scoreboard") => {
            "lets threads that run apart converge or part with this in flight"
        }
        HazardKind::Settle => "gives the warp's turn away before the one before has settled",
        HazardKind::Reuse => "reads a source that was kept at hand, and whose register was written since",
        HazardKind::Crowded => "leaves more under way than is followed, and nothing waits for any of it",
        HazardKind::Acquire => "orders memory, and no longer waits for a read of memory that it waited for",
        HazardKind::Unseen => "stands closer than compiled code was ever seen to leave such a pair",
        HazardKind::Field => "has a control field that means nothing on this machine",
    };
    let register = match &hazard.register {
        Some(register) => format!(" on {register}"),
        None if hazard.hidden_state.is_empty() => String::new(),
        None => format!(" on {}", hazard.hidden_state.join(", ")),
    };
    let needed = match hazard.needed {
        Needed::Cycles(1) => "1 cycle".to_owned(),
        Needed::Cycles(cycles) => format!("{cycles} cycles"),
        Needed::Scoreboard(_) => "a scoreboard".to_owned(),
    };
    let (kind, given) = (hazard.kind.name(), hazard.given);
    writeln!(out, "  {bold}{kind}{register}{bold:#}: {what}; needs {needed}, has {given}")?;
    writeln!(out, "    /*{:04x}*/ {}", hazard.producer, hazard.producer_instruction)?;
    writeln!(out, "    /*{:04x}*/ {}", hazard.offset, hazard.instruction)?;
    if hazard.path.len() > 1 {
        writeln!(out, "    by {}", hazard.path.join(" → "))?;
    }
    Ok(())
}

fn reordering(comparison: &Comparison) -> Reordering {
    let place = |difference: &Difference| Place {
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
    input: &str,
    kernels: &[VerifiedKernel],
    comparison: Option<&Comparison>,
) -> Result<String> {
    let bold = anstyle::Style::new().bold();
    let mut out = String::new();
    writeln!(out, "{bold}{input}{bold:#}, {kind}\n")?;
    // Architectures in the order of the file.
    let mut archs: Vec<&str> = Vec::new();
    let mut totals: BTreeMap<&str, Totals> = BTreeMap::new();
    for kernel in kernels {
        if !kernel.hazards.is_empty() {
            writeln!(out, "{bold}{}{bold:#} ({})", kernel.name, kernel.arch)?;
            describe_all(&mut out, kernel)?;
            writeln!(out)?;
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
        line.hazards += kernel.hazards.len() as u64 + kernel.more_hazards;
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
