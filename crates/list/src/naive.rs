//! The oracle: an engine that computes everything anew at every pick.
//!
//! No heaps, no counters, no incremental state: at each pick it looks at every node of the region, asks which may go,
//! and compares their keys as of now. Quadratic and worse. Tests require the same picks, cycles and reasons of both.

use crate::engine::{Pick, for_each_incoming, region_slices, tie};
use crate::resources::{Reservations, Resources};
use crate::strategy::{Candidates, Context, Direction, Strategy, reason};
use sassafras_deps::paths::Paths;
use sassafras_deps::{Graph, Node};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The picks of every region.
pub fn picks<S: Strategy>(
    graph: &Graph,
    paths: &Paths,
    resources: &Resources,
    direction: Direction,
    strategy: &mut S,
) -> Vec<Pick> {
    let context = Context { graph, paths, direction };
    let mut all = Vec::new();
    for slice in region_slices(graph) {
        let mut placed = BTreeMap::new();
        let mut reservations = Reservations::new(resources);
        let insts: Vec<Node> = slice.iter().copied().filter(|&n| !graph.is_join(n)).collect();
        while placed.len() < insts.len() {
            let mut candidates: Vec<(Node, u64)> = Vec::new();
            for &node in insts.iter().filter(|n| !placed.contains_key(*n)) {
                if let Some(ready) = ready_cycle(&context, slice, &placed, node) {
                    let start = ready.max(reservations.earliest(resources.class_of(node.index())));
                    candidates.push((node, start));
                }
            }
            if S::CANDIDATES == Candidates::Ready {
                let soonest = candidates.iter().map(|c| c.1).min().expect("a graph without circuits");
                reservations.advance_to(soonest);
                candidates.retain(|c| c.1 <= reservations.cycle());
            }
            let rank =
                |&(node, _): &(Node, u64)| (strategy.key(&context, node), Reverse(tie(direction, node)));
            candidates.sort_by_key(|c| Reverse(rank(c)));
            let (node, start) = candidates[0];
            // Another candidate of the same unit is no alternative once the first has taken the unit.
            reservations.advance_to(start);
            let key = strategy.key(&context, node);
            let next = candidates.get(1).map(|&(other, _)| strategy.key(&context, other));
            all.push(Pick { node, cycle: start, reason: reason::<S>(&key, next.as_ref()) });
            reservations.start(resources.class_of(node.index()));
            placed.insert(node, start);
            strategy.placed(&context, node, &mut Vec::new());
        }
    }
    all
}

/// The cycle in which the operands of a node are there; nothing while one of them has not been placed.
fn ready_cycle(
    context: &Context<'_>,
    slice: &[Node],
    placed: &BTreeMap<Node, u64>,
    node: Node,
) -> Option<u64> {
    // Joins are looked through, back to the instructions behind them.
    let mut ready = Some(0);
    let mut work = vec![(node, 0u64)];
    while let Some((at, after)) = work.pop() {
        for_each_incoming(context, at, |e, from| {
            let latency = after + u64::from(e.latency);
            if !slice.contains(&from) {
            } else if context.graph.is_join(from) {
                work.push((from, latency));
            } else {
                ready = ready.and_then(|r: u64| Some(r.max(placed.get(&from)? + latency)));
            }
        });
    }
    ready
}
