//! SASS text in the spelling of NVIDIA's disassembler, from the tables of `data/print/`.
//!
//! [`Printer`] writes one instruction of sm_70 and later, e.g. `@!P0 IMAD.WIDE.U32 R4, R2.reuse, 0x4, R6`, and says
//! whether the text is the whole truth ([`Coverage`]). Branch targets are absolute addresses, as in a raw listing.
//! Nothing of an instruction is written but its text: no `;`, no address, no control field besides `.reuse`, and no blank
//! between `+INF` and the comma after it.
//!
//! | file | what a row says |
//! |---|---|
//! | `print/families.csv` | which architectures are spelled alike, and what they inherit |
//! | `print/values.csv` | what the values of a modifier field are called |
//! | `print/places.csv` | how a source operand is written, per place that it can come from |
//! | `print/alike.csv` | which opcodes are spelled alike |
//! | `print/volta.csv` … | per family, the template of each opcode; a family inherits what it does not list |
//!
//! A template row applies when all conditions of `when` hold; rows of one opcode are tried in order. `guard` is empty for a
//! predicate, `UP` for a uniform one, `-` for none. `fixed` names the values of bits that the text does not show (all others
//! are zero): where sm_80 hides the register of a memory descriptor, only the most usual one is complete.
//!
//! The tables were learnt by flipping bits of compiled code and disassembling the result; `tests/print.rs` compares whole
//! programs.

mod assemble;
mod field;
mod load;
mod number;
mod operand;
mod render;
mod template;

use std::fmt;

use sassafras_machine::Arch;

use crate::Decoder;
pub use assemble::{AssembleError, Assembler};
use load::Family;
pub use load::{PrintSources, Templates};

/// How much of a word its text tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Coverage {
    /// No table knows the opcode: the text is the word itself.
    Opaque,
    /// Some bits outside the control field are not told by the text, or have a value that the tables do not name.
    Partial,
    /// Every bit outside the control field is told by the text, or has the one value that it always has.
    Complete,
}

impl Coverage {
    /// Whether every bit outside the control field is accounted for.
    pub fn is_complete(self) -> bool {
        self == Coverage::Complete
    }
}

/// The text of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    /// The text.
    pub text: String,
    /// What it covers.
    pub coverage: Coverage,
}

impl fmt::Display for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// Writes the instructions of one architecture.
#[derive(Clone, Copy, Debug)]
pub struct Printer<'a> {
    family: Option<&'a Family>,
    decoder: Decoder,
}

/// The text of `word` at byte address `pc`. For many words, make a [`Printer`] once.
pub fn text(word: u128, arch: Arch, pc: u64) -> Printed {
    Printer::new(arch).print(word, pc)
}

impl Printer<'static> {
    /// The printer for `arch`; for an architecture without a table every instruction is opaque.
    pub fn new(arch: Arch) -> Printer<'static> {
        Printer { family: arch.number().and_then(Templates::builtin), decoder: Decoder::new(arch) }
    }
}

impl Templates {
    /// The printer for `arch` with these templates.
    pub fn printer(&self, arch: Arch) -> Printer<'_> {
        let family = arch.number().and_then(|sm| self.family(sm));
        Printer { family, decoder: Decoder::new(arch) }
    }
}

impl Printer<'_> {
    /// The text of `word` at byte address `pc`.
    pub fn print(&self, word: u128, pc: u64) -> Printed {
        let mut text = String::with_capacity(48);
        let coverage = self.write(&mut text, word, pc).expect("a string takes everything");
        Printed { text, coverage }
    }

    /// Writes the text of `word` at byte address `pc`. Fails only when `out` does.
    pub fn write(&self, out: &mut impl fmt::Write, word: u128, pc: u64) -> Result<Coverage, fmt::Error> {
        if let Some(template) = self.family.and_then(|family| family.find(word)) {
            return render::instruction(out, template, word, pc);
        }
        let inst = self.decoder.decode(word, pc);
        let Some(mnemonic) = inst.mnemonic() else {
            write!(out, "OPAQUE {word:#034x}")?;
            return Ok(Coverage::Opaque);
        };
        if let Some(guard) = inst.guard() {
            write!(out, "@{}{} ", if guard.negated { "!" } else { "" }, guard.lane)?;
        }
        out.write_str(mnemonic)?;
        for (i, reg) in inst.writes().chain(inst.reads().filter(|reg| !reg.is_written())).enumerate() {
            write!(out, "{}{}", if i == 0 { " " } else { ", " }, reg.span.first())?;
        }
        Ok(Coverage::Partial)
    }
}
