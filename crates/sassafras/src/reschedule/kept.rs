//! Why code keeps the order or the control fields that it came with.

use crate::bounds::{LONGEST_SECTION, TooMuch};
use sassafras_cubin::{NoRoom, Reason, Refusal};
use sassafras_sass::program::{ProgramError, ProgramProblem};
use serde::{Serialize, Serializer};
use thiserror::Error;

/// What is in the way of new code for a kernel, a routine or a block.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Kept {
    /// The code is there in a second form, which a driver translates.
    #[error(
        "{section}: describes the code as it was compiled, for the driver to translate; `--keep-capsules` leaves it so"
    )]
    Capsule {
        /// The section of the second form.
        section: String,
    },
    /// The cubin cannot be written.
    #[error("{section}: {reason}", section = .0.section, reason = .0.reason)]
    Refused(Refusal),
    /// There is no room for it in its file.
    #[error(transparent)]
    NoRoom(NoRoom),
    /// Its file stands for too much.
    #[error(transparent)]
    TooMuch(TooMuch),
    /// Code for an architecture that is not known.
    #[error(transparent)]
    Unknown(ProgramProblem),
    /// Code that cannot be lifted.
    #[error(transparent)]
    NotLifted(ProgramError),
    /// A section with more code than any function has.
    #[error("{section}: {instructions} instructions in one section; up to {LONGEST_SECTION} are scheduled")]
    TooLong {
        /// The section.
        section: String,
        /// How many.
        instructions: u64,
    },
    /// More blocks and scoreboards than any function has.
    #[error(
        "{routine} has {blocks} blocks and sets {setters} scoreboards; who waits for whom is not followed there"
    )]
    TooManyWays {
        /// The function.
        routine: String,
        /// Its blocks.
        blocks: usize,
        /// Its instructions that set a scoreboard.
        setters: usize,
    },
    /// An instruction that no table describes.
    #[error("{section} at offset {offset:#x}: an opaque instruction keeps its control fields")]
    Opaque {
        /// Its section.
        section: String,
        /// Where it stands.
        offset: u64,
    },
    /// A word names a place relative to itself, and has too few bits for it.
    #[error("the place that the instruction at {offset:#x} names is too far away")]
    TooFar {
        /// Where the instruction stood.
        offset: u64,
    },
    /// An order that was given has another number of instructions.
    #[error("block {block} of {routine} has {length} instructions, the order has {given}")]
    OrderLength {
        /// The block.
        block: u32,
        /// Its routine.
        routine: String,
        /// Its instructions.
        length: usize,
        /// Those of the order.
        given: usize,
    },
    /// The list scheduler cannot work on the function.
    #[error("{0}")]
    NotScheduled(String),
    /// No control fields exist for the order.
    #[error("{0}")]
    NoControlFields(String),
    /// A register cannot be renamed.
    #[error("{0}")]
    NotRenamed(String),
    /// The checker finds a hazard.
    #[error("a hazard: {0}")]
    Hazard(String),
    /// The checker finds a hazard in the code that would be written.
    #[error("a hazard at {offset:#x} of the new order: {what}")]
    HazardWritten {
        /// The offset in the section.
        offset: u64,
        /// The hazard.
        what: String,
    },
    /// As it would be written, it takes longer.
    #[error("the new order takes {after} cycles as it would be written, the original {before}")]
    Slower {
        /// Cycles of the code around it as it came.
        before: u64,
        /// Cycles of the same code with the new order.
        after: u64,
    },
    /// An instruction crosses an address that a symbol, a relocation or a table names.
    #[error("an instruction crosses a place that is named")]
    CrossesName,
    /// Rows of call-frame data have to stay in order.
    #[error("rows of call-frame data change places")]
    CrossesFrameRow,
}

impl Kept {
    /// Whether nothing was in the way but that the new order is no faster.
    pub fn is_slower(&self) -> bool {
        matches!(self, Kept::Slower { .. })
    }
}

impl Serialize for Kept {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl From<Refusal> for Kept {
    fn from(refusal: Refusal) -> Kept {
        match refusal.reason {
            Reason::Capsule => Kept::Capsule { section: refusal.section },
            _ => Kept::Refused(refusal),
        }
    }
}
