//! File tests of the scheduler after register allocation, on machine code as text. Directives, each for every function of the file:
//!
//! * `fields`: all control fields anew, in the order that the instructions stand in; `fields keep` with what all blocks came with, as far as
//!   it serves, and `fields boards` with the scoreboards alone;
//! * `order POLICY`, or `order search`: the order of every block; with other registers where the function declares how many there are;
//! * `replay WARPS`: cycles per iteration and warp of the first block, run by its fields, without the instruction that ends it;
//! * `clock`: how long every part of the function takes by the clock that decides, for one warp.

use anyhow::{Context, Result, anyhow, bail};
use fixedbitset::FixedBitSet;
use sassafras_ir::text::{Annotated, Annotations, parse_annotated, print_annotated, print_bare};
use sassafras_ir::{Function, Inst, Payload};
use sassafras_list::registry;
use sassafras_machine::Arch;
use sassafras_tepid::clock::{PARTS, Time};
use sassafras_tepid::function::choose;
use sassafras_tepid::original::fields as fields_of;
use sassafras_tepid::replay::Replay;
use sassafras_tepid::schedule::Settings;
use sassafras_tepid::{Code, Keep, Original, Sources, rebuild_with};
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    sassafras_testkit::filetest::by_function(&folder, run, None)
}

fn run(directive: &str, source: &str) -> Result<Vec<String>> {
    let functions = parse_annotated(source).map_err(|error| anyhow!(error.render("input", source, false)))?;
    functions.iter().map(|text| one(directive, text)).collect()
}

fn one(directive: &str, text: &Annotated) -> Result<String> {
    let (f, sources) = (&text.function, &text.annotations.slots[..]);
    let arch: Arch = f.arch.parse()?;
    let code = Code::new(f, sources, arch);
    match directive.split_once(' ').unwrap_or((directive, "")) {
        ("fields", keep) => fields(&code, keep),
        ("order", policy) => order(&code, policy, text.annotations.declared.registers),
        ("replay", warps) => replay(&code, warps.parse()?),
        ("clock", "") => clock(&code),
        _ => bail!("no such directive: {directive}"),
    }
}

/// The instructions of the body, as text.
fn body(f: &Function, sources: &[Sources]) -> String {
    let annotations = Annotations { slots: sources.to_vec(), ..Annotations::default() };
    let text = print_annotated(f, &annotations);
    let lines = text.lines().filter(|line| !line.starts_with("func") && *line != "}");
    lines.map(|line| format!("{line}\n")).collect()
}

fn fields(code: &Code<'_>, keep: &str) -> Result<String> {
    let (none, all): (FixedBitSet, FixedBitSet) = (FixedBitSet::new(), (0..code.f.inst_count()).collect());
    let keep = match keep {
        "" => Keep::Nothing,
        "boards" => Keep::Blocks(&none),
        "keep" => Keep::Blocks(&all),
        other => bail!("nothing is kept by `{other}`"),
    };
    let made = match rebuild_with(code, &Original::new(code), keep) {
        Ok(made) => made,
        Err(wrong) => return Ok(format!("none: {}\n", wrong.describe(|inst| print_bare(code.f, inst)))),
    };
    let mut new = code.f.clone();
    for (inst, fields) in made.iter().enumerate() {
        let inst = Inst::from_u32(inst as u32);
        let word = match new.inst(inst).payload {
            Payload::Word(word) => word,
            Payload::None | Payload::Text(_) => 0,
        };
        new.set_payload(inst, Payload::Word(fields.insert(word)));
    }
    Ok(body(&new, &[]))
}

fn order(code: &Code<'_>, policy: &str, registers: Option<u32>) -> Result<String> {
    let strategy = match policy {
        "search" => None,
        name => Some(registry::find(name).context("no such strategy")?),
    };
    let mut new = code.f.clone();
    let settings = Settings { strategy, registers: registers.unwrap_or(0), ..Settings::default() };
    for choice in choose(code, &settings).choices {
        new.reorder(choice.block, &choice.order);
        let Some(names) = &choice.names else { continue };
        for inst in names.insts() {
            new.rename(inst, |span| names.read(inst, span), |span| names.written(inst, span));
        }
    }
    Ok(body(&new, &[]))
}

fn replay(code: &Code<'_>, warps: usize) -> Result<String> {
    let block = code.f.blocks().next().context("a block")?;
    let (_, insts) = code.f.block_insts(block).split_last().context("an instruction")?;
    let all = fields_of(code);
    let fields: Vec<_> = insts.iter().map(|inst| all[inst.as_u32() as usize]).collect();
    let replay = Replay::new(code, insts, &fields);
    let cycles = replay.cycles(warps);
    // A limit changes nothing, but that more than it is not told.
    let told = [cycles, cycles - 1].map(|limit| replay.cycles_within(warps, limit));
    if told != [Some(cycles), None] || replay.least() > cycles {
        bail!("{cycles} sixteenths, and within limits {told:?}");
    }
    Ok(format!("{} cycles\n", f64::from(cycles) / 16.0))
}

fn clock(code: &Code<'_>) -> Result<String> {
    let time = Time::of(code, &fields_of(code), 1);
    let mut out = String::new();
    for part in &time.parts {
        let blocks: Vec<&str> = part.blocks.iter().map(|&block| code.f.block_name(block)).collect();
        let cycles = part.sixteenths as f64 / PARTS as f64;
        writeln!(out, "{}: {} times {cycles} cycles", blocks.join(" "), part.times)?;
    }
    writeln!(out, "all: {} cycles", time.cycles())?;
    Ok(out)
}
