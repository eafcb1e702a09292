//! What generation publishes and materialisation reads: the only thing that passes between the two.

use crate::generate::arms::Arm;
use crate::generate::cost::Cost;
use cranelift_entity::EntityRef;
use sassafras_modulo::{Evidence, Schedule};
use sassafras_tileir::program::{Op, Program, Value};
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
}

impl Generator {
    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Generator::Serial => "serial",
            Generator::Arms => "arms",
            Generator::Iterative => "iterative",
        }
    }
}

/// The lower bounds of II, by where they come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Mii {
    /// Circuits of dependences.
    pub recurrence: u64,
    /// Resources, all of them.
    pub resource: u64,
    /// Resources that are fine slots.
    pub fine: u64,
    /// Circuits that come only from slots of values being used again.
    pub dependence: u64,
}

impl Mii {
    /// The largest.
    pub fn most(self) -> u64 {
        self.recurrence.max(self.resource).max(self.fine).max(self.dependence).max(1)
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
    /// Why it is serial, where that was no failure.
    pub serial_because: Option<&'static str>,
    /// Set where every generator but the serial one failed.
    pub trivial: bool,
    /// The arm that seated each operation, where arms did.
    pub arms: Vec<Arm>,
    /// Bounds.
    pub mii: Mii,
    /// What binds II from below, in words.
    pub bound: String,
    /// What is known of smaller II.
    pub evidence: Evidence,
    /// Whether every II from the bound on that is smaller has been proven to have no schedule (limits on slots and stages
    /// taken as given).
    pub proven: bool,
    /// II that were tried, with whether they worked.
    pub probes: Vec<(u32, bool)>,
    /// What the schedule costs.
    pub cost: Cost,
    /// Limits on slots that were needed to fit budgets, or asked for.
    pub caps: BTreeMap<Value, u32>,
    /// How often limits were tightened.
    pub constraint_iterations: u32,
    /// Cycles that a row of the table stood for.
    pub quantum: u32,
    /// The leader of each operation's group.
    pub leaders: Vec<Op>,
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

    /// Whether II is the least there is: it is the bound, or all smaller ones were proven infeasible.
    pub fn is_optimal(&self) -> bool {
        self.proven || u64::from(self.ii) == self.mii.most()
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
