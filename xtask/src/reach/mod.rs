//! Public functions that the command does not reach: each has a reason in `xtask/data/unreached.csv`, or it is wired or cut.
//!
//! [`source`] finds the functions, [`binary`] the lines that the linker kept of them. The debug build is asked: `ci` makes it
//! anyway for the campaigns on wrong and broken files, its linker drops what nothing refers to as the release build's does, and
//! nothing is inlined in it, so that every function that can be called has lines of its own. What the program of `mine` calls
//! is reached, too.

mod binary;
mod source;

use crate::project::{Project, run};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use source::Function;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The table of reasons.
const TABLE: &str = "xtask/data/unreached.csv";

/// The packages of the workspace that are programs for users, and what these are called.
const PROGRAMS: [(&str, &str); 2] = [("sassafras-cli", "sassafras"), ("sassafras-mine", "sassafras-mine")];

/// A row of the table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// `crate::module::Type::function`, or with `::*` at its end everything below a path.
    path: String,
    reason: Reason,
    /// Who calls it, in words.
    detail: String,
}

/// Why a function may be there that the command does not reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Reason {
    /// The preset `documented` is to call it.
    AwaitsDocumented,
    /// Users of the library call it, and an example or a doc test shows how.
    Library,
    /// Tests, fuzz targets, benches or tasks call it, as an oracle or to look inside.
    Tests,
    /// It is evaluated by the compiler, and its result is in the command.
    Constant,
}

impl Row {
    fn covers(&self, path: &str) -> bool {
        match self.path.strip_suffix('*') {
            Some(below) => path.starts_with(below),
            None => self.path == path,
        }
    }
}

/// Fails unless every public function is reached or has a reason, and every reason is needed.
pub fn check(project: &Project) -> Result<()> {
    let mut lines = binary::Lines::new();
    for (package, program) in PROGRAMS {
        // One after the other: together their features would be another build.
        run(&mut project.cargo(["build", "-p", package]))?;
        binary::add_lines(&project.target.join("debug").join(program), &mut lines)?;
    }
    let functions = source::functions(&project.root)?;
    let rows = rows(&project.root.join(TABLE))?;
    let unreached: Vec<&Function> = functions.iter().filter(|f| !f.is_in(&lines)).collect();
    eprintln!("{} public functions, {} not in a program", functions.len(), unreached.len());
    verdict(&unreached, functions.len(), &rows)
}

fn rows(path: &std::path::Path) -> Result<Vec<Row>> {
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .from_path(path)
        .with_context(|| path.display().to_string())?;
    let rows: Result<Vec<Row>, _> = reader.deserialize().collect();
    rows.with_context(|| path.display().to_string())
}

fn verdict(unreached: &[&Function], all: usize, rows: &[Row]) -> Result<()> {
    // A binary without lines would make everything unreached, a search without functions nothing.
    if all == 0 || unreached.len() > all / 2 {
        bail!(
            "{} of {all} public functions are unreached: the binary has no line table of them",
            unreached.len()
        );
    }
    let mut wrong = String::new();
    for Function { path, file, first, .. } in unreached {
        if !rows.iter().any(|row| row.covers(path)) {
            let _ = writeln!(wrong, "{file}:{first}: `{path}` is not reached and has no row in {TABLE}");
        }
    }
    let mut seen = BTreeSet::new();
    for row in rows {
        let Row { path, reason, detail } = row;
        if !unreached.iter().any(|function| row.covers(&function.path)) {
            let _ = writeln!(wrong, "{TABLE}: `{path}` is reached or not there: its row can go");
        }
        // A module that waits for the preset, or a crate that is for tests.
        let as_a_whole = match reason {
            Reason::AwaitsDocumented => true,
            Reason::Tests => path.matches("::").count() == 1,
            Reason::Library | Reason::Constant => false,
        };
        if path.ends_with('*') && !as_a_whole {
            let _ = writeln!(wrong, "{TABLE}: `{path}`: its functions need a row each");
        }
        if detail.trim().is_empty() {
            let _ = writeln!(wrong, "{TABLE}: `{path}` says nothing of who calls it");
        }
        if !seen.insert(path) {
            let _ = writeln!(wrong, "{TABLE}: `{path}` has two rows");
        }
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => bail!("wire, cut or give a reason:\n{}", wrong.trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(path: &str) -> Function {
        Function { path: path.to_owned(), file: "crates/a/src/lib.rs".to_owned(), first: 1, last: 3 }
    }

    fn row(path: &str, reason: Reason) -> Row {
        Row { path: path.to_owned(), reason, detail: "tests".to_owned() }
    }

    #[test]
    fn every_unreached_function_needs_a_row_and_every_row_a_function() {
        let (one, two) = (function("a::one"), function("a::b::two"));
        let judge = |unreached: &[&Function], rows: &[Row]| {
            verdict(unreached, 10, rows).err().map_or(String::new(), |e| e.to_string())
        };
        assert_eq!(judge(&[], &[]), "");
        assert!(judge(&[&one], &[]).contains("lib.rs:1: `a::one` is not reached"));
        let both = [row("a::one", Reason::Library), row("a::b::*", Reason::AwaitsDocumented)];
        assert_eq!(judge(&[&one, &two], &both), "");
        assert!(judge(&[&two], &both).contains("`a::one` is reached or not there"));
        assert!(judge(&[&two], &[row("a::b::*", Reason::Library)]).contains("need a row each"));
        assert!(
            judge(&[&one], &[row("a::one", Reason::Library), row("a::one", Reason::Library)])
                .contains("two rows")
        );
    }

    #[test]
    fn a_binary_without_lines_is_no_verdict() {
        let one = function("a::one");
        assert!(verdict(&[&one], 1, &[row("a::one", Reason::Library)]).is_err());
        assert!(verdict(&[], 0, &[]).is_err());
    }

    #[test]
    fn the_table_is_readable() {
        let project = Project::find().expect("the project");
        assert!(!rows(&project.root.join(TABLE)).expect("a table").is_empty());
    }
}
