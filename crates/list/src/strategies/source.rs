//! Source order, unless registers run out.

use super::terms::{Boosted, Terms};
use crate::pressure::Pressure;
use crate::strategy::{Candidates, Context, Described, Strategy, Ties};
use crate::values::Values;
use crate::weights::Weights;
use sassafras_problem::graph::{Graph, Node};

/// Goal: the order of the source; another one only where it would take more registers than there are.
///
/// Priorities: the place in the source, from which an instruction that would raise the registers in use above the budget loses
/// the penalty. Growing from the end, the last place goes first. While the budget is enough the order stays as it came.
///
/// Cost: O(log n) per pick and operand, plus as many steps per pick as there are different growths. Source: the list-schedulers
/// document (source). The threshold is not given there: it is the register limit of the occupancy aimed at.
#[derive(Clone, Debug)]
pub struct Source<'v> {
    terms: Terms,
    boosted: Boosted,
    pressure: Pressure<'v>,
}

impl<'v> Source<'v> {
    /// For a block.
    pub fn new(graph: &Graph, values: &'v Values, boosted: Boosted, terms: Terms) -> Source<'v> {
        Source { terms, boosted, pressure: Pressure::new(graph, values) }
    }
}

impl Described for Source<'_> {
    const SUMMARY: &'static str = "the order of the source unless registers run out";
    const KNOBS: &'static [&'static str] = &["disable-sched-reg-pressure"];
    const SOURCE: &'static str = "list-schedulers document";
}

impl Strategy for Source<'_> {
    type Key = [i64; 1];
    const NAME: &'static str = "source";
    const COMPONENTS: &'static [&'static str] = &["place in the source"];
    const GROUPED: bool = true;

    fn candidates(&self) -> Candidates {
        Candidates::Released
    }

    fn begin(&mut self, _: &Context<'_>, region: usize, _: &[Node]) {
        self.pressure.begin(region);
    }

    fn key(&self, _: &Context<'_>, node: Node) -> [i64; 1] {
        [i64::from(node.0) - self.boosted.boost(node)]
    }

    fn ties(&self) -> Ties {
        self.terms.ties()
    }

    /// By how much it would raise the registers in use.
    fn group(&self, _: &Context<'_>, node: Node) -> i32 {
        let growth = if self.terms.register_pressure { self.pressure.delta(node) } else { 0 };
        growth.clamp(0, i64::from(i32::MAX)) as i32
    }

    fn offered(&self, [place]: [i64; 1], growth: i32, _: bool) -> [i64; 1] {
        let too_many = growth > 0 && self.pressure.now() + i64::from(growth) > self.terms.budget;
        [place - if too_many { Weights::get().source_penalty } else { 0 }]
    }

    fn placed(&mut self, _: &Context<'_>, node: Node, cycle: u64, changed: &mut Vec<Node>) {
        self.pressure.placed(node, cycle, changed);
    }
}
