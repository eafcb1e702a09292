//! What one register operand costs, and under which index it is tracked.
//!
//! Source: latency-model document, section "Register Latency Query".

use bitflags::bitflags;
use sassafras_knobs::{KnobSet, keys};

use crate::params::PARAMETERS;

bitflags! {
    /// How the scheduling context tracks registers. The bits are those of the documented context flags.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub struct Tracking: u8 {
        /// Registers of the wide class cost double unless their pipeline bits say "standard".
        const WIDE_CLASS = 0x08;
        /// Even and odd halves are tracked apart: indices double. Takes precedence over [`Self::WIDE_CLASS`].
        const DUAL = 0x10;
    }
}

impl Tracking {
    /// Adds or removes [`Self::DUAL`] as knob 420 says, when it is set.
    #[must_use]
    pub fn with_knobs(mut self, knobs: &KnobSet) -> Self {
        if let Some(dual) = knobs.explicit(keys::DUAL_REGISTER_TRACKING) {
            self.set(Self::DUAL, dual);
        }
        self
    }
}

/// The 2-bit pipeline affinity of a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PipelineBits {
    /// 1: a standard pipeline register.
    Standard,
    /// 3: a double-width register, which costs 2.
    DoubleWidth,
    /// 0 or 2: architecture specific, cost 1.
    Other(u8),
}

impl PipelineBits {
    /// Takes the affinity from the register's property word (bits 20 and 21).
    #[must_use]
    pub const fn from_property_word(word: u32) -> Self {
        match (word >> 20) & 3 {
            1 => Self::Standard,
            3 => Self::DoubleWidth,
            other => Self::Other(other as u8),
        }
    }
}

/// What the model needs to know of a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RegisterDesc {
    /// Index of the register in its file.
    pub index: u32,
    /// Register class; classes above 6 are no physical file.
    pub class: u8,
    /// Pipeline affinity.
    pub pipeline: PipelineBits,
}

/// The answer of [`register_cost`]: `count` tracked units from `start` on, each at `cost`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RegisterCost {
    /// First tracked index.
    pub start: u32,
    /// Number of tracked indices. The document sets 1 on every path, dual tracking included.
    pub count: u32,
    /// Cost per tracked index.
    pub cost: i32,
}

impl RegisterCost {
    /// The tracked indices.
    pub fn units(self) -> std::ops::Range<u32> {
        self.start..self.start.saturating_add(self.count)
    }
}

/// Cost and tracking index of one register operand.
#[must_use]
pub fn register_cost(tracking: Tracking, reg: &RegisterDesc) -> RegisterCost {
    let cost = if reg.pipeline == PipelineBits::DoubleWidth { 2 } else { 1 };
    if tracking.contains(Tracking::DUAL) {
        return RegisterCost { start: reg.index.saturating_mul(2), count: 1, cost };
    }
    let wide = tracking.contains(Tracking::WIDE_CLASS)
        && reg.pipeline != PipelineBits::Standard
        && reg.class == PARAMETERS.register_class_wide;
    RegisterCost { start: reg.index, count: 1, cost: if wide { 2 * cost } else { cost } }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(flags: u8, class: u8, bits: u32) -> (u32, i32) {
        let pipeline = PipelineBits::from_property_word(bits << 20);
        let reg = RegisterDesc { index: 7, class, pipeline };
        let c = register_cost(Tracking::from_bits_truncate(flags), &reg);
        assert_eq!(c.units().count(), 1);
        (c.start, c.cost)
    }

    #[test]
    fn every_combination_of_flags_class_and_bits() {
        for class in [0, 6] {
            for bits in 0..4 {
                let base = if bits == 3 { 2 } else { 1 };
                assert_eq!(cost(0, class, bits), (7, base));
                let doubled = if class == 6 && bits != 1 { 2 * base } else { base };
                assert_eq!(cost(0x08, class, bits), (7, doubled));
                assert_eq!(cost(0x10, class, bits), (14, base));
                assert_eq!(cost(0x18, class, bits), (14, base), "dual tracking comes first");
            }
        }
    }

    #[test]
    fn property_word_ignores_other_bits() {
        assert_eq!(PipelineBits::from_property_word(!0), PipelineBits::DoubleWidth);
        assert_eq!(PipelineBits::from_property_word(!(3 << 20)), PipelineBits::Other(0));
    }

    #[test]
    fn knob_420_switches_dual_tracking() {
        let wide = Tracking::WIDE_CLASS;
        let mut knobs = KnobSet::new();
        assert_eq!(wide.with_knobs(&knobs), wide);
        knobs.assign("knob-420=1").expect("a switch");
        assert_eq!(wide.with_knobs(&knobs), Tracking::all());
        knobs.assign("knob-420=0").expect("a switch");
        assert_eq!(Tracking::all().with_knobs(&knobs), wide);
    }
}
