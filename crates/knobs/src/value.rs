//! Values of knobs, and the kinds (type and range) that decide which values a knob takes.

use std::fmt;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// The value of a knob.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// Of a `bool` knob.
    Bool(bool),
    /// Of an `int` knob.
    Int(i64),
    /// Of a `float` knob; always finite in a [`KnobSet`](crate::KnobSet).
    Float(f64),
    /// Of an `enum` or a `string` knob.
    Text(String),
}

impl Value {
    /// The truth value, if this is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The integer, if this is one.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The floating-point number, if this is one.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Self::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// The text, if this is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(value) => Some(value),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            // Debug keeps the point of a whole number, which tells 3.0 from the integer 3.
            Self::Float(value) => fmt::Debug::fmt(value, f),
            Self::Text(value) => value.fmt(f),
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

/// Inclusive bounds of a number; an absent one is not known to exist.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds<T> {
    /// Smallest allowed value.
    pub min: Option<T>,
    /// Largest allowed value.
    pub max: Option<T>,
}

impl<T: PartialOrd> Bounds<T> {
    /// Whether `value` lies within.
    pub fn contains(&self, value: &T) -> bool {
        self.min.as_ref().is_none_or(|min| value >= min) && self.max.as_ref().is_none_or(|max| value <= max)
    }

    /// Whether no value at all lies within.
    pub(crate) fn is_empty(&self) -> bool {
        matches!((&self.min, &self.max), (Some(min), Some(max)) if min > max)
    }

    fn is_unbounded(&self) -> bool {
        self.min.is_none() && self.max.is_none()
    }
}

impl<T: fmt::Display> fmt::Display for Bounds<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.min, &self.max) {
            (Some(min), Some(max)) => write!(f, "{min} to {max}"),
            (Some(min), None) => write!(f, "at least {min}"),
            (None, Some(max)) => write!(f, "at most {max}"),
            (None, None) => f.write_str("any"),
        }
    }
}

/// Type and range of a knob.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A switch.
    Bool,
    /// An integer within bounds.
    Int(Bounds<i64>),
    /// A finite floating-point number within bounds.
    Float(Bounds<f64>),
    /// One of a list of words.
    Enum(Vec<String>),
    /// Any text.
    Text,
}

/// Why a [`Kind`] does not take a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reject {
    /// Of another type.
    Type,
    /// Of the right type and out of range.
    Range,
}

impl Kind {
    /// Name of the type, as the table spells it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Enum(_) => "enum",
            Self::Text => "string",
        }
    }

    /// The range, where there is one.
    pub fn range(&self) -> Option<Range<'_>> {
        match self {
            Self::Int(bounds) if !bounds.is_unbounded() => Some(Range::Int(bounds)),
            Self::Float(bounds) if !bounds.is_unbounded() => Some(Range::Float(bounds)),
            Self::Enum(words) => Some(Range::Words(words)),
            _ => None,
        }
    }

    /// What a user is told to write.
    pub(crate) fn expected(&self) -> &'static str {
        match self {
            Self::Bool => "true or false",
            Self::Int(_) => "a 64-bit integer",
            Self::Float(_) => "a finite number",
            Self::Enum(_) => "a word",
            Self::Text => "text",
        }
    }

    /// Checks a typed value. An integer is taken for a floating-point knob, nothing else is converted.
    pub(crate) fn admit(&self, value: Value) -> Result<Value, Reject> {
        let value = match (self, value) {
            (Self::Float(_), Value::Int(value)) => Value::Float(value as f64),
            (_, value) => value,
        };
        let in_range = match (self, &value) {
            (Self::Bool, Value::Bool(_)) | (Self::Text, Value::Text(_)) => true,
            (Self::Int(bounds), Value::Int(value)) => bounds.contains(value),
            (Self::Float(bounds), Value::Float(value)) if value.is_finite() => bounds.contains(value),
            (Self::Enum(words), Value::Text(value)) => words.contains(value),
            _ => return Err(Reject::Type),
        };
        if in_range { Ok(value) } else { Err(Reject::Range) }
    }

    /// Reads a value from the text of a command-line assignment.
    pub(crate) fn parse(&self, text: &str) -> Result<Value, Reject> {
        let word = text.trim();
        let value = match self {
            Self::Bool => match word {
                "true" | "on" | "1" => Some(Value::Bool(true)),
                "false" | "off" | "0" => Some(Value::Bool(false)),
                _ => None,
            },
            Self::Int(_) => parse_int(word).map(Value::Int),
            Self::Float(_) => word.parse().ok().map(Value::Float),
            Self::Enum(_) => Some(Value::from(word)),
            // A file name may start or end with a space.
            Self::Text => Some(Value::from(text)),
        };
        self.admit(value.ok_or(Reject::Type)?)
    }
}

/// Decimal, or hexadecimal after `0x` since the documents print both.
fn parse_int(word: &str) -> Option<i64> {
    match word.strip_prefix("0x") {
        // from_str_radix would take the sign in "0x-5".
        Some(digits) if digits.starts_with(|c: char| c.is_ascii_hexdigit()) => {
            i64::from_str_radix(digits, 16).ok()
        }
        Some(_) => None,
        None => word.parse().ok(),
    }
}

/// The range of a [`Kind`], for printing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range<'a> {
    /// Of an `int` knob.
    Int(&'a Bounds<i64>),
    /// Of a `float` knob.
    Float(&'a Bounds<f64>),
    /// Of an `enum` knob.
    Words(&'a [String]),
}

impl fmt::Display for Range<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(bounds) => bounds.fmt(f),
            Self::Float(bounds) => bounds.fmt(f),
            Self::Words(words) => write!(f, "one of {}", words.join(", ")),
        }
    }
}

impl Serialize for Range<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        fn bounds<T: Serialize, M: SerializeMap>(map: &mut M, bounds: &Bounds<T>) -> Result<(), M::Error> {
            if let Some(min) = &bounds.min {
                map.serialize_entry("min", min)?;
            }
            if let Some(max) = &bounds.max {
                map.serialize_entry("max", max)?;
            }
            Ok(())
        }
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::Int(range) => bounds(&mut map, range)?,
            Self::Float(range) => bounds(&mut map, range)?,
            Self::Words(words) => map.serialize_entry("values", words)?,
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTE: Kind = Kind::Int(Bounds { min: Some(0), max: Some(255) });

    #[test]
    fn integers_are_decimal_or_hexadecimal() {
        assert_eq!(BYTE.parse(" 0x39 "), Ok(Value::Int(57)));
        assert_eq!(BYTE.parse("255"), Ok(Value::Int(255)));
        assert_eq!(BYTE.parse("256"), Err(Reject::Range));
        assert_eq!(BYTE.parse("-1"), Err(Reject::Range));
        for text in ["", "0x", "0x-5", "0x+5", "1.0", "six", "99999999999999999999"] {
            assert_eq!(BYTE.parse(text), Err(Reject::Type), "{text}");
        }
    }

    #[test]
    fn floats_are_finite() {
        let ratio = Kind::Float(Bounds { min: Some(0.0), max: None });
        assert_eq!(ratio.parse("0.045"), Ok(Value::Float(0.045)));
        assert_eq!(ratio.admit(Value::Int(2)), Ok(Value::Float(2.0)));
        assert_eq!(ratio.parse("-0.5"), Err(Reject::Range));
        for text in ["nan", "inf", "-inf", "1e999"] {
            assert_eq!(ratio.parse(text), Err(Reject::Type), "{text}");
        }
    }

    #[test]
    fn other_types_are_not_converted() {
        assert_eq!(BYTE.admit(Value::Float(1.0)), Err(Reject::Type));
        assert_eq!(BYTE.admit(Value::Bool(true)), Err(Reject::Type));
        assert_eq!(Kind::Bool.admit(Value::Int(1)), Err(Reject::Type));
        assert_eq!(Kind::Bool.admit(Value::from("true")), Err(Reject::Type));
        assert_eq!(Kind::Text.admit(Value::Bool(true)), Err(Reject::Type));
    }

    #[test]
    fn switches_take_the_usual_words() {
        assert_eq!(Kind::Bool.parse("on"), Ok(Value::Bool(true)));
        assert_eq!(Kind::Bool.parse("0"), Ok(Value::Bool(false)));
        assert_eq!(Kind::Bool.parse("yes"), Err(Reject::Type));
    }

    #[test]
    fn text_keeps_its_spaces() {
        assert_eq!(Kind::Text.parse(" a b"), Ok(Value::from(" a b")));
    }

    #[test]
    fn ranges_print_for_people_and_for_json() {
        let json = |kind: &Kind| serde_json::to_string(&kind.range()).unwrap();
        assert_eq!(BYTE.range().unwrap().to_string(), "0 to 255");
        assert_eq!(json(&BYTE), r#"{"min":0,"max":255}"#);
        let words = Kind::Enum(vec!["none".into(), "all".into()]);
        assert_eq!(words.range().unwrap().to_string(), "one of none, all");
        assert_eq!(json(&words), r#"{"values":["none","all"]}"#);
        assert_eq!(json(&Kind::Bool), "null");
        assert_eq!(json(&Kind::Int(Bounds { min: None, max: None })), "null");
        let at_most = Kind::Float(Bounds { min: None, max: Some(1.5) });
        assert_eq!(at_most.range().unwrap().to_string(), "at most 1.5");
        assert_eq!(json(&at_most), r#"{"max":1.5}"#);
    }
}
