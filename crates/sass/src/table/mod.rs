//! The instruction tables: what each opcode reads, writes and does, as data.
//!
//! | file | what a row says |
//! |---|---|
//! | `families.csv` | which architectures share a table, what it inherits, how many bits name a uniform register, where control flow is |
//! | `forms.csv` | where the sources of an arithmetic instruction sit, per value of bits 9..12 |
//! | `lanes.csv` | how a modifier field decides how many registers an operand spans |
//! | `orders.csv` | how a memory-order field reads: weak, constant or strong |
//! | `volta.csv` … | per family, one row per opcode; a family inherits every opcode that it does not list |
//!
//! A row's `operands` are tokens such as `>R16:ldst`, `<@R24:addr`, `<b:2`, separated by spaces:
//!
//! * direction: `>` written, `<` read, `<>` both; then `@` when the register is part of the first memory access's
//!   address, `@@` of the second;
//! * class and lowest bit: `R` general, `UR` uniform, `P` predicate, `UP` uniform predicate, `B` convergence barrier,
//!   `PM` and `UPM` a mask of predicates, `PN` and `UPN` those that such a mask leaves out, `PA` and `UPA` every predicate (a mask that is not in the word), `PC` and `UPC` a predicate
//!   whose field counts down from 7; `/n` after the bit overrides the width of the field; or a form letter `a`, `b`, `c`, `x` that `forms.csv` resolves;
//! * `:n` lanes, or `:rule` of `lanes.csv`; one lane when left out. A rule may give zero lanes: the operand is not
//!   there. A value that no row of the rule lists makes the instruction opaque. `:1+rule+rule` adds up, to one at least; `|hi` and `|lo`
//!   behind it take the first half of the sum, rounded up, and the second.
//!
//! A word that no row describes is opaque. If its opcode is in the family's `control` range, it is taken for a branch to
//! an unknown place.
//!
//! `when` restricts a row to words with these field values (`91=1 73..76=4|5`); rows of one opcode are tried in order.

mod error;
mod field;
mod load;
mod spec;
#[cfg(test)]
mod state;

pub use error::TableError;
pub use field::Bits;
pub use load::Sources;
pub(crate) use load::{FamilyTable, SMS, Tables};
pub(crate) use spec::{Direction, FlowKind, MemKind, Row, Slot, SlotClass, Width};
