//! Goal: why a binary is faster: what each kernel that changed waited for before, and waits for now.
//!
//! Both versions of the file are analysed as `sassafras analyze` does it, and held side by side.

use crate::failure::of_library;
use anyhow::Result;
use sassafras::AnalyzeOptions;
use sassafras::Selection;
use sassafras::analyze::{analyze, compare_versions};
use sassafras::reschedule::{LaunchHint, Rescheduled};
use sassafras_analyze::compare::Comparison;
use sassafras_report::side_by_side;

/// So many instructions are shown before which more or less is lost; `analyze` on two files shows more.
const ROWS: usize = 5;

/// The kernels that changed, before and after.
pub fn changed(name: &str, before: &[u8], done: &Rescheduled, launch: LaunchHint) -> Result<Vec<Comparison>> {
    let changed = done.outcomes.iter().filter(|outcome| !outcome.units.is_empty());
    let kernels: Vec<String> = changed.map(|outcome| outcome.name.clone()).collect();
    if kernels.is_empty() {
        return Ok(Vec::new());
    }
    let selection = Selection { kernels, ..Selection::default() };
    let options = AnalyzeOptions { selection, launch, ..AnalyzeOptions::default() };
    let of = |bytes: &[u8]| analyze(bytes, &options).map_err(|error| of_library(name, error));
    Ok(compare_versions(&of(before)?.kernels, &of(&done.bytes)?.kernels).both)
}

/// For a terminal.
pub fn text(changed: &[Comparison]) -> String {
    changed.iter().map(|pair| format!("\n{}", side_by_side::comparison(pair, ROWS))).collect()
}
