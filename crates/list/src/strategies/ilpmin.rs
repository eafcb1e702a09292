//! As little side by side as can be.

use super::terms::{Boosted, Terms, successors};
use crate::strategy::{Candidates, Context, Described, Strategy, Ties};
use crate::weights::Weights;
use sassafras_problem::graph::{EdgeKind, Graph, Node};

/// Goal: chains, one after the other. What few wait for comes early in the final order; growing from the end, what opens many
/// independent ways goes first.
///
/// Priorities: the fewest successors, and the fewest pairs of them that do not depend on each other; source order. Two depend on
/// each other if one reads what the other writes. A join counts as one successor that depends on none.
///
/// Cost: pairs are counted in one pass over the edges with the readers of each successor, so linear for a bounded number of
/// operands. Source: the list-schedulers document (ilpmin).
#[derive(Clone, Debug)]
pub struct IlpMin {
    terms: Terms,
    boosted: Boosted,
    penalties: Vec<i64>,
}

impl IlpMin {
    /// For a block.
    pub fn new(graph: &Graph, boosted: Boosted, terms: Terms) -> IlpMin {
        let weights = Weights::get();
        let parallel = parallel_pairs(graph);
        let penalties = successors(graph).into_iter().zip(parallel).map(|((all, _), parallel)| {
            all * weights.ilpmin_successor + parallel.saturating_mul(weights.ilpmin_parallel)
        });
        IlpMin { terms, boosted, penalties: penalties.collect() }
    }
}

/// Per node, the pairs of its successors of which neither reads what the other writes.
///
/// All pairs less the dependent ones. Those are found from the second of a pair: of the writers it reads from (few), one is the
/// first of the pair, and who precedes both has them as a pair.
pub(super) fn parallel_pairs(graph: &Graph) -> Vec<i64> {
    let mut dependent = vec![0i64; graph.node_count()];
    // By node: whom it was last seen to precede, as first and as second of a pair.
    let mut before_second = vec![u32::MAX; graph.node_count()];
    let mut counted = vec![(u32::MAX, u32::MAX); graph.node_count()];
    for second in graph.insts() {
        for e in graph.preds_here(second) {
            before_second[e.from.index()] = second.0;
        }
        for first in graph.preds_here(second).filter(|e| e.kind == EdgeKind::Raw && !graph.is_join(e.from)) {
            for e in graph.preds_here(first.from) {
                let pair = (first.from.0, second.0);
                if before_second[e.from.index()] == second.0 && counted[e.from.index()] != pair {
                    counted[e.from.index()] = pair;
                    dependent[e.from.index()] += 1;
                }
            }
        }
    }
    let all = successors(graph).into_iter().map(|(all, _)| all.saturating_mul(all - 1) / 2);
    all.zip(dependent).map(|(all, dependent)| all - dependent).collect()
}

impl Described for IlpMin {
    const SUMMARY: &'static str = "as little side by side as can be";
    const KNOBS: &'static [&'static str] = &["enable-post-misched", "topo-sort-begin"];
    const SOURCE: &'static str = "list-schedulers document";
}

impl Strategy for IlpMin {
    type Key = [i64; 1];
    const NAME: &'static str = "ilpmin";
    const COMPONENTS: &'static [&'static str] = &["successors"];

    fn candidates(&self) -> Candidates {
        Candidates::Released
    }

    fn key(&self, _: &Context<'_>, node: Node) -> [i64; 1] {
        [self.penalties[node.index()] - self.boosted.boost(node)]
    }

    fn ties(&self) -> Ties {
        self.terms.ties()
    }
}
