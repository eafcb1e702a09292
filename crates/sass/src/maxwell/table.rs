//! The tables of sm_50–62 as data: `data/maxwell`.
//!
//! | file | what a row says |
//! |---|---|
//! | `instructions.csv` | the bits that tell an instruction, its modifiers and operands in printed order, what it does |
//! | `forms.csv` | where the second and third source of an arithmetic instruction sit, per form |
//! | `modifiers.csv` | the text of each value of a modifier field |
//! | `widths.csv` | the registers, and the bytes in memory, of each value of a size field |
//!
//! A word matches a row when `word & mask == match`; of several rows the one with the most mask bits counts. With `forms`,
//! `match` and `mask` are those of the register form and the row stands for one row per form letter. `sm` is a range of SM
//! numbers; a `guard` of `-` says that there is no guard.
//!
//! `modifiers`, in printed order, separated by spaces: `.FTZ@44` is printed when bit 44 is set, `!.U32@48` when it is
//! clear, `icmp@49..52` prints the text of the set `icmp`. `<CC` or `>CC` behind one says that the condition codes are read
//! or written where it is printed. `.T^0` is printed when the first reuse flag of the control word is set.
//! A field may be gathered from ranges, lowest first: `39..41+42`.
//!
//! `operands`, in printed order, separated by spaces, each with `<` (read), `>` (written) or `<>` (both) where it names
//! registers, and a leading `_` when it is not printed:
//!
//! | token | what it is |
//! |---|---|
//! | `R8:2`, `R0:rule@8..10` | general register, 8 bits from the number on, with its count of registers; `R20+1`: the next |
//! | `P39`, `Q41` | predicate, 3 bits; `Q`: the field counts down from 7 |
//! | `b`, `bf`, `bd`, `c` | the sources that `forms.csv` gives; an immediate is an integer, FP32 or FP64 |
//! | `K` | word of a constant bank at a fixed place |
//! | `I20..39+56`, `s` behind it for signed | integer |
//! | `F`, `D`, `H` and a field | the highest bits of an FP32, FP64 or FP16 number |
//! | `M8:rule@45,20..44`, `*4` behind it | address: register, signed offset and its unit |
//! | `X36..41:8,20..36` | constant bank with a computed address |
//! | `W8,20..44` | register and offset of an indirect jump |
//! | `@20..44`, `A20..52` | relative and absolute target |
//! | `T0..5` | condition-code test, not printed when it always holds |
//! | `CC`, `PR`, `PR&20..27` | the condition codes; all predicates, or those of a mask |
//! | `L0..6` | set of scoreboards |
//! | `=set@28..31`, `=TEXT` | text of a set; fixed text |
//!
//! Behind a token: `-48` negated, `|46` absolute, `~40` inverted, `!42` not, each by that bit; `.set@31..33` and `.CC@47>CC`
//! are suffixes; `^2`: the third of the control word's reuse flags is its own (without it, the first three sources'
//! flags go by where the number sits: 8, 20, 39 or `b`, `c`); `?` leaves the operand out when it is `RZ` or `PT`, `?15` when its value is 15.
//!
//! `memory` is kind, space, bytes (`?`, a number or `rule@field`); the address is the operand that is one. `flow` names the
//! role of a control-flow instruction, `effects` what it does besides.

mod cell;
mod field;
mod load;
mod operand;
mod spec;

pub(crate) use field::Field;
pub use load::Sources;
pub(crate) use load::Tables;
pub(crate) use operand::depends;
pub(crate) use spec::{Decoration, Direction, FlowKind, Kind, Lanes, MemKind, Modifier, Operand, Row, Width};
