//! One list-scheduling engine; a strategy is a small type that ranks ready nodes.
//!
//! The engine takes a dependence [`Graph`](sassafras_deps::Graph) and [`Resources`] (what every node occupies, and for
//! how long) and knows nothing of instructions. It repeats one step: among the nodes that may go next, take the one
//! whose key is largest, say which component of the key decided, and start what that sets free.
//!
//! * [`resources`]: units, issue width, demands;
//! * [`registry`]: every strategy that a user can ask for, a line each; [`problem`]: what one is made from;
//! * [`strategy`]: the trait, and [`strategies`], a file each; [`weights`]: their constants;
//! * [`values`]: which values nodes write and read, and [`block_values`]: those of a block of the IR; [`pressure`]: the registers in use while a schedule grows;
//! * [`register_cycles`]: values that go around a loop;
//! * [`engine`]: the engine; O(log n) per pick;
//! * [`naive`]: an engine that computes everything anew at every pick, its oracle;
//! * [`timing`]: the cycles that an order takes, the one clock that every order is compared by.

pub mod block_values;
pub mod engine;
pub mod naive;
pub mod pressure;
pub mod problem;
pub mod register_cycles;
pub mod registry;
pub mod resources;
pub mod strategies;
pub mod strategy;
pub mod timing;
pub mod values;
pub mod weights;

pub use engine::{Pick, Schedule, Statistics, schedule};
pub use problem::{Block, Engine, Problem, SubCore};
pub use registry::{Contest, Entry, Input, Phase, STRATEGIES, Taken};
pub use resources::{Demand, Resources, Unit};
pub use strategy::{Candidates, Context, Described, Direction, Offer, Reason, Strategy, Ties};
pub use timing::{Timing, time};
pub use values::{Value, Values};
