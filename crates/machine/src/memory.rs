//! Goal: memory-space codes, what the document calls typical for them, and hot against cold.
//!
//! Source: latency-model document, memory space classification, pairing, latency hiding statistics. The typical ranges are
//! documented figures, kept apart from measured cycles.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::span::Span;
use crate::table::{self, embedded};

/// A documented typical range, in cycles as the document words it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TypicalCycles {
    /// The range.
    pub cycles: Span,
    /// Whether it was printed as "or more".
    pub open: bool,
}

/// A memory space.
#[derive(Debug, Clone, Serialize)]
pub struct MemorySpace {
    /// The classifier's code.
    pub code: u8,
    /// Name.
    pub space: String,
    /// Typical latency.
    pub typical: TypicalCycles,
    /// Where this row comes from.
    pub source: String,
}

impl MemorySpace {
    /// The space with this code.
    pub fn from_code(code: u8) -> Option<&'static Self> {
        SPACES.iter().find(|row| row.code == code)
    }
}

/// Long- or short-latency memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Temperature {
    /// Global and texture.
    Hot,
    /// Shared and constant.
    Cold,
}

/// One way for a memory instruction to be hot or cold.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TemperatureRule {
    /// The verdict.
    pub temperature: Temperature,
    /// Opcode numbers it applies to.
    #[serde(deserialize_with = "table::parse_list")]
    pub opcodes: Vec<u16>,
    /// Space code of the pairing test.
    #[serde(deserialize_with = "table::number_opt")]
    pub space: Option<u8>,
    /// The classifier's code for the same space.
    #[serde(deserialize_with = "table::number_opt")]
    pub classifier: Option<u8>,
    /// Required address mode.
    #[serde(deserialize_with = "table::number_opt")]
    pub address_mode: Option<u8>,
    /// Operand bits that are tested.
    #[serde(deserialize_with = "table::number_opt")]
    pub operand_mask: Option<u32>,
    /// What they must be.
    #[serde(deserialize_with = "table::number_opt")]
    pub operand_value: Option<u32>,
    /// Where this row comes from.
    #[serde(deserialize_with = "table::text")]
    pub source: String,
}

impl TemperatureRule {
    /// Whether an instruction satisfies every condition of this rule.
    pub fn matches(&self, opcode: u16, space: u8, address_mode: u8, operand: u32) -> bool {
        self.opcodes.contains(&opcode)
            && self.space.is_none_or(|code| code == space)
            && self.address_mode.is_none_or(|mode| mode == address_mode)
            && self.operand_mask.is_none_or(|mask| Some(operand & mask) == self.operand_value)
    }
}

/// A category of the latency-hiding statistics.
#[derive(Debug, Clone, Serialize)]
pub struct HidingCategory {
    /// Short name.
    pub name: String,
    /// The statistic's title.
    pub title: String,
    /// Typical latency.
    pub typical: Option<TypicalCycles>,
    /// Why it is absent.
    pub reason: Option<String>,
    /// Where this row comes from.
    pub source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSpace {
    #[serde(deserialize_with = "table::number")]
    code: u8,
    #[serde(deserialize_with = "table::text")]
    space: String,
    #[serde(deserialize_with = "table::number")]
    lo: u32,
    #[serde(deserialize_with = "table::number")]
    hi: u32,
    #[serde(deserialize_with = "table::yes_no")]
    open: bool,
    #[serde(deserialize_with = "table::text")]
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawHiding {
    #[serde(deserialize_with = "table::text")]
    name: String,
    #[serde(deserialize_with = "table::text")]
    title: String,
    #[serde(deserialize_with = "table::number_opt")]
    lo: Option<u32>,
    #[serde(deserialize_with = "table::number_opt")]
    hi: Option<u32>,
    #[serde(deserialize_with = "table::text_opt")]
    reason: Option<String>,
    #[serde(deserialize_with = "table::text")]
    source: String,
}

static RAW_SPACES: LazyLock<Vec<RawSpace>> = embedded!("memory_spaces", RawSpace, |row| row.code);
static RAW_HIDING: LazyLock<Vec<RawHiding>> =
    embedded!("hiding_categories", RawHiding, |row| row.name.clone());
static RULES: LazyLock<Vec<TemperatureRule>> =
    embedded!("temperature_rules", TemperatureRule, |row| format!("{row:?}"));

static SPACES: LazyLock<Vec<MemorySpace>> = LazyLock::new(|| {
    let space = |raw: &RawSpace| MemorySpace {
        code: raw.code,
        space: raw.space.clone(),
        typical: TypicalCycles {
            cycles: Span::new(raw.lo, raw.hi).expect("ordered, checked by the tests"),
            open: raw.open,
        },
        source: raw.source.clone(),
    };
    RAW_SPACES.iter().map(space).collect()
});

static HIDING: LazyLock<Vec<HidingCategory>> = LazyLock::new(|| {
    let category = |raw: &RawHiding| HidingCategory {
        name: raw.name.clone(),
        title: raw.title.clone(),
        typical: raw
            .lo
            .zip(raw.hi)
            .and_then(|(lo, hi)| Span::new(lo, hi))
            .map(|cycles| TypicalCycles { cycles, open: false }),
        reason: raw.reason.clone(),
        source: raw.source.clone(),
    };
    RAW_HIDING.iter().map(category).collect()
});

/// Every memory-space code.
pub fn memory_spaces() -> &'static [MemorySpace] {
    &SPACES
}

/// Every hot and cold rule.
pub fn temperature_rules() -> &'static [TemperatureRule] {
    &RULES
}

/// Every category of the latency-hiding statistics.
pub fn hiding_categories() -> &'static [HidingCategory] {
    &HIDING
}
