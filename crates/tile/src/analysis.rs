//! What generation publishes and materialisation reads: the only thing that passes between the two.

use crate::buffers::Over;
use crate::generate::arms::Arm;
use crate::generate::cost::Cost;
use cranelift_entity::EntityRef;
use sassafras_modulo::{Evidence, Schedule};
use sassafras_tileir::program::{Op, Program, Storage, Value};
use serde::Serialize;
use std::collections::BTreeMap;

/// Where an operation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Cycle of iteration 0.
    pub time: i64,
    /// Turn of the kernel.
    pub stage: u32,
    /// Cycle within the turn.
    pub row: u32,
    /// Position among all operations by stage, row and program order: no two have the same.
    pub order: u32,
}

/// Who made the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Generator {
    /// One iteration after the other.
    Serial,
    /// The arms.
    Arms,
    /// The iterative scheduler, at an II at which the arms failed.
    Iterative,
    /// Exact search, at an II at which both failed.
    Exact,
}

impl Generator {
    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Generator::Serial => "serial",
            Generator::Arms => "arms",
            Generator::Iterative => "iterative",
            Generator::Exact => "exact",
        }
    }
}

/// The lower bounds of II, by where they come from. Limits on slots that were asked for count, those that budgets made
/// necessary do not: with other limits II could be lower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Mii {
    /// Circuits of dependences, with as many slots as one likes.
    pub recurrence: u64,
    /// Resources, all of them.
    pub resource: u64,
    /// Resources that are fine slots.
    pub fine: u64,
    /// Circuits of dependences, those among them where a slot is used again because no more were asked for.
    pub dependence: u64,
}

impl Mii {
    /// The largest.
    pub fn most(self) -> u64 {
        self.recurrence.max(self.resource).max(self.fine).max(self.dependence).max(1)
    }
}

/// Buffers that did not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Crowded {
    /// At which II.
    pub ii: u32,
    /// Which storage.
    pub storage: Storage,
    /// Bytes needed.
    pub need: u64,
    /// Bytes there.
    pub have: u64,
}

impl Crowded {
    pub(crate) fn of(over: &Over, ii: u32) -> Crowded {
        Crowded { ii, storage: over.storage, need: over.need, have: over.have }
    }
}

/// A schedule and how it came about.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// Cycles between the starts of two iterations.
    pub ii: u32,
    /// Stages.
    pub stages: u32,
    /// Where each operation stands.
    pub places: Vec<Place>,
    /// Who made it.
    pub generator: Generator,
    /// Why it is serial, where it is.
    pub serial_because: Option<&'static str>,
    /// Set where it is serial because no other generator's schedule would do: none was found, or its buffers did not fit.
    pub trivial: bool,
    /// The arm that seated each operation, where arms did.
    pub arms: Vec<Arm>,
    /// Bounds.
    pub mii: Mii,
    /// What binds II from below, in words.
    pub bound: String,
    /// What is known of smaller II from those that were tried, under the limits below; in cycles. Nothing was tried for a
    /// serial schedule that was asked for.
    pub evidence: Evidence,
    /// Whether every II from the bound on that is smaller has been proven to have no schedule, under the limits below.
    pub proven: bool,
    /// II that the arms tried, in cycles, with whether they worked.
    pub probes: Vec<(u32, bool)>,
    /// What the schedule costs.
    pub cost: Cost,
    /// Limits on slots that were needed to fit budgets, or asked for.
    pub caps: BTreeMap<Value, u32>,
    /// Those of them that were asked for.
    pub asked: BTreeMap<Value, u32>,
    /// The most stages that were allowed; nothing for any number.
    pub stage_limit: Option<u32>,
    /// Set where stages or groups are prescribed that are not kept, since iterations do not overlap.
    pub unkept: bool,
    /// Where buffers did not fit: at the largest smaller II that was tried, or with fewer limits on slots.
    pub crowded: Option<Crowded>,
    /// How often limits were tightened.
    pub constraint_iterations: u32,
    /// Cycles that a row of the table stood for.
    pub quantum: u32,
}

impl Analysis {
    /// Where an operation stands.
    pub fn place(&self, op: Op) -> Place {
        self.places[op.index()]
    }

    /// The same as a schedule of the problem.
    pub fn schedule(&self) -> Schedule {
        Schedule { ii: self.ii, times: self.places.iter().map(|p| p.time).collect() }
    }

    /// Operations by stage and order.
    pub fn sorted(&self) -> Vec<Op> {
        let mut ops: Vec<Op> = (0..self.places.len()).map(Op::new).collect();
        ops.sort_by(|&a, &b| compare(self, a, b));
        ops
    }

    /// Whether II is the least there is, with the slots and stages that were asked for: it is the bound, or all smaller ones
    /// were proven infeasible and budgets had no part in it.
    pub fn is_optimal(&self) -> bool {
        u64::from(self.ii) == self.mii.most() || self.proven && self.caps == self.asked
    }

    /// What is known of smaller II, as a sentence.
    pub fn known(&self) -> String {
        if u64::from(self.ii) == self.mii.most() {
            return "the least there is: it equals the bound".into();
        }
        let mut limits = Vec::new();
        if self.caps != self.asked {
            limits.push("these limits on slots".to_owned());
        }
        limits.extend(self.stage_limit.map(|s| format!("at most {s} stages")));
        let with = if limits.is_empty() { String::new() } else { format!("with {}, ", limits.join(" and ")) };
        if self.proven {
            return format!("{with}the least there is: all smaller ones were proven infeasible");
        }
        if let Some(because) = self.serial_because {
            let unkept = if self.unkept { "; prescribed stages and groups are not kept" } else { "" };
            return format!("iterations do not overlap: {because}{unkept}");
        }
        let steps =
            if self.quantum > 1 { format!(", in steps of {} cycles,", self.quantum) } else { String::new() };
        match self.evidence {
            Evidence::Exhaustive => {
                format!("{with}every smaller one that the bounds allow was tried without success")
            }
            Evidence::From(from) => {
                format!("{with}every smaller one from {from} on{steps} was tried without success")
            }
            Evidence::Monotone => "not every smaller one was tried".into(),
        }
    }
}

/// By stage, then by order. Two different operations never compare as equal, since orders are unique.
pub fn compare(analysis: &Analysis, a: Op, b: Op) -> std::cmp::Ordering {
    let key = |op: Op| (analysis.place(op).stage, analysis.place(op).order);
    key(a).cmp(&key(b))
}

/// Places from times in cycles.
pub(crate) fn places(program: &Program, schedule: &Schedule) -> Vec<Place> {
    let ii = i64::from(schedule.ii.max(1));
    let n = program.ops.len();
    let mut by: Vec<usize> = (0..n).collect();
    by.sort_by_key(|&i| (schedule.times[i], i));
    let mut order = vec![0; n];
    for (rank, &i) in by.iter().enumerate() {
        order[i] = rank as u32;
    }
    let place = |i: usize| {
        let time = schedule.times[i];
        Place { time, stage: time.div_euclid(ii) as u32, row: time.rem_euclid(ii) as u32, order: order[i] }
    };
    (0..n).map(place).collect()
}
