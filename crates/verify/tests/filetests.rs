//! Golden files: pairs of PTX, and what the checker says about them.
//!
//! A file holds cases. `// ==== name` starts one, `// ----` stands between the original and what was made of it. With `bodies` both are what
//! stands inside one and the same kernel, with `modules` all of the text. Lines count from the start of each part.

use anyhow::{Context, Result, bail};
use sassafras_ptx::Module;
use sassafras_verify::ptx::{Comparison, Options, Report, compare};
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

/// In front of a body, on its first line.
const KERNEL: &str = ".version 9.0 .target sm_90 .address_size 64 .visible .entry k(.param .u64 p) { \
    .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<20>; .reg .u32 %u<9>; .reg .b64 %rd<9>; .reg .f32 %f<20>; \
    .reg .v2 .b32 %v<9>; .shared .b32 mem[64]; ";

fn main() -> ExitCode {
    sassafras_testkit::filetest::main(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests"), run)
}

fn run(directive: &str, source: &str) -> Result<String> {
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
