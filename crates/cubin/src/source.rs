//! Goal: the bytes of a file, in memory or still in the file, asked for by their place.
//!
//! Libraries have gigabytes of images, and most work looks at one after the other. What is read from a file lives as long as whoever asked
//! for it, so memory follows the work in hand and not the library. A mapping would not do that: its pages stay until somebody else
//! needs them, and the file may shrink under it.
//!
//! Cost: a read of the file for every image; headers come through a window of 4 KiB, one read for the fields of an entry.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Problem};

/// A file that is read piece by piece, from any thread.
pub struct Stored {
    state: Mutex<State>,
    size: u64,
}

struct State {
    file: File,
    /// The bytes around the last small read, and where they start.
    window: Vec<u8>,
    start: u64,
}

/// Bytes that a small read brings along: the headers of an entry with their extensions.
const WINDOW: u64 = 4 << 10;

impl Stored {
    /// The file with the size that it has now. What is written to it later may or may not be seen.
    ///
    /// # Errors
    /// When the size cannot be told.
    pub fn new(file: File) -> io::Result<Self> {
        let size = file.metadata()?.len();
        Ok(Self { state: Mutex::new(State { file, window: Vec::new(), start: 0 }), size })
    }

    /// All of it.
    ///
    /// # Errors
    /// When it cannot be read, or is shorter than it was.
    pub fn read_all(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(self.size as usize)?;
        bytes.resize(self.size as usize, 0);
        self.fill(0, &mut bytes)?;
        Ok(bytes)
    }

    /// Fills `to` with the bytes at `at`.
    pub(crate) fn fill(&self, at: u64, to: &mut [u8]) -> io::Result<()> {
        // A thread that died in here left a window that is overwritten below.
        let state = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if to.len() as u64 > WINDOW {
            state.file.seek(SeekFrom::Start(at))?;
            return state.file.read_exact(to);
        }
        let end = at.saturating_add(to.len() as u64);
        if at < state.start || end > state.start + state.window.len() as u64 {
            state.window.clear();
            state.start = at;
            state.file.seek(SeekFrom::Start(at))?;
            (&mut state.file).take(WINDOW).read_to_end(&mut state.window)?;
        }
        let from = (at - state.start) as usize;
        let found = state.window.get(from..from + to.len());
        to.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stored").field("size", &self.size).finish_non_exhaustive()
    }
}

/// Where the bytes of a file are.
#[derive(Debug, Clone, Copy)]
pub enum Source<'d> {
    /// In memory.
    Memory(&'d [u8]),
    /// In the file.
    File(&'d Stored),
}

impl<'d> Source<'d> {
    /// Bytes there are.
    pub(crate) fn size(self) -> u64 {
        match self {
            Self::Memory(data) => data.len() as u64,
            Self::File(stored) => stored.size,
        }
    }

    /// The bytes of a range, as many of them as there are.
    pub(crate) fn part(self, range: Range<u64>) -> Result<Cow<'d, [u8]>, Error> {
        let end = range.end.min(self.size());
        let range = range.start.min(end)..end;
        match self {
            Self::Memory(data) => Ok(Cow::Borrowed(&data[range.start as usize..range.end as usize])),
            Self::File(stored) => {
                let mut bytes = vec![0; (range.end - range.start) as usize];
                stored.fill(range.start, &mut bytes).map_err(|error| unreadable(range.start, &error))?;
                Ok(Cow::Owned(bytes))
            }
        }
    }
}

fn unreadable(at: u64, error: &io::Error) -> Error {
    Error::new("file", at, Problem::Unreadable(error.to_string()))
}

/// Little-endian reads from a part of a source, as `Bytes` does them from memory.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'d, 'n> {
    pub source: Source<'d>,
    pub name: &'n str,
    /// Where the part starts in the file, and how long it is.
    pub base: u64,
    pub size: u64,
}

impl<'d, 'n> Fields<'d, 'n> {
    /// A whole file.
    pub fn new(source: Source<'d>, name: &'n str) -> Self {
        Self { source, name, base: 0, size: source.size() }
    }

    /// The same, up to `end`.
    pub fn up_to(self, end: usize) -> Self {
        Self { size: end as u64, ..self }
    }

    /// The range, checked.
    pub fn range(&self, at: u64, len: u64, what: &'static str) -> Result<Range<usize>, Error> {
        match at.checked_add(len) {
            Some(end) if end <= self.size => Ok(at as usize..end as usize),
            _ => {
                let available = self.size.saturating_sub(at);
                Err(self.error(at, Problem::Truncated { what, needed: len, available }))
            }
        }
    }

    fn array<const N: usize>(&self, at: u64, what: &'static str) -> Result<[u8; N], Error> {
        self.range(at, N as u64, what)?;
        let at = self.base + at;
        let mut bytes = [0; N];
        match self.source {
            Source::Memory(data) => bytes.copy_from_slice(&data[at as usize..at as usize + N]),
            Source::File(stored) => stored.fill(at, &mut bytes).map_err(|error| unreadable(at, &error))?,
        }
        Ok(bytes)
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
