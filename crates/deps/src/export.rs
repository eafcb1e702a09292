//! The graph for people and programs: DOT and JSON.

use crate::graph::{Graph, Node};
use crate::paths::Paths;
use rustc_hash::FxHashSet;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use std::fmt::Write;

/// The graph as JSON has it, made while it is written: all of it at once takes many times what the graph does.
pub struct GraphView<'g, L> {
    graph: &'g Graph,
    paths: Paths,
    label: L,
}

impl<L: Fn(Node) -> String> Serialize for GraphView<'_, L> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("GraphView", 3)?;
        fields.serialize_field("nodes", &Each(|| self.nodes()))?;
        fields.serialize_field("edges", &Each(|| self.edges()))?;
        fields.serialize_field("critical_path", &self.paths.critical_length())?;
        fields.end()
    }
}

/// A list of what an iterator has.
struct Each<F>(F);

impl<I: Iterator<Item: Serialize>, F: Fn() -> I> Serialize for Each<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0())
    }
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
pub fn view<L: Fn(Node) -> String>(graph: &Graph, label: L) -> GraphView<'_, L> {
    GraphView { graph, paths: Paths::new(graph), label }
}

impl<L: Fn(Node) -> String> GraphView<'_, L> {
    /// Instructions and joins.
    pub fn nodes(&self) -> impl Iterator<Item = NodeView> {
        (0..self.graph.node_count() as u32).map(Node).map(|n| NodeView {
            id: n.0,
            text: (!self.graph.is_join(n)).then(|| (self.label)(n)),
            depth: self.paths.depth(n),
            height: self.paths.height(n),
            slack: self.paths.slack(n),
        })
    }

    /// Edges by their first node.
    pub fn edges(&self) -> impl Iterator<Item = EdgeView> {
        let operand = |end: crate::End| (end != crate::End::NONE).then_some((end.operand, end.part));
        self.graph.edges_by_node().map(move |e| EdgeView {
            from: e.from.0,
            to: e.to.0,
            kind: e.kind,
            latency: e.latency,
            distance: e.distance,
            from_operand: operand(e.from_end),
            to_operand: operand(e.to_end),
        })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::UnitLatency;
    use crate::{BuildOptions, build};
    use sassafras_ir::text;
    use std::cell::Cell;

    #[test]
    fn a_view_is_made_while_it_is_written() {
        let module =
            text::parse("func f sm_90 {\n^a:\n  R2 = MOV R1\n  R3 = MOV R2\n}\n").expect("a right text");
        let f = &module.functions[0];
        let insts = f.block_insts(f.blocks().next().expect("a block"));
        let graph = build(f, insts, &UnitLatency, BuildOptions::default());
        let named = Cell::new(0);
        let view = view(&graph, |node| {
            named.set(named.get() + 1);
            text::print_inst(f, insts[node.index()])
        });
        assert_eq!(named.get(), 0, "no text before it is wanted");
        let first = view.nodes().next().expect("a node");
        assert_eq!((first.id, first.text.as_deref(), first.height), (0, Some("R2 = MOV R1"), 1));
        assert_eq!(named.get(), 1, "and one at a time");
        let edge = view.edges().next().expect("an edge");
        assert_eq!(
            (edge.from, edge.to, edge.from_operand, edge.to_operand),
            (0, 1, Some((0, 0)), Some((1, 0)))
        );
    }
}
