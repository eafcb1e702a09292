//! Text and words say the same: every instruction of the corpus that is printed whole is assembled to the word that it was printed from.
#![cfg(feature = "real-tools")]

use rayon::prelude::*;
use sassafras_corpus_tests::cubins;
use sassafras_cubin::Cubin;
use sassafras_machine::Arch;
use sassafras_sass::print::{Assembler, Coverage, Printer};
use sassafras_sass::program::arch_of;
use std::collections::{BTreeMap, BTreeSet};

/// The bits below the control field.
const TOLD: u128 = (1 << 105) - 1;
/// Where targets of branches count from.
const PC: u64 = 0x10_0000;

#[test]
fn every_text_of_the_corpus_assembles_to_its_word() {
    let corpus = cubins().expect("a corpus");
    let mut words: BTreeMap<Arch, BTreeSet<u128>> = BTreeMap::new();
    for item in &corpus {
        let cubin = Cubin::parse(&item.bytes).expect("a cubin");
        let Some(arch) = arch_of(item.sm).filter(|_| item.sm.slot_bytes() == Some(16)) else { continue };
        let own = words.entry(arch).or_default();
        for code in cubin.code() {
            own.extend(code.bytes.as_chunks::<16>().0.iter().map(|word| u128::from_le_bytes(*word) & TOLD));
        }
    }
    let asked: Vec<(Arch, u128)> =
        words.iter().flat_map(|(&arch, words)| words.iter().map(move |&word| (arch, word))).collect();
    let other: Vec<String> = asked
        .par_iter()
        .filter_map(|&(arch, word)| {
            let printed = Printer::new(arch).print(word, PC);
            if printed.coverage != Coverage::Complete {
                return None;
            }
            let made = Assembler::new(arch).expect("tables").assemble(&printed.text, PC);
            (made != Ok(word)).then(|| format!("{arch} {word:032x} {}: {made:x?}", printed.text))
        })
        .collect();
    assert!(asked.len() > 50_000, "{} words", asked.len());
    assert!(other.is_empty(), "{} of {}: {:#?}", other.len(), asked.len(), &other[..other.len().min(20)]);
}
