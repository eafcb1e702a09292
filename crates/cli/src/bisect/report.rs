//! Goal: what a search found, as a reduced report: kernels, blocks, both orders beside each other, and what the verifier
//! says about them.

use super::{Culprit, Search};
use anyhow::{Context, Result, bail};
use sassafras::listing::{Line, Listing};
use sassafras::reschedule::{RoutineId, Unit};
use sassafras::sites::place;
use sassafras_cubin::{Container, Cubin, Image};
use sassafras_ir::Block;
use sassafras_machine::Arch;
use sassafras_sass::program::{Program, Routine};
use sassafras_verify::against;
use sassafras_verify::hazards::{self, Rules};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The JSON form. Bump `schema` when a field changes its meaning or goes away.
#[derive(Serialize)]
pub struct Report {
    schema: u32,
    input: String,
    /// How often the command ran.
    runs: u64,
    /// How it failed on the smallest candidate.
    failure: String,
    suspected: Suspected,
    /// How many changes are left.
    changes: usize,
    kernels: Vec<Kernel>,
    reordering: Reordering,
    /// Candidates that did not verify and were not run.
    rejected: Vec<String>,
}

/// What changed before anything was left out.
#[derive(Serialize)]
struct Suspected {
    kernels: usize,
    changes: usize,
}

/// A kernel or function whose change matters.
#[derive(Serialize)]
struct Kernel {
    name: String,
    arch: String,
    /// Image and section.
    place: String,
    /// Whether the fault is there with control fields alone, in the order that came.
    fields_alone: bool,
    blocks: Vec<Changed>,
    /// What the checker of hazards says about the new code of all of it.
    hazards: Vec<Hazard>,
}

/// A block whose change matters.
#[derive(Serialize)]
struct Changed {
    block: u32,
    /// Where it starts in its section.
    offset: u64,
    instructions: usize,
    before: Vec<Written>,
    after: Vec<Written>,
}

/// An instruction with its control field.
#[derive(Serialize)]
struct Written {
    offset: u64,
    control: String,
    text: String,
}

#[derive(Serialize)]
struct Hazard {
    kind: &'static str,
    /// Of the consumer, in its section.
    offset: u64,
    /// The block that the consumer is in.
    block: Option<u32>,
    text: String,
}

/// The verdict of the checker of reorderings.
#[derive(Serialize)]
struct Reordering {
    legal: bool,
    instructions: u64,
    moved: u64,
    renamed: u64,
    differences: Vec<String>,
}

impl Report {
    /// Looks at the smallest candidate.
    ///
    /// # Errors
    /// When one of the files cannot be read again.
    pub fn new(search: &Search<'_>, culprit: &Culprit) -> Result<Report> {
        let name = &search.input.name;
        let old = search.input.container()?;
        let new = Container::parse(&culprit.bytes).with_context(|| format!("{name}, rescheduled"))?;
        let compared = against::files(&old, &new).with_context(|| format!("{name}, rescheduled"))?;
        let routines: BTreeSet<RoutineId> = culprit.units.iter().map(|unit| unit.routine).collect();
        let kernels = routines.into_iter().map(|id| kernel(&old, &new, id, &culprit.units));
        Ok(Report {
            schema: 1,
            input: name.clone(),
            runs: search.trial.runs,
            failure: culprit.how.clone(),
            suspected: Suspected { kernels: culprit.suspected.0, changes: culprit.suspected.1 },
            changes: culprit.units.len(),
            kernels: kernels.collect::<Result<_>>().with_context(|| name.clone())?,
            reordering: Reordering {
                legal: compared.is_legal(),
                instructions: compared.instructions,
                moved: compared.moved,
                renamed: compared.renamed,
                differences: compared.differences.iter().map(ToString::to_string).collect(),
            },
            rejected: culprit.rejected.clone(),
        })
    }

    /// For people.
    ///
    /// # Errors
    /// None that matter: text is written to memory.
    pub fn text(&self) -> Result<String> {
        let bold = anstyle::Style::new().bold();
        let mut out = String::new();
        let Suspected { kernels: all, changes } = self.suspected;
        let heading =
            format!("{} of {all} kernels and {} of {changes} changes", self.kernels.len(), self.changes);
        writeln!(
            out,
            "{bold}{}{bold:#}: the command fails ({}) with {heading}; {} runs\n",
            self.input, self.failure, self.runs
        )?;
        for kernel in &self.kernels {
            kernel.write(&mut out)?;
        }
        let Reordering { instructions, moved, renamed, differences, .. } = &self.reordering;
        match differences.first() {
            None => writeln!(
                out,
                "verifier: a legal reordering, {moved} of {instructions} instructions moved, {renamed} with other registers"
            )?,
            Some(first) => writeln!(out, "verifier: {first}")?,
        }
        for rejected in &self.rejected {
            writeln!(out, "not run: {rejected}")?;
        }
        Ok(out)
    }
}

impl Kernel {
    fn write(&self, out: &mut String) -> Result<()> {
        let bold = anstyle::Style::new().bold();
        writeln!(out, "{bold}{}{bold:#} ({}), {}", self.name, self.arch, self.place)?;
        if self.fields_alone {
            writeln!(out, "  control fields alone, in the order that came")?;
        }
        for changed in &self.blocks {
            let Changed { block, offset, instructions, before, after } = changed;
            writeln!(out, "  block {block} at {offset:#x}, {instructions} instructions")?;
            let side =
                |line: &Written| format!("/*{:04x}*/  {:<24} {}", line.offset, line.control, line.text);
            let width = before.iter().map(|line| side(line).chars().count()).max().unwrap_or(0);
            for (old, new) in before.iter().zip(after) {
                let same = (&old.text, &old.control) == (&new.text, &new.control);
                let mark = if same { ' ' } else { '|' };
                writeln!(out, "    {:<width$} {mark} {}", side(old), side(new))?;
            }
        }
        match self.hazards.len() {
            0 => writeln!(out, "  verifier: no hazard in it")?,
            count => writeln!(out, "  verifier: {count} hazards in it")?,
        }
        for hazard in &self.hazards {
            writeln!(out, "    {} at {:#x}: {}", hazard.kind, hazard.offset, hazard.text)?;
        }
        writeln!(out)?;
        Ok(())
    }
}

/// One routine, as it came and as it is now.
fn kernel(old: &Container<'_>, new: &Container<'_>, id: RoutineId, units: &[Unit]) -> Result<Kernel> {
    let (image, (arch, before)) = (image(old, id)?, lifted(old, id)?);
    let (_, after) = lifted(new, id)?;
    let of_routine = || units.iter().filter(|unit| unit.routine == id);
    let fields_alone = of_routine().any(|unit| unit.block.is_none());
    let wanted: BTreeSet<u32> = of_routine().filter_map(|unit| unit.block).collect();
    let mut blocks = Vec::new();
    for block in before.lifted.function.blocks() {
        let (came, made) = (lines(arch, &before, block), lines(arch, &after, block));
        let differs = || came.iter().zip(&made).any(|(old, new)| old.control != new.control);
        if wanted.contains(&block.as_u32()) || fields_alone && differs() {
            blocks.push(Changed {
                block: block.as_u32(),
                offset: came.first().map_or(0, |line| line.offset),
                instructions: came.len(),
                before: came,
                after: made,
            });
        }
    }
    let f = &after.lifted.function;
    let holds = |block: &Block, inst| f.block_insts(*block).contains(&inst);
    let found = hazards::check(f, Rules::of(arch));
    let hazards = found.findings.iter().map(|finding| Hazard {
        kind: finding.kind.name(),
        offset: after.offset(finding.consumer),
        block: f.blocks().find(|block| holds(block, finding.consumer)).map(|block| block.as_u32()),
        text: finding.describe(f),
    });
    let section = section(old, id)?;
    Ok(Kernel {
        name: before.name.clone(),
        arch: image.sm.to_string(),
        place: place(image, &section),
        fields_alone,
        blocks,
        hazards: hazards.collect(),
    })
}

fn image<'c>(container: &'c Container<'_>, id: RoutineId) -> Result<&'c Image> {
    container.images().get(id.image).with_context(|| format!("image {} is gone", id.image))
}

/// The name of the section that holds a routine.
fn section(container: &Container<'_>, id: RoutineId) -> Result<String> {
    let bytes = container.bytes(image(container, id)?)?;
    let cubin = Cubin::parse(&bytes)?;
    Ok(cubin.sections().get(id.section).map_or(String::new(), |section| section.name.to_owned()))
}

fn lifted(container: &Container<'_>, id: RoutineId) -> Result<(Arch, Routine)> {
    let bytes = container.bytes(image(container, id)?)?;
    let cubin = Cubin::parse(&bytes)?;
    let program = Program::new(&cubin)?;
    let code = cubin.code().iter().find(|code| code.section == id.section);
    let routines = code.map(|code| program.lift(code)).transpose()?.unwrap_or_default();
    match routines.into_iter().find(|routine| routine.range.start == id.start) {
        Some(routine) => Ok((program.arch(), routine)),
        None => bail!("the routine at {:#x} is gone", id.start),
    }
}

/// The instructions of a block, as listings have them.
fn lines(arch: Arch, routine: &Routine, block: Block) -> Vec<Written> {
    let written = |line: Line| Written {
        offset: line.offset,
        control: line.control.map_or(String::new(), |control| control.to_string()),
        text: line.text,
    };
    Listing::new(arch, routine).block(block).map(written).collect()
}
