//! Modulo scheduling for any operations: what a problem is, what bounds it, and the parts that schedulers are made of.
//!
//! A *modulo schedule* starts one iteration of a loop every II cycles (the *initiation interval*). Nothing here knows
//! instructions, tiles or machines: operations are numbers with reservation patterns, so that tile scheduling and the
//! loop pipeliner stand on the same code.
//!
//! * [`problem`]: operations, edges, resources; [`Problem::check`] before scheduling; [`verify`](mod@verify) after,
//!   sharing nothing with what makes schedules;
//! * [`bounds`](mod@bounds): the least II that resources and recurrences allow, and which of them binds;
//! * [`table`]: modulo reservation tables;
//! * [`closure`]: the longest paths between all operations at a given II;
//! * [`search`]: the one search for a least feasible number, of II or of costs;
//! * [`iterative`]: iterative modulo scheduling on top of them.

pub mod bounds;
pub mod closure;
pub mod iterative;
pub mod problem;
pub mod search;
pub mod table;
pub mod verify;

pub use bounds::{Bounds, Reason, Recurrence, bounds};
pub use closure::{ClosureError, Distances};
pub use iterative::{Found, IterativeError, Options};
pub use problem::{Edge, Op, Problem, ProblemError, Resource, Schedule, Use};
pub use search::{Confirm, Evidence, Gallop, Search, first_feasible};
pub use table::{Table, TableError};
pub use verify::{Violation, verify};
