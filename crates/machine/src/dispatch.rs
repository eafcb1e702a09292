//! Goal: which pipe of a sub-core takes an instruction, how soon it takes the next one, and how long an instruction whose
//! time varies is expected to take.
//!
//! Source: `data/dispatch.csv` and `data/expected_latencies.csv`, whose rows name theirs.

use std::sync::LazyLock;

use rustc_hash::FxHashMap as HashMap;
use serde::Deserialize;

use crate::mined::table_name;
use crate::names::names;
use crate::table;
use crate::{Arch, Category};

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

/// The row for an architecture: one for some tables comes before one for all.
fn best(rows: &[DispatchRow], arch: Arch) -> Option<Dispatch> {
    let table = table_name(arch).unwrap_or_default();
    let serves = |row: &&DispatchRow| row.tables == "*" || row.tables.split(' ').any(|t| t == table);
    rows.iter().filter(serves).max_by_key(|row| row.tables != "*").map(|row| row.dispatch)
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

/// The names under which an opcode may have a row: itself, with fewer and fewer modifiers, and its category.
fn names(opcode: &str) -> impl Iterator<Item = &str> {
    let category = Category::of(opcode);
    // IMAD.WIDE has a category of its own, which comes before the row of IMAD.
    let own = Some(opcode).filter(|_| category != Some(Category::ImadWide));
    let shorter = std::iter::successors(own, |name| name.rsplit_once('.').map(|(front, _)| front));
    shorter.chain(category.map(Category::name))
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDispatch {
    tables: String,
    name: String,
    pipes: String,
    least: u8,
    settle: u8,
    settle_min: u8,
    #[serde(rename = "source")]
    _source: String,
}

struct DispatchRow {
    tables: String,
    dispatch: Dispatch,
}

static DISPATCH: LazyLock<HashMap<String, Vec<DispatchRow>>> = LazyLock::new(|| {
    let rows = table::rows::<RawDispatch>("dispatch", include_str!("../data/dispatch.csv"));
    let mut out: HashMap<String, Vec<DispatchRow>> = HashMap::default();
    for row in rows.expect("checked by the tests").into_iter().map(|row| row.value) {
        let mut dispatch = Dispatch {
            least: row.least,
            settle: row.settle,
            settle_min: row.settle_min,
            ..Dispatch::default()
        };
        for part in row.pipes.split_whitespace() {
            let (pipe, cycles) = part.split_once(':').expect("checked by the tests");
            let name = pipe.strip_prefix('>');
            let pipe: Pipe = name.unwrap_or(pipe).parse().expect("checked by the tests");
            dispatch.busy[pipe as usize] = cycles.parse().expect("checked by the tests");
            dispatch.enters[pipe as usize] = name.is_none();
        }
        out.entry(row.name).or_default().push(DispatchRow { tables: row.tables, dispatch });
    }
    out
});

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
    fn rows_are_sound() {
        for (name, rows) in DISPATCH.iter() {
            assert!(rows.iter().all(|row| row.dispatch.least > 0), "{name}");
            assert!(rows.iter().all(|row| row.dispatch.settle >= row.dispatch.settle_min), "{name}");
            let all = rows.iter().filter(|row| row.tables == "*").count();
            assert!(all <= 1, "{name} has {all} rows for all tables");
        }
        assert!(EXPECTED.values().all(|row| row.write >= row.read && row.read > 0));
        assert!(expected_latency("LDG").write > expected_latency("LDS").write);
    }
}
