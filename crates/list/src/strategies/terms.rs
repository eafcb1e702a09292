//! What the seven strategies have in common: their switches, and facts about the graph that keys are made of.

use crate::strategy::{Candidates, Ties};
use crate::weights::Weights;
use fixedbitset::FixedBitSet;
use sassafras_problem::graph::{EdgeKind, Graph, Node};

/// Switches of the strategies, as the knobs of the same names have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The critical path counts in `list-ilp`.
    pub critical_path: bool,
    /// The critical path as scheduled so far counts in `list-ilp`.
    pub scheduled_height: bool,
    /// Live ranges count.
    pub register_pressure: bool,
    /// Operands that are live anyway count in `list-ilp`.
    pub live_uses: bool,
    /// Free units count in `list-ilp`.
    pub stalls: bool,
    /// Physical registers that are read soon after they were written count in `list-ilp`.
    pub physical_join: bool,
    /// Readers of values that go around a loop wait.
    pub register_cycles: bool,
    /// Operands must have arrived.
    pub cycles: bool,
    /// Equal keys fall back to source order, not to the order in which nodes were released.
    pub sorted: bool,
    /// Picks in a row that `list-ilp` may make beside the critical path.
    pub max_reorder: u32,
    /// Cycles of slack up to which a node counts as on the critical path.
    pub lookahead: u64,
    /// Longest chain of a register cycle.
    pub chain_limit: u32,
    /// Registers that there are for a thread.
    pub budget: i64,
}

impl Default for Terms {
    fn default() -> Terms {
        Terms {
            critical_path: true,
            scheduled_height: true,
            register_pressure: true,
            live_uses: true,
            stalls: true,
            physical_join: true,
            register_cycles: true,
            cycles: true,
            sorted: true,
            max_reorder: 6,
            lookahead: 6,
            chain_limit: 3,
            budget: 255,
        }
    }
}

impl Terms {
    /// What strategies choose from that look at cycles unless told not to.
    pub(super) fn candidates(&self) -> Candidates {
        if self.cycles { Candidates::Fed } else { Candidates::Released }
    }

    /// What decides between equal keys.
    pub(super) fn ties(&self) -> Ties {
        if self.sorted { Ties::Source } else { Ties::Release }
    }
}

/// Asynchronous tensor copies of a block, which should start early.
#[derive(Clone, Debug, Default)]
pub struct Boosted(FixedBitSet);

impl Boosted {
    /// Those nodes.
    pub fn new(graph: &Graph, nodes: impl IntoIterator<Item = Node>) -> Boosted {
        let mut bits = FixedBitSet::with_capacity(graph.node_count());
        bits.extend(nodes.into_iter().map(Node::index));
        Boosted(bits)
    }

    /// By how much a node should come earlier in the final order.
    pub(super) fn boost(&self, node: Node) -> i64 {
        if self.0.contains(node.index()) { Weights::get().async_tensor_boost } else { 0 }
    }
}

/// The latency of a node's result: the most that a reader waits for it. What nobody reads takes no time.
pub(super) fn latencies(graph: &Graph) -> Vec<i64> {
    let mut latencies = vec![0; graph.node_count()];
    for e in graph.edges().iter().filter(|e| e.kind == EdgeKind::Raw && e.distance == 0) {
        let latency = &mut latencies[e.from.index()];
        *latency = i64::from(e.latency).max(*latency);
    }
    latencies
}

/// Per node, how many others wait for it, and how many of those wait for its result. Joins count as others.
pub(super) fn successors(graph: &Graph) -> Vec<(i64, i64)> {
    let mut counts = vec![(0, 0); graph.node_count()];
    // By node: for whom it was counted last, on either side.
    let mut seen = vec![(u32::MAX, u32::MAX); graph.node_count()];
    for to in (0..graph.node_count() as u32).map(Node) {
        for e in graph.preds_here(to) {
            let (count, seen) = (&mut counts[e.from.index()], &mut seen[e.from.index()]);
            count.0 += i64::from(std::mem::replace(&mut seen.0, to.0) != to.0);
            if e.kind == EdgeKind::Raw && e.latency > 0 {
                count.1 += i64::from(std::mem::replace(&mut seen.1, to.0) != to.0);
            }
        }
    }
    counts
}

/// Of the parts of two sums, the one that speaks most for the first.
pub(super) fn largest_difference<const N: usize>(chosen: [i64; N], next: [i64; N]) -> Option<usize> {
    let differences = chosen.into_iter().zip(next).map(|(a, b)| a.saturating_sub(b));
    let best = differences.enumerate().max_by_key(|&(at, difference)| (difference, std::cmp::Reverse(at)));
    best.filter(|&(_, difference)| difference > 0).map(|(at, _)| at)
}
