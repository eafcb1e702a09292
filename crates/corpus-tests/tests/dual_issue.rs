//! The pairs of ptxas on sm_50 and sm_52, against those that the mined conditions allow.
#![cfg(feature = "real-tools")]

use std::collections::BTreeMap;

use rayon::prelude::*;
use sassafras_corpus_tests::cubins;
use sassafras_cubin::Cubin;
use sassafras_machine::{Arch, InstructionEncoding};
use sassafras_model::dual_issue::observed::{Observed, Place};
use sassafras_sass::program::arch_of;
use sassafras_tepid::dual_issue::{Comparison, Seen, Stream, compare, survey};

/// The table of places against the corpus: what leads leads there and nowhere follows, least stalls are least, and hardly any
/// reader comes sooner than its row says.
#[test]
fn the_corpus_shows_nothing_else_than_the_table() {
    let mut contradictions = Vec::new();
    let (mut readers, mut sooner, mut names) = (0, 0, 0);
    for ((name, arch), seen) in surveyed() {
        let Some(row) = Observed::shipped().row(&name, arch) else {
            contradictions.extend((seen.place() != Place::Alone).then(|| format!("{arch} {name}: no row")));
            continue;
        };
        names += 1;
        let place = seen.place();
        let least = seen.stalls.keys().next().copied().unwrap_or(15);
        if place != Place::Alone && place != row.place
            || seen.leads.min(seen.follows) > 0
            || least < row.least_stall
        {
            contradictions.push(format!("{arch} {name}: {row:?}, seen {seen:?}"));
        }
        let cycles = u64::from(row.operand_cycles.unwrap_or(0));
        readers += seen.distances.values().sum::<usize>();
        sooner += seen.distances.range(..cycles).map(|(_, n)| n).sum::<usize>();
    }
    eprintln!("{names} mnemonics and chips, {readers} readers, {sooner} sooner than the table");
    assert!(contradictions.is_empty(), "{}", contradictions.join("\n"));
    assert!(names > 300 && sooner * 100 < readers, "{sooner} of {readers}");
}

/// Everything that the grouped code of the corpus shows, by mnemonic and chip.
fn surveyed() -> BTreeMap<(String, Arch), Seen> {
    let mut all: BTreeMap<(String, Arch), Seen> = BTreeMap::new();
    for item in cubins().expect("the corpus") {
        let cubin = Cubin::parse(&item.bytes).expect("a cubin");
        let arch = arch_of(cubin.sm());
        let Some(arch) = arch.filter(|arch| arch.info().encoding == InstructionEncoding::Grouped64) else {
            continue;
        };
        for code in cubin.code() {
            let stream = Stream::decode(code.bytes, arch).expect("whole groups");
            for (name, seen) in survey(&stream) {
                all.entry((name, arch)).or_default().add(&seen);
            }
        }
    }
    all
}

/// Everything of the corpus that one set of chips runs.
fn sum(takes: impl Fn(u16) -> bool + Sync) -> Comparison {
    let items = cubins().expect("the corpus");
    let found: Vec<Comparison> = items
        .par_iter()
        .flat_map_iter(|item| {
            let cubin = Cubin::parse(&item.bytes).expect("a cubin");
            let arch = arch_of(cubin.sm()).filter(|arch| {
                arch.info().encoding == InstructionEncoding::Grouped64 && arch.number().is_some_and(&takes)
            });
            let streams = arch.into_iter().flat_map(|arch| {
                let decode = |bytes: &[u8]| Stream::decode(bytes, arch).expect("whole groups");
                cubin.code().iter().map(move |code| decode(code.bytes)).collect::<Vec<_>>()
            });
            streams.map(|stream| compare(&stream)).collect::<Vec<_>>()
        })
        .collect();
    let mut sum = Comparison::default();
    found.iter().for_each(|one| sum.add(one));
    sum
}

#[test]
fn every_pair_of_ptxas_is_legal_and_most_legal_pairs_are_made() {
    for (name, takes, most) in [
        ("sm_50 and sm_52", (|sm| sm == 50 || sm == 52) as fn(u16) -> bool, 1.0),
        ("sm_53 to sm_62", |sm| sm > 52, 0.999),
    ] {
        let sum = sum(takes);
        assert!(sum.marked > 2000, "{name}: {sum:?}");
        let (covered, taken) = (sum.covered().expect("pairs"), sum.taken().expect("pairs"));
        eprintln!(
            "{name}: {} marked, {} legal, {covered:.4} covered, {taken:.4} taken",
            sum.marked, sum.legal
        );
        assert!(covered >= most, "{name}: {covered} of the marked pairs are legal");
        assert!(taken >= 0.88, "{name}: {taken} of the legal pairs are marked");
        // What the documents allow is a small part of what is done.
        assert!(sum.documented * 4 < sum.marked, "{name}: {} of {}", sum.documented, sum.marked);
        let [single, marked, legal] = sum.cycles;
        eprintln!("{name}: {} by the documents, {} behind their gate", sum.documented, sum.gated);
        eprintln!("{name}: cycles {single} one at a time, {marked} marked, {legal} legal");
        assert!(legal <= marked && marked < single, "{name}: {:?}", sum.cycles);
    }
}
