//! The dependence graph of a region.
//!
//! [`build()`] walks the instructions of a block once with last-writer and last-reader tables per lane and a run
//! structure per memory region, and returns a [`Graph`]: instructions as nodes in program order, edges with a
//! [`EdgeKind`], a latency and an iteration distance. Where many must precede many, a *join* node stands between them,
//! so that the number of edges stays linear in the number of operands; a join takes no time and is never scheduled.
//!
//! The graph holds no IR: schedulers take it together with resource records and know nothing of instructions.
//!
//! * [`graph`]: nodes, edges, compressed adjacency both ways;
//! * [`latency`]: what an edge costs, as a trait over small operand classes;
//! * [`models`]: the two latency models made from the machine tables;
//! * [`build`](mod@build): the builder; `fan`, `registers` and `memory` are its tables;
//! * [`paths`]: heights, depths, slack, critical path; [`cyclic`]: the cyclic critical path of a loop;
//! * [`reach`]: reachability and transitive reduction;
//! * [`export`]: DOT and JSON;
//! * [`oracle`]: the slow, obviously right graph that tests compare with.

pub mod build;
pub mod export;
mod fan;
pub mod latency;
mod memory;
pub mod models;
pub mod oracle;
pub mod reach;
mod registers;

pub use build::{BuildOptions, build};
pub use latency::{LatencyModel, OrderKind};
pub use sassafras_problem::graph::{Edge, EdgeKind, End, Graph, Node};
pub use sassafras_problem::{cyclic, graph, paths};
