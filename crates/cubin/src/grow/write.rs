//! Goal: the longer file.

use object::elf::{SHF_TLS, SHT_NOBITS, SHT_PROGBITS};

use super::pointers::Target;
use super::read::{ALIGNMENT, MOST_ADDRESS, MOST_ALIGNMENT, PROGRAM_HEADER, SECTION_HEADER, Section, field};
use super::{Fixed, Host, Movable};

/// What is not loaded moves by a multiple of this, or of the largest alignment among it.
const SHIFT_ALIGNMENT: u64 = 64;

/// A section with its fatbinaries one behind the other.
struct Laid {
    size: u64,
    /// Where each fatbinary starts in it.
    starts: Vec<u64>,
    /// Where each ends.
    ends: Vec<u64>,
}

/// A section at its new place.
struct Placed<'m> {
    moved: &'m Movable,
    addr: u64,
    laid: Laid,
}

impl Movable {
    /// Where something is in the section that was so far behind its start, and is not inside a fatbinary.
    fn now(&self, laid: &Laid, at: u64) -> u64 {
        match self.starts.partition_point(|&start| start < at).checked_sub(1) {
            Some(before) => laid.ends[before] + (at - self.ends[before]),
            None => at,
        }
    }
}

impl Host<'_> {
    /// The file with sections at new places behind the last segment. `data` is the file, or the file with bytes changed that
    /// are no headers; `moves` has the sizes of the new fatbinaries of each section, in order, and `add` adds one by its number.
    pub fn grow(
        &self,
        data: Vec<u8>,
        moves: &[(&Movable, Vec<usize>)],
        add: impl Fn(usize, &mut Vec<u8>),
    ) -> Result<Vec<u8>, Fixed> {
        let (last, cut) = (self.last(), self.cut());
        let mut grown = last.memory_size - last.file_size;
        let mut fields: Vec<(usize, u64)> = Vec::new();
        let mut places: Vec<Placed<'_>> = Vec::new();
        for (moved, sizes) in moves {
            let laid = self.lay_out(moved, sizes);
            let align = self.sections[moved.section].align.max(ALIGNMENT);
            let end = last.vaddr + last.file_size + grown;
            let addr = end.next_multiple_of(align);
            grown += addr - end + laid.size;
            fields.extend(moved.fields.iter().map(|field| {
                let value = match field.target {
                    Target::Fatbin(index) => addr + laid.starts[index],
                    Target::Start => addr,
                    Target::End => addr + laid.size,
                    Target::Edge(at) => addr + moved.now(&laid, at),
                };
                (field.at, value)
            }));
            places.push(Placed { moved, addr, laid });
        }
        let size = last.file_size + grown;
        if last.vaddr + size > MOST_ADDRESS {
            return Err(Fixed::Structure("there are no addresses behind its last segment"));
        }
        let header = self.program_headers + last.index * PROGRAM_HEADER as usize;
        fields.push((header + field::P_FILESZ, size));
        fields.push((header + field::P_MEMSZ, size));
        let shift = grown.next_multiple_of(self.shift_alignment()?);
        if self.section_headers as u64 >= cut {
            fields.push((field::E_SHOFF, self.section_headers as u64 + shift));
        }
        let (mut kinds, behind) =
            (Vec::new(), |at: usize| if at as u64 >= cut { at + shift as usize } else { at });
        for (index, section) in self.sections.iter().enumerate() {
            let header = self.section_headers + index * SECTION_HEADER as usize;
            if let Some(&Placed { addr, laid: Laid { size, .. }, .. }) =
                places.iter().find(|place| place.moved.section == index)
            {
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
        let mut file = data;
        let behind_cut = file[cut as usize..].to_vec();
        file.truncate(cut as usize);
        file.reserve_exact(shift as usize + behind_cut.len());
        for Placed { moved, addr, laid } in &places {
            let start = cut + (addr - last.vaddr - last.file_size);
            let section = &self.data[self.sections[moved.section].file_range()];
            file.resize(start as usize, 0);
            let mut end = 0;
            for (index, &number) in moved.fatbins.iter().enumerate() {
                // What lies between them goes along: zeros, or resources of another kind.
                file.extend_from_slice(&section[end..moved.starts[index] as usize]);
                file.resize((start + laid.starts[index]) as usize, 0);
                add(number, &mut file);
                end = moved.ends[index] as usize;
            }
            file.extend_from_slice(&section[end..]);
        }
        file.resize((cut + shift) as usize, 0);
        file.extend_from_slice(&behind_cut);
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
    fn lay_out(&self, moved: &Movable, sizes: &[usize]) -> Laid {
        let section = &self.sections[moved.section];
        let align = section.align.max(ALIGNMENT);
        let mut laid = Laid { size: 0, starts: Vec::new(), ends: Vec::new() };
        let mut end = 0;
        for ((&start, &old_end), &size) in moved.starts.iter().zip(&moved.ends).zip(sizes) {
            let mut at = laid.size + (start - end);
            at += start.wrapping_sub(at) % align;
            laid.starts.push(at);
            laid.size = at + size as u64;
            laid.ends.push(laid.size);
            end = old_end;
        }
        laid.size += section.size - end;
        laid
    }
}
