//! Which form of a loop is scheduled: with whole tiles, or with tiles in parts along rows.
//!
//! Whole tiles need fewer operations and barriers. Parts need fewer registers, and each can have an agent of its own, so that
//! one computes while another waits for its results. Parts are asked for only where whole tiles do not fit, or need more than
//! what the machine's resources and the loop's recurrences ask for whoever runs it; the least II wins, the fewest parts among
//! equals.

use crate::generate::problem::build;
use crate::generate::{GenerateError, Generated, generate};
use crate::options::Options;
use sassafras_modulo::bounds;
use sassafras_tileir::program::Program;
use std::collections::BTreeMap;

/// Parts that are tried, in this order.
const PARTS: [u32; 3] = [2, 4, 8];

/// A form of a loop and its schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// In how many parts tiles are.
    pub parts: u32,
    /// The loop in this form.
    pub program: Program,
    /// Its schedule.
    pub generated: Generated,
    /// The II with whole tiles, where parts were chosen and whole tiles can be scheduled at all.
    pub whole: Option<u32>,
}

/// Schedules a loop in the form that has the least II. `divided` makes the form with so many parts, if there is one.
pub fn choose(
    whole: &Program,
    mut divided: impl FnMut(u32) -> Option<Program>,
    options: &Options,
) -> Result<Chosen, GenerateError> {
    let first = generate(whole, options);
    let whole_ii = first.as_ref().ok().map(|g| g.analysis.ii);
    let mut best = first.map(|generated| Chosen { parts: 1, program: whole.clone(), generated, whole: None });
    let least = bounds(&build(whole, &[], &BTreeMap::new(), 1).problem).mii();
    for parts in PARTS {
        if best.as_ref().is_ok_and(|b| u64::from(b.generated.analysis.ii) <= least) {
            break;
        }
        let Some(program) = divided(parts) else { continue };
        // What fails in parts is no reason to fail.
        let options = Options { compute_agents: parts, ..options.clone() };
        let Ok(generated) = generate(&program, &options) else { continue };
        if best.as_ref().is_ok_and(|b| b.generated.analysis.ii <= generated.analysis.ii) {
            continue;
        }
        best = Ok(Chosen { parts, program, generated, whole: whole_ii });
    }
    best
}
