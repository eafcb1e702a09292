//! Pages are well formed whatever kernels are called, draw inside their frames, and show numbers of the analysis.

#[path = "support/markup.rs"]
mod markup;
mod support;

use markup::{Piece, read};
use proptest::prelude::*;
use sassafras_analyze::Kernel;
use sassafras_report::page;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::LazyLock;

static LOOPED: LazyLock<Kernel> = LazyLock::new(support::looped);

fn named(name: &str) -> Kernel {
    Kernel { name: name.to_owned(), ..LOOPED.clone() }
}

fn checked(page: &str) -> Vec<Piece> {
    read(page).unwrap_or_else(|error| panic!("{error}"))
}

fn attribute<'a>(attributes: &'a [(String, String)], key: &str) -> Option<&'a str> {
    attributes.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
}

#[test]
fn names_cannot_break_out() {
    let name = "f<int&, \"x\">('</h2><script>alert(1)</script>')";
    let page = page::html("a<b>&.cubin", &[named(name)]);
    let pieces = checked(&page);
    assert_eq!(
        pieces.iter().filter(|piece| matches!(piece, Piece::Start(tag, _) if tag == "script")).count(),
        1
    );
    let shown = |wanted: &str| pieces.contains(&Piece::Text(wanted.to_owned()));
    assert!(shown(name), "the name as it is");
    assert!(shown("a<b>&.cubin"), "the file, too");
}

#[test]
fn nothing_comes_from_elsewhere() {
    let page = page::html("k.cubin", &[named("k")]);
    for word in ["http:", "https:", "//fonts", "@import", "src=", "<link", "<img", "<iframe"] {
        assert!(!page.contains(word), "{word}");
    }
    assert_eq!(page.matches("url(").count(), page.matches("url(#hatch)").count());
    assert!(page.contains("id=\"hatch\""));
}

#[test]
fn links_lead_to_kernels() {
    let page = page::html("k.cubin", &[named("a"), named("b"), named("c"), named("d")]);
    let pieces = checked(&page);
    let all = |key: &str| -> Vec<String> {
        let values = pieces.iter().filter_map(|piece| match piece {
            Piece::Start(_, attributes) => attribute(attributes, key).map(str::to_owned),
            Piece::Text(_) => None,
        });
        values.collect()
    };
    let ids = all("id");
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{ids:?}");
    let links = all("href");
    assert!(links.contains(&"#k3".to_owned()), "{links:?}");
    assert!(links.iter().all(|link| ids.contains(&link[1..].to_owned())), "{links:?} {ids:?}");
}

#[test]
fn drawings_stay_inside_their_frames() {
    let pieces = checked(&page::html("k.cubin", &[named("k")]));
    let (mut frame, mut drawings, mut paths) = ((0.0, 0.0), 0, 0);
    for piece in &pieces {
        let Piece::Start(tag, attributes) = piece else { continue };
        if let Some(style) = attribute(attributes, "style").and_then(|style| style.strip_prefix("width:"))
            && let Some(percent) = style.strip_suffix('%')
        {
            let percent: f64 = percent.parse().expect("a number");
            assert!((0.0..=100.0).contains(&percent), "{percent}");
        }
        if let Some(size) = attribute(attributes, "viewBox") {
            let size: Vec<f64> = size.split(' ').map(|n| n.parse().expect("a number")).collect();
            frame = (size[2], size[3]);
            drawings += 1;
            assert!(attribute(attributes, "aria-label").is_some_and(|label| !label.is_empty()));
        }
        if let (Some(d), true) = (attribute(attributes, "d"), tag == "path")
            && drawings > 0
        {
            paths += 1;
            for (x, y) in corners(d) {
                let inside = (-0.11..=frame.0 + 0.11).contains(&x) && (-0.11..=frame.1 + 0.11).contains(&y);
                assert!(inside, "{x} {y} is outside of {frame:?}: {d}");
            }
        }
    }
    assert_eq!(drawings, 3, "registers, and the axis and the bars of the loop");
    assert!(paths > 15, "{paths}");
}

/// The corners of a path of the commands that drawings use.
fn corners(d: &str) -> Vec<(f64, f64)> {
    let mut corners = Vec::new();
    let (mut x, mut y) = (0.0, 0.0);
    let mut rest = d;
    while let Some(command) = rest.chars().next() {
        let end = rest[1..].find(|c: char| c.is_ascii_alphabetic()).map_or(rest.len(), |at| at + 1);
        let numbers: Vec<f64> = rest[1..end]
            .split_whitespace()
            .map(|n| n.parse().unwrap_or_else(|_| panic!("{n} in {d}")))
            .collect();
        match (command, &numbers[..]) {
            ('M', &[to_x, to_y]) => (x, y) = (to_x, to_y),
            ('l', &[by_x, by_y]) => (x, y) = (x + by_x, y + by_y),
            ('h', &[by]) => x += by,
            ('v', &[by]) => y += by,
            ('H', &[to]) => x = to,
            ('V', &[to]) => y = to,
            ('z', []) => {}
            _ => panic!("{command} {numbers:?}"),
        }
        corners.push((x, y));
        rest = &rest[end..];
    }
    corners
}

/// Every number in a JSON value, as the page would write it.
fn numbers(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Number(number) => {
            let number = number.as_f64().expect("finite");
            found.insert(number.to_string());
        }
        Value::Array(values) => values.iter().for_each(|value| numbers(value, found)),
        Value::Object(values) => values.values().for_each(|value| numbers(value, found)),
        _ => {}
    }
}

#[test]
fn numbers_are_those_of_the_analysis() {
    let kernel = named("k");
    let mut known = BTreeSet::new();
    numbers(&serde_json::to_value(&kernel).expect("JSON"), &mut known);
    let page = page::html("k.cubin", std::slice::from_ref(&kernel));
    let mut seen = 0;
    for place in ["<td class=\"r\">", "<dd>", "</span><b>", "<span class=\"plus\">+", "who\">all warps<b>"] {
        for part in page.split(place).skip(1) {
            let text = part.split('<').next().unwrap_or_default().trim_end_matches(" %");
            if text.parse::<f64>().is_ok() {
                assert!(known.contains(text), "{text} is in no field of the analysis");
                seen += 1;
            }
        }
    }
    assert!(seen > 30, "{seen} numbers");
    // The sentences, too: all their numbers but offsets.
    let verdict =
        page.split("<section class=\"verdict\">").nth(1).and_then(|text| text.split("</section>").next());
    for word in verdict.expect("a verdict").split(|c: char| !c.is_ascii_alphanumeric() && c != '.') {
        let word = word.trim_end_matches('.');
        assert!(
            word.parse::<f64>().is_err() || known.contains(word),
            "{word} is in no field of the analysis"
        );
    }
}

#[test]
fn what_is_too_long_is_cut_and_says_so() {
    let mut long = named("long");
    let (row, moment) = (long.instructions[1].clone(), long.loops[0].timeline[1].clone());
    long.instructions.extend(std::iter::repeat_n(row, 40_000));
    long.loops[0].timeline.extend(std::iter::repeat_n(moment, 5_000));
    let whole = page::html("k.cubin", &[named("k")]);
    assert!(!whole.contains("class=\"cut\""));
    let cut = page::html("k.cubin", &[long]);
    checked(&cut);
    assert_eq!(cut.matches("class=\"cut\"").count(), 2, "the picture and the listing");
    assert!(cut.contains("2000 of 5006 instructions are drawn"));
    assert_eq!(cut.matches("<title>Issued in cycle").count(), 2_000);
    assert!(cut.matches("<tr><td>").count() <= 32_000);
}

#[test]
fn kernels_without_loops_have_a_page_too() {
    let mut straight = named("straight");
    straight.loops.clear();
    for row in &mut straight.instructions {
        row.live = None;
    }
    let page = page::html("k.cubin", &[straight]);
    checked(&page);
    assert!(page.contains("There is no loop") && !page.contains("class=\"timeline\""));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn pages_of_any_names_are_well_formed(names in prop::collection::vec("[^\\p{C}]{0,20}|[<>&\"'/=;# ]{1,12}", 1..4)) {
        let kernels: Vec<Kernel> = names.iter().map(|name| named(name)).collect();
        let pieces = read(&page::html("k.cubin", &kernels));
        prop_assert!(pieces.is_ok(), "{:?}", pieces.err());
        let texts: Vec<Piece> = pieces.unwrap_or_default();
        for name in names.iter().filter(|name| !name.is_empty()) {
            prop_assert!(texts.contains(&Piece::Text(name.clone())), "{name:?}");
        }
    }
}
