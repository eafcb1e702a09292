//! Goal: a printed number that may be a range, and the two units such numbers come in.
//!
//! [`Cost`] and [`Cycles`] are separate types because the document's "model latency" is a scheduling cost and must
//! never be added to, or compared with, cycles.

use std::fmt;
use std::str::FromStr;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// A number (`17`) or an inclusive range (`21-23`), exactly as precise as its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    lo: u32,
    hi: u32,
}

impl Span {
    /// A single number.
    pub const fn exact(value: u32) -> Self {
        Self { lo: value, hi: value }
    }

    /// The range `lo..=hi`; `None` when it is empty.
    pub const fn new(lo: u32, hi: u32) -> Option<Self> {
        if lo <= hi { Some(Self { lo, hi }) } else { None }
    }

    /// The smallest value.
    pub const fn lo(self) -> u32 {
        self.lo
    }

    /// The largest value: the one to use where too small would be unsafe.
    pub const fn hi(self) -> u32 {
        self.hi
    }

    /// The value when the source printed a single one.
    pub const fn exact_value(self) -> Option<u32> {
        if self.lo == self.hi { Some(self.lo) } else { None }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.exact_value() {
            Some(value) => write!(f, "{value}"),
            None => write!(f, "{}-{}", self.lo, self.hi),
        }
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |part: &str| -> Result<u32, String> {
            if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
                return Err("expected a number or a range such as 21-23".to_owned());
            }
            part.parse().map_err(|_| "number too large".to_owned())
        };
        let (lo, hi) = match text.split_once('-') {
            Some((lo, hi)) => (number(lo)?, number(hi)?),
            None => (number(text)?, number(text)?),
        };
        Self::new(lo, hi).ok_or_else(|| "range runs backwards".to_owned())
    }
}

/// A number, or `{"min": …, "max": …}`.
impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(value) = self.exact_value() {
            return serializer.serialize_u32(value);
        }
        let mut object = serializer.serialize_struct("Span", 2)?;
        object.serialize_field("min", &self.lo)?;
        object.serialize_field("max", &self.hi)?;
        object.end()
    }
}

/// A documented scheduling cost. Not cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Cost(pub Span);

impl Cost {
    /// The unit, as printed in reports.
    pub const UNIT: &'static str = "scheduling cost";
}

/// Measured machine cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Cycles(pub Span);

impl Cycles {
    /// The unit, as printed in reports.
    pub const UNIT: &'static str = "cycles";
}
