//! Third arm: what is in the way goes out and comes back elsewhere.
//!
//! Goal: seat the candidates one by one; where the table refuses the first cycle of the window, the operations that hold the
//! rows are taken out and put back at the first cycle that they find, and if one finds none, everything is as it was before.
//! For a candidate that is dead in the snapshot nothing is moved; it is looked at once more, and if there is a cycle for it
//! now it is seated and live again. If one is not seated, all are refused; who that was is not marked, since it may have been
//! the order, which the fourth arm chooses otherwise.
//!
//! Cost: candidates × cycles × blockers, with a budget of cycles per operation. Source: `tile-driver` (two-phase retry: the
//! predecessor lists are sorted, tables are torn down and written again), `tile-gates` ("Retry Arm": dead ones are revived).

use crate::generate::state::{Marks, State};
use sassafras_modulo::Op;

/// Seats the candidates, or changes nothing but marks.
pub fn run(state: &mut State<'_>, set: &[Op], budget: u32, marks: &mut Marks) -> bool {
    let before = state.times().to_vec();
    let mut sorted = set.to_vec();
    sorted.sort_by_key(|&op| (state.depth(op), op));
    for &op in &sorted {
        let seated = if marks.dead(op) {
            let seated = state.seat(op).is_some_and(|time| state.place(op, time));
            if seated {
                marks.revive(op);
            }
            seated
        } else {
            force(state, op, budget)
        };
        if !seated {
            reset(state, &before);
            return false;
        }
    }
    true
}

/// Puts everything where it was.
fn reset(state: &mut State<'_>, before: &[Option<i64>]) {
    let ops: Vec<Op> = state.problem.ops().collect();
    for (&op, &was) in ops.iter().zip(before) {
        if state.time(op) != was {
            state.remove(op);
        }
    }
    for (&op, &was) in ops.iter().zip(before) {
        if let (None, Some(time)) = (state.time(op), was) {
            // Placed in another order than before, windows are the same: what they come from was legal together.
            let fits = state.place(op, time);
            debug_assert!(fits, "{op} was at {time}");
        }
    }
}

fn force(state: &mut State<'_>, op: Op, budget: u32) -> bool {
    let window = state.window(op);
    let (first, last) = (*window.start(), *window.end());
    let last = last.min(first.saturating_add(i64::from(state.ii().min(budget)) - 1));
    let before = state.times().to_vec();
    let mut time = first;
    while time <= last {
        let mut blockers = state.table.blockers(op, time);
        blockers.sort_by_key(|&b| (state.depth(b), b));
        state.remove_all(&blockers);
        if state.place(op, time) && blockers.iter().all(|&b| state.seat(b).is_some_and(|t| state.place(b, t)))
        {
            return true;
        }
        state.remove(op);
        reset(state, &before);
        time += 1;
    }
    false
}
