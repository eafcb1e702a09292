//! Long latencies first.

use super::terms::{Boosted, Terms, latencies};
use crate::strategy::{Candidates, Context, Described, Strategy, Ties};
use sassafras_problem::graph::{EdgeKind, Graph, Node};

/// Goal: latencies hidden. Growing from the beginning, what takes longest until its result can be used starts first, and what
/// uses it comes later.
///
/// Priorities: the latency of the result plus the longest edge to a reader; source order. Both are the same number where the
/// latency is one of the producer alone.
///
/// Cost: one key per node. Source: the list-schedulers document (converge).
#[derive(Clone, Debug)]
pub struct Converge {
    terms: Terms,
    boosted: Boosted,
    /// By node.
    distances: Vec<i64>,
}

impl Converge {
    /// For a block.
    pub fn new(graph: &Graph, boosted: Boosted, terms: Terms) -> Converge {
        let mut distances = latencies(graph);
        for node in graph.insts() {
            let data = graph.succs_here(node).filter(|e| e.kind == EdgeKind::Raw);
            let longest = data.map(|e| i64::from(e.latency)).max().unwrap_or(0);
            distances[node.index()] += longest;
        }
        Converge { terms, boosted, distances }
    }
}

impl Described for Converge {
    const SUMMARY: &'static str = "long latencies first";
    const KNOBS: &'static [&'static str] =
        &["disable-sched-cycles", "enable-post-misched", "topo-sort-begin"];
    const SOURCE: &'static str = "list-schedulers document";
}

impl Strategy for Converge {
    type Key = [i64; 1];
    const NAME: &'static str = "converge";
    const COMPONENTS: &'static [&'static str] = &["latency to the next use"];

    fn candidates(&self) -> Candidates {
        self.terms.candidates()
    }

    fn key(&self, _: &Context<'_>, node: Node) -> [i64; 1] {
        [self.distances[node.index()] + self.boosted.boost(node)]
    }

    fn ties(&self) -> Ties {
        self.terms.ties()
    }
}
