//! Units and occupancies of a block's instructions, from the machine tables.

use crate::dialect::Dialect;
use sassafras_deps::models::LatencySource;
use sassafras_ir::{Function, Inst};
use sassafras_list::{Demand, Resources, Unit as ListUnit};
use sassafras_machine::{
    Arch, ClassRef, Conditions, MeasuredLatencies, Unit, class_costs, classes_for_mnemonic, unit_for_mnemonic,
};

/// Looks opcodes up once per function.
#[derive(Clone, Debug)]
pub struct UnitTable {
    demands: Vec<Demand>,
    of_opcode: Vec<u16>,
}

impl UnitTable {
    /// The unit of every opcode, and for how many cycles it takes it: the smallest issue gap that was measured, or the
    /// class's inverse throughput in the documented model. An opcode that no table knows takes an issue slot only.
    pub fn new(f: &Function, arch: Arch, source: LatencySource, dialect: Dialect) -> UnitTable {
        let mut demands: Vec<Demand> = vec![Demand::default()];
        let of_opcode = f
            .opcodes()
            .map(|opcode| {
                let name = dialect.machine_name(opcode);
                let unit = name.and_then(|name| Some((unit_for_mnemonic(name)?, gap(name, arch, source))));
                let demand = match unit {
                    Some((unit, gap)) => Demand { units: vec![(unit as u16, gap)] },
                    None => Demand::default(),
                };
                let at = demands.iter().position(|d| *d == demand).unwrap_or_else(|| {
                    demands.push(demand);
                    demands.len() - 1
                });
                at as u16
            })
            .collect();
        UnitTable { demands, of_opcode }
    }

    /// The records of one block: one issue slot per cycle, one of each unit.
    pub fn resources(&self, f: &Function, insts: &[Inst]) -> Resources {
        let units = Unit::ALL.iter().map(|u| ListUnit { name: u.name().to_owned(), copies: 1 }).collect();
        let class_of = insts.iter().map(|&i| self.of_opcode[f.inst(i).opcode.as_u32() as usize]).collect();
        Resources::new(1, units, self.demands.clone(), class_of).expect("classes made from the demands above")
    }
}

fn gap(opcode: &str, arch: Arch, source: LatencySource) -> u16 {
    let cycles = match source {
        LatencySource::Measured => {
            let gap = MeasuredLatencies::for_arch(arch).issue_gap(opcode);
            gap.and_then(|gap| gap.cycles).map(|cycles| cycles.0.lo())
        }
        LatencySource::Documented => classes_for_mnemonic(opcode, &Conditions::default())
            .into_iter()
            .find_map(|found| match found.class {
                ClassRef::Class(choice) => {
                    class_costs(arch, choice.class)?.throughput_inv.map(|cost| cost.0.hi())
                }
                ClassRef::Dynamic => None,
            }),
    };
    // Nothing known, or fully pipelined: the issue slot of one cycle.
    cycles.and_then(|c| u16::try_from(c).ok()).unwrap_or(1).max(1)
}
