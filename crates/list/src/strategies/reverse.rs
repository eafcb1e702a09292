//! The order as it came, backwards as far as dependences allow.

use crate::strategy::{Candidates, Context, Described, Strategy};
use sassafras_problem::graph::Node;

/// Goal: an order as far from the one that came as can be, to find faults. Priority: the last of the source. Cost: one key per
/// node. Source: the ptxas-scheduling document's debug switches.
pub struct Reverse;

impl Described for Reverse {
    const SUMMARY: &'static str = "the last of the source first, to find faults";
    const SOURCE: &'static str = "ptxas-scheduling document";
}

impl Strategy for Reverse {
    type Key = [i64; 1];
    const NAME: &'static str = "reverse";
    const COMPONENTS: &'static [&'static str] = &["last of the source"];

    fn candidates(&self) -> Candidates {
        Candidates::Released
    }

    fn key(&self, _: &Context<'_>, node: Node) -> [i64; 1] {
        [i64::from(node.0)]
    }
}
