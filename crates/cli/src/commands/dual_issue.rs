//! `sassafras dual-issue`

use crate::failure::say;
use crate::input::{Input, SelectionArguments};
use crate::output;
use anyhow::{Result, anyhow, bail};
use sassafras::sites::Site;
use sassafras_machine::InstructionEncoding;
use sassafras_sass::program::arch_of;
use sassafras_tepid::dual_issue::{Comparison, Seen, Stream, compare, survey};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

/// Compare the pairs that a compiler marked with those that the rules allow (sm_50 to sm_62)
///
/// On these chips two neighbours may issue in one cycle. Per kernel: pairs that the control words mark, pairs that are
/// legal, those that are both, how many of the marked ones the documented conditions would have allowed, and the cycles
/// of the code one at a time, with the marked pairs and with all legal ones (loads taken as done).
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// What to look at; `-` is standard input
    input: PathBuf,
    #[command(flatten)]
    selection: SelectionArguments,
    /// List the pairs that only one side has
    #[arg(long)]
    pairs: bool,
    /// Print what the code shows about each mnemonic as CSV: the numbers that the tables of the model were made of
    #[arg(long, conflicts_with_all = ["pairs", "json"])]
    survey: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  sassafras dual-issue k.cubin
  sassafras dual-issue k.cubin --pairs
  sassafras dual-issue libkernels.so --arch sm_52 --json
  sassafras dual-issue libkernels.so --survey";

/// The JSON form. Bump `schema` when a field changes its meaning or goes away.
#[derive(Serialize)]
struct Report {
    schema: u32,
    kernels: Vec<Kernel>,
}

#[derive(Serialize)]
struct Kernel {
    name: String,
    arch: String,
    instructions: usize,
    marked: usize,
    legal: usize,
    both: usize,
    only_marked: Vec<Pair>,
    only_legal: Vec<Pair>,
    /// Neighbours that fit together but for this reason, and are not marked.
    refused: BTreeMap<String, usize>,
    documented: usize,
    documented_refused: BTreeMap<&'static str, usize>,
    /// Marked pairs in code whose blocks mix global and shared memory, which the documents leave out.
    gated: usize,
    cycles: Cycles,
    #[serde(skip)]
    sums: Comparison,
}

#[derive(Serialize)]
struct Cycles {
    single: u64,
    marked: u64,
    legal: u64,
}

/// Two neighbours.
#[derive(Serialize)]
struct Pair {
    /// Offset of the first one in the section.
    offset: u64,
    first: String,
    second: String,
    /// Why the rules refuse a marked pair.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let Input::Binary(input) = Input::read(&arguments.input)? else {
        bail!("{}: the text IR has no pairs; give a cubin", arguments.input.display());
    };
    let library = input.library()?;
    if arguments.survey {
        let work =
            |site: &Site<'_, '_>| Ok(stream(&input.name, site)?.map(|s| (site.sm.clone(), survey(&s))));
        let found = input.visit(&library, &arguments.selection.get(), work)?;
        return output::print(&csv(found.into_iter().flatten())?);
    }
    let work = |site: &Site<'_, '_>| kernel(&input.name, site);
    let found = input.visit(&library, &arguments.selection.get(), work)?;
    let kernels: Vec<Kernel> = found.into_iter().flatten().collect();
    if kernels.is_empty() {
        say(&format!("warning: {}: no code for sm_50 to sm_62 in it", input.name));
    }
    if arguments.json {
        return output::print_json(&Report { schema: 1, kernels });
    }
    output::print(&text(&kernels, arguments.pairs)?)
}

/// What was seen of each mnemonic on each chip.
fn csv(found: impl Iterator<Item = (String, BTreeMap<String, Seen>)>) -> Result<String> {
    let mut all: BTreeMap<(String, String), Seen> = BTreeMap::new();
    for (sm, names) in found {
        for (name, seen) in names {
            all.entry((name, sm.clone())).or_default().add(&seen);
        }
    }
    let mut out = String::from("mnemonic,sm,seen,leads,follows,operand_cycles,least_stall\n");
    for ((name, sm), seen) in all {
        let cycles = seen.operand_cycles().map_or(String::new(), |cycles| cycles.to_string());
        let least = seen.stalls.keys().next().map_or(String::new(), ToString::to_string);
        writeln!(out, "{name},{sm},{},{},{},{cycles},{least}", seen.count, seen.leads, seen.follows)?;
    }
    Ok(out)
}

/// The code of a section; none for chips that issue one instruction at a time.
fn stream(file: &str, site: &Site<'_, '_>) -> Result<Option<Stream>> {
    let arch = arch_of(site.cubin.sm());
    let Some(arch) = arch.filter(|arch| arch.info().encoding == InstructionEncoding::Grouped64) else {
        return Ok(None);
    };
    let stream = Stream::decode(site.code.bytes, arch);
    stream.map(Some).map_err(|error| anyhow!("{file}: {}: {error}", site.place()))
}

/// Both pairings of a section.
fn kernel(file: &str, site: &Site<'_, '_>) -> Result<Option<Kernel>> {
    let Some(stream) = stream(file, site)? else { return Ok(None) };
    let sums = compare(&stream);
    let pair = |address: u64, reason: Option<String>| {
        let at = stream.slots.partition_point(|slot| slot.address < address);
        let text = |at: usize| stream.slots.get(at).map(|slot| slot.text()).unwrap_or_default();
        Pair { offset: address, first: text(at), second: text(at + 1), reason }
    };
    Ok(Some(Kernel {
        name: site.code.name.to_owned(),
        arch: site.sm.clone(),
        instructions: sums.instructions,
        marked: sums.marked,
        legal: sums.legal,
        both: sums.both,
        only_marked: sums.only_marked.iter().map(|&(at, why)| pair(at, Some(why.to_string()))).collect(),
        only_legal: sums.only_legal.iter().map(|&at| pair(at, None)).collect(),
        refused: sums.refused.iter().map(|(why, &n)| (why.to_string(), n)).collect(),
        documented: sums.documented,
        documented_refused: sums.documented_refused.iter().map(|(c, &n)| (c.name(), n)).collect(),
        gated: sums.gated,
        cycles: Cycles { single: sums.cycles[0], marked: sums.cycles[1], legal: sums.cycles[2] },
        sums,
    }))
}

fn text(kernels: &[Kernel], pairs: bool) -> Result<String> {
    let bold = anstyle::Style::new().bold();
    let mut out = String::new();
    let header = [
        "kernel",
        "arch",
        "instructions",
        "marked",
        "legal",
        "both",
        "documented",
        "cycles",
        "with marked",
        "with legal",
    ];
    let mut table = output::table(&header, &[2, 3, 4, 5, 6, 7, 8, 9]);
    let mut sum = Comparison::default();
    let row = |name: &str, arch: &str, sums: &Comparison| {
        let numbers = [sums.instructions, sums.marked, sums.legal, sums.both, sums.documented];
        let numbers = numbers.iter().map(ToString::to_string);
        let cycles = sums.cycles.iter().map(ToString::to_string);
        [name.to_owned(), arch.to_owned()].into_iter().chain(numbers).chain(cycles).collect::<Vec<String>>()
    };
    for kernel in kernels {
        table.add_row(row(&kernel.name, &kernel.arch, &kernel.sums));
        sum.add(&kernel.sums);
    }
    if kernels.len() > 1 {
        table.add_row(row("all", "", &sum));
    }
    out.push_str(&output::render(&table));
    let share = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{:.2} %", 100.0 * value));
    writeln!(
        out,
        "\n{} of the marked pairs are legal, {} of the legal ones marked",
        share(sum.covered()),
        share(sum.taken())
    )?;
    let left = sum.legal - sum.both;
    writeln!(
        out,
        "in {} of the {left} that are legal only, the second one waits for a scoreboard",
        sum.second_waits
    )?;
    let list = |out: &mut String, what: &str, items: Vec<String>| match items.is_empty() {
        true => Ok(()),
        false => writeln!(out, "{what}: {}", items.join(", ")),
    };
    let refused = sum.refused.iter().map(|(why, n)| format!("{why} ({n})")).collect();
    list(&mut out, "other neighbours", refused)?;
    let documented = sum.documented_refused.iter().map(|(c, n)| format!("{} ({n})", c.name())).collect();
    list(&mut out, "documented conditions that marked pairs break", documented)?;
    writeln!(out, "marked pairs in code that the documented gate leaves out: {}", sum.gated)?;
    if pairs {
        for kernel in kernels {
            writeln!(out, "\n{bold}{}{bold:#} ({})", kernel.name, kernel.arch)?;
            for (mark, list) in [('-', &kernel.only_marked), ('+', &kernel.only_legal)] {
                for pair in list {
                    let why = pair.reason.as_ref().map_or(String::new(), |why| format!("  {why}"));
                    writeln!(out, "  {mark} /*{:04x}*/ {} || {}{why}", pair.offset, pair.first, pair.second)?;
                }
            }
        }
    }
    Ok(out)
}
