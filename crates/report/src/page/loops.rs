//! Goal: a loop on the page, and the tables that loops and whole functions have alike.

use super::show;
use super::timeline::{Timeline, timeline};
use crate::cause::cause;
use askama::Template;
use sassafras_analyze::hiding::Hiding;
use sassafras_analyze::scoreboards::{Pressure, UnderWay};
use sassafras_analyze::steady::Cycles;
use sassafras_analyze::{Kernel, LoopReport};
use std::collections::BTreeMap;

#[derive(Template)]
#[template(path = "loop.html")]
pub struct LoopView<'a> {
    found: &'a LoopReport,
    open: bool,
    timeline: Option<Timeline>,
    tables: Tables<'a>,
    critical: Vec<Step<'a>>,
}

/// A step of the critical sequence.
struct Step<'a> {
    cycles: u32,
    offset: u64,
    text: &'a str,
    cause: String,
}

impl<'a> LoopView<'a> {
    /// A loop, with so many rows in its picture at most.
    pub fn new(kernel: &'a Kernel, found: &'a LoopReport, open: bool, rows: usize) -> LoopView<'a> {
        let texts: BTreeMap<u64, &str> =
            kernel.instructions.iter().map(|row| (row.offset, row.text.as_str())).collect();
        let step = |link: &sassafras_analyze::critical::Link| Step {
            cycles: link.cycles,
            offset: link.offset,
            text: texts.get(&link.offset).copied().unwrap_or_default(),
            cause: cause(&link.cause),
        };
        LoopView {
            found,
            open,
            timeline: timeline(kernel, found, rows),
            tables: Tables::new(&found.hiding, &found.scoreboards),
            critical: found.critical.iter().map(step).collect(),
        }
    }

    /// What cycles go to: for whom, how many, and the parts.
    fn stacks(&self) -> [(&'static str, f64, Vec<Share>); 2] {
        let LoopReport { cycles, latency, shared, own, .. } = self.found;
        [("all warps", *cycles, shares(shared)), ("one warp alone", *latency, shares(own))]
    }

    /// What an iteration is made of.
    fn metrics(&self) -> Vec<(&'static str, String)> {
        let (m, b) = (&self.found.metrics, &self.found.bounds);
        let counted = [
            ("multiply-accumulates", m.macs),
            ("global loads", m.global_loads),
            ("global stores", m.global_stores),
            ("shared-memory accesses", m.shared_accesses),
            ("barriers", m.barriers),
            ("branches", m.branches),
        ];
        let bounds = [
            ("issue slots need at least", b.issue),
            ("the busiest unit", b.unit),
            ("the data path", b.data_path),
            ("the longest chain from one iteration to the next", b.recurrence),
        ];
        let counted = counted.into_iter().filter(|&(_, n)| n > 0).map(|(name, n)| (name, n.to_string()));
        let bounds = bounds.into_iter().filter(|&(_, n)| n > 0);
        counted.chain(bounds.map(|(name, n)| (name, format!("{n} cycles")))).collect()
    }
}

/// A part of a stacked bar.
struct Share {
    class: &'static str,
    name: String,
    cycles: f64,
}

fn shares(cycles: &Cycles) -> Vec<Share> {
    let named = [
        ("c0", "issued", cycles.issued),
        ("c1", "register banks", cycles.register_banks),
        ("c2", "stalls", cycles.stall),
        ("c3", "scoreboards", cycles.scoreboard),
        ("c4", "work beside", cycles.beside),
        ("c5", "barriers", cycles.barrier),
    ];
    let named = named.map(|(class, name, cycles)| Share { class, name: name.to_owned(), cycles });
    let busy = cycles.busy.iter().map(|(pipe, &cycles)| Share {
        class: "c6",
        name: format!("{pipe} pipe busy"),
        cycles,
    });
    named.into_iter().chain(busy).filter(|share| share.cycles > 0.0).collect()
}

/// Latency hiding and scoreboards.
#[derive(Template)]
#[template(path = "tables.html")]
pub struct Tables<'a> {
    hiding: Vec<&'a Hiding>,
    pressure: &'a Pressure,
}

impl<'a> Tables<'a> {
    /// Of a function or a loop.
    pub fn new(hiding: &'a [Hiding], pressure: &'a Pressure) -> Tables<'a> {
        Tables { hiding: hiding.iter().filter(|found| found.num > 0).collect(), pressure }
    }

    /// Whether there is anything to show.
    pub fn any(&self) -> bool {
        !self.hiding.is_empty() || self.pressure.all.instructions > 0
    }

    /// The documented names, in plain words.
    fn meaning(name: &str) -> &'static str {
        match name {
            "LDS" => "loads from shared memory",
            "LDG" => "loads from global memory",
            "Xu64" => "64-bit arithmetic",
            "Antidep" => "sources that are overwritten",
            _ => "",
        }
    }

    fn under_way(&self) -> Vec<(String, &'a UnderWay)> {
        let all = [("all", &self.pressure.all), ("that come back in any order", &self.pressure.unordered)];
        let queues = self.pressure.queues.iter().map(|(name, found)| (format!("of these, {name}"), found));
        let all = all.into_iter().map(|(name, found)| (name.to_owned(), found));
        all.chain(queues).filter(|(_, found)| found.instructions > 0).collect()
    }
}
