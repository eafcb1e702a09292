//! The longest path first.

use crate::strategy::{Candidates, Context, Described, Strategy};
use sassafras_problem::graph::Node;

/// Goal: a short schedule. Priorities: of what can start now, first what has the longest path still before it, then
/// what more instructions wait for, then source order. The classic list scheduler; looks at no register.
#[derive(Clone, Copy, Debug, Default)]
pub struct CriticalPath;

impl Described for CriticalPath {
    const SUMMARY: &'static str = "the longest path first";
    const SOURCE: &'static str = "the classic list scheduler";
}

impl Strategy for CriticalPath {
    type Key = [i64; 2];
    const NAME: &'static str = "critical-path";
    const COMPONENTS: &'static [&'static str] = &["critical path", "dependents"];

    fn candidates(&self) -> Candidates {
        Candidates::Ready
    }

    fn key(&self, context: &Context<'_>, node: Node) -> [i64; 2] {
        let dependents = match context.direction {
            crate::Direction::TopDown => context.graph.succs(node).len(),
            crate::Direction::BottomUp => context.graph.preds(node).len(),
        };
        [context.to_go(node) as i64, dependents as i64]
    }
}
