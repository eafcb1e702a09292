//! `model --json` and `knobs --json` as other programs read them, for every architecture.

use serde_json::Value;
use std::process::Command;

fn json(arguments: &[&str]) -> Value {
    let output =
        Command::new(env!("CARGO_BIN_EXE_sassafras")).args(arguments).output().expect("the command runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn names(list: &Value, key: &str) -> Vec<String> {
    let list = list.as_array().expect("a list");
    list.iter().map(|item| item[key].as_str().map_or_else(|| item[key].to_string(), str::to_owned)).collect()
}

#[test]
fn every_architecture_lists_classes_opcodes_units_and_warps() {
    let listing = json(&["model", "--list", "--json"]);
    let archs = names(&listing["architectures"], "arch");
    for wanted in
        ["sm_50", "sm_62", "sm_70", "sm_75", "sm_80", "sm_90", "sm_90a", "sm_100", "sm_121", "universal"]
    {
        assert!(archs.iter().any(|a| a == wanted), "{wanted} is missing");
    }
    for arch in archs {
        let view = json(&["model", "--arch", &arch, "--json"]);
        assert_eq!(view["arch"], *arch);
        assert_eq!(view["schema"], 1);
        assert_eq!(view["units"].as_array().map(Vec::len), Some(10), "{arch}");
        let opcodes = names(&view["opcodes"], "name");
        for wanted in ["IMAD", "LDG", "HMMA_16", "WGMMA", "FFMA", "DFMA", "BRA", "RELBULK"] {
            assert!(opcodes.iter().any(|o| o == wanted), "{arch}: {wanted} is missing");
        }
        let classes = names(&view["classes"], "id");
        for wanted in ["2", "72", "130", "551", "683", "745", "765", "767", "772"] {
            assert!(classes.iter().any(|c| c == wanted), "{arch}: class {wanted} is missing");
        }
        assert!(view["warp_profile"].is_object(), "{arch}");
        for class in view["classes"].as_array().expect("a list") {
            let known = !class["latency"].is_null();
            assert!(
                known || class["reason"].is_string(),
                "{arch}: class {} has no number and no reason",
                class["id"]
            );
        }
    }
}

#[test]
fn knobs_have_the_documented_fields() {
    let listing = json(&["knobs", "--json"]);
    assert_eq!(listing["schema"], 2);
    let knobs = listing["knobs"].as_array().expect("a list");
    for knob in knobs {
        for field in ["name", "default", "type", "range", "seed", "used_by"] {
            assert!(knob.get(field).is_some(), "{}: no {field}", knob["name"]);
        }
    }
    let names = names(&listing["knobs"], "name");
    for wanted in
        ["max-sched-reorder", "knob-805", "knob-610", "recurrence-chain-limit", "rrt-size-threshold"]
    {
        assert!(names.iter().any(|n| n == wanted), "{wanted} is missing");
    }
}

#[test]
fn the_page_of_strategies_is_that_of_the_registry() {
    let output = Command::new(env!("CARGO_BIN_EXE_sassafras")).args(["strategies", "--markdown"]).output();
    let made = String::from_utf8(output.expect("the command runs").stdout).expect("text");
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/strategies.md");
    if std::env::var_os("SASSAFRAS_BLESS").is_some() {
        std::fs::write(page, &made).expect("written");
    }
    let there = std::fs::read_to_string(page).expect("docs/strategies.md");
    assert!(there == made, "SASSAFRAS_BLESS=1 writes docs/strategies.md as the registry has it");
}
