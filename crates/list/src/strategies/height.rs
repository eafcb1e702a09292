//! The longest path first.

use crate::strategy::{Candidates, Context, Described, Strategy};
use sassafras_problem::graph::Node;

/// Goal: a short schedule for few warps. Priorities: the longest path still to go;
/// source order. Cost: one key per node.
pub struct Height;

impl Described for Height {
    const SUMMARY: &'static str = "the longest path first, on the pipes of a sub-core";
    const SOURCE: &'static str = "the classic list scheduler";
}

impl Strategy for Height {
    type Key = [i64; 1];
    const NAME: &'static str = "height";
    const COMPONENTS: &'static [&'static str] = &["critical path"];

    fn candidates(&self) -> Candidates {
        Candidates::Ready
    }

    fn key(&self, context: &Context<'_>, node: Node) -> [i64; 1] {
        [context.to_go(node) as i64]
    }
}
