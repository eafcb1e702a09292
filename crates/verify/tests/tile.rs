//! Scheduled loops written by hand: the good ones are proven, and what is broken on purpose is found.

use sassafras_tileir::program::{self, Program};
use sassafras_tileir::scheduled::{self, Scheduled};
use sassafras_verify::tile::mutate::{Kind, mutants};
use sassafras_verify::tile::{Delay, Effort, Limits, Replayer, check, explore, prove};
use std::collections::BTreeMap;

const LOOPS: &str = include_str!("tile/loops.txt");
const SCHEDULES: &str = include_str!("tile/schedules.txt");
const LIMITS: Limits = Limits { register: 1 << 16, shared: 1 << 14, tensor: 0, barriers: 32 };
/// States that the oracle looks at before it gives up.
const MOST: u64 = 1 << 18;

fn all() -> Vec<(Program, Scheduled)> {
    let programs = program::parse(LOOPS).unwrap();
    let schedules = scheduled::parse(SCHEDULES, &programs).unwrap();
    assert_eq!(programs.len(), schedules.len());
    programs.into_iter().zip(schedules).collect()
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

/// Every mutant is refused, or the oracle finds nothing wrong with it either for as many trips as it can look at. The
/// oracle needs more trips than any slot or stage has turns to say so.
#[test]
fn mutants_are_found() {
    let mut caught: BTreeMap<Kind, (usize, usize)> = BTreeMap::new();
    let mut report = String::new();
    for (p, s) in all() {
        for kind in Kind::ALL {
            for mutant in mutants(&p, &s, kind) {
                let count = caught.entry(kind).or_default();
                count.0 += 1;
                match prove(&p, &mutant.scheduled, &LIMITS, &quick()) {
                    Err(_) => count.1 += 1,
                    Ok(_) => {
                        let trips =
                            (0..=6).rev().find_map(|n| match explore(&p, &mutant.scheduled, n, MOST, true) {
                                Ok(e) if e.complete => Some(n),
                                Ok(_) => None,
                                Err(v) => panic!("{}: {}: not found: {v}", s.name, mutant.what),
                            });
                        report += &format!("{}: {:?}: {} (oracle: {trips:?})\n", s.name, kind, mutant.what);
                    }
                }
            }
        }
    }
    for (kind, (all, caught)) in &caught {
        report += &format!("{kind:?}: {caught} of {all}\n");
    }
    eprintln!("{report}");
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
