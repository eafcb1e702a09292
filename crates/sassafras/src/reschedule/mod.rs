//! Machine code with the blocks of its kernels in another order, verified before it is handed out.
//!
//! Cubin by cubin: every selected section gets an order, the writer of `sassafras-cubin` makes a new cubin with everything
//! that names an instruction following, and two checkers that know neither scheduler nor writer look at the result: for
//! hazards, and whether it is a legal reordering of the original. A block whose new order cannot stand keeps its code, and so
//! does a kernel that something is in the way of, byte for byte; with the reason ([`Kept`]). The others go on without it.

mod anti;
mod bisection;
mod judge;
mod kept;
mod known;
mod launch;
mod memo;
mod options;
mod orders;
mod outcome;
mod places;
mod plan;
mod propose;
mod serial;
mod settle;
mod text;
mod unproven;
mod watched;

pub use bisection::{Bisection, RoutineId, Unit};
pub use kept::Kept;
pub use launch::{LaunchHint, declared};
pub use memo::Memo;
pub use options::{Control, Options};
pub use orders::Orders;
pub use outcome::{Change, Left, Outcome};
pub(crate) use text::arch_of;
pub use text::reschedule_text;

use crate::bounds::{is_unusual, too_much};
use crate::error::Error;
use crate::progress::{Progress, Silent};
use crate::sites::is_selected;
use known::Known;
use outcome::Notes;
use plan::plan;
use rayon::prelude::*;
use sassafras_cubin::{Code, CodeEdit, Container, Cubin, Image, ImageKind, Prepared, RewriteOptions};
use sassafras_sass::program::{Program, Routine};
use sassafras_verify::against;
use sassafras_verify::hazards::{self, Rules};
use std::collections::{BTreeMap, BTreeSet};

/// A new file and what became of its kernels.
#[derive(Debug)]
pub struct Rescheduled {
    /// The file.
    pub bytes: Vec<u8>,
    /// In file order.
    pub outcomes: Vec<Outcome>,
    /// What the verifier counted in the new file.
    pub counted: Counted,
    /// Objects that were linked into the code of this file already ([`Container::is_used_up`]), and left as they were.
    pub used_up: usize,
    /// Nothing was searched, since the file stands for more code than files do ([`crate::bounds`]).
    pub unsearched: bool,
}

/// Instructions as the verifier tells them: by what they are. Where identical ones trade places, or one becomes what another was, the
/// scheduler, which knows them by where they came from ([`Outcome::moved`], [`Outcome::renamed`]), counts some more or less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// How many stand somewhere else.
    pub moved: u64,
    /// How many use other registers.
    pub renamed: u64,
}

/// Reschedules the selected kernels of a cubin, fatbinary, host file or archive.
///
/// # Errors
/// When an image cannot be read, when something is selected that is not there, or when the result does not verify: a defect, and
/// nothing to write.
pub fn reschedule(bytes: &[u8], options: &Options) -> Result<Rescheduled, Error> {
    reschedule_with(bytes, options, &Silent)
}

/// As [`reschedule()`], with word of how far it is.
///
/// # Errors
/// As [`reschedule()`].
pub fn reschedule_with(
    bytes: &[u8],
    options: &Options,
    progress: &dyn Progress,
) -> Result<Rescheduled, Error> {
    options.check()?;
    let original = Container::parse(bytes)?;
    let images: Vec<usize> = {
        let selected = |image: &Image| {
            image.kind == ImageKind::Cubin && options.selection.takes_arch(&image.sm.to_string())
        };
        let images = original.images().iter().enumerate();
        images.filter(|(_, image)| selected(image)).map(|(index, _)| index).collect()
    };
    let (used_up, images): (Vec<usize>, Vec<usize>) =
        images.into_iter().partition(|&index| original.is_used_up(&original.images()[index]));
    let used_up = used_up.len();
    progress.begin(images.len());
    let taken = || images.iter().map(|&index| &original.images()[index]);
    let beyond = too_much(taken(), bytes.len() as u64);
    let unsearched = options.searches() && is_unusual(taken(), bytes.len() as u64);
    let known = Known::new(unsearched);
    let cubins: Vec<Result<(Prepared, Vec<Outcome>), Error>> = images
        .par_iter()
        .zip(beyond)
        .map(|(&index, too_much)| {
            let image = &original.images()[index];
            let bytes = original.bytes(image).map_err(|error| Error::at(image, error.into()))?;
            let done = match too_much {
                None => cubin(&bytes, (index, image), (options, &known)),
                Some(too_much) => left(&bytes, image, options, &Kept::TooMuch(too_much)),
            };
            drop(bytes);
            progress.step();
            let (new, outcomes) = done.map_err(|error| Error::at(image, error))?;
            let prepared = match new {
                Some(new) => original.prepare(image, new.into()),
                None => original.keep(image),
            };
            Ok((prepared, outcomes))
        })
        .collect();
    progress.end();
    drop(known);
    let (edits, mut outcomes): (Vec<Prepared>, Vec<Vec<Outcome>>) =
        cubins.into_iter().collect::<Result<Vec<_>, Error>>()?.into_iter().unzip();
    let (new, refused) = original.replace_prepared(edits);
    for (edit, no_room) in refused {
        outcomes[edit].iter_mut().for_each(|outcome| outcome.keep(Kept::NoRoom(no_room.clone())));
    }
    let outcomes = outcomes.into_iter().flatten().collect();
    if new == bytes {
        return Ok(Rescheduled { bytes: new, outcomes, counted: Counted::default(), used_up, unsearched });
    }
    let container = Container::parse(&new)?;
    let compared = against::files(&original, &container)?;
    if let Some(difference) = compared.differences.into_iter().next() {
        return Err(Error::Rejected(Box::new(difference)));
    }
    let counted = Counted { moved: compared.moved, renamed: compared.renamed };
    Ok(Rescheduled { bytes: new, outcomes, counted, used_up, unsearched })
}

/// Checks a new version of a file, whoever made it, as one that was just rescheduled is checked: that it is a legal reordering of the
/// original, and that no routine that differs has a hazard.
///
/// # Errors
/// What is wrong with it.
pub fn accept(original: &[u8], new: &[u8]) -> Result<(), Error> {
    if original == new {
        return Ok(());
    }
    let (original, container) = (Container::parse(original)?, Container::parse(new)?);
    if let Some(difference) = against::files(&original, &container)?.differences.into_iter().next() {
        return Err(Error::Rejected(Box::new(difference)));
    }
    for (old, new) in original.cubins().zip(container.cubins()) {
        let (old, new) = (original.bytes(old)?, container.bytes(new)?);
        let (old, new) = (Cubin::parse(&old)?, Cubin::parse(&new)?);
        let pairs = old.code().iter().zip(new.code()).filter(|(old, new)| old.bytes != new.bytes);
        let changed: Vec<usize> = pairs.map(|(_, new)| new.section).collect();
        if changed.is_empty() {
            continue;
        }
        if let Some((section, what)) = hazards_in(&old, &new, &changed)?.into_iter().next() {
            let section = new.sections()[section].name.to_owned();
            return Err(Error::Hazard { section, what: what.to_string() });
        }
    }
    Ok(())
}

/// The selected kernels of a cubin that stays as it came.
fn left(
    bytes: &[u8],
    image: &Image,
    options: &Options,
    why: &Kept,
) -> Result<(Option<Vec<u8>>, Vec<Outcome>), Error> {
    let cubin = Cubin::parse(bytes)?;
    let sections = cubin.code().iter().filter(|code| is_selected(code, &options.selection));
    let outcomes = sections.map(|code| Outcome::new(code, image, None, None, Some(why.clone())));
    Ok((None, outcomes.collect()))
}

/// Reschedules the selected kernels of one cubin; no new one where all of them stay as they are.
fn cubin(
    bytes: &[u8],
    (index, image): (usize, &Image),
    (options, known): (&Options, &Known),
) -> Result<(Option<Vec<u8>>, Vec<Outcome>), Error> {
    let cubin = Cubin::parse(bytes)?;
    let sections: Vec<&Code<'_>> =
        cubin.code().iter().filter(|code| is_selected(code, &options.selection)).collect();
    let mut edits: BTreeMap<usize, CodeEdit> = BTreeMap::new();
    let mut kept: BTreeMap<usize, Kept> = BTreeMap::new();
    let planned =
        |code: &Code<'_>, checked: bool| (code.section, plan(&cubin, index, code, (options, known), checked));
    let plans: Vec<_> = sections.par_iter().map(|code| planned(code, false)).collect();
    let mut notes: BTreeMap<usize, Notes> = BTreeMap::new();
    for (section, plan) in plans {
        match plan {
            Ok(planned) => {
                edits.insert(section, planned.edit);
                notes.insert(section, planned.notes);
            }
            Err(reason) => drop(kept.insert(section, reason)),
        }
    }
    let mut checked: BTreeSet<usize> = BTreeSet::new();
    // Every round looks closer at a kernel that something is in the way of, or leaves it out.
    let new = loop {
        if !edits.values().any(|edit| is_change(&cubin, edit)) {
            break None;
        }
        let all: Vec<&CodeEdit> = edits.values().collect();
        let new = match cubin.rewrite_with(&all, RewriteOptions { capsules: options.capsules }) {
            Ok(new) => new,
            Err(refusal) => {
                let code = refusal.code.as_deref().and_then(|name| cubin.code_named(name));
                let blamed: Vec<usize> = match code {
                    Some(code) if edits.contains_key(&code.section) => vec![code.section],
                    _ => edits.keys().copied().collect(),
                };
                if blamed.is_empty() {
                    return Err(refusal.into());
                }
                for section in blamed {
                    edits.remove(&section);
                    kept.insert(section, refusal.clone().into());
                }
                continue;
            }
        };
        let found = hazardous(&cubin, &new, &edits)?;
        if found.is_empty() {
            break Some(new);
        }
        for (section, reason) in found {
            edits.remove(&section);
            let again =
                sections.iter().find(|code| code.section == section).filter(|_| checked.insert(section));
            match again.map(|code| planned(code, true).1) {
                Some(Ok(planned)) => {
                    edits.insert(section, planned.edit);
                    notes.insert(section, planned.notes);
                }
                Some(Err(reason)) => drop(kept.insert(section, reason)),
                None => drop(kept.insert(section, reason)),
            }
        }
    };
    let outcomes = sections.iter().map(|code| {
        let why = kept.get(&code.section).cloned();
        Outcome::new(code, image, edits.get(&code.section), notes.remove(&code.section), why)
    });
    Ok((new, outcomes.collect()))
}

/// The edited sections of the new cubin with hazards in routines that changed.
fn hazardous(
    cubin: &Cubin<'_>,
    new: &[u8],
    edits: &BTreeMap<usize, CodeEdit>,
) -> Result<Vec<(usize, Kept)>, Error> {
    let changed = edits.values().filter(|edit| is_change(cubin, edit)).map(|edit| edit.section);
    let changed: Vec<usize> = changed.collect();
    if changed.is_empty() {
        return Ok(Vec::new());
    }
    hazards_in(cubin, &Cubin::parse(new)?, &changed)
}

/// Those of some sections of a new cubin with hazards in routines that differ from the original.
fn hazards_in(cubin: &Cubin<'_>, new: &Cubin<'_>, sections: &[usize]) -> Result<Vec<(usize, Kept)>, Error> {
    let program = Program::new(new)?;
    let found: Vec<Option<(usize, Kept)>> = sections
        .par_iter()
        .map(|&section| {
            let code = new.code().iter().find(|code| code.section == section)?;
            let routines = match program.lift(code) {
                Ok(routines) => routines,
                Err(error) => return Some((section, Kept::NotLifted(error))),
            };
            let rules = Rules::of(program.arch());
            let original = cubin.code().iter().find(|code| code.section == section)?;
            let is_changed = |routine: &&Routine| {
                let range = routine.range.start as usize..routine.range.end as usize;
                original.bytes.get(range.clone()) != code.bytes.get(range)
            };
            routines.iter().filter(is_changed).find_map(|routine| {
                let f = &routine.lifted.function;
                let report = hazards::check(f, rules);
                let finding = report.findings.first()?;
                let offset = routine.offset(finding.consumer);
                Some((section, Kept::HazardWritten { offset, what: finding.describe(f) }))
            })
        })
        .collect();
    Ok(found.into_iter().flatten().collect())
}

fn is_change(cubin: &Cubin<'_>, edit: &CodeEdit) -> bool {
    let code = cubin.code().iter().find(|code| code.section == edit.section);
    code.is_none_or(|code| *edit != CodeEdit::unchanged(code))
}
