//! Scheduled loops written by hand: the good ones are proven, and what is broken on purpose is found.

use sassafras_tileir::program::{self, Program};
use sassafras_tileir::scheduled::{self, Scheduled};
use sassafras_verify::tile::mutate::{Kind, mutants, mutate};
use sassafras_verify::tile::{Delay, Effort, Limits, Replayer, Violation, check, explore, prove};
use std::collections::BTreeMap;

const LOOPS: &str = include_str!("tile/loops.txt");
const SCHEDULES: &str = include_str!("tile/schedules.txt");
const LIMITS: Limits =
    Limits { register: 1 << 16, warp_register: 1 << 12, warps: 32, shared: 1 << 14, tensor: 0, barriers: 32 };
/// States that the oracle looks at before it gives up.
const MOST: u64 = 1 << 18;

fn all() -> Vec<(Program, Scheduled)> {
    let programs = program::parse(LOOPS).unwrap();
    let schedules = scheduled::parse(SCHEDULES, &programs).unwrap();
    assert_eq!(programs.len(), schedules.len());
    // The last one is wrong.
    programs.into_iter().zip(schedules).filter(|(p, _)| p.name != "unread").collect()
}

fn quick() -> Effort {
    Effort { seeds: 1, large: 1, ..Effort::default() }
}

#[test]
fn good_ones_are_proven() {
    for (p, s) in all() {
        let proof = prove(&p, &s, &LIMITS, &Effort::default());
        let proof = proof.unwrap_or_else(|v| panic!("{}: {v}", s.name));
        assert_eq!(proof.exact, s.name != "exclusive", "{}", s.name);
        assert!(proof.replays > 200, "{proof:?}");
        assert!((0..=2 * u64::from(s.stages) + 3).all(|n| proof.trips.contains(&n)), "{proof:?}");
        let json = serde_json::to_string(&proof).unwrap();
        assert!(json.contains("\"exact\""), "{json}");
    }
}

#[test]
fn the_oracle_finds_nothing_in_good_ones() {
    for (p, s) in all() {
        for trips in 0..=3 {
            let explored = explore(&p, &s, trips, MOST, true).unwrap_or_else(|v| panic!("{}: {v}", s.name));
            assert!(explored.complete, "{}: {} trips, {} states", s.name, trips, explored.states);
            if trips <= 2 {
                let whole = explore(&p, &s, trips, MOST, false).unwrap();
                assert!(whole.complete && whole.states >= explored.states, "{}", s.name);
            }
        }
    }
}

/// Every mutant is refused, or nothing is wrong with it: the oracle says so, too, for more trips than any slot needs to be
/// used twice. And where a replay finds something, so does the oracle.
#[test]
fn mutants_are_found() {
    let mut caught: BTreeMap<Kind, [usize; 2]> = BTreeMap::new();
    let mut report = String::new();
    for (p, s) in all() {
        for kind in Kind::ALL {
            for mutant in mutants(&p, &s, kind) {
                let what = format!("{}: {}", s.name, mutant.what);
                let broken = &mutant.scheduled;
                let oracle = |n| explore(&p, broken, n, MOST, true);
                let count = caught.entry(kind).or_default();
                count[0] += 1;
                match prove(&p, broken, &LIMITS, &quick()) {
                    Err(Violation::InReplay { trips, violation, .. }) => {
                        count[1] += 1;
                        if trips <= 5 {
                            let agrees = oracle(trips).is_err() || !oracle(trips).unwrap().complete;
                            assert!(agrees, "{what}: the oracle finds nothing, but: {violation}");
                        }
                    }
                    Err(_) => count[1] += 1,
                    Ok(_) => {
                        for n in 0..=6 {
                            match oracle(n) {
                                Ok(explored) => assert!(explored.complete, "{what}: too many states"),
                                Err(v) => panic!("{what}: not found: {v}"),
                            }
                        }
                        report += &format!("nothing wrong with {what}\n");
                    }
                }
            }
        }
    }
    for (kind, [all, caught]) in &caught {
        report += &format!("{kind:?}: {caught} of {all}\n");
    }
    eprintln!("{report}");
    let all: [Kind; 16] = Kind::ALL;
    assert!(all.iter().all(|k| caught.get(k).is_some_and(|c| c[1] > 0)), "a kind that is never found");
    // What is left out of these is never harmless.
    for kind in
        [Kind::DropRelease, Kind::DropCommit, Kind::DropLock, Kind::DropUnlock, Kind::DropRun, Kind::Source]
    {
        assert_eq!(caught[&kind][0], caught[&kind][1], "{kind:?}");
    }
}

/// Several changes at once: the replays with one operation held say the same as the oracle, both ways.
#[test]
fn held_replays_are_exact() {
    let (mut right, mut wrong) = (0, 0);
    for (p, s) in all().into_iter().filter(|(p, _)| p.mutexes.is_empty()) {
        for seed in 0..400u64 {
            let mut broken = s.clone();
            for round in 0..1 + seed % 3 {
                let mixed = (seed * 3 + round).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
                let kind = Kind::ALL[(mixed % 15) as usize];
                if let Some(mutant) = mutate(&p, &broken, kind, mixed >> 8) {
                    broken = mutant.scheduled;
                }
            }
            let Ok(mut replayer) = Replayer::new(&p, &broken) else { continue };
            assert!(replayer.monotone());
            for trips in 0..=3 {
                let held = p.ops.keys().flat_map(|op| (0..trips).map(move |iteration| (op, iteration)));
                let mut found = replayer.run(trips, seed, Delay::None, false).err();
                for (op, iteration) in held {
                    found = found
                        .or_else(|| replayer.run(trips, seed, Delay::Hold { op, iteration }, false).err());
                }
                let oracle = explore(&p, &broken, trips, MOST, true);
                if oracle.as_ref().is_ok_and(|e| !e.complete) {
                    continue;
                }
                let text = || scheduled::print(&broken, &p);
                match (&found, &oracle) {
                    (None, Ok(_)) => right += 1,
                    (Some(_), Err(_)) => wrong += 1,
                    _ => panic!("{} trips: {found:?}, but the oracle: {oracle:?}\n{}", trips, text()),
                }
                // Whatever the delays, replays find nothing where nothing is.
                for seed in 0..if oracle.is_ok() { 14 } else { 0 } {
                    let delay = Delay::RANDOM[seed as usize % Delay::RANDOM.len()];
                    replayer.run(trips, seed, delay, false).unwrap_or_else(|v| panic!("{v}\n{}", text()));
                }
            }
        }
    }
    eprintln!("{right} right, {wrong} wrong");
    assert!(right > 300 && wrong > 300, "{right} right, {wrong} wrong");
}

/// A block of `violations.txt`: a schedule, what is changed in its text, and what is found then.
struct Case {
    name: String,
    changes: Vec<(String, String)>,
}

/// Messages, as they are in `tile/violations.txt`; `SASSAFRAS_BLESS=1` writes them anew.
#[test]
fn messages() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tile/violations.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("== ") {
            cases.push(Case { name: name.into(), changes: Vec::new() });
        } else if let Some(old) = line.strip_prefix("- ") {
            cases.last_mut().unwrap().changes.push((old.into(), String::new()));
        } else if let Some(new) = line.strip_prefix("+ ") {
            cases.last_mut().unwrap().changes.last_mut().unwrap().1 = new.into();
        }
    }
    let mut programs = program::parse(LOOPS).unwrap();
    // No text says this, but whoever builds programs may.
    let unread = programs.iter_mut().find(|p| p.name == "unread").unwrap();
    unread.ops.values_mut().for_each(|o| o.execution = program::Execution::Async);
    let header = text.lines().take_while(|l| l.starts_with('#')).collect::<Vec<_>>().join("\n");
    let mut found = format!("{header}\n");
    for case in &cases {
        let all: Vec<&str> = SCHEDULES.split_inclusive("\n}\n").collect();
        let start = format!("scheduled {} ", case.name);
        let mut schedule = all.iter().find(|s| s.contains(&start)).unwrap().to_string();
        found += &format!("\n== {}\n", case.name);
        for (old, new) in &case.changes {
            assert!(schedule.contains(old.as_str()), "{}: there is no `{old}`", case.name);
            schedule = schedule.replacen(old.as_str(), new, 1);
            found += &format!("- {old}\n");
            if !new.is_empty() {
                found += &format!("+ {new}\n");
            }
        }
        let s = scheduled::parse(&schedule, &programs).unwrap_or_else(|e| panic!("{e}:\n{schedule}"));
        let p = programs.iter().find(|p| p.name == s[0].name).unwrap();
        match check(p, &s[0], &LIMITS) {
            Err(violations) => violations.iter().for_each(|v| found += &format!("> {v}\n")),
            Ok(()) => match prove(p, &s[0], &LIMITS, &quick()) {
                Err(v) => found += &format!("> {v}\n"),
                Ok(_) => found += "> nothing\n",
            },
        }
    }
    if std::env::var_os("SASSAFRAS_BLESS").is_some() {
        std::fs::write(path, found).unwrap();
    } else {
        assert_eq!(found, text);
    }
}

#[test]
fn time_lines_are_those_of_the_latencies() {
    let (p, s) = all().into_iter().find(|(p, _)| p.name == "specialised").unwrap();
    let replay = Replayer::new(&p, &s).unwrap().run(10, 0, Delay::Latency, true).unwrap();
    let spans = replay.spans.unwrap();
    assert_eq!(spans.len(), 30);
    assert!(check(&p, &s, &LIMITS).is_ok());
    assert_eq!((spans[0].start, spans[0].end), (0, 100));
}
