//! The order as it came, with global loads as soon as their addresses are there.

use crate::body::Body;
use crate::policies::reuse::Lines;
use sassafras_deps::Node;
use sassafras_list::{Candidates, Context, Strategy};

/// Goal: memory latency is hidden, and all else stays as the compiler had it. Priorities: bytes of a line that has been
/// started; global loads; source order. Cost: one key per node.
pub struct EarlyLoads<'b> {
    body: &'b Body,
    lines: Lines<'b>,
}

impl<'b> EarlyLoads<'b> {
    /// For a block.
    pub fn new(body: &'b Body) -> EarlyLoads<'b> {
        EarlyLoads { body, lines: Lines::new(body) }
    }
}

impl Strategy for EarlyLoads<'_> {
    type Key = [i64; 3];
    const NAME: &'static str = "early-loads";
    const COMPONENTS: &'static [&'static str] = &["same line", "global load", "source order"];
    const CANDIDATES: Candidates = Candidates::Released;

    fn key(&self, _: &Context<'_>, node: Node) -> [i64; 3] {
        let load = i64::from(self.body.nodes[node.index()].is_load);
        [self.lines.open(node), load, -i64::from(node.0)]
    }

    fn placed(&mut self, _: &Context<'_>, node: Node, changed: &mut Vec<Node>) {
        self.lines.placed(node, changed);
    }
}
