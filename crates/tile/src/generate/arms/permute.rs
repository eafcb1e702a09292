//! First arm: orders of a group.
//!
//! Goal: seat all operations of a group, each at the first cycle that windows and table allow, in the order that costs
//! least. Orders respect dependences within the group; operations of equal priority are tried by their longest path
//! from predecessors first. At most a budget of orders is looked at: all of a small group's.
//!
//! Cost: orders × operations × one look at everything placed. Source: `tile-driver`, `tile-gates` ("Permute Arm").

use crate::generate::cost::Cost;
use crate::generate::evaluate;
use crate::generate::state::{Marks, State};
use sassafras_modulo::Op;

/// Seats the group, or changes nothing but marks.
pub fn run(state: &mut State<'_>, group: &[Op], budget: u32, marks: &mut Marks) -> bool {
    if group.iter().any(|&op| state.pending(op, group)) {
        return false;
    }
    let mut sorted = group.to_vec();
    // Priority is the height; within a bucket of equal height the longest way in.
    sorted.sort_by_key(|&op| (-state.height(op), state.depth(op), op));
    let mut best: Option<(Cost, Vec<(Op, i64)>)> = None;
    let mut left = budget.max(1);
    let mut stuck = None;
    let mut seats = Vec::new();
    descend(state, &mut sorted, 0, &mut left, &mut seats, &mut best, &mut stuck);
    let Some((_, seats)) = best else {
        if let Some(op) = stuck {
            marks.kill(op);
        }
        return false;
    };
    for &(op, time) in &seats {
        if !state.place(op, time) {
            state.remove_all(&seats.iter().map(|s| s.0).collect::<Vec<_>>());
            return false;
        }
    }
    true
}

/// Orders from position `at` on, by exchanging; one leaf uses up one of `left`.
fn descend(
    state: &mut State<'_>,
    order: &mut [Op],
    at: usize,
    left: &mut u32,
    seats: &mut Vec<(Op, i64)>,
    best: &mut Option<(Cost, Vec<(Op, i64)>)>,
    stuck: &mut Option<Op>,
) {
    if at == order.len() {
        *left = left.saturating_sub(1);
        let cost = total(state, seats);
        if best.as_ref().is_none_or(|b| cost < b.0) {
            *best = Some((cost, seats.clone()));
        }
        return;
    }
    for pick in at..order.len() {
        if *left == 0 {
            return;
        }
        let op = order[pick];
        // Only after what it needs within the group and this iteration.
        let ready = order[at..].iter().all(|&o| {
            o == op
                || state.distances.get(o, op).is_none_or(|d| d <= 0)
                || state.distances.get(op, o).is_some()
        });
        if !ready {
            continue;
        }
        order[at..=pick].rotate_right(1);
        match state.seat(op) {
            Some(time) if state.place(op, time) => {
                seats.push((op, time));
                descend(state, order, at + 1, left, seats, best, stuck);
                seats.pop();
                state.remove(op);
            }
            _ => {
                *left = left.saturating_sub(1);
                stuck.get_or_insert(op);
            }
        }
        order[at..=pick].rotate_left(1);
        // A group of one has one order, and where nothing can be better no other is looked at.
        if best.as_ref().is_some_and(|b| b.0.banks == 0 && b.0.order == 0 && b.0.pipe == 0) {
            return;
        }
    }
}

/// The worst of each component over the group: components are compared, not added.
fn total(state: &State<'_>, seats: &[(Op, i64)]) -> Cost {
    let mut all = Cost { resources: 0, pipe: 0, banks: 0, order: 0 };
    for &(op, time) in seats {
        let (inside, carried) = evaluate::bank_units(state, op, time);
        let long = u32::try_from(state.longest_into(op)).unwrap_or(0).saturating_sub(state.ii());
        all.pipe = all.pipe.max(long);
        all.banks = all.banks.max(inside + carried);
        all.order += crate::generate::cost::inversions_of(state.times(), op, time);
    }
    all
}
