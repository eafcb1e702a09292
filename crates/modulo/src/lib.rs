//! Modulo scheduling for any operations: what bounds a problem, and the parts that schedulers are made of.
//!
//! A *modulo schedule* starts one iteration of a loop every II cycles (the *initiation interval*). Nothing here knows
//! instructions, tiles or machines: operations are numbers with reservation patterns, so that tile scheduling and the
//! loop pipeliner stand on the same code.
//!
//! * [`problem`]: operations, edges, resources; [`Problem::check`] before scheduling; [`verify`](mod@verify) after,
//!   sharing nothing with what makes schedules: both are the crate `problem`'s, which `list` stands on too;
//! * [`bounds`](mod@bounds): the least II that resources and recurrences allow, and which of them binds;
//! * [`table`]: modulo reservation tables;
//! * [`closure`]: the longest paths between all operations at a given II;
//! * [`search`]: the one search for a least feasible number, of II or of costs;
//! * [`iterative`]: iterative modulo scheduling on top of them;
//! * [`branch`] and [`exact`]: an II decided by branch and bound, and the least one with its proof;
//! * `solver`, with the feature `pumpkin`: the same by a general constraint solver;
//! * [`what_if`]: what would have to change for a smaller II;
//! * [`random`]: random loops, for tests and benchmarks.
//!
//! ```
//! use sassafras_modulo::{Problem, Use, iterative};
//!
//! let mut problem = Problem::new();
//! let port = problem.add_resource("memory port", 1);
//! let load = problem.add_op("load", vec![Use::first(port, 2)]);
//! let add = problem.add_op("add", vec![]);
//! let store = problem.add_op("store", vec![Use::first(port, 1)]);
//! problem.add_edge(load, add, 20, 0);
//! problem.add_edge(add, add, 4, 2);
//! problem.add_edge(add, store, 4, 0);
//!
//! let found = iterative::schedule(&problem, &iterative::Options::default())?;
//! assert_eq!(found.schedule.ii, 3);
//! assert_eq!(
//!     found.explain(&problem),
//!     "II 3 is the least there is: resource `memory port` is wanted for 3 unit-cycles per iteration and has 1 units"
//! );
//! # Ok::<(), iterative::IterativeError>(())
//! ```

pub mod bounds;
pub mod branch;
pub mod closure;
pub mod exact;
pub mod iterative;
pub mod random;
pub mod search;
#[cfg(feature = "pumpkin")]
pub mod solver;
pub mod table;
pub mod what_if;

pub use bounds::{Bounds, Reason, Recurrence, bounds};
pub use closure::{ClosureError, Distances};
pub use exact::{Exact, ExactFound, Why};
pub use iterative::{Found, IterativeError, Options};
pub use sassafras_problem::{
    Edge, Op, Problem, ProblemError, Resource, Schedule, Use, Violation, problem, verify,
};
pub use search::{Confirm, Evidence, Gallop, Search, first_feasible};
pub use table::{Table, TableError};
pub use what_if::{Change, Standing, WhatIf};
