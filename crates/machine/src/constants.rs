//! Goal: the model's sentinels, thresholds and small scalars, by name.
//!
//! Source: latency-model document, sentinel values and the sections named in each row.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::TableError;
use crate::table;

/// One named scalar.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Constant {
    /// Name.
    #[serde(deserialize_with = "table::text")]
    pub name: String,
    /// Value.
    #[serde(deserialize_with = "signed")]
    pub value: i64,
    /// Unit; empty for a plain number.
    pub unit: String,
    /// What it stands for.
    pub meaning: String,
    /// Where this row comes from.
    #[serde(deserialize_with = "table::text")]
    pub source: String,
}

fn signed<'de, D: serde::Deserializer<'de>>(d: D) -> Result<i64, D::Error> {
    let text = String::deserialize(d)?;
    let value = match text.strip_prefix('-') {
        Some(digits) => table::to_number::<u32>(digits).map(|value| -i64::from(value)),
        None => table::to_number::<u32>(&text).map(i64::from),
    };
    value.ok_or_else(|| serde::de::Error::custom(format!("`{text}` is not a number that fits")))
}

macro_rules! constants {
    ($($(#[$doc:meta])* $name:ident: $type:ty),* $(,)?) => {
        /// The scalars the model's code uses, and the rows they come from.
        #[derive(Debug, Clone)]
        pub struct Constants {
            $($(#[$doc])* pub $name: $type,)*
            rows: Vec<Constant>,
        }

        impl Constants {
            /// Reads a table; a missing, repeated, unknown or out-of-range constant is an error.
            pub fn parse(text: &str) -> Result<Self, TableError> {
                let rows = table::rows::<Constant>("constants", text)?;
                table::unique(&rows, |row| row.name.clone())?;
                const NAMES: &[&str] = &[$(stringify!($name)),*];
                if let Some(row) = rows.iter().find(|row| !NAMES.contains(&row.value.name.as_str())) {
                    return Err(row.error(format!("unknown constant `{}`", row.value.name)));
                }
                $(let $name = {
                    let name = stringify!($name);
                    let row = rows.iter().find(|row| row.value.name == name).ok_or_else(|| {
                        TableError::new("constants", 0, format!("no constant `{name}`"))
                    })?;
                    <$type>::try_from(row.value.value).map_err(|_| row.error("value out of range"))?
                };)*
                Ok(Self { $($name,)* rows: rows.into_iter().map(|row| row.value).collect() })
            }
        }
    };
}

constants! {
    /// Position of an instruction not yet scheduled.
    unscheduled_position: i32,
    /// Latency that stands for infinity.
    infinite_latency: u32,
    /// "No batch window".
    batch_window_sentinel: u32,
    /// Latencies above this are long.
    long_latency_threshold: u32,
    /// The class that means "ask the dynamic cost model".
    dynamic_class: u16,
    /// Removes modifier bits from an opcode number.
    opcode_mask: u32,
    /// Entries of the per-opcode fallback latency table.
    opcode_latency_slots: u32,
    /// Scoreboards an instruction can name.
    scoreboards: u8,
    /// Latency of a barrier edge.
    barrier_edge_latency: u32,
    /// The document's largest stall.
    max_stall_documented: u8,
    /// The hardware's largest stall.
    max_stall_hardware: u8,
    /// The smallest stall.
    min_stall: u8,
    /// Stall cap of pressure-sensitive kernels.
    short_stall_cap: u8,
    /// Bytes of a warp-level profile record.
    warp_record_size: u32,
    /// A packed warp pair the document prints without a row for it.
    packed_warps_unattached: u32,
    /// Least distance from setting a scoreboard to waiting on it.
    scoreboard_set_to_wait: u8,
    /// One in so many instructions with a scoreboard for its result makes an opcode one that may take its time.
    boarded_share: u32,
    /// Of so many instructions none with a scoreboard for its sources makes an opcode one that gets none.
    boardless_seen: u32,
    /// Sources with the least distance of a row from which on a checker asks for it whatever else is known.
    pooled_sources: u32,
    /// Cycles beyond which a distance that was seen says nothing of how long a result takes.
    longest_seen_read: u8,
    /// Cycles from an instruction that writes a convergence barrier to the next that reads or writes it.
    convergence_barrier: u8,
    /// Size of the model that scoreboard pressure is counted against.
    scoreboard_model: u32,
    /// The same from sm_100 on.
    scoreboard_model_sm100: u32,
}

impl Constants {
    /// Every row, in table order.
    pub fn rows(&self) -> &[Constant] {
        &self.rows
    }
}

static CONSTANTS: LazyLock<Constants> = LazyLock::new(|| {
    Constants::parse(include_str!("../data/constants.csv")).expect("embedded table, checked by the tests")
});

/// The built-in scalars.
pub fn constants() -> &'static Constants {
    &CONSTANTS
}
