//! The conditions that compiled code keeps: which pairs ptxas really makes for sm_50 to sm_62.
//!
//! Source: 12.9 million instructions that ptxas wrote, 1.2 million pairs (`data/dual_issue_observed.csv` has the
//! counts by mnemonic). They refute most of what the documents say ([`super::pairing`]):
//!
//! | documented | what compiled code shows |
//! |---|---|
//! | 1: different units, by a matrix | two sets that do not overlap: arithmetic leads; memory, special functions, conversions and control flow follow; FP64 compares and 64-bit conversions follow up to sm_53 and lead from sm_60 on. ALU beside FMA does not occur, branches do |
//! | 2: no data dependence | no read after write, unless the guards exclude each other; both may write one register |
//! | 3: neither waits for a barrier | both may; only what the first one sets, or what was set less than two cycles before, cannot be waited for by the second |
//! | 4: sm_50 and sm_52 | every chip whose instructions share control words, sm_50 to sm_62 |
//! | 5: no bank conflict | no such condition |
//! | 6: encoding | the place of each mnemonic, as a table |
//!
//! Four more that no document has: the second one starts no block (nobody may jump between the two); the first
//! instruction of a kernel does not lead; only one of the two reads constant memory (none of 13,000 pairs with a constant
//! in the second has one in the first, too, and 68,000 neighbours stay apart for it); and where the second one's
//! operands come later, the first waits for it, without limit for control flow and at most nine cycles for others.
//!
//! A mnemonic without a row does not pair: permission needs a row.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use sassafras_machine::{Arch, InstructionEncoding};
use thiserror::Error;

use super::pairing::Half;
use crate::params::PARAMETERS;
use crate::table::{TableError, TableProblem, read_table};

/// Where in a pair a mnemonic has been seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// First.
    Lead,
    /// Second.
    Follow,
    /// Never in a pair.
    Alone,
}

/// What is known of a mnemonic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueRow {
    /// Its place.
    pub place: Place,
    /// Instructions seen.
    pub seen: u32,
    /// Of these in pairs, at this place.
    pub paired: u32,
    /// Least cycles from arithmetic that writes a general register to this instruction that reads it.
    pub operand_cycles: Option<u8>,
    /// Least stall other than 0.
    pub least_stall: u8,
}

/// Register files, by how long their contents take to arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RegisterFile {
    /// General registers.
    General,
    /// Predicates.
    Predicate,
    /// Condition codes.
    Flag,
}

/// The table of mnemonics and the distances between neighbours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    rows: BTreeMap<String, Vec<(RangeInclusive<u16>, IssueRow)>>,
    distances: BTreeMap<(RegisterFile, bool), Option<u8>>,
}

static SHIPPED: LazyLock<Observed> = LazyLock::new(|| {
    Observed::parse(
        include_str!("../../data/dual_issue_observed.csv"),
        include_str!("../../data/dual_issue_distances.csv"),
    )
    .expect("the shipped tables are validated by a test")
});

impl Observed {
    /// The tables mined from ptxas output.
    #[must_use]
    pub fn shipped() -> &'static Self {
        &SHIPPED
    }

    /// Parses the two tables. `observed` has the columns `mnemonic` (with `:64` for conversions of 64-bit types), `sm` (a
    /// range), `place`, `seen`, `paired`, `operand_cycles` (may be
    /// empty, with a `note`), `least_stall` and `source`; `distances` has `file`, `reader`, `cycles`, `note` and `source`.
    ///
    /// # Errors
    /// Names the line of a malformed row, of one that repeats another, or of one whose counts contradict its place; and
    /// a missing distance.
    pub fn parse(observed: &str, distances: &str) -> Result<Self, TableError> {
        let rows = read_table("dual_issue_observed.csv", observed, |row| {
            let place = match row.filled("place")? {
                "lead" => Place::Lead,
                "follow" => Place::Follow,
                "alone" => Place::Alone,
                _ => return Err(row.bad("place", "lead, follow or alone")),
            };
            let number =
                |column| row.number::<u32>(column)?.ok_or_else(|| row.error(TableProblem::Empty(column)));
            let (seen, paired) = (number("seen")?, number("paired")?);
            if (place == Place::Alone) != (paired == 0) || paired > seen {
                return Err(row.bad("paired", "a count that fits the place and is at most `seen`"));
            }
            let operand_cycles = row.number("operand_cycles")?;
            if operand_cycles.is_none() && row.text("note")?.is_empty() {
                return Err(row.error(TableProblem::Empty("note")));
            }
            let least_stall = row
                .number::<u8>("least_stall")?
                .filter(|stall| (1..=15).contains(stall))
                .ok_or_else(|| row.bad("least_stall", "1 to 15"))?;
            let value = IssueRow { place, seen, paired, operand_cycles, least_stall };
            let sm = row
                .filled("sm")?
                .split_once('-')
                .and_then(|(lo, hi)| Some(lo.parse().ok()?..=hi.parse().ok()?));
            let sm = sm.filter(|sm: &RangeInclusive<u16>| !sm.is_empty());
            let sm = sm.ok_or_else(|| row.bad("sm", "a range such as 50-62"))?;
            Ok((row.filled("mnemonic")?.to_owned(), row.line, (sm, value)))
        })?;
        let mut by_name: BTreeMap<String, Vec<(RangeInclusive<u16>, IssueRow)>> = BTreeMap::new();
        let mut lines: BTreeMap<String, u64> = BTreeMap::new();
        for (name, line, (sm, value)) in rows {
            let others = by_name.entry(name.clone()).or_default();
            let overlaps = |(other, _): &(RangeInclusive<u16>, IssueRow)| {
                other.contains(sm.start()) || sm.contains(other.start())
            };
            if others.iter().any(overlaps) {
                let problem = TableProblem::Overlap(lines.get(&name).copied().unwrap_or(0));
                return Err(TableError { table: "dual_issue_observed.csv", line, problem });
            }
            others.push((sm, value));
            lines.insert(name, line);
        }
        let distances = parse_distances(distances)?;
        Ok(Self { rows: by_name, distances })
    }

    /// What is known of a mnemonic (without modifiers; with `:64` for conversions of 64-bit types) on a chip.
    #[must_use]
    pub fn row(&self, mnemonic: &str, arch: Arch) -> Option<&IssueRow> {
        let sm = arch.number()?;
        self.rows.get(mnemonic)?.iter().find(|(range, _)| range.contains(&sm)).map(|(_, row)| row)
    }

    /// All mnemonics, each with the chips that a row is for.
    pub fn rows(&self) -> impl Iterator<Item = (&str, &RangeInclusive<u16>, &IssueRow)> {
        self.rows.iter().flat_map(|(name, rows)| rows.iter().map(|(sm, row)| (&**name, sm, row)))
    }

    /// Least cycles from arithmetic that writes a register to an instruction that reads it. Where the reader's row gives no
    /// number, arithmetic's counts, which is the longest.
    #[must_use]
    pub fn distance(&self, file: RegisterFile, reader: Option<&IssueRow>) -> u8 {
        let follows = reader.is_some_and(|row| row.place == Place::Follow);
        let of = |follows| self.distances.get(&(file, follows)).copied().flatten();
        let own = reader.filter(|_| file == RegisterFile::General).and_then(|row| row.operand_cycles);
        own.or(of(follows)).or(of(false)).unwrap_or(0)
    }
}

fn parse_distances(text: &str) -> Result<BTreeMap<(RegisterFile, bool), Option<u8>>, TableError> {
    const TABLE: &str = "dual_issue_distances.csv";
    use RegisterFile::{Flag, General, Predicate};
    let rows = read_table(TABLE, text, |row| {
        let file = match row.filled("file")? {
            "general" => General,
            "predicate" => Predicate,
            "flag" => Flag,
            _ => return Err(row.bad("file", "general, predicate or flag")),
        };
        let follows = match row.filled("reader")? {
            "lead" => false,
            "follow" => true,
            _ => return Err(row.bad("reader", "lead or follow")),
        };
        let cycles = row.number::<u8>("cycles")?;
        if cycles.is_none() && row.text("note")?.is_empty() {
            return Err(row.error(TableProblem::Empty("note")));
        }
        Ok(((file, follows), cycles, row.line))
    })?;
    let mut distances = BTreeMap::new();
    for (key, cycles, line) in rows {
        if distances.insert(key, cycles).is_some() {
            let problem = TableProblem::MissingRow("one row per file and reader");
            return Err(TableError { table: TABLE, line, problem });
        }
    }
    // Arithmetic's numbers stand in for missing ones of followers, so they must be there.
    let all = [General, Predicate, Flag].into_iter().all(|file| {
        distances.contains_key(&(file, true)) && distances.get(&(file, false)).is_some_and(Option::is_some)
    });
    if !all {
        let problem =
            TableProblem::MissingRow("a number for every file read by arithmetic, a row for followers");
        return Err(TableError { table: TABLE, line: 0, problem });
    }
    Ok(distances)
}

/// A predicate that an instruction runs under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guard {
    /// The predicate's number in the caller's numbering of registers.
    pub register: u32,
    /// Runs when it is false.
    pub negated: bool,
}

/// An instruction that may become half of a pair. Registers of all files have one numbering, the caller's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate<'a> {
    /// Its row; none when its mnemonic has none.
    pub row: Option<&'a IssueRow>,
    /// Registers it reads, its guard included.
    pub reads: &'a [u32],
    /// Registers it writes or may write.
    pub writes: &'a [u32],
    /// What it runs under.
    pub guard: Option<Guard>,
    /// Scoreboards that it waits for, one bit each.
    pub waits: u8,
    /// Scoreboards that it sets, one bit each.
    pub sets: u8,
    /// Control may come to it from elsewhere.
    pub starts_block: bool,
    /// It is the first instruction of a kernel.
    pub is_entry: bool,
    /// It reads constant memory.
    pub reads_constants: bool,
    /// It is control flow.
    pub is_flow: bool,
}

/// Why compiled code does not pair two neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Error)]
pub enum Refusal {
    /// The chip issues one instruction at a time.
    #[error("the chip issues one instruction at a time")]
    Architecture,
    /// The mnemonic is not seen at its place in a pair.
    #[error("the {0} instruction does not go there in a pair")]
    Place(Half),
    /// Control may come between the two.
    #[error("the second instruction starts a block")]
    StartsBlock,
    /// The first instruction of a kernel does not lead.
    #[error("the first instruction of a kernel does not lead")]
    Entry,
    /// The second reads what the first writes.
    #[error("the second instruction reads what the first one writes")]
    ReadAfterWrite,
    /// The second waits for a scoreboard that the first sets.
    #[error("the second instruction waits for the first one's scoreboard")]
    OwnScoreboard,
    /// Both read constant memory.
    #[error("both instructions read constant memory")]
    Constants,
    /// The first would wait for its partner for too long.
    #[error("the second instruction's operands come too late")]
    TooLate,
}

/// Whether `first` and `second` may issue together. `delay` is how many cycles the first one has to wait for the second.
///
/// # Errors
/// The first condition that fails.
pub fn can_pair(
    arch: Arch,
    first: &Candidate<'_>,
    second: &Candidate<'_>,
    delay: u32,
) -> Result<(), Refusal> {
    let place = |candidate: &Candidate<'_>| candidate.row.map(|row| row.place);
    if arch.info().encoding != InstructionEncoding::Grouped64 {
        return Err(Refusal::Architecture);
    }
    if place(first) != Some(Place::Lead) {
        return Err(Refusal::Place(Half::First));
    }
    if place(second) != Some(Place::Follow) {
        return Err(Refusal::Place(Half::Second));
    }
    if second.starts_block {
        return Err(Refusal::StartsBlock);
    }
    if first.is_entry {
        return Err(Refusal::Entry);
    }
    if second.reads.iter().any(|register| first.writes.contains(register)) && !exclude(first, second) {
        return Err(Refusal::ReadAfterWrite);
    }
    if first.sets & second.waits != 0 {
        return Err(Refusal::OwnScoreboard);
    }
    if first.reads_constants && second.reads_constants {
        return Err(Refusal::Constants);
    }
    if delay > PARAMETERS.dual_issue_max_delay && !second.is_flow {
        return Err(Refusal::TooLate);
    }
    Ok(())
}

/// Whether never more than one of the two runs.
fn exclude(first: &Candidate<'_>, second: &Candidate<'_>) -> bool {
    match (first.guard, second.guard) {
        (Some(a), Some(b)) => {
            a.register == b.register && a.negated != b.negated && !first.writes.contains(&a.register)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OBSERVED: &str = include_str!("../../data/dual_issue_observed.csv");
    const DISTANCES: &str = include_str!("../../data/dual_issue_distances.csv");

    fn of<'a>(mnemonic: &str, writes: &'a [u32], reads: &'a [u32]) -> Candidate<'a> {
        Candidate {
            row: Observed::shipped().row(mnemonic, Arch::SM_52),
            reads,
            writes,
            guard: None,
            waits: 0,
            sets: 0,
            starts_block: false,
            is_entry: false,
            reads_constants: false,
            is_flow: matches!(mnemonic, "BRA" | "SYNC"),
        }
    }

    #[test]
    fn each_condition_has_its_reason() {
        let (ffma, lds) = (of("FFMA", &[12], &[21, 19, 42]), of("LDS", &[40], &[11]));
        let pair = |first: Candidate<'_>, second: Candidate<'_>| can_pair(Arch::SM_52, &first, &second, 0);
        assert_eq!(pair(ffma, lds), Ok(()));
        assert_eq!(can_pair(Arch::SM_61, &ffma, &lds, 0), Ok(()));
        assert_eq!(can_pair(Arch::SM_70, &ffma, &lds, 0), Err(Refusal::Architecture));
        assert_eq!(pair(lds, ffma), Err(Refusal::Place(Half::First)));
        assert_eq!(pair(ffma, ffma), Err(Refusal::Place(Half::Second)));
        assert_eq!(pair(ffma, of("XYZZY", &[], &[])), Err(Refusal::Place(Half::Second)));
        assert_eq!(pair(ffma, Candidate { starts_block: true, ..lds }), Err(Refusal::StartsBlock));
        assert_eq!(pair(Candidate { is_entry: true, ..ffma }, lds), Err(Refusal::Entry));
        assert_eq!(pair(of("FFMA", &[11], &[]), lds), Err(Refusal::ReadAfterWrite));
        assert_eq!(pair(of("FFMA", &[40], &[40]), lds), Ok(()), "overwriting is no obstacle");
        assert_eq!(can_pair(Arch::SM_50, &ffma, &lds, 9), Ok(()));
        assert_eq!(can_pair(Arch::SM_50, &ffma, &lds, 10), Err(Refusal::TooLate));
        assert_eq!(can_pair(Arch::SM_50, &ffma, &of("BRA", &[], &[]), 12), Ok(()));
        let constant = |candidate| Candidate { reads_constants: true, ..candidate };
        assert_eq!(pair(constant(ffma), lds), Ok(()));
        assert_eq!(pair(constant(ffma), constant(of("LDC", &[5], &[]))), Err(Refusal::Constants));
        let (sets, waits) = (Candidate { sets: 2, ..ffma }, Candidate { waits: 3, ..lds });
        assert_eq!(pair(sets, waits), Err(Refusal::OwnScoreboard));
        assert_eq!(pair(Candidate { waits: 1, ..ffma }, Candidate { waits: 1, ..lds }), Ok(()));
    }

    #[test]
    fn guards_that_exclude_each_other_order_nothing() {
        let guard = |register, negated| Some(Guard { register, negated });
        let mov = |g| Candidate { guard: g, ..of("MOV", &[10], &[14]) };
        let lds = |g| Candidate { guard: g, ..of("LDS", &[10], &[10]) };
        let pair = |a, b| can_pair(Arch::SM_50, &mov(a), &lds(b), 0);
        assert_eq!(pair(guard(600, false), guard(600, true)), Ok(()));
        for (a, b) in [
            (None, guard(600, true)),
            (guard(600, true), guard(600, true)),
            (guard(601, false), guard(600, true)),
        ] {
            assert_eq!(pair(a, b), Err(Refusal::ReadAfterWrite));
        }
        let changes = Candidate { guard: guard(600, false), ..of("ISETP", &[600], &[]) };
        let reads = Candidate { guard: guard(600, true), ..of("LDS", &[1], &[600]) };
        assert_eq!(can_pair(Arch::SM_50, &changes, &reads, 0), Err(Refusal::ReadAfterWrite));
    }

    #[test]
    fn distances_by_file_and_reader() {
        let table = Observed::shipped();
        let general = |mnemonic| table.distance(RegisterFile::General, table.row(mnemonic, Arch::SM_52));
        assert_eq!(["FFMA", "LDG", "LDS", "MUFU"].map(general), [6, 2, 4, 2]);
        assert_eq!(general("XYZZY"), 6);
        assert_eq!(table.distance(RegisterFile::Predicate, table.row("BRA", Arch::SM_52)), 13);
        assert_eq!(table.distance(RegisterFile::Flag, table.row("IADD", Arch::SM_52)), 6);
    }

    #[test]
    fn the_documented_matrix_is_refuted_by_the_rows() {
        let on = |arch| move |name: &str| Observed::shipped().row(name, arch).map(|row| row.place);
        let place = on(Arch::SM_52);
        // Documented partners that both lead, and control flow that follows.
        assert_eq!([place("IADD"), place("FFMA")], [Some(Place::Lead); 2]);
        assert_eq!([place("BRA"), place("SYNC")], [Some(Place::Follow); 2]);
        // FP64 has pipes of its own from sm_60 on.
        let later = on(Arch::SM_60);
        assert_eq!(["DSETP", "I2F:64"].map(place), [Some(Place::Follow); 2]);
        assert_eq!(["DSETP", "I2F:64"].map(later), [Some(Place::Lead); 2]);
        assert_eq!((on(Arch::SM_70)("FFMA"), place("NOSUCH")), (None, None));
    }

    #[test]
    fn broken_tables_are_noticed() {
        let broken = |from: &str, to: &str| {
            assert!(OBSERVED.contains(from), "{from}");
            Observed::parse(&OBSERVED.replacen(from, to, 1), DISTANCES).unwrap_err()
        };
        broken("FFMA,50-62,lead", "FFMA,50-62,leads");
        broken("FFMA,50-62,lead", "FFMA,50-62,alone");
        broken("FFMA,50-62,lead", "FADD,50-62,lead");
        broken("FFMA,50-62", "FFMA,50");
        broken("FFMA,50-62", "FFMA,62-50");
        broken("DSETP,60-62", "DSETP,53-62");
        broken("LDS,50-62,follow,313615", "LDS,50-62,follow,1");
        broken("LDS,50-62,follow,313615", "LDS,50-62,follow,many");
        broken("least_stall", "stall");
        broken("BAR,50-62,follow,34471,9082,,15,no", "BAR,50-62,follow,34471,9082,,15,,no");
        broken("BAR,50-62,follow,34471,9082,,15", "BAR,50-62,follow,34471,9082,,16");
        for (from, to) in [
            ("flag,lead,6", "flag,lead,"),
            ("general,lead,6", "general,lead,six"),
            ("flag,lead", "flag,follow"),
        ] {
            assert!(Observed::parse(OBSERVED, &DISTANCES.replacen(from, to, 1)).is_err(), "{from}");
        }
    }

    proptest! {
        #[test]
        fn the_parser_never_panics(text in "[a-z0-9,\"\n]{0,120}") {
            let _ = Observed::parse(&text, &text);
            let _ = Observed::parse(&format!("{OBSERVED}{text}"), &format!("{DISTANCES}{text}"));
        }
    }
}
