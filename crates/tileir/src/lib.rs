//! Tile programs in their three forms, and the ways between text and data. Nothing here schedules.
//!
//! * [`cuda`]: CUDA Tile IR as `tileirdisasm` prints it;
//! * [`lower`]: from its loops to scheduling problems;
//! * [`program`]: a loop as a scheduling problem: operations, values, orders, resources, attributes;
//! * [`scheduled`]: a loop after scheduling: agents, pipes, mutexes, buffers, barriers;
//! * [`file`](mod@file): loops and scheduled loops in one text.

pub mod cuda;
pub mod file;
mod lex;
pub mod lower;
pub mod program;
pub mod scheduled;
