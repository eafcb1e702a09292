//! The longest path first, around the loop.

use crate::body::Body;
use sassafras_deps::Node;
use sassafras_list::{Candidates, Context, Strategy};

/// Goal: a short iteration in the steady state of a loop, not in one pass. Priorities: the
/// longest path still to go, into later iterations too; the pipe with most work; source order. Cost: one key per node.
pub struct Steady<'b> {
    body: &'b Body,
    /// By pipe: its work in one iteration.
    work: [i64; crate::fields::PIPES],
}

impl<'b> Steady<'b> {
    /// For a block.
    pub fn new(body: &'b Body) -> Steady<'b> {
        let mut work = [0; crate::fields::PIPES];
        for &(pipe, cycles) in body.nodes.iter().flat_map(|node| &node.pipes) {
            work[pipe as usize] += i64::from(cycles);
        }
        Steady { body, work }
    }
}

impl Strategy for Steady<'_> {
    type Key = [i64; 2];
    const NAME: &'static str = "steady";
    const COMPONENTS: &'static [&'static str] = &["critical cycle", "busy pipe"];

    fn candidates(&self) -> Candidates {
        Candidates::Ready
    }

    fn key(&self, _: &Context<'_>, node: Node) -> [i64; 2] {
        let pipes = &self.body.nodes[node.index()].pipes;
        let pressure = pipes.iter().map(|&(pipe, _)| self.work[pipe as usize]).max().unwrap_or(0);
        [self.body.steady[node.index()], pressure]
    }
}
