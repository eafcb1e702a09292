//! The graph for people and programs: DOT and JSON.

use crate::graph::{Graph, Node};
use crate::paths::Paths;
use rustc_hash::FxHashSet;
use serde::Serialize;
use std::fmt::Write;

/// The graph as JSON has it.
#[derive(Debug, Serialize)]
pub struct GraphView {
    /// Instructions and joins.
    pub nodes: Vec<NodeView>,
    /// Edges by their first node.
    pub edges: Vec<EdgeView>,
    /// The length of the critical path.
    pub critical_path: u64,
}

/// A node as JSON has it.
#[derive(Debug, Serialize)]
pub struct NodeView {
    /// Its number.
    pub id: u32,
    /// The instruction's text; joins have none.
    pub text: Option<String>,
    /// The earliest start.
    pub depth: u64,
    /// The longest path behind it.
    pub height: u64,
    /// How late it may be.
    pub slack: u64,
}

/// An edge as JSON has it.
#[derive(Debug, Serialize)]
pub struct EdgeView {
    /// The first node.
    pub from: u32,
    /// The second node.
    pub to: u32,
    /// Why.
    pub kind: crate::EdgeKind,
    /// How long.
    pub latency: u16,
    /// In how many iterations.
    pub distance: u8,
    /// Operand and lane at the first node, for register edges.
    pub from_operand: Option<(u8, u8)>,
    /// Operand and lane at the second node, for register edges.
    pub to_operand: Option<(u8, u8)>,
}

/// The graph with its numbers, `label` naming the instructions.
pub fn view(graph: &Graph, label: impl Fn(Node) -> String) -> GraphView {
    let paths = Paths::new(graph);
    let operand = |end: crate::End| (end != crate::End::NONE).then_some((end.operand, end.part));
    GraphView {
        nodes: (0..graph.node_count() as u32)
            .map(Node)
            .map(|n| NodeView {
                id: n.0,
                text: (!graph.is_join(n)).then(|| label(n)),
                depth: paths.depth(n),
                height: paths.height(n),
                slack: paths.slack(n),
            })
            .collect(),
        edges: graph
            .edges_by_node()
            .map(|e| EdgeView {
                from: e.from.0,
                to: e.to.0,
                kind: e.kind,
                latency: e.latency,
                distance: e.distance,
                from_operand: operand(e.from_end),
                to_operand: operand(e.to_end),
            })
            .collect(),
        critical_path: paths.critical_length(),
    }
}

/// The graph for Graphviz. Carried edges are dashed, the critical path is bold.
pub fn dot(graph: &Graph, name: &str, label: impl Fn(Node) -> String) -> String {
    let mut out = format!("digraph {} {{\n  node [shape=box, fontname=monospace];\n", quoted(name));
    for node in (0..graph.node_count() as u32).map(Node) {
        if graph.is_join(node) {
            writeln!(out, "  n{} [shape=point];", node.0).expect("writing to a string");
        } else {
            writeln!(out, "  n{} [label={}];", node.0, quoted(&label(node))).expect("writing to a string");
        }
    }
    let critical: FxHashSet<u32> = Paths::new(graph).critical_path(graph).into_iter().collect();
    let nodes = (0..graph.node_count() as u32).map(Node);
    for i in nodes.flat_map(|n| graph.succ_edges(n).iter().copied()) {
        let e = &graph.edges()[i as usize];
        let style = if e.distance > 0 {
            ", style=dashed"
        } else if critical.contains(&i) {
            ", style=bold"
        } else {
            ""
        };
        let distance = if e.distance > 0 { format!(" @{}", e.distance) } else { String::new() };
        let text = format!("{} {}{distance}", e.kind.name(), e.latency);
        writeln!(out, "  n{} -> n{} [label={}{style}];", e.from.0, e.to.0, quoted(&text))
            .expect("writing to a string");
    }
    out.push_str("}\n");
    out
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
