//! The pairs of ptxas on sm_50 and sm_52, against those that the mined conditions allow.
#![cfg(feature = "real-tools")]

use rayon::prelude::*;
use sassafras_corpus_tests::cubins;
use sassafras_cubin::Cubin;
use sassafras_machine::InstructionEncoding;
use sassafras_sass::program::arch_of;
use sassafras_tepid::dual_issue::{Comparison, Stream, compare};

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
