//! Goal: headers of ELF files as numbers, from foreign bytes and without panics.

use std::ops::Range;

/// Bytes of a program header.
pub const SEGMENT: u64 = 56;
/// Bytes of a section header.
pub const SECTION: u64 = 64;
/// Bytes of a symbol.
pub const SYMBOL: u64 = 24;
/// Where a file says where its section headers are.
pub const SECTION_TABLE: u64 = 40;
/// The kind of symbols that stand for sections.
pub const SECTION_SYMBOL: u64 = 3;

const LOADED: u64 = 1;
const DYNAMIC: u64 = 2;
const PLAIN: u64 = 1;
const SYMBOLS: u64 = 2;
const NO_ROOM: u64 = 8;
const DYNAMIC_SYMBOLS: u64 = 11;
const WRITTEN: u64 = 1;
const ALLOCATED: u64 = 2;
const INSTRUCTIONS: u64 = 4;
const COMPRESSED: u64 = 1 << 11;
const THREAD_LOCAL: u64 = 1 << 10;

/// `N` bytes at a place as a little-endian number.
pub fn number<const N: usize>(data: &[u8], at: u64) -> Option<u64> {
    let bytes: &[u8; N] = data.get(usize::try_from(at).ok()?..)?.first_chunk()?;
    Some(bytes.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte)))
}

/// A program header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    pub kind: u64,
    pub flags: u64,
    pub offset: u64,
    pub vaddr: u64,
    pub physical: u64,
    pub file_size: u64,
    pub memory_size: u64,
    pub align: u64,
}

impl Segment {
    pub fn is_loaded(&self) -> bool {
        self.kind == LOADED
    }

    pub fn is_dynamic(&self) -> bool {
        self.kind == DYNAMIC
    }

    /// The address behind it; reading has checked that there is one.
    pub fn end(&self) -> u64 {
        self.vaddr + self.memory_size
    }
}

/// A section header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Section<'d> {
    pub name: &'d [u8],
    pub kind: u64,
    pub flags: u64,
    pub addr: u64,
    pub offset: u64,
    pub size: u64,
    pub link: u64,
    pub info: u64,
    pub align: u64,
    pub entry: u64,
}

impl Section<'_> {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(self.name).into_owned()
    }

    pub fn has_bytes(&self) -> bool {
        self.kind != NO_ROOM && self.kind != 0
    }

    /// Zeros of the process, not of a thread.
    pub fn takes_no_room(&self) -> bool {
        self.kind == NO_ROOM && self.is_loaded() && self.flags & THREAD_LOCAL == 0
    }

    pub fn is_loaded(&self) -> bool {
        self.flags & ALLOCATED != 0
    }

    /// Loaded bytes without a format.
    pub fn is_plain(&self) -> bool {
        self.kind == PLAIN && self.is_loaded()
    }

    /// The same, and nothing writes there or runs it.
    pub fn is_constant(&self) -> bool {
        self.is_plain() && self.flags & (WRITTEN | INSTRUCTIONS | COMPRESSED | THREAD_LOCAL) == 0
    }

    pub fn is_code(&self) -> bool {
        self.has_bytes() && self.flags & INSTRUCTIONS != 0
    }

    pub fn is_dynamic_symbols(&self) -> bool {
        self.kind == DYNAMIC_SYMBOLS
    }

    pub fn is_symbols(&self) -> bool {
        self.kind == SYMBOLS || self.kind == DYNAMIC_SYMBOLS
    }

    /// Its bytes; reading has checked that they are there.
    pub fn in_file(&self) -> Range<u64> {
        self.offset..self.offset + self.size
    }
}

/// A linked file.
pub struct Elf<'d> {
    pub data: &'d [u8],
    /// Whether addresses in it are final.
    pub at_fixed_address: bool,
    pub machine: u64,
    pub segment_table: u64,
    pub section_table: u64,
    pub segments: Vec<Segment>,
    pub sections: Vec<Section<'d>>,
    /// Loaded segments by address.
    loaded: Vec<Segment>,
}

impl<'d> Elf<'d> {
    pub fn read(data: &'d [u8]) -> Option<Elf<'d>> {
        // 64 bits, little-endian; an executable (2) or a shared object (3); headers of the usual sizes.
        let kind = number::<2>(data, 16)?;
        let sizes = [number::<2>(data, 54)?, number::<2>(data, 58)?];
        if !data.starts_with(b"\x7fELF\x02\x01") || ![2, 3].contains(&kind) || sizes != [SEGMENT, SECTION] {
            return None;
        }
        let (segment_table, section_table) = (number::<8>(data, 32)?, number::<8>(data, SECTION_TABLE)?);
        let places = |table: u64, count: u64, size: u64| {
            let end = table.checked_add(count * size)?;
            (end <= data.len() as u64).then(|| (0..count).map(move |index| table + index * size))
        };
        let segments = places(segment_table, number::<2>(data, 56)?, SEGMENT)?
            .map(|at| segment(data, at))
            .collect::<Option<Vec<_>>>()?;
        let sections = places(section_table, number::<2>(data, 60)?, SECTION)?;
        let names = number::<2>(data, 62)? * SECTION + section_table;
        let names = number::<8>(data, names + 24)?
            ..number::<8>(data, names + 24)?.checked_add(number::<8>(data, names + 32)?)?;
        let names = data.get(names.start as usize..names.end as usize)?;
        let sections = sections.map(|at| section(data, at, names)).collect::<Option<Vec<_>>>()?;
        let mut loaded: Vec<Segment> = segments.iter().copied().filter(Segment::is_loaded).collect();
        loaded.sort_by_key(|segment| segment.vaddr);
        let at_fixed_address = kind == 2;
        let machine = number::<2>(data, 18)?;
        Some(Elf {
            data,
            at_fixed_address,
            machine,
            segment_table,
            section_table,
            segments,
            sections,
            loaded,
        })
    }

    /// The place in the file of `len` bytes at an address.
    pub fn place(&self, address: u64, len: u64) -> Option<u64> {
        let after = self.loaded.partition_point(|segment| segment.vaddr <= address);
        let segment = self.loaded.get(after.checked_sub(1)?)?;
        let at = address - segment.vaddr;
        (at.checked_add(len)? <= segment.file_size).then(|| segment.offset + at)
    }

    /// The word at an address.
    pub fn word(&self, address: u64) -> Option<u64> {
        number::<8>(self.data, self.place(address, 8)?)
    }
}

fn segment(data: &[u8], at: u64) -> Option<Segment> {
    let segment = Segment {
        kind: number::<4>(data, at)?,
        flags: number::<4>(data, at + 4)?,
        offset: number::<8>(data, at + 8)?,
        vaddr: number::<8>(data, at + 16)?,
        physical: number::<8>(data, at + 24)?,
        file_size: number::<8>(data, at + 32)?,
        memory_size: number::<8>(data, at + 40)?,
        align: number::<8>(data, at + 48)?,
    };
    let in_file = segment.offset.checked_add(segment.file_size)? <= data.len() as u64;
    segment.vaddr.checked_add(segment.memory_size)?;
    let loadable = !segment.is_loaded() || segment.file_size <= segment.memory_size;
    (in_file && loadable).then_some(segment)
}

fn section<'d>(data: &[u8], at: u64, names: &'d [u8]) -> Option<Section<'d>> {
    let name = names.get(number::<4>(data, at)? as usize..)?;
    let section = Section {
        name: name.split(|&byte| byte == 0).next()?,
        kind: number::<4>(data, at + 4)?,
        flags: number::<8>(data, at + 8)?,
        addr: number::<8>(data, at + 16)?,
        offset: number::<8>(data, at + 24)?,
        size: number::<8>(data, at + 32)?,
        link: number::<4>(data, at + 40)?,
        info: number::<4>(data, at + 44)?,
        align: number::<8>(data, at + 48)?,
        entry: number::<8>(data, at + 56)?,
    };
    section.addr.checked_add(section.size)?;
    let end = section.offset.checked_add(section.size)?;
    (!section.has_bytes() || end <= data.len() as u64).then_some(section)
}
