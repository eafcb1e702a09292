//! Goal: to search for orders once where one file is rescheduled again and again with other parts of it left out.
//!
//! What is chosen for a routine depends on the routine and the job alone, not on what else may change.

use super::RoutineId;
use sassafras_tepid::function::Plan;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Plans of the routines of one file, for one job.
#[derive(Debug, Default)]
pub struct Memo {
    plans: Mutex<BTreeMap<RoutineId, Plan>>,
}

impl Memo {
    /// The plan of a routine, made if it is not known. Nobody waits for somebody else's search.
    pub fn get(&self, id: RoutineId, make: impl FnOnce() -> Plan) -> Plan {
        let plans = || self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let known = plans().get(&id).cloned();
        known.unwrap_or_else(|| {
            let plan = make();
            plans().insert(id, plan.clone());
            plan
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_routine_is_planned_once() {
        let memo = Memo::default();
        let plan = |cycles| Plan { cycles: (cycles, cycles), ..Plan::default() };
        let (one, other) = (RoutineId::default(), RoutineId { image: 1, ..RoutineId::default() });
        assert_eq!(memo.get(one, || plan(1)).cycles.0, 1);
        assert_eq!(memo.get(other, || plan(2)).cycles.0, 2);
        assert_eq!(memo.get(one, || unreachable!("known")).cycles.0, 1);
    }
}
