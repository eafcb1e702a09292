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
//! * [`overlap`]: what of a loop's dependences stays when its iterations overlap;
//! * [`export`]: DOT and JSON;
//! * [`oracle`]: the slow, obviously right graph that tests compare with.
//!
//! Graph, paths and recurrences are the crate `problem`'s, for which an instruction is a number. A graph becomes a
//! problem that modulo schedulers take:
//!
//! ```
//! use sassafras_deps::{BuildOptions, build, latency::UnitLatency, overlap};
//! use sassafras_modulo::{Options, Problem, Use, iterative};
//!
//! let text = "func f sm_90 {\n^a:\n  R4 = FADD R4, R5\n  R6 = FMUL R4, R5\n  R7 = FADD R6, R7\n  BRA ^a !branch\n}\n";
//! let module = sassafras_ir::text::parse(text).expect("a right text");
//! let f = &module.functions[0];
//! let insts = f.block_insts(f.blocks().next().expect("a block"));
//! let graph = build(f, insts, &UnitLatency, BuildOptions { carried: true });
//! let graph = overlap::overlapping(&graph, f, insts, overlap::Registers::Renamed);
//! let mut problem = Problem::new();
//! let issue = problem.add_resource("issue", 2);
//! graph.add_to(&mut problem, |node| (format!("{}", node.0), vec![Use::first(issue, 1)]));
//! let found = iterative::schedule(&problem, &Options::default())?;
//! assert_eq!(found.schedule.ii, 2); // four instructions, two per cycle
//! # Ok::<(), iterative::IterativeError>(())
//! ```

pub mod build;
pub mod export;
mod fan;
pub mod latency;
mod memory;
pub mod models;
pub mod oracle;
pub mod overlap;
pub mod reach;
mod registers;

pub use build::{BuildOptions, build};
pub use latency::{LatencyModel, OrderKind};
pub use sassafras_problem::graph::{Edge, EdgeKind, End, Graph, Node};
pub use sassafras_problem::{cyclic, graph, paths};
