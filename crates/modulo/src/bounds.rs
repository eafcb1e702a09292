//! The least initiation interval that a problem allows, and what binds it.
//!
//! *ResMII* is the largest of three necessary conditions on resources: the unit-rows that all operations hold against the
//! capacity; the rows of uses that no two of can share a row, since each takes more than half; and, from there upwards,
//! the first II at which every operation fits beside its own copies of other iterations. *RecMII* is the largest ratio
//! of latency to distance around any circuit, exactly. The minimum II (MII) is the larger of the two.
//!
//! Source: Rau, *Iterative modulo scheduling* (1996) for the two bounds.

use cranelift_entity::EntityRef;
use sassafras_problem::circuit::{self, Floor};
use sassafras_problem::pattern::{Segment, fold};
use sassafras_problem::{Op, Problem, Resource};
use std::fmt;

/// A circuit of edges, and what it costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recurrence {
    /// The operations around it, each waiting for the one before and the first for the last.
    pub ops: Vec<Op>,
    /// The edges, as positions in [`Problem::edges`]; the first starts at the first operation.
    pub edges: Vec<usize>,
    /// The sum of the latencies, larger than 0.
    pub latency: i64,
    /// The sum of the distances; 0 only in a problem that [`Problem::check`] refuses.
    pub distance: i64,
}

impl Recurrence {
    /// Cycles per iteration, rounded up; nothing for a circuit within one iteration, which no number helps.
    pub fn ii(&self) -> Option<u64> {
        let (latency, distance) = (u64::try_from(self.latency).ok()?, u64::try_from(self.distance).ok()?);
        (distance > 0).then(|| latency.div_ceil(distance))
    }
}

/// What makes MII as large as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// Nothing: an iteration can start every cycle.
    Nothing,
    /// What all operations hold of a resource, against what there is.
    Demand {
        /// The resource.
        resource: Resource,
        /// Units times rows.
        demand: u128,
        /// Units that there are.
        capacity: u32,
    },
    /// Uses of more than half of a resource: no two of them share a row.
    Halves {
        /// The resource.
        resource: Resource,
        /// The rows of them all; a use of exactly one half counts as half of its rows.
        rows: u64,
    },
    /// At every smaller II from the other bounds on, some operation is in the way of its own next iterations.
    OwnPattern {
        /// The operation that is at the II before.
        op: Op,
        /// The resource of which it needs too much.
        resource: Resource,
    },
    /// A circuit of dependences.
    Recurrence(Recurrence),
}

impl Reason {
    /// The reason as a sentence, with the names of `problem`.
    pub fn explain(&self, problem: &Problem) -> String {
        match self {
            Reason::Nothing => "nothing binds".to_owned(),
            Reason::Demand { resource, demand, capacity } => format!(
                "resource `{}` is wanted for {demand} unit-cycles per iteration and has {capacity} units",
                problem.resource_name(*resource)
            ),
            Reason::Halves { resource, rows } => format!(
                "resource `{}` is wanted for {rows} cycles by operations of which no two can share it",
                problem.resource_name(*resource)
            ),
            Reason::OwnPattern { op, resource } => format!(
                "operation `{}` is in the way of itself on resource `{}`",
                problem.name(*op),
                problem.resource_name(*resource)
            ),
            Reason::Recurrence(r) => {
                let names: Vec<_> = r.ops.iter().map(|&op| format!("`{}`", problem.name(op))).collect();
                format!(
                    "the circuit {} takes {} cycles in {} iterations",
                    names.join(", "),
                    r.latency,
                    r.distance
                )
            }
        }
    }
}

/// The bounds of a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The least II that resources allow, at least 1.
    pub resource: u64,
    /// What makes it that.
    pub resource_reason: Reason,
    /// The least II that circuits allow, at least 1.
    pub recurrence: u64,
    /// The circuit with the largest ratio, if one asks for anything at all.
    pub critical: Option<Recurrence>,
}

impl Bounds {
    /// The minimum II.
    pub fn mii(&self) -> u64 {
        self.resource.max(self.recurrence)
    }

    /// What binds it; the recurrence where both do, since no machine with more resources would help.
    pub fn reason(&self) -> Reason {
        match &self.critical {
            Some(r) if self.recurrence >= self.resource && self.recurrence > 1 => {
                Reason::Recurrence(r.clone())
            }
            _ => self.resource_reason.clone(),
        }
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MII {} (resources {}, recurrences {})", self.mii(), self.resource, self.recurrence)
    }
}

/// Both bounds of a problem that [`Problem::check`] accepts.
pub fn bounds(problem: &Problem) -> Bounds {
    let (resource, resource_reason) = resource_mii(problem);
    let critical = critical_recurrence(problem);
    let recurrence = critical.as_ref().and_then(Recurrence::ii).unwrap_or(1).max(1);
    Bounds { resource, resource_reason, recurrence, critical }
}

/// ResMII with its reason, at least 1.
///
/// The first two conditions cost one pass over the uses. The third folds the patterns that are longer than the II anew
/// for each II that fails; an II as long as the longest pattern never does.
pub fn resource_mii(problem: &Problem) -> (u64, Reason) {
    let resources = problem.resources().len();
    let mut demand = vec![0u128; resources];
    let mut halves = vec![0u64; resources];
    for op in problem.ops() {
        for u in problem.uses(op) {
            let Some(sum) = demand.get_mut(u.resource.index()) else { continue };
            *sum += u128::from(u.units) * u128::from(u.rows);
            let twice = 2 * u64::from(u.units);
            let capacity = u64::from(problem.capacity(u.resource));
            // In half rows, so that two uses of exactly one half make a whole one.
            halves[u.resource.index()] += u64::from(u.rows)
                * match twice.cmp(&capacity) {
                    std::cmp::Ordering::Greater => 2,
                    std::cmp::Ordering::Equal => 1,
                    std::cmp::Ordering::Less => 0,
                };
        }
    }
    let (mut ii, mut reason) = (1, Reason::Nothing);
    for resource in problem.resources() {
        let capacity = problem.capacity(resource);
        let demand = demand[resource.index()];
        let by_demand = u64::try_from(demand.div_ceil(u128::from(capacity.max(1)))).unwrap_or(u64::MAX);
        if by_demand > ii {
            (ii, reason) = (by_demand, Reason::Demand { resource, demand, capacity });
        }
        let rows = halves[resource.index()].div_ceil(2);
        if rows > ii {
            (ii, reason) = (rows, Reason::Halves { resource, rows });
        }
    }
    let long: Vec<Op> = problem.ops().filter(|&op| problem.span(op) > ii).collect();
    while let Some((op, resource)) = own_conflict(problem, &long, ii) {
        (ii, reason) = (ii + 1, Reason::OwnPattern { op, resource });
    }
    (ii, reason)
}

/// An operation that cannot be placed even alone.
fn own_conflict(problem: &Problem, ops: &[Op], ii: u64) -> Option<(Op, Resource)> {
    let short = u32::try_from(ii).ok()?;
    ops.iter().filter(|&&op| problem.span(op) > ii).find_map(|&op| {
        let over = |s: &Segment| s.units > u64::from(problem.capacity(s.resource));
        fold(problem.uses(op), short).iter().find(|s| over(s)).map(|s| (op, s.resource))
    })
}

/// The circuit with the largest ratio of latency to distance, if one has a ratio above 0: [`circuit`] has the search.
///
/// A circuit of distance 0 and positive latency is the answer where there is one: its ratio is infinite.
pub fn critical_recurrence(problem: &Problem) -> Option<Recurrence> {
    let found = circuit::critical(problem.ops().len(), &problem.arcs(), Floor::PositiveLatency)?;
    Some(Recurrence {
        ops: problem.ops_around(&found.edges).collect(),
        edges: found.edges.iter().map(|&e| e as usize).collect(),
        latency: found.latency,
        distance: found.distance,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sassafras_problem::Use;

    #[test]
    fn the_binding_resource_is_named() {
        let mut p = Problem::new();
        let tma = p.add_resource("tma", 1);
        let write = p.add_resource("tp_smem_wr", 1);
        p.add_op("tma_load", vec![Use::first(tma, 8), Use::first(write, 8)]);
        p.add_op("smem_write", vec![Use::first(write, 7)]);
        let b = bounds(&p);
        // The worked example of tile-scheduler, which seats both at II 8: 15 rows are wanted.
        assert_eq!((b.mii(), b.resource, b.recurrence), (15, 15, 1));
        assert_eq!(b.reason(), Reason::Demand { resource: write, demand: 15, capacity: 1 });
        assert!(b.reason().explain(&p).contains("`tp_smem_wr` is wanted for 15"));
    }

    #[test]
    fn units_that_cannot_share_a_row() {
        let mut p = Problem::new();
        let pool = p.add_resource("pool", 5);
        for i in 0..4 {
            p.add_op(format!("op{i}"), vec![Use { resource: pool, start: 0, rows: 2, units: 3 }]);
        }
        // 24 unit-rows in a pool of 5 would allow 5.
        assert_eq!(resource_mii(&p), (8, Reason::Halves { resource: pool, rows: 8 }));
    }

    #[test]
    fn an_operation_in_its_own_way() {
        let mut p = Problem::new();
        let r = p.add_resource("port", 1);
        let row = |start| Use { resource: r, start, rows: 1, units: 1 };
        let op = p.add_op("twice", vec![row(0), row(2), row(6)]);
        // Three rows, but 3 and 4 put rows 0 and 6, and 2 and 6, on one another.
        assert_eq!(resource_mii(&p), (5, Reason::OwnPattern { op, resource: r }));
    }

    #[test]
    fn distances_count() {
        let mut p = Problem::new();
        let [a, b, c] = ["a", "b", "c"].map(|n| p.add_op(n, vec![]));
        p.add_edge(a, b, 10, 0);
        p.add_edge(b, a, 11, 3);
        p.add_edge(c, c, 13, 2);
        let b_ = bounds(&p);
        let critical = b_.critical.clone().expect("one");
        // 21 in 3 iterations against 13 in 2: both 7 per iteration, the first by more.
        assert_eq!((critical.latency, critical.distance, b_.mii()), (21, 3, 7));
        assert_eq!(b_.reason().explain(&p), "the circuit `a`, `b` takes 21 cycles in 3 iterations");
    }
}
