//! The two evaluators of a candidate: they probe and never change anything.
//!
//! Each answers whether a candidate is acceptable under a threshold; the smallest threshold that it is, found by the one
//! search of [`first_feasible`], is its score. *Pipe slots* are asked first: whether the footprint fits, and whether every
//! predecessor's longest path ends within the threshold. *Banks* come second: units of memory transports in the row, in
//! iteration and carried, each with a hard cap that no threshold lifts.
//!
//! Source: `tile-scheduler` ("Dual-RRT Cost Evaluators", "Exponential-Then-Binary Search Driver").

use super::cost::{Cost, inversions_of, is_bank};
use super::state::State;
use sassafras_machine::tile::pool;
use sassafras_modulo::{Confirm, Gallop, Op, first_feasible};

/// Positions of the two caps in the pool vector.
pub(super) const IN_ITERATION: u32 = 1;
pub(super) const CARRIED: u32 = 6;

/// Units of banks that are held in the row of `time`: in iteration, carried.
pub fn held_units(state: &State<'_>, time: i64) -> (u32, u32) {
    let row = time.rem_euclid(i64::from(state.ii())) as u32;
    let (mut inside, mut carried) = (0, 0);
    for &bank in &state.banks {
        inside += state.table.in_iteration(bank, row);
        carried += state.table.carried(bank, row);
    }
    (inside, carried)
}

/// The same with `op`, which is not placed, at `time`.
pub fn bank_units(state: &State<'_>, op: Op, time: i64) -> (u32, u32) {
    let (inside, carried) = held_units(state, time);
    let own = state.problem.uses(op).iter().filter(|u| u.start == 0 && is_bank(state.problem, u.resource));
    (inside + own.map(|u| u.units).sum::<u32>(), carried)
}

/// Whether the banks take `op` at `time` with at most `cap` units in all.
pub fn banks_allow(state: &State<'_>, op: Op, time: i64, cap: u32) -> bool {
    let (inside, carried) = bank_units(state, op, time);
    inside <= pool(IN_ITERATION) && carried <= pool(CARRIED) && inside + carried <= cap
}

/// Whether `op` fits at `time` and no predecessor's longest path to it is longer than `cap`.
pub fn pipe_allows(state: &State<'_>, op: Op, time: i64, cap: u32) -> bool {
    state.table.probe(op, time) && state.longest_into(op) <= i64::from(cap)
}

/// The full cost of a candidate; infeasible where no threshold will do.
pub fn cost(state: &State<'_>, op: Op, time: i64) -> Cost {
    let ii = state.ii();
    let threshold = |least: u32, most: u32, allows: &dyn Fn(u32) -> bool| {
        // Both questions are monotone in the threshold, so that nothing below needs to be confirmed.
        let search =
            first_feasible(least..=most, Gallop::Value, Confirm::Nothing, |cap| allows(cap).then_some(()));
        search.found.map(|f| f.0)
    };
    let most = u32::try_from(state.longest_into(op)).unwrap_or(0).max(1);
    let Some(pipe) = threshold(1, most, &|cap| pipe_allows(state, op, time, cap)) else {
        return Cost::INFEASIBLE;
    };
    let most = pool(IN_ITERATION) + pool(CARRIED);
    let Some(banks) = threshold(0, most, &|cap| banks_allow(state, op, time, cap)) else {
        return Cost::INFEASIBLE;
    };
    let order = inversions_of(state.times(), op, time);
    Cost { resources: 0, pipe: pipe.saturating_sub(ii), banks, order }
}
