//! Random loops: whatever generation and materialisation make of them, the checker replays without a complaint.
#![allow(clippy::print_stdout)] // how near is worth reading

use sassafras_modulo::exact;
use sassafras_tile::generate::problem::build;
use sassafras_tile::random::program;
use sassafras_tile::{GenerateError, MaterialiseError, Options, generate, materialise};
use sassafras_tileir::program::{Program, print};
use sassafras_tileir::scheduled::{self, Strategy};
use sassafras_verify::tile::{Effort, Limits, prove};
use std::collections::BTreeMap;
use std::time::Duration;

/// Schedules and proves a loop; nothing where it has no schedule for a reason that is its own.
fn prove_one(program: &Program, strategy: Strategy) -> Option<u32> {
    let options = Options { strategy, ..Options::default() };
    let generated = match generate(program, &options) {
        Ok(generated) => generated,
        // Some draws need more storage than there is even one iteration at a time.
        Err(GenerateError::Buffers { .. }) => return None,
        Err(error) => panic!("{error}\n{}", print(program)),
    };
    let scheduled = match materialise(program, &generated) {
        Ok(scheduled) => scheduled,
        Err(MaterialiseError::Barriers { .. }) => return None,
        Err(error) => panic!("{error}\n{}", print(program)),
    };
    let budget = sassafras_tile::buffers::table(program);
    let limits = Limits::of(budget);
    let effort = Effort { seeds: 1, large: 1, held_steps: 1 << 14, ..Effort::default() };
    if let Err(violation) = prove(program, &scheduled, &limits, &effort) {
        panic!("{violation}\n{}\n{}", print(program), scheduled::print(&scheduled, program));
    }
    let text = scheduled::print(&scheduled, program);
    let again =
        scheduled::parse(&text, std::slice::from_ref(program)).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(again[0], scheduled, "{text}");
    Some(generated.analysis.ii)
}

#[test]
fn random_loops_are_proven() {
    let mut proven = 0;
    let count = std::env::var("RANDOM_LOOPS").ok().and_then(|n| n.parse().ok()).unwrap_or(500u64);
    for seed in 0..count {
        let program = program(2 + (seed % 23) as u32, seed);
        let again = sassafras_tileir::program::parse(&print(&program))
            .unwrap_or_else(|e| panic!("{e}\n{}", print(&program)));
        assert_eq!(again[0], program);
        for strategy in Strategy::ALL {
            proven += u32::from(prove_one(&program, strategy).is_some());
        }
    }
    // Those that have no schedule are few.
    assert!(u64::from(proven) > count * 3 * 8 / 10, "{proven}");
}

/// The bar for quality: without budgets, II of random loops is within 5 % of the least there is on average. An II that exact search
/// does not decide within a second counts as feasible.
#[test]
fn random_loops_are_near_their_optimum() {
    let (mut sum, mut worst, mut at, mut undecided, mut count) = (0.0, 1.0f64, 0, 0, 0);
    for seed in 0..500 {
        let program = program(2 + (seed % 23) as u32, seed);
        // As many stages as one likes: exact search knows of none.
        let options = Options { unlimited: true, unspecialized_stages: 1 << 16, ..Options::default() };
        let found = generate(&program, &options).unwrap_or_else(|e| panic!("{e}\n{}", print(&program)));
        let problem = build(&program, &found.plans, &BTreeMap::new(), 1).problem;
        let limit = Duration::from_secs(1);
        let ask = exact::Options { total: limit, per_ii: limit, below: Some(found.analysis.ii) };
        let exact = exact::least_ii(&problem, &ask).unwrap_or_else(|e| panic!("{e}\n{}", print(&program)));
        let least = exact.least().map_or(exact.proven_below, u64::from);
        let ratio = f64::from(found.analysis.ii) / least as f64;
        assert!(ratio >= 1.0, "seed {seed}: below what exact search proves");
        assert!(!found.analysis.is_optimal() || ratio <= 1.0, "seed {seed}: it was said to be the least");
        sum += ratio;
        worst = worst.max(ratio);
        at += u32::from(ratio <= 1.0);
        undecided += u32::from(exact.least().is_none());
        count += 1;
    }
    let mean = sum / f64::from(count);
    println!(
        "{count} loops: II over the least {mean:.5}, {worst:.3} at worst, {at} at it, {undecided} undecided"
    );
    assert!(mean <= 1.05, "{mean}");
}
