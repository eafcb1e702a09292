//! Goal: room for fatbinaries in a linked host file, so that no kernel is kept because its new code compresses worse.
//!
//! A section of a linked file cannot grow where it is: what lies behind it is at addresses that code knows. So a section of
//! fatbinaries that becomes too small gets a new place behind everything else:
//!
//! ```text
//! last segment   .data  .bss                  becomes   .data  .bss (as zeros in the file)  .nv_fatbin
//! file           ... | .data | symbols ...    becomes   ... | .data | zeros | .nv_fatbin | symbols ...
//! ```
//!
//! The segment with the highest addresses gets longer, in the file and in memory; no program header is added, and no other
//! segment changes. What is not loaded moves towards the end of the file. The section is now in a segment that may be
//! writable, which nothing minds: the driver only reads it.
//!
//! **What leads to a fatbinary** is the field of a wrapper, the structure that a host stub hands to the CUDA runtime (magic,
//! version, pointer, pointer), and it leads there by a relative relocation, packed or not, or in a file that is loaded where
//! it was linked by an address that is simply there. These follow, each to its own fatbinary, and so do the symbols that only
//! debuggers read. Whatever else is seen to lead into the section is a reason to leave the file alone. A fatbinary that nothing leads to
//! (nvcc links an empty one into every file) moves along unless it is edited: who would use it could not be told.
//!
//! **Fatbinaries among other data stay**, unless the section is nothing but resources that pairs of pointers delimit (`resources`), as
//! in cuSPARSELt 0.8 (`.cask_resource`): two relocated pointers lead to each, its own begin and the end of what lies before it, as pairs
//! (end, begin) whose difference is taken as the size. All of the section moves, so that both keep their meaning.
//!
//! **The old bytes stay where they were.** Code may refer to the section in ways that cannot be seen (`lea` relative to the
//! program counter), and such code finds what it always found: the fatbinary as it came, working. Every address that was
//! mapped still holds what it held, but for the pointers that follow. The price is the room: the file gets larger by the
//! zeros and by the moved sections as a whole. Tools that rewrite files by their sections, such as `strip`, drop the old bytes.
//!
//! Cost: one pass over relocations and symbols, and one copy of the file. Source: the System V ABI (program headers, dynamic
//! section, `DT_RELR`), its supplements for x86-64 and AArch64, and the wrappers that nvcc 11 to 13 and clang write.

mod pointers;
mod read;
mod resources;
mod write;

use crate::fatbin::Fatbin;
use pointers::{Addresses, Field};
use read::ALIGNMENT;
pub(crate) use read::Host;
use resources::OTHER_DATA;

/// Why a file gives no more room to its fatbinaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fixed {
    /// Members of archives stay where they are.
    #[error("members of an archive keep their size")]
    Archive,
    /// Not a linked file: no segments.
    #[error("only linked files grow, and it is a relocatable object")]
    Object,
    /// An ELF file of another kind.
    #[error("it is no 64-bit little-endian file for x86-64 or AArch64")]
    Machine,
    /// Headers that contradict each other, or that are not as linkers write them.
    #[error("{0}")]
    Structure(&'static str),
    /// Uninitialised data would take too much room in the file.
    #[error(
        "its last segment ends with {size} bytes of zeros that would take room in the file, more than {limit}"
    )]
    Zeros {
        /// Bytes of them.
        size: u64,
        /// The most that are written, see [`crate::Limits`].
        limit: u64,
    },
    /// Something leads into the section that cannot follow.
    #[error("{what} leads into the section, at {at:#x}")]
    Pointer {
        /// What it is.
        what: &'static str,
        /// Its address, or for a symbol its place in the file.
        at: u64,
    },
    /// An edited fatbinary that no wrapper leads to.
    #[error("no wrapper is seen to lead to the fatbinary at address {0:#x}")]
    Unreached(u64),
}

/// A section that can move, with everything that has to follow it.
#[derive(Debug)]
pub(crate) struct Movable {
    section: usize,
    /// The fatbinaries in it, by their number in the container.
    pub fatbins: Vec<usize>,
    /// Where each starts, counted from the start of the section.
    starts: Vec<u64>,
    /// Where each ends.
    ends: Vec<u64>,
    fields: Vec<Field>,
}

impl Host<'_> {
    /// Whether a section of fatbinaries can move. Which of them are edited is given by their number.
    pub fn movable(
        &self,
        section: usize,
        all: &[Fatbin],
        is_edited: impl Fn(usize) -> bool,
    ) -> Result<Movable, Fixed> {
        let header = &self.sections[section];
        let file = header.file_range();
        let (mut fatbins, mut starts, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        let mut found = Vec::new();
        for (number, fatbin) in all.iter().enumerate() {
            if file.contains(&fatbin.start) {
                fatbins.push(number);
                found.push(fatbin);
                starts.push((fatbin.start - file.start) as u64);
                ends.push((fatbin.body.end - file.start) as u64);
            }
        }
        if !header.is_device_code() && !self.may_hold_resources(header) {
            return Err(OTHER_DATA);
        }
        self.check_section(header)?;
        if starts.iter().any(|start| !start.is_multiple_of(ALIGNMENT)) {
            return Err(Fixed::Structure("a fatbinary does not start at a multiple of 8"));
        }
        let fields = if header.is_device_code() {
            let addresses = Addresses::new(header.addr, header.size, &starts);
            let edited: Vec<usize> = (0..fatbins.len()).filter(|&index| is_edited(fatbins[index])).collect();
            self.fields(section, &addresses, &edited)?
        } else {
            self.resource_fields(section, &found)?
        };
        Ok(Movable { section, fatbins, starts, ends, fields })
    }
}
