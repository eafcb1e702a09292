//! The instructions of a code section: groups of one control word and three instructions.

use sassafras_control::RawControl;
use sassafras_control::maxwell::{GROUP_BYTES, GroupControl, Slot};
use thiserror::Error;

/// Code whose length is no whole number of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the group at offset {offset:#x} has {length} of {GROUP_BYTES} bytes")]
pub struct GroupError {
    /// Where the unfinished group begins.
    pub offset: u64,
    /// How many bytes of it there are.
    pub length: usize,
}

/// One instruction of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Its byte address in the section.
    pub address: u64,
    /// Its 64 bits.
    pub word: u64,
    /// Its part of the group's control word.
    pub control: RawControl,
}

/// The instructions of a section in order; see [`groups`].
#[derive(Clone, Debug)]
pub struct Groups<'a> {
    bytes: &'a [u8],
    /// The next instruction, control words not counted.
    index: usize,
}

/// Walks the instructions of a code section and skips the control words.
pub fn groups(bytes: &[u8]) -> Result<Groups<'_>, GroupError> {
    match bytes.len() % GROUP_BYTES {
        0 => Ok(Groups { bytes, index: 0 }),
        length => Err(GroupError { offset: (bytes.len() - length) as u64, length }),
    }
}

impl Groups<'_> {
    fn word(&self, offset: usize) -> Option<u64> {
        self.bytes.get(offset..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
    }
}

impl Iterator for Groups<'_> {
    type Item = Instruction;

    fn next(&mut self) -> Option<Instruction> {
        let group = self.index / Slot::ALL.len() * GROUP_BYTES;
        let slot = self.index % Slot::ALL.len();
        let address = group + 8 * (1 + slot);
        let word = self.word(address)?;
        let control = GroupControl::from_bits(self.word(group)?).get(Slot::ALL[slot]);
        self.index += 1;
        Some(Instruction { address: address as u64, word, control })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.bytes.len() / GROUP_BYTES * Slot::ALL.len()).saturating_sub(self.index);
        (left, Some(left))
    }
}

impl ExactSizeIterator for Groups<'_> {}
