//! One row of the table.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::value::{Kind, Value};

/// A document that names knobs, by its short id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Document {
    /// The seven list-scheduling heuristics of cicc.
    ListSchedulers,
    /// The two schedulers of ptxas, before and after register allocation.
    PtxasScheduling,
    /// Pressure tracking, modulo scheduling and live scheduling of cicc.
    CiccPipeliner,
    /// The latency model of ptxas.
    LatencyModel,
    /// Schedule generation and materialisation of the tile compiler.
    TileScheduler,
    /// What sibling write-ups add to `ptxas-scheduling` and `latency-model`.
    PtxasExtras,
    /// What sibling write-ups add to `tile-scheduler`.
    TileExtras,
}

impl Document {
    /// Every document, in the order of the table.
    pub const ALL: [Self; 7] = [
        Self::ListSchedulers,
        Self::PtxasScheduling,
        Self::CiccPipeliner,
        Self::LatencyModel,
        Self::TileScheduler,
        Self::PtxasExtras,
        Self::TileExtras,
    ];

    /// The short id.
    pub fn id(self) -> &'static str {
        match self {
            Self::ListSchedulers => "list-schedulers",
            Self::PtxasScheduling => "ptxas-scheduling",
            Self::CiccPipeliner => "cicc-pipeliner",
            Self::LatencyModel => "latency-model",
            Self::TileScheduler => "tile-scheduler",
            Self::PtxasExtras => "ptxas-extras",
            Self::TileExtras => "tile-extras",
        }
    }
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id())
    }
}

/// The default of a knob, or why none is given.
#[derive(Clone, Debug, PartialEq)]
pub enum DefaultValue {
    /// The documented value.
    Known(Value),
    /// No document states one; the reason, or what takes its place.
    Unknown(String),
}

impl DefaultValue {
    /// The documented value, if there is one.
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Known(value) => Some(value),
            Self::Unknown(_) => None,
        }
    }

    /// Why there is no value, if there is none.
    pub fn unknown(&self) -> Option<&str> {
        match self {
            Self::Known(_) => None,
            Self::Unknown(reason) => Some(reason),
        }
    }
}

/// A knob: one row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Knob {
    /// Kebab-case name; unique among names and aliases.
    pub name: String,
    /// A second accepted spelling; unique among names and aliases.
    pub alias: Option<String>,
    /// Type and range.
    pub kind: Kind,
    /// Default; always one that `kind` takes.
    pub default: DefaultValue,
    /// Unit of a number.
    pub unit: Option<String>,
    /// Documents that name it, the one it is listed under first.
    pub seeds: Vec<Document>,
    /// What it does.
    pub meaning: String,
    /// Where setting it has an effect: words that must all hold of a run, the command first; empty when no command reads it.
    pub used_by: Vec<String>,
}

impl Knob {
    /// Whether a run of which these words hold (its command, the kind of its input, its strategies) reads it.
    pub fn is_read_by(&self, run: &[&str]) -> bool {
        self.used_by.iter().any(|reader| reader.split(' ').all(|word| run.contains(&word)))
    }

    /// Where setting it has an effect, in words: strategies of one command stand behind each other.
    pub fn readers(&self) -> String {
        let mut shown = String::new();
        let mut before = None;
        for reader in &self.used_by {
            let (run, last) = reader.rsplit_once(' ').unwrap_or(("", reader));
            match before {
                Some(same) if same == run && !run.is_empty() => shown.extend(["|", last]),
                Some(_) => shown.extend([", ", reader]),
                None => shown.push_str(reader),
            }
            before = Some(run);
        }
        shown
    }
}

/// Knobs that a document mentions by a common prefix without naming the members.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// What the members' names start with.
    pub prefix: String,
    /// How many members there are, where that is stated.
    pub members: Option<u32>,
    /// Documents that mention it.
    pub seeds: Vec<Document>,
    /// What the members are about.
    pub meaning: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_a_reader_must_hold() {
        let knob = crate::registry().find("enable-post-misched").unwrap();
        assert!(knob.is_read_by(&["schedule", "binary", "converge"]));
        assert!(!knob.is_read_by(&["schedule", "binary", "tepid"]));
        assert!(!knob.is_read_by(&["schedule", "ptx", "converge"]));
        assert_eq!(knob.readers(), "schedule binary converge|ilpmax|ilpmin");
        assert_eq!(
            crate::registry().find("sched-high-latency-cycles").unwrap().readers(),
            "deps, schedule text|ptx, schedule binary critical-path|converge"
        );
        assert!(!crate::registry().find("knob-805").unwrap().is_read_by(&["schedule", "binary", "tepid"]));
    }

    #[test]
    fn ids_are_what_the_table_spells() {
        for document in Document::ALL {
            assert_eq!(serde_json::to_value(document).unwrap(), document.id());
        }
        assert!(Document::ALL.is_sorted());
    }
}
