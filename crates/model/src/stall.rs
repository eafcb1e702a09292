//! Stall counts: how long an instruction waits for its predecessors, and the cap that knobs and modes put on it.
//!
//! Source: latency-model document, section "Stall Count Computation".
//!
//! Readings:
//! - **A stored cap of 0 means "no cap"**, as the DynBatch default says in words; the printed `min(wait, 0)` would remove
//!   every stall. The same goes for a knob set to zero or below. An uncapped wait still has to fit the control word, so
//!   [`Stall::emit`] clamps to the field and reports the rest as needing a barrier.
//! - **16 against 15**: the document clamps to 16 and calls the field 4 bits wide; hardware takes 1–15. The ceiling of the
//!   field is therefore an argument of [`Stall::emit`].

use sassafras_knobs::{KnobSet, keys};
use sassafras_machine::{Arch, ClassId, constants, hw_latency_entry};

/// The scheduling modes, by their documented numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SchedMode {
    /// 0: the default, maximal parallelism.
    Ilp,
    /// 1: as few registers as possible.
    ReduceReg,
    /// 2: dynamic batches.
    DynBatch,
}

/// The knobs that bound stalls; `None` is "not set".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StallKnobs {
    /// Knob 805: cap in the modes ILP and ReduceReg.
    pub knob_805: Option<i64>,
    /// Knob 806: cap in mode DynBatch.
    pub knob_806: Option<i64>,
}

impl From<&KnobSet> for StallKnobs {
    /// Only explicit settings count: the document asks whether a knob *is set*.
    fn from(knobs: &KnobSet) -> Self {
        Self {
            knob_805: knobs.explicit(keys::BATCH_OR_STALL_CAP),
            knob_806: knobs.explicit(keys::DYNBATCH_STALL_CAP),
        }
    }
}

/// What decides the cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StallContext {
    /// Scheduling mode.
    pub mode: SchedMode,
    /// Set for pressure-sensitive kernels; overrides modes and knobs.
    pub short_stall: bool,
    /// The architecture's default cap (its pipeline depth minus one).
    pub arch_default: i64,
    /// Knob values.
    pub knobs: StallKnobs,
}

/// The ceiling of a stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StallCap {
    /// At most this many cycles (1 to 16).
    Cycles(u8),
    /// The document's stored 0: the scheduler does not cap.
    Uncapped,
}

impl StallCap {
    /// Reads a stored value: zero and below mean no cap, anything else is clamped to the documented ceiling.
    #[must_use]
    pub fn from_stored(value: i64) -> Self {
        let clamped = value.clamp(0, i64::from(constants().max_stall_documented));
        match u8::try_from(clamped) {
            Ok(cycles @ 1..) => Self::Cycles(cycles),
            _ => Self::Uncapped,
        }
    }

    /// Tightens the cap by the number of stall cycles that the class's latency entry allows before a barrier is used
    /// instead, where that entry is printed.
    #[must_use]
    pub fn for_class(self, arch: Arch, class: ClassId) -> Self {
        let limit = hw_latency_entry(arch, class).map(|e| e.sched_params.max_stall_cycles);
        match (self, limit) {
            (_, None | Some(0)) => self,
            (Self::Cycles(cap), Some(limit)) => Self::Cycles(cap.min(limit)),
            (Self::Uncapped, Some(limit)) => Self::Cycles(limit),
        }
    }

    /// The wait after capping.
    #[must_use]
    pub fn apply(self, wait: u32) -> u32 {
        match self {
            Self::Cycles(cap) => wait.min(u32::from(cap)),
            Self::Uncapped => wait,
        }
    }
}

impl StallContext {
    /// The cap of this context.
    #[must_use]
    pub fn cap(&self) -> StallCap {
        if self.short_stall {
            return StallCap::Cycles(constants().short_stall_cap);
        }
        StallCap::from_stored(match self.mode {
            SchedMode::Ilp | SchedMode::ReduceReg => self.knobs.knob_805.unwrap_or(self.arch_default),
            SchedMode::DynBatch => self.knobs.knob_806.unwrap_or(0),
        })
    }
}

/// One dependence into the instruction whose stall is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Predecessor {
    /// Issue cycle of the predecessor.
    pub cycle: i64,
    /// Latency of the edge.
    pub latency: i64,
}

/// A computed wait and its cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stall {
    /// Cycles still to wait, before any cap; 0 when every predecessor is done.
    pub wait: u32,
    /// The cap in force.
    pub cap: StallCap,
}

/// What goes into a control word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EmittedStall {
    /// The stall field, between the documented minimum and the ceilings.
    pub cycles: u8,
    /// Part of the wait that the field does not cover and a scoreboard must.
    pub uncovered: u32,
}

/// The wait of an instruction issued at `cycle`: the maximum of latency minus distance over its predecessors.
#[must_use]
pub fn compute_stall(
    cycle: i64,
    predecessors: impl IntoIterator<Item = Predecessor>,
    cap: StallCap,
) -> Stall {
    let wait = predecessors
        .into_iter()
        .map(|p| p.latency.saturating_sub(cycle.saturating_sub(p.cycle)))
        .max()
        .unwrap_or(0);
    Stall { wait: u32::try_from(wait.max(0)).unwrap_or(u32::MAX), cap }
}

impl Stall {
    /// The wait after capping, as the scheduler models it.
    #[must_use]
    pub fn modelled(self) -> u32 {
        self.cap.apply(self.wait)
    }

    /// The stall as it is emitted into a field that holds at most `field_max` cycles.
    #[must_use]
    pub fn emit(self, field_max: u8) -> EmittedStall {
        let min = constants().min_stall;
        let ceiling = u32::from(field_max.max(min));
        let cycles = self.modelled().clamp(u32::from(min), ceiling);
        EmittedStall {
            // The ceiling came from a u8.
            cycles: u8::try_from(cycles).unwrap_or(u8::MAX),
            uncovered: self.wait.saturating_sub(cycles),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn context(mode: SchedMode) -> StallContext {
        StallContext { mode, short_stall: false, arch_default: 15, knobs: StallKnobs::default() }
    }

    #[test]
    fn knobs_count_only_when_set() {
        let mut knobs = KnobSet::new();
        assert_eq!(StallKnobs::from(&knobs), StallKnobs::default());
        knobs.assign("knob-805=7").expect("in range");
        knobs.assign("dynbatch-stall-cap=9").expect("in range");
        let set = StallKnobs::from(&knobs);
        assert_eq!((set.knob_805, set.knob_806), (Some(7), Some(9)));
    }

    #[test]
    fn cap_by_mode_flag_and_knob() {
        use SchedMode::{DynBatch, Ilp, ReduceReg};
        let knobs = StallKnobs { knob_805: Some(9), knob_806: Some(40) };
        for mode in [Ilp, ReduceReg] {
            assert_eq!(context(mode).cap(), StallCap::Cycles(15));
            assert_eq!(StallContext { arch_default: 99, ..context(mode) }.cap(), StallCap::Cycles(16));
            assert_eq!(StallContext { knobs, ..context(mode) }.cap(), StallCap::Cycles(9));
        }
        assert_eq!(context(DynBatch).cap(), StallCap::Uncapped);
        assert_eq!(StallContext { knobs, ..context(DynBatch) }.cap(), StallCap::Cycles(16));
        for mode in [Ilp, ReduceReg, DynBatch] {
            let short = StallContext { short_stall: true, knobs, ..context(mode) };
            assert_eq!(short.cap(), StallCap::Cycles(6));
        }
        assert_eq!(StallCap::from_stored(-3), StallCap::Uncapped);
    }

    #[test]
    fn class_2_allows_seven_stall_cycles() {
        let class = |n| ClassId::new(n).unwrap();
        for wide in [StallCap::Cycles(16), StallCap::Uncapped] {
            assert_eq!(wide.for_class(Arch::SM_80, class(2)), StallCap::Cycles(7));
            assert_eq!(wide.for_class(Arch::SM_80, class(4)), wide, "no entry is printed");
        }
        assert_eq!(StallCap::Cycles(6).for_class(Arch::SM_80, class(2)), StallCap::Cycles(6));
    }

    #[test]
    fn documented_alu_latency() {
        // Class 2 costs 17: issued two cycles after it, 15 remain.
        let stall = compute_stall(12, [Predecessor { cycle: 10, latency: 17 }], StallCap::Cycles(16));
        assert_eq!(stall.wait, 15);
        assert_eq!(stall.emit(15), EmittedStall { cycles: 15, uncovered: 0 });
        let load = compute_stall(12, [Predecessor { cycle: 12, latency: 56 }], StallCap::Uncapped);
        assert_eq!((load.modelled(), load.emit(15)), (56, EmittedStall { cycles: 15, uncovered: 41 }));
    }

    #[test]
    fn nothing_to_wait_for_still_emits_the_minimum() {
        for preds in [vec![], vec![Predecessor { cycle: 0, latency: 4 }]] {
            let stall = compute_stall(100, preds, StallCap::Cycles(16));
            assert_eq!((stall.wait, stall.emit(16).cycles), (0, 1));
        }
    }

    fn predecessor() -> impl Strategy<Value = Predecessor> {
        (any::<i64>(), any::<i64>()).prop_map(|(cycle, latency)| Predecessor { cycle, latency })
    }

    proptest! {
        #[test]
        fn monotone_and_capped(
            cycle in 0i64..1000,
            near in proptest::collection::vec((0i64..1000, 0i64..400), 0..8),
            which: prop::sample::Index,
            longer in 0i64..50,
            stored in -2i64..40,
        ) {
            let cap = StallCap::from_stored(stored);
            let preds: Vec<_> = near.iter().map(|&(c, latency)| Predecessor { cycle: cycle - c, latency }).collect();
            let base = compute_stall(cycle, preds.iter().copied(), cap);
            prop_assert!(base.modelled() <= base.wait);
            if let StallCap::Cycles(c) = cap {
                prop_assert!(base.modelled() <= u32::from(c) && c <= 16);
            }
            let emitted = base.emit(15);
            prop_assert!((1..=15).contains(&emitted.cycles));
            prop_assert!(u32::from(emitted.cycles) + emitted.uncovered >= base.wait);
            if !preds.is_empty() {
                let mut slower = preds.clone();
                slower[which.index(preds.len())].latency += longer;
                let slower = compute_stall(cycle, slower, cap);
                prop_assert!(slower.wait >= base.wait && slower.modelled() >= base.modelled());
            }
            // One cycle later, at most one cycle less.
            let later = compute_stall(cycle + 1, preds, cap);
            prop_assert!(later.wait <= base.wait && base.wait - later.wait <= 1);
        }

        #[test]
        fn extreme_numbers_do_not_overflow(cycle: i64, preds in proptest::collection::vec(predecessor(), 0..4), field: u8) {
            let stall = compute_stall(cycle, preds, StallCap::Uncapped);
            prop_assert!(stall.emit(field).cycles >= 1);
        }
    }
}
