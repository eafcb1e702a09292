//! What can be wrong with an input, or with us.

use crate::selection::SelectionError;
use sassafras_cubin::{Image, Location, Refusal};
use sassafras_sass::program::ProgramError;
use sassafras_verify::against::{Difference, Mismatch};
use thiserror::Error;

/// Why there is no result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or an image in it cannot be read.
    #[error(transparent)]
    Cubin(#[from] sassafras_cubin::Error),
    /// Code cannot be lifted.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A cubin cannot be written at all.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// One of these, in an image of a file.
    #[error("{location}: {source}")]
    Image {
        /// Which image.
        location: Location,
        /// What is wrong.
        source: Box<Error>,
    },
    /// Something was selected that is not there.
    #[error(transparent)]
    Selection(#[from] SelectionError),
    /// An order that was given does not fit the code.
    #[error("{0}")]
    Orders(String),
    /// The checker does not take the new file for a legal reordering: a defect, and nothing to write.
    #[error("the new file was rejected, nothing is written: {0}")]
    Rejected(Box<Difference>),
    /// As [`Error::Rejected`], of text.
    #[error("the new text was rejected, nothing is written: {0}")]
    RejectedText(Mismatch),
    /// Text that is not machine code.
    #[error("function `{function}`: {what}")]
    Text {
        /// The function.
        function: String,
        /// What is wrong.
        what: String,
    },
    /// A new file has a hazard where it differs.
    #[error("{section}: {what}")]
    Hazard {
        /// The section.
        section: String,
        /// The hazard.
        what: String,
    },
    /// The strategy is for other code.
    #[error("strategy `{strategy}` does not take {input}")]
    Strategy {
        /// The strategy.
        strategy: &'static str,
        /// What it was given.
        input: &'static str,
    },
    /// PTX that cannot be read.
    #[error("{0}")]
    PtxSyntax(Box<sassafras_ptx::ParseError>),
    /// PTX that names no target.
    #[error("no `.target` directive: nothing says which architecture the code is for")]
    NoTarget,
    /// PTX that cannot be scheduled.
    #[error(transparent)]
    Ptx(#[from] sassafras_passes::ptx::PtxError),
    /// A tile program that cannot be read, lowered or scheduled.
    #[error(transparent)]
    Tile(#[from] crate::tile::TileError),
}

impl Error {
    /// The error in an image of a file; a file that is the image needs no more words.
    pub fn at(image: &Image, error: Error) -> Error {
        match image.location == Location::default() {
            true => error,
            false => Error::Image { location: image.location.clone(), source: Box::new(error) },
        }
    }

    /// Whether the input was understood and the fault is elsewhere: in what was made of it, or in what the input says.
    pub fn is_verdict(&self) -> bool {
        match self {
            Error::Image { source, .. } => source.is_verdict(),
            Error::Rejected(_) | Error::RejectedText(_) | Error::Hazard { .. } | Error::Ptx(_) => true,
            Error::Tile(error) => error.is_verdict(),
            _ => false,
        }
    }
}
