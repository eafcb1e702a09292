//! Goal: write a cubin back with code reordered, and everything that names an instruction following it.
//!
//! What follows: `.nv.info.*` attributes with offsets, relocations of the code, rows of `.debug_frame`, `.debug_line` and
//! `.nv_debug_line_sass`. What stays: branch and jump-table targets, symbols, return addresses; an instruction may not
//! cross them ([`Cubin::boundaries`]). What is in the way of either is refused by name.
//!
//! Attribute lists that ptxas writes in ascending order are sorted again. Relocations keep their place in their table:
//! ptxas writes them ascending in linked and descending in relocatable cubins, and nothing depends on it.

use std::borrow::Borrow;

use crate::cubin::{Code, Cubin};
use crate::edit::{Capsules, CodeEdit, Reason, Refusal, RewriteOptions, words_of};
use crate::follow_lines::Rearranged;
use crate::line_table::Slot;
use crate::moves::{Moves, SLOT};
use crate::{follow_attributes, follow_frames, follow_lines, layout};

/// One edit with what it was checked against.
pub(crate) struct Planned<'c, 'd> {
    pub code: &'c Code<'d>,
    pub moves: Moves,
}

impl<'d> Rearranged<'d> for Planned<'_, 'd> {
    fn code(&self) -> &Code<'d> {
        self.code
    }

    fn lines(&self, base: u64, end: u64, old: &[Slot]) -> Result<Vec<Slot>, &'static str> {
        if !self.moves.keeps_sides(base) || !self.moves.keeps_sides(end) {
            return Err("an instruction would leave the sequence");
        }
        let first = (base / SLOT) as usize;
        let mut new = old.to_vec();
        for (index, slot) in old.iter().enumerate() {
            new[self.moves.new_slot(first + index) - first] = slot.clone();
        }
        Ok(new)
    }
}

impl<'d> Cubin<'d> {
    /// The cubin with the edits made. Edits that change nothing give the same bytes.
    ///
    /// # Errors
    /// A [`Refusal`] names the section and what is in the way.
    pub fn rewrite(&self, edits: &[CodeEdit]) -> Result<Vec<u8>, Refusal> {
        self.rewrite_with(edits, RewriteOptions::default())
    }

    /// As [`Cubin::rewrite`], with choices about what cannot follow.
    ///
    /// # Errors
    /// As [`Cubin::rewrite`].
    pub fn rewrite_with(
        &self,
        edits: &[impl Borrow<CodeEdit>],
        options: RewriteOptions,
    ) -> Result<Vec<u8>, Refusal> {
        let mut data = self.data.to_vec();
        let mut plans = Vec::new();
        for (index, edit) in edits.iter().map(Borrow::borrow).enumerate() {
            let Some(code) = self.code().iter().find(|code| code.section == edit.section) else {
                return Err(Refusal::new("cubin", Reason::NotCode(edit.section)));
            };
            let refuse = |reason| Refusal::new(self.sections()[code.section].name, reason).of(code);
            if edits[..index].iter().any(|e| e.borrow().section == edit.section) {
                return Err(refuse(Reason::EditedTwice));
            }
            let old = words_of(code.bytes);
            if edit.order.len() != old.len() || edit.words.len() != old.len() {
                return Err(refuse(Reason::WrongLength { given: edit.order.len(), expected: old.len() }));
            }
            let moves = Moves::new(&edit.order).map_err(refuse)?;
            if moves.is_identity() && edit.words == old {
                continue;
            }
            if self.sm().slot_bytes() != Some(16) || code.bytes.len() % 16 != 0 {
                return Err(refuse(Reason::SmallSlots(self.sm())));
            }
            self.refuse_capsule(code, options)?;
            self.refuse_overlap(code.section, Some(code))?;
            let text = &mut data[code.file_range.clone()];
            for (slot, word) in text.chunks_exact_mut(16).zip(&edit.words) {
                slot.copy_from_slice(&word.to_le_bytes());
            }
            if !moves.is_identity() {
                self.follow_in_place(code, &moves, &mut data)?;
                plans.push(Planned { code, moves });
            }
        }
        if plans.is_empty() {
            return Ok(data);
        }
        self.refuse_debug_info()?;
        follow_frames::follow(self, &plans, &mut data)?;
        let resized = follow_lines::follow(self, &plans, &mut data)?;
        layout::replace_sections(self, data, resized)
    }

    /// Whether the code may change at all, capsules considered.
    ///
    /// # Errors
    /// When a capsule describes the code and is not to be kept, or is to be kept in an object that is still to be linked.
    pub fn refuse_capsule(&self, code: &Code, options: RewriteOptions) -> Result<(), Refusal> {
        let reason = match options.capsules {
            Capsules::Refuse => Reason::Capsule,
            Capsules::KeepLinked if self.relocatable() => Reason::CapsuleToLink,
            Capsules::KeepLinked | Capsules::Keep => return Ok(()),
        };
        let capsule = |name: &str| {
            let rest = name.strip_prefix(".nv.capmerc.text.");
            rest.is_some_and(|rest| rest == code.name)
        };
        match self.sections().iter().find(|s| capsule(s.name)) {
            Some(section) => Err(Refusal::new(section.name, reason).of(code)),
            None => Ok(()),
        }
    }

    /// Every section that a rewrite writes to must be alone in its bytes.
    pub(crate) fn refuse_overlap(&self, section: usize, code: Option<&Code>) -> Result<(), Refusal> {
        let Some(other) = self.overlapping(section) else {
            return Ok(());
        };
        let refusal = Refusal::new(self.sections()[section].name, Reason::Overlaps(other.to_owned()));
        Err(code.map_or(refusal.clone(), |code| refusal.of(code)))
    }

    /// Full debug data (`-g`) places variables and scopes by instruction ranges.
    pub(crate) fn refuse_debug_info(&self) -> Result<(), Refusal> {
        const FULL: [&str; 6] = [
            ".debug_info",
            ".debug_loc",
            ".debug_ranges",
            ".debug_aranges",
            ".nv_debug_info_reg_sass",
            ".nv_debug_info_reg_type",
        ];
        let mut sections = self.sections().iter();
        match sections.find(|s| FULL.contains(&s.name) && !s.file_range.is_empty()) {
            Some(section) => Err(Refusal::new(section.name, Reason::DebugInfo)),
            None => Ok(()),
        }
    }

    /// Everything of one code section whose size stays.
    fn follow_in_place(&self, code: &Code, moves: &Moves, data: &mut [u8]) -> Result<(), Refusal> {
        let refuse = |reason| Refusal::new(self.sections()[code.section].name, reason).of(code);
        for boundary in self.boundaries(code)? {
            if !moves.keeps_sides(boundary.offset) {
                return Err(refuse(Reason::Crosses { offset: boundary.offset, kind: boundary.kind }));
            }
        }
        for table in self.relocations().iter().filter(|table| table.target == code.section) {
            self.refuse_overlap(table.section, Some(code))?;
        }
        for relocation in &code.relocations {
            // Some relocations patch a field in the middle of a word.
            let within = relocation.offset % 16;
            let new = moves
                .follow(relocation.offset - within)
                .ok_or_else(|| refuse(Reason::MisplacedRelocation(relocation.offset)))?;
            data[relocation.file_offset..relocation.file_offset + 8]
                .copy_from_slice(&(new + within).to_le_bytes());
        }
        if let Some(section) = code.attribute_section {
            self.refuse_overlap(section, Some(code))?;
            let section = &self.sections()[section];
            follow_attributes::follow(code, moves, &mut data[section.file_range.clone()])
                .map_err(|reason| Refusal::new(section.name, reason).of(code))?;
        }
        Ok(())
    }
}
