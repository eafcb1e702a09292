//! Goal: the words of constant bank 2 that are positions of code.
//!
//! Jump tables lie among other constants, so a word that could be an offset may be a number. Two forms are certain:
//!
//! * the targets that `INDIRECT_BRANCH_TARGETS` lists for a branch, one behind the other and in the order of the list;
//! * a table of functions: 64-bit words, the first of them 1, the others starts of function symbols.
//!
//! Any other word that equals an offset which is another one in the new code is a reason to refuse.
//!
//! Source: ptxas 12.9, 13.0 and 13.4 output for `switch` and for calls by pointers.

use std::collections::BTreeSet;

use crate::attribute::OffsetLayout;
use crate::boundary::branch_records;
use crate::bytes::words;
use crate::cubin::{Code, Cubin};
use crate::edit::{Reason, Refusal};

use super::Resized;

impl Cubin<'_> {
    /// Writes the positions in the constants of one code anew.
    pub(super) fn jump_tables(&self, plan: &Resized, data: &mut [u8]) -> Result<(), Refusal> {
        let lists = target_lists(plan.code);
        for bank in plan.code.constants.iter().filter(|bank| bank.bank == 2) {
            let section = &self.sections()[bank.section];
            let refuse = |reason| Refusal::new(section.name, reason).of(plan.code);
            let old: Vec<u32> = words(bank.bytes).collect();
            let mut certain = vec![false; old.len()];
            for targets in &lists {
                for (at, found) in old.windows(targets.len()).enumerate() {
                    if found == targets {
                        certain[at..at + targets.len()].fill(true);
                    }
                }
            }
            for at in self.function_table(plan.code, &old) {
                certain[at] = true;
            }
            for (index, (value, certain)) in old.into_iter().zip(certain).enumerate() {
                if plan.layout.keeps(value.into()) {
                    continue;
                }
                if !certain {
                    return Err(refuse(Reason::MaybeOffset { at: 4 * index, value }));
                }
                let new = plan.layout.position(value.into());
                let new = new.ok_or_else(|| refuse(Reason::NoPosition(value.into())))?;
                self.refuse_overlap(bank.section, Some(plan.code))?;
                let at = section.file_range.start + 4 * index;
                data[at..at + 4].copy_from_slice(&(new as u32).to_le_bytes());
            }
        }
        Ok(())
    }

    /// Which words of a table of functions hold their starts.
    fn function_table(&self, code: &Code, bank: &[u32]) -> Vec<usize> {
        let starts: BTreeSet<u32> =
            code.functions.iter().map(|function| function.range.start as u32).collect();
        let (pairs, rest) = bank.as_chunks::<2>();
        match pairs {
            [[1, 0], entries @ ..]
                if rest.is_empty()
                    && entries.iter().all(|&[low, high]| high == 0 && starts.contains(&low)) =>
            {
                (1..pairs.len()).map(|entry| 2 * entry).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// The targets of every indirect branch, where there are at least two of them.
fn target_lists(code: &Code) -> BTreeSet<Vec<u32>> {
    let listed = code.attributes.iter().filter(|a| a.kind.offsets() == OffsetLayout::BranchTargets);
    let records = listed.flat_map(|attribute| branch_records(attribute.payload)).flatten();
    records.map(|(_, targets)| words(targets).collect::<Vec<u32>>()).filter(|list| list.len() > 1).collect()
}
