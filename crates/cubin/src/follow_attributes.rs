//! Goal: the attribute records of one code section follow its instructions.

use crate::attribute::{Attribute, AttributeType, OffsetLayout};
use crate::boundary::branch_records;
use crate::cubin::Code;
use crate::edit::Reason;
use crate::moves::{Moves, SLOT};

/// Rewrites the records of `code` in `section`, the new contents of its attribute section.
pub(crate) fn follow(code: &Code, moves: &Moves, section: &mut [u8]) -> Result<(), Reason> {
    for attribute in &code.attributes {
        let edit = Edit { attribute, moves };
        match attribute.kind.offsets() {
            OffsetLayout::None => {}
            OffsetLayout::Unknown => edit.refuse_unknown()?,
            // What a record of another kind holds is not known.
            _ if attribute.kind == AttributeType::ANNOTATIONS && !is_spill_list(attribute) => {
                edit.refuse_unknown()?;
            }
            OffsetLayout::Records { words, at } => {
                edit.records(section, 0, words, at)?;
            }
            OffsetLayout::KindList => {
                edit.records(section, 4, 1, 0)?;
            }
            OffsetLayout::Parallel(list) => edit.parallel(section, list_of(code, list))?,
            OffsetLayout::BranchTargets => edit.branches(section)?,
        }
    }
    Ok(())
}

/// Whether every annotation is of the one kind that was seen: an instruction that spills a register or fills it again.
pub(crate) fn is_spill_list(annotations: &Attribute) -> bool {
    annotations.words().step_by(2).all(|kind| kind == 1)
}

/// The record that a parallel one belongs to.
pub(crate) fn list_of<'c, 'd>(code: &'c Code<'d>, kind: AttributeType) -> Option<&'c Attribute<'d>> {
    let mut lists = code.attributes.iter().filter(|a| a.kind == kind);
    let first = lists.next();
    // With several lists nothing says which is meant.
    first.filter(|_| lists.next().is_none())
}

struct Edit<'e, 'd> {
    attribute: &'e Attribute<'d>,
    moves: &'e Moves,
}

impl Edit<'_, '_> {
    fn start(&self) -> usize {
        self.attribute.payload_range.start
    }

    fn ragged(&self) -> Reason {
        Reason::Ragged { kind: self.attribute.kind, at: self.start() }
    }

    fn follow(&self, at: usize, value: u32) -> Result<u32, Reason> {
        let new = self.moves.follow(value.into()).map(|new| new as u32);
        new.ok_or(Reason::NoInstruction { kind: self.attribute.kind, at: self.start() + at, value })
    }

    /// An unknown payload may stay only if no word of it could be the offset of an instruction that moves.
    fn refuse_unknown(&self) -> Result<(), Reason> {
        for (index, value) in self.attribute.words().enumerate() {
            let offset = u64::from(value);
            if offset % SLOT == 0 && self.moves.follow(offset).is_some_and(|new| new != offset) {
                return Err(Reason::UnknownAttribute {
                    kind: self.attribute.kind,
                    at: self.start() + 4 * index,
                    value,
                });
            }
        }
        Ok(())
    }

    /// The records' order by new offset, with the new offsets; checks the old order where ptxas sorts.
    fn sorted(&self, skip: usize, words: usize, at: usize) -> Result<Vec<(u32, usize)>, Reason> {
        let payload = self.attribute.payload.get(skip..).ok_or_else(|| self.ragged())?;
        let size = 4 * words;
        if payload.len() % size != 0 {
            return Err(self.ragged());
        }
        let old =
            |record: &[u8]| u32::from_le_bytes(*record[4 * at..].first_chunk().expect("inside the record"));
        let mut order = Vec::with_capacity(payload.len() / size);
        for (index, record) in payload.chunks_exact(size).enumerate() {
            let new = self.follow(skip + index * size + 4 * at, old(record))?;
            order.push((new, index));
        }
        if self.attribute.kind.info().is_some_and(|info| info.ascending) {
            if !payload.chunks_exact(size).is_sorted_by_key(old) {
                return Err(Reason::Unsorted { kind: self.attribute.kind, at: self.start() });
            }
            order.sort_by_key(|&(new, _)| new);
        }
        Ok(order)
    }

    fn records(&self, section: &mut [u8], skip: usize, words: usize, at: usize) -> Result<(), Reason> {
        let size = 4 * words;
        let old = &self.attribute.payload;
        for (place, (new, from)) in self.sorted(skip, words, at)?.into_iter().enumerate() {
            let target = &mut section[self.start() + skip + place * size..][..size];
            target.copy_from_slice(&old[skip + from * size..][..size]);
            target[4 * at..4 * at + 4].copy_from_slice(&new.to_le_bytes());
        }
        Ok(())
    }

    fn parallel(&self, section: &mut [u8], list: Option<&Attribute>) -> Result<(), Reason> {
        let payload = self.attribute.payload;
        let list = list.filter(|list| list.payload.len() == payload.len()).ok_or_else(|| self.ragged())?;
        let order = Edit { attribute: list, moves: self.moves }.sorted(0, 1, 0)?;
        for (place, (_, from)) in order.into_iter().enumerate() {
            section[self.start() + 4 * place..][..4].copy_from_slice(&payload[4 * from..][..4]);
        }
        Ok(())
    }

    /// Branches follow, targets stay.
    fn branches(&self, section: &mut [u8]) -> Result<(), Reason> {
        let payload = self.attribute.payload;
        for record in branch_records(payload) {
            let (at, _) = record.ok_or_else(|| self.ragged())?;
            let branch = payload[at..].first_chunk().ok_or_else(|| self.ragged())?;
            let new = self.follow(at, u32::from_le_bytes(*branch))?;
            section[self.start() + at..][..4].copy_from_slice(&new.to_le_bytes());
        }
        Ok(())
    }
}
