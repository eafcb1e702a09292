//! Goal: the instructions with which threads of a warp that run apart converge for a moment, or part again, and what may be in flight then.
//!
//! Source: `data/collectives.csv`, whose rows name theirs.

use std::sync::LazyLock;

use rustc_hash::FxHashMap as HashMap;
use serde::Deserialize;

use crate::TableError;
use crate::table;

/// What scoreboards may still tell the end of when such an instruction is issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InFlight {
    /// Nothing.
    Nothing,
    /// Sources that are read, but no results.
    Reads,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Collective {
    opcode: String,
    in_flight: InFlight,
    #[serde(deserialize_with = "table::text", rename = "source")]
    _source: String,
}

/// What may be in flight when an opcode is issued; none where that is no matter.
pub fn in_flight(opcode: &str) -> Option<InFlight> {
    COLLECTIVES.get(opcode).copied()
}

fn parse(text: &str) -> Result<HashMap<String, InFlight>, TableError> {
    let rows = table::rows::<Collective>("collectives", text)?;
    table::unique(&rows, |row| row.opcode.clone())?;
    Ok(rows.into_iter().map(|row| (row.value.opcode, row.value.in_flight)).collect())
}

static COLLECTIVES: LazyLock<HashMap<String, InFlight>> =
    LazyLock::new(|| parse(include_str!("../data/collectives.csv")).expect("checked by the tests"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_loads_and_names_whole_opcodes() {
        assert_eq!(in_flight("ENDCOLLECTIVE"), Some(InFlight::Nothing));
        assert_eq!(in_flight("WARPSYNC.EXCLUSIVE"), Some(InFlight::Reads));
        assert_eq!(["WARPSYNC", "BSYNC", "BRA"].map(in_flight), [None; 3]);
    }

    #[test]
    fn a_broken_table_is_refused() {
        let head = "opcode,in_flight,source\n";
        for rows in ["A,all,mined", "A,nothing,", "A,nothing,mined\nA,reads,mined"] {
            assert!(parse(&format!("{head}{rows}\n")).is_err(), "{rows}");
        }
    }
}
