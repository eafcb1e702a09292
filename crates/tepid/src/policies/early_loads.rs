//! The order as it came, with global loads as soon as their addresses are there.

use crate::body::Body;
use sassafras_deps::Node;
use sassafras_list::{Candidates, Context, Strategy};

/// Goal: memory latency is hidden, and all else stays as the compiler had it. Priorities: global
/// loads; source order. Cost: one key per node.
pub struct EarlyLoads<'b> {
    body: &'b Body,
}

impl<'b> EarlyLoads<'b> {
    /// For a block.
    pub fn new(body: &'b Body) -> EarlyLoads<'b> {
        EarlyLoads { body }
    }
}

impl Strategy for EarlyLoads<'_> {
    type Key = [i64; 2];
    const NAME: &'static str = "early-loads";
    const COMPONENTS: &'static [&'static str] = &["global load", "source order"];

    fn candidates(&self) -> Candidates {
        Candidates::Released
    }

    fn key(&self, _: &Context<'_>, node: Node) -> [i64; 2] {
        let load = i64::from(self.body.nodes[node.index()].is_load);
        [load, -i64::from(node.0)]
    }
}
