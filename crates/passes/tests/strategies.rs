//! Every strategy of the registry: the same picks as an engine that computes everything anew, on random blocks, and the knobs that it says.

use sassafras_deps::latency::LatencyByOpcode;
use sassafras_deps::paths::Paths;
use sassafras_deps::{BuildOptions, Graph, Node, build};
use sassafras_ir::cfg::Cfg;
use sassafras_ir::liveness::Liveness;
use sassafras_ir::{Lane, RegClass, Span};
use sassafras_knobs::KnobSet;
use sassafras_list::block_values::values;
use sassafras_list::pressure::Pressure;
use sassafras_list::strategies::{Boosted, Source, Terms};
use sassafras_list::{
    Demand, Direction, Engine, Entry, Prepared, Request, Resources, STRATEGIES, SubCore, Unit, Values,
    schedule, time,
};
use sassafras_machine::dispatch::Pipe;
use sassafras_passes::Options;
use sassafras_testkit::random::{Shape, function};
use sassafras_testkit::rng::Rng;
use std::collections::BTreeSet;

/// Random blocks per strategy.
const BLOCKS: u64 = 10_000;

struct Case {
    graph: Graph,
    paths: Paths,
    resources: Resources,
    values: Values,
    terms: Terms,
    boosted: Vec<Node>,
    direction: Direction,
    machine: Machine,
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
        let direction = *rng.pick(&[Direction::TopDown, Direction::BottomUp]);
        let machine = Machine { nodes: insts.iter().map(|_| Facts::random(&mut rng)).collect() };
        Case {
            resources: Resources::new(width, units, demands, class_of).expect("consistent"),
            paths: Paths::new(&graph),
            graph,
            values,
            terms,
            boosted,
            direction,
            machine,
        }
    }

    /// What strategies are made from.
    fn problem(&self, engine: Engine) -> Request<'_> {
        Request { terms: self.terms, seed: 7, direction: self.direction, engine, ..Request::new(self) }
    }
}

impl Prepared for Case {
    fn graph(&self) -> &Graph {
        &self.graph
    }

    fn paths(&self) -> &Paths {
        &self.paths
    }

    fn resources(&self) -> &Resources {
        &self.resources
    }

    fn values(&self) -> Option<&Values> {
        Some(&self.values)
    }

    fn boosted(&self) -> &[Node] {
        &self.boosted
    }

    fn sub_core(&self) -> Option<&dyn SubCore> {
        Some(&self.machine)
    }
}

/// What instructions take of a sub-core, by node: anything.
struct Machine {
    nodes: Vec<Facts>,
}

struct Facts {
    is_transfer: bool,
    is_load: bool,
    cycles: u32,
    pipes: Vec<(Pipe, u16)>,
    sources: [Option<Span>; 3],
    writes: Vec<Span>,
    steady: i64,
}

impl Facts {
    fn random(rng: &mut Rng) -> Facts {
        let mut span = || {
            let lane = Lane::physical(RegClass::Gpr, rng.below(6) as u32).expect("a register");
            Span::new(lane, 1 + rng.below(2) as u8).expect("registers")
        };
        let (sources, writes) = ([span(), span(), span()], vec![span()]);
        let is_transfer = rng.chance(30);
        Facts {
            is_transfer,
            is_load: is_transfer && rng.chance(50),
            cycles: 1 + rng.below(4) as u32,
            pipes: vec![(*rng.pick(Pipe::ALL), 1 + rng.below(4) as u16)],
            sources: sources.map(|span| rng.chance(60).then_some(span)),
            writes: if rng.chance(70) { writes } else { Vec::new() },
            steady: rng.below(40) as i64,
        }
    }
}

impl SubCore for Machine {
    fn is_transfer(&self, node: Node) -> bool {
        self.nodes[node.index()].is_transfer
    }

    fn is_global_load(&self, node: Node) -> bool {
        self.nodes[node.index()].is_load
    }

    fn cycles(&self, node: Node) -> u32 {
        self.nodes[node.index()].cycles
    }

    fn pipes(&self, node: Node) -> &[(Pipe, u16)] {
        &self.nodes[node.index()].pipes
    }

    fn sources(&self, node: Node) -> [Option<Span>; 3] {
        self.nodes[node.index()].sources
    }

    fn writes(&self, node: Node) -> &[Span] {
        &self.nodes[node.index()].writes
    }

    fn steady(&self, node: Node) -> i64 {
        self.nodes[node.index()].steady
    }
}

/// Every strategy of the registry that orders blocks.
fn strategies() -> impl Iterator<Item = &'static Entry> {
    STRATEGIES.iter().filter(|strategy| strategy.is_block())
}

#[test]
fn picks_equal_those_of_the_naive_engine() {
    for seed in 0..BLOCKS {
        let case = Case::new(seed);
        for strategy in strategies() {
            let made = |engine| strategy.order(&case.problem(engine)).expect("the block has everything");
            let (fast, slow) = (made(Engine::Heaps), made(Engine::Naive));
            let name = strategy.name;
            assert_eq!(fast.picks, slow.picks, "{name} of seed {seed} with {:?}", case.terms);
            assert_eq!(fast.order, slow.order, "{name} of seed {seed}");
            // `time` refuses an order that breaks a dependence.
            time(&case.graph, &case.resources, &fast.order);
            let counted: u64 = fast.statistics.reasons.values().sum();
            assert_eq!(counted, fast.picks.len() as u64);
        }
    }
}

/// Settings that the strategies may read, each other than its default.
const SETTINGS: [&str; 12] = [
    "disable-sched-critical-path=true",
    "disable-sched-cycles=true",
    "disable-sched-live-uses=true",
    "disable-sched-physreg-join=true",
    "disable-sched-reg-pressure=true",
    "disable-sched-scheduled-height=true",
    "disable-sched-stalls=true",
    "disable-sched-vrcycle=true",
    "max-sched-reorder=1",
    "recurrence-chain-limit=0",
    "sched-critical-path-lookahead=0",
    "topo-sort-begin=false",
];

#[test]
fn strategies_read_the_knobs_that_the_registry_says() {
    let terms = |settings: &[&str]| {
        let mut knobs = KnobSet::new();
        for setting in settings {
            knobs.assign(setting).expect("a knob");
        }
        Options::default().with_knobs(&knobs).terms
    };
    let name = |setting: &'static str| setting.split('=').next().expect("a name");
    let settings = SETTINGS.map(name);
    let said: BTreeSet<(&str, &str)> = strategies()
        .flat_map(|strategy| {
            let knobs = strategy.knobs.iter().filter(|knob| settings.contains(knob));
            knobs.map(|&knob| (strategy.name, knob))
        })
        .collect();
    let mut found: BTreeSet<(&str, &str)> = BTreeSet::new();
    for seed in 0..BLOCKS {
        let all = seed < BLOCKS / 16;
        if !all && found.is_superset(&said) {
            break;
        }
        let mut case = Case::new(seed);
        let budget = case.terms.budget;
        let mut picks = |strategy: &Entry, settings: &[&str]| {
            case.terms = Terms { budget, ..terms(settings) };
            strategy.order(&case.problem(Engine::Heaps)).map(|made| made.picks)
        };
        for strategy in strategies() {
            // Some settings matter in few blocks: those are looked for longer.
            let open = |setting: &&&'static str| {
                let pair = (strategy.name, name(setting));
                !found.contains(&pair) && (all || said.contains(&pair))
            };
            let asked: Vec<&'static str> = SETTINGS.iter().filter(open).copied().collect();
            if asked.is_empty() {
                continue;
            }
            let standard = picks(strategy, &[]);
            let differ = asked.into_iter().filter(|&setting| picks(strategy, &[setting]) != standard);
            found.extend(differ.map(|setting| (strategy.name, name(setting))));
        }
    }
    assert_eq!(found, said);
    let knobs = STRATEGIES.iter().flat_map(|strategy| strategy.knobs);
    knobs.for_each(|knob| assert!(sassafras_knobs::registry().find(knob).is_some(), "{knob} is no knob"));
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
        let mut source = Source::new(&case.graph, &case.values, Boosted::new(&case.graph, []), case.terms);
        let made = schedule(&case.graph, &case.paths, &case.resources, Direction::BottomUp, &mut source);
        assert_eq!(made.order, case.graph.insts().collect::<Vec<_>>(), "seed {seed}");
    }
}
