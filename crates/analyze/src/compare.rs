//! Goal: two versions of a function side by side: what moved, which stalls went, which waits are longer.
//!
//! Blocks are matched by number and instructions of a block by their text; of several with the same text the first is the first. What one
//! warp alone loses before an instruction is compared where both stand in a loop.
//!
//! Cost: linear. Source: our own.

use crate::kernel::Kernel;
use crate::rounded;
use crate::table::Row;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::VecDeque;

/// Two versions of a function.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Its name.
    pub name: String,
    /// The architecture.
    pub arch: String,
    /// Numbers of both.
    pub numbers: Vec<Number>,
    /// Loops of both, matched by the block that they start with.
    pub loops: Vec<LoopChange>,
    /// Instructions that stand at another place of their block, which may hold other registers.
    pub moved: Vec<Move>,
    /// Instructions of either that the other does not have: other registers, mostly.
    pub changed: u32,
    /// Instructions before which less is lost, most first.
    pub shorter: Vec<Change>,
    /// Instructions before which more is lost, most first.
    pub longer: Vec<Change>,
}

/// A number of both.
#[derive(Clone, Debug, Serialize)]
pub struct Number {
    /// What it is.
    pub name: &'static str,
    /// In the first.
    pub before: f64,
    /// In the second.
    pub after: f64,
}

/// A loop of both.
#[derive(Clone, Debug, Serialize)]
pub struct LoopChange {
    /// The block that it starts with.
    pub header: u32,
    /// Cycles per iteration and warp.
    pub cycles: (f64, f64),
    /// Cycles per iteration of one warp alone.
    pub latency: (f64, f64),
    /// Per cent of slots in which an instruction is issued.
    pub issue_utilisation: (f64, f64),
}

/// An instruction at another place.
#[derive(Clone, Debug, Serialize)]
pub struct Move {
    /// The block.
    pub block: u32,
    /// Its text.
    pub text: String,
    /// Places in the block, before and after.
    pub places: (u32, u32),
}

/// An instruction before which other cycles are lost.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// The block.
    pub block: u32,
    /// Its text.
    pub text: String,
    /// Offsets, before and after.
    pub offsets: (u64, u64),
    /// Cycles lost, before and after.
    pub lost: (u32, u32),
}

/// Holds two versions side by side.
pub fn compare(before: &Kernel, after: &Kernel) -> Comparison {
    let numbers = |kernel: &Kernel| {
        let hottest = kernel.loops.first();
        [
            ("cycles, as schedule counts them", kernel.summary.cycles as f64),
            ("estimated latency, one warp", kernel.summary.latency),
            ("estimated cycles per warp", kernel.summary.throughput),
            ("cycles of stalls", kernel.summary.stalls as f64),
            ("instructions that wait", f64::from(kernel.summary.waits)),
            ("registers in use at most", f64::from(kernel.summary.live_peak)),
            ("hottest loop, cycles per iteration and warp", hottest.map_or(0.0, |l| l.cycles)),
            ("hottest loop, cycles per iteration alone", hottest.map_or(0.0, |l| l.latency)),
            ("hottest loop, issue utilisation", hottest.map_or(0.0, |l| l.units.issue_utilisation)),
            ("hottest loop, one warp waits for scoreboards", hottest.map_or(0.0, |l| l.own.scoreboard)),
            ("hottest loop, one warp stalls", hottest.map_or(0.0, |l| l.own.stall)),
            (
                "hottest loop, register banks hold all warps up",
                hottest.map_or(0.0, |l| l.shared.register_banks),
            ),
        ]
    };
    let numbers = numbers(before).into_iter().zip(numbers(after));
    let numbers =
        numbers.map(|((name, before), (_, after))| Number { name, before, after: rounded(after) }).collect();
    let loops = before.loops.iter().filter_map(|old| {
        let new = after.loops.iter().find(|new| new.header == old.header)?;
        Some(LoopChange {
            header: old.header,
            cycles: (old.cycles, new.cycles),
            latency: (old.latency, new.latency),
            issue_utilisation: (old.units.issue_utilisation, new.units.issue_utilisation),
        })
    });
    let mut out = Comparison {
        name: before.name.clone(),
        arch: before.arch.clone(),
        numbers,
        loops: loops.collect(),
        moved: Vec::new(),
        changed: 0,
        shorter: Vec::new(),
        longer: Vec::new(),
    };
    out.instructions(&before.instructions, &after.instructions);
    out
}

impl Comparison {
    fn instructions(&mut self, before: &[Row], after: &[Row]) {
        let mut places: FxHashMap<(u32, String), VecDeque<(u32, &Row)>> = FxHashMap::default();
        for (place, row) in numbered(after) {
            places.entry((row.block, plain(&row.text))).or_default().push_back((place, row));
        }
        for (place, old) in numbered(before) {
            let found = places.get_mut(&(old.block, plain(&old.text))).and_then(VecDeque::pop_front);
            let Some((now, new)) = found else {
                self.changed += 1;
                continue;
            };
            if now != place {
                self.moved.push(Move { block: old.block, text: old.text.clone(), places: (place, now) });
            }
            if let (Some(was), Some(is)) = (old.lost, new.lost)
                && was != is
            {
                let change = Change {
                    block: old.block,
                    text: old.text.clone(),
                    offsets: (old.offset, new.offset),
                    lost: (was, is),
                };
                if is < was { self.shorter.push(change) } else { self.longer.push(change) }
            }
        }
        self.shorter.sort_by_key(|change| (change.lost.1 as i64 - change.lost.0 as i64, change.offsets));
        self.longer.sort_by_key(|change| (change.lost.0 as i64 - change.lost.1 as i64, change.offsets));
    }
}

/// Rows with their places in their blocks.
fn numbered(rows: &[Row]) -> impl Iterator<Item = (u32, &Row)> {
    let mut last = (u32::MAX, 0);
    rows.iter().map(move |row| {
        last = if last.0 == row.block { (row.block, last.1 + 1) } else { (row.block, 0) };
        (last.1, row)
    })
}

/// The text without the mark of registers that are kept at hand: that is a control field.
fn plain(text: &str) -> String {
    text.replace(".reuse", "")
}
