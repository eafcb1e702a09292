//! Goal: the attribute records of one code section for code of another length: every instruction that a list names is named where it
//! is now, copies are named too, deleted ones no more; targets of indirect branches are positions.

use crate::attribute::{Attribute, AttributeType, Format, OffsetLayout};
use crate::boundary::branch_records;
use crate::cubin::Code;
use crate::edit::Reason;
use crate::follow_attributes::{is_spill_list, list_of};

use super::map::Layout;

/// The new contents of the attribute section of `code`.
pub(super) fn follow(code: &Code, layout: &Layout, barriers: Option<u8>) -> Result<Vec<u8>, Reason> {
    let mut section = Vec::new();
    let counted = |attribute: &Attribute| attribute.kind == AttributeType::NUM_BARRIERS;
    let mut missing = barriers.filter(|&count| count > 0 && !code.attributes.iter().any(counted));
    for attribute in &code.attributes {
        let edit = Edit { attribute, layout };
        let payload = match attribute.kind.offsets() {
            _ if attribute.payload.is_empty() => Vec::new(),
            OffsetLayout::None => attribute.payload.to_vec(),
            OffsetLayout::Unknown => edit.unknown()?,
            _ if attribute.kind == AttributeType::ANNOTATIONS && !is_spill_list(attribute) => {
                edit.unknown()?
            }
            OffsetLayout::Records { words, at } => edit.records(0, words, at)?,
            OffsetLayout::KindList => edit.records(4, 1, 0)?,
            OffsetLayout::Parallel(list) => edit.parallel(list_of(code, list))?,
            OffsetLayout::BranchTargets => edit.branches()?,
        };
        // Of a list that names no instruction any more nothing stays, as ptxas writes none.
        if payload.is_empty() && !attribute.payload.is_empty() {
            continue;
        }
        let value = match attribute.format {
            Format::Sized => u16::try_from(payload.len()).map_err(|_| edit.too_long())?,
            _ if attribute.kind == AttributeType::NUM_BARRIERS => barriers.map_or(attribute.value, u16::from),
            _ => attribute.value,
        };
        push(&mut section, attribute.format, attribute.kind, value);
        section.extend(payload);
        // Where ptxas has it.
        if attribute.kind == AttributeType::MAXREG_COUNT
            && let Some(count) = missing.take()
        {
            push(&mut section, Format::Byte, AttributeType::NUM_BARRIERS, count.into());
        }
    }
    if let Some(count) = missing {
        push(&mut section, Format::Byte, AttributeType::NUM_BARRIERS, count.into());
    }
    Ok(section)
}

fn push(section: &mut Vec<u8>, format: Format, kind: AttributeType, value: u16) {
    let format = match format {
        Format::None => 1,
        Format::Byte => 2,
        Format::Half => 3,
        Format::Sized => 4,
    };
    section.extend([format, kind.0]);
    section.extend(value.to_le_bytes());
}

struct Edit<'e, 'd> {
    attribute: &'e Attribute<'d>,
    layout: &'e Layout,
}

impl Edit<'_, '_> {
    fn start(&self) -> usize {
        self.attribute.payload_range.start
    }

    fn ragged(&self) -> Reason {
        Reason::Ragged { kind: self.attribute.kind, at: self.start() }
    }

    fn too_long(&self) -> Reason {
        Reason::LongAttribute { kind: self.attribute.kind, at: self.start() }
    }

    fn places(&self, at: usize, value: u32) -> Result<impl Iterator<Item = u32>, Reason> {
        let places = self.layout.places(value.into()).map(|places| places.map(|new| new as u32));
        places.ok_or(Reason::NoInstruction { kind: self.attribute.kind, at: self.start() + at, value })
    }

    /// An unknown payload stays only if no word of it could be an offset that changes.
    fn unknown(&self) -> Result<Vec<u8>, Reason> {
        for (index, value) in self.attribute.words().enumerate() {
            if !self.layout.keeps(value.into()) {
                return Err(Reason::UnknownAttribute {
                    kind: self.attribute.kind,
                    at: self.start() + 4 * index,
                    value,
                });
            }
        }
        Ok(self.attribute.payload.to_vec())
    }

    /// The new offsets, with the number of the old record that each is from.
    fn arranged(&self, skip: usize, words: usize, at: usize) -> Result<Vec<(u32, usize)>, Reason> {
        let payload = self.attribute.payload.get(skip..).ok_or_else(|| self.ragged())?;
        let size = 4 * words;
        if !payload.len().is_multiple_of(size) {
            return Err(self.ragged());
        }
        let old =
            |record: &[u8]| u32::from_le_bytes(*record[4 * at..].first_chunk().expect("inside the record"));
        let mut found = Vec::new();
        for (index, record) in payload.chunks_exact(size).enumerate() {
            let places = self.places(skip + index * size + 4 * at, old(record))?;
            found.extend(places.map(|new| (new, index)));
        }
        if self.attribute.kind.info().is_some_and(|info| info.ascending) {
            if !payload.chunks_exact(size).is_sorted_by_key(old) {
                return Err(Reason::Unsorted { kind: self.attribute.kind, at: self.start() });
            }
            found.sort_by_key(|&(new, _)| new);
        }
        Ok(found)
    }

    fn records(&self, skip: usize, words: usize, at: usize) -> Result<Vec<u8>, Reason> {
        let (size, old) = (4 * words, self.attribute.payload);
        let found = self.arranged(skip, words, at)?;
        if found.is_empty() && old.len() > skip {
            return Ok(Vec::new());
        }
        let mut payload = old[..skip].to_vec();
        for (new, from) in found {
            let start = payload.len();
            payload.extend_from_slice(&old[skip + from * size..][..size]);
            payload[start + 4 * at..start + 4 * at + 4].copy_from_slice(&new.to_le_bytes());
        }
        Ok(payload)
    }

    fn parallel(&self, list: Option<&Attribute>) -> Result<Vec<u8>, Reason> {
        let old = self.attribute.payload;
        let list = list.filter(|list| list.payload.len() == old.len()).ok_or_else(|| self.ragged())?;
        let found = Edit { attribute: list, layout: self.layout }.arranged(0, 1, 0)?;
        Ok(found.into_iter().flat_map(|(_, from)| &old[4 * from..][..4]).copied().collect())
    }

    fn branches(&self) -> Result<Vec<u8>, Reason> {
        let mut payload = Vec::new();
        for record in branch_records(self.attribute.payload) {
            let (at, targets) = record.ok_or_else(|| self.ragged())?;
            let head = &self.attribute.payload[at..at + 12];
            let branch = u32::from_le_bytes(*head.first_chunk().ok_or_else(|| self.ragged())?);
            let mut moved = Vec::new();
            for target in crate::bytes::words(targets) {
                let new = self.layout.position(target.into()).ok_or(Reason::NoPosition(target.into()))?;
                moved.extend((new as u32).to_le_bytes());
            }
            for new in self.places(at, branch)? {
                payload.extend(new.to_le_bytes());
                payload.extend(&head[4..]);
                payload.extend(&moved);
            }
        }
        Ok(payload)
    }
}

/// Refuses more registers than the code was compiled for.
pub(super) fn check_registers(code: &Code, registers: u32) -> Result<(), Reason> {
    let limits = code.attributes.iter().filter(|a| a.kind == AttributeType::MAXREG_COUNT);
    let most = limits.map(|limit| u32::from(limit.value)).find(|&limit| limit > 0).unwrap_or(255).min(255);
    if registers == 0 || registers > most {
        Err(Reason::Registers { count: registers, most })
    } else {
        Ok(())
    }
}
