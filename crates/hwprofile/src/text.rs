//! Strings that the format can hold.

use std::fmt;

use serde::Serialize;

/// A string without NUL, so that a terminator can end it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Default)]
#[serde(transparent)]
pub struct Text(String);

impl Text {
    /// `None` when `text` contains a NUL.
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        (!text.contains('\0')).then_some(Self(text))
    }

    /// The string.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A [`Text`] that fits a record's inline buffer: at most 15 bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Default)]
#[serde(transparent)]
pub struct Label(Text);

impl Label {
    /// Size of the inline buffer. A full one has no terminator.
    pub const MAX: usize = 15;

    /// `None` when `text` is too long or contains a NUL.
    pub fn new(text: impl Into<String>) -> Option<Self> {
        Text::new(text).filter(|text| text.as_str().len() <= Self::MAX).map(Self)
    }

    /// The string.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The string as a general one.
    pub fn into_text(self) -> Text {
        self.0
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_kept() {
        assert!(Label::new("123456789012345").is_some());
        assert!(Label::new("1234567890123456").is_none());
        assert!(Text::new("a\0b").is_none());
    }
}
