//! Goal: write a cubin back with code of another length.
//!
//! [`Relayout`] says what the new slots are, [`Cubin::layout`] where everything then is, so that branches can be encoded, and
//! [`Cubin::relayout`] writes the file. What follows:
//!
//! * instructions, by their slots: entries of `.nv.info.*`, relocations of the code, source lines, rows of `.debug_frame`;
//! * positions, by the edit: symbols and their sizes, targets in `.nv.info.*`, jump tables and tables of functions in constant bank 2,
//!   addends of relocations anywhere, the ranges of `.debug_frame` and of the line tables;
//! * the file: sizes of sections and segments, and the place of everything behind them.
//!
//! `.nv.callgraph`, `.nv.prototype`, frame and stack sizes name symbols and stay. Register and barrier counts are written where the edit asks for others. What
//! is in the way is refused by name: full debug data, capsules, small slots, sections of unknown meaning, words that may be offsets or numbers.

mod attributes;
mod map;
mod tables;

use object::elf::{SHT_REL, SHT_SYMTAB};

use crate::attribute::AttributeType;
use crate::cubin::{Code, Cubin};
use crate::edit::{Reason, Refusal, RewriteOptions, words_of};
use crate::elf::Relocation;
use crate::follow_lines::Rearranged;
use crate::line_table::Slot as Line;
use crate::moves::SLOT;
use crate::{follow_frames, follow_lines, layout};

use map::NOP;
pub use map::{Layout, Origin, Relayout, Slot};

/// An edit with what it was checked against.
pub(crate) struct Resized<'c, 'd> {
    pub code: &'c Code<'d>,
    pub layout: Layout,
    edit: &'c Relayout,
}

/// Sections that name no offset of code, or whose offsets follow; by the start of the name.
const KNOWN: [&str; 23] = [
    ".shstrtab",
    ".strtab",
    ".symtab",
    ".debug_frame",
    ".debug_line",
    ".debug_str",
    ".nv_debug_line_sass",
    ".nv_debug_ptx_txt",
    ".note.",
    ".nv.info",
    ".nv.compat",
    ".nv.callgraph",
    ".nv.prototype",
    ".nv.rel.action",
    ".rel.",
    ".rela.",
    ".nv.constant",
    ".nv.global",
    ".nv.shared",
    ".nv.local",
    ".text.",
    // What is decided of capsules is decided before.
    ".nv.capmerc",
    ".nv.merc",
];

/// Bits of a code section's flags that hold the barrier count where no attribute does.
const BARRIERS_SHIFT: u32 = 20;
const BARRIERS_MASK: u64 = 0x7f << BARRIERS_SHIFT;

impl<'d> Cubin<'d> {
    /// Where instructions and positions of the old code are in the new one. The words of the edit do not matter yet.
    ///
    /// # Errors
    /// When the edit is not one of code of this cubin, or contradicts itself.
    pub fn layout(&self, edit: &Relayout) -> Result<Layout, Refusal> {
        let Some(code) = self.code().iter().find(|code| code.section == edit.section) else {
            return Err(Refusal::new("cubin", Reason::NotCode(edit.section)));
        };
        let section = &self.sections()[code.section];
        let refuse = |reason| Refusal::new(section.name, reason).of(code);
        if self.sm().slot_bytes() != Some(16) || !code.bytes.len().is_multiple_of(16) {
            return Err(refuse(Reason::SmallSlots(self.sm())));
        }
        Layout::new(edit, &words_of(code.bytes), section.align.min(4096)).map_err(refuse)
    }

    /// The cubin with the edits made. Edits that change nothing give the same bytes.
    ///
    /// # Errors
    /// A [`Refusal`] names the section and what is in the way.
    pub fn relayout(&self, edits: &[Relayout], options: RewriteOptions) -> Result<Vec<u8>, Refusal> {
        let mut plans: Vec<Resized> = Vec::new();
        for (index, edit) in edits.iter().enumerate() {
            let layout = self.layout(edit)?;
            let code = self.code().iter().find(|code| code.section == edit.section);
            let code = code.ok_or_else(|| Refusal::new("cubin", Reason::NotCode(edit.section)))?;
            if edits[..index].iter().any(|other| other.section == edit.section) {
                let name = self.sections()[code.section].name;
                return Err(Refusal::new(name, Reason::EditedTwice).of(code));
            }
            let same =
                Relayout { registers: edit.registers, barriers: edit.barriers, ..Relayout::unchanged(code) };
            let plain = edit.registers.is_none() && edit.barriers.is_none();
            if plain && same.slots == edit.slots && same.positions == edit.positions {
                continue;
            }
            self.refuse_capsule(code, options)?;
            plans.push(Resized { code, layout, edit });
        }
        let mut data = self.data.to_vec();
        if plans.is_empty() {
            return Ok(data);
        }
        self.refuse_debug_info()?;
        self.refuse_unknown_sections()?;
        let mut resized = Vec::new();
        for plan in &plans {
            self.refuse_overlap(plan.code.section, Some(plan.code))?;
            resized.push((plan.code.section, plan.words()));
            self.counts(plan, &mut data)?;
            self.jump_tables(plan, &mut data)?;
            if let Some(index) = plan.code.attribute_section {
                let section = &self.sections()[index];
                let new = attributes::follow(plan.code, &plan.layout, plan.edit.barriers)
                    .map_err(|reason| Refusal::new(section.name, reason).of(plan.code))?;
                self.refuse_overlap(index, Some(plan.code))?;
                resized.push((index, new));
            }
        }
        // Records of tables are read before symbols change, and written again where the code has copies.
        self.addends(&plans, &mut data)?;
        self.symbols_follow(&plans, &mut data)?;
        follow_frames::follow_length(self, &plans, &mut data)?;
        resized.extend(follow_lines::follow(self, &plans, &mut data)?);
        for plan in &plans {
            resized.extend(self.relocations_follow(plan, &data)?);
        }
        // What keeps its size stays where it is.
        resized.retain(|(index, new)| {
            let old = self.sections()[*index].file_range.clone();
            let fits = old.len() == new.len();
            if fits {
                data[old].copy_from_slice(new);
            }
            !fits
        });
        layout::replace_sections(self, data, resized)
    }

    fn refuse_unknown_sections(&self) -> Result<(), Refusal> {
        let known = |name: &str| name.is_empty() || KNOWN.iter().any(|start| name.starts_with(start));
        match self.sections().iter().find(|section| !known(section.name)) {
            Some(section) => Err(Refusal::new(section.name, Reason::UnknownSection)),
            None => Ok(()),
        }
    }

    /// Register and barrier counts, wherever they are.
    fn counts(&self, plan: &Resized, data: &mut [u8]) -> Result<(), Refusal> {
        let section = &self.sections()[plan.code.section];
        let refuse = |reason| Refusal::new(section.name, reason).of(plan.code);
        let header = self.section_header(plan.code.section);
        if let Some(count) = plan.edit.registers {
            attributes::check_registers(plan.code, count).map_err(refuse)?;
            let mut places = 0;
            if section.info >> 24 != 0 {
                data[header + 47] = count as u8;
                places += 1;
            }
            if let Some((index, info)) = self.section_named(".nv.info") {
                let own = |symbol: u32| self.symbols().get(symbol as usize).and_then(|symbol| symbol.section);
                for record in self.attributes.iter().filter(|record| record.kind == AttributeType::REGCOUNT) {
                    let mut words = record.words();
                    if words.len() == 2 && words.next().and_then(own) == Some(plan.code.section) {
                        self.refuse_overlap(index, Some(plan.code))?;
                        let at = info.file_range.start + record.payload_range.start + 4;
                        data[at..at + 4].copy_from_slice(&count.to_le_bytes());
                        places += 1;
                    }
                }
            }
            if places == 0 {
                return Err(refuse(Reason::NoCount("register")));
            }
        }
        if let Some(count) = plan.edit.barriers {
            if count > 16 {
                return Err(refuse(Reason::Barriers(count)));
            }
            if section.flags & BARRIERS_MASK != 0 {
                let flags = section.flags & !BARRIERS_MASK | u64::from(count) << BARRIERS_SHIFT;
                data[header + 8..header + 16].copy_from_slice(&flags.to_le_bytes());
            } else if plan.code.attribute_section.is_none() {
                return Err(refuse(Reason::NoCount("barrier")));
            }
        }
        Ok(())
    }

    /// Values and sizes of the symbols of edited code.
    fn symbols_follow(&self, plans: &[Resized], data: &mut [u8]) -> Result<(), Refusal> {
        let mut tables = self.sections().iter().enumerate();
        let Some((_, table)) = tables.find(|(_, section)| section.kind == SHT_SYMTAB.0) else {
            return Ok(());
        };
        for (index, symbol) in self.symbols().iter().enumerate() {
            let Some(plan) = plans.iter().find(|plan| symbol.section == Some(plan.code.section)) else {
                continue;
            };
            let refuse = |reason| Refusal::new(table.name, reason).of(plan.code);
            let position =
                |offset: u64| plan.layout.position(offset).ok_or_else(|| refuse(Reason::NoPosition(offset)));
            let value = position(symbol.value)?;
            let size = match symbol.size {
                0 => 0,
                size => (position(symbol.value.saturating_add(size))?.checked_sub(value))
                    .ok_or_else(|| refuse(Reason::Turned(symbol.value)))?,
            };
            let at = table.file_range.start + 24 * index;
            data[at + 8..at + 16].copy_from_slice(&value.to_le_bytes());
            data[at + 16..at + 24].copy_from_slice(&size.to_le_bytes());
        }
        Ok(())
    }

    /// The addends of relocations that compute positions of edited code.
    fn addends(&self, plans: &[Resized], data: &mut [u8]) -> Result<(), Refusal> {
        for table in self.relocations() {
            let target = &self.sections()[table.target];
            for relocation in &table.entries {
                let Some(symbol) = self.symbols().get(relocation.symbol as usize) else {
                    continue;
                };
                let Some(plan) = plans.iter().find(|plan| symbol.section == Some(plan.code.section)) else {
                    continue;
                };
                let refuse = |reason| Refusal::new(target.name, reason).of(plan.code);
                let patched = self.section_bytes(target);
                let addend = match relocation.addend {
                    Some(addend) => addend,
                    None => crate::boundary::implicit_addend(patched, relocation.offset, target.name)
                        .ok_or_else(|| {
                            refuse(Reason::ImplicitAddend {
                                section: target.name.to_owned(),
                                offset: relocation.offset,
                            })
                        })?,
                };
                let position = |offset: u64| {
                    plan.layout.position(offset).ok_or_else(|| refuse(Reason::NoPosition(offset)))
                };
                let new = position(symbol.value.wrapping_add_signed(addend))?;
                let new = new.wrapping_sub(position(symbol.value)?);
                if new == addend as u64 {
                    continue;
                }
                let at = match relocation.addend {
                    Some(_) => {
                        self.refuse_overlap(table.section, Some(plan.code))?;
                        relocation.file_offset + 16
                    }
                    // In code only zeros are read, and those stay.
                    None => {
                        self.refuse_overlap(table.target, Some(plan.code))?;
                        target.file_range.start + relocation.offset as usize
                    }
                };
                data[at..at + 8].copy_from_slice(&new.to_le_bytes());
            }
        }
        Ok(())
    }

    /// The tables of relocations that patch one code, with the records of `data`.
    fn relocations_follow(&self, plan: &Resized, data: &[u8]) -> Result<Vec<(usize, Vec<u8>)>, Refusal> {
        let mut found = Vec::new();
        for table in self.relocations().iter().filter(|table| table.target == plan.code.section) {
            self.refuse_overlap(table.section, Some(plan.code))?;
            let section = &self.sections()[table.section];
            let size = if section.kind == SHT_REL.0 { 16 } else { 24 };
            let mut records: Vec<(u64, &Relocation)> = Vec::new();
            for relocation in &table.entries {
                // Some relocations patch a field in the middle of a word.
                let within = relocation.offset % SLOT;
                let places = plan.layout.places(relocation.offset - within).ok_or_else(|| {
                    Refusal::new(section.name, Reason::MisplacedRelocation(relocation.offset)).of(plan.code)
                })?;
                records.extend(places.map(|new| (new + within, relocation)));
            }
            // As ptxas has them: ascending in linked files, descending in others.
            let offsets = || table.entries.iter().map(|relocation| relocation.offset);
            if offsets().is_sorted() {
                records.sort_by_key(|&(new, _)| new);
            } else if offsets().rev().is_sorted() {
                records.sort_by_key(|&(new, _)| std::cmp::Reverse(new));
            }
            let mut new = Vec::with_capacity(records.len() * size);
            for (offset, relocation) in records {
                new.extend(offset.to_le_bytes());
                new.extend(&data[relocation.file_offset + 8..relocation.file_offset + size]);
            }
            found.push((table.section, new));
        }
        Ok(found)
    }
}

impl Resized<'_, '_> {
    /// The new code with its padding.
    fn words(&self) -> Vec<u8> {
        let words = self.edit.slots.iter().map(|slot| slot.word).chain(std::iter::repeat(NOP));
        words.take(self.layout.origins.len()).flat_map(u128::to_le_bytes).collect()
    }
}

impl<'d> Rearranged<'d> for Resized<'_, 'd> {
    fn code(&self) -> &Code<'d> {
        self.code
    }

    fn lines(&self, base: u64, end: u64, old: &[Line]) -> Result<Vec<Line>, &'static str> {
        let position = |offset| self.layout.position(offset).ok_or("it starts or ends at no instruction");
        let (first, from, to) = (base / SLOT, position(base)? / SLOT, position(end)? / SLOT);
        let range = from as usize..to as usize;
        let origins = self.layout.origins.get(range.clone()).ok_or("it would end before it starts")?;
        let line_of = |slot: u32| {
            let index = u64::from(slot).checked_sub(first).and_then(|index| old.get(index as usize));
            index.ok_or("an instruction of another sequence would come into it")
        };
        let mut lines: Vec<Line> = Vec::with_capacity(origins.len());
        for origin in origins {
            let line = match *origin {
                Origin::Moved(slot) => line_of(slot)?.clone(),
                Origin::Copied(slot) => Line { row: line_of(slot)?.row, starts: Vec::new() },
                Origin::New => {
                    let row = lines.last().or(old.first()).ok_or("a sequence without instructions")?.row;
                    Line { row, starts: Vec::new() }
                }
            };
            lines.push(line);
        }
        // None of its own instructions may be elsewhere.
        let outside =
            (base..end).step_by(SLOT as usize).filter_map(|offset| self.layout.places(offset)).flatten();
        if outside.into_iter().any(|new| !range.contains(&((new / SLOT) as usize))) {
            return Err("an instruction would leave the sequence");
        }
        Ok(lines)
    }
}

impl Cubin<'_> {
    /// Where the header of a section is in the file.
    fn section_header(&self, section: usize) -> usize {
        self.headers[1].start + 64 * section
    }
}
