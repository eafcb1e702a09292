//! Whole loops, from the program to the materialised agents: `cargo bench -p sassafras-tile`. Goal: a loop of 200 operations in 50 ms.
//!
//! Random loops of the given size, each timed alone, without budgets; the median, the longest, and II against its bound. `fit` is the
//! median of those that have a schedule within the architecture's budgets, with the search for one; `prove` is the checker with
//! little effort.
#![allow(clippy::print_stdout)] // a table is what a benchmark is for

use sassafras_tile::random::program;
use sassafras_tile::{Options, generate, materialise};
use sassafras_verify::tile::{Effort, Limits, prove};
use std::time::Instant;

fn main() {
    // `cargo test` builds benchmarks and runs them with this: one small round is enough then.
    let quick = std::env::args().any(|a| a == "--test");
    let sizes: &[u32] = if quick { &[20] } else { &[20, 50, 100, 200, 300] };
    println!(
        "{:>4} {:>10} {:>10} {:>8} {:>9} {:>11}",
        "ops", "median ms", "most ms", "II/MII", "fit ms", "prove ms"
    );
    for &size in sizes {
        let (mut times, mut proofs, mut ratio, mut count) = (Vec::new(), Vec::new(), 0.0, 0);
        let mut fits = Vec::new();
        for seed in 0..if quick { 3 } else { 20 } {
            // The size of a random loop is random too: the first few that are about this large.
            let Some(loop_) = (0..200)
                .map(|i| program(size, seed * 1000 + i))
                .find(|p| p.ops.len() as u32 >= size * 9 / 10)
            else {
                continue;
            };
            let options = Options { unlimited: true, ..Options::default() };
            let start = Instant::now();
            let Ok(generated) = generate(&loop_, &options) else { continue };
            let Ok(scheduled) = materialise(&loop_, &generated) else { continue };
            times.push(start.elapsed().as_secs_f64() * 1e3);
            ratio += f64::from(generated.analysis.ii) / generated.analysis.mii.most() as f64;
            count += 1;
            let start = Instant::now();
            if generate(&loop_, &Options::default()).is_ok() {
                fits.push(start.elapsed().as_secs_f64() * 1e3);
            }
            let effort = Effort { seeds: 1, large: 1, held_steps: 1 << 14, ..Effort::default() };
            let start = Instant::now();
            prove(&loop_, &scheduled, &Limits::NONE, &effort).expect("a right schedule");
            proofs.push(start.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        proofs.sort_by(f64::total_cmp);
        fits.sort_by(f64::total_cmp);
        let fit = fits.get(fits.len() / 2).map_or_else(|| "-".to_owned(), |ms| format!("{ms:.2}"));
        if let (Some(most), Some(proof)) = (times.last(), proofs.get(proofs.len() / 2)) {
            let median = times[times.len() / 2];
            let ratio = ratio / f64::from(count);
            println!("{size:>4} {median:>10.2} {most:>10.2} {ratio:>8.3} {fit:>9} {proof:>11.2}");
        }
    }
}
