//! Does anything stand closer than compiled code was ever seen to leave it, though no rule says why it must not?
//!
//! Rules of registers, pipes and turns explain most distances. What instructions share besides is known only by the distances
//! that compilers keep: a pair that was seen often enough (`sassafras_machine::mined::seen::ENOUGH`), and never so close, is a
//! finding of its own kind. So it is inside a block, where the cycles between two are the sum of the stalls. A pair that is seldom
//! seen says nothing here: whoever moves code keeps it as it came.

use super::rules::Rules;
use super::walk::HazardKind;
use super::{Finding, Pair};
use sassafras_control::{Field, volta};
use sassafras_ir::{Effects, Function, Inst, Payload};
use sassafras_machine::mined::seen::{Form, Kind, REACH, Seen};

/// The longest stall.
const LONGEST: u8 = 15;

/// An instruction that others keep a distance from.
#[derive(Clone, Copy)]
struct Earlier {
    inst: Inst,
    ago: u16,
}

/// The forms of a function's opcodes.
pub(super) fn forms(f: &Function, rules: &Rules) -> Vec<Form> {
    rules.seen.map_or_else(Vec::new, |seen| f.opcodes().map(|text| seen.form(text)).collect())
}

/// Pairs inside blocks that stand closer than was ever seen.
pub(super) fn check(f: &Function, rules: &Rules, forms: &[Form]) -> Vec<Finding> {
    let mut findings = Vec::new();
    pairs(f, rules, forms, |producer, consumer, needed, given| {
        if given < needed {
            let kind = HazardKind::Unseen;
            findings.push(Finding { kind, lane: None, producer, consumer, needed: Some(needed), given });
        }
    });
    findings
}

/// Calls `visit` with pairs inside blocks of which a least distance was seen: the two, that distance and the one they have. An
/// instruction meets itself where the least stall of its form is asked for.
pub(super) fn pairs(
    f: &Function,
    rules: &Rules,
    forms: &[Form],
    mut visit: impl FnMut(Inst, Inst, u16, u16),
) {
    let Some(seen) = rules.seen else { return };
    let form = |inst: Inst| forms[f.inst(inst).opcode.as_u32() as usize];
    let mut recent: Vec<Earlier> = Vec::new();
    for block in f.blocks() {
        recent.clear();
        for &inst in f.block_insts(block) {
            let Some(stall) = stall(f, inst) else {
                recent.clear();
                continue;
            };
            let second = form(inst);
            for (place, first) in recent.iter().rev().enumerate() {
                let other = form(first.inst);
                if !(other.sensitive || second.sensitive) {
                    continue;
                }
                let least = |kind| seen.least(kind, other, second).unwrap_or(1);
                let next = if place == 0 { least(Kind::Next) } else { 1 };
                // Neighbours can be kept apart by the longest stall and no more.
                let needed = u16::from(least(Kind::Near).max(next).min(LONGEST));
                visit(first.inst, inst, needed, first.ago);
            }
            if stall > 0 && second.stall > 1 && !is_end(f, inst) {
                visit(inst, inst, u16::from(second.stall), stall);
            }
            // Draining takes longer than any stall, and so does what is elsewhere.
            if stall == 0 || f.inst(inst).effects.intersects(Effects::CALL | Effects::RET) {
                recent.clear();
                continue;
            }
            recent.push(Earlier { inst, ago: 0 });
            recent.iter_mut().for_each(|earlier| earlier.ago += stall);
            recent.retain(|earlier| earlier.ago < REACH);
        }
    }
}

/// The least distance that was seen where the second of a pair reads what the first wrote, if there is less now.
pub(super) fn too_close(seen: &Seen, forms: &[Form], pair: &Pair<'_>) -> Option<u16> {
    least(seen, forms, pair).filter(|&least| pair.elapsed < least)
}

/// The least distance that was seen where the second of a pair reads what the first wrote.
pub(super) fn least(seen: &Seen, forms: &[Form], pair: &Pair<'_>) -> Option<u16> {
    if pair.kind != HazardKind::Raw || pair.guarded || pair.required_stall > 0 || pair.waited {
        return None;
    }
    let f = pair.function;
    // Where guards differ, perhaps only one of the two runs.
    if !pair.same_guard && f.inst(pair.producer).guard.is_some() {
        return None;
    }
    let form = |inst: Inst| forms[f.inst(inst).opcode.as_u32() as usize];
    let slot = if form(pair.consumer).late { pair.slot } else { (0, false) };
    let kind = Kind::reads(pair.file(), pair.part % 2 == 1, pair.used_as, slot);
    seen.least(kind, form(pair.producer), form(pair.consumer)).map(u16::from)
}

/// The stall of an instruction that runs and is understood.
fn stall(f: &Function, inst: Inst) -> Option<u16> {
    let Payload::Word(word) = f.inst(inst).payload else { return None };
    let runs = word >> 12 & 15 != 15 && !f.inst(inst).effects.contains(Effects::OPAQUE);
    runs.then(|| u16::from(volta::read(word).get(Field::Stall)))
}

/// A branch to itself stands behind the end and never stalls.
fn is_end(f: &Function, inst: Inst) -> bool {
    f.branch_targets(inst).any(|block| f.block_insts(block).first() == Some(&inst))
}
