//! Goal: how close compiled code lets instructions stand, as counted by `cargo xtask mine`.
//!
//! One table per group of architectures, with two numbers per row. `observed_min` is the smallest distance that compiled
//! code ever left: a checker demands no more. `safe` is what a scheduler may use: confirmed on a device, or left often
//! enough between instructions with the same guard and no wait between, otherwise the upper bound of the category; it is
//! never below `observed_min`, which loading checks.
//!
//! Rows are for *classes* of instructions that behave alike ([`class_of`]): the category, unless `classes.csv` says
//! otherwise; matrix instructions are told apart by the registers that they take (`HMMA:4/4/2/4`). A lookup takes the most
//! specific row that there is: both classes at one operand, both classes, the producer's class with any consumer.
//!
//! Source: output of the vendor's assembler in open-source libraries and in this project's own kernels.

mod facts;
mod pooled;
pub mod residue;
pub mod seen;
pub mod silicon;

pub use facts::{
    LeastLatency, PAIR, Queues, accepted_queues, barrier_reads, class_of, confirmed, holds_back, is_table,
    least_latency, mined_with, queues, result_after_reads, table_name,
};

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::sync::LazyLock;

use serde::Deserialize;

use crate::names::names;
use crate::table::{self, Row};
use crate::{Arch, Hazard, TableError};
use facts::base;

names! {
    /// How the second instruction uses the register.
    Use {
        /// An operand.
        Operand = "operand",
        /// Part of an address.
        Address = "address",
        /// The guard.
        Guard = "guard",
        /// The guard of a branch.
        Branch = "branch",
        /// It is overwritten.
        Overwrite = "overwrite",
    }
}

names! {
    /// The register file.
    File {
        /// General registers.
        General = "R",
        /// Uniform registers.
        Uniform = "UR",
        /// Predicates.
        Predicate = "P",
        /// Uniform predicates.
        UniformPredicate = "UP",
        /// Convergence barriers.
        Barrier = "B",
        /// Condition codes.
        Flag = "CC",
    }
}

/// A class that a table names, by its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClassNumber(u16);

impl ClassNumber {
    const ANY: ClassNumber = ClassNumber(u16::MAX);

    /// The number.
    pub const fn get(self) -> u16 {
        self.0
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    hazard: Hazard,
    file: File,
    producer: ClassNumber,
    high: bool,
    consumer: ClassNumber,
    used_as: Use,
    slot: Option<(u8, bool)>,
}

/// What a matrix instruction multiplies, whatever it adds to: `HMMA:*/4/2` for `HMMA:4/4/2/4` and `HMMA:2/4/2/2`. How long it runs depends on that.
fn multiplied(class: &str) -> Option<String> {
    let (opcode, shape) = class.split_once(':')?;
    let mut sizes = shape.split('/').skip(1);
    Some(format!("{opcode}:*/{}/{}", sizes.next()?, sizes.next()?))
}

/// The classes of wide multiplications.
const WIDE: [&str; 2] = ["imad_wide", "imad_hi"];

/// One question to a table.
#[derive(Debug, Clone, Copy)]
pub struct PairQuery {
    /// What they collide over.
    pub hazard: Hazard,
    /// The register file.
    pub file: File,
    /// The first instruction's class, if the table names it.
    pub producer: Option<ClassNumber>,
    /// The register is an odd one of the first one's operand.
    pub high: bool,
    /// The second instruction's class, if the table names it.
    pub consumer: Option<ClassNumber>,
    /// How the second one uses the register.
    pub used_as: Use,
    /// At which of its operands, and whether in an odd register of it.
    pub slot: (u8, bool),
    /// That operand is a pair: what a wide multiplication adds to.
    pub addend: bool,
}

/// How far apart two instructions must be issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Distance {
    /// The smallest distance that compiled code ever left.
    pub observed_min: u16,
    /// What a scheduler may use.
    pub safe: u16,
}

/// What is known of one opcode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpcodeFacts {
    /// Results come back when they are ready, and scoreboards say so.
    pub decoupled: bool,
    /// Compiled code now and then sets a scoreboard for its result (`boarded_share` of constants.csv), whether or not it mostly does.
    pub boarded: bool,
    /// The least stall, whatever follows.
    pub min_stall: u8,
}

/// What was mined for one group of architectures.
#[derive(Debug, Clone, Default)]
pub struct MinedTable {
    name: String,
    numbers: HashMap<String, ClassNumber>,
    distances: HashMap<Key, Distance>,
    /// How many sources have the `observed_min` of a row.
    sources: HashMap<Key, u32>,
    /// What a checker asks where that is less than `observed_min`, since few sources bear that out ([`pooled`]).
    accepted: HashMap<Key, u16>,
    opcodes: HashMap<String, OpcodeFacts>,
    /// By class without shape, and file: the largest `observed_min`.
    horizons: HashMap<(String, File), u16>,
    /// By class, file and whether it is read as a guard, which is read sooner than operands: the smallest `observed_min` of any reader, and whether there is
    /// a row for any consumer. Matrix instructions that multiply registers of one shape have one together.
    shortest: HashMap<(ClassNumber, File, bool), (u16, bool)>,
    /// By file of a thread and whether it is read as a guard: the smallest `observed_min` of any result. Uniform results are no such family: VOTEU's
    /// predicate is there after 1 cycle, that of other uniform arithmetic after 4 to 11.
    quickest: HashMap<(File, bool), u16>,
    /// Classes of wide multiplications, and by how much later these read the even and the odd register of their addend.
    wide: HashSet<ClassNumber>,
    late_addend: [u16; 2],
    reads_as: Vec<ReadsAs>,
    /// Opcodes whose sources have been read when their results are there, and nothing else says so.
    by_result: HashSet<String>,
}

/// Who reads a register no sooner than somebody else.
#[derive(Debug, Clone, Copy)]
struct ReadsAs {
    file: File,
    consumer: Option<ClassNumber>,
    used_as: Use,
    as_consumer: Option<ClassNumber>,
    as_use: Use,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct DistanceRow {
    hazard: String,
    file: String,
    producer: String,
    half: String,
    consumer: String,
    #[serde(rename = "use")]
    used_as: String,
    slot: String,
    observed_min: u16,
    safe: u16,
    #[serde(rename = "seen")]
    _seen: u64,
    #[serde(rename = "kernels")]
    _kernels: u32,
    files: u32,
    source: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct OpcodeRow {
    opcode: String,
    decoupled: String,
    min_stall: u8,
    seen: u64,
    #[serde(rename = "kernels")]
    _kernels: u32,
    write_board: u64,
    read_board: u64,
    source: String,
}

impl MinedTable {
    /// The table of an architecture; none where nothing was mined.
    pub fn of(arch: Arch) -> Option<&'static MinedTable> {
        TABLES.get(table_name(arch)?).map(|table| &**table)
    }

    /// Reads a table from its two texts. Its name decides which classes opcodes belong to.
    pub fn parse(name: &str, distances: &str, opcodes: &str) -> Result<MinedTable, TableError> {
        let late_addend = facts::late_addend(name);
        let mut table = MinedTable { name: name.to_owned(), late_addend, ..MinedTable::default() };
        for row in table::rows::<DistanceRow>("mined distances", distances)? {
            table.add_distance(&row)?;
        }
        for row in table::rows::<OpcodeRow>("mined opcodes", opcodes)? {
            let decoupled = match row.value.decoupled.as_str() {
                "yes" => true,
                "no" => false,
                _ => return Err(row.error("`decoupled` is yes or no")),
            };
            if row.value.source.is_empty() {
                return Err(row.error("no source"));
            }
            let boarded = row.value.write_board > 0
                && row.value.write_board * u64::from(crate::constants().boarded_share) >= row.value.seen;
            let facts = OpcodeFacts { decoupled, boarded, min_stall: row.value.min_stall };
            let often = row.value.seen >= u64::from(crate::constants().boardless_seen);
            if often && row.value.read_board == 0 && row.value.write_board > 0 {
                table.by_result.insert(row.value.opcode.clone());
            }
            if table.opcodes.insert(row.value.opcode.clone(), facts).is_some() {
                return Err(row.error(format!("duplicate opcode {}", row.value.opcode)));
            }
        }
        for row in facts::reads_as(name) {
            table.reads_as.extend(table.reader(row));
        }
        table.accepted = pooled::accepted(&table);
        Ok(table)
    }

    /// Who reads like whom; none where no row of distances names one of them.
    fn reader(&self, row: &facts::ReadsAsRow) -> Option<ReadsAs> {
        let class = |name: &str| match name {
            "*" => Some(None),
            name => self.numbers.get(name).map(|&class| Some(class)),
        };
        Some(ReadsAs {
            file: row.file.parse().expect("checked by the tests"),
            consumer: class(&row.consumer)?,
            used_as: row.used_as.parse().expect("checked by the tests"),
            as_consumer: class(&row.as_consumer)?,
            as_use: row.as_use.parse().expect("checked by the tests"),
        })
    }

    fn add_distance(&mut self, row: &Row<DistanceRow>) -> Result<(), TableError> {
        let value = &row.value;
        let at = |message: String| row.error(message);
        if value.source.is_empty() {
            return Err(row.error("no source"));
        }
        if value.safe < value.observed_min {
            return Err(
                row.error(format!("safe ({}) is below observed_min ({})", value.safe, value.observed_min))
            );
        }
        let slot = match value.slot.as_str() {
            "" => None,
            text => {
                let digits = text.strip_suffix('h').unwrap_or(text);
                let place = digits.parse().map_err(|_| row.error("`slot` is a number, `h` behind it"))?;
                Some((place, text.ends_with('h')))
            }
        };
        let key = Key {
            hazard: value.hazard.parse().map_err(at)?,
            file: value.file.parse().map_err(at)?,
            producer: self.class(&value.producer),
            high: match value.half.as_str() {
                "low" => false,
                "high" => true,
                _ => return Err(row.error("`half` is low or high")),
            },
            consumer: self.class(&value.consumer),
            used_as: value.used_as.parse().map_err(at)?,
            slot,
        };
        if WIDE.contains(&value.consumer.as_str()) {
            self.wide.insert(key.consumer);
        }
        let distance = Distance { observed_min: value.observed_min, safe: value.safe };
        let horizon = self.horizons.entry((base(&value.producer).to_owned(), key.file)).or_default();
        *horizon = distance.observed_min.max(*horizon);
        if key.hazard == Hazard::Raw {
            let guards = matches!(key.used_as, Use::Guard | Use::Branch);
            if matches!(key.file, File::General | File::Predicate) {
                let quickest = self.quickest.entry((key.file, guards)).or_insert(u16::MAX);
                *quickest = distance.observed_min.min(*quickest);
            }
            let mut classes = vec![key.producer];
            if let Some(multiplied) = multiplied(&value.producer) {
                classes.push(self.class(&multiplied));
            }
            for class in classes {
                let entry = self.shortest.entry((class, key.file, guards)).or_insert((u16::MAX, false));
                *entry = (distance.observed_min.min(entry.0), entry.1 | (key.consumer == ClassNumber::ANY));
            }
        }
        self.sources.insert(key, value.files);
        if self.distances.insert(key, distance).is_some() {
            return Err(row.error("a row for the same pair stands above"));
        }
        Ok(())
    }

    fn class(&mut self, name: &str) -> ClassNumber {
        if name == "any" {
            return ClassNumber::ANY;
        }
        let next = ClassNumber(self.numbers.len() as u16);
        *self.numbers.entry(name.to_owned()).or_insert(next)
    }

    /// What is known of opcodes alone.
    pub fn without_distances(&self) -> MinedTable {
        MinedTable { name: self.name.clone(), opcodes: self.opcodes.clone(), ..MinedTable::default() }
    }

    /// The number of an opcode's class, if a row names it; of a matrix instruction without rows that of all which multiply registers of the same
    /// shape, if rows name others of them.
    pub fn number(&self, opcode: &str) -> Option<ClassNumber> {
        let class = class_of(&self.name, opcode);
        let alike = || multiplied(class).and_then(|multiplied| self.numbers.get(&multiplied));
        self.numbers.get(class).or_else(alike).copied()
    }

    /// What is known of an opcode.
    pub fn opcode(&self, opcode: &str) -> Option<OpcodeFacts> {
        self.opcodes.get(opcode).copied()
    }

    /// Whether compiled code never sets a scoreboard for the sources of an opcode, and waits for its result where they are overwritten.
    pub fn shows_reads_by_result(&self, opcode: &str) -> bool {
        self.by_result.contains(opcode)
    }

    /// The largest `observed_min` of any row for results or sources of such an opcode: further apart nothing is asked.
    pub fn horizon(&self, opcode: &str, file: File) -> Option<u16> {
        let pair = format!("{opcode}{PAIR}");
        let classes = [opcode, &pair].map(|name| base(class_of(&self.name, name)).to_owned());
        classes.into_iter().filter_map(|class| self.horizons.get(&(class, file)).copied()).max()
    }

    /// The shortest latency of a class: the smallest distance to any reader, in either half of the result; to guards, or to all others. None where no row is
    /// for any consumer: then too little was seen of the class to know who reads first.
    fn shortest(&self, class: ClassNumber, file: File, guards: bool) -> Option<u16> {
        self.shortest.get(&(class, file, guards)).filter(|(_, of_any)| *of_any).map(|(cycles, _)| *cycles)
    }

    /// What the row of a pair asks of compiled code: its `observed_min`, or less where few sources bear that out (`pooled`).
    pub fn accepted(&self, query: &PairQuery) -> Option<u16> {
        self.row(query).map(|(key, row)| self.accepted_of(&key, row))
    }

    fn accepted_of(&self, key: &Key, row: Distance) -> u16 {
        self.accepted.get(key).map_or(row.observed_min, |&cycles| cycles.min(row.observed_min))
    }

    /// What is demanded of a pair by its row, or by what is known of others that read no later (`reads_as.csv`, `late_half` and `late_even` of `architectures.csv`),
    /// though no pair of just these classes stood so close in the code that the table is made of.
    pub fn demanded(&self, query: &PairQuery) -> Option<u16> {
        let row = self.accepted(query)?;
        let (Hazard::Raw, Some(consumer)) = (query.hazard, query.consumer) else { return Some(row) };
        let at = |consumer, used_as, slot| {
            let PairQuery { hazard, file, high, .. } = *query;
            let key = Key { hazard, file, producer: query.producer?, high, consumer, used_as, slot };
            self.distances.get(&key).map(|&row| self.accepted_of(&key, row))
        };
        let is_alike = |reader: &&ReadsAs| {
            reader.file == query.file
                && reader.used_as == query.used_as
                && reader.consumer.is_none_or(|class| class == consumer)
        };
        let alike = self.reads_as.iter().filter(is_alike);
        let alike = alike.filter_map(|like| at(like.as_consumer.unwrap_or(consumer), like.as_use, None));
        let late = match (query.slot.1, query.addend) {
            (true, _) => self.late_addend[1],
            (false, true) => self.late_addend[0],
            (false, false) => 0,
        };
        let least = alike.fold(row, u16::min);
        if late == 0 || !self.wide.contains(&consumer) {
            return Some(least);
        }
        let operand = |slot| at(consumer, query.used_as, slot);
        let soonest = (1..=4).filter_map(|place| operand(Some((place, false)))).chain(operand(None)).max();
        Some(soonest.map_or(least, |cycles| least.min(cycles.saturating_sub(late).max(1))))
    }

    /// The least that any pair needs, where no row is about this one. A result is there for no reader sooner than for the earliest that is known; of two writes
    /// the second may not finish first, which takes the difference of their shortest latencies. Where no reader of the first one's results is known, they are
    /// there no sooner than the quickest result of the register file, and what is written over them may come at once; of uniform results nothing is known then.
    pub fn bound(&self, query: &PairQuery) -> Option<u16> {
        let guards = matches!(query.used_as, Use::Guard | Use::Branch);
        let first = query.producer.and_then(|producer| self.shortest(producer, query.file, guards));
        match (query.hazard, first) {
            (Hazard::Raw, Some(first)) => Some(first),
            (Hazard::Raw, None) => self.quickest.get(&(query.file, guards)).copied(),
            (Hazard::Waw, Some(first)) => {
                // What takes longer than it can be told finishes after anything.
                let second = query.consumer.and_then(|consumer| self.shortest(consumer, query.file, false));
                Some(first.saturating_sub(second.unwrap_or(first)).max(1))
            }
            (Hazard::Waw, None) => self.quickest.contains_key(&(query.file, false)).then_some(1),
            _ => None,
        }
    }

    /// The most specific row for a pair.
    pub fn distance(&self, query: &PairQuery) -> Option<Distance> {
        self.row(query).map(|(_, row)| row)
    }

    fn row(&self, query: &PairQuery) -> Option<(Key, Distance)> {
        let get = |producer, consumer, slot| {
            let PairQuery { hazard, file, high, used_as, .. } = *query;
            let key = Key { hazard, file, producer, high, consumer, used_as, slot };
            self.distances.get(&key).map(|&row| (key, row))
        };
        let producer = query.producer?;
        query
            .consumer
            .and_then(|c| get(producer, c, Some(query.slot)).or_else(|| get(producer, c, None)))
            .or_else(|| get(producer, ClassNumber::ANY, None))
    }
}

macro_rules! tables {
    ($($name:literal),*) => {
        [$(($name, include_str!(concat!("../../data/mined/", $name, ".distances.csv")),
            include_str!(concat!("../../data/mined/", $name, ".opcodes.csv")))),*]
    };
}

/// A table that is read when it is first asked for.
type Unread = LazyLock<MinedTable, Box<dyn FnOnce() -> MinedTable + Send>>;

static TABLES: LazyLock<HashMap<&'static str, Unread>> = LazyLock::new(|| {
    let unread = |(name, distances, opcodes)| {
        let read = move || {
            let table = MinedTable::parse(name, distances, opcodes);
            table.unwrap_or_else(|error| panic!("{name}: {error}; checked by the tests"))
        };
        (name, Unread::new(Box::new(read)))
    };
    tables!["sm_70", "sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_103", "sm_107", "sm_120"]
        .into_iter()
        .map(unread)
        .collect()
});

#[cfg(test)]
mod tests {
    use super::facts::{AFTER_READS, ARCHES, CLASSES, CONFIRMED, wider_class};
    use super::*;
    use crate::Category;

    const DISTANCES: &str =
        "hazard,file,producer,half,consumer,use,slot,observed_min,safe,seen,kernels,files,source\n";
    const OPCODES: &str = "opcode,decoupled,min_stall,seen,kernels,write_board,read_board,source\n";

    fn parse(row: &str) -> Result<MinedTable, TableError> {
        MinedTable::parse("sm_90", &format!("{DISTANCES}{row}\n"), OPCODES)
    }

    #[test]
    fn every_embedded_table_loads_and_serves_its_architectures() {
        for (arch, row) in ARCHES.iter() {
            let (name, table) = (&row.table, &TABLES[row.table.as_str()]);
            assert!(table.distances.len() > 80, "{name} has {} rows", table.distances.len());
            assert!(["yes", "no"].contains(&row.barrier_reads.as_str()), "{arch}");
            assert!(row.with.is_empty() || TABLES.contains_key(row.with.as_str()), "{arch}");
            let arch: Arch = arch.parse().expect("an architecture");
            let pipes = row.holds_back.split_whitespace().count();
            assert_eq!(holds_back(arch).count(), pipes, "{arch}");
            assert!(MinedTable::of(arch).is_some());
        }
        assert_eq!(confirmed("sm_90", "raw,R,alu,low,fma,operand,"), Some(5));
        assert!(CONFIRMED.keys().all(|(table, _)| TABLES.contains_key(table.as_str())));
        assert!(queues("LDS.U", Some(Category::Shared)).returns != 0);
        assert_eq!(queues("IADD3", Some(Category::Alu)), Queues::default());
        let [movm, load] = ["MOVM", "LDSM"].map(|opcode| {
            (queues(opcode, Some(Category::Shared)), accepted_queues(opcode, Some(Category::Shared)))
        });
        assert_ne!(movm.0.returns, load.0.returns);
        assert_eq!(movm.1.returns, load.1.returns);
        assert!(load.1.overwrites(movm.1) && !load.0.overwrites(movm.0));
        let [atomic, load] = ["ATOMG", "LDG"].map(|opcode| {
            (queues(opcode, Some(Category::Global)), accepted_queues(opcode, Some(Category::Global)))
        });
        assert!(load.1.overwrites(atomic.1) && !load.0.overwrites(atomic.0));
        let [load, store] = ["LDS", "STS"].map(|opcode| least_latency(opcode, Some(Category::Shared)));
        assert!(load.write > load.read && store.read > load.read);
    }

    #[test]
    fn results_behind_the_reading_of_sources_are_rows_of_tables() {
        let rows = || AFTER_READS.values().flatten();
        let names = rows().flat_map(|row| row.tables.split_whitespace());
        assert!(names.into_iter().all(|name| TABLES.contains_key(name)));
        assert!(rows().all(|row| row.cycles > 1 && Category::of(base(&row.name)).is_some()));
        let [hopper, ampere]: [Arch; 2] =
            ["sm_90a", "sm_80"].map(|name| name.parse().expect("an architecture"));
        let dmma = |arch| result_after_reads(arch, "DMMA:4/2/2/4");
        assert_eq!((dmma(hopper), dmma(ampere)), (Some(18), None), "measured on sm_90 alone");
    }

    #[test]
    fn a_class_told_apart_has_the_category_of_its_opcodes() {
        let wider = |class| wider_class("sm_120", class);
        assert_eq!(
            ["alu_c", "imad_hi", "half_f32"].map(wider),
            [Some("alu"), Some("imad_wide"), Some("half")]
        );
        assert_eq!(["alu", "convert", "async", "HMMA:4/4/2/4"].map(wider), [None; 4]);
    }

    #[test]
    fn whose_sources_are_overwritten_has_a_row_of_its_own() {
        let nobody = facts::names_without_a_row();
        assert!(nobody.is_empty(), "without a row a name stands for nobody: {nobody:?}");
    }

    #[test]
    fn safe_is_never_below_observed_min() {
        for (name, table) in TABLES.iter() {
            let wrong = table.distances.iter().find(|(_, d)| d.safe < d.observed_min);
            assert!(wrong.is_none(), "{name}: {wrong:?}");
        }
        let error = parse("raw,R,alu,low,alu,operand,,5,4,100,10,3,mined").expect_err("safe is too small");
        assert!(error.message.contains("below observed_min"), "{error}");
    }

    #[test]
    fn a_class_without_rows_is_no_quicker_than_all_others() {
        let text = format!(
            "{DISTANCES}raw,R,alu,low,any,operand,,4,9,100,10,3,t\nraw,R,fma,low,any,operand,,2,8,100,10,3,t\n\
             raw,P,alu,low,any,guard,,12,13,100,10,3,t\nraw,UP,uniform,low,any,operand,,4,9,100,10,3,t\n"
        );
        let table = MinedTable::parse("sm_90", &text, OPCODES).expect("a table");
        let query = |hazard, file, producer: &str, used_as| PairQuery {
            hazard,
            file,
            producer: table.number(producer),
            high: false,
            consumer: table.number("SEL"),
            used_as,
            slot: (1, false),
            addend: false,
        };
        let bound = |hazard, file, used_as| table.bound(&query(hazard, file, "HADD2.F32", used_as));
        assert_eq!(table.number("HADD2.F32"), None);
        assert_eq!(bound(Hazard::Raw, File::General, Use::Operand), Some(2));
        assert_eq!(bound(Hazard::Waw, File::General, Use::Overwrite), Some(1));
        assert_eq!(bound(Hazard::Raw, File::Predicate, Use::Guard), Some(12));
        assert_eq!(bound(Hazard::Raw, File::Predicate, Use::Operand), None, "no reader but guards is known");
        assert_eq!(
            bound(Hazard::Raw, File::UniformPredicate, Use::Operand),
            None,
            "uniform classes differ too much"
        );
        assert_eq!(table.bound(&query(Hazard::Raw, File::General, "SEL", Use::Operand)), Some(4));
    }

    #[test]
    fn the_most_specific_row_wins() {
        let text = format!(
            "{DISTANCES}raw,R,alu,low,any,operand,,3,9,100,10,3,t\nraw,R,alu,low,fma,operand,,4,8,100,10,3,t\n\
             raw,R,alu,low,imad_wide,operand,,5,7,100,10,3,t\nraw,R,alu,low,imad_wide,operand,2h,6,6,100,10,3,t\n"
        );
        let table = MinedTable::parse("sm_90", &text, OPCODES).expect("a table");
        let query = |consumer: &str, slot| PairQuery {
            hazard: Hazard::Raw,
            file: File::General,
            producer: table.number("SEL"),
            high: false,
            consumer: table.number(consumer),
            used_as: Use::Operand,
            slot,
            addend: false,
        };
        let min = |consumer, slot| table.distance(&query(consumer, slot)).map(|d| d.observed_min);
        assert_eq!(min("IMAD.WIDE", (2, true)), Some(6));
        assert_eq!(min("IMAD.WIDE", (2, false)), Some(5));
        assert_eq!(min("FMUL", (2, true)), Some(4));
        assert_eq!(min("LDG", (0, false)), Some(3));
        assert_eq!(table.distance(&PairQuery { high: true, ..query("FADD", (0, false)) }), None);
        assert_eq!(table.horizon("SEL", File::General), Some(6));
    }

    #[test]
    fn classes_depend_on_the_table() {
        assert_eq!(class_of("sm_90", "VIADD"), "fma");
        assert_eq!(class_of("sm_86", "VIADD"), "alu");
        assert_eq!(class_of("sm_120", "MOV:64"), "alu_64");
        assert_eq!(class_of("sm_120", "MOV"), "alu_b");
        assert_eq!(class_of("sm_90", "IADD:64"), "alu");
        assert_eq!(class_of("sm_90", "HMMA:4/4/2/4"), "HMMA:4/4/2/4");
        assert_eq!(class_of("sm_90", "NOVEL"), "NOVEL");
        assert_eq!(class_of("sm_100", "UTCHMMA.2CTA"), "async");
        assert_eq!(class_of("sm_90", "UIADD3.64"), "uniform");
        let tables: Vec<&String> = ARCHES.values().map(|row| &row.table).collect();
        let listed = CLASSES.values().flatten().flat_map(|listed| &listed.tables);
        assert!(listed.into_iter().all(|named| tables.contains(&named)), "a table that there is not");
    }

    #[test]
    fn malformed_rows_are_refused() {
        for row in [
            "row,R,alu,low,alu,operand,,5,5,1,1,1,t",
            "raw,Q,alu,low,alu,operand,,5,5,1,1,1,t",
            "raw,R,alu,middle,alu,operand,,5,5,1,1,1,t",
            "raw,R,alu,low,alu,wish,,5,5,1,1,1,t",
            "raw,R,alu,low,alu,operand,x,5,5,1,1,1,t",
            "raw,R,alu,low,alu,operand,,-5,5,1,1,1,t",
            "raw,R,alu,low,alu,operand,,5,5,1,1,1,",
            "raw,R,alu,low,alu,operand,,5,5,1,1,1,t\nraw,R,alu,low,alu,operand,,6,6,1,1,1,t",
        ] {
            assert!(parse(row).is_err(), "{row}");
        }
        assert!(MinedTable::parse("", DISTANCES, &format!("{OPCODES}NOP,maybe,1,1,1,0,0,t\n")).is_err());
    }
}
