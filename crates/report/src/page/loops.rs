//! Goal: a loop on the page, and the tables that loops and whole functions have alike.

use super::limits::Limits;
use super::show;
use super::timeline::{Timeline, timeline};
use crate::cause::cause;
use askama::Template;
use sassafras_analyze::hiding::Hiding;
use sassafras_analyze::scoreboards::{Pressure, UnderWay};
use sassafras_analyze::steady::Cycles;
use sassafras_analyze::{Kernel, LoopReport};
use std::collections::BTreeMap;

/// Characters that a stacked bar has room for.
const CHARACTERS: f64 = 90.0;

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
    /// A loop, cut where it is too long.
    pub fn new(kernel: &'a Kernel, found: &'a LoopReport, open: bool, limits: &Limits) -> LoopView<'a> {
        let texts: BTreeMap<u64, &str> =
            kernel.instructions.iter().map(|row| (row.offset, row.text.as_str())).collect();
        let step = |link: &sassafras_analyze::critical::Link| Step {
            cycles: link.cycles,
            offset: link.offset,
            text: texts.get(&link.offset).copied().unwrap_or_default(),
            cause: cause(&link.cause),
        };
        let left_out = found.critical.len().saturating_sub(limits.critical);
        LoopView {
            found,
            open,
            timeline: timeline(kernel, found, limits.picture),
            tables: Tables::new(&found.hiding, &found.scoreboards),
            critical: found.critical[left_out..].iter().map(step).collect(),
        }
    }

    /// What cycles go to: for whom, how many, and the parts.
    fn stacks(&self) -> [(&'static str, f64, Vec<Share>); 2] {
        let LoopReport { cycles, latency, shared, own, .. } = self.found;
        [("all warps", *cycles, shares(shared)), ("one warp alone", *latency, shares(own))]
    }

    /// What an iteration is made of.
    fn metrics(&self) -> impl Iterator<Item = (&'static str, u32)> {
        let m = &self.found.metrics;
        let counted = [
            ("multiply-accumulates", m.macs),
            ("global loads", m.global_loads),
            ("global stores", m.global_stores),
            ("shared-memory accesses", m.shared_accesses),
            ("barriers", m.barriers),
            ("branches", m.branches),
        ];
        counted.into_iter().filter(|&(_, count)| count > 0)
    }

    /// Cycles that it takes at least, and for what.
    fn bounds(&self) -> impl Iterator<Item = (&'static str, u32)> {
        let b = &self.found.bounds;
        let bounds = [
            ("issue slots", b.issue),
            ("busiest unit", b.unit),
            ("data path", b.data_path),
            ("for one warp the longest chain from one iteration to the next", b.recurrence),
        ];
        bounds.into_iter().filter(|&(_, cycles)| cycles > 0)
    }
}

/// A part of a stacked bar.
struct Share {
    class: &'static str,
    name: String,
    cycles: f64,
    /// Whether its name has room inside.
    roomy: bool,
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
    let named =
        named.map(|(class, name, cycles)| Share { class, name: name.to_owned(), cycles, roomy: false });
    let busy = cycles.busy.iter().map(|(pipe, &cycles)| Share {
        class: "c6",
        name: format!("{pipe} pipe busy"),
        cycles,
        roomy: false,
    });
    let mut shares: Vec<Share> = named.into_iter().chain(busy).filter(|share| share.cycles > 0.0).collect();
    let all: f64 = shares.iter().map(|share| share.cycles).sum();
    for share in &mut shares {
        share.roomy = share.cycles / all * CHARACTERS > share.name.len() as f64;
    }
    shares
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
