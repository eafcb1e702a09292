//! Goal: a block prepared for scheduling: its dependence graph, and what each instruction takes of the machine.

use crate::classify::{Kind, Place, Profile, kind};
use crate::code::{Code, Sources};
use crate::latency::Mined;
use crate::lines::StoreLines;
use crate::reuse::Kept;
use rustc_hash::FxHashMap;
use sassafras_deps::paths::Paths;
use sassafras_deps::{BuildOptions, Graph, Node, build};
use sassafras_ir::{Block, Inst, RegClass, Space};
use sassafras_list::{Demand, Resources, Unit};
use sassafras_machine::dispatch::Pipe;
use sassafras_machine::multiprocessor::Multiprocessor;
use smallvec::SmallVec;

/// A block to schedule.
pub struct Body {
    /// The block.
    pub block: Block,
    /// Its instructions as they came: the nodes of the graph.
    pub insts: Vec<Inst>,
    /// The dependences; with those of the next iteration when the block is a loop of its own.
    pub graph: Graph,
    /// Depths and heights.
    pub paths: Paths,
    /// Pipes, for the list engine.
    pub resources: Resources,
    /// By node.
    pub nodes: Vec<NodeFacts>,
    /// By node: the longest path to go, around the loop too.
    pub steady: Vec<i64>,
    /// By node: when what it reads from before the block is there; empty when everything is.
    pub entry: Vec<u32>,
    /// What the block does.
    pub profile: Profile,
    /// What it runs on.
    pub sm: &'static Multiprocessor,
    /// Its global stores by line.
    pub lines: StoreLines,
    /// Whether the block is a loop of its own.
    pub is_loop: bool,
}

/// What an instruction takes of the machine.
#[derive(Clone, Debug)]
pub struct NodeFacts {
    /// Pipes, each with the cycles that it takes.
    pub pipes: SmallVec<[(Pipe, u16); 2]>,
    /// Source registers by reuse flag; none for instructions that read them elsewhere.
    pub sources: Sources,
    /// General registers read at issue, in even and odd banks.
    pub banks: [u8; 2],
    /// A load from global memory.
    pub is_load: bool,
    /// General registers written: none of them is at hand any more.
    pub writes: SmallVec<[sassafras_ir::Span; 2]>,
    /// Arithmetic or transfer.
    pub kind: Kind,
    /// Cycles that it keeps its pipe.
    pub cycles: u32,
    /// How long its results take where that varies, and their lanes; elsewhere none.
    pub late: (u16, SmallVec<[u16; 4]>),
}

/// What is around a block.
pub struct Around<'f> {
    /// Whether it is a loop of its own.
    pub is_loop: bool,
    /// Where it stands.
    pub place: Place,
    /// What is under way where it starts.
    pub entry: Entry,
    /// The blocks that may follow it.
    pub following: Vec<&'f [Inst]>,
    /// Whether stores of a line are to stand together.
    pub together: bool,
}

/// Results under way where a block starts: cycles until they are there, by lane.
pub type Entry = FxHashMap<u16, u32>;

/// Bytes of a narrow access and of the widest.
const NARROW: u32 = 4;
const WIDE: u32 = 16;
/// How often a path may go around a loop before it is cut off.
const AROUND: usize = 4;

impl Body {
    /// Prepares a block by itself.
    pub fn new(code: &Code<'_>, model: &Mined<'_, '_>, block: Block, is_loop: bool) -> Body {
        let place = if is_loop { Place::Loop } else { Place::Apart };
        let around =
            Around { is_loop, place, entry: Entry::default(), following: Vec::new(), together: true };
        Body::among(code, model, block, &around)
    }

    /// Prepares a block among others.
    pub fn among(code: &Code<'_>, model: &Mined<'_, '_>, block: Block, around: &Around<'_>) -> Body {
        let f = code.f;
        let is_loop = around.is_loop;
        let insts = f.block_insts(block).to_vec();
        let mut graph = build(f, &insts, model, BuildOptions { carried: is_loop });
        let sm = Multiprocessor::of(code.arch);
        let lines = StoreLines::new(f, &insts, &around.following, sm.line);
        let orders = if around.together { lines.orders(&graph) } else { Vec::new() };
        if !orders.is_empty() {
            graph = graph.with_orders(&orders).unwrap_or(graph);
        }
        let paths = Paths::new(&graph);
        let nodes: Vec<NodeFacts> = insts.iter().map(|&inst| NodeFacts::new(code, inst, sm)).collect();
        let resources = resources(&nodes);
        let steady = steady(&graph, &paths, &nodes, is_loop);
        let entry = enter(code, &insts, &around.entry);
        let profile = Profile::new(code, &insts, around.place);
        Body { block, insts, graph, paths, resources, nodes, steady, entry, profile, sm, lines, is_loop }
    }

    /// The nodes in the order they came.
    pub fn original(&self) -> Vec<Node> {
        self.graph.insts().collect()
    }

    /// By position in an order: how many registers are read from each bank, those at hand not counted.
    pub fn fetches(&self, order: &[Node], into: &mut Vec<[u8; 2]>) {
        let mut kept = Kept::default();
        into.clear();
        into.extend(order.iter().enumerate().map(|(at, node)| {
            let facts = &self.nodes[node.index()];
            let mut banks = facts.banks;
            for (place, source) in facts.sources.iter().enumerate() {
                let Some(span) = source else { continue };
                if kept.read(place, *span, at).is_some() {
                    let bank = &mut banks[span.first().index() as usize % 2];
                    *bank = bank.saturating_sub(1);
                }
            }
            facts.writes.iter().for_each(|&span| kept.overwrite(span));
            banks
        }));
    }
}

impl NodeFacts {
    /// Looks an instruction up.
    pub fn new(code: &Code<'_>, inst: Inst, sm: &Multiprocessor) -> NodeFacts {
        let f = code.f;
        let op = code.op(inst);
        // Wide accesses keep the memory pipe for as many cycles as narrow ones of the same bytes, shared ones for fewer.
        let width = f.accesses(inst).filter_map(|(access, _)| access.width).max().unwrap_or(NARROW);
        let is_shared = f.accesses(inst).all(|(access, _)| access.space == Space::Shared);
        let widest = if is_shared { sm.wide_shared } else { WIDE / NARROW };
        let narrow = width.div_ceil(NARROW).clamp(1, widest) as u16;
        let factor = |pipe| if pipe == Pipe::Memory { narrow } else { 1 };
        let sources = if op.decoupled { Sources::default() } else { code.sources(inst) };
        let mut banks = [0; 2];
        for span in sources.iter().flatten() {
            span.lanes().for_each(|lane| banks[lane.index() as usize % 2] += 1);
        }
        let (kind, cycles) = kind(code, inst);
        let guarded = code.writes(inst).iter().filter(|touch| code.is_guarded(inst, touch));
        let late = guarded.map(|touch| touch.lane);
        let general =
            f.defs(inst).iter().filter_map(|def| def.span()).filter(|span| span.class() == RegClass::Gpr);
        NodeFacts {
            pipes: op
                .dispatch
                .pipes()
                .map(|(pipe, cycles)| (pipe, u16::from(cycles) * factor(pipe)))
                .collect(),
            sources,
            banks,
            is_load: code.loads_global(inst),
            writes: general.collect(),
            kind,
            cycles,
            late: (op.expected.write, late.collect()),
        }
    }
}

/// Longest paths with those that leave through the back edge and come in again an iteration later, for iterations as short as
/// issue and pipes allow.
fn steady(graph: &Graph, paths: &Paths, nodes: &[NodeFacts], is_loop: bool) -> Vec<i64> {
    let mut heights: Vec<i64> =
        (0..graph.node_count() as u32).map(|node| paths.height(Node(node)) as i64).collect();
    if !is_loop {
        return heights;
    }
    let mut work = [0i64; Pipe::ALL.len()];
    for &(pipe, cycles) in nodes.iter().flat_map(|node| &node.pipes) {
        work[pipe as usize] += i64::from(cycles);
    }
    let interval = work.into_iter().max().unwrap_or(0).max(nodes.len() as i64);
    for _ in 0..AROUND {
        let mut changed = false;
        for &node in graph.topological().iter().rev() {
            let longest = graph.succs(node).map(|edge| {
                heights[edge.to.index()] + i64::from(edge.latency) - i64::from(edge.distance) * interval
            });
            let longest = longest.max().unwrap_or(0);
            if longest > heights[node.index()] {
                heights[node.index()] = longest;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    heights
}

/// When what each instruction reads from before the block is there.
fn enter(code: &Code<'_>, insts: &[Inst], entry: &Entry) -> Vec<u32> {
    if entry.is_empty() {
        return Vec::new();
    }
    let mut left = entry.clone();
    insts
        .iter()
        .map(|&inst| {
            let reads = code.reads(inst).iter().filter_map(|touch| left.get(&touch.lane));
            let ready = reads.copied().max().unwrap_or(0);
            for touch in code.writes(inst) {
                left.remove(&touch.lane);
            }
            ready
        })
        .collect()
}

fn resources(nodes: &[NodeFacts]) -> Resources {
    let units = Pipe::ALL.iter().map(|pipe| Unit { name: pipe.name().to_owned(), copies: 1 }).collect();
    let mut demands: Vec<Demand> = Vec::new();
    let class_of = nodes
        .iter()
        .map(|node| {
            let units = node.pipes.iter().map(|&(pipe, cycles)| (pipe as u16, cycles)).collect();
            let demand = Demand { units };
            let at = demands.iter().position(|d| *d == demand).unwrap_or_else(|| {
                demands.push(demand);
                demands.len() - 1
            });
            at as u16
        })
        .collect();
    if demands.is_empty() {
        demands.push(Demand::default());
    }
    Resources::new(1, units, demands, class_of).expect("classes made from the demands above")
}
