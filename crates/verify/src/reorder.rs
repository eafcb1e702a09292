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

use rustc_hash::FxHashMap;
use sassafras_ir::text::print_inst;
use sassafras_ir::{AccessFlags, Effects, Function, Inst, Lane, MemAccess, Space, Span};
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
    let positions = Positions::new(f, old);
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

/// A fingerprint. Sums of numbers drawn per instruction stand for sets, folds for sequences.
type Print = u128;

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
    regions: [Region; REGIONS],
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
            regions: Default::default(),
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
            .enumerate()
            .filter_map(|(i, (access, written))| {
                kind.ordered |= access.flags.contains(AccessFlags::VOLATILE);
                Access::new(&self.lanes, access, written, id(number, i + 1))
            })
            .collect();
        kind.soft |= !accesses.is_empty();
        // All accesses of an instruction look before any of them counts.
        for access in &accesses {
            for region in regions(access.space) {
                seen.memory.extend(self.regions[region].conflicting(self.positions, access));
            }
        }
        for access in accesses {
            for region in regions(access.space) {
                self.regions[region].add(self.positions, &access);
            }
        }
        seen.effects = self.fences.step(kind, id(number, 0));
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

fn mix(x: Print) -> Print {
    let half = |mut z: u64| {
        z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    let (low, high) = (x as u64, (x >> 64) as u64);
    let a = half(low ^ half(high));
    let b = half(a ^ high.rotate_left(17) ^ low.wrapping_mul(0xD6E8_FEB8_6659_FD93));
    (Print::from(b) << 64) | Print::from(a)
}

const REGIONS: usize = 8;

/// The memories that an access may reach. A generic address may be global, shared or local; the cluster's shared memory
/// includes the block's own.
fn regions(space: Space) -> std::ops::Range<usize> {
    match space {
        Space::Generic => 0..3,
        Space::Global => 0..1,
        Space::Shared | Space::Cluster => 1..2,
        Space::Local => 2..3,
        Space::Param => 3..4,
        Space::Surface => 4..5,
        Space::Tensor => 5..6,
        Space::Const => 6..7,
        Space::Texture => 7..8,
    }
}

/// Accesses through the same registers with the same values: the space and what the registers hold.
type Address = (Space, [Option<(Span, Print)>; 2]);

struct Access {
    space: Space,
    /// The address and the bytes relative to it; `None` when one of them is not known.
    place: Option<(Address, i64, i64)>,
    reads: bool,
    writes: bool,
    id: Print,
}

impl Access {
    /// An access as it counts; `None` for one that reads what nothing writes.
    fn new(lanes: &FxHashMap<Lane, Print>, access: &MemAccess, written: bool, id: Print) -> Option<Access> {
        if !written && access.reads_constant_memory() {
            return None;
        }
        let held = |span: Option<Span>| {
            span.map(|span| {
                (span, span.lanes().fold(0, |all, lane| mix(all).wrapping_add(value(lanes, lane))))
            })
        };
        let address = (access.space, [held(access.base), held(access.index)]);
        let place = bytes_of(access).map(|(start, end)| (address, start, end));
        Some(Access {
            space: access.space,
            place,
            reads: !written || access.flags.contains(AccessFlags::ATOMIC),
            writes: written,
            id,
        })
    }
}

/// Sums over the accesses to a region so far.
#[derive(Default)]
struct Region {
    all: Sums,
    at: FxHashMap<Address, Group>,
}

#[derive(Clone, Copy, Default)]
struct Sums {
    reads: Print,
    writes: Print,
}

/// Accesses at one address: all of them, and by where their bytes start and end.
#[derive(Default)]
struct Group {
    all: Sums,
    starts: OrderedSums,
    ends: OrderedSums,
}

impl Region {
    /// Fingerprints of the accesses before this one that it conflicts with.
    fn conflicting(&self, positions: &Positions, access: &Access) -> impl Iterator<Item = Print> + use<> {
        let mut sums = self.all;
        if let Some((address, start, end)) = &access.place
            && let Some(group) = self.at.get(address)
        {
            // Overlapping: starts before our end, and does not end at or before our start.
            let begun = group.starts.below(positions, *end);
            let over = group.ends.below(positions, start.saturating_add(1));
            let fix = |all: Print, group: Print, begun: Print, over: Print| {
                all.wrapping_sub(group).wrapping_add(begun).wrapping_sub(over)
            };
            sums.reads = fix(sums.reads, group.all.reads, begun.reads, over.reads);
            sums.writes = fix(sums.writes, group.all.writes, begun.writes, over.writes);
        }
        let after_writes = sums.writes;
        let after_reads = if access.writes { sums.reads } else { 0 };
        [after_writes, after_reads].into_iter()
    }

    fn add(&mut self, positions: &Positions, access: &Access) {
        let sums = Sums {
            reads: if access.reads { access.id } else { 0 },
            writes: if access.writes { access.id } else { 0 },
        };
        self.all.add(sums);
        if let Some((address, start, end)) = &access.place {
            let group = self.at.entry(*address).or_default();
            group.all.add(sums);
            group.starts.add(positions, *start, sums);
            group.ends.add(positions, *end, sums);
        }
    }
}

impl Sums {
    fn add(&mut self, other: Sums) {
        self.reads = self.reads.wrapping_add(other.reads);
        self.writes = self.writes.wrapping_add(other.writes);
    }
}

/// Sums by position with sums over prefixes: a Fenwick tree over the places in a sorted list of all positions, kept
/// sparse because most groups have few accesses.
#[derive(Default)]
struct OrderedSums {
    nodes: FxHashMap<u32, Sums>,
}

impl OrderedSums {
    fn add(&mut self, positions: &Positions, position: i64, sums: Sums) {
        let mut at = positions.place(position) + 1;
        while at <= positions.0.len() as u32 {
            self.nodes.entry(at).or_default().add(sums);
            at += at & at.wrapping_neg();
        }
    }

    /// The sum over positions below `end`.
    fn below(&self, positions: &Positions, end: i64) -> Sums {
        let mut at = positions.place(end);
        let mut sum = Sums::default();
        while at > 0 {
            if let Some(sums) = self.nodes.get(&at) {
                sum.add(*sums);
            }
            at -= at & at.wrapping_neg();
        }
        sum
    }
}

/// Every byte position that starts or ends an access, sorted.
struct Positions(Vec<i64>);

impl Positions {
    fn new(f: &Function, insts: &[Inst]) -> Positions {
        let mut all: Vec<i64> = insts
            .iter()
            .flat_map(|&inst| f.accesses(inst))
            .filter_map(|(access, _)| bytes_of(access))
            .flat_map(|(start, end)| [start, end])
            .collect();
        all.sort_unstable();
        all.dedup();
        Positions(all)
    }

    /// How many positions are smaller.
    fn place(&self, position: i64) -> u32 {
        self.0.partition_point(|&p| p < position) as u32
    }
}

/// First byte and the one behind the last, relative to the address registers. Not known when they are so far away that
/// an address of 32 bits may come around to the same bytes.
fn bytes_of(access: &MemAccess) -> Option<(i64, i64)> {
    let (start, end) = (access.offset, access.offset.checked_add(i64::from(access.width?))?);
    let half = 1 << 31;
    (access.space.is_byte_addressed() && -half <= start && end <= half).then_some((start, end))
}

/// How an instruction orders others.
#[derive(Clone, Copy)]
struct Kind {
    /// Nothing moves across it.
    full: bool,
    /// May read any register. (A branch may too, but it ends the block, where all lanes are compared by name.)
    reads_all: bool,
    sync: bool,
    ordered: bool,
    soft: bool,
}

impl Kind {
    fn of(effects: Effects) -> Kind {
        Kind {
            full: effects.intersects(Effects::TERMINATOR | Effects::CALL | Effects::OPAQUE),
            reads_all: effects.intersects(Effects::CALL | Effects::OPAQUE),
            sync: effects.intersects(Effects::BARRIER | Effects::CONVERGENCE),
            ordered: effects.contains(Effects::ORDERED),
            soft: effects.contains(Effects::CROSS_LANE),
        }
    }
}

/// Sums over the instructions so far that order others or are ordered.
#[derive(Default)]
struct Fences {
    all: Print,
    full: Print,
    sync: Print,
    ordered: Print,
    touching: Print,
}

impl Fences {
    /// The fingerprint of what the instruction must stay behind; then counts it.
    fn step(&mut self, kind: Kind, id: Print) -> Print {
        let touching = kind.sync || kind.ordered || kind.soft;
        let mut seen = if kind.full { mix(self.all) } else { mix(self.full) };
        if kind.sync {
            seen = mix(seen).wrapping_add(self.touching);
        } else if touching {
            seen = mix(seen).wrapping_add(self.sync);
        }
        if kind.ordered {
            seen = mix(seen).wrapping_add(self.ordered);
        }
        let add = |to: &mut Print, applies: bool| *to = to.wrapping_add(if applies { id } else { 0 });
        add(&mut self.all, true);
        add(&mut self.full, kind.full);
        add(&mut self.sync, kind.sync);
        add(&mut self.ordered, kind.ordered);
        add(&mut self.touching, touching);
        seen
    }
}
