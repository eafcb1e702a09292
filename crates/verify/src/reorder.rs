//! Is one order of a block as good as another?
//!
//! Both orders are run over *fingerprints* in place of values, and every instruction must see the same in both:
//!
//! * a lane holds the sequence of writes that may have reached it: one that certainly happened, then the guarded ones.
//!   Every read must see the same sequence, and so must the end of the block. That covers reads after writes, writes
//!   after reads and writes after writes at once, and lets through what changes no value;
//! * a memory access must have the same set of conflicting accesses before it. Two conflict when one of them writes and
//!   they may touch the same bytes. The set is kept as a sum of random numbers, one per access: everything in the region
//!   so far, less those at the same address registers, plus those of these whose bytes overlap;
//! * an instruction that orders others (fences, barriers, ordered effects) must have the same set before it, likewise;
//! * a call or an opaque instruction may read any register, whatever it lists: every lane must hold the same there. The
//!   state is a sum over the lanes, kept up to date write by write.
//!
//! Cost O(n log n). Sums are of 128 bits: two different sets agree with a chance of about 2⁻¹²⁸ per comparison, so a
//! wrong "legal" is not to be expected; a "not legal" is always right.

use crate::precedence::{Access, Fences, Kind, Memory, Positions, Print, mix};
use rustc_hash::FxHashMap;
use sassafras_ir::text::print_inst;
use sassafras_ir::{AccessFlags, Function, Inst, Lane};
use std::fmt;
use thiserror::Error;

/// Why an order is not a legal one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Illegal {
    /// Instructions are missing, new or repeated.
    #[error("the two orders do not hold the same instructions")]
    NotAPermutation,
    /// An instruction sees something else than before.
    #[error("`{inst}` (at {position} in the new order) {what}")]
    Differs {
        /// The instruction's text.
        inst: String,
        /// Its place in the new order.
        position: usize,
        /// What differs.
        what: What,
    },
    /// A lane holds something else when the block ends.
    #[error("{0} holds another value at the end of the block")]
    LiveOut(Lane),
}

/// What an instruction sees differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A register.
    Reads(Lane),
    /// Memory.
    Memory,
    /// What it must stay behind, or before.
    Effects,
    /// Some register, where an instruction stands that may read any.
    State,
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Reads(lane) => write!(f, "reads another value of {lane}"),
            What::Memory => f.write_str("has moved across a memory access that it may conflict with"),
            What::Effects => f.write_str("has moved across a barrier, a call or an ordered instruction"),
            What::State => f.write_str("may read any register, and one of them holds another value"),
        }
    }
}

/// Checks that `new` is a legal order of the instructions in `old`, which are one block's.
pub fn check(f: &Function, old: &[Inst], new: &[Inst]) -> Result<(), Illegal> {
    let (mut a, mut b) = (old.to_vec(), new.to_vec());
    a.sort_unstable();
    b.sort_unstable();
    if a != b || a.windows(2).any(|w| w[0] == w[1]) {
        return Err(Illegal::NotAPermutation);
    }
    let numbers: FxHashMap<Inst, usize> = old.iter().enumerate().map(|(i, &inst)| (inst, i)).collect();
    let positions = Positions::new(old.iter().flat_map(|&inst| f.accesses(inst)).map(|(access, _)| access));
    let mut before = vec![Seen::default(); old.len()];
    let end = Walk::new(f, &numbers, &positions, old).run(|number, seen| before[number] = seen);
    let mut found = Ok(());
    let mut position = 0;
    let new_end = Walk::new(f, &numbers, &positions, new).run(|number, seen| {
        if found.is_ok()
            && let Some(what) = before[number].difference(&seen)
        {
            found = Err(Illegal::Differs { inst: print_inst(f, old[number]), position, what });
        }
        position += 1;
    });
    found?;
    let mut lanes: Vec<Lane> = end.keys().chain(new_end.keys()).copied().collect();
    lanes.sort_unstable();
    match lanes.into_iter().find(|lane| end.get(lane) != new_end.get(lane)) {
        Some(lane) => Err(Illegal::LiveOut(lane)),
        None => Ok(()),
    }
}

/// What an instruction sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Seen {
    reads: Vec<(Lane, Print)>,
    memory: Vec<Print>,
    effects: Print,
    /// What all lanes hold, for an instruction that may read any of them.
    state: Print,
}

impl Seen {
    fn difference(&self, other: &Seen) -> Option<What> {
        let lane = self.reads.iter().zip(&other.reads).find(|(a, b)| a != b).map(|(a, _)| What::Reads(a.0));
        lane.or((self.memory != other.memory).then_some(What::Memory))
            .or((self.effects != other.effects).then_some(What::Effects))
            .or((self.state != other.state).then_some(What::State))
    }
}

struct Walk<'a> {
    f: &'a Function,
    numbers: &'a FxHashMap<Inst, usize>,
    positions: &'a Positions,
    order: &'a [Inst],
    lanes: FxHashMap<Lane, Print>,
    /// A fingerprint of `lanes`.
    state: Print,
    memory: Memory,
    fences: Fences,
}

impl<'a> Walk<'a> {
    fn new(
        f: &'a Function,
        numbers: &'a FxHashMap<Inst, usize>,
        positions: &'a Positions,
        order: &'a [Inst],
    ) -> Walk<'a> {
        Walk {
            f,
            numbers,
            positions,
            order,
            lanes: FxHashMap::default(),
            state: 0,
            memory: Memory::default(),
            fences: Fences::default(),
        }
    }

    /// Runs the order; `visit` gets the number of every instruction and what it sees. Returns what the lanes hold.
    fn run(mut self, mut visit: impl FnMut(usize, Seen)) -> FxHashMap<Lane, Print> {
        for &inst in self.order {
            let number = self.numbers[&inst];
            let seen = self.step(inst, number);
            visit(number, seen);
        }
        self.lanes
    }

    fn step(&mut self, inst: Inst, number: usize) -> Seen {
        let f = self.f;
        let mut seen = Seen::default();
        f.for_each_read(inst, |r| seen.reads.push((r.lane, value(&self.lanes, r.lane))));
        let mut kind = Kind::of(f.inst(inst).effects);
        let accesses: Vec<Access> = f
            .accesses(inst)
            .filter_map(|(access, written)| {
                kind.ordered |= access.flags.contains(AccessFlags::VOLATILE);
                Access::new(access, written, |lane| value(&self.lanes, lane))
            })
            .collect();
        kind.soft |= !accesses.is_empty();
        seen.memory = self.memory.before(self.positions, &accesses);
        self.memory.add(self.positions, &accesses, |i| id(number, i + 1));
        seen.effects = self.fences.before(kind);
        self.fences.add(kind, id(number, 0));
        seen.state = if kind.reads_all { self.state } else { 0 };
        let kills = f.kills(inst);
        f.for_each_write(inst, |w| {
            let written = id(number, 1000 + usize::from(w.part)).wrapping_add(Print::from(w.lane.bits()));
            let old = value(&self.lanes, w.lane);
            let held = if kills { 0 } else { old };
            let new = mix(held ^ 0xC0FFEE).wrapping_add(written);
            self.lanes.insert(w.lane, new);
            // What a lane holds names the lane as well (its write or its number), so the sum tells lanes apart.
            self.state = self.state.wrapping_sub(mix(old)).wrapping_add(mix(new));
        });
        seen
    }
}

fn value(lanes: &FxHashMap<Lane, Print>, lane: Lane) -> Print {
    lanes.get(&lane).copied().unwrap_or(Print::from(lane.bits()))
}

/// A number for one part of one instruction, the same in both orders.
fn id(number: usize, part: usize) -> Print {
    mix(((number as Print) << 32) | part as Print)
}
