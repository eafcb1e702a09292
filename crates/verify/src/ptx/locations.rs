//! `.loc`: every instruction keeps the one that was in force for it.
//!
//! How often a `.loc` is written and where does not matter, only what each instruction sees. One that saw none may see any of those that the
//! block has seen: PTX cannot take a `.loc` back.

use super::block::Pair;
use super::lines::Side;
use super::{Illegal, Place, Rule};
use crate::values::Match;
use rustc_hash::FxHashSet;
use sassafras_ptx::InstId;

/// The `.loc` in force for an instruction.
pub(super) fn of(side: &Side<'_>, inst: InstId) -> Option<String> {
    side.module.inst(inst).loc().map(|span| side.words(span))
}

/// The first pair, as a place in the new block, whose instructions have other places in the sources.
pub(super) fn mismatch(pair: &Pair<'_>, places: &[Match]) -> Option<usize> {
    let (old, new) = (pair.functions.old, pair.functions.new);
    let mut seen: Option<FxHashSet<String>> = None;
    let mut wrong = |was: InstId, is: InstId| {
        let (was, is) = (of(old, was), of(new, is));
        match (was, is) {
            (None, None) => false,
            (None, Some(is)) => {
                let seen =
                    seen.get_or_insert_with(|| pair.was.iter().filter_map(|&inst| of(old, inst)).collect());
                !seen.contains(&is)
            }
            (was, is) => was != is,
        }
    };
    places.iter().zip(&pair.is).position(|(at, &is)| wrong(pair.was[at.from as usize], is))
}

/// A `.loc` of the new module that the old one does not have.
pub(super) fn strays(old: &Side<'_>, new: &Side<'_>) -> Option<Illegal> {
    let known: FxHashSet<String> = old.module.locs().iter().map(|&span| old.words(span)).collect();
    let stray = new.module.locs().iter().find(|&&span| !known.contains(&new.words(span)))?;
    let place = Box::new(Place { new_line: Some(new.line(*stray)), ..Place::default() });
    Some(Illegal { place, rule: Rule::NewLocation(new.words(*stray)) })
}
