//! Settings from a TOML file: `name = value` at the top level, under `[knobs]`, or both.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{FileError, Place, shorten};
use crate::registry::registry;
use crate::set::{KnobSet, admit, mismatch};
use crate::value::Value;

/// The table that may hold the settings, so that a file can have room for other things beside it one day.
const TABLE: &str = "knobs";

impl KnobSet {
    /// Takes every setting of a TOML file; `file_name` is what errors call it. On an error nothing is taken.
    ///
    /// ```
    /// let mut knobs = sassafras_knobs::KnobSet::new();
    /// knobs.load_toml("[knobs]\nmax-sched-reorder = 4\n", "tuning.toml")?;
    /// let error = knobs.load_toml("max-sched-reorder = 4\nenable-mished = true\n", "tuning.toml").unwrap_err();
    /// assert_eq!(error.to_string(), "tuning.toml:2:1: unknown knob `enable-mished`; did you mean `enable-misched`?");
    /// # Ok::<(), sassafras_knobs::FileError>(())
    /// ```
    pub fn load_toml(&mut self, text: &str, file_name: &str) -> Result<(), FileError> {
        let place = |offset| Place::of_offset(file_name, text, offset);
        let root = DeTable::parse(text).map_err(|error| FileError::Syntax {
            place: place(error.span().map_or(0, |span| span.start)),
            message: error.message().replace('\n', "; "),
        })?;

        let mut taken: BTreeMap<usize, (Value, usize)> = BTreeMap::new();
        for (key, value) in settings(root.get_ref()) {
            let at_key = key.span().start;
            let at = |offset| move |error| FileError::Setting { place: place(offset), error };
            let (index, knob) = registry().resolve(key.get_ref()).map_err(at(at_key))?;
            let value = typed(value.get_ref())
                .map_err(|found| mismatch(knob, found))
                .and_then(|value| admit(knob, value))
                .map_err(at(value.span().start))?;
            if let Some((_, first)) = taken.insert(index, (value, at_key)) {
                return Err(FileError::Repeated {
                    place: place(at_key),
                    knob: knob.name.clone(),
                    first_line: place(first).line,
                });
            }
        }
        self.explicit.extend(taken.into_iter().map(|(index, (value, _))| (index, value)));
        Ok(())
    }
}

type Entry<'a, 'i> = (&'a Spanned<std::borrow::Cow<'i, str>>, &'a Spanned<DeValue<'i>>);

/// All settings in the order of the file, so that the first error reported is the first in it.
fn settings<'a, 'i>(root: &'a DeTable<'i>) -> Vec<Entry<'a, 'i>> {
    let mut entries: Vec<Entry<'a, 'i>> = Vec::new();
    for (key, value) in root {
        match value.get_ref() {
            DeValue::Table(table) if key.get_ref() == TABLE => entries.extend(table),
            _ => entries.push((key, value)),
        }
    }
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// The value, or what it is instead of one.
fn typed(value: &DeValue<'_>) -> Result<Value, String> {
    let quoted = |text: &str| format!("`{}`", shorten(text));
    match value {
        DeValue::Boolean(value) => Ok(Value::Bool(*value)),
        DeValue::Integer(value) => i64::from_str_radix(value.as_str(), value.radix())
            .map(Value::Int)
            .map_err(|_| quoted(value.as_str())),
        DeValue::Float(value) => value.as_str().parse().map(Value::Float).map_err(|_| quoted(value.as_str())),
        DeValue::String(value) => Ok(Value::from(&**value)),
        DeValue::Array(_) => Err("an array".to_owned()),
        DeValue::Table(_) => Err("a table".to_owned()),
        DeValue::Datetime(_) => Err("a date".to_owned()),
    }
}
