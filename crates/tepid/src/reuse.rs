//! Goal: which sources stay at hand for the next instruction, so that register banks are read less often.
//!
//! An operand reuse cache keeps one value per source place and register bank (even and odd registers). A source that is flagged stays
//! there until the next instruction of the same pipes reads its place from the same bank, whatever stands between, unless the warp yields: an
//! instruction of other pipes has a cache of its own, and ends nothing, though it reads the same register (`machine::reuse`). Who flags a source for it leaves
//! an old value behind for the next one of its own pipes. So a source is flagged when the next read of its place by *any* instruction is of the same register, by one with the
//! same cache, and nothing has written the register since. Flags are legal only without yield and with a stall of at most 11.
//!
//! What stays at hand is the register of all threads as it was then. An instruction under a guard may read it before a result for other
//! threads is there: what it keeps is good for the same guard alone, and only once results for the other threads are there: the value is kept for
//! all threads, not for those alone that run the instruction. Nothing stays at hand where threads meet or part.
//!
//! Cost: linear. Source: mined: 99.3 % of the flags in compiled code of the corpus (sm_90) follow this rule; h200: a register that was kept 2
//! cycles behind a write under the opposite guard was the old one for its next reader (segmented sort of cuSPARSE), and so was one that HADD2 kept for an HFMA2.MMA
//! and that HFMA2 read later (half precision of cuFFT).

use crate::code::{Code, Sources, index};
use crate::original::Fields;
use rustc_hash::{FxHashMap, FxHashSet};
use sassafras_ir::{Effects, Inst, Lane, RegClass, Span};

/// Longer than results of fixed latency take that are read as operands of arithmetic.
const THERE: i32 = 15;

/// Sets the reuse flags of a block's instructions. Nothing stays at hand across those that hold everything in place.
pub fn assign(code: &Code<'_>, insts: &[Inst], holds_all: impl Fn(Inst) -> bool, fields: &mut [Fields]) {
    let mut kept = Kept::default();
    let mut guards = Guards::default();
    let mut writes = Writes::default();
    let mut clock = 0;
    for (at, &inst) in insts.iter().enumerate() {
        fields[index(inst)].reuse = 0;
        guards.enter(code, inst);
        writes.enter(code, inst, clock);
        clock += i32::from(fields[index(inst)].stall);
        // Instructions that take their time read their sources elsewhere, and their flags mean something else.
        let sources = if code.op(inst).decoupled { Sources::default() } else { code.sources(inst) };
        for (place, source) in sources.into_iter().enumerate() {
            let Some(span) = source else { continue };
            let good = |&earlier: &usize| {
                let cache = code.op(insts[earlier]).reuse_cache;
                cache.is_some()
                    && cache == code.op(inst).reuse_cache
                    && guards.hold(earlier, at)
                    && writes.are_there(span, insts[earlier])
            };
            if let Some(earlier) = kept.read(place, span, at).filter(good) {
                fields[index(insts[earlier])].reuse |= 1 << place;
            }
        }
        for def in code.f.defs(inst).iter().filter_map(|def| def.span()) {
            kept.overwrite(def);
        }
        let field = &fields[index(inst)];
        let meets =
            code.f.inst(inst).effects.intersects(Effects::CONVERGENCE | Effects::CALL | Effects::OPAQUE)
                || holds_all(inst);
        if field.yields || field.stall > 11 || field.stall == 0 || meets {
            kept = Kept::default();
        }
    }
}

/// The guards of a block's instructions, by position.
#[derive(Debug, Default)]
struct Guards {
    /// The predicate, how often it was written before, and whether it must be clear.
    of: Vec<Option<(Lane, u32, bool)>>,
    written: FxHashMap<Lane, u32>,
}

impl Guards {
    /// The next instruction.
    fn enter(&mut self, code: &Code<'_>, inst: Inst) {
        let guard = code.f.inst(inst).guard;
        self.of.push(
            guard.map(|guard| {
                (guard.lane, self.written.get(&guard.lane).copied().unwrap_or(0), guard.negated)
            }),
        );
        for lane in code.f.defs(inst).iter().filter_map(|def| def.span()).flat_map(|span| span.lanes()) {
            if lane.class() != RegClass::Gpr {
                *self.written.entry(lane).or_default() += 1;
            }
        }
    }

    /// Whether the earlier of two ran wherever the later one does.
    fn hold(&self, earlier: usize, later: usize) -> bool {
        self.of[earlier].is_none() || self.of[earlier] == self.of[later]
    }
}

/// Results of a block's instructions under a guard that may not be there when threads with the opposite one read the register.
#[derive(Debug, Default)]
struct Writes {
    /// By lane, predicate and whether it must be clear: when the last such result is there; never, if it takes its time.
    there: FxHashMap<(Lane, Lane, bool), i32>,
    /// Instructions that read a lane too soon for the others, with the lane.
    early: FxHashSet<(Inst, Lane)>,
}

impl Writes {
    /// The next instruction, at this time.
    fn enter(&mut self, code: &Code<'_>, inst: Inst, clock: i32) {
        // Without a guard, whoever reads a result waits for it, and so do those with the same one.
        let Some(guard) = code.f.inst(inst).guard else { return };
        for lane in code.sources(inst).into_iter().flatten().flat_map(|span| span.lanes()) {
            let there = self.there.get(&(lane, guard.lane, !guard.negated));
            if there.is_some_and(|&there| clock < there) {
                self.early.insert((inst, lane));
            }
        }
        let there = if code.op(inst).decoupled { i32::MAX } else { clock + THERE };
        for lane in code.f.defs(inst).iter().filter_map(|def| def.span()).flat_map(|span| span.lanes()) {
            self.there.insert((lane, guard.lane, guard.negated), there);
        }
    }

    /// Whether an instruction may keep a register for all threads.
    fn are_there(&self, span: Span, inst: Inst) -> bool {
        !span.lanes().any(|lane| self.early.contains(&(inst, lane)))
    }
}

/// The newest read of each place and bank, with the registers that were read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kept {
    entries: [[Option<(Span, usize)>; 2]; 3],
}

impl Kept {
    /// A source is read. Returns the earlier read that can keep it.
    pub fn read(&mut self, place: usize, span: Span, at: usize) -> Option<usize> {
        let bank = span.first().index() as usize % 2;
        let entry = &mut self.entries[place][bank];
        let hit = entry.filter(|(kept, _)| *kept == span).map(|(_, earlier)| earlier);
        *entry = Some((span, at));
        if span.len() > 1 {
            // A pair takes both banks.
            let other = &mut self.entries[place][1 - bank];
            *other = Some((span, at));
        }
        hit
    }

    /// Registers are written.
    pub fn overwrite(&mut self, span: Span) {
        if span.class() != RegClass::Gpr {
            return;
        }
        for entry in self.entries.iter_mut().flatten() {
            if entry.is_some_and(|(kept, _)| kept.overlaps(span)) {
                *entry = None;
            }
        }
    }
}
