//! Goal: numbers that must not be confused get their own types: scheduling class, latency index, opcode number.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::table::to_number;

/// A number too large for its field, or no number at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a {what} (0 to {max})")]
pub struct IdError {
    text: String,
    what: &'static str,
    max: u16,
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $what:literal, $max:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[serde(transparent)]
        pub struct $name(u16);

        impl $name {
            /// The largest value.
            pub const MAX: u16 = $max;

            /// `None` when `value` exceeds [`Self::MAX`].
            pub const fn new(value: u16) -> Option<Self> {
                if value <= Self::MAX { Some(Self(value)) } else { None }
            }

            /// The number.
            pub const fn get(self) -> u16 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                to_number::<u16>(text).and_then(Self::new).ok_or_else(|| IdError {
                    text: text.to_owned(),
                    what: $what,
                    max: Self::MAX,
                })
            }
        }
    };
}

id!(
    /// A scheduling class. The document's run to 772 and "beyond"; ten bits are room enough.
    ClassId, "scheduling class", 1023
);
id!(
    /// The nine-bit index into an architecture's latency table. Classes exceed 511, so this is not the class.
    LatencyIndex, "latency index", 511
);
id!(
    /// An opcode number of the document's intermediate form. Tables clash in these: never join on them.
    OriOpcode, "opcode number", 1023
);

impl ClassId {
    /// The class that stands for "ask the dynamic cost model" (latency-model, opcode-to-class section).
    pub const DYNAMIC: Self = Self(772);

    /// The index used when no override is printed: the class itself, where nine bits can hold it.
    pub const fn natural_index(self) -> Option<LatencyIndex> {
        LatencyIndex::new(self.0)
    }
}
