//! Steps that all run, whatever becomes of the others, and a summary at the end.

use anyhow::{Result, bail};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// The steps so far.
#[derive(Debug, Default)]
pub struct Steps {
    done: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    name: String,
    time: Duration,
    error: Option<String>,
    /// Why it was not run where that is no failure.
    left_out: Option<String>,
}

impl Steps {
    /// Runs a step and notes how it went. Returns whether it succeeded, for steps that cannot do without it.
    pub fn run(&mut self, name: impl Into<String>, step: impl FnOnce() -> Result<()>) -> bool {
        let name = name.into();
        eprintln!("\n=== {name}");
        let start = Instant::now();
        let error = step().err().map(|e| format!("{e:#}"));
        if let Some(error) = &error {
            eprintln!("{name}: {error}");
        }
        let ok = error.is_none();
        self.done.push(Step { name, time: start.elapsed(), error, left_out: None });
        ok
    }

    /// Notes a step that could not run, and why. It counts as failed: nothing is skipped silently.
    pub fn not_run(&mut self, name: impl Into<String>, why: &str) {
        self.done.push(Step {
            name: name.into(),
            time: Duration::ZERO,
            error: Some(format!("not run: {why}")),
            left_out: None,
        });
    }

    /// Notes a step that this machine has nothing to run with, and why. That is no failure, and the summary says it loudly.
    pub fn left_out(&mut self, name: impl Into<String>, why: &str) {
        let name = name.into();
        eprintln!("\n=== {name}\nNOT RUN: {why}");
        self.done.push(Step { name, time: Duration::ZERO, error: None, left_out: Some(why.to_owned()) });
    }

    /// Prints the summary; fails when a step did.
    pub fn finish(self) -> Result<()> {
        eprint!("\n{}", self.summary());
        let failed: Vec<&str> = self.done.iter().filter(|s| s.error.is_some()).map(|s| &*s.name).collect();
        if !failed.is_empty() {
            bail!("{} of {} steps failed: {}", failed.len(), self.done.len(), failed.join(", "));
        }
        Ok(())
    }

    fn summary(&self) -> String {
        let width = self.done.iter().map(|s| s.name.chars().count()).max().unwrap_or(0);
        let mut text = String::from("=== summary\n");
        for Step { name, time, error, left_out } in &self.done {
            let verdict = match (error, left_out) {
                (Some(_), _) => "FAILED",
                (None, Some(_)) => "NOT RUN",
                (None, None) => "ok",
            };
            let _ = write!(text, "{name:width$}  {:>7.1} s  {verdict}", time.as_secs_f64());
            // Some errors are long (the output of a tool): the first line says what it is about.
            if let Some(line) = error.as_ref().or(left_out.as_ref()).and_then(|e| e.lines().next()) {
                let _ = write!(text, ": {line}");
            }
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_steps_run_and_failures_are_named() {
        let mut steps = Steps::default();
        let mut ran = 0;
        assert!(steps.run("one", || {
            ran += 1;
            Ok(())
        }));
        assert!(!steps.run("two", || bail!("no\nmore")));
        steps.not_run("three", "two failed");
        assert!(steps.run("four", || {
            ran += 1;
            Ok(())
        }));
        assert_eq!(ran, 2);
        let summary = steps.summary();
        assert_eq!(summary.lines().count(), 5, "{summary}");
        assert!(summary.contains("FAILED: no\n") && summary.contains("not run: two failed"), "{summary}");
        assert_eq!(steps.finish().unwrap_err().to_string(), "2 of 4 steps failed: two, three");
    }

    #[test]
    fn what_is_left_out_is_seen_and_no_failure() {
        let mut steps = Steps::default();
        steps.run("one", || Ok(()));
        steps.left_out("two", "there is no browser");
        let summary = steps.summary();
        assert!(summary.contains("NOT RUN: there is no browser\n"), "{summary}");
        assert!(steps.finish().is_ok());
    }

    #[test]
    fn nothing_failed_is_success() {
        let mut steps = Steps::default();
        steps.run("one", || Ok(()));
        assert!(steps.finish().is_ok());
    }
}
