//! Heights, depths, slack and the critical path of one iteration.

use crate::cyclic::Recurrence;
use crate::graph::{Graph, Node};

/// Longest paths to and from every node, in the unit of the edges' latencies.
#[derive(Clone, Debug)]
pub struct Paths {
    depth: Vec<u64>,
    height: Vec<u64>,
    length: u64,
}

impl Paths {
    /// Two sweeps over the edges. Linear.
    pub fn new(graph: &Graph) -> Paths {
        let mut depth = vec![0u64; graph.node_count()];
        let mut height = vec![0u64; graph.node_count()];
        for &node in graph.topological() {
            let here = depth[node.index()];
            for e in graph.succs_here(node) {
                let to = &mut depth[e.to.index()];
                *to = (*to).max(here + u64::from(e.latency));
            }
        }
        for &node in graph.topological().iter().rev() {
            height[node.index()] = graph
                .succs_here(node)
                .map(|e| height[e.to.index()] + u64::from(e.latency))
                .max()
                .unwrap_or(0);
        }
        let length = height.iter().copied().max().unwrap_or(0);
        Paths { depth, height, length }
    }

    /// The same with what follows in the next iteration: a node on the recurrence is followed by a whole turn of it. What leads to such
    /// a node is as much longer. Linear.
    #[must_use]
    pub fn around(mut self, graph: &Graph, recurrence: &Recurrence) -> Paths {
        for &edge in &recurrence.circuit {
            let node = graph.edges()[edge as usize].from;
            self.height[node.index()] += recurrence.cycles();
        }
        for &node in graph.topological().iter().rev() {
            let through =
                graph.succs_here(node).map(|e| self.height[e.to.index()] + u64::from(e.latency)).max();
            self.height[node.index()] = self.height[node.index()].max(through.unwrap_or(0));
        }
        let ways = self.depth.iter().zip(&self.height).map(|(depth, height)| depth + height);
        self.length = ways.max().unwrap_or(0);
        self
    }

    /// The earliest cycle the node can start in.
    pub fn depth(&self, node: Node) -> u64 {
        self.depth[node.index()]
    }

    /// The longest path from the node's start to the start of anything that waits for it.
    pub fn height(&self, node: Node) -> u64 {
        self.height[node.index()]
    }

    /// By how much the node can be late without making the whole longer.
    pub fn slack(&self, node: Node) -> u64 {
        self.length - (self.depth[node.index()] + self.height[node.index()])
    }

    /// The length of the longest path.
    pub fn critical_length(&self) -> u64 {
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
                    && self.height[e.to.index()] + u64::from(e.latency) == self.height[node.index()]
            });
            path.extend(next);
            at = next.map(|i| graph.edges()[i as usize].to);
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Edge, EdgeKind, End};

    #[test]
    fn long_chains_of_long_latencies_have_their_length() {
        const LINKS: u32 = 70_000; // of 65,535 cycles each: more than 32 bits hold
        let link = |n| Edge {
            from: Node(n),
            to: Node(n + 1),
            latency: u16::MAX,
            kind: EdgeKind::Raw,
            distance: 0,
            from_end: End::NONE,
            to_end: End::NONE,
        };
        let graph = Graph::of_edges(LINKS + 1, (0..LINKS).map(link).collect()).expect("no circle");
        let paths = Paths::new(&graph);
        assert_eq!(paths.critical_length(), u64::from(LINKS) * u64::from(u16::MAX));
        assert!(graph.insts().all(|n| paths.slack(n) == 0));
        assert_eq!(paths.critical_path(&graph).len() as u32, LINKS);
    }
}
