//! First arm: orders of the candidates.
//!
//! Goal: seat all of them, each at the first cycle that windows and table allow, in the order that costs least: fewest units
//! of banks in the fullest row that one starts in, then fewest pairs that are emitted the other way round than in the
//! program. (The second component, longest paths, is the same for every order.) Orders respect dependences among the
//! candidates; the first is by height, then by the longest path from predecessors. At most a budget of orders is looked at:
//! all of a small set's, and for larger ones the first, since a sample would not be better and differ by its seed.
//!
//! Cost: orders × candidates × one look at everything placed; one order where all have the first cycle of their windows, as
//! then every order seats them there. Source: `tile-driver`, `tile-gates` ("Permute Arm").

use crate::generate::cost::{Cost, inversions_of};
use crate::generate::evaluate;
use crate::generate::state::State;
use sassafras_modulo::Op;
use std::ops::RangeInclusive;

/// Seats the candidates, or changes nothing.
pub fn run(state: &mut State<'_>, set: &[Op], budget: u32) -> bool {
    let mut order = set.to_vec();
    // Priority is the height; within a bucket of equal height the longest way in, leaders of groups before who follows them.
    order.sort_by_key(|&op| (-state.height(op), state.depth(op), !state.leads(op), op));
    let windows = order.iter().map(|&op| (op, state.window(op))).collect();
    let mut search =
        Search { windows, left: budget.max(1), seats: Vec::new(), order: 0, best: None, done: false };
    search.descend(state, &mut order, 0);
    let Some((_, seats)) = search.best else { return false };
    // They were together before.
    seats.iter().all(|&(op, time)| state.put(op, time))
}

/// Candidates with where they were seated.
type Seats = Vec<(Op, i64)>;

struct Search {
    /// The windows that what was placed before leaves.
    windows: Vec<(Op, RangeInclusive<i64>)>,
    /// Orders that may still be looked at.
    left: u32,
    /// Those seated so far.
    seats: Seats,
    /// Pairs the other way round, of those seated so far with whatever came before them.
    order: u64,
    best: Option<(Cost, Seats)>,
    /// No other order can be better.
    done: bool,
}

impl Search {
    /// Orders from position `at` on, by exchanging; one that ends, or is no better than the best, uses up one of `left`.
    fn descend(&mut self, state: &mut State<'_>, order: &mut [Op], at: usize) {
        let banks = self.seats.iter().map(|&(_, time)| {
            let (inside, carried) = evaluate::held_units(state, time);
            inside + carried
        });
        // Neither falls by what comes after.
        let cost = Cost { resources: 0, pipe: 0, banks: banks.max().unwrap_or(0), order: self.order };
        if self.best.as_ref().is_some_and(|b| b.0 <= cost) {
            self.left -= 1;
            return;
        }
        if at == order.len() {
            self.left -= 1;
            self.best = Some((cost, self.seats.clone()));
            self.done = self.seats.iter().all(|&(op, time)| {
                let own = self.windows.iter().find(|w| w.0 == op);
                own.is_some_and(|w| time == *w.1.start())
            });
            return;
        }
        for pick in at..order.len() {
            if self.left == 0 || self.done {
                return;
            }
            let op = order[pick];
            // Only after what it needs among the candidates and in this iteration.
            let ready = order[at..].iter().all(|&o| {
                o == op
                    || state.distances.get(o, op).is_none_or(|d| d <= 0)
                    || state.distances.get(op, o).is_some()
            });
            if !ready {
                continue;
            }
            order[at..=pick].rotate_right(1);
            let open = self.windows.iter().find(|w| w.0 == op).map(|w| w.1.clone());
            let window = open.map(|w| state.narrow(op, w, self.seats.iter().copied()));
            match window.and_then(|w| state.table.earliest(op, w)) {
                Some(time) if state.put(op, time) => {
                    let pairs = inversions_of(state.times(), op, time);
                    self.order += pairs;
                    self.seats.push((op, time));
                    self.descend(state, order, at + 1);
                    self.seats.pop();
                    self.order -= pairs;
                    state.remove(op);
                }
                _ => self.left -= 1,
            }
            order[at..=pick].rotate_left(1);
        }
    }
}
