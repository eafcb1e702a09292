//! Compiled blocks with other registers: random legal renames and orders pass, and whatever passes computes the same.

use sassafras_cubin::{Container, Cubin};
use sassafras_sass::program::Program;
use sassafras_testkit::rng::Rng;
use sassafras_testkit::{cases, words};
use sassafras_verify::against::{self, Comparison};
use support::Kernel;

#[path = "../../cubin/tests/support/build.rs"]
mod build;
#[path = "support/renaming.rs"]
mod support;

/// What the built cubins say.
const REGISTERS: u32 = 128;

fn kernels() -> Vec<(&'static str, Vec<u128>)> {
    let mut out: Vec<(&str, Vec<u128>)> = Vec::new();
    for line in include_str!("rename.words.txt").lines().filter(|line| !line.starts_with('#')) {
        match line.strip_prefix('[') {
            Some(name) => out.push((name.trim_end_matches(']'), Vec::new())),
            None => {
                let word = u128::from_str_radix(line, 16).expect("a word");
                out.last_mut().expect("a heading").1.push(word);
            }
        }
    }
    out
}

fn cubin(words: &[u128]) -> Vec<u8> {
    words::cubin(build::cubin().first_chunk().expect("a header"), &[words])
}

fn kernel(words: &[u128]) -> Kernel {
    let file = cubin(words);
    let cubin = Cubin::parse(&file).expect("parses");
    let program = Program::new(&cubin).expect("known");
    let routines = program.lift(&cubin.code()[0]).expect("lifts");
    assert_eq!(routines.len(), 1);
    let (words, _) = cubin.code()[0].bytes.as_chunks::<16>();
    let words = words.iter().map(|&word| u128::from_le_bytes(word)).collect();
    Kernel::new(program.arch(), &routines[0], REGISTERS, words)
}

fn compare(old: &Kernel, new: &Kernel) -> Comparison {
    // The exit at the end is there again when the file is built.
    let [old, new] = [old, new].map(|kernel| cubin(&kernel.words[..kernel.words.len() - 1]));
    let parse = |file| Container::parse(file).expect("parses");
    against::files(&parse(&old), &parse(&new)).expect("readable")
}

/// Whether every block of the two gives the same, on several inputs.
fn same(old: &Kernel, new: &Kernel) -> bool {
    old.blocks().all(|block| (0..8).all(|seed| old.run(block, seed) == new.run(block, seed)))
}

#[test]
fn legal_renames_and_orders_pass() {
    let (mut renamed, mut moved) = (0, 0);
    for (number, (name, words)) in kernels().into_iter().enumerate() {
        let old = kernel(&words);
        for round in 0..u64::from(cases(12)) {
            let mut rng = Rng::new(round << 8 | number as u64);
            let mut new = kernel(&words);
            let mut made = 0;
            for block in old.blocks() {
                for _ in 0..4 * old.range(block).len() {
                    made += usize::from(new.rename(&mut rng, block));
                }
            }
            assert!(same(&old, &new), "{name} {round}: the renames are not legal");
            for block in old.blocks().filter(|_| round % 3 > 0) {
                new.shuffle(&mut rng, block);
            }
            let compared = compare(&old, &new);
            let texts: Vec<String> = compared.differences.iter().map(ToString::to_string).collect();
            assert!(texts.is_empty(), "{name} {round}: {made} renames\n{}", texts.join("\n"));
            assert_eq!(compared.renamed == 0, made == 0, "{name} {round}");
            (renamed, moved) = (renamed + compared.renamed, moved + compared.moved);
        }
    }
    assert!(renamed > 2_000 && moved > 2_000, "{renamed} renamed, {moved} moved");
}

/// One field of one word, or several of one register, set to any other register: what passes has to compute the same.
#[test]
fn what_passes_computes_the_same() {
    let (mut passed, mut equal, mut all) = (0, 0, 0);
    for (number, (name, words)) in kernels().into_iter().enumerate() {
        let old = kernel(&words);
        for round in 0..u64::from(cases(400)) {
            let mut rng = Rng::new(round << 8 | number as u64 | 1 << 40);
            let mut new = kernel(&words);
            let at = rng.below(words.len());
            let fields = new.fields(at);
            if fields.named.is_empty() {
                continue;
            }
            let field = *rng.pick(&fields.named);
            let number = new.number(&mut rng, &field);
            let renamer = sassafras_sass::rename::Renamer::new(sassafras_machine::Arch::SM_90);
            let only = |other: &sassafras_sass::rename::Field| (*other == field).then_some(number);
            let Ok(word) = renamer.rename(old.words[at], only) else { continue };
            new.words[at] = word;
            // Sometimes a few of the uses behind it, too.
            if rng.chance(50) {
                for at in at + 1..(at + 1 + rng.below(24)).min(words.len()) {
                    let of = |other: &sassafras_sass::rename::Field| {
                        (other.is_read() && other.span == field.span && rng.chance(90)).then_some(number)
                    };
                    new.words[at] = renamer.rename(new.words[at], of).unwrap_or(new.words[at]);
                }
            }
            if new.words == old.words {
                continue;
            }
            let (legal, same) = (compare(&old, &new).is_legal(), same(&old, &new));
            assert!(same || !legal, "{name} {round}: word {at} passes");
            all += 1;
            passed += usize::from(legal);
            equal += usize::from(same);
        }
    }
    assert!(all > 1_000 && passed > 20, "{passed} passed and {equal} compute the same, of {all}");
    assert!(passed * 10 >= equal * 8, "{passed} passed, {equal} compute the same, of {all}");
}
