//! Goal: tables that have seen more code than is at hand.
//!
//! Libraries come and go; what was mined from those that are gone stands in the tables alone. So a table counts as one more source:
//! a row is lowered where the code at hand leaves less, whatever else it says of such pairs, and a row is added where the code says how soon results
//! are read that no row knew. Nothing is tightened: the tables do not tell how often the code that they were made of met a pair that a wider row
//! serves. What a scheduler keeps to (`safe`) is never lowered: a device has run what was scheduled with it.
//!
//! Cost: one pass over the rows.

use crate::tables::{RowKey, Rows, wider_keys, write_row};
use sassafras_verify::hazards::HazardKind;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A row of a table as it stands.
#[derive(Clone, Debug)]
struct Row {
    observed_min: u16,
    safe: u16,
    rest: String,
}

/// The distances of a table, joined with the smallest of each row that there could be in new code, and the rows of that code.
pub fn distances(old: &str, least: &BTreeMap<RowKey, (u16, u64)>, new: &Rows) -> String {
    let mut lines = old.lines();
    let mut out = String::from(lines.next().unwrap_or_default());
    out.push('\n');
    let (mut order, mut before) = (Vec::new(), BTreeMap::new());
    for (key, row) in lines.filter_map(parse) {
        order.push(key.clone());
        before.insert(key, row);
    }
    let mut rows = before.clone();
    let wider = |rows: &BTreeMap<String, Row>, key: &RowKey| {
        wider_keys(key).into_iter().find_map(|wider| rows.get(&wider.to_string()).cloned())
    };
    for (key, &(cycles, _)) in least {
        if let Some(row) = rows.get_mut(&key.to_string()).filter(|row| cycles < row.observed_min) {
            row.observed_min = cycles;
        }
    }
    // Wider rows come first, so that finer ones say no more than they need to.
    let mut keys: Vec<&RowKey> = least.keys().filter(|key| !before.contains_key(&key.to_string())).collect();
    keys.sort_by_key(|key| wider_keys(key).len());
    for key in keys {
        let (then, now) = (wider(&before, key), wider(&rows, key));
        let row = match (new.get(key), &then) {
            // How far apart writes stand says more of the readers between than of the machine.
            (Some(row), None) if key.kind == HazardKind::Raw => {
                Row { observed_min: row.observed_min, safe: row.safe, rest: write_row(row) }
            }
            (_, None) => continue,
            (row, Some(then)) => {
                let cycles = row.map_or(least[key].0, |row| row.observed_min).min(then.observed_min);
                let safe = row.map_or(0, |row| row.safe).max(then.safe);
                let seldom = || format!("{},1,1,mined; safe: the wider row", least[key].1);
                Row { observed_min: cycles, safe, rest: row.map_or_else(seldom, write_row) }
            }
        };
        if now.is_none_or(|now| now.observed_min != row.observed_min) {
            rows.insert(key.to_string(), row);
            // Behind its like.
            let producer = |key: &str| key.split(',').take(3).map(str::to_owned).collect::<Vec<_>>();
            let (key, own) = (key.to_string(), producer(&key.to_string()));
            let at = order.iter().rposition(|other: &String| producer(other) == own);
            order.insert(at.map_or(order.len(), |at| at + 1), key);
        }
    }
    for key in order {
        let Row { observed_min, safe, rest } = &rows[&key];
        let _ = writeln!(out, "{key},{observed_min},{safe},{rest}");
    }
    out
}

/// The opcodes of a table, with those that only the new one has, and shorter stalls where it has them.
pub fn opcodes(old: &str, new: &str) -> String {
    let cells = |line: &str| line.splitn(4, ',').map(str::to_owned).collect::<Vec<_>>();
    let by_name = |text: &str| -> BTreeMap<String, Vec<String>> {
        text.lines().skip(1).map(cells).filter(|cells| cells.len() == 4).map(|c| (c[0].clone(), c)).collect()
    };
    let (mut rows, new) = (by_name(old), by_name(new));
    // What holds for an opcode holds for its modifiers.
    let has_shorter = |rows: &BTreeMap<String, Vec<String>>, name: &str| {
        name.match_indices('.').any(|(at, _)| rows.contains_key(&name[..at]))
    };
    for (name, theirs) in new {
        if !rows.contains_key(&name) && has_shorter(&rows, &name) {
            continue;
        }
        let row = rows.entry(name).or_insert_with(|| theirs.clone());
        let stalls = theirs[2].parse::<u8>().ok().zip(row[2].parse::<u8>().ok());
        if stalls.is_some_and(|(theirs, ours)| theirs < ours) {
            row[2].clone_from(&theirs[2]);
        }
    }
    let mut out = format!("{}\n", old.lines().next().unwrap_or_default());
    for cells in rows.into_values() {
        let _ = writeln!(out, "{}", cells.join(","));
    }
    out
}

fn parse(line: &str) -> Option<(String, Row)> {
    let cells: Vec<&str> = line.splitn(13, ',').collect();
    let [key @ .., observed_min, safe, seen, kernels, files, source] = cells.as_slice() else { return None };
    let rest = [seen, kernels, files, source].map(|cell| *cell).join(",");
    Some((key.join(","), Row { observed_min: observed_min.parse().ok()?, safe: safe.parse().ok()?, rest }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::{Row as NewRow, Source};
    use sassafras_machine::mined::{File, Use};

    const OLD: &str = "hazard,file,producer,half,consumer,use,slot,observed_min,safe,seen,kernels,files,source\n\
        raw,R,alu,low,any,operand,,5,9,100,10,3,mined\n\
        raw,R,alu,low,fma,operand,,6,8,100,10,3,mined\n";

    fn key(producer: &str, consumer: &str) -> RowKey {
        RowKey {
            kind: HazardKind::Raw,
            file: File::General,
            producer: producer.to_owned(),
            high: false,
            consumer: consumer.to_owned(),
            used_as: Use::Operand,
            slot: None,
        }
    }

    fn joined(least: &[(RowKey, u16)], new: &[(RowKey, u16, u16)]) -> Vec<String> {
        let least = least.iter().map(|(key, cycles)| (key.clone(), (*cycles, 7))).collect();
        let row = |&(ref key, observed_min, safe): &(RowKey, u16, u16)| {
            let row = NewRow { observed_min, safe, seen: 40, functions: 5, files: 2, source: Source::Mined };
            (key.clone(), row)
        };
        let text = distances(OLD, &least, &new.iter().map(row).collect());
        text.lines().skip(1).map(str::to_owned).collect()
    }

    #[test]
    fn rows_are_lowered_and_never_tightened() {
        let rows = joined(&[(key("alu", "fma"), 4), (key("alu", "any"), 7)], &[(key("alu", "any"), 7, 7)]);
        assert_eq!(rows[0], "raw,R,alu,low,any,operand,,5,9,100,10,3,mined");
        assert_eq!(rows[1], "raw,R,alu,low,fma,operand,,4,8,100,10,3,mined", "a scheduler keeps its 8");
        assert_eq!(rows.len(), 2);
    }

    #[test]
    fn pairs_that_keep_more_than_a_lowered_row_get_their_own() {
        let least = [(key("alu", "any"), 3), (key("alu", "half"), 3), (key("alu", "fp64"), 6)];
        let rows = joined(&least, &[(key("alu", "fp64"), 6, 6)]);
        assert!(rows[0].starts_with("raw,R,alu,low,any,operand,,3,9,"));
        assert!(rows[1].starts_with("raw,R,alu,low,fma,operand,,6,8,"), "nothing undercuts it");
        // It asked for 5 before, so 5 is all that may be asked for now.
        assert_eq!(rows[2], "raw,R,alu,low,fp64,operand,,5,9,40,5,2,mined");
        assert_eq!(rows.len(), 3, "half is served by the wider row");
    }

    #[test]
    fn what_no_row_knew_is_added_where_enough_was_seen() {
        let least = [(key("half", "any"), 6), (key("sfu", "any"), 2)];
        let rows = joined(&least, &[(key("half", "any"), 6, 7)]);
        assert_eq!(rows[2..], ["raw,R,half,low,any,operand,,6,7,40,5,2,mined"]);
    }

    #[test]
    fn opcodes_keep_what_is_known_of_them() {
        let old = "opcode,decoupled,min_stall,seen\nBAR,yes,5,9\nMOV,no,2,9\n";
        let new = "opcode,decoupled,min_stall,seen\nBAR.SYNC,no,1,9\nF2IP,no,1,9\nMOV,yes,1,9\n";
        assert_eq!(
            opcodes(old, new),
            "opcode,decoupled,min_stall,seen\nBAR,yes,5,9\nF2IP,no,1,9\nMOV,no,1,9\n"
        );
    }
}
