//! Goal: the longer file.

use object::elf::{SHF_TLS, SHT_NOBITS, SHT_PROGBITS};

use super::pointers::Target;
use super::read::{ALIGNMENT, MOST_ADDRESS, MOST_ALIGNMENT, PROGRAM_HEADER, SECTION_HEADER, Section, field};
use super::{Fixed, Host, Movable};

/// What is not loaded moves by a multiple of this, or of the largest alignment among it.
const SHIFT_ALIGNMENT: u64 = 64;

/// A section with its fatbinaries one behind the other.
struct Laid {
    bytes: Vec<u8>,
    /// Where each fatbinary starts in it.
    starts: Vec<u64>,
}

impl Host<'_> {
    /// The file with sections at new places behind the last segment. `data` is the file, or the file with bytes changed that
    /// are no headers; the new fatbinaries are those of each section, whole and in order.
    pub fn grow(&self, data: &[u8], moves: &[(&Movable, Vec<Vec<u8>>)]) -> Result<Vec<u8>, Fixed> {
        let (last, cut) = (self.last(), self.cut());
        let mut grown = vec![0; (last.memory_size - last.file_size) as usize];
        let mut fields: Vec<(usize, u64)> = Vec::new();
        let mut places: Vec<(usize, u64, u64)> = Vec::new();
        for (moved, fatbins) in moves {
            let laid = self.lay_out(moved, fatbins);
            let align = self.sections[moved.section].align.max(ALIGNMENT);
            let end = last.vaddr + last.file_size + grown.len() as u64;
            let addr = end.next_multiple_of(align);
            grown.resize(grown.len() + (addr - end) as usize, 0);
            grown.extend_from_slice(&laid.bytes);
            let size = laid.bytes.len() as u64;
            places.push((moved.section, addr, size));
            fields.extend(moved.fields.iter().map(|field| {
                let value = match field.target {
                    Target::Fatbin(index) => addr + laid.starts[index],
                    Target::Start => addr,
                    Target::End => addr + size,
                };
                (field.at, value)
            }));
        }
        let size = last.file_size + grown.len() as u64;
        if last.vaddr + size > MOST_ADDRESS {
            return Err(Fixed::Structure("there are no addresses behind its last segment"));
        }
        let header = self.program_headers + last.index * PROGRAM_HEADER as usize;
        fields.push((header + field::P_FILESZ, size));
        fields.push((header + field::P_MEMSZ, size));
        let shift = (grown.len() as u64).next_multiple_of(self.shift_alignment()?);
        grown.resize(shift as usize, 0);
        if self.section_headers as u64 >= cut {
            fields.push((field::E_SHOFF, self.section_headers as u64 + shift));
        }
        let (mut kinds, behind) =
            (Vec::new(), |at: usize| if at as u64 >= cut { at + shift as usize } else { at });
        for (index, section) in self.sections.iter().enumerate() {
            let header = self.section_headers + index * SECTION_HEADER as usize;
            if let Some(&(_, addr, size)) = places.iter().find(|place| place.0 == index) {
                fields.push((header + field::SH_ADDR, addr));
                fields.push((header + field::SH_OFFSET, last.offset + (addr - last.vaddr)));
                fields.push((header + field::SH_SIZE, size));
            } else if self.is_written_out(section) {
                // Tools expect the sections of a segment that take no room in the file to be its last ones.
                kinds.push(header + field::SH_TYPE);
                fields.push((header + field::SH_OFFSET, last.offset + (section.addr - last.vaddr)));
            } else if section.has_bytes() && !section.is_loaded() && section.offset >= cut {
                fields.push((header + field::SH_OFFSET, section.offset + shift));
            }
        }
        let cut = cut as usize;
        let mut file = Vec::with_capacity(data.len() + grown.len());
        file.extend_from_slice(&data[..cut]);
        file.extend_from_slice(&grown);
        file.extend_from_slice(&data[cut..]);
        for (at, value) in fields {
            file[behind(at)..behind(at) + 8].copy_from_slice(&value.to_le_bytes());
        }
        for at in kinds {
            file[behind(at)..behind(at) + 4].copy_from_slice(&SHT_PROGBITS.0.to_le_bytes());
        }
        Ok(file)
    }

    /// Whether a section is among the zeros behind the last segment's bytes. Thread-local zeros take no room in memory there.
    fn is_written_out(&self, section: &Section<'_>) -> bool {
        let last = self.last();
        let zeros = last.vaddr + last.file_size..=last.vaddr + last.memory_size;
        section.kind == SHT_NOBITS.0
            && section.is_loaded()
            && section.flags & SHF_TLS.0 == 0
            && zeros.contains(&section.addr)
            && zeros.contains(&(section.addr + section.size))
    }

    /// What the distance has to be a multiple of that sections move by.
    fn shift_alignment(&self) -> Result<u64, Fixed> {
        let behind =
            self.sections.iter().filter(|section| section.has_bytes() && section.offset >= self.cut());
        let largest = behind.map(|section| section.align).max().unwrap_or(1).max(SHIFT_ALIGNMENT);
        if largest > MOST_ALIGNMENT || !largest.is_power_of_two() {
            return Err(Fixed::Structure("a section behind the last segment has an unusual alignment"));
        }
        Ok(largest)
    }

    /// The fatbinaries of a section with as many zeros between them as there were, or as their alignment needs.
    fn lay_out(&self, moved: &Movable, fatbins: &[Vec<u8>]) -> Laid {
        let section = &self.sections[moved.section];
        let align = section.align.max(ALIGNMENT);
        let mut laid = Laid { bytes: Vec::new(), starts: Vec::new() };
        let mut end = 0;
        for ((&start, &old_end), new) in moved.starts.iter().zip(&moved.ends).zip(fatbins) {
            let mut at = laid.bytes.len() as u64 + (start - end);
            at += start.wrapping_sub(at) % align;
            laid.bytes.resize(at as usize, 0);
            laid.starts.push(at);
            laid.bytes.extend_from_slice(new);
            end = old_end;
        }
        laid.bytes.resize(laid.bytes.len() + (section.size - end) as usize, 0);
        laid
    }
}
