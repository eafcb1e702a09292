//! Goal: little-endian reads from foreign bytes that fail with a place and never panic.

use std::ops::Range;

use crate::error::{Error, Problem};

/// Bytes with the name and the place in the file that errors report.
#[derive(Clone, Copy)]
pub(crate) struct Bytes<'d, 'n> {
    pub data: &'d [u8],
    pub name: &'n str,
    /// Where `data` starts in the file.
    pub base: u64,
}

impl<'d, 'n> Bytes<'d, 'n> {
    /// A whole file.
    pub fn new(data: &'d [u8], name: &'n str) -> Self {
        Self { data, name, base: 0 }
    }

    /// A part of a file that starts at `base` of it.
    pub fn part(data: &'d [u8], name: &'n str, base: u64) -> Self {
        Self { data, name, base }
    }

    /// The range, checked.
    pub fn range(&self, at: u64, len: u64, what: &'static str) -> Result<Range<usize>, Error> {
        let size = self.data.len() as u64;
        match at.checked_add(len) {
            Some(end) if end <= size => Ok(at as usize..end as usize),
            _ => {
                Err(self
                    .error(at, Problem::Truncated { what, needed: len, available: size.saturating_sub(at) }))
            }
        }
    }

    pub fn slice(&self, at: u64, len: u64, what: &'static str) -> Result<&'d [u8], Error> {
        self.range(at, len, what).map(|range| &self.data[range])
    }

    pub fn array<const N: usize>(&self, at: u64, what: &'static str) -> Result<[u8; N], Error> {
        self.slice(at, N as u64, what).map(|slice| slice.try_into().expect("the slice has N bytes"))
    }

    pub fn u16(&self, at: u64, what: &'static str) -> Result<u16, Error> {
        self.array(at, what).map(u16::from_le_bytes)
    }

    pub fn u32(&self, at: u64, what: &'static str) -> Result<u32, Error> {
        self.array(at, what).map(u32::from_le_bytes)
    }

    pub fn u64(&self, at: u64, what: &'static str) -> Result<u64, Error> {
        self.array(at, what).map(u64::from_le_bytes)
    }

    pub fn error(&self, at: u64, problem: Problem) -> Error {
        Error::new(self.name, self.base.saturating_add(at), problem)
    }
}

/// The little-endian words of `payload`; a rest shorter than a word is left out.
pub(crate) fn words(payload: &[u8]) -> impl DoubleEndedIterator<Item = u32> + ExactSizeIterator {
    payload.as_chunks::<4>().0.iter().map(|&word| u32::from_le_bytes(word))
}
