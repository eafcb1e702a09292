//! The 40-byte dependence rule, and the 16 bytes that say how much of it is known.
//!
//! Source: latency-model document, worked example. Only one rule is printed in full, so most fields of most rules are
//! unknown. An unknown field is written as the document's "use default" (0xFFFF) where it has one and as 0 elsewhere, and
//! its bit in the knowledge record is set, so that no reader mistakes it for a number.

use serde::Serialize;

use crate::DecodeError;
use crate::bytes::{Field, get, put};

/// A cost that is known, known to lie in a range, or not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Estimate {
    /// One number.
    Exact(u8),
    /// Between two different numbers, as where one printed row covers several classes.
    Range(Range),
    /// Nothing is known.
    #[default]
    Unknown,
}

/// Inclusive bounds, the lower one smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Range {
    lo: u8,
    hi: u8,
}

impl Estimate {
    /// The exact number for equal bounds, the range for ascending ones, `None` otherwise.
    pub const fn between(lo: u8, hi: u8) -> Option<Self> {
        if lo == hi {
            Some(Self::Exact(lo))
        } else if lo < hi {
            Some(Self::Range(Range { lo, hi }))
        } else {
            None
        }
    }

    /// The number, where there is one.
    pub const fn exact(self) -> Option<u8> {
        match self {
            Self::Exact(value) => Some(value),
            Self::Range(_) | Self::Unknown => None,
        }
    }

    /// Smallest and largest possible value.
    pub const fn bounds(self) -> Option<(u8, u8)> {
        match self {
            Self::Exact(value) => Some((value, value)),
            Self::Range(Range { lo, hi }) => Some((lo, hi)),
            Self::Unknown => None,
        }
    }
}

/// A latency that may be left to the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Override {
    /// −1 in the record.
    Default,
    /// A value of its own; never −1.
    Cycles(OverrideCycles),
}

/// A 16-bit value other than −1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct OverrideCycles(i16);

impl OverrideCycles {
    /// The value.
    pub const fn get(self) -> i16 {
        self.0
    }
}

impl Override {
    const DEFAULT: i16 = -1;

    /// From the record's signed value.
    pub const fn from_raw(raw: i16) -> Self {
        if raw == Self::DEFAULT { Self::Default } else { Self::Cycles(OverrideCycles(raw)) }
    }

    /// The record's signed value.
    pub const fn to_raw(self) -> i16 {
        match self {
            Self::Default => Self::DEFAULT,
            Self::Cycles(OverrideCycles(cycles)) => cycles,
        }
    }
}

/// How a consumer of a class's result has to wait. `None` and [`Estimate::Unknown`] are unknown, not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Default)]
pub struct Rule {
    /// 1 is the standard rule.
    pub rule_type: Option<u8>,
    /// Result-to-use cost.
    pub latency: Estimate,
    /// Smallest issue interval; 0 is full rate.
    pub throughput_inv: Estimate,
    /// Cost when tracked by a barrier.
    pub barrier_latency: Option<u8>,
    /// Inverse share of scoreboard bandwidth.
    pub barrier_throughput: Option<u8>,
    /// Read-side override.
    pub read_latency: Option<Override>,
    /// Write-side override.
    pub write_latency: Option<Override>,
    /// Mandatory stall before the next issue.
    pub stall_cycles: Option<u16>,
    /// Dispatch slots taken.
    pub issue_slots: Option<u8>,
}

pub(crate) const FIELDS: [Field; 11] = [
    (0, 2, "rule unit id"),
    (2, 1, "rule type"),
    (3, 1, "rule latency"),
    (4, 1, "rule throughput"),
    (5, 1, "rule barrier latency"),
    (6, 1, "rule barrier throughput"),
    (7, 2, "rule read latency"),
    (9, 2, "rule write latency"),
    (11, 2, "rule stall cycles"),
    (13, 1, "rule issue slots"),
    (14, 26, "rule padding"),
];

/// The fields that can be unknown; their order is that of the bits in the knowledge record.
const KNOWABLE: [Field; 9] = {
    let mut out = [FIELDS[0]; 9];
    let mut i = 0;
    while i < out.len() {
        out[i] = FIELDS[i + 1];
        i += 1;
    }
    out
};
const READ_LATENCY: usize = 5;
const WRITE_LATENCY: usize = 6;

impl Rule {
    /// Size of a rule.
    pub const SIZE: usize = 40;

    /// The known fields as raw numbers, in record order.
    fn raw(&self) -> [Option<u16>; 9] {
        [
            self.rule_type.map(u16::from),
            self.latency.exact().map(u16::from),
            self.throughput_inv.exact().map(u16::from),
            self.barrier_latency.map(u16::from),
            self.barrier_throughput.map(u16::from),
            self.read_latency.map(|value| value.to_raw() as u16),
            self.write_latency.map(|value| value.to_raw() as u16),
            self.stall_cycles,
            self.issue_slots.map(u16::from),
        ]
    }

    /// The documented bytes.
    pub fn to_bytes(&self, unit_id: u16) -> [u8; Self::SIZE] {
        let mut out = [0; Self::SIZE];
        put(&mut out, 0, 2, unit_id.into());
        for (index, (value, (at, size, _))) in self.raw().into_iter().zip(KNOWABLE).enumerate() {
            let absent = if matches!(index, READ_LATENCY | WRITE_LATENCY) { 0xFFFF } else { 0 };
            put(&mut out, at, size, value.unwrap_or(absent).into());
        }
        out
    }

    /// One bit per unknown field.
    pub(crate) fn unknown(&self) -> u16 {
        self.raw().iter().enumerate().fold(0, |mask, (bit, value)| mask | u16::from(value.is_none()) << bit)
    }

    /// Lower and upper bounds of latency and throughput where they are ranges, else zeros.
    pub(crate) fn ranges(&self) -> [u8; 4] {
        let bounds = |estimate| match estimate {
            Estimate::Range(Range { lo, hi }) => [lo, hi],
            Estimate::Exact(_) | Estimate::Unknown => [0, 0],
        };
        let ([a, b], [c, d]) = (bounds(self.latency), bounds(self.throughput_inv));
        [a, b, c, d]
    }

    /// The rule of 40 bytes, an unknown mask and ranges. What an unknown field's bytes hold is left to the caller, who
    /// compares with [`Self::to_bytes`].
    pub(crate) fn from_parts(
        bytes: &[u8; Self::SIZE],
        unknown: u16,
        ranges: [u8; 4],
        ranges_at: usize,
    ) -> Result<Self, DecodeError> {
        let value = |index: usize| {
            let (at, size, _) = KNOWABLE[index];
            (unknown >> index & 1 == 0).then(|| get(bytes, at, size) as u16)
        };
        let byte = |index| value(index).map(|value| value as u8);
        let estimate = |index: usize, offset: usize, lo: u8, hi: u8| match (byte(index), lo, hi) {
            (Some(exact), 0, 0) => Ok(Estimate::Exact(exact)),
            (None, 0, 0) => Ok(Estimate::Unknown),
            (None, lo, hi) if lo < hi => Ok(Estimate::Range(Range { lo, hi })),
            _ => Err(DecodeError::Bounds { offset: ranges_at + offset, field: KNOWABLE[index].2, lo, hi }),
        };
        let [a, b, c, d] = ranges;
        Ok(Self {
            rule_type: byte(0),
            latency: estimate(1, 0, a, b)?,
            throughput_inv: estimate(2, 2, c, d)?,
            barrier_latency: byte(3),
            barrier_throughput: byte(4),
            read_latency: value(READ_LATENCY).map(|raw| Override::from_raw(raw as i16)),
            write_latency: value(WRITE_LATENCY).map(|raw| Override::from_raw(raw as i16)),
            stall_cycles: value(7),
            issue_slots: byte(8),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The document's rule of class 2 on sm_80, byte for byte.
    #[test]
    fn the_worked_example() {
        let rule = Rule {
            rule_type: Some(1),
            latency: Estimate::Exact(17),
            throughput_inv: Estimate::Exact(0),
            barrier_latency: Some(56),
            barrier_throughput: Some(8),
            read_latency: Some(Override::Default),
            write_latency: Some(Override::Default),
            stall_cycles: Some(0),
            issue_slots: Some(1),
        };
        let mut expected = [0; 40];
        expected[..14]
            .copy_from_slice(&[0x02, 0, 0x01, 0x11, 0, 0x38, 0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0x01]);
        assert_eq!(rule.to_bytes(2), expected);
        assert_eq!(rule.unknown(), 0);
        assert_eq!(Rule::from_parts(&expected, 0, [0; 4], 0), Ok(rule));
    }

    #[test]
    fn unknown_is_not_zero() {
        let bytes = Rule::default().to_bytes(7);
        assert_eq!(&bytes[..14], &[7, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0]);
        assert_eq!(Rule::default().unknown(), 0b1_1111_1111);
        assert_eq!(Rule::from_parts(&bytes, 0x1FF, [0; 4], 0), Ok(Rule::default()));
    }

    #[test]
    fn ranges_need_an_unknown_value_and_order() {
        let bytes = Rule::default().to_bytes(7);
        let range = Rule::from_parts(&bytes, 0x1FF, [20, 23, 0, 0], 0).expect("a range");
        assert_eq!(range.latency.bounds(), Some((20, 23)));
        for (unknown, ranges) in [(0x1FD, [20, 23, 0, 0]), (0x1FF, [23, 20, 0, 0]), (0x1FF, [0, 0, 4, 4])] {
            assert!(matches!(Rule::from_parts(&bytes, unknown, ranges, 0), Err(DecodeError::Bounds { .. })));
        }
    }
}
