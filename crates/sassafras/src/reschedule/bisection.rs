//! Goal: to find what of a new file is at fault, by letting only some of it change.
//!
//! A file changes in units: a block that gets another order, and the control fields of a routine, which are all made anew
//! as soon as anything in the routine changes. A bisection says which units may be.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

/// A routine of a file: its cubin, section and first byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RoutineId {
    /// Number of the image in the file.
    pub image: usize,
    /// Number of the section in its cubin.
    pub section: usize,
    /// Where the routine starts in the section.
    pub start: u64,
}

/// Something that may change by itself. Units of control fields come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unit {
    /// The block that gets another order; none stands for the control fields of the routine alone.
    pub block: Option<u32>,
    /// Where it is.
    pub routine: RoutineId,
}

/// What may change. With a cutoff new orders are counted in the order of the file, so that work on it must be done by one thread.
#[derive(Debug, Default)]
pub struct Bisection {
    only: Only,
    cutoff: Option<u64>,
    taken: AtomicU64,
}

#[derive(Debug, Default)]
enum Only {
    #[default]
    All,
    /// Blocks of these numbers, in every routine.
    Numbers(Vec<u32>),
    /// These and no others.
    Units(BTreeSet<Unit>),
}

impl Bisection {
    /// Only blocks of these numbers, all of them when there are none, and not more than `cutoff` of them.
    pub fn new(blocks: Vec<u32>, cutoff: Option<u64>) -> Bisection {
        let only = if blocks.is_empty() { Only::All } else { Only::Numbers(blocks) };
        Bisection { only, cutoff, taken: AtomicU64::new(0) }
    }

    /// Only these.
    pub fn of(units: impl IntoIterator<Item = Unit>) -> Bisection {
        Bisection { only: Only::Units(units.into_iter().collect()), ..Bisection::default() }
    }

    /// Whether everything may change.
    pub fn takes_everything(&self) -> bool {
        matches!(self.only, Only::All) && self.cutoff.is_none()
    }

    /// Whether anything of a routine may change.
    pub fn takes_routine(&self, routine: RoutineId) -> bool {
        match &self.only {
            Only::All | Only::Numbers(_) => true,
            Only::Units(units) => units.iter().any(|unit| unit.routine == routine),
        }
    }

    /// Whether a routine in which no block gets another order may change all the same.
    pub fn takes_fields(&self, routine: RoutineId) -> bool {
        match &self.only {
            Only::All => self.cutoff.is_none(),
            Only::Numbers(_) => false,
            Only::Units(_) => self.takes_routine(routine),
        }
    }

    /// Whether a block that would get another order gets it.
    pub fn takes(&self, routine: RoutineId, block: u32) -> bool {
        let wanted = match &self.only {
            Only::All => true,
            Only::Numbers(blocks) => blocks.contains(&block),
            Only::Units(units) => units.contains(&Unit { routine, block: Some(block) }),
        };
        wanted && self.cutoff.is_none_or(|cutoff| self.taken.fetch_add(1, Ordering::Relaxed) < cutoff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_blocks_and_so_many() {
        let here = RoutineId::default();
        let all = Bisection::default();
        assert!((0..5).all(|block| all.takes(here, block)) && all.takes_fields(here));
        let some = Bisection::new(vec![1, 3], Some(1));
        assert_eq!([0, 1, 2, 3].map(|block| some.takes(here, block)), [false, true, false, false]);
        assert!(some.takes_routine(here) && !some.takes_fields(here));
        assert!(!Bisection::new(Vec::new(), Some(9)).takes_fields(here), "turns are no blocks to count");
    }

    #[test]
    fn units_of_one_routine_leave_the_others_alone() {
        let (here, there) = (RoutineId::default(), RoutineId { start: 64, ..RoutineId::default() });
        let some = Bisection::of([Unit { routine: here, block: Some(2) }]);
        assert!(some.takes(here, 2) && !some.takes(here, 1) && !some.takes(there, 2));
        assert!(some.takes_routine(here) && some.takes_fields(here) && !some.takes_routine(there));
        let fields = Bisection::of([Unit { routine: there, block: None }]);
        assert!(fields.takes_fields(there) && !fields.takes(there, 0));
        assert!(!Bisection::of([]).takes_routine(here), "no unit is nothing, not everything");
    }
}
