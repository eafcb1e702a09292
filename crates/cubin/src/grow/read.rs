//! Goal: the headers of a linked ELF file, read and found to be as linkers write them.
//!
//! Everything that growing relies on is checked here once: segments and sections lie in the file and do not overlap, and
//! nothing that is loaded lies behind the last segment's bytes in the file, so that bytes can be put in there.

use std::ops::Range;

use object::elf::{
    EM_AARCH64, EM_X86_64, ET_DYN, ET_EXEC, ET_REL, PT_LOAD, SHF_ALLOC, SHF_COMPRESSED, SHF_EXECINSTR,
    SHT_NOBITS, SHT_NULL, SHT_PROGBITS,
};

use super::Fixed;
use crate::bytes::Bytes;
use crate::compression::Limits;
use crate::library::FATBIN_SECTIONS;

/// Positions of header fields.
pub(super) mod field {
    pub const E_SHOFF: usize = 0x28;
    pub const P_FILESZ: usize = 32;
    pub const P_MEMSZ: usize = 40;
    pub const SH_TYPE: usize = 4;
    pub const SH_ADDR: usize = 16;
    pub const SH_OFFSET: usize = 24;
    pub const SH_SIZE: usize = 32;
}

pub(super) const HEADER: u64 = 64;
pub(super) const PROGRAM_HEADER: u64 = 56;
pub(super) const SECTION_HEADER: u64 = 64;

/// Addresses stay below this: what a process can have with four levels of page tables.
pub(super) const MOST_ADDRESS: u64 = 1 << 47;

/// Fatbinaries are read in words of eight bytes.
pub(super) const ALIGNMENT: u64 = 8;

/// Sections are not expected to be aligned to more than a page.
pub(super) const MOST_ALIGNMENT: u64 = 4096;

/// One program header.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    /// Its place in the table.
    pub index: usize,
    pub kind: u32,
    pub offset: u64,
    pub vaddr: u64,
    pub file_size: u64,
    pub memory_size: u64,
    align: u64,
}

/// One section header.
#[derive(Debug, Clone, Copy)]
pub(super) struct Section<'d> {
    pub name: &'d [u8],
    pub kind: u32,
    pub flags: u64,
    pub addr: u64,
    pub offset: u64,
    pub size: u64,
    pub align: u64,
}

impl Section<'_> {
    pub fn has_bytes(&self) -> bool {
        self.kind != SHT_NOBITS.0 && self.kind != SHT_NULL.0
    }

    /// Whether there are bytes of it.
    pub fn is_filled(&self) -> bool {
        self.has_bytes() && self.size > 0
    }

    pub fn is_loaded(&self) -> bool {
        self.flags & SHF_ALLOC.0 != 0
    }

    pub fn is_device_code(&self) -> bool {
        FATBIN_SECTIONS.iter().any(|name| name.as_bytes() == self.name)
    }

    /// Its bytes; reading has checked that they are there.
    pub fn file_range(&self) -> Range<usize> {
        if self.has_bytes() { self.offset as usize..(self.offset + self.size) as usize } else { 0..0 }
    }
}

/// A linked file that can get longer.
#[derive(Debug)]
pub(crate) struct Host<'d> {
    pub(super) data: &'d [u8],
    pub(super) machine: u16,
    /// Whether it is loaded where it was linked, and has addresses that no relocation tells of.
    pub(super) fixed_addresses: bool,
    pub(super) program_headers: usize,
    pub(super) section_headers: usize,
    pub(super) segments: Vec<Segment>,
    /// The loaded ones, by address.
    loads: Vec<Segment>,
    pub(super) sections: Vec<Section<'d>>,
    /// Those with bytes in the file, by position.
    by_position: Vec<usize>,
}

impl<'d> Host<'d> {
    /// Reads the headers.
    pub fn read(data: &'d [u8], limits: Limits) -> Result<Self, Fixed> {
        let file = Bytes::new(data, "host file");
        let cut = |_| Fixed::Structure("its headers run past its end");
        if data.get(..6) != Some(b"\x7fELF\x02\x01") {
            return Err(Fixed::Machine);
        }
        let kind = file.u16(16, "type").map_err(cut)?;
        if kind == ET_REL.0 {
            return Err(Fixed::Object);
        }
        let machine = file.u16(18, "machine").map_err(cut)?;
        if ![EM_X86_64.0, EM_AARCH64.0].contains(&machine) || ![ET_DYN.0, ET_EXEC.0].contains(&kind) {
            return Err(Fixed::Machine);
        }
        let table = |at: u64, size_at: u64, size: u64| -> Result<(u64, u64, u64), Fixed> {
            let start = file.u64(at, "table").map_err(cut)?;
            let count: u64 = file.u16(size_at + 2, "count").map_err(cut)?.into();
            if u64::from(file.u16(size_at, "size").map_err(cut)?) != size || count == 0 {
                return Err(Fixed::Structure("its tables of headers are not as usual"));
            }
            file.range(start, count * size, "table").map_err(cut)?;
            Ok((start, count, size))
        };
        let (program_headers, segments, _) = table(0x20, 0x36, PROGRAM_HEADER)?;
        let (section_headers, sections, _) = table(0x28, 0x3a, SECTION_HEADER)?;
        let segments = (0..segments)
            .map(|index| segment(file, program_headers + index * PROGRAM_HEADER, index as usize))
            .collect::<Option<Vec<_>>>()
            .ok_or(Fixed::Structure("its segments are damaged"))?;
        let names = file.u16(62, "names").map_err(cut)?;
        let sections = (0..sections)
            .map(|index| section(file, section_headers + index * SECTION_HEADER))
            .collect::<Option<Vec<_>>>()
            .ok_or(Fixed::Structure("its sections are damaged"))?;
        let mut host = Self {
            data,
            machine,
            fixed_addresses: kind == ET_EXEC.0,
            program_headers: program_headers as usize,
            section_headers: section_headers as usize,
            loads: loads(&segments)?,
            segments,
            sections: Vec::new(),
            by_position: Vec::new(),
        };
        host.sections = named(data, sections, names.into())?;
        host.by_position =
            (0..host.sections.len()).filter(|&index| host.sections[index].is_filled()).collect();
        host.by_position.sort_by_key(|&index| host.sections[index].offset);
        host.check_order(limits)?;
        Ok(host)
    }

    /// The loaded segment with the highest addresses.
    pub(super) fn last(&self) -> Segment {
        *self.loads.last().expect("checked when it was read")
    }

    /// Sections of code: the address and the bytes of each.
    pub(super) fn code(&self) -> impl Iterator<Item = (u64, &'d [u8])> {
        let code = self.sections.iter().filter(|section| section.flags & SHF_EXECINSTR.0 != 0);
        code.map(|section| (section.addr, &self.data[section.file_range()]))
    }

    /// The file position behind the last segment's bytes.
    pub(super) fn cut(&self) -> u64 {
        let last = self.last();
        last.offset + last.file_size
    }

    /// The section that holds a byte of the file.
    pub(crate) fn section_at(&self, position: usize) -> Option<usize> {
        let after = self.by_position.partition_point(|&index| self.sections[index].offset <= position as u64);
        let index = *self.by_position.get(after.checked_sub(1)?)?;
        self.sections[index].file_range().contains(&position).then_some(index)
    }

    /// The file position of `len` bytes at an address.
    pub(super) fn position(&self, address: u64, len: u64) -> Option<u64> {
        let after = self.loads.partition_point(|segment| segment.vaddr <= address);
        let segment = self.loads.get(after.checked_sub(1)?)?;
        let inside = address - segment.vaddr;
        (inside.checked_add(len)? <= segment.file_size).then(|| segment.offset + inside)
    }

    /// Whether a section is as one of fatbinaries should be.
    pub(super) fn check_section(&self, section: &Section<'_>) -> Result<(), Fixed> {
        if section.kind != SHT_PROGBITS.0 || !section.is_loaded() || section.flags & SHF_COMPRESSED.0 != 0 {
            return Err(Fixed::Structure("the section is not loaded as it is"));
        }
        if self.position(section.addr, section.size) != Some(section.offset) {
            return Err(Fixed::Structure("the section is not where its segment has it"));
        }
        let align = section.align.max(ALIGNMENT);
        if !align.is_power_of_two() || align > MOST_ALIGNMENT || !section.addr.is_multiple_of(align) {
            return Err(Fixed::Structure("the section's alignment is not as usual"));
        }
        Ok(())
    }

    /// What lies in the file does not overlap, and only what is not loaded lies behind the last segment's bytes.
    fn check_order(&self, limits: Limits) -> Result<(), Fixed> {
        let (last, cut) = (self.last(), self.cut());
        let zeros = last.memory_size - last.file_size;
        if zeros > limits.zero_bytes {
            return Err(Fixed::Zeros { size: zeros, limit: limits.zero_bytes });
        }
        let behind = |segment: &&Segment| segment.file_size > 0 && segment.offset + segment.file_size > cut;
        if self.segments.iter().any(|segment| behind(&segment)) {
            return Err(Fixed::Structure("its last segment is not the last in the file"));
        }
        let table = |at: usize, count: usize, size: u64| at as u64..at as u64 + count as u64 * size;
        let mut ranges = vec![
            0..HEADER,
            table(self.program_headers, self.segments.len(), PROGRAM_HEADER),
            table(self.section_headers, self.sections.len(), SECTION_HEADER),
        ];
        if ranges[1].end > cut {
            return Err(Fixed::Structure("its program headers are not loaded"));
        }
        let filled = self.sections.iter().filter(|section| section.is_filled());
        ranges.extend(filled.map(|section| section.offset..section.offset + section.size));
        ranges.sort_by_key(|range| (range.start, range.end));
        if ranges.windows(2).any(|pair| pair[0].end > pair[1].start) {
            return Err(Fixed::Structure("its sections overlap"));
        }
        if ranges.iter().any(|range| range.start < cut && cut < range.end) {
            return Err(Fixed::Structure("a section lies across the end of its last segment"));
        }
        let inside_cut = |section: &Section<'_>| section.offset + section.size <= cut;
        let loaded_behind =
            |section: &&Section<'_>| section.is_loaded() && section.is_filled() && !inside_cut(section);
        if self.sections.iter().any(|section| loaded_behind(&section)) {
            return Err(Fixed::Structure("a loaded section lies behind its last segment"));
        }
        Ok(())
    }
}

fn segment(file: Bytes, at: u64, index: usize) -> Option<Segment> {
    let number = |field: u64| file.u64(at + field, "program header").ok();
    let segment = Segment {
        index,
        kind: file.u32(at, "program header").ok()?,
        offset: number(8)?,
        vaddr: number(16)?,
        file_size: number(32)?,
        memory_size: number(40)?,
        align: number(48)?,
    };
    let in_file = segment.offset.checked_add(segment.file_size)?;
    let in_memory = segment.vaddr.checked_add(segment.memory_size)?;
    (in_file <= file.data.len() as u64 && in_memory <= MOST_ADDRESS).then_some(segment)
}

/// The loaded segments by address.
fn loads(segments: &[Segment]) -> Result<Vec<Segment>, Fixed> {
    let mut loads: Vec<Segment> =
        segments.iter().copied().filter(|segment| segment.kind == PT_LOAD.0).collect();
    loads.sort_by_key(|segment| segment.vaddr);
    if loads.is_empty() {
        return Err(Fixed::Structure("it has no loaded segment"));
    }
    if loads.windows(2).any(|pair| pair[0].vaddr + pair[0].memory_size > pair[1].vaddr) {
        return Err(Fixed::Structure("its segments overlap"));
    }
    for segment in &loads {
        let align = segment.align.max(1);
        let congruent = align.is_power_of_two() && segment.offset % align == segment.vaddr % align;
        if !congruent || segment.file_size > segment.memory_size {
            return Err(Fixed::Structure("a segment cannot be loaded as it says"));
        }
    }
    Ok(loads)
}

/// A header and the place of its name in the table of names.
type Unnamed = (Section<'static>, u32);

fn section(file: Bytes, at: u64) -> Option<Unnamed> {
    let number = |field: u64| file.u64(at + field, "section header").ok();
    let section = Section {
        name: b"",
        kind: file.u32(at + 4, "section header").ok()?,
        flags: number(8)?,
        addr: number(16)?,
        offset: number(24)?,
        size: number(32)?,
        align: number(48)?,
    };
    let inside = !section.has_bytes() || section.offset.checked_add(section.size)? <= file.data.len() as u64;
    let in_memory = section.addr.checked_add(section.size)? <= MOST_ADDRESS;
    (inside && in_memory).then_some((section, file.u32(at, "section header").ok()?))
}

fn named<'d>(data: &'d [u8], sections: Vec<Unnamed>, names: usize) -> Result<Vec<Section<'d>>, Fixed> {
    let unnamed = Fixed::Structure("its sections have no names");
    let table = sections.get(names).ok_or(unnamed)?.0.file_range();
    let table = &data[table];
    let name = |at: u32| {
        let rest = table.get(at as usize..)?;
        rest.split(|&byte| byte == 0).next()
    };
    let sections = sections.into_iter();
    sections
        .map(|(section, at)| Some(Section { name: name(at)?, ..section }))
        .collect::<Option<_>>()
        .ok_or(unnamed)
}
