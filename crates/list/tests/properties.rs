//! The engine against the naive one, and what every schedule must satisfy.

use proptest::prelude::*;
use sassafras_deps::latency::{LatencyByOpcode, UnitLatency};
use sassafras_deps::paths::Paths;
use sassafras_deps::{BuildOptions, Graph, Node, build};
use sassafras_list::strategies::{CriticalPath, Original, Shuffle};
use sassafras_list::{
    Candidates, Context, Demand, Direction, Resources, Strategy, Unit, naive, schedule, time,
};
use sassafras_testkit::random::{Shape, function};
use sassafras_testkit::rng::Rng;

struct Case {
    graph: Graph,
    paths: Paths,
    resources: Resources,
    direction: Direction,
    seed: u64,
}

fn case(seed: u64, insts: usize) -> Case {
    let mut rng = Rng::new(seed);
    let shape = Shape::random(&mut rng, 1, insts);
    let f = function(&mut rng, &shape);
    let insts = f.block_insts(f.blocks().next().expect("one block")).to_vec();
    let options = BuildOptions { carried: rng.chance(30) };
    let graph = if rng.chance(80) {
        build(&f, &insts, &LatencyByOpcode, options)
    } else {
        build(&f, &insts, &UnitLatency, options)
    };
    let units: Vec<Unit> =
        (0..3).map(|i| Unit { name: format!("u{i}"), copies: 1 + rng.below(2) as u32 }).collect();
    let mut demands = vec![Demand::default()];
    for first in 0..3u16 {
        let mut units = vec![(first, rng.below(6) as u16)];
        if rng.chance(40) {
            units.push(((first + 1) % 3, 1 + rng.below(3) as u16));
        }
        demands.push(Demand { units });
    }
    let class_of = insts.iter().map(|_| rng.below(demands.len()) as u16).collect();
    let resources = Resources::new(1 + rng.below(3) as u32, units, demands, class_of).expect("consistent");
    let direction = if rng.chance(50) { Direction::TopDown } else { Direction::BottomUp };
    Case { paths: Paths::new(&graph), graph, resources, direction, seed }
}

/// Keys that change with every pick: prefers what touches the last node placed.
#[derive(Default, Clone)]
struct Neighbour {
    near: Vec<Node>,
}

impl Strategy for Neighbour {
    type Key = [i64; 2];
    const NAME: &'static str = "neighbour";
    const COMPONENTS: &'static [&'static str] = &["near", "to go"];

    fn candidates(&self) -> Candidates {
        Candidates::Ready
    }

    fn key(&self, context: &Context<'_>, node: Node) -> [i64; 2] {
        [i64::from(self.near.contains(&node)), -(context.to_go(node) as i64)]
    }

    fn placed(&mut self, context: &Context<'_>, node: Node, _: u64, changed: &mut Vec<Node>) {
        changed.append(&mut self.near);
        self.near.extend(context.graph.succs(node).map(|e| e.to));
        self.near.extend(context.graph.preds(node).map(|e| e.from));
        changed.extend(&self.near);
    }
}

fn compare<S: Strategy + Clone>(case: &Case, strategy: &S) -> Result<(), TestCaseError> {
    let Case { graph, paths, resources, direction, .. } = case;
    let fast = schedule(graph, paths, resources, *direction, &mut strategy.clone());
    let slow = naive::schedule(graph, paths, resources, *direction, &mut strategy.clone());
    prop_assert_eq!((&fast.picks, &fast.order), (&slow.picks, &slow.order));
    let mut sorted = fast.order.clone();
    sorted.sort();
    prop_assert_eq!(sorted, graph.insts().collect::<Vec<_>>());
    // `time` refuses an order that breaks a dependence.
    let timing = time(graph, resources, &fast.order);
    check_timing(graph, resources, &fast.order, &timing)?;
    let counted: u64 = fast.statistics.reasons.values().sum();
    prop_assert_eq!(counted, fast.picks.len() as u64);
    Ok(())
}

/// Latencies hold (through joins too), no cycle starts more than the width, no unit is taken twice.
fn check_timing(
    graph: &Graph,
    resources: &Resources,
    order: &[Node],
    timing: &sassafras_list::Timing,
) -> Result<(), TestCaseError> {
    let mut earliest = vec![0u64; graph.node_count()];
    for &node in graph.topological() {
        if !graph.is_join(node) {
            prop_assert!(timing.start[node.index()] >= earliest[node.index()]);
            earliest[node.index()] = timing.start[node.index()];
        }
        for e in graph.succs_here(node) {
            let at = earliest[node.index()] + u64::from(e.latency);
            earliest[e.to.index()] = earliest[e.to.index()].max(at);
        }
    }
    for cycle in 0..timing.cycles {
        let started = order.iter().filter(|n| timing.start[n.index()] == cycle).count();
        prop_assert!(started <= resources.issue_width() as usize);
        for (unit, kind) in resources.units().iter().enumerate() {
            let busy = order.iter().filter(|n| {
                let start = timing.start[n.index()];
                resources.demands()[resources.class_of(n.index())].units.iter().any(|&(u, cycles)| {
                    usize::from(u) == unit && start <= cycle && cycle < start + u64::from(cycles)
                })
            });
            prop_assert!(busy.count() <= kind.copies as usize);
        }
    }
    let idle = (0..timing.cycles).filter(|c| !timing.start.contains(c)).count() as u64;
    prop_assert_eq!(idle, timing.stalls);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sassafras_testkit::cases(600)))]

    #[test]
    fn picks_equal_those_of_the_naive_engine(seed: u64, insts in 0usize..40) {
        let case = case(seed, insts);
        compare(&case, &Original)?;
        compare(&case, &Shuffle { seed: case.seed })?;
        compare(&case, &CriticalPath)?;
        compare(&case, &Neighbour::default())?;
    }

    #[test]
    fn original_keeps_the_order(seed: u64, insts in 0usize..60) {
        let case = case(seed, insts);
        let result = schedule(&case.graph, &case.paths, &case.resources, case.direction, &mut Original);
        prop_assert_eq!(result.order, case.graph.insts().collect::<Vec<_>>());
    }

    #[test]
    fn shuffles_differ_by_seed_only(seed: u64) {
        let case = case(seed, 40);
        let run = |seed| schedule(&case.graph, &case.paths, &case.resources, case.direction, &mut Shuffle { seed }).order;
        prop_assert_eq!(run(1), run(1));
    }
}
