//! The order as it came, with global loads as soon as their addresses are there.

use crate::request::SubCore;
use crate::strategy::{Candidates, Context, Described, Strategy};
use sassafras_problem::graph::Node;

/// Goal: memory latency is hidden, and all else stays as the compiler had it. Priorities: global
/// loads; source order. Cost: one key per node.
pub struct EarlyLoads<'b> {
    machine: &'b dyn SubCore,
}

impl<'b> EarlyLoads<'b> {
    /// For a block.
    pub fn new(machine: &'b dyn SubCore) -> EarlyLoads<'b> {
        EarlyLoads { machine }
    }
}

impl Described for EarlyLoads<'_> {
    const SUMMARY: &'static str = "global loads first, and else the original order";
    const SOURCE: &'static str = "ours, measured on an H200";
}

impl Strategy for EarlyLoads<'_> {
    type Key = [i64; 2];
    const NAME: &'static str = "early-loads";
    const COMPONENTS: &'static [&'static str] = &["global load", "source order"];

    fn candidates(&self) -> Candidates {
        Candidates::Released
    }

    fn key(&self, _: &Context<'_>, node: Node) -> [i64; 2] {
        let load = i64::from(self.machine.is_global_load(node));
        [load, -i64::from(node.0)]
    }
}
