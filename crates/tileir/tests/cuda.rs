//! Real texts come back byte by byte; damaged ones end in an error or in a tree that prints as itself.

use proptest::prelude::*;
use sassafras_tileir::cuda::Module;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Instant;

/// What the disassembler printed of programs of the corpus.
static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda");
    let mut paths: Vec<_> =
        fs::read_dir(folder).expect("texts").map(|e| e.expect("an entry").path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read_to_string(path).expect("a text")).collect()
});

/// Reads a text; what can be read is the same when it is read again.
fn look(text: &str) {
    match Module::parse(text) {
        Err(error) => {
            assert!(error.line >= 1 && error.column >= 1, "{error}");
            assert!(error.line <= text.matches('\n').count() + 1, "{error}");
        }
        Ok(module) => {
            let printed = module.to_string();
            let again = Module::parse(&printed).unwrap_or_else(|error| panic!("{error}\n{printed}"));
            assert_eq!(again, module, "{printed}");
            assert_eq!(again.to_string(), printed);
        }
    }
}

#[test]
fn real_texts_come_back() {
    for text in TEXTS.iter() {
        let module = Module::parse(text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(&module.to_string(), text);
        assert_eq!(module.entries().count(), 1);
    }
    assert!(TEXTS.len() >= 6);
}

#[test]
fn time_is_linear() {
    let mut text = String::from("entry @k(%a: tile<i32>) {\n");
    for number in 0..200_000 {
        text.push_str(&format!("  %x{number} = addi %a, %a : tile<i32>\n"));
    }
    text.push_str("}\n");
    let start = Instant::now();
    assert_eq!(Module::parse(&text).expect("sound").to_string(), text);
    // About a tenth of a second where this was written; what is not linear takes minutes.
    assert!(start.elapsed().as_secs() < 20);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn noise_ends_in_an_error(text: String) {
        look(&text);
    }

    #[test]
    fn words_in_any_order_do_no_harm(words in prop::collection::vec(prop::sample::select(vec![
        "%a", "%a#0", "%b:2", "@s", "#l", "f", "for", "loop", "if", "else", "in", "to", "step", "iter_values", "loc", "tile", "ptr",
        "tensor_view", "partition_view", "strides", "=", ":", ",", "->", "(", ")", "[", "]", "<", ">", "{", "}", " ", "  ", "\n", "1",
        "4x", "?x", "?", "0xFF", "\"s\"", "// c\n", "token", "entry @s(%a: t) {\n", "%x = f ", "}\n",
    ]), 0..60)) {
        look(&words.concat());
    }

    #[test]
    fn damaged_texts_do_no_harm(which: prop::sample::Index, edits in prop::collection::vec(
        (any::<prop::sample::Index>(), 0..4_u8, any::<prop::sample::Index>(), 0..24_usize), 1..4)) {
        let mut text = TEXTS[which.index(TEXTS.len())].clone();
        for (at, kind, other, length) in edits {
            let boundary = |text: &str, at: usize| (0..=at).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
            let start = boundary(&text, at.index(text.len() + 1));
            let from = boundary(&text, other.index(text.len() + 1));
            let end = boundary(&text, (start + length).min(text.len())).max(start);
            let piece = text[from..boundary(&text, (from + length).min(text.len())).max(from)].to_owned();
            match kind {
                0 => text.replace_range(start..end, ""),
                1 => text.insert_str(start, &piece),
                2 => text.replace_range(start..end, &piece),
                _ => text.truncate(start),
            }
        }
        look(&text);
    }
}
