//! The seven list strategies: the same picks as an engine that computes everything anew, on random blocks.

use sassafras_deps::latency::LatencyByOpcode;
use sassafras_deps::paths::Paths;
use sassafras_deps::{BuildOptions, Graph, Node, build};
use sassafras_ir::cfg::Cfg;
use sassafras_ir::liveness::Liveness;
use sassafras_list::pressure::Pressure;
use sassafras_list::strategies::{
    Boosted, Converge, IlpMax, IlpMin, ListBurr, ListHybrid, ListIlp, Source, Terms,
};
use sassafras_list::{Demand, Direction, Resources, Strategy, Unit, Values, naive, schedule, time};
use sassafras_passes::values::values;
use sassafras_testkit::random::{Shape, function};
use sassafras_testkit::rng::Rng;

/// Random blocks per strategy.
const BLOCKS: u64 = 10_000;

struct Case {
    graph: Graph,
    paths: Paths,
    resources: Resources,
    values: Values,
    terms: Terms,
    boosted: Vec<Node>,
}

impl Case {
    fn new(seed: u64) -> Case {
        let mut rng = Rng::new(seed);
        let insts = rng.below(28);
        let shape = Shape::random(&mut rng, 1, insts);
        let f = function(&mut rng, &shape);
        let block = f.blocks().next().expect("one block");
        let insts = f.block_insts(block).to_vec();
        let graph = build(&f, &insts, &LatencyByOpcode, BuildOptions { carried: rng.chance(40) });
        let cfg = Cfg::new(&f);
        let liveness = Liveness::new(&f, &cfg).expect("small");
        // Straight-line code has nothing that is wanted behind it: say that some of it is.
        let mut wanted = Vec::new();
        for &inst in &insts {
            f.for_each_write(inst, |w| wanted.extend(rng.chance(15).then_some(w.lane)));
        }
        wanted.sort_unstable();
        wanted.dedup();
        let values = values(&f, &insts, liveness.live_out(block).chain(wanted));
        let units: Vec<Unit> = (0..2).map(|i| Unit { name: format!("u{i}"), copies: 1 }).collect();
        let demands = vec![
            Demand::default(),
            Demand { units: vec![(0, 1 + rng.below(4) as u16)] },
            Demand { units: vec![(1, 1 + rng.below(4) as u16)] },
        ];
        let class_of = insts.iter().map(|_| rng.below(demands.len()) as u16).collect();
        let width = 1 + rng.below(2) as u32;
        let on = |rng: &mut Rng| rng.chance(80);
        let terms = Terms {
            critical_path: on(&mut rng),
            scheduled_height: on(&mut rng),
            register_pressure: on(&mut rng),
            live_uses: on(&mut rng),
            stalls: on(&mut rng),
            physical_join: on(&mut rng),
            register_cycles: on(&mut rng),
            cycles: on(&mut rng),
            sorted: on(&mut rng),
            max_reorder: rng.below(4) as u32,
            lookahead: rng.below(12) as u64,
            chain_limit: rng.below(5) as u32,
            budget: 1 + rng.below(12) as i64,
        };
        let boosted = graph.insts().filter(|_| rng.chance(5)).collect();
        Case {
            resources: Resources::new(width, units, demands, class_of).expect("consistent"),
            paths: Paths::new(&graph),
            graph,
            values,
            terms,
            boosted,
        }
    }

    fn boosted(&self) -> Boosted {
        Boosted::new(&self.graph, self.boosted.iter().copied())
    }

    fn compare<'c, S: Strategy>(&'c self, seed: u64, direction: Direction, make: impl Fn(&'c Case) -> S) {
        let (graph, paths, resources) = (&self.graph, &self.paths, &self.resources);
        let fast = schedule(graph, paths, resources, direction, &mut make(self));
        let slow = naive::picks(graph, paths, resources, direction, &mut make(self));
        assert_eq!(fast.picks, slow, "{} of seed {seed} with {:?}", S::NAME, self.terms);
        // `time` refuses an order that breaks a dependence.
        time(graph, resources, &fast.order);
        let counted: u64 = fast.statistics.reasons.values().sum();
        assert_eq!(counted, fast.picks.len() as u64);
    }
}

#[test]
fn picks_equal_those_of_the_naive_engine() {
    use Direction::{BottomUp, TopDown};
    for seed in 0..BLOCKS {
        let case = Case::new(seed);
        case.compare(seed, BottomUp, |c| ListBurr::new(&c.graph, &c.values, c.boosted(), c.terms));
        case.compare(seed, BottomUp, |c| Source::new(&c.graph, &c.values, c.boosted(), c.terms));
        case.compare(seed, BottomUp, |c| ListHybrid::new(&c.graph, &c.values, c.boosted(), c.terms));
        case.compare(seed, BottomUp, |c| ListIlp::new(&c.graph, &c.values, c.boosted(), c.terms));
        case.compare(seed, TopDown, |c| Converge::new(&c.graph, c.boosted(), c.terms));
        case.compare(seed, BottomUp, |c| IlpMax::new(&c.graph, c.boosted(), c.terms));
        case.compare(seed, BottomUp, |c| IlpMin::new(&c.graph, c.boosted(), c.terms));
    }
}

/// What registers are in use, from the whole order: no step of [`Pressure`] is repeated.
struct Recount<'a> {
    case: &'a Case,
    /// Nodes of regions that are done, and picks of the present one, in the order they were made.
    behind: Vec<Node>,
    picks: Vec<Node>,
    region: std::ops::Range<u32>,
}

impl Recount<'_> {
    /// A value is live if somebody who comes later wants it and its writer has not been picked.
    fn is_live(&self, value: sassafras_list::Value) -> bool {
        let values = &self.case.values;
        let written = match values.def(value) {
            Some(node) => node.0 < self.region.end && !self.picks.contains(&node),
            None => true,
        };
        let wanted = values.is_live_out(value)
            || values.users(value).any(|node| node.0 >= self.region.end || self.picks.contains(&node));
        written && wanted
    }

    fn now(&self) -> i64 {
        let values = &self.case.values;
        values.all().filter(|&value| self.is_live(value)).map(|value| values.width(value)).sum()
    }

    fn after(&mut self, node: Node) -> i64 {
        self.picks.push(node);
        let now = self.now();
        self.picks.pop();
        now
    }
}

#[test]
fn registers_in_use_equal_a_recount() {
    for seed in 0..BLOCKS / 10 {
        let case = Case::new(seed);
        let mut rng = Rng::new(seed);
        let mut pressure = Pressure::new(&case.graph, &case.values);
        let mut peak = 0;
        let mut behind = Vec::new();
        for (number, region) in case.graph.regions().iter().enumerate() {
            pressure.begin(number);
            let mut recount =
                Recount { case: &case, behind: behind.clone(), picks: Vec::new(), region: region.clone() };
            assert_eq!(pressure.now(), recount.now(), "seed {seed}, region {number}");
            // Any order from the end that dependences allow.
            let mut left: Vec<Node> = region.clone().map(Node).collect();
            while !left.is_empty() {
                let ready: Vec<usize> = (0..left.len())
                    .filter(|&at| {
                        let users = |v| case.values.users_within(v, region.start, region.end);
                        case.values.defs(left[at]).flat_map(users).all(|user| !left.contains(&user))
                    })
                    .collect();
                let node = left.remove(*rng.pick(&ready));
                let (now, after) = (recount.now(), recount.after(node));
                assert_eq!(pressure.delta(node), after - now, "seed {seed}, node {}", node.0);
                let live = case.values.uses(node).filter(|&v| recount.is_live(v)).count() as i64;
                assert_eq!(pressure.live_uses(node), live, "seed {seed}, node {}", node.0);
                pressure.placed(node, recount.picks.len() as u64, &mut Vec::new());
                recount.picks.push(node);
                assert_eq!(pressure.now(), recount.now(), "seed {seed}, after node {}", node.0);
                peak = peak.max(pressure.now());
            }
            behind = recount.behind;
            behind.extend(recount.picks);
        }
        assert!(pressure.peak() >= peak);
    }
}

#[test]
fn source_without_pressure_is_the_identity() {
    for seed in 0..BLOCKS / 10 {
        let mut case = Case::new(seed);
        (case.terms.budget, case.boosted) = (i64::MAX, Vec::new());
        case.terms.sorted = true;
        let mut source = Source::new(&case.graph, &case.values, case.boosted(), case.terms);
        let made = schedule(&case.graph, &case.paths, &case.resources, Direction::BottomUp, &mut source);
        assert_eq!(made.order, case.graph.insts().collect::<Vec<_>>(), "seed {seed}");
    }
}
