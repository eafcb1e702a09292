//! Where the cycles of scheduled code go.
//!
//! Everything here is read off code as it stands, its control fields included, by running it on the model that the scheduler uses
//! ([`sassafras_tepid::replay`]). The data flow for a function:
//!
//! 1. [`way`](sassafras_tepid::way): the instructions that a warp goes through, in a loop and in the whole function;
//! 2. [`steady`]: these run on the model, with all warps that there are and with one alone;
//! 3. from that, a file per question: [`units`] (who is busy), [`hiding`] (what latencies cost), [`blocks`] and [`ratios`] (the documented
//!    statistics per block and loop class), [`scoreboards`], [`critical`] (the chain that an iteration waits for), [`occupancy`],
//!    [`live`] (registers in use), [`table`] (every instruction);
//! 4. [`trace`]: everything that all warps of a loop did, for those who draw it;
//! 5. [`kernel`] puts them together; [`compare`] holds two of them side by side.
//!
//! Everything but traces can be serialised; printing is somebody else's job.

pub mod blocks;
pub mod compare;
pub mod critical;
pub mod hiding;
pub mod kernel;
pub mod live;
pub mod occupancy;
pub mod ratios;
pub mod scoreboards;
pub mod steady;
pub mod table;
pub mod trace;
pub mod units;

pub use kernel::{Kernel, LoopReport, Subject, analyze};

/// A number with as many digits as anybody reads.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// A share in per cent.
pub(crate) fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { rounded(100.0 * part / whole) } else { 0.0 }
}
