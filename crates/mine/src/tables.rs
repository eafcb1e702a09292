//! From counts to the tables of the checker.
//!
//! Distances are written for pairs of categories, for a category and any consumer, for pairs of opcodes, and for pairs of
//! opcodes at one operand, each time only where that says more than the wider row. `observed_min` is the smallest
//! distance ever left; it, or one cycle more, must have been left [`MIN_SEEN`] times, in [`MIN_FUNCTIONS`] functions and
//! [`MIN_FILES`] files: templates repeat one accident of a schedule many times, but inside one library.
//! `safe` is the smallest distance left that often between instructions with the same guard, otherwise the largest such
//! distance of the category.

use crate::{Cell, Distances, Mined, OpcodeCounts, PairKey};
use sassafras_machine::Category;
use sassafras_machine::mined::{File, Use};
use sassafras_verify::hazards::HazardKind;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A row needs that many pairs.
pub const MIN_SEEN: u64 = 20;
/// In that many functions.
pub const MIN_FUNCTIONS: u32 = 3;
/// Its smallest distance must stand in that many files.
pub const MIN_FILES: u32 = 2;

/// What a row is for, as the table spells it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowKey {
    kind: HazardKind,
    file: File,
    producer: String,
    high: bool,
    consumer: String,
    used_as: Use,
    slot: Option<(u8, bool)>,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The smallest distance left.
    pub observed_min: u16,
    /// What a scheduler may use.
    pub safe: u16,
    /// Whether `safe` is the category's upper bound.
    pub bound: bool,
    /// Pairs seen.
    pub seen: u64,
    /// Functions they stood in.
    pub functions: u32,
    /// Files that have the smallest distance.
    pub files: u32,
}

/// Whether the smallest distance is a bound that the compiler ran into, and not where an accident of few schedules left
/// it: it, or one cycle more, was left often, in several functions and files.
fn is_credible(d: &Distances) -> bool {
    let Some(least) = d.least() else { return false };
    let close = || d.cells.iter().filter(|cell| cell.cycles <= least + 1);
    close().map(|cell| u64::from(cell.seen)).sum::<u64>() >= MIN_SEEN
        && close().map(|cell| cell.functions).max() >= Some(MIN_FUNCTIONS)
        && close().fold(0, |files, cell| files | cell.files).count_ones() >= MIN_FILES
}

/// Integer and FP32 results reach every reader within this many cycles of the first: rows that say more are accidents.
const FORWARDING_SPREAD: u16 = 2;

/// The distance that a row demands; none when too little was seen.
///
/// Nothing overwrites a result at once, but only after somebody has read it: the smallest distance between two writes is
/// that of the reader between them. Those with a wait between count too, since they only ever lower the demand.
fn observed_min(key: &RowKey, d: &Distances, any: Option<&Row>) -> Option<u16> {
    let least = d.least().filter(|_| is_credible(d))?;
    match key.kind {
        HazardKind::Waw => Some(d.least_waited.map_or(least, |waited| waited.min(least))),
        HazardKind::Raw if matches!(category_of(&key.producer), Some(Category::Alu | Category::Fma)) => {
            Some(any.map_or(least, |any| least.min(any.observed_min + FORWARDING_SPREAD)))
        }
        _ => Some(least),
    }
}

/// The row for any consumer.
fn any(key: &RowKey) -> RowKey {
    let producer = category_of(&key.producer).map_or_else(|| key.producer.clone(), |c| c.to_string());
    RowKey { producer, consumer: "any".to_owned(), slot: None, ..key.clone() }
}

/// The smallest distance left often enough between instructions with one guard.
fn safe(d: &Distances) -> Option<u16> {
    let enough =
        |cell: &&Cell| u64::from(cell.certain) >= MIN_SEEN && cell.certain_functions >= MIN_FUNCTIONS;
    d.cells.iter().find(enough).map(|cell| cell.cycles)
}

/// Rows keyed by what they are for.
pub type Rows = BTreeMap<RowKey, Row>;

/// The rows of the distance table.
pub fn distances(mined: &Mined) -> Rows {
    let useful = |key: &PairKey| key.kind != HazardKind::WaitTooSoon && !key.guarded;
    let mut levels: [BTreeMap<RowKey, Distances>; 4] = Default::default();
    for (key, d) in mined.pairs.iter().filter(|(key, _)| useful(key)) {
        let row = |producer: &str, consumer: &str, slot| RowKey {
            kind: key.kind,
            file: key.file,
            producer: producer.to_owned(),
            high: key.high,
            consumer: consumer.to_owned(),
            used_as: key.used_as,
            slot,
        };
        let (first, second) = (mined.text(key.producer), mined.text(key.consumer));
        let mut add = |level: usize, row: RowKey| levels[level].entry(row).or_default().join(d);
        if let Some(p) = mined.category(key.producer) {
            add(0, row(&p.to_string(), "any", None));
            let by_consumer = mined.category(key.consumer);
            let by_consumer = by_consumer.filter(|_| !matches!(key.used_as, Use::Guard | Use::Branch));
            if let Some(c) = by_consumer {
                add(1, row(&p.to_string(), &c.to_string(), None));
            }
        }
        // A guard is read at one place, whatever it guards; uniform instructions are all alike; and how soon a result
        // is overwritten says more about the code than about the opcodes.
        let alike = mined.category(key.producer) == Some(Category::Uniform) || key.kind == HazardKind::Waw;
        if !alike && !matches!(key.used_as, Use::Guard | Use::Branch) {
            add(2, row(first, second, None));
            add(3, row(first, second, Some(key.slot)));
        }
    }
    let bounds = bounds(&levels[2]);
    let mut rows = Rows::new();
    for (level, keys) in levels.iter().enumerate() {
        for (key, d) in keys {
            let Some(least) = observed_min(key, d, rows.get(&any(key))) else { continue };
            let bound = bounds.get(&bound_key(key)).copied().unwrap_or(least).max(least);
            let exact = if level >= 2 { safe(d) } else { None };
            let row = Row {
                observed_min: least,
                safe: exact.unwrap_or(bound),
                bound: exact.is_none(),
                seen: d.seen,
                functions: d.functions,
                files: d.cells.first().map_or(0, |cell| cell.files.count_ones()),
            };
            let wider = wider(key, &rows);
            if wider.is_none_or(|w| w.observed_min != row.observed_min || w.safe != row.safe) {
                rows.insert(key.clone(), row);
            }
        }
    }
    rows
}

/// What a category's safe distance is bounded by: hazard, file, producer's category, half, use.
type BoundKey = (HazardKind, File, String, bool, Use);

fn bound_key(key: &RowKey) -> BoundKey {
    let category = category_of(&key.producer).map_or_else(|| key.producer.clone(), |c| c.to_string());
    (key.kind, key.file, category, key.high, key.used_as)
}

fn category_of(name: &str) -> Option<Category> {
    name.parse().ok().or_else(|| Category::of(name.split(':').next().unwrap_or(name)))
}

fn bounds(opcodes: &BTreeMap<RowKey, Distances>) -> BTreeMap<BoundKey, u16> {
    let mut bounds = BTreeMap::new();
    for (key, d) in opcodes {
        let Some(cycles) = safe(d).filter(|_| is_credible(d)) else { continue };
        let bound: &mut u16 = bounds.entry(bound_key(key)).or_default();
        *bound = cycles.max(*bound);
    }
    bounds
}

/// The row that would be used if this one were not there.
fn wider<'a>(key: &RowKey, rows: &'a Rows) -> Option<&'a Row> {
    let opcodes = RowKey { slot: None, ..key.clone() };
    let category = |name: &str| category_of(name).map(|c| c.to_string());
    let categories = category(&key.producer)
        .zip(category(&key.consumer))
        .map(|(producer, consumer)| RowKey { producer, consumer, slot: None, ..key.clone() });
    [Some(opcodes), categories, Some(any(key))]
        .into_iter()
        .flatten()
        .filter(|wider| wider != key)
        .find_map(|wider| rows.get(&wider))
}

/// The distance table as text.
pub fn write_distances(rows: &Rows) -> String {
    let mut out = String::from(
        "hazard,file,producer,half,consumer,use,slot,observed_min,safe,seen,kernels,files,source\n",
    );
    for (key, row) in rows {
        let slot =
            key.slot.map_or(String::new(), |(place, high)| format!("{place}{}", if high { "h" } else { "" }));
        let _ = writeln!(
            out,
            "{},{},{},{},{},{},{slot},{},{},{},{},{},{}",
            key.kind.name(),
            key.file.name(),
            key.producer,
            if key.high { "high" } else { "low" },
            key.consumer,
            key.used_as.name(),
            row.observed_min,
            row.safe,
            row.seen,
            row.functions,
            row.files,
            if row.bound { "mined; safe: bound of the category" } else { "mined" },
        );
    }
    out
}

/// The columns of [`counts`].
pub const COUNT_COLUMNS: &str =
    "hazard,file,producer,half,consumer,use,slot,guarded,waited,cycles,seen,certain,functions,certain_functions";

/// Every count, one line per pair and distance, sorted.
pub fn counts(mined: &Mined) -> Vec<String> {
    let mut lines = Vec::new();
    for (key, d) in &mined.pairs {
        let (place, odd) = key.slot;
        let pair = format!(
            "{},{},{},{},{},{},{place}{},{}",
            key.kind.name(),
            key.file.name(),
            mined.text(key.producer),
            if key.high { "high" } else { "low" },
            mined.text(key.consumer),
            key.used_as.name(),
            if odd { "h" } else { "" },
            if key.guarded { "yes" } else { "no" },
        );
        lines.extend(d.cells.iter().map(|c| {
            let Cell { cycles, seen, certain, functions, certain_functions, .. } = c;
            format!("{pair},no,{cycles},{seen},{certain},{functions},{certain_functions}")
        }));
        lines.extend(d.least_waited.map(|least| format!("{pair},yes,{least},{},0,0,0", d.waited)));
    }
    lines.sort_unstable();
    lines
}

/// Whether results of an opcode come back when they are ready: it usually sets a scoreboard.
fn is_decoupled(name: &str, counts: &OpcodeCounts) -> bool {
    let by_category =
        Category::of(name).is_some_and(|c| c.is_memory() || c == Category::Sfu || c == Category::Convert);
    by_category
        || match counts.writes {
            0 => counts.read_board * 20 >= counts.seen && counts.read_board > 0,
            writes => counts.write_board * 2 >= writes,
        }
}

/// The opcode table as text. `min_stall` is given for control flow, where a stall guards no register.
pub fn write_opcodes(mined: &Mined) -> String {
    let mut out = String::from("opcode,decoupled,min_stall,seen,kernels,write_board,read_board,source\n");
    let mut opcodes: BTreeMap<&str, OpcodeCounts> = BTreeMap::new();
    for (&id, counts) in &mined.opcodes {
        let name = mined.text(id);
        opcodes.entry(name.split(':').next().unwrap_or(name)).or_default().join(counts);
    }
    for (name, counts) in opcodes {
        if name == "OPAQUE" || counts.seen < MIN_SEEN || counts.functions < MIN_FUNCTIONS {
            continue;
        }
        let min_stall = counts.stalls.iter().position(|&n| n > 0).unwrap_or(0);
        let is_control = matches!(Category::of(name), Some(Category::Control | Category::Barrier));
        let min_stall =
            if is_control && counts.files.count_ones() >= MIN_FILES { min_stall.max(1) } else { 1 };
        let _ = writeln!(
            out,
            "{name},{},{min_stall},{},{},{},{},mined",
            if is_decoupled(name, &counts) { "yes" } else { "no" },
            counts.seen,
            counts.functions,
            counts.write_board,
            counts.read_board,
        );
    }
    out
}

/// Where a new distance table asks for less or more than an old one, one line each.
pub fn changes(old: &str, new: &str) -> Vec<String> {
    let rows = |text: &str| -> BTreeMap<String, (u16, u16)> {
        let cells = text.lines().skip(1).filter_map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let [key @ .., observed, safe, _, _, _, _] = cells.as_slice() else { return None };
            Some((key.join(" "), (observed.parse().ok()?, safe.parse().ok()?)))
        });
        cells.collect()
    };
    let (old, new) = (rows(old), rows(new));
    let word = |before: u16, after: u16| match after.cmp(&before) {
        std::cmp::Ordering::Less => "looser",
        std::cmp::Ordering::Equal => "same",
        std::cmp::Ordering::Greater => "tighter",
    };
    let mut lines = Vec::new();
    for (key, before) in &old {
        match new.get(key) {
            None => lines.push(format!("gone     {key}: {} / {}", before.0, before.1)),
            Some(after) if after != before => lines.push(format!(
                "{:8} {key}: observed_min {} -> {}, safe {} -> {}",
                word(before.0, after.0),
                before.0,
                after.0,
                before.1,
                after.1
            )),
            Some(_) => {}
        }
    }
    let added = new.keys().filter(|key| !old.contains_key(*key)).count();
    if added > 0 && !old.is_empty() {
        lines.push(format!("{added} new rows"));
    }
    lines
}
