//! Bounded reads, and the comparison that all "has to be" checks go through.

use crate::DecodeError;

/// A named field: offset in its structure, size, name.
pub(crate) type Field = (usize, usize, &'static str);

/// The whole input; every read is checked against its end.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    pub fn len(self) -> usize {
        self.0.len()
    }

    pub fn slice(self, offset: usize, size: usize, what: &'static str) -> Result<&'a [u8], DecodeError> {
        offset.checked_add(size).and_then(|end| self.0.get(offset..end)).ok_or(DecodeError::Truncated {
            offset,
            what,
            needed: size as u64,
            len: self.len(),
        })
    }

    pub fn array<const N: usize>(self, offset: usize, what: &'static str) -> Result<[u8; N], DecodeError> {
        let mut out = [0; N];
        out.copy_from_slice(self.slice(offset, N, what)?);
        Ok(out)
    }
}

/// A little-endian number of up to eight bytes.
pub(crate) fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// The little-endian number of `size` bytes at `at` in a structure known to be large enough.
pub(crate) fn get(bytes: &[u8], at: usize, size: usize) -> u64 {
    number(&bytes[at..at + size])
}

/// Writes the low `size` bytes of `value`.
pub(crate) fn put(bytes: &mut [u8], at: usize, size: usize, value: u64) {
    bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
}

/// `size` rounded up to the alignment of data blocks.
pub(crate) const fn padded(size: u64) -> u64 {
    size.next_multiple_of(ALIGN as u64)
}

/// Alignment of every part of the file and of every data block.
pub(crate) const ALIGN: usize = 16;

/// Checks that `found`, read at `offset`, is what the encoder would have written; names the first field that is not.
pub(crate) fn same(
    offset: usize,
    found: &[u8],
    expected: &[u8],
    fields: &[Field],
) -> Result<(), DecodeError> {
    debug_assert_eq!(found.len(), expected.len());
    let Some(at) = found.iter().zip(expected).position(|(a, b)| a != b) else {
        return Ok(());
    };
    let (start, size, field) = fields
        .iter()
        .copied()
        .find(|&(start, size, _)| (start..start + size).contains(&at))
        .filter(|&(_, size, _)| size <= 8)
        .or_else(|| fields.iter().find(|f| (f.0..f.0 + f.1).contains(&at)).map(|f| (at, 1, f.2)))
        .unwrap_or((at, 1, "reserved byte"));
    Err(DecodeError::Value {
        offset: offset + start,
        field,
        expected: get(expected, start, size),
        found: get(found, start, size),
    })
}

/// Checks that `bytes`, read at `offset`, are zero.
pub(crate) fn zero(offset: usize, bytes: &[u8]) -> Result<(), DecodeError> {
    match bytes.iter().position(|&byte| byte != 0) {
        None => Ok(()),
        Some(at) => Err(DecodeError::Value {
            offset: offset + at,
            field: "padding",
            expected: 0,
            found: bytes[at].into(),
        }),
    }
}
