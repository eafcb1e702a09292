//! Goal: the fatbinary format: a header, then entries that each hold an image for one architecture.
//!
//! ```text
//! header  magic u32, version u16, header size u16, size of all entries u64
//! entry   0 kind u16, 2 version u16, 4 header size u32, 8 payload size u64 (padded), 16 compressed size u32,
//!         20 extension offset u32, 24 minor u16, 26 major u16, 28 SM u32, 32 name offset u32, 36 name size u32,
//!         40 flags u64, 48 u64, 56 decompressed size u64, 64 extension
//! group   kind 0x100, extension {count u32, size u32}, then `count` entry headers whose word 4 is an offset in the
//!         decompressed payload: several images compressed together
//! ```
//! Source: files written by fatbinary 13.4 with each `--compress-mode` and `--concat`, and the fatbinaries of real
//! libraries. Sizes and flags that were never seen to vary are kept as they are.

use std::ops::Range;

use crate::compression::Compression;
use crate::error::{Error, Problem};
use crate::sm::{Sm, Variant};
use crate::source::Fields;

/// The first four bytes of a fatbinary.
pub const MAGIC: u32 = 0xba55_ed50;

/// What an entry holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ImageKind {
    /// PTX text.
    Ptx,
    /// A cubin.
    Cubin,
    /// Something else; the kind as stored.
    Other(u16),
}

impl ImageKind {
    fn from_stored(kind: u16) -> Self {
        match kind {
            1 => Self::Ptx,
            2 => Self::Cubin,
            other => Self::Other(other),
        }
    }
}

const GROUP: u16 = 0x100;
const ENTRY_HEADER: u64 = 64;

/// Field offsets of an entry header that a replacement writes.
pub(crate) mod field {
    pub const PAYLOAD_SIZE: usize = 8;
    pub const COMPRESSED_SIZE: usize = 16;
    pub const DECOMPRESSED_SIZE: usize = 56;
}

pub(crate) mod flag {
    pub const LZ4: u64 = 1 << 13;
    pub const ZSTD: u64 = 1 << 15;
    pub const ACCELERATED: u64 = 1 << 20;
    pub const FAMILY: u64 = 1 << 21;
}

/// One entry, before its payload is looked at. All positions are offsets in the whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub header: Range<usize>,
    /// With the padding.
    pub payload: Range<usize>,
    /// Bytes of the payload in use.
    pub stored: Range<usize>,
    pub decompressed: u64,
    pub compression: Compression,
    pub parts: Vec<Part>,
}

/// One image of an entry; most entries have one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub kind: ImageKind,
    pub sm: Sm,
    /// In the decompressed payload.
    pub range: Range<u64>,
}

/// One fatbinary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fatbin {
    /// Position of the magic.
    pub start: usize,
    /// All entries.
    pub body: Range<usize>,
    pub entries: Vec<Entry>,
}

impl Fatbin {
    /// Reads the fatbinary at `at`, which must end before `end`.
    pub fn parse(whole: Fields<'_, '_>, at: u64, end: u64) -> Result<Self, Error> {
        let file = whole.up_to(end as usize);
        let magic = file.u32(at, "fatbinary magic")?;
        let bad = |at, what, value: u64| Err(file.error(at, Problem::BadField { what, value }));
        if magic != MAGIC {
            return bad(at, "fatbinary magic", magic.into());
        }
        let version = file.u16(at + 4, "fatbinary version")?;
        if version != 1 {
            return bad(at + 4, "fatbinary version", version.into());
        }
        let header: u64 = file.u16(at + 6, "fatbinary header size")?.into();
        if header < 16 {
            return bad(at + 6, "fatbinary header size", header);
        }
        let size = file.u64(at + 8, "fatbinary size")?;
        let body = file.range(at + header, size, "fatbinary")?;
        let inside = file.up_to(body.end);
        let mut entries = Vec::new();
        let mut next = body.start as u64;
        while next < body.end as u64 {
            let entry = Entry::parse(inside, next)?;
            next = entry.payload.end as u64;
            entries.push(entry);
        }
        Ok(Self { start: at as usize, body, entries })
    }
}

impl Entry {
    fn parse(file: Fields<'_, '_>, at: u64) -> Result<Self, Error> {
        let bad = |at, what, value| Err(file.error(at, Problem::BadField { what, value }));
        let header_size: u64 = file.u32(at + 4, "entry header size")?.into();
        if header_size < ENTRY_HEADER {
            return bad(at + 4, "entry header size", header_size);
        }
        let header = file.range(at, header_size, "entry header")?;
        let payload_size = file.u64(at + 8, "entry payload size")?;
        let payload = file.range(header.end as u64, payload_size, "entry payload")?;
        let flags = file.u64(at + 40, "entry flags")?;
        let compression = match (flags & flag::LZ4 != 0, flags & flag::ZSTD != 0) {
            (false, false) => Compression::None,
            (true, false) => Compression::Lz4,
            (false, true) => Compression::Zstd,
            (true, true) => return bad(at + 40, "entry flags (LZ4 and zstd)", flags),
        };
        let compressed: u64 = file.u32(at + 16, "compressed size")?.into();
        let (stored, decompressed) = if compression == Compression::None {
            (payload.clone(), payload_size)
        } else if compressed > payload_size {
            return bad(at + 16, "compressed size", compressed);
        } else {
            (payload.start..payload.start + compressed as usize, file.u64(at + 56, "decompressed size")?)
        };
        let kind = file.u16(at, "entry kind")?;
        let parts = if kind == GROUP {
            group_parts(file, at, header.end as u64, decompressed)?
        } else {
            vec![Part { kind: ImageKind::from_stored(kind), sm: entry_sm(file, at)?, range: 0..decompressed }]
        };
        Ok(Self { header, payload, stored, decompressed, compression, parts })
    }
}

fn entry_sm(file: Fields<'_, '_>, at: u64) -> Result<Sm, Error> {
    let number = file.u32(at + 28, "entry SM")?;
    let flags = file.u64(at + 40, "entry flags")?;
    Ok(Sm {
        number: u16::try_from(number)
            .map_err(|_| file.error(at + 28, Problem::BadField { what: "entry SM", value: number.into() }))?,
        variant: if flags & flag::ACCELERATED != 0 {
            Variant::Accelerated
        } else if flags & flag::FAMILY != 0 {
            Variant::Family
        } else {
            Variant::Base
        },
    })
}

/// The images of a group, from the headers in its extension.
fn group_parts(file: Fields<'_, '_>, at: u64, end: u64, decompressed: u64) -> Result<Vec<Part>, Error> {
    let extension: u64 = file.u32(at + 20, "group extension")?.into();
    let inside = file.up_to(end as usize);
    let count = inside.u32(at + extension, "group count")?;
    let mut next = at + extension + 8;
    let mut parts = Vec::new();
    for _ in 0..count {
        inside.range(next, ENTRY_HEADER, "group member header")?;
        let offset: u64 = inside.u32(next + 4, "group member offset")?.into();
        let size = inside.u64(next + 8, "group member size")?;
        let range = match offset.checked_add(size) {
            Some(end) if end <= decompressed => offset..end,
            _ => {
                return Err(
                    inside.error(next + 8, Problem::BadField { what: "group member size", value: size })
                );
            }
        };
        parts.push(Part {
            kind: ImageKind::from_stored(inside.u16(next, "group member kind")?),
            sm: entry_sm(inside, next)?,
            range,
        });
        next += match inside.u32(next + 20, "group member extension")? {
            0 => ENTRY_HEADER,
            // A text and its terminator behind the extension's own two words, padded to eight bytes.
            at => {
                let size = inside.u32(next + u64::from(at) + 4, "group member extension")?;
                (u64::from(at) + 8 + u64::from(size) + 1).next_multiple_of(8)
            }
        };
    }
    Ok(parts)
}
