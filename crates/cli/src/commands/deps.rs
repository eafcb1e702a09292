//! `sassafras deps`

mod problem;

use super::LatencyArgument;
use crate::failure::of_library;
use crate::failure::{Failure, say};
use crate::input::{Input, SelectionArguments};
use crate::knobs::{KnobArguments, unknown_latency};
use crate::output::{self, Columns};
use anyhow::{Context, Result, bail};
use sassafras::Selection;
use sassafras::sites::Lifted;
use sassafras_deps::cyclic::critical_recurrence;
use sassafras_deps::export;
use sassafras_deps::models::Latencies;
use sassafras_deps::paths::Paths;
use sassafras_deps::reach::reduced_edges;
use sassafras_deps::{BuildOptions, EdgeKind, Graph, Node, build};
use sassafras_ir::cfg::Cfg;
use sassafras_ir::text::print_inst;
use sassafras_ir::{Block, Function};
use sassafras_machine::Arch;
use sassafras_passes::Dialect;
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use std::path::{Path, PathBuf};

/// Show the dependence graph of every block
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
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
    /// Show loops as problems for modulo scheduling: the least interval between iterations, what binds it, and a
    /// schedule (of blocks that branch to themselves)
    #[arg(long, conflicts_with_all = ["dot", "acyclic", "reduced"])]
    problem: bool,
    /// With `--problem`: as if every value had a register of its own, so that no write waits for the register's readers
    #[arg(long, requires = "problem")]
    renamed: bool,
    /// Print the graphs for Graphviz
    #[arg(long, conflicts_with = "json")]
    dot: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  sassafras deps k.cubin                             edges by kind, critical path and recurrence of every block
  sassafras deps k.sir --block loop --dot            one block for Graphviz
  sassafras deps k.cubin --problem                   what a software pipeliner could make of the loops
  sassafras deps k.cubin --problem --renamed         and what with enough registers
  sassafras deps k.ptx --problem --json              everything, schema 1";

/// The JSON form. Bump `schema` when a field changes its meaning or goes away.
#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    input: &'a str,
    blocks: BlockViews<'a>,
}

/// Every block is looked at when it is its turn to be written: the graphs of all of them take many times what the code does.
struct BlockViews<'a>(&'a Subject<'a>);

impl Serialize for BlockViews<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        self.0.each(|f, block, graph| {
            let recurrence = critical_recurrence(graph);
            list.serialize_element(&BlockView {
                function: &f.name,
                block: f.block_name(block),
                cyclic_critical_path: recurrence.map(|r| Cyclic {
                    latency: r.latency,
                    distance: r.distance,
                    cycles: r.cycles(),
                    nodes: r.circuit.iter().map(|&e| graph.edges()[e as usize].from.0).collect(),
                }),
                graph: export::view(graph, |n: Node| print_inst(f, f.block_insts(block)[n.index()])),
            })
        })?;
        list.end()
    }
}

#[derive(Serialize)]
struct BlockView<'a, G: Serialize> {
    function: &'a str,
    block: &'a str,
    /// Latency and distance of the circuit that bounds the loop, if the block is one.
    cyclic_critical_path: Option<Cyclic>,
    #[serde(flatten)]
    graph: G,
}

#[derive(Serialize)]
struct Cyclic {
    latency: u64,
    distance: u64,
    cycles: u64,
    nodes: Vec<u32>,
}

/// What is looked at, and how.
struct Subject<'a> {
    arguments: &'a Arguments,
    unknown: Option<u16>,
    dialect: Dialect,
    functions: Vec<(Arch, Function)>,
}

impl Subject<'_> {
    fn takes(&self, name: &str) -> bool {
        self.arguments.blocks.is_empty() || self.arguments.blocks.iter().any(|wanted| wanted == name)
    }

    /// Calls `look` for every selected block, with its graph.
    fn each<E>(&self, mut look: impl FnMut(&Function, Block, &Graph) -> Result<(), E>) -> Result<(), E> {
        for (arch, f) in &self.functions {
            let latencies = Latencies::new(self.arguments.latency.into(), f, *arch, self.unknown, |opcode| {
                self.dialect.machine_name(opcode)
            });
            let cfg = Cfg::new(f);
            for block in f.blocks().filter(|&block| self.takes(f.block_name(block))) {
                let carried = !self.arguments.acyclic && cfg.succs(block).contains(&block);
                let graph = build(f, f.block_insts(block), &latencies, BuildOptions { carried });
                let graph = match self.arguments.reduced {
                    true => graph.with_edges(&reduced_edges(&graph)),
                    false => graph,
                };
                look(f, block, &graph)?;
            }
        }
        Ok(())
    }
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let knobs = arguments.knobs.load(&["deps"])?;
    let unknown = unknown_latency(&knobs)?;
    let (name, dialect, functions) = load(&arguments.input, &arguments.selection.get())?;
    let of_known_arch = |f: Function| match Arch::parse_or_universal(&f.arch) {
        Ok(arch) => Ok((arch, f)),
        Err(error) => Err(Failure::Wrong(format!("{name}: function `{}`: {error}", f.name))),
    };
    let functions = functions.into_iter().map(of_known_arch).collect::<Result<Vec<_>, _>>()?;
    for wanted in &arguments.blocks {
        let is_wanted = |f: &Function| f.blocks().any(|block| f.block_name(block) == wanted);
        if !functions.iter().any(|(_, f)| is_wanted(f)) {
            bail!("{name}: no block is called `{wanted}`");
        }
    }
    let subject = Subject { arguments, unknown, dialect, functions };
    if arguments.problem {
        return problem::run(&subject, &name);
    }
    if arguments.dot {
        let mut out = output::Stream::new();
        subject.each(|f, block, graph| {
            let name = format!("{} {}", f.name, f.block_name(block));
            out.write(&export::dot(graph, &name, |n| print_inst(f, f.block_insts(block)[n.index()])))
        })?;
        return out.end();
    }
    if arguments.json {
        return output::print_json(&Report { schema: 1, input: &name, blocks: BlockViews(&subject) });
    }
    figures(&subject)
}

/// What the table has of a block.
struct Row {
    /// By [`COUNTED`].
    counts: [u32; COUNTED.len()],
    critical_path: u64,
    recurrence: Option<u64>,
}

const COUNTED: [&str; 11] = [
    "insts",
    "joins",
    "edges",
    EdgeKind::Raw.name(),
    EdgeKind::War.name(),
    EdgeKind::Waw.name(),
    EdgeKind::Memory.name(),
    EdgeKind::Control.name(),
    EdgeKind::Barrier.name(),
    EdgeKind::Order.name(),
    "carried",
];

impl Row {
    fn new(graph: &Graph) -> Row {
        let mut counts = [0; COUNTED.len()];
        counts[0] = graph.inst_count() as u32;
        counts[1] = (graph.node_count() - graph.inst_count()) as u32;
        counts[2] = graph.edges().len() as u32;
        for edge in graph.edges() {
            counts[3 + edge.kind as usize] += 1;
            counts[COUNTED.len() - 1] += u32::from(edge.distance > 0);
        }
        Row {
            counts,
            critical_path: Paths::new(graph).critical_length(),
            recurrence: critical_recurrence(graph).map(|r| r.cycles()),
        }
    }

    fn cells(&self, function: &str, block: &str) -> [String; COUNTED.len() + 4] {
        let recurrence = self.recurrence.map_or("-".to_owned(), |cycles| cycles.to_string());
        let texts = [function.to_owned(), block.to_owned()];
        let counts = self.counts.iter().map(u32::to_string);
        let mut cells = texts.into_iter().chain(counts).chain([self.critical_path.to_string(), recurrence]);
        std::array::from_fn(|_| cells.next().unwrap_or_default())
    }
}

/// Prints the table. Of a block only its figures are kept until all are known, and with them how wide columns are.
fn figures(subject: &Subject<'_>) -> Result<()> {
    let mut headings =
        ["function", "block"].into_iter().chain(COUNTED).chain(["critical path", "recurrence"]);
    let mut columns = Columns::new(std::array::from_fn(|_| headings.next().unwrap_or_default()), 2);
    let mut rows = Vec::new();
    let mut widest = Row { counts: [0; COUNTED.len()], critical_path: 0, recurrence: None };
    subject.each(|f, block, graph| {
        let row = Row::new(graph);
        for (most, count) in widest.counts.iter_mut().zip(row.counts) {
            *most = count.max(*most);
        }
        widest.critical_path = widest.critical_path.max(row.critical_path);
        widest.recurrence = widest.recurrence.max(row.recurrence);
        columns.fit(1, f.block_name(block));
        rows.push(row);
        anyhow::Ok(())
    })?;
    let blocks =
        |f: &Function| f.blocks().filter(|&block| subject.takes(f.block_name(block))).collect::<Vec<_>>();
    for (_, f) in subject.functions.iter().filter(|(_, f)| !blocks(f).is_empty()) {
        columns.fit(0, &f.name);
    }
    for (column, cell) in widest.cells("", "").iter().enumerate() {
        columns.fit(column, cell);
    }
    let mut out = output::Stream::new();
    out.write(&columns.heading())?;
    let mut rows = rows.iter();
    for (_, f) in &subject.functions {
        for (block, row) in blocks(f).into_iter().zip(&mut rows) {
            out.write(&columns.line(&row.cells(&f.name, f.block_name(block))))?;
        }
    }
    out.write("\njoins stand between many and many; recurrence: cycles that an iteration takes at least\n")?;
    out.end()
}

/// The functions of a file that were asked for, lifted where it holds device code.
fn load(path: &Path, selection: &Selection) -> Result<(String, Dialect, Vec<Function>)> {
    let input = match Input::read(path)? {
        Input::Text(input) => {
            let functions =
                input.functions(selection)?.into_iter().map(|text| text.function.clone()).collect();
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
