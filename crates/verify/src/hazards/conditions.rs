//! What is known of a thread's predicates at one point of the code, so that two instructions of which a thread runs one alone do not meet.
//!
//! Hand-written kernels switch the loads of a last iteration off by a predicate that follows from the one their loop ends by
//! (`@!P1 R2P PR, RZ, 0x78`, `@P3 LDG`, `@P1 BRA`): whoever leaves the loop has no load under way. A value is known behind a branch that it decides, and
//! what follows from a predicate that is true: others, when it is false unless they hold.
//!
//! Cost: a few words per block, a few steps per predicate that is written.

use sassafras_ir::{Effects, Function, Guard, Inst, Lane, Operand, RegClass, Role};

/// How many predicates a thread has.
const PREDICATES: usize = 7;
/// Every value of every predicate: follows from what cannot be.
const ALL: u16 = 0x7f7f;

/// Values of predicates, a bit each: true, then false.
pub(super) type Values = u16;

/// What is known of the predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Conditions {
    known: Values,
    /// By predicate: what holds where it is true.
    implied: [Values; PREDICATES],
}

/// A predicate of a thread, and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value {
    predicate: u8,
    holds: bool,
}

impl Value {
    /// That a thread runs what is guarded so.
    pub fn of(guard: Guard) -> Option<Value> {
        let predicate = place(guard.lane)?;
        Some(Value { predicate, holds: !guard.negated })
    }

    /// That it does not.
    pub const fn opposite(self) -> Value {
        Value { predicate: self.predicate, holds: !self.holds }
    }

    const fn bit(self) -> Values {
        1 << (self.predicate + if self.holds { 0 } else { 8 })
    }
}

/// The number of a predicate of a thread.
pub(super) fn place(lane: Lane) -> Option<u8> {
    let is_one = lane.class() == RegClass::Pred && !lane.is_virtual() && lane.index() < PREDICATES as u32;
    is_one.then(|| lane.index() as u8)
}

/// Whether every thread has a lane of its own: what a warp has together is under way for all of it.
pub(super) fn is_own(lane: Lane) -> bool {
    matches!(lane.class(), RegClass::Gpr | RegClass::Pred)
}

/// Both values of a predicate.
pub(super) const fn both(predicate: u8) -> Values {
    0x101 << predicate
}

/// Whether some predicate has both values: no thread is there.
const fn impossible(values: Values) -> bool {
    values & values >> 8 & 0x7f != 0
}

/// Whether no thread has both.
pub(super) const fn exclude(a: Values, b: Values) -> bool {
    impossible(a | b)
}

impl Conditions {
    /// What holds for threads in which a predicate has this value.
    pub fn given(&self, value: Option<Value>) -> Values {
        let Some(value) = value else { return self.known };
        let mut holds = self.known | value.bit();
        if value.holds {
            holds |= self.implied[usize::from(value.predicate)];
        }
        for (other, implied) in self.implied.iter().enumerate() {
            // Where that one were true, this would have the other value.
            if implied & value.opposite().bit() != 0 && other != usize::from(value.predicate) {
                holds |= 0x100 << other;
            }
        }
        holds
    }

    /// An instruction writes predicates.
    pub fn write(&mut self, f: &Function, inst: Inst, runs: bool) {
        let mut written: u8 = 0;
        f.for_each_write(inst, |write| written |= place(write.lane).map_or(0, |at| 1 << at));
        if written == 0 {
            return;
        }
        let guard = f.inst(inst).guard;
        let value = guard.and_then(Value::of);
        // A guard of all threads, or one that the instruction writes: nothing is known of what follows.
        let is_lost = guard.is_some() && value.is_none_or(|value| written >> value.predicate & 1 == 1);
        let clears = runs && clears(f, inst);
        let before = *self;
        for at in (0..PREDICATES as u8).filter(|at| written >> at & 1 == 1) {
            let (run, kept) = match value {
                _ if is_lost => (0, 0),
                // Where it runs not, the old value stays, and what follows from it.
                Some(value) => {
                    let old = before.given(Some(value.opposite())) | before.implied[usize::from(at)];
                    let old = if impossible(old | 1 << at) { ALL } else { old };
                    (if clears { ALL } else { before.given(Some(value)) }, old)
                }
                None => (if clears { ALL } else { 0 }, ALL),
            };
            self.implied[usize::from(at)] = run & kept;
            self.known &= !both(at);
            if clears && guard.is_none() {
                self.known |= 0x100 << at;
            }
        }
        let changed =
            (0..PREDICATES as u8).filter(|at| written >> at & 1 == 1).fold(0, |mask, at| mask | both(at));
        self.implied.iter_mut().for_each(|implied| *implied &= !changed);
    }

    /// Control goes on only where these hold.
    pub fn assume(&mut self, values: Values) {
        self.known |= values;
    }

    /// Joins what another path knows. Returns whether less is known.
    pub fn merge(&mut self, other: &Conditions) -> bool {
        let before = *self;
        self.known &= other.known;
        for (ours, theirs) in self.implied.iter_mut().zip(other.implied) {
            *ours &= theirs;
        }
        *self != before
    }
}

/// Whether an instruction sets every predicate that it writes to false: `R2P` of no register. With a mask that is not in its word it may write any of them, and keeps
/// those outside the mask: then it reads what it writes.
fn clears(f: &Function, inst: Inst) -> bool {
    if f.opcode_text(f.inst(inst).opcode).split('.').next() != Some("R2P") {
        return false;
    }
    let is_written = |lane: Lane| {
        let mut found = false;
        f.for_each_write(inst, |write| found |= write.lane == lane);
        found
    };
    let mut all = true;
    f.for_each_read(inst, |read| {
        let is_value = read.role != Role::Guard && read.lane.class() == RegClass::Gpr;
        all &= !is_value && (read.role == Role::Guard || !is_written(read.lane));
    });
    all
}

/// The guard of a branch or exit at the end of a block, and whether nothing else decides where it goes.
pub(super) fn decides(f: &Function, last: Inst) -> Option<(Value, bool)> {
    let data = f.inst(last);
    let leaves = data.effects.intersects(Effects::BRANCH | Effects::EXIT);
    let opcode = f.opcode_text(data.opcode);
    let by_guard = matches!(opcode.split('.').next(), Some("BRA" | "EXIT"));
    let value = data.guard.and_then(Value::of).filter(|_| leaves && by_guard)?;
    // Other forms ask for more than the guard: whether threads run apart, say.
    let alone = matches!(opcode, "BRA" | "BRA.U" | "EXIT");
    Some((value, alone && !f.uses(last).iter().any(|op| matches!(op, Operand::Reg(_)))))
}
