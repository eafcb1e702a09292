//! The longest path first.

use crate::body::Body;
use crate::policies::reuse::Lines;
use sassafras_deps::Node;
use sassafras_list::{Candidates, Context, Strategy};

/// Goal: a short schedule for few warps. Priorities: bytes of a line that has been started; the longest path still to go;
/// source order. Cost: one key per node.
pub struct Height<'b> {
    lines: Lines<'b>,
}

impl<'b> Height<'b> {
    /// For a block.
    pub fn new(body: &'b Body) -> Height<'b> {
        Height { lines: Lines::new(body) }
    }
}

impl Strategy for Height<'_> {
    type Key = [i64; 2];
    const NAME: &'static str = "height";
    const COMPONENTS: &'static [&'static str] = &["same line", "critical path"];
    const CANDIDATES: Candidates = Candidates::Ready;

    fn key(&self, context: &Context<'_>, node: Node) -> [i64; 2] {
        [self.lines.open(node), context.to_go(node) as i64]
    }

    fn placed(&mut self, _: &Context<'_>, node: Node, changed: &mut Vec<Node>) {
        self.lines.placed(node, changed);
    }
}
