//! What a user set, over the defaults.

use std::collections::BTreeMap;

use crate::error::{SettingError, shorten};
use crate::keys::{Key, Readable};
use crate::knob::Knob;
use crate::registry::registry;
use crate::value::{Reject, Value};

/// Explicit settings over the documented defaults.
///
/// A later setting of a knob replaces an earlier one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnobSet {
    /// Checked values by the position of their knob in the table: one per knob, whichever spelling was used.
    pub(crate) explicit: BTreeMap<usize, Value>,
}

/// The state of one knob in a [`KnobSet`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Setting<'a> {
    /// Set by the user.
    Explicit(&'a Value),
    /// Not set; the documented default.
    Default(&'a Value),
    /// Not set, and no document states a default.
    Unset,
}

impl<'a> Setting<'a> {
    /// The value, set or default.
    pub fn value(self) -> Option<&'a Value> {
        match self {
            Self::Explicit(value) | Self::Default(value) => Some(value),
            Self::Unset => None,
        }
    }

    /// The value if the user set it.
    pub fn explicit(self) -> Option<&'a Value> {
        match self {
            Self::Explicit(value) => Some(value),
            Self::Default(_) | Self::Unset => None,
        }
    }
}

impl KnobSet {
    /// Nothing set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a `NAME=VALUE` assignment, as `--knob` gives it. Returns the knob.
    pub fn assign(&mut self, assignment: &str) -> Result<&'static Knob, SettingError> {
        let (name, text) = assignment
            .split_once('=')
            .map(|(name, text)| (name.trim(), text))
            .filter(|(name, _)| !name.is_empty())
            .ok_or_else(|| SettingError::Malformed { text: shorten(assignment) })?;
        let (index, knob) = registry().resolve(name)?;
        let value = knob.kind.parse(text).map_err(|reject| refused(knob, reject, text.trim()))?;
        self.explicit.insert(index, value);
        Ok(knob)
    }

    /// Sets a knob, by name or alias, to a typed value. Returns the knob.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) -> Result<&'static Knob, SettingError> {
        let (index, knob) = registry().resolve(name)?;
        self.explicit.insert(index, admit(knob, value.into())?);
        Ok(knob)
    }

    /// The value that a consumer works with: the one set, otherwise the default; nothing where neither exists.
    pub fn get<T: Readable>(&self, key: Key<T>) -> Option<T> {
        self.setting(key.name())?.value().and_then(T::read)
    }

    /// The value if the user set it, for the documents' "knob is set" tests.
    pub fn explicit<T: Readable>(&self, key: Key<T>) -> Option<T> {
        self.setting(key.name())?.explicit().and_then(T::read)
    }

    /// The state of the knob with this name or alias; nothing for an unknown name. For tools that show knobs: code that
    /// acts on a knob reads it through a [`Key`].
    pub fn setting(&self, name: &str) -> Option<Setting<'_>> {
        let (index, knob) = registry().lookup(name)?;
        Some(match (self.explicit.get(&index), knob.default.value()) {
            (Some(value), _) => Setting::Explicit(value),
            (None, Some(value)) => Setting::Default(value),
            (None, None) => Setting::Unset,
        })
    }

    /// Whether the user set the knob with this name or alias.
    pub fn is_set(&self, name: &str) -> bool {
        matches!(self.setting(name), Some(Setting::Explicit(_)))
    }

    /// Everything set, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Knob, &Value)> {
        self.explicit.iter().map(|(&index, value)| (registry().at(index), value))
    }

    /// Knobs that are set although a run of which these words hold does not read them, for a warning.
    pub fn unread(&self, run: &[&str]) -> impl Iterator<Item = &'static Knob> {
        self.iter().map(|(knob, _)| knob).filter(|knob| !knob.is_read_by(run))
    }
}

/// The value as the knob takes it, or the error for the user.
pub(crate) fn admit(knob: &Knob, value: Value) -> Result<Value, SettingError> {
    let shown = value.to_string();
    knob.kind.admit(value).map_err(|reject| refused(knob, reject, &shown))
}

fn refused(knob: &Knob, reject: Reject, value: &str) -> SettingError {
    match (reject, knob.kind.range()) {
        (Reject::Range, Some(range)) => SettingError::OutOfRange {
            knob: knob.name.clone(),
            value: shorten(value),
            range: range.to_string(),
        },
        _ => mismatch(knob, format!("`{}`", shorten(value))),
    }
}

pub(crate) fn mismatch(knob: &Knob, found: String) -> SettingError {
    SettingError::Type {
        knob: knob.name.clone(),
        expected_type: knob.kind.type_name(),
        expected: knob.kind.expected(),
        found,
    }
}
