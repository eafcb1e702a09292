//! Second arm: two operations in one cycle.
//!
//! Goal: seat a pair of operations that do not depend on each other and want the same resources in the same cycle, where
//! capacities allow it, so that they claim one row; the rest of the group follows greedily. A group of one is fused with
//! an operation that has been placed.
//!
//! Cost: pairs × II probes. Source: `tile-gates` ("Fuse Arm").

use crate::generate::state::State;
use sassafras_modulo::Op;

/// Seats the group, or changes nothing.
pub fn run(state: &mut State<'_>, group: &[Op]) -> bool {
    if group.iter().any(|&op| state.pending(op, group)) {
        return false;
    }
    match group {
        [] => true,
        &[op] => beside_a_placed_one(state, op),
        _ => pairs(state, group),
    }
}

/// Whether two operations can share a cycle: neither needs the other, and they want something in common.
fn alike(state: &State<'_>, a: Op, b: Op) -> bool {
    let independent = state.distances.get(a, b).is_none() && state.distances.get(b, a).is_none();
    let shared = |u: &sassafras_modulo::Use| state.problem.uses(b).iter().any(|v| v.resource == u.resource);
    independent && state.problem.uses(a).iter().any(shared)
}

fn beside_a_placed_one(state: &mut State<'_>, op: Op) -> bool {
    let window = state.window(op);
    let ii = i64::from(state.ii());
    let others: Vec<i64> = state
        .problem
        .ops()
        .filter(|&o| o != op && state.time(o).is_some() && alike(state, op, o))
        .filter_map(|o| state.time(o))
        .collect();
    others.into_iter().any(|other| {
        // The cycle of the same row that the window begins with.
        let first = *window.start();
        let time = first + (other - first).rem_euclid(ii);
        window.contains(&time) && state.table.probe(op, time) && state.place(op, time)
    })
}

fn pairs(state: &mut State<'_>, group: &[Op]) -> bool {
    for (i, &a) in group.iter().enumerate() {
        for &b in &group[i + 1..] {
            if !alike(state, a, b) {
                continue;
            }
            let (wa, wb) = (state.window(a), state.window(b));
            let first = *wa.start().max(wb.start());
            let last = *wa.end().min(wb.end());
            let last = last.min(first.saturating_add(i64::from(state.ii()) - 1));
            let mut time = first;
            while time <= last {
                if state.place(a, time) {
                    if state.place(b, time) && rest(state, group, a, b) {
                        return true;
                    }
                    state.remove(b);
                    state.remove(a);
                }
                time += 1;
            }
        }
    }
    false
}

/// The rest of the group at the first cycles there are; on failure they are out again.
fn rest(state: &mut State<'_>, group: &[Op], a: Op, b: Op) -> bool {
    let mut others: Vec<Op> = group.iter().copied().filter(|&o| o != a && o != b).collect();
    others.sort_by_key(|&op| (state.depth(op), op));
    for (i, &op) in others.iter().enumerate() {
        if !state.seat(op).is_some_and(|time| state.place(op, time)) {
            state.remove_all(&others[..i]);
            return false;
        }
    }
    true
}
