//! Random orders and random damage.

mod support;

use proptest::prelude::*;
use sassafras_ir::verify;
use sassafras_ptx::{BlockId, InstId, Module, lower};
use sassafras_testkit::rng::Rng;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;
use support::{read_again, shuffle};

/// The file tests, those with errors too.
static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    let mut paths: Vec<_> =
        fs::read_dir(folder).expect("file tests").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read_to_string(path).expect("a file test")).collect()
});

/// The texts that parse.
fn sound() -> impl Iterator<Item = &'static String> {
    TEXTS.iter().filter(|text| Module::parse(text).is_ok())
}

fn permute(rng: &mut Rng, order: &mut [InstId]) {
    for i in (1..order.len()).rev() {
        order.swap(i, rng.below(i + 1));
    }
}

fn orders(module: &Module) -> Vec<(BlockId, Vec<InstId>)> {
    module.blocks().map(|block| (block, module.order(block))).collect()
}

/// A module with an instruction per line, some with comments; every block ends in a branch that names the next.
fn lines(rng: &mut Rng) -> String {
    let mut out = String::from(".version 8.8\n.target sm_90\n.entry k()\n{\n\t.reg .b32 %r<9>;\n");
    for block in 0..1 + rng.below(4) {
        for inst in 0..rng.below(9) {
            if rng.chance(30) {
                writeln!(out, "  // about {inst}").expect("room");
            }
            write!(out, "\tadd.s32 %r{}, %r{}, {inst};", rng.below(9), rng.below(9)).expect("room");
            out.push_str(rng.pick::<&str>(&["\n", " // behind\n", "  \n", "\r\n"]));
        }
        writeln!(out, "\tbra L{block};\nL{block}:").expect("room");
    }
    out.push_str("\tret;\n}\n");
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Any order of any block keeps every instruction, and the old order brings the bytes back.
    #[test]
    fn orders_can_be_taken_back(seed: u64) {
        let mut rng = Rng::new(seed);
        for text in sound() {
            let mut module = Module::parse(text).expect("parsed before");
            let old = orders(&module);
            for (block, order) in &old {
                let mut order = order.clone();
                permute(&mut rng, &mut order);
                module.reorder(*block, &order).expect("a permutation");
                prop_assert_eq!(module.order(*block), order);
            }
            prop_assert_eq!(read_again(&module).print(), module.print());
            for (block, order) in old {
                module.reorder(block, &order).expect("the old order");
            }
            prop_assert_eq!(&module.print(), text);
        }
    }

    /// Exchanged operands survive any order, and a second exchange brings the bytes back.
    #[test]
    fn exchanges_can_be_taken_back(seed: u64) {
        let mut rng = Rng::new(seed);
        for text in sound() {
            let mut module = Module::parse(text).expect("parsed before");
            let insts: Vec<InstId> = module.functions().iter().flat_map(|f| f.insts()).collect();
            let mut chosen = Vec::new();
            for &inst in insts.iter().filter(|_| rng.chance(50)) {
                prop_assert_eq!(module.commute(inst).is_ok(), module.commuting(inst).is_some());
                if module.is_commuted(inst) {
                    chosen.push(inst);
                }
            }
            let old = orders(&module);
            for (block, order) in &old {
                let mut order = order.clone();
                permute(&mut rng, &mut order);
                module.reorder(*block, &order).expect("a permutation");
            }
            let printed = module.print();
            let again = Module::parse(&printed).expect("exchanged text parses");
            let new = again.functions().iter().flat_map(|f| f.insts());
            let mut edited = 0;
            for (old, new) in module.blocks().flat_map(|block| module.order(block)).zip(new) {
                let texts = |module: &Module, inst: InstId| -> Vec<String> {
                    module.operands(inst).iter().map(|o| module.text(o.span).to_owned()).collect()
                };
                let mut expected = texts(&module, old);
                if let (true, Some([a, b])) = (module.is_commuted(old), module.commuting(old)) {
                    expected.swap(a, b);
                    edited += 1;
                }
                prop_assert_eq!(texts(&again, new), expected);
            }
            prop_assert_eq!(edited, chosen.len());
            for (block, order) in old {
                module.reorder(block, &order).expect("the old order");
            }
            prop_assert_eq!(module.is_edited(), !chosen.is_empty());
            for inst in chosen {
                module.commute(inst).expect("as before");
            }
            prop_assert_eq!((&module.print(), module.is_edited()), (text, false));
        }
    }

    /// The inverse order of what was printed and read again gives the bytes back.
    #[test]
    fn text_carries_its_order(seed: u64) {
        let mut rng = Rng::new(seed);
        let text = lines(&mut rng);
        let mut module = Module::parse(&text).expect("sound");
        let mut inverses = Vec::new();
        for (block, old) in orders(&module) {
            let mut order = old.clone();
            let last = order.len() - 1;
            permute(&mut rng, &mut order[..last]);
            module.reorder(block, &order).expect("a permutation");
            let mut inverse = old.clone();
            for (place, inst) in order.iter().enumerate() {
                inverse[inst.index() - old[0].index()] = old[place];
            }
            inverses.push((block, inverse));
        }
        let mut again = Module::parse(&module.print()).expect("moved text parses");
        for (block, inverse) in inverses {
            again.reorder(block, &inverse).expect("the same blocks");
        }
        prop_assert_eq!(again.print(), text);
    }

    /// Orders that keep dependences keep the blocks.
    #[test]
    fn orders_by_dependences_keep_the_blocks(seed: u64) {
        for text in sound() {
            let mut module = Module::parse(text).expect("parsed before");
            shuffle(&mut module, &mut Rng::new(seed));
            prop_assert_eq!(module.block_count(), read_again(&module).block_count());
        }
    }

    /// Damaged text ends in a module that prints as it was read and lowers to sound IR, or in an error with a place.
    #[test]
    fn damage_never_panics(seed: u64) {
        let mut rng = Rng::new(seed);
        for text in TEXTS.iter() {
            let mut bytes = text.clone().into_bytes();
            for _ in 0..1 + rng.below(4) {
                let at = rng.below(bytes.len());
                match rng.below(4) {
                    0 => drop(bytes.remove(at)),
                    1 => bytes[at] = *rng.pick(b"{}[](),;:.%@!|+-<>\"/*\n\\a0"),
                    2 => bytes.insert(at, *rng.pick(b"{}[](),;:.%@!|+-<>\"/*\n\\a0")),
                    _ => {
                        let (from, len) = (rng.below(bytes.len()), rng.below(40));
                        let piece = bytes[from..(from + len).min(bytes.len())].to_vec();
                        bytes.splice(at..at, piece);
                    }
                }
            }
            let Ok(damaged) = String::from_utf8(bytes) else { continue };
            match Module::parse(&damaged) {
                Ok(mut module) => {
                    prop_assert_eq!(module.print(), damaged);
                    for function in module.functions().iter().filter(|f| f.has_body()) {
                        let lowered = lower(&module, function).expect("small enough");
                        prop_assert_eq!(verify::verify(&lowered.function), Ok(()));
                    }
                    shuffle(&mut module, &mut rng);
                    read_again(&module);
                }
                Err(error) => {
                    prop_assert!(error.line >= 1 && error.column >= 1 && error.span.end <= damaged.len());
                    prop_assert!(!error.render("input", &damaged, false).is_empty());
                }
            }
        }
    }
}

#[test]
fn numbers_in_the_text_cost_nothing() {
    let text = ".entry k() {\n.reg .b128 %r<4294967295>;\nmov.b128 %r4294967294, %r4294967293;\nret;\n}\n";
    let module = Module::parse(text).expect("sound");
    let lowered = lower(&module, &module.functions()[0]).expect("two registers");
    assert_eq!(lowered.opaque, 0);
}

#[test]
fn long_input_takes_linear_time() {
    let deep = format!(".global .b32 x = {}0{};\n", "{".repeat(200_000), "}".repeat(200_000));
    assert!(Module::parse(&deep).is_ok());
    let wide = format!(".entry k() {{\nfoo {};\n}}\n", vec!["%r1"; 200_000].join(","));
    let module = Module::parse(&wide).expect("sound");
    assert_eq!(lower(&module, &module.functions()[0]).expect("opaque").opaque, 1);
    let labels: String = (0..50_000).map(|i| format!("L{i}: bra L{};\n", 49_999 - i)).collect();
    let module = Module::parse(&format!(".entry k() {{\n{labels}}}\n")).expect("sound");
    let lowered = lower(&module, &module.functions()[0]).expect("branches");
    assert_eq!((lowered.function.block_count(), lowered.opaque), (50_000, 0));
}

#[test]
fn orders_that_are_none_are_refused() {
    let text = ".entry k() {\n.reg .b32 %r<3>;\nmov.b32 %r1, 1;\nmov.b32 %r2, 2;\nret;\n}\n";
    let mut module = Module::parse(text).expect("sound");
    let block = module.blocks().next().expect("a block");
    let order = module.order(block);
    for wrong in [&order[..2], &[order[0], order[0], order[1]], &[order[0], order[1], order[2], order[2]]] {
        assert!(module.reorder(block, wrong).is_err());
        assert_eq!(module.print(), text);
    }
}
