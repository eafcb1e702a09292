//! The cycles that an order takes.

use crate::resources::{Reservations, Resources};
use sassafras_problem::Schedule;
use sassafras_problem::graph::{Graph, Node};

/// When everything starts in a given order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The cycle each instruction starts in, by node.
    pub start: Vec<u64>,
    /// From the first cycle to the one after the last start.
    pub cycles: u64,
    /// Cycles in which nothing starts.
    pub stalls: u64,
}

/// Runs an order in order: every instruction starts as soon as its operands, its unit and an issue slot are there and
/// the one before has started. Linear.
///
/// # Panics
/// When `order` names an instruction before one that it depends on: such an order has no timing.
pub fn time(graph: &Graph, resources: &Resources, order: &[Node]) -> Timing {
    let mut clocks = Clocks::new(graph);
    let mut start = vec![0u64; graph.inst_count()];
    let mut reservations = Reservations::new(resources);
    let (mut busy, mut last) = (0, None);
    for &node in order {
        assert_eq!(clocks.waiting[node.index()], 0, "node {} comes before one that it depends on", node.0);
        let class = resources.class_of(node.index());
        reservations.advance_to(clocks.ready[node.index()].max(reservations.earliest(class)));
        let now = reservations.cycle();
        reservations.start(class);
        start[node.index()] = now;
        busy += u64::from(last != Some(now));
        last = Some(now);
        clocks.place(node, now);
    }
    let cycles = last.map_or(0, |c| c + 1);
    Timing { start, cycles, stalls: cycles - busy }
}

/// An order as a modulo schedule whose iterations do not overlap, the next beginning as soon as edges and units let all of it
/// stay as it is: what overlapping is measured by. It solves the problem that the graph
/// [becomes](Resources::problem), joins included. Linear.
///
/// # Panics
/// As [`time`] does.
pub fn repeated(graph: &Graph, resources: &Resources, order: &[Node]) -> Schedule {
    let (_, times) = graph.with_joins(order, &time(graph, resources, order).start);
    let ends = graph.insts().map(|node| {
        let held =
            resources.demands()[resources.class_of(node.index())].units.iter().map(|&(_, cycles)| cycles);
        times[node.index()] + u64::from(held.max().unwrap_or(0).max(1))
    });
    let carried = graph.edges().iter().filter(|e| e.distance > 0).map(|e| {
        let ready = times[e.from.index()] + u64::from(e.latency);
        ready.saturating_sub(times[e.to.index()]).div_ceil(u64::from(e.distance))
    });
    let ii = ends.chain(carried).max().unwrap_or(1).max(1);
    Schedule {
        ii: u32::try_from(ii).unwrap_or(u32::MAX),
        times: times.into_iter().map(|time| i64::try_from(time).unwrap_or(i64::MAX)).collect(),
    }
}

/// When the operands of every node are there.
struct Clocks<'g> {
    graph: &'g Graph,
    /// Edges of its own iteration that the node still waits for.
    waiting: Vec<u32>,
    ready: Vec<u64>,
    passed: Vec<Node>,
}

impl Clocks<'_> {
    fn new(graph: &Graph) -> Clocks<'_> {
        let mut waiting = vec![0; graph.node_count()];
        for e in graph.edges().iter().filter(|e| e.distance == 0) {
            waiting[e.to.index()] += 1;
        }
        // Joins over the iteration before only are there from the beginning.
        let passed = graph.topological().iter().copied();
        let passed = passed.filter(|&n| graph.is_join(n) && waiting[n.index()] == 0).collect();
        let mut clocks = Clocks { graph, waiting, ready: vec![0; graph.node_count()], passed };
        clocks.pass_on();
        clocks
    }

    fn place(&mut self, node: Node, cycle: u64) {
        self.ready[node.index()] = cycle;
        self.passed.push(node);
        self.pass_on();
    }

    /// Joins take no time: what they let through is let through at once.
    fn pass_on(&mut self) {
        while let Some(node) = self.passed.pop() {
            let at = self.ready[node.index()];
            for e in self.graph.succs_here(node) {
                let to = e.to.index();
                self.ready[to] = self.ready[to].max(at + u64::from(e.latency));
                self.waiting[to] -= 1;
                if self.waiting[to] == 0 && self.graph.is_join(e.to) {
                    self.passed.push(e.to);
                }
            }
        }
    }
}
