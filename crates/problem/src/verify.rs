//! The checks of a finished schedule, in code of their own: no fold, no circuit of this crate is used, and nothing of a
//! scheduler's: no heap, no table, no closure, no clock. Slow and obviously right comes before quick.

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
    /// An order names an operation twice, or one that the problem does not have.
    #[error("{op} is in the order twice, or is none of the problem's")]
    Order {
        /// The operation.
        op: Op,
    },
    /// An order has an operation before one that it waits for.
    #[error("{} is in the order before {}, which it waits for", edge.to, edge.from)]
    Before {
        /// The edge that is broken.
        edge: Edge,
    },
    /// More units are held in a row than there are.
    #[error("{units} units of {resource} are held in row {row}, of {capacity}")]
    Capacity {
        /// The resource.
        resource: Resource,
        /// The row, modulo II where there is one.
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

/// Whether an order of all operations, each with its start, solves one iteration of `problem`; if not, the first
/// constraint that it breaks:
///
/// 1. every operation is in the order once;
/// 2. for every edge of distance 0, `time(from) + latency <= time(to)`, and `from` comes first in the order unless the
///    latency is negative;
/// 3. in every row the units of a resource that all operations hold are at most its capacity.
///
/// `times` are by operation, in the order of [`Problem::ops`]. Edges to later iterations say nothing here. The cost is
/// `(edges + uses) log uses`.
pub fn verify_order(problem: &Problem, order: &[Op], times: &[i64]) -> Result<(), Violation> {
    let ops = problem.ops().len();
    for length in [order.len(), times.len()] {
        if length != ops {
            return Err(Violation::Length { times: length, ops });
        }
    }
    let mut place = BTreeMap::new();
    for (at, &op) in order.iter().enumerate() {
        if op.as_u32() as usize >= ops || place.insert(op, at).is_some() {
            return Err(Violation::Order { op });
        }
    }
    let time = |op: Op| times.get(op.as_u32() as usize).copied().map(i128::from).ok_or(Violation::Problem);
    for &edge in problem.edges().iter().filter(|e| e.distance == 0) {
        let missing = time(edge.from)? + i128::from(edge.latency) - time(edge.to)?;
        if missing > 0 {
            return Err(Violation::Dependence { edge, missing });
        }
        if edge.latency >= 0 && place.get(&edge.from) >= place.get(&edge.to) {
            return Err(Violation::Before { edge });
        }
    }
    // By resource and row: by how much more is held than in the row before.
    let mut changes = BTreeMap::<(Resource, i128), i128>::new();
    for (op, &time) in problem.ops().zip(times) {
        for u in problem.uses(op) {
            let first = i128::from(time) + i128::from(u.start);
            *changes.entry((u.resource, first)).or_default() += i128::from(u.units);
            *changes.entry((u.resource, first + i128::from(u.rows))).or_default() -= i128::from(u.units);
        }
    }
    // All of a resource has been given back behind its last row.
    let mut units = 0;
    for (&(resource, row), change) in &changes {
        units += change;
        let capacity = problem.capacity(resource);
        if units > i128::from(capacity) {
            let row = i64::try_from(row).unwrap_or(i64::MAX);
            return Err(Violation::Capacity { resource, row, units, capacity });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Use;

    #[test]
    fn each_constraint_of_one_iteration_is_noticed() {
        let mut p = Problem::new();
        let r = p.add_resource("unit", 1);
        let late = Use { resource: r, start: 1, rows: 2, units: 1 };
        let [a, b, c] = ["a", "b", "c"].map(|name| p.add_op(name, vec![late]));
        p.add_edge(a, b, 3, 0);
        p.add_edge(b, c, -1, 0);
        p.add_edge(b, a, 1000, 1);
        let at = |order: &[Op], times: &[i64]| verify_order(&p, order, times);
        assert_eq!(at(&[a, b, c], &[0, 3, 5]), Ok(()));
        // An edge of negative latency lets the one that waits go first.
        assert_eq!(at(&[a, c, b], &[0, 3, 5]), Ok(()));
        assert_eq!(at(&[a, c, b], &[0, 5, 2]), Err(Violation::Dependence { edge: p.edges()[1], missing: 2 }));
        assert_eq!(at(&[a, b], &[0, 3, 5]), Err(Violation::Length { times: 2, ops: 3 }));
        assert_eq!(at(&[a, b, c], &[0, 3]), Err(Violation::Length { times: 2, ops: 3 }));
        assert_eq!(at(&[a, b, b], &[0, 3, 5]), Err(Violation::Order { op: b }));
        let unknown = Op::from_u32(7);
        assert_eq!(at(&[a, b, unknown], &[0, 3, 5]), Err(Violation::Order { op: unknown }));
        assert_eq!(at(&[a, b, c], &[0, 2, 5]), Err(Violation::Dependence { edge: p.edges()[0], missing: 1 }));
        assert_eq!(at(&[b, a, c], &[0, 3, 5]), Err(Violation::Before { edge: p.edges()[0] }));
        let taken = Violation::Capacity { resource: r, row: 5, units: 2, capacity: 1 };
        assert_eq!(at(&[a, b, c], &[0, 3, 4]), Err(taken));
        assert!(at(&[a, b, c], &[i64::MIN, i64::MAX, i64::MAX]).is_err());
    }

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
