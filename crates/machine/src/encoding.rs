//! Goal: the three small encodings inside a scheduling descriptor: pipe mask, sub-class, pipe flags.
//!
//! Source: latency-model document, execution pipe assignment. The documented values are written *in place* (0x18000,
//! 0x40, 0x0C); the types hold the field's own five bits and convert.
//!
//! Sub-class and throughput class are one field: the document places the sub-class in bits 4 to 7 and the throughput
//! class in bits 4 to 8 of the same word, and the sentinel 0x1F0 fills all five. [`SubClass`] therefore has five bits.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize, Serializer};

use crate::table::{self, embedded};

/// One named value of an encoding.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EncodingRow {
    /// The value in place, as the document writes it.
    #[serde(deserialize_with = "table::hex")]
    pub value: u32,
    /// Short name.
    #[serde(deserialize_with = "table::text")]
    pub name: String,
    /// What it selects.
    pub meaning: String,
    /// Indices of the functional units behind it, where printed.
    #[serde(deserialize_with = "table::parse_list")]
    pub units: Vec<u8>,
    /// Where this row comes from.
    #[serde(deserialize_with = "table::text")]
    pub source: String,
}

macro_rules! field {
    ($(#[$doc:meta])* $name:ident, shift $shift:literal, $rows:ident, $table:literal, $get:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u8);

        impl $name {
            /// All five bits set: the default sentinel.
            pub const ALL: Self = Self(0x1F);

            /// From the field's own bits; `None` beyond five.
            pub const fn new(bits: u8) -> Option<Self> {
                if bits <= 0x1F { Some(Self(bits)) } else { None }
            }

            /// From the value as the document writes it, in place.
            pub const fn from_in_place(value: u32) -> Option<Self> {
                let bits = value >> $shift;
                if bits << $shift == value && bits <= 0x1F { Some(Self(bits as u8)) } else { None }
            }

            /// The field's own five bits.
            pub const fn bits(self) -> u8 {
                self.0
            }

            /// The value as the document writes it, in place.
            pub const fn in_place(self) -> u32 {
                (self.0 as u32) << $shift
            }

            /// The table row that names this value, if the document names it.
            pub fn row(self) -> Option<&'static EncodingRow> {
                $rows.iter().find(|row| row.value == self.in_place())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#x}", self.in_place())
            }
        }

        impl FromStr for $name {
            type Err = &'static str;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                table::to_number(text).and_then(Self::from_in_place).ok_or("value has bits outside its field")
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        static $rows: LazyLock<Vec<EncodingRow>> = embedded!($table, EncodingRow, |row| row.value);

        #[doc = concat!("Every value the document names for [`", stringify!($name), "`].")]
        pub fn $get() -> &'static [EncodingRow] {
            &$rows
        }
    };
}

field!(
    /// The execution pipe.
    PipeMask, shift 15, PIPE_MASKS, "pipe_masks", pipe_mask_rows
);
field!(
    /// The sub-class within the pipe, which is also the throughput class.
    SubClass, shift 4, SUB_CLASSES, "sub_classes", sub_class_rows
);
field!(
    /// Sub-unit affinity.
    PipeFlags, shift 1, PIPE_FLAGS, "pipe_flags", pipe_flag_rows
);
