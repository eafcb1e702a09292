//! Goal: the structures of a host file or an archive for `object`, out of a file that is not in memory.

use std::ops::Range;

use object::ReadRef;
use object::read::{ReadCache, ReadCacheOps};

use crate::source::Stored;

/// A part of a file for `object`, which keeps what it was given.
pub(crate) struct Reader<'d> {
    stored: &'d Stored,
    base: u64,
    size: u64,
    at: u64,
}

impl<'d> Reader<'d> {
    /// The part of `size` bytes at `base`, with what is read of it.
    pub fn cache(stored: &'d Stored, base: u64, size: u64) -> ReadCache<Self> {
        ReadCache::new(Self { stored, base, size, at: 0 })
    }
}

impl ReadCacheOps for Reader<'_> {
    fn len(&mut self) -> Result<u64, ()> {
        Ok(self.size)
    }

    fn seek(&mut self, at: u64) -> Result<u64, ()> {
        self.at = at;
        Ok(at)
    }

    fn read(&mut self, to: &mut [u8]) -> Result<usize, ()> {
        let count = (self.size.saturating_sub(self.at)).min(to.len() as u64) as usize;
        self.read_exact(&mut to[..count])?;
        Ok(count)
    }

    fn read_exact(&mut self, to: &mut [u8]) -> Result<(), ()> {
        self.stored.fill(self.base.saturating_add(self.at), to).map_err(drop)?;
        self.at += to.len() as u64;
        Ok(())
    }
}

/// The structures of a file, with names of any length: those of sections of templates have more bytes than the cache allows.
#[derive(Clone, Copy)]
pub(crate) struct Structures<'r, 'd>(pub &'r ReadCache<Reader<'d>>);

impl<'r> ReadRef<'r> for Structures<'r, '_> {
    fn len(self) -> Result<u64, ()> {
        ReadRef::len(self.0)
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'r [u8], ()> {
        self.0.read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'r [u8], ()> {
        if range.end > ReadRef::len(self)? {
            return Err(());
        }
        let most = range.end.checked_sub(range.start).ok_or(())?;
        let mut size = most.min(256);
        loop {
            let bytes = self.read_bytes_at(range.start, size)?;
            if let Some(end) = bytes.iter().position(|&byte| byte == delimiter) {
                return Ok(&bytes[..end]);
            }
            if size == most {
                return Err(());
            }
            size = most.min(4 * size);
        }
    }
}
