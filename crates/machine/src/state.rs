//! Goal: what instructions share besides registers and memory, as lanes that an opcode reads and writes.
//!
//! Results of barriers, the threads that run together, groups of copies, fences, special registers: none of it is an operand, and
//! all of it orders instructions and keeps them apart. Every opcode has a row, those that share nothing too: a row says what
//! it stands on, and nothing is without hidden state by default.
//!
//! Cost: a look into a map per opcode of a function. Source: `data/state.csv`.

use std::sync::LazyLock;

use rustc_hash::FxHashMap as HashMap;
use serde::Deserialize;

use crate::{TableError, table};

/// Names of the lanes, by number.
pub const LANES: [&str; 16] = [
    "threads",
    "vote",
    "barriers",
    "barrier_result",
    "barrier_objects",
    "cluster",
    "copies",
    "bulk_copies",
    "warpgroup",
    "tensor",
    "fences",
    "caches",
    "special",
    "registers",
    "place",
    "attributes",
];

/// A set of lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Lanes(u16);

impl Lanes {
    /// The threads that run together.
    pub const THREADS: Lanes = Lanes(1);
    /// The unit that votes: written by who uses it.
    pub const VOTE: Lanes = Lanes(2);

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether some are in both.
    pub const fn meets(self, other: Lanes) -> bool {
        self.0 & other.0 != 0
    }

    /// Those of either.
    #[must_use]
    pub const fn union(self, other: Lanes) -> Lanes {
        Lanes(self.0 | other.0)
    }

    /// Their names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        LANES.iter().enumerate().filter(move |(number, _)| self.0 >> number & 1 == 1).map(|(_, &name)| name)
    }

    fn parse(text: &str) -> Result<Lanes, String> {
        text.split_whitespace().try_fold(Lanes::default(), |lanes, name| {
            let number = LANES.iter().position(|&lane| lane == name);
            let number = number.ok_or_else(|| format!("no lane is named `{name}`"))?;
            Ok(Lanes(lanes.0 | 1 << number))
        })
    }
}

/// The hidden state that an opcode reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct State {
    /// What it depends on.
    pub reads: Lanes,
    /// What it changes.
    pub writes: Lanes,
}

impl State {
    /// The lanes that both touch and one of them changes.
    pub fn shared(self, other: State) -> Lanes {
        let touched = |state: State| state.reads.union(state.writes).0;
        Lanes(self.writes.0 & touched(other) | other.writes.0 & touched(self))
    }

    /// Whether there is any.
    pub const fn is_empty(self) -> bool {
        self.reads.is_empty() && self.writes.is_empty()
    }

    /// Whether what comes later reads or changes what this one changes, or changes what this one reads: their order counts. It does not
    /// where they only take turns in a unit.
    pub const fn meets(self, later: State) -> bool {
        let writes = Lanes(self.writes.0 & !Lanes::VOTE.0);
        writes.meets(later.reads.union(later.writes)) || self.reads.meets(later.writes)
    }

    /// Whether their distance counts. Which threads run together is read at issue, before anything later can change it.
    pub const fn keeps_apart(self, later: State) -> bool {
        let reads = Lanes(self.reads.0 & !Lanes::THREADS.0);
        self.writes.meets(later.reads.union(later.writes)) || reads.meets(later.writes)
    }

    /// Whether it changes state, or depends on more than the threads that run together.
    pub fn is_own(self) -> bool {
        !self.writes.is_empty() || !Lanes(self.reads.0 & !Lanes::THREADS.0).is_empty()
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct StateRow {
    opcode: String,
    reads: String,
    writes: String,
    source: String,
}

/// The hidden state of every opcode.
#[derive(Debug, Clone, Default)]
pub struct StateTable {
    rows: HashMap<String, State>,
}

impl StateTable {
    /// The table of this crate.
    pub fn documented() -> &'static StateTable {
        static TABLE: LazyLock<StateTable> = LazyLock::new(|| {
            StateTable::parse(include_str!("../data/state.csv")).expect("checked by the tests")
        });
        &TABLE
    }

    /// Reads a table.
    ///
    /// # Errors
    /// When a row is malformed, twice there, or does not say what it stands on.
    pub fn parse(text: &str) -> Result<StateTable, TableError> {
        let rows = table::rows::<StateRow>("state", text)?;
        table::unique(&rows, |row| row.opcode.clone())?;
        let mut table = StateTable::default();
        for row in &rows {
            if row.value.source.is_empty() {
                return Err(row.error("no source"));
            }
            let lanes = |text: &str| Lanes::parse(text).map_err(|message| row.error(message));
            let state = State { reads: lanes(&row.value.reads)?, writes: lanes(&row.value.writes)? };
            table.rows.insert(row.value.opcode.clone(), state);
        }
        Ok(table)
    }

    /// The state of an opcode, by the longest row that it begins with; none where there is none.
    pub fn get(&self, opcode: &str) -> Option<State> {
        let plain = opcode.split(':').next().unwrap_or(opcode);
        let shorter =
            std::iter::successors(Some(plain), |name| name.rsplit_once('.').map(|(front, _)| front));
        shorter.into_iter().find_map(|name| self.rows.get(name)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_loads_and_knows_who_meets_whom() {
        let table = StateTable::documented();
        let state = |opcode| table.get(opcode).expect("a row");
        assert!(state("BAR.RED.POPC").meets(state("B2R.RESULT")));
        assert!(state("B2R.RESULT").meets(state("BAR.RED")));
        assert!(state("MATCH.ANY").keeps_apart(state("REDUX")) && !state("MATCH.ANY").meets(state("REDUX")));
        assert!(state("WARPSYNC").meets(state("UMOV")));
        assert!(!state("IADD3").meets(state("BAR.SYNC")) && state("IADD3").is_empty());
        assert!(!state("S2R").meets(state("CS2R")), "two that read");
        assert!(state("SHFL").meets(state("BSYNC")) && !state("SHFL").keeps_apart(state("BSYNC")));
        assert!(!state("UMOV").is_own() && state("VOTE").is_own());
        assert_eq!(state("CGAERRBAR").writes.names().collect::<Vec<_>>(), ["cluster", "fences"]);
        assert_eq!(state("AST").writes.names().collect::<Vec<_>>(), ["attributes"]);
        assert_eq!(table.get("NOBODY"), None);
    }

    #[test]
    fn malformed_rows_are_refused() {
        for row in ["A,nothing,,seen", "A,,,", "A,,threads,x\nA,,,x"] {
            let text = format!("opcode,reads,writes,source\n{row}\n");
            assert!(StateTable::parse(&text).is_err(), "{row}");
        }
    }
}
