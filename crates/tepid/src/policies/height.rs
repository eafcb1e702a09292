//! The longest path first.

use sassafras_deps::Node;
use sassafras_list::{Candidates, Context, Strategy};

/// Goal: a short schedule for few warps. Priorities: the longest path still to go;
/// source order. Cost: one key per node.
pub struct Height;

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
