//! Passes over functions.
//!
//! * [`list_schedule`]: list scheduling of every block, checked, with figures before and after;
//! * [`choice`]: the strategies to choose from; [`auto`]: the choice for the user;
//! * [`ptx`]: the same on a PTX module; [`commute`]: operands of recurrences there;
//! * [`dialect`]: what opcodes are called in machine tables; [`resources`]: what an instruction occupies, from those tables;
//! * `knobs`: switches of the strategies as the user sets them;
//! * [`values`]: which values the instructions of a block write and read.

pub mod auto;
mod block;
mod budget;
pub mod choice;
pub mod commute;
pub mod dialect;
mod knobs;
pub mod list_schedule;
pub mod ptx;
pub mod resources;
pub mod values;
mod wmma;

pub use choice::{Choice, List};
pub use dialect::Dialect;
pub use list_schedule::{
    BlockReport, Figures, FunctionReport, Options, PickReport, ScheduleError, order_blocks, reorder_function,
    schedule_function, schedule_module,
};
pub use sassafras_deps::models::LatencySource;
