//! Goal: what a scheduling class costs on an architecture, as documented.
//!
//! Source: latency-model document, latency index encoding (common classes; tensor and collective operations). Columns
//! exist for sm_80, sm_90 and sm_100; every other architecture inherits one and the result says which. Costs are
//! [`Cost`]s, never cycles. Classes that only the opcode tables mention are present without numbers.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::names::names;
use crate::table::{self, Row};
use crate::{Arch, ClassId, Cost, LatencyIndex, OpcodeTable, Pipe, Span, TableError, Unit};

names! {
    /// Which part of the document a class comes from.
    ClassOrigin {
        /// The table of common classes.
        Common = "common",
        /// The table of tensor and collective operations.
        Tensor = "tensor",
        /// An opcode table only: no cost is printed.
        OpcodeOnly = "opcode-only",
    }
}

/// One scheduling class.
#[derive(Debug, Clone)]
pub struct ClassEntry {
    /// Its number.
    pub id: ClassId,
    /// First and last class of the printed row it belongs to.
    pub printed_row: (ClassId, ClassId),
    /// Which table.
    pub origin: ClassOrigin,
    /// The pipe column, where there is one.
    pub pipe: Option<Pipe>,
    /// The counted unit: of the pipe, else of the opcode table it appears in.
    pub unit: Option<Unit>,
    /// What the class is for.
    pub description: String,
    /// Index into the latency table: printed, else the class where nine bits hold it.
    pub latency_index: Option<LatencyIndex>,
    /// Other readings of the same row.
    pub note: Option<String>,
    /// Why a number is missing.
    pub reason: Option<String>,
    /// Where this row comes from.
    pub source: String,
    columns: [Column; 3],
}

#[derive(Debug, Clone, Copy, Default)]
struct Column {
    latency: Option<Span>,
    throughput_inv: Option<Span>,
}

/// The printed columns, in order.
const COLUMNS: [Arch; 3] = [Arch::SM_80, Arch::SM_90, Arch::SM_100];

/// A class's documented costs on one architecture.
#[derive(Debug, Clone, Copy)]
pub struct ClassCosts<'a> {
    /// The architecture asked for.
    pub arch: Arch,
    /// The column the numbers stand in, when that is another architecture's.
    pub inherited_from: Option<Arch>,
    /// Why that column was taken, when no source says so.
    pub inferred: Option<&'a str>,
    /// Scheduling cost from result to use.
    pub latency: Option<Cost>,
    /// Smallest interval between two of the class, in the same model units.
    pub throughput_inv: Option<Cost>,
    /// Why a number is missing.
    pub reason: Option<&'a str>,
}

impl ClassEntry {
    /// The costs on an architecture.
    pub fn costs(&self, arch: Arch) -> ClassCosts<'_> {
        let (at, column) = std::iter::once(arch)
            .chain(arch.inherits())
            .find_map(|arch| Some((COLUMNS.iter().position(|&column| column == arch)?, arch)))
            .expect("every architecture inherits a printed column, checked by the tests");
        let Column { latency, throughput_inv } = self.columns[at];
        let missing = latency.is_none() || throughput_inv.is_none();
        ClassCosts {
            arch,
            inherited_from: (column != arch).then_some(column),
            inferred: if column == arch { None } else { arch.info().parent_inferred.as_deref() },
            latency: latency.map(Cost),
            throughput_inv: throughput_inv.map(Cost),
            reason: if missing { self.reason.as_deref() } else { None },
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawClass {
    #[serde(deserialize_with = "table::parse")]
    table: ClassOrigin,
    #[serde(deserialize_with = "table::parse")]
    class: ClassSpan,
    #[serde(deserialize_with = "table::parse_opt")]
    pipe: Option<Pipe>,
    #[serde(deserialize_with = "table::text")]
    description: String,
    #[serde(deserialize_with = "table::parse_opt")]
    latency_sm_80: Option<Span>,
    #[serde(deserialize_with = "table::parse_opt")]
    latency_sm_90: Option<Span>,
    #[serde(deserialize_with = "table::parse_opt")]
    latency_sm_100: Option<Span>,
    #[serde(deserialize_with = "table::parse_opt")]
    throughput_inv_sm_80: Option<Span>,
    #[serde(deserialize_with = "table::parse_opt")]
    throughput_inv_sm_90: Option<Span>,
    #[serde(deserialize_with = "table::parse_opt")]
    throughput_inv_sm_100: Option<Span>,
    #[serde(deserialize_with = "table::parse_opt")]
    latency_index: Option<LatencyIndex>,
    #[serde(deserialize_with = "table::text_opt")]
    note: Option<String>,
    #[serde(deserialize_with = "table::text_opt")]
    reason: Option<String>,
    #[serde(deserialize_with = "table::text")]
    source: String,
}

impl RawClass {
    fn columns(&self) -> [Column; 3] {
        let column = |latency, throughput_inv| Column { latency, throughput_inv };
        [
            column(self.latency_sm_80, self.throughput_inv_sm_80),
            column(self.latency_sm_90, self.throughput_inv_sm_90),
            column(self.latency_sm_100, self.throughput_inv_sm_100),
        ]
    }
}

/// One class or an inclusive range of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClassSpan {
    pub first: ClassId,
    pub last: ClassId,
}

impl ClassSpan {
    pub fn iter(self) -> impl Iterator<Item = ClassId> {
        (self.first.get()..=self.last.get()).filter_map(ClassId::new)
    }
}

impl FromStr for ClassSpan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let class = |text: &str| text.parse::<ClassId>().map_err(|e| e.to_string());
        let (first, last) = (class(first)?, class(last)?);
        if first <= last { Ok(Self { first, last }) } else { Err("range runs backwards".to_owned()) }
    }
}

/// Classes by number.
#[derive(Debug, Clone)]
pub struct ClassTable {
    classes: BTreeMap<ClassId, ClassEntry>,
}

impl ClassTable {
    /// The document's classes, those of the opcode tables included.
    pub fn documented() -> &'static Self {
        &DOCUMENTED
    }

    /// Every class, by number.
    pub fn iter(&self) -> impl Iterator<Item = &ClassEntry> {
        self.classes.values()
    }

    /// One class.
    pub fn get(&self, class: ClassId) -> Option<&ClassEntry> {
        self.classes.get(&class)
    }

    /// Reads a cost table. Rejected: a class in two rows, a missing number without a reason, a row that claims the
    /// opcode tables as origin.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let mut classes = BTreeMap::new();
        for row in table::rows::<RawClass>("classes_documented", text)? {
            check(&row)?;
            for id in row.value.class.iter() {
                if classes.insert(id, entry(&row.value, id)).is_some() {
                    return Err(row.error(format!("duplicate key {id}")));
                }
            }
        }
        Ok(Self { classes })
    }

    /// Adds what the opcode tables know and the cost table does not: further classes, and units.
    fn add_opcode_only(&mut self, opcodes: &OpcodeTable) {
        for opcode in opcodes.entries() {
            for variant in &opcode.variants {
                let Some(id) = variant.class else { continue };
                let class = self.classes.entry(id).or_insert_with(|| ClassEntry {
                    id,
                    printed_row: (id, id),
                    origin: ClassOrigin::OpcodeOnly,
                    pipe: None,
                    unit: None,
                    description: format!("class of {} in the opcode tables", opcode.mnemonic),
                    latency_index: variant.latency_index.or_else(|| id.natural_index()),
                    note: None,
                    reason: Some("the document prints no cost for this class".to_owned()),
                    source: opcode.source.clone(),
                    columns: [Column::default(); 3],
                });
                // A printed pipe that is no counted unit (the extended one) stays without.
                if class.pipe.is_none() && class.unit.is_none() {
                    class.unit = opcode.unit;
                }
            }
        }
        let id = ClassId::DYNAMIC;
        self.classes.entry(id).or_insert_with(|| ClassEntry {
            id,
            printed_row: (id, id),
            origin: ClassOrigin::OpcodeOnly,
            pipe: None,
            unit: None,
            description: "sentinel: the dynamic cost model decides".to_owned(),
            latency_index: None,
            note: None,
            reason: Some("sentinel: no cost of its own".to_owned()),
            source: "latency-model: opcode-to-class mapping".to_owned(),
            columns: [Column::default(); 3],
        });
    }
}

fn check(row: &Row<RawClass>) -> Result<(), TableError> {
    let raw = &row.value;
    if raw.table == ClassOrigin::OpcodeOnly {
        return Err(row.error("opcode-only classes are derived, not listed"));
    }
    let complete = raw.columns().iter().all(|c| c.latency.is_some() && c.throughput_inv.is_some());
    if !complete && raw.reason.is_none() {
        return Err(row.error("a number is missing without a reason"));
    }
    Ok(())
}

fn entry(raw: &RawClass, id: ClassId) -> ClassEntry {
    ClassEntry {
        id,
        printed_row: (raw.class.first, raw.class.last),
        origin: raw.table,
        pipe: raw.pipe,
        unit: raw.pipe.and_then(Pipe::unit),
        description: raw.description.clone(),
        latency_index: raw.latency_index.or_else(|| id.natural_index()),
        note: raw.note.clone(),
        reason: raw.reason.clone(),
        source: raw.source.clone(),
        columns: raw.columns(),
    }
}

static DOCUMENTED: LazyLock<ClassTable> = LazyLock::new(|| {
    let mut table = ClassTable::parse(include_str!("../data/classes_documented.csv"))
        .expect("embedded table, checked by the tests");
    table.add_opcode_only(OpcodeTable::documented());
    table
});

/// The documented costs of a class on an architecture; `None` when no table mentions the class.
pub fn class_costs(arch: Arch, class: ClassId) -> Option<ClassCosts<'static>> {
    ClassTable::documented().get(class).map(|entry| entry.costs(arch))
}
