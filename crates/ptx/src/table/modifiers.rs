//! What modifiers say, whatever the opcode: types, vectors, spaces, memory orders.

use super::load::{TableError, rows};
use rustc_hash::FxHashMap;
use sassafras_ir::{AccessFlags, Effects, Space};
use serde::Deserialize;

/// The modifiers of one opcode, taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modifiers {
    /// Bytes of one access: the last type times the vector.
    pub bytes: Option<u32>,
    /// The first space; `None` when there is none, and addresses are generic.
    pub space: Option<Space>,
    /// Volatile or read-only.
    pub flags: AccessFlags,
    /// What acquiring and releasing orders.
    pub effects: Effects,
}

#[derive(Clone, Copy, Debug)]
enum Meaning {
    Type(u32),
    Vector(u32),
    Space(Space),
    Order(AccessFlags, Effects),
}

#[derive(Debug)]
pub(super) struct ModifierTable(FxHashMap<String, Meaning>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    modifier: String,
    kind: String,
    value: String,
    source: String,
}

const TABLE: &str = "modifiers.csv";

impl ModifierTable {
    pub fn load(text: &str) -> Result<ModifierTable, TableError> {
        let mut all = FxHashMap::default();
        for (line, raw) in rows::<Raw>(TABLE, text)? {
            let error = |message: String| TableError { table: TABLE, line, message };
            let number = || raw.value.parse::<u32>().ok().filter(|&n| n <= 64);
            let meaning = match raw.kind.as_str() {
                "type" => number().map(Meaning::Type),
                "vector" => number().filter(|&n| n > 0).map(Meaning::Vector),
                "space" => Space::parse(&raw.value).map(Meaning::Space),
                "order" => order(&raw.value),
                _ => return Err(error(format!("`{}` is no kind of modifier", raw.kind))),
            };
            let Some(meaning) = meaning else {
                return Err(error(format!("`{}` is no {}", raw.value, raw.kind)));
            };
            if raw.source.is_empty() {
                return Err(error("a row without a source".to_owned()));
            }
            if all.insert(raw.modifier.clone(), meaning).is_some() {
                return Err(error(format!("a second row of `{}`", raw.modifier)));
            }
        }
        Ok(ModifierTable(all))
    }

    pub fn read<'a>(&self, words: impl Iterator<Item = &'a str>) -> Modifiers {
        let mut found =
            Modifiers { bytes: None, space: None, flags: AccessFlags::empty(), effects: Effects::empty() };
        let mut elements = 1;
        for word in words {
            match self.0.get(word) {
                Some(&Meaning::Type(bytes)) => found.bytes = Some(bytes).filter(|&b| b > 0),
                Some(&Meaning::Vector(count)) => elements = count,
                Some(&Meaning::Space(space)) => found.space = found.space.or(Some(space)),
                Some(&Meaning::Order(flags, effects)) => {
                    found.flags |= flags;
                    found.effects |= effects;
                }
                None => {}
            }
        }
        found.bytes = found.bytes.map(|bytes| bytes * elements);
        found
    }

    pub fn type_bytes(&self, ty: &str) -> Option<u32> {
        match self.0.get(ty) {
            Some(&Meaning::Type(bytes)) => Some(bytes),
            _ => None,
        }
    }
}

fn order(value: &str) -> Option<Meaning> {
    match value {
        "read_only" => Some(Meaning::Order(AccessFlags::READ_ONLY, Effects::empty())),
        "volatile" => Some(Meaning::Order(AccessFlags::VOLATILE, Effects::empty())),
        "barrier" => Some(Meaning::Order(AccessFlags::VOLATILE, Effects::BARRIER)),
        _ => None,
    }
}
