//! What can be wrong with a file, and where.

use crate::kind::RecordType;

/// Why a file is not a hardware profile. Every variant names the offset of the offending bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The file ends inside something.
    #[error("offset {offset:#x}: {needed} bytes needed for the {what}, the file has {len}")]
    Truncated {
        /// Where it starts.
        offset: usize,
        /// What was being read.
        what: &'static str,
        /// Its size.
        needed: u64,
        /// The file's length.
        len: usize,
    },
    /// A field that has one possible value holds another: a sentinel, an offset, a count, padding.
    #[error("offset {offset:#x}: {field} is {found:#x}, expected {expected:#x}")]
    Value {
        /// Where the field starts.
        offset: usize,
        /// Its name.
        field: &'static str,
        /// What it has to be.
        expected: u64,
        /// What it is.
        found: u64,
    },
    /// No architecture of the machine tables.
    #[error("offset {offset:#x}: unknown architecture {number} with suffix {suffix:#04x}")]
    Arch {
        /// Where.
        offset: usize,
        /// SM number.
        number: u16,
        /// Suffix letter, 0 for none.
        suffix: u8,
    },
    /// Classes must be in range and strictly ascending.
    #[error("offset {offset:#x}: class {class} is out of range, repeated or out of order")]
    Class {
        /// Where.
        offset: usize,
        /// The class.
        class: u16,
    },
    /// A range that is no range.
    #[error("offset {offset:#x}: bounds {lo}-{hi} of {field} are no range of an unknown value")]
    Bounds {
        /// Where.
        offset: usize,
        /// Whose bounds.
        field: &'static str,
        /// Lower bound.
        lo: u8,
        /// Upper bound.
        hi: u8,
    },
    /// No such record type.
    #[error("offset {offset:#x}: unknown record type {code}")]
    RecordType {
        /// Where.
        offset: usize,
        /// The code.
        code: u16,
    },
    /// A record where the assembly order has no place for it.
    #[error("offset {offset:#x}: {} where {expected} was expected", found.map_or("the end of the records", RecordType::name))]
    Order {
        /// Where.
        offset: usize,
        /// What the order asks for.
        expected: &'static str,
        /// What is there; `None` at the end.
        found: Option<RecordType>,
    },
    /// A data block whose size does not suit its record.
    #[error("offset {offset:#x}: data block of {found} bytes, expected {expected}")]
    BlockSize {
        /// Where the block starts.
        offset: usize,
        /// What sizes fit.
        expected: &'static str,
        /// Its size.
        found: usize,
    },
    /// A string that is not NUL-terminated UTF-8.
    #[error("offset {offset:#x}: not a NUL-terminated UTF-8 string")]
    Text {
        /// Where the string starts.
        offset: usize,
    },
}

/// Why a profile cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// Counts and sizes are 32-bit fields.
    #[error("{what} does not fit the 32-bit fields of the format")]
    TooLarge {
        /// What is too large.
        what: &'static str,
    },
}
