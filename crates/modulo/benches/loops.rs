//! How long loops of 200 and 300 operations take to schedule, end to end, how far from the bound they end, and how many small
//! loops the exact search decides.
//!
//! `cargo bench -p sassafras-modulo --bench loops`. The goals: 200 operations within 50 ms and 300 within 150 ms on one
//! core, bounds, closures and search together; small loops within 5 % of the exact II on average.

#![allow(clippy::print_stdout)]

use sassafras_modulo::random::{self, Shape};
use sassafras_modulo::{exact, iterative};
use std::time::{Duration, Instant};

/// Loops per shape and size, and runs of each.
const LOOPS: u64 = 20;
const RUNS: u32 = 3;
/// Small loops that are solved exactly, and the time for each.
const SMALL: u64 = 500;
const LIMIT: Duration = Duration::from_secs(1);

fn main() {
    println!("{LOOPS} large loops each: milliseconds, best of {RUNS} runs, and II over the bound");
    println!("{:>6} {:>6} {:>8} {:>8} {:>8} {:>8}", "ops", "shape", "median", "most", "ratio", "at it");
    for ops in [200, 300] {
        for shape in Shape::ALL {
            let mut times = Vec::new();
            let (mut ratio, mut optimal) = (0.0, 0);
            for seed in 0..LOOPS {
                let p = random::problem(shape, ops, seed);
                let run = || {
                    let start = Instant::now();
                    let found = iterative::schedule(&p, &iterative::Options::default()).expect("valid");
                    (start.elapsed().as_secs_f64() * 1e3, found)
                };
                let (first, found) = run();
                // The best of several, since the machine may be shared.
                times.push((1..RUNS).map(|_| run().0).fold(first, f64::min));
                ratio += f64::from(found.schedule.ii) / found.bounds.mii() as f64 / LOOPS as f64;
                optimal += u32::from(found.is_optimal());
            }
            times.sort_by(f64::total_cmp);
            let (median, most) = (times[times.len() / 2], times[times.len() - 1]);
            println!(
                "{ops:>6} {:>6} {median:>8.1} {most:>8.1} {ratio:>8.4} {optimal:>8}",
                format!("{shape:?}")
            );
        }
    }
    let (mut ratio, mut optimal, mut decided, mut late) = (0.0, 0, 0, 0);
    let (mut heuristic, mut proof) = (Duration::ZERO, Duration::ZERO);
    for seed in 0..SMALL {
        let p = random::small(seed);
        let start = Instant::now();
        let ii = iterative::schedule(&p, &iterative::Options::default()).expect("valid").schedule.ii;
        heuristic += start.elapsed();
        let start = Instant::now();
        let options = exact::Options { total: LIMIT, per_ii: LIMIT, below: Some(ii) };
        let found = exact::least_ii(&p, &options).expect("valid");
        proof += start.elapsed();
        match found.least() {
            Some(least) => {
                decided += 1;
                optimal += u32::from(least == ii);
                ratio += f64::from(ii) / f64::from(least);
            }
            None => late += 1,
        }
    }
    println!("\n{SMALL} loops of 2 to 24 operations, exactly within {LIMIT:?} each");
    println!(
        "decided {decided}, not in time {late}; heuristic II over exact {:.4}",
        ratio / f64::from(decided)
    );
    println!("heuristic exact in {optimal}; {heuristic:.2?} for the heuristic, {proof:.2?} for the proofs");
}
