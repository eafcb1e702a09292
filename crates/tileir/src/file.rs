//! A text of loops and scheduled loops: what `sassafras tile` reads and writes.
//!
//! A scheduled loop comes after the loop it is of, so that a text is complete: whoever has it can check it.

use crate::lex::{TextError, Words};
use crate::program::{self, Program};
use crate::scheduled::{self, Scheduled};
use std::fmt::Write;

/// What a text holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File {
    /// Loops, their names all different.
    pub programs: Vec<Program>,
    /// Scheduled loops, each with the position of its loop.
    pub scheduled: Vec<(usize, Scheduled)>,
}

/// Reads a text and checks its loops.
pub fn parse(text: &str) -> Result<File, TextError> {
    let mut words = Words::new(text)?;
    let mut file = File::default();
    while words.peek().is_some() {
        if words.eat("scheduled") {
            let scheduled = scheduled::text::one(&mut words, &file.programs)?;
            let of = file.programs.iter().position(|p| p.name == scheduled.name).unwrap_or(0);
            file.scheduled.push((of, scheduled));
            continue;
        }
        words.expect("loop")?;
        let program = program::text::one(&mut words)?;
        if file.programs.iter().any(|p| p.name == program.name) {
            return words.error_back(format!("there are two loops named `{}`", program.name));
        }
        file.programs.push(program);
    }
    if file.programs.is_empty() {
        return words.error("expected a loop");
    }
    Ok(file)
}

/// Prints a file so that [`parse`] gives the same one back: each loop, then what was made of it.
pub fn print(file: &File) -> String {
    let mut out = String::new();
    for (i, program) in file.programs.iter().enumerate() {
        out.push_str(&program::print(program));
        for (_, scheduled) in file.scheduled.iter().filter(|s| s.0 == i) {
            write!(out, "\n{}", scheduled::print(scheduled, program)).expect("writing to a string succeeds");
        }
        if i + 1 < file.programs.len() {
            out.push('\n');
        }
    }
    out
}
