//! Operands at hand first, with transfers in their turn.

use super::ReuseFirst;
use crate::request::SubCore;
use crate::strategy::{Candidates, Context, Described, Strategy};
use sassafras_problem::graph::{Graph, Node};

/// Goal: few register reads, and a memory pipe that is never asked for two transfers at once: all warps of a loop share it, and where
/// they stand in pairs every warp waits for the one before. Priorities: global loads; a transfer whose turn has come; what
/// [`ReuseFirst`] prefers; a transfer before its turn.
///
/// A transfer's turn comes when as large a part of the arithmetic has been placed as of the transfers before it, both in the cycles
/// of their pipes: the ratio of arithmetic to transfers sets the pace. Cost: that of [`ReuseFirst`]. Source: the ptxas-scheduling
/// document balances arithmetic against transfers; pairs of shared loads are what a measured search on an H200 took apart first.
pub struct Paced<'b> {
    machine: &'b dyn SubCore,
    reuse: ReuseFirst<'b>,
    /// Transfers by the part of the arithmetic that goes before them, in cycles times all transfers' cycles, earliest first.
    turns: Vec<(u64, Node)>,
    /// How many have had their turn called.
    called: usize,
    due: Vec<bool>,
    /// Cycles of arithmetic placed.
    placed: u64,
    transfers: u64,
}

impl<'b> Paced<'b> {
    /// For a block. Paths that differ by less than `window` cycles count as equally long.
    pub fn new(graph: &Graph, machine: &'b dyn SubCore, window: i64) -> Paced<'b> {
        let cycles = |node: Node| u64::from(machine.cycles_of_pipe(node));
        let is_transfer = |node: &Node| machine.is_transfer(*node);
        let mut order: Vec<Node> = graph.insts().filter(is_transfer).collect();
        order.sort_by_key(|&node| std::cmp::Reverse(machine.steady(node)));
        let transfers: u64 = order.iter().map(|&node| cycles(node)).sum();
        let arithmetic: u64 = graph.insts().filter(|node| !is_transfer(node)).map(cycles).sum();
        let mut before = 0;
        let turns = order
            .into_iter()
            .map(|node| {
                let turn = before * arithmetic;
                before += cycles(node);
                (turn, node)
            })
            .collect();
        let due = vec![false; graph.inst_count()];
        let mut paced = Paced {
            machine,
            reuse: ReuseFirst::new(graph, machine, window),
            turns,
            called: 0,
            due,
            placed: 0,
            transfers,
        };
        paced.call(&mut Vec::new());
        paced
    }

    /// Calls the transfers whose turn has come.
    fn call(&mut self, changed: &mut Vec<Node>) {
        while let Some(&(turn, node)) = self.turns.get(self.called)
            && turn <= self.placed * self.transfers
        {
            self.due[node.index()] = true;
            changed.push(node);
            self.called += 1;
        }
    }
}

impl Described for Paced<'_> {
    const SUMMARY: &'static str = "operands that the reuse cache holds first, with transfers in their turn";
    const SOURCE: &'static str = "ptxas-scheduling document, measured on an H200";
}

impl Strategy for Paced<'_> {
    type Key = [i64; 5];
    const NAME: &'static str = "paced";
    const COMPONENTS: &'static [&'static str] =
        &["transfer's turn", "global load", "long path", "reuse", "critical path"];

    fn candidates(&self) -> Candidates {
        Candidates::Ready
    }

    fn key(&self, context: &Context<'_>, node: Node) -> [i64; 5] {
        let turn = match (self.machine.is_transfer(node), self.machine.is_global_load(node)) {
            (true, true) => 1,
            (true, false) => i64::from(self.due[node.index()]) * 2 - 1,
            (false, _) => 0,
        };
        let [load, far, hits, height] = self.reuse.key(context, node);
        [turn, load, far, hits, height]
    }

    fn placed(&mut self, context: &Context<'_>, node: Node, cycle: u64, changed: &mut Vec<Node>) {
        self.reuse.placed(context, node, cycle, changed);
        if !self.machine.is_transfer(node) {
            self.placed += u64::from(self.machine.cycles_of_pipe(node));
            self.call(changed);
        }
    }
}
