//! The builder against the oracle, and the analyses against their definitions.

use proptest::prelude::*;
use sassafras_deps::cyclic::critical_recurrence;
use sassafras_deps::oracle::{self, NONE};
use sassafras_deps::paths::Paths;
use sassafras_deps::reach::{Reachability, reduced_edges};
use sassafras_deps::{BuildOptions, Graph, LatencyModel, OrderKind, build};
use sassafras_ir::{Function, Inst, LaneRef, Role};
use sassafras_testkit::random::{Shape, function};
use sassafras_testkit::rng::Rng;

/// Latencies that differ by opcode, operand and lane, so that a lost or misplaced edge shows.
struct Uneven {
    seed: u64,
}

impl Uneven {
    fn number(&self, parts: &[u64], below: u64) -> u16 {
        let mixed = parts.iter().fold(self.seed, |h, p| Rng::new(h ^ p).next_u64());
        (mixed % below) as u16
    }
}

impl LatencyModel for Uneven {
    fn def_class(&self, f: &Function, inst: Inst, lane: LaneRef) -> u16 {
        (f.inst(inst).opcode.as_u32() as u16) * 4 + u16::from(lane.part % 4)
    }
    fn use_class(&self, f: &Function, inst: Inst, lane: LaneRef) -> u16 {
        let role = match lane.role {
            Role::Guard => 0,
            Role::Operand(_) => 1,
            Role::Address(_) => 2,
        };
        (f.inst(inst).opcode.as_u32() as u16) * 3 + role
    }
    fn raw(&self, def: u16, user: u16) -> u16 {
        self.number(&[1, u64::from(def), u64::from(user)], 30)
    }
    fn war(&self, user: u16, def: u16) -> u16 {
        self.number(&[2, u64::from(user), u64::from(def)], 5)
    }
    fn waw(&self, first: u16, second: u16) -> u16 {
        self.number(&[3, u64::from(first), u64::from(second)], 9)
    }
    fn order(&self, kind: OrderKind) -> u16 {
        self.number(&[4, kind as u64], 12)
    }
}

fn random(seed: u64, insts: usize) -> (Function, Vec<Inst>, Uneven) {
    let mut rng = Rng::new(seed);
    let shape = Shape::random(&mut rng, 1, insts);
    let f = function(&mut rng, &shape);
    let block = f.blocks().next().expect("one block");
    let insts = f.block_insts(block).to_vec();
    (f, insts, Uneven { seed })
}

fn check_closures(seed: u64, insts: usize, carried: bool) -> Result<(), TestCaseError> {
    let (f, insts, model) = random(seed, insts);
    let options = BuildOptions { carried };
    let graph = build(&f, &insts, &model, options);
    let (fast, slow) = (oracle::closure_of(&graph), oracle::closure(&f, &insts, &model, options));
    for (i, row) in slow.iter().enumerate() {
        for (j, &expected) in row.iter().enumerate() {
            prop_assert_eq!(fast[i][j], expected, "path {} -> {} of {}", i, j, insts.len());
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sassafras_testkit::cases(1500)))]

    #[test]
    fn longest_paths_are_those_of_all_pairs(seed: u64, insts in 0usize..28) {
        check_closures(seed, insts, false)?;
    }

    #[test]
    fn longest_paths_across_iterations_too(seed: u64, insts in 0usize..16) {
        check_closures(seed, insts, true)?;
    }

    #[test]
    fn topological_order_and_adjacency_hold(seed: u64, insts in 0usize..60) {
        let (f, insts, model) = random(seed, insts);
        let graph = build(&f, &insts, &model, BuildOptions { carried: true });
        let mut place = vec![usize::MAX; graph.node_count()];
        for (i, n) in graph.topological().iter().enumerate() {
            place[n.index()] = i;
        }
        prop_assert!(place.iter().all(|&p| p != usize::MAX));
        let mut seen = 0;
        for &node in graph.topological() {
            for e in graph.succs(node) {
                prop_assert_eq!(e.from, node);
                prop_assert!(e.distance > 0 || place[e.from.index()] < place[e.to.index()]);
                seen += 1;
            }
            prop_assert!(graph.preds(node).all(|e| e.to == node));
        }
        prop_assert_eq!(seen, graph.edges().len());
        let covered: Vec<u32> = graph.regions().iter().flat_map(Clone::clone).collect();
        prop_assert_eq!(covered, (0..insts.len() as u32).collect::<Vec<_>>());
    }

    #[test]
    fn depths_heights_and_slack_are_longest_paths(seed: u64, insts in 1usize..25) {
        let (f, insts, model) = random(seed, insts);
        let graph = build(&f, &insts, &model, BuildOptions::default());
        let paths = Paths::new(&graph);
        let closure = oracle::closure(&f, &insts, &model, BuildOptions::default());
        let n = insts.len();
        let mut length = 0;
        for node in graph.insts() {
            let depth = (0..n).map(|i| closure[i][node.index()]).filter(|&l| l != NONE).max().unwrap();
            let height = (0..n).map(|j| closure[node.index()][j]).filter(|&l| l != NONE).max().unwrap();
            prop_assert_eq!(paths.depth(node) as i64, depth);
            prop_assert_eq!(paths.height(node) as i64, height);
            length = length.max(height);
        }
        prop_assert_eq!(paths.critical_length() as i64, length);
        for node in graph.insts() {
            prop_assert_eq!(paths.slack(node) + paths.depth(node) + paths.height(node), paths.critical_length());
        }
        let sum: i64 = paths.critical_path(&graph).iter().map(|&e| i64::from(graph.edges()[e as usize].latency)).sum();
        prop_assert_eq!(sum, length);
    }

    #[test]
    fn reachability_is_having_a_path(seed: u64, insts in 0usize..25) {
        let (f, insts, model) = random(seed, insts);
        let graph = build(&f, &insts, &model, BuildOptions::default());
        let reach = Reachability::new(&graph).unwrap();
        let closure = oracle::closure_of(&graph);
        for a in graph.insts() {
            for b in graph.insts() {
                prop_assert_eq!(reach.reaches(a, b), a != b && closure[a.index()][b.index()] != NONE);
            }
        }
    }

    #[test]
    fn reduction_keeps_longest_paths_and_nothing_more(seed: u64, insts in 0usize..14) {
        let (f, insts, model) = random(seed, insts);
        let graph = build(&f, &insts, &model, BuildOptions::default());
        let kept = reduced_edges(&graph);
        let all = node_closure(&graph, &(0..graph.edges().len() as u32).collect::<Vec<_>>());
        prop_assert_eq!(&node_closure(&graph, &kept), &all);
        for (i, _) in kept.iter().enumerate() {
            let mut fewer = kept.clone();
            fewer.remove(i);
            prop_assert_ne!(&node_closure(&graph, &fewer), &all);
        }
    }

    #[test]
    fn the_critical_recurrence_has_the_largest_ratio(seed: u64, insts in 0usize..12) {
        let (f, insts, model) = random(seed, insts);
        let graph = build(&f, &insts, &model, BuildOptions { carried: true });
        let found = critical_recurrence(&graph);
        // Longest paths with `steps` carried edges, by repeated squaring-free dynamic programming.
        let expected = largest_ratio_by_karp(&graph);
        match (found, expected) {
            (None, None) => {}
            (Some(r), Some((latency, distance))) => {
                prop_assert_eq!(u128::from(r.latency) * u128::from(distance), u128::from(latency) * u128::from(r.distance));
                let edges: Vec<_> = r.circuit.iter().map(|&e| graph.edges()[e as usize]).collect();
                for (i, e) in edges.iter().enumerate() {
                    prop_assert_eq!(e.to, edges[(i + 1) % edges.len()].from);
                }
                prop_assert_eq!(edges.iter().map(|e| u64::from(e.latency)).sum::<u64>(), r.latency);
            }
            (found, expected) => prop_assert!(false, "{found:?} against {expected:?}"),
        }
    }
}

fn node_closure(graph: &Graph, edges: &[u32]) -> Vec<Vec<i64>> {
    let n = graph.node_count();
    let mut preds = vec![Vec::new(); n];
    for &e in edges {
        let e = &graph.edges()[e as usize];
        preds[e.to.index()].push((e.from.index(), i64::from(e.latency)));
    }
    (0..n)
        .map(|start| {
            let mut longest = vec![NONE; n];
            longest[start] = 0;
            for node in graph.topological() {
                for &(from, latency) in &preds[node.index()] {
                    if longest[from] != NONE {
                        longest[node.index()] = longest[node.index()].max(longest[from] + latency);
                    }
                }
            }
            longest
        })
        .collect()
}

/// The largest latency/distance over circuits, by trying every number of iterations: `walk[k][a][b]` is the longest path
/// from `a` to `b` that crosses `k` iteration borders.
fn largest_ratio_by_karp(graph: &Graph) -> Option<(u64, u64)> {
    let n = graph.node_count();
    let here = node_closure(
        graph,
        &(0..graph.edges().len() as u32)
            .filter(|&e| graph.edges()[e as usize].distance == 0)
            .collect::<Vec<_>>(),
    );
    let mut step = vec![vec![NONE; n]; n];
    for e in graph.edges().iter().filter(|e| e.distance == 1) {
        for a in 0..n {
            if here[a][e.from.index()] == NONE {
                continue;
            }
            for b in 0..n {
                if here[e.to.index()][b] != NONE {
                    let length = here[a][e.from.index()] + i64::from(e.latency) + here[e.to.index()][b];
                    step[a][b] = step[a][b].max(length);
                }
            }
        }
    }
    let mut best: Option<(u64, u64)> = None;
    let mut walk = step.clone();
    for distance in 1..=n.min(14) as u64 {
        for (a, row) in walk.iter().enumerate() {
            if row[a] != NONE {
                let latency = row[a] as u64;
                if best.is_none_or(|(l, d)| latency * d > l * distance) {
                    best = Some((latency, distance));
                }
            }
        }
        let mut next = vec![vec![NONE; n]; n];
        for a in 0..n {
            for m in 0..n {
                if walk[a][m] == NONE {
                    continue;
                }
                for b in 0..n {
                    if step[m][b] != NONE {
                        next[a][b] = next[a][b].max(walk[a][m] + step[m][b]);
                    }
                }
            }
        }
        walk = next;
    }
    best
}
