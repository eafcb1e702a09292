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
//! * `[B--2---:R-:W0:Y:S04:a--]` in front of an instruction are its control fields, spelt as in listings: the scoreboards that it waits
//!   for, those that it sets when its sources are read (`R`) and its result is there (`W`), `Y` to yield, stall cycles, and the operand
//!   slots kept for reuse. They are bits of the machine word; `raw(0x…)` beside them has the other bits, and is left out when those are 0.
//! * `slots(R4, -, R6:2)` names the registers in the operand slots `a`, `b` and `c` of an encoding, for banks and reuse.
//! * `launch(entry, registers 32, threads 256, shared 4096)` behind a function's inputs is what a kernel declares: that the host can
//!   launch it, registers of a thread, threads of a block, bytes of static shared memory. Each may be missing.
//! * One instruction per line; `//` starts a comment. Names that are not plain words are written in quotes.

mod annotations;
mod error;
mod lexer;
mod parser;
mod printer;

pub use annotations::{Annotated, Annotations, Declared, Slots, has_control, uncontrolled};
pub use error::ParseError;
pub use parser::{parse, parse_annotated};
pub use printer::{print, print_annotated, print_bare, print_inst};
