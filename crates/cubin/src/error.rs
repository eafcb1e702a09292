//! Goal: errors that name the place: the section (or the layer of the container) and the offset in the file.

use std::fmt;

/// Why bytes could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct Error {
    /// Where.
    pub place: Place,
    /// What is wrong there.
    pub problem: Problem,
}

/// A position in a file: the section or structure that is damaged, and the byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Section name, or the name of the structure ("fatbinary entry", "ELF header").
    pub section: String,
    /// Byte offset from the start of the file that was parsed; for an image that was decompressed, of the image.
    pub offset: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at offset {:#x}", self.section, self.offset)
    }
}

/// What is wrong with the bytes at a [`Place`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// None of the known formats.
    #[error("not a cubin, fatbinary, archive or ELF file holding one")]
    NotRecognised,
    /// The file cannot be read; the system's words.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// A host file or archive without device code.
    #[error("holds no fatbinary")]
    NoDeviceCode,
    /// The archive structure is damaged.
    #[error("damaged archive: {0}")]
    Archive(String),
    /// The ELF structure itself is damaged.
    #[error("damaged ELF structure: {0}")]
    Elf(String),
    /// An ELF file for another machine where a cubin was expected.
    #[error("ELF machine {0} is not CUDA (190)")]
    NotCuda(u16),
    /// A structure runs past the end of what holds it.
    #[error("{what} needs {needed} bytes, {available} are left")]
    Truncated {
        /// The structure.
        what: &'static str,
        /// Bytes it claims.
        needed: u64,
        /// Bytes there are.
        available: u64,
    },
    /// A field with a value the format does not have.
    #[error("{what} is {value:#x}")]
    BadField {
        /// The field.
        what: &'static str,
        /// Its value.
        value: u64,
    },
    /// A decompressed size beyond [`crate::Limits`].
    #[error("claims {claimed} bytes when decompressed, the limit is {limit}")]
    TooLarge {
        /// The claim.
        claimed: u64,
        /// The limit.
        limit: u64,
    },
    /// Compressed data that does not decompress to what its header says.
    #[error("{codec} data: {message}")]
    Compression {
        /// `LZ4` or `zstd`.
        codec: &'static str,
        /// The decoder's words.
        message: String,
    },
}

impl Error {
    /// The same, with a place that is no further than the end of the file: a damaged field may point anywhere.
    pub(crate) fn within(mut self, size: u64) -> Self {
        self.place.offset = self.place.offset.min(size);
        self
    }

    pub(crate) fn new(section: impl Into<String>, offset: u64, problem: Problem) -> Self {
        let mut section = section.into();
        if section.is_empty() {
            section = "unnamed section".into();
        }
        Self { place: Place { section, offset }, problem }
    }
}
