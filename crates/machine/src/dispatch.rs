//! Goal: which pipe of a sub-core takes an instruction, how soon it takes the next one, and how long an instruction whose
//! time varies is expected to take.
//!
//! Source: `data/dispatch.csv`, `data/source_reads.csv`, `data/addends.csv` and `data/expected_latencies.csv`, whose rows name
//! theirs.

use std::sync::LazyLock;

use rustc_hash::FxHashMap as HashMap;
use serde::Deserialize;

pub use crate::operand_time::{Overwriter, Spacing, addend_spacing, longest_source_read, source_read};

use crate::mined::{is_table, table_name};
use crate::names::names;
use crate::table::{self, Row};
use crate::{Arch, Category, TableError};

/// The longest stall that a control field holds.
const LONGEST_STALL: u8 = 15;

names! {
    /// A pipe of a sub-core.
    Pipe {
        /// Integer and logic.
        Alu = "alu",
        /// FP32.
        Fma = "fma",
        /// Packed half precision.
        Half = "half",
        /// Packed half precision on the matrix pipe.
        HalfMma = "half_mma",
        /// FP64.
        Fp64 = "fp64",
        /// Special functions and conversions.
        Sfu = "sfu",
        /// Matrix instructions.
        Tensor = "tensor",
        /// Global, shared and local memory, textures, shuffles.
        Memory = "memory",
        /// Constant loads.
        Constant = "constant",
        /// Special registers.
        Special = "special",
        /// The uniform datapath.
        Uniform = "uniform",
        /// Branches and the like.
        Control = "control",
        /// Barriers and fences.
        Barrier = "barrier",
    }
}

/// How an instruction is dispatched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dispatch {
    /// By pipe: cycles until the next instruction of the warp may go there; 0 where it holds nothing up.
    pub busy: [u8; Pipe::ALL.len()],
    /// By pipe: whether it goes there itself, and so must wait for others.
    pub enters: [bool; Pipe::ALL.len()],
    /// As `busy`, as far as any compiled code shows it.
    pub busy_min: [u8; Pipe::ALL.len()],
    /// As `enters`, as far as any compiled code shows it.
    pub enters_min: [bool; Pipe::ALL.len()],
    /// Least stall, whatever follows.
    pub least: u8,
    /// Cycles until the warp's turn may go to other threads of it.
    pub settle: u8,
    /// The least of these that any compiled code leaves.
    pub settle_min: u8,
}

impl Default for Dispatch {
    fn default() -> Dispatch {
        Dispatch {
            busy: [0; Pipe::ALL.len()],
            enters: [false; Pipe::ALL.len()],
            busy_min: [0; Pipe::ALL.len()],
            enters_min: [false; Pipe::ALL.len()],
            least: 1,
            settle: 32,
            settle_min: 1,
        }
    }
}

impl Dispatch {
    /// The pipes that it must wait for.
    pub fn needed(&self) -> impl Iterator<Item = Pipe> {
        Pipe::ALL.iter().zip(self.enters).filter(|&(_, enters)| enters).map(|(&pipe, _)| pipe)
    }

    /// The pipes that it holds up, each with the cycles.
    pub fn pipes(&self) -> impl Iterator<Item = (Pipe, u8)> {
        Pipe::ALL
            .iter()
            .zip(self.busy)
            .filter(|&(_, cycles)| cycles > 0)
            .map(|(&pipe, cycles)| (pipe, cycles))
    }
}

/// How an opcode is dispatched on an architecture.
pub fn dispatch(arch: Arch, opcode: &str) -> Dispatch {
    known_dispatch(arch, opcode).unwrap_or_default()
}

/// How an opcode is dispatched on an architecture; none where no row says so.
pub fn known_dispatch(arch: Arch, opcode: &str) -> Option<Dispatch> {
    names(opcode).find_map(|name| best(DISPATCH.get(name)?, arch))
}

/// Whether an opcode gives the warp's turn to other threads of it, for which everything before must have settled.
pub fn switches(opcode: &str) -> bool {
    opcode.split('.').next() == Some("BSYNC")
}

/// Cycles until the warp's turn may go to other threads of it, behind whatever writes a predicate.
pub fn predicate_settle(arch: Arch) -> u8 {
    predicate(arch).map_or(32, |row| row.settle)
}

/// The least of [`predicate_settle`] that any compiled code leaves.
pub fn predicate_settle_min(arch: Arch) -> u8 {
    predicate(arch).map_or(1, |row| row.settle_min)
}

fn predicate(arch: Arch) -> Option<Dispatch> {
    DISPATCH.get("predicate").and_then(|rows| best(rows, arch))
}

/// A value for some tables, `*` for all.
#[derive(Debug)]
pub(crate) struct Entry<T> {
    tables: String,
    value: T,
}

/// Values by name.
pub(crate) type Entries<T> = HashMap<String, Vec<Entry<T>>>;

/// The value for an architecture: one for some tables comes before one for all.
pub(crate) fn best<T: Copy>(entries: &[Entry<T>], arch: Arch) -> Option<T> {
    let table = table_name(arch).unwrap_or_default();
    let serves = |entry: &&Entry<T>| entry.tables == "*" || entry.tables.split(' ').any(|t| t == table);
    entries.iter().filter(serves).max_by_key(|entry| entry.tables != "*").map(|entry| entry.value)
}

/// Adds a row. Its tables must be known, it must have a source, and no table may have two values for a name.
pub(crate) fn enter<R, T>(
    entries: &mut Entries<T>,
    row: &Row<R>,
    [name, tables, source]: [&str; 3],
    value: T,
) -> Result<(), TableError> {
    if source.is_empty() {
        return Err(row.error("no source"));
    }
    if let Some(unknown) = tables.split(' ').find(|&table| table != "*" && !is_table(table)) {
        return Err(row.error(format!("there is no table `{unknown}`")));
    }
    let entries = entries.entry(name.to_owned()).or_default();
    let named = |table: &str| entries.iter().any(|entry| entry.tables.split(' ').any(|other| other == table));
    if let Some(twice) = tables.split(' ').find(|&table| named(table)) {
        return Err(row.error(format!("`{name}` has a row for `{twice}` already")));
    }
    entries.push(Entry { tables: tables.to_owned(), value });
    Ok(())
}

/// Cycles that an instruction of variable latency is expected to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpectedLatency {
    /// Until the result may be read.
    pub write: u16,
    /// Until the sources have been read.
    pub read: u16,
}

/// What to expect of an opcode whose time varies; that of a shuffle where nothing is known.
pub fn expected_latency(opcode: &str) -> ExpectedLatency {
    names(opcode)
        .find_map(|name| EXPECTED.get(name))
        .copied()
        .unwrap_or(ExpectedLatency { write: 25, read: 16 })
}

/// The names under which an opcode may have a row: itself, with its shape where it has one (`HMMA:4/2/1/4`), then without, with
/// fewer and fewer modifiers, and its category.
pub(crate) fn names(opcode: &str) -> impl Iterator<Item = &str> {
    let (plain, shaped) = match opcode.split_once(':') {
        Some((plain, _)) => (plain, Some(opcode)),
        None => (opcode, None),
    };
    let category = Category::of(plain);
    // IMAD.WIDE has a category of its own, which comes before the row of IMAD.
    let own = Some(plain).filter(|_| category != Some(Category::ImadWide));
    let shorter = std::iter::successors(own, |name| name.rsplit_once('.').map(|(front, _)| front));
    shaped.into_iter().chain(shorter).chain(category.map(Category::name))
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDispatch {
    tables: String,
    name: String,
    pipes: String,
    pipes_min: String,
    least: u8,
    settle: u8,
    settle_min: u8,
    source: String,
}

static DISPATCH: LazyLock<Entries<Dispatch>> =
    LazyLock::new(|| parse(include_str!("../data/dispatch.csv")).expect("checked by the tests"));

/// Reads the table.
fn parse(text: &str) -> Result<Entries<Dispatch>, TableError> {
    let mut out = Entries::default();
    for row in table::rows::<RawDispatch>("dispatch", text)? {
        let raw = &row.value;
        let value = raw.dispatch().map_err(|message| row.error(message))?;
        enter(&mut out, &row, [&raw.name, &raw.tables, &raw.source], value)?;
    }
    Ok(out)
}

/// By pipe, the cycles that it is held up, and whether it is gone into.
type Pipes = ([u8; Pipe::ALL.len()], [bool; Pipe::ALL.len()]);

fn pipes(text: &str) -> Result<Pipes, String> {
    let (mut busy, mut enters) = ([0; Pipe::ALL.len()], [false; Pipe::ALL.len()]);
    for part in text.split_whitespace() {
        let (pipe, cycles) = part.split_once(':').ok_or_else(|| format!("`{part}` is not pipe:cycles"))?;
        let name = pipe.strip_prefix('>');
        let pipe: Pipe = name.unwrap_or(pipe).parse()?;
        let cycles: u8 = cycles.parse().map_err(|error| format!("`{part}`: {error}"))?;
        if cycles == 0 {
            return Err(format!("`{part}` holds nothing up"));
        }
        busy[pipe as usize] = cycles;
        enters[pipe as usize] = name.is_none();
    }
    Ok((busy, enters))
}

impl RawDispatch {
    fn dispatch(&self) -> Result<Dispatch, String> {
        let &RawDispatch { least, settle, settle_min, .. } = self;
        if !(1..=LONGEST_STALL).contains(&least) {
            return Err(format!("`least` is {least}: a stall is 1 to {LONGEST_STALL}"));
        }
        if settle < settle_min || settle_min == 0 {
            return Err(format!("`settle` ({settle}) and `settle_min` ({settle_min}) are not in order"));
        }
        let (busy, enters) = pipes(&self.pipes)?;
        let (busy_min, enters_min) = match self.pipes_min.as_str() {
            "" => (busy, enters),
            "-" => pipes("")?,
            fewer => pipes(fewer)?,
        };
        if busy.iter().zip(busy_min).any(|(&cycles, least)| cycles < least) {
            return Err("`pipes_min` asks for more than `pipes`".to_owned());
        }
        let dispatch = Dispatch { busy, enters, busy_min, enters_min, least, settle, settle_min };
        Ok(dispatch)
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedRow {
    name: String,
    write: u16,
    read: u16,
    #[serde(rename = "source")]
    _source: String,
}

static EXPECTED: LazyLock<HashMap<String, ExpectedLatency>> = LazyLock::new(|| {
    let rows =
        table::rows::<ExpectedRow>("expected latencies", include_str!("../data/expected_latencies.csv"));
    let rows = rows.expect("checked by the tests").into_iter().map(|row| row.value);
    rows.map(|row| (row.name, ExpectedLatency { write: row.write, read: row.read })).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    fn arch(name: &str) -> Arch {
        name.parse().expect("an architecture")
    }

    #[test]
    fn opcodes_find_their_pipes() {
        let on = |sm, opcode, pipe: Pipe| dispatch(arch(sm), opcode).busy[pipe as usize];
        assert_eq!(dispatch(arch("sm_90"), "FFMA").pipes().collect::<Vec<_>>(), [(Pipe::Fma, 1)]);
        assert_eq!((on("sm_80", "FFMA", Pipe::Fma), on("sm_90", "IMAD.MOV", Pipe::Fma)), (2, 2));
        assert_eq!(on("sm_90", "IMAD.WIDE", Pipe::Fma), 4);
        assert_eq!((on("sm_90", "LDS", Pipe::Memory), on("sm_90", "STG", Pipe::Memory)), (4, 4));
        assert_eq!((on("sm_90", "HMMA", Pipe::Tensor), on("sm_80", "HMMA", Pipe::Tensor)), (6, 8));
        assert_eq!((on("sm_90", "BAR", Pipe::Memory), on("sm_90", "BAR", Pipe::Constant)), (6, 6));
        let enters = dispatch(arch("sm_90"), "BAR").enters;
        assert_eq!((enters[Pipe::Memory as usize], enters[Pipe::Constant as usize]), (false, true));
        assert_eq!((on("sm_120", "LOP3", Pipe::Alu), on("sm_120", "SEL", Pipe::Alu)), (2, 0));
        assert_eq!((dispatch(arch("sm_90"), "BRA").least, predicate_settle(arch("sm_90"))), (5, 13));
        assert_eq!(dispatch(arch("sm_90"), "NOVEL"), Dispatch::default());
    }

    #[test]
    fn shapes_come_before_their_opcode() {
        let tensor = |sm, opcode| dispatch(arch(sm), opcode).busy[Pipe::Tensor as usize];
        assert_eq!(
            names("HMMA.SP:4/4/4/4").collect::<Vec<_>>(),
            ["HMMA.SP:4/4/4/4", "HMMA.SP", "HMMA", "tensor"]
        );
        assert_eq!(tensor("sm_90", "HMMA:4/4/2/4"), tensor("sm_90", "HMMA"));
        assert_eq!(tensor("sm_90", "HMMA:4/2/1/4"), 4);
    }

    #[test]
    fn rows_that_cannot_be_are_refused() {
        let row = |row: &str| {
            parse(&format!(
                "tables,name,pipes,pipes_min,least,settle,settle_min,source\n*,alu,alu:2,,1,7,2,mined\n{row}\n"
            ))
        };
        assert_eq!(row("sm_90,alu,alu:2,,15,7,2,mined").expect("sound")["alu"].len(), 2);
        for (broken, said) in [
            ("sm_90,alu,alu:2,,0,7,2,mined", "`least` is 0"),
            ("sm_90,alu,alu:2,,16,7,2,mined", "`least` is 16"),
            ("sm_90,alu,alu:2,,-1,7,2,mined", "invalid digit"),
            ("sm_90,alu,alu:2,,,7,2,mined", "cannot parse integer"),
            ("sm_90,alu,alu:2,,1,2,7,mined", "not in order"),
            ("sm_90,alu,alu:2,,1,2,0,mined", "not in order"),
            ("sm_90,alu,alu,,1,7,2,mined", "not pipe:cycles"),
            ("sm_90,alu,alu:2,alu:3,1,7,2,mined", "more than `pipes`"),
            ("sm_90,alu,alu:x,,1,7,2,mined", "alu:x"),
            ("sm_90,alu,alu:0,,1,7,2,mined", "holds nothing up"),
            ("sm_90,alu,alo:2,,1,7,2,mined", "expected one of"),
            ("sm_91,alu,alu:2,,1,7,2,mined", "no table `sm_91`"),
            ("*,alu,alu:2,,1,7,2,mined", "already"),
            ("sm_90,alu,alu:2,,1,7,2,", "no source"),
        ] {
            let error = row(broken).expect_err(broken);
            assert!(error.message.contains(said) && error.line == 3, "{broken}: {error}");
        }
    }

    #[test]
    fn rows_are_sound() {
        assert!(DISPATCH.len() > 60);
        assert!(EXPECTED.values().all(|row| row.write >= row.read && row.read > 0));
        assert!(expected_latency("LDG").write > expected_latency("LDS").write);
    }
}
