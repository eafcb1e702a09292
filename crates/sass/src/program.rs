//! Goal: the code of a cubin as lifted functions, each with its place in its section.
//!
//! A code section holds a kernel and, behind it, the device functions that it calls. A section is cut into *routines*:
//! at every function symbol and at every target of a call inside the section. One routine becomes one IR function,
//! because control enters it from the start with nothing of its own under way: what walks a function from its first
//! block (data flow, liveness) then sees the callees too, which no edge of the caller leads to. A call to another routine
//! of the section is an instruction with the effect `call`, as a call out of the section is. Calls that nothing comes back
//! from are branches (`jump.rs`), and connect what they lead to.
//!
//! Two routines that a branch, a reconvergence point or plain falling through connects are one: such a target has to be
//! a block. So every instruction of a section is in exactly one routine, and no edge leaves one.
//!
//! Targets of indirect branches come from the `INDIRECT_BRANCH_TARGETS` attribute. Without it, every word of constant
//! bank 2 that could be an offset in the code is taken for one (as the writer does); without such words the branch is
//! opaque and goes anywhere.

mod aim;
mod cut;
mod jump;
mod relative;

use std::ops::Range;

use sassafras_cubin::{self as cubin, AttributeType, BoundaryKind, Cubin, Sm, Variant};
use sassafras_ir::Inst;
use sassafras_machine::Arch;
use thiserror::Error;

use crate::decode::{Decoded, Decoder, Flow, INSTRUCTION_BYTES};
use crate::lift::{Code, LiftError, Lifted, lift};

pub use aim::{AimError, aim};
pub use relative::Relative;

/// Sections with more instructions are refused: a lifted instruction takes half a kilobyte, and a compressed file can hold any
/// number. The longest section of NCCL, cuSPARSE, cuSOLVER and vLLM (2026-11) has 87,212.
pub const MOST_INSTRUCTIONS: u64 = 1 << 20;

/// Where tables do not say whose they are, every branch may go to every entry: their product is bounded.
pub const MOST_TABLED_WAYS: usize = 1 << 20;

/// The functions of one cubin, lifted on demand: section by section, so that few are held at a time.
#[derive(Clone, Copy, Debug)]
pub struct Program<'c, 'd> {
    cubin: &'c Cubin<'d>,
    arch: Arch,
}

/// What is known of control in a section beyond its instructions.
#[derive(Clone, Copy)]
struct Known<'a> {
    /// Targets of indirect branches.
    indirect: &'a [(u64, Vec<u64>)],
    /// Calls that are branches.
    jumps: &'a [u64],
}

/// One function of a code section.
#[derive(Clone, Debug)]
pub struct Routine {
    /// Mangled name; a callee without a symbol is called by its section and offset.
    pub name: String,
    /// Index of the section.
    pub section: usize,
    /// Byte range in the section.
    pub range: Range<u64>,
    /// Whether the host can launch it.
    pub entry: bool,
    /// The lifted code. Its addresses count from the start of the routine; [`Routine::offset`] counts from the section.
    pub lifted: Lifted,
}

impl Routine {
    /// The byte offset of an instruction in its section.
    pub fn offset(&self, inst: Inst) -> u64 {
        self.range.start + self.lifted.address(inst)
    }

    /// The slot of an instruction: its number among the instructions of its section.
    pub fn slot(&self, inst: Inst) -> u32 {
        (self.offset(inst) / INSTRUCTION_BYTES) as u32
    }
}

/// Why code could not be lifted, with its place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{section} at offset {offset:#x}: {problem}")]
pub struct ProgramError {
    /// The section.
    pub section: String,
    /// Byte offset in it.
    pub offset: u64,
    /// What is wrong there.
    pub problem: ProgramProblem,
}

/// What is in the way of lifting.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProgramProblem {
    /// An SM that no table names.
    #[error("code for {0}, which no table knows")]
    UnknownSm(Sm),
    /// An SM without a decoding table.
    #[error("code for {0}, which has no decoding table")]
    NoTable(Arch),
    /// The bytes are no code.
    #[error(transparent)]
    Lift(#[from] LiftError),
    /// More code than any function has.
    #[error("{instructions} instructions in one section; up to {MOST_INSTRUCTIONS} are looked at")]
    TooLong {
        /// How many.
        instructions: u64,
    },
    /// Branches through tables with more ways than any function has.
    #[error(
        "branches through tables have {ways} ways in one section; up to {MOST_TABLED_WAYS} are looked at"
    )]
    TooManyWays {
        /// Branches times entries.
        ways: usize,
    },
    /// What points into the code cannot be read.
    #[error("{0}")]
    Boundaries(String),
}

/// The architecture that the tables have for an SM. A letter that they do not have is left out: it names features, not
/// another encoding.
pub fn arch_of(sm: Sm) -> Option<Arch> {
    let base = Sm { variant: Variant::Base, ..sm };
    sm.to_string().parse().or_else(|_| base.to_string().parse()).ok()
}

impl<'c, 'd> Program<'c, 'd> {
    /// The program in a cubin.
    ///
    /// # Errors
    /// When its SM is not known or has no decoding table.
    pub fn new(cubin: &'c Cubin<'d>) -> Result<Program<'c, 'd>, ProgramError> {
        // Offset 48 of the header holds the flags that name the SM.
        let refuse = |problem| ProgramError { section: "ELF header".to_owned(), offset: 48, problem };
        let arch = arch_of(cubin.sm()).ok_or_else(|| refuse(ProgramProblem::UnknownSm(cubin.sm())))?;
        if !Decoder::new(arch).has_table() {
            return Err(refuse(ProgramProblem::NoTable(arch)));
        }
        Ok(Program { cubin, arch })
    }

    /// The architecture.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// The code sections.
    pub fn sections(&self) -> &'c [cubin::Code<'d>] {
        self.cubin.code()
    }

    /// The routines of one section, by offset. Empty for a section without code.
    ///
    /// # Errors
    /// Names the section and the offset of the routine that cannot be lifted.
    pub fn lift(&self, code: &cubin::Code<'d>) -> Result<Vec<Routine>, ProgramError> {
        if code.bytes.is_empty() {
            return Ok(Vec::new());
        }
        let instructions = code.bytes.len() as u64 / INSTRUCTION_BYTES;
        if instructions > MOST_INSTRUCTIONS {
            return Err(self.error(code, 0, ProgramProblem::TooLong { instructions }));
        }
        let indirect = self.indirect(code)?;
        let section_end = code.bytes.len() as u64;
        let starts: Vec<u64> = code.functions.iter().map(|function| function.range.start).collect();
        if starts.iter().all(|&start| start == 0 || start >= section_end) {
            // Most sections are one kernel; whether it calls into itself is known once it is lifted.
            let known = Known { indirect: &indirect, jumps: &[] };
            let whole = self.routine(code, 0..section_end, known)?;
            if whole.lifted.callees.is_empty() {
                return Ok(vec![whole]);
            }
        }
        let mut decoded = self.decode(code);
        let jumps = jump::find(&decoded, &starts, &indirect);
        for &jump in &jumps {
            decoded[(jump / INSTRUCTION_BYTES) as usize].take_for_branch();
        }
        let ranges = cut::routines(&decoded, section_end, &starts, &indirect);
        let known = Known { indirect: &indirect, jumps: &jumps };
        ranges.into_iter().map(|range| self.routine(code, range, known)).collect()
    }

    /// The instructions of a section.
    fn decode(&self, code: &cubin::Code<'d>) -> Vec<Decoded> {
        let decoder = Decoder::new(self.arch);
        let (words, _) = code.bytes.as_chunks::<16>();
        let words = words.iter().zip(0..);
        words
            .map(|(word, slot)| decoder.decode(u128::from_le_bytes(*word), slot * INSTRUCTION_BYTES))
            .collect()
    }

    fn routine(
        &self,
        code: &cubin::Code<'d>,
        range: Range<u64>,
        known: Known<'_>,
    ) -> Result<Routine, ProgramError> {
        let symbol = {
            let here = code.functions.iter().filter(|function| function.range.start == range.start);
            here.max_by_key(|function| (function.entry, function.global))
        };
        let name = match symbol {
            Some(function) => function.name.to_owned(),
            None if range.start == 0 => code.name.to_owned(),
            None => format!("{}+{:#x}", code.name, range.start),
        };
        let own: Vec<_> = (known.indirect)
            .iter()
            .filter(|(branch, _)| range.contains(branch))
            .map(|(branch, targets)| {
                let rebased = targets.iter().map(|target| target.wrapping_sub(range.start));
                (branch - range.start, rebased.collect())
            })
            .collect();
        let bytes = &code.bytes[range.start as usize..range.end as usize];
        let jumps = known.jumps.iter().filter(|jump| range.contains(jump));
        let jumps: Vec<u64> = jumps.map(|jump| jump - range.start).collect();
        let lifted = lift(&Code { name: &name, arch: self.arch, bytes, indirect: &own, jumps: &jumps })
            .map_err(|error| self.error(code, range.start, error.into()))?;
        Ok(Routine {
            name,
            section: code.section,
            range,
            entry: symbol.is_some_and(|function| function.entry),
            lifted,
        })
    }

    /// Targets of indirect branches, both in bytes from the start of the section.
    fn indirect(&self, code: &cubin::Code<'d>) -> Result<Vec<(u64, Vec<u64>)>, ProgramError> {
        let attributes = code.attributes.iter();
        let mut listed = attributes.filter(|a| a.kind == AttributeType::INDIRECT_BRANCH_TARGETS).peekable();
        if listed.peek().is_some() {
            return Ok(listed.flat_map(|attribute| branch_records(attribute.words())).collect());
        }
        if !code.constants.iter().any(|bank| bank.bank == 2) {
            return Ok(Vec::new());
        }
        let boundaries = (self.cubin.boundaries(code))
            .map_err(|refusal| self.error(code, 0, ProgramProblem::Boundaries(refusal.to_string())))?;
        let tabled = boundaries.iter().filter(|boundary| boundary.kind == BoundaryKind::JumpTable);
        let targets: Vec<u64> = tabled.map(|boundary| boundary.offset).collect();
        if targets.is_empty() {
            return Ok(Vec::new());
        }
        let decoded = self.decode(code);
        let branches = decoded.iter().filter(|inst| inst.flow() == Flow::IndirectBranch);
        let branches: Vec<u64> = branches.map(Decoded::pc).collect();
        let ways = branches.len().saturating_mul(targets.len());
        if ways > MOST_TABLED_WAYS {
            return Err(self.error(code, 0, ProgramProblem::TooManyWays { ways }));
        }
        Ok(branches.into_iter().map(|branch| (branch, targets.clone())).collect())
    }

    fn error(&self, code: &cubin::Code<'d>, offset: u64, problem: ProgramProblem) -> ProgramError {
        ProgramError { section: self.cubin.sections()[code.section].name.to_owned(), offset, problem }
    }
}

/// The records `{branch, 0, n, targets[n]}`; one that is cut short ends the list, and its branch stays unknown.
fn branch_records(mut words: impl Iterator<Item = u32>) -> Vec<(u64, Vec<u64>)> {
    let mut records = Vec::new();
    while let (Some(branch), Some(_), Some(count)) = (words.next(), words.next(), words.next()) {
        let targets: Vec<u64> = words.by_ref().take(count as usize).map(u64::from).collect();
        if targets.len() < count as usize {
            break;
        }
        records.push((u64::from(branch), targets));
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_records_end_where_they_are_cut() {
        let whole = [0x40, 0, 2, 0x10, 0x20, 0x80, 0, 1, 0x30];
        let records = branch_records(whole.into_iter());
        assert_eq!(records, [(0x40, vec![0x10, 0x20]), (0x80, vec![0x30])]);
        assert_eq!(branch_records(whole[..8].iter().copied()), records[..1]);
        assert_eq!(branch_records([0, 0, u32::MAX, 1].into_iter()), []);
    }

    #[test]
    fn a_letter_without_a_table_falls_back_to_the_number() {
        let sm = |number, variant| arch_of(Sm { number, variant }).map(|arch| arch.to_string());
        assert_eq!(sm(90, Variant::Accelerated).as_deref(), Some("sm_90a"));
        assert_eq!(sm(86, Variant::Accelerated).as_deref(), Some("sm_86"));
        assert_eq!(sm(300, Variant::Base), None);
    }
}
