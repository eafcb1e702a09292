//! Schedules of random loops, broken on purpose: the proof notices, or trying everything shows that nothing is broken.

use sassafras_tile::random::program;
use sassafras_tile::{Options, generate, materialise};
use sassafras_tileir::program::{Program, print};
use sassafras_tileir::scheduled::{self, Scheduled, Strategy};
use sassafras_verify::tile::mutate::{Kind, mutate};
use sassafras_verify::tile::{Effort, Limits, explore, prove};
use std::collections::BTreeSet;

/// Random loops.
const LOOPS: u64 = 120;
/// Mutants of each kind and schedule.
const EACH: u64 = 3;
/// Trips up to which survivors are explored.
const TRIPS: u64 = 4;
/// The most states of one exploration.
const STATES: u64 = 60_000;

/// What became of mutants of a kind.
#[derive(Clone, Copy, Default)]
struct Count {
    caught: u32,
    harmless: u32,
    survived: u32,
}

/// Nothing if everything that can happen in a few trips was tried and nothing goes wrong; otherwise what it is about.
fn suspicion(program: &Program, scheduled: &Scheduled) -> Option<String> {
    (0..=TRIPS).find_map(|trips| match explore(program, scheduled, trips, STATES, true) {
        Ok(explored) if explored.complete => None,
        Ok(_) => Some(format!("{trips} trips have too many states")),
        Err(violation) => Some(format!("{trips} trips: {violation}")),
    })
}

#[test]
fn broken_schedules_are_noticed() {
    let kinds = [Kind::DropWait, Kind::Swap, Kind::Depth, Kind::Merge];
    let mut counts = [Count::default(); 4];
    let effort = Effort { seeds: 1, large: 1, held_steps: 1 << 12, ..Effort::default() };
    for seed in 0..LOOPS {
        let program = program(2 + (seed % 7) as u32, seed);
        for strategy in Strategy::ALL {
            let options = Options { strategy, ..Options::default() };
            let Ok(generated) = generate(&program, &options) else { continue };
            let Ok(good) = materialise(&program, &generated) else { continue };
            if let Err(violation) = prove(&program, &good, &Limits::NONE, &effort) {
                panic!("{violation}\n{}\n{}", print(&program), scheduled::print(&good, &program));
            }
            for (kind, count) in kinds.into_iter().zip(&mut counts) {
                let mut seen = BTreeSet::new();
                for mutant in (0..EACH).filter_map(|i| mutate(&program, &good, kind, seed * EACH + i)) {
                    // Few places for many seeds: each mutant counts once.
                    if !seen.insert(mutant.what.clone()) {
                        continue;
                    }
                    if prove(&program, &mutant.scheduled, &Limits::NONE, &effort).is_err() {
                        count.caught += 1;
                        continue;
                    }
                    match suspicion(&program, &mutant.scheduled) {
                        None => count.harmless += 1,
                        Some(why) => {
                            count.survived += 1;
                            eprintln!("seed {seed}, {}: survived: {}: {why}", strategy.word(), mutant.what);
                        }
                    }
                }
            }
        }
    }
    let (mut caught, mut survived) = (0, 0);
    for (kind, count) in kinds.into_iter().zip(counts) {
        let Count { caught: c, harmless: h, survived: s } = count;
        eprintln!("{kind:?}: {c} caught, {h} harmless, {s} survived");
        assert!(c >= 20, "{kind:?}: {c} caught are too few to say anything");
        caught += c;
        survived += s;
    }
    // 99 of 100, or the checker misses something.
    assert!(caught * 100 >= (caught + survived) * 99, "{caught} caught, {survived} survived");
}
