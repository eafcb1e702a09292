//! A scheduling problem: what is to be scheduled, and what a solution is.
//!
//! Nothing here knows instructions, tiles or machines, and nothing here schedules: `list` orders the operations of one
//! iteration, `modulo` overlaps iterations, and both are given the same [`Problem`] and held to the same checkers.
//!
//! * [`problem`]: operations, edges with latency and iteration distance, resources; [`Problem::check`] before scheduling;
//! * [`verify`](mod@verify): whether a modulo schedule, or an order with its times, is a solution, in code of its own;
//! * [`circuit`]: the critical circuit of any edges;
//! * [`pattern`]: reservation patterns, folded modulo II;
//! * [`graph`]: dependence graphs with adjacency both ways, as `deps` builds them and `list` walks them; a graph
//!   [becomes a problem](graph::Graph::add_to);
//! * [`paths`]: heights, depths, slack and critical path of a graph; [`cyclic`]: its critical recurrence.
//!
//! ```
//! use sassafras_problem::{Problem, Schedule, Use, verify, verify_order};
//!
//! let mut problem = Problem::new();
//! let port = problem.add_resource("port", 1);
//! let load = problem.add_op("load", vec![Use::first(port, 2)]);
//! let store = problem.add_op("store", vec![Use::first(port, 2)]);
//! problem.add_edge(load, store, 5, 0);
//! problem.check()?;
//! // One iteration: an order, and when each operation starts.
//! verify_order(&problem, &[load, store], &[0, 5])?;
//! assert!(verify_order(&problem, &[load, store], &[0, 4]).is_err());
//! // Iterations one behind the other every four cycles; at three the port would be taken twice.
//! verify(&problem, &Schedule { ii: 4, times: vec![0, 6] })?;
//! assert!(verify(&problem, &Schedule { ii: 3, times: vec![0, 6] }).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod circuit;
pub mod cyclic;
pub mod graph;
pub mod paths;
pub mod pattern;
pub mod problem;
pub mod verify;

pub use problem::{Edge, Op, Problem, ProblemError, Resource, Schedule, Use};
pub use verify::{Violation, verify, verify_order};
