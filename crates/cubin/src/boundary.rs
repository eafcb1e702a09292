//! Goal: the places of a code section that something outside the instructions points to.
//!
//! A place is not an instruction: a jump table's target is where a block starts, whichever instruction comes first there.
//! So no instruction may cross it, and the value that points there stays.

use std::fmt;

use crate::attribute::{AttributeType, OffsetLayout};
use crate::bytes::words;
use crate::cubin::{Code, Cubin};
use crate::edit::{Reason, Refusal};
use crate::moves::SLOT;

/// What points to a place in the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BoundaryKind {
    /// A symbol starts or ends there.
    Symbol,
    /// An indirect branch goes there, by its attribute.
    BranchTarget,
    /// A jump table may hold it.
    JumpTable,
    /// A relocated value holds it, such as a call's return address.
    Relocated,
}

impl fmt::Display for BoundaryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Symbol => "where a symbol starts or ends",
            Self::BranchTarget => "the target of an indirect branch",
            Self::JumpTable => "which a jump table may hold",
            Self::Relocated => "which a relocated value holds",
        })
    }
}

/// A place that no instruction may cross.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Boundary {
    /// Byte offset in the code.
    pub offset: u64,
    /// What points there.
    pub kind: BoundaryKind,
}

impl Cubin<'_> {
    /// The places that no instruction of `code` may cross, by offset, without duplicates of the same kind. Branches inside
    /// the code are not among them: their targets are in the instruction words.
    ///
    /// # Errors
    /// When something points into the code in a way that cannot be read.
    pub fn boundaries(&self, code: &Code) -> Result<Vec<Boundary>, Refusal> {
        let mut found = Vec::new();
        let mut add = |offset, kind| {
            if offset > 0 && offset < code.bytes.len() as u64 {
                found.push(Boundary { offset, kind });
            }
        };
        for symbol in self.symbols() {
            if symbol.section == Some(code.section) {
                add(symbol.value, BoundaryKind::Symbol);
                add(symbol.value.saturating_add(symbol.size), BoundaryKind::Symbol);
            }
        }
        let mut listed = false;
        for attribute in &code.attributes {
            if attribute.kind.offsets() == OffsetLayout::BranchTargets {
                listed = true;
                for record in branch_records(attribute.payload) {
                    let (_, targets) = record.ok_or_else(|| {
                        let reason = Reason::Ragged {
                            kind: AttributeType::INDIRECT_BRANCH_TARGETS,
                            at: attribute.payload_range.start,
                        };
                        Refusal::new(self.sections()[code.section].name, reason).of(code)
                    })?;
                    for target in words(targets) {
                        add(target.into(), BoundaryKind::BranchTarget);
                    }
                }
            }
        }
        // Jump tables lie among other constants of bank 2. The attribute lists what they hold; without it, any word that
        // could be an offset has to be taken for one.
        let bank2 = code.constants.iter().filter(|bank| bank.bank == 2);
        for word in bank2.flat_map(|bank| words(bank.bytes)) {
            if !listed && u64::from(word) % SLOT == 0 {
                add(word.into(), BoundaryKind::JumpTable);
            }
        }
        self.relocated_places(code, &mut add)?;
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// Places that relocations compute: symbol plus addend.
    fn relocated_places(&self, code: &Code, add: &mut impl FnMut(u64, BoundaryKind)) -> Result<(), Refusal> {
        for table in self.relocations() {
            let target = &self.sections()[table.target];
            // Debug sections are followed by their own rules.
            if target.name.contains("debug") {
                continue;
            }
            let patched = self.section_bytes(target);
            for relocation in &table.entries {
                let Some(symbol) = (self.symbols().get(relocation.symbol as usize))
                    .filter(|symbol| symbol.section == Some(code.section))
                else {
                    continue;
                };
                let addend = match relocation.addend {
                    Some(addend) => addend,
                    None => implicit_addend(patched, relocation.offset, target.name).ok_or_else(|| {
                        let reason = Reason::ImplicitAddend {
                            section: target.name.to_owned(),
                            offset: relocation.offset,
                        };
                        Refusal::new(self.sections()[code.section].name, reason).of(code)
                    })?,
                };
                add(symbol.value.wrapping_add_signed(addend), BoundaryKind::Relocated);
            }
        }
        Ok(())
    }
}

/// An addend stored in the patched place. In code only zero can be told: calls leave the target's bits 32..82 empty.
pub(crate) fn implicit_addend(patched: &[u8], offset: u64, section: &str) -> Option<i64> {
    let at = usize::try_from(offset).ok()?;
    if section.starts_with(".text.") {
        let word = u128::from_le_bytes(*patched.get(at..)?.first_chunk()?);
        (word >> 32 & ((1 << 50) - 1) == 0).then_some(0)
    } else {
        Some(i64::from_le_bytes(*patched.get(at..)?.first_chunk()?))
    }
}

/// The records `{branch, 0, n, targets[n]}` of a payload: offset of the record in it, and the targets. `None` where the
/// payload ends inside a record.
pub(crate) fn branch_records(payload: &[u8]) -> impl Iterator<Item = Option<(usize, &[u8])>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at >= payload.len() {
            return None;
        }
        let start = at;
        let record = || {
            let count = u32::from_le_bytes(*payload.get(start + 8..)?.first_chunk()?);
            let len = usize::try_from(count).ok()?.checked_mul(4)?;
            let targets = payload.get(start + 12..)?.get(..len)?;
            Some((start, targets))
        };
        let record = record();
        at = record.map_or(payload.len(), |(start, targets)| start + 12 + targets.len());
        Some(record)
    })
}
