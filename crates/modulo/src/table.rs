//! Modulo reservation tables: who holds what in which row modulo II.
//!
//! Counts are *bit-sliced*: bit `r` of plane `b` is bit `b` of the count of row `r`, in words of 64 rows. A probe compares
//! 64 rows at once with what is left, and a place adds to 64 rows at once, whatever the capacity; for capacity 1 the one
//! plane is the usual bitset. A probe costs `rows / 64 · log2 capacity` per use.
//!
//! Of what a row holds, the *carried* part is held by operations that started in an earlier turn of the kernel: their
//! pattern ran over the end of it. The rest is held *in iteration*. An operation longer than II holds rows more than once.
//! These are the two shadows of the bank-pressure evaluator of `tile-scheduler`.

use cranelift_entity::EntityRef;
use sassafras_problem::pattern::{Segment, fold};
use sassafras_problem::{Op, Problem, Resource, Use};
use std::ops::{Range, RangeInclusive};
use thiserror::Error;

/// Why a table cannot be made.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableError {
    /// An II of 0.
    #[error("the initiation interval is 0")]
    NoInterval,
    /// The table would be larger than [`MAX_WORDS`].
    #[error("a table of {rows} rows and {resources} resources is too large")]
    TooLarge {
        /// II.
        rows: u32,
        /// Resources.
        resources: usize,
    },
    /// An operation uses a resource that the problem does not have.
    #[error("{0} uses a resource that there is none of")]
    UnknownResource(Op),
}

/// The most words of 64 bits that a table takes: 512 MiB.
pub const MAX_WORDS: u64 = 1 << 26;

/// Why an operation was not placed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlaceError {
    /// The table has no such operation.
    #[error("{0} is unknown")]
    Unknown(Op),
    /// The operation is in the table already.
    #[error("{0} has been placed")]
    Placed(Op),
    /// A resource is taken.
    #[error("{resource} is taken in row {row}")]
    Taken {
        /// The resource.
        resource: Resource,
        /// The first row where too little of it is left.
        row: u32,
    },
}

/// Counts per row, bit-sliced; see the module's comment.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Counts {
    planes: usize,
    /// Word by word, the planes of a word together.
    words: Vec<u64>,
}

/// The words of a range of rows, each with the mask of its rows in the range.
pub(crate) fn masks(rows: Range<u32>) -> impl DoubleEndedIterator<Item = (usize, u64)> {
    let (start, end) = (rows.start as usize, rows.end as usize);
    (start / 64..end.div_ceil(64)).map(move |word| {
        let low = u64::MAX << start.saturating_sub(word * 64).min(63);
        let high = u64::MAX >> (word * 64 + 64).saturating_sub(end).min(63);
        (word, low & high)
    })
}

impl Counts {
    fn new(ii: u32, capacity: u32) -> Counts {
        let planes = (u32::BITS - capacity.leading_zeros()).max(1) as usize;
        Counts { planes, words: vec![0; (ii as usize).div_ceil(64) * planes] }
    }

    fn get(&self, row: u32) -> u32 {
        let (word, bit) = (row as usize / 64, row % 64);
        let planes = &self.words[word * self.planes..][..self.planes];
        planes.iter().rev().fold(0, |count, plane| count << 1 | (plane >> bit & 1) as u32)
    }

    /// Adds `units` to the rows, or takes them off again. The caller knows that the counts stay within the planes.
    fn change(&mut self, rows: Range<u32>, units: u64, add: bool) {
        for (word, mask) in masks(rows) {
            let mut carry = 0;
            for (b, plane) in self.words[word * self.planes..][..self.planes].iter_mut().enumerate() {
                let unit = if units >> b & 1 == 1 { mask } else { 0 };
                let old = if add { *plane } else { !*plane };
                *plane ^= unit ^ carry;
                carry = (old & (unit | carry)) | (unit & carry);
            }
        }
    }

    /// The rows of a word whose count is larger than `limit`.
    fn word_above(&self, word: usize, mask: u64, limit: u64) -> u64 {
        let (mut above, mut equal) = (0, mask);
        for (b, &plane) in self.words[word * self.planes..][..self.planes].iter().enumerate().rev() {
            if limit >> b & 1 == 1 {
                equal &= plane;
            } else {
                above |= equal & plane;
                equal &= !plane;
            }
        }
        above
    }

    /// The first row whose count is larger than `limit`.
    fn above(&self, rows: Range<u32>, limit: u64) -> Option<u32> {
        masks(rows).find_map(|(word, mask)| {
            let above = self.word_above(word, mask, limit);
            (above != 0).then(|| word as u32 * 64 + above.trailing_zeros())
        })
    }

    /// The last row whose count is larger than `limit`.
    fn last_above(&self, rows: Range<u32>, limit: u64) -> Option<u32> {
        masks(rows).rev().find_map(|(word, mask)| {
            let above = self.word_above(word, mask, limit);
            (above != 0).then(|| word as u32 * 64 + 63 - above.leading_zeros())
        })
    }
}

/// A modulo reservation table for one problem and one II.
#[derive(Clone, Debug)]
pub struct Table {
    ii: u32,
    capacities: Vec<u32>,
    /// The patterns, for what is carried, and what they fold to: those of operation `i` at `..[starts[i]..starts[i + 1]]`.
    uses: Vec<Vec<Use>>,
    segments: Vec<Segment>,
    starts: Vec<usize>,
    /// Who uses a resource at all.
    users: Vec<Vec<Op>>,
    state: State,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    held: Vec<Counts>,
    carried: Vec<Counts>,
    times: Vec<Option<i64>>,
}

/// What a table held at some moment; see [`Table::snapshot`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot(State);

impl Table {
    /// An empty table of `ii` rows.
    pub fn new(problem: &Problem, ii: u32) -> Result<Table, TableError> {
        if ii == 0 {
            return Err(TableError::NoInterval);
        }
        let capacities: Vec<u32> = problem.resources().map(|r| problem.capacity(r)).collect();
        let planes = |&c: &u32| 2 * u64::from(u32::BITS - c.leading_zeros()).max(1);
        if capacities.iter().map(planes).sum::<u64>() * u64::from(ii.div_ceil(64)) > MAX_WORDS {
            return Err(TableError::TooLarge { rows: ii, resources: capacities.len() });
        }
        let (mut uses, mut segments, mut starts) = (Vec::new(), Vec::new(), vec![0]);
        let mut users = vec![Vec::new(); capacities.len()];
        for op in problem.ops() {
            let mut last = None;
            for s in fold(problem.uses(op), ii) {
                let Some(users) = users.get_mut(s.resource.index()) else {
                    return Err(TableError::UnknownResource(op));
                };
                if last.replace(s.resource) != Some(s.resource) {
                    users.push(op);
                }
                segments.push(s);
            }
            uses.push(problem.uses(op).to_vec());
            starts.push(segments.len());
        }
        let counts: Vec<Counts> = capacities.iter().map(|&c| Counts::new(ii, c)).collect();
        let times = vec![None; uses.len()];
        let state = State { held: counts.clone(), carried: counts, times };
        Ok(Table { ii, capacities, uses, segments, starts, users, state })
    }

    /// Rows of the table.
    pub fn ii(&self) -> u32 {
        self.ii
    }

    /// When `op` was placed.
    pub fn time(&self, op: Op) -> Option<i64> {
        self.state.times.get(op.index()).copied().flatten()
    }

    /// Units of `resource` that are held in `row`.
    pub fn held(&self, resource: Resource, row: u32) -> u32 {
        Table::count(&self.state.held, resource, row % self.ii)
    }

    /// Those of them that are held by operations of earlier turns of the kernel.
    pub fn carried(&self, resource: Resource, row: u32) -> u32 {
        Table::count(&self.state.carried, resource, row % self.ii)
    }

    /// Those of them that are held by operations that started in the same turn.
    pub fn in_iteration(&self, resource: Resource, row: u32) -> u32 {
        self.held(resource, row) - self.carried(resource, row)
    }

    fn count(counts: &[Counts], resource: Resource, row: u32) -> u32 {
        counts.get(resource.index()).map_or(0, |c| c.get(row))
    }

    fn segments(&self, op: Op) -> &[Segment] {
        match (self.starts.get(op.index()), self.starts.get(op.index() + 1)) {
            (Some(&from), Some(&to)) => &self.segments[from..to],
            _ => &[],
        }
    }

    fn row(&self, time: i64) -> u32 {
        // Below II, which is a u32.
        time.rem_euclid(i64::from(self.ii)) as u32
    }

    /// The rows of a segment for an operation that starts in `row`: two ranges, of which the second may be empty.
    fn ranges(&self, s: &Segment, row: u32) -> [Range<u32>; 2] {
        let ii = u64::from(self.ii);
        let start = (u64::from(s.start) + u64::from(row)) % ii;
        let end = start + u64::from(s.rows);
        [start as u32..end.min(ii) as u32, 0..end.saturating_sub(ii) as u32]
    }

    /// What is in the way of `op` at `time`: a resource and its first row with too little left. Changes nothing.
    pub fn conflict(&self, op: Op, time: i64) -> Option<(Resource, u32)> {
        self.segments(op).iter().find_map(|s| {
            let ranges = self.ranges(s, self.row(time));
            let capacity = u64::from(self.capacities[s.resource.index()]);
            let row = match capacity.checked_sub(s.units) {
                Some(limit) => {
                    ranges.into_iter().find_map(|r| self.state.held[s.resource.index()].above(r, limit))
                }
                // It does not fit even alone.
                None => Some(ranges[0].start),
            };
            row.map(|row| (s.resource, row))
        })
    }

    /// Whether `op` fits at `time`. Changes nothing.
    pub fn probe(&self, op: Op, time: i64) -> bool {
        self.conflict(op, time).is_none()
    }

    /// The earliest time of `times` at which `op` fits. Changes nothing.
    ///
    /// Jumps: while a segment of the pattern covers a row that is taken, no time fits, so that the next one to look at is
    /// where the segment starts behind the last such row. Never looks at more than II times.
    pub fn earliest(&self, op: Op, times: RangeInclusive<i64>) -> Option<i64> {
        let (first, last) = times.into_inner();
        let last = last.min(first.saturating_add(i64::from(self.ii) - 1));
        let mut time = first;
        while time <= last {
            let Some(jump) = self.jump(op, time, true) else { return Some(time) };
            time = time.checked_add(jump)?;
        }
        None
    }

    /// The latest time of `times` at which `op` fits, found as [`Table::earliest`] finds the earliest.
    pub fn latest(&self, op: Op, times: RangeInclusive<i64>) -> Option<i64> {
        let (first, last) = times.into_inner();
        let first = first.max(last.saturating_sub(i64::from(self.ii) - 1));
        let mut time = last;
        while time >= first {
            let Some(jump) = self.jump(op, time, false) else { return Some(time) };
            time = time.checked_sub(jump)?;
        }
        None
    }

    /// By how much `op` must at least start later, or earlier, than `time`; nothing where it fits.
    fn jump(&self, op: Op, time: i64, later: bool) -> Option<i64> {
        self.segments(op).iter().find_map(|s| {
            let Some(limit) = u64::from(self.capacities[s.resource.index()]).checked_sub(s.units) else {
                return Some(i64::from(self.ii));
            };
            let counts = &self.state.held[s.resource.index()];
            let [head, tail] = self.ranges(s, self.row(time));
            let (start, wrapped) = (head.start, head.end - head.start);
            // The row as an offset from the segment's start.
            if later {
                let row = counts.last_above(tail, limit).map(|row| row + wrapped);
                let row = row.or_else(|| counts.last_above(head, limit).map(|row| row - start));
                row.map(|row| i64::from(row) + 1)
            } else {
                let row = counts.above(head, limit).map(|row| row - start);
                let row = row.or_else(|| counts.above(tail, limit).map(|row| row + wrapped));
                row.map(|row| i64::from(s.rows - row))
            }
        })
    }

    /// Places `op` at `time`, or says what is in the way and changes nothing.
    pub fn place(&mut self, op: Op, time: i64) -> Result<(), PlaceError> {
        match self.state.times.get(op.index()) {
            None => return Err(PlaceError::Unknown(op)),
            Some(Some(_)) => return Err(PlaceError::Placed(op)),
            Some(None) => {}
        }
        if let Some((resource, row)) = self.conflict(op, time) {
            return Err(PlaceError::Taken { resource, row });
        }
        self.change(op, time, true);
        self.state.times[op.index()] = Some(time);
        Ok(())
    }

    /// Takes `op` out and says when it was; nothing if it was not in.
    pub fn unplace(&mut self, op: Op) -> Option<i64> {
        let time = self.state.times.get_mut(op.index())?.take()?;
        self.change(op, time, false);
        Some(time)
    }

    fn change(&mut self, op: Op, time: i64, add: bool) {
        let row = self.row(time);
        for i in self.starts[op.index()]..self.starts[op.index() + 1] {
            let s = self.segments[i];
            for range in self.ranges(&s, row) {
                self.state.held[s.resource.index()].change(range, s.units, add);
            }
        }
        // What of each use lies behind the end of the turn, counted from there.
        let ii = u64::from(self.ii);
        let over = |u: &Use| {
            let start = (u64::from(row) + u64::from(u.start)).max(ii);
            let end = u64::from(row) + u.end();
            // The row of a turn's end is row 0, so only the start's remainder matters.
            (start < end).then(|| Use { start: (start % ii) as u32, rows: (end - start) as u32, ..*u })
        };
        let over: Vec<Use> = self.uses[op.index()].iter().filter_map(over).collect();
        if !over.is_empty() {
            for s in fold(&over, self.ii) {
                let rows = s.start..s.start + s.rows;
                self.state.carried[s.resource.index()].change(rows, s.units, add);
            }
        }
    }

    /// The placed operations that hold something in rows where `op` would find too little at `time`, in the order of
    /// operations. Costs a look at every user of the resources of `op`.
    pub fn blockers(&self, op: Op, time: i64) -> Vec<Op> {
        let mut found = Vec::new();
        for s in self.segments(op) {
            let capacity = u64::from(self.capacities[s.resource.index()]);
            let Some(limit) = capacity.checked_sub(s.units) else { continue };
            let counts = &self.state.held[s.resource.index()];
            let ranges = self.ranges(s, self.row(time));
            if ranges.iter().all(|r| counts.above(r.clone(), limit).is_none()) {
                continue;
            }
            let blocks = |&other: &Op| {
                let Some(at) = self.time(other) else { return false };
                let theirs = self.segments(other).iter().filter(|t| t.resource == s.resource);
                let theirs = theirs.flat_map(|t| self.ranges(t, self.row(at)));
                theirs.into_iter().any(|t| {
                    ranges.iter().any(|r| {
                        let both = r.start.max(t.start)..r.end.min(t.end);
                        both.start < both.end && counts.above(both, limit).is_some()
                    })
                })
            };
            found.extend(self.users[s.resource.index()].iter().copied().filter(blocks));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// What the table holds now, for [`Table::restore`].
    pub fn snapshot(&self) -> Snapshot {
        Snapshot(self.state.clone())
    }

    /// Makes the table hold what it held at a snapshot. One of another table is refused, and nothing changes.
    #[must_use]
    pub fn restore(&mut self, snapshot: &Snapshot) -> bool {
        let shape = |s: &State| {
            let counts = s.held.iter().map(|c| (c.planes, c.words.len())).collect::<Vec<_>>();
            (s.times.len(), counts)
        };
        let same = shape(&self.state) == shape(&snapshot.0);
        if same {
            self.state.clone_from(&snapshot.0);
        }
        same
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_cover_the_rows() {
        for start in 0..140u32 {
            for end in start..140 {
                let rows: Vec<u32> = masks(start..end)
                    .flat_map(|(w, m)| {
                        (0..64).filter(move |b| m >> b & 1 == 1).map(move |b| w as u32 * 64 + b)
                    })
                    .collect();
                assert_eq!(rows, (start..end).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn longer_than_ii() {
        let mut p = Problem::new();
        let pool = p.add_resource("pool", 3);
        let a = p.add_op("a", vec![Use { resource: pool, start: 0, rows: 7, units: 1 }]);
        let b = p.add_op("b", vec![Use { resource: pool, start: 0, rows: 1, units: 1 }]);
        let mut t = Table::new(&p, 4).expect("small");
        let empty = t.snapshot();
        assert_eq!(t.place(a, 6), Ok(()));
        let held: Vec<_> = (0..4).map(|r| (t.in_iteration(pool, r), t.carried(pool, r))).collect();
        // Rows 2 and 3 of its own turn, then all four, then row 0 of the turn after.
        assert_eq!(held, [(0, 2), (0, 1), (1, 1), (1, 1)]);
        assert_eq!(t.place(a, 6), Err(PlaceError::Placed(a)));
        assert!(t.probe(b, 0));
        assert_eq!(t.place(b, 1), Ok(()));
        assert_eq!(t.unplace(b), Some(1));
        assert_eq!(t.unplace(b), None);
        assert_eq!(t.unplace(a), Some(6));
        assert_eq!(t.snapshot(), empty);
        assert_eq!(t.place(Op::from_u32(9), 0), Err(PlaceError::Unknown(Op::from_u32(9))));
        assert_eq!(Table::new(&p, 0).err(), Some(TableError::NoInterval));
    }
}
