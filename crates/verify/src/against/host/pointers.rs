//! Goal: what a loader will write into each place that it relocates, and that all of it leads where it led.
//!
//! The tables of relocations are found as a loader finds them, by the dynamic section. A relocation is read as a place and the
//! address that comes there; packed ones have the address in the place. In a file with a fixed address the wrappers hold addresses that
//! nothing tells of; they are found by their section.

use super::elf::{Elf, number};
use super::resources::Resources;
use super::{Checked, Files, Move, grown};
use crate::against::{Change, Difference};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The first word of a wrapper, without its version.
const WRAPPER_MAGIC: u64 = 0x4662_43b1;
/// Bytes of a wrapper; the pointer to the fatbinary is its second word.
const WRAPPER: u64 = 24;
const WRAPPERS: &[u8] = b".nvFatBinSegment";

/// Tags of the dynamic section.
mod tag {
    pub const PLT_SIZE: u64 = 2;
    pub const SYMBOLS: u64 = 6;
    pub const RELA: u64 = 7;
    pub const RELA_SIZE: u64 = 8;
    pub const REL: u64 = 17;
    pub const PLT: u64 = 23;
    pub const PACKED_SIZE: u64 = 35;
    pub const PACKED: u64 = 36;
}

/// A place that gets an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pointer {
    /// The place, as an address.
    pub place: u64,
    /// What comes there.
    pub target: u64,
    /// Where the file says so.
    stored: u64,
}

/// Everything in a file that is known to lead somewhere inside it.
pub(super) struct Pointers {
    pub relative: Vec<Pointer>,
    /// Places that get the address of a symbol with something added, and where those lead.
    pub symbolic: Vec<(u64, u64)>,
}

impl Pointers {
    /// Those of both files.
    pub fn of(files: &Files<'_>) -> Checked<(Pointers, Pointers)> {
        let both = Pointers::read(&files.old).zip(Pointers::read(&files.new));
        both.ok_or_else(|| grown("its relocations, or those of the original, cannot be read"))
    }

    fn read(elf: &Elf<'_>) -> Option<Pointers> {
        let mut found = Pointers { relative: Vec::new(), symbolic: Vec::new() };
        let dynamic = dynamic(elf)?;
        for (table, size) in [(tag::RELA, tag::RELA_SIZE), (tag::PLT, tag::PLT_SIZE)] {
            let Some(&table) = dynamic.get(&table) else { continue };
            let size = dynamic.get(&size).copied().unwrap_or(0);
            let start = elf.place(table, size)?;
            for at in (0..size / 24).map(|index| start + index * 24) {
                found.relocation(elf, &dynamic, at)?;
            }
        }
        if let Some(&table) = dynamic.get(&tag::PACKED) {
            let size = dynamic.get(&tag::PACKED_SIZE).copied().unwrap_or(0);
            found.packed(elf, elf.place(table, size)?, size / 8)?;
        }
        if elf.at_fixed_address {
            for section in elf.sections.iter().filter(|section| section.name == WRAPPERS) {
                for place in (0..section.size / WRAPPER).map(|index| section.addr + index * WRAPPER + 8) {
                    found.in_place(elf, place)?;
                }
            }
        }
        Some(found)
    }

    fn relocation(&mut self, elf: &Elf<'_>, dynamic: &BTreeMap<u64, u64>, at: u64) -> Option<()> {
        const RELATIVE: [(u64, u64); 2] = [(62, 8), (183, 1027)];
        let place = number::<8>(elf.data, at)?;
        let info = number::<8>(elf.data, at + 8)?;
        let addend = number::<8>(elf.data, at + 16)?;
        if RELATIVE.contains(&(elf.machine, info)) {
            self.relative.push(Pointer { place, target: addend, stored: at + 16 });
            return Some(());
        }
        let value = match info >> 32 {
            0 => 0,
            index => elf.word(dynamic.get(&tag::SYMBOLS)?.checked_add(index * 24 + 8)?)?,
        };
        self.symbolic.push((place, value.wrapping_add(addend)));
        Some(())
    }

    fn packed(&mut self, elf: &Elf<'_>, start: u64, count: u64) -> Option<()> {
        let mut base = 0u64;
        for index in 0..count {
            let entry = number::<8>(elf.data, start + index * 8)?;
            if entry % 2 == 0 {
                self.in_place(elf, entry)?;
                base = entry.checked_add(8)?;
            } else {
                for bit in 0..63 {
                    if entry >> (bit + 1) & 1 != 0 {
                        self.in_place(elf, base.checked_add(bit * 8)?)?;
                    }
                }
                base = base.checked_add(63 * 8)?;
            }
        }
        Some(())
    }

    fn in_place(&mut self, elf: &Elf<'_>, place: u64) -> Option<()> {
        self.relative.push(Pointer { place, target: elf.word(place)?, stored: elf.place(place, 8)? });
        Some(())
    }
}

/// What the dynamic section says; empty where there is none.
pub(super) fn dynamic(elf: &Elf<'_>) -> Option<BTreeMap<u64, u64>> {
    let mut found = BTreeMap::new();
    let Some(segment) = elf.segments.iter().find(|segment| segment.is_dynamic()) else { return Some(found) };
    let start = elf.place(segment.vaddr, segment.file_size)?;
    for at in (0..segment.file_size / 16).map(|index| start + index * 16) {
        let tag = number::<8>(elf.data, at)?;
        if tag == 0 {
            break;
        }
        found.insert(tag, number::<8>(elf.data, at + 8)?);
    }
    // Relocations without addends are not read.
    (!found.contains_key(&tag::REL)).then_some(found)
}

/// Fields of the old file that follow, and the new addresses that they lead to.
pub(super) struct Followed {
    pub fields: Vec<Range<u64>>,
    pub reached: BTreeSet<u64>,
}

/// Compares where pointers lead. `fatbinaries` says where each one went, and `resources` which sections are made of such.
pub(super) fn compare(
    files: &Files<'_>,
    (old, new): (&Pointers, &Pointers),
    moves: &[Move<'_>],
    fatbinaries: &BTreeMap<u64, u64>,
    resources: &[Resources<'_>],
    differences: &mut Vec<Difference>,
) -> Checked<Followed> {
    if old.relative.len() != new.relative.len() || old.symbolic != new.symbolic {
        return Err(grown("it has other relocations"));
    }
    let leads_back =
        |target: u64| moves.iter().any(|moved| target.wrapping_sub(moved.old.addr) < moved.old.size);
    let mut fields = Vec::new();
    let mut reached = BTreeSet::new();
    let mut paired = BTreeMap::new();
    for section in resources {
        paired.extend(&section.halves);
        reached.extend(section.fatbinaries());
    }
    for (was, is) in old.relative.iter().zip(&new.relative) {
        let half = paired.get(&was.place).copied();
        let expected = half.or(fatbinaries.get(&was.target).copied()).unwrap_or(was.target);
        if (is.place, is.target) != (was.place, expected) || leads_back(is.target) {
            let text = |pointer: &Pointer| format!("{:#x} at {:#x}", pointer.target, pointer.place);
            let change = Change::Structure { what: "a pointer", was: text(was), is: text(is) };
            differences.push(Difference::new("relocations", Some(is.stored), change));
            continue;
        }
        if is.target == was.target {
            continue;
        }
        let magic = was.place.checked_sub(8).and_then(|start| files.old.word(start));
        if half.is_none() && magic.is_none_or(|magic| magic & 0xffff_ffff != WRAPPER_MAGIC) {
            let what = format!("the pointer at {:#x} follows a fatbinary and is not a wrapper's", was.place);
            differences.push(*grown(what));
        }
        reached.insert(is.target);
        fields.push(was.stored..was.stored + 8);
        // The place may hold the address as well, which the loader writes over.
        let place = files.old.place(was.place, 8).filter(|&place| place != was.stored);
        if let Some(place) = place
            && (files.old.word(was.place), files.new.word(is.place)) == (Some(was.target), Some(is.target))
        {
            fields.push(place..place + 8);
        }
    }
    for (place, target) in &old.symbolic {
        if leads_back(*target) {
            differences.push(*grown(format!("the pointer at {place:#x} leads to a section that moved")));
        }
    }
    Ok(Followed { fields, reached })
}
