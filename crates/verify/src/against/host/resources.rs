//! Goal: a section of resources that moved still holds the same ones, and who asks for one gets it with its size.
//!
//! Such a section is a row of resources, some of them fatbinaries. Two relocated words next to each other say where one starts and
//! where it ends, and the end of one is where the next starts. What has to hold, on top of what holds for every section that moves:
//!
//! * The words that lead into the section, or right behind it, go two by two, each two are around one resource, and the resources are all of
//!   the section. Both words of each two follow, so that they are around the same resource as before; no word goes alone.
//! * Fatbinaries are resources of their own with zeros behind them; everything between fatbinaries is the same bytes.
//! * Code takes no address where a resource starts or ends: what it found would be the old place, and a size reckoned from an old and a new
//!   address would be wrong. Nothing is relocated inside of the section.

use super::elf::number;
use super::pointers::{Pointer, Pointers, dynamic};
use super::{Checked, Difference, Files, Move, grown, part};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The tag of the dynamic section that names the table of addresses for calls.
const CALL_ADDRESSES: u64 = 3;
const AARCH64: u64 = 183;

/// A section that moved and is made of resources.
pub(super) struct Resources<'d> {
    pub moved: Move<'d>,
    /// Fatbinaries as places of the files.
    pub inside: Vec<(Range<u64>, Range<u64>)>,
    /// Words that lead here, by their place, with where they have to lead now.
    pub halves: BTreeMap<u64, u64>,
    /// Places between resources, as addresses, with where they are now.
    edges: BTreeMap<u64, u64>,
}

impl<'d> Resources<'d> {
    /// Finds the fatbinaries of both files, compares what is between them, and finds what leads there.
    pub fn read(
        files: &Files<'_>,
        moved: &Move<'d>,
        all: &BTreeSet<u64>,
        pointers: &Pointers,
    ) -> Checked<Resources<'d>> {
        let (old, new) = (moved.old.in_file(), moved.new.in_file());
        let name = moved.old.text();
        let wrong = |what: &str| grown(format!("section {name} moved, and {what}"));
        let end = |data: &[u8], start: u64| {
            (number::<4>(data, start)? == super::FATBINARY).then(|| {
                start.checked_add(number::<2>(data, start + 6)?)?.checked_add(number::<8>(data, start + 8)?)
            })?
        };
        if files.old.place(moved.old.addr, moved.old.size) != Some(old.start) {
            return Err(wrong("it was not where its segment had it"));
        }
        let (mut inside, mut was, mut is) = (Vec::new(), old.start, new.start);
        for &start in all.range(old.clone()) {
            let between = was..start;
            let length = start.checked_sub(was).ok_or_else(|| wrong("its fatbinaries overlap"))?;
            let ends = (end(files.old.data, start), end(files.new.data, is.saturating_add(length)));
            let (Some(old_end), Some(new_end)) = ends else {
                return Err(wrong("does not hold the same fatbinaries"));
            };
            if old_end > old.end || new_end > new.end {
                return Err(wrong("a fatbinary runs past its end"));
            }
            if part(files.old.data, &between) != part(files.new.data, &(is..is + length)) {
                return Err(wrong("what is between its fatbinaries is not the same"));
            }
            let place = is + length;
            if (place - new.start) % 8 != (start - old.start) % 8 {
                return Err(wrong("a fatbinary has another alignment"));
            }
            inside.push((start..old_end, place..new_end));
            (was, is) = (old_end, new_end);
        }
        if part(files.old.data, &(was..old.end)) != part(files.new.data, &(is..new.end)) {
            return Err(wrong("what is behind its fatbinaries is not the same"));
        }
        let (halves, edges) = (BTreeMap::new(), BTreeMap::new());
        let mut found = Resources { moved: *moved, inside, halves, edges };
        found.find_edges(files, pointers)?;
        found.check_code(files)?;
        Ok(found)
    }

    /// Where the new fatbinaries start, as addresses.
    pub fn fatbinaries(&self) -> impl Iterator<Item = u64> {
        self.inside.iter().map(|(_, is)| self.moved.new.addr + (is.start - self.moved.new.offset))
    }

    /// Where the place between two resources is now.
    pub fn edge(&self, address: u64) -> Option<u64> {
        self.edges.get(&address).copied()
    }

    fn wrong(&self, what: impl std::fmt::Display) -> Box<Difference> {
        grown(format!("section {} moved, and {what}", self.moved.old.text()))
    }

    /// Finds the resources by the words that lead to them, and where each of those words has to lead.
    fn find_edges(&mut self, files: &Files<'_>, pointers: &Pointers) -> Checked<()> {
        let Move { old, new, .. } = self.moved;
        let (start, end) = (old.addr, old.addr + old.size);
        if files.old.at_fixed_address {
            return Err(
                self.wrong("addresses of it may be anywhere in a file that is loaded where it was linked")
            );
        }
        let inside = |place: u64| place < end && place.saturating_add(8) > start;
        let symbolic = |&(place, target): &(u64, u64)| inside(place) || (start..end).contains(&target);
        if pointers.relative.iter().any(|word| inside(word.place)) || pointers.symbolic.iter().any(symbolic) {
            return Err(self.wrong("it is relocated inside, or a symbol of it is asked for"));
        }
        let mut words: BTreeMap<u64, u64> = BTreeMap::new();
        for Pointer { place, target, .. } in &pointers.relative {
            if (start..=end).contains(target) && words.insert(*place, *target).is_some() {
                return Err(self.wrong(format!("the word at {place:#x} is relocated twice")));
            }
        }
        // The new place of each old one that is outside of fatbinaries, by what the fatbinaries before it gained.
        let starts: Vec<(Range<u64>, u64)> = (self.inside.iter())
            .map(|(was, is)| (was.start - old.offset..was.end - old.offset, is.end - new.offset))
            .collect();
        let now = |address: u64| {
            let at = address - start;
            let before = starts[..starts.partition_point(|(was, _)| was.start < at)].last();
            let now = before.map_or(Some(at), |(was, end)| Some(end + at.checked_sub(was.end)?));
            now.map(|now| new.addr + now)
        };
        let mut ranges: BTreeSet<(u64, u64)> = BTreeSet::new();
        let mut left: Option<(u64, u64)> = None;
        let behind = words.keys().skip(1).map(|&place| Some(place)).chain([None]);
        for ((&place, &target), next) in words.iter().zip(behind) {
            let adjoins = next == place.checked_add(8);
            match left.take() {
                Some((first, other)) => {
                    ranges.insert((target.min(other), target.max(other)));
                    for (place, address) in [(first, other), (place, target)] {
                        let inside = || self.wrong(format!("the word at {place:#x} leads into a fatbinary"));
                        let now = now(address).ok_or_else(inside)?;
                        self.halves.insert(place, now);
                        self.edges.insert(address, now);
                    }
                }
                None if adjoins && next.is_some_and(|next| words[&next] != target) => {
                    left = Some((place, target))
                }
                // What follows the section starts where it ends.
                None if target == end => {}
                None => return Err(self.wrong(format!("the word at {place:#x} leads there alone"))),
            }
        }
        let mut at = start;
        for &(from, to) in &ranges {
            if from != at {
                return Err(self.wrong(format!("no two words are around what is at {at:#x}, or several are")));
            }
            at = to;
        }
        if at != end {
            return Err(self.wrong(format!("no two words are around what is at {at:#x}")));
        }
        for (was, _) in &self.inside {
            let address = start + (was.start - old.offset);
            let resource = ranges.range((address, 0)..).next().filter(|range| range.0 == address);
            let to = resource.map_or(0, |&(_, to)| old.offset + (to - start));
            if to < was.end || part(files.old.data, &(was.end..to)).iter().any(|&byte| byte != 0) {
                return Err(self.wrong(format!("the fatbinary at {address:#x} is no resource of its own")));
            }
        }
        Ok(())
    }

    /// No code takes the address of an edge.
    fn check_code(&self, files: &Files<'_>) -> Checked<()> {
        let elf = &files.old;
        let is_edge = |address: u64| self.edges.contains_key(&address);
        let pages: BTreeSet<u64> = self.edges.keys().map(|edge| edge >> 12).collect();
        let tables =
            elf.sections.iter().filter(|section| section.name == b".got" || section.name == b".got.plt");
        let mut tables: Vec<u64> = tables.map(|section| section.addr).collect();
        tables.extend(dynamic(elf).and_then(|dynamic| dynamic.get(&CALL_ADDRESSES).copied()));
        for section in elf.sections.iter().filter(|section| section.is_code()) {
            let code = part(elf.data, &section.in_file());
            let leads = |at: usize| -> bool {
                let address = section.addr.wrapping_add(at as u64);
                if elf.machine == AARCH64 {
                    // adr and adrp: 21 bits, the lowest two apart; words are at multiples of four.
                    let Some(word) = number::<4>(code, at as u64).filter(|_| at.is_multiple_of(4)) else {
                        return false;
                    };
                    let distance = (word >> 5 & 0x7_ffff) << 2 | word >> 29 & 3;
                    let distance = distance | if distance >> 20 == 1 { !0 << 21 } else { 0 };
                    let page = (address >> 12).wrapping_add(distance) & (!0 >> 12);
                    return match (word >> 24 & 0x1f, word >> 31) {
                        (0x10, 0) => is_edge(address.wrapping_add(distance)),
                        (0x10, _) => pages.contains(&page),
                        _ => false,
                    };
                }
                // A prefix with the bit for 64 bits, then lea from the next instruction on, or a number of 64 bits.
                if code[at] >> 3 != 0x48 >> 3 {
                    return false;
                }
                match code.get(at + 1) {
                    Some(0x8d) if code.get(at + 2).is_some_and(|operands| operands & 0xc7 == 5) => {
                        let distance =
                            number::<4>(code, at as u64 + 3).map(|bits| i64::from(bits as u32 as i32));
                        distance.is_some_and(|distance| {
                            is_edge(address.wrapping_add(7).wrapping_add_signed(distance))
                        })
                    }
                    Some(0xb8..=0xbf) => number::<8>(code, at as u64 + 2)
                        .is_some_and(|number| tables.iter().any(|table| is_edge(table.wrapping_add(number)))),
                    _ => false,
                }
            };
            if let Some(at) = (0..code.len()).find(|&at| leads(at)) {
                let at = section.addr + at as u64;
                return Err(self.wrong(format!("the code at {at:#x} may take the address of a resource")));
            }
        }
        Ok(())
    }
}
