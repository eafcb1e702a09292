//! What operations become, what they use and how architectures differ, as tables with a source per row.

use crate::program::Execution;
use sassafras_machine::tile;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use thiserror::Error;

/// A table that makes no sense.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{table}, line {line}: {message}")]
pub struct TableError {
    /// The table.
    pub table: &'static str,
    /// The line, from 1.
    pub line: u64,
    /// What is wrong.
    pub message: String,
}

/// What is made of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// A name for its first operand.
    Free,
    /// Nothing that is handed over: addresses, sizes, constants.
    View,
    /// A name for its first operand, not for transfers of a whole tile.
    Layout,
    /// A name for its first operand, with the axes in another order.
    Transpose,
    /// A name for its first operand, changed by the instruction that reads it.
    Modifier,
    /// Instructions for every element.
    Elementwise,
    /// Instructions of its region and shuffles.
    Reduce,
    /// Instructions of its region, twice, and shuffles.
    Scan,
    /// A transfer of a tile from memory.
    LoadView,
    /// A load by every thread.
    LoadPtr,
    /// A transfer of a tile to memory.
    StoreView,
    /// A store by every thread.
    StorePtr,
    /// An atomic operation by every thread.
    Atomic,
    /// A matrix product.
    Mma,
    /// One with scales for blocks of elements.
    MmaScaled,
    /// A token made of tokens.
    Token,
    /// Says what leaves a region.
    Control,
    /// One of two sides.
    If,
    /// A reason to give up.
    Refused,
}

/// What a count is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Formula {
    /// Elements of the result.
    Elements,
    /// Words of 32 bits of the widest tile among operands and result, at least one per element of the result.
    Words,
    /// Elements of the first operand.
    Input,
}

/// How many instructions of a pipe an operation has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// The pipe, a position in [`Tables::pipe_names`].
    pub pipe: usize,
    /// How often.
    pub times: u64,
    /// What.
    pub of: Formula,
}

/// What the tables say of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What is made of it.
    pub class: Class,
    /// Its instructions.
    pub counts: Vec<Count>,
    /// Where that is from.
    pub source: String,
}

/// A pipe of arithmetic.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pipe {
    /// The least architecture.
    pub from: u32,
    /// Its name.
    pub pipe: String,
    /// The figure that is its rate.
    pub rate: String,
    /// The slot.
    pub slot: String,
    /// The kind whose footprint it has.
    pub documented: String,
    source: String,
}

/// A kind of operation that moves or multiplies tiles.
#[derive(Clone, Debug)]
pub struct Kind {
    /// How it runs.
    pub execution: Execution,
    /// The kinds whose footprints it has.
    pub documented: Vec<String>,
}

/// How an architecture transfers and multiplies.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// The least architecture.
    pub from: u32,
    /// The kind of loads of tiles.
    pub load: String,
    /// The kind of stores of tiles.
    pub store: String,
    /// The kind of matrix products.
    pub matrix: String,
    /// The fewest rows of one of those.
    pub rows: u64,
    /// Whether they take 8-bit floating point.
    #[serde(deserialize_with = "yes_or_no")]
    pub float8: bool,
    /// Whether they take scales.
    #[serde(deserialize_with = "yes_or_no")]
    pub scaled: bool,
    source: String,
}

fn yes_or_no<'de, D: serde::Deserializer<'de>>(d: D) -> Result<bool, D::Error> {
    match String::deserialize(d)?.as_str() {
        "yes" => Ok(true),
        "no" => Ok(false),
        word => Err(serde::de::Error::custom(format!("`{word}` is neither yes nor no"))),
    }
}

/// All tables.
#[derive(Debug)]
pub struct Tables {
    operations: BTreeMap<String, Operation>,
    pipes: Vec<Pipe>,
    /// Every pipe once.
    pub pipe_names: Vec<String>,
    kinds: BTreeMap<String, Kind>,
    families: Vec<Family>,
}

/// The tables that belong to the crate.
pub fn tables() -> &'static Tables {
    static TABLES: LazyLock<Tables> = LazyLock::new(|| embedded().expect("the tables are tested"));
    &TABLES
}

fn embedded() -> Result<Tables, TableError> {
    Tables::load(
        include_str!("../../data/ops.csv"),
        include_str!("../../data/pipes.csv"),
        include_str!("../../data/kinds.csv"),
        include_str!("../../data/families.csv"),
    )
}

impl Tables {
    /// An operation by its name.
    pub fn operation(&self, name: &str) -> Option<&Operation> {
        self.operations.get(name)
    }

    /// A pipe on an architecture, by its position in the names.
    pub fn pipe(&self, arch: u32, pipe: usize) -> Option<&Pipe> {
        let name = self.pipe_names.get(pipe)?;
        self.pipes.iter().rev().find(|p| p.pipe == *name && p.from <= arch)
    }

    /// A kind by its name.
    pub fn kind(&self, name: &str) -> Option<&Kind> {
        self.kinds.get(name)
    }

    /// The family of an architecture.
    pub fn family(&self, arch: u32) -> Option<&Family> {
        self.families.iter().rev().find(|f| f.from <= arch)
    }

    /// Reads and checks.
    fn load(ops: &str, pipes: &str, kinds: &str, families: &str) -> Result<Tables, TableError> {
        let pipes: Vec<(u64, Pipe)> = rows("pipes.csv", pipes)?;
        let mut pipe_names: Vec<String> = Vec::new();
        let mut seen = BTreeSet::new();
        for (line, p) in &pipes {
            let error = |message| Err(TableError { table: "pipes.csv", line: *line, message });
            if !seen.insert((p.from, p.pipe.clone())) {
                return error("the same pipe twice".into());
            }
            if tile::slot(&p.slot).is_none() {
                return error(format!("there is no slot `{}`", p.slot));
            }
            if tile::documented(&p.documented).next().is_none() {
                return error(format!("no footprint of `{}` is documented", p.documented));
            }
            if tile::hardware(u32::MAX, &p.rate).is_none() {
                return error(format!("there is no figure `{}`", p.rate));
            }
            if p.source.is_empty() {
                return error("a row has a source".into());
            }
            if !pipe_names.contains(&p.pipe) {
                pipe_names.push(p.pipe.clone());
            }
        }
        let kinds = load_kinds(kinds)?;
        let families: Vec<(u64, Family)> = rows("families.csv", families)?;
        for (i, (line, f)) in families.iter().enumerate() {
            let error = |message| Err(TableError { table: "families.csv", line: *line, message });
            if let Some(kind) = [&f.load, &f.store, &f.matrix].into_iter().find(|k| !kinds.contains_key(*k)) {
                return error(format!("there is no kind `{kind}`"));
            }
            if i > 0 && families[i - 1].1.from >= f.from {
                return error("architectures do not ascend".into());
            }
            if f.source.is_empty() {
                return error("a row has a source".into());
            }
        }
        Ok(Tables {
            operations: load_operations(ops, &pipe_names)?,
            pipes: pipes.into_iter().map(|p| p.1).collect(),
            pipe_names,
            kinds,
            families: families.into_iter().map(|f| f.1).collect(),
        })
    }
}

fn load_kinds(text: &str) -> Result<BTreeMap<String, Kind>, TableError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Row {
        kind: String,
        execution: Execution,
        documented: String,
        source: String,
    }
    let mut kinds = BTreeMap::new();
    for (line, row) in rows::<Row>("kinds.csv", text)? {
        let error = |message| Err(TableError { table: "kinds.csv", line, message });
        let documented: Vec<String> = row.documented.split(';').map(str::to_owned).collect();
        if let Some(kind) = documented.iter().find(|k| tile::documented(k).next().is_none()) {
            return error(format!("no footprint of `{kind}` is documented"));
        }
        if row.source.is_empty() {
            return error("a row has a source".into());
        }
        if kinds.insert(row.kind, Kind { execution: row.execution, documented }).is_some() {
            return error("the same kind twice".into());
        }
    }
    Ok(kinds)
}

fn load_operations(text: &str, pipes: &[String]) -> Result<BTreeMap<String, Operation>, TableError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Row {
        op: String,
        class: Class,
        pipe: String,
        count: String,
        source: String,
    }
    let list = |cell: &str| -> Vec<String> {
        cell.split(';').filter(|item| !item.is_empty()).map(|item| item.trim().to_owned()).collect()
    };
    let mut operations = BTreeMap::new();
    for (line, row) in rows::<Row>("ops.csv", text)? {
        let error = |message| Err(TableError { table: "ops.csv", line, message });
        let (names, formulas) = (list(&row.pipe), list(&row.count));
        if names.len() != formulas.len() {
            return error("a pipe has a count".into());
        }
        if names.is_empty() == matches!(row.class, Class::Elementwise | Class::Reduce | Class::Scan) {
            return error("arithmetic has pipes, and nothing else has".into());
        }
        if row.source.is_empty() {
            return error("a row has a source".into());
        }
        let mut counts = Vec::new();
        for (name, formula) in names.iter().zip(&formulas) {
            let Some(pipe) = pipes.iter().position(|p| p == name) else {
                return error(format!("there is no pipe `{name}`"));
            };
            let Some((times, of)) = count(formula) else {
                return error(format!("`{formula}` is no count"));
            };
            counts.push(Count { pipe, times, of });
        }
        let new = Operation { class: row.class, counts, source: row.source };
        if operations.insert(row.op, new).is_some() {
            return error("the same operation twice".into());
        }
    }
    Ok(operations)
}

fn count(text: &str) -> Option<(u64, Formula)> {
    let (times, of) = text.split_once('*').unwrap_or(("1", text));
    let of = match of {
        "elements" => Formula::Elements,
        "words" => Formula::Words,
        "input" => Formula::Input,
        _ => return None,
    };
    Some((times.parse().ok().filter(|&n| n > 0)?, of))
}

/// The rows of a table with their lines.
fn rows<T: DeserializeOwned>(table: &'static str, text: &str) -> Result<Vec<(u64, T)>, TableError> {
    let mut reader =
        csv::ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(text.as_bytes());
    let mut found = Vec::new();
    let headers = reader.headers().cloned();
    let error = |e: csv::Error| TableError {
        table,
        line: e.position().map_or(0, csv::Position::line),
        message: e.to_string(),
    };
    let headers = headers.map_err(error)?;
    for record in reader.records() {
        let record = record.map_err(error)?;
        let line = record.position().map_or(0, csv::Position::line);
        found.push((line, record.deserialize(Some(&headers)).map_err(error)?));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sound() {
        let tables = embedded().unwrap_or_else(|e| panic!("{e}"));
        assert!(tables.operations.len() > 90);
        let of = |arch: u32| {
            let f = tables.family(arch)?;
            Some((f.load.as_str(), f.matrix.as_str()))
        };
        assert_eq!(of(75), None);
        assert_eq!(of(86), Some(("cp_async", "mma_sync")));
        assert_eq!(of(90), Some(("tma_load", "wgmma")));
        assert_eq!(of(103), Some(("tma_load", "tcgen05_mma")));
        assert_eq!(of(121), Some(("tma_load", "mma_sync")));
        let convert = tables.pipe_names.iter().position(|p| p == "convert").expect("a pipe");
        assert_eq!(tables.pipe(86, convert).expect("a row").slot, "xu");
        assert_eq!(tables.pipe(100, convert).expect("a row").slot, "alu");
        let exp = tables.operation("exp").expect("a row");
        assert_eq!(exp.counts.iter().map(|c| c.times).collect::<Vec<_>>(), [6, 1, 1]);
    }

    #[test]
    fn wrong_rows_are_named() {
        let pipes = ["fma".to_owned()];
        let load = |row: &str| {
            let text = format!("op,class,pipe,count,source\n{row}\n");
            load_operations(&text, &pipes).map(|_| ()).map_err(|e| e.to_string())
        };
        assert_eq!(load("a,elementwise,fma,elements,x"), Ok(()));
        for (row, message) in [
            ("a,elementwise,,,x", "arithmetic has pipes"),
            ("a,free,fma,elements,x", "arithmetic has pipes"),
            ("a,elementwise,fma,0*elements,x", "`0*elements` is no count"),
            ("a,elementwise,fma,rows,x", "`rows` is no count"),
            ("a,elementwise,xu,elements,x", "there is no pipe `xu`"),
            ("a,elementwise,fma;fma,elements,x", "a pipe has a count"),
            ("a,free,,,", "a row has a source"),
            ("a,free,,,x\na,free,,,x", "line 3: the same operation twice"),
            ("a,strange,,,x", "unknown variant"),
        ] {
            let error = load(row).expect_err(row);
            assert!(error.contains(message), "{row}: {error}");
        }
    }
}
