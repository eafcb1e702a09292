//! Goal: listings as `sassafras disasm` prints them, read back to machine words.

use sassafras_control::{ColumnError, RawControl, volta};
use sassafras_machine::Arch;
use sassafras_sass::print::Assembler;
use std::num::ParseIntError;
use thiserror::Error;

/// The size of an instruction.
const BYTES: u64 = 16;
/// How far addresses may reach: beyond any code section.
const HIGHEST: u64 = 1 << 40;

/// One instruction of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembled {
    /// The line that it stands in, from 1.
    pub line: usize,
    /// Its byte address.
    pub address: u64,
    /// Its word.
    pub word: u128,
}

/// A line that is no instruction.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {problem}")]
pub struct Mistake {
    /// Which, from 1.
    pub line: usize,
    /// Why.
    pub problem: Problem,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// The text of the instruction.
    #[error(transparent)]
    Instruction(#[from] sassafras_sass::print::AssembleError),
    /// The control column.
    #[error(transparent)]
    Control(#[from] ColumnError),
    /// The address is no number.
    #[error("`/*{text}*/` is no address: {error}")]
    Address {
        /// What stands there.
        text: String,
        /// Why.
        error: ParseIntError,
    },
    /// The address is no place of an instruction.
    #[error("no instruction stands at {0:#x}: addresses are multiples of 16 below 2^40")]
    Misplaced(u64),
}

/// The instructions of a listing: a line each, `/*0040*/ B------:R-:W-:-:S01 FADD R0, R1, R2`. The address may be left out, and is then the one
/// behind the instruction before; so may the control column, and then the control field is zero but for the `.reuse` of the text. Blank lines,
/// labels (`.L_40:`) and what is behind `//` say nothing.
///
/// # Errors
/// At the first line that is no instruction.
pub fn assemble(listing: &str, arch: Arch) -> Result<Vec<Assembled>, Mistake> {
    let assembler = Assembler::new(arch).map_err(|error| Mistake { line: 1, problem: error.into() })?;
    let mut next = 0;
    let mut made = Vec::new();
    for (line, text) in (1..).zip(listing.lines()) {
        let text = text.split("//").next().unwrap_or_default().trim();
        if text.is_empty() || text.ends_with(':') {
            continue;
        }
        let found = instruction(&assembler, text, next).map_err(|problem| Mistake { line, problem })?;
        let (address, word) = found;
        next = address + BYTES;
        made.push(Assembled { line, address, word });
    }
    Ok(made)
}

fn instruction(assembler: &Assembler, text: &str, next: u64) -> Result<(u64, u128), Problem> {
    let (address, text) = match text.strip_prefix("/*").and_then(|rest| rest.split_once("*/")) {
        Some((digits, rest)) => {
            let error = |error| Problem::Address { text: digits.to_owned(), error };
            (u64::from_str_radix(digits, 16).map_err(error)?, rest.trim_start())
        }
        None => (next, text),
    };
    if !address.is_multiple_of(BYTES) || address >= HIGHEST {
        return Err(Problem::Misplaced(address));
    }
    let (control, text) = match text.split_once(' ') {
        Some((column, rest)) if column.contains(':') => {
            (Some(column.parse::<RawControl>()?), rest.trim_start())
        }
        _ => (None, text),
    };
    let word = assembler.assemble(text, address)?;
    Ok((address, control.map_or(word, |control| volta::insert(word, control))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_is_read_back() {
        let listing = "\
            kernel:\n\
            .L_0:\n\
            \u{20} /*0000*/  B------:R-:W-:-:S01       LDC R1, c[0x0][0x28]   // the stack\n\
            \n\
            \u{20} /*0020*/  B0-----:R-:W1:Y:S04:a--   FADD R2, R1.reuse, R3\n\
            @P0 BRA 0x0\n";
        let made = assemble(listing, Arch::SM_90).expect("a listing");
        let places: Vec<(usize, u64)> = made.iter().map(|one| (one.line, one.address)).collect();
        assert_eq!(places, [(3, 0), (5, 0x20), (6, 0x30)]);
        assert_eq!(volta::read(made[1].word).to_string(), "B0-----:R-:W1:Y:S04:a--");
        assert_eq!(volta::read(made[2].word).bits(), 0);
    }

    #[test]
    fn mistakes_have_a_place() {
        let wrong = |text: &str| assemble(text, Arch::SM_90).expect_err("wrong").to_string();
        assert_eq!(wrong("NOP\n\nFROB"), "line 3: sm_90 has no instruction `FROB`");
        assert_eq!(
            wrong("/*0008*/ NOP"),
            "line 1: no instruction stands at 0x8: addresses are multiples of 16 below 2^40"
        );
        assert!(wrong("/*x*/ NOP").starts_with("line 1: `/*x*/` is no address"));
        assert!(wrong("B-:R NOP").starts_with("line 1: `B-:R` is no control column"));
        assert!(assemble("NOP", Arch::UNIVERSAL).is_err());
    }
}
