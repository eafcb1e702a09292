//! Goal: which sources stay at hand for the next instruction, so that register banks are read less often.
//!
//! A sub-core keeps one value per source place and register bank (even and odd registers). A source that is flagged stays
//! there until the next instruction reads its place from the same bank, whatever stands between, unless the warp yields.
//! So a source is flagged when that next read is of the same register and nothing has written the register since. Flags
//! are legal only without yield and with a stall of at most 11.
//!
//! What stays at hand is the register of all threads as it was then. An instruction under a guard may read it before a result for other
//! threads is there: what it keeps is good for the same guard alone. Nothing stays at hand where threads meet or part.
//!
//! Cost: linear. Source: mined: 99.3 % of the flags in compiled code of the corpus (sm_90) follow this rule; h200: a register that was kept 2
//! cycles behind a write under the opposite guard was the old one for its next reader (segmented sort of cuSPARSE).

use crate::code::{Code, Sources, index};
use crate::original::Fields;
use rustc_hash::FxHashMap;
use sassafras_ir::{Effects, Inst, Lane, RegClass, Span};

/// Sets the reuse flags of a block's instructions.
pub fn assign(code: &Code<'_>, insts: &[Inst], fields: &mut [Fields]) {
    let mut kept = Kept::default();
    let mut guards = Guards::default();
    for (at, &inst) in insts.iter().enumerate() {
        fields[index(inst)].reuse = 0;
        guards.enter(code, inst);
        // Instructions that take their time read their sources elsewhere, and their flags mean something else.
        let sources = if code.op(inst).decoupled { Sources::default() } else { code.sources(inst) };
        for (place, source) in sources.into_iter().enumerate() {
            let Some(span) = source else { continue };
            if let Some(earlier) = kept.read(place, span, at).filter(|&earlier| guards.hold(earlier, at)) {
                fields[index(insts[earlier])].reuse |= 1 << place;
            }
        }
        for def in code.f.defs(inst).iter().filter_map(|def| def.span()) {
            kept.overwrite(def);
        }
        let field = &fields[index(inst)];
        let meets =
            code.f.inst(inst).effects.intersects(Effects::CONVERGENCE | Effects::CALL | Effects::OPAQUE);
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
