//! Goal: which functional unit is busiest, by what share of the cycles, and whether it is what bounds the code.
//!
//! Utilisation is per sub-core: cycles that the instructions of an iteration keep a unit, over the cycles that an iteration takes of the
//! sub-core. Beside the units there is the *data path* of shared memory and the first cache: wide accesses keep it longer than the unit that
//! issues them.
//!
//! Cost: linear. Source: the ptxas-scheduling document (scheduling guidance: bottleneck, resource usage);
//! `machine/data/guidance_units.csv` for cycles.

use crate::percent;
use crate::steady::{Cycles, Idle};
use sassafras_ir::Inst;
use sassafras_machine::Category;
use sassafras_machine::dispatch::Pipe;
use sassafras_machine::guidance::GuidanceUnit;
use sassafras_tepid::Code;
use sassafras_tepid::body::NodeFacts;
use serde::Serialize;
use std::fmt;

/// A unit is said to bound code from this utilisation on, in per cent.
const BOUND: f64 = 85.0;
/// Below this share of cycles in which nothing is issued, in per cent, it is the issue slots that do.
const IDLE: f64 = 10.0;

/// How busy a unit is.
#[derive(Clone, Debug, Serialize)]
pub struct UnitUse {
    /// The unit.
    pub unit: GuidanceUnit,
    /// Instructions of an iteration that go there.
    pub instructions: u32,
    /// Cycles that they keep it.
    pub cycles: u32,
    /// Per cent of the cycles of an iteration.
    pub utilisation: f64,
}

/// All units, busy or not.
#[derive(Clone, Debug, Serialize)]
pub struct Units {
    /// Every unit of the guidance, in its order.
    pub units: Vec<UnitUse>,
    /// The busiest; none where no unit is used.
    pub bottleneck: Option<GuidanceUnit>,
    /// Cycles that the data path of shared memory and the first cache is kept, and its utilisation in per cent.
    pub data_path: (u32, f64),
    /// Per cent of the cycles in which an instruction is issued.
    pub issue_utilisation: f64,
}

/// The units that one instruction keeps busy.
pub fn of(code: &Code<'_>, inst: Inst) -> Vec<(GuidanceUnit, u32)> {
    let op = code.op(inst);
    let name = code.f.opcode_text(code.f.inst(inst).opcode);
    let used = GuidanceUnit::used(name, &op.dispatch).map(|(unit, cycles)| match unit {
        GuidanceUnit::Tensor if op.category == Some(Category::WarpgroupMma) => {
            (unit, code.product_cycles(inst))
        }
        _ => (unit, u32::from(cycles)),
    });
    used.collect()
}

impl Units {
    /// Of instructions that take so many cycles of a sub-core.
    pub fn new(code: &Code<'_>, insts: &[Inst], cycles: f64) -> Units {
        let mut units: Vec<UnitUse> = (GuidanceUnit::ALL.iter())
            .map(|&unit| UnitUse { unit, instructions: 0, cycles: 0, utilisation: 0.0 })
            .collect();
        let mut data = 0;
        let sm = sassafras_machine::multiprocessor::Multiprocessor::of(code.arch);
        for &inst in insts {
            for (unit, busy) in of(code, inst) {
                units[unit as usize].instructions += 1;
                units[unit as usize].cycles += busy;
            }
            let pipes = NodeFacts::new(code, inst, sm).pipes;
            data += pipes
                .iter()
                .filter(|(pipe, _)| *pipe == Pipe::Memory)
                .map(|&(_, c)| u32::from(c))
                .sum::<u32>();
        }
        for unit in &mut units {
            unit.utilisation = percent(f64::from(unit.cycles), cycles);
        }
        // Of two that are equally busy the first: the order is that of the guidance.
        let busiest = units.iter().rev().max_by_key(|unit| unit.cycles).filter(|unit| unit.cycles > 0);
        let bottleneck = busiest.map(|unit| unit.unit);
        let data_path = (data, percent(f64::from(data), cycles));
        let issue_utilisation = percent(insts.len() as f64, cycles);
        Units { units, bottleneck, data_path, issue_utilisation }
    }

    /// What bounds the code: a unit, the data path, issue slots, or what is waited for while nothing is issued.
    pub fn bound_by(&self, cycles: &Cycles) -> Bound {
        let all = cycles.issued + cycles.register_banks + cycles.idle();
        let busiest = self.bottleneck.map(|unit| &self.units[unit as usize]);
        match busiest {
            Some(unit) if unit.utilisation >= BOUND => Bound::Unit(unit.unit),
            _ if self.data_path.1 >= BOUND => Bound::DataPath,
            _ if percent(cycles.idle(), all) < IDLE && percent(cycles.register_banks, all) >= IDLE => {
                Bound::IssueAndBanks
            }
            _ if percent(cycles.idle(), all) < IDLE => Bound::Issue,
            _ => Bound::Latency(cycles.worst().0),
        }
    }
}

/// What bounds code; serialised as its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// A unit is busy nearly always.
    Unit(GuidanceUnit),
    /// The data path of shared memory and the first cache is.
    DataPath,
    /// Nearly every cycle an instruction is issued.
    Issue,
    /// The same, and what is not issued is lost to register banks.
    IssueAndBanks,
    /// Nothing is issued in many cycles, for this reason most of all.
    Latency(Idle),
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::Unit(unit) => write!(f, "{unit}"),
            Bound::DataPath => f.write_str("data path of shared memory and the first cache"),
            Bound::Issue => f.write_str("issue slots"),
            Bound::IssueAndBanks => f.write_str("issue slots, register banks"),
            Bound::Latency(idle) => write!(f, "latency: {idle}"),
        }
    }
}

impl Serialize for Bound {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
