//! Scheduled tile loops as pages, traces and text: well formed, and with what the schedule says.

#[path = "support/markup.rs"]
mod markup;

use markup::{Piece, read};
use sassafras_report::tile::{self, Loop};
use sassafras_tile::view::view;
use sassafras_tile::{Options, generate, materialise};
use sassafras_tileir::program::parse;
use serde_json::Value;
use std::collections::BTreeMap;

/// A resource of one unit, one of two, an operation that overlaps itself, and a mutex.
const LOOP: &str = "loop l {
  arch sm_90
  resource tma 1
  resource alu 2
  value a : shared 1024 f16
  value b : register 512 f32
  op load = tma_load () -> (a) { async latency 90 hold tma 0..20 }
  op twice = simt (a) -> (b) { sync latency 8 hold alu 0..8 * 2 }
  op more = simt (b) -> () { sync latency 6 hold alu 0..6 }
  mutex m (twice, more)
}";

fn made(options: &Options) -> Loop {
    let program = parse(LOOP).expect("a loop").remove(0);
    let generated = generate(&program, options).expect("a schedule");
    let scheduled = materialise(&program, &generated).expect("a loop");
    Loop { view: view(&program, &generated, &scheduled, options), proof: vec!["none, a < b".into()] }
}

#[test]
fn the_page_is_well_formed_and_shows_the_table() {
    let of = made(&Options::default());
    let page = tile::html("a<b>&.tile", std::slice::from_ref(&of));
    let pieces = read(&page).unwrap_or_else(|e| panic!("{e}"));
    let shown = |wanted: &str| pieces.contains(&Piece::Text(wanted.to_owned()));
    assert!(shown("a<b>&.tile"), "names cannot break out");
    for word in ["load", "twice", "permute", "II with one slot less", "slack", "Pipe_0"] {
        assert!(shown(word), "{word}");
    }
    assert!(page.contains("costs (0, ") && page.contains("none, a &#60; b"), "{page}");
    // A box for every hold, two for one that wraps.
    let holds: usize = of.view.ops.iter().map(|o| o.holds.len()).sum();
    let boxes = pieces.iter().filter(|p| match p {
        Piece::Start(tag, attributes) => {
            let stage = |(key, value): &(String, String)| key == "class" && value.starts_with('s');
            tag == "path" && attributes.iter().any(stage)
        }
        Piece::Text(_) => false,
    });
    assert!(boxes.count() >= holds);
    for word in ["http:", "https:", "@import", "src=", "<link", "<script"] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn slices_of_a_trace_never_overlap_and_hold_everything() {
    let of = made(&Options::default());
    let trace: Value = serde_json::from_str(&tile::json("k.tile", std::slice::from_ref(&of))).expect("JSON");
    let mut names: BTreeMap<u64, String> = BTreeMap::new();
    let mut slices: BTreeMap<u64, Vec<(i64, i64)>> = BTreeMap::new();
    for event in trace["traceEvents"].as_array().expect("events") {
        let tid = event["tid"].as_u64().expect("a thread");
        match event["ph"].as_str() {
            Some("M") => {
                names.insert(tid, event["args"]["name"].as_str().expect("a name").to_owned());
            }
            _ => {
                let number = |key: &str| event[key].as_i64().expect("a number");
                slices.entry(tid).or_default().push((number("ts"), number("ts") + number("dur")));
            }
        }
    }
    for (tid, slices) in &mut slices {
        slices.sort_unstable();
        assert!(slices.windows(2).all(|w| w[0].1 <= w[1].0), "{}: {slices:?}", names[tid]);
    }
    let named = |word: &str| names.values().filter(|n| n.contains(word)).count();
    assert_eq!((named("slot tma"), named("slot alu (2 units)")), (1, 2), "{names:?}");
    assert!(named("transfers: load") > 1, "it overlaps itself");
    assert_eq!(trace["otherData"]["loops"][0]["cost"]["resources"], 0);
    assert_eq!(trace["otherData"]["loops"][0]["ii"], of.view.ii);
}

#[test]
fn data_has_steps_slack_and_budgets() {
    let of = made(&Options::default());
    let data = serde_json::to_value(&of.view).expect("JSON");
    assert_eq!(data["pipes"][0]["slack"], of.view.pipes[0].depth - 1);
    assert_eq!(data["mutexes"][0]["slack"], 0);
    let all = |key: &str| -> Vec<&Value> {
        let agents = data["agents"].as_array().expect("agents").iter();
        agents.flat_map(|a| a[key].as_array().expect("steps")).collect()
    };
    let run = all("steady").into_iter().find(|s| s["op"] == "twice" && s["action"] == "run").expect("a run");
    assert_eq!((&run["base"], &run["operands"][0]["pipe"]), (&"round".into(), &"Pipe_0".into()));
    assert_eq!(all("short").len(), all("steady").len());
    assert!(data["storages"][1]["budget"].is_u64() && data["barriers"]["bytes"].is_u64());
    // Without limits there is no number that stands for none.
    let free = made(&Options { unlimited: true, ..Options::default() });
    assert!(free.view.storages.iter().all(|s| s.budget.is_none()));
    assert!(tile::text(&[free]).contains("bytes, without a limit"));
}
