//! Goal: turn one CSV text into typed rows, each with its line, and refuse anything malformed.
//!
//! Loaders take text, not embedded constants, so that a user's own table goes through the same checks.

use std::fmt::Display;
use std::hash::Hash;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error as _};

use crate::TableError;

/// A typed row and the line it stands on.
#[derive(Debug, Clone)]
pub(crate) struct Row<T> {
    pub table: &'static str,
    pub line: u64,
    pub value: T,
}

impl<T> Row<T> {
    /// An error at this row.
    pub fn error(&self, message: impl ToString) -> TableError {
        TableError::new(self.table, self.line, message)
    }
}

/// Reads every row; the header must name exactly the fields of `T` (which therefore denies unknown fields).
pub(crate) fn rows<T: DeserializeOwned>(table: &'static str, text: &str) -> Result<Vec<Row<T>>, TableError> {
    let mut reader =
        csv::ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|e| csv_error(table, &e))?.clone();
    if let Some(twice) = first_duplicate(headers.iter()) {
        return Err(TableError::new(table, 1, format!("column `{twice}` appears twice")));
    }
    let mut out = Vec::new();
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(|e| csv_error(table, &e))? {
        let line = record.position().map_or(0, csv::Position::line);
        let value = record.deserialize(Some(&headers)).map_err(|e| csv_error(table, &e))?;
        out.push(Row { table, line, value });
    }
    Ok(out)
}

/// Refuses a second row with a key already seen.
pub(crate) fn unique<T, K: Eq + Hash + Display>(
    rows: &[Row<T>],
    key: impl Fn(&T) -> K,
) -> Result<(), TableError> {
    let mut seen = std::collections::HashSet::new();
    for row in rows {
        let key = key(&row.value);
        if seen.contains(&key) {
            return Err(row.error(format!("duplicate key {key}")));
        }
        seen.insert(key);
    }
    Ok(())
}

fn first_duplicate<'a>(names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut seen = std::collections::HashSet::new();
    let mut names = names;
    names.find(|name| !seen.insert(*name))
}

fn csv_error(table: &'static str, error: &csv::Error) -> TableError {
    let line = error.position().map_or(0, csv::Position::line);
    let message = match error.kind() {
        csv::ErrorKind::Deserialize { err, .. } => err.to_string(),
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("expected {expected_len} columns, found {len}")
        }
        _ => error.to_string(),
    };
    TableError::new(table, line, message)
}

/// `deserialize_with` for a cell that parses by [`FromStr`].
pub(crate) fn parse<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(d: D) -> Result<T, D::Error> {
    let text = String::deserialize(d)?;
    text.parse().map_err(|e| D::Error::custom(format!("`{text}`: {e}")))
}

/// Like [`parse`], with an empty cell meaning "absent".
pub(crate) fn parse_opt<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(
    d: D,
) -> Result<Option<T>, D::Error> {
    let text = String::deserialize(d)?;
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|e| D::Error::custom(format!("`{text}`: {e}")))
}

/// A `;`-separated list; an empty cell is the empty list.
pub(crate) fn parse_list<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(
    d: D,
) -> Result<Vec<T>, D::Error> {
    let text = String::deserialize(d)?;
    text.split(';')
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .map(|item| item.parse().map_err(|e| D::Error::custom(format!("`{item}`: {e}"))))
        .collect()
}

/// A number written in decimal or, with `0x`, in hexadecimal.
pub(crate) fn number<'de, D: Deserializer<'de>, T: TryFrom<u64>>(d: D) -> Result<T, D::Error> {
    let text = String::deserialize(d)?;
    to_number(&text).ok_or_else(|| D::Error::custom(format!("`{text}` is not a number that fits")))
}

/// Like [`number`], with an empty cell meaning "absent".
pub(crate) fn number_opt<'de, D: Deserializer<'de>, T: TryFrom<u64>>(d: D) -> Result<Option<T>, D::Error> {
    let text = String::deserialize(d)?;
    if text.is_empty() {
        return Ok(None);
    }
    to_number(&text).map(Some).ok_or_else(|| D::Error::custom(format!("`{text}` is not a number that fits")))
}

/// A cell that must be `0x…`.
pub(crate) fn hex<'de, D: Deserializer<'de>, T: TryFrom<u64>>(d: D) -> Result<T, D::Error> {
    let text = String::deserialize(d)?;
    if !text.starts_with("0x") {
        return Err(D::Error::custom(format!("`{text}` is not hexadecimal")));
    }
    to_number(&text).ok_or_else(|| D::Error::custom(format!("`{text}` is not a number that fits")))
}

/// Text that may be empty, as an option.
pub(crate) fn text_opt<'de, D: Deserializer<'de>>(d: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(d)?;
    Ok((!text.is_empty()).then_some(text))
}

/// Text that must not be empty (names, sources).
pub(crate) fn text<'de, D: Deserializer<'de>>(d: D) -> Result<String, D::Error> {
    let text = String::deserialize(d)?;
    if text.is_empty() { Err(D::Error::custom("empty cell where text is required")) } else { Ok(text) }
}

pub(crate) fn to_number<T: TryFrom<u64>>(text: &str) -> Option<T> {
    let digits = text.strip_prefix("0x");
    // `from_str_radix` would take a leading sign.
    if digits.unwrap_or(text).starts_with('+') {
        return None;
    }
    let value = match digits {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse::<u64>(),
    };
    T::try_from(value.ok()?).ok()
}

/// `yes` or `no`.
pub(crate) fn yes_no<'de, D: Deserializer<'de>>(d: D) -> Result<bool, D::Error> {
    match String::deserialize(d)?.as_str() {
        "yes" => Ok(true),
        "no" => Ok(false),
        other => Err(D::Error::custom(format!("`{other}` is neither yes nor no"))),
    }
}

/// An embedded table whose rows need no check beyond their types and one unique key.
macro_rules! embedded {
    ($table:literal, $row:ty, $key:expr) => {
        std::sync::LazyLock::new(|| {
            let rows = crate::table::rows::<$row>($table, include_str!(concat!("../data/", $table, ".csv")))
                .and_then(|rows| crate::table::unique(&rows, $key).map(|()| rows))
                .expect("embedded table, checked by the tests");
            rows.into_iter().map(|row| row.value).collect()
        })
    };
}
pub(crate) use embedded;

/// A fixed number of `;`-separated bytes.
pub(crate) fn bytes<'de, D: Deserializer<'de>, const N: usize>(d: D) -> Result<[u8; N], D::Error> {
    let list: Vec<u8> = parse_list(d)?;
    let found = list.len();
    list.try_into().map_err(|_| D::Error::custom(format!("expected {N} bytes, found {found}")))
}
