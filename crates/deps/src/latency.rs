//! What an edge costs.
//!
//! Latencies are asked for between *classes* of operands, not between instructions: the classes are few, so a model
//! answers from a table, and the builder may put a join between many producers and many consumers of one class without
//! losing a cycle.

use sassafras_ir::{Function, Inst, LaneRef};

/// Reasons for an order that have one cost each, whatever the instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderKind {
    /// A load after a store that may alias.
    MemoryRaw,
    /// A store after a load that may alias.
    MemoryWar,
    /// A store after a store that may alias.
    MemoryWaw,
    /// Before or after a branch, a call or an opaque instruction.
    Control,
    /// Before or after a barrier.
    Barrier,
    /// Between two ordered effects.
    Order,
}

/// A source of latencies, prepared for one function.
///
/// Classes are small numbers of the model's own choosing. Two operands of one class must cost the same against
/// everything; nothing else is asked of them.
pub trait LatencyModel {
    /// The class of a lane that an instruction writes.
    fn def_class(&self, f: &Function, inst: Inst, lane: LaneRef) -> u16;
    /// The class of a lane that an instruction reads (guards and addresses included).
    fn use_class(&self, f: &Function, inst: Inst, lane: LaneRef) -> u16;
    /// From a write to a read of it.
    fn raw(&self, def: u16, user: u16) -> u16;
    /// From a read to the next write.
    fn war(&self, user: u16, def: u16) -> u16;
    /// From a write to the next write.
    fn waw(&self, first: u16, second: u16) -> u16;
    /// For an order that is not about registers.
    fn order(&self, kind: OrderKind) -> u16;
}

/// Every read waits one cycle for its write and nothing else costs anything: for tests and for plain ordering.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnitLatency;

impl LatencyModel for UnitLatency {
    fn def_class(&self, _: &Function, _: Inst, _: LaneRef) -> u16 {
        0
    }
    fn use_class(&self, _: &Function, _: Inst, _: LaneRef) -> u16 {
        0
    }
    fn raw(&self, _: u16, _: u16) -> u16 {
        1
    }
    fn war(&self, _: u16, _: u16) -> u16 {
        0
    }
    fn waw(&self, _: u16, _: u16) -> u16 {
        1
    }
    fn order(&self, _: OrderKind) -> u16 {
        0
    }
}

/// Another latency for every opcode, whatever it is: for tests in which latencies should differ and need not mean anything.
#[derive(Clone, Copy, Debug, Default)]
pub struct LatencyByOpcode;

impl LatencyModel for LatencyByOpcode {
    fn def_class(&self, f: &Function, inst: Inst, _: LaneRef) -> u16 {
        f.inst(inst).opcode.as_u32() as u16
    }
    fn use_class(&self, _: &Function, _: Inst, _: LaneRef) -> u16 {
        0
    }
    fn raw(&self, def: u16, _: u16) -> u16 {
        1 + def.wrapping_mul(5) % 23
    }
    fn war(&self, _: u16, _: u16) -> u16 {
        0
    }
    fn waw(&self, _: u16, _: u16) -> u16 {
        1
    }
    fn order(&self, _: OrderKind) -> u16 {
        2
    }
}
