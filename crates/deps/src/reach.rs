//! Reachability and transitive reduction inside one iteration. Both cost more than linear; neither is needed to
//! schedule.

use crate::graph::{Graph, Node};
use fixedbitset::FixedBitSet;
use thiserror::Error;

/// The closure would not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("reachability of {nodes} nodes would take {bytes} bytes, more than {limit}")]
pub struct TooLarge {
    /// Nodes of the graph.
    pub nodes: usize,
    /// What it would take.
    pub bytes: usize,
    /// What is allowed.
    pub limit: usize,
}

/// Which node can be reached from which.
#[derive(Clone, Debug)]
pub struct Reachability {
    rows: Vec<FixedBitSet>,
}

impl Reachability {
    /// The most memory that a closure may take.
    pub const LIMIT: usize = 1 << 30;

    /// One bit per pair; `edges × nodes / 64` steps.
    pub fn new(graph: &Graph) -> Result<Reachability, TooLarge> {
        let nodes = graph.node_count();
        let bytes = nodes.saturating_mul(nodes.div_ceil(8));
        if bytes > Self::LIMIT {
            return Err(TooLarge { nodes, bytes, limit: Self::LIMIT });
        }
        let mut rows = vec![FixedBitSet::with_capacity(nodes); nodes];
        for &node in graph.topological().iter().rev() {
            let mut row = std::mem::take(&mut rows[node.index()]);
            for e in graph.succs_here(node) {
                row.insert(e.to.index());
                row.union_with(&rows[e.to.index()]);
            }
            rows[node.index()] = row;
        }
        Ok(Reachability { rows })
    }

    /// Whether a path of at least one edge leads from `from` to `to`.
    pub fn reaches(&self, from: Node, to: Node) -> bool {
        self.rows[from.index()].contains(to.index())
    }
}

/// Positions in [`Graph::edges`] of the edges that no other path implies: an edge of latency `l` goes when another path
/// between its ends is at least `l` long. Of edges that imply each other (the same ends and latency) the first stays.
/// Longest paths do not change. Carried edges all stay.
///
/// Per node one sweep over what lies between it and its furthest successor: quadratic at worst, near-linear for code
/// whose results are used nearby.
pub fn reduced_edges(graph: &Graph) -> Vec<u32> {
    let n = graph.node_count();
    let mut place = vec![0u32; n];
    for (i, node) in graph.topological().iter().enumerate() {
        place[node.index()] = i as u32;
    }
    let mut kept = Vec::new();
    // Longest path from the present node by place, valid where `stamp` names the node.
    let mut longest = vec![0u64; n];
    let mut stamp = vec![u32::MAX; n];
    for node in (0..n as u32).map(Node) {
        let edges: Vec<crate::Edge> = graph.succs(node).copied().collect();
        let here = place[node.index()];
        let furthest = edges.iter().filter(|e| e.distance == 0).map(|e| place[e.to.index()]).max();
        longest[here as usize] = 0;
        stamp[here as usize] = node.0;
        for at in here..=furthest.unwrap_or(here) {
            if stamp[at as usize] != node.0 {
                continue;
            }
            let through = graph.topological()[at as usize];
            for e in graph.succs_here(through) {
                let to = place[e.to.index()] as usize;
                let length = longest[at as usize] + u64::from(e.latency);
                if stamp[to] != node.0 || longest[to] < length {
                    (stamp[to], longest[to]) = (node.0, length);
                }
            }
        }
        for (i, e) in edges.iter().enumerate() {
            let direct_twin =
                |other: &crate::Edge| other.distance == 0 && other.to == e.to && other.latency == e.latency;
            let implied = e.distance == 0
                && (longest[place[e.to.index()] as usize] > u64::from(e.latency)
                    || edges[..i].iter().any(direct_twin)
                    || other_path_as_long(graph, node, e, &place, &longest, &stamp));
            if !implied {
                kept.push(graph.succ_edges(node)[i]);
            }
        }
    }
    kept.sort_unstable();
    kept
}

/// Whether the last step of a path of the edge's own length comes from another node.
fn other_path_as_long(
    graph: &Graph,
    node: Node,
    edge: &crate::Edge,
    place: &[u32],
    longest: &[u64],
    stamp: &[u32],
) -> bool {
    graph.preds_here(edge.to).any(|last| {
        let from = place[last.from.index()] as usize;
        last.from != node
            && stamp[from] == node.0
            && longest[from] + u64::from(last.latency) >= u64::from(edge.latency)
    })
}
