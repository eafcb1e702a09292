//! What can be wrong with a table, and where.

use thiserror::Error;

/// A table that does not parse; names the file and the line.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{table}, line {line}: {message}")]
pub struct TableError {
    /// The table's name.
    pub table: String,
    /// The line, counted from 1; 0 when it is about the table as a whole.
    pub line: u64,
    /// What is wrong.
    pub message: String,
}

impl TableError {
    pub(crate) fn new(table: &str, line: u64, message: impl ToString) -> TableError {
        TableError { table: table.to_owned(), line, message: message.to_string() }
    }
}
