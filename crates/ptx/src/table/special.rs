//! Special registers.

use super::load::{TableError, rows};
use rustc_hash::FxHashMap;
use serde::Deserialize;

/// Names without component (`%tid` of `%tid.x`), each with whether its value may change; a `#` stands for a number.
#[derive(Debug)]
pub(super) struct SpecialTable(FxHashMap<String, bool>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    name: String,
    value: String,
    source: String,
}

const TABLE: &str = "special.csv";

impl SpecialTable {
    pub fn load(text: &str) -> Result<SpecialTable, TableError> {
        let mut all = FxHashMap::default();
        for (line, raw) in rows::<Raw>(TABLE, text)? {
            let error = |message: String| TableError { table: TABLE, line, message };
            let changes = match raw.value.as_str() {
                "constant" => false,
                "changes" => true,
                _ => return Err(error(format!("`{}` is neither `constant` nor `changes`", raw.value))),
            };
            if !raw.name.starts_with('%') || raw.source.is_empty() {
                return Err(error("a row needs a name with its `%`, and a source".to_owned()));
            }
            if all.insert(raw.name.clone(), changes).is_some() {
                return Err(error(format!("a second row of `{}`", raw.name)));
            }
        }
        Ok(SpecialTable(all))
    }

    pub fn changes(&self, name: &str) -> Option<bool> {
        let name = name.split('.').next().unwrap_or(name);
        self.0.get(name).copied().or_else(|| {
            let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
            (stem.len() < name.len()).then(|| self.0.get(&format!("{stem}#")).copied()).flatten()
        })
    }
}
