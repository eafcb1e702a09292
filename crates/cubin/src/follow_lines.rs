//! Goal: `.debug_line` (source lines) and `.nv_debug_line_sass` (PTX lines) follow their instructions.
//!
//! Every instruction keeps its location. The table is written again, which may change its size; the layout of the file
//! then gives way. A table whose form is not ptxas's own is refused rather than approximated, so that a rewritten file
//! never shows wrong lines.

use crate::cubin::{Code, Cubin};
use crate::edit::{Reason, Refusal};
use crate::elf::Relocation;
use crate::line_table::{Sequence, Slot, Unit, sequences, units};
use crate::moves::SLOT;

/// New code for one section, as line tables see it.
pub(crate) trait Rearranged<'d> {
    /// The code.
    fn code(&self) -> &Code<'d>;

    /// What the new slots bring that are now where the old ones from `base` to `end` were.
    fn lines(&self, base: u64, end: u64, old: &[Slot]) -> Result<Vec<Slot>, &'static str>;
}

const TABLES: [&str; 2] = [".debug_line", ".nv_debug_line_sass"];

/// New contents of the line sections that change, by section index. Relocations of base addresses that change their place
/// are written to `data`.
pub(crate) fn follow<'d>(
    cubin: &Cubin<'d>,
    plans: &[impl Rearranged<'d>],
    data: &mut [u8],
) -> Result<Vec<(usize, Vec<u8>)>, Refusal> {
    let mut changed = Vec::new();
    for name in TABLES {
        let Some((index, section)) = cubin.section_named(name) else {
            continue;
        };
        let mut table = Table {
            cubin,
            plans,
            relocations: (cubin.relocations().iter())
                .filter(|table| table.target == index)
                .flat_map(|table| &table.entries)
                .collect(),
            old: cubin.section_bytes(section),
            new: Vec::new(),
            moved: Vec::new(),
            current: None,
        };
        if let Err((at, problem)) = table.rewrite() {
            let refusal = Refusal::new(name, Reason::Lines { at, problem });
            return Err(table.current.map_or(refusal.clone(), |code| refusal.of(code)));
        }
        for (record, at) in table.moved {
            data[record..record + 8].copy_from_slice(&(at as u64).to_le_bytes());
        }
        if table.new != table.old {
            let relocations = cubin.relocations().iter().filter(|table| table.target == index);
            for written in relocations.map(|table| table.section).chain([index]) {
                cubin.refuse_overlap(written, None)?;
            }
            changed.push((index, table.new));
        }
    }
    Ok(changed)
}

type Problem = (usize, &'static str);

struct Table<'t, 'd, P> {
    cubin: &'t Cubin<'d>,
    plans: &'t [P],
    relocations: Vec<&'t Relocation>,
    old: &'d [u8],
    new: Vec<u8>,
    /// File position of a relocation, and the new place it patches.
    moved: Vec<(usize, usize)>,
    /// The code whose rows are being written.
    current: Option<&'t Code<'d>>,
}

impl<'d, P: Rearranged<'d>> Table<'_, 'd, P> {
    fn rewrite(&mut self) -> Result<(), Problem> {
        for unit in units(self.old)? {
            let start = self.new.len();
            let header = unit.start..unit.program.start;
            for relocation in &self.relocations {
                // The header's own: where its function names are.
                if let Ok(at) = usize::try_from(relocation.offset)
                    && header.contains(&at)
                {
                    self.moved.push((relocation.file_offset, start + (at - unit.start)));
                }
            }
            self.new.extend_from_slice(&self.old[header]);
            for sequence in sequences(self.old, &unit)? {
                self.sequence(&unit, &sequence)?;
            }
            let length = u32::try_from(self.new.len() - start - 4)
                .map_err(|_| (unit.start, "it would become too long"))?;
            self.new[start..start + 4].copy_from_slice(&length.to_le_bytes());
        }
        self.current = None;
        if self.moved.len() != self.relocations.len() {
            return Err((0, "relocations of unknown places"));
        }
        Ok(())
    }

    fn sequence(&mut self, unit: &Unit, sequence: &Sequence) -> Result<(), Problem> {
        let problem = |text| (sequence.bytes.start, text);
        let relocation = self
            .relocations
            .iter()
            .find(|relocation| relocation.offset == sequence.base_at as u64)
            .ok_or_else(|| problem("a base address without a relocation"))?;
        let base_at = self.new.len() + (sequence.base_at - sequence.bytes.start);
        self.moved.push((relocation.file_offset, base_at));
        let symbol = (self.cubin.symbols().get(relocation.symbol as usize))
            .ok_or_else(|| problem("a relocation without a symbol"))?;
        let addend = relocation.addend.unwrap_or(sequence.base as i64);
        let base = symbol.value.wrapping_add_signed(addend);
        self.current = None;
        let mut plans = self.plans.iter();
        let Some(plan) = plans.find(|plan| Some(plan.code().section) == symbol.section) else {
            self.new.extend_from_slice(&self.old[sequence.bytes.clone()]);
            return Ok(());
        };
        self.current = Some(plan.code());
        let end = base.saturating_add(sequence.end);
        if !base.is_multiple_of(SLOT) || end > plan.code().bytes.len() as u64 {
            return Err(problem("rows outside the code"));
        }
        let old = sequence
            .per_slot(SLOT)
            .ok_or_else(|| problem("rows that are not one per instruction from the start"))?;
        if sequence.encode(unit.header, &old, SLOT) != self.old[sequence.bytes.clone()] {
            return Err(problem("not in the form ptxas writes"));
        }
        let new = plan.lines(base, end, &old).map_err(problem)?;
        self.new.extend(sequence.encode(unit.header, &new, SLOT));
        Ok(())
    }
}
