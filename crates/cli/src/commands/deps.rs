//! `sassafras deps`

use super::LatencyArgument;
use crate::failure::of_library;
use crate::failure::{Failure, say};
use crate::input::{Input, SelectionArguments};
use crate::knobs::{KnobArguments, unknown_latency};
use crate::output;
use anyhow::{Context, Result, bail};
use sassafras::Selection;
use sassafras::sites::Lifted;
use sassafras_deps::cyclic::critical_recurrence;
use sassafras_deps::export::{self, GraphView};
use sassafras_deps::models::Latencies;
use sassafras_deps::paths::Paths;
use sassafras_deps::reach::reduced_edges;
use sassafras_deps::{BuildOptions, EdgeKind, Node, build};
use sassafras_ir::Function;
use sassafras_ir::cfg::Cfg;
use sassafras_ir::text::print_inst;
use sassafras_machine::Arch;
use sassafras_passes::Dialect;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Show the dependence graph of every block
#[derive(clap::Args)]
pub struct Arguments {
    /// What to look at; `-` is standard input
    input: PathBuf,
    #[command(flatten)]
    selection: SelectionArguments,
    /// Only this block; may be given several times
    #[arg(long = "block", value_name = "NAME")]
    blocks: Vec<String>,
    /// Which latency table counts
    #[arg(long, value_enum, default_value = "measured")]
    latency: LatencyArgument,
    /// Leave the edges to the next iteration out (they are there for blocks that branch to themselves)
    #[arg(long)]
    acyclic: bool,
    /// Show only edges that no other path implies
    #[arg(long)]
    reduced: bool,
    #[command(flatten)]
    knobs: KnobArguments,
    /// Print the graphs for Graphviz
    #[arg(long, conflicts_with = "json")]
    dot: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The JSON form. Bump `schema` when a field changes its meaning or goes away.
#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    input: &'a str,
    blocks: Vec<BlockView<'a>>,
}

#[derive(Serialize)]
struct BlockView<'a> {
    function: &'a str,
    block: &'a str,
    /// Latency and distance of the circuit that bounds the loop, if the block is one.
    cyclic_critical_path: Option<Cyclic>,
    #[serde(flatten)]
    graph: GraphView,
}

#[derive(Serialize)]
struct Cyclic {
    latency: u64,
    distance: u64,
    cycles: u64,
    nodes: Vec<u32>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let knobs = arguments.knobs.load(&["deps"])?;
    let unknown = unknown_latency(&knobs)?;
    let (name, dialect, functions) = load(&arguments.input, &arguments.selection.get())?;
    let mut views = Vec::new();
    let mut dots = String::new();
    let kinds = [
        EdgeKind::Raw,
        EdgeKind::War,
        EdgeKind::Waw,
        EdgeKind::Memory,
        EdgeKind::Control,
        EdgeKind::Barrier,
        EdgeKind::Order,
    ];
    let mut heading = vec!["function", "block", "insts", "joins", "edges"];
    heading.extend(kinds.map(EdgeKind::name));
    heading.extend(["carried", "critical path", "recurrence"]);
    let mut table = output::table(&heading, &(2..heading.len()).collect::<Vec<_>>());
    let mut found = BTreeSet::new();
    for f in &functions {
        let arch = Arch::parse_or_universal(&f.arch)
            .map_err(|error| Failure::Wrong(format!("{}: function `{}`: {error}", name, f.name)))?;
        let source = arguments.latency.into();
        let latencies = Latencies::new(source, f, arch, unknown, |opcode| dialect.machine_name(opcode));
        let cfg = Cfg::new(f);
        for block in f.blocks() {
            if !arguments.blocks.is_empty() && !arguments.blocks.iter().any(|b| b == f.block_name(block)) {
                continue;
            }
            found.insert(f.block_name(block));
            let carried = !arguments.acyclic && cfg.succs(block).contains(&block);
            let graph = build(f, f.block_insts(block), &latencies, BuildOptions { carried });
            let label = |n: Node| print_inst(f, f.block_insts(block)[n.index()]);
            if arguments.dot {
                let name = format!("{} {}", f.name, f.block_name(block));
                let graph = if arguments.reduced { graph.with_edges(&reduced_edges(&graph)) } else { graph };
                dots.push_str(&export::dot(&graph, &name, label));
                continue;
            }
            let shown = if arguments.reduced { graph.with_edges(&reduced_edges(&graph)) } else { graph };
            let recurrence = critical_recurrence(&shown);
            if arguments.json {
                let cyclic = recurrence.map(|r| Cyclic {
                    latency: r.latency,
                    distance: r.distance,
                    cycles: r.cycles(),
                    nodes: r.circuit.iter().map(|&e| shown.edges()[e as usize].from.0).collect(),
                });
                views.push(BlockView {
                    function: &f.name,
                    block: f.block_name(block),
                    cyclic_critical_path: cyclic,
                    graph: export::view(&shown, label),
                });
                continue;
            }
            let count = |kind| shown.edges().iter().filter(|e| e.kind == kind).count().to_string();
            let mut row = vec![
                f.name.clone(),
                f.block_name(block).to_owned(),
                shown.inst_count().to_string(),
                (shown.node_count() - shown.inst_count()).to_string(),
                shown.edges().len().to_string(),
            ];
            row.extend(kinds.map(count));
            row.push(shown.edges().iter().filter(|e| e.distance > 0).count().to_string());
            row.push(Paths::new(&shown).critical_length().to_string());
            row.push(recurrence.map_or("-".to_owned(), |r| r.cycles().to_string()));
            table.add_row(row);
        }
    }
    if let Some(missing) = arguments.blocks.iter().find(|name| !found.contains(name.as_str())) {
        bail!("{}: no block is called `{missing}`", name);
    }
    if arguments.json {
        return output::print_json(&Report { schema: 1, input: &name, blocks: views });
    }
    if arguments.dot {
        return output::print(&dots);
    }
    let mut text = output::render(&table);
    writeln!(
        text,
        "\njoins stand between many and many; recurrence: cycles that an iteration takes at least"
    )?;
    output::print(&text)
}

/// The functions of a file that were asked for, lifted where it holds device code.
fn load(path: &Path, selection: &Selection) -> Result<(String, Dialect, Vec<Function>)> {
    let input = match Input::read(path)? {
        Input::Text(input) => {
            let functions = input.functions(selection)?.into_iter().cloned().collect();
            return Ok((input.name, Dialect::Sass, functions));
        }
        Input::Ptx(input) => {
            input.check(selection)?;
            let target = input.module.target().unwrap_or_default();
            let wanted = |name: &str| selection.takes_name(name) && selection.takes_arch(target);
            let functions = input.module.functions().iter();
            let functions = functions.filter(|f| f.has_body() && wanted(input.module.text(f.name())));
            let lowered = functions.map(|f| sassafras_ptx::lower(&input.module, f).map(|l| l.function));
            let lowered = lowered.collect::<Result<_, _>>().with_context(|| input.name.clone())?;
            return Ok((input.name, Dialect::Ptx, lowered));
        }
        Input::Binary(input) => input,
    };
    let library = input.library()?;
    let lifted = input.visit(&library, selection, |site| {
        Ok(match site.lift(selection).map_err(|error| of_library(&input.name, error))? {
            Lifted::Routines(_, routines) => routines.into_iter().map(|r| r.lifted.function).collect(),
            Lifted::No(reason) => {
                say(&format!("warning: {}: {}: left out: {reason}", input.name, site.place()));
                Vec::new()
            }
        })
    })?;
    let functions = lifted.into_iter().flatten().collect();
    Ok((input.name, Dialect::Sass, functions))
}
