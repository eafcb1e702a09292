//! The table for printing: JSON through serde, and rows of text.

use serde::Serialize;

use crate::knob::{Document, Family, Knob};
use crate::registry::Registry;
use crate::value::{Range, Value};

/// Column titles of [`Registry::rows`].
pub const TABLE_HEADER: [&str; 7] = ["name", "alias", "type", "default", "range", "documents", "used by"];

/// The table as JSON shows it.
#[derive(Clone, Debug, Serialize)]
pub struct Listing<'a> {
    /// Version of this form.
    pub schema: u32,
    /// All knobs.
    pub knobs: Vec<KnobEntry<'a>>,
    /// Families of knobs without named members.
    pub families: Vec<FamilyEntry<'a>>,
}

/// A knob as JSON shows it.
#[derive(Clone, Debug, Serialize)]
pub struct KnobEntry<'a> {
    name: &'a str,
    alias: Option<&'a str>,
    default: Option<&'a Value>,
    default_unknown: Option<&'a str>,
    r#type: &'a str,
    range: Option<Range<'a>>,
    unit: Option<&'a str>,
    seed: &'a [Document],
    used_by: &'a [String],
    meaning: &'a str,
}

impl<'a> From<&'a Knob> for KnobEntry<'a> {
    fn from(knob: &'a Knob) -> Self {
        Self {
            name: &knob.name,
            alias: knob.alias.as_deref(),
            default: knob.default.value(),
            default_unknown: knob.default.unknown(),
            r#type: knob.kind.type_name(),
            range: knob.kind.range(),
            unit: knob.unit.as_deref(),
            seed: &knob.seeds,
            used_by: &knob.used_by,
            meaning: &knob.meaning,
        }
    }
}

/// A family as JSON shows it.
#[derive(Clone, Debug, Serialize)]
pub struct FamilyEntry<'a> {
    prefix: &'a str,
    members: Option<u32>,
    seed: &'a [Document],
    meaning: &'a str,
}

impl<'a> From<&'a Family> for FamilyEntry<'a> {
    fn from(family: &'a Family) -> Self {
        Self {
            prefix: &family.prefix,
            members: family.members,
            seed: &family.seeds,
            meaning: &family.meaning,
        }
    }
}

impl Registry {
    /// The table for JSON, schema 2: `used_by` names commands.
    pub fn listing(&self) -> Listing<'_> {
        Listing {
            schema: 2,
            knobs: self.iter().map(KnobEntry::from).collect(),
            families: self.families().iter().map(FamilyEntry::from).collect(),
        }
    }

    /// The table as text, one row per knob under [`TABLE_HEADER`]. What is absent is empty.
    pub fn rows(&self) -> impl Iterator<Item = [String; 7]> {
        self.iter().map(|knob| {
            [
                knob.name.clone(),
                knob.alias.clone().unwrap_or_default(),
                knob.kind.type_name().to_owned(),
                knob.default.value().map(Value::to_string).unwrap_or_default(),
                knob.kind.range().map(|range| range.to_string()).unwrap_or_default(),
                knob.seeds.iter().map(|document| document.id()).collect::<Vec<_>>().join(", "),
                knob.readers(),
            ]
        })
    }
}
