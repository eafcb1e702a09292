//! One list-scheduling engine; a strategy is a small type that ranks ready nodes.
//!
//! The engine takes a dependence [`Graph`](sassafras_problem::graph::Graph) and [`Resources`] (what every node occupies, and for
//! how long) and knows nothing of instructions. It repeats one step: among the nodes that may go next, take the one
//! whose key is largest, say which component of the key decided, and start what that sets free.
//!
//! * [`resources`]: units, issue width, demands;
//! * [`registry`]: every strategy that a user can ask for, a line each; [`request`]: what one is made from;
//! * [`strategy`]: the trait, and [`strategies`], a file each; [`weights`]: their constants;
//! * [`values`]: which values nodes write and read, and [`block_values`]: those of a block of the IR; [`pressure`]: the registers in use while a schedule grows;
//! * [`register_cycles`]: values that go around a loop;
//! * [`engine`]: the engine; O(log n) per pick;
//! * [`input`]: code of an outside compiler, given as a [`Problem`](sassafras_problem::Problem) and the trait [`Block`];
//! * [`naive`]: an engine that computes everything anew at every pick, its oracle;
//! * [`timing`]: the cycles that an order takes, the one clock that every order is compared by.
//!
//! ```
//! use sassafras_list::{Direction::TopDown, Input, strategies::CriticalPath};
//! use sassafras_problem::{Problem, Use};
//!
//! let mut problem = Problem::new();
//! let issue = problem.add_resource("issue", 1);
//! let mut op = |name| problem.add_op(name, vec![Use::first(issue, 1)]);
//! let [quick, load, sum] = [op("quick"), op("load"), op("sum")];
//! problem.add_edge(quick, sum, 1, 0);
//! problem.add_edge(load, sum, 20, 0);
//! let found = Input::new(&problem)?.schedule(TopDown, &mut CriticalPath);
//! assert_eq!(found.order, [load, quick, sum]);
//! assert_eq!(found.times, [1, 0, 20]);
//! found.verify(&problem)?; // a checker that shares nothing with the engine
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod block_values;
pub mod engine;
pub mod input;
pub mod naive;
pub mod pressure;
pub mod register_cycles;
pub mod registry;
pub mod request;
pub mod resources;
pub mod strategies;
pub mod strategy;
pub mod timing;
pub mod values;
pub mod weights;

pub use engine::{Pick, Schedule, Statistics, schedule};
pub use input::{Block, Input, InputError, Ordered};
pub use registry::{Contest, Entry, Phase, STRATEGIES, Taken};
pub use request::{Engine, Prepared, Request, SubCore};
pub use resources::{Demand, Resources, Unit};
pub use strategy::{Candidates, Context, Described, Direction, Offer, Reason, Strategy, Ties};
pub use timing::{Timing, repeated, time};
pub use values::{Value, Values};
