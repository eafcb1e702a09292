//! The check of a finished schedule, in code of its own: no table, no closure, no bound of this crate is used.

use crate::problem::{Edge, Op, Problem, Resource, Schedule};
use std::collections::BTreeMap;
use thiserror::Error;

/// What a schedule breaks.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// An II of 0 starts everything at once.
    #[error("the initiation interval is 0")]
    NoInterval,
    /// The schedule has more or fewer times than the problem has operations.
    #[error("{times} times for {ops} operations")]
    Length {
        /// Times in the schedule.
        times: usize,
        /// Operations in the problem.
        ops: usize,
    },
    /// An edge of the problem, or a use, names what the problem does not have.
    #[error("the problem itself is not valid")]
    Problem,
    /// An operation starts too early.
    #[error("{} starts {missing} cycles too early after {}", edge.to, edge.from)]
    Dependence {
        /// The edge that is broken.
        edge: Edge,
        /// Cycles that are missing.
        missing: i128,
    },
    /// More units are held in a row than there are.
    #[error("{units} units of {resource} are held in row {row}, of {capacity}")]
    Capacity {
        /// The resource.
        resource: Resource,
        /// The row modulo II.
        row: i64,
        /// What is held.
        units: i128,
        /// What there is.
        capacity: u32,
    },
}

/// Whether `schedule` solves `problem`; if not, the first constraint that it breaks: dependences in the order of the
/// edges, then resources in theirs, rows ascending.
///
/// Resources are counted as changes at rows, never row by row, so the cost is `(edges + uses) log uses` whatever the II.
pub fn verify(problem: &Problem, schedule: &Schedule) -> Result<(), Violation> {
    let ops = problem.ops().len();
    let ii = i64::from(schedule.ii);
    if ii == 0 {
        return Err(Violation::NoInterval);
    }
    if schedule.times.len() != ops {
        return Err(Violation::Length { times: schedule.times.len(), ops });
    }
    let time = |op: Op| schedule.time(op).map(i128::from).ok_or(Violation::Problem);
    for &edge in problem.edges() {
        let ready = time(edge.from)? + i128::from(edge.latency);
        let starts = time(edge.to)? + i128::from(edge.distance) * i128::from(ii);
        if starts < ready {
            return Err(Violation::Dependence { edge, missing: ready - starts });
        }
    }
    // Per resource: what every row holds, and by how much rows from some row on hold more than the one before.
    let mut everywhere = vec![0i128; problem.resources().len()];
    let mut changes = vec![BTreeMap::<i64, i128>::new(); everywhere.len()];
    for (op, &time) in problem.ops().zip(&schedule.times) {
        for u in problem.uses(op) {
            let index = u.resource.as_u32() as usize;
            let (Some(all), Some(at)) = (everywhere.get_mut(index), changes.get_mut(index)) else {
                return Err(Violation::Problem);
            };
            let (rows, units) = (i64::from(u.rows), i128::from(u.units));
            *all += i128::from(rows / ii) * units;
            let first = (time.rem_euclid(ii) + i64::from(u.start)).rem_euclid(ii);
            let end = first + rows % ii;
            *at.entry(first).or_default() += units;
            *at.entry(end.min(ii)).or_default() -= units;
            if end > ii {
                *at.entry(0).or_default() += units;
                *at.entry(end - ii).or_default() -= units;
            }
        }
    }
    for resource in problem.resources() {
        let index = resource.as_u32() as usize;
        let capacity = problem.capacity(resource);
        let mut units = everywhere[index];
        changes[index].entry(0).or_default();
        for (&row, change) in &changes[index] {
            units += change;
            if row < ii && units > i128::from(capacity) {
                return Err(Violation::Capacity { resource, row, units, capacity });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Use;

    #[test]
    fn each_constraint_is_noticed() {
        let mut p = Problem::new();
        let r = p.add_resource("unit", 1);
        let a = p.add_op("a", vec![Use::first(r, 2)]);
        let b = p.add_op("b", vec![Use::first(r, 2)]);
        p.add_edge(a, b, 3, 0);
        p.add_edge(b, a, 2, 1);
        let at = |ii, times: &[i64]| verify(&p, &Schedule { ii, times: times.to_vec() });
        assert_eq!(at(5, &[0, 3]), Ok(()));
        assert_eq!(at(5, &[-5, -2]), Ok(()));
        assert_eq!(at(0, &[0, 3]), Err(Violation::NoInterval));
        assert_eq!(at(5, &[0]), Err(Violation::Length { times: 1, ops: 2 }));
        assert_eq!(at(5, &[0, 2]), Err(Violation::Dependence { edge: p.edges()[0], missing: 1 }));
        assert_eq!(at(5, &[0, 4]), Err(Violation::Dependence { edge: p.edges()[1], missing: 1 }));
        let mut free = Problem::new();
        let r = free.add_resource("unit", 1);
        free.add_op("a", vec![Use::first(r, 2)]);
        free.add_op("b", vec![Use::first(r, 2)]);
        let at = |ii, times: &[i64]| verify(&free, &Schedule { ii, times: times.to_vec() });
        assert_eq!(at(4, &[0, 6]), Ok(()));
        assert_eq!(at(4, &[3, 5]), Ok(()));
        assert_eq!(at(4, &[0, 7]), Err(Violation::Capacity { resource: r, row: 0, units: 2, capacity: 1 }));
        assert_eq!(at(1, &[0, 0]), Err(Violation::Capacity { resource: r, row: 0, units: 4, capacity: 1 }));
        assert!(at(4, &[i64::MIN, i64::MAX]).is_err());
    }
}
