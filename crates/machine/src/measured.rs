//! Goal: how many cycles apart two instructions must issue, as measured.
//!
//! Source: published latency tables, distances mined from compiled code, device measurements; each row says which. These are
//! [`Cycles`] and share nothing with the documented scheduling costs.
//!
//! A lookup walks from the architecture through its measured parents to the rows of every architecture and stops at the
//! first that answers. There the most specific row wins, then the stronger evidence (device, mined, published), then the
//! longer time. Fallback is never silent: [`Measured::inherited_from`] names it.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::table;
use crate::{
    Arch, Category, Consumer, Cycles, Evidence, Guard, Hazard, Lane, RegisterKind, Role, Span, TableError,
};

/// One measured number, and what it holds for. An absent field matches anything.
#[derive(Debug, Clone, Serialize)]
pub struct MeasuredRow {
    /// The architecture; `None` for a row that holds on every one.
    pub arch: Option<Arch>,
    /// Category of the producer.
    pub producer: Category,
    /// Only this producer.
    pub producer_mnemonic: Option<String>,
    /// Only this half of the result.
    pub lane: Option<Lane>,
    /// Consumers.
    pub consumer: Consumer,
    /// Only this consumer.
    pub consumer_mnemonic: Option<String>,
    /// Only this use.
    pub role: Option<Role>,
    /// The hazard.
    pub hazard: Hazard,
    /// Only this register file.
    pub register: Option<RegisterKind>,
    /// The distance.
    pub cycles: Option<Cycles>,
    /// How compiled code guards it.
    pub guard: Option<Guard>,
    /// Where the number comes from.
    #[serde(rename = "source")]
    pub evidence: Evidence,
    /// What the number leaves open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Why there is no number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// One question to the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MeasuredQuery<'a> {
    /// Category of the producer.
    pub producer: Category,
    /// Its mnemonic with modifiers, to reach rows for it alone.
    pub producer_mnemonic: Option<&'a str>,
    /// The half of the result; `None` gets the slower one.
    pub lane: Option<Lane>,
    /// Category of the consumer.
    pub consumer: Category,
    /// Its mnemonic with modifiers.
    pub consumer_mnemonic: Option<&'a str>,
    /// How the consumer uses the register.
    pub role: Role,
    /// The hazard.
    pub hazard: Hazard,
    /// The register file.
    pub register: RegisterKind,
}

impl<'a> MeasuredQuery<'a> {
    /// A question about categories: an ordinary operand in a general register (uniform where the producer is).
    pub fn new(hazard: Hazard, producer: Category, consumer: Category) -> Self {
        let uniform = producer.is_uniform() || producer == Category::ToUniform;
        Self {
            producer,
            producer_mnemonic: None,
            lane: None,
            consumer,
            consumer_mnemonic: None,
            role: Role::Operand,
            hazard,
            register: if uniform { RegisterKind::Uniform } else { RegisterKind::General },
        }
    }

    /// A question about two instructions by name; `None` when a category is unknown.
    pub fn between(hazard: Hazard, producer: &'a str, consumer: &'a str) -> Option<Self> {
        Some(Self {
            producer_mnemonic: Some(producer),
            consumer_mnemonic: Some(consumer),
            ..Self::new(hazard, Category::of(producer)?, Category::of(consumer)?)
        })
    }
}

/// Whether an instruction's dotted mnemonic starts with a row's.
fn is_form_of(mnemonic: Option<&str>, row: &str) -> bool {
    let rest = mnemonic.and_then(|mnemonic| mnemonic.strip_prefix(row));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

impl MeasuredRow {
    fn matches(&self, query: &MeasuredQuery<'_>) -> bool {
        let named = |row: &Option<String>, asked| row.as_deref().is_none_or(|row| is_form_of(asked, row));
        self.producer == query.producer
            && self.hazard == query.hazard
            && self.consumer.accepts(query.consumer)
            && named(&self.producer_mnemonic, query.producer_mnemonic)
            && named(&self.consumer_mnemonic, query.consumer_mnemonic)
            && (self.lane.is_none() || query.lane.is_none() || self.lane == query.lane)
            && self.role.is_none_or(|role| role == query.role)
            && self.register.is_none_or(|register| register == query.register)
    }

    /// Names count more than categories, categories more than sets.
    fn specificity(&self) -> u32 {
        let consumer = match self.consumer {
            Consumer::Any => 0,
            Consumer::Vector | Consumer::Memory => 1,
            Consumer::Is(_) => 2,
        };
        let name = |name: &Option<String>| if name.is_some() { 4 } else { 0 };
        consumer
            + name(&self.producer_mnemonic)
            + name(&self.consumer_mnemonic)
            + u32::from(self.lane.is_some())
    }
}

/// An answer: a row, and whose row it is.
#[derive(Debug, Clone, Copy)]
pub struct Measured<'a> {
    /// The distance; `None` when the row says there is none, with its reason.
    pub cycles: Option<Cycles>,
    /// The architecture whose row answered, when not the one asked for.
    pub inherited_from: Option<Arch>,
    /// The row.
    pub row: &'a MeasuredRow,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRow {
    #[serde(deserialize_with = "table::text")]
    arch: String,
    #[serde(deserialize_with = "table::parse")]
    producer: Category,
    #[serde(deserialize_with = "table::text_opt")]
    producer_mnemonic: Option<String>,
    #[serde(deserialize_with = "table::parse_opt")]
    lane: Option<Lane>,
    #[serde(deserialize_with = "table::parse")]
    consumer: Consumer,
    #[serde(deserialize_with = "table::text_opt")]
    consumer_mnemonic: Option<String>,
    #[serde(deserialize_with = "table::parse_opt")]
    role: Option<Role>,
    #[serde(deserialize_with = "table::parse")]
    hazard: Hazard,
    #[serde(deserialize_with = "table::parse_opt")]
    register: Option<RegisterKind>,
    #[serde(deserialize_with = "table::number_opt")]
    lo: Option<u32>,
    #[serde(deserialize_with = "table::number_opt")]
    hi: Option<u32>,
    #[serde(deserialize_with = "table::parse_opt")]
    guard: Option<Guard>,
    #[serde(rename = "source", deserialize_with = "table::parse")]
    evidence: Evidence,
    #[serde(deserialize_with = "table::text_opt")]
    note: Option<String>,
    #[serde(deserialize_with = "table::text_opt")]
    reason: Option<String>,
}

/// Measured rows of every architecture.
#[derive(Debug, Clone)]
pub struct MeasuredTable {
    rows: Vec<MeasuredRow>,
    /// The places of the rows of a category of producers, in order.
    of_producer: HashMap<Category, Vec<usize>>,
}

impl MeasuredTable {
    /// The built-in rows.
    pub fn builtin() -> &'static Self {
        &BUILTIN
    }

    /// Every row, in table order.
    pub fn rows(&self) -> &[MeasuredRow] {
        &self.rows
    }

    /// The latencies of one architecture, fallback included.
    pub fn for_arch(&self, arch: Arch) -> MeasuredLatencies<'_> {
        MeasuredLatencies { table: self, arch }
    }

    /// Reads a table. Rejected: unknown architectures, a range with one end or backwards, a missing number without a
    /// reason, two rows for the same thing with the same evidence.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let raw = table::rows::<RawRow>("latency_measured", text)?;
        table::unique(&raw, |row| {
            format!(
                "{} {} {:?} {:?} {} {:?} {:?} {} {:?} {}",
                row.arch,
                row.producer,
                row.producer_mnemonic,
                row.lane,
                row.consumer,
                row.consumer_mnemonic,
                row.role,
                row.hazard,
                row.register,
                row.evidence
            )
        })?;
        let mut rows = Vec::with_capacity(raw.len());
        for row in raw {
            let arch = match row.value.arch.as_str() {
                "*" => None,
                name => Some(name.parse().map_err(|e| row.error(e))?),
            };
            let cycles = match (row.value.lo, row.value.hi) {
                (Some(lo), Some(hi)) => {
                    Some(Cycles(Span::new(lo, hi).ok_or_else(|| row.error("range runs backwards"))?))
                }
                (None, None) if row.value.reason.is_some() => None,
                (None, None) => return Err(row.error("a number is missing without a reason")),
                _ => return Err(row.error("a range needs both ends")),
            };
            let raw = row.value;
            rows.push(MeasuredRow {
                arch,
                producer: raw.producer,
                producer_mnemonic: raw.producer_mnemonic,
                lane: raw.lane,
                consumer: raw.consumer,
                consumer_mnemonic: raw.consumer_mnemonic,
                role: raw.role,
                hazard: raw.hazard,
                register: raw.register,
                cycles,
                guard: raw.guard,
                evidence: raw.evidence,
                note: raw.note,
                reason: raw.reason,
            });
        }
        let mut of_producer: HashMap<Category, Vec<usize>> = HashMap::new();
        rows.iter().enumerate().for_each(|(at, row)| of_producer.entry(row.producer).or_default().push(at));
        Ok(Self { rows, of_producer })
    }
}

/// The measured latencies of one architecture.
#[derive(Debug, Clone, Copy)]
pub struct MeasuredLatencies<'a> {
    table: &'a MeasuredTable,
    arch: Arch,
}

impl MeasuredLatencies<'static> {
    /// The built-in latencies of an architecture.
    pub fn for_arch(arch: Arch) -> Self {
        MeasuredTable::builtin().for_arch(arch)
    }
}

impl<'a> MeasuredLatencies<'a> {
    /// The architectures a lookup walks through, nearest first; `None` stands for the rows of every architecture.
    fn chain(self) -> impl Iterator<Item = Option<Arch>> {
        let parents = std::iter::successors(Some(self.arch), |arch| arch.info().measured_parent);
        parents.map(Some).chain([None])
    }

    /// Every row that can answer a question on this architecture, its own first, then its parents'.
    pub fn rows(self) -> impl Iterator<Item = &'a MeasuredRow> {
        self.chain().flat_map(move |arch| self.table.rows.iter().filter(move |row| row.arch == arch))
    }

    /// The answer to a question, or `None` when no row speaks of it.
    pub fn lookup(self, query: &MeasuredQuery<'_>) -> Option<Measured<'a>> {
        // A row that only says "not given" must not hide one that knows, nor a parent's row that does.
        let answers = |row: &MeasuredRow| row.cycles.is_some() || row.guard == Some(Guard::Scoreboard);
        let rank = |row: &&MeasuredRow| {
            let cycles = row.cycles.map(|Cycles(span)| span.hi());
            (answers(row), row.specificity(), row.evidence, cycles)
        };
        let best = |arch: Option<Arch>| {
            let places = self.table.of_producer.get(&query.producer).into_iter().flatten();
            let rows = places.map(|&at| &self.table.rows[at]);
            rows.filter(|row| row.arch == arch && row.matches(query)).max_by_key(rank)
        };
        let row = (self.chain().filter_map(best).find(|row| answers(row)))
            .or_else(|| self.chain().find_map(best))?;
        Some(Measured { cycles: row.cycles, inherited_from: row.arch.filter(|&arch| arch != self.arch), row })
    }

    /// Cycles from a write to a read as an ordinary operand.
    pub fn raw(self, producer: Category, consumer: Category) -> Option<Cycles> {
        self.lookup(&MeasuredQuery::new(Hazard::Raw, producer, consumer))?.cycles
    }

    /// Cycles from a read to a write of the same register.
    pub fn war(self, producer: Category, consumer: Category) -> Option<Cycles> {
        self.lookup(&MeasuredQuery::new(Hazard::War, producer, consumer))?.cycles
    }

    /// Least cycles between two instructions of this name.
    pub fn issue_gap(self, mnemonic: &str) -> Option<Measured<'a>> {
        self.lookup(&MeasuredQuery::between(Hazard::IssueGap, mnemonic, mnemonic)?)
    }

    /// The instruction names in any row that a mnemonic is a form of. Two mnemonics of one category with the same names
    /// get the same answers to every question.
    pub fn names_matching(self, mnemonic: &str) -> Vec<&'a str> {
        let names = self.rows().flat_map(|row| [&row.producer_mnemonic, &row.consumer_mnemonic]);
        let mut names: Vec<&str> = names
            .filter_map(|name| name.as_deref())
            .filter(|name| is_form_of(Some(mnemonic), name))
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

static BUILTIN: LazyLock<MeasuredTable> = LazyLock::new(|| {
    MeasuredTable::parse(include_str!("../data/latency_measured.csv"))
        .expect("embedded table, checked by the tests")
});
