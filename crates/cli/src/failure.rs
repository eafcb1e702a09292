//! Errors and exit statuses.

use crate::output::ReaderGone;
use std::fmt;
use std::io::Write;
use std::process::ExitCode;

/// An error that was shown to the user in full already, or whose status is not 2.
#[derive(Debug)]
pub enum Failure {
    /// The input was understood and something is wrong with it: status 1.
    Wrong(String),
    /// A message that is complete as it is (carets and all): status 2.
    Shown(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Wrong(message) | Failure::Shown(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Failure {}

/// An error of the library about a file. What was understood and is wrong has another status than what cannot be read.
pub fn of_library(file: &str, error: sassafras::Error) -> anyhow::Error {
    use sassafras::tile::TileError::{Text, Unknown};
    match error {
        // These begin with line and column.
        sassafras::Error::Tile(error @ (Text(_) | Unknown(_))) => anyhow::anyhow!("{file}:{error}"),
        error if error.is_verdict() => Failure::Wrong(format!("{file}: {error}")).into(),
        error => anyhow::Error::new(error).context(file.to_owned()),
    }
}

/// Prints an error and returns its status. That nobody reads a listing to its end is none; any other pipe that breaks is.
pub fn report(error: &anyhow::Error) -> ExitCode {
    if error.is::<ReaderGone>() {
        return ExitCode::SUCCESS;
    }
    match error.downcast_ref::<Failure>() {
        Some(Failure::Shown(message)) => {
            say(message);
            ExitCode::from(2)
        }
        Some(Failure::Wrong(message)) => {
            say(&format!("error: {message}"));
            ExitCode::from(1)
        }
        None => {
            say(&format!("error: {error:#}"));
            ExitCode::from(2)
        }
    }
}

/// Prints a line on standard error. When that cannot be written to there is nobody left to tell.
pub fn say(line: &str) {
    let _ = writeln!(anstream::stderr(), "{line}");
}
