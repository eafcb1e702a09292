//! File tests of the graph. Directive: `edges|dot|recurrence [carried] [documented|measured]`; the first block of each
//! function is the region.

use anyhow::{Context, Result, bail};
use sassafras_deps::cyclic::critical_recurrence;
use sassafras_deps::latency::UnitLatency;
use sassafras_deps::models::{Documented, Measured};
use sassafras_deps::paths::Paths;
use sassafras_deps::{BuildOptions, Edge, Graph, build, export};
use sassafras_ir::{Function, text};
use sassafras_machine::Arch;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    sassafras_testkit::filetest::main(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests"), run)
}

fn run(directive: &str, source: &str) -> Result<String> {
    let words: Vec<&str> = directive.split(' ').collect();
    let module = match text::parse(source) {
        Ok(module) => module,
        Err(error) => bail!(error.render("input", source, false)),
    };
    let mut out = String::new();
    for f in &module.functions {
        let insts = f.block_insts(f.blocks().next().context("no block")?);
        let arch: Arch = f.arch.parse()?;
        let options = BuildOptions { carried: words.contains(&"carried") };
        let graph = match words.last() {
            Some(&"documented") => build(f, insts, &Documented::new(f, arch, None), options),
            Some(&"measured") => build(f, insts, &Measured::new(f, arch, None), options),
            _ => build(f, insts, &UnitLatency, options),
        };
        match words[0] {
            "edges" => print_edges(&graph, &mut out)?,
            "dot" => out += &export::dot(&graph, &f.name, |n| text::print_inst(f, insts[n.index()])),
            "recurrence" => print_recurrence(f, &graph, &mut out)?,
            other => bail!("no such directive: {other}"),
        }
    }
    Ok(out)
}

fn print_edges(graph: &Graph, out: &mut String) -> Result<()> {
    for e in graph.edges_by_node() {
        writeln!(out, "{}", show(graph, e))?;
    }
    writeln!(out, "critical path {}", Paths::new(graph).critical_length())?;
    Ok(())
}

fn print_recurrence(f: &Function, graph: &Graph, out: &mut String) -> Result<()> {
    match critical_recurrence(graph) {
        None => writeln!(out, "{}: none", f.name)?,
        Some(r) => {
            writeln!(out, "{}: {} cycles over {} iterations", f.name, r.latency, r.distance)?;
            for &e in &r.circuit {
                writeln!(out, "  {}", show(graph, &graph.edges()[e as usize]))?;
            }
        }
    }
    Ok(())
}

fn show(graph: &Graph, e: &Edge) -> String {
    let node = |n| {
        if graph.is_join(n) { format!("join{}", n.index() - graph.inst_count()) } else { n.0.to_string() }
    };
    let distance = if e.distance > 0 { " carried" } else { "" };
    format!("{} -> {} {} {}{distance}", node(e.from), node(e.to), e.kind.name(), e.latency)
}
