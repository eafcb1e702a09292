//! `sassafras verify new.ptx --against old.ptx`

use super::{Arguments, Place, Reordering, Report, verdict};
use crate::input::Ptx;
use crate::output;
use anyhow::{Result, bail};
use sassafras_verify::ptx::{self, Comparison, Illegal, Options};
use std::fmt::Write;

/// Compares two modules.
pub fn compare(arguments: &Arguments, input: &Ptx, original: &Ptx) -> Result<()> {
    if !arguments.selection.get().takes_all() {
        bail!("`--against` compares whole files; leave `--kernel` and `--arch` out");
    }
    let found = ptx::compare(&original.module, &input.module, Options::default());
    if arguments.json {
        let reordering = Some(reordering(&found, input.module.inst_count()));
        output::print_json(&Report {
            schema: 1,
            kernels: Vec::new(),
            unchecked: Default::default(),
            reordering,
        })?;
    } else {
        output::print(&summary(&found, input, original)?)?;
    }
    verdict(&input.name, 0, found.differences.len())
}

fn reordering(found: &Comparison, instructions: usize) -> Reordering {
    let place = |illegal: &Illegal| Place {
        image: String::new(),
        section: illegal.place.function.clone().unwrap_or_default(),
        offset: None,
        line: illegal.place.new_line,
        original_line: illegal.place.old_line,
        change: illegal.rule.to_string(),
    };
    Reordering {
        instructions: instructions as u64,
        moved: found.report.moved,
        renamed: found.report.renamed,
        commuted: Some(found.report.commuted),
        differences: found.differences.iter().map(place).collect(),
    }
}

fn summary(found: &Comparison, input: &Ptx, original: &Ptx) -> Result<String> {
    let mut out = String::new();
    for illegal in &found.differences {
        writeln!(out, "{illegal}")?;
    }
    if found.differences.is_empty() {
        let report = &found.report;
        writeln!(out, "{} is a legal reordering of {}", input.name, original.name)?;
        write!(out, "{} of {} instructions moved", report.moved, report.instructions)?;
        for (count, what) in [(report.renamed, "other registers"), (report.commuted, "operands exchanged")] {
            if count > 0 {
                write!(out, ", {count} with {what}")?;
            }
        }
        writeln!(out, "\nPTX has no control fields: hazards were not looked for")?;
    }
    Ok(out)
}
