//! PTX: read without loss, reordered block by block, lowered to the IR.
//!
//! ```text
//! source ──lexer──▶ tokens ──parse──▶ Module (spans of the source) ──lower──▶ ir::Function ──▶ deps, schedulers
//!                                        │        ▲                                │
//!                                      print      └──── reorder(block, order) ◀────┘
//!                                        ▼
//!                                      source, byte for byte where nothing moved
//! ```
//!
//! A [`Module`] keeps its source and knows where everything in it stands; whitespace, comments and directives that nobody knows
//! survive because nothing is ever written anew. [`Module::reorder`] gives a block another order and [`Module::print`] moves the text
//! of its instructions ([`mod@print`] says what goes with an instruction, and what becomes of `.loc`). [`Module::commute`] exchanges two
//! operands of an instruction.
//!
//! Blocks begin at labels that instructions name and end behind branches, exits and returns; a brace, a declaration or any directive but
//! `.loc` ends one too, so that no instruction leaves its scope or passes what it was written behind.
//!
//! [`lower()`] gives the dependences: what an instruction reads, writes and orders is said by tables ([`table`]), not by code. What
//! the tables do not know is opaque: nothing moves across it. [`contraction`] names what has to stay in order so that
//! ptxas rounds as it did.
//!
//! ```
//! use sassafras_ptx::{Module, lower};
//!
//! let source = ".version 8.0\n.target sm_90\n.address_size 64\n\
//!     .visible .entry k(.param .u64 p) {\n\
//!     \t.reg .b64 %rd<2>;\n\t.reg .b32 %r<3>;\n\
//!     \tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, %tid.x; // who\n\tst.global.u32 [%rd1], %r1;\n\tret;\n}\n";
//! let mut module = Module::parse(source)?;
//! assert_eq!(module.print(), source);
//!
//! let block = module.blocks().next().expect("one block");
//! let old = module.order(block);
//! module.reorder(block, &[old[1], old[0], old[2], old[3]])?;
//! assert!(module.print().contains("\tmov.u32 %r1, %tid.x; // who\n\tld.param.u64 %rd1, [p];\n"));
//!
//! let lowered = lower(&module, &module.functions()[0])?;
//! assert_eq!((lowered.function.inst_count(), lowered.opaque), (4, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod commute;
pub mod contraction;
mod lexer;
pub mod lower;
mod parse;
pub mod print;
pub mod syntax;
pub mod table;
mod text;

pub use commute::NotCommutative;
pub use lower::{LowerError, Lowered, Numbering, lower, lower_with};
pub use sassafras_ir::text::ParseError;
pub use syntax::{BlockId, InstId, Module};
pub use text::Span;
