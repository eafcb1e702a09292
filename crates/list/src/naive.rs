//! The oracle: an engine that computes everything anew at every pick.
//!
//! No heaps, no counters, no incremental state: at each pick it looks at every node of the region, asks which may go,
//! and compares their keys as of now. Quadratic and worse. Tests require the same picks, cycles and reasons of both.

use crate::engine::{Pick, Schedule, Statistics, for_each_incoming, region_slices};
use crate::resources::{Reservations, Resources};
use crate::strategy::{Candidates, Context, Direction, Offer, Reason, Strategy};
use sassafras_problem::graph::{Graph, Node};
use sassafras_problem::paths::Paths;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What [`crate::engine::schedule`] makes, but for the counters.
pub fn schedule<S: Strategy>(
    graph: &Graph,
    paths: &Paths,
    resources: &Resources,
    direction: Direction,
    strategy: &mut S,
) -> Schedule {
    let context = Context { graph, paths, direction };
    let mut all: Vec<Pick> = Vec::new();
    let mut order = Vec::new();
    for (region, slice) in region_slices(graph).into_iter().enumerate() {
        strategy.begin(&context, region, slice);
        let first_pick = all.len();
        let mut placed = BTreeMap::new();
        let mut known = BTreeMap::new();
        let mut told = 0;
        let mut reservations = Reservations::new(resources);
        let insts: Vec<Node> = slice.iter().copied().filter(|&n| !graph.is_join(n)).collect();
        while placed.len() < insts.len() {
            // What was released, with the cycle its operands are there.
            let mut candidates: Vec<(Node, u64)> = Vec::new();
            for &node in insts.iter().filter(|n| !placed.contains_key(*n)) {
                if let Some(ready) = ready_cycle(&context, slice, &placed, node) {
                    candidates.push((node, ready));
                    known.entry(node).or_insert_with(|| {
                        strategy.released(&context, node, ready);
                        placed.len() as u32
                    });
                }
            }
            let unit = |reservations: &Reservations<'_>, node: Node| {
                reservations.earliest(resources.class_of(node.index()))
            };
            let soonest = match strategy.candidates() {
                Candidates::Ready => candidates.iter().map(|c| c.1.max(unit(&reservations, c.0))).min(),
                Candidates::Fed => candidates.iter().map(|c| c.1.max(reservations.next_slot())).min(),
                Candidates::Released => Some(reservations.next_slot()),
            };
            reservations.advance_to(soonest.expect("a graph without circuits"));
            let cycle = reservations.cycle();
            if cycle > told {
                told = cycle;
                strategy.clock(&context, cycle, &mut Vec::new());
            }
            candidates.retain(|&(node, ready)| match strategy.candidates() {
                Candidates::Ready => ready.max(unit(&reservations, node)) <= cycle,
                Candidates::Fed => ready <= cycle,
                Candidates::Released => true,
            });
            let by_class = S::UNITS || strategy.candidates() == Candidates::Ready;
            let offer = |node: Node| {
                let free = !by_class || unit(&reservations, node) <= cycle;
                let (key, group) = (strategy.key(&context, node), strategy.group(&context, node));
                Offer { node, key: strategy.offered(key, group, free), free }
            };
            let tie = |node| context.tie(strategy.ties(), node, known[&node]);
            let rank = |&(node, _): &(Node, u64)| (offer(node).key, Reverse(tie(node)));
            candidates.sort_by_key(|c| Reverse(rank(c)));
            let (node, ready) = candidates[0];
            let reason = match candidates.get(1) {
                Some(&(next, _)) => strategy.decided(&context, offer(node), offer(next)),
                None => Reason::OnlyChoice,
            };
            reservations.advance_to(ready.max(unit(&reservations, node)));
            let start = reservations.cycle();
            all.push(Pick { node, cycle: start, reason });
            reservations.start(resources.class_of(node.index()));
            placed.insert(node, start);
            strategy.placed(&context, node, start, &mut Vec::new());
        }
        let picked = all[first_pick..].iter().map(|pick| pick.node);
        match direction {
            Direction::TopDown => order.extend(picked),
            Direction::BottomUp => order.extend(picked.rev()),
        }
    }
    Schedule { order, picks: all, statistics: Statistics::default() }
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
