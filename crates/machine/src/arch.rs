//! Goal: the architectures, what each one is built from, and where its numbers come from when it has none of its own.
//!
//! Source: latency-model document, architecture dispatch table; the targets the assemblers themselves list. Where the
//! document is silent the row says so with a reason.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize, Serializer};

use crate::TableError;
use crate::table::{self, Row};

/// The letter after an SM number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Suffix {
    /// No letter.
    None,
    /// `a`: architecture-specific features.
    A,
    /// `f`: family-specific features.
    F,
}

/// One SM architecture of the table, or the universal fallback.
///
/// Only parsing and the constants make one, so [`Arch::info`] cannot fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Arch {
    number: u16,
    suffix: Suffix,
}

/// A name that is no known architecture.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArchError {
    /// Not of the form `sm_90`, `sm_90a` or `90`.
    #[error("`{0}` is not an architecture name such as sm_90, sm_90a or 90")]
    Malformed(String),
    /// Well formed, not in the table.
    #[error("unknown architecture `{name}`; known: {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// Every known name, comma separated.
        known: String,
    },
}

macro_rules! archs {
    ($($name:ident = $number:literal $suffix:ident),* $(,)?) => {
        impl Arch {
            $(#[doc = concat!("`", stringify!($name), "`.")]
            pub const $name: Self = Self { number: $number, suffix: Suffix::$suffix };)*
            #[cfg(test)]
            const NAMED: &[Self] = &[$(Self::$name),*];
        }
    };
}

archs! {
    SM_50 = 50 None, SM_52 = 52 None, SM_53 = 53 None, SM_60 = 60 None, SM_61 = 61 None, SM_62 = 62 None,
    SM_70 = 70 None, SM_72 = 72 None, SM_75 = 75 None, SM_80 = 80 None, SM_86 = 86 None, SM_87 = 87 None,
    SM_88 = 88 None, SM_89 = 89 None, SM_90 = 90 None, SM_90A = 90 A, SM_100 = 100 None, SM_100A = 100 A,
    SM_101 = 101 None, SM_103 = 103 None, SM_107 = 107 None, SM_110 = 110 None, SM_120 = 120 None,
    SM_120A = 120 A, SM_121 = 121 None,
}

impl Arch {
    /// The fallback for an SM the tables do not know.
    pub const UNIVERSAL: Self = Self { number: 0, suffix: Suffix::None };

    /// Every architecture of the table, fallback last.
    pub fn all() -> impl Iterator<Item = Self> {
        ArchTable::builtin().infos().iter().map(|info| info.arch)
    }

    /// The SM number; `None` for the fallback.
    pub fn number(self) -> Option<u16> {
        (self != Self::UNIVERSAL).then_some(self.number)
    }

    /// The letter after the number.
    pub fn suffix(self) -> Suffix {
        self.suffix
    }

    /// Parses a name; a well-formed one that is not in the table becomes the fallback.
    pub fn parse_or_universal(name: &str) -> Result<Self, ArchError> {
        match name.parse() {
            Err(ArchError::Unknown { .. }) => Ok(Self::UNIVERSAL),
            other => other,
        }
    }

    /// What the table says about it.
    pub fn info(self) -> &'static ArchInfo {
        ArchTable::builtin().get(self).expect("an Arch is only made from the built-in table")
    }

    /// The architectures whose documented costs it falls back on, nearest first.
    pub fn inherits(self) -> Vec<Self> {
        std::iter::successors(self.info().parent, |arch| arch.info().parent).collect()
    }

    /// Whether it belongs to the generation the document calls sm_10x: built from an sm_100 or sm_103 layer. sm_110 does,
    /// being the newer number of sm_101.
    pub fn is_sm_10x(self) -> bool {
        let mut layers = self.info().layers.iter();
        layers.any(|layer| layer.name.starts_with("sm_10"))
    }

    /// The name's form alone, whether or not a table has it.
    fn parse_form(name: &str) -> Result<Self, ArchError> {
        let malformed = || ArchError::Malformed(name.chars().take(40).collect());
        let lower = name.trim().to_ascii_lowercase();
        if lower == "universal" {
            return Ok(Self::UNIVERSAL);
        }
        let rest =
            lower.strip_prefix("sm").map_or(lower.as_str(), |rest| rest.strip_prefix('_').unwrap_or(rest));
        let (digits, suffix) = match rest.as_bytes().last() {
            Some(b'a') => (&rest[..rest.len() - 1], Suffix::A),
            Some(b'f') => (&rest[..rest.len() - 1], Suffix::F),
            _ => (rest, Suffix::None),
        };
        if digits.is_empty() || digits.starts_with('0') || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(malformed());
        }
        Ok(Self { number: digits.parse().map_err(|_| malformed())?, suffix })
    }
}

impl FromStr for Arch {
    type Err = ArchError;

    fn from_str(name: &str) -> Result<Self, ArchError> {
        let arch = Self::parse_form(name)?;
        if ArchTable::builtin().get(arch).is_some() {
            return Ok(arch);
        }
        let known = Self::all().map(|arch| arch.to_string()).collect::<Vec<_>>().join(", ");
        Err(ArchError::Unknown { name: arch.to_string(), known })
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.suffix {
            Suffix::None => "",
            Suffix::A => "a",
            Suffix::F => "f",
        };
        match self.number() {
            Some(number) => write!(f, "sm_{number}{letter}"),
            None => f.write_str("universal"),
        }
    }
}

impl Serialize for Arch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// How instructions and control fields sit in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InstructionEncoding {
    /// 64-bit instructions, one 64-bit control word before each group of three (sm_50 to sm_62).
    Grouped64,
    /// 128-bit instructions, each with its own control field (from sm_70).
    Single128,
    /// Not known (the fallback).
    Unknown,
}

/// How many registers an instruction can name, zero and true registers not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RegisterFile {
    /// General registers.
    pub general: u16,
    /// Predicates.
    pub predicates: u16,
    /// Uniform registers; `None` where there are none (before sm_73) or nothing is known (the fallback).
    pub uniform: Option<u16>,
    /// Uniform predicates, likewise.
    pub uniform_predicates: Option<u16>,
}

/// One table of the dispatch list; an architecture is built from one or more of them.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// Name, e.g. `sm_100_short`.
    #[serde(deserialize_with = "table::text")]
    pub name: String,
    /// The dispatch key as printed, e.g. `sm_100 (short)`.
    pub dispatch: String,
    /// The architecture as printed.
    pub architecture: String,
    /// The size as printed; kilobytes are rounded.
    pub size: String,
    /// The exact size, where printed in bytes.
    #[serde(deserialize_with = "table::number_opt")]
    pub bytes: Option<u32>,
    /// What the layer adds.
    pub note: String,
    /// Where this row comes from.
    #[serde(deserialize_with = "table::text")]
    pub source: String,
}

/// Everything the table says about one architecture. A `*_inferred` reason marks what no source states.
#[derive(Debug, Clone)]
pub struct ArchInfo {
    /// Which one.
    pub arch: Arch,
    /// Family, e.g. `Hopper`.
    pub family: String,
    /// What it was sold as.
    pub era: String,
    /// The layers of its latency tables, base first.
    pub layers: Vec<&'static Layer>,
    /// Why the layers are what they are, when the dispatch list does not say.
    pub layers_inferred: Option<String>,
    /// Where documented costs come from; `None` when the document prints a column for it.
    pub parent: Option<Arch>,
    /// Why that parent.
    pub parent_inferred: Option<String>,
    /// Where measured cycles come from when it has no rows of its own.
    pub measured_parent: Option<Arch>,
    /// Why that parent, or why there is none.
    pub measured_reason: Option<String>,
    /// Instruction encoding.
    pub encoding: InstructionEncoding,
    /// Whether the dual-issue gate is open (sm_50 and sm_52 only).
    pub dual_issue: bool,
    /// Register counts.
    pub registers: RegisterFile,
    /// Key of its row among the warp profiles; `None` for the fallback.
    pub warp_era: Option<String>,
    /// Internal SM id, where printed.
    pub sm_id: Option<u32>,
    /// Why that row and id, when not printed for exactly this architecture.
    pub warp_inferred: Option<String>,
    /// Assembler releases that take it as a target.
    pub assemblers: Vec<String>,
    /// Where this row comes from.
    pub source: String,
}

impl ArchInfo {
    /// Whether anything about its tables is inferred rather than stated.
    pub fn is_inferred(&self) -> bool {
        self.layers_inferred.is_some() || self.parent_inferred.is_some()
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawArch {
    #[serde(deserialize_with = "table::text")]
    arch: String,
    #[serde(deserialize_with = "table::parse_list")]
    suffixes: Vec<String>,
    #[serde(deserialize_with = "table::text")]
    family: String,
    era: String,
    #[serde(deserialize_with = "table::parse_list")]
    layers: Vec<String>,
    #[serde(deserialize_with = "table::text_opt")]
    layers_reason: Option<String>,
    #[serde(deserialize_with = "table::text_opt")]
    parent: Option<String>,
    #[serde(deserialize_with = "table::text_opt")]
    parent_reason: Option<String>,
    #[serde(deserialize_with = "table::text_opt")]
    measured_parent: Option<String>,
    #[serde(deserialize_with = "table::text_opt")]
    measured_reason: Option<String>,
    encoding: InstructionEncoding,
    #[serde(deserialize_with = "table::yes_no")]
    dual_issue: bool,
    #[serde(deserialize_with = "table::number")]
    gpr: u16,
    #[serde(deserialize_with = "table::number_opt")]
    uniform: Option<u16>,
    #[serde(deserialize_with = "table::number")]
    predicates: u16,
    #[serde(deserialize_with = "table::number_opt")]
    uniform_predicates: Option<u16>,
    #[serde(deserialize_with = "table::text_opt")]
    warp_era: Option<String>,
    #[serde(deserialize_with = "table::number_opt")]
    sm_id: Option<u32>,
    #[serde(deserialize_with = "table::text_opt")]
    warp_reason: Option<String>,
    #[serde(deserialize_with = "table::parse_list")]
    assembler: Vec<String>,
    #[serde(deserialize_with = "table::text")]
    source: String,
}

/// The most rows a table may have.
const MAX_ROWS: usize = 1024;

/// The architectures of one table.
#[derive(Debug, Clone)]
pub struct ArchTable {
    infos: Vec<ArchInfo>,
    index: HashMap<Arch, usize>,
}

static LAYERS: LazyLock<Vec<Layer>> = table::embedded!("layers", Layer, |layer| layer.name.clone());

static BUILTIN: LazyLock<ArchTable> = LazyLock::new(|| {
    ArchTable::parse(include_str!("../data/architectures.csv")).expect("checked by the tests")
});

impl ArchTable {
    /// The built-in table.
    pub fn builtin() -> &'static Self {
        &BUILTIN
    }

    /// The layers of the dispatch list, in its order.
    pub fn layers() -> &'static [Layer] {
        &LAYERS
    }

    /// Every architecture, in table order.
    pub fn infos(&self) -> &[ArchInfo] {
        &self.infos
    }

    /// One architecture.
    pub fn get(&self, arch: Arch) -> Option<&ArchInfo> {
        self.index.get(&arch).map(|&at| &self.infos[at])
    }

    /// Reads a table: unknown layers, dangling parents, cycles and duplicates are errors.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let rows = table::rows::<RawArch>("architectures", text)?;
        // Chains are walked from every row: far beyond any real table this would grow with the square.
        if rows.len() > MAX_ROWS {
            return Err(TableError::new("architectures", 0, format!("more than {MAX_ROWS} rows")));
        }
        let mut this = Self { infos: Vec::new(), index: HashMap::new() };
        let mut lines = Vec::new();
        for row in &rows {
            for info in expand(row)? {
                if this.index.insert(info.arch, this.infos.len()).is_some() {
                    return Err(row.error(format!("duplicate key {}", info.arch)));
                }
                this.infos.push(info);
                lines.push(row.line);
            }
        }
        for (info, &line) in this.infos.iter().zip(&lines) {
            this.check_chain(info, |info| info.parent, line)?;
            this.check_chain(info, |info| info.measured_parent, line)?;
        }
        Ok(this)
    }

    fn check_chain(
        &self,
        start: &ArchInfo,
        next: impl Fn(&ArchInfo) -> Option<Arch>,
        line: u64,
    ) -> Result<(), TableError> {
        let mut info = start;
        for _ in 0..=self.infos.len() {
            let Some(parent) = next(info) else {
                return Ok(());
            };
            info = self.get(parent).ok_or_else(|| {
                TableError::new("architectures", line, format!("{} inherits unknown {parent}", info.arch))
            })?;
        }
        Err(TableError::new("architectures", line, format!("{} inherits from itself", start.arch)))
    }
}

/// One row gives its own architecture and one more per suffix letter, which inherits from it.
fn expand(row: &Row<RawArch>) -> Result<Vec<ArchInfo>, TableError> {
    let raw = &row.value;
    let arch = |name: &str| Arch::parse_form(name).map_err(|e| row.error(e));
    let parent = |name: &Option<String>| name.as_deref().map(arch).transpose();
    let base = ArchInfo {
        arch: arch(&raw.arch)?,
        family: raw.family.clone(),
        era: raw.era.clone(),
        layers: raw
            .layers
            .iter()
            .map(|name| {
                LAYERS
                    .iter()
                    .find(|layer| layer.name == *name)
                    .ok_or_else(|| row.error(format!("unknown layer `{name}`")))
            })
            .collect::<Result<_, _>>()?,
        layers_inferred: raw.layers_reason.clone(),
        parent: parent(&raw.parent)?,
        parent_inferred: raw.parent_reason.clone(),
        measured_parent: parent(&raw.measured_parent)?,
        measured_reason: raw.measured_reason.clone(),
        encoding: raw.encoding,
        dual_issue: raw.dual_issue,
        registers: RegisterFile {
            general: raw.gpr,
            predicates: raw.predicates,
            uniform: raw.uniform,
            uniform_predicates: raw.uniform_predicates,
        },
        warp_era: raw.warp_era.clone(),
        sm_id: raw.sm_id,
        warp_inferred: raw.warp_reason.clone(),
        assemblers: raw.assembler.clone(),
        source: raw.source.clone(),
    };
    if base.layers.is_empty() {
        return Err(row.error("no layer: an architecture needs at least one"));
    }
    if raw.suffixes.len() > 2 {
        return Err(row.error("more suffixes than there are letters"));
    }
    let mut out = Vec::with_capacity(1 + raw.suffixes.len());
    for letter in &raw.suffixes {
        let variant = arch(&format!("{}{letter}", raw.arch))?;
        if variant.suffix == Suffix::None {
            return Err(row.error(format!("`{letter}` is no suffix letter")));
        }
        let reason =
            Some(format!("feature variant of {}: the document has no table of its own for it", base.arch));
        out.push(ArchInfo {
            arch: variant,
            layers_inferred: reason.clone(),
            parent: Some(base.arch),
            parent_inferred: reason.clone(),
            measured_parent: Some(base.arch),
            measured_reason: reason,
            ..base.clone()
        });
    }
    out.insert(0, base);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_in_the_table() {
        for arch in Arch::NAMED.iter().copied().chain([Arch::UNIVERSAL]) {
            assert_eq!(arch.info().arch, arch);
            assert_eq!(arch.to_string().parse(), Ok(arch));
        }
    }
}
