//! Goal: from an opcode and the facts about one instruction to its scheduling class.
//!
//! Source: latency-model document, opcode-to-class mapping (seven tables). Opcode numbers clash between tables of the
//! document, so an entry is known by (table, mnemonic, number) and looked up by name.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::names::names;
use crate::table::{self, Row};
use crate::{
    ClassId, Condition, Conditions, LatencyIndex, OriOpcode, PipeFlags, PipeMask, SubClass, TableError, Unit,
};

names! {
    /// One of the seven opcode tables.
    OpcodeGroup {
        /// Integer ALU.
        Integer = "int",
        /// FP32, half precision and miscellaneous.
        Fp32 = "fp32",
        /// FP64.
        Fp64 = "fp64",
        /// Loads and stores.
        Memory = "mem",
        /// Control flow.
        Control = "control",
        /// Tensor core.
        Tensor = "tensor",
        /// Collective and bulk operations.
        Collective = "collective",
    }
}

/// One row of the opcode tables with everything its notes add.
#[derive(Debug, Clone)]
pub struct OpcodeEntry {
    /// Which table.
    pub group: OpcodeGroup,
    /// Opcode number in that table.
    pub ori: OriOpcode,
    /// Mnemonic as printed, e.g. `LD (generic)`.
    pub mnemonic: String,
    /// The unit printed over the table or in the note; `None` for collectives, where none is.
    pub unit: Option<Unit>,
    /// The class column as printed.
    pub printed_class: String,
    /// The wide-class column as printed.
    pub printed_wide_class: String,
    /// The latency-index column as printed.
    pub printed_index: String,
    /// First SM number that has it, where the document names one.
    pub since: Option<u16>,
    /// Instruction names it answers to.
    pub names: Vec<String>,
    /// The note, condensed.
    pub note: String,
    /// The classes it can take, in table order.
    pub variants: Vec<Variant>,
    /// Opcodes that share its case.
    pub aliases: Vec<Alias>,
    /// Where this row comes from.
    pub source: String,
}

/// A class an opcode takes under a condition.
#[derive(Debug, Clone, Serialize)]
pub struct Variant {
    /// When.
    pub condition: Condition,
    /// Which class; `None` for the dynamic cost model.
    pub class: Option<ClassId>,
    /// Printed latency index, where it differs from the class.
    pub latency_index: Option<LatencyIndex>,
    /// Printed pipe mask.
    pub pipe_mask: Option<PipeMask>,
    /// Printed sub-class.
    pub sub_class: Option<SubClass>,
    /// Printed pipe flags.
    pub pipe_flags: Option<PipeFlags>,
    /// What the document leaves open.
    pub note: String,
}

/// An opcode that shares another one's case.
#[derive(Debug, Clone, Serialize)]
pub struct Alias {
    /// Number, where printed.
    pub ori: Option<OriOpcode>,
    /// Name, where printed.
    pub name: Option<String>,
    /// How the note puts it: grouped with, also, same class as.
    pub relation: String,
}

/// The outcome of classification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClassRef {
    /// A class of the tables.
    Class(ClassChoice),
    /// No fixed class: the dynamic cost model decides.
    Dynamic,
}

impl ClassRef {
    /// The class, unless dynamic.
    pub fn class(self) -> Option<ClassId> {
        match self {
            Self::Class(choice) => Some(choice.class),
            Self::Dynamic => None,
        }
    }

    /// The index, unless dynamic or not encodable.
    pub fn latency_index(self) -> Option<LatencyIndex> {
        match self {
            Self::Class(choice) => choice.latency_index,
            Self::Dynamic => None,
        }
    }
}

/// A class and what the same case writes into the descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClassChoice {
    /// The class.
    pub class: ClassId,
    /// The printed override, else the class itself; `None` when nine bits cannot hold the class and no override is
    /// printed.
    pub latency_index: Option<LatencyIndex>,
    /// Pipe mask, where the case sets one.
    pub pipe_mask: Option<PipeMask>,
    /// Sub-class, where the case sets one.
    pub sub_class: Option<SubClass>,
    /// Pipe flags, where the case sets them.
    pub pipe_flags: Option<PipeFlags>,
}

impl Variant {
    /// What choosing this variant means.
    pub fn class_ref(&self) -> ClassRef {
        match self.class {
            Some(class) if class != ClassId::DYNAMIC => ClassRef::Class(ClassChoice {
                class,
                latency_index: self.latency_index.or_else(|| class.natural_index()),
                pipe_mask: self.pipe_mask,
                sub_class: self.sub_class,
                pipe_flags: self.pipe_flags,
            }),
            _ => ClassRef::Dynamic,
        }
    }
}

impl OpcodeEntry {
    /// The variant that applies: the most specific condition that holds, the earlier row among equals.
    pub fn select(&self, facts: &Conditions) -> Option<&Variant> {
        let holding = self.variants.iter().filter(|variant| variant.condition.holds(facts));
        // `max_by_key` keeps the last of equals, so walk backwards.
        holding.rev().max_by_key(|variant| variant.condition.specificity())
    }

    /// The class under the document's default facts.
    pub fn default_class(&self) -> ClassRef {
        resolve_class(self, &Conditions::default())
    }
}

/// The class of an opcode under the given facts; dynamic when no variant applies.
pub fn resolve_class(entry: &OpcodeEntry, facts: &Conditions) -> ClassRef {
    entry.select(facts).map_or(ClassRef::Dynamic, Variant::class_ref)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawOpcode {
    #[serde(deserialize_with = "table::parse")]
    table: OpcodeGroup,
    #[serde(deserialize_with = "table::parse")]
    ori: OriOpcode,
    #[serde(deserialize_with = "table::hex")]
    hex: u16,
    #[serde(deserialize_with = "table::text")]
    mnemonic: String,
    #[serde(deserialize_with = "table::number_opt")]
    pipe: Option<usize>,
    #[serde(deserialize_with = "table::text")]
    class: String,
    wide_class: String,
    latency_index: String,
    #[serde(deserialize_with = "table::number_opt")]
    since: Option<u16>,
    #[serde(deserialize_with = "table::parse_list")]
    names: Vec<String>,
    note: String,
    #[serde(deserialize_with = "table::text")]
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawVariant {
    #[serde(deserialize_with = "table::parse")]
    table: OpcodeGroup,
    #[serde(deserialize_with = "table::text")]
    mnemonic: String,
    #[serde(deserialize_with = "table::parse")]
    ori: OriOpcode,
    #[serde(deserialize_with = "table::parse")]
    condition: Condition,
    #[serde(deserialize_with = "table::text")]
    class: String,
    #[serde(deserialize_with = "table::parse_opt")]
    latency_index: Option<LatencyIndex>,
    #[serde(deserialize_with = "table::parse_opt")]
    pipe_mask: Option<PipeMask>,
    #[serde(deserialize_with = "table::parse_opt")]
    sub_class: Option<SubClass>,
    #[serde(deserialize_with = "table::parse_opt")]
    pipe_flags: Option<PipeFlags>,
    note: String,
    #[serde(rename = "source", deserialize_with = "table::text")]
    _source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAlias {
    #[serde(deserialize_with = "table::parse")]
    table: OpcodeGroup,
    #[serde(deserialize_with = "table::text")]
    mnemonic: String,
    #[serde(deserialize_with = "table::parse")]
    ori: OriOpcode,
    #[serde(deserialize_with = "table::parse_opt")]
    alias_ori: Option<OriOpcode>,
    #[serde(deserialize_with = "table::text_opt")]
    alias: Option<String>,
    #[serde(deserialize_with = "table::text")]
    relation: String,
    #[serde(rename = "source", deserialize_with = "table::text")]
    _source: String,
}

type Key = (OpcodeGroup, String, OriOpcode);

/// The opcode tables: rows, variants and aliases joined.
#[derive(Debug, Clone)]
pub struct OpcodeTable {
    entries: Vec<OpcodeEntry>,
}

impl OpcodeTable {
    /// The document's tables.
    pub fn documented() -> &'static Self {
        &DOCUMENTED
    }

    /// Every entry, in the document's order.
    pub fn entries(&self) -> &[OpcodeEntry] {
        &self.entries
    }

    /// Entries that answer to an instruction name, in table order.
    pub fn named<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a OpcodeEntry> {
        self.entries
            .iter()
            .filter(move |entry| entry.mnemonic == name || entry.names.iter().any(|n| n == name))
    }

    /// Reads the three tables. Rejected: a hexadecimal column that disagrees, duplicate keys, variants or aliases of no
    /// entry, an entry no variant of which holds by default, a printed class or index that no variant carries.
    pub fn parse(opcodes: &str, variants: &str, aliases: &str) -> Result<Self, TableError> {
        let rows = table::rows::<RawOpcode>("opcodes", opcodes)?;
        let mut entries = Vec::with_capacity(rows.len());
        let mut index: HashMap<Key, usize> = HashMap::new();
        let mut numbers = std::collections::HashSet::new();
        for row in &rows {
            let entry = entry(row)?;
            let key = (entry.group, entry.mnemonic.clone(), entry.ori);
            if !numbers.insert((entry.group, entry.ori)) {
                return Err(row.error(format!("duplicate key {} {}", entry.group, entry.ori)));
            }
            index.insert(key, entries.len());
            entries.push(entry);
        }
        let unknown = |mnemonic: &str, ori| format!("no opcode {mnemonic} {ori} in that table");
        for row in table::rows::<RawVariant>("opcode_variants", variants)? {
            let key = (row.value.table, row.value.mnemonic.clone(), row.value.ori);
            let at =
                *index.get(&key).ok_or_else(|| row.error(unknown(&row.value.mnemonic, row.value.ori)))?;
            add_variant(&mut entries[at], row)?;
        }
        for row in table::rows::<RawAlias>("opcode_aliases", aliases)? {
            let key = (row.value.table, row.value.mnemonic.clone(), row.value.ori);
            let at =
                *index.get(&key).ok_or_else(|| row.error(unknown(&row.value.mnemonic, row.value.ori)))?;
            if row.value.alias_ori.is_none() && row.value.alias.is_none() {
                return Err(row.error("an alias needs a number or a name"));
            }
            let RawAlias { alias_ori: ori, alias: name, relation, .. } = row.value;
            entries[at].aliases.push(Alias { ori, name, relation });
        }
        for (entry, row) in entries.iter().zip(&rows) {
            check_printed(entry).map_err(|message| row.error(message))?;
        }
        Ok(Self { entries })
    }
}

fn entry(row: &Row<RawOpcode>) -> Result<OpcodeEntry, TableError> {
    let raw = &row.value;
    if raw.hex != raw.ori.get() {
        return Err(row.error(format!("hexadecimal {:#x} is not {}", raw.hex, raw.ori)));
    }
    let unit = match raw.pipe {
        Some(pipe) => Some(Unit::from_index(pipe).ok_or_else(|| row.error(format!("no unit {pipe}")))?),
        None => None,
    };
    Ok(OpcodeEntry {
        group: raw.table,
        ori: raw.ori,
        mnemonic: raw.mnemonic.clone(),
        unit,
        printed_class: raw.class.clone(),
        printed_wide_class: raw.wide_class.clone(),
        printed_index: raw.latency_index.clone(),
        since: raw.since,
        names: raw.names.clone(),
        note: raw.note.clone(),
        variants: Vec::new(),
        aliases: Vec::new(),
        source: raw.source.clone(),
    })
}

fn add_variant(entry: &mut OpcodeEntry, row: Row<RawVariant>) -> Result<(), TableError> {
    if entry.variants.iter().any(|other| other.condition == row.value.condition) {
        return Err(row.error(format!("duplicate key {} {}", entry.mnemonic, row.value.condition)));
    }
    let class = match row.value.class.as_str() {
        "dynamic" => None,
        number => Some(number.parse().map_err(|e| row.error(e))?),
    };
    let RawVariant { condition, latency_index, pipe_mask, sub_class, pipe_flags, note, .. } = row.value;
    entry.variants.push(Variant { condition, class, latency_index, pipe_mask, sub_class, pipe_flags, note });
    Ok(())
}

/// Every class and index the entry's printed columns name must be among its variants.
fn check_printed(entry: &OpcodeEntry) -> Result<(), String> {
    if entry.select(&Conditions::default()).is_none() {
        return Err(format!("{} has no class by default", entry.mnemonic));
    }
    for printed in entry.printed_class.split('/').chain(entry.printed_wide_class.split('/')) {
        if printed.is_empty() {
            continue;
        }
        if printed == "(default)" {
            if entry.variants.iter().all(|variant| variant.class.is_some()) {
                return Err(format!("{} is printed as default but never dynamic", entry.mnemonic));
            }
            continue;
        }
        let (lo, hi) = printed.split_once('-').unwrap_or((printed, printed));
        let class = |text: &str| text.parse::<ClassId>().map_err(|e| e.to_string());
        for number in class(lo)?.get()..=class(hi)?.get() {
            if !entry.variants.iter().any(|variant| variant.class.map(ClassId::get) == Some(number)) {
                return Err(format!(
                    "{} is printed with class {number} but no variant has it",
                    entry.mnemonic
                ));
            }
        }
    }
    for printed in entry.printed_index.split('/').filter(|printed| !printed.is_empty()) {
        let index: LatencyIndex = printed.parse().map_err(|e: crate::IdError| e.to_string())?;
        if !entry.variants.iter().any(|variant| variant.latency_index == Some(index)) {
            return Err(format!("{} is printed with index {printed} but no variant has it", entry.mnemonic));
        }
    }
    Ok(())
}

static DOCUMENTED: LazyLock<OpcodeTable> = LazyLock::new(|| {
    OpcodeTable::parse(
        include_str!("../data/opcodes.csv"),
        include_str!("../data/opcode_variants.csv"),
        include_str!("../data/opcode_aliases.csv"),
    )
    .expect("embedded tables, checked by the tests")
});

/// Every entry of the document's opcode tables.
pub fn opcodes() -> &'static [OpcodeEntry] {
    DOCUMENTED.entries()
}
