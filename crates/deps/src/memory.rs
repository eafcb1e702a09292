//! Memory order with a linear number of edges.
//!
//! Two accesses conflict when one of them writes, their spaces overlap and they are not known to be disjoint; they are
//! known to be disjoint when they have the same address registers, holding the same values, and byte ranges that do not
//! meet. A store that may be volatile is never known to be disjoint from anything. Accesses with the same address registers form a *group*; accesses of different groups of one region always
//! conflict.
//!
//! That makes the writes of a region a sequence of *runs*, each of one group: every write of a run comes after every
//! write of the run before, and with that after everything earlier. So it is enough to connect run with run (through a
//! join when they are long), to look at byte ranges inside the present run only, and to remember the reads since the
//! last write. Every access is entered once and leaves once: linear in the accesses, times the few byte ranges that one
//! access covers.

use crate::build::{Edges, Source};
use crate::fan::{Fan, Spoke};
use crate::graph::{EdgeKind, End};
use crate::latency::{LatencyModel, OrderKind};
use crate::registers::Registers;
use rustc_hash::FxHashMap;
use sassafras_ir::{AccessFlags, MemAccess, Space};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::ops::Range;

/// Wider accesses (bulk copies; one thread loads at most 32 bytes) count as of unknown range, so that one access never
/// covers many small ranges.
pub(crate) const MAX_TRACKED_WIDTH: u32 = 32;
/// Larger offsets count as of unknown range: addresses of 32 bits wrap, and two offsets that differ may then be one.
/// Instructions hold far smaller ones.
const MAX_TRACKED_OFFSET: u64 = 1 << 30;
/// A byte range with more readers than this collects them in a join when it is split.
const DIRECT: usize = 3;

/// The regions that an access may touch, as bits: spaces overlap when they share one.
pub(crate) fn regions(space: Space) -> u8 {
    match space {
        Space::Generic => 0b111,
        Space::Global => 1,
        Space::Shared | Space::Cluster => 2,
        Space::Local => 4,
        Space::Param => 8,
        Space::Surface => 16,
        Space::Tensor => 32,
        Space::Const => 64,
        Space::Texture => 128,
    }
}

/// The bytes that an access covers relative to its address registers; `None` when that cannot be said.
pub(crate) fn byte_range(access: &MemAccess) -> Option<Range<i64>> {
    let width = access.width.filter(|&w| w <= MAX_TRACKED_WIDTH)?;
    if access.flags.contains(AccessFlags::MAYBE_VOLATILE) {
        return None; // another thread's bytes may be meant
    }
    let near = access.offset.unsigned_abs() <= MAX_TRACKED_OFFSET;
    (near && access.space.is_byte_addressed()).then(|| access.offset..access.offset + i64::from(width))
}

#[derive(Clone, Copy, Debug)]
struct Costs {
    raw: u16,
    war: u16,
    waw: u16,
}

/// Accesses with the same address registers and values share a number; an unknown range has a number of its own.
type Group = u32;
type GroupKey = (Space, [u32; 4]);

/// The memory order of a walk over a block.
#[derive(Debug)]
pub(crate) struct Memory {
    costs: Costs,
    regions: [Region; 8],
    groups: FxHashMap<GroupKey, Group>,
    next_group: Group,
}

/// An access as the regions see it.
#[derive(Clone, Debug)]
struct Item {
    source: Source,
    group: Group,
    range: Option<Range<i64>>,
    /// The regions it may touch, as bits.
    regions: u8,
    reads: bool,
    writes: bool,
}

impl Memory {
    pub fn new(model: &impl LatencyModel) -> Memory {
        let costs = Costs {
            raw: model.order(OrderKind::MemoryRaw),
            war: model.order(OrderKind::MemoryWar),
            waw: model.order(OrderKind::MemoryWaw),
        };
        Memory { costs, regions: Default::default(), groups: FxHashMap::default(), next_group: 1 }
    }

    /// Enters the accesses of one instruction, each with whether it is written; atomic ones are read as well. All of
    /// them wait before any is entered, since an instruction does not wait for itself.
    pub fn accesses<'a>(
        &mut self,
        edges: &mut Edges,
        registers: &mut Registers,
        source: Source,
        accesses: impl Iterator<Item = (&'a MemAccess, bool)>,
    ) {
        let items: SmallVec<[Item; 2]> = accesses
            .filter(|(access, written)| *written || !access.reads_constant_memory())
            .map(|(access, written)| {
                let range = byte_range(access);
                Item {
                    source,
                    group: self.group(registers, access, range.is_some()),
                    range,
                    regions: regions(access.space),
                    reads: !written || access.flags.contains(AccessFlags::ATOMIC),
                    writes: written,
                }
            })
            .collect();
        let costs = self.costs;
        for item in items.iter().filter(|item| item.reads) {
            self.each_region(item, |region| region.wait_to_read(edges, item, costs));
        }
        for item in items.iter().filter(|item| item.writes) {
            self.each_region(item, |region| region.write(edges, item, costs));
        }
        for item in items.iter().filter(|item| item.reads) {
            self.each_region(item, |region| region.remember_read(edges, item, costs));
        }
    }

    fn each_region(&mut self, item: &Item, mut visit: impl FnMut(&mut Region)) {
        for (i, region) in self.regions.iter_mut().enumerate() {
            if item.regions >> i & 1 != 0 {
                visit(region);
            }
        }
    }

    fn group(&mut self, registers: &mut Registers, access: &MemAccess, known_range: bool) -> Group {
        let mut key = [0; 4];
        let spans = [access.base, access.index];
        let mut nameable = known_range;
        for (i, span) in spans.into_iter().enumerate() {
            let Some(span) = span else { continue };
            nameable &= span.len() <= 2;
            for (j, lane) in span.lanes().take(2).enumerate() {
                key[2 * i + j] = registers.value(lane);
            }
        }
        let fresh = self.next_group;
        let group = if nameable { *self.groups.entry((access.space, key)).or_insert(fresh) } else { fresh };
        if group == fresh {
            self.next_group += 1;
        }
        group
    }
}

/// The accesses to one region.
#[derive(Debug, Default)]
struct Region {
    /// The group that wrote last; 0 before any write.
    run: Group,
    /// The run's writes, as reads of other groups must wait for them.
    run_raw: Fan,
    /// The run's writes, as the next run's writes must wait for them.
    run_waw: Fan,
    /// The writes of the run before, as the run's own group must wait to read.
    before_raw: Fan,
    /// What every write of the run must wait for: the run before, and reads of other groups.
    entry: Fan,
    /// Reads of the run's own group, which the next run must wait for.
    own_reads: Vec<Source>,
    /// Reads of other groups since the last write.
    recent: Vec<Item>,
    /// Last writer and later readers of each byte range, of the run's group.
    ranges: Ranges,
}

impl Region {
    fn wait_to_read(&mut self, edges: &mut Edges, item: &Item, costs: Costs) {
        if item.group == self.run {
            self.before_raw.connect(edges, item.source, EdgeKind::Memory);
            self.ranges.wait_to_read(edges, item, costs);
        } else {
            self.run_raw.connect(edges, item.source, EdgeKind::Memory);
        }
    }

    fn remember_read(&mut self, edges: &mut Edges, item: &Item, costs: Costs) {
        if item.group == self.run {
            self.ranges.add_reader(edges, item, costs);
            self.own_reads.push(item.source);
        } else {
            self.entry.push(item.source, costs.war);
            self.recent.push(item.clone());
        }
    }

    fn write(&mut self, edges: &mut Edges, item: &Item, costs: Costs) {
        if item.group != self.run {
            self.start_run(edges, item.group, costs);
        }
        self.entry.connect(edges, item.source, EdgeKind::Memory);
        self.ranges.write(edges, item, costs);
        self.run_raw.push(item.source, costs.raw);
        self.run_waw.push(item.source, costs.waw);
        // What was read before this write is in `entry`, and a later run waits for this write.
        self.recent.clear();
    }

    fn start_run(&mut self, edges: &mut Edges, group: Group, costs: Costs) {
        self.run = group;
        self.before_raw = std::mem::take(&mut self.run_raw);
        self.entry = std::mem::take(&mut self.run_waw);
        for source in self.own_reads.drain(..) {
            self.entry.push(source, costs.war);
        }
        self.ranges.clear();
        for item in std::mem::take(&mut self.recent) {
            if item.group == group {
                self.ranges.add_reader(edges, &item, costs);
                self.own_reads.push(item.source);
            } else {
                self.entry.push(item.source, costs.war);
            }
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Bytes {
    end: i64,
    writer: Option<Source>,
    readers: SmallVec<[Spoke; DIRECT]>,
}

/// Disjoint byte ranges by their start.
#[derive(Debug, Default)]
struct Ranges(BTreeMap<i64, Bytes>);

impl Ranges {
    fn clear(&mut self) {
        self.0.clear();
    }

    /// The starts of the ranges that meet `range`.
    fn overlapping(&self, range: &Range<i64>) -> SmallVec<[i64; 8]> {
        let before = self.0.range(..range.start).next_back().filter(|(_, b)| b.end > range.start);
        before.into_iter().chain(self.0.range(range.clone())).map(|(&start, _)| start).collect()
    }

    fn wait_to_read(&self, edges: &mut Edges, item: &Item, costs: Costs) {
        let Some(range) = &item.range else { return };
        for start in self.overlapping(range) {
            if let Some(writer) = self.0[&start].writer {
                edges.add(writer, item.source, costs.raw, EdgeKind::Memory, End::NONE, End::NONE);
            }
        }
    }

    fn add_reader(&mut self, edges: &mut Edges, item: &Item, costs: Costs) {
        let Some(range) = &item.range else { return };
        self.split(edges, item.source, range.start);
        self.split(edges, item.source, range.end);
        let mut at = range.start;
        let spoke = Spoke { source: item.source, latency: costs.war, end: End::NONE };
        for start in self.overlapping(range) {
            self.fill(at, start, spoke);
            let bytes = self.0.get_mut(&start).expect("listed above");
            bytes.readers.push(spoke);
            at = bytes.end;
        }
        self.fill(at, range.end, spoke);
    }

    /// A range that nobody touched yet.
    fn fill(&mut self, start: i64, end: i64, reader: Spoke) {
        if start < end {
            self.0.insert(start, Bytes { end, writer: None, readers: SmallVec::from_iter([reader]) });
        }
    }

    fn write(&mut self, edges: &mut Edges, item: &Item, costs: Costs) {
        let Some(range) = &item.range else { return };
        self.split(edges, item.source, range.start);
        self.split(edges, item.source, range.end);
        for start in self.overlapping(range) {
            let bytes = self.0.remove(&start).expect("listed above");
            if let Some(writer) = bytes.writer {
                edges.add(writer, item.source, costs.waw, EdgeKind::Memory, End::NONE, End::NONE);
            }
            for reader in bytes.readers {
                edges.add(reader.source, item.source, reader.latency, EdgeKind::Memory, End::NONE, End::NONE);
            }
        }
        self.0.insert(
            range.start,
            Bytes { end: range.end, writer: Some(item.source), readers: SmallVec::new() },
        );
    }

    /// Cuts the range around `at` in two. Both halves keep the readers; many are first collected in a join, so that
    /// cutting does not multiply them.
    fn split(&mut self, edges: &mut Edges, consumer: Source, at: i64) {
        let Some((_, bytes)) = self.0.range_mut(..at).next_back().filter(|(_, b)| b.end > at) else {
            return;
        };
        if bytes.readers.len() > DIRECT {
            let join = edges.add_join(consumer);
            for reader in bytes.readers.iter().filter(|r| r.source != consumer) {
                edges.add(reader.source, join, reader.latency, EdgeKind::Memory, End::NONE, End::NONE);
            }
            bytes.readers.retain(|r| r.source == consumer);
            bytes.readers.push(Spoke { source: join, latency: 0, end: End::NONE });
        }
        let right = bytes.clone();
        bytes.end = at;
        self.0.insert(at, right);
    }
}
