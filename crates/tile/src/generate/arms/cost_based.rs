//! Fourth arm: every cycle for every operation, by cost.
//!
//! Goal: of all candidates and all cycles of one turn that fit, seat the pair that costs least, until all are seated. Costs
//! are full vectors: the two evaluators with their threshold searches, then inversions. Pairs of equal cost: the earlier
//! cycle, then the earlier operation. Candidates that are dead in the snapshot are skipped, so that the set is refused; one
//! for which no cycle is feasible is marked dead.
//!
//! Cost: candidates² × II evaluations, each a look at what is placed. Source: `tile-scheduler`, `tile-gates` ("Cost-Based
//! Arm").

use crate::generate::cost::Cost;
use crate::generate::evaluate;
use crate::generate::state::{Marks, State};
use sassafras_modulo::Op;

/// Seats the candidates, or changes nothing but marks.
pub fn run(state: &mut State<'_>, set: &[Op], marks: &mut Marks) -> bool {
    let mut left: Vec<Op> = set.to_vec();
    let mut seated = Vec::new();
    while !left.is_empty() {
        let mut best: Option<(Cost, i64, Op)> = None;
        for &op in &left {
            if marks.dead(op) {
                continue;
            }
            let mut found = false;
            let window = state.window(op);
            let (first, last) = (*window.start(), *window.end());
            let last = last.min(first.saturating_add(i64::from(state.ii()) - 1));
            let mut time = first;
            // The table jumps over cycles that do not fit.
            while let Some(at) = (time <= last).then(|| state.table.earliest(op, time..=last)).flatten() {
                let cost = evaluate::cost(state, op, at);
                if cost.feasible() {
                    found = true;
                    if best.is_none_or(|b| (cost, at, op) < b) {
                        best = Some((cost, at, op));
                    }
                }
                time = at + 1;
            }
            if !found {
                marks.kill(op);
            }
        }
        let Some((_, time, op)) = best else {
            state.remove_all(&seated);
            return false;
        };
        if !state.place(op, time) {
            state.remove_all(&seated);
            return false;
        }
        seated.push(op);
        left.retain(|&o| o != op);
    }
    true
}
