//! Goal: a file with the code of some kernels in another order, verified before anybody sees it.
//!
//! Cubin by cubin: every wanted section gets an order, the writer of `sassafras-cubin` makes a new cubin with everything
//! that names an instruction following, and two checkers that know neither scheduler nor writer look at the result: for
//! hazards, and whether it is a legal reordering of what came in. A kernel that something is in the way of stays byte for
//! byte as it came, with the reason; the others go on without it.

use crate::binary::wanted;
use crate::failure::Failure;
use crate::input::Selection;
use crate::progress::Progress;
use crate::serial;
use anyhow::{Context, Result, bail};
use rayon::prelude::*;
use sassafras_cubin::{
    Boundary, Capsules, Code, CodeEdit, Container, Cubin, Image, ImageKind, Reason, Refusal, RewriteOptions,
};
use sassafras_ir::{Block, Effects};
use sassafras_machine::Arch;
use sassafras_passes::{Options, schedule_function};
use sassafras_sass::Lifted;
use sassafras_sass::program::{Program, Relative, Routine};
use sassafras_tepid as tepid;
use sassafras_tepid::schedule::Settings;
use sassafras_verify::against;
use sassafras_verify::hazards::{self, Rules};
use serde::Serialize;
use std::collections::BTreeMap;

/// What to do with binaries.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// How to order.
    pub order: Order,
    /// Where control fields come from.
    pub control: Control,
    /// What to do with kernels whose code is there in a second form.
    pub capsules: Capsules,
}

/// How the blocks of a binary are ordered.
#[derive(Clone, Copy, Debug)]
pub enum Order {
    /// As it came.
    Original,
    /// By a strategy that looks at no control field.
    List(Options),
    /// After register allocation, on the model of the machine.
    Tepid(Settings),
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

/// What became of a kernel.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The name of its section.
    pub name: String,
    /// The architecture as the file names it.
    pub arch: String,
    /// How many instructions there are.
    pub instructions: u64,
    /// How many stand somewhere else now.
    pub moved: u64,
    /// Why it was left as it came, if it was.
    pub kept: Option<String>,
}

/// A new file and what became of its kernels.
pub struct Rescheduled {
    /// The file.
    pub bytes: Vec<u8>,
    /// In file order.
    pub outcomes: Vec<Outcome>,
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
    let progress = Progress::new(name, images.len());
    let cubins: Vec<Result<(Vec<u8>, Vec<Outcome>)>> = images
        .par_iter()
        .map(|&index| {
            let image = &original.images()[index];
            let bytes = original.bytes(image).with_context(|| format!("{name}: {}", image.location))?;
            let done =
                cubin(&bytes, image, selection, job).with_context(|| format!("{name}: {}", image.location));
            progress.step();
            done
        })
        .collect();
    progress.end();
    let (cubins, mut outcomes): (Vec<Vec<u8>>, Vec<Vec<Outcome>>) =
        cubins.into_iter().collect::<Result<Vec<_>>>()?.into_iter().unzip();
    let edits: Vec<(&Image, &[u8])> =
        images.iter().zip(&cubins).map(|(&index, cubin)| (&original.images()[index], &cubin[..])).collect();
    let (new, refused) = original.replace_fitting(&edits);
    for (edit, no_room) in refused {
        for outcome in &mut outcomes[edit] {
            outcome.moved = 0;
            outcome.kept.get_or_insert_with(|| no_room.to_string());
        }
    }
    let outcomes = outcomes.into_iter().flatten().collect();
    let container = Container::parse(&new).with_context(|| format!("{name}, rewritten"))?;
    let compared = against::files(&original, &container).with_context(|| format!("{name}, rewritten"))?;
    if let Some(difference) = compared.differences.first() {
        let message = format!("{name}: the new file was rejected, nothing is written: {difference}");
        return Err(Failure::Wrong(message).into());
    }
    Ok(Rescheduled { bytes: new, outcomes })
}

/// Reschedules the wanted kernels of one cubin.
fn cubin(bytes: &[u8], image: &Image, selection: &Selection, job: &Job) -> Result<(Vec<u8>, Vec<Outcome>)> {
    let cubin = Cubin::parse(bytes)?;
    let sections: Vec<&Code<'_>> = cubin.code().iter().filter(|code| wanted(code, selection)).collect();
    let slot = cubin.sm().slot_bytes().unwrap_or(8);
    let mut edits: BTreeMap<usize, CodeEdit> = BTreeMap::new();
    let mut kept: BTreeMap<usize, String> = BTreeMap::new();
    let plans: Vec<_> =
        sections.par_iter().map(|code| (code.section, plan(&cubin, code, selection, job))).collect();
    for (section, plan) in plans {
        match plan {
            Ok(edit) => drop(edits.insert(section, edit)),
            Err(reason) => drop(kept.insert(section, reason)),
        }
    }
    // Every round leaves out at least one kernel that something is in the way of.
    let new = loop {
        let all: Vec<CodeEdit> = edits.values().cloned().collect();
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
            kept.insert(section, reason);
        }
    };
    let outcomes = sections.iter().map(|code| {
        let order = edits.get(&code.section).map_or(&[][..], |edit| &edit.order);
        Outcome {
            name: code.name.to_owned(),
            arch: image.sm.to_string(),
            instructions: (code.bytes.len() / slot) as u64,
            moved: order.iter().zip(0..).filter(|&(&from, to)| from != to).count() as u64,
            kept: kept.get(&code.section).cloned(),
        }
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

/// The new order of one section, or why there is none.
fn plan(cubin: &Cubin<'_>, code: &Code<'_>, selection: &Selection, job: &Job) -> Result<CodeEdit, String> {
    if matches!(job.order, Order::Original) && job.control == Control::Keep {
        return Ok(CodeEdit::unchanged(code));
    }
    let program = Program::new(cubin).map_err(|error| error.problem.to_string())?;
    let mut routines = program.lift(code).map_err(|error| error.to_string())?;
    let opaque = routines.iter().find_map(|routine| {
        let f = &routine.lifted.function;
        let mut insts = f.blocks().flat_map(|block| f.block_insts(block));
        insts.find(|&&inst| f.inst(inst).effects.contains(Effects::OPAQUE)).map(|&inst| routine.offset(inst))
    });
    if let Some(offset) = opaque {
        let section = cubin.sections()[code.section].name;
        return Err(format!(
            "{section} at offset {offset:#x}: an opaque instruction keeps its control fields"
        ));
    }
    let whole = selection.takes_name(code.name);
    let mut edit = CodeEdit::unchanged(code);
    let relative = Relative::new(program.arch());
    let boundaries = cubin.boundaries(code).map_err(|refusal| in_the_way(&refusal))?;
    for routine in &mut routines {
        if whole || selection.takes_name(&routine.name) {
            let arch = program.arch();
            let lifted = &mut routine.lifted;
            let original = tepid::Original::new(&tepid::Code::new(&lifted.function, &lifted.sources, arch));
            original.hold(&mut lifted.function);
            if !reorder(lifted, arch, code, job)? {
                continue;
            }
            keep_sides(routine, &boundaries);
            let fields = match job.control {
                Control::Rebuild => Some(fields(routine, &original, arch)?),
                Control::Keep | Control::Serial => None,
            };
            apply(routine, relative, &mut edit)?;
            if let Some(fields) = fields {
                set_fields(routine, &fields, &mut edit);
            }
        }
    }
    if job.control == Control::Serial {
        serial::rewrite(&routines, &mut edit);
    }
    Ok(edit)
}

/// Puts the blocks of a routine into another order. Returns whether its control fields are to be made anew: a routine that no
/// better order was found for keeps those that it came with.
fn reorder(lifted: &mut Lifted, arch: Arch, code: &Code<'_>, job: &Job) -> Result<bool, String> {
    match &job.order {
        Order::Original => {}
        Order::List(options) => {
            schedule_function(&mut lifted.function, options).map_err(|error| error.to_string())?;
        }
        Order::Tepid(settings) => {
            let settings = Settings { warps: warps(code), ..*settings };
            let prepared = tepid::Code::new(&lifted.function, &lifted.sources, arch);
            let plan = tepid::function::choose(&prepared, &settings);
            let choices = plan.choices;
            for choice in &choices {
                lifted.function.reorder(choice.block, &choice.order);
            }
            return Ok(settings.policy.is_some() || !choices.is_empty());
        }
    }
    Ok(true)
}

/// Warps of a scheduler that the registers allow. What shared memory and the launch allow is not known here.
fn warps(code: &Code<'_>) -> usize {
    let registers = code.registers.unwrap_or(32).clamp(16, 256).next_multiple_of(8) as usize;
    (REGISTERS / (registers * 32 * SCHEDULERS)).clamp(1, MODELLED_WARPS)
}

/// Registers of an SM, and its schedulers.
const REGISTERS: usize = 65536;
const SCHEDULERS: usize = 4;
/// With more the model says nothing new.
const MODELLED_WARPS: usize = 8;

/// New control fields for the instructions of a routine. If there are none for the new order, the one that came is restored.
fn fields(
    routine: &mut Routine,
    original: &tepid::Original,
    arch: Arch,
) -> Result<Vec<tepid::Fields>, String> {
    let made =
        tepid::rebuild(&tepid::Code::new(&routine.lifted.function, &routine.lifted.sources, arch), original);
    if let Ok(fields) = made {
        return Ok(fields);
    }
    let f = &mut routine.lifted.function;
    for block in f.blocks().collect::<Vec<_>>() {
        let mut old = f.block_insts(block).to_vec();
        old.sort_unstable();
        f.reorder(block, &old);
    }
    tepid::rebuild(&tepid::Code::new(f, &routine.lifted.sources, arch), original)
        .map_err(|error| error.to_string())
}

/// Gives the instructions of a routine new control fields, as they stand.
fn set_fields(routine: &Routine, fields: &[tepid::Fields], edit: &mut CodeEdit) {
    let f = &routine.lifted.function;
    let first = (routine.range.start / 16) as usize;
    for (&inst, slot) in f.blocks().flat_map(|block| f.block_insts(block)).zip(first..) {
        edit.words[slot] = fields[inst.as_u32() as usize].insert(edit.words[slot]);
    }
}

/// Gives a block its old order back where an instruction has crossed a place inside it that something may point to.
fn keep_sides(routine: &mut Routine, boundaries: &[Boundary]) {
    let blocks: Vec<Block> = routine.lifted.function.blocks().collect();
    for block in blocks {
        let new = routine.lifted.function.block_insts(block).to_vec();
        // Instructions are numbered in the order that they came in.
        let mut old = new.clone();
        old.sort_unstable();
        let Some(&first) = old.first() else { continue };
        let start = routine.offset(first);
        let crossed = boundaries.iter().any(|boundary| {
            let before = boundary.offset.saturating_sub(start).div_ceil(16).min(old.len() as u64) as usize;
            before > 0 && new[..before].iter().any(|&inst| inst > old[before - 1])
        });
        if crossed {
            routine.lifted.function.reorder(block, &old);
        }
    }
}

/// Puts the new order of a routine into the edit of its section. Distances in words follow.
fn apply(routine: &Routine, relative: Relative, edit: &mut CodeEdit) -> Result<(), String> {
    let f = &routine.lifted.function;
    let first = (routine.range.start / 16) as u32;
    let old = edit.words.clone();
    for (inst, to) in f.blocks().flat_map(|block| f.block_insts(block)).zip(first..) {
        let from = routine.slot(*inst);
        let (from_offset, to_offset) = (u64::from(from) * 16, u64::from(to) * 16);
        edit.order[to as usize] = from;
        edit.words[to as usize] =
            relative.moved(old[from as usize], from_offset, to_offset).ok_or_else(|| {
                format!("the place that the instruction at {from_offset:#x} names is too far away")
            })?;
    }
    Ok(())
}

/// The edited sections of the new cubin that have hazards which the old ones did not have.
fn hazardous(
    cubin: &Cubin<'_>,
    new: &[u8],
    edits: &BTreeMap<usize, CodeEdit>,
) -> Result<Vec<(usize, String)>> {
    let changed: Vec<&CodeEdit> = edits.values().filter(|edit| is_change(cubin, edit)).collect();
    if changed.is_empty() {
        return Ok(Vec::new());
    }
    let parsed = Cubin::parse(new)?;
    let program = Program::new(&parsed)?;
    let found: Vec<Option<(usize, String)>> = changed
        .par_iter()
        .map(|edit| {
            let code = parsed.code().iter().find(|code| code.section == edit.section)?;
            let routines = match program.lift(code) {
                Ok(routines) => routines,
                Err(error) => return Some((edit.section, error.to_string())),
            };
            let rules = Rules::of(program.arch());
            routines.iter().find_map(|routine| {
                let f = &routine.lifted.function;
                let report = hazards::check(f, rules);
                let finding = report.findings.first()?;
                let at = routine.offset(finding.consumer);
                Some((edit.section, format!("a hazard at {at:#x} of the new order: {}", finding.describe(f))))
            })
        })
        .collect();
    Ok(found.into_iter().flatten().collect())
}

fn is_change(cubin: &Cubin<'_>, edit: &CodeEdit) -> bool {
    let code = cubin.code().iter().find(|code| code.section == edit.section);
    code.is_none_or(|code| *edit != CodeEdit::unchanged(code))
}
