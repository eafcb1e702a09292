//! Where the two classifications meet: scheduling class (how long to wait) and pipe class (where it executes).
//!
//! Source: latency-model document, section "Join Point".
//!
//! Readings:
//! - "Natively handled" means that the opcode tables give a class; the dynamic class does not count.
//! - On sm_10x everything else goes to the pipe-class assigner, whose default row (0x88) is an answer too. On other
//!   architectures such an instruction is left to the dynamic model.
//! - Where the assigner has no row of its own for a natively handled opcode, only the scheduling class is known and the
//!   descriptor stays at "all pipes".

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use sassafras_machine::{Arch, ClassChoice, ClassRef, Descriptor, DescriptorFields, constants};

use crate::latency::Latency;
use crate::params::PARAMETERS;
use crate::pipe::{PipeAssignment, PipeQuery, PipeTable};
use crate::stall::StallCap;
use crate::table::{TableError, read_table};

/// What is known about an instruction after both classifiers had their say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Classification<'t> {
    /// Scheduling class and pipe class.
    Both {
        /// How long to wait.
        sched: ClassChoice,
        /// Where it executes.
        pipe: PipeAssignment<'t>,
    },
    /// Scheduling class only; the pipe class stays at its all-pipes default.
    SchedOnly(ClassChoice),
    /// Pipe class only (sm_10x).
    PipeOnly(PipeAssignment<'t>),
    /// Neither: the dynamic cost model decides.
    Dynamic,
}

impl<'t> Classification<'t> {
    /// The scheduling class, if there is one.
    #[must_use]
    pub const fn sched(&self) -> Option<&ClassChoice> {
        match self {
            Self::Both { sched, .. } | Self::SchedOnly(sched) => Some(sched),
            Self::PipeOnly(_) | Self::Dynamic => None,
        }
    }

    /// The pipe assignment, if there is one.
    #[must_use]
    pub const fn pipe(&self) -> Option<&PipeAssignment<'t>> {
        match self {
            Self::Both { pipe, .. } | Self::PipeOnly(pipe) => Some(pipe),
            Self::SchedOnly(_) | Self::Dynamic => None,
        }
    }
}

impl Classification<'_> {
    /// The scheduling descriptor: all pipes at first, then what the scheduling class sets, then what the pipe-class
    /// assigner overwrites. `None` when the 9-bit class field cannot be determined.
    #[must_use]
    pub fn descriptor(&self) -> Option<Descriptor> {
        if let Some(pipe) = self.pipe() {
            return pipe.descriptor();
        }
        let initial = Descriptor::ALL_PIPES;
        let Some(sched) = self.sched() else {
            return Some(initial);
        };
        let fields = initial.unpack();
        initial.with(&DescriptorFields {
            latency_index: sched.latency_index?,
            pipe_mask: sched.pipe_mask.unwrap_or(fields.pipe_mask),
            sub_class: sched.sub_class.unwrap_or(fields.sub_class),
            pipe_flags: sched.pipe_flags.unwrap_or(fields.pipe_flags),
            ..fields
        })
    }
}

/// Joins the two classifiers. `sched` is what the opcode tables say (`None`: the opcode is in none of them), `query` the
/// instruction in the assigner's terms (`None`: it cannot be expressed in them).
#[must_use]
pub fn classify<'t>(
    arch: Arch,
    sched: Option<ClassRef>,
    query: Option<&PipeQuery>,
    table: &'t PipeTable,
) -> Classification<'t> {
    let pipe = query.map(|q| table.assign(q));
    match (sched, pipe) {
        (Some(ClassRef::Class(sched)), Some(pipe)) if !pipe.is_default() => {
            Classification::Both { sched, pipe }
        }
        (Some(ClassRef::Class(sched)), _) => Classification::SchedOnly(sched),
        (_, Some(pipe)) if arch.is_sm_10x() => Classification::PipeOnly(pipe),
        _ => Classification::Dynamic,
    }
}

/// Whether the reuse test of the join point runs for an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReuseCheck {
    /// The pipe class is above the limit: skipped.
    HighPipeClass,
    /// The opcode is exempt: skipped.
    BypassOpcode,
    /// The instruction's operands are tested for reuse.
    Tested,
}

static BYPASS: LazyLock<Vec<RangeInclusive<u32>>> = LazyLock::new(|| {
    parse_bypass(include_str!("../data/reuse_bypass.csv"))
        .expect("the shipped bypass list is validated by a test")
});

fn parse_bypass(text: &str) -> Result<Vec<RangeInclusive<u32>>, TableError> {
    read_table("reuse_bypass.csv", text, |row| match (row.number("opcode_lo")?, row.number("opcode_hi")?) {
        (Some(lo), Some(hi)) if lo <= hi => Ok(lo..=hi),
        _ => Err(row.bad("opcode_hi", "both ends of an ascending range")),
    })
}

/// Applies the join point's rule. Opcodes are in the document's internal numbering.
#[must_use]
pub fn reuse_check(pipe_class: u16, opcode: u32) -> ReuseCheck {
    let opcode = opcode & constants().opcode_mask;
    if pipe_class > PARAMETERS.reuse_pipe_class_max {
        ReuseCheck::HighPipeClass
    } else if BYPASS.iter().any(|range| range.contains(&opcode)) {
        ReuseCheck::BypassOpcode
    } else {
        ReuseCheck::Tested
    }
}

/// Whether a producer needs a write barrier: its latency exceeds what a stall can cover. Without a cap the documented
/// ceiling of the stall field counts; a latency without a number always needs one.
#[must_use]
pub fn needs_barrier(latency: Latency, cap: StallCap) -> bool {
    let covered = match cap {
        StallCap::Cycles(cycles) => cycles,
        StallCap::Uncapped => constants().max_stall_documented,
    };
    latency.cost_or_infinite() > i32::from(covered)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sassafras_machine::{ClassId, Conditions, OpcodeTable, resolve_class};

    use super::*;
    use crate::latency::Via;

    fn sched(name: &str) -> Option<ClassRef> {
        let entry = OpcodeTable::documented().named(name).next()?;
        Some(resolve_class(entry, &Conditions::default()))
    }

    fn pipe_query(opcode: u32) -> PipeQuery {
        PipeQuery { opcode, ..PipeQuery::default() }
    }

    fn joined(arch: Arch, name: &str, opcode: Option<u32>) -> Classification<'static> {
        classify(arch, sched(name), opcode.map(pipe_query).as_ref(), PipeTable::shipped())
    }

    #[test]
    fn four_outcomes() {
        let (hopper, blackwell) = (Arch::SM_90, Arch::SM_100);
        let both = joined(hopper, "IADD3", Some(3));
        assert_eq!(both.sched().map(|s| s.class), ClassId::new(72));
        assert_eq!(both.pipe().and_then(PipeAssignment::class), Some(0x0C));
        assert!(matches!(joined(hopper, "IADD3", None), Classification::SchedOnly(_)));
        assert!(matches!(joined(hopper, "IADD3", Some(0x1FF)), Classification::SchedOnly(_)));
        // MOV has no class of its own.
        assert_eq!(joined(hopper, "MOV", Some(0x42)), Classification::Dynamic);
        assert!(matches!(joined(blackwell, "MOV", Some(0x42)), Classification::PipeOnly(_)));
        let sentinel = joined(blackwell, "no such instruction", Some(0x1FF));
        assert_eq!(sentinel.pipe().and_then(PipeAssignment::class), Some(0x88));
        assert_eq!(joined(blackwell, "MOV", None), Classification::Dynamic);
    }

    #[test]
    fn descriptors_of_each_outcome() {
        let bits = |c: Classification<'_>| c.descriptor().map(Descriptor::bits);
        let initial = Descriptor::ALL_PIPES.bits();
        assert_eq!(bits(Classification::Dynamic), Some(initial));
        assert_eq!(bits(joined(Arch::SM_90, "IADD3", None)), Some(initial | 72));
        // With both, the encoder's pipe class replaces the scheduling one.
        let both = joined(Arch::SM_90, "IADD3", Some(3)).descriptor().unwrap().unpack();
        assert_eq!((both.latency_index.get(), both.pipe_mask.in_place()), (0x0C, 0x08000));
        // What the scheduling case prints is kept: F2F runs on pipe A with flag 0x04.
        let f2f = joined(Arch::SM_90, "F2F", None).descriptor().unwrap().unpack();
        assert_eq!((f2f.pipe_mask.in_place(), f2f.pipe_flags.in_place()), (0x08000, 0x04));
    }

    #[test]
    fn only_the_sm_10x_family_falls_back() {
        for arch in Arch::all() {
            let outcome = joined(arch, "MOV", Some(0x42));
            // sm_110 is sm_101 under its newer number.
            let family = matches!(arch.number(), Some(100..=110));
            assert_eq!(matches!(outcome, Classification::PipeOnly(_)), family, "{arch}");
        }
    }

    #[test]
    fn reuse_rule() {
        assert_eq!(reuse_check(0xCD, 0x2B), ReuseCheck::BypassOpcode);
        assert_eq!(reuse_check(0xCE, 0x2B), ReuseCheck::HighPipeClass);
        let bypassed: Vec<u32> =
            (0..400).filter(|&o| reuse_check(0, o) == ReuseCheck::BypassOpcode).collect();
        let expected: Vec<u32> = [0x2B, 0x41, 0x76, 123].into_iter().chain(304..=322).collect();
        assert_eq!(bypassed, expected);
        assert_eq!(reuse_check(0, 0x302B), ReuseCheck::BypassOpcode, "modifier bits are masked out");
        for bad in [
            "opcode_lo,opcode_hi,source\n5,4,x",
            "opcode_lo,opcode_hi,source\n5,,x",
            "opcode_lo,opcode_hi,source\n5,6,",
        ] {
            assert!(parse_bypass(bad).is_err());
        }
    }

    #[test]
    fn barrier_beyond_the_stall() {
        let known = |cost| Latency::Known { cost, via: Via::Override };
        let sixteen = StallCap::Cycles(16);
        assert!(!needs_barrier(known(16), sixteen));
        assert!(needs_barrier(known(17), sixteen));
        assert!(needs_barrier(known(7), StallCap::Cycles(6)));
        assert!(!needs_barrier(known(16), StallCap::Uncapped));
        assert!(needs_barrier(Latency::Dynamic, sixteen) && needs_barrier(Latency::Unknown, sixteen));
    }

    proptest! {
        #[test]
        fn a_larger_latency_never_loses_its_barrier(cost in -10i32..200, more in 0i32..50, cap in 0i64..20) {
            let known = |cost| Latency::Known { cost, via: Via::Override };
            let cap = StallCap::from_stored(cap);
            prop_assert!(!needs_barrier(known(cost), cap) || needs_barrier(known(cost + more), cap));
        }

        #[test]
        fn bypass_parser_never_panics(text in "[0-9a-z,\n-]{0,80}") {
            let _ = parse_bypass(&format!("opcode_lo,opcode_hi,source\n{text}"));
        }
    }
}
