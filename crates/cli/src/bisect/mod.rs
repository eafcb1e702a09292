//! Goal: the smallest part of a rescheduling that makes a command fail.
//!
//! First over the kernels and functions that change, then over the units of those: blocks with another order, and control
//! fields alone. Every candidate is made by the pipeline of `schedule`, so that it is verified before the command sees it.
//! Cost: a run of the command per candidate ([`ddmin`]), one search for orders, and for every candidate the verification of
//! the whole file.

mod ddmin;
mod report;
mod trial;

pub use report::Report;
pub use trial::Trial;

use crate::failure::{Failure, of_library, say};
use crate::input::Binary;
use crate::progress::{Bar, Status};
use anyhow::Result;
use sassafras::reschedule::{Bisection, Options, Rescheduled, RoutineId, Unit, reschedule_with};
use std::collections::BTreeMap;
use trial::Verdict;

/// What was found.
pub struct Culprit {
    /// The smallest set of changes.
    pub units: Vec<Unit>,
    /// The file with these and no others.
    pub bytes: Vec<u8>,
    /// How the command failed on it.
    pub how: String,
    /// How many routines changed at first, and how many units of them.
    pub suspected: (usize, usize),
    /// Candidates that did not verify, and why.
    pub rejected: Vec<String>,
}

/// A search at work.
pub struct Search<'a> {
    /// The file.
    pub input: &'a Binary,
    /// How it is rescheduled.
    pub options: Options,
    /// The command.
    pub trial: Trial,
    /// What is known of sets that were asked for.
    known: BTreeMap<Vec<Unit>, bool>,
    rejected: Vec<String>,
    /// The last candidate that failed, and how.
    failed: Option<(Vec<u8>, String)>,
}

impl<'a> Search<'a> {
    /// Nothing tried yet.
    pub fn new(input: &'a Binary, options: Options, trial: Trial) -> Search<'a> {
        let (known, rejected, failed) = (BTreeMap::new(), Vec::new(), None);
        Search { input, options, trial, known, rejected, failed }
    }

    /// Finds the culprit.
    ///
    /// # Errors
    /// When the command fails on the original or passes on the file with all changes: then there is nothing to find.
    pub fn run(&mut self) -> Result<Culprit> {
        let name = &self.input.name;
        let wrong = |message: String| Err(Failure::Wrong(format!("{name}: {message}")).into());
        if let Verdict::Failed(how) = self.trial.run(self.input.bytes()?)? {
            return wrong(format!("the command fails on the original already ({how}): nothing to look for"));
        }
        let full = self.rescheduled()?;
        let mut units: Vec<Unit> = full.outcomes.iter().flat_map(|outcome| outcome.units.clone()).collect();
        units.sort_unstable();
        if units.is_empty() || full.bytes == self.input.bytes()? {
            return wrong("rescheduling changes nothing: nothing to look for".to_owned());
        }
        match self.trial.run(&full.bytes)? {
            Verdict::Passed => {
                return wrong(
                    "the command passes with everything rescheduled: nothing to look for".to_owned(),
                );
            }
            Verdict::Failed(how) => self.failed = Some((full.bytes, how)),
        }
        self.known.insert(units.clone(), true);
        let status = Status::new();
        let mut routines: Vec<RoutineId> = units.iter().map(|unit| unit.routine).collect();
        routines.sort_unstable();
        routines.dedup();
        let suspected = (routines.len(), units.len());
        let of = |routines: &[RoutineId]| {
            units.iter().copied().filter(|unit| routines.contains(&unit.routine)).collect::<Vec<Unit>>()
        };
        let all = routines.len();
        let routines = ddmin::minimise(&routines, |some| {
            status.show(&format!("run {}: {} of {all} kernels", self.trial.runs + 1, some.len()));
            self.fails(&of(some))
        })?;
        let left = of(&routines);
        let all = left.len();
        let units = ddmin::minimise(&left, |some| {
            status.show(&format!("run {}: {} of {all} changes", self.trial.runs + 1, some.len()));
            self.fails(some)
        })?;
        drop(status);
        let Some((bytes, how)) = self.failed.take() else { return wrong("no candidate failed".to_owned()) };
        Ok(Culprit { units, bytes, how, suspected, rejected: std::mem::take(&mut self.rejected) })
    }

    fn rescheduled(&self) -> Result<Rescheduled> {
        let name = &self.input.name;
        let done = reschedule_with(self.input.bytes()?, &self.options, &Bar::new(name));
        done.map_err(|error| of_library(name, error))
    }

    /// Whether the command fails with these changes and no others. The last set that fails is the smallest one.
    fn fails(&mut self, units: &[Unit]) -> Result<bool> {
        if let Some(&known) = self.known.get(units) {
            return Ok(known);
        }
        self.options.bisection = Bisection::of(units.iter().copied());
        let failed = match self.rescheduled() {
            Ok(candidate) => match self.trial.run(&candidate.bytes)? {
                Verdict::Passed => false,
                Verdict::Failed(how) => {
                    self.failed = Some((candidate.bytes, how));
                    true
                }
            },
            // The verifier's word; everything else was readable before and is a fault of the machine.
            Err(error) if error.is::<Failure>() => {
                say(&format!("note: a candidate is not run: {error:#}"));
                self.rejected.push(format!("{error:#}"));
                false
            }
            Err(error) => return Err(error),
        };
        self.known.insert(units.to_vec(), failed);
        Ok(failed)
    }
}
