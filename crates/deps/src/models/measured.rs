//! Cycles.

use super::{EdgeCosts, Interned, costs};
use crate::latency::{LatencyModel, OrderKind};
use sassafras_ir::{Effects, Function, Inst, LaneRef, RegClass, Role as IrRole};
use sassafras_machine::{
    Arch, Category, Hazard, Lane, MeasuredLatencies, MeasuredQuery, RegisterKind, Role, memory_spaces,
};

/// What a result needs before it is read, in cycles, by producer, consumer, register file, operand role and half.
///
/// A result that a scoreboard guards has no fixed distance. For it the lower end of the memory space's typical range
/// counts: a scheduler wants to know how much there is to hide, and hiding less than the least is never enough. A pair
/// that no row speaks of costs the most that the producer's category costs anywhere.
#[derive(Clone, Debug)]
pub struct Measured {
    signature_of: Vec<u16>,
    uses: u16,
    raw: Vec<u16>,
    waw: Vec<u16>,
    costs: EdgeCosts,
}

/// What the tables can tell apart of an opcode. There are as many as there are categories and names in the tables.
#[derive(PartialEq)]
struct Signature {
    category: Option<Category>,
    names: Vec<&'static str>,
    /// Any opcode with this signature, to ask with.
    asks_as: AsksAs,
}

/// Not part of what makes two signatures equal.
struct AsksAs(String);

impl PartialEq for AsksAs {
    fn eq(&self, _: &AsksAs) -> bool {
        true
    }
}

/// Register file and half of a definition.
const DEFS: [(RegisterKind, Lane); 5] = [
    (RegisterKind::General, Lane::Low),
    (RegisterKind::General, Lane::High),
    (RegisterKind::Uniform, Lane::Low),
    (RegisterKind::Predicate, Lane::Low),
    (RegisterKind::UniformPredicate, Lane::Low),
];
const ROLES: [Role; 4] = [Role::Operand, Role::Address, Role::Guard, Role::Branch];

impl Measured {
    /// Asks the tables for every pair of opcode signatures in the function, once. `unknown` replaces what a result costs
    /// that no table speaks of.
    pub fn new(f: &Function, arch: Arch, unknown: Option<u16>) -> Measured {
        Measured::with_names(f, arch, unknown, |opcode| Some(opcode))
    }

    /// The same for opcodes that tables know under other names, or under none.
    pub fn with_names(
        f: &Function,
        arch: Arch,
        unknown: Option<u16>,
        name: impl Fn(&str) -> Option<&str>,
    ) -> Measured {
        let tables = MeasuredLatencies::for_arch(arch);
        let costs = costs::MEASURED.with_unknown(unknown);
        let Interned { of_opcode, values } = Interned::new(f, |opcode| {
            let opcode = name(opcode).unwrap_or_default();
            let category = Category::of(opcode);
            let names = if category.is_some() { tables.names_matching(opcode) } else { Vec::new() };
            Signature { category, names, asks_as: AsksAs(opcode.to_owned()) }
        });
        let ask = |hazard, producer: &Signature, consumer: &Signature, (register, lane), role| {
            let answer = tables.lookup(&MeasuredQuery {
                producer: producer.category?,
                producer_mnemonic: Some(&producer.asks_as.0),
                lane: Some(lane),
                consumer: consumer.category?,
                consumer_mnemonic: Some(&consumer.asks_as.0),
                role,
                hazard,
                register,
            });
            u16::try_from(answer?.cycles?.0.hi()).ok()
        };
        let widest = |producer: &Signature, register| {
            let rows = tables.rows().filter(|row| {
                row.hazard == Hazard::Raw
                    && Some(row.producer) == producer.category
                    && row.producer_mnemonic.is_none()
                    && row.register.is_none_or(|r| r == register)
            });
            rows.filter_map(|row| u16::try_from(row.cycles?.0.hi()).ok()).max()
        };
        let mut raw = Vec::new();
        let mut waw = Vec::new();
        for producer in &values {
            let guarded = producer.category.and_then(typical_cycles);
            for def in DEFS {
                let otherwise = guarded.or_else(|| widest(producer, def.0)).unwrap_or(costs.unknown_raw);
                for consumer in &values {
                    for role in ROLES {
                        let fixed = ask(Hazard::Raw, producer, consumer, def, role);
                        raw.push(fixed.unwrap_or(otherwise));
                    }
                    waw.push(ask(Hazard::Waw, producer, consumer, def, Role::Operand).unwrap_or(costs.waw));
                }
            }
        }
        Measured { signature_of: of_opcode, uses: values.len() as u16, raw, waw, costs }
    }

    fn signature(&self, f: &Function, inst: Inst) -> u16 {
        self.signature_of[f.inst(inst).opcode.as_u32() as usize]
    }
}

/// The least that the document calls typical for the memory behind a category.
fn typical_cycles(category: Category) -> Option<u16> {
    let space = match category {
        Category::Global => "global",
        Category::Shared => "shared",
        Category::Local => "local",
        Category::Constant => "constant",
        Category::Texture => "surface",
        _ => return None,
    };
    let row = memory_spaces().iter().find(|row| row.space == space)?;
    u16::try_from(row.typical.cycles.lo()).ok()
}

impl LatencyModel for Measured {
    fn def_class(&self, f: &Function, inst: Inst, lane: LaneRef) -> u16 {
        let kind = match lane.lane.class() {
            RegClass::Gpr | RegClass::Barrier | RegClass::Flag => u16::from(lane.part % 2),
            RegClass::Uniform => 2,
            RegClass::Pred => 3,
            RegClass::UPred => 4,
        };
        self.signature(f, inst) * DEFS.len() as u16 + kind
    }

    fn use_class(&self, f: &Function, inst: Inst, lane: LaneRef) -> u16 {
        let role = match lane.role {
            IrRole::Operand(_) => 0,
            IrRole::Address(_) => 1,
            IrRole::Guard if f.inst(inst).effects.contains(Effects::BRANCH) => 3,
            IrRole::Guard => 2,
        };
        self.signature(f, inst) * ROLES.len() as u16 + role
    }

    fn raw(&self, def: u16, user: u16) -> u16 {
        let row = usize::from(def) * usize::from(self.uses) * ROLES.len();
        self.raw[row + usize::from(user)]
    }

    fn war(&self, _: u16, _: u16) -> u16 {
        self.costs.war
    }

    fn waw(&self, first: u16, second: u16) -> u16 {
        self.waw[usize::from(first) * usize::from(self.uses) + usize::from(second) / DEFS.len()]
    }

    fn order(&self, kind: OrderKind) -> u16 {
        self.costs.order(kind)
    }
}
