//! Goal: how much of its latency every long operation hides.
//!
//! Hidden are the cycles in which the warp goes on with something else, by stalls alone, between an operation and the first
//! instruction that needs it, up to the expected latency: shared loads (LDS), global loads (LDG), 64-bit operations of the extended unit
//! (Xu64), and anti-dependences: sources of memory operations that somebody overwrites (Antidep).
//!
//! Cost: each operation looks as far ahead as its latency. Source: the ptxas-scheduling and latency-model documents (latency-hiding
//! statistics: Num, Avg, Min, Max); what counts as hidden is our reading.

use crate::rounded;
use sassafras_ir::{Inst, Space};
use sassafras_machine::{Category, hiding_categories};
use sassafras_tepid::code::{Touch, index};
use sassafras_tepid::{Code, Fields};
use serde::Serialize;

/// One category of the statistics.
#[derive(Clone, Debug, Serialize)]
pub struct Hiding {
    /// Its documented name.
    pub name: &'static str,
    /// Operations.
    pub num: u32,
    /// Mean of the hidden cycles.
    pub avg: f64,
    /// The fewest.
    pub min: u32,
    /// The most.
    pub max: u32,
    /// Operations that hide all of their expected latency.
    pub whole: u32,
}

/// The documented categories, by their places in `machine/data/hiding_categories.csv`.
const LDS: usize = 0;
const LDG: usize = 1;
const XU64: usize = 2;
const ANTIDEP: usize = 3;

/// The statistics of a way through code; a loop starts again at its end.
pub fn hiding(code: &Code<'_>, insts: &[Inst], fields: &[Fields], repeats: bool) -> Vec<Hiding> {
    let mut found: [Vec<(u32, u32)>; 4] = Default::default();
    let stalls: Vec<u32> = insts.iter().map(|&inst| u32::from(fields[index(inst)].stall.max(1))).collect();
    for (at, &inst) in insts.iter().enumerate() {
        let ahead = Ahead { insts, stalls: &stalls, at, repeats };
        let expected = code.op(inst).expected;
        if let Some(kind) = kind(code, inst) {
            let latency = u32::from(expected.write);
            let needs = |other: Inst| {
                touches(code.reads(other), code.writes(inst))
                    || touches(code.writes(other), code.writes(inst))
            };
            found[kind].push((ahead.until(latency, needs), latency));
        }
        if code.op(inst).decoupled && fields[index(inst)].read.is_some() {
            let latency = u32::from(expected.read);
            let overwrites = |other: Inst| touches(code.writes(other), code.reads(inst));
            if let Some(hidden) = ahead.until_some(latency, overwrites) {
                found[ANTIDEP].push((hidden, latency));
            }
        }
    }
    hiding_categories().iter().zip(found).map(|(category, found)| summary(&category.name, &found)).collect()
}

fn summary(name: &'static str, found: &[(u32, u32)]) -> Hiding {
    let hidden = || found.iter().map(|&(hidden, _)| hidden);
    let sum: u64 = hidden().map(u64::from).sum();
    Hiding {
        name,
        num: found.len() as u32,
        avg: rounded(sum as f64 / found.len().max(1) as f64),
        min: hidden().min().unwrap_or(0),
        max: hidden().max().unwrap_or(0),
        whole: found.iter().filter(|(hidden, latency)| hidden >= latency).count() as u32,
    }
}

/// Which of the first three an instruction is.
fn kind(code: &Code<'_>, inst: Inst) -> Option<usize> {
    let f = code.f;
    if code.loads_global(inst) {
        return Some(LDG);
    }
    if f.defs(inst).is_empty() {
        return None;
    }
    if f.accesses(inst).any(|(access, write)| !write && access.space == Space::Shared) {
        return Some(LDS);
    }
    let name = f.opcode_text(f.inst(inst).opcode);
    let wide = name.contains("64");
    let extended = matches!(code.op(inst).category, Some(Category::Sfu | Category::Convert)) && wide;
    (extended || code.op(inst).category == Some(Category::Fp64)).then_some(XU64)
}

fn touches(some: &[Touch], others: &[Touch]) -> bool {
    some.iter().any(|a| others.iter().any(|b| a.lane == b.lane))
}

/// What stands behind an instruction.
struct Ahead<'a> {
    insts: &'a [Inst],
    stalls: &'a [u32],
    at: usize,
    repeats: bool,
}

impl Ahead<'_> {
    /// Cycles until an instruction that `stops`, at most the latency.
    fn until(&self, latency: u32, stops: impl Fn(Inst) -> bool) -> u32 {
        self.until_some(latency, stops).unwrap_or(latency)
    }

    /// The same; none when nobody does within the latency.
    fn until_some(&self, latency: u32, stops: impl Fn(Inst) -> bool) -> Option<u32> {
        let mut cycles = 0;
        let length = self.insts.len();
        for step in 1..=length {
            cycles += self.stalls[(self.at + step - 1) % length];
            if cycles >= latency || (!self.repeats && self.at + step >= length) {
                return None;
            }
            if stops(self.insts[(self.at + step) % length]) {
                return Some(cycles);
            }
        }
        None
    }
}
