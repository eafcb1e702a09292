//! Reads the tables and refuses what is malformed.

use super::Row;
use super::shape::{Condition, Implicit, Role, Slot};
use rustc_hash::FxHashMap;
use sassafras_ir::Effects;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// What is wrong with a table, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{table}, line {line}: {message}")]
pub struct TableError {
    /// The file.
    pub table: &'static str,
    /// The line, from 1.
    pub line: u64,
    /// What is wrong.
    pub message: String,
}

/// The rows of a CSV text with their lines.
pub(super) fn rows<T: DeserializeOwned>(
    table: &'static str,
    text: &str,
) -> Result<Vec<(u64, T)>, TableError> {
    let mut reader =
        csv::ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(text.as_bytes());
    let failed = |e: csv::Error| TableError {
        table,
        line: e.position().map_or(0, csv::Position::line),
        message: e.to_string(),
    };
    let headers = reader.headers().map_err(failed)?.clone();
    let mut out = Vec::new();
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(failed)? {
        let line = record.position().map_or(0, csv::Position::line);
        out.push((line, record.deserialize(Some(&headers)).map_err(failed)?));
    }
    Ok(out)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    opcode: String,
    with: String,
    operands: String,
    commutes: String,
    implicit: String,
    effects: String,
    source: String,
}

const OPCODES: &str = "opcodes.csv";

pub(super) fn opcodes(text: &str) -> Result<FxHashMap<String, Vec<Row>>, TableError> {
    let mut all: FxHashMap<String, Vec<Row>> = FxHashMap::default();
    for (line, raw) in rows::<Raw>(OPCODES, text)? {
        let row = row(&raw).map_err(|message| TableError { table: OPCODES, line, message })?;
        for opcode in raw.opcode.split_whitespace() {
            let siblings = all.entry(opcode.to_owned()).or_default();
            if siblings.iter().any(|s| s.with.is_empty() || s.with == row.with) {
                let message = format!("`{opcode}`: a row before this one takes everything");
                return Err(TableError { table: OPCODES, line, message });
            }
            siblings.push(row.clone());
        }
    }
    Ok(all)
}

fn row(raw: &Raw) -> Result<Row, String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if raw.opcode.is_empty() || !raw.opcode.split_whitespace().all(|o| o.chars().all(plain)) {
        return Err(format!("`{}` is no list of opcodes", raw.opcode));
    }
    if raw.source.is_empty() {
        return Err("a row without a source".to_owned());
    }
    let row = Row {
        with: each(&raw.with, "condition", Condition::parse)?,
        operands: each(&raw.operands, "operand", Slot::parse)?,
        commutes: commutes(&raw.commutes)?,
        implicit: each(&raw.implicit, "implicit operand", Implicit::parse)?,
        effects: effects(&raw.effects)?,
    };
    let repeats = row.operands.iter().rev().skip(1).any(|slot| slot.repeats);
    if repeats {
        return Err("only the last operand may repeat".to_owned());
    }
    if let Some(both) = row.commutes {
        // Positions in the table are those in the text only as long as nothing before them may be missing.
        let read = |slot: &Slot| !slot.optional && slot.role(false) == Some(&Role::Read);
        let fixed = row.operands.iter().take_while(|slot| !slot.optional).count();
        if both.iter().any(|&at| at >= fixed || !read(&row.operands[at])) {
            return Err("only operands that are read and never missing change places".to_owned());
        }
    }
    let labels = row.operands.iter().any(|slot| slot.role(false) == Some(&Role::Label));
    if labels != row.effects.contains(Effects::BRANCH) {
        return Err("a branch has a label, and only a branch has one".to_owned());
    }
    Ok(row)
}

pub(super) fn each<T>(text: &str, what: &str, parse: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, String> {
    text.split_whitespace().map(|word| parse(word).ok_or_else(|| format!("`{word}` is no {what}"))).collect()
}

/// Two positions, ascending.
fn commutes(text: &str) -> Result<Option<[usize; 2]>, String> {
    let numbers = each(text, "position", |word| word.parse::<usize>().ok())?;
    match numbers.as_slice() {
        [] => Ok(None),
        &[a, b] if a < b => Ok(Some([a, b])),
        _ => Err(format!("`{text}` is no pair of operands")),
    }
}

fn effects(text: &str) -> Result<Effects, String> {
    let mut effects = Effects::empty();
    for word in text.split_whitespace() {
        // Registers that arrive later than their instruction order everything, as what a call may touch does.
        let named = if word == "fence" { Some(Effects::CALL) } else { effect(word) };
        effects |= named.ok_or_else(|| format!("`{word}` is no effect"))?;
    }
    Ok(effects)
}

fn effect(word: &str) -> Option<Effects> {
    let known = Effects::NAMES.iter().find(|(name, _)| *name == word);
    known.map(|&(_, effect)| effect).filter(|&effect| effect != Effects::OPAQUE)
}
