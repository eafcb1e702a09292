//! Goal: which parts of a file are spoken for, whatever their order and however they lie over each other.

use std::collections::BTreeMap;
use std::ops::Range;

/// Parts of a file, none of which meets another.
#[derive(Default)]
pub(crate) struct Taken(BTreeMap<u64, u64>);

impl Taken {
    /// A part that is taken and meets this one.
    fn meets(&self, range: &Range<u64>) -> Option<Range<u64>> {
        let (&start, &end) = self.0.range(..range.end).next_back()?;
        (end > range.start).then_some(start..end)
    }

    pub fn overlaps(&self, range: &Range<u64>) -> bool {
        self.meets(range).is_some()
    }

    pub fn insert(&mut self, mut range: Range<u64>) {
        while let Some(other) = self.meets(&range) {
            self.0.remove(&other.start);
            range = range.start.min(other.start)..range.end.max(other.end);
        }
        if !range.is_empty() {
            self.0.insert(range.start, range.end);
        }
    }
}
