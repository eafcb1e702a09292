//! Passes over functions.
//!
//! * [`list_schedule`]: list scheduling of every block, checked, with figures before and after;
//! * `auto`: the best of several strategies for each block;
//! * [`pipeline`]: the passes of `schedule` by name, and watching a function go through them;
//! * [`ptx`]: the same on a PTX module; [`commute`]: operands of recurrences there;
//! * [`dialect`]: what opcodes are called in machine tables; [`resources`]: what an instruction occupies, from those tables;
//! * `knobs`: switches of the strategies as the user sets them.
//!
//! The strategies themselves are those of [`sassafras_list::registry`].

mod auto;
mod block;
mod budget;
pub mod commute;
pub mod dialect;
mod knobs;
pub mod list_schedule;
pub mod pipeline;
pub mod ptx;
pub mod resources;
mod wmma;

pub use dialect::Dialect;
pub use list_schedule::{
    BlockReport, Figures, FunctionReport, Options, PickReport, ScheduleError, order_blocks, reorder_function,
    schedule_function, schedule_module,
};
pub use pipeline::{Pass, Watch};
pub use sassafras_deps::models::LatencySource;
