//! Goal: which special registers say something else each time that they are read.
//!
//! Source: `data/special_registers.csv`, whose rows name theirs.

use std::sync::LazyLock;

use rustc_hash::FxHashMap as HashMap;
use serde::Deserialize;

use crate::TableError;
use crate::table;

/// What makes a special register change while a thread runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Changes {
    /// Time: clocks and counters.
    Time,
    /// What went wrong so far.
    Errors,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Register {
    number: u8,
    #[serde(deserialize_with = "table::text", rename = "name")]
    _name: String,
    changes: Changes,
    #[serde(deserialize_with = "table::text", rename = "source")]
    _source: String,
}

/// What makes a special register change, by its number; none where it says the same for as long as a thread runs.
pub fn changes(number: u8) -> Option<Changes> {
    REGISTERS.get(&number).copied()
}

fn parse(text: &str) -> Result<HashMap<u8, Changes>, TableError> {
    let rows = table::rows::<Register>("special_registers", text)?;
    table::unique(&rows, |row| row.number.to_string())?;
    Ok(rows.into_iter().map(|row| (row.value.number, row.value.changes)).collect())
}

static REGISTERS: LazyLock<HashMap<u8, Changes>> =
    LazyLock::new(|| parse(include_str!("../data/special_registers.csv")).expect("checked by the tests"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_change_and_places_do_not() {
        assert_eq!([1, 80, 83, 131].map(changes), [Some(Changes::Time); 4]);
        assert_eq!(changes(66), Some(Changes::Errors));
        // SR_LANEID, SR_TID.X, SR_VIRTUALSMID, and the one that is always zero.
        assert_eq!([0, 33, 67, 255].map(changes), [None; 4]);
    }

    #[test]
    fn a_broken_table_is_refused() {
        let head = "number,name,changes,source\n";
        for rows in ["1,A,time,", "1,A,often,mined", "1,A,time,mined\n1,B,time,mined", "256,A,time,mined"] {
            assert!(parse(&format!("{head}{rows}\n")).is_err(), "{rows}");
        }
    }
}
