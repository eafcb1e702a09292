//! PTX of compilers: every module of the corpus in random legal orders is accepted, and illegal orders of it are not.
#![cfg(feature = "real-tools")]

#[path = "../../ptx/tests/support/mod.rs"]
mod shuffle;
#[path = "support/ptx.rs"]
mod support;

use rayon::prelude::*;
use sassafras_ptx::Module;
use sassafras_testkit::rng::Rng;
use sassafras_verify::ptx::{self, Report};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::{env, fs};

/// Every PTX file of the corpus.
fn corpus() -> Vec<(String, Module)> {
    let folder = env::var_os("SASSAFRAS_CORPUS")
        .expect("SASSAFRAS_CORPUS is not set: run `cargo xtask test`, which compiles the corpus and sets it");
    let folder = PathBuf::from(folder);
    let manifest = fs::read_to_string(folder.join("manifest.json")).expect("a manifest");
    let manifest: serde_json::Value = serde_json::from_str(&manifest).expect("JSON");
    let entries = manifest["ptx"].as_array().expect("a list of PTX files");
    let read = |entry: &serde_json::Value| {
        let name = entry["path"].as_str().expect("a path").to_owned();
        let text = fs::read_to_string(folder.join(&name)).expect("a PTX file of the corpus");
        let module = Module::parse(&text).expect("parsed by the tests of `ptx`");
        (name, module)
    };
    entries.iter().map(read).collect()
}

#[test]
fn random_legal_orders_are_accepted() {
    let corpus = corpus();
    let totals: Vec<Report> = corpus
        .par_iter()
        .enumerate()
        .flat_map_iter(|(number, (name, old))| {
            (0..3).map(move |seed| {
                let mut new = old.clone();
                let moved = shuffle::shuffle(&mut new, &mut Rng::new(seed << 32 | number as u64));
                let new = Module::parse(&new.print()).expect("what is printed");
                let report = ptx::check(old, &new).unwrap_or_else(|e| panic!("{name}, seed {seed}: {e}"));
                // Equal instructions may be taken for one another.
                assert!(report.moved <= moved as u64, "{name}: {} of {moved} moved", report.moved);
                assert_eq!((report.renamed, report.commuted), (0, 0), "{name}, seed {seed}");
                report
            })
        })
        .collect();
    let moved: u64 = totals.iter().map(|report| report.moved).sum();
    let instructions: u64 = totals.iter().map(|report| report.instructions).sum();
    eprintln!("{} modules in 3 orders each: {moved} of {instructions} instructions moved", corpus.len());
    assert!(corpus.len() > 150 && moved > 30_000);
}

/// Nobody may want what the second of two writes leaves: such pairs are left out.
#[test]
fn random_illegal_swaps_are_noticed() {
    let corpus = corpus();
    let found: Vec<(BTreeMap<&str, usize>, Vec<String>)> = corpus
        .par_iter()
        .enumerate()
        .map(|(number, (name, old))| {
            let mut rng = Rng::new(number as u64);
            let (mut tried, mut missed) = (BTreeMap::new(), Vec::new());
            let blocks = support::lifted(old);
            let blocks: Vec<_> = blocks.iter().filter(|(_, lifted)| lifted.insts.len() > 2).collect();
            for _ in 0..if blocks.is_empty() { 0 } else { 80 } {
                let (block, lifted) = rng.pick(&blocks);
                let j = 1 + rng.below(lifted.insts.len() - 1);
                let i = j - 1 - rng.below(j.min(12));
                let Some(why) = lifted.conflict(i, j).filter(|why| *why != "write after write") else {
                    continue;
                };
                let new = support::swapped(old, *block, i, j);
                *tried.entry(why).or_default() += 1;
                if ptx::check(old, &new).is_ok() {
                    let text = |at: usize| old.text(old.inst(lifted.ids[at]).span()).to_owned();
                    missed.push(format!("{name}: {why}: {} / {}", text(i), text(j)));
                }
            }
            (tried, missed)
        })
        .collect();
    let mut tried: BTreeMap<&str, usize> = BTreeMap::new();
    let mut missed = Vec::new();
    for (counts, more) in found {
        counts.into_iter().for_each(|(why, count)| *tried.entry(why).or_default() += count);
        missed.extend(more);
    }
    let total: usize = tried.values().sum();
    eprintln!("{total} illegal swaps: {tried:?}");
    assert!(missed.is_empty(), "{} of {total} not noticed:\n{}", missed.len(), missed.join("\n"));
    assert!(total > 1_000);
}
