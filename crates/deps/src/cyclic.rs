//! The cyclic critical path: how many cycles one iteration of a loop takes at least, because of its recurrences.

use crate::graph::{Edge, Graph};

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

/// The circuit with the largest ratio of latency to distance; `None` when no circuit exists.
///
/// Starts below every ratio and raises the bound from circuit to circuit: for the ratio `p/q` at hand, longest paths
/// under the weights `q·latency − p·distance` either settle (then no circuit is better, and the last one found is the
/// answer) or close a circuit of positive weight, whose own ratio is larger. Edges of one iteration are relaxed in
/// topological order, so a sweep costs one pass over the edges; a circuit is noticed as soon as the tree of
/// predecessors closes.
pub fn critical_recurrence(graph: &Graph) -> Option<Recurrence> {
    // Below every ratio: a circuit of latency 0 still counts as one.
    let mut best: Option<Recurrence> = None;
    loop {
        let (p, q) = best.as_ref().map_or((-1, 1), |r| (r.latency as i128, r.distance as i128));
        match positive_circuit(graph, p, q) {
            Some(circuit) => {
                let sum =
                    |part: fn(&Edge) -> u64| circuit.iter().map(|&e| part(&graph.edges()[e as usize])).sum();
                best = Some(Recurrence {
                    latency: sum(|e| u64::from(e.latency)),
                    distance: sum(|e| u64::from(e.distance)),
                    circuit,
                });
            }
            None => return best,
        }
    }
}

const NO_EDGE: u32 = u32::MAX;

/// A circuit of positive weight `q·latency − p·distance`, if there is one.
fn positive_circuit(graph: &Graph, p: i128, q: i128) -> Option<Vec<u32>> {
    let n = graph.node_count();
    let mut longest = vec![0i128; n];
    let mut via = vec![NO_EDGE; n];
    loop {
        let mut changed = false;
        for &node in graph.topological() {
            for &i in graph.succ_edges(node) {
                let e = &graph.edges()[i as usize];
                let length = longest[node.index()] + q * i128::from(e.latency) - p * i128::from(e.distance);
                if length > longest[e.to.index()] {
                    longest[e.to.index()] = length;
                    via[e.to.index()] = i;
                    changed = true;
                }
            }
        }
        if !changed {
            return None;
        }
        if let Some(circuit) = closed_circuit(graph, &via) {
            return Some(circuit);
        }
    }
}

/// A circuit in the tree of predecessors, which has one just when some weight around a circuit is positive.
fn closed_circuit(graph: &Graph, via: &[u32]) -> Option<Vec<u32>> {
    let mut seen = vec![0u32; via.len()];
    for start in 0..via.len() {
        let walk = start as u32 + 1;
        let mut at = start;
        while seen[at] == 0 && via[at] != NO_EDGE {
            seen[at] = walk;
            at = graph.edges()[via[at] as usize].from.index();
        }
        if seen[at] == walk {
            let mut circuit = Vec::new();
            let first = at;
            loop {
                circuit.push(via[at]);
                at = graph.edges()[via[at] as usize].from.index();
                if at == first {
                    circuit.reverse();
                    return Some(circuit);
                }
            }
        }
        if via[at] == NO_EDGE {
            seen[at] = walk;
        }
    }
    None
}
