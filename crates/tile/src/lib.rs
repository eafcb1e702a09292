//! Tile scheduling: when the operations of a loop over tiles start, and the program that makes them start then.
//!
//! Two halves that share nothing but a published schedule:
//!
//! * [`generate`](generate()): the initiation interval and a stage and order for every operation ([`Analysis`]), and slots
//!   for every value ([`buffers`]);
//! * [`materialise`](materialise()): agents, pipes, mutexes and buffers, from that schedule alone.
//!
//! Whether the result is right is not decided here: `verify::tile` replays it without knowing how it came about.
//!
//! ```
//! use sassafras_tile::{Options, generate, materialise};
//! use sassafras_tileir::{program, scheduled};
//!
//! let text = "
//! loop matmul {
//!   arch sm_90
//!   resource tma 1
//!   resource tc_and_mma 1
//!   value a : shared 16384 f16
//!   value acc : register 32768 f32
//!   op load = tma_load () -> (a) { async latency 600 hold tma 0..64 }
//!   op mma = wgmma (a, acc[-1] in place) -> (acc) { in-order latency 140 hold tc_and_mma 0..128 }
//! }";
//! let program = &program::parse(text)?[0];
//! let generated = generate(program, &Options::default())?;
//! assert_eq!(generated.analysis.ii, 128);
//! let scheduled = materialise(program, &generated)?;
//! assert_eq!(scheduled.agents.len(), 2);
//! assert_eq!(scheduled::parse(&scheduled::print(&scheduled, program), std::slice::from_ref(program))?[0], scheduled);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod agents;
pub mod analysis;
pub mod buffers;
pub mod choose;
pub mod contract;
pub mod explain;
pub mod generate;
pub mod materialise;
pub mod options;
pub mod random;
pub mod solve;
pub mod union;
pub mod view;

pub use analysis::{Analysis, Generator, Mii, Place};
pub use choose::{Chosen, choose};
pub use generate::{GenerateError, Generated, generate};
pub use materialise::{MaterialiseError, materialise};
pub use options::{Options, Selection};
