//! Six weighted terms.

use super::terms::{Boosted, Terms, largest_difference};
use crate::pressure::Pressure;
use crate::register_cycles::RegisterCycles;
use crate::strategy::{Candidates, Context, Described, Offer, Reason, Strategy, Ties};
use crate::values::Values;
use crate::weights::Weights;
use sassafras_problem::graph::{Graph, Node};
use std::collections::VecDeque;

/// Goal: instructions that run side by side, with registers as the second thought.
///
/// Priorities: no interference with a value that goes around the loop; the critical path when too many other instructions went in
/// a row; then a weighted sum, the weights from `data/weights.csv`:
///
/// | term | what, growing from the end |
/// |---|---|
/// | critical path | the longest path to the end; what has a long one comes early in the final order, so the shortest goes first |
/// | scheduled height | the same path as scheduled so far: the cycle the node can start in |
/// | live range | as in `list-burr` |
/// | live uses | how many operands are live anyway |
/// | no stall | whether the unit is free in this cycle |
/// | register join | physical registers that it writes and that were read a few cycles ago |
///
/// A node counts as on the critical path while its slack is within the look-ahead. After `max-sched-reorder` picks of others in
/// a row the others are deferred as long as one of the critical path can go; none is ever dropped.
///
/// Cost: O(log n) per pick and operand, plus twice the number of demand classes per pick. Source: the list-schedulers document
/// (list-ilp).
#[derive(Clone, Debug)]
pub struct ListIlp<'v> {
    terms: Terms,
    boosted: Boosted,
    values: &'v Values,
    pressure: Pressure<'v>,
    cycles: RegisterCycles,
    /// By node: the cycle it can start in.
    height: Vec<u64>,
    /// By value: the region and cycle of its last reader; each region has its own clock. Empty where no register is a physical one.
    read: Vec<(usize, u64)>,
    /// When affinities end, and whose.
    ends: VecDeque<(u64, Node)>,
    region: usize,
    cycle: u64,
    /// Picks beside the critical path in a row.
    beside: u32,
}

const COMPONENTS: &[&str] = &["register cycle", "critical path falls behind", "weighted sum"];
/// What the sum is made of.
const PARTS: [&str; 6] =
    ["critical path", "scheduled height", "live range", "live uses", "no stall", "register join"];
/// Nodes on the critical path; the others are in group 0.
const CRITICAL: i32 = 1;

impl<'v> ListIlp<'v> {
    /// For a block.
    pub fn new(graph: &Graph, values: &'v Values, boosted: Boosted, terms: Terms) -> ListIlp<'v> {
        let limit = if terms.register_cycles { terms.chain_limit } else { 0 };
        let joins = terms.physical_join && values.all().any(|value| values.is_physical(value));
        ListIlp {
            boosted,
            values,
            pressure: Pressure::new(graph, values),
            cycles: RegisterCycles::new(graph, limit),
            height: vec![0; graph.node_count()],
            read: if joins { vec![(usize::MAX, 0); values.count()] } else { Vec::new() },
            ends: VecDeque::new(),
            region: 0,
            cycle: 0,
            beside: 0,
            terms,
        }
    }

    /// The terms of a node; that of the unit is added when it is offered.
    fn parts(&self, context: &Context<'_>, node: Node, free: bool) -> [i64; 6] {
        let weights = Weights::get();
        let term = |on: bool, weight: i64, value: i64| if on { weight.saturating_mul(value) } else { 0 };
        let terms = &self.terms;
        let path = -(context.paths.height(node) as i64);
        [
            // The boost is one of the priority as a whole; it is counted with its largest term.
            term(terms.critical_path, weights.ilp_critical_path, path)
                .saturating_sub(self.boosted.boost(node)),
            term(terms.scheduled_height, weights.ilp_scheduled_height, -(self.height[node.index()] as i64)),
            term(
                terms.register_pressure,
                weights.ilp_register_pressure,
                self.pressure.live_since(node) as i64,
            ),
            term(terms.live_uses, weights.ilp_live_uses, self.pressure.live_uses(node)),
            term(terms.stalls, weights.ilp_no_stall, i64::from(free)),
            term(terms.physical_join, weights.ilp_physical_join, self.affinity(node)),
        ]
    }

    /// Points for physical registers that were read a few cycles ago.
    fn affinity(&self, node: Node) -> i64 {
        if self.read.is_empty() {
            return 0;
        }
        let weights = Weights::get();
        let near = |value: &crate::values::Value| {
            let (region, at) = self.read[value.index()];
            self.values.is_physical(*value)
                && region == self.region
                && self.cycle < at + weights.affinity_cycles as u64
        };
        self.values.defs(node).filter(near).count() as i64 * weights.affinity_bonus
    }
}

impl Described for ListIlp<'_> {
    const SUMMARY: &'static str = "the critical path, then live ranges, free units and more";
    const KNOBS: &'static [&'static str] = &[
        "disable-sched-critical-path",
        "disable-sched-cycles",
        "disable-sched-live-uses",
        "disable-sched-physreg-join",
        "disable-sched-reg-pressure",
        "disable-sched-scheduled-height",
        "disable-sched-stalls",
        "disable-sched-vrcycle",
        "max-sched-reorder",
        "recurrence-chain-limit",
        "sched-critical-path-lookahead",
        "topo-sort-begin",
    ];
    const SOURCE: &'static str = "list-schedulers document";
}

impl Strategy for ListIlp<'_> {
    type Key = [i64; 3];
    const NAME: &'static str = "list-ilp";
    const COMPONENTS: &'static [&'static str] = COMPONENTS;
    const GROUPED: bool = true;
    const UNITS: bool = true;

    fn candidates(&self) -> Candidates {
        self.terms.candidates()
    }

    fn begin(&mut self, _: &Context<'_>, region: usize, _: &[Node]) {
        self.pressure.begin(region);
        (self.region, self.cycle, self.beside) = (region, 0, 0);
        self.ends.clear();
    }

    fn released(&mut self, _: &Context<'_>, node: Node, ready: u64) {
        self.height[node.index()] = ready;
    }

    fn key(&self, context: &Context<'_>, node: Node) -> [i64; 3] {
        let sum = self.parts(context, node, false).into_iter().fold(0, i64::saturating_add);
        [-i64::from(self.cycles.interferes(node)), 0, sum]
    }

    fn ties(&self) -> Ties {
        self.terms.ties()
    }

    fn group(&self, context: &Context<'_>, node: Node) -> i32 {
        if context.paths.slack(node) <= self.terms.lookahead { CRITICAL } else { 0 }
    }

    fn offered(&self, [interferes, _, sum]: [i64; 3], group: i32, free: bool) -> [i64; 3] {
        let behind = group == CRITICAL && self.beside >= self.terms.max_reorder;
        let stall = if self.terms.stalls && free { Weights::get().ilp_no_stall } else { 0 };
        [interferes, i64::from(behind), sum.saturating_add(stall)]
    }

    fn clock(&mut self, _: &Context<'_>, cycle: u64, changed: &mut Vec<Node>) {
        self.cycle = cycle;
        while let Some(&(end, node)) = self.ends.front()
            && end <= cycle
        {
            self.ends.pop_front();
            changed.push(node);
        }
    }

    fn placed(&mut self, context: &Context<'_>, node: Node, cycle: u64, changed: &mut Vec<Node>) {
        self.pressure.placed(node, cycle, changed);
        self.cycles.placed(node, changed);
        let critical = self.group(context, node) == CRITICAL;
        self.beside = if critical { 0 } else { self.beside.saturating_add(1) };
        if self.read.is_empty() {
            return;
        }
        for value in self.values.uses(node).filter(|&value| self.values.is_physical(value)) {
            // The last reader in program order is the first to be placed.
            if self.read[value.index()].0 != self.region {
                self.read[value.index()] = (self.region, cycle);
                let writer = self.values.def(value);
                let end = cycle + Weights::get().affinity_cycles as u64;
                self.ends.extend(writer.map(|writer| (end, writer)));
                changed.extend(writer);
            }
        }
    }

    fn decided(&self, context: &Context<'_>, chosen: Offer<[i64; 3]>, next: Offer<[i64; 3]>) -> Reason {
        if let Some(at) = (0..2).find(|&at| chosen.key[at] != next.key[at]) {
            return Reason::Component(COMPONENTS[at]);
        }
        let of = |offer: Offer<[i64; 3]>| self.parts(context, offer.node, offer.free);
        match largest_difference(of(chosen), of(next)) {
            Some(at) if chosen.key != next.key => Reason::Component(PARTS[at]),
            _ => Reason::SourceOrder,
        }
    }
}
