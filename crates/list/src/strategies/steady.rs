//! The longest path first, around the loop.

use crate::request::SubCore;
use crate::strategy::{Candidates, Context, Described, Strategy};
use sassafras_machine::dispatch::Pipe;
use sassafras_problem::graph::{Graph, Node};

/// Goal: a short iteration in the steady state of a loop, not in one pass. Priorities: the
/// longest path still to go, into later iterations too; the pipe with most work; source order. Cost: one key per node.
pub struct Steady<'b> {
    machine: &'b dyn SubCore,
    /// By pipe: its work in one iteration.
    work: [i64; Pipe::ALL.len()],
}

impl<'b> Steady<'b> {
    /// For a block.
    pub fn new(graph: &Graph, machine: &'b dyn SubCore) -> Steady<'b> {
        let mut work = [0; Pipe::ALL.len()];
        for &(pipe, cycles) in graph.insts().flat_map(|node| machine.pipes(node)) {
            work[pipe as usize] += i64::from(cycles);
        }
        Steady { machine, work }
    }
}

impl Described for Steady<'_> {
    const SUMMARY: &'static str = "the longest path around the loop first";
    const SOURCE: &'static str = "ours";
}

impl Strategy for Steady<'_> {
    type Key = [i64; 2];
    const NAME: &'static str = "steady";
    const COMPONENTS: &'static [&'static str] = &["critical cycle", "busy pipe"];

    fn candidates(&self) -> Candidates {
        Candidates::Ready
    }

    fn key(&self, _: &Context<'_>, node: Node) -> [i64; 2] {
        let pipes = self.machine.pipes(node);
        let pressure = pipes.iter().map(|&(pipe, _)| self.work[pipe as usize]).max().unwrap_or(0);
        [self.machine.steady(node), pressure]
    }
}
