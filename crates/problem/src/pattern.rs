//! Reservation patterns modulo II, as schedulers and bounds look at them. [`verify`](mod@crate::verify) has its own way.

use crate::problem::{Resource, Use};

/// `units` of `resource` in `rows` rows from `start` on; `start + rows` is at most II.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// What is held.
    pub resource: Resource,
    /// The first row.
    pub start: u32,
    /// For how many rows.
    pub rows: u32,
    /// How many units of it.
    pub units: u64,
}

/// A reservation pattern modulo `ii`: segments that do not overlap, by resource and row. Costs a sort of the uses.
pub fn fold(uses: &[Use], ii: u32) -> Vec<Segment> {
    let ii = u64::from(ii.max(1));
    // Where the count changes: up before down does not matter, since equal rows are summed before one is read.
    let mut changes: Vec<(Resource, u64, i128)> = Vec::with_capacity(2 * uses.len());
    for u in uses {
        let (rows, units) = (u64::from(u.rows), i128::from(u.units));
        let mut change = |from: u64, to: u64, units: i128| {
            if from < to && units > 0 {
                changes.extend([(u.resource, from, units), (u.resource, to, -units)]);
            }
        };
        change(0, ii, units * i128::from(rows / ii));
        let start = u64::from(u.start) % ii;
        let end = start + rows % ii;
        change(start, end.min(ii), units);
        change(0, end.saturating_sub(ii), units);
    }
    changes.sort_unstable_by_key(|&(resource, row, _)| (resource, row));
    let mut segments: Vec<Segment> = Vec::new();
    let mut units = 0i128;
    for pair in changes.windows(2) {
        let [(resource, row, change), (next_resource, next, _)] = [pair[0], pair[1]];
        units += change;
        if resource == next_resource && row < next && units > 0 {
            let units = u64::try_from(units).unwrap_or(u64::MAX);
            // Rows below II, which is a u32.
            segments.push(Segment { resource, start: row as u32, rows: (next - row) as u32, units });
        }
    }
    segments
}
