//! Goal: two cubins, section by section.

use super::baggage::{Baggage, Numbers, names_instructions};
use super::order::{self, Side};
use super::{Change, Comparison, Difference, frames, layout, lines};
use rayon::prelude::*;
use sassafras_cubin::{Attribute, Code, Cubin, Format, OffsetLayout, Section};

/// Sections of full debug data: they speak of instruction ranges in ways that are not compared.
const FULL_DEBUG_DATA: [&str; 6] = [
    ".debug_info",
    ".debug_loc",
    ".debug_ranges",
    ".debug_aranges",
    ".nv_debug_info_reg_sass",
    ".nv_debug_info_reg_type",
];

/// Whether `new` is a legal reordering of `old`.
pub fn cubins(old: &Cubin<'_>, new: &Cubin<'_>) -> Comparison {
    let instructions = |cubin: &Cubin<'_>| -> u64 {
        cubin
            .code()
            .iter()
            .map(|code| code.bytes.len() as u64 / cubin.sm().slot_bytes().unwrap_or(8) as u64)
            .sum()
    };
    let mut found = Comparison { cubins: 1, ..Comparison::default() };
    if old.data() == new.data() {
        found.instructions = instructions(old);
        return found;
    }
    let pair = Pair { old, new };
    if let Some(difference) = pair.structure() {
        found.differences.push(difference);
        return found;
    }
    pair.other_bytes(&mut found.differences);
    let mut numbers = Numbers::default();
    let (old_baggage, new_baggage) = pair.baggage(&mut numbers, &mut found.differences);
    let parts: Vec<Comparison> = (0..old.code().len())
        .into_par_iter()
        .map(|index| {
            let (old_code, new_code) = (&old.code()[index], &new.code()[index]);
            let mut part = Comparison::default();
            pair.attributes(old_code, new_code, &mut part.differences);
            let old_side = Side::new(old_code, &old_baggage[index].1);
            let new_side = Side::new(new_code, &new_baggage[index].1);
            let ragged = old_code.bytes.len() % 16 != 0 && old_code.bytes != new_code.bytes;
            if ragged || old.sm().slot_bytes() != Some(16) && old_code.bytes != new_code.bytes {
                let section = old.sections()[old_code.section].name;
                let what = format!("instructions of {} do not move one by one", old.sm());
                part.differences.push(Difference::new(section, None, Change::Unreadable(what)));
                return part;
            }
            part.absorb(order::compare(old, old_code, &old_side, (new, new_code), &new_side, &numbers));
            if part.moved + part.renamed > 0 {
                pair.unknown_attributes(old_code, new_code, &mut part.differences);
            }
            part
        })
        .collect();
    for part in parts {
        found.absorb(part);
    }
    if found.moved + found.renamed > 0 {
        let mut sections = old.sections().iter();
        if let Some(section) =
            sections.find(|s| FULL_DEBUG_DATA.contains(&s.name) && !s.file_range.is_empty())
        {
            let what = "full debug data".to_owned();
            found.differences.push(Difference::new(section.name, None, Change::Unfollowed(what)));
        }
    }
    found
}

type Parts = Vec<(usize, Baggage)>;

struct Pair<'a, 'd> {
    old: &'a Cubin<'d>,
    new: &'a Cubin<'d>,
}

impl Pair<'_, '_> {
    /// The same sections of the same kinds. What follows relies on it.
    fn structure(&self) -> Option<Difference> {
        let changed = |what, was: String, is: String| Change::Structure { what, was, is };
        let (old, new) = (self.old.sections(), self.new.sections());
        if old.len() != new.len() {
            let change = changed("the number of sections", old.len().to_string(), new.len().to_string());
            return Some(Difference::new("section headers", None, change));
        }
        for (old, new) in old.iter().zip(new) {
            let header = |section: &Section<'_>| {
                let Section { name, kind, flags, link, info, align, .. } = section;
                format!(
                    "{name} (type {kind:#x}, flags {flags:#x}, link {link}, info {info:#x}, align {align})"
                )
            };
            if header(old) != header(new) {
                return Some(Difference::new(
                    old.name,
                    None,
                    changed("the section header", header(old), header(new)),
                ));
            }
            if old.size != new.size && !lines::TABLES.contains(&old.name) {
                let change = changed("the size", old.size.to_string(), new.size.to_string());
                return Some(Difference::new(old.name, None, change));
            }
        }
        (self.old.sm() != self.new.sm()).then(|| {
            let change = changed("the SM", self.old.sm().to_string(), self.new.sm().to_string());
            Difference::new("ELF header", Some(48), change)
        })
    }

    /// Sections that are compared by what they say.
    fn followed(&self) -> Vec<bool> {
        let mut followed = vec![false; self.old.sections().len()];
        let tables = || self.old.relocations().iter();
        for code in self.old.code() {
            followed[code.section] = true;
            if let Some(section) = code.attribute_section {
                followed[section] = true;
            }
            tables().filter(|t| t.target == code.section).for_each(|t| followed[t.section] = true);
        }
        for name in lines::TABLES {
            if let Some((index, _)) = self.old.section_named(name) {
                followed[index] = true;
                tables().filter(|t| t.target == index).for_each(|t| followed[t.section] = true);
            }
        }
        if let Some((index, _)) = self.old.section_named(frames::SECTION) {
            followed[index] = true;
        }
        followed
    }

    /// Everything else is the same byte for byte.
    fn other_bytes(&self, differences: &mut Vec<Difference>) {
        let followed = self.followed();
        for (index, (old, new)) in self.old.sections().iter().zip(self.new.sections()).enumerate() {
            if !followed[index] {
                let (was, is) = (self.old.section_bytes(old), self.new.section_bytes(new));
                differences.extend(byte_difference(old.name, was, is, 0, |_| false));
            }
        }
        layout::compare(self.old, self.new, |name| lines::TABLES.contains(&name), differences);
    }

    /// What the instructions of both files carry, and the parts of line tables and call frames that stay.
    fn baggage(&self, numbers: &mut Numbers, differences: &mut Vec<Difference>) -> (Parts, Parts) {
        let read = |cubin: &Cubin<'_>, numbers: &mut Numbers| {
            let mut parts: Parts = (cubin.code().iter())
                .map(|code| {
                    let mut baggage = Baggage::new(code);
                    baggage.relocations(cubin, code, numbers);
                    baggage.attributes(code, numbers);
                    (code.section, baggage)
                })
                .collect();
            let tables = lines::TABLES.map(|name| lines::read(cubin, name, &mut parts, numbers));
            let frames = frames::read(cubin, &mut parts, numbers);
            parts.iter_mut().for_each(|(_, baggage)| baggage.finish());
            (parts, tables, frames)
        };
        let (old, old_tables, old_frames) = read(self.old, numbers);
        let (new, new_tables, new_frames) = read(self.new, numbers);
        for (index, name) in lines::TABLES.into_iter().enumerate() {
            match (&old_tables[index], &new_tables[index]) {
                (Some(old), Some(new)) if old == new => {}
                (None, None) => self.unread(name, differences),
                _ => {
                    let what = "sequences, file names or base addresses are not the same".to_owned();
                    differences.push(Difference::new(name, None, Change::Unfollowed(what)));
                }
            }
        }
        match (old_frames, new_frames) {
            (Some(old), Some(new)) if old == new => {}
            (None, None) => self.unread(frames::SECTION, differences),
            _ => {
                let what = "descriptions or rows are not the same".to_owned();
                differences.push(Difference::new(frames::SECTION, None, Change::Unfollowed(what)));
            }
        }
        (old, new)
    }

    /// A section whose form is not known may be there as long as no code moves.
    fn unread(&self, name: &'static str, differences: &mut Vec<Difference>) {
        let (Some((_, old)), Some((_, new))) = (self.old.section_named(name), self.new.section_named(name))
        else {
            return;
        };
        let (was, is) = (self.old.section_bytes(old), self.new.section_bytes(new));
        differences.extend(byte_difference(name, was, is, 0, |_| false));
        let mut code = self.old.code().iter().zip(self.new.code());
        if !was.is_empty() && code.any(|(old, new)| old.bytes != new.bytes) {
            let what = "its form is not known".to_owned();
            differences.push(Difference::new(name, None, Change::Unfollowed(what)));
        }
    }

    /// The same attributes, and the same payloads where they name no instruction.
    fn attributes(&self, old: &Code<'_>, new: &Code<'_>, differences: &mut Vec<Difference>) {
        let section = old.attribute_section.map_or("attributes", |index| self.old.sections()[index].name);
        if old.attributes.len() != new.attributes.len() {
            let change = Change::Structure {
                what: "the number of attributes",
                was: old.attributes.len().to_string(),
                is: new.attributes.len().to_string(),
            };
            differences.push(Difference::new(section, None, change));
            return;
        }
        for (old, new) in old.attributes.iter().zip(&new.attributes) {
            let at = Some(new.payload_range.start as u64);
            let head = |a: &Attribute<'_>| (a.kind, a.format, a.value);
            if head(old) != head(new) {
                let text = |a: &Attribute<'_>| format!("{} ({:?}, {:#x})", a.kind, a.format, a.value);
                let change = Change::Structure { what: "the attribute", was: text(old), is: text(new) };
                differences.push(Difference::new(section, at, change));
            } else if !names_instructions(old) {
                let start = new.payload_range.start as u64;
                differences.extend(byte_difference(section, old.payload, new.payload, start, |_| false));
            } else if let OffsetLayout::Records { words, at: offset } = old.kind.offsets() {
                let sorted = |a: &Attribute<'_>| a.words().skip(offset).step_by(words).is_sorted();
                if sorted(old) && !sorted(new) {
                    differences.push(Difference::new(section, at, Change::Unsorted(old.kind.to_string())));
                }
            }
        }
    }

    /// An attribute of unknown layout may hold the offset of an instruction that moved.
    fn unknown_attributes(&self, old: &Code<'_>, new: &Code<'_>, differences: &mut Vec<Difference>) {
        let section = old.attribute_section.map_or("attributes", |index| self.old.sections()[index].name);
        let unknown =
            |a: &&Attribute<'_>| a.format == Format::Sized && a.kind.offsets() == OffsetLayout::Unknown;
        for attribute in old.attributes.iter().filter(unknown) {
            for (index, word) in attribute.words().enumerate() {
                let slot = word as usize..(word as usize).saturating_add(16);
                if word % 16 == 0 && old.bytes.get(slot.clone()) != new.bytes.get(slot) {
                    let at = attribute.payload_range.start as u64 + 4 * index as u64;
                    let what = format!("{} holds {word:#x}", attribute.kind);
                    differences.push(Difference::new(section, Some(at), Change::Unfollowed(what)));
                }
            }
        }
    }
}

/// The first byte that differs and is not excused, or the length.
pub(super) fn byte_difference(
    section: &str,
    was: &[u8],
    is: &[u8],
    base: u64,
    excused: impl Fn(u64) -> bool,
) -> Option<Difference> {
    if was == is {
        return None;
    }
    if was.len() != is.len() {
        let change = Change::Structure {
            what: "the number of bytes",
            was: was.len().to_string(),
            is: is.len().to_string(),
        };
        return Some(Difference::new(section, Some(base), change));
    }
    let mut bytes = was.iter().zip(is).zip(0u64..);
    let ((&was, &is), at) = bytes.find(|((was, is), at)| was != is && !excused(*at))?;
    Some(Difference::new(section, Some(base + at), Change::Byte { was, is }))
}
