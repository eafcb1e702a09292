//! Goal: what holds for instructions and architectures whatever their distances: classes, queues, least latencies, which
//! table serves which architecture, and what was confirmed on a device. One file of `data/mined` each.

use std::sync::LazyLock;

use rustc_hash::FxHashMap as HashMap;
use serde::Deserialize;

use crate::dispatch::{Pipe, known_dispatch};
use crate::table;
use crate::{Arch, Category};

/// The queues an opcode goes through; 0 is none. Inside a queue nothing overtakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Queues {
    /// Where its sources are read.
    pub reads: u8,
    /// Where its results come back.
    pub returns: u8,
    /// The names that it answers to, one bit each.
    names: u32,
    /// The names of those whose sources its result may overwrite before they are known to have been read.
    overwrites: u32,
    /// Where results come back by what compiled code relies on; 0 where that is `returns`.
    accepted_returns: u8,
    /// More names of those whose sources its result overwrites in compiled code.
    accepted_overwrites: u32,
}

impl Queues {
    /// Whether the result may overwrite sources of an earlier instruction of the same block and queue with no wait: it is
    /// written when it is its turn, and by then those have been read. Order alone is not enough: compiled code relies on it
    /// for some pairs only.
    pub const fn overwrites(self, earlier: Queues) -> bool {
        self.overwrites & earlier.names != 0
    }
}

/// The class of an opcode, or of a shaped one (`HMMA:4/4/2/4`, `IADD:64`), in a table.
pub fn class_of<'a>(table: &str, opcode: &'a str) -> &'a str {
    let serves = |listed: &&Listed| listed.tables.is_empty() || listed.tables.iter().any(|t| t == table);
    let listed = |name: &str| Some(CLASSES.get(name)?.iter().find(serves)?.class.as_str());
    // With its shape, then with fewer and fewer modifiers.
    let plain = base(opcode);
    let shorter = std::iter::successors(Some(plain), |name| name.rsplit_once('.').map(|(front, _)| front));
    std::iter::once(opcode).chain(shorter).find_map(listed).unwrap_or_else(|| match Category::of(plain) {
        Some(Category::Tensor) => opcode,
        Some(category) => category.name(),
        None => plain,
    })
}

/// The category of the opcodes that a class was made for; none where it is a category itself, or they are of several.
pub(super) fn wider_class(table: &str, class: &str) -> Option<&'static str> {
    if class.parse::<Category>().is_ok() {
        return None;
    }
    let categories: Vec<Option<Category>> = made_for(table, class).map(Category::of).collect();
    let first = (*categories.first()?)?;
    categories.iter().all(|&category| category == Some(first)).then(|| first.name())
}

/// Whether all opcodes that a class was made for go through the pipes of their plain forms, as far as is known: then it is no pipe that tells them apart.
pub(super) fn shares_pipes(table: &str, class: &str) -> bool {
    let Ok(arch) = table.parse::<Arch>() else { return false };
    let pipes = |opcode: &str| known_dispatch(arch, opcode).map(|dispatch| dispatch.enters);
    made_for(table, class).all(|opcode| pipes(opcode) == pipes(opcode.split('.').next().unwrap_or(opcode)))
}

/// The opcodes that a class was made for, without the shape.
fn made_for<'a>(table: &'a str, class: &'a str) -> impl Iterator<Item = &'static str> + 'a {
    let serves = move |listed: &&Listed| listed.tables.is_empty() || listed.tables.iter().any(|t| t == table);
    let is_of =
        move |listed: &Vec<Listed>| listed.iter().find(serves).is_some_and(|listed| listed.class == class);
    CLASSES.iter().filter(move |(_, listed)| is_of(listed)).map(|(opcode, _)| base(opcode))
}

/// What is added to the name of an opcode whose result is a pair of registers.
pub const PAIR: &str = ":64";

/// The name without the shape.
pub(super) fn base(name: &str) -> &str {
    name.split(':').next().unwrap_or(name)
}

/// The name of the table that an architecture uses.
pub fn table_name(arch: Arch) -> Option<&'static str> {
    arch_row(arch).map(|row| row.table.as_str())
}

/// Whether some architecture uses a table of this name.
pub fn is_table(name: &str) -> bool {
    ARCHES.values().any(|row| row.table == name)
}

/// The distance of a row, spelled as the tables do up to `slot`, that was confirmed on a device.
pub fn confirmed(table: &str, row: &str) -> Option<u16> {
    CONFIRMED.get(&(table.to_owned(), row.to_owned())).copied()
}

/// The table whose code is mined for this table's distances too.
pub fn mined_with(table: &str) -> Option<&'static str> {
    let row = ARCHES.values().find(|row| row.table == table && !row.with.is_empty())?;
    Some(&row.with)
}

/// By how much later than other operands the even and the odd register of an addend are read by wide multiplications, on the machines of a table.
pub(super) fn late_addend(table: &str) -> [u16; 2] {
    ARCHES.values().find(|row| row.table == table).map_or([0; 2], |row| [row.late_even, row.late_half])
}

fn arch_row(arch: Arch) -> Option<&'static ArchRow> {
    let plain = || ARCHES.get(&format!("sm_{}", arch.number()?));
    ARCHES.get(&arch.to_string()).or_else(plain)
}

/// The queues that an opcode goes through.
pub fn queues(opcode: &str, category: Option<Category>) -> Queues {
    let base = opcode.split('.').next().unwrap_or(opcode);
    let by_category = category.and_then(|c| QUEUES.get(c.name()));
    let own = QUEUES.get(base).or(by_category).copied().unwrap_or_default();
    // What holds for the category holds for the opcode too.
    Queues { names: own.names | by_category.map_or(0, |q| q.names), ..own }
}

/// The queues that an opcode goes through, and what compiled code relies on beyond what a scheduler may: for a checker.
pub fn accepted_queues(opcode: &str, category: Option<Category>) -> Queues {
    let queues = queues(opcode, category);
    Queues {
        returns: if queues.accepted_returns == 0 { queues.returns } else { queues.accepted_returns },
        overwrites: queues.overwrites | queues.accepted_overwrites,
        ..queues
    }
}

/// What waits for an instruction's scoreboards take at the least; 0 where nothing is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LeastLatency {
    /// Until the result is there.
    pub write: u16,
    /// Until the sources have been read.
    pub read: u16,
}

/// What waits for an instruction's scoreboards take at the least.
pub fn least_latency(opcode: &str, category: Option<Category>) -> LeastLatency {
    let by_opcode = LATENCIES.get(opcode.split('.').next().unwrap_or(opcode));
    by_opcode.or_else(|| LATENCIES.get(category?.name())).copied().unwrap_or_default()
}

/// Cycles from the reading of an instruction's sources until its result is there, where that is known: compiled code relies on it without a
/// scoreboard, and a checker accepts that. No scheduler does. `name`: the opcode, with its shape (`DMMA:4/2/2/4`).
pub fn result_after_reads(arch: Arch, name: &str) -> Option<u8> {
    let table = table_name(arch)?;
    let rows = AFTER_READS.get(name)?;
    rows.iter().find(|row| row.tables.split_whitespace().any(|name| name == table)).map(|row| row.cycles)
}

/// Whether a barrier that holds the warp goes on only when what was issued before has read its sources.
pub fn barrier_reads(arch: Arch) -> bool {
    arch_row(arch).is_some_and(|row| row.barrier_reads == "yes")
}

/// The pipes that hold a warp back by themselves while they are busy, as far as compiled code tells.
pub fn holds_back(arch: Arch) -> impl Iterator<Item = Pipe> {
    let pipes = arch_row(arch).map_or("", |row| row.holds_back.as_str());
    pipes.split_whitespace().map(|pipe| pipe.parse().expect("checked by the tests"))
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ArchRow {
    arch: String,
    pub table: String,
    pub barrier_reads: String,
    pub holds_back: String,
    pub late_half: u16,
    pub late_even: u16,
    pub with: String,
    #[serde(rename = "source")]
    _source: String,
}

pub(super) static ARCHES: LazyLock<HashMap<String, ArchRow>> = LazyLock::new(|| {
    let rows =
        table::rows::<ArchRow>("mined architectures", include_str!("../../data/mined/architectures.csv"));
    let rows = rows.expect("checked by the tests");
    rows.into_iter().map(|row| (row.value.arch.clone(), row.value)).collect()
});

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClassRow {
    tables: String,
    opcode: String,
    class: String,
    #[serde(rename = "source")]
    _source: String,
}

/// The class of an opcode in some tables; in all where none is named.
pub(super) struct Listed {
    pub tables: Vec<String>,
    pub class: String,
}

pub(super) static CLASSES: LazyLock<HashMap<String, Vec<Listed>>> = LazyLock::new(|| {
    let rows = table::rows::<ClassRow>("mined classes", include_str!("../../data/mined/classes.csv"));
    let mut classes: HashMap<String, Vec<Listed>> = HashMap::default();
    for row in rows.expect("checked by the tests").into_iter().map(|row| row.value) {
        let tables = row.tables.split_whitespace().filter(|&t| t != "*").map(str::to_owned).collect();
        classes.entry(row.opcode).or_default().push(Listed { tables, class: row.class });
    }
    classes
});

/// Who reads a register no sooner than somebody else.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadsAsRow {
    pub tables: String,
    pub file: String,
    pub consumer: String,
    #[serde(rename = "use")]
    pub used_as: String,
    pub as_consumer: String,
    pub as_use: String,
    #[serde(rename = "source")]
    _source: String,
}

/// The rows of who reads like whom that hold for a table.
pub(super) fn reads_as(table: &str) -> impl Iterator<Item = &'static ReadsAsRow> {
    static ROWS: LazyLock<Vec<ReadsAsRow>> = LazyLock::new(|| {
        let rows =
            table::rows::<ReadsAsRow>("who reads like whom", include_str!("../../data/mined/reads_as.csv"));
        rows.expect("checked by the tests").into_iter().map(|row| row.value).collect()
    });
    ROWS.iter()
        .filter(move |row| row.tables == "*" || row.tables.split_whitespace().any(|name| name == table))
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfirmedRow {
    table: String,
    hazard: String,
    file: String,
    producer: String,
    half: String,
    consumer: String,
    #[serde(rename = "use")]
    used_as: String,
    slot: String,
    cycles: u16,
    #[serde(rename = "source")]
    _source: String,
}

pub(super) static CONFIRMED: LazyLock<HashMap<(String, String), u16>> = LazyLock::new(|| {
    let rows =
        table::rows::<ConfirmedRow>("confirmed distances", include_str!("../../data/mined/confirmed.csv"));
    let rows = rows.expect("checked by the tests").into_iter().map(|row| row.value);
    rows.map(|row| {
        let ConfirmedRow { hazard, file, producer, half, consumer, used_as, slot, .. } = &row;
        (
            (row.table.clone(), format!("{hazard},{file},{producer},{half},{consumer},{used_as},{slot}")),
            row.cycles,
        )
    })
    .collect()
});

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct QueueRow {
    name: String,
    reads: String,
    returns: String,
    overwrites: String,
    accepted_returns: String,
    accepted_overwrites: String,
    #[serde(rename = "source")]
    _source: String,
}

fn queue_rows() -> Vec<QueueRow> {
    let rows = table::rows::<QueueRow>("mined queues", include_str!("../../data/mined/queues.csv"));
    rows.expect("checked by the tests").into_iter().map(|row| row.value).collect()
}

/// Names in the columns of those whose sources are overwritten that no row is for.
#[cfg(test)]
pub(super) fn names_without_a_row() -> Vec<String> {
    let lists = queue_rows().into_iter().flat_map(|row| [row.overwrites, row.accepted_overwrites]);
    let names = lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    names.filter(|name| !QUEUES.contains_key(name)).collect()
}

static QUEUES: LazyLock<HashMap<String, Queues>> = LazyLock::new(|| {
    let rows = queue_rows();
    let mut names: Vec<&str> = Vec::new();
    let mut queue = |name| numbered(&mut names, name).map_or(0, |at| at as u8 + 1);
    let numbers: Vec<[u8; 3]> = rows
        .iter()
        .map(|row| [&row.reads, &row.returns, &row.accepted_returns].map(|name| queue(name)))
        .collect();
    let mut overwritten: Vec<&str> = Vec::new();
    for list in rows.iter().flat_map(|row| [&row.overwrites, &row.accepted_overwrites]) {
        for name in list.split_whitespace() {
            numbered(&mut overwritten, name);
        }
    }
    let bit = |name: &str| overwritten.iter().position(|&known| known == name).map_or(0, |at| 1 << at);
    let bits = |list: &str| list.split_whitespace().fold(0, |mask, name| mask | bit(name));
    let queues = |(row, &[reads, returns, accepted_returns]): (&QueueRow, &[u8; 3])| {
        let queues = Queues {
            reads,
            returns,
            names: bit(&row.name),
            overwrites: bits(&row.overwrites),
            accepted_returns,
            accepted_overwrites: bits(&row.accepted_overwrites),
        };
        (row.name.clone(), queues)
    };
    rows.iter().zip(&numbers).map(queues).collect()
});

/// The place of a name among those seen so far; none for the empty one.
fn numbered<'a>(names: &mut Vec<&'a str>, name: &'a str) -> Option<usize> {
    if name.is_empty() {
        return None;
    }
    let at = names.iter().position(|&known| known == name).unwrap_or(names.len());
    if at == names.len() {
        names.push(name);
    }
    Some(at)
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct LatencyRow {
    name: String,
    write: u16,
    read: u16,
    #[serde(rename = "source")]
    _source: String,
}

static LATENCIES: LazyLock<HashMap<String, LeastLatency>> = LazyLock::new(|| {
    let rows = table::rows::<LatencyRow>("mined latencies", include_str!("../../data/mined/latencies.csv"));
    let rows = rows.expect("checked by the tests").into_iter().map(|row| row.value);
    rows.map(|row| (row.name, LeastLatency { write: row.write, read: row.read })).collect()
});

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AfterReadsRow {
    pub tables: String,
    pub name: String,
    pub cycles: u8,
    #[serde(deserialize_with = "table::text", rename = "source")]
    _source: String,
}

/// By name.
pub(super) static AFTER_READS: LazyLock<HashMap<String, Vec<AfterReadsRow>>> = LazyLock::new(|| {
    let text = include_str!("../../data/mined/after_reads.csv");
    let rows = table::rows::<AfterReadsRow>("results after reads", text).expect("checked by the tests");
    let mut by_name: HashMap<String, Vec<AfterReadsRow>> = HashMap::default();
    for row in rows.into_iter().map(|row| row.value) {
        by_name.entry(row.name.clone()).or_default().push(row);
    }
    by_name
});
