//! The text of every cubin is the cubin for whoever asks about its instructions: printed, parsed and printed again the same, with as many
//! hazards, and rescheduled the same instruction by instruction and field by field, unless something beside the code is in the way.
#![cfg(feature = "real-tools")]

#[path = "../../sassafras/tests/support/text.rs"]
mod support;

use rayon::prelude::*;
use sassafras::Options;
use sassafras_corpus_tests::cubins;

#[test]
fn text_is_scheduled_as_the_cubin_that_it_was_printed_from() {
    let items = cubins().expect("the corpus");
    let ours: Vec<_> = items.iter().filter(|item| item.origin.is_ours()).collect();
    assert!(ours.len() > 100);
    let found: Vec<String> = (ours.par_iter())
        .flat_map_iter(|item| {
            let differences = support::differences(&item.bytes, &Options::default());
            differences.into_iter().map(|what| format!("{}: {what}", item.name))
        })
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}
