//! Is one file a legal reordering of another?
//!
//! Goal: everything that could have gone wrong between a file and its rescheduled copy is noticed, and nothing else is
//! reported. The check knows no writer: it reads both files and compares what they say.
//!
//! * **The containers** hold the same images in the same places; every byte outside the cubins is the same. Fatbinaries of linked
//!   files may have a new place behind everything else: then the file is loaded as before and leads to the same ones (`host`).
//! * **The sections** of a cubin have the same names, kinds and links, and the same bytes, but for code and what speaks
//!   of instructions by their offset.
//! * **The code** of a block holds the same instructions apart from their control fields, in an order that
//!   [`crate::reorder`] accepts; or with other registers, and then it is proven by value numbering that the same is computed
//!   from the same and every register that is still wanted holds the same (`rename`). What is behind the last terminator
//!   stays; nothing crosses a place that something else points to.
//! * **What an instruction carries**, that is relocations, attributes, source lines and call-frame rows that name it, is
//!   the same in both files, wherever it went (`baggage`).
//!
//! Which instruction went where is not recorded anywhere and has to be recovered. Two instructions are the same when they
//! have the same word, name the same place and carry the same; of several that are the same in all of this, the first is
//! the first and so on. That raises no false alarm: two equal instructions write the same registers, so that a legal
//! order keeps them, or write none and can stand for each other.
//!
//! Capsules (a second form of the code, from sm_100 on) have to be the same bytes; that they still describe the old order
//! is for the writer to decide.

mod baggage;
mod container;
mod cubin;
mod cursor;
mod frames;
mod host;
mod layout;
mod lines;
mod order;
mod rename;
mod text;

pub use container::files;
pub use cubin::cubins;
pub use text::{Mismatch, annotated};

use crate::reorder::Illegal;
use sassafras_cubin::BoundaryKind;
use sassafras_ir::Span;
use std::fmt;
use thiserror::Error;

/// What was compared, and every difference that is not a legal reordering.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// Cubins compared.
    pub cubins: usize,
    /// Instructions compared.
    pub instructions: u64,
    /// Instructions that stand somewhere else than before.
    pub moved: u64,
    /// Instructions that use other registers than before.
    pub renamed: u64,
    /// Differences, in file order.
    pub differences: Vec<Difference>,
}

impl Comparison {
    /// Whether the one file is a legal reordering of the other.
    pub fn is_legal(&self) -> bool {
        self.differences.is_empty()
    }

    fn absorb(&mut self, other: Comparison) {
        self.cubins += other.cubins;
        self.instructions += other.instructions;
        self.moved += other.moved;
        self.renamed += other.renamed;
        self.differences.extend(other.differences);
    }
}

/// One difference with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The way to the image; empty for a cubin by itself.
    pub image: String,
    /// Section or structure.
    pub section: String,
    /// Byte offset in it, in the new file where the two differ.
    pub offset: Option<u64>,
    /// What differs.
    pub change: Change,
}

impl Difference {
    fn new(section: impl Into<String>, offset: Option<u64>, change: Change) -> Difference {
        Difference { image: String::new(), section: section.into(), offset, change }
    }

    fn of_image(mut self, image: &str) -> Difference {
        self.image = image.to_owned();
        self
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.image.is_empty() {
            write!(f, "{}: ", self.image)?;
        }
        f.write_str(&self.section)?;
        if let Some(offset) = self.offset {
            write!(f, " at offset {offset:#x}")?;
        }
        write!(f, ": {}", self.change)
    }
}

/// What differs.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Change {
    /// Something is there in one file only, or is something else.
    #[error("{what} was {was}, is {is}")]
    Structure {
        /// What.
        what: &'static str,
        /// In the original.
        was: String,
        /// In the new file.
        is: String,
    },
    /// A host file is longer in a way that may not load or work as before.
    #[error("the file is longer, and {0}")]
    Grown(String),
    /// A byte that nothing lets change.
    #[error("a byte was {was:#04x}, is {is:#04x}")]
    Byte {
        /// In the original.
        was: u8,
        /// In the new file.
        is: u8,
    },
    /// An instruction that the block did not hold.
    #[error("the block did not hold this instruction ({is:#034x}); it lacks one ({was:#034x})")]
    Word {
        /// A word that is missing.
        was: u128,
        /// The word that is there.
        is: u128,
    },
    /// An instruction names another place than before.
    #[error("`{inst}` names offset {is:#x}, it named {was:#x}")]
    Target {
        /// The instruction.
        inst: String,
        /// In the original.
        was: u64,
        /// In the new file.
        is: u64,
    },
    /// The order computes something else.
    #[error("{0}")]
    Order(Illegal),
    /// An instruction orders memory, and no longer waits for a read that it waited for.
    #[error("`{inst}` orders memory, and no longer waits for what `{read}` reads")]
    Acquire {
        /// The instruction.
        inst: String,
        /// What was waited for.
        read: String,
    },
    /// Something is on the other side of the read of a special register that changes while the thread runs.
    #[error("an instruction crosses `{inst}`, which reads what changes while the thread runs")]
    Timed {
        /// The read.
        inst: String,
    },
    /// A register that the code does not have.
    #[error("`{inst}` names {span}, and the code may name {limit} registers of this kind")]
    NoRegister {
        /// The instruction.
        inst: String,
        /// The register.
        span: Span,
        /// How many there are.
        limit: u32,
    },
    /// A tuple that does not start at a multiple of its size.
    #[error("`{inst}` names {span}, which no tuple of this size may start with")]
    Misaligned {
        /// The instruction.
        inst: String,
        /// The registers.
        span: Span,
    },
    /// An instruction whose registers are not known for certain, in a block where registers have other names.
    #[error("registers have other names, and the tables contradict each other about those of `{inst}`")]
    Doubtful {
        /// The instruction.
        inst: String,
    },
    /// An instruction moved across a place that something points to.
    #[error("an instruction has crossed this place, {0}")]
    Crosses(BoundaryKind),
    /// A register holds something else at a place that control may enter from elsewhere.
    #[error("a register holds another value at this place, {0}")]
    Entered(BoundaryKind),
    /// Something that named an instruction does so no longer.
    #[error("{what} was of `{inst}` and no longer is")]
    Lost {
        /// What.
        what: String,
        /// The instruction.
        inst: String,
    },
    /// Something names an instruction that it did not name.
    #[error("{what} is of `{inst}` now and was not")]
    Gained {
        /// What.
        what: String,
        /// The instruction.
        inst: String,
    },
    /// A list that was in ascending order is not.
    #[error("{0} was in ascending order and is not")]
    Unsorted(String),
    /// Something that speaks of instructions in a way that is not understood, while instructions have moved.
    #[error("instructions have moved, and this may speak of them: {0}")]
    Unfollowed(String),
    /// Code that cannot be compared.
    #[error("the code differs and cannot be compared: {0}")]
    Unreadable(String),
}
