//! Decoded code with what pairing asks about each instruction.

use std::collections::BTreeSet;

use sassafras_control::{Control, Family, Field, Issue, RawControl};
use sassafras_machine::Arch;
use sassafras_model::dual_issue::observed::{Candidate, Guard, IssueRow, Observed};
use sassafras_sass::maxwell::{self, Decoded, Flow, GroupError};
use smallvec::SmallVec;

use crate::code::number;

/// One instruction.
#[derive(Clone, Debug)]
pub struct Slot {
    /// Its byte address in the section.
    pub address: u64,
    /// The instruction.
    pub decoded: Decoded,
    /// Its part of the control word.
    pub control: RawControl,
    /// What is known of its mnemonic.
    pub row: Option<&'static IssueRow>,
    /// Lanes it reads, the guard included.
    pub reads: SmallVec<[u32; 6]>,
    /// Lanes it writes.
    pub writes: SmallVec<[u32; 4]>,
    /// Control may come to it from elsewhere.
    pub starts_block: bool,
    /// Control never goes on to the next instruction.
    pub ends_path: bool,
    guard: Option<Guard>,
    is_entry: bool,
}

/// The instructions of a code section in order.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The architecture.
    pub arch: Arch,
    /// The instructions.
    pub slots: Vec<Slot>,
}

impl Slot {
    /// The mnemonic without modifiers; empty for an unknown word.
    pub fn mnemonic(&self) -> &'static str {
        let name = self.decoded.mnemonic().unwrap_or_default();
        name.split('.').next().unwrap_or(name)
    }

    /// The name in the table of places: conversions of 64-bit types have one of their own.
    pub fn table_name(&self) -> String {
        let mnemonic = self.mnemonic();
        let converts = matches!(mnemonic, "I2F" | "F2F" | "F2I");
        let wide = converts && ["F64", "S64", "U64"].iter().any(|kind| self.text().contains(kind));
        if wide { format!("{mnemonic}:64") } else { mnemonic.to_owned() }
    }

    /// Whether the compiler marked it as the first of a pair.
    pub fn is_marked(&self) -> bool {
        Control::try_new(self.control, Family::Maxwell).is_ok_and(|control| control.issue() == Issue::Dual)
    }

    /// Scoreboards that it waits for, one bit each.
    pub fn waits(&self) -> u8 {
        self.control.get(Field::Wait)
    }

    /// Scoreboards that it sets, one bit each.
    pub fn sets(&self) -> u8 {
        let bit = |field| match self.control.get(field) {
            board @ 0..6 => 1 << board,
            _ => 0,
        };
        bit(Field::Write) | bit(Field::Read)
    }

    /// Whether a scoreboard says when its results are there.
    pub fn is_guarded(&self) -> bool {
        self.control.get(Field::Write) < 6
    }

    /// The instruction for the pairing conditions.
    pub fn candidate(&self) -> Candidate<'_> {
        Candidate {
            row: self.row,
            reads: &self.reads,
            writes: &self.writes,
            guard: self.guard,
            waits: self.waits(),
            sets: self.sets(),
            starts_block: self.starts_block,
            is_entry: self.is_entry,
            reads_constants: self.decoded.reads_constants(),
            is_flow: self.decoded.flow() != Flow::Next,
        }
    }

    /// The instruction as the disassembler prints it.
    pub fn text(&self) -> String {
        let text = self.decoded.display(Some(self.control)).to_string();
        text.trim_end_matches([' ', ';']).to_owned()
    }
}

impl Stream {
    /// Decodes a section.
    ///
    /// Targets of indirect branches are not known and start no block here; what stands behind a branch that is always taken
    /// does.
    ///
    /// # Errors
    /// The section is no whole number of groups.
    pub fn decode(bytes: &[u8], arch: Arch) -> Result<Stream, GroupError> {
        let mut targets = BTreeSet::new();
        let mut slots: Vec<Slot> = Vec::new();
        for found in maxwell::groups(bytes)? {
            let decoded = maxwell::decode(found.word, arch, found.address);
            let flow = decoded.flow();
            if let Flow::Branch { target } | Flow::Call { target } | Flow::Push { target } = flow {
                targets.insert(target);
            }
            let mut slot = Slot {
                address: found.address,
                control: found.control,
                row: None,
                reads: SmallVec::new(),
                writes: SmallVec::new(),
                starts_block: slots.last().is_some_and(|before| before.ends_path),
                ends_path: ends_path(&decoded, flow),
                guard: None,
                is_entry: slots.is_empty(),
                decoded,
            };
            slot.row = row(&slot, arch);
            for register in slot.decoded.registers() {
                let lanes = register.span.lanes().filter_map(number).map(u32::from);
                if register.is_read {
                    slot.reads.extend(lanes.clone());
                }
                if register.is_written {
                    slot.writes.extend(lanes);
                }
            }
            if let Some(guard) = slot.decoded.guard()
                && let Some(register) = number(guard.lane).map(u32::from)
            {
                slot.reads.push(register);
                slot.guard = Some(Guard { register, negated: guard.negated });
            }
            slots.push(slot);
        }
        for slot in &mut slots {
            slot.starts_block |= targets.contains(&slot.address);
        }
        Ok(Stream { arch, slots })
    }
}

/// The row of an instruction; the plain one where a conversion of 64-bit types has none of its own.
fn row(slot: &Slot, arch: Arch) -> Option<&'static IssueRow> {
    let table = Observed::shipped();
    table.row(&slot.table_name(), arch).or_else(|| table.row(slot.mnemonic(), arch))
}

/// Conditions in the instruction's own word count as a guard: such a branch may go on.
fn ends_path(decoded: &Decoded, flow: Flow) -> bool {
    let leaves =
        matches!(flow, Flow::Branch { .. } | Flow::IndirectBranch | Flow::Return | Flow::Exit | Flow::Pop);
    leaves && decoded.guard().is_none() && decoded.reads().all(|register| register.field.is_some())
}
