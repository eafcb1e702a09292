//! Goal: the least distances that compiled code was ever seen to leave, whether or not registers connect two instructions.
//!
//! Rows are for *forms*: opcodes with the modifiers that change timing or state, and behind them the class of forms that
//! behave alike. A question is answered by the finest row that was seen [`ENOUGH`] times; no row means that the pair is
//! *rare*: nothing is known of how close it may come, and whoever moves code keeps its order and distance.
//!
//! Two uses, two rules. Whoever moves code keeps the least of every row, right or wrong: the chance that the next pair lies below
//! the least of `n` is at most `1 / (n + 1)`, whatever the distribution. Whoever judges code that somebody else compiled asks tens
//! of thousands of such questions, and at one alarm in a hundred would cry all day; nor are the thousand kernels that one template
//! makes a thousand observations. It takes *firm* rows alone, whose least was reached by [`ENOUGH`] pairs in several programs ([`is_firm`]) that
//! were written apart: a distribution that thins out towards its end does not pile up there in one as in the other, so that
//! a least that many reach, and nobody passes, is a rule of the compiler's.
//!
//! Source: `data/mined/*.seen.csv`, written by `sassafras-mine --seen` from compiled code; `data/mined/forms.csv` says
//! which forms stand for themselves.

use std::sync::LazyLock;

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use serde::Deserialize;

use super::{File, Use, class_of, table_name};
use crate::state::{State, StateTable};
use crate::table;
use crate::{Arch, Category, TableError};

/// So often a pair must have been seen for its least distance to count.
pub const ENOUGH: u64 = 100;

/// So many programs must have reached a least distance for it to be a rule of the compiler's rather than of one author's style: programs share templates,
/// and code of the compiler's own libraries. Chosen for no alarms in the half of the corpus that is held out, vllm's flashmla and cuSPARSE (6 would
/// do there); cuSOLVER, flash-attention 2 and torchvision had no say.
pub const PROGRAMS: u32 = 8;

/// Whether a least distance that this many pairs of this many programs have reached is firm.
pub fn is_firm(edge: u64, programs: u32) -> bool {
    edge >= ENOUGH && programs >= PROGRAMS
}

/// Distances are counted up to here; further apart nothing is asked.
pub const REACH: u16 = 16;

/// What two instructions are to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The second is the next instruction of the block; cycles are the stall of the first.
    Next,
    /// Both stand in one block, whatever stands between.
    Near,
    /// The second reads what the first wrote, in this file and half, in this way, at this [`place`].
    Reads(File, bool, Use, u8),
    /// The second overwrites what the first wrote, in this file and half.
    Overwrites(File, bool),
}

impl Kind {
    /// As the table spells it.
    pub fn name(self) -> String {
        match self {
            Kind::Next => "next".to_owned(),
            Kind::Near => "near".to_owned(),
            Kind::Reads(file, high, used_as, 0) => {
                format!("{} {} {}", file.name(), half(high), used_as.name())
            }
            Kind::Reads(file, high, used_as, slot) => {
                format!("{} {} {} {slot}", file.name(), half(high), used_as.name())
            }
            Kind::Overwrites(file, high) => format!("{} {} overwrite", file.name(), half(high)),
        }
    }

    /// Whether it is about predicates.
    pub fn is_of_predicates(self) -> bool {
        match self {
            Kind::Next | Kind::Near => false,
            Kind::Reads(file, ..) | Kind::Overwrites(file, _) => {
                matches!(file, File::Predicate | File::UniformPredicate)
            }
        }
    }

    /// Reading what was written, at this [`place`]; branches read their guard as others do.
    pub fn reads(file: File, high: bool, used_as: Use, place: u8) -> Kind {
        let used_as = if used_as == Use::Branch { Use::Guard } else { used_as };
        Kind::Reads(file, high, used_as, place)
    }

    fn parse(text: &str) -> Option<Kind> {
        match text {
            "next" => Some(Kind::Next),
            "near" => Some(Kind::Near),
            _ => {
                let mut words = text.split(' ');
                let file = words.next()?.parse().ok()?;
                let high = words.next()? == "high";
                match words.next()?.parse().ok()? {
                    Use::Overwrite => Some(Kind::Overwrites(file, high)),
                    used_as => {
                        let slot = words.next().map_or(Some(0), |slot| slot.parse().ok())?;
                        Some(Kind::Reads(file, high, used_as, slot))
                    }
                }
            }
        }
    }
}

/// Where operands are read at different times (`late`), the operand, counted twice and one more for odd registers; where results are
/// written one after the other (`serial`), the number of the predicate, counted twice from 2; else 0.
pub fn place(serial: bool, predicate: Option<u8>, late: bool, (operand, odd): (u8, bool)) -> u8 {
    match (late, predicate.filter(|_| serial)) {
        (true, _) => operand.min(15) * 2 + u8::from(odd),
        (false, Some(number)) => number.min(14) * 2 + 2,
        (false, None) => 0,
    }
}

fn half(high: bool) -> &'static str {
    if high { "high" } else { "low" }
}

/// How a form is named in the table, from fine to coarse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    names: [u16; 2],
    /// Its own name where it is about predicates.
    predicate: u16,
    /// Operands are read at different times.
    pub late: bool,
    /// Results are written one after the other.
    pub serial: bool,
    /// Not plain arithmetic that a device confirmed: its distances hold whether or not registers connect it.
    pub sensitive: bool,
    /// Its timing is not understood.
    pub unknown: bool,
    /// The least stall that it was ever seen with; 1 where it was never seen.
    pub stall: u8,
    /// The same where it is firm and the opcode has hidden state of its own, else 1.
    pub firm_stall: u8,
    /// What it shares with others besides registers and memory.
    pub state: State,
}

impl Default for Form {
    /// Of which nothing is known and nothing asked.
    fn default() -> Form {
        Form {
            names: [NOBODY; 2],
            predicate: NOBODY,
            late: false,
            serial: false,
            sensitive: false,
            unknown: false,
            stall: 1,
            firm_stall: 1,
            state: State::default(),
        }
    }
}

/// It has no name of its own.
const NOBODY: u16 = u16::MAX;
/// No row has its name.
const UNSEEN: u16 = u16::MAX - 1;

/// Forms by name, as the tables have them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormNames<'a> {
    /// Its own name; none for forms whose class was confirmed on a device to hold for them.
    pub own: Option<&'a str>,
    /// Its class: its own name where it has state of its own.
    pub class: &'a str,
    /// See [`Form::sensitive`].
    pub sensitive: bool,
    /// See [`Form::unknown`].
    pub unknown: bool,
    /// See [`Form::late`].
    pub late: bool,
    /// See [`Form::serial`].
    pub serial: bool,
    /// Its own name where predicates are written: what a device confirmed of its class holds for comparisons alone.
    pub predicate: Option<&'a str>,
}

impl FormNames<'_> {
    /// The names that count for a kind of pair.
    #[must_use]
    pub fn of(self, kind: Kind) -> Self {
        if kind.is_of_predicates() { Self { own: self.predicate, ..self } } else { self }
    }
}

/// The names of an opcode in a table.
pub fn form_names<'a>(table: &str, opcode: &'a str) -> FormNames<'a> {
    let plain = opcode.split(':').next().unwrap_or(opcode);
    let shorter = || std::iter::successors(Some(plain), |name| name.rsplit_once('.').map(|(front, _)| front));
    let row = |name: &str, kind| FORMS.get(name).is_some_and(|row| row.kind == kind && row.serves(table));
    let category = Category::of(plain);
    let hidden = StateTable::documented().get(plain);
    let state = hidden.is_none_or(State::is_own) || category.is_none() || row(plain, FormKind::Apart);
    let proven = row(plain, FormKind::Ordinary);
    let class = if state { plain } else { class_of(table, plain) };
    FormNames {
        predicate: (!(proven && is_comparison(plain)) && class != plain).then_some(plain),
        own: (!proven && class != plain).then_some(plain),
        class,
        sensitive: state || !proven,
        unknown: shorter().any(|name| row(name, FormKind::Unknown)),
        late: category == Some(Category::ImadWide),
        serial: row(plain, FormKind::Serial),
    }
}

/// Whether an opcode writes predicates as those do that a device confirmed.
fn is_comparison(opcode: &str) -> bool {
    matches!(opcode, "ISETP" | "FSETP")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FormKind {
    /// Its class was confirmed on a device with this opcode.
    Ordinary,
    /// It is like no other.
    Apart,
    /// Its timing is not understood: code that holds it stays as it came.
    Unknown,
    /// It writes its results one after the other.
    Serial,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct FormRow {
    tables: String,
    opcode: String,
    kind: FormKind,
    #[serde(rename = "source")]
    _source: String,
}

impl FormRow {
    fn serves(&self, table: &str) -> bool {
        self.tables == "*" || self.tables.split(' ').any(|name| name == table)
    }
}

static FORMS: LazyLock<HashMap<String, FormRow>> = LazyLock::new(|| {
    let rows = table::rows::<FormRow>("forms", include_str!("../../data/mined/forms.csv"));
    let rows = rows.expect("checked by the tests").into_iter().map(|row| row.value);
    rows.map(|row| (row.opcode.clone(), row)).collect()
});

/// What was seen on one group of architectures.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    name: String,
    numbers: HashMap<String, u16>,
    least: HashMap<(Kind, u16, u16), Row>,
    stalls: HashMap<String, Row>,
}

/// What a row says.
#[derive(Debug, Clone, Copy)]
struct Row {
    least: u8,
    /// It stands on so many pairs that closer ones would have been seen.
    firm: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct SeenRow {
    kind: String,
    first: String,
    second: String,
    least: u8,
    seen: u64,
    edge: u64,
    programs: u32,
}

impl Row {
    fn of(row: &SeenRow) -> Row {
        Row { least: row.least, firm: is_firm(row.edge, row.programs) }
    }
}

impl Seen {
    /// What was seen on an architecture; none where nothing was mined.
    pub fn of(arch: Arch) -> Option<&'static Seen> {
        TABLES.get(table_name(arch)?).map(|table| &**table).filter(|table| !table.is_empty())
    }

    /// Reads a table.
    ///
    /// # Errors
    /// When a row is malformed, twice there, or was not seen often enough to count.
    pub fn parse(name: &str, text: &str) -> Result<Seen, TableError> {
        let mut seen = Seen { name: name.to_owned(), ..Seen::default() };
        let mut twice = HashSet::default();
        for row in table::rows::<SeenRow>("seen", text)? {
            let value = &row.value;
            if value.kind == "stall" {
                if !twice.insert(value.first.clone()) {
                    return Err(row.error("a row for the same form stands above"));
                }
                seen.stalls.insert(value.first.clone(), Row::of(value));
                continue;
            }
            if value.seen < ENOUGH {
                return Err(row.error(format!("seen {} times, which is not enough", value.seen)));
            }
            let kind = Kind::parse(&value.kind).ok_or_else(|| row.error("an unknown kind"))?;
            let first = seen.number(&value.first);
            for second in value.second.split(' ') {
                let key = (kind, first, seen.number(second));
                if seen.least.insert(key, Row::of(value)).is_some() {
                    return Err(row.error("a row for the same pair stands above"));
                }
            }
        }
        Ok(seen)
    }

    fn number(&mut self, name: &str) -> u16 {
        let next = self.numbers.len() as u16;
        *self.numbers.entry(name.to_owned()).or_insert(next)
    }

    /// The form of an opcode.
    pub fn form(&self, opcode: &str) -> Form {
        let names = form_names(&self.name, opcode);
        // A name that no row has is nobody's, and so is every pair with it.
        let number = |name: &str| self.numbers.get(name).copied().unwrap_or(UNSEEN);
        let plain = opcode.split(':').next().unwrap_or(opcode);
        let stall = self.stalls.get(plain);
        let state = StateTable::documented().get(plain).unwrap_or_default();
        Form {
            names: [names.own.map_or(NOBODY, number), number(names.class)],
            predicate: names.predicate.map_or(NOBODY, number),
            late: names.late,
            serial: names.serial,
            sensitive: names.sensitive,
            unknown: names.unknown,
            stall: stall.map_or(1, |row| row.least),
            firm_stall: stall.filter(|row| row.firm && state.is_own()).map_or(1, |row| row.least),
            state,
        }
    }

    /// The least distance of a pair; none where it is rare. Who has a name of its own counts by it: rows of both names come first,
    /// then those of one name and the other's class, which must be there for each of them.
    pub fn least(&self, kind: Kind, first: Form, second: Form) -> Option<u8> {
        match self.rows(kind, first, second) {
            [Some(both), ..] => Some(both.least),
            [None, Some(one), Some(other)] => Some(one.least.max(other.least)),
            _ => None,
        }
    }

    /// The distance that a pair surely keeps: the most that a firm row asks of it or of pairs that it is one of.
    pub fn firm(&self, kind: Kind, first: Form, second: Form) -> Option<u8> {
        let rows = self.rows(kind, first, second).into_iter().flatten();
        rows.filter(|row| row.firm).map(|row| row.least).max()
    }

    /// The row of the names that a pair counts by, and where both are their own those of one name and the other's class.
    fn rows(&self, kind: Kind, first: Form, second: Form) -> [Option<Row>; 3] {
        let names = |form: Form| match kind.is_of_predicates() {
            true => [form.predicate, form.names[1]],
            false => form.names,
        };
        let ([a, first], [b, second]) = (names(first), names(second));
        let row = |a: u16, b: u16| self.least.get(&(kind, a, b)).copied();
        match (a != NOBODY, b != NOBODY) {
            (true, true) => [row(a, b), row(a, second), row(first, b)],
            (true, false) => [row(a, second), None, None],
            (false, true) => [row(first, b), None, None],
            (false, false) => [row(first, second), None, None],
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.least.is_empty()
    }
}

macro_rules! tables {
    ($($name:literal),*) => {
        [$(($name, include_str!(concat!("../../data/mined/", $name, ".seen.csv")))),*]
    };
}

/// A table that is read when it is first asked for.
type Unread = LazyLock<Seen, Box<dyn FnOnce() -> Seen + Send>>;

static TABLES: LazyLock<HashMap<&'static str, Unread>> = LazyLock::new(|| {
    let unread = |(name, text)| {
        let read = move || {
            Seen::parse(name, text).unwrap_or_else(|error| panic!("{name}: {error}; checked by the tests"))
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
    use super::*;

    const HEAD: &str = "kind,first,second,least,seen,edge,programs\n";

    #[test]
    fn every_table_loads() {
        for (name, table) in TABLES.iter() {
            assert!(table.least.len() > 100, "{name}: {}", table.least.len());
        }
        let arch: Arch = "sm_90".parse().expect("an architecture");
        let seen = Seen::of(arch).expect("mined");
        let [red, result] = ["BAR.RED", "B2R.RESULT"].map(|opcode| seen.form(opcode));
        assert_eq!(
            seen.least(Kind::Near, red, result),
            Some(6),
            "the result of a barrier is there six cycles later"
        );
        assert!(red.sensitive && !seen.form("IADD3").sensitive && seen.form("DMMA.8x8x4").unknown);
        assert!(seen.form("LEPC").stall >= 7);
    }

    #[test]
    fn every_architecture_that_is_scheduled_has_a_table() {
        for arch in Arch::all().filter(|&arch| table_name(arch).is_some()) {
            assert!(
                Seen::of(arch).is_some(),
                "{arch}: nothing keeps code from coming closer than any that is known"
            );
        }
    }

    #[test]
    fn without_a_device_all_arithmetic_keeps_to_the_least_distances() {
        for arch in Arch::all().filter(|&arch| table_name(arch).is_some_and(|table| table != "sm_90")) {
            let seen = Seen::of(arch).expect("mined");
            for opcode in ["IADD3", "ISETP", "FFMA", "IMAD", "IMAD.WIDE", "HADD2", "DFMA"] {
                assert!(seen.form(opcode).sensitive, "{arch}: {opcode}");
            }
        }
    }

    #[test]
    fn who_has_a_name_counts_by_it() {
        let text = format!(
            "{HEAD}stall,BAR.RED,,6,3,3,1\nnear,alu,alu,1,900,99,8\nnear,BAR.RED,alu fma,2,100,100,8\n\
             R low operand,alu,alu,4,500,9,1\nR low operand,R2P,alu,5,500,9,1\nP low operand,IADD3,alu,5,200,9,1\n\
             P low operand,alu,alu,4,900,9,1\n"
        );
        let seen = Seen::parse("sm_90", &text).expect("a table");
        let least = |kind, a, b| seen.least(kind, seen.form(a), seen.form(b));
        assert_eq!(least(Kind::Near, "BAR.RED", "IADD3"), Some(2));
        assert_eq!(least(Kind::Near, "BAR.RED", "FFMA"), Some(2));
        let firm = |a, b| seen.firm(Kind::Near, seen.form(a), seen.form(b));
        assert_eq!((firm("BAR.RED", "FFMA"), firm("IADD3", "LOP3")), (Some(2), None), "few reach the least");
        // What nobody has seen is rare, even where its class is common.
        assert_eq!(least(Kind::Near, "BAR.ARV", "IADD3"), None);
        let reads = Kind::reads(File::General, false, Use::Operand, 0);
        assert_eq!((least(reads, "IADD3", "LOP3"), least(reads, "R2P", "LOP3")), (Some(4), Some(5)));
        assert_eq!(least(reads, "P2R", "LOP3"), None);
        let predicates = Kind::reads(File::Predicate, false, Use::Operand, 0);
        assert_eq!((least(predicates, "ISETP", "SEL"), seen.form("BAR.RED").stall), (None, 6));
    }

    #[test]
    fn malformed_rows_are_refused() {
        for row in [
            "near,alu,alu,1,99,9,8",
            "far,alu,alu,1,100,9,8",
            "near,alu,alu,x,100,9,8",
            "near,alu,alu,1,100,9,8\nnear,alu,fma alu,2,100,9,8",
            "stall,NOP,,1,1,1,1\nstall,NOP,,2,1,1,1",
        ] {
            assert!(Seen::parse("sm_90", &format!("{HEAD}{row}\n")).is_err(), "{row}");
        }
    }
}
