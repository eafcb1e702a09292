//! Scheduling costs of the documents.

use super::{EdgeCosts, Interned, costs};
use crate::latency::{LatencyModel, OrderKind};
use sassafras_ir::{Function, Inst, LaneRef};
use sassafras_machine::{Arch, ClassRef, Conditions, class_costs, classes_for_mnemonic};

/// A write costs its scheduling class's model latency, whoever reads it. Of several classes that the document gives for
/// a mnemonic the first with a number counts, of a range the upper end.
#[derive(Clone, Debug)]
pub struct Documented {
    class_of: Vec<u16>,
    latency: Vec<u16>,
    costs: EdgeCosts,
}

impl Documented {
    /// Looks every opcode of the function up once. `high_latency` replaces
    /// what a result costs that no table speaks of, and what memory order costs.
    pub fn new(f: &Function, arch: Arch, high_latency: Option<u16>) -> Documented {
        Documented::with_names(f, arch, high_latency, |opcode| Some(opcode))
    }

    /// The same for opcodes that tables know under other names, or under none.
    pub fn with_names(
        f: &Function,
        arch: Arch,
        high_latency: Option<u16>,
        name: impl Fn(&str) -> Option<&str>,
    ) -> Documented {
        let costs = costs::DOCUMENTED.with_high_latency(high_latency);
        let latency = |opcode: &str| documented_latency(name(opcode)?, arch);
        let interned = Interned::new(f, |opcode| latency(opcode).unwrap_or(costs.unknown_raw));
        Documented { class_of: interned.of_opcode, latency: interned.values, costs }
    }
}

fn documented_latency(opcode: &str, arch: Arch) -> Option<u16> {
    let cost =
        classes_for_mnemonic(opcode, &Conditions::default()).into_iter().find_map(|found| {
            match found.class {
                ClassRef::Class(choice) => class_costs(arch, choice.class)?.latency,
                ClassRef::Dynamic => None,
            }
        })?;
    u16::try_from(cost.0.hi()).ok()
}

impl LatencyModel for Documented {
    fn def_class(&self, f: &Function, inst: Inst, _: LaneRef) -> u16 {
        self.class_of[f.inst(inst).opcode.as_u32() as usize]
    }
    fn use_class(&self, _: &Function, _: Inst, _: LaneRef) -> u16 {
        0
    }
    fn raw(&self, def: u16, _: u16) -> u16 {
        self.latency[usize::from(def)]
    }
    fn war(&self, _: u16, _: u16) -> u16 {
        self.costs.war
    }
    fn waw(&self, _: u16, _: u16) -> u16 {
        self.costs.waw
    }
    fn order(&self, kind: OrderKind) -> u16 {
        self.costs.order(kind)
    }
}
