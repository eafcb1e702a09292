//! Second arm: two operations in one cycle.
//!
//! Goal: seat a pair of candidates that do not depend on each other and want the same resources in the same cycle, where
//! capacities allow it, so that they claim one row; the other candidates follow greedily. One candidate alone is refused: the
//! first arm has seen every cycle there is for it, those of operations that were placed before among them.
//!
//! The documents' special case of group 4 (it sorts by another list of the same record) has no counterpart: nothing says
//! what the list holds.
//!
//! Cost: pairs × II probes. Source: `tile-gates` ("Fuse Arm").

use crate::generate::state::State;
use sassafras_modulo::Op;

/// Seats the candidates, or changes nothing.
pub fn run(state: &mut State<'_>, set: &[Op]) -> bool {
    for (i, &a) in set.iter().enumerate() {
        for &b in &set[i + 1..] {
            if !alike(state, a, b) {
                continue;
            }
            let (wa, wb) = (state.window(a), state.window(b));
            let first = *wa.start().max(wb.start());
            let last = *wa.end().min(wb.end());
            let last = last.min(first.saturating_add(i64::from(state.ii()) - 1));
            let mut time = first;
            // The table jumps over cycles that do not take the first.
            while let Some(at) = (time <= last).then(|| state.table.earliest(a, time..=last)).flatten() {
                if state.put(a, at) {
                    if state.put(b, at) {
                        if rest(state, set, a, b) {
                            return true;
                        }
                        state.remove(b);
                    }
                    state.remove(a);
                }
                time = at + 1;
            }
        }
    }
    false
}

/// Whether two operations can share a cycle: neither needs the other, and they want something in common.
fn alike(state: &State<'_>, a: Op, b: Op) -> bool {
    let independent = state.distances.get(a, b).is_none() && state.distances.get(b, a).is_none();
    let shared = |u: &sassafras_modulo::Use| state.problem.uses(b).iter().any(|v| v.resource == u.resource);
    independent && state.problem.uses(a).iter().any(shared)
}

/// The other candidates at the first cycles there are; on failure they are out again.
fn rest(state: &mut State<'_>, set: &[Op], a: Op, b: Op) -> bool {
    let mut others: Vec<Op> = set.iter().copied().filter(|&o| o != a && o != b).collect();
    others.sort_by_key(|&op| (state.depth(op), op));
    for (i, &op) in others.iter().enumerate() {
        if !state.seat(op).is_some_and(|time| state.place(op, time)) {
            state.remove_all(&others[..i]);
            return false;
        }
    }
    true
}
