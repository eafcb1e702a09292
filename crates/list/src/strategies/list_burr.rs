//! Bottom-up register reduction.

use super::terms::{Boosted, Terms};
use crate::pressure::Pressure;
use crate::register_cycles::RegisterCycles;
use crate::strategy::{Candidates, Context, Described, Strategy, Ties};
use crate::values::Values;
use sassafras_problem::graph::{Graph, Node};

/// Goal: few registers. Growing from the end, first what ends the shortest live range: the writer of the value that was
/// read last. That walks an expression from its end to its beginning before the next one is looked at.
///
/// Priorities: no interference with a value that goes around the loop; the shortest live range; the least growth of registers in
/// use; source order. A live range is measured as of the pick: from the last reader, which has been placed, to now. What
/// writes nothing that is wanted counts as live to the end of the region: nothing is gained by placing it late, and its operands
/// would be live the longer.
///
/// Cost: O(log n) per pick and operand. Source: the list-schedulers document (list-burr; registers that are freed come first).
#[derive(Clone, Debug)]
pub struct ListBurr<'v> {
    terms: Terms,
    boosted: Boosted,
    pressure: Pressure<'v>,
    cycles: RegisterCycles,
}

impl<'v> ListBurr<'v> {
    /// For a block.
    pub fn new(graph: &Graph, values: &'v Values, boosted: Boosted, terms: Terms) -> ListBurr<'v> {
        let limit = if terms.register_cycles { terms.chain_limit } else { 0 };
        let cycles = RegisterCycles::new(graph, limit);
        ListBurr { boosted, pressure: Pressure::new(graph, values), cycles, terms }
    }
}

impl Described for ListBurr<'_> {
    const SUMMARY: &'static str = "few registers";
    const KNOBS: &'static [&'static str] =
        &["disable-sched-reg-pressure", "disable-sched-vrcycle", "recurrence-chain-limit", "topo-sort-begin"];
    const SOURCE: &'static str = "list-schedulers document";
}

impl Strategy for ListBurr<'_> {
    type Key = [i64; 3];
    const NAME: &'static str = "list-burr";
    const COMPONENTS: &'static [&'static str] = &["register cycle", "live range", "registers freed"];

    fn candidates(&self) -> Candidates {
        Candidates::Released
    }

    fn begin(&mut self, _: &Context<'_>, region: usize, _: &[Node]) {
        self.pressure.begin(region);
    }

    fn key(&self, _: &Context<'_>, node: Node) -> [i64; 3] {
        let interferes = -i64::from(self.cycles.interferes(node));
        if !self.terms.register_pressure {
            return [interferes, -self.boosted.boost(node), 0];
        }
        let since = self.pressure.live_since(node) as i64 - self.boosted.boost(node);
        [interferes, since, -self.pressure.delta(node)]
    }

    fn ties(&self) -> Ties {
        self.terms.ties()
    }

    fn placed(&mut self, _: &Context<'_>, node: Node, cycle: u64, changed: &mut Vec<Node>) {
        self.pressure.placed(node, cycle, changed);
        self.cycles.placed(node, changed);
    }
}
