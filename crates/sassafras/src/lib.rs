//! An instruction scheduler for NVIDIA GPUs, as a library.
//!
//! Code that a compiler made goes in, and comes out rescheduled, verified by checkers that share no code with the scheduler, with a
//! report of what changed and why. Three front doors, one for each kind of input:
//!
//! | function | takes | gives |
//! |---|---|---|
//! | [`reschedule()`] | a cubin, fatbinary, host file or archive | the same file with the code of its kernels rescheduled |
//! | [`reschedule_ptx`] | PTX | PTX with the blocks of its functions reordered |
//! | [`schedule_tile`] | a tile program | its loops, software-pipelined over agents, with a proof |
//!
//! Beside them [`verify()`] finds hazards in machine code, [`verify_against`] proves that one file is a legal reordering of another, and
//! [`analyze()`] says where the cycles go.
//!
//! # A cubin
//!
//! ```no_run
//! use sassafras::{Options, reschedule};
//!
//! let bytes = std::fs::read("kernels.cubin")?;
//! let done = reschedule(&bytes, &Options::default())?;
//! for kernel in &done.outcomes {
//!     println!("{}: {} of {} instructions moved", kernel.name, kernel.moved, kernel.instructions);
//! }
//! std::fs::write("faster.cubin", done.bytes)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # PTX
//!
//! ```
//! use sassafras::{PtxOptions, reschedule_ptx};
//!
//! let text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\
//!     .reg .b32 %r<4>;\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\nadd.s32 %r2, 1, 2;\nld.global.u32 %r1, [%rd1];\n\
//!     add.s32 %r3, %r1, %r2;\nst.global.u32 [%rd1], %r3;\nret;\n}\n";
//! let done = reschedule_ptx(text, &PtxOptions::default())?;
//! assert_eq!(done.functions[0].name, "k");
//! assert!(done.text.starts_with(".version 8.0"));
//! # Ok::<(), sassafras::Error>(())
//! ```
//!
//! # A tile program
//!
//! ```
//! use sassafras::{TileOptions, schedule_tile};
//!
//! let text = "loop matmul {
//!   arch sm_90
//!   resource tma 1
//!   resource tc_and_mma 1
//!   value a : shared 16384 f16
//!   value acc : register 32768 f32
//!   op load = tma_load () -> (a) { async latency 600 hold tma 0..64 }
//!   op mma = wgmma (a, acc[-1] in place) -> (acc) { in-order latency 140 hold tc_and_mma 0..128 }
//! }";
//! let done = schedule_tile(text, &TileOptions::default())?;
//! assert_eq!(done.loops[0].scheduled.ii, 128);
//! # Ok::<(), sassafras::Error>(())
//! ```

pub mod analyze;
pub mod assemble;
pub mod bounds;
pub mod error;
pub mod listing;
pub mod progress;
pub mod ptx;
pub mod reschedule;
pub mod selection;
pub mod sites;
pub mod tile;
pub mod verify;

pub use analyze::{AnalyzeOptions, analyze};
pub use error::Error;
pub use ptx::{PtxOptions, RescheduledPtx, reschedule_ptx};
pub use reschedule::{Options, Rescheduled, reschedule};
pub use selection::{Selection, SelectionError};
pub use tile::{ScheduledTile, TileOptions, schedule_tile};
pub use verify::{Verification, VerifiedAgainst, verify, verify_against};
