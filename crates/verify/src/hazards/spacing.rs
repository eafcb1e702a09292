//! What an instruction keeps the next ones from, when nothing sets a scoreboard: pipes, the warp's turn, sources that are still
//! read.

use super::rules::{Pipes, Timing};
use super::state::{GuardTag, Hold, Holds, MAX_ELAPSED, Reader, exclude};
use super::walk::{HazardKind, Observer, Pair, Walker};
use sassafras_ir::{Inst, Operand, RegClass, Role};
use sassafras_machine::Category;

impl Walker<'_> {
    /// Whether the pipes take the instruction, and before the warp's turn goes elsewhere everything has settled. The hardware
    /// does not hold a warp back for these.
    pub(super) fn held_up<O: Observer>(&mut self, inst: Inst, observer: &mut O) {
        let info = self.info(inst);
        let Pipes { enters, holds, busy, mut settle } = self.timing(inst).pipes;
        let clock = self.live.clock;
        let Holds { pipes, turn } = &self.live.holds;
        let pipe = bits(enters).filter_map(|pipe| pipes[pipe]).max();
        for (kind, hold) in [(HazardKind::Pipe, pipe), (HazardKind::Settle, turn.filter(|_| info.switches))] {
            let shown = |hold: &Hold| hold.until > clock || O::WANTS_ALL;
            let Some(Hold { until, issued, by }) = hold.filter(shown) else { continue };
            let elapsed = (clock - issued).clamp(0, MAX_ELAPSED) as u16;
            let pair = self.bare(kind, by, inst, elapsed, (until - issued) as u8);
            if until > clock { observer.pair(&pair) } else { observer.kept(&pair) }
        }
        // What writes nothing has nothing to settle: `CS2R RZ, SRZ` stands where only time is to pass.
        if self.writes_nothing(inst) {
            settle = 0;
        }
        let math = matches!(info.category, Some(Category::Alu | Category::Half | Category::Fp64));
        let is_predicate = |op: &Operand| matches!(op, Operand::Reg(span) if span.class() == RegClass::Pred);
        if math && !info.facts.decoupled && self.f.defs(inst).iter().any(is_predicate) {
            settle = settle.max(self.rules.predicate_settle);
        }
        let hold = |cycles: u8| Some(Hold { until: clock + i32::from(cycles), issued: clock, by: inst });
        let held = &mut self.live.holds;
        for pipe in bits(holds) {
            held.pipes[pipe] = hold(busy[pipe]).max(held.pipes[pipe]);
        }
        if settle > 1 {
            held.turn = hold(settle).max(held.turn);
        }
    }

    /// Whether an instruction of fixed latency has no result at all, and no effect.
    fn writes_nothing(&self, inst: Inst) -> bool {
        let data = self.f.inst(inst);
        let is_arithmetic = matches!(self.info(inst).category, Some(category) if !category.is_memory());
        is_arithmetic
            && !self.info(inst).facts.decoupled
            && self.f.defs(inst).is_empty()
            && data.effects.is_empty()
    }

    /// Whether what the instruction overwrites has been read by those before it that set no scoreboard to say so.
    pub(super) fn overwrite<O: Observer>(&self, inst: Inst, guard: Option<GuardTag>, observer: &mut O) {
        let f = self.f;
        let varying = self.info(inst).facts.decoupled;
        f.for_each_write(inst, |write| {
            let Some(Reader { hold, tag }) = self.live.reader(write.lane, varying) else { return };
            let too_soon = hold.until > self.live.clock;
            if !(too_soon || O::WANTS_ALL) || exclude(self.live.current(tag), guard) {
                return;
            }
            let required = self.rules.source_read(f, hold.by, inst, varying);
            let elapsed = (self.live.clock - hold.issued).clamp(0, MAX_ELAPSED) as u16;
            let pair = self.bare(HazardKind::War, hold.by, inst, elapsed, required);
            let pair = Pair { lane: Some(write.lane), ..pair };
            if too_soon { observer.pair(&pair) } else { observer.kept(&pair) }
        });
    }

    /// Notes until when an instruction of fixed latency reads its sources.
    pub(super) fn read(&mut self, inst: Inst, tag: Option<GuardTag>) {
        let Timing { reads, .. } = *self.timing(inst);
        if reads == [1, 1] {
            return;
        }
        let (f, live) = (self.f, &mut self.live);
        let issued = live.clock;
        f.for_each_read(inst, |read| {
            if read.role == Role::Guard || read.lane.class() != RegClass::Gpr {
                return;
            }
            for (varying, &cycles) in [false, true].into_iter().zip(&reads) {
                if cycles > 1 {
                    let hold = Hold { until: issued + i32::from(cycles), issued, by: inst };
                    live.read(read.lane, varying, Reader { hold, tag });
                }
            }
        });
    }
}

/// The places of the bits that are set.
fn bits(mut mask: u16) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(place)
    })
}
