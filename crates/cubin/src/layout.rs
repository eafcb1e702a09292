//! Goal: give sections other sizes without disturbing the rest of the file.
//!
//! Everything behind a section that changes its size moves by the least distance that keeps all alignments: its position
//! stays the same modulo the largest alignment in the file. That makes the layout a function of the contents alone, so a
//! section that gets its old size back gets the whole file's old layout back.

use std::ops::Range;

use crate::cubin::Cubin;
use crate::edit::{Reason, Refusal};

/// Positions of the fields of an ELF64 header that point into the file, and of the tables' entries.
mod field {
    pub const E_PHOFF: usize = 0x20;
    pub const E_SHOFF: usize = 0x28;
    pub const E_PHENTSIZE: usize = 0x36;
    pub const E_PHNUM: usize = 0x38;
    pub const E_SHENTSIZE: usize = 0x3a;
    pub const P_OFFSET: usize = 8;
    pub const P_FILESZ: usize = 32;
    pub const P_MEMSZ: usize = 40;
    pub const P_ALIGN: usize = 48;
    pub const SH_ADDR: usize = 16;
    pub const SH_OFFSET: usize = 24;
    pub const SH_SIZE: usize = 32;
    pub const SH_ALIGN: usize = 48;
}

/// Replaces the contents of whole sections.
pub(crate) fn replace_sections(
    cubin: &Cubin,
    old: Vec<u8>,
    mut changed: Vec<(usize, Vec<u8>)>,
) -> Result<Vec<u8>, Refusal> {
    if changed.is_empty() {
        return Ok(old);
    }
    // From the back, so that the positions of those still to do hold.
    changed.sort_by_key(|&(index, _)| cubin.sections()[index].file_range.start);
    let mut file = File { data: old.clone(), count: cubin.sections().len() };
    for (index, new) in changed.iter().rev() {
        let section = &cubin.sections()[*index];
        file.replace(*index, section.file_range.end, new)
            .map_err(|problem| Refusal::new(section.name, Reason::Layout(problem)))?;
    }
    check(cubin, &old, &changed, &file.data)
        .map_err(|(section, problem)| Refusal::new(section, Reason::Layout(problem)))?;
    Ok(file.data)
}

/// Every section has to come through with its contents. Only a damaged file can fail this.
fn check<'c>(
    cubin: &'c Cubin,
    old: &[u8],
    changed: &[(usize, Vec<u8>)],
    new: &[u8],
) -> Result<(), (&'c str, &'static str)> {
    let parsed = Cubin::parse(new).map_err(|_| ("cubin", "the file would no longer parse"))?;
    for (index, (before, after)) in cubin.sections().iter().zip(parsed.sections()).enumerate() {
        let replaced = changed.iter().find(|&&(other, _)| other == index);
        let expected = replaced.map_or(&old[before.file_range.clone()], |(_, new)| new);
        if before.name != after.name || parsed.section_bytes(after) != expected {
            return Err((before.name, "it would lose its contents"));
        }
    }
    Ok(())
}

struct File {
    data: Vec<u8>,
    /// Sections.
    count: usize,
}

impl File {
    fn u16(&self, at: usize) -> usize {
        let bytes = self.data.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |&bytes| u16::from_le_bytes(bytes).into())
    }

    fn u64(&self, at: usize) -> usize {
        let bytes = self.data.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |&bytes| u64::from_le_bytes(bytes) as usize)
    }

    fn section(&self, index: usize) -> usize {
        self.u64(field::E_SHOFF) + index * self.u16(field::E_SHENTSIZE)
    }

    fn segments(&self) -> impl Iterator<Item = usize> + use<> {
        let (at, size) = (self.u64(field::E_PHOFF), self.u16(field::E_PHENTSIZE));
        (0..self.u16(field::E_PHNUM)).map(move |index| at + index * size)
    }

    /// Where the header tables lie; the arithmetic of everything else relies on them being inside the file.
    fn tables(&self) -> Result<[Range<usize>; 2], &'static str> {
        let table = |at: usize, count: usize, size: usize, expected: usize| {
            if count > 0 && size != expected {
                return Err("header entries of an unknown size");
            }
            let end = count.checked_mul(size).and_then(|len| at.checked_add(len));
            end.filter(|&end| end <= self.data.len()).map(|end| at..end).ok_or("headers outside the file")
        };
        Ok([
            table(self.u64(field::E_SHOFF), self.count, self.u16(field::E_SHENTSIZE), 64)?,
            table(self.u64(field::E_PHOFF), self.u16(field::E_PHNUM), self.u16(field::E_PHENTSIZE), 56)?,
        ])
    }

    /// The positions of every field that holds a file position.
    fn pointers(&self) -> Vec<usize> {
        let sections = (1..self.count).map(|index| self.section(index) + field::SH_OFFSET);
        let segments = self.segments().map(|at| at + field::P_OFFSET);
        [field::E_PHOFF, field::E_SHOFF].into_iter().chain(sections).chain(segments).collect()
    }

    /// The largest alignment of anything in the file.
    fn alignment(&self) -> Result<usize, &'static str> {
        let sections = (1..self.count).map(|index| self.u64(self.section(index) + field::SH_ALIGN));
        let segments = self.segments().map(|at| self.u64(at + field::P_ALIGN));
        sections.chain(segments).filter(|&alignment| alignment > 0).try_fold(8, |largest, alignment| {
            let usual = alignment.is_power_of_two() && alignment <= 4096;
            usual.then_some(largest.max(alignment)).ok_or("an alignment that no compiler writes")
        })
    }

    /// Replaces the section that ends at `end`.
    fn replace(&mut self, index: usize, end: usize, new: &[u8]) -> Result<(), &'static str> {
        let tables = self.tables()?;
        let header = self.section(index);
        let start = self.u64(header + field::SH_OFFSET);
        let pointers = self.pointers();
        let positions = || pointers.iter().map(|&at| self.u64(at));
        let inside = |position| position > start && position < end;
        if positions().any(inside) || tables.iter().any(|table| table.start < end && start < table.end) {
            return Err("something else lies inside it");
        }
        let covered = |at: usize| {
            let from = self.u64(at + field::P_OFFSET);
            from < end && start < from.saturating_add(self.u64(at + field::P_FILESZ))
        };
        let segments: Vec<usize> = self.segments().filter(|&at| covered(at)).collect();
        if !segments.is_empty() && self.u64(header + field::SH_ADDR) != 0 {
            return Err("it is loaded at an address of its own");
        }
        let next = positions().filter(|&position| position >= end).min();
        let next = next.unwrap_or(self.data.len()).min(self.data.len());
        let alignment = self.alignment()?;
        if positions().any(|position| position > self.data.len()) {
            // It would be inside, and move, once the file has grown.
            return Err("something else claims to lie behind the end of the file");
        }
        let gap = self.data.get(end..next).ok_or("it ends outside the file")?;
        if gap.len() >= alignment || gap.iter().any(|&byte| byte != 0) {
            return Err("what follows is not padding");
        }
        let new_end = start + new.len();
        let new_next = new_end + (next % alignment + alignment - new_end % alignment) % alignment;
        for at in segments {
            self.resize_segment(at, [start, end, next], [new_end, new_next])?;
        }
        let size_at = header + field::SH_SIZE;
        self.data[size_at..size_at + 8].copy_from_slice(&(new.len() as u64).to_le_bytes());
        for &at in &pointers {
            let position = self.u64(at);
            if position >= end {
                let moved = (position + new_next - next) as u64;
                self.data[at..at + 8].copy_from_slice(&moved.to_le_bytes());
            }
        }
        let padding = std::iter::repeat_n(0, new_next - new_end);
        let new: Vec<u8> = new.iter().copied().chain(padding).collect();
        self.data.splice(start..next, new);
        Ok(())
    }

    /// Gives a segment the size that keeps everything in it, when a section from `start` to `end` with padding up to `next` changes its
    /// end and what follows its place.
    fn resize_segment(
        &mut self,
        at: usize,
        [start, end, next]: [usize; 3],
        [new_end, new_next]: [usize; 2],
    ) -> Result<(), &'static str> {
        let (from, size) = (self.u64(at + field::P_OFFSET), self.u64(at + field::P_FILESZ));
        let to = from.checked_add(size).ok_or("a segment without an end")?;
        if from > start || to < end {
            return Err("a segment holds a part of it");
        }
        let new_to = match to {
            to if to >= next => to - next + new_next,
            to if to == end => new_end,
            _ => return Err("a segment ends in the padding behind it"),
        };
        let memory = self.u64(at + field::P_MEMSZ);
        let memory =
            (memory.checked_sub(size)).ok_or("a segment takes less room in memory than in the file")?;
        let size = new_to - from;
        for (field, value) in [(field::P_FILESZ, size), (field::P_MEMSZ, memory + size)] {
            self.data[at + field..at + field + 8].copy_from_slice(&(value as u64).to_le_bytes());
        }
        Ok(())
    }
}
