//! As much side by side as there is.

use super::terms::{Boosted, Terms, successors};
use crate::strategy::{Candidates, Context, Described, Strategy, Ties};
use crate::weights::Weights;
use sassafras_problem::graph::{Graph, Node};

/// Goal: much that can run side by side. What many wait for comes early in the final order; growing from the end, what few wait
/// for goes first.
///
/// Priorities: successors, those that wait for the result counted a little more; source order. A join counts as one successor.
///
/// Cost: one key per node. Source: the list-schedulers document (ilpmax).
#[derive(Clone, Debug)]
pub struct IlpMax {
    terms: Terms,
    boosted: Boosted,
    priorities: Vec<i64>,
}

impl IlpMax {
    /// For a block.
    pub fn new(graph: &Graph, boosted: Boosted, terms: Terms) -> IlpMax {
        let weights = Weights::get();
        let priority =
            |(all, waiting): (i64, i64)| all * weights.ilpmax_successor + waiting * weights.ilpmax_immediate;
        let priorities = successors(graph).into_iter().map(priority).collect();
        IlpMax { terms, boosted, priorities }
    }
}

impl Described for IlpMax {
    const SUMMARY: &'static str = "as much side by side as there is";
    const KNOBS: &'static [&'static str] = &["enable-post-misched", "topo-sort-begin"];
    const SOURCE: &'static str = "list-schedulers document";
}

impl Strategy for IlpMax {
    type Key = [i64; 1];
    const NAME: &'static str = "ilpmax";
    const COMPONENTS: &'static [&'static str] = &["successors"];

    fn candidates(&self) -> Candidates {
        Candidates::Released
    }

    fn key(&self, _: &Context<'_>, node: Node) -> [i64; 1] {
        [-self.priorities[node.index()] - self.boosted.boost(node)]
    }

    fn ties(&self) -> Ties {
        self.terms.ties()
    }
}
