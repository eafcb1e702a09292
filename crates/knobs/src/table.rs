//! Reads and checks `data/knobs.toml`.

use std::collections::BTreeMap;

use serde::Deserialize;
use thiserror::Error;

use crate::knob::{DefaultValue, Document, Family, Knob};
use crate::registry::spellings;
use crate::value::{Bounds, Kind, Value};

/// What is wrong with a table.
#[derive(Debug, Error)]
pub(crate) enum TableError {
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    #[error("knob `{knob}`: {problem}")]
    Row { knob: String, problem: &'static str },
    #[error("`{spelling}` is used by both `{first}` and `{second}`")]
    Repeated { spelling: String, first: String, second: String },
    #[error("knob `{knob}` is out of order: documents first, then names")]
    Order { knob: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTable {
    knob: Vec<RawKnob>,
    #[serde(default)]
    family: Vec<RawFamily>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawKnob {
    name: String,
    alias: Option<String>,
    r#type: RawType,
    default: Option<toml::Value>,
    default_unknown: Option<String>,
    #[serde(default)]
    range: RawRange,
    unit: Option<String>,
    seed: Vec<Document>,
    meaning: String,
    used_by: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RawType {
    Bool,
    Int,
    Float,
    Enum,
    String,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRange {
    min: Option<toml::Value>,
    max: Option<toml::Value>,
    values: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFamily {
    prefix: String,
    members: Option<u32>,
    seed: Vec<Document>,
    meaning: String,
}

pub(crate) fn parse(text: &str) -> Result<(Vec<Knob>, Vec<Family>), TableError> {
    let raw: RawTable = toml::from_str(text)?;
    let families = raw.family.into_iter().map(RawFamily::check).collect::<Result<_, _>>()?;
    let knobs = raw.knob.into_iter().map(RawKnob::check).collect::<Result<Vec<_>, _>>()?;
    check_spellings(&knobs)?;
    check_order(&knobs)?;
    Ok((knobs, families))
}

/// Names and aliases must differ in more than case, or a slip of the shift key would pick another knob.
fn check_spellings(knobs: &[Knob]) -> Result<(), TableError> {
    let mut seen = BTreeMap::new();
    for knob in knobs {
        for spelling in spellings(knob) {
            if let Some(first) = seen.insert(spelling.to_lowercase(), &knob.name) {
                return Err(TableError::Repeated {
                    spelling: spelling.to_owned(),
                    first: first.clone(),
                    second: knob.name.clone(),
                });
            }
        }
    }
    Ok(())
}

fn check_order(knobs: &[Knob]) -> Result<(), TableError> {
    let key = |knob: &Knob| (knob.seeds[0], knob.name.clone());
    match knobs.windows(2).find(|pair| key(&pair[0]) > key(&pair[1])) {
        Some(pair) => Err(TableError::Order { knob: pair[1].name.clone() }),
        None => Ok(()),
    }
}

impl RawKnob {
    fn check(self) -> Result<Knob, TableError> {
        let name = self.name.clone();
        self.check_fields().map_err(|problem| TableError::Row { knob: name, problem })
    }

    fn check_fields(self) -> Result<Knob, &'static str> {
        if !is_kebab_case(&self.name) {
            return Err("the name is not kebab-case");
        }
        if self.alias.as_deref().is_some_and(|alias| !is_word(alias)) {
            return Err("the alias is not a word of letters, digits and dashes");
        }
        check_prose(&self.meaning, &self.seed)?;
        if !self.used_by.iter().all(|reader| reader.split(' ').all(is_kebab_case)) {
            return Err("a reader is not a command, with the kind of input and the strategy");
        }
        let kind = kind(self.r#type, self.range)?;
        let default = match (self.default, self.default_unknown) {
            (Some(raw), None) => {
                let value = from_toml(raw).and_then(|value| kind.admit(value).ok());
                DefaultValue::Known(value.ok_or("the default is of another type or out of range")?)
            }
            (None, Some(reason)) if !reason.trim().is_empty() => DefaultValue::Unknown(reason),
            _ => return Err("needs a default, or else the reason why there is none"),
        };
        if self.unit.is_some() && !matches!(kind, Kind::Int(_) | Kind::Float(_)) {
            return Err("only a number has a unit");
        }
        Ok(Knob {
            name: self.name,
            alias: self.alias,
            kind,
            default,
            unit: self.unit,
            seeds: self.seed,
            meaning: self.meaning,
            used_by: self.used_by,
        })
    }
}

impl RawFamily {
    fn check(self) -> Result<Family, TableError> {
        let row = |problem| TableError::Row { knob: self.prefix.clone(), problem };
        if !is_word(&self.prefix) {
            return Err(row("the prefix is not a word of letters, digits and dashes"));
        }
        check_prose(&self.meaning, &self.seed).map_err(row)?;
        Ok(Family { prefix: self.prefix, members: self.members, seeds: self.seed, meaning: self.meaning })
    }
}

fn check_prose(meaning: &str, seeds: &[Document]) -> Result<(), &'static str> {
    if !meaning.ends_with('.') {
        return Err("the meaning is not a sentence");
    }
    if seeds.is_empty() {
        return Err("no document is named");
    }
    if !seeds.is_sorted_by(|a, b| a < b) {
        return Err("documents are out of order or repeated");
    }
    Ok(())
}

fn kind(raw: RawType, range: RawRange) -> Result<Kind, &'static str> {
    let RawRange { min, max, values } = range;
    let has_bounds = min.is_some() || max.is_some();
    match (raw, values) {
        (RawType::Int, None) => Ok(Kind::Int(bounds(min, max, |value| value.as_int())?)),
        (RawType::Float, None) => Ok(Kind::Float(bounds(min, max, |value| value.as_float())?)),
        (RawType::Enum, Some(words))
            if !has_bounds && words.len() > 1 && words.iter().all(|word| is_word(word)) =>
        {
            Ok(Kind::Enum(words))
        }
        (RawType::Bool, None) if !has_bounds => Ok(Kind::Bool),
        (RawType::String, None) if !has_bounds => Ok(Kind::Text),
        _ => Err("the range does not fit the type"),
    }
}

fn bounds<T: PartialOrd>(
    min: Option<toml::Value>,
    max: Option<toml::Value>,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<Bounds<T>, &'static str> {
    let bound = |raw: Option<toml::Value>| match raw {
        None => Ok(None),
        Some(raw) => from_toml(raw).as_ref().and_then(&read).map(Some).ok_or("a bound is of another type"),
    };
    let bounds = Bounds { min: bound(min)?, max: bound(max)? };
    if bounds.is_empty() { Err("the range is empty") } else { Ok(bounds) }
}

fn from_toml(raw: toml::Value) -> Option<Value> {
    match raw {
        toml::Value::Boolean(value) => Some(Value::Bool(value)),
        toml::Value::Integer(value) => Some(Value::Int(value)),
        toml::Value::Float(value) => Some(Value::Float(value)),
        toml::Value::String(value) => Some(Value::Text(value)),
        _ => None,
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn is_kebab_case(text: &str) -> bool {
    text.split('-').all(|part| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
[[knob]]
name = "limit"
alias = "Limit-Alias"
type = "int"
default = 3
range = { min = 0, max = 9 }
unit = "cycles"
seed = ["list-schedulers", "ptxas-extras"]
meaning = "A limit."
used_by = ["deps"]

[[knob]]
name = "mode"
type = "enum"
default = "none"
range = { values = ["none", "all"] }
seed = ["list-schedulers"]
meaning = "A mode."
used_by = []

[[knob]]
name = "a-switch"
type = "bool"
default_unknown = "not stated"
seed = ["cicc-pipeliner"]
meaning = "A switch."
used_by = []

[[family]]
prefix = "Many"
seed = ["cicc-pipeliner"]
meaning = "Many of them."
"#;

    #[test]
    fn a_good_table_passes() {
        let (knobs, families) = parse(GOOD).unwrap();
        assert_eq!((knobs.len(), families.len()), (3, 1));
        assert_eq!(knobs[0].kind, Kind::Int(Bounds { min: Some(0), max: Some(9) }));
        assert_eq!(knobs[0].default, DefaultValue::Known(Value::Int(3)));
        assert_eq!(knobs[0].seeds, [Document::ListSchedulers, Document::PtxasExtras]);
    }

    #[test]
    fn every_fault_is_noticed() {
        let faults = [
            ("name = \"limit\"", "name = \"Limit\"", "kebab-case"),
            ("name = \"limit\"", "name = \"limit-\"", "kebab-case"),
            ("name = \"mode\"", "name = \"limit\"", "used by both"),
            ("name = \"mode\"", "name = \"limit-alias\"", "used by both"),
            ("name = \"limit\"", "name = \"zebra\"", "out of order"),
            ("Limit-Alias", "limit alias", "alias"),
            ("Limit-Alias", "limit", "used by both"),
            ("type = \"int\"", "type = \"integer\"", "unknown variant"),
            ("type = \"bool\"", "type = \"float\"\nrange = { min = 1 }", "bound"),
            ("type = \"bool\"", "type = \"bool\"\nrange = { min = 0 }", "range"),
            ("type = \"bool\"", "type = \"string\"\nrange = { max = 0 }", "range"),
            ("type = \"bool\"", "type = \"bool\"\nunit = \"cycles\"", "unit"),
            ("default = 3", "default = 10", "out of range"),
            ("default = 3", "default = 3.0", "another type"),
            ("default = 3", "default = [3]", "another type"),
            ("default = 3", "", "needs a default"),
            ("default = 3", "default = 3\ndefault_unknown = \"not stated\"", "needs a default"),
            ("default_unknown = \"not stated\"", "default_unknown = \" \"", "needs a default"),
            ("default = \"none\"", "default = \"some\"", "out of range"),
            ("min = 0", "min = 10", "empty"),
            ("min = 0", "min = false", "bound"),
            ("min = 0", "minimum = 0", "unknown field"),
            ("min = 0, max = 9", "values = [\"3\", \"4\"]", "range"),
            ("values = [\"none\", \"all\"]", "min = 0", "range"),
            ("values = [\"none\", \"all\"]", "values = [\"none\"]", "range"),
            ("range = { values = [\"none\", \"all\"] }", "", "range"),
            ("\"ptxas-extras\"]", "\"sixth-document\"]", "unknown variant"),
            ("[\"list-schedulers\", \"ptxas-extras\"]", "[]", "no document"),
            (
                "[\"list-schedulers\", \"ptxas-extras\"]",
                "[\"ptxas-extras\", \"list-schedulers\"]",
                "out of order",
            ),
            (
                "[\"list-schedulers\", \"ptxas-extras\"]",
                "[\"list-schedulers\", \"list-schedulers\"]",
                "repeated",
            ),
            ("seed = [\"cicc-pipeliner\"]\nmeaning = \"Many", "seed = []\nmeaning = \"Many", "no document"),
            ("meaning = \"A limit.\"", "", "missing field"),
            ("meaning = \"A limit.\"", "meaning = \"\"", "sentence"),
            ("meaning = \"Many of them.\"", "meaning = \"many\"", "sentence"),
            ("used_by = [\"deps\"]", "", "missing field"),
            ("used_by = [\"deps\"]", "used_by = [\"\"]", "reader"),
            ("prefix = \"Many\"", "prefix = \"\"", "prefix"),
            ("[[family]]", "[[families]]", "unknown field"),
        ];
        for (from, to, expected) in faults {
            assert!(GOOD.contains(from), "{from}");
            let message = parse(&GOOD.replacen(from, to, 1)).expect_err(to).to_string();
            assert!(message.contains(expected), "{from} -> {to}: {message}");
        }
    }
}
