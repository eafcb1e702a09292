//! Goal: the words measured latencies are keyed by: category, hazard, role, register file, lane, guard, evidence.
//!
//! Source: the grouping published latency tables use, and the pipes instructions are known to run on.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::names::names;
use crate::table::{self, embedded};

names! {
    /// Instructions that behave alike in latency.
    Category {
        /// Integer and logic, compares and moves.
        Alu = "alu",
        /// FP32 and integer multiply-add.
        Fma = "fma",
        /// Wide integer multiply-add, whose result halves differ.
        ImadWide = "imad_wide",
        /// FP64.
        Fp64 = "fp64",
        /// Packed half precision.
        Half = "half",
        /// Special functions.
        Sfu = "sfu",
        /// Conversions and bit counts of variable latency.
        Convert = "convert",
        /// Warp-level matrix multiply.
        Tensor = "tensor",
        /// Warpgroup-level matrix multiply.
        WarpgroupMma = "warpgroup_mma",
        /// Global and generic memory.
        Global = "global",
        /// Shared memory.
        Shared = "shared",
        /// Local memory.
        Local = "local",
        /// Constant loads.
        Constant = "constant",
        /// Texture and surface.
        Texture = "texture",
        /// Exchange between lanes.
        Shuffle = "shuffle",
        /// Special register reads.
        SpecialRegister = "special_register",
        /// Uniform datapath.
        Uniform = "uniform",
        /// Uniform constant loads.
        UniformLoad = "uniform_load",
        /// General to uniform register.
        ToUniform = "to_uniform",
        /// Branches and other control flow.
        Control = "control",
        /// Barriers and fences.
        Barrier = "barrier",
    }
}

impl Category {
    /// The category of a SASS mnemonic, modifiers allowed; `None` when the table does not have it.
    pub fn of(mnemonic: &str) -> Option<Self> {
        crate::mnemonic::spellings(mnemonic).iter().find_map(|name| CATEGORIES.get(name).copied())
    }

    /// Whether it reads or writes memory through an address.
    pub fn is_memory(self) -> bool {
        matches!(self, Self::Global | Self::Shared | Self::Local | Self::Constant | Self::Texture)
    }

    /// Whether it executes on the uniform datapath.
    pub fn is_uniform(self) -> bool {
        matches!(self, Self::Uniform | Self::UniformLoad)
    }
}

names! {
    /// What two instructions collide over.
    Hazard {
        /// Read after write.
        Raw = "raw",
        /// Write after read.
        War = "war",
        /// Write after write.
        Waw = "waw",
        /// Two of a kind in a row.
        IssueGap = "issue_gap",
        /// Least stall the producer itself needs.
        MinWait = "min_wait",
    }
}

names! {
    /// How the consumer uses the register.
    Role {
        /// An ordinary operand.
        Operand = "operand",
        /// An address.
        Address = "address",
        /// The guard predicate.
        Guard = "guard",
        /// A branch condition.
        Branch = "branch",
        /// The addend of a multiply-add.
        Accumulator = "accumulator",
    }
}

names! {
    /// The register file.
    RegisterKind {
        /// General registers.
        General = "gpr",
        /// Predicates.
        Predicate = "predicate",
        /// Uniform registers.
        Uniform = "uniform",
        /// Uniform predicates.
        UniformPredicate = "uniform_predicate",
    }
}

names! {
    /// Half of a 64-bit result.
    Lane {
        /// Low half.
        Low = "low",
        /// High half.
        High = "high",
    }
}

names! {
    /// How the hazard is guarded in compiled code.
    Guard {
        /// By distance.
        Fixed = "fixed",
        /// By a scoreboard.
        Scoreboard = "scoreboard",
    }
}

names! {
    /// Where a number comes from, weakest first.
    Evidence {
        /// Published tables.
        Public = "public",
        /// The smallest distance in compiled code.
        Mined = "ptxas-mined",
        /// Measured on an H200.
        Device = "h200",
    }
}

/// The consumers a row speaks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Consumer {
    /// All.
    Any,
    /// All but the uniform datapath.
    Vector,
    /// All that go through an address.
    Memory,
    /// One category.
    Is(Category),
}

impl Consumer {
    pub(crate) fn accepts(self, category: Category) -> bool {
        match self {
            Self::Any => true,
            Self::Vector => !category.is_uniform(),
            Self::Memory => category.is_memory(),
            Self::Is(own) => own == category,
        }
    }
}

impl fmt::Display for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Vector => f.write_str("vector"),
            Self::Memory => f.write_str("memory"),
            Self::Is(category) => category.fmt(f),
        }
    }
}

impl FromStr for Consumer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "any" => Ok(Self::Any),
            "vector" => Ok(Self::Vector),
            "memory" => Ok(Self::Memory),
            _ => text.parse().map(Self::Is),
        }
    }
}

impl Serialize for Consumer {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CategoryRow {
    #[serde(deserialize_with = "table::text")]
    mnemonic: String,
    #[serde(deserialize_with = "table::parse")]
    category: Category,
    #[serde(rename = "source", deserialize_with = "table::text")]
    _source: String,
}

static CATEGORY_ROWS: LazyLock<Vec<CategoryRow>> =
    embedded!("measured_categories", CategoryRow, |row| row.mnemonic.clone());

static CATEGORIES: LazyLock<HashMap<String, Category>> =
    LazyLock::new(|| CATEGORY_ROWS.iter().map(|row| (row.mnemonic.clone(), row.category)).collect());
