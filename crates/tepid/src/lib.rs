//! Scheduling after register allocation: orders for blocks, and all control fields anew.
//!
//! The pipeline for a function:
//!
//! 1. [`code`]: opcodes, lanes and distances looked up once;
//! 2. [`original`]: what the old control fields say that registers do not show;
//! 3. [`classify`]: what a block does; [`function`] and [`schedule`]: orders for blocks, made by the strategies of [`sassafras_list::registry`] and a search, that
//!    compete under the model of [`pipeline`]; [`cutlass`] plans what matrix kernels need beyond that. Closed loops get other registers,
//!    too ([`rename`]), and are judged by running what would be written ([`replay`]); both models read registers as [`banks`] says;
//! 4. [`boards`]: scoreboards; [`fields`]: waits and stalls (`came`: what the compiler left, where the tables ask for more than stalls can give); [`yields`]; [`reuse`]: reuse flags; together [`control`]. [`obstacle`] says
//!    what an order that has no fields fails by. [`join`] makes legal words of what two producers say.
//!
//! Beside it, [`dual_issue`]: which neighbours issue together on sm_50 to sm_62.
//!
//! Nothing here is trusted: what comes out is checked by a crate that shares none of this.

pub mod banks;
pub mod boards;
pub mod body;
mod came;
pub mod classify;
pub mod clock;
pub mod code;
pub mod control;
pub mod cutlass;
pub mod dual_issue;
pub mod fields;
pub mod function;
pub mod join;
pub mod latency;
pub mod lines;
pub mod obstacle;
pub mod original;
pub mod pipeline;
mod polished;
mod queue;
mod ready;
mod refine;
pub mod rename;
pub mod replay;
pub mod reuse;
pub mod schedule;
mod search;
mod spacing;
mod state;
pub mod streams;
pub mod way;
pub mod yields;

pub use code::{Code, Sources};
pub use control::{Keep, rebuild, rebuild_with};
pub use obstacle::Unsolvable;
pub use original::{Fields, Original};
