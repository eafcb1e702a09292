//! From counts to the tables of the checker.
//!
//! Distances are written for a class and any consumer, for pairs of classes, and for pairs of classes at one operand where
//! the consumer reads its operands at different times; each time only where that says more than the wider row.
//!
//! `observed_min` is the smallest distance ever left. A row for any consumer needs [`ANY`] as evidence at it or one cycle
//! above, one for a pair of classes [`PAIR`] or [`PEAK`]: templates repeat one accident of a schedule many times, but inside one
//! library. Nothing overwrites a result at once, but only after somebody has read it, so the smallest distance between
//! two writes is that of the reader between them; two writes are asked to be no further apart than it takes to finish in
//! order, which is the difference of their shortest latencies.
//!
//! `safe` is what was confirmed on a device, or the smallest distance left often between instructions with the same guard,
//! otherwise the largest such distance of the class.

use crate::{Cell, Distances, Mined, OpcodeCounts, PairKey};
use sassafras_machine::Category;
use sassafras_machine::mined::{File, Use, class_of, confirmed};
use sassafras_verify::hazards::HazardKind;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

/// How often, in how many functions and files a smallest distance must have been left.
#[derive(Clone, Copy, Debug)]
pub struct Evidence {
    /// Pairs.
    pub seen: u64,
    /// Functions.
    pub functions: u32,
    /// Files.
    pub files: u32,
}

/// For any consumer, and for `safe`.
pub const ANY: Evidence = Evidence { seen: 20, functions: 3, files: 2 };
/// For a pair of classes.
pub const PAIR: Evidence = Evidence { seen: 60, functions: 6, files: 3 };
/// For a pair of classes where at least a third of all pairs stand that close: the compiler waits for nothing else.
pub const PEAK: Evidence = Evidence { seen: 10, functions: 5, files: 5 };

/// What a row is for, as the table spells it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowKey {
    pub(crate) kind: HazardKind,
    pub(crate) file: File,
    pub(crate) producer: String,
    pub(crate) high: bool,
    pub(crate) consumer: String,
    pub(crate) used_as: Use,
    pub(crate) slot: Option<(u8, bool)>,
}

impl fmt::Display for RowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let half = if self.high { "high" } else { "low" };
        let (kind, file, used_as) = (self.kind.name(), self.file.name(), self.used_as.name());
        write!(f, "{kind},{file},{},{half},{},{used_as},", self.producer, self.consumer)?;
        match self.slot {
            None => Ok(()),
            Some((place, high)) => write!(f, "{place}{}", if high { "h" } else { "" }),
        }
    }
}

/// Where a safe distance is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Confirmed on a device.
    Device,
    /// Left often between instructions with the same guard.
    Mined,
    /// The largest such distance of the class.
    Bound,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The smallest distance left.
    pub observed_min: u16,
    /// What a scheduler may use.
    pub safe: u16,
    /// Where `safe` is from.
    pub source: Source,
    /// Pairs seen.
    pub seen: u64,
    /// Functions they stood in.
    pub functions: u32,
    /// Files that have the smallest distance.
    pub files: u32,
}

/// Whether the smallest distance is a bound that the compiler ran into, and not where an accident of few schedules left
/// it: it, or one cycle more, was left often, in several functions and files.
fn is_credible(d: &Distances, evidence: Evidence) -> bool {
    let close = close(d);
    close.seen >= evidence.seen && close.functions >= evidence.functions && close.files >= evidence.files
}

/// Whether a third of all pairs stand at the smallest distance, or one cycle above.
fn is_peak(d: &Distances) -> bool {
    is_credible(d, PEAK) && close(d).seen * 3 >= d.seen
}

/// What was seen at the smallest distance and one cycle above.
fn close(d: &Distances) -> Evidence {
    let least = d.least().unwrap_or(0);
    let close = || d.cells.iter().filter(|cell| cell.cycles <= least + 1);
    Evidence {
        seen: close().map(|cell| u64::from(cell.seen)).sum(),
        functions: close().map(|cell| cell.functions).max().unwrap_or(0),
        files: close().fold(0, |files, cell| files | cell.files).count_ones(),
    }
}

/// The shortest latency of a class: the smallest distance to any reader.
fn latency(rows: &Rows, class: &str, file: File) -> Option<u16> {
    let reads = |key: &RowKey| key.kind == HazardKind::Raw && key.file == file && key.producer == class;
    rows.iter().filter(|(key, _)| reads(key)).map(|(_, row)| row.observed_min).min()
}

/// What a pair of classes may ask for at most: what the producer takes to the integer pipe, to FP32 or to itself, and
/// what the consumer wants sooner than those do. A pair that is seldom close by accident would ask for more.
fn cap(key: &RowKey, rows: &Rows) -> Option<u16> {
    let between = |producer: &str, consumer: &str| {
        let key = RowKey {
            producer: producer.to_owned(),
            consumer: consumer.to_owned(),
            slot: None,
            ..key.clone()
        };
        rows.get(&key).map(|row| row.observed_min)
    };
    // Both registers of a pair come from one pipe at once; few instructions of these classes have pairs.
    if key.high && BASE.contains(&key.producer.as_str()) {
        return rows
            .get(&RowKey { high: false, ..key.clone() })
            .or_else(|| wider(key, rows))
            .map(|row| row.observed_min);
    }
    if BASE.contains(&key.producer.as_str()) || key.kind != HazardKind::Raw || key.used_as != Use::Operand {
        return None;
    }
    let most = |pairs: [Option<u16>; 3]| pairs.into_iter().flatten().max();
    let latency = most([
        between(&key.producer, BASE[0]),
        between(&key.producer, BASE[1]),
        between(&key.producer, &key.producer),
    ])?;
    let wanted = most([between(BASE[0], &key.consumer), between(BASE[1], &key.consumer), None])?;
    let usual = between(BASE[0], BASE[0])?;
    (!BASE.contains(&key.consumer.as_str()) && key.consumer != key.producer)
        .then(|| latency + wanted.saturating_sub(usual))
}

/// The classes that meet all others often.
const BASE: [&str; 2] = ["alu", "fma"];

/// The distance that a row demands; none when too little was seen.
fn observed_min(key: &RowKey, d: &Distances, rows: &Rows) -> Option<u16> {
    let is_enough =
        if key.consumer == "any" { is_credible(d, ANY) } else { is_credible(d, PAIR) || is_peak(d) };
    let least = d.least().filter(|_| is_enough)?;
    if key.kind != HazardKind::Waw {
        return Some(cap(key, rows).map_or(least, |cap| cap.min(least)));
    }
    // Distances with a wait between count too, since they only ever lower the demand.
    let least = d.least_waited.map_or(least, |waited| waited.min(least));
    let Some(first) = latency(rows, &key.producer, key.file) else { return Some(least) };
    // What takes longer than it can be told finishes after anything.
    let second = latency(rows, &key.consumer, key.file).unwrap_or(first);
    Some(least.min(first.saturating_sub(second).max(1)))
}

/// The row for any consumer.
fn any(key: &RowKey) -> RowKey {
    RowKey { consumer: "any".to_owned(), slot: None, ..key.clone() }
}

/// The smallest distance left often enough between instructions with one guard.
fn safe(d: &Distances) -> Option<u16> {
    let enough =
        |cell: &&Cell| u64::from(cell.certain) >= ANY.seen && cell.certain_functions >= ANY.functions;
    d.cells.iter().find(enough).map(|cell| cell.cycles)
}

/// Rows keyed by what they are for.
pub type Rows = BTreeMap<RowKey, Row>;

/// Whether instructions of the category read their operands at different times.
fn reads_late(category: Option<Category>) -> bool {
    matches!(category, Some(Category::ImadWide | Category::Tensor))
}

/// What was seen for a class and any consumer, for pairs of classes, and at one operand.
fn levels(mined: &Mined, table: &str) -> [BTreeMap<RowKey, Distances>; 3] {
    // A branch stands between most instructions that set a convergence barrier and those that wait for it: how close they
    // come says nothing about the machine.
    let useful =
        |key: &PairKey| key.kind != HazardKind::WaitTooSoon && !key.guarded && key.file != File::Barrier;
    let mut levels: [BTreeMap<RowKey, Distances>; 3] = Default::default();
    for (key, d) in mined.pairs.iter().filter(|(key, _)| useful(key)) {
        let [producer, consumer] = [key.producer, key.consumer].map(|id| class_of(table, mined.text(id)));
        let row = |consumer: &str, slot| RowKey {
            kind: key.kind,
            file: key.file,
            producer: producer.to_owned(),
            high: key.high,
            consumer: consumer.to_owned(),
            used_as: key.used_as,
            slot,
        };
        let mut add = |level: usize, row: RowKey| levels[level].entry(row).or_default().join(d);
        add(0, row("any", None));
        // A guard is read at one place, whatever it guards.
        if !matches!(key.used_as, Use::Guard | Use::Branch) {
            add(1, row(consumer, None));
            if key.kind == HazardKind::Raw && reads_late(mined.category(key.consumer)) {
                add(2, row(consumer, Some(key.slot)));
            }
        }
    }
    levels
}

/// The smallest distance of each row that there could be, however little was seen, and how often.
pub fn least(mined: &Mined, table: &str) -> BTreeMap<RowKey, (u16, u64)> {
    let least = |(key, d): (RowKey, Distances)| Some((key, (d.least()?, d.seen)));
    levels(mined, table).into_iter().flatten().filter_map(least).collect()
}

/// The rows of the distance table with this name.
pub fn distances(mined: &Mined, table: &str) -> Rows {
    let levels = levels(mined, table);
    let bounds = bounds(&levels[1]);
    let mut rows = Rows::new();
    // What caps refer to goes first.
    let refers = |key: &RowKey| !(BASE.contains(&key.consumer.as_str()) || key.consumer == key.producer);
    let mut keys: Vec<(usize, bool, &RowKey, &Distances)> = Vec::new();
    for (level, all) in levels.iter().enumerate() {
        keys.extend(
            all.iter().map(|(key, d)| (level, !BASE.contains(&key.producer.as_str()) && refers(key), key, d)),
        );
    }
    keys.sort_by_key(|&(level, later, key, _)| (level, key.kind, later));
    for (_, _, key, d) in keys {
        let Some(least) = observed_min(key, d, &rows) else { continue };
        let exact = if key.consumer == "any" { None } else { safe(d) };
        let bound = bounds.get(&bound_key(key)).copied().unwrap_or(least);
        let (safe, source) = match (confirmed(table, &key.to_string()), exact) {
            (Some(cycles), _) => (cycles, Source::Device),
            (None, Some(cycles)) => (cycles, Source::Mined),
            (None, None) => (bound, Source::Bound),
        };
        let row = Row {
            observed_min: least,
            safe: safe.max(least),
            source,
            seen: d.seen,
            functions: d.functions,
            files: d.cells.first().map_or(0, |cell| cell.files.count_ones()),
        };
        let wider = wider(key, &rows);
        if wider.is_none_or(|w| {
            w.observed_min != row.observed_min || w.safe != row.safe || source == Source::Device
        }) {
            rows.insert(key.clone(), row);
        }
    }
    rows
}

/// What a class's safe distance is bounded by: hazard, file, producer, half, use.
type BoundKey = (HazardKind, File, String, bool, Use);

fn bound_key(key: &RowKey) -> BoundKey {
    (key.kind, key.file, key.producer.clone(), key.high, key.used_as)
}

fn bounds(pairs: &BTreeMap<RowKey, Distances>) -> BTreeMap<BoundKey, u16> {
    let mut bounds = BTreeMap::new();
    for (key, d) in pairs {
        let Some(cycles) = safe(d).filter(|_| is_credible(d, ANY)) else { continue };
        let bound: &mut u16 = bounds.entry(bound_key(key)).or_default();
        *bound = cycles.max(*bound);
    }
    bounds
}

/// The row that would be used if this one were not there.
fn wider<'a>(key: &RowKey, rows: &'a Rows) -> Option<&'a Row> {
    wider_keys(key).iter().find_map(|wider| rows.get(wider))
}

/// What a row would be looked for under if it were not there, in order.
pub(crate) fn wider_keys(key: &RowKey) -> Vec<RowKey> {
    let classes = RowKey { slot: None, ..key.clone() };
    let mut keys = vec![classes, any(key)];
    keys.dedup();
    keys.retain(|wider| wider != key);
    keys
}

/// What stands in a row behind its distances.
pub(crate) fn write_row(Row { seen, functions, files, source, .. }: &Row) -> String {
    let source = match source {
        Source::Device => "mined; safe: confirmed on a device",
        Source::Mined => "mined",
        Source::Bound => "mined; safe: bound of the class",
    };
    format!("{seen},{functions},{files},{source}")
}

/// The distance table as text.
pub fn write_distances(rows: &Rows) -> String {
    let mut out = String::from(
        "hazard,file,producer,half,consumer,use,slot,observed_min,safe,seen,kernels,files,source\n",
    );
    for (key, row) in rows {
        let Row { observed_min, safe, .. } = row;
        let _ = writeln!(out, "{key},{observed_min},{safe},{}", write_row(row));
    }
    out
}

/// The columns of [`counts`].
pub const COUNT_COLUMNS: &str = "hazard,file,producer,half,consumer,use,slot,guarded,waited,cycles,seen,certain,functions,certain_functions";

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
        if name == "OPAQUE" || counts.seen < ANY.seen || counts.functions < ANY.functions {
            continue;
        }
        let min_stall = counts.stalls.iter().position(|&n| n > 0).unwrap_or(0);
        let is_control = Category::of(name) == Some(Category::Control);
        let min_stall =
            if is_control && counts.files.count_ones() >= ANY.files { min_stall.max(1) } else { 1 };
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

/// The distances of a table, by what they are for.
fn parse(text: &str) -> BTreeMap<String, (u16, u16)> {
    let cells = text.lines().skip(1).filter_map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        let [key @ .., observed, safe, _, _, _, _] = cells.as_slice() else { return None };
        Some((key.join(","), (observed.parse().ok()?, safe.parse().ok()?)))
    });
    cells.collect()
}

/// Where a table asks for more than what was seen leaves, or for less than what was seen often leaves; one line each.
pub fn compare(table: &str, least: &BTreeMap<RowKey, (u16, u64)>, rows: &Rows) -> Vec<String> {
    let least: BTreeMap<String, (u16, u64)> =
        least.iter().map(|(key, &seen)| (key.to_string(), seen)).collect();
    let often: BTreeMap<String, u16> =
        rows.iter().map(|(key, row)| (key.to_string(), row.observed_min)).collect();
    let mut lines = Vec::new();
    for (key, (observed, _)) in parse(table) {
        match (least.get(&key), often.get(&key)) {
            (Some(&(cycles, seen)), _) if cycles < observed && !key.starts_with("waw") => {
                lines.push(format!(
                    "looser   {key}: {cycles} was left, the table asks for {observed} ({seen} seen)"
                ));
            }
            (_, Some(&cycles)) if cycles > observed => {
                lines.push(format!("tighter  {key}: {cycles} is always left, the table asks for {observed}"));
            }
            _ => {}
        }
    }
    lines
}

/// Where a new distance table asks for less or more than an old one, one line each.
pub fn changes(old: &str, new: &str) -> Vec<String> {
    let (old, new) = (parse(old), parse(new));
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
