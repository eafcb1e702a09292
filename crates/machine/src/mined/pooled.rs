//! Goal: what a checker asks where few sources bear a row out.
//!
//! The least distance that n sources left is undercut by another one with a chance of at most 1/(n + 1), whatever the classes: with
//! [`pooled_sources`](crate::Constants::pooled_sources) at their least distance a row holds for the next with 95 %, and fewer make it *thin*. A thin row says where
//! schedules happened to end, unless what is known of the machine says the same. So no more is asked of its pair than
//!
//! 1. the latest time not above its own at which results of the class are known to be read. Operands are read at a few fixed times, whoever reads them: a time
//!    is known when the rows that have it bear it out together, each with its sources. Where none is known of the class, the quickest result of the register file
//!    for arithmetic and predicates, and for others the earliest reader of the class;
//! 2. what the wider class needs, in general registers: who reads as part of a category reads when that does, and what comes out of the same pipe
//!    (`dispatch.csv`) comes as soon;
//! 3. between two writes, what keeps them from finishing in the wrong order: the difference of the two latencies. How far apart writes stand says more of the
//!    readers between. Of matrix and other results whose latency is not known the row stays.
//!
//! Only what a checker accepts changes: `safe`, and the rows that a scheduler looks up, stay as they are.
//!
//! Cost: a few passes over the rows when a table is read.

use super::{ClassNumber, Key, MinedTable, PairQuery, Use, WIDE, facts};
use crate::mined::File;
use crate::{Category, Hazard, constants};
use rustc_hash::FxHashMap as HashMap;
use std::collections::BTreeMap;

/// A class, a register file and whether it is read as a guard.
type Reads = (File, ClassNumber, bool);

/// What the rows of a table say together.
#[derive(Default)]
struct Pool {
    /// By [`Reads`] and half: how many sources bear out each distance.
    times: HashMap<(Reads, bool), BTreeMap<u16, u32>>,
    /// The earliest reader, and whether there is a row for any consumer.
    earliest: HashMap<Reads, (u16, bool)>,
    /// By file and whether it is read as a guard: the quickest result that enough sources have.
    quickest: HashMap<(File, bool), u16>,
}

impl Pool {
    fn of(table: &MinedTable) -> Pool {
        let mut pool = Pool::default();
        for (key, row) in table.distances.iter().filter(|(key, _)| key.hazard == Hazard::Raw) {
            let reads = (key.file, key.producer, is_guard(key.used_as));
            let sources = table.sources.get(key).copied().unwrap_or(0);
            let times = pool.times.entry((reads, key.high)).or_default();
            *times.entry(row.observed_min).or_default() += sources;
            // What is read late says little of when it is there.
            if is_late(table, key) {
                continue;
            }
            let earliest = pool.earliest.entry(reads).or_insert((u16::MAX, false));
            *earliest = (row.observed_min.min(earliest.0), earliest.1 | (key.consumer == ClassNumber::ANY));
            if sources >= constants().pooled_sources {
                let quickest = pool.quickest.entry((key.file, reads.2)).or_insert(u16::MAX);
                *quickest = row.observed_min.min(*quickest);
            }
        }
        pool
    }

    /// The latest time up to this one at which results are known to be read.
    fn read_time(&self, reads: Reads, high: bool, most: u16) -> Option<u16> {
        let times = self.times.get(&(reads, high))?;
        let known = times.range(..=most).rev().find(|&(_, &sources)| sources >= constants().pooled_sources);
        known.map(|(&cycles, _)| cycles)
    }

    /// When a result of a class is there, where enough is known of who reads it.
    fn latency(&self, file: File, class: ClassNumber) -> Option<u16> {
        self.earliest.get(&(file, class, false)).filter(|(_, of_any)| *of_any).map(|(cycles, _)| *cycles)
    }
}

/// What is asked of the pairs of thin rows, where that is less than the row says.
pub(super) fn accepted(table: &MinedTable) -> HashMap<Key, u16> {
    let pool = Pool::of(table);
    let names: HashMap<ClassNumber, &str> =
        table.numbers.iter().map(|(name, &class)| (class, name.as_str())).collect();
    let is_arithmetic = |class: ClassNumber| names.get(&class).is_some_and(|name| is_arithmetic(table, name));
    let mut accepted = HashMap::default();
    for (key, row) in &table.distances {
        let is_thin = table.sources.get(key).copied().unwrap_or(0) < constants().pooled_sources;
        // What is read late has a rule of its own (`late_half`), and rows of all operands say how late.
        let of_all = key.slot.is_none() && table.wide.contains(&key.consumer);
        if !is_thin || is_late(table, key) || of_all {
            continue;
        }
        let own = row.observed_min;
        let least = match key.hazard {
            Hazard::Raw => {
                let known = read(&pool, key, own, is_arithmetic(key.producer));
                of_category(table, key, &names).map_or(known, |category| known.min(category))
            }
            Hazard::Waw => overwritten(&pool, key, own),
            _ => own,
        };
        if least < own {
            accepted.insert(*key, least);
        }
    }
    accepted
}

/// When the result is known to be read, up to what the row says.
fn read(pool: &Pool, key: &Key, own: u16, is_arithmetic: bool) -> u16 {
    let guards = is_guard(key.used_as);
    let reads = (key.file, key.producer, guards);
    let known = pool.read_time(reads, key.high, own).or_else(|| {
        match key.file == File::Predicate || key.file == File::General && is_arithmetic {
            true => pool.quickest.get(&(key.file, guards)).copied(),
            false => pool.earliest.get(&reads).map(|(cycles, _)| *cycles),
        }
    });
    known.map_or(own, |known| known.min(own))
}

/// What the row says of the categories that the classes were told apart from, the less of the two.
fn of_category(table: &MinedTable, key: &Key, names: &HashMap<ClassNumber, &str>) -> Option<u16> {
    let wider = |class: ClassNumber| {
        let name = facts::wider_class(&table.name, names.get(&class)?)?;
        table.numbers.get(name).copied()
    };
    if key.file != File::General || key.used_as != Use::Operand {
        return None;
    }
    let row = |producer, consumer: ClassNumber| {
        let query = PairQuery {
            hazard: key.hazard,
            file: key.file,
            producer: Some(producer),
            high: key.high,
            consumer: (consumer != ClassNumber::ANY).then_some(consumer),
            used_as: key.used_as,
            // No operand has this place: the row of the classes.
            slot: key.slot.unwrap_or((u8::MAX, false)),
            addend: false,
        };
        table.distance(&query).map(|distance| distance.observed_min)
    };
    let consumer = wider(key.consumer).and_then(|consumer| row(key.producer, consumer));
    let same_pipe =
        |class: &ClassNumber| names.get(class).is_some_and(|name| facts::shares_pipes(&table.name, name));
    let producer = Some(key.producer).filter(same_pipe).and_then(&wider);
    let producer = producer.and_then(|producer| row(producer, key.consumer));
    consumer.into_iter().chain(producer).min()
}

/// What keeps two writes from finishing in the wrong order, up to what the row says.
fn overwritten(pool: &Pool, key: &Key, own: u16) -> u16 {
    match (key.file, pool.latency(key.file, key.producer)) {
        (File::General | File::Predicate, Some(first)) => {
            // What takes longer than it can be told finishes after anything.
            let second = pool.latency(key.file, key.consumer).unwrap_or(first);
            own.min(first.saturating_sub(second).max(1))
        }
        (File::Predicate, None) => own.min(1),
        _ => own,
    }
}

/// Whether a row is about the odd register of what a wide multiplication adds to.
fn is_late(table: &MinedTable, key: &Key) -> bool {
    key.slot.is_some_and(|(_, odd)| odd) && table.wide.contains(&key.consumer)
}

fn is_guard(used_as: Use) -> bool {
    matches!(used_as, Use::Guard | Use::Branch)
}

/// Whether instructions of a class are plain arithmetic of a thread.
fn is_arithmetic(table: &MinedTable, class: &str) -> bool {
    let wider = facts::wider_class(&table.name, class).filter(|_| facts::shares_pipes(&table.name, class));
    let category = wider.unwrap_or(class);
    WIDE.contains(&class)
        || category.parse().is_ok_and(|category| {
            matches!(category, Category::Alu | Category::Fma | Category::ImadWide | Category::Half)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "hazard,file,producer,half,consumer,use,slot,observed_min,safe,seen,kernels,files,source\n";
    const OPCODES: &str = "opcode,decoupled,min_stall,seen,kernels,write_board,read_board,source\n";

    /// What rows of `hazard,file,producer,consumer,use,cycles,sources` demand of a pair of opcodes, and what a scheduler keeps.
    fn demanded(rows: &[&str], pair: (Hazard, File, &str, &str)) -> Option<(u16, u16)> {
        let mut text = HEAD.to_owned();
        for row in rows {
            let cells: Vec<&str> = row.split(',').collect();
            let [hazard, file, producer, consumer, used_as, cycles, sources] = cells[..] else {
                panic!("{row}")
            };
            text += &format!(
                "{hazard},{file},{producer},low,{consumer},{used_as},,{cycles},{cycles},900,90,{sources},mined\n"
            );
        }
        let table = MinedTable::parse("sm_120", &text, OPCODES).expect("a table");
        let (hazard, file, producer, consumer) = pair;
        let used_as = if hazard == Hazard::Waw { Use::Overwrite } else { Use::Operand };
        let query = PairQuery {
            hazard,
            file,
            producer: table.number(producer),
            high: false,
            consumer: table.number(consumer),
            used_as,
            slot: (1, false),
            addend: false,
        };
        Some((table.demanded(&query)?, table.distance(&query)?.safe))
    }

    #[test]
    fn a_thin_row_takes_the_latest_time_that_is_known() {
        let shuffle = (Hazard::Raw, File::General, "HFMA2", "SHFL");
        let rows = |sources: u32, other: u32| {
            let thin = format!("raw,R,half,shuffle,operand,8,{sources}");
            let known = format!("raw,R,half,global,operand,5,{other}");
            demanded(&["raw,R,half,any,operand,3,40", &thin, &known], shuffle)
        };
        assert_eq!(rows(19, 40), Some((8, 8)), "enough sources have it");
        assert_eq!(rows(18, 40), Some((5, 8)), "5 is known of another reader; a scheduler keeps its 8");
        assert_eq!(rows(18, 18), Some((3, 8)), "only that of any reader is known");
        // Rows of one time bear each other out.
        let rows =
            ["raw,P,alu,any,operand,4,40", "raw,P,alu,vote,operand,13,10", "raw,P,alu,barrier,operand,13,9"];
        assert_eq!(demanded(&rows, (Hazard::Raw, File::Predicate, "LOP3", "VOTE")), Some((13, 13)));
    }

    #[test]
    fn where_no_time_is_known_the_quickest_is_asked_for() {
        let rows = ["raw,P,alu,any,operand,4,40", "raw,P,half,any,operand,8,2"];
        assert_eq!(demanded(&rows, (Hazard::Raw, File::Predicate, "HSETP2", "PLOP3")), Some((4, 8)));
        // Matrix instructions are no plain arithmetic: their earliest reader counts.
        let rows = [
            "raw,R,alu,any,operand,4,40",
            "raw,R,HMMA:4/4/2/4,any,operand,23,2",
            "raw,R,HMMA:4/4/2/4,fma,operand,25,3",
        ];
        let query = (Hazard::Raw, File::General, "HMMA:4/4/2/4", "FADD");
        assert_eq!(demanded(&rows, query), Some((23, 25)));
    }

    #[test]
    fn a_class_told_apart_needs_no_more_than_its_category() {
        let rows = [
            "raw,R,imad_wide,any,operand,3,40",
            "raw,R,imad_wide,alu_64,operand,5,40",
            "raw,R,imad_wide,alu_c,operand,5,11",
            "raw,R,alu,any,operand,4,40",
        ];
        let query = |consumer| (Hazard::Raw, File::General, "IMAD.WIDE", consumer);
        assert_eq!(demanded(&rows, query("ISETP")), Some((3, 5)));
        assert_eq!(demanded(&rows, query("MOV:64")), Some((5, 5)), "enough sources have it");
        // IMAD.HI comes out of the pipe of IMAD.WIDE, HFMA2.MMA out of one of its own.
        let rows = [
            "raw,R,imad_wide,any,operand,4,40",
            "raw,R,imad_hi,shuffle,operand,6,12",
            "raw,R,half,any,operand,4,40",
            "raw,R,half_mma,any,operand,10,12",
        ];
        let query = |producer, consumer| (Hazard::Raw, File::General, producer, consumer);
        assert_eq!(demanded(&rows, query("IMAD.HI", "SHFL")), Some((4, 6)));
        assert_eq!(demanded(&rows, query("HFMA2.MMA", "LOP3")), Some((10, 10)));
    }

    #[test]
    fn writes_are_asked_to_finish_in_order_and_no_more() {
        let latencies = ["raw,R,alu,any,operand,5,40", "raw,R,HMMA:4/4/2/4,any,operand,23,40"];
        let rows = |row: &'static str| [&latencies[..], &[row]].concat();
        let matrix = (Hazard::Waw, File::General, "HMMA:4/4/2/4", "LOP3");
        assert_eq!(demanded(&rows("waw,R,HMMA:4/4/2/4,alu,overwrite,22,2"), matrix), Some((18, 22)));
        assert_eq!(demanded(&rows("waw,R,HMMA:4/4/2/4,alu,overwrite,22,19"), matrix), Some((22, 22)));
        // Nothing is known of QMMA's latency: its row stays. Of a predicate nothing more than the order is asked.
        let unknown = (Hazard::Waw, File::General, "QMMA:4/4/2/4", "LOP3");
        assert_eq!(demanded(&rows("waw,R,QMMA:4/4/2/4,alu,overwrite,28,2"), unknown), Some((28, 28)));
        let elect = (Hazard::Waw, File::Predicate, "ELECT", "PLOP3");
        assert_eq!(demanded(&rows("waw,P,control,alu,overwrite,8,1"), elect), Some((1, 8)));
    }
}
