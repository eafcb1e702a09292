//! Values that go around a loop, and who stands in the way of keeping them in one register.
//!
//! A loop that writes `next = f(current)` and ends with `current = next` can keep both in one register if nobody reads
//! `current` behind the first instruction that computes `next`. Growing from the end, a reader that is picked before that
//! instruction interferes: it should wait.
//!
//! A circuit is found by walking back from the instruction that carries the value, through what it reads, up to the chain limit; an
//! instruction that reads the value it carries closes it.
//!
//! Cost: per carried value as many steps as there are instructions within the chain limit. Source: the list-schedulers document
//! (interference of virtual-register cycles; `recurrence-chain-limit`).

use rustc_hash::{FxHashMap, FxHashSet};
use sassafras_problem::graph::{Edge, EdgeKind, Graph, Node};

/// The readers that should wait, and for whom.
#[derive(Clone, Debug, Default)]
pub struct RegisterCycles {
    /// By instruction that starts a circuit: the readers that wait for it.
    waiting: FxHashMap<Node, Vec<Node>>,
    /// The circuits, each with its instructions in program order.
    chains: Vec<Vec<Node>>,
    /// By node: how many circuits it still stands in the way of.
    interferes: FxHashMap<Node, u32>,
}

impl RegisterCycles {
    /// Finds circuits of at most `limit` instructions. The graph must have the edges of the next iteration.
    pub fn new(graph: &Graph, limit: u32) -> RegisterCycles {
        let mut cycles = RegisterCycles::default();
        if limit == 0 {
            return cycles;
        }
        let is_carried = |e: &&Edge| e.distance == 1 && e.kind == EdgeKind::Raw;
        let mut carriers: Vec<Node> = graph.edges().iter().filter(is_carried).map(|e| e.from).collect();
        carriers.sort_unstable();
        carriers.dedup();
        for carrier in carriers.into_iter().filter(|&node| !graph.is_join(node)) {
            let carried = graph.succs(carrier).filter(is_carried);
            let mut readers: Vec<Node> = carried.map(|e| e.to).filter(|&n| !graph.is_join(n)).collect();
            readers.sort_unstable();
            readers.dedup();
            let chain = chain(graph, carrier, &readers, limit);
            cycles.chains.extend((!chain.is_empty()).then(|| sorted(&chain)));
            for &head in chain.iter().filter(|&&node| node != carrier && readers.binary_search(&node).is_ok())
            {
                for &reader in readers.iter().filter(|reader| !chain.contains(reader)) {
                    cycles.waiting.entry(head).or_default().push(reader);
                    *cycles.interferes.entry(reader).or_default() += 1;
                }
            }
        }
        cycles
    }

    /// The circuits that were found, each with all that its value is computed from within the limit, in program order.
    pub fn chains(&self) -> &[Vec<Node>] {
        &self.chains
    }

    /// Whether picking a node now would keep a value and the one that replaces it apart.
    pub fn interferes(&self, node: Node) -> bool {
        self.interferes.get(&node).is_some_and(|&count| count > 0)
    }

    /// Follows a pick.
    pub fn placed(&mut self, node: Node, changed: &mut Vec<Node>) {
        for reader in self.waiting.remove(&node).unwrap_or_default() {
            if let Some(count) = self.interferes.get_mut(&reader) {
                *count -= 1;
            }
            changed.push(reader);
        }
    }
}

fn sorted(chain: &FxHashSet<Node>) -> Vec<Node> {
    let mut nodes: Vec<Node> = chain.iter().copied().collect();
    nodes.sort_unstable();
    nodes
}

/// What a carried value is computed from within `limit` instructions, if one of the readers is among it.
fn chain(graph: &Graph, carrier: Node, readers: &[Node], limit: u32) -> FxHashSet<Node> {
    let mut seen = FxHashSet::default();
    seen.insert(carrier);
    let mut front = vec![carrier];
    let mut closed = limit > 0 && readers.binary_search(&carrier).is_ok();
    for _ in 1..limit {
        let mut next = Vec::new();
        for node in front {
            for e in graph.preds_here(node).filter(|e| e.kind == EdgeKind::Raw && !graph.is_join(e.from)) {
                if seen.insert(e.from) {
                    closed |= readers.binary_search(&e.from).is_ok();
                    next.push(e.from);
                }
            }
        }
        front = next;
    }
    if !closed {
        seen.clear();
    }
    seen
}
