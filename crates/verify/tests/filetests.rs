//! Golden files.
//!
//! Machine code as text (`hazards/*.sir`), and what the hazard checker says of each function:
//!
//! * `hazards`: by the tables of the function's architecture;
//! * `hazards pipes`: without the distances that were mined, only what pipes, the warp's turn and sources ask for;
//! * `hazards table`: by the rows in `// distance:` and `// opcode:` lines, and nothing else;
//! * `rewritten`: of code that was written by a scheduler, with the original's distances its own;
//! * `closer`: as `rewritten`, every second function being what was made of the one before it.
//!
//! Pairs of PTX (`*.ptx`), and what the checker says about them. A file holds cases. `// ==== name` starts one, `// ----` stands between the original and what was made of it. With `bodies` both are what
//! stands inside one and the same kernel, with `modules` all of the text. Lines count from the start of each part.

use anyhow::{Context, Result, bail};
use sassafras_ir::text::{parse, print_bare};
use sassafras_ir::{Function, Inst};
use sassafras_machine::mined::MinedTable;
use sassafras_ptx::Module;
use sassafras_verify::hazards::{self, Came, Finding, Rules};
use sassafras_verify::ptx::{Comparison, Options, Report, compare};
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

/// In front of a body, on its first line.
const KERNEL: &str = ".version 9.0 .target sm_90 .address_size 64 .visible .entry k(.param .u64 p) { \
    .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<20>; .reg .u32 %u<9>; .reg .b64 %rd<9>; .reg .f32 %f<20>; \
    .reg .v2 .b32 %v<9>; .shared .b32 mem[64]; ";

fn main() -> ExitCode {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    sassafras_testkit::filetest::by_function(&folder, machine_code, Some(pairs))
}

/// What the hazard checker says of each function.
fn machine_code(directive: &str, source: &str) -> Result<Vec<String>> {
    let functions =
        parse(source).map_err(|error| anyhow::anyhow!(error.render("input", source, false)))?.functions;
    let mut before: Option<&Function> = None;
    let said = functions.iter().map(|f| {
        let rules = match directive {
            "hazards pipes" => Rules::default().with_pipes(f.arch.parse()?),
            "hazards table" => Rules::new(table(source)?),
            _ => Rules::of(f.arch.parse()?).clone(),
        };
        let (findings, unknown) = match directive {
            "rewritten" => (hazards::rewritten(f, &Came::of(f), &rules), 0),
            "closer" => match before.take() {
                Some(came) => (hazards::rewritten(f, &Came::of(came), &rules), 0),
                None => {
                    before = Some(f);
                    return Ok(String::new());
                }
            },
            _ if directive.starts_with("hazards") => {
                let report = hazards::check(f, &rules);
                (report.findings, report.unknown)
            }
            other => bail!("no such directive: {other}"),
        };
        let mut said: String = findings.iter().map(|finding| line(f, finding)).collect();
        if findings.is_empty() {
            said += "clean\n";
        }
        if unknown > 0 {
            writeln!(said, "{unknown} pairs that no table knows")?;
        }
        Ok(said)
    });
    said.collect()
}

/// A finding, with instructions as they stand, and their number where that does not tell them apart.
fn line(f: &Function, finding: &Finding) -> String {
    let insts: Vec<Inst> = f.blocks().flat_map(|block| f.block_insts(block)).copied().collect();
    let name = |inst: Inst| {
        let text = print_bare(f, inst);
        let alike = insts.iter().filter(|&&other| print_bare(f, other) == text).count();
        match insts.iter().position(|&other| other == inst) {
            Some(place) if alike > 1 => format!("{text} ({place})"),
            _ => text,
        }
    };
    format!("{}\n", finding.describe_with(name))
}

/// The tables that a file brings.
fn table(source: &str) -> Result<MinedTable> {
    let rows = |key: &str| -> String {
        source
            .lines()
            .filter_map(|line| line.strip_prefix(key))
            .map(|row| format!("{}\n", row.trim()))
            .collect()
    };
    let distances =
        "hazard,file,producer,half,consumer,use,slot,observed_min,safe,seen,kernels,files,source\n";
    let opcodes = "opcode,decoupled,min_stall,seen,kernels,write_board,read_board,source\n";
    let (distances, opcodes) =
        (distances.to_owned() + &rows("// distance:"), opcodes.to_owned() + &rows("// opcode:"));
    Ok(MinedTable::parse("sm_90", &distances, &opcodes)?)
}

fn pairs(directive: &str, source: &str) -> Result<String> {
    let mut out = String::new();
    for case in source.split("// ==== ").skip(1) {
        let (name, texts) = case.split_once('\n').context("a name")?;
        let (old, new) = texts.split_once("// ----\n").context("two parts")?;
        let parse = |text: &str| {
            let text = match directive {
                "bodies" => format!("{KERNEL}{text}}}\n"),
                "modules" => text.to_owned(),
                other => bail!("no such directive: {other}"),
            };
            Module::parse(&text)
                .map_err(|error| anyhow::anyhow!("{name}: {}", error.render("input", &text, false)))
        };
        let Comparison { report, differences } = compare(&parse(old)?, &parse(new)?, Options::default());
        if differences.is_empty() {
            let Report { moved, renamed, commuted, .. } = report;
            writeln!(out, "{name}: legal, {moved} moved, {renamed} renamed, {commuted} commuted")?;
        }
        for illegal in differences {
            writeln!(out, "{name}: {illegal}")?;
        }
    }
    Ok(out)
}
