//! Goal: what an instruction must stay behind, as fingerprints that do not depend on how an order was made.
//!
//! Sets of instructions are sums of numbers, one number per instruction: whoever walks an order chooses them
//! ([`crate::reorder`]: the instruction's number; [`crate::values`]: what it computes).

use rustc_hash::FxHashMap;
use sassafras_ir::{AccessFlags, Effects, Lane, MemAccess, RegClass, Space, Span};

/// A fingerprint. Sums of numbers drawn per instruction stand for sets, folds for sequences.
pub(crate) type Print = u128;

/// Spreads a number over all bits.
pub(crate) fn mix(x: Print) -> Print {
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

/// Accesses through registers of the same kind that hold the same: the space, and per address register its class, its size
/// and what it holds.
type Address = (Space, [Option<(RegClass, u8, Print)>; 2]);

/// A memory access.
pub(crate) struct Access {
    space: Space,
    /// The address and the bytes relative to it; `None` when one of them is not known.
    place: Option<(Address, i64, i64)>,
    reads: bool,
    writes: bool,
}

impl Access {
    /// An access as it counts; `None` for one that reads what nothing writes. `value` says what a lane holds.
    pub fn new(access: &MemAccess, written: bool, value: impl Fn(Lane) -> Print) -> Option<Access> {
        if !written && access.reads_constant_memory() {
            return None;
        }
        let held = |span: Option<Span>| {
            span.map(|span| {
                let held = span.lanes().fold(0, |all, lane| mix(all).wrapping_add(value(lane)));
                (span.class(), span.len(), held)
            })
        };
        let address = (access.space, [held(access.base), held(access.index)]);
        let place = bytes_of(access).map(|(start, end)| (address, start, end));
        Some(Access {
            space: access.space,
            place,
            reads: !written || access.flags.contains(AccessFlags::ATOMIC),
            writes: written,
        })
    }
}

/// The accesses so far, by the memory that they may reach.
#[derive(Default)]
pub(crate) struct Memory {
    regions: [Region; REGIONS],
}

impl Memory {
    /// Fingerprints of what the accesses of one instruction conflict with, so far.
    pub fn before(&self, positions: &Positions, accesses: &[Access]) -> Vec<Print> {
        let mut before = Vec::new();
        for access in accesses {
            for region in regions(access.space) {
                before.extend(self.regions[region].conflicting(positions, access));
            }
        }
        before
    }

    /// Counts the accesses of one instruction; `id` gives each of them its number.
    pub fn add(&mut self, positions: &Positions, accesses: &[Access], id: impl Fn(usize) -> Print) {
        for (i, access) in accesses.iter().enumerate() {
            for region in regions(access.space) {
                self.regions[region].add(positions, access, id(i));
            }
        }
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

    fn add(&mut self, positions: &Positions, access: &Access, id: Print) {
        let sums =
            Sums { reads: if access.reads { id } else { 0 }, writes: if access.writes { id } else { 0 } };
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
pub(crate) struct Positions(Vec<i64>);

impl Positions {
    /// Of all accesses of a block.
    pub fn new<'a>(accesses: impl Iterator<Item = &'a MemAccess>) -> Positions {
        let mut all: Vec<i64> = accesses.filter_map(bytes_of).flat_map(|(start, end)| [start, end]).collect();
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
    if access.flags.contains(AccessFlags::MAYBE_VOLATILE) {
        return None;
    }
    let (start, end) = (access.offset, access.offset.checked_add(i64::from(access.width?))?);
    let half = 1 << 31;
    (access.space.is_byte_addressed() && -half <= start && end <= half).then_some((start, end))
}

/// How an instruction orders others.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    /// Nothing moves across it.
    pub full: bool,
    /// May read any register. (A branch may too, but it ends the block, where all lanes are compared by name.)
    pub reads_all: bool,
    /// Orders memory accesses and what looks at other threads.
    pub sync: bool,
    /// Keeps its order among its like.
    pub ordered: bool,
    /// Is ordered by `sync`.
    pub soft: bool,
}

impl Kind {
    pub fn of(effects: Effects) -> Kind {
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
pub(crate) struct Fences {
    all: Print,
    full: Print,
    sync: Print,
    ordered: Print,
    touching: Print,
}

impl Kind {
    fn touches(self) -> bool {
        self.sync || self.ordered || self.soft
    }
}

impl Fences {
    /// The fingerprint of what an instruction must stay behind.
    pub fn before(&self, kind: Kind) -> Print {
        let mut seen = if kind.full { mix(self.all) } else { mix(self.full) };
        if kind.sync {
            seen = mix(seen).wrapping_add(self.touching);
        } else if kind.touches() {
            seen = mix(seen).wrapping_add(self.sync);
        }
        if kind.ordered {
            seen = mix(seen).wrapping_add(self.ordered);
        }
        seen
    }

    /// Counts an instruction.
    pub fn add(&mut self, kind: Kind, id: Print) {
        let add = |to: &mut Print, applies: bool| *to = to.wrapping_add(if applies { id } else { 0 });
        add(&mut self.all, true);
        add(&mut self.full, kind.full);
        add(&mut self.sync, kind.sync);
        add(&mut self.ordered, kind.ordered);
        add(&mut self.touching, kind.touches());
    }
}
