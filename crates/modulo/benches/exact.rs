//! How many small loops the two exact schedulers decide, and how long they take: branch and bound beside the constraint solver.
//!
//! `cargo bench -p sassafras-modulo --features pumpkin --bench exact`. Loops of 2 to 24 operations from the bound upwards,
//! a second each; *only* counts those that the other one leaves.

#![allow(clippy::print_stdout)]

use sassafras_modulo::exact::{self, ExactError, ExactFound, Options};
use sassafras_modulo::random::{self, Shape};
use sassafras_modulo::{Problem, solver};
use std::time::{Duration, Instant};

/// Loops of each shape.
const LOOPS: usize = 60;
const LIMIT: Duration = Duration::from_secs(1);

/// The least II, where it is known, and milliseconds.
type Result = (Option<u32>, f64);

fn time(
    least_ii: fn(&Problem, &Options) -> std::result::Result<ExactFound, ExactError>,
    p: &Problem,
) -> Result {
    let options = Options { total: LIMIT, per_ii: LIMIT, below: None };
    let start = Instant::now();
    let found = least_ii(p, &options).expect("valid");
    (found.least(), start.elapsed().as_secs_f64() * 1e3)
}

fn line(name: &str, shape: &str, own: &[Result], other: &[Result]) {
    let decided = own.iter().filter(|r| r.0.is_some()).count();
    let only = own.iter().zip(other).filter(|(a, b)| a.0.is_some() && b.0.is_none()).count();
    let mut times: Vec<f64> = own.iter().map(|r| r.1).collect();
    times.sort_by(f64::total_cmp);
    let (median, late) = (times[times.len() / 2], times[times.len() * 9 / 10]);
    let (most, all) = (times[times.len() - 1], times.iter().sum::<f64>() / 1e3);
    let loops = own.len();
    println!(
        "{shape:>6} {name:>8} {loops:>6} {decided:>8} {only:>5} {median:>10.2} {late:>10.1} {most:>8.0} {all:>8.1}"
    );
}

fn main() {
    println!("loops of 2 to 24 operations, {LIMIT:?} each: milliseconds, and seconds for all");
    println!(
        "{:>6} {:>8} {:>6} {:>8} {:>5} {:>10} {:>10} {:>8} {:>8}",
        "shape", "by", "loops", "decided", "only", "median", "nine in 10", "most", "all, s"
    );
    let (mut all_own, mut all_other) = (Vec::new(), Vec::new());
    for (at, shape) in Shape::ALL.into_iter().enumerate() {
        let (mut own, mut other) = (Vec::new(), Vec::new());
        // The shapes take turns.
        for seed in (at as u64..).step_by(Shape::ALL.len()).take(LOOPS) {
            let p = random::small(seed);
            own.push(time(exact::least_ii, &p));
            other.push(time(solver::least_ii, &p));
        }
        let shape = format!("{shape:?}");
        line("branch", &shape, &own, &other);
        line("pumpkin", &shape, &other, &own);
        all_own.extend(own);
        all_other.extend(other);
    }
    line("branch", "all", &all_own, &all_other);
    line("pumpkin", "all", &all_other, &all_own);
    let differ = |(a, b): (&Result, &Result)| a.0.zip(b.0).is_some_and(|(a, b)| a != b);
    println!("contradictions: {}", all_own.iter().zip(&all_other).filter(|&p| differ(p)).count());
}
