//! The cyclic critical path of a graph: how many cycles one iteration of a loop takes at least, because of its recurrences.

use crate::circuit::{self, Arc, Floor};
use crate::graph::Graph;

/// The recurrence that bounds a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recurrence {
    /// The sum of the latencies around the circuit.
    pub latency: u64,
    /// The sum of the distances around it; at least 1.
    pub distance: u64,
    /// The circuit, as positions in [`Graph::edges`], each edge starting where the one before ends.
    pub circuit: Vec<u32>,
}

impl Recurrence {
    /// Cycles per iteration, rounded up.
    pub fn cycles(&self) -> u64 {
        self.latency.div_ceil(self.distance)
    }
}

/// The circuit with the largest ratio of latency to distance; `None` when no circuit exists. One of latency 0 counts.
///
/// [`circuit`] has the search; edges go into it in topological order.
pub fn critical_recurrence(graph: &Graph) -> Option<Recurrence> {
    if graph.edges().iter().all(|e| e.distance == 0) {
        return None;
    }
    let leaving = graph.topological().iter().flat_map(|&node| graph.succ_edges(node));
    let arcs: Vec<Arc> = leaving
        .map(|&edge| {
            let e = &graph.edges()[edge as usize];
            let (latency, distance) = (i32::from(e.latency), u32::from(e.distance));
            Arc { from: e.from.0, to: e.to.0, latency, distance, edge }
        })
        .collect();
    let found = circuit::critical(graph.node_count(), &arcs, Floor::AnyLatency)?;
    let distance = found.distance.unsigned_abs();
    Some(Recurrence { latency: found.latency.unsigned_abs(), distance, circuit: found.edges })
}
