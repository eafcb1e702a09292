//! One clock: what `schedule` prints of a kernel says something about its code alone. The figure before is the same whoever reorders it, the
//! figure after is what a second run says before, no file changes without its report saying so, and the default writes nothing that is slower by it.
#![cfg(feature = "real-tools")]

use rayon::prelude::*;
use sassafras::reschedule::Outcome;
use sassafras::{Options, Rescheduled, reschedule};
use sassafras_corpus_tests::{Item, cubins};
use sassafras_list::registry;
use std::collections::BTreeMap;

/// So many thousandths are within what the clock errs by.
const MARGIN: u64 = 5;

/// A strategy by name.
fn options(strategy: &str) -> Options {
    Options { strategy: registry::get(strategy), ..Options::default() }
}

/// Every kernel with a figure: before and after, by its place in the file.
fn cycles(done: &Rescheduled) -> BTreeMap<usize, (u64, u64)> {
    let timed = |(i, outcome): (usize, &Outcome)| Some((i, outcome.cycles.map(|c| (c.before, c.after))?));
    done.outcomes.iter().enumerate().filter_map(timed).collect()
}

/// What is wrong with the figures of one cubin.
fn faults(number: usize, item: &Item) -> Vec<String> {
    let name = &item.name;
    let by_name = match number % 2 {
        0 => ("height", options("height")),
        _ => ("reverse", options("reverse")),
    };
    let rebuild = options("original");
    let modes = [("rebuild", rebuild), ("default", options("tepid")), by_name];
    let mut faults = Vec::new();
    let mut first: Option<BTreeMap<usize, u64>> = None;
    for (mode, options) in &modes {
        let done = reschedule(&item.bytes, options).unwrap_or_else(|e| panic!("{name}, {mode}: {e}"));
        let again = reschedule(&done.bytes, options).unwrap_or_else(|e| panic!("{name}, {mode} again: {e}"));
        let (now, then) = (cycles(&done), cycles(&again));
        let before: BTreeMap<usize, u64> = now.iter().map(|(&i, &(before, _))| (i, before)).collect();
        if first.get_or_insert_with(|| before.clone()) != &before {
            faults.push(format!("{name}, {mode}: before is {before:?}, and by another order {first:?}"));
        }
        for (i, &(_, after)) in &now {
            if *mode == "default" && after * 1000 > now[i].0 * (1000 + MARGIN) {
                faults.push(format!("{name}, kernel {i}: {} cycles become {after}", now[i].0));
            }
            if then.get(i).is_none_or(|&(before, _)| before != after) {
                faults.push(format!("{name}, {mode}, kernel {i}: after is {after}, then {:?}", then.get(i)));
            }
        }
        let said = done.outcomes.iter().any(|outcome| !outcome.units.is_empty());
        if said != (done.bytes != item.bytes) {
            faults.push(format!("{name}, {mode}: it changes and says nothing, or the other way round"));
        }
    }
    faults
}

#[test]
fn a_figure_is_about_the_code_alone() {
    let items = cubins().expect("the corpus");
    let ours: Vec<&Item> = items.iter().filter(|item| item.origin.is_ours()).collect();
    let faults: Vec<String> =
        ours.par_iter().enumerate().flat_map_iter(|(n, item)| faults(n, item)).collect();
    assert!(
        faults.is_empty(),
        "{} faults, the first of them:\n{}",
        faults.len(),
        faults[..faults.len().min(20)].join("\n")
    );
    assert!(ours.len() > 500, "{} cubins", ours.len());
}
