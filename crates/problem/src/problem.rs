//! Components, properties, constraints, and what makes a problem valid.
//!
//! In the manner of CIRCT's scheduling problems:
//!
//! * *components*: operations ([`Op`]), edges ([`Edge`]) and resources ([`Resource`]);
//! * *input properties*: latency and distance of an edge, capacity of a resource, the reservation pattern of an operation
//!   (a list of [`Use`]s);
//! * *input constraints*: those that [`Problem::check`] tests. A problem that passes has a schedule for every II that is
//!   large enough, unless edges of distance 0 both ways pin operations to each other where their patterns meet;
//! * *solution properties*: the II and a start time per operation ([`Schedule`]);
//! * *solution constraints*: those that [`verify`](crate::verify()) tests, with code of its own:
//!   1. `time(from) + latency <= time(to) + II * distance` for every edge;
//!   2. in every row modulo II, the units of a resource that all operations hold together are at most its capacity.

use crate::circuit::{self, Arc};
use cranelift_entity::{EntityRef, PrimaryMap, entity_impl};
use thiserror::Error;

/// An operation of a [`Problem`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Op(u32);
entity_impl!(Op, "op");

/// A resource of a [`Problem`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource(u32);
entity_impl!(Resource, "resource");

/// The largest row that a reservation pattern may touch, exclusive. Tables are as long as patterns are.
pub const MAX_SPAN: u32 = 1 << 20;
/// The largest latency, positive or negative.
pub const MAX_LATENCY: i32 = 1 << 24;
/// The largest iteration distance.
pub const MAX_DISTANCE: u32 = 1 << 20;

/// `to` of iteration `i + distance` starts at least `latency` cycles after `from` of iteration `i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The operation that comes first.
    pub from: Op,
    /// The operation that waits.
    pub to: Op,
    /// Cycles between the starts; negative where `to` may start earlier by that many.
    pub latency: i32,
    /// Iterations between the two.
    pub distance: u32,
}

/// A part of a reservation pattern: `units` of `resource` during `rows` cycles, `start` cycles after the operation's own
/// start. Parts may overlap, also on one resource, and may be longer than II: they then meet those of later iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// What is held.
    pub resource: Resource,
    /// The first cycle, counted from the operation's start.
    pub start: u32,
    /// For how many cycles.
    pub rows: u32,
    /// How many units of it.
    pub units: u32,
}

impl Use {
    /// One unit of `resource` during the first `rows` cycles.
    pub fn first(resource: Resource, rows: u32) -> Use {
        Use { resource, start: 0, rows, units: 1 }
    }

    /// The first row behind it.
    pub fn end(&self) -> u64 {
        u64::from(self.start) + u64::from(self.rows)
    }
}

#[derive(Clone, Debug)]
struct OpData {
    name: String,
    uses: Vec<Use>,
}

#[derive(Clone, Debug)]
struct ResourceData {
    name: String,
    capacity: u32,
}

/// Operations, edges and resources. Anything can be put in; [`Problem::check`] says whether it makes sense.
#[derive(Clone, Debug, Default)]
pub struct Problem {
    ops: PrimaryMap<Op, OpData>,
    edges: Vec<Edge>,
    resources: PrimaryMap<Resource, ResourceData>,
}

/// Why a problem cannot be scheduled at any II.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProblemError {
    /// An edge names an operation that the problem does not have.
    #[error("edge {edge} names {op}, but there are {ops} operations")]
    UnknownOp {
        /// Position in [`Problem::edges`].
        edge: usize,
        /// The operation.
        op: Op,
        /// How many there are.
        ops: usize,
    },
    /// An operation uses a resource that the problem does not have.
    #[error("operation `{op}` uses {resource}, but there are {resources} resources")]
    UnknownResource {
        /// The operation's name.
        op: String,
        /// The resource.
        resource: Resource,
        /// How many there are.
        resources: usize,
    },
    /// A latency beyond [`MAX_LATENCY`] or a distance beyond [`MAX_DISTANCE`].
    #[error(
        "edge {edge} has latency {latency} and distance {distance}; the limits are ±{MAX_LATENCY} and {MAX_DISTANCE}"
    )]
    EdgeOutOfRange {
        /// Position in [`Problem::edges`].
        edge: usize,
        /// Its latency.
        latency: i32,
        /// Its distance.
        distance: u32,
    },
    /// A use of no rows or no units.
    #[error("operation `{op}` uses `{resource}` for no rows or with no units")]
    EmptyUse {
        /// The operation's name.
        op: String,
        /// The resource's name.
        resource: String,
    },
    /// A pattern that ends behind [`MAX_SPAN`].
    #[error("operation `{op}` holds `{resource}` until row {end}; the limit is {MAX_SPAN}")]
    TooLong {
        /// The operation's name.
        op: String,
        /// The resource's name.
        resource: String,
        /// Where the use ends.
        end: u64,
    },
    /// An operation needs more of a resource at once than there is.
    #[error("operation `{op}` needs {units} of `{resource}` at once, which has {capacity}")]
    OverCapacity {
        /// The operation's name.
        op: String,
        /// The resource's name.
        resource: String,
        /// What it needs in one row.
        units: u64,
        /// What there is.
        capacity: u32,
    },
    /// A circuit within one iteration whose latencies sum to more than nothing: no II helps.
    #[error("operations {} wait for each other within one iteration, {latency} cycles around", quoted(ops))]
    Deadlock {
        /// The names of the operations around the circuit.
        ops: Vec<String>,
        /// The sum of the latencies.
        latency: i64,
    },
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}

impl Problem {
    /// An empty problem.
    pub fn new() -> Problem {
        Problem::default()
    }

    /// Adds a resource of which `capacity` units can be held at once.
    pub fn add_resource(&mut self, name: impl Into<String>, capacity: u32) -> Resource {
        self.resources.push(ResourceData { name: name.into(), capacity })
    }

    /// Adds an operation with its reservation pattern.
    pub fn add_op(&mut self, name: impl Into<String>, uses: Vec<Use>) -> Op {
        self.ops.push(OpData { name: name.into(), uses })
    }

    /// Adds an edge.
    pub fn add_edge(&mut self, from: Op, to: Op, latency: i32, distance: u32) {
        self.edges.push(Edge { from, to, latency, distance });
    }

    /// All operations, in the order they were added.
    pub fn ops(&self) -> impl ExactSizeIterator<Item = Op> + use<> {
        self.ops.keys()
    }

    /// All resources, in the order they were added.
    pub fn resources(&self) -> impl ExactSizeIterator<Item = Resource> + use<> {
        self.resources.keys()
    }

    /// All edges, in the order they were added.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// An operation's name.
    pub fn name(&self, op: Op) -> &str {
        self.ops.get(op).map_or("?", |o| &o.name)
    }

    /// An operation's reservation pattern; nothing for operations that the problem does not have.
    pub fn uses(&self, op: Op) -> &[Use] {
        self.ops.get(op).map_or(&[], |o| &o.uses)
    }

    /// A resource's name.
    pub fn resource_name(&self, resource: Resource) -> &str {
        self.resources.get(resource).map_or("?", |r| &r.name)
    }

    /// How many units of a resource there are; 0 of one that the problem does not have.
    pub fn capacity(&self, resource: Resource) -> u32 {
        self.resources.get(resource).map_or(0, |r| r.capacity)
    }

    /// The first row behind everything that `op` holds, counted from its start.
    pub fn span(&self, op: Op) -> u64 {
        self.uses(op).iter().map(Use::end).max().unwrap_or(0)
    }

    /// Whether the problem makes sense; see the module's comment for what follows from it.
    ///
    /// Costs a sort of every pattern and one search for a positive circuit among the edges of distance 0.
    pub fn check(&self) -> Result<(), ProblemError> {
        for (i, e) in self.edges.iter().enumerate() {
            for op in [e.from, e.to] {
                if !self.ops.is_valid(op) {
                    return Err(ProblemError::UnknownOp { edge: i, op, ops: self.ops.len() });
                }
            }
            if e.latency.unsigned_abs() > MAX_LATENCY.unsigned_abs() || e.distance > MAX_DISTANCE {
                return Err(ProblemError::EdgeOutOfRange {
                    edge: i,
                    latency: e.latency,
                    distance: e.distance,
                });
            }
        }
        for (op, data) in self.ops.iter() {
            self.check_uses(op, data)?;
        }
        match self.deadlock() {
            Some(circuit) => Err(ProblemError::Deadlock {
                ops: self.ops_around(&circuit.edges).map(|op| self.name(op).to_owned()).collect(),
                latency: circuit.latency,
            }),
            None => Ok(()),
        }
    }

    /// The operations that some edges (positions in [`Problem::edges`]) start at.
    pub fn ops_around(&self, edges: &[u32]) -> impl Iterator<Item = Op> {
        edges.iter().filter_map(|&e| self.edges.get(e as usize)).map(|e| e.from)
    }

    /// Edges as [`circuit`] takes them: those that name operations, by the operation that they leave. Operations mostly
    /// come in an order in which edges of one iteration point forward.
    pub fn arcs(&self) -> Vec<Arc> {
        let known = |e: &&Edge| self.ops.is_valid(e.from) && self.ops.is_valid(e.to);
        let mut arcs: Vec<Arc> = (0..)
            .zip(&self.edges)
            .filter(|(_, e)| known(e))
            .map(|(edge, e)| Arc {
                from: e.from.as_u32(),
                to: e.to.as_u32(),
                latency: e.latency,
                distance: e.distance,
                edge,
            })
            .collect();
        arcs.sort_by_key(|arc| arc.from);
        arcs
    }

    /// A circuit of positive latency within one iteration.
    fn deadlock(&self) -> Option<circuit::Circuit> {
        let mut arcs = self.arcs();
        arcs.retain(|arc| arc.distance == 0);
        circuit::positive(self.ops.len(), &arcs)
    }

    fn check_uses(&self, op: Op, data: &OpData) -> Result<(), ProblemError> {
        for u in &data.uses {
            if !self.resources.is_valid(u.resource) {
                return Err(ProblemError::UnknownResource {
                    op: data.name.clone(),
                    resource: u.resource,
                    resources: self.resources.len(),
                });
            }
            let names = || (data.name.clone(), self.resource_name(u.resource).to_owned());
            if u.rows == 0 || u.units == 0 {
                let (op, resource) = names();
                return Err(ProblemError::EmptyUse { op, resource });
            }
            if u.end() > u64::from(MAX_SPAN) {
                let (op, resource) = names();
                return Err(ProblemError::TooLong { op, resource, end: u.end() });
            }
        }
        // Folded at an II as long as the pattern nothing wraps, so this is what the operation needs in one cycle.
        let ii = self.span(op).max(1) as u32;
        for s in crate::pattern::fold(&data.uses, ii) {
            let capacity = self.capacity(s.resource);
            if s.units > u64::from(capacity) {
                return Err(ProblemError::OverCapacity {
                    op: data.name.clone(),
                    resource: self.resource_name(s.resource).to_owned(),
                    units: s.units,
                    capacity,
                });
            }
        }
        Ok(())
    }
}

/// A solution: the II and when each operation of iteration 0 starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Cycles between the starts of two iterations.
    pub ii: u32,
    /// The start of each operation, in the order of [`Problem::ops`].
    pub times: Vec<i64>,
}

impl Schedule {
    /// When `op` starts.
    pub fn time(&self, op: Op) -> Option<i64> {
        self.times.get(op.index()).copied()
    }

    /// The row of the kernel that `op` starts in.
    pub fn row(&self, op: Op) -> Option<i64> {
        self.time(op)?.checked_rem_euclid(i64::from(self.ii))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_refused() {
        let mut p = Problem::new();
        let r = p.add_resource("alu", 2);
        let a = p.add_op("a", vec![Use { resource: r, start: 0, rows: 2, units: 1 }]);
        let b = p.add_op("b", vec![]);
        p.add_edge(a, b, 4, 0);
        assert_eq!(p.check(), Ok(()));

        let with = |change: &dyn Fn(&mut Problem)| {
            let mut q = p.clone();
            change(&mut q);
            q.check().expect_err("refused").to_string()
        };
        let mut errors = vec![
            with(&|q| q.add_edge(a, Op::from_u32(7), 1, 0)),
            with(&|q| q.add_edge(a, b, MAX_LATENCY + 1, 0)),
            with(&|q| q.add_edge(a, b, i32::MIN, 0)),
            with(&|q| q.add_edge(a, b, 0, MAX_DISTANCE + 1)),
            with(&|q| q.add_edge(b, a, -3, 0)),
            with(&|q| q.add_edge(b, b, 1, 0)),
        ];
        for u in [
            Use { resource: Resource::from_u32(9), start: 0, rows: 1, units: 1 },
            Use { resource: r, start: 0, rows: 0, units: 1 },
            Use { resource: r, start: 0, rows: 1, units: 0 },
            Use { resource: r, start: u32::MAX, rows: u32::MAX, units: 1 },
            Use { resource: r, start: 0, rows: 1, units: 3 },
        ] {
            errors.push(with(&|q| {
                q.add_op("bad", vec![u]);
            }));
        }
        let twice = Use { resource: r, start: 0, rows: 2, units: 1 };
        errors.push(with(&|q| {
            q.add_op("bad", vec![twice, Use { start: 1, units: 2, ..twice }]);
        }));
        assert_eq!(
            errors,
            [
                "edge 1 names op7, but there are 2 operations",
                "edge 1 has latency 16777217 and distance 0; the limits are ±16777216 and 1048576",
                "edge 1 has latency -2147483648 and distance 0; the limits are ±16777216 and 1048576",
                "edge 1 has latency 0 and distance 1048577; the limits are ±16777216 and 1048576",
                "operations `a`, `b` wait for each other within one iteration, 1 cycles around",
                "operations `b` wait for each other within one iteration, 1 cycles around",
                "operation `bad` uses resource9, but there are 1 resources",
                "operation `bad` uses `alu` for no rows or with no units",
                "operation `bad` uses `alu` for no rows or with no units",
                "operation `bad` holds `alu` until row 8589934590; the limit is 1048576",
                "operation `bad` needs 3 of `alu` at once, which has 2",
                "operation `bad` needs 3 of `alu` at once, which has 2",
            ]
        );
        // A circuit that asks for nothing is no deadlock.
        p.add_edge(b, a, -4, 0);
        assert_eq!(p.check(), Ok(()));
    }
}
