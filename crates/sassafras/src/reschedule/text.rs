//! Machine code that is given as text, rescheduled as that of a cubin is.
//!
//! A function of the text is a routine by itself. It takes the way of a routine of a cubin: the same plan, the same checks; what comes out is
//! text again. What a cubin says beside its code is not there: places that something outside points to, call-frame rows, capsules.

use super::kept::Kept;
use super::known::Known;
use super::outcome::Outcome;
use super::plan::{Planned, plan_alone};
use super::propose::Subject;
use super::{Counted, Options, Rescheduled, RoutineId};
use crate::bounds::LONGEST_SECTION;
use crate::error::Error;
use rayon::prelude::*;
use sassafras_cubin::CodeEdit;
use sassafras_ir::Payload;
use sassafras_ir::text::{Annotated, print_annotated, print_bare, uncontrolled};
use sassafras_machine::Arch;
use sassafras_sass::program::Routine;
use sassafras_sass::text::routine;
use sassafras_verify::against;
use sassafras_verify::hazards::{self, Rules};

/// Reschedules the selected functions of a text whose instructions have control fields; the bytes are text again.
///
/// # Errors
/// When an instruction has no control fields, the architecture is not known, or the result does not verify: a defect, and nothing to write.
pub fn reschedule_text(functions: &[Annotated], options: &Options) -> Result<Rescheduled, Error> {
    let known = Known::new(false);
    let done: Vec<Result<(Annotated, Option<Outcome>), Error>> = (functions.par_iter().enumerate())
        .map(|(number, text)| {
            let f = &text.function;
            let arch = arch_of(text)?;
            if !options.selection.takes_name(&f.name) || !options.selection.takes_arch(&f.arch) {
                return Ok((text.clone(), None));
            }
            let (new, outcome) = function(text, (number, arch), (options, &known));
            Ok((new, Some(outcome)))
        })
        .collect();
    let done = done.into_iter().collect::<Result<Vec<_>, Error>>()?;
    let (new, outcomes): (Vec<Annotated>, Vec<Option<Outcome>>) = done.into_iter().unzip();
    if let Some(mismatch) = against::annotated(functions, &new).into_iter().next() {
        return Err(Error::RejectedText(mismatch));
    }
    let outcomes: Vec<Outcome> = outcomes.into_iter().flatten().collect();
    let counted = Counted {
        moved: outcomes.iter().map(|outcome| outcome.moved).sum(),
        renamed: outcomes.iter().map(|outcome| outcome.renamed).sum(),
    };
    let printed: Vec<String> =
        new.iter().map(|text| print_annotated(&text.function, &text.annotations)).collect();
    let bytes = printed.join("\n").into_bytes();
    Ok(Rescheduled { bytes, outcomes, counted, used_up: 0, unsearched: false })
}

/// The architecture of a function of machine code.
///
/// # Errors
/// When no table knows it, or an instruction has no control fields.
pub(crate) fn arch_of(text: &Annotated) -> Result<Arch, Error> {
    let f = &text.function;
    let wrong = |what: String| Error::Text { function: f.name.clone(), what };
    if let Some(inst) = uncontrolled(f) {
        return Err(wrong(format!("`{}` has no control fields, as others have", print_bare(f, inst))));
    }
    f.arch.parse().map_err(|error| wrong(format!("{error}")))
}

fn function(
    text: &Annotated,
    (number, arch): (usize, Arch),
    (options, known): (&Options, &Known),
) -> (Annotated, Outcome) {
    let came = words(text);
    let whole = routine(text, 0);
    let id = RoutineId { image: number, section: 0, start: 0 };
    let launch = options.launch.with(text.annotations.declared);
    let edit = || CodeEdit { section: 0, order: (0..came.len() as u32).collect(), words: came.clone() };
    let name = (text.function.name.as_str(), text.function.arch.as_str());
    let instructions = (came.len() as u64, &came[..]);
    let keep = |why: Kept| (text.clone(), Outcome::of_words(name, instructions, None, None, Some(why)));
    if came.len() as u64 > LONGEST_SECTION {
        let (section, instructions) = (text.function.name.clone(), came.len() as u64);
        return keep(Kept::TooLong { section, instructions });
    }
    // What has a hazard is looked at closer once, and then left as it came.
    let mut found = None;
    for checked in [false, true] {
        let mut routine = whole.clone();
        let subject = Subject { name: &text.function.name, id, arch, launch, checked, unsearched: false };
        let Planned { edit, notes } = match plan_alone(&mut routine, subject, (options, known), edit()) {
            Ok(planned) => planned,
            Err(why) => return keep(why),
        };
        if edit.words == came {
            // What planning held in place has effects that the text has not.
            return (text.clone(), Outcome::of_words(name, instructions, Some(&edit), Some(notes), None));
        }
        let new = written(text, routine, &edit);
        let report = hazards::check(&new.function, Rules::of(arch));
        match report.findings.first() {
            None => return (new, Outcome::of_words(name, instructions, Some(&edit), Some(notes), None)),
            Some(finding) => {
                let offset = u64::from(finding.consumer.as_u32()) * 16;
                found = Some(Kept::HazardWritten { offset, what: finding.describe(&new.function) });
            }
        }
    }
    keep(found.unwrap_or_else(|| Kept::NoControlFields(String::new())))
}

/// The machine words of a text, in order; its instructions are numbered so.
fn words(text: &Annotated) -> Vec<u128> {
    let f = &text.function;
    let word = |&inst| match f.inst(inst).payload {
        Payload::Word(word) => word,
        Payload::None | Payload::Text(_) => 0,
    };
    f.blocks().flat_map(|block| f.block_insts(block)).map(word).collect()
}

/// The text with the order and registers of a routine and the words of its edit.
fn written(text: &Annotated, routine: Routine, edit: &CodeEdit) -> Annotated {
    let mut new = text.clone();
    new.annotations.slots = routine.lifted.sources;
    new.function = routine.lifted.function;
    let f = &mut new.function;
    let order: Vec<_> = f.blocks().flat_map(|block| f.block_insts(block).to_vec()).collect();
    for (inst, &word) in order.into_iter().zip(&edit.words) {
        f.set_payload(inst, Payload::Word(word));
    }
    new
}
