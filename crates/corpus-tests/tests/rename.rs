//! Other registers: every cubin of the corpus with random legal renames is accepted, and tuples start where the renamer
//! lets them.
#![cfg(feature = "real-tools")]

#[path = "../../verify/tests/support/renaming.rs"]
#[allow(dead_code)] // not everything is needed here
mod renaming;

use std::collections::BTreeMap;

use rayon::prelude::*;
use renaming::Kernel;
use sassafras_corpus_tests::{Item, Origin, cubins};
use sassafras_cubin::{Capsules, Code, CodeEdit, Cubin, RewriteOptions, Sm};
use sassafras_sass::Decoder;
use sassafras_sass::program::{Program, arch_of};
use sassafras_sass::rename::alignment;
use sassafras_testkit::rng::Rng;
use sassafras_verify::against;

fn known(items: &[Item]) -> impl ParallelIterator<Item = &Item> {
    items.par_iter().filter(|item| arch_of(item.sm).is_some_and(|arch| Decoder::new(arch).has_table()))
}

/// Whether attributes speak of registers, which the renamer of these tests does not look at.
fn names_registers(code: &Code<'_>) -> bool {
    let mut masks = code.attributes.iter().filter(|a| a.kind.to_string() == "COOP_GROUP_MASK_REGIDS");
    masks.any(|attribute| attribute.words().any(|id| id != u32::MAX))
}

/// Renames at random in every block, and compares. Returns how many instructions there are and were renamed.
fn check(item: &Item) -> (u64, u64) {
    let cubin = Cubin::parse(&item.bytes).unwrap_or_else(|e| panic!("{}: {e}", item.name));
    let program = Program::new(&cubin).expect("a known SM");
    let mut rng = Rng::new(item.bytes.len() as u64);
    let mut edits = Vec::new();
    for code in cubin.code().iter().filter(|code| !names_registers(code)) {
        let mut edit = CodeEdit::unchanged(code);
        for routine in program.lift(code).unwrap_or_else(|e| panic!("{}: {e}", item.name)) {
            let first = (routine.range.start / 16) as usize;
            let words = edit.words[first..(routine.range.end / 16) as usize].to_vec();
            let mut kernel = Kernel::new(program.arch(), &routine, code.registers.unwrap_or(0), words);
            // Where the number of registers changes while the code runs, none above those of the block is sure.
            if routine.lifted.function.opcodes().any(|opcode| opcode == "USETMAXREG") {
                continue;
            }
            for block in kernel.blocks() {
                for _ in 0..kernel.range(block).len().min(200) {
                    kernel.rename(&mut rng, block);
                }
            }
            edit.words[first..first + kernel.words.len()].copy_from_slice(&kernel.words);
        }
        edits.push(edit);
    }
    // Capsules cannot follow and are left alone.
    let keep = RewriteOptions { capsules: Capsules::Keep };
    let new = cubin.rewrite_with(&edits, keep).unwrap_or_else(|refusal| panic!("{}: {refusal}", item.name));
    let compared = against::cubins(&cubin, &Cubin::parse(&new).expect("written"));
    let full_debug_data = |difference: &against::Difference| difference.section.contains("debug");
    let wrong: Vec<_> = compared.differences.iter().filter(|d| !full_debug_data(d)).take(5).collect();
    assert!(wrong.is_empty(), "{}: {wrong:#?}", item.name);
    (compared.instructions, compared.renamed)
}

#[test]
fn random_legal_renames_are_accepted() {
    let items = cubins().expect("the corpus");
    // Warps of tile programs take all registers there are, so that few of theirs can be others: they are checked, not counted.
    let counts: Vec<(Sm, (u64, u64))> = known(&items)
        .map(|item| (item, check(item)))
        .filter(|(item, _)| item.origin != Origin::Tile)
        .map(|(item, counts)| (item.sm, counts))
        .collect();
    let mut by_sm: BTreeMap<Sm, (u64, u64)> = BTreeMap::new();
    for (sm, (instructions, renamed)) in counts {
        let sum = by_sm.entry(sm).or_default();
        *sum = (sum.0 + instructions, sum.1 + renamed);
    }
    for (sm, (instructions, renamed)) in &by_sm {
        eprintln!("{sm}: {renamed} of {instructions} instructions with other registers");
        // A small corpus may hold little that can be renamed.
        assert!(renamed * 50 > *instructions || *instructions < 5_000, "{sm}: {renamed} of {instructions}");
    }
}

#[test]
fn tuples_start_where_the_renamer_lets_them() {
    let items = cubins().expect("the corpus");
    known(&items).for_each(|item| {
        let decoder = Decoder::new(arch_of(item.sm).expect("a known SM"));
        let cubin = Cubin::parse(&item.bytes).unwrap_or_else(|e| panic!("{}: {e}", item.name));
        for word in cubin.code().iter().flat_map(|code| code.bytes.as_chunks::<16>().0) {
            let inst = decoder.decode(u128::from_le_bytes(*word), 0);
            for reg in inst.registers() {
                // Four for the longest, see `alignment`.
                let align = alignment(reg.span.len()).min(4);
                let aligned = reg.span.first().index().is_multiple_of(align);
                assert!(aligned, "{}: {:?} {}", item.name, inst.mnemonic(), reg.span);
            }
        }
    });
}
