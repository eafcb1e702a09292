//! Register sets of the whole corpus against `nvdisasm -plr`. Its known faults are listed in `testkit::nvdisasm`; any other
//! difference fails, reported by operation, register file and direction.
#![cfg(feature = "real-tools")]

#[path = "../../sass/tests/support/claim.rs"]
mod claim;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use claim::claim;
use rayon::prelude::*;
use sassafras_corpus_tests::{Item, Origin, cubins};
use sassafras_cubin::{Cubin, Sm};
use sassafras_sass::Decoder;
use sassafras_sass::program::arch_of;
use sassafras_testkit::nvdisasm::{self, Class, FAULTS, Verdict, disassemble};
use sassafras_testkit::tools::tool;

#[derive(Default)]
struct Tally {
    instructions: usize,
    opaque: BTreeMap<String, usize>,
    faults: BTreeMap<&'static str, usize>,
    /// How often, and one example.
    differences: BTreeMap<Class, (usize, String)>,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.instructions += other.instructions;
        for (name, count) in other.opaque {
            *self.opaque.entry(name).or_default() += count;
        }
        for (name, count) in other.faults {
            *self.faults.entry(name).or_default() += count;
        }
        for (class, (count, example)) in other.differences {
            self.differences.entry(class).or_insert((0, example)).0 += count;
        }
    }
}

/// The disassembler that lists the registers of a cubin: the newest neither knows what is before sm_75 nor follows the
/// control flow of files in the format of CUDA 12 (ABI version 7).
fn release(item: &Item) -> &'static str {
    const ABI_VERSION: usize = 8;
    if item.sm.number < 75 || item.bytes[ABI_VERSION] < 8 { "12.8" } else { "13." }
}

/// Architectures that the decoder is known to read wrongly, and why. Their differences are printed; there have to be some.
const WRONG: &[(u16, &str)] = &[(
    107,
    "read with the table of sm_100, but it has 64-bit integer forms (IADD.64, MOV.64, ISETP.U64) that sm_100 has not",
)];

/// What is worth disassembling, which is slow: of cubins with the same code one, of libraries the smallest images up to
/// this many bytes of code for each architecture.
const LIBRARY_BYTES: usize = 16 * 20_000;

fn decoder(sm: Sm) -> Option<Decoder> {
    arch_of(sm).map(Decoder::new).filter(Decoder::has_table)
}

fn selected(items: &[Item]) -> Vec<&Item> {
    let mut seen = BTreeSet::new();
    let mut from_libraries: BTreeMap<Sm, usize> = BTreeMap::new();
    let mut sized: Vec<(usize, &Item)> = Vec::new();
    for item in items.iter().filter(|item| decoder(item.sm).is_some()) {
        let cubin = Cubin::parse(&item.bytes).unwrap_or_else(|e| panic!("{}: {e}", item.name));
        let code: Vec<&[u8]> = cubin.code().iter().map(|code| code.bytes).collect();
        let mut hasher = DefaultHasher::new();
        // The letters of an architecture and its successor without new instructions change nothing.
        (decoder(item.sm).map(|decoder| decoder.family()), release(item), &code).hash(&mut hasher);
        if seen.insert(hasher.finish()) {
            sized.push((code.iter().map(|bytes| bytes.len()).sum(), item));
        }
    }
    sized.sort_by_key(|(size, item)| (*size, &item.name));
    sized.retain(|(size, item)| {
        let sum = from_libraries.entry(item.sm).or_default();
        if item.origin == Origin::Wheel {
            *sum += size;
        }
        item.origin != Origin::Wheel || *sum <= LIBRARY_BYTES
    });
    sized.into_iter().map(|(_, item)| item).rev().collect()
}

fn examine(item: &Item, folder: &Path, number: usize) -> Tally {
    let path = folder.join(format!("{number}.cubin"));
    fs::write(&path, &item.bytes).expect("written");
    let listing = disassemble(&tool("nvdisasm", release(item)), &path);
    fs::remove_file(&path).expect("removed");
    let decoder = decoder(item.sm).expect("selected for it");
    let mut tally = Tally { instructions: listing.lines.len(), ..Tally::default() };
    for line in &listing.lines {
        let inst = decoder.decode(line.word, line.address);
        if inst.is_opaque() {
            *tally.opaque.entry(line.mnemonic().to_owned()).or_default() += 1;
            continue;
        }
        let claim = claim(&inst);
        match nvdisasm::compare(&claim, line) {
            Verdict::Same => {}
            Verdict::Fault(fault) => *tally.faults.entry(fault.name).or_default() += 1,
            Verdict::Different(difference) => {
                let example = format!(
                    "{} {} {:#x} {:#034x} {}\n      nvdisasm reads {:?} writes {:?}\n      decoder  reads {:?} writes {:?}",
                    item.name,
                    line.section,
                    line.address,
                    line.word,
                    line.text,
                    line.reads,
                    line.writes,
                    claim.reads,
                    claim.writes
                );
                for class in difference.classes(line.mnemonic()) {
                    tally.differences.entry(class).or_insert((0, example.clone())).0 += 1;
                }
            }
        }
    }
    tally
}

#[test]
fn register_sets_agree() {
    let items = cubins().expect("the corpus");
    let folder = tempfile::tempdir().expect("a folder");
    let chosen = selected(&items);
    eprintln!(
        "{} of {} cubins; the others have the same code, or are too much of a library",
        chosen.len(),
        items.len()
    );
    let tallies: Vec<(Sm, Tally)> = (chosen.par_iter().enumerate())
        .map(|(number, item)| (item.sm, examine(item, folder.path(), number)))
        .collect();
    let mut sums: BTreeMap<Sm, Tally> = BTreeMap::new();
    for (sm, tally) in tallies {
        sums.entry(sm).or_default().add(tally);
    }
    let mut problems = Vec::new();
    for (sm, sum) in &sums {
        eprintln!(
            "{sm}: {} instructions, opaque {:?}, known faults {:?}",
            sum.instructions, sum.opaque, sum.faults
        );
        let differences = sum.differences.iter();
        let differences = differences
            .map(|(class, (count, example))| format!("{sm}: {count} × {class}, for example\n    {example}"));
        match WRONG.iter().find(|(number, _)| *number == sm.number) {
            Some((_, why)) if !sum.differences.is_empty() => {
                eprintln!("{sm} is known to be wrong: {why}");
                differences.for_each(|difference| eprintln!("{difference}"));
            }
            Some(_) => problems.push(format!("{sm} is no longer wrong: take it off the list")),
            None => problems.extend(differences),
        }
    }
    for fault in FAULTS {
        eprintln!("known fault `{}`: {}", fault.name, fault.why);
    }
    assert!(problems.is_empty(), "{} kinds of difference\n{}", problems.len(), problems.join("\n"));
    assert!(sums.len() >= 15, "{} architectures", sums.len());
}
