//! The critical circuit: the one with the largest ratio of latency to distance, for any edges.
//!
//! Raises a ratio `p/q` from circuit to circuit: longest paths under the weights `q·latency − p·distance` either settle,
//! and then the circuit at hand is the answer, or close a circuit of positive weight, whose own ratio is larger. Integers
//! throughout, any distances, no enumeration of circuits. A sweep costs one pass over the arcs; there are at most as many
//! sweeps per circuit as nodes, and a handful in practice, because a circuit is noticed as soon as the tree of
//! predecessors closes. Arcs in an order in which those of one iteration lead forward settle an iteration in one sweep.
//!
//! Where an iteration waits for the one before in many places, arcs from the end of the one to the middle of the other
//! cut long ways short at the end of every sweep, and what closes is each time a cycle longer. So after a few circuits
//! those arcs come first in a sweep, and the tree is looked at when the longest ways behind them are known.
//!
//! Sources: Burns (1991) and Dasdan's survey (2004) for the parametric search of a maximum cycle ratio.

use std::ops::Add;

/// An edge as the search sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arc {
    /// The node that comes first.
    pub from: u32,
    /// The node that waits.
    pub to: u32,
    /// Cycles between the two.
    pub latency: i32,
    /// Iterations between the two.
    pub distance: u32,
    /// What the caller knows the edge by.
    pub edge: u32,
}

/// A circuit with what it costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circuit {
    /// [`Arc::edge`] of every arc around it, each starting where the one before ends.
    pub edges: Vec<u32>,
    /// The sum of the latencies.
    pub latency: i64,
    /// The sum of the distances.
    pub distance: i64,
}

/// What a circuit must exceed to be looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Floor {
    /// Circuits of latency 0 count, those of negative latency may.
    AnyLatency,
    /// The latency must be positive.
    PositiveLatency,
}

/// So many circuits are looked for with all arcs of a node at once.
const AT_ONCE: u32 = 64;

/// The circuit with the largest ratio of latency to distance; none where no circuit exceeds the floor.
///
/// A circuit of distance 0 and positive latency ends the search and is the answer: its ratio is infinite. Arcs name
/// nodes below `nodes`.
pub fn critical(nodes: usize, arcs: &[Arc], floor: Floor) -> Option<Circuit> {
    circuits(nodes, arcs, floor).last()
}

/// Whether some circuit has a positive latency, and which, distances left out.
pub fn positive(nodes: usize, arcs: &[Arc]) -> Option<Circuit> {
    search(nodes, arcs, (0, 1), true).map(|places| circuit(arcs, &places))
}

/// Circuits with larger and larger ratios; the last one has the largest.
fn circuits(nodes: usize, arcs: &[Arc], floor: Floor) -> impl Iterator<Item = Circuit> {
    let first = if floor == Floor::AnyLatency { -1 } else { 0 };
    let (mut found, mut p, mut q) = (0u32, first, 1);
    std::iter::from_fn(move || {
        if q == 0 {
            return None; // The last one had no distance: nothing has a larger ratio.
        }
        let circuit = circuit(arcs, &search(nodes, arcs, (p, q), found < AT_ONCE)?);
        (found, p, q) = (found + 1, i128::from(circuit.latency), i128::from(circuit.distance));
        Some(circuit)
    })
}

fn circuit(arcs: &[Arc], places: &[u32]) -> Circuit {
    let arcs = || places.iter().map(|&at| &arcs[at as usize]);
    Circuit {
        edges: arcs().map(|arc| arc.edge).collect(),
        latency: arcs().map(|arc| i64::from(arc.latency)).sum(),
        distance: arcs().map(|arc| i64::from(arc.distance)).sum(),
    }
}

/// A circuit of positive weight `q·latency − p·distance`, if there is one.
fn search(nodes: usize, arcs: &[Arc], (p, q): (i128, i128), at_once: bool) -> Option<Vec<u32>> {
    let weight = |arc: &Arc| q * i128::from(arc.latency) - p * i128::from(arc.distance);
    // Before a sweep the tree of predecessors has no circuit, so ways in it have fewer arcs than there are nodes; a sweep of two
    // passes makes them longer by every arc twice at most.
    let largest = arcs.iter().map(|arc| weight(arc).unsigned_abs()).max().unwrap_or(0);
    let longest = largest.saturating_mul((nodes + 2 * arcs.len() + 1) as u128);
    if longest <= i64::MAX as u128 / 2 {
        let weights: Vec<i64> = arcs.iter().map(|arc| weight(arc) as i64).collect();
        positive_circuit(nodes, arcs, &weights, at_once)
    } else {
        let weights: Vec<i128> = arcs.iter().map(weight).collect();
        positive_circuit(nodes, arcs, &weights, at_once)
    }
}

const NO_ARC: u32 = u32::MAX;

/// A circuit of positive weight, if there is one, as positions of its arcs. Arcs to later iterations are relaxed with the
/// others, or before all others.
fn positive_circuit<T: Copy + Ord + Default + Add<Output = T>>(
    nodes: usize,
    arcs: &[Arc],
    weights: &[T],
    at_once: bool,
) -> Option<Vec<u32>> {
    let mut longest = vec![T::default(); nodes];
    let mut via = vec![NO_ARC; nodes];
    let mut relax = |via: &mut [u32], takes: fn(&Arc) -> bool| {
        let mut changed = false;
        for (at, (arc, &weight)) in (0..).zip(arcs.iter().zip(weights)) {
            let length = longest[arc.from as usize] + weight;
            if length > longest[arc.to as usize] && takes(arc) {
                longest[arc.to as usize] = length;
                via[arc.to as usize] = at;
                changed = true;
            }
        }
        changed
    };
    loop {
        let changed = if at_once {
            relax(&mut via, |_| true)
        } else {
            let across = relax(&mut via, |arc| arc.distance > 0);
            relax(&mut via, |arc| arc.distance == 0) || across
        };
        if !changed {
            return None;
        }
        if let Some(circuit) = closed_circuit(arcs, &via) {
            return Some(circuit);
        }
    }
}

/// A circuit in the tree of predecessors, which closes just when some weight around a circuit is positive.
fn closed_circuit(arcs: &[Arc], via: &[u32]) -> Option<Vec<u32>> {
    let before = |at: usize| arcs[via[at] as usize].from as usize;
    let mut seen = vec![0u32; via.len()];
    for start in 0..via.len() {
        let walk = start as u32 + 1;
        let mut at = start;
        while seen[at] == 0 && via[at] != NO_ARC {
            seen[at] = walk;
            at = before(at);
        }
        if via[at] != NO_ARC && seen[at] == walk {
            let first = at;
            let mut circuit = vec![via[at]];
            at = before(at);
            while at != first {
                circuit.push(via[at]);
                at = before(at);
            }
            circuit.reverse();
            return Some(circuit);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn arc(from: u32, to: u32, latency: i32, distance: u32) -> Arc {
        Arc { from, to, latency, distance, edge: 0 }
    }

    /// Every node but the last is overwritten by the next, and all wait for the end of the iteration before: a circuit from each of them
    /// to the end, and every one is a cycle longer than the next.
    #[test]
    fn a_ladder_of_circuits_is_not_climbed_step_by_step() {
        const STEPS: u32 = 3000;
        let mut arcs = Vec::new();
        for step in 0..STEPS {
            arcs.extend([arc(step, step + 1, 1, 0), arc(step, STEPS, 0, 0)]);
        }
        arcs.extend((0..=STEPS).map(|step| arc(STEPS, step, 1, 1)));
        let found: Vec<Circuit> = circuits(STEPS as usize + 1, &arcs, Floor::AnyLatency).collect();
        let best = found.last().expect("a circuit");
        assert_eq!((best.latency, best.distance), (i64::from(STEPS) + 1, 1));
        assert!(found.len() < AT_ONCE as usize + 10, "{}", found.len());
    }

    #[test]
    fn the_floor_decides_about_circuits_without_latency() {
        let arcs = [arc(0, 1, 0, 0), arc(1, 0, 0, 1)];
        assert_eq!(critical(2, &arcs, Floor::PositiveLatency), None);
        assert_eq!(critical(2, &arcs, Floor::AnyLatency).map(|c| (c.latency, c.distance)), Some((0, 1)));
    }

    #[test]
    fn numbers_beyond_64_bits_are_added_rightly() {
        // 2^24 · 2^20 · 3 per arc under the ratio of the first circuit, in paths of up to thousands of arcs.
        let far = 1 << 20;
        let mut arcs: Vec<Arc> = (0..9000).map(|n| arc(n, n + 1, 1 << 24, far)).collect();
        arcs.extend([arc(9000, 0, 1 << 24, far), arc(9000, 9000, (1 << 24) - 1, far)]);
        let best = critical(9001, &arcs, Floor::PositiveLatency).expect("a circuit");
        assert_eq!((best.latency, best.distance), (9001 << 24, 9001 << 20));
    }

    /// All simple circuits, one by one.
    fn best_ratio(nodes: u32, arcs: &[Arc]) -> Option<(i64, i64)> {
        fn walk(arcs: &[Arc], path: &mut Vec<u32>, sums: (i64, i64), best: &mut Option<(i64, i64)>) {
            let last = path.last().copied();
            for a in arcs.iter().filter(|a| Some(a.from) == last) {
                let (l, d) = (sums.0 + i64::from(a.latency), sums.1 + i64::from(a.distance));
                if a.to == path[0] {
                    if best.is_none_or(|(bl, bd)| l * bd > bl * d) {
                        *best = Some((l, d));
                    }
                } else if a.to > path[0] && !path.contains(&a.to) {
                    path.push(a.to);
                    walk(arcs, path, (l, d), best);
                    path.pop();
                }
            }
        }
        let mut best = None;
        for first in 0..nodes {
            walk(arcs, &mut vec![first], (0, 0), &mut best);
        }
        best
    }

    proptest! {
        #[test]
        fn the_ratio_is_the_largest_of_all_circuits(
            edges in proptest::collection::vec((0u32..6, 0u32..6, 0i32..9, 0u32..3), 0..12)
        ) {
            let arcs: Vec<Arc> = edges
                .into_iter()
                // Within an iteration edges lead forward.
                .map(|(a, b, l, d)| if d == 0 && a >= b { arc(a, b, l, 1) } else { arc(a, b, l, d) })
                .collect();
            let found = critical(6, &arcs, Floor::AnyLatency);
            let best = best_ratio(6, &arcs);
            prop_assert_eq!(found.is_some(), best.is_some());
            if let (Some(found), Some((latency, distance))) = (found, best) {
                prop_assert_eq!(found.latency * distance, latency * found.distance);
            }
        }
    }
}
