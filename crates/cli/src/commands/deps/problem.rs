//! `sassafras deps --problem`: loops as modulo schedulers are given them.

use super::Subject;
use crate::output;
use anyhow::Result;
use sassafras_deps::models::Latencies;
use sassafras_deps::overlap::{Registers, overlapping};
use sassafras_deps::paths::Paths;
use sassafras_deps::{BuildOptions, Graph, build};
use sassafras_ir::cfg::Cfg;
use sassafras_ir::text::print_inst;
use sassafras_ir::{Block, Function};
use sassafras_list::strategies::CriticalPath;
use sassafras_list::{self as list, Direction, Resources};
use sassafras_machine::Arch;
use sassafras_modulo::{Op, Options, Problem, Resource, Schedule, bounds, iterative};
use sassafras_passes::resources::UnitTable;
use serde::Serialize;
use serde::ser::SerializeSeq;

/// The JSON form. Bump `schema` when a field changes its meaning or goes away.
#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    input: &'a str,
    /// Blocks that do not branch to themselves are left out.
    loops: Loops<'a>,
}

/// Each loop is scheduled when it is its turn to be written.
struct Loops<'a>(&'a Subject<'a>);

impl Serialize for Loops<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        each(self.0, |view| list.serialize_element(&view))?;
        list.end()
    }
}

/// A loop as a problem, with what is known about its solution.
#[derive(Serialize)]
struct View<'a> {
    function: &'a str,
    block: &'a str,
    /// Whether the edges are those of registers that were renamed: no write waits for a read or a write of its register.
    renamed: bool,
    /// How many of the operations are instructions: the first so many. The others are joins, which take no time.
    instructions: usize,
    operations: Vec<Operation>,
    resources: Vec<Capacity>,
    edges: Vec<Dependence>,
    /// The least initiation interval that resources and recurrences allow.
    mii: u64,
    resource_mii: u64,
    recurrence_mii: u64,
    /// [`View::recurrence_mii`] with registers renamed.
    recurrence_mii_renamed: u64,
    /// What makes `mii` as large as it is.
    reason: String,
    critical_recurrence: Option<Critical>,
    /// The interval of iterations that do not overlap, each in the order of a list scheduler.
    repeated_ii: u32,
    schedule: Found,
}

#[derive(Serialize)]
struct Operation {
    id: u32,
    /// Joins have none.
    text: Option<String>,
    uses: Vec<Held>,
}

#[derive(Serialize)]
struct Held {
    resource: u32,
    start: u32,
    rows: u32,
    units: u32,
}

#[derive(Serialize)]
struct Capacity {
    id: u32,
    name: String,
    capacity: u32,
}

#[derive(Serialize)]
struct Dependence {
    from: u32,
    to: u32,
    kind: &'static str,
    latency: i32,
    distance: u32,
}

#[derive(Serialize)]
struct Critical {
    latency: i64,
    distance: i64,
    /// Positions in `edges`, each edge starting where the one before ends.
    edges: Vec<usize>,
}

#[derive(Serialize)]
struct Found {
    ii: u32,
    stages: i64,
    /// Whether iterations overlap; otherwise it is the list scheduler's order, repeated.
    overlaps: bool,
    /// Whether it is known that no smaller interval exists.
    optimal: bool,
    explanation: String,
    starts: Vec<Start>,
}

/// When an instruction starts: `time` is `stage · ii + row`, the first being 0.
#[derive(Serialize)]
struct Start {
    id: u32,
    time: i64,
    row: i64,
    stage: i64,
}

pub(super) fn run(subject: &Subject<'_>, name: &str) -> Result<()> {
    if subject.arguments.json {
        return output::print_json(&Report { schema: 1, input: name, loops: Loops(subject) });
    }
    let mut out = output::Stream::new();
    let mut loops = 0;
    each(subject, |view| {
        out.write(if loops > 0 { "\n" } else { "" })?;
        loops += 1;
        out.write(&text(&view))
    })?;
    if loops == 0 {
        out.write("no block branches to itself: there is no loop to overlap\n")?;
    }
    out.end()
}

/// Calls `look` for every selected block that branches to itself.
fn each<E>(subject: &Subject<'_>, mut look: impl FnMut(View<'_>) -> Result<(), E>) -> Result<(), E> {
    let source = subject.arguments.latency.into();
    for (arch, f) in &subject.functions {
        let arch: Arch = *arch;
        let cfg = Cfg::new(f);
        let is_loop = |block: &Block| cfg.succs(*block).contains(block);
        let mut loops =
            f.blocks().filter(|block| is_loop(block) && subject.takes(f.block_name(*block))).peekable();
        if loops.peek().is_none() {
            continue;
        }
        let latencies =
            Latencies::new(source, f, arch, subject.unknown, |opcode| subject.dialect.machine_name(opcode));
        let units = UnitTable::new(f, arch, source, subject.dialect);
        for block in loops {
            let insts = f.block_insts(block);
            let whole = build(f, insts, &latencies, BuildOptions { carried: true });
            let resources = units.resources(f, insts);
            let renamed = overlapping(&whole, f, insts, Registers::Renamed);
            let recurrence_mii_renamed = bounds(&problem(&renamed, &resources)).recurrence;
            let graph = match subject.arguments.renamed {
                true => renamed,
                false => overlapping(&whole, f, insts, Registers::AsTheyAre),
            };
            let loop_view = view(f, block, &graph, &resources);
            let renamed = subject.arguments.renamed;
            look(View { renamed, recurrence_mii_renamed, ..loop_view })?;
        }
    }
    Ok(())
}

/// Operations are called what the other forms of this command call nodes.
fn problem(graph: &Graph, resources: &Resources) -> Problem {
    resources.problem(graph, |node| format!("n{}", node.0))
}

/// All but what the caller knows.
fn view<'f>(f: &'f Function, block: Block, graph: &Graph, resources: &Resources) -> View<'f> {
    let insts = f.block_insts(block);
    let problem = &problem(graph, resources);
    let order =
        list::schedule(graph, &Paths::new(graph), resources, Direction::TopDown, &mut CriticalPath).order;
    let repeated = list::repeated(graph, resources, &order);
    let repeated_ii = repeated.ii;
    let bounds = bounds(problem);
    let overlapped = overlap(problem, repeated_ii);
    let reason = bounds.reason().explain(problem);
    let (optimal, explanation) = match &overlapped {
        Ok(found) => (found.is_optimal(), found.explain(problem)),
        Err(_) if u64::from(repeated_ii) == bounds.mii() => {
            (true, format!("II {repeated_ii} is the least there is: {reason}"))
        }
        Err(why) => {
            (false, format!("II {repeated_ii}, where the bound is {}: {reason}; {why}", bounds.mii()))
        }
    };
    let overlaps = overlapped.is_ok();
    let schedule = overlapped.map_or(repeated, |found| found.schedule);
    let schedule = Found { overlaps, optimal, explanation, ..rows(&schedule, insts.len()) };
    let text = |op: Op| insts.get(op.as_u32() as usize).map(|&inst| print_inst(f, inst));
    let held = |op: Op| {
        let uses = problem.uses(op).iter();
        uses.map(|u| Held { resource: u.resource.as_u32(), start: u.start, rows: u.rows, units: u.units })
            .collect()
    };
    let used = |r: &Resource| problem.ops().any(|op| problem.uses(op).iter().any(|u| u.resource == *r));
    let edges = problem.edges().iter().zip(graph.edges());
    View {
        function: &f.name,
        block: f.block_name(block),
        renamed: false,
        instructions: insts.len(),
        operations: problem
            .ops()
            .map(|op| Operation { id: op.as_u32(), text: text(op), uses: held(op) })
            .collect(),
        resources: problem
            .resources()
            .filter(used)
            .map(|r| Capacity {
                id: r.as_u32(),
                name: problem.resource_name(r).to_owned(),
                capacity: problem.capacity(r),
            })
            .collect(),
        edges: edges
            .map(|(e, why)| Dependence {
                from: e.from.as_u32(),
                to: e.to.as_u32(),
                kind: why.kind.name(),
                latency: e.latency,
                distance: e.distance,
            })
            .collect(),
        mii: bounds.mii(),
        resource_mii: bounds.resource,
        recurrence_mii: bounds.recurrence,
        recurrence_mii_renamed: 0,
        reason,
        critical_recurrence: bounds.critical.map(|r| Critical {
            latency: r.latency,
            distance: r.distance,
            edges: r.edges,
        }),
        repeated_ii,
        schedule,
    }
}

/// Up to so many operations iterations are made to overlap: time and memory of the longest paths between all of them grow with
/// the cube and the square.
const LARGEST: usize = 512;

/// A schedule of a smaller interval than is known, or why there is none.
fn overlap(problem: &Problem, known: u32) -> Result<iterative::Found, String> {
    let operations = problem.ops().len();
    if operations > LARGEST {
        return Err(format!(
            "{operations} operations are more than {LARGEST}, and none were made to overlap"
        ));
    }
    let options = Options { max_ii: known.checked_sub(1), ..Options::default() };
    iterative::schedule(problem, &options).map_err(|_| "no smaller interval was found".to_owned())
}

/// When instructions start; the caller knows the rest.
fn rows(schedule: &Schedule, instructions: usize) -> Found {
    let ii = i64::from(schedule.ii.max(1));
    let times = &schedule.times[..instructions];
    // Counted from the first stage that has an instruction.
    let first = times.iter().map(|t| t.div_euclid(ii)).min().unwrap_or(0) * ii;
    let starts = (0..).zip(times).map(|(id, time)| {
        let time = time - first;
        Start { id, time, row: time.rem_euclid(ii), stage: time.div_euclid(ii) }
    });
    let starts: Vec<Start> = starts.collect();
    let stages = starts.iter().map(|s| s.stage + 1).max().unwrap_or(0);
    Found { ii: schedule.ii, stages, overlaps: false, optimal: false, explanation: String::new(), starts }
}

/// The figures of a loop, its critical recurrence edge by edge, and the kernel row by row.
fn text(view: &View<'_>) -> String {
    let mut out = String::new();
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    let carried = view.edges.iter().filter(|e| e.distance > 0).count();
    let joins = view.operations.len() - view.instructions;
    let renamed = if view.renamed { ", registers renamed" } else { "" };
    line(format!("`{}`, block `{}`{renamed}", view.function, view.block));
    line(format!(
        "  {} instructions, {joins} joins, {} edges, {carried} of them to the next iteration",
        view.instructions,
        view.edges.len()
    ));
    line(format!(
        "  MII {}: resources {}, recurrences {} ({} with registers renamed)",
        view.mii, view.resource_mii, view.recurrence_mii, view.recurrence_mii_renamed
    ));
    if let Some(critical) = &view.critical_recurrence {
        line(format!(
            "  critical recurrence: {} cycles in {}",
            critical.latency,
            plural(critical.distance, "iteration")
        ));
        for &edge in &critical.edges {
            let e = &view.edges[edge];
            let later = if e.distance > 0 {
                format!(", {} later", plural(e.distance.into(), "iteration"))
            } else {
                String::new()
            };
            line(format!("    {}: {} {}{later} to n{}", label(view, e.from), e.kind, e.latency, e.to));
        }
    }
    line(format!("  iterations one behind the other: II {}", view.repeated_ii));
    let found = &view.schedule;
    line(format!("  {}; {}", found.explanation, plural(found.stages, "stage")));
    line("  row  stage  instruction".to_owned());
    let mut starts: Vec<&Start> = found.starts.iter().collect();
    starts.sort_by_key(|s| (s.row, s.stage, s.id));
    for s in starts {
        line(format!("  {:>3}  {:>5}  {}", s.row, s.stage, label(view, s.id)));
    }
    out
}

fn plural(count: i64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn label(view: &View<'_>, id: u32) -> String {
    let text = view.operations.get(id as usize).and_then(|op| op.text.as_deref());
    format!("n{id} {}", text.unwrap_or("(join)"))
}
