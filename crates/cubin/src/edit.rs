//! Goal: what a rewrite is asked to do, and the reasons for which it refuses.

use crate::attribute::AttributeType;
use crate::boundary::BoundaryKind;
use crate::cubin::Code;
use crate::sm::Sm;

/// New contents of one code section: the same instructions in another order, with some words changed.
///
/// Slot *i* of the new code holds the instruction that was in slot `order[i]`, as `words[i]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeEdit {
    /// The code section ([`Code::section`]).
    pub section: usize,
    /// For every new slot, the slot its instruction comes from.
    pub order: Vec<u32>,
    /// The new code, a word per slot.
    pub words: Vec<u128>,
}

impl CodeEdit {
    /// The edit that changes nothing; a start for one that changes some words.
    pub fn unchanged(code: &Code) -> Self {
        let words = words_of(code.bytes);
        Self { section: code.section, order: (0..words.len() as u32).collect(), words }
    }

    /// The edit that reorders and changes no word. An entry of `order` beyond the code is left for
    /// [`crate::Cubin::rewrite`] to refuse.
    pub fn permuted(code: &Code, order: Vec<u32>) -> Self {
        let old = words_of(code.bytes);
        let words = order.iter().map(|&from| old.get(from as usize).copied().unwrap_or_default()).collect();
        Self { section: code.section, order, words }
    }
}

pub(crate) fn words_of(code: &[u8]) -> Vec<u128> {
    let (words, _) = code.as_chunks::<16>();
    words.iter().map(|&word| u128::from_le_bytes(word)).collect()
}

/// What to do about things that a rewrite cannot follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RewriteOptions {
    /// About capsules.
    pub capsules: Capsules,
}

/// What to do when a code section has a capsule.
///
/// From sm_100 on each function of a cubin has one (`.nv.capmerc.text.*`, with `.nv.merc.*` beside it). Of both, SASS and
/// capsule, nvlink makes code again, and so may a driver, for another SM of the family, too. A capsule seems to speak of
/// instructions by their places, and does not follow the code. What is known of them: docs/ptxas.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Capsules {
    /// Refuse: the file would hold two versions of the program.
    #[default]
    Refuse,
    /// Leave the capsule as it is, but refuse relocatable objects: of these nvlink makes code again, of capsule and instructions together, and
    /// wrong code of another order. On the SM that the cubin names a driver may run the SASS as it is.
    KeepLinked,
    /// Leave the capsule as it is in relocatable objects, too: for looking at them.
    Keep,
}

/// Why a rewrite was refused. Nothing is written then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{section}: {reason}{}", code.as_ref().map(|code| format!(" (rewriting {code})")).unwrap_or_default())]
pub struct Refusal {
    /// The code (without `.text.`) whose edit is refused, where it is one code's fault: the others can still be edited.
    pub code: Option<String>,
    /// The section in question.
    pub section: String,
    /// What is in the way.
    pub reason: Reason,
}

impl Refusal {
    pub(crate) fn new(section: &str, reason: Reason) -> Self {
        Self { code: None, section: section.to_owned(), reason }
    }

    pub(crate) fn of(self, code: &Code) -> Self {
        Self { code: Some(code.name.to_owned()), ..self }
    }
}

/// What is in the way of a rewrite.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The edit names a section that holds no code.
    #[error("section {0} is no code section")]
    NotCode(usize),
    /// Two edits of the same section.
    #[error("edited twice")]
    EditedTwice,
    /// Instructions that share a control word cannot move one by one.
    #[error("{0} instructions are not slots of 16 bytes")]
    SmallSlots(Sm),
    /// The edit has another number of slots than the code.
    #[error("the edit has {given} slots, the code {expected}")]
    WrongLength {
        /// Slots of the edit.
        given: usize,
        /// Slots of the code.
        expected: usize,
    },
    /// A slot is used twice or does not exist.
    #[error("the order is no permutation: slot {0} occurs twice or does not exist")]
    NotAPermutation(u32),
    /// An instruction would cross a place that something else points to.
    #[error("an instruction would cross offset {offset:#x}, {kind}")]
    Crosses {
        /// The place.
        offset: u64,
        /// What points there.
        kind: BoundaryKind,
    },
    /// A symbol reference whose addend is stored in the code in an unknown way.
    #[error(
        "the relocation at {offset:#x} of {section} points into the code with an addend that cannot be read"
    )]
    ImplicitAddend {
        /// The section it patches.
        section: String,
        /// Where.
        offset: u64,
    },
    /// An attribute of unknown layout that may hold the offset of a moved instruction.
    #[error(
        "{kind} at offset {at:#x} has an unknown layout and may hold the offset {value:#x} of a moved instruction"
    )]
    UnknownAttribute {
        /// Its type.
        kind: AttributeType,
        /// The word's offset in the section.
        at: usize,
        /// The word.
        value: u32,
    },
    /// An offset that is no instruction of the code.
    #[error("{kind} at offset {at:#x} holds {value:#x}, which is no instruction")]
    NoInstruction {
        /// Its type.
        kind: AttributeType,
        /// The word's offset in the section.
        at: usize,
        /// The word.
        value: u32,
    },
    /// A payload that is no whole number of records.
    #[error("{kind} at offset {at:#x} is not made of whole records")]
    Ragged {
        /// Its type.
        kind: AttributeType,
        /// The payload's offset.
        at: usize,
    },
    /// A list that ptxas writes in ascending order is not.
    #[error("{kind} at offset {at:#x} is not in ascending order")]
    Unsorted {
        /// Its type.
        kind: AttributeType,
        /// The payload's offset.
        at: usize,
    },
    /// A relocation of the code that patches no instruction's start.
    #[error("the relocation at {0:#x} is at no instruction's start")]
    MisplacedRelocation(u64),
    /// Two things lie in the same place of the file, and a rewrite would change both.
    #[error("shares bytes with {0}")]
    Overlaps(String),
    /// A capsule speaks of the old order; see [`Capsules`].
    #[error("describes the code as it was compiled; see RewriteOptions::capsules")]
    Capsule,
    /// A capsule, to be kept, in a relocatable object ([`Capsules::KeepLinked`]): nvlink makes the code of the capsule and the instructions, which no longer match.
    #[error(
        "nvlink makes code of it and of the instructions together, so that relocatable objects with capsules stay as they are"
    )]
    CapsuleToLink,
    /// Debug data that speaks of instruction ranges and is not followed.
    #[error("full debug data cannot follow the code; compile with -lineinfo instead of -g")]
    DebugInfo,
    /// A line table that cannot be written again.
    #[error("line table at {at:#x}: {problem}")]
    Lines {
        /// Offset in the section.
        at: usize,
        /// What is in the way.
        problem: &'static str,
    },
    /// Call-frame data that cannot follow.
    #[error("call-frame data at {at:#x}: {problem}")]
    Frames {
        /// Offset in the section.
        at: usize,
        /// What is in the way.
        problem: &'static str,
    },
    /// New code without a slot, or with more than its offsets can name.
    #[error("the new code has {slots} slots, not 1 to {most}")]
    BadLength {
        /// Slots of the edit, padding included.
        slots: usize,
        /// The most.
        most: usize,
    },
    /// A position of the edit that is not inside the old code, or leads out of the new code.
    #[error("position {0:#x} is not inside the old code, or leads out of the new code")]
    BadPosition(u64),
    /// Something names a position, and the edit does not say where it is now: the instruction behind it was deleted.
    #[error("something names offset {0:#x}, and the edit does not say where that is in the new code")]
    NoPosition(u64),
    /// A function or an object that would end before it starts.
    #[error("what starts at offset {0:#x} would end before it starts")]
    Turned(u64),
    /// A word of constants that may be the offset of a block, and may be a number.
    #[error("the word at {at:#x} may be the offset {value:#x} of the code, or a number")]
    MaybeOffset {
        /// Offset in the section of constants.
        at: usize,
        /// The word.
        value: u32,
    },
    /// An attribute list that would get longer than its format allows.
    #[error("{kind} at offset {at:#x} would become too long")]
    LongAttribute {
        /// Its type.
        kind: AttributeType,
        /// The payload's offset.
        at: usize,
    },
    /// A section of unknown meaning, which may name offsets of the code.
    #[error("may name offsets of the code, and what it means is not known")]
    UnknownSection,
    /// A register count that the code may not have.
    #[error("{count} registers, and the code may have 1 to {most}")]
    Registers {
        /// The count asked for.
        count: u32,
        /// The most.
        most: u32,
    },
    /// A barrier count that no multiprocessor has.
    #[error("{0} barriers, and there are 16")]
    Barriers(u8),
    /// A count that the file has no place for.
    #[error("the file keeps no {0} count of this code")]
    NoCount(&'static str),
    /// The file's layout does not allow a section to change its size.
    #[error("cannot change size: {0}")]
    Layout(&'static str),
}
