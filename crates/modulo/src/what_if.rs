//! What would have to change for a smaller II.
//!
//! Goal: not only what binds, but by how much. At an II below the bounds every violated bound is listed with what is
//! missing: unit-cycles of a resource and who wants them, cycles of latency or iterations of distance around a circuit. Each of
//! the changes is necessary, and all together need not be enough. Of circuits only the one with the largest ratio is
//! listed: others may be too long for the II as well, and come up once it is shortened.
//!
//! Where the bounds allow the II, the list is empty and [`Standing`] says what is known: proven infeasible, tried without
//! success, or not tried.
//!
//! Cost: that of [`bounds`](crate::bounds()), once.

use crate::bounds::{Recurrence, critical_recurrence};
use crate::exact::ExactFound;
use cranelift_entity::EntityRef;
use sassafras_problem::pattern::fold;
use sassafras_problem::{Op, Problem, Resource};

/// A necessary change for an II.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// Operations want more of a resource than there is in II cycles.
    Demand {
        /// The resource.
        resource: Resource,
        /// Units times cycles that all operations want per iteration.
        wanted: u128,
        /// Units times cycles that there are.
        allowed: u128,
        /// Who wants some of it.
        ops: Vec<Op>,
    },
    /// Operations of which no two can share a resource want more cycles of it than there are.
    Halves {
        /// The resource.
        resource: Resource,
        /// Cycles; a use of exactly one half counts as half of its cycles.
        wanted: u64,
        /// Cycles that there are.
        allowed: u64,
        /// Who takes half or more of it at once.
        ops: Vec<Op>,
    },
    /// An operation meets itself of a later iteration.
    OwnPattern {
        /// The operation.
        op: Op,
        /// The resource of which it needs too much at once.
        resource: Resource,
        /// What it needs of it, iterations together.
        wanted: u64,
        /// What there is.
        allowed: u64,
    },
    /// A circuit of dependences takes too long.
    Circuit {
        /// The circuit.
        circuit: Recurrence,
        /// By how much its latency must fall.
        latency: i64,
        /// Or by how much its distance must grow.
        distance: i64,
    },
}

impl Change {
    /// What would have to change for this II, as a sentence.
    pub fn explain(&self, problem: &Problem, ii: u32) -> String {
        let names = |ops: &[Op]| {
            let all: Vec<_> = ops.iter().map(|&op| format!("`{}`", problem.name(op))).collect();
            all.join(", ")
        };
        let cycles = |n: u128, what: &str| if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") };
        match self {
            Change::Demand { resource, wanted, allowed, ops } => format!(
                "`{}` is wanted for {}, II {ii} allows {allowed}: shorten or move {} of {}",
                problem.resource_name(*resource),
                cycles(*wanted, "unit-cycle"),
                cycles(wanted - allowed, "unit-cycle"),
                names(ops)
            ),
            Change::Halves { resource, wanted, allowed, ops } => format!(
                "`{}` is wanted for {} that cannot be shared, II {ii} allows {allowed}: shorten or move {} of {}",
                problem.resource_name(*resource),
                cycles(u128::from(*wanted), "cycle"),
                cycles(u128::from(wanted - allowed), "cycle"),
                names(ops)
            ),
            Change::OwnPattern { op, resource, wanted, allowed } => format!(
                "`{}` with its own next iterations needs {wanted} of `{}` at once, of {allowed}: change its pattern",
                problem.name(*op),
                problem.resource_name(*resource)
            ),
            Change::Circuit { circuit, latency, distance } => {
                let first = circuit.ops.first().copied();
                let around: Vec<_> = circuit.ops.iter().copied().chain(first).collect();
                let around: Vec<_> = around.iter().map(|&op| format!("`{}`", problem.name(op))).collect();
                format!(
                    "latency around {} is {} in {}, II {ii} allows {}: it must fall by {latency} or its distance grow by \
                     {distance}",
                    around.join(" -> "),
                    circuit.latency,
                    cycles(u128::from(circuit.distance.unsigned_abs()), "iteration"),
                    i128::from(circuit.distance) * i128::from(ii)
                )
            }
        }
    }
}

/// What is known of an II.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The bounds rule it out.
    Bounds,
    /// The bounds allow it, and a complete search found no schedule.
    Refuted,
    /// The bounds allow it, and a scheduler was tried on it without success.
    Tried,
    /// The bounds allow it, and nothing was tried.
    Untried,
    /// A schedule is known.
    Feasible,
}

/// What would have to change for an II.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhatIf {
    /// The II in question.
    pub ii: u32,
    /// What is known of it.
    pub standing: Standing,
    /// What the bounds ask for, resources first, in the order of the problem; empty where they allow the II.
    pub changes: Vec<Change>,
}

impl WhatIf {
    /// The violated bounds of a problem that [`Problem::check`] accepts, at an II that is not 0.
    pub fn new(problem: &Problem, ii: u32) -> WhatIf {
        let mut changes = Vec::new();
        for resource in problem.resources() {
            changes.extend(resource_change(problem, resource, ii));
        }
        for op in problem.ops() {
            // Only what wraps can meet itself, and a demand of its own is listed above.
            let over = fold(problem.uses(op), ii).into_iter();
            let over =
                over.filter(|s| s.units > u64::from(problem.capacity(s.resource))).max_by_key(|s| s.units);
            changes.extend(over.map(|s| Change::OwnPattern {
                op,
                resource: s.resource,
                wanted: s.units,
                allowed: u64::from(problem.capacity(s.resource)),
            }));
        }
        if let Some(circuit) = critical_recurrence(problem)
            && circuit.latency > circuit.distance.saturating_mul(i64::from(ii))
        {
            let per = i64::from(ii.max(1));
            let latency = circuit.latency - circuit.distance * per;
            let distance = (circuit.latency + per - 1) / per - circuit.distance;
            changes.push(Change::Circuit { circuit, latency, distance });
        }
        let standing = if changes.is_empty() { Standing::Untried } else { Standing::Bounds };
        WhatIf { ii, standing, changes }
    }

    /// The same with what an exact search knows of the II.
    #[must_use]
    pub fn with_exact(mut self, exact: &ExactFound) -> WhatIf {
        if exact.schedule.as_ref().is_some_and(|s| s.ii == self.ii) {
            self.standing = Standing::Feasible;
        } else if self.standing != Standing::Bounds && exact.refuted(self.ii) {
            self.standing = Standing::Refuted;
        } else if self.standing == Standing::Untried && exact.verdicts.iter().any(|v| v.0 == self.ii) {
            self.standing = Standing::Tried;
        }
        self
    }

    /// What would have to change, as a sentence.
    pub fn explain(&self, problem: &Problem) -> String {
        let ii = self.ii;
        match self.standing {
            Standing::Bounds => {
                let changes: Vec<_> = self.changes.iter().map(|c| c.explain(problem, ii)).collect();
                format!("for II {ii}: {}", changes.join("; "))
            }
            Standing::Refuted => {
                format!(
                    "the bounds allow II {ii}, but it was proven to have no schedule: patterns and circuits do not fit"
                )
            }
            Standing::Tried => {
                format!("the bounds allow II {ii}; no schedule was found, and none was ruled out")
            }
            Standing::Untried => format!("the bounds allow II {ii}, and it was not tried"),
            Standing::Feasible => format!("II {ii} has a schedule"),
        }
    }
}

/// What a resource asks for: its demand, or that of uses that cannot share it where that is more.
fn resource_change(problem: &Problem, resource: Resource, ii: u32) -> Option<Change> {
    let capacity = problem.capacity(resource);
    let (mut demand, mut halves) = (0u128, 0u64);
    let (mut ops, mut large) = (Vec::new(), Vec::new());
    for op in problem.ops() {
        for u in problem.uses(op).iter().filter(|u| u.resource.index() == resource.index()) {
            demand += u128::from(u.units) * u128::from(u.rows);
            ops.push(op);
            let twice = 2 * u64::from(u.units);
            if twice >= u64::from(capacity) {
                // In half cycles, as the bound counts them.
                halves += u64::from(u.rows) * if twice > u64::from(capacity) { 2 } else { 1 };
                large.push(op);
            }
        }
    }
    ops.dedup();
    large.dedup();
    let allowed = u128::from(capacity) * u128::from(ii);
    let rows = halves.div_ceil(2);
    let by_demand = demand.div_ceil(u128::from(capacity.max(1)));
    if u128::from(rows) > by_demand && rows > u64::from(ii) {
        Some(Change::Halves { resource, wanted: rows, allowed: u64::from(ii), ops: large })
    } else if demand > allowed {
        Some(Change::Demand { resource, wanted: demand, allowed, ops })
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bounds, exact, iterative, random};
    use sassafras_problem::Use;

    #[test]
    fn resources_and_circuits_say_by_how_much() {
        let mut p = Problem::new();
        let tma = p.add_resource("tma", 1);
        let pool = p.add_resource("pool", 5);
        let a = p.add_op("a", vec![Use::first(tma, 5)]);
        let b = p.add_op("b", vec![Use::first(tma, 4), Use { resource: pool, start: 0, rows: 9, units: 3 }]);
        p.add_edge(a, b, 14, 0);
        p.add_edge(b, a, 11, 3);
        let w = WhatIf::new(&p, 8);
        assert_eq!(
            w.explain(&p),
            "for II 8: `tma` is wanted for 9 unit-cycles, II 8 allows 8: shorten or move 1 unit-cycle of `a`, `b`; `pool` \
             is wanted for 9 cycles that cannot be shared, II 8 allows 8: shorten or move 1 cycle of `b`; `b` with its own \
             next iterations needs 6 of `pool` at once, of 5: change its pattern; latency around `a` -> `b` -> `a` is 25 in \
             3 iterations, II 8 allows 24: it must fall by 1 or its distance grow by 1"
        );
        let found = iterative::schedule(&p, &iterative::Options::default()).expect("valid");
        assert_eq!(found.what_if(&p), Some(w));
        assert_eq!(WhatIf::new(&p, 9).explain(&p), "the bounds allow II 9, and it was not tried");
    }

    #[test]
    fn a_refuted_ii_is_said_to_be() {
        let mut p = Problem::new();
        let r = p.add_resource("port", 1);
        let at = |start| Use { resource: r, start, rows: 1, units: 1 };
        let a = p.add_op("a", vec![at(0), at(1)]);
        let b = p.add_op("b", vec![at(0)]);
        p.add_edge(a, b, 4, 0);
        p.add_edge(b, a, -1, 1);
        let found = iterative::schedule(&p, &iterative::Options::default()).expect("valid");
        let text = found.what_if(&p).expect("above 1").explain(&p);
        assert!(text.starts_with("the bounds allow II 4, but it was proven to have no schedule"), "{text}");
        let exact = exact::least_ii(&p, &exact::Options::default()).expect("valid");
        assert_eq!(WhatIf::new(&p, 4).with_exact(&exact).standing, Standing::Refuted);
        assert_eq!(WhatIf::new(&p, 5).with_exact(&exact).standing, Standing::Feasible);
    }

    #[test]
    fn the_bounds_and_the_changes_agree() {
        for seed in 0..200 {
            let p = random::small(seed);
            let mii = bounds(&p).mii() as u32;
            assert_eq!(WhatIf::new(&p, mii).changes, [], "seed {seed}");
            if mii > 1 {
                let below = WhatIf::new(&p, mii - 1);
                assert_eq!(below.standing, Standing::Bounds, "seed {seed}");
                assert!(!below.explain(&p).is_empty());
            }
        }
    }
}
