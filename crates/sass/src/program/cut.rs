//! Goal: the ranges of a code section that are functions of their own.

use std::collections::BTreeSet;
use std::ops::Range;

use sassafras_ir::Effects;

use crate::decode::{Decoded, Flow, INSTRUCTION_BYTES};

/// Cuts the code, `end` bytes of it, at `starts` and at call targets, and undoes every cut that control or a reconvergence point
/// crosses.
pub(super) fn routines(
    decoded: &[Decoded],
    end: u64,
    starts: &[u64],
    indirect: &[(u64, Vec<u64>)],
) -> Vec<Range<u64>> {
    let mut cuts: BTreeSet<u64> = starts.iter().copied().collect();
    cuts.extend(decoded.iter().filter_map(|inst| match inst.flow() {
        Flow::Call { target } => Some(target),
        _ => None,
    }));
    cuts.retain(|&cut| cut > 0 && cut < end && cut.is_multiple_of(INSTRUCTION_BYTES));
    cuts.retain(|&cut| !falls_into(decoded, cut));
    let join = |cuts: &mut BTreeSet<u64>, from: u64, to: u64| {
        let (low, high) = (from.min(to), from.max(to));
        if low < high && high < end {
            let crossed: Vec<u64> = cuts.range(low + 1..=high).copied().collect();
            for cut in crossed {
                cuts.remove(&cut);
            }
        }
    };
    for inst in decoded {
        match inst.flow() {
            Flow::Branch { target } | Flow::Reconverge { target } => join(&mut cuts, inst.pc(), target),
            Flow::Next
            | Flow::IndirectBranch
            | Flow::Call { .. }
            | Flow::CallElsewhere
            | Flow::Return
            | Flow::Exit => {}
        }
    }
    for (branch, targets) in indirect.iter().filter(|(branch, _)| *branch < end) {
        for &target in targets {
            join(&mut cuts, *branch, target);
        }
    }
    let starts = [0].into_iter().chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain([end]);
    starts.zip(ends).map(|(start, end)| start..end).collect()
}

/// Whether control may come to `cut` from the instruction before it, padding not counted.
fn falls_into(decoded: &[Decoded], cut: u64) -> bool {
    let before = &decoded[..(cut / INSTRUCTION_BYTES) as usize];
    let last = before.iter().rev().find(|inst| !inst.is_padding());
    last.is_some_and(|inst| {
        !inst.effects().intersects(Effects::TERMINATOR)
            || inst.guard().is_some()
            || inst.never_runs()
            || inst.has_condition()
    })
}
