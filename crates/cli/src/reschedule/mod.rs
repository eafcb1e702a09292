//! Goal: a file with the code of some kernels in another order, verified before anybody sees it.
//!
//! Cubin by cubin: every wanted section gets an order, the writer of `sassafras-cubin` makes a new cubin with everything
//! that names an instruction following, and two checkers that know neither scheduler nor writer look at the result: for
//! hazards, and whether it is a legal reordering of what came in. A block whose new order cannot stand stays as it came, and so
//! does a kernel that something is in the way of, byte for byte; with the reason. The others go on without it.

mod anti;
mod arguments;
mod bisection;
mod known;
pub mod launch;
mod memo;
mod orders;
mod outcome;
mod places;
mod plan;
mod propose;
mod settle;
mod unproven;

pub use arguments::{Effort, JobArguments};
pub use bisection::{Bisection, RoutineId, Unit};
pub use launch::LaunchArgument;
pub use memo::Memo;
pub use orders::Orders;
pub use outcome::{Change, Outcome};

use crate::binary::wanted;
use crate::failure::Failure;
use crate::input::Selection;
use crate::progress::Progress;
use anyhow::{Context, Result, bail};
use known::Known;
use outcome::Notes;
use plan::plan;
use rayon::prelude::*;
use sassafras_cubin::{
    Capsules, Code, CodeEdit, Container, Cubin, Image, ImageKind, Prepared, Reason, Refusal, RewriteOptions,
};
use sassafras_knobs::KnobSet;
use sassafras_passes::Options;
use sassafras_sass::program::{Program, Routine};
use sassafras_tepid::schedule::Settings;
use sassafras_verify::against;
use sassafras_verify::hazards::{self, Rules};
use std::collections::{BTreeMap, BTreeSet};

/// What to do with binaries.
#[derive(Debug)]
pub struct Job {
    /// How to order.
    pub order: Order,
    /// Where control fields come from.
    pub control: Control,
    /// What to do with kernels whose code is there in a second form.
    pub capsules: Capsules,
    /// What the user says about launches.
    pub launch: LaunchArgument,
    /// Which blocks may change.
    pub bisection: Bisection,
    /// What the user set.
    pub knobs: KnobSet,
    /// Whether outcomes say in which order the blocks stand.
    pub keep_orders: bool,
    /// Whether values stay in their registers.
    pub keep_registers: bool,
    /// Whether instructions move that never ran rescheduled on a device.
    pub move_unproven: bool,
    /// Plans that were made, where the file is rescheduled more than once.
    pub memo: Option<Memo>,
}

impl Job {
    /// Whether what is planned for a routine depends on nothing that routines of the same code may differ in.
    fn may_know(&self) -> bool {
        self.bisection.takes_everything()
            && !matches!(self.order, Order::Given(_))
            && self.control != Control::Serial
            && self.memo.is_none()
    }
}

/// How the blocks of a binary are ordered.
#[derive(Clone, Debug)]
pub enum Order {
    /// As it came.
    Original,
    /// By a strategy that looks at no control field.
    List(Options),
    /// After register allocation, on the model of the machine.
    Tepid(Settings),
    /// As the user says, as far as dependences allow.
    Given(Orders),
}

/// Where control fields come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Control {
    /// As they came; only for code that stays in order
    Keep,
    /// All computed anew
    Rebuild,
    /// One instruction after the other, slow and right for any order
    Serial,
}

/// A new file and what became of its kernels.
pub struct Rescheduled {
    /// The file.
    pub bytes: Vec<u8>,
    /// In file order.
    pub outcomes: Vec<Outcome>,
    /// What the verifier counted in the new file.
    pub counted: Counted,
    /// Objects that were linked into the code of this file already ([`Container::is_used_up`]), and left as they came.
    pub used_up: usize,
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

/// Reschedules the wanted kernels of a file.
///
/// # Errors
/// When an image cannot be read, or when the result does not verify: a defect, and nothing to write.
pub fn file(name: &str, bytes: &[u8], selection: &Selection, job: &Job) -> Result<Rescheduled> {
    let original = Container::parse(bytes).with_context(|| name.to_owned())?;
    let images: Vec<usize> = {
        let wanted =
            |image: &Image| image.kind == ImageKind::Cubin && selection.takes_arch(&image.sm.to_string());
        let images = original.images().iter().enumerate();
        images.filter(|(_, image)| wanted(image)).map(|(index, _)| index).collect()
    };
    let (used_up, images): (Vec<usize>, Vec<usize>) =
        images.into_iter().partition(|&index| original.is_used_up(&original.images()[index]));
    let used_up = used_up.len();
    let progress = Progress::new(name, images.len());
    let known = Known::default();
    let cubins: Vec<Result<(Prepared, Vec<Outcome>)>> = images
        .par_iter()
        .map(|&index| {
            let image = &original.images()[index];
            let bytes = original.bytes(image).with_context(|| format!("{name}: {}", image.location))?;
            let done = cubin(&bytes, (index, image), selection, (job, &known))
                .with_context(|| format!("{name}: {}", image.location));
            drop(bytes);
            progress.step();
            done.map(|(new, outcomes)| (original.prepare(image, new.into()), outcomes))
        })
        .collect();
    progress.end();
    drop(known);
    let (edits, mut outcomes): (Vec<Prepared>, Vec<Vec<Outcome>>) =
        cubins.into_iter().collect::<Result<Vec<_>>>()?.into_iter().unzip();
    let (new, refused) = original.replace_prepared(edits);
    for (edit, no_room) in refused {
        outcomes[edit].iter_mut().for_each(|outcome| outcome.keep(&no_room.to_string()));
    }
    let outcomes = outcomes.into_iter().flatten().collect();
    if new == bytes {
        return Ok(Rescheduled { bytes: new, outcomes, counted: Counted::default(), used_up });
    }
    let container = Container::parse(&new).with_context(|| format!("{name}, rewritten"))?;
    let compared = against::files(&original, &container).with_context(|| format!("{name}, rewritten"))?;
    if let Some(difference) = compared.differences.first() {
        let message = format!("{name}: the new file was rejected, nothing is written: {difference}");
        return Err(Failure::Wrong(message).into());
    }
    let counted = Counted { moved: compared.moved, renamed: compared.renamed };
    Ok(Rescheduled { bytes: new, outcomes, counted, used_up })
}

/// Checks a new version of a file, whoever made it, as one that was just rescheduled is checked: that it is a legal reordering of the
/// one that came, and that no routine that differs has a hazard.
///
/// # Errors
/// What is wrong with it.
pub fn accept(came: &[u8], new: &[u8]) -> Result<()> {
    if came == new {
        return Ok(());
    }
    let (original, container) = (Container::parse(came)?, Container::parse(new)?);
    if let Some(difference) = against::files(&original, &container)?.differences.first() {
        bail!("{difference}");
    }
    for (old, new) in original.cubins().zip(container.cubins()) {
        let (old, new) = (original.bytes(old)?, container.bytes(new)?);
        let (old, new) = (Cubin::parse(&old)?, Cubin::parse(&new)?);
        let pairs = old.code().iter().zip(new.code()).filter(|(old, new)| old.bytes != new.bytes);
        let changed: Vec<usize> = pairs.map(|(_, new)| new.section).collect();
        if changed.is_empty() {
            continue;
        }
        if let Some((section, why)) = hazards_in(&old, &new, &changed)?.into_iter().next() {
            bail!("{}: {why}", new.sections()[section].name);
        }
    }
    Ok(())
}

/// Reschedules the wanted kernels of one cubin.
fn cubin(
    bytes: &[u8],
    (index, image): (usize, &Image),
    selection: &Selection,
    (job, known): (&Job, &Known),
) -> Result<(Vec<u8>, Vec<Outcome>)> {
    let cubin = Cubin::parse(bytes)?;
    let sections: Vec<&Code<'_>> = cubin.code().iter().filter(|code| wanted(code, selection)).collect();
    let mut edits: BTreeMap<usize, CodeEdit> = BTreeMap::new();
    let mut kept: BTreeMap<usize, String> = BTreeMap::new();
    let planned = |code: &Code<'_>, checked: bool| {
        let known = Some(known).filter(|_| !checked && job.may_know());
        (code.section, plan(&cubin, index, code, selection, (job, known), checked))
    };
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
        let all: Vec<&CodeEdit> = edits.values().collect();
        let new = match cubin.rewrite_with(&all, RewriteOptions { capsules: job.capsules }) {
            Ok(new) => new,
            Err(refusal) => {
                let code = refusal.code.as_deref().and_then(|name| cubin.code_named(name));
                let blamed: Vec<usize> = match code {
                    Some(code) if edits.contains_key(&code.section) => vec![code.section],
                    _ => edits.keys().copied().collect(),
                };
                if blamed.is_empty() {
                    bail!("{refusal}");
                }
                for section in blamed {
                    edits.remove(&section);
                    kept.insert(section, in_the_way(&refusal));
                }
                continue;
            }
        };
        let found = hazardous(&cubin, &new, &edits)?;
        if found.is_empty() {
            break new;
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

/// A refusal in the words of the command.
fn in_the_way(refusal: &Refusal) -> String {
    match refusal.reason {
        Reason::Capsule => format!(
            "{}: describes the code as it was compiled, for the driver to translate; `--keep-capsules` leaves it so",
            refusal.section
        ),
        _ => format!("{}: {}", refusal.section, refusal.reason),
    }
}

/// The edited sections of the new cubin with hazards in routines that changed.
fn hazardous(
    cubin: &Cubin<'_>,
    new: &[u8],
    edits: &BTreeMap<usize, CodeEdit>,
) -> Result<Vec<(usize, String)>> {
    let changed = edits.values().filter(|edit| is_change(cubin, edit)).map(|edit| edit.section);
    let changed: Vec<usize> = changed.collect();
    if changed.is_empty() {
        return Ok(Vec::new());
    }
    hazards_in(cubin, &Cubin::parse(new)?, &changed)
}

/// Those of some sections of a new cubin with hazards in routines that differ from the ones that came.
fn hazards_in(cubin: &Cubin<'_>, new: &Cubin<'_>, sections: &[usize]) -> Result<Vec<(usize, String)>> {
    let program = Program::new(new)?;
    let found: Vec<Option<(usize, String)>> = sections
        .par_iter()
        .map(|&section| {
            let code = new.code().iter().find(|code| code.section == section)?;
            let routines = match program.lift(code) {
                Ok(routines) => routines,
                Err(error) => return Some((section, error.to_string())),
            };
            let rules = Rules::of(program.arch());
            let came = cubin.code().iter().find(|code| code.section == section)?;
            let is_changed = |routine: &&Routine| {
                let range = routine.range.start as usize..routine.range.end as usize;
                came.bytes.get(range.clone()) != code.bytes.get(range)
            };
            routines.iter().filter(is_changed).find_map(|routine| {
                let f = &routine.lifted.function;
                let report = hazards::check(f, rules);
                let finding = report.findings.first()?;
                let at = routine.offset(finding.consumer);
                Some((section, format!("a hazard at {at:#x} of the new order: {}", finding.describe(f))))
            })
        })
        .collect();
    Ok(found.into_iter().flatten().collect())
}

fn is_change(cubin: &Cubin<'_>, edit: &CodeEdit) -> bool {
    let code = cubin.code().iter().find(|code| code.section == edit.section);
    code.is_none_or(|code| *edit != CodeEdit::unchanged(code))
}
