//! Which machine instruction to ask tables for.

use super::load::{TableError, each, rows};
use super::shape::Condition;
use rustc_hash::FxHashMap;
use serde::Deserialize;

#[derive(Debug)]
struct Row {
    with: Vec<Condition>,
    machine: String,
}

/// `data/machine.csv`.
#[derive(Debug)]
pub(super) struct MachineTable(FxHashMap<String, Vec<Row>>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    opcode: String,
    with: String,
    machine: String,
    source: String,
}

const TABLE: &str = "machine.csv";

impl MachineTable {
    pub fn load(text: &str) -> Result<MachineTable, TableError> {
        let mut all: FxHashMap<String, Vec<Row>> = FxHashMap::default();
        for (line, raw) in rows::<Raw>(TABLE, text)? {
            let failed = |message| TableError { table: TABLE, line, message };
            let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '.';
            if raw.machine.is_empty() || !raw.machine.chars().all(is_name) {
                return Err(failed(format!("`{}` is no machine instruction", raw.machine)));
            }
            if raw.source.is_empty() {
                return Err(failed("a row without a source".to_owned()));
            }
            for opcode in raw.opcode.split_whitespace() {
                let with = each(&raw.with, "condition", Condition::parse).map_err(failed)?;
                let siblings = all.entry(opcode.to_owned()).or_default();
                if siblings.iter().any(|s| s.with.is_empty() || s.with == with) {
                    return Err(failed(format!("`{opcode}`: a row before this one takes everything")));
                }
                siblings.push(Row { with, machine: raw.machine.clone() });
            }
        }
        Ok(MachineTable(all))
    }

    pub fn name(&self, opcode: &str) -> Option<&str> {
        let mut words = opcode.split('.').map(str::trim);
        let rows = self.0.get(words.next()?)?;
        let words: Vec<&str> = words.collect();
        let row = rows.iter().find(|row| row.with.iter().all(|condition| condition.holds(&words)))?;
        Some(&row.machine)
    }

    pub fn opcodes(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}
