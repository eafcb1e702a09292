//! The longest path first, around the loop.

use crate::body::Body;
use crate::policies::reuse::Lines;
use sassafras_deps::Node;
use sassafras_list::{Candidates, Context, Strategy};

/// Goal: a short iteration in the steady state of a loop, not in one pass. Priorities: bytes of a line that has been started; the
/// longest path still to go, into later iterations too; the pipe with most work; source order. Cost: one key per node.
pub struct Steady<'b> {
    body: &'b Body,
    lines: Lines<'b>,
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
        Steady { body, lines: Lines::new(body), work }
    }
}

impl Strategy for Steady<'_> {
    type Key = [i64; 3];
    const NAME: &'static str = "steady";
    const COMPONENTS: &'static [&'static str] = &["same line", "critical cycle", "busy pipe"];
    const CANDIDATES: Candidates = Candidates::Ready;

    fn key(&self, _: &Context<'_>, node: Node) -> [i64; 3] {
        let pipes = &self.body.nodes[node.index()].pipes;
        let pressure = pipes.iter().map(|&(pipe, _)| self.work[pipe as usize]).max().unwrap_or(0);
        [self.lines.open(node), self.body.steady[node.index()], pressure]
    }

    fn placed(&mut self, _: &Context<'_>, node: Node, changed: &mut Vec<Node>) {
        self.lines.placed(node, changed);
    }
}
