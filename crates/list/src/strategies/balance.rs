//! Arithmetic and transfers side by side.

use crate::request::SubCore;
use crate::strategy::{Candidates, Context, Described, Strategy};
use sassafras_problem::graph::{Graph, Node};

/// Goal: transfers spread evenly over the arithmetic that hides them, as the ratio of the two says. Priorities: the longest path
/// still to go, roughly; whichever of arithmetic and transfers is behind; source order.
///
/// Every instruction has a place in its own sequence, that of arithmetic or that of transfers, in order of path length and as a
/// fraction of the work in it. Taking the smallest fraction first keeps both at the same point, with keys that never change.
/// Cost: one key per node.
pub struct Balance {
    place: Vec<i64>,
    window: i64,
}

/// The end of both sequences.
const WHOLE: u64 = 1 << 20;

impl Balance {
    /// For a block. Paths that differ by less than `window` cycles count as equally long.
    pub fn new(graph: &Graph, machine: &dyn SubCore, window: i64) -> Balance {
        let mut order: Vec<Node> = graph.insts().collect();
        order.sort_by_key(|&node| std::cmp::Reverse(machine.steady(node)));
        let mut done = [0u64; 2];
        let mut total = [0u64; 2];
        let side = |node: Node| usize::from(machine.is_transfer(node));
        let cycles = |node: Node| u64::from(machine.cycles(node));
        order.iter().for_each(|&node| total[side(node)] += cycles(node));
        let mut place = vec![0; graph.inst_count()];
        for &node in &order {
            let side = side(node);
            place[node.index()] = (done[side] * WHOLE / total[side].max(1)) as i64;
            done[side] += cycles(node);
        }
        Balance { place, window: window.max(1) }
    }
}

impl Described for Balance {
    const SUMMARY: &'static str = "arithmetic and transfers side by side";
    const SOURCE: &'static str = "ptxas-scheduling document";
}

impl Strategy for Balance {
    type Key = [i64; 2];
    const NAME: &'static str = "balance";
    const COMPONENTS: &'static [&'static str] = &["long path", "arithmetic to transfers"];

    fn candidates(&self) -> Candidates {
        Candidates::Ready
    }

    fn key(&self, context: &Context<'_>, node: Node) -> [i64; 2] {
        let far = context.to_go(node) as i64 / self.window;
        [far, -self.place[node.index()]]
    }
}
