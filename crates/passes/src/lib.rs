//! Passes over functions.
//!
//! * [`list_schedule`]: list scheduling of every block, checked, with figures before and after;
//! * [`resources`]: what an instruction occupies, from the machine tables.

pub mod list_schedule;
pub mod resources;

pub use list_schedule::{
    BlockReport, Choice, Figures, FunctionReport, LatencySource, Options, PickReport, ScheduleError,
    schedule_function, schedule_module,
};
