//! File tests of the text form, the verifier and the analyses. Directives: `print`, `error`, `verify`, `cfg`, `loops`,
//! `liveness`, `pressure`.

use anyhow::{Result, bail};
use sassafras_ir::cfg::Cfg;
use sassafras_ir::dominators::Dominators;
use sassafras_ir::liveness::Liveness;
use sassafras_ir::loops::Loops;
use sassafras_ir::{Block, Function, RegClass, pressure, text, verify};
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    sassafras_testkit::filetest::main(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests"), run)
}

fn run(directive: &str, source: &str) -> Result<String> {
    if directive == "error" {
        return match text::parse(source) {
            Ok(_) => bail!("parsed, but an error was wanted"),
            Err(error) => Ok(error.render("input", source, false)),
        };
    }
    let module = match text::parse(source) {
        Ok(module) => module,
        Err(error) => bail!(error.render("input", source, false)),
    };
    if directive == "print" {
        let functions = text::parse_annotated(source)?;
        let texts = functions.iter().map(|text| text::print_annotated(&text.function, &text.annotations));
        return Ok(texts.collect::<Vec<_>>().join("\n"));
    }
    let mut out = String::new();
    for f in &module.functions {
        let cfg = Cfg::new(f);
        let name = |b: Block| f.block_name(b).to_owned();
        let names = |blocks: &[Block]| blocks.iter().map(|&b| name(b)).collect::<Vec<_>>().join(" ");
        match directive {
            "verify" => match verify::verify(f) {
                Ok(()) => writeln!(out, "ok")?,
                Err(broken) => broken.iter().try_for_each(|v| writeln!(out, "{v}"))?,
            },
            "cfg" => {
                let doms = Dominators::new(f, &cfg);
                for b in f.blocks() {
                    let idom = doms.idom(b).map_or("-".to_owned(), name);
                    writeln!(out, "{}: succs [{}] idom {idom}", name(b), names(cfg.succs(b)))?;
                }
            }
            "loops" => {
                let loops = Loops::new(f, &cfg, &Dominators::new(f, &cfg));
                for l in loops.iter() {
                    let body: Vec<Block> = f.blocks().filter(|&b| loops.contains(l, b)).collect();
                    let (head, depth) = (name(loops.header(l)), loops.depth(l));
                    writeln!(
                        out,
                        "{head}: depth {depth} latches [{}] body [{}]",
                        names(loops.latches(l)),
                        names(&body)
                    )?;
                }
                if loops.is_irreducible() {
                    writeln!(out, "irreducible")?;
                }
            }
            "liveness" => {
                let live = Liveness::new(f, &cfg)?;
                for b in f.blocks() {
                    writeln!(
                        out,
                        "{}: in [{}] out [{}]",
                        name(b),
                        list(live.live_in(b)),
                        list(live.live_out(b))
                    )?;
                }
            }
            "pressure" => writeln!(out, "{}", peaks(f, &Liveness::new(f, &cfg)?))?,
            other => bail!("no such directive: {other}"),
        }
    }
    Ok(out)
}

fn list(lanes: impl Iterator<Item = sassafras_ir::Lane>) -> String {
    let mut lanes: Vec<_> = lanes.collect();
    lanes.sort();
    lanes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn peaks(f: &Function, live: &Liveness) -> String {
    let peak = pressure::peak(f, live);
    let parts: Vec<String> = RegClass::ALL.iter().map(|&c| format!("{}={}", c.prefix(), peak[c])).collect();
    parts.join(" ")
}
