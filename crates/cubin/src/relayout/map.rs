//! Goal: code of another length, and where every instruction and every position of the old code is in it.
//!
//! An *instruction* is a slot and what belongs to it: attribute entries, relocations, its source line. A *position* is the place between
//! two instructions that something else names: where a function or a block starts, where a call returns to. Both go their own ways: an
//! instruction may leave its block, and the label of the block stays.

use std::collections::BTreeMap;

use crate::cubin::Code;
use crate::edit::{Reason, words_of};
use crate::moves::SLOT;

/// New contents of one code section, of any length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relayout {
    /// The code section ([`Code::section`]).
    pub section: usize,
    /// The new code. Behind it the writer adds `NOP`s up to the alignment of the section, as ptxas does.
    pub slots: Vec<Slot>,
    /// For positions that do not go with the instruction behind them: the old offset in bytes, and the number of the new slot before which
    /// it now is. The start and the end of the code follow by themselves.
    pub positions: BTreeMap<u64, usize>,
    /// Registers per thread, where the count changes.
    pub registers: Option<u32>,
    /// Hardware barriers, where the count changes.
    pub barriers: Option<u8>,
}

/// One slot of new code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// The instruction. Distances in it are those of the new code.
    pub word: u128,
    /// What it was.
    pub origin: Origin,
}

/// Where the instruction of a new slot is from. Attribute entries, relocations and the source line come along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The instruction of this old slot. Without a slot of this kind the old instruction is deleted.
    Moved(u32),
    /// Another one like that of this old slot.
    Copied(u32),
    /// Nowhere: nothing belongs to it but the source line of the instruction before it.
    New,
}

/// The instruction that fills code up. Source: ptxas 12.9 and 13.4 output, sm_70 to sm_121.
pub(super) const NOP: u128 = 0x000f_c000_0000_0000_0000_0000_0000_7918;

/// How many `NOP`s there are at the end.
fn padding(words: impl DoubleEndedIterator<Item = u128>) -> usize {
    words.rev().take_while(|&word| word == NOP).count()
}

impl Relayout {
    /// The edit that changes nothing.
    pub fn unchanged(code: &Code) -> Self {
        let words = words_of(code.bytes).into_iter().enumerate();
        let slots = words.map(|(slot, word)| Slot { word, origin: Origin::Moved(slot as u32) }).collect();
        let (positions, registers, barriers) = (BTreeMap::new(), None, None);
        Self { section: code.section, slots, positions, registers, barriers }
    }

    /// Takes away the `NOP`s at the end. The writer puts back as many as the alignment wants.
    pub fn without_padding(mut self) -> Self {
        let padding = padding(self.slots.iter().map(|slot| slot.word));
        self.slots.truncate(self.slots.len() - padding);
        self
    }
}

/// Where the instructions and positions of old code are in new code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// By old slot: the new one.
    moved: Vec<Option<u32>>,
    /// Old slot and new slot of every copy, in order.
    copies: Vec<(u32, u32)>,
    /// By old offset: the new one.
    positions: BTreeMap<u64, u64>,
    /// What every new slot is, padding included.
    pub(super) origins: Vec<Origin>,
}

impl Layout {
    /// Checks an edit of code that is aligned to `alignment` bytes.
    pub(super) fn new(edit: &Relayout, old: &[u128], alignment: u64) -> Result<Self, Reason> {
        let mut origins: Vec<Origin> = edit.slots.iter().map(|slot| slot.origin).collect();
        let unit = (alignment.max(SLOT) / SLOT) as usize;
        // Code that was not filled up stays so.
        if old.len().is_multiple_of(unit) {
            // From sm_80 on ptxas puts at least one unit of NOPs behind the code, which may be fetched ahead; before, as many as are missing.
            let least = if padding(old.iter().copied()) < unit { 0 } else { unit };
            let missing = least.saturating_sub(padding(edit.slots.iter().map(|slot| slot.word)));
            origins.resize((origins.len() + missing).next_multiple_of(unit), Origin::New);
        }
        let old = old.len();
        if origins.is_empty() || origins.len() > MOST_SLOTS {
            return Err(Reason::BadLength { slots: origins.len(), most: MOST_SLOTS });
        }
        let (mut moved, mut copies) = (vec![None; old], Vec::new());
        for (new, origin) in origins.iter().enumerate() {
            match *origin {
                Origin::New => {}
                Origin::Moved(from) => match moved.get_mut(from as usize) {
                    Some(slot @ None) => *slot = Some(new as u32),
                    _ => return Err(Reason::NotAPermutation(from)),
                },
                Origin::Copied(from) if (from as usize) < old => copies.push((from, new as u32)),
                Origin::Copied(from) => return Err(Reason::NotAPermutation(from)),
            }
        }
        copies.sort_unstable();
        let (old_end, new_end) = (old as u64 * SLOT, origins.len() as u64 * SLOT);
        let mut positions = BTreeMap::from([(old_end, new_end), (0, 0)]);
        for (&offset, &slot) in &edit.positions {
            let inside = offset > 0 && offset < old_end && offset.is_multiple_of(SLOT);
            if !inside || slot > origins.len() {
                return Err(Reason::BadPosition(offset));
            }
            positions.insert(offset, slot as u64 * SLOT);
        }
        Ok(Self { moved, copies, positions, origins })
    }

    /// The new offset of the instruction at an old one; `None` where it is deleted, or where there is none.
    pub fn instruction(&self, offset: u64) -> Option<u64> {
        let slot = self.old_slot(offset)?;
        self.moved[slot as usize].map(|new| u64::from(new) * SLOT)
    }

    /// The new offset of a position: as the edit says, or with the instruction behind it.
    pub fn position(&self, offset: u64) -> Option<u64> {
        self.positions.get(&offset).copied().or_else(|| self.instruction(offset))
    }

    /// Bytes of the new code.
    pub fn size(&self) -> u64 {
        self.origins.len() as u64 * SLOT
    }

    /// The new offsets of the instruction at an old one and of its copies; `None` where no instruction starts.
    pub(crate) fn places(&self, offset: u64) -> Option<impl Iterator<Item = u64>> {
        let slot = self.old_slot(offset)?;
        let first = self.copies.partition_point(|&(old, _)| old < slot);
        let copies = self.copies[first..].iter().take_while(move |&&(old, _)| old == slot);
        let copies = copies.map(|&(_, new)| u64::from(new) * SLOT);
        Some(self.instruction(offset).into_iter().chain(copies))
    }

    /// Whether nothing that has this offset in the old code has another one now.
    pub(super) fn keeps(&self, offset: u64) -> bool {
        let instruction = self.places(offset).is_none_or(|places| places.eq([offset]));
        let inside = offset <= self.moved.len() as u64 * SLOT && offset.is_multiple_of(SLOT);
        instruction && (!inside || self.position(offset) == Some(offset))
    }

    fn old_slot(&self, offset: u64) -> Option<u32> {
        let slot = usize::try_from(offset / SLOT).ok()?;
        (offset.is_multiple_of(SLOT) && slot < self.moved.len()).then_some(slot as u32)
    }
}

/// The most slots that new code may have: offsets in attributes have 32 bits, and the room for a sign.
const MOST_SLOTS: usize = 1 << 27;
