//! Problems of outside compilers through the engine, and every order against the checker that shares nothing with it.

use proptest::prelude::*;
use sassafras_deps::latency::LatencyByOpcode;
use sassafras_deps::paths::Paths;
use sassafras_deps::{BuildOptions, Node, build};
use sassafras_list::strategies::{
    Boosted, Converge, CriticalPath, IlpMax, IlpMin, ListBurr, ListHybrid, ListIlp, Original, Shuffle,
    Source, Terms,
};
use sassafras_list::{
    Block, Demand, Direction, Input, InputError, Ordered, Resources, Unit, naive, repeated, schedule, time,
};
use sassafras_problem::{Op, Problem, Resource, Use, Violation, verify, verify_order};
use sassafras_testkit::random::{Shape, function};
use sassafras_testkit::rng::Rng;

/// What an outside compiler might have.
#[derive(Default)]
struct Code {
    problem: Problem,
    defs: Vec<Vec<u32>>,
    uses: Vec<Vec<u32>>,
    live_out: Vec<u32>,
}

impl Block for Code {
    fn problem(&self) -> &Problem {
        &self.problem
    }
    fn defs(&self, op: Op) -> impl Iterator<Item = u32> {
        self.defs.get(op.as_u32() as usize).into_iter().flatten().copied()
    }
    fn uses(&self, op: Op) -> impl Iterator<Item = u32> {
        self.uses.get(op.as_u32() as usize).into_iter().flatten().copied()
    }
    fn live_out(&self) -> impl Iterator<Item = u32> {
        self.live_out.iter().copied()
    }
    fn width(&self, value: u32) -> u16 {
        (value % 3) as u16
    }
    fn is_physical(&self, value: u32) -> bool {
        value.is_multiple_of(5)
    }
}

/// Operations in any order, patterns of several parts, negative latencies, edges to later iterations, values.
fn code(seed: u64, count: usize) -> Code {
    let mut rng = Rng::new(seed);
    let mut code = Code::default();
    let resources: Vec<Resource> =
        (0..3).map(|i| code.problem.add_resource(format!("r{i}"), 1 + rng.below(6) as u32)).collect();
    for i in 0..count {
        let mut uses: Vec<Use> = Vec::new();
        for &resource in &resources {
            if rng.chance(50) {
                continue;
            }
            let units = 1 + rng.below(u64::from(code.problem.capacity(resource)) as usize) as u32;
            let mut start = 0;
            for _ in 0..1 + rng.below(2) {
                start += rng.below(3) as u32;
                let rows = 1 + rng.below(4) as u32;
                uses.push(Use { resource, start, rows, units });
                start += rows;
            }
        }
        code.problem.add_op(format!("op{i}"), uses);
    }
    // Edges lead forward in an order that is not that of the numbers.
    let mut order: Vec<u32> = (0..count as u32).collect();
    for i in (1..count).rev() {
        order.swap(i, rng.below(i + 1));
    }
    code.defs = (0..count as u32).map(|i| (0..rng.below(3) as u32).map(|k| 7 * i + k).collect()).collect();
    code.uses = vec![Vec::new(); count];
    let with_values = rng.chance(80);
    for at in 1..count {
        for _ in 0..rng.below(4) {
            let (from, to) = (order[rng.below(at)], order[at]);
            let latency = rng.below(25) as i32 - 4;
            code.problem.add_edge(Op::from_u32(from), Op::from_u32(to), latency, 0);
            let carried = code.defs[from as usize].iter().copied().filter(|_| rng.chance(70));
            code.uses[to as usize].extend(carried);
        }
        if rng.chance(20) {
            let (a, b) = (order[rng.below(count)], order[rng.below(count)]);
            let (latency, distance) = (rng.below(30) as i32, 1 + rng.below(3) as u32);
            code.problem.add_edge(Op::from_u32(a), Op::from_u32(b), latency, distance);
        }
        if rng.chance(30) {
            code.uses[at].push(u32::MAX - rng.below(4) as u32); // there from the beginning
        }
    }
    code.live_out = code.defs.iter().flatten().copied().filter(|_| rng.chance(20)).collect();
    if !with_values {
        (code.defs, code.uses, code.live_out) = Default::default();
    }
    code
}

/// By every strategy.
fn orders(input: &Input, seed: u64) -> Vec<Ordered> {
    use Direction::{BottomUp, TopDown};
    let (graph, values, terms) = (input.graph(), input.values(), Terms { budget: 4, ..Terms::default() });
    let none = Boosted::default;
    let mut all = Vec::new();
    for direction in [TopDown, BottomUp] {
        all.push(input.schedule(direction, &mut Original));
        all.push(input.schedule(direction, &mut Shuffle { seed }));
        all.push(input.schedule(direction, &mut CriticalPath));
    }
    all.push(input.schedule(BottomUp, &mut ListBurr::new(graph, values, none(), terms)));
    all.push(input.schedule(BottomUp, &mut Source::new(graph, values, none(), terms)));
    all.push(input.schedule(BottomUp, &mut ListHybrid::new(graph, values, none(), terms)));
    all.push(input.schedule(BottomUp, &mut ListIlp::new(graph, values, none(), terms)));
    all.push(input.schedule(TopDown, &mut Converge::new(graph, none(), terms)));
    all.push(input.schedule(BottomUp, &mut IlpMax::new(graph, none(), terms)));
    all.push(input.schedule(BottomUp, &mut IlpMin::new(graph, none(), terms)));
    all
}

/// A random block of machine code with its resources.
fn machine_code(seed: u64, insts: usize) -> (sassafras_deps::Graph, Resources) {
    let mut rng = Rng::new(seed);
    let shape = Shape::random(&mut rng, 1, insts);
    let f = function(&mut rng, &shape);
    let insts = f.block_insts(f.blocks().next().expect("one block")).to_vec();
    let graph = build(&f, &insts, &LatencyByOpcode, BuildOptions { carried: rng.chance(50) });
    let units = (0..2).map(|i| Unit { name: format!("u{i}"), copies: 1 + rng.below(2) as u32 }).collect();
    let demand = |units| Demand { units };
    let demands = vec![demand(vec![]), demand(vec![(0, 3)]), demand(vec![(1, 2), (0, 0)])];
    let class_of = insts.iter().map(|_| rng.below(3) as u16).collect();
    let width = 1 + rng.below(2) as u32;
    (graph, Resources::new(width, units, demands, class_of).expect("consistent"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sassafras_testkit::cases(400)))]

    #[test]
    fn every_strategy_solves_what_outside_compilers_have(seed: u64, count in 0usize..30) {
        let code = code(seed, count);
        prop_assert_eq!(code.problem.check(), Ok(()));
        let input = Input::new(&code).expect("an input");
        for found in orders(&input, seed) {
            prop_assert_eq!(found.verify(&code.problem), Ok(()));
            prop_assert_eq!(found.picks.len(), count);
        }
    }

    /// The engine and its naive twin on machine code, judged by the problem that the graph becomes.
    #[test]
    fn orders_of_machine_code_solve_its_problem(seed: u64, insts in 0usize..40) {
        let (graph, resources) = machine_code(seed, insts);
        let problem = resources.problem(&graph, |n| format!("i{}", n.0));
        prop_assert_eq!(problem.check(), Ok(()));
        let paths = Paths::new(&graph);
        let judge = |order: &[Node], start: &[u64]| {
            let (order, times) = graph.with_joins(order, start);
            let order: Vec<Op> = order.iter().map(|n| Op::from_u32(n.0)).collect();
            let times: Vec<i64> = times.into_iter().map(|t| t as i64).collect();
            verify_order(&problem, &order, &times)
        };
        for direction in [Direction::TopDown, Direction::BottomUp] {
            let order = schedule(&graph, &paths, &resources, direction, &mut CriticalPath).order;
            let start = time(&graph, &resources, &order).start;
            prop_assert_eq!(judge(&order, &start), Ok(()));
            prop_assert_eq!(verify(&problem, &repeated(&graph, &resources, &order)), Ok(()));
            // A cycle that is taken away somewhere is missed, unless it was waited for nothing.
            let mut early = start.clone();
            if let Some(last) = order.last().filter(|last| start[last.index()] > 0) {
                early[last.index()] = 0;
                let slow = graph.preds_here(*last).any(|e| !graph.is_join(e.from) && e.latency > 0);
                prop_assert!(!slow || judge(&order, &early).is_err());
            }
        }
        // Picks have cycles of their own, counted from the beginning where there is one region.
        if graph.regions().len() == 1 {
            let picks = naive::schedule(&graph, &paths, &resources, Direction::TopDown, &mut CriticalPath).picks;
            let mut start = vec![0; graph.inst_count()];
            picks.iter().for_each(|p| start[p.node.index()] = p.cycle);
            let order: Vec<Node> = picks.iter().map(|p| p.node).collect();
            prop_assert_eq!(judge(&order, &start), Ok(()));
        }
        // There and back: what the graph became is an input like any other.
        let back = Input::new(&problem).expect("an input");
        prop_assert_eq!(back.schedule(Direction::TopDown, &mut CriticalPath).verify(&problem), Ok(()));
    }
}

#[test]
fn the_clock_of_an_input_is_tight() {
    let mut problem = Problem::new();
    let issue = problem.add_resource("issue", 2);
    let port = problem.add_resource("port", 1);
    let issue = Use::first(issue, 1);
    let ops: Vec<Op> = (0..4)
        .map(|i| {
            problem
                .add_op(format!("load{i}"), vec![issue, Use { resource: port, start: 1, rows: 2, units: 1 }])
        })
        .collect();
    let free = problem.add_op("free", vec![issue]);
    problem.add_edge(ops[0], ops[3], -7, 0);
    let found = Input::new(&problem).expect("an input").schedule(Direction::TopDown, &mut CriticalPath);
    // The port is held from the start on: three cycles each.
    assert_eq!(found.times, [0, 3, 6, 9, 0]);
    assert_eq!(found.verify(&problem), Ok(()));
    let wrong = Ordered { times: vec![0, 3, 6, 7, 0], ..found.clone() };
    assert!(matches!(wrong.verify(&problem), Err(Violation::Capacity { row: 8, units: 2, .. })));
    assert_eq!(found.picks[1].node, Node(free.as_u32()));
}

#[test]
fn what_the_engine_cannot_take_is_refused_with_a_reason() {
    let mut code = Code::default();
    let unit = code.problem.add_resource("unit", 1);
    let [a, b, c] = ["a", "b", "c"].map(|name| code.problem.add_op(name, vec![Use::first(unit, 1)]));
    code.problem.add_edge(a, b, 4, 0);
    code.problem.add_edge(c, c, -2, 0); // asks for nothing
    code.defs = vec![vec![1], vec![2], vec![3]];
    code.uses = vec![vec![], vec![1], vec![]];
    assert!(Input::new(&code).is_ok());
    let with = |change: &dyn Fn(&mut Code)| {
        let mut other = Code {
            problem: code.problem.clone(),
            defs: code.defs.clone(),
            uses: code.uses.clone(),
            live_out: vec![],
        };
        change(&mut other);
        Input::new(&other).map(|_| ()).expect_err("refused").to_string()
    };
    let errors = [
        with(&|c| c.problem.add_edge(b, a, -4, 0)),
        with(&|c| c.problem.add_edge(b, a, -3, 0)),
        with(&|c| c.problem.add_edge(a, b, 70_000, 0)),
        with(&|c| c.problem.add_edge(b, a, 1, 300)),
        with(&|c| {
            c.problem.add_op("d", vec![Use { resource: unit, start: 60_000, rows: 9_000, units: 1 }]);
        }),
        with(&|c| c.defs[1].push(1)),
        with(&|c| c.uses[2].push(1)),
        with(&|c| c.uses[2].push(3)),
    ];
    assert_eq!(
        errors,
        [
            "operation `b` waits for itself within an iteration",
            "operations `a`, `b` wait for each other within one iteration, 1 cycles around",
            "edge 2 has latency 70000 and distance 0; an order takes up to 65535 and 255",
            "edge 2 has latency 1 and distance 300; an order takes up to 65535 and 255",
            "operation `d` holds `unit` for 69000 cycles; an order takes up to 65535",
            "value 1 is written by `a` and by `b`",
            "value 1 is written by `a` and read by `c`, without an edge of distance 0 between them",
            "value 3 is written by `c` and read by `c`, without an edge of distance 0 between them",
        ]
    );
    let mut many = Problem::new();
    (0..70_000).for_each(|i| {
        let one = many.add_resource("r", 1);
        many.add_op(format!("{i}"), vec![Use::first(one, 1)]);
    });
    assert_eq!(Input::new(&many).map(|_| ()), Err(InputError::TooMany));
}

/// A budget that source order does not keep to is kept by the strategy that counts registers.
#[test]
fn registers_of_outside_values_count() {
    let mut code = Code::default();
    let mut add = |defs: Vec<u32>, uses: Vec<u32>| {
        let op = code.problem.add_op(format!("op{}", code.defs.len()), vec![]);
        for value in &uses {
            code.problem.add_edge(Op::from_u32(value / 3), op, 4, 0);
        }
        code.defs.push(defs);
        code.uses.push(uses);
    };
    // Values of width 1: six are made, and then each is used up.
    for i in 0..6 {
        add(vec![3 * i + 1], vec![]);
    }
    for i in 0..6 {
        add(vec![], vec![3 * i + 1]);
    }
    let input = Input::new(&code).expect("an input");
    let peak = |found: &Ordered| {
        let order: Vec<Node> = found.order.iter().map(|op| Node(op.as_u32())).collect();
        input.values().peak(&order)
    };
    let source = input.schedule(Direction::BottomUp, &mut Original);
    let mut burr = ListBurr::new(input.graph(), input.values(), Boosted::default(), Terms::default());
    let few = input.schedule(Direction::BottomUp, &mut burr);
    assert_eq!((peak(&source), peak(&few)), (6, 1));
}
