//! Traces keep the rules of the format, and show what the analysis saw.

mod support;

use sassafras_report::trace;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

type Track = (u64, u64);

struct File {
    names: BTreeMap<Track, String>,
    slices: BTreeMap<Track, Vec<(u64, u64, String)>>,
    other: Value,
}

fn file(text: &str) -> File {
    let parsed: Value = serde_json::from_str(text).expect("JSON");
    let mut file =
        File { names: BTreeMap::new(), slices: BTreeMap::new(), other: parsed["otherData"].clone() };
    let mut places = BTreeSet::new();
    for event in parsed["traceEvents"].as_array().expect("events") {
        let number = |key: &str| event[key].as_u64().unwrap_or_else(|| panic!("{key}: {event}"));
        let track = (number("pid"), number("tid"));
        match (event["ph"].as_str(), event["name"].as_str().expect("a name")) {
            (Some("X"), name) => {
                file.slices.entry(track).or_default().push((number("ts"), number("dur"), name.to_owned()));
            }
            (Some("M"), "process_name" | "thread_name") => {
                let name = event["args"]["name"].as_str().expect("a name").to_owned();
                assert!(file.names.insert(track, name).is_none(), "{event}");
            }
            (Some("M"), "process_sort_index" | "thread_sort_index") => {
                let index = event["args"]["sort_index"].as_u64().expect("a number");
                assert!(places.insert((track.0, track.1 > 0, index)), "a place of its own: {event}");
            }
            _ => panic!("{event}"),
        }
    }
    file
}

#[test]
fn slices_of_a_track_follow_each_other_and_tracks_have_names() {
    let kernel = support::looped();
    let file = file(&trace::json("k.cubin", std::slice::from_ref(&kernel)));
    assert!(!file.slices.is_empty());
    for (track, slices) in &file.slices {
        assert!(file.names.contains_key(track), "{track:?}");
        assert!(slices.iter().all(|slice| slice.1 > 0), "{slices:?}");
        let mut sorted = slices.clone();
        sorted.sort();
        assert!(sorted.is_sorted_by(|a, b| a.0 + a.1 <= b.0), "{}: {sorted:?}", file.names[track]);
    }
    let names: BTreeSet<&String> = file.names.values().collect();
    assert_eq!(names.len(), file.names.len(), "{names:?}");
    let process = &file.names[&(1, 0)];
    assert!(
        process.starts_with("k, loop at 0x0 (sm_80, ") && process.ends_with("1 µs is 1 cycle)"),
        "{process}"
    );
    assert!(file.other["time"].as_str().is_some_and(|text| text.contains("cycle")));
}

#[test]
fn every_warp_is_accounted_for_cycle_by_cycle() {
    let kernel = support::looped();
    let warps = kernel.loops[0].warps as usize;
    assert!(warps > 1, "of one warp there is little to see");
    let file = file(&trace::json("k.cubin", &[kernel]));
    let mut seen = 0;
    let mut issued = BTreeSet::new();
    for (track, name) in file.names.iter().filter(|(_, name)| name.starts_with("warp ")) {
        let slices = &file.slices[track];
        assert!(slices.is_sorted_by(|a, b| a.0 + a.1 == b.0), "{name} has gaps: {slices:?}");
        assert!(slices.iter().any(|slice| slice.2.starts_with("scoreboard 2")), "{name} waits: {slices:?}");
        let known =
            |name: &str| name.contains('R') || name.contains(' ') || name == "stall" || name == "barrier";
        assert!(slices.iter().all(|slice| known(&slice.2)), "{slices:?}");
        // One instruction per cycle and scheduler: no two warps issue in the same cycle.
        for slice in slices.iter().filter(|slice| slice.2.contains('R')) {
            assert_eq!(slice.1, 1, "{slice:?}");
            assert!(issued.insert(slice.0), "{slice:?}");
        }
        seen += 1;
    }
    assert_eq!(seen, warps);
}

#[test]
fn scoreboards_are_kept_from_the_load_until_its_result() {
    let kernel = support::looped();
    let found = &kernel.loops[0];
    let load = kernel.instructions.iter().find(|row| row.sets[0] == Some(2)).expect("a load");
    let latency = u64::from(load.latency.expect("known"));
    let file = file(&trace::json("k.cubin", std::slice::from_ref(&kernel)));
    let boards: Vec<&Track> =
        file.names.iter().filter(|(_, name)| name.starts_with("SB ")).map(|(track, _)| track).collect();
    assert!(boards.len() > 1 && boards.len() <= found.warps as usize, "every warp has its own: {boards:?}");
    for track in boards {
        let name = &file.names[track];
        assert!(name == "SB 2" || name.starts_with("SB 2 ("), "{name}");
        for (start, cycles, by) in &file.slices[track] {
            assert!(by.starts_with("LDG"), "{by}");
            // What was under way before is cut where the trace starts.
            assert!(*cycles >= latency || *start == 0, "{start} {cycles} {latency}");
        }
    }
}

#[test]
fn several_loops_are_several_processes() {
    let kernel = support::looped();
    let mut silent = kernel.clone();
    silent.loops[0].trace = None;
    let file = file(&trace::json("k.cubin", &[kernel.clone(), silent, kernel]));
    let processes: BTreeSet<u64> = file.slices.keys().map(|track| track.0).collect();
    assert_eq!(processes, BTreeSet::from([1, 2]), "one that was not traced has none");
}
