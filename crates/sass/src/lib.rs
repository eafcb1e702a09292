//! SASS decoding from tables, and lifting to the IR.
//!
//! [`decode`] turns one 128-bit word of sm_70 and later into a [`Decoded`]: name, guard, every register read and written
//! with its width and the bits that name it, memory accesses, control-flow role, effects and scheduling category. It
//! interprets data tables ([`table`]) and knows no opcode itself; a word that the tables do not describe is *opaque*,
//! never an error. [`lift()`] turns the code of one function into a [`sassafras_ir::Function`]. [`rename`] says where a word
//! names its registers and writes others there.
//!
//! The tables were learnt from, and are checked against, what NVIDIA's disassembler prints for compiled code
//! (`tests/nvdisasm.rs`, behind the `real-tools` feature). Nothing of its text is used at run time.

mod decode;
mod lift;
pub mod maxwell;
pub mod print;
pub mod program;
pub mod rename;
pub mod table;
pub mod text;

pub use decode::{Access, Decoded, Decoder, Flow, RegOperand, Sources, decode};
pub use lift::{Code, LiftError, Lifted, lift};
