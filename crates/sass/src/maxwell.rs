//! Goal: the code of sm_50–62, decoded from tables and printed in the disassembler's spelling.
//!
//! An instruction has 64 bits; one control word stands before each group of three ([`groups()`] walks a section and skips
//! them). [`decode`] gives the name, the guard, every register read and written with its width, the memory access and
//! the control-flow role; its [`Decoded::display`] prints what NVIDIA's disassembler prints. It interprets the CSV
//! tables of `data/maxwell` ([`table`]) and knows no opcode itself.
//!
//! Three degrees of knowledge, never an error: *opaque* words match no row, or have a register span that no rule
//! knows; *partial* ones match a row but set a bit, or have a modifier value, that the row does not account for (their
//! text may be wrong); for *complete* ones every bit is accounted for.
//!
//! Source: what the disassembler of CUDA 12.8 prints for enumerated and for compiled words; the field positions agree
//! with the public assemblers for these chips.

mod decode;
mod groups;
mod number;
mod print;
pub mod table;

pub use decode::{Decoded, Flow, Register, decode};
pub use groups::{GroupError, Groups, Instruction, groups};
pub use print::Listing;
