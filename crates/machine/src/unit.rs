//! Goal: the ten counted functional units, and the other names the document gives to units.
//!
//! Source: latency-model document, functional unit categories, class mapping and query.

use std::str::FromStr;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize, Serializer};

use crate::ClassId;
use crate::names::names;
use crate::table::{self, embedded};

/// Bytes of one block's resource slot: ten usage counters, ten deltas, one flag word.
pub const RESOURCE_SLOT_SIZE: usize = 84;
/// Offset of the flag word in a slot.
pub const RESOURCE_FLAGS_OFFSET: usize = 80;

names! {
    /// A functional unit with a resource counter.
    Unit {
        /// Integer ALU.
        Alu = "ALU",
        /// FP32.
        Fma = "FMA",
        /// FP64.
        Dfma = "DFMA",
        /// Tensor core.
        Mma = "MMA",
        /// Load/store.
        Lsu = "LSU",
        /// Texture.
        Tex = "TEX",
        /// Control flow.
        Bra = "BRA",
        /// Shared memory.
        Smem = "SMEM",
        /// Special functions.
        Sfu = "SFU",
        /// Uniform datapath.
        Udp = "UDP",
    }
}

names! {
    /// A pipe name of the class table. All but the extended unit are counted units.
    Pipe {
        /// Integer ALU.
        Alu = "ALU",
        /// FP32.
        Fma = "FMA",
        /// FP64.
        Dfma = "DFMA",
        /// Tensor core.
        Mma = "MMA",
        /// Load/store.
        Lsu = "LSU",
        /// Control flow.
        Bra = "BRA",
        /// Special functions.
        Sfu = "SFU",
        /// Extended unit.
        Xu = "XU",
    }
}

impl Unit {
    /// Its index in the resource vector.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The unit with this index.
    pub fn from_index(index: usize) -> Option<Self> {
        Self::ALL.get(index).copied()
    }

    /// Byte offset of its usage counter in a slot.
    pub const fn usage_offset(self) -> usize {
        4 * self.index()
    }

    /// Byte offset of its delta counter in a slot.
    pub const fn delta_offset(self) -> usize {
        40 + 4 * self.index()
    }

    /// What the table says about it.
    pub fn info(self) -> &'static UnitInfo {
        &UNITS[self.index()]
    }
}

impl Pipe {
    /// The counted unit it charges; `None` for the extended unit.
    pub fn unit(self) -> Option<Unit> {
        PIPES.iter().find(|row| row.pipe == self).and_then(|row| row.unit)
    }
}

/// An issue rate as printed, e.g. 1/64 per cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Instructions.
    pub instructions: u32,
    /// Per this many cycles; never zero.
    pub cycles: u32,
}

impl FromStr for Rate {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (instructions, cycles) = text.split_once('/').unwrap_or((text, "1"));
        match (table::to_number(instructions), table::to_number(cycles)) {
            (Some(instructions), Some(cycles)) if cycles != 0 => Ok(Self { instructions, cycles }),
            _ => Err("expected a rate such as 1 or 1/4"),
        }
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(f64::from(self.instructions) / f64::from(self.cycles))
    }
}

/// Instructions per cycle: the printed text, and its bounds where it prints numbers.
#[derive(Debug, Clone, Serialize)]
pub struct Ipc {
    /// As printed.
    pub text: String,
    /// Slowest rate.
    pub min: Option<Rate>,
    /// Fastest rate.
    pub max: Option<Rate>,
}

/// One row of the functional unit table.
#[derive(Debug, Clone, Serialize)]
pub struct UnitInfo {
    /// Which one.
    pub unit: Unit,
    /// Its index in the resource vector.
    pub index: usize,
    /// Full name.
    pub name: String,
    /// Typical instructions, as printed.
    pub instructions: Vec<String>,
    /// Issue rate.
    pub ipc: Ipc,
    /// Where this row comes from.
    pub source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawUnit {
    #[serde(deserialize_with = "table::number")]
    index: usize,
    #[serde(deserialize_with = "table::parse")]
    short: Unit,
    #[serde(deserialize_with = "table::text")]
    name: String,
    #[serde(deserialize_with = "table::parse_list")]
    instructions: Vec<String>,
    ipc: String,
    #[serde(deserialize_with = "table::parse_opt")]
    ipc_min: Option<Rate>,
    #[serde(deserialize_with = "table::parse_opt")]
    ipc_max: Option<Rate>,
    #[serde(deserialize_with = "table::text")]
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PipeRow {
    #[serde(deserialize_with = "table::parse")]
    pipe: Pipe,
    #[serde(deserialize_with = "table::parse_opt")]
    unit: Option<Unit>,
    #[serde(rename = "reason")]
    _reason: String,
    #[serde(rename = "source", deserialize_with = "table::text")]
    _source: String,
}

/// A (opcode, unit name) pair and its class.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct UnitName {
    /// Opcode number; `None` in the default row.
    #[serde(deserialize_with = "table::number_opt")]
    pub opcode: Option<u16>,
    /// Unit name as printed; empty in the default row.
    pub unit: String,
    /// The class.
    #[serde(deserialize_with = "table::parse")]
    pub class: ClassId,
    /// What it stands for.
    pub meaning: String,
    /// Where this row comes from.
    #[serde(deserialize_with = "table::text")]
    pub source: String,
}

/// A single-character opcode code and the functional unit id behind it.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CharCode {
    /// The character.
    pub code: char,
    /// Its number, from the decimal column.
    #[serde(deserialize_with = "table::number")]
    pub decimal: u8,
    /// Functional unit id.
    #[serde(deserialize_with = "table::number")]
    pub fu_id: u16,
    /// Name of the unit.
    pub unit: String,
    /// Where this row comes from.
    #[serde(deserialize_with = "table::text")]
    pub source: String,
}

static RAW_UNITS: LazyLock<Vec<RawUnit>> = embedded!("functional_units", RawUnit, |row| row.index);
static PIPES: LazyLock<Vec<PipeRow>> = embedded!("pipe_names", PipeRow, |row| row.pipe);
static NAMES: LazyLock<Vec<UnitName>> =
    embedded!("unit_names", UnitName, |row| format!("{:?} {}", row.opcode, row.unit));
static CODES: LazyLock<Vec<CharCode>> = embedded!("char_codes", CharCode, |row| row.code);

static UNITS: LazyLock<Vec<UnitInfo>> = LazyLock::new(|| {
    let info = |raw: &RawUnit| UnitInfo {
        unit: raw.short,
        index: raw.index,
        name: raw.name.clone(),
        instructions: raw.instructions.clone(),
        ipc: Ipc { text: raw.ipc.clone(), min: raw.ipc_min, max: raw.ipc_max },
        source: raw.source.clone(),
    };
    RAW_UNITS.iter().map(info).collect()
});

/// Every row of the (opcode, unit name) table, default last.
pub fn unit_names() -> &'static [UnitName] {
    &NAMES
}

/// The class for an opcode number and unit name; the extended unit's when the pair is not listed.
pub fn class_for_unit_name(opcode: u16, unit: &str) -> ClassId {
    let row = NAMES.iter().find(|row| row.opcode == Some(opcode) && row.unit == unit);
    row.or_else(|| NAMES.iter().find(|row| row.opcode.is_none()))
        .expect("default row, checked by the tests")
        .class
}

/// Every single-character opcode code.
pub fn char_codes() -> &'static [CharCode] {
    &CODES
}
