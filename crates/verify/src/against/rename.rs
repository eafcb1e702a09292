//! Goal: blocks whose instructions use other registers than before.
//!
//! Both blocks become [`values::Step`]s: signature, lanes read and written, memory accesses. The signature is the word
//! without control fields, distances and those register fields that may differ, with the place that the word names and what
//! the instruction carries. Which bits are register fields is taken from the operands that the decoder lists, of the old and
//! of the new word each; whatever else a word holds has to be the same bit for bit, constant registers included.
//!
//! General registers and predicates may get other names. Uniform ones only in kernels whose warps cannot diverge
//! ([`crate::live`]), convergence barriers never.
//!
//! A mistake in the decoder's tables would let a wrong rename through, so the printer is asked too, which has tables of its
//! own: it must show no register that the decoder does not list, and of a renamed instruction the same text but for the
//! names.

use super::order::{Compared, Side};
use super::{Change, Difference};
use crate::live::{LaneSet, Live};
use crate::precedence::mix;
use crate::reorder::Illegal;
use crate::values::{self, Deviation, Step};
use sassafras_control::volta;
use sassafras_cubin::{Boundary, BoundaryKind, Code, Cubin};
use sassafras_ir::{Block, Effects, Function, Inst, Lane, RegClass, Span};
use sassafras_machine::Arch;
use sassafras_machine::multiprocessor::Multiprocessor;
use sassafras_sass::program::{Program, Routine};
use sassafras_sass::rename::fits;
use sassafras_sass::{Decoded, RegOperand};
use smallvec::SmallVec;
use std::cell::OnceCell;

/// The field of the predicate that an instruction runs under.
const GUARD: u128 = 7 << 12;

/// The routines of the new file, lifted when they are asked for.
pub(super) struct Twins<'a, 'd> {
    cubin: &'a Cubin<'d>,
    code: &'a Code<'d>,
    routines: OnceCell<Vec<Routine>>,
}

impl<'a, 'd> Twins<'a, 'd> {
    pub fn new(cubin: &'a Cubin<'d>, code: &'a Code<'d>) -> Twins<'a, 'd> {
        Twins { cubin, code, routines: OnceCell::new() }
    }

    /// The instructions at the place of a block, when they are one block there too.
    fn block(&self, old: &Routine, block: Block) -> Option<(&Function, &[Inst])> {
        let lift = || Program::new(self.cubin).ok()?.lift(self.code).ok();
        let routines = self.routines.get_or_init(|| lift().unwrap_or_default());
        let at = routines.binary_search_by_key(&old.range.start, |routine| routine.range.start).ok()?;
        let new = routines.get(at).filter(|routine| routine.range == old.range)?;
        let (f, was) = (&new.lifted.function, old.lifted.function.block_insts(block));
        let is = (block.as_u32() < f.block_count() as u32).then(|| f.block_insts(block))?;
        (was.len() == is.len() && was.first() == is.first()).then_some((f, is))
    }
}

/// How many registers the code of a section may name.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// As the cubin says, without those that are withheld; `None` when it does not.
    general: Option<u32>,
    uniform: u32,
    /// Whether the number changes while the code runs: then a block is sure of those only that it names.
    dynamic: bool,
}

impl Limits {
    pub fn new(code: &Code<'_>, arch: Arch, routines: &[Routine]) -> Limits {
        let mut opcodes = routines.iter().flat_map(|routine| routine.lifted.function.opcodes());
        Limits {
            general: code.registers.map(|count| count.saturating_sub(Multiprocessor::of(arch).withheld)),
            uniform: arch.info().registers.uniform.unwrap_or(0).into(),
            dynamic: opcodes.any(|opcode| opcode.starts_with("USETMAXREG")),
        }
    }

    /// The limits of a block that named these.
    fn of(self, old: &[Step]) -> Limits {
        let lanes = old.iter().flat_map(|step| step.reads.iter().chain(&step.writes));
        let named = lanes.filter(|lane| lane.class() == RegClass::Gpr).map(|lane| lane.index() + 1);
        let declared = self.general.filter(|_| !self.dynamic);
        Limits { general: Some(declared.unwrap_or_else(|| named.max().unwrap_or(0))), ..self }
    }

    fn class(self, class: RegClass) -> u32 {
        match class {
            RegClass::Gpr => self.general.unwrap_or(0),
            RegClass::Uniform => self.uniform,
            _ => class.physical_lanes(),
        }
    }
}

impl Compared<'_, '_> {
    /// Compares a block by what it computes. For every new place the old one; `None` when the two hold other operations.
    pub(super) fn renamed(
        &self,
        block: Block,
        boundaries: &[Boundary],
    ) -> Option<Result<Vec<u32>, Difference>> {
        let f = &self.routine.lifted.function;
        let insts = f.block_insts(block);
        let first = self.routine.slot(*insts.first()?);
        let (new_f, new_insts) = self.twins.block(self.routine, block)?;
        let live = self.live.get_or_init(|| self.live());
        let old = self.steps(self.old, f, insts, live);
        let new = self.steps(self.new, new_f, new_insts, live);
        // Where there are branches by a table, its targets start blocks; a word that only looks like one is no way in.
        let entries = boundaries.iter().filter(|boundary| boundary.kind != BoundaryKind::JumpTable);
        let places = entries.map(|boundary| (boundary.offset / 16).wrapping_sub(first.into()));
        let inside = places.filter(|&place| 0 < place && place < insts.len() as u64);
        let mut stops: Vec<usize> = inside.map(|place| place as usize).collect();
        stops.dedup();
        let illegal = |place: usize, illegal| self.difference(first + place as u32, Change::Order(illegal));
        let wanted = live.out(block);
        let order: Vec<u32> = match values::compare(&old, &new, &stops, |lane| wanted.contains(lane)) {
            Err(Deviation::Other) => return None,
            Err(Deviation::Sees { place: position, what, .. }) => {
                let inst = self.text(self.new, first + position as u32);
                return Some(Err(illegal(position, Illegal::Differs { inst, position, what })));
            }
            Err(Deviation::Stop(stop)) => {
                let at =
                    boundaries.iter().find(|b| b.offset / 16 == u64::from(first) + stops[stop] as u64)?;
                return Some(Err(self.difference(first + stops[stop] as u32, Change::Entered(at.kind))));
            }
            Err(Deviation::LiveOut(lane)) => return Some(Err(illegal(0, Illegal::LiveOut(lane)))),
            Ok(pairs) => pairs.into_iter().map(|pair| pair.from).collect(),
        };
        let limits = self.limits.of(&old);
        let wrong = (0..).zip(&order).find_map(|(to, from)| {
            let change = self.improper(first + from, first + to, limits)?;
            Some(self.difference(first + to, change))
        });
        Some(wrong.map_or(Ok(order), Err))
    }

    fn live(&self) -> Live {
        let watched = |inst| self.watched(self.old, self.routine.slot(inst));
        Live::new(&self.routine.lifted.function, self.routine.entry, watched)
    }

    /// The registers that attributes speak of at an instruction.
    fn watched(&self, side: &Side<'_>, slot: u32) -> LaneSet {
        let mut lanes = LaneSet::default();
        for &(_, item) in side.baggage.of(slot) {
            lanes.extend(&self.numbers.get(item).registers());
        }
        lanes
    }

    fn steps(&self, side: &Side<'_>, f: &Function, insts: &[Inst], live: &Live) -> Vec<Step> {
        let first = insts.first().map_or(0, |&inst| self.routine.slot(inst));
        let step = |(slot, &inst): (u32, &Inst)| {
            let decoded = self.decoder.decode(side.words[slot as usize], u64::from(slot) * 16);
            let effects = f.inst(inst).effects;
            let (word, target, items) = self.key(side, slot);
            let plain = !decoded.never_runs() && !effects.contains(Effects::OPAQUE);
            let mask = if plain { register_fields(&decoded, |class| live.may_rename(class)) } else { 0 };
            let parts = [
                word & !mask,
                mask,
                effects.bits().into(),
                target.is_some().into(),
                target.unwrap_or(0).into(),
            ];
            let signature = parts.into_iter().chain(items.into_iter().map(u128::from));
            let signature = signature.fold(0, |all, part| mix(mix(all).wrapping_add(part)));
            let mut step = Step::new(signature, word & mask, effects);
            if !decoded.never_runs() {
                step.guard = decoded.guard();
                step.reads = decoded.reads().flat_map(|reg| reg.span.lanes()).collect();
                step.writes = decoded.writes().flat_map(|reg| reg.span.lanes()).collect();
                step.accesses = decoded.accesses().map(|access| (access.mem, access.is_write)).collect();
            }
            let mut others = live.elsewhere(f, inst);
            others.extend(&self.watched(side, slot));
            step.reads.extend(others.lanes());
            step
        };
        (first..).zip(insts).map(step).collect()
    }

    /// What is wrong with an instruction itself: registers that are not there, or that the tables are not sure of.
    fn improper(&self, old: u32, new: u32, limits: Limits) -> Option<Change> {
        let decode = |side: &Side<'_>, slot: u32| {
            self.decoder.decode(side.words[slot as usize] & !volta::MASK, u64::from(slot) * 16)
        };
        let (was, is) = (decode(self.old, old), decode(self.new, new));
        let text = || self.text(self.new, new);
        let shown = self.printer().print(is.word(), is.pc()).text;
        let pairs = named(&was).zip(named(&is));
        let renamed: SmallVec<[(Span, Span); 8]> = pairs.filter(|(was, is)| was != is).collect();
        if !is.is_opaque() && !registers_shown(&shown).all(|lane| lists(&is, lane)) {
            return Some(Change::Doubtful { inst: text() });
        }
        if renamed.is_empty() {
            return None;
        }
        for &(was, is) in &renamed {
            let limit = limits.class(is.class());
            if is.first().index() + u32::from(is.len()) > limit {
                return Some(Change::NoRegister { inst: text(), span: is, limit });
            }
            if !fits(is.len(), was.first().index(), is.first().index()) {
                return Some(Change::Misaligned { inst: text(), span: is });
            }
        }
        let was = self.printer().print(was.word(), is.pc()).text;
        (!same_but_for_names(&was, &shown, &renamed)).then(|| Change::Doubtful { inst: text() })
    }
}

/// The fields of the registers that may get other names.
pub(super) fn register_fields(inst: &Decoded, may_rename: impl Fn(RegClass) -> bool) -> u128 {
    let guard = inst.guard().filter(|guard| may_rename(guard.lane.class())).map_or(0, |_| GUARD);
    let field = |reg: &RegOperand| reg.field.filter(|_| may_rename(reg.span.class()));
    inst.registers().iter().filter_map(field).fold(guard, |mask, bits| mask | bits.set(0, u64::MAX))
}

/// Every register operand, the guard first.
fn named(inst: &Decoded) -> impl Iterator<Item = Span> {
    inst.guard()
        .map(|guard| Span::from(guard.lane))
        .into_iter()
        .chain(inst.registers().iter().map(|reg| reg.span))
}

/// Whether an operand starts with the lane.
fn lists(inst: &Decoded, lane: Lane) -> bool {
    named(inst).any(|span| span.first() == lane)
}

fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric())
}

/// The registers that a text shows. What stands behind a point is a modifier: the byte of `R9.B1` is no convergence barrier.
fn registers_shown(text: &str) -> impl Iterator<Item = Lane> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '.');
    words.filter_map(|word| word.split('.').next()).filter_map(|piece| {
        let digits = piece.find(|c: char| c.is_ascii_digit())?;
        let (prefix, number) = piece.split_at(digits);
        let class = RegClass::ALL.into_iter().find(|class| class.prefix() == prefix)?;
        Lane::physical(class, number.parse().ok()?)
    })
}

/// Whether two texts differ only where one of the pairs does.
fn same_but_for_names(was: &str, is: &str, renamed: &[(Span, Span)]) -> bool {
    let shown = |piece: &str, span: Span| registers_shown(piece).next() == Some(span.first());
    let (mut was, mut is) = (pieces(was), pieces(is));
    loop {
        match (was.next(), is.next()) {
            (None, None) => return true,
            (Some(was), Some(is)) => {
                let pair = |&(from, to): &(Span, Span)| shown(was, from) && shown(is, to);
                if was != is && !renamed.iter().any(pair) {
                    return false;
                }
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_compared_but_for_names() {
        let span = |class, index| Span::from(Lane::physical(class, index).expect("there"));
        let pairs = [
            (span(RegClass::Gpr, 4), span(RegClass::Gpr, 6)),
            (span(RegClass::Pred, 0), span(RegClass::Pred, 1)),
        ];
        let same = |was, is| same_but_for_names(was, is, &pairs);
        assert!(same("@P0 FADD R4, -R4.reuse, R5", "@P1 FADD R6, -R4.reuse, R5"));
        assert!(!same("FADD R4, R4, R5", "FADD R4, R4, R6"), "R5 has no other name");
        assert!(!same("FADD R4, R4, R5", "FADD R4, R4"));
        assert!(!same("FADD R4, 4", "FADD R6, 6"));
        let shown: Vec<String> =
            registers_shown("@!P0 R2UR UR4, R12.64+UR6 B1 0x4, 2D").map(|l| l.to_string()).collect();
        assert_eq!(shown, ["P0", "UR4", "R12", "UR6", "B1"]);
    }
}
