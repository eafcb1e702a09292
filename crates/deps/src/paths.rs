//! Heights, depths, slack and the critical path of one iteration.

use crate::graph::{Graph, Node};

/// Longest paths to and from every node, in the unit of the edges' latencies.
#[derive(Clone, Debug)]
pub struct Paths {
    depth: Vec<u32>,
    height: Vec<u32>,
    length: u32,
}

impl Paths {
    /// Two sweeps over the edges. Linear.
    pub fn new(graph: &Graph) -> Paths {
        let mut depth = vec![0u32; graph.node_count()];
        let mut height = vec![0u32; graph.node_count()];
        for &node in graph.topological() {
            let here = depth[node.index()];
            for e in graph.succs_here(node) {
                let to = &mut depth[e.to.index()];
                *to = (*to).max(here.saturating_add(u32::from(e.latency)));
            }
        }
        for &node in graph.topological().iter().rev() {
            height[node.index()] = graph
                .succs_here(node)
                .map(|e| height[e.to.index()].saturating_add(u32::from(e.latency)))
                .max()
                .unwrap_or(0);
        }
        let length = height.iter().copied().max().unwrap_or(0);
        Paths { depth, height, length }
    }

    /// The earliest cycle the node can start in.
    pub fn depth(&self, node: Node) -> u32 {
        self.depth[node.index()]
    }

    /// The longest path from the node's start to the start of anything that waits for it.
    pub fn height(&self, node: Node) -> u32 {
        self.height[node.index()]
    }

    /// By how much the node can be late without making the whole longer.
    pub fn slack(&self, node: Node) -> u32 {
        self.length - (self.depth[node.index()] + self.height[node.index()])
    }

    /// The length of the longest path.
    pub fn critical_length(&self) -> u32 {
        self.length
    }

    /// One longest path, as positions in [`Graph::edges`]; joins are on it too. Of several the one that leaves the
    /// earliest node first.
    pub fn critical_path(&self, graph: &Graph) -> Vec<u32> {
        let start = graph.topological().iter().copied().find(|n| self.height[n.index()] == self.length);
        let mut path = Vec::new();
        let mut at = start;
        while let Some(node) = at {
            let next = graph.succ_edges(node).iter().copied().find(|&i| {
                let e = &graph.edges()[i as usize];
                e.distance == 0
                    && self.height[e.to.index()] + u32::from(e.latency) == self.height[node.index()]
            });
            path.extend(next);
            at = next.map(|i| graph.edges()[i as usize].to);
        }
        path
    }
}
