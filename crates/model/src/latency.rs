//! The latency query chain: from an instruction to the cost of waiting for it.
//!
//! Source: latency-model document, sections "End-to-End Latency Lookup Path" and "LookupLatency Implementation".
//!
//! The document prints the chain twice, as an instruction's latency (with a per-instruction override) and as an edge's
//! latency (with the precomputed latency of the hardware record). Both read the same 16-bit field, so there is one chain:
//!
//! 1. barrier or long-latency flag → the profile's default barrier latency;
//! 2. the field, when not zero → that;
//! 3. class 772 → the dynamic model, which is an answer of its own and not a number;
//! 4. the per-opcode table.
//!
//! The field is filled ahead of time from the hardware record of the class: [`class_latency`] follows class → 9-bit
//! latency index → record → base latency.
//!
//! The values of the per-opcode table are not printed: a profile carries what its maker knows, and a slot that nobody
//! filled answers [`Latency::Unknown`]. The default barrier latency is printed once, as the barrier latency of class 2 on
//! sm_80 (56); [`LatencyProfile::documented`] takes it for every architecture.
//! Numbers are scheduling costs, not cycles.

use bitflags::bitflags;
use sassafras_machine::{Arch, ClassId, ClassRef, LatencyIndex, Span, constants, dependence_rule};

bitflags! {
    /// The flag byte of a scheduling node, as far as the chain reads it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub struct NodeFlags: u8 {
        /// Bit 0: tracked by a barrier.
        const BARRIER = 1 << 0;
        /// Bit 2: long latency.
        const LONG_LATENCY = 1 << 2;
        /// The other bits mean something elsewhere.
        const _ = !0;
    }
}

/// What the chain reads of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LatencyNode {
    /// Flag byte.
    pub flags: NodeFlags,
    /// Override or precomputed latency; 0 is "none".
    pub latency: i16,
    /// Scheduling class, where one was assigned.
    pub class: Option<ClassId>,
    /// Opcode; modifier bits are masked out here.
    pub opcode: u32,
}

impl LatencyNode {
    /// A node with the latency of its class precomputed. Of a printed range the upper end is taken: too short a wait
    /// would be wrong, too long a one only slow.
    #[must_use]
    pub fn classified(arch: Arch, class: ClassRef, opcode: u32, flags: NodeFlags) -> Self {
        let latency = match class_latency(arch, class) {
            ClassLatency::Record { base, .. } => i16::try_from(base.hi()).unwrap_or(i16::MAX),
            ClassLatency::Dynamic | ClassLatency::Unknown => 0,
        };
        let class = class.class().unwrap_or(ClassId::DYNAMIC);
        Self { flags, latency, class: Some(class), opcode }
    }
}

/// What the hardware record of a class says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClassLatency {
    /// The record's content, as far as it is printed.
    Record {
        /// Index of the record; `None` for a class beyond nine bits without a printed override.
        index: Option<LatencyIndex>,
        /// Base latency.
        base: Span,
        /// Latency when tracked by a barrier.
        barrier: Option<u32>,
    },
    /// The class stands for the dynamic cost model.
    Dynamic,
    /// The class has no printed latency.
    Unknown,
}

/// Follows a class to the base latency of its record on an architecture.
#[must_use]
pub fn class_latency(arch: Arch, class: ClassRef) -> ClassLatency {
    let ClassRef::Class(choice) = class else {
        return ClassLatency::Dynamic;
    };
    if choice.class == ClassId::DYNAMIC {
        return ClassLatency::Dynamic;
    }
    let Some(rule) = dependence_rule(arch, choice.class) else {
        return ClassLatency::Unknown;
    };
    rule.latency.map_or(ClassLatency::Unknown, |latency| ClassLatency::Record {
        index: choice.latency_index,
        base: latency.0,
        barrier: rule.barrier_latency.map(u32::from),
    })
}

/// Which step of the chain answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Via {
    /// The default barrier latency.
    BarrierDefault,
    /// The node's own field.
    Override,
    /// The per-opcode table.
    OpcodeTable,
}

/// The answer of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Latency {
    /// A scheduling cost.
    Known {
        /// The cost.
        cost: i32,
        /// Where it came from.
        via: Via,
    },
    /// Only the dynamic cost model can tell.
    Dynamic,
    /// No table holds a number.
    Unknown,
}

impl Latency {
    /// The cost; the infinite sentinel when there is no number.
    #[must_use]
    pub fn cost_or_infinite(self) -> i32 {
        match self {
            Self::Known { cost, .. } => cost.min(infinite()),
            Self::Dynamic | Self::Unknown => infinite(),
        }
    }
}

/// The infinite-latency sentinel.
#[must_use]
pub fn infinite() -> i32 {
    i32::try_from(constants().infinite_latency).unwrap_or(i32::MAX)
}

/// Sum of two latencies along a path: infinity absorbs, and nothing exceeds it.
#[must_use]
pub fn add_latency(a: i32, b: i32) -> i32 {
    if a.max(b) >= infinite() { infinite() } else { a.saturating_add(b).min(infinite()) }
}

/// An architecture's answers to the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatencyProfile {
    barrier_default: i32,
    by_opcode: Vec<Option<i32>>,
}

impl LatencyProfile {
    /// A profile with an empty per-opcode table.
    #[must_use]
    pub fn new(barrier_default: i32) -> Self {
        let slots = usize::try_from(constants().opcode_latency_slots).unwrap_or(0);
        Self { barrier_default, by_opcode: vec![None; slots] }
    }

    /// A profile with the one barrier latency that is printed, and an empty per-opcode table.
    #[must_use]
    pub fn documented() -> Self {
        Self::new(i32::try_from(constants().barrier_edge_latency).unwrap_or(i32::MAX))
    }

    /// Fills one slot of the per-opcode table; `false` when the opcode has none.
    #[must_use]
    pub fn set_opcode(&mut self, opcode: u32, cost: i32) -> bool {
        let slot = slot(opcode).and_then(|i| self.by_opcode.get_mut(i));
        slot.map(|slot| *slot = Some(cost)).is_some()
    }

    /// Number of slots.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.by_opcode.len()
    }

    /// Runs the chain for an instruction.
    #[must_use]
    pub fn resolve(&self, node: &LatencyNode) -> Latency {
        if node.flags.intersects(NodeFlags::BARRIER | NodeFlags::LONG_LATENCY) {
            return Latency::Known { cost: self.barrier_default, via: Via::BarrierDefault };
        }
        if node.latency != 0 {
            return Latency::Known { cost: i32::from(node.latency), via: Via::Override };
        }
        if node.class == Some(ClassId::DYNAMIC) {
            return Latency::Dynamic;
        }
        let cost = slot(node.opcode).and_then(|i| self.by_opcode.get(i).copied().flatten());
        cost.map_or(Latency::Unknown, |cost| Latency::Known { cost, via: Via::OpcodeTable })
    }

    /// The latency of an edge, which is that of its producer: the consumer takes no part in the documented chain.
    #[must_use]
    pub fn edge(&self, producer: &LatencyNode) -> Latency {
        self.resolve(producer)
    }
}

fn slot(opcode: u32) -> Option<usize> {
    usize::try_from(opcode & constants().opcode_mask).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sassafras_machine::{ClassChoice, ClassTable};

    use super::*;

    fn class(number: u16) -> ClassRef {
        let id = ClassId::new(number).unwrap();
        let latency_index = ClassTable::documented().get(id).and_then(|entry| entry.latency_index);
        let choice =
            ClassChoice { class: id, latency_index, pipe_mask: None, sub_class: None, pipe_flags: None };
        ClassRef::Class(choice)
    }

    fn base(arch: Arch, number: u16) -> Option<(u32, u32)> {
        match class_latency(arch, class(number)) {
            ClassLatency::Record { base, .. } => Some((base.lo(), base.hi())),
            _ => None,
        }
    }

    fn known(cost: i32, via: Via) -> Latency {
        Latency::Known { cost, via }
    }

    #[test]
    fn documented_numbers() {
        for (number, sm_80, sm_90, sm_100) in [
            (2, (17, 17), (17, 17), (17, 17)),
            (4, (42, 42), (42, 42), (42, 42)),
            (15, (255, 255), (22, 22), (22, 22)),
            (16, (21, 23), (20, 23), (21, 56)),
            (72, (5, 5), (31, 31), (31, 31)),
        ] {
            let got = [Arch::SM_80, Arch::SM_90, Arch::SM_100].map(|arch| base(arch, number));
            assert_eq!(got, [sm_80, sm_90, sm_100].map(Some), "class {number}");
        }
        assert_eq!(base(Arch::SM_90, 183), None, "no cost is printed for LDG's class");
    }

    #[test]
    fn worked_example_has_its_barrier_latency() {
        let expected =
            ClassLatency::Record { index: LatencyIndex::new(2), base: Span::exact(17), barrier: Some(56) };
        assert_eq!(class_latency(Arch::SM_80, class(2)), expected);
    }

    #[test]
    fn index_of_tensor_classes_is_their_own() {
        let ClassLatency::Record { index, base, .. } = class_latency(Arch::SM_100, class(745)) else {
            panic!("class 745 is printed for sm_100");
        };
        assert_eq!((index, base), (LatencyIndex::new(0xF1), Span::exact(65)));
    }

    #[test]
    fn dynamic_is_not_a_number() {
        assert_eq!(class_latency(Arch::SM_90, ClassRef::Dynamic), ClassLatency::Dynamic);
        assert_eq!(class_latency(Arch::SM_90, class(772)), ClassLatency::Dynamic);
        let node = LatencyNode::classified(Arch::SM_90, ClassRef::Dynamic, 19, NodeFlags::empty());
        assert_eq!(LatencyProfile::documented().edge(&node), Latency::Dynamic);
        // An explicit number comes before the dynamic model, a filled opcode slot does not.
        let mut profile = LatencyProfile::documented();
        assert!(profile.set_opcode(19, 3));
        assert_eq!(profile.edge(&node), Latency::Dynamic);
        let overridden = LatencyNode { latency: 5, ..node };
        assert_eq!(profile.edge(&overridden), known(5, Via::Override));
    }

    #[test]
    fn chain_in_order() {
        let mut profile = LatencyProfile::documented();
        assert_eq!(profile.slots(), 322);
        assert!(profile.set_opcode(0x3007, 4), "modifier bits are masked out");
        let mut node = LatencyNode::classified(Arch::SM_80, class(4), 7, NodeFlags::BARRIER);
        assert_eq!(profile.resolve(&node), known(56, Via::BarrierDefault));
        node.flags = NodeFlags::LONG_LATENCY;
        assert_eq!(profile.resolve(&node), known(56, Via::BarrierDefault));
        node.flags = NodeFlags::from_bits_retain(!0b101);
        assert_eq!(profile.resolve(&node), known(42, Via::Override), "the other flag bits do not matter");
        node.latency = 0;
        assert_eq!(profile.resolve(&node), known(4, Via::OpcodeTable));
        node.opcode = 8;
        assert_eq!(profile.resolve(&node), Latency::Unknown);
    }

    #[test]
    fn opcode_table_ends_at_its_last_slot() {
        let mut profile = LatencyProfile::new(56);
        assert!(profile.set_opcode(321, 9));
        assert!(!profile.set_opcode(322, 9));
        assert!(!profile.set_opcode(u32::MAX, 9));
    }

    #[test]
    fn ranges_are_precomputed_at_their_upper_end() {
        let node = LatencyNode::classified(Arch::SM_100, class(16), 0, NodeFlags::empty());
        assert_eq!(node.latency, 56);
    }

    proptest! {
        #[test]
        fn infinity_absorbs(a in 0i32..200_000, b in 0i32..200_000) {
            let sum = add_latency(a, b);
            prop_assert_eq!(sum, (a + b).min(99_999));
            prop_assert_eq!(sum, add_latency(b, a));
            prop_assert_eq!(add_latency(99_999, -a), 99_999);
        }

        #[test]
        fn chain_never_panics(flags: u8, latency: i16, opcode: u32, number in proptest::option::of(0u16..1024)) {
            let class = number.and_then(ClassId::new);
            let node = LatencyNode { flags: NodeFlags::from_bits_retain(flags), latency, class, opcode };
            let cost = LatencyProfile::documented().resolve(&node).cost_or_infinite();
            prop_assert!(cost <= 99_999);
        }
    }
}
