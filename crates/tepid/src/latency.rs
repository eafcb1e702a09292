//! Goal: what the edges of a block's dependence graph cost, for scheduling: mined distances where a result has a fixed
//! latency, expected latencies where a scoreboard guards it.

use crate::code::{Code, Distances, Touch};
use rustc_hash::FxHashMap;
use sassafras_deps::{LatencyModel, OrderKind};
use sassafras_ir::{Function, Inst, LaneRef, Role};
use sassafras_machine::mined::Use;
use std::cell::RefCell;

/// The latency model of one function.
pub struct Mined<'c, 'f> {
    code: &'c Code<'f>,
    state: RefCell<State<'c, 'f>>,
}

struct State<'c, 'f> {
    distances: Distances<'c, 'f>,
    /// Small numbers for operands that behave alike, each with an operand to ask with.
    classes: FxHashMap<u64, u16>,
    examples: Vec<(Inst, Touch)>,
    raw: FxHashMap<(u16, u16), u16>,
}

impl<'c, 'f> Mined<'c, 'f> {
    /// Nothing asked yet.
    pub fn new(code: &'c Code<'f>) -> Mined<'c, 'f> {
        let state = State {
            distances: Distances::new(code),
            classes: FxHashMap::default(),
            examples: Vec::new(),
            raw: FxHashMap::default(),
        };
        Mined { code, state: RefCell::new(state) }
    }

    fn class(&self, inst: Inst, lane: LaneRef, write: bool) -> u16 {
        let touches = if write { self.code.writes(inst) } else { self.code.reads(inst) };
        let place = match lane.role {
            Role::Guard => 0,
            Role::Operand(place) | Role::Address(place) => place.min(255) as u8,
        };
        let matches = |touch: &&Touch| {
            let role = match lane.role {
                Role::Guard => matches!(touch.used_as, Use::Guard | Use::Branch),
                Role::Address(_) => touch.used_as == Use::Address,
                Role::Operand(_) => matches!(touch.used_as, Use::Operand | Use::Overwrite),
            };
            role && touch.slot == (place, lane.part % 2 == 1)
        };
        let Some(touch) = touches.iter().find(matches).copied() else { return u16::MAX };
        let opcode = u64::from(self.code.f.inst(inst).opcode.as_u32());
        let key = opcode << 32
            | u64::from(touch.slot.0) << 24
            | (touch.used_as as u64) << 20
            | (touch.file as u64) << 16
            | u64::from(touch.high) << 1
            | u64::from(write);
        let mut state = self.state.borrow_mut();
        let next = state.examples.len() as u16;
        let State { classes, examples, .. } = &mut *state;
        *classes.entry(key).or_insert_with(|| {
            examples.push((inst, touch));
            next
        })
    }
}

impl LatencyModel for Mined<'_, '_> {
    fn def_class(&self, _: &Function, inst: Inst, lane: LaneRef) -> u16 {
        self.class(inst, lane, true)
    }

    fn use_class(&self, _: &Function, inst: Inst, lane: LaneRef) -> u16 {
        self.class(inst, lane, false)
    }

    fn raw(&self, def: u16, user: u16) -> u16 {
        let mut state = self.state.borrow_mut();
        let State { distances, examples, raw, .. } = &mut *state;
        let (Some(&(producer, written)), Some(&(consumer, read))) =
            (examples.get(usize::from(def)), examples.get(usize::from(user)))
        else {
            return 1;
        };
        if self.code.is_guarded(producer, &written) {
            return self.code.op(producer).expected.write;
        }
        *raw.entry((def, user))
            .or_insert_with(|| distances.between(producer, written.high, consumer, &read).expected())
    }

    fn war(&self, user: u16, _: u16) -> u16 {
        let state = self.state.borrow();
        let reader = state.examples.get(usize::from(user)).map(|&(inst, _)| self.code.op(inst));
        reader.filter(|op| op.decoupled).map_or(0, |op| op.expected.read)
    }

    fn waw(&self, first: u16, second: u16) -> u16 {
        let mut state = self.state.borrow_mut();
        let State { distances, examples, raw, .. } = &mut *state;
        let (Some(&(producer, written)), Some(&(consumer, overwritten))) =
            (examples.get(usize::from(first)), examples.get(usize::from(second)))
        else {
            return 1;
        };
        if self.code.is_guarded(producer, &written) {
            return self.code.op(producer).expected.write;
        }
        *raw.entry((first, second))
            .or_insert_with(|| distances.between(producer, written.high, consumer, &overwritten).expected())
    }

    fn order(&self, _: OrderKind) -> u16 {
        1
    }
}
