//! Graphs as problems: what an outside checker and the modulo schedulers are given says what the all-pairs oracle says.

use proptest::prelude::*;
use sassafras_deps::latency::LatencyByOpcode;
use sassafras_deps::oracle::{self, NONE};
use sassafras_deps::{BuildOptions, Graph, build};
use sassafras_ir::{Function, Inst};
use sassafras_modulo::{Op, Options, Problem, Use, bounds, iterative, verify};
use sassafras_testkit::random::{Shape, function};
use sassafras_testkit::rng::Rng;

struct Case {
    f: Function,
    insts: Vec<Inst>,
    graph: Graph,
    problem: Problem,
}

const CARRIED: BuildOptions = BuildOptions { carried: true };

/// A random loop of which every instruction takes an issue slot, and some of them a unit.
fn case(seed: u64, insts: usize) -> Case {
    let mut rng = Rng::new(seed);
    let shape = Shape::random(&mut rng, 1, insts);
    let f = function(&mut rng, &shape);
    let insts = f.block_insts(f.blocks().next().expect("one block")).to_vec();
    let graph = build(&f, &insts, &LatencyByOpcode, CARRIED);
    let mut problem = Problem::new();
    let issue = problem.add_resource("issue", 1 + rng.below(2) as u32);
    let unit = problem.add_resource("unit", 1);
    let first = graph.add_to(&mut problem, |node| {
        let mut uses = vec![Use::first(issue, 1)];
        uses.extend(rng.chance(30).then_some(Use { resource: unit, start: 1, rows: 3, units: 1 }));
        let join = graph.is_join(node);
        (if join { "join".to_owned() } else { format!("i{}", node.0) }, if join { vec![] } else { uses })
    });
    assert_eq!(first, Op::from_u32(0));
    Case { f, insts, graph, problem }
}

/// Longest paths between the instructions of two iterations, by the edges of the problem alone.
fn closure_of(problem: &Problem, insts: usize) -> oracle::Closure {
    let n = problem.ops().len();
    let mut edges = Vec::new();
    for e in problem.edges() {
        let (from, to) = (e.from.as_u32() as usize, e.to.as_u32() as usize);
        for iteration in 0..2usize.saturating_sub(e.distance as usize) {
            let later = iteration + e.distance as usize;
            edges.push((iteration * n + from, later * n + to, i64::from(e.latency)));
        }
    }
    let place = |i: usize| if i < insts { i } else { n + i - insts };
    let from = |start: usize| {
        let mut longest = vec![NONE; 2 * n];
        longest[start] = 0;
        loop {
            let before = longest.clone();
            for &(from, to, latency) in &edges {
                if longest[from] != NONE {
                    longest[to] = longest[to].max(longest[from] + latency);
                }
            }
            if before == longest {
                return longest;
            }
        }
    };
    let rows = (0..2 * insts).map(|i| from(place(i)));
    rows.map(|row| (0..2 * insts).map(|j| row[place(j)]).collect()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sassafras_testkit::cases(300)))]

    /// With the joins as operations: paths between instructions are those of a graph with an edge for every pair.
    #[test]
    fn paths_of_the_problem_are_those_of_all_pairs(seed: u64, insts in 0usize..14) {
        let Case { f, insts, problem, .. } = case(seed, insts);
        prop_assert_eq!(problem.check(), Ok(()));
        let all_pairs = oracle::closure(&f, &insts, &LatencyByOpcode, CARRIED);
        prop_assert_eq!(closure_of(&problem, insts.len()), all_pairs);
    }

    /// A modulo schedule of the problem keeps every pair of instructions, of this iteration and the next, as far apart as the
    /// oracle asks, the joins forgotten.
    #[test]
    fn modulo_schedules_satisfy_all_pairs(seed: u64, insts in 1usize..24) {
        let Case { f, insts, graph, problem } = case(seed, insts);
        let found = iterative::schedule(&problem, &Options::default()).expect("a schedule");
        prop_assert_eq!(verify(&problem, &found.schedule), Ok(()));
        let all_pairs = oracle::closure(&f, &insts, &LatencyByOpcode, CARRIED);
        let n = insts.len();
        let start = |i: usize| {
            let turn = (i / n) as i64 * i64::from(found.schedule.ii);
            found.schedule.times[i % n] + turn
        };
        for (i, row) in all_pairs.iter().enumerate() {
            for (j, &length) in row.iter().enumerate() {
                prop_assert!(length == NONE || start(j) >= start(i) + length, "{} to {} of {}", i, j, n);
            }
        }
        // The two bounds of recurrences are one routine over two kinds of edges.
        let graphs = sassafras_deps::cyclic::critical_recurrence(&graph).map_or(1, |r| r.cycles().max(1));
        prop_assert_eq!(bounds(&problem).recurrence, graphs);
    }

    /// What asks for too much is noticed: a schedule with one instruction a cycle earlier breaks something, unless it had slack.
    #[test]
    fn a_schedule_that_is_tampered_with_is_judged_as_all_pairs_do(seed: u64, insts in 2usize..16) {
        let Case { f, insts, graph, problem } = case(seed, insts);
        let n = insts.len();
        let found = iterative::schedule(&problem, &Options::default()).expect("a schedule");
        let all_pairs = oracle::closure(&f, &insts, &LatencyByOpcode, CARRIED);
        let ii = i64::from(found.schedule.ii);
        let moved = seed as usize % n;
        let mut times = found.schedule.times.clone();
        times[moved] -= 1 + (seed >> 32) as i64 % 3;
        // Dependences alone: no resource.
        let mut free = Problem::new();
        graph.add_to(&mut free, |_| (String::new(), vec![]));
        // The joins as early as they may be: their place is free.
        for _ in 0..n + free.ops().len() {
            for node in graph.topological().iter().filter(|n| graph.is_join(**n)) {
                let ready = graph.preds(*node).map(|e| {
                    times[e.from.index()] + i64::from(e.latency) - i64::from(e.distance) * ii
                });
                if let Some(ready) = ready.max() {
                    times[node.index()] = ready;
                }
            }
        }
        let start = |i: usize| times[i % n] + (i / n) as i64 * ii;
        let kept = (0..2 * n).all(|i| {
            all_pairs[i].iter().enumerate().all(|(j, &l)| l == NONE || start(j) >= start(i) + l)
        });
        let schedule = sassafras_modulo::Schedule { ii: found.schedule.ii, times };
        prop_assert_eq!(verify(&free, &schedule).is_ok(), kept);
    }
}
