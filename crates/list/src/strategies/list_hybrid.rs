//! Latency and registers in balance.

use super::terms::{Boosted, Terms, largest_difference, latencies};
use crate::pressure::Pressure;
use crate::register_cycles::RegisterCycles;
use crate::strategy::{Candidates, Context, Described, Offer, Reason, Strategy, Ties};
use crate::values::Values;
use crate::weights::Weights;
use sassafras_problem::graph::{Graph, Node};

/// Goal: latencies hidden without running out of registers.
///
/// Priorities: no interference with a value that goes around the loop; then a sum of two parts, half and half as long as the
/// registers that the block needs as it came are within the budget, with more for the second the more they exceed it. Urgency is
/// latency minus slack, and what is urgent comes early in the final order: growing from the end, the least urgent goes first. The
/// live range counts as in `list-burr`.
///
/// Cost: O(log n) per pick and operand. Source: the list-schedulers document (list-hybrid).
#[derive(Clone, Debug)]
pub struct ListHybrid<'v> {
    terms: Terms,
    boosted: Boosted,
    pressure: Pressure<'v>,
    cycles: RegisterCycles,
    latencies: Vec<i64>,
    /// Of [`Weights::hybrid_parts`].
    pressure_part: i64,
}

const COMPONENTS: &[&str] = &["register cycle", "latency and live range"];
/// What the sum is made of.
const PARTS: [&str; 2] = ["critical path", "live range"];

impl<'v> ListHybrid<'v> {
    /// For a block.
    pub fn new(graph: &Graph, values: &'v Values, boosted: Boosted, terms: Terms) -> ListHybrid<'v> {
        let limit = if terms.register_cycles { terms.chain_limit } else { 0 };
        let needed = values.peak(&graph.insts().collect::<Vec<_>>());
        ListHybrid {
            pressure_part: pressure_part(needed, &terms),
            boosted,
            pressure: Pressure::new(graph, values),
            cycles: RegisterCycles::new(graph, limit),
            latencies: latencies(graph),
            terms,
        }
    }

    fn parts(&self, context: &Context<'_>, node: Node) -> [i64; 2] {
        let slack = (context.paths.critical_length() - context.paths.height(node)) as i64;
        let urgency = self.latencies[node.index()] - slack + self.boosted.boost(node);
        let whole = Weights::get().hybrid_parts;
        let since = self.pressure.live_since(node) as i64;
        [-urgency.saturating_mul(whole - self.pressure_part), since.saturating_mul(self.pressure_part)]
    }
}

/// How much registers count in a block that needs so many.
fn pressure_part(needed: i64, terms: &Terms) -> i64 {
    if !terms.register_pressure {
        return 0;
    }
    let weights = Weights::get();
    let half = weights.hybrid_pressure;
    let scaled = half.saturating_mul(needed) / terms.budget.max(1);
    scaled.clamp(half, weights.hybrid_pressure_most)
}

impl Described for ListHybrid<'_> {
    const SUMMARY: &'static str = "latency and registers in balance";
    const KNOBS: &'static [&'static str] = &[
        "disable-sched-cycles",
        "disable-sched-reg-pressure",
        "disable-sched-vrcycle",
        "recurrence-chain-limit",
        "topo-sort-begin",
    ];
    const SOURCE: &'static str = "list-schedulers document";
}

impl Strategy for ListHybrid<'_> {
    type Key = [i64; 2];
    const NAME: &'static str = "list-hybrid";
    const COMPONENTS: &'static [&'static str] = COMPONENTS;

    fn candidates(&self) -> Candidates {
        self.terms.candidates()
    }

    fn begin(&mut self, _: &Context<'_>, region: usize, _: &[Node]) {
        self.pressure.begin(region);
    }

    fn key(&self, context: &Context<'_>, node: Node) -> [i64; 2] {
        let [urgency, range] = self.parts(context, node);
        [-i64::from(self.cycles.interferes(node)), urgency.saturating_add(range)]
    }

    fn ties(&self) -> Ties {
        self.terms.ties()
    }

    fn placed(&mut self, _: &Context<'_>, node: Node, cycle: u64, changed: &mut Vec<Node>) {
        // Live ranges of candidates are fixed: only readers that waited have another key.
        self.pressure.placed(node, cycle, &mut Vec::new());
        self.cycles.placed(node, changed);
    }

    fn decided(&self, context: &Context<'_>, chosen: Offer<[i64; 2]>, next: Offer<[i64; 2]>) -> Reason {
        if chosen.key[0] != next.key[0] {
            return Reason::Component(COMPONENTS[0]);
        }
        let parts = largest_difference(self.parts(context, chosen.node), self.parts(context, next.node));
        match parts {
            Some(at) if chosen.key != next.key => Reason::Component(PARTS[at]),
            _ => Reason::SourceOrder,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_count_the_more_the_fewer_there_are() {
        let part = |needed, budget| pressure_part(needed, &Terms { budget, ..Terms::default() });
        let weights = Weights::get();
        assert_eq!(part(40, 255), weights.hybrid_pressure, "half and half while there are enough");
        assert_eq!(part(64, 64), weights.hybrid_pressure);
        assert_eq!(part(96, 64), weights.hybrid_pressure * 3 / 2);
        assert_eq!(part(255, 32), weights.hybrid_pressure_most);
        let off = Terms { register_pressure: false, ..Terms::default() };
        assert_eq!(pressure_part(255, &off), 0);
    }
}
