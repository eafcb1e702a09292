//! The readable text form.
//!
//! ```text
//! // y[i] = a * x[i] + y[i]
//! func saxpy sm_90 (R2:2, R4:2, R6) {
//! ^entry:
//!   R0 = S2R $SR_TID.X !ordered
//!   P0 = ISETP.GE R0, c[0][352]
//!   @P0 EXIT !exit
//! ^body:
//!   R8 = LDG.E global.4[R2:2+16]
//!   R9 = FFMA R8, R6, R9
//!   global.4[R4:2] = STG.E R9
//!   EXIT !exit
//! }
//! ```
//!
//! * `R4:2` is the span of two lanes from `R4` on; `%r4` is virtual. Classes: `R`, `UR`, `P`, `UP`, `B`, `CC`.
//! * `RZ`, `URZ`, `PT`, `UPT` are the constant registers; `c[bank][offset]` is a constant-bank word; `$name` a special
//!   register or symbol; `^name` a block; `tied(0) R4:2` a use that shares the registers of definition 0.
//! * `space.width.flag[base+index+offset]` is a memory access: left of `=` it is written, right of it read. Flags:
//!   `volatile`, `maybe_volatile`, `atomic` (left side only, read and written), `read_only`. Without a width its size is not known. Each
//!   part of the address may be missing; a lone index is written `[0+UR4]`, a lone offset `[16]`.
//! * `@P0` runs the instruction when the predicate is set, `@!P0` when it is clear. Numbers are decimal or `0x…`.
//! * `!name` adds an effect: `branch`, `exit`, `ret`, `call`, `barrier`, `convergence`, `cross_lane`, `ordered`, `opaque`.
//! * `raw(0x…)` and `text("…")` carry what a front-end keeps.
//! * One instruction per line; `//` starts a comment. Names that are not plain words are written in quotes.

mod error;
mod lexer;
mod parser;
mod printer;

pub use error::ParseError;
pub use parser::parse;
pub use printer::{print, print_inst};
