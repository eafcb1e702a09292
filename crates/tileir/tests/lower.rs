//! Loops of CUDA Tile IR and the programs that become of them, as files that people can read.
//!
//! `lower/NAME.tileir` is a text, `lower/NAME.sm_90.tile` what its loops become, `lower/NAME.sm_90.parts.tile` with
//! tiles in two parts. `SASSAFRAS_BLESS=1` rewrites the latter.

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;
use sassafras_tileir::cuda::Module;
use sassafras_tileir::lower::{Model, lower, lower_in_parts};
use sassafras_tileir::program::{parse, print};
use std::cell::Cell;
use std::fs;
use std::path::Path;

/// The programs of a text, or the reasons why there are none.
fn lowered(text: &str, arch: u32, model: Model, parts: u32) -> String {
    let module = Module::parse(text).unwrap_or_else(|e| panic!("{e}"));
    let mut out = String::new();
    for found in lower_in_parts(&module, arch, model, parts) {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&format!("# {}, line {}\n", found.entry, found.line));
        match &found.program {
            Ok(program) => {
                let text = print(program);
                assert_eq!(
                    parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}")),
                    std::slice::from_ref(program)
                );
                out.push_str(&text);
            }
            Err(error) => out.push_str(&format!("# not lowered: {error}\n")),
        }
    }
    out
}

#[test]
fn programs_are_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lower");
    let bless = std::env::var_os("SASSAFRAS_BLESS").is_some();
    let mut seen = 0;
    let mut paths: Vec<_> =
        fs::read_dir(&folder).expect("texts").map(|e| e.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "tileir"));
    paths.sort();
    for path in paths {
        let text = fs::read_to_string(&path).expect("a text");
        for (name, arch, model, parts) in [
            ("sm_80", 80, Model::Hardware, 1),
            ("sm_90", 90, Model::Hardware, 1),
            ("sm_90.parts", 90, Model::Hardware, 2),
            ("sm_100", 100, Model::Hardware, 1),
            ("documented", 100, Model::Documented, 1),
        ] {
            let found = lowered(&text, arch, model, parts);
            let expected = path.with_extension(format!("{name}.tile"));
            if bless {
                fs::write(&expected, &found).expect("can be written");
            }
            let wanted = fs::read_to_string(&expected).unwrap_or_default();
            assert_eq!(found, wanted, "{} is not what was expected", expected.display());
            seen += 1;
        }
    }
    assert_eq!(seen, 20);
}

/// Damaged texts give programs that make sense, or reasons.
#[test]
fn damaged_texts_do_no_harm() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lower");
    let names = ["attention", "layer_norm", "matmul", "softmax"];
    let texts = names.map(|name| fs::read_to_string(folder.join(format!("{name}.tileir"))).expect("a text"));
    let mut runner = TestRunner::new(ProptestConfig { cases: 2000, ..ProptestConfig::default() });
    let strategy = (0..texts.len(), prop::collection::vec((any::<Index>(), any::<Index>()), 1..4));
    let programs = Cell::new(0);
    let result = runner.run(&strategy, |(which, swaps)| {
        // Words of one text in each other's place: much of it can still be read.
        let mut words: Vec<&str> =
            texts[which].split_inclusive([' ', '\n', ',', '<', '>', '[', ']']).collect();
        for (a, b) in swaps {
            let (a, b) = (a.index(words.len()), b.index(words.len()));
            // One of the same kind, so that it can still be read more often than not.
            let kind =
                |word: &str| word.chars().next().map(|c| (c.is_alphabetic(), c.is_ascii_digit(), c == '%'));
            if let Some(&word) = words[b..].iter().find(|word| kind(word) == kind(words[a])) {
                words[a] = word;
            }
        }
        let Ok(module) = Module::parse(&words.concat()) else { return Ok(()) };
        for arch in [75, 80, 90, 100, 120] {
            for found in lower(&module, arch, Model::Hardware) {
                if let Ok(program) = found.program {
                    prop_assert!(program.check().is_ok());
                    programs.set(programs.get() + 1);
                }
            }
        }
        Ok(())
    });
    result.unwrap_or_else(|e| panic!("{e}"));
    assert!(programs.get() > 100, "hardly a text could be read: {}", programs.get());
}
