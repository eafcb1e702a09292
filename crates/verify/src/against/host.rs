//! Goal: a host file that got longer is loaded as the old one was, and its wrappers lead to the same fatbinaries.
//!
//! A linked file may give sections of fatbinaries a new place behind everything else. What has to hold then:
//!
//! * **The new file is the old one with bytes put in** where the last segment ended in the file. All other bytes are the same but for
//!   fields that are looked at one by one.
//! * **Segments** are where they were, and only the one with the highest addresses is longer. What it had beyond its bytes in the
//!   file, zeros, it has as zeros in the file. Nothing else was loaded from behind the place where bytes were put in. So every
//!   address that was mapped holds what it held, but for the pointers below; the dynamic section and everything that it names
//!   cannot have changed either.
//! * **Sections** are where they were; those that are not loaded by so much further back; those that moved hold as many fatbinaries as
//!   before, are in the new part of the segment, and do not overlap.
//! * **Pointers** (`pointers`) that led to a fatbinary of a section that moved lead to the same one now, each is that of a wrapper,
//!   every fatbinary that is not as it was is led to, and nothing leads to where it was.
//! * **Resources** (`resources`): a section of another name may move where it is nothing but resources, fatbinaries among them, that pairs
//!   of relocated pointers delimit. Both pointers of every pair follow, and the resources between fatbinaries are the same bytes.
//! * **Symbols** of sections that moved follow.
//!
//! What is inside the fatbinaries is compared as ever; this says where they are.

mod elf;
mod pointers;
mod resources;

use super::container::Stretch;
use super::cubin::byte_difference;
use super::{Change, Difference};
use elf::{Elf, Section, Segment, number};
use pointers::Pointers;
use resources::Resources;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Sections that hold nothing but fatbinaries.
const DEVICE_CODE: [&[u8]; 2] = [b".nv_fatbin", b"__nv_relfatbin"];
/// The first bytes of a fatbinary.
const FATBINARY: u64 = 0xba55_ed50;
/// More than this is never between the longer segment and what follows it in the file.
const MOST_PADDING: u64 = 4096;

/// Where to look inside a file that got longer.
pub(super) struct Grown {
    /// Fatbinaries, and sections of them.
    pub stretches: Vec<Stretch>,
    /// What is not as it should be.
    pub differences: Vec<Difference>,
}

/// Compares everything but the fatbinaries. `all` are the places of the original where one starts.
///
/// # Errors
/// With the first thing that makes the files too different to compare more.
pub(super) fn compare(old: &[u8], new: &[u8], all: &BTreeSet<u64>) -> Checked<Grown> {
    let unreadable = || grown("its headers, or those of the original, cannot be read");
    let files =
        Files { old: Elf::read(old).ok_or_else(unreadable)?, new: Elf::read(new).ok_or_else(unreadable)? };
    let growth = files.segments()?;
    let moves = files.sections(&growth, all)?;
    files.put_in(&growth, &moves)?;
    let mut found = Grown { stretches: Vec::new(), differences: Vec::new() };
    let mut fatbinaries: BTreeMap<u64, u64> = BTreeMap::new();
    let mut pairs: Vec<(u64, Range<u64>, Range<u64>)> = Vec::new();
    let (old_pointers, new_pointers) = Pointers::of(&files)?;
    let mut resources = Vec::new();
    for moved in &moves {
        let inside = if DEVICE_CODE.contains(&moved.old.name) {
            files.fatbinaries(moved)?
        } else {
            let section = Resources::read(&files, moved, all, &old_pointers)?;
            let inside = section.inside.clone();
            resources.push(section);
            inside
        };
        for (was, is) in inside {
            let address = moved.new.addr + (is.start - moved.new.offset);
            fatbinaries.insert(moved.old.addr + (was.start - moved.old.offset), address);
            pairs.push((address, was, is));
        }
    }
    let mut excused = files.header_fields(&growth);
    let followed = pointers::compare(
        &files,
        (&old_pointers, &new_pointers),
        &moves,
        &fatbinaries,
        &resources,
        &mut found.differences,
    )?;
    excused.extend(followed.fields);
    for (address, was, is) in pairs {
        // Who uses one that nothing leads to cannot be told, and may use the old one.
        let is_same = part(old, &was) == part(new, &is);
        if !followed.reached.contains(&address) && !is_same {
            let what = format!("nothing leads to the fatbinary at {address:#x}, which is not as it was");
            found.differences.push(*grown(what));
        }
        found.stretches.push(Stretch { old: was, new: is, resized: true });
    }
    excused.extend(files.symbols(&moves, &fatbinaries, &resources, &mut found.differences)?);
    // Fatbinaries that stay are compared like those that move.
    for (was, is) in files.old.sections.iter().zip(&files.new.sections) {
        if DEVICE_CODE.contains(&was.name) && was.has_bytes() && was.addr == is.addr {
            found.stretches.push(Stretch { old: was.in_file(), new: is.in_file(), resized: false });
            excused.push(was.in_file());
        } else if was.addr == is.addr && was.has_bytes() && was.is_loaded() {
            // Those among other data, too: nothing around them changes.
            for &start in all.range(was.in_file()) {
                let end = number::<2>(old, start + 6)
                    .and_then(|header| start.checked_add(header)?.checked_add(number::<8>(old, start + 8)?));
                let Some(end) = end.filter(|&end| end <= was.in_file().end) else {
                    return Err(grown(format!("the fatbinary at {start:#x} cannot be read")));
                };
                let new = growth.moved(start)..growth.moved(start) + (end - start);
                found.stretches.push(Stretch { old: start..end, new, resized: false });
                excused.push(start..end);
            }
        }
    }
    excused.sort_by_key(|range| range.start);
    found.differences.extend(files.bytes(&growth, &excused));
    Ok(found)
}

/// A part of a file; reading has checked that it is there.
fn part<'d>(file: &'d [u8], at: &Range<u64>) -> &'d [u8] {
    &file[at.start as usize..at.end as usize]
}

/// Both files.
struct Files<'d> {
    old: Elf<'d>,
    new: Elf<'d>,
}

/// The segment that is longer, and how bytes were put in.
struct Growth {
    index: usize,
    old: Segment,
    new: Segment,
    /// Where the bytes were put in.
    cut: u64,
    /// How many.
    shift: u64,
}

impl Growth {
    /// Where a byte of the old file is now.
    fn moved(&self, at: u64) -> u64 {
        if at < self.cut { at } else { at + self.shift }
    }
}

/// A section that has another place.
#[derive(Clone, Copy)]
struct Move<'d> {
    index: usize,
    old: Section<'d>,
    new: Section<'d>,
}

/// Something, or the first difference that is in the way of looking further.
type Checked<T> = Result<T, Box<Difference>>;

fn grown(what: impl Into<String>) -> Box<Difference> {
    Box::new(Difference::new("file", None, Change::Grown(what.into())))
}

impl<'d> Files<'d> {
    /// All segments are where they were, and only the one with the highest addresses is longer.
    fn segments(&self) -> Checked<Growth> {
        let (old, new) = (&self.old.segments, &self.new.segments);
        if old.len() != new.len() || self.old.segment_table != self.new.segment_table {
            return Err(grown("it has another table of segments"));
        }
        let longer: Vec<usize> = (0..old.len()).filter(|&index| old[index] != new[index]).collect();
        let &[index] = &longer[..] else {
            return Err(grown(format!("{} segments are different", longer.len())));
        };
        let (was, is) = (old[index], new[index]);
        let wrong = |what: &str| Err(grown(format!("segment {index} {what}")));
        if (Segment { file_size: is.file_size, memory_size: is.memory_size, ..was }) != is || !was.is_loaded()
        {
            return wrong("is not the same but for its size");
        }
        if is.file_size != is.memory_size || is.memory_size <= was.memory_size {
            return wrong("does not hold in the file all that it had in memory");
        }
        let end = was.offset.checked_add(was.file_size);
        let shift = (self.new.data.len() as u64).checked_sub(self.old.data.len() as u64);
        let (Some(cut), Some(shift)) = (end, shift) else { return wrong("is damaged") };
        let behind = |segment: &Segment| {
            let in_file = segment.offset.checked_add(segment.file_size);
            segment.file_size > 0 && in_file.is_none_or(|end| end > cut)
        };
        if old.iter().any(behind) {
            return Err(grown("something was loaded from behind the place that bytes were put in at"));
        }
        let above = |(other, segment): (usize, &Segment)| {
            let end = segment.vaddr.checked_add(segment.memory_size);
            other != index && segment.is_loaded() && end.is_none_or(|end| end > was.vaddr)
        };
        if old.iter().enumerate().any(above) {
            return wrong("is longer, and is not the one with the highest addresses");
        }
        let more = is.file_size - was.file_size;
        let fits =
            is.vaddr.checked_add(is.memory_size).is_some() && more <= shift && shift - more < MOST_PADDING;
        if !fits {
            return wrong("is not longer by what was put in");
        }
        Ok(Growth { index, old: was, new: is, cut, shift })
    }

    /// Sections are the same, but for where they are. Gives those that hold fatbinaries and have another address; `all` are where those start.
    fn sections(&self, growth: &Growth, all: &BTreeSet<u64>) -> Checked<Vec<Move<'d>>> {
        let (old, new) = (&self.old.sections, &self.new.sections);
        if old.len() != new.len() || growth.moved(self.old.section_table) != self.new.section_table {
            return Err(grown("it has another table of sections"));
        }
        let table_end = self.old.section_table + old.len() as u64 * elf::SECTION;
        if self.old.section_table < growth.cut && table_end > growth.cut {
            return Err(grown("bytes were put into the table of sections"));
        }
        let mut moves = Vec::new();
        for (index, (&was, &is)) in old.iter().zip(new).enumerate() {
            let place = Section { addr: is.addr, offset: is.offset, size: is.size, kind: is.kind, ..was };
            let wrong = |what: &str| Err(grown(format!("section {} {what}", was.text())));
            if place != is {
                return wrong("is another one");
            }
            let mapped =
                is.addr.checked_sub(growth.new.vaddr).and_then(|at| growth.new.offset.checked_add(at));
            if is.addr != was.addr {
                let holds_any = was.is_constant() && all.range(was.in_file()).next().is_some();
                let is_device_code = DEVICE_CODE.contains(&was.name) && was.is_plain();
                let moves_in = was.kind == is.kind && (is_device_code || holds_any);
                let (start, end) = (growth.old.end(), growth.new.end());
                let inside = is.addr >= start && is.addr.checked_add(is.size).is_some_and(|to| to <= end);
                let aligned = is.addr.is_multiple_of(was.align.max(8));
                if !moves_in || !inside || !aligned || mapped != Some(is.offset) {
                    return wrong("has another address");
                }
                moves.push(Move { index, old: was, new: is });
                continue;
            }
            if is.size != was.size {
                return wrong("has another size");
            }
            if is.kind != was.kind {
                let zeros = growth.old.vaddr + growth.old.file_size..=growth.old.end();
                let end = was.addr.checked_add(was.size);
                let inside = zeros.contains(&was.addr) && end.is_some_and(|end| zeros.contains(&end));
                if !was.takes_no_room() || !is.is_plain() || !inside || mapped != Some(is.offset) {
                    return wrong("is of another kind");
                }
                continue;
            }
            let shifted = was.has_bytes() && !was.is_loaded();
            let expected = if shifted { growth.moved(was.offset) } else { was.offset };
            let cut = was.has_bytes() && was.offset < growth.cut && was.in_file().end > growth.cut;
            let loaded_behind = was.is_loaded() && was.has_bytes() && was.in_file().end > growth.cut;
            if is.offset != expected || cut || (loaded_behind && was.size > 0) {
                return wrong("is at another place of the file");
            }
        }
        Ok(moves)
    }

    /// What was put in is sections that moved, one behind the other, and zeros.
    fn put_in(&self, growth: &Growth, moves: &[Move<'_>]) -> Checked<()> {
        let mut order: Vec<Range<u64>> = moves.iter().map(|moved| moved.new.in_file()).collect();
        order.sort_by_key(|range| (range.start, range.end));
        if moves.iter().map(|moved| moved.new.addr + moved.new.size).max() != Some(growth.new.end()) {
            return Err(grown("its last segment does not end with a section that moved"));
        }
        let end = growth.cut + growth.shift;
        order.push(end..end);
        let mut at = growth.cut;
        for range in order {
            let between = self.new.data.get(at as usize..range.start as usize);
            let Some(between) = between else { return Err(grown("sections overlap")) };
            if let Some(first) = between.iter().position(|&byte| byte != 0) {
                let change = Change::Byte { was: 0, is: between[first] };
                return Err(Difference::new("what was zero", Some(at + first as u64), change).into());
            }
            at = range.end;
        }
        Ok(())
    }

    /// The fatbinaries of a section that moved, in both files.
    fn fatbinaries(&self, moved: &Move<'_>) -> Checked<Vec<(Range<u64>, Range<u64>)>> {
        let walk = |elf: &Elf<'_>, section: &Section<'_>| -> Option<Vec<Range<u64>>> {
            let bytes = elf.data.get(section.in_file().start as usize..section.in_file().end as usize)?;
            let (mut found, mut at) = (Vec::new(), 0);
            while let Some(padding) = bytes.get(at..)?.iter().position(|&byte| byte != 0) {
                at += padding;
                if number::<4>(bytes, at as u64)? != FATBINARY {
                    return None;
                }
                let header = number::<2>(bytes, at as u64 + 6)?;
                let end = (at as u64).checked_add(header)?.checked_add(number::<8>(bytes, at as u64 + 8)?)?;
                if header < 16 || end > bytes.len() as u64 {
                    return None;
                }
                found.push(section.offset + at as u64..section.offset + end);
                at = end as usize;
            }
            Some(found)
        };
        let (old, new) = (walk(&self.old, &moved.old), walk(&self.new, &moved.new));
        let name = moved.old.text();
        let (Some(old), Some(new)) = (old, new) else {
            return Err(grown(format!("the fatbinaries of {name} cannot be read")));
        };
        let align = moved.old.align.max(8);
        let phase = |range: &Range<u64>, section: &Section<'_>| (range.start - section.offset) % align;
        let same_phase =
            |(was, is): (&Range<u64>, &Range<u64>)| phase(was, &moved.old) == phase(is, &moved.new);
        let rest = |all: &[Range<u64>], section: &Section<'_>| {
            section.in_file().end - all.last().map_or(section.offset, |last| last.end)
        };
        let same_rest = rest(&old, &moved.old) == rest(&new, &moved.new);
        if old.len() != new.len() || !old.iter().zip(&new).all(same_phase) || !same_rest {
            return Err(grown(format!("{name} does not hold as many fatbinaries with the same alignment")));
        }
        Ok(old.into_iter().zip(new).collect())
    }

    /// Fields of headers that have been looked at, as places of the old file.
    fn header_fields(&self, growth: &Growth) -> Vec<Range<u64>> {
        let sizes = self.old.segment_table + growth.index as u64 * elf::SEGMENT + 32;
        let sections =
            self.old.section_table..self.old.section_table + self.old.sections.len() as u64 * elf::SECTION;
        vec![elf::SECTION_TABLE..elf::SECTION_TABLE + 8, sizes..sizes + 16, sections]
    }

    /// Symbols of sections that moved follow; gives their fields.
    fn symbols(
        &self,
        moves: &[Move<'_>],
        fatbinaries: &BTreeMap<u64, u64>,
        resources: &[Resources<'_>],
        differences: &mut Vec<Difference>,
    ) -> Checked<Vec<Range<u64>>> {
        let mut fields = Vec::new();
        for (was, is) in self.old.sections.iter().zip(&self.new.sections) {
            if !was.is_symbols() {
                continue;
            }
            for at in (0..was.size / elf::SYMBOL).map(|index| index * elf::SYMBOL) {
                let read = |elf: &Elf<'_>, offset: u64| {
                    Some((number::<8>(elf.data, offset + at)?, number::<8>(elf.data, offset + at + 8)?))
                };
                let (old, new) = (read(&self.old, was.offset), read(&self.new, is.offset));
                let (Some((head, old)), Some((_, new))) = (old, new) else {
                    return Err(grown("its symbols cannot be read"));
                };
                let section = (head >> 48) as usize;
                let Some(moved) = moves.iter().find(|moved| moved.index == section) else { continue };
                let of_section = head >> 32 & 0xf == elf::SECTION_SYMBOL;
                let of_resources = resources.iter().find(|resources| resources.moved.index == section);
                let known = match of_resources {
                    Some(resources) => resources.edge(old),
                    None => fatbinaries.get(&old).copied(),
                };
                // Who has the size of a resource by its symbol, or sees it from another file, would go on with the old one.
                let size = number::<8>(self.old.data, was.offset + at + 16);
                let is_asked_for = of_resources.is_some() && (was.is_dynamic_symbols() || size != Some(0));
                let expected = match known {
                    _ if is_asked_for => None,
                    Some(new) if !of_section => Some(new),
                    _ if old == moved.old.addr => Some(moved.new.addr),
                    _ if old == moved.old.addr + moved.old.size => Some(moved.new.addr + moved.new.size),
                    _ => None,
                };
                if expected == Some(new) {
                    fields.push(was.offset + at + 8..was.offset + at + 16);
                } else {
                    let (was, is) = (format!("{old:#x}"), format!("{new:#x}"));
                    let change = Change::Structure { what: "a symbol of a section that moved", was, is };
                    differences.push(Difference::new("symbols", Some(at), change));
                }
            }
        }
        Ok(fields)
    }

    /// All bytes that were there are still there, but for the excused ones, which are in order.
    fn bytes(&self, growth: &Growth, excused: &[Range<u64>]) -> Option<Difference> {
        let cut = growth.cut as usize;
        let behind = cut + growth.shift as usize;
        let is_excused = |at: u64| {
            let after = excused.partition_point(|range| range.start <= at);
            // Ranges do not overlap, but for those of sections and of what was found in them.
            excused[..after].iter().rev().take(2).any(|range| range.contains(&at))
        };
        let (old, new) = (self.old.data, self.new.data);
        byte_difference("file", &old[..cut], &new[..cut], 0, is_excused).or_else(|| {
            byte_difference("file", &old[cut..], &new[behind..], cut as u64, |at| is_excused(at + cut as u64))
        })
    }
}
