//! Memory spaces of accesses, and which instructions count as long-latency.
//!
//! Source: latency-model document, sections "Memory Space Classification" and "Long-Latency Detection".
//!
//! How the five steps of long-latency detection are read:
//! 1. *The architecture supports dual issue.* Taken literally, nothing on sm_70 and later would be long-latency, while the
//!    summary at the end of the lookup path has no such gate. The step is therefore a [`Gate`] that the caller chooses:
//!    [`Gate::DualIssueOnly`] follows the letter and suits the pairing priority, [`Gate::Open`] suits everything else.
//! 2. *Loads and stores of the listed spaces qualify.* Every code of the table is listed, so any classified access does.
//! 3. *The marker opcode* asks the target; a "no" falls through to the latency.
//! 4. *Ask the oracle* and 5. *compare*: long when the latency exceeds 19. A latency that only the dynamic model knows,
//!    or nobody, leaves the question open rather than answered "short".

use sassafras_machine::{Arch, MemorySpace, constants, memory_spaces};

use crate::latency::Latency;

/// A classified memory space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// Resolved at run time.
    Generic,
    /// Per-thread stack.
    Local,
    /// Shared memory.
    Shared,
    /// Constant memory.
    Constant,
    /// Indexed constant bank.
    ConstantBank,
    /// Surface memory.
    Surface,
    /// Global memory.
    Global,
}

impl Space {
    /// Every space.
    pub const ALL: [Self; 7] = [
        Self::Generic,
        Self::Local,
        Self::Shared,
        Self::Constant,
        Self::ConstantBank,
        Self::Surface,
        Self::Global,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::Local => "local",
            Self::Shared => "shared",
            Self::Constant => "constant",
            Self::ConstantBank => "constant_bank",
            Self::Surface => "surface",
            Self::Global => "global",
        }
    }

    /// The row of the machine's table.
    #[must_use]
    pub fn row(self) -> &'static MemorySpace {
        let mut rows = memory_spaces().iter();
        rows.find(|row| row.space == self.name()).expect("a test checks that every space has a row")
    }

    /// The documented code.
    #[must_use]
    pub fn code(self) -> u8 {
        self.row().code
    }

    /// The space of a documented code.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|space| space.code() == code)
    }
}

/// What a front-end knows of the last source operand of a load or store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LastSource {
    /// An address whose space is not known before run time.
    Untyped,
    /// An address into the per-thread stack.
    Local,
    /// An address into shared memory.
    Shared,
    /// An address into global memory.
    Global,
    /// A surface reference.
    Surface,
    /// A constant-memory operand; `indexed` when a register selects within the bank.
    Constant {
        /// A register takes part in the address.
        indexed: bool,
    },
}

/// The memory space of an access.
#[must_use]
pub const fn classify(last_source: LastSource) -> Space {
    match last_source {
        LastSource::Untyped => Space::Generic,
        LastSource::Local => Space::Local,
        LastSource::Shared => Space::Shared,
        LastSource::Global => Space::Global,
        LastSource::Surface => Space::Surface,
        LastSource::Constant { indexed: false } => Space::Constant,
        LastSource::Constant { indexed: true } => Space::ConstantBank,
    }
}

/// How step 1 is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gate {
    /// No gate: the question is about the instruction alone.
    Open,
    /// The letter of the document: nothing is long-latency where the architecture does not dual-issue.
    DualIssueOnly {
        /// The target.
        arch: Arch,
    },
}

/// What long-latency detection looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongLatencyQuery {
    /// The space, for loads and stores.
    pub access: Option<Space>,
    /// For the marker opcode: whether the target recognises it as long-latency.
    pub marker: Option<bool>,
    /// The oracle's answer.
    pub latency: Latency,
}

/// Whether an instruction is long-latency, and which step said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LongLatency {
    /// Step 1: the architecture closes the gate.
    Gated,
    /// Step 2: a load or store of a qualifying space.
    ByMemorySpace(Space),
    /// Step 3: the target recognised the marker.
    ByMarker,
    /// Step 5: the latency exceeds the threshold.
    ByLatency(i32),
    /// Step 5: the latency does not exceed the threshold.
    Short(i32),
    /// No number to compare.
    Open(Latency),
}

impl LongLatency {
    /// The yes-or-no answer; `None` when it is open.
    #[must_use]
    pub const fn verdict(self) -> Option<bool> {
        match self {
            Self::ByMemorySpace(_) | Self::ByMarker | Self::ByLatency(_) => Some(true),
            Self::Gated | Self::Short(_) => Some(false),
            Self::Open(_) => None,
        }
    }
}

/// Runs the five steps.
#[must_use]
pub fn long_latency(query: &LongLatencyQuery, gate: Gate) -> LongLatency {
    if matches!(gate, Gate::DualIssueOnly { arch } if !arch.info().dual_issue) {
        return LongLatency::Gated;
    }
    if let Some(space) = query.access {
        return LongLatency::ByMemorySpace(space);
    }
    if query.marker == Some(true) {
        return LongLatency::ByMarker;
    }
    match query.latency {
        Latency::Known { cost, .. } if i64::from(cost) > i64::from(constants().long_latency_threshold) => {
            LongLatency::ByLatency(cost)
        }
        Latency::Known { cost, .. } => LongLatency::Short(cost),
        open => LongLatency::Open(open),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::Via;

    fn known(cost: i32) -> Latency {
        Latency::Known { cost, via: Via::Override }
    }

    fn query(latency: Latency) -> LongLatencyQuery {
        LongLatencyQuery { access: None, marker: None, latency }
    }

    #[test]
    fn spaces_have_the_documented_codes() {
        assert_eq!(Space::ALL.map(Space::code), [1, 2, 3, 4, 7, 11, 16]);
        assert_eq!(Space::ALL.len(), memory_spaces().len());
        for code in 0..=u8::MAX {
            assert_eq!(
                Space::from_code(code).map(Space::code).is_some(),
                [1, 2, 3, 4, 7, 11, 16].contains(&code)
            );
        }
    }

    #[test]
    fn classification_reaches_every_space() {
        let sources = [
            LastSource::Untyped,
            LastSource::Local,
            LastSource::Shared,
            LastSource::Constant { indexed: false },
            LastSource::Constant { indexed: true },
            LastSource::Surface,
            LastSource::Global,
        ];
        assert_eq!(sources.map(classify), Space::ALL);
    }

    #[test]
    fn threshold_is_nineteen() {
        assert_eq!(long_latency(&query(known(19)), Gate::Open), LongLatency::Short(19));
        assert_eq!(long_latency(&query(known(20)), Gate::Open), LongLatency::ByLatency(20));
        assert_eq!(long_latency(&query(known(-5)), Gate::Open).verdict(), Some(false));
        // The documented costs: ALU 17 is short, FP32 42 and a barrier's 56 are long.
        for (cost, long) in [(17, false), (42, true), (56, true)] {
            assert_eq!(long_latency(&query(known(cost)), Gate::Open).verdict(), Some(long));
        }
    }

    #[test]
    fn steps_in_order() {
        let mut q = LongLatencyQuery { access: Some(Space::Constant), marker: Some(true), latency: known(4) };
        let closed = Gate::DualIssueOnly { arch: Arch::SM_90 };
        assert_eq!(long_latency(&q, closed), LongLatency::Gated);
        let open = Gate::DualIssueOnly { arch: Arch::SM_50 };
        assert_eq!(long_latency(&q, open), LongLatency::ByMemorySpace(Space::Constant));
        q.access = None;
        assert_eq!(long_latency(&q, open), LongLatency::ByMarker);
        q.marker = Some(false);
        assert_eq!(long_latency(&q, open), LongLatency::Short(4));
        assert_eq!(long_latency(&query(Latency::Dynamic), open).verdict(), None);
    }
}
