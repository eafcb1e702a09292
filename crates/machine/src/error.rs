//! The one error every table loader reports: which table, which line, what is wrong.

/// A data table that does not say what it must.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("table {table}, line {line}: {message}")]
pub struct TableError {
    /// The table's file name without extension.
    pub table: &'static str,
    /// Line of the offending row, counted from 1; 0 when the table as a whole is at fault.
    pub line: u64,
    /// What was expected and what was found.
    pub message: String,
}

impl TableError {
    pub(crate) fn new(table: &'static str, line: u64, message: impl ToString) -> Self {
        Self { table, line, message: message.to_string() }
    }
}
