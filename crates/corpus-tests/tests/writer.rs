//! Reading and writing: every cubin of the corpus reads, unchanged code gives the same bytes, and a shuffle followed by
//! its inverse restores the file.
#![cfg(feature = "real-tools")]

#[path = "../../cubin/tests/support/shuffle.rs"]
mod shuffle;

use std::collections::BTreeMap;

use rayon::prelude::*;
use sassafras_corpus_tests::{Item, cubins};
use sassafras_cubin::{CodeEdit, Cubin, Refusal, Sm};
use shuffle::Random;

/// Refusals that are right, or known to be more careful than needed: reason, and why. Whatever else is refused fails.
const KNOWN: &[(&str, &str)] = &[
    ("SmallSlots", "before sm_70 three instructions share a control word, and none can move alone"),
    ("DebugInfo", "what debuggers read about -G code names instructions in ways that are not followed"),
    ("Frames", "a random order turns rows of call frames round"),
    (
        "ImplicitAddend",
        "pointers to functions in relocatable code: where in the function they point is not read",
    ),
];

#[derive(Clone, Debug, Default)]
struct Tally {
    cubins: usize,
    code: usize,
    shuffled: usize,
    /// Reason to the code that was left as it was.
    refused: BTreeMap<String, usize>,
    unknown: Vec<String>,
}

/// Shuffles all code that can be; notes why the rest cannot.
fn shuffle(item: &Item, cubin: &Cubin<'_>, tally: &mut Tally) -> Option<(Vec<u8>, Vec<CodeEdit>)> {
    let mut random = Random(item.bytes.len() as u64);
    let mut edits = Vec::new();
    let mut refuse = |refusal: Refusal, code: usize| {
        let reason = format!("{:?}", refusal.reason);
        let reason = reason.split(['(', ' ']).next().unwrap_or_default().to_owned();
        if KNOWN.iter().all(|(known, _)| *known != reason) {
            tally.unknown.push(format!("{}: {refusal}", item.name));
        }
        *tally.refused.entry(reason).or_default() += code;
    };
    for code in cubin.code() {
        match shuffle::shuffled(cubin, code, &mut random) {
            Ok(order) => edits.push(CodeEdit::permuted(code, order)),
            Err(refusal) => refuse(refusal, 1),
        }
    }
    loop {
        match cubin.rewrite_with(&edits, shuffle::KEEP) {
            Ok(bytes) => return Some((bytes, edits)),
            Err(refusal) => {
                let code = refusal.code.as_ref().and_then(|name| cubin.code_named(name));
                let Some(at) =
                    code.and_then(|code| edits.iter().position(|edit| edit.section == code.section))
                else {
                    refuse(refusal, edits.len());
                    return None;
                };
                edits.remove(at);
                refuse(refusal, 1);
            }
        }
    }
}

fn check(item: &Item) -> Tally {
    let what = &item.name;
    let cubin = Cubin::parse(&item.bytes).unwrap_or_else(|e| panic!("{what}: {e}"));
    let unchanged: Vec<_> = cubin.code().iter().map(CodeEdit::unchanged).collect();
    let same = cubin.rewrite(&unchanged).unwrap_or_else(|refusal| panic!("{what}: {refusal}"));
    assert!(same == item.bytes, "{what}: unchanged code gives other bytes");
    let mut tally = Tally { cubins: 1, code: cubin.code().len(), ..Tally::default() };
    if let Some((shuffled, edits)) = shuffle(item, &cubin, &mut tally) {
        assert!(shuffled != item.bytes || edits.is_empty(), "{what}: the shuffle changed nothing");
        assert!(shuffle::unshuffle(&shuffled, &edits) == item.bytes, "{what}: not restored");
        tally.shuffled = edits.len();
    }
    tally
}

#[test]
fn every_cubin_is_restored() {
    let items = cubins().expect("the corpus");
    let tallies: Vec<(Sm, Tally)> = items.par_iter().map(|item| (item.sm, check(item))).collect();
    let mut by_sm: BTreeMap<Sm, Tally> = BTreeMap::new();
    for (sm, tally) in tallies {
        let sum = by_sm.entry(sm).or_default();
        sum.cubins += tally.cubins;
        sum.code += tally.code;
        sum.shuffled += tally.shuffled;
        for (reason, count) in tally.refused {
            *sum.refused.entry(reason).or_default() += count;
        }
        sum.unknown.extend(tally.unknown);
    }
    for (sm, tally) in &by_sm {
        eprintln!(
            "{sm}: {} cubins, {} code sections, {} shuffled and restored, refused {:?}",
            tally.cubins, tally.code, tally.shuffled, tally.refused
        );
        let (moved, whole) = (tally.shuffled, tally.code - tally.refused.get("DebugInfo").unwrap_or(&0));
        assert!(if sm.number < 70 { moved == 0 } else { moved * 10 > whole * 9 }, "{sm}: {tally:?}");
    }
    let unknown: Vec<_> = by_sm.into_values().flat_map(|tally| tally.unknown).collect();
    assert!(unknown.is_empty(), "refused for reasons that are not known:\n{}", unknown.join("\n"));
}
