//! Goal: how soon behind an instruction of fixed latency a source of it may be overwritten, and how soon a matrix instruction may
//! add to the result of another.
//!
//! Source: `data/source_reads.csv` and `data/addends.csv`, whose rows name theirs. Each has two numbers, as the mined distances
//! have: a scheduler keeps [`Spacing::cycles`], a checker demands no more than [`Spacing::least`].

use std::sync::LazyLock;

use serde::Deserialize;

use crate::dispatch::{Entries, best, enter, names};
use crate::names::names;
use crate::table;
use crate::{Arch, TableError};

names! {
    /// What overwrites a source.
    Overwriter {
        /// An instruction of fixed latency.
        Fixed = "fixed",
        /// One that takes its time: a load, a special function.
        Varying = "varying",
    }
}

/// How far apart two instructions are issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spacing {
    /// Cycles that are surely enough.
    pub cycles: u8,
    /// The least of them that any compiled code leaves.
    pub least: u8,
}

impl Spacing {
    /// Whatever the sources are read at: the next instruction comes a cycle later.
    const NEXT: Spacing = Spacing { cycles: 1, least: 1 };

    fn max(self, other: Spacing) -> Spacing {
        Spacing { cycles: self.cycles.max(other.cycles), least: self.least.max(other.least) }
    }
}

/// The name of the row for all readers without one.
const ANY: &str = "any";

/// How soon behind `reader`, which sets no scoreboards, `writer` may overwrite a source of it. Matrix instructions may be given
/// with their shape, as [`class_of`](crate::mined::class_of) takes it.
pub fn source_read(arch: Arch, reader: &str, writer: &str, by: Overwriter) -> Spacing {
    let rows_by = |by: &str| {
        let by = READS.get(by)?;
        names(reader).chain([ANY]).find_map(|name| best(by.get(name)?, arch))
    };
    names(writer).find_map(rows_by).or_else(|| rows_by(by.name())).unwrap_or(Spacing::NEXT)
}

/// The longest that `reader` keeps anyone of a kind from overwriting a source.
pub fn longest_source_read(arch: Arch, reader: &str, by: Overwriter) -> Spacing {
    let special = READS.keys().filter(|by| by.parse::<Overwriter>().is_err());
    special.fold(source_read(arch, reader, "", by), |longest, by| {
        longest.max(source_read(arch, reader, by, Overwriter::Fixed))
    })
}

/// How soon a matrix instruction may add to the result of another, which sets no scoreboard; none where that is not known. Both
/// are given with their shape (`HMMA:4/4/2/4`).
pub fn addend_spacing(arch: Arch, first: &str) -> Option<Spacing> {
    best(ADDENDS.get(first)?, arch)
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadRow {
    tables: String,
    name: String,
    by: String,
    cycles: u8,
    least: u8,
    source: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct AddendRow {
    tables: String,
    name: String,
    cycles: u8,
    least: u8,
    source: String,
}

/// By what overwrites, and reader.
type Reads = rustc_hash::FxHashMap<String, Entries<Spacing>>;

static READS: LazyLock<Reads> =
    LazyLock::new(|| parse_reads(include_str!("../data/source_reads.csv")).expect("checked by the tests"));

static ADDENDS: LazyLock<Entries<Spacing>> =
    LazyLock::new(|| parse_addends(include_str!("../data/addends.csv")).expect("checked by the tests"));

fn parse_reads(text: &str) -> Result<Reads, TableError> {
    let mut out = Reads::default();
    for row in table::rows::<ReadRow>("source_reads", text)? {
        let ReadRow { tables, name, by, cycles, least, source } = &row.value;
        let value = spacing(*cycles, *least).map_err(|message| row.error(message))?;
        enter(out.entry(by.clone()).or_default(), &row, [name, tables, source], value)?;
    }
    Ok(out)
}

fn parse_addends(text: &str) -> Result<Entries<Spacing>, TableError> {
    let mut out = Entries::default();
    for row in table::rows::<AddendRow>("addends", text)? {
        let AddendRow { tables, name, cycles, least, source } = &row.value;
        let value = spacing(*cycles, *least).map_err(|message| row.error(message))?;
        enter(&mut out, &row, [name, tables, source], value)?;
    }
    Ok(out)
}

fn spacing(cycles: u8, least: u8) -> Result<Spacing, String> {
    if least == 0 || cycles < least {
        return Err(format!("`cycles` ({cycles}) and `least` ({least}) are not in order"));
    }
    Ok(Spacing { cycles, least })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hazard;
    use crate::mined::{File, MinedTable, PairQuery, Use};

    fn arch(name: &str) -> Arch {
        name.parse().expect("an architecture")
    }

    #[test]
    fn sources_are_read_for_as_long_as_compiled_code_leaves() {
        let read = |sm, reader, writer, by| {
            let Spacing { cycles, least } = source_read(arch(sm), reader, writer, by);
            (cycles, least)
        };
        use Overwriter::{Fixed, Varying};
        assert_eq!(read("sm_90", "FFMA", "IADD3", Fixed), (1, 1));
        assert_eq!(read("sm_90", "FFMA", "LDG", Varying), (2, 2));
        assert_eq!(read("sm_90", "HMMA:4/4/2/4", "LDSM", Varying), (2, 1));
        assert_eq!(read("sm_90", "HMMA:4/4/2/4", "MOV", Fixed), (7, 7));
        assert_eq!(read("sm_120", "QMMA:4/4/2/4", "MOV", Fixed), (8, 8));
        assert_eq!(read("sm_100", "HMMA:4/4/2/4", "MOV", Fixed), (7, 1));
        assert_eq!(read("sm_80", "IMMA:4/2/1/4", "MOV", Fixed), (7, 1));
        assert_eq!(read("sm_80", "IMMA:4/4/2/4", "MOV", Fixed), (7, 7));
        assert_eq!(read("sm_90", "HMMA:4/4/2/4", "HMMA", Fixed), (1, 1), "what overwrites has a row");
        assert_eq!(read("sm_90", "DFMA", "LDG.E", Varying), (3, 1));
        assert_eq!(read("sm_80", "FFMA", "DADD", Varying), (2, 1));
        assert_eq!(read("sm_90", "ULEA", "UMOV", Fixed), (3, 3));
        assert_eq!(read("sm_90", "ULEA", "UIADD3", Fixed), (1, 1));
        assert_eq!(read("sm_107", "ULEA", "UMOV", Fixed), (3, 1));
    }

    #[test]
    fn the_longest_is_over_all_that_overwrite() {
        let longest = |reader, by| longest_source_read(arch("sm_90"), reader, by);
        assert_eq!(longest("FFMA", Overwriter::Fixed).least, 1);
        assert_eq!(longest("DADD", Overwriter::Varying), Spacing { cycles: 3, least: 1 });
        assert_eq!(longest("ULEA", Overwriter::Fixed), Spacing { cycles: 3, least: 3 });
        assert_eq!(longest("HMMA", Overwriter::Fixed), Spacing { cycles: 7, least: 7 });
    }

    #[test]
    fn addends_wait_for_what_they_are_added_to() {
        let least = |sm, name| addend_spacing(arch(sm), name).map(|spacing| spacing.least);
        assert_eq!(least("sm_90", "HMMA:4/4/2/4"), Some(24));
        assert_eq!(least("sm_100", "HMMA:4/4/2"), Some(20));
        assert_eq!(least("sm_75", "HMMA:4/4/2/4"), None, "it sets scoreboards there");
    }

    /// Two tables say how late uniform arithmetic reads: the one is for schedulers, the other for the checker.
    #[test]
    fn uniform_arithmetic_reads_as_late_as_was_mined() {
        for arch in Arch::all() {
            let Some(table) = MinedTable::of(arch) else { continue };
            for writer in ["ULDC", "UMOV"] {
                let mined = table.distance(&PairQuery {
                    hazard: Hazard::War,
                    file: File::Uniform,
                    producer: table.number("ULEA"),
                    high: false,
                    consumer: table.number(writer),
                    used_as: Use::Overwrite,
                    slot: (0, false),
                    addend: false,
                });
                let mined = mined.map_or(1, |distance| distance.observed_min);
                let least = source_read(arch, "ULEA", writer, Overwriter::Fixed).least;
                assert_eq!(u16::from(least), mined, "{arch}: {writer}");
            }
        }
    }

    #[test]
    fn rows_that_cannot_be_are_refused() {
        assert!(READS.contains_key("fixed") && READS.contains_key("varying") && ADDENDS.len() > 2);
        let read = |row: &str| {
            let text = format!("tables,name,by,cycles,least,source\n*,any,fixed,1,1,mined\n{row}\n");
            parse_reads(&text).map(drop)
        };
        let addend =
            |row: &str| parse_addends(&format!("tables,name,cycles,least,source\n{row}\n")).map(drop);
        assert_eq!((read("sm_90,any,fixed,2,1,mined"), addend("*,HMMA,24,24,mined")), (Ok(()), Ok(())));
        for (result, said) in [
            (read("sm_90,any,fixed,1,2,mined"), "not in order"),
            (read("sm_90,any,fixed,1,0,mined"), "not in order"),
            (read("*,any,fixed,1,1,mined"), "already"),
            (read("sm_91,any,fixed,1,1,mined"), "no table `sm_91`"),
            (read("sm_90,any,fixed,1,1,"), "no source"),
            (addend("*,HMMA,20,24,mined"), "not in order"),
            (addend("*,HMMA,24,x,mined"), "invalid digit"),
        ] {
            let error = result.expect_err(said);
            assert!(error.message.contains(said), "{error}");
        }
    }
}
