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
///
/// Where an iteration waits for the one before in many places, edges from the end of the one to the middle of the other
/// cut long ways short at the end of every sweep, and what closes is each time a cycle longer. So after a few circuits
/// those edges come first in a sweep, and the tree is looked at when the longest ways behind them are known.
pub fn critical_recurrence(graph: &Graph) -> Option<Recurrence> {
    circuits(graph).last()
}

/// So many circuits are looked for with all edges of a node at once.
const AT_ONCE: u32 = 64;

/// Circuits with larger and larger ratios; the last one has the largest.
fn circuits(graph: &Graph) -> impl Iterator<Item = Recurrence> {
    // Below every ratio: a circuit of latency 0 still counts as one.
    let (mut found, mut p, mut q) = (0u32, -1, 1);
    std::iter::from_fn(move || {
        let circuit = positive_circuit(graph, (p, q), found < AT_ONCE)?;
        let sum = |part: fn(&Edge) -> u64| circuit.iter().map(|&e| part(&graph.edges()[e as usize])).sum();
        let (latency, distance): (u64, u64) = (sum(|e| u64::from(e.latency)), sum(|e| u64::from(e.distance)));
        (found, p, q) = (found + 1, i128::from(latency), i128::from(distance));
        Some(Recurrence { latency, distance, circuit })
    })
}

const NO_EDGE: u32 = u32::MAX;

/// A circuit of positive weight `q·latency − p·distance`, if there is one. Edges to later iterations are relaxed with the
/// others of their node, or before all others.
fn positive_circuit(graph: &Graph, (p, q): (i128, i128), at_once: bool) -> Option<Vec<u32>> {
    let n = graph.node_count();
    let mut longest = vec![0i128; n];
    let mut via = vec![NO_EDGE; n];
    let relax = |longest: &mut [i128], via: &mut [u32], takes: fn(&Edge) -> bool| {
        let mut changed = false;
        for &node in graph.topological() {
            for &i in graph.succ_edges(node) {
                let e = &graph.edges()[i as usize];
                let length = longest[node.index()] + q * i128::from(e.latency) - p * i128::from(e.distance);
                if length > longest[e.to.index()] && takes(e) {
                    longest[e.to.index()] = length;
                    via[e.to.index()] = i;
                    changed = true;
                }
            }
        }
        changed
    };
    loop {
        let changed = match at_once {
            true => relax(&mut longest, &mut via, |_| true),
            false => {
                let across = relax(&mut longest, &mut via, |e| e.distance > 0);
                relax(&mut longest, &mut via, |e| e.distance == 0) || across
            }
        };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::UnitLatency;
    use crate::{BuildOptions, build};
    use sassafras_ir::text;

    /// Every result but the last is overwritten, and all read what the end of the iteration writes: a circuit from each of them to the
    /// end, and every one is a cycle longer than the next.
    #[test]
    fn a_ladder_of_circuits_is_not_climbed_step_by_step() {
        const STEPS: u64 = 3000;
        let body = "  R8 = IMAD R4, R5\n".repeat(STEPS as usize);
        let source = format!("func f sm_90 {{\n^a:\n{body}  R4 = IADD3 R4, R8\n  @P0 BRA ^a !branch\n}}\n");
        let module = text::parse(&source).expect("a right text");
        let f = &module.functions[0];
        let insts = f.block_insts(f.blocks().next().expect("a block"));
        let graph = build(f, insts, &UnitLatency, BuildOptions { carried: true });
        let found: Vec<Recurrence> = circuits(&graph).collect();
        let best = found.last().expect("a recurrence");
        assert_eq!((best.latency, best.distance), (STEPS + 1, 1));
        assert!(found.len() < AT_ONCE as usize + 10, "{}", found.len());
    }
}
