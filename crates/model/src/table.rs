//! Reading this crate's CSV tables: named columns, numbers in decimal or `0x…`, and errors that name table and line.
//!
//! Goal: one parser for the shipped tables and for user replacements of them, so that both are validated alike.

use thiserror::Error;

/// What is wrong with a table, and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{table}, line {line}: {problem}")]
pub struct TableError {
    /// Name of the table (its file name for the shipped ones).
    pub table: &'static str,
    /// 1-based line in the text; 0 when the table as a whole is meant.
    pub line: u64,
    /// What was expected there.
    pub problem: TableProblem,
}

/// The kinds of table defects.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TableProblem {
    /// The text is not CSV, or a row has the wrong number of fields.
    #[error("not a well-formed CSV row: {0}")]
    Csv(String),
    /// A required column is missing from the header.
    #[error("missing column `{0}`")]
    MissingColumn(&'static str),
    /// A field that must be filled is empty.
    #[error("`{0}` must not be empty")]
    Empty(&'static str),
    /// A field holds something that is not in its vocabulary or range.
    #[error("`{column}` does not accept `{value}`: expected {expected}")]
    Bad {
        /// Column name.
        column: &'static str,
        /// The text found there.
        value: String,
        /// What would have been accepted.
        expected: &'static str,
    },
    /// A row says again, or differently, what the row on the named line says.
    #[error("overlaps line {0}")]
    Overlap(u64),
    /// A row that must exist does not.
    #[error("missing row `{0}`")]
    MissingRow(&'static str),
}

/// One data row with access by column name.
pub(crate) struct Row<'a> {
    table: &'static str,
    headers: &'a csv::StringRecord,
    record: &'a csv::StringRecord,
    /// 1-based line of the row.
    pub(crate) line: u64,
}

impl Row<'_> {
    /// An error about this row.
    pub(crate) fn error(&self, problem: TableProblem) -> TableError {
        TableError { table: self.table, line: self.line, problem }
    }

    /// The error for a field that holds an unexpected text.
    pub(crate) fn bad(&self, column: &'static str, expected: &'static str) -> TableError {
        let value = self.text(column).unwrap_or_default().to_owned();
        self.error(TableProblem::Bad { column, value, expected })
    }

    /// The field's text, which may be empty.
    pub(crate) fn text(&self, column: &'static str) -> Result<&str, TableError> {
        self.headers
            .iter()
            .position(|h| h == column)
            .and_then(|i| self.record.get(i))
            .ok_or_else(|| self.error(TableProblem::MissingColumn(column)))
    }

    /// The field's text, which must not be empty.
    pub(crate) fn filled(&self, column: &'static str) -> Result<&str, TableError> {
        match self.text(column)? {
            "" => Err(self.error(TableProblem::Empty(column))),
            text => Ok(text),
        }
    }

    /// The field as a number, `None` when it is empty.
    pub(crate) fn number<T: TryFrom<i64>>(&self, column: &'static str) -> Result<Option<T>, TableError> {
        match self.text(column)? {
            "" => Ok(None),
            text => parse_number(text)
                .map(Some)
                .ok_or_else(|| self.bad(column, "a number (decimal or 0x…) in range")),
        }
    }
}

/// Decimal or `0x…`, when it fits.
pub(crate) fn parse_number<T: TryFrom<i64>>(text: &str) -> Option<T> {
    let value = match text.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    T::try_from(value.ok()?).ok()
}

/// Reads every row of `text` through `read`; every shipped table carries a filled `source` column, which is enforced here.
pub(crate) fn read_table<T>(
    table: &'static str,
    text: &str,
    mut read: impl FnMut(&Row<'_>) -> Result<T, TableError>,
) -> Result<Vec<T>, TableError> {
    let csv_error = |e: csv::Error| TableError {
        table,
        line: e.position().map_or(0, csv::Position::line),
        problem: TableProblem::Csv(e.to_string()),
    };
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(csv_error)?.clone();
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(csv_error)?;
        let line = record.position().map_or(0, csv::Position::line);
        let row = Row { table, headers: &headers, record: &record, line };
        row.filled("source")?;
        rows.push(read(&row)?);
    }
    Ok(rows)
}
