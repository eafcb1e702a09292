//! How many relaxations per second the all-pairs closure does, beside the textbook's three loops.
//!
//! `cargo bench -p sassafras-modulo`. The goals at 1,024 operations, dense, on one core with AVX2: 12 billion per second
//! in `i32` and 20 billion in `i16`. Relaxations are counted as n³, whatever padding adds; nothing can be skipped in a
//! dense matrix.

#![allow(clippy::print_stdout)]

use sassafras_modulo::closure::{Cell, ClosureError, close, close_scalar};
use std::time::Instant;

/// A dense matrix without positive circuits: weights below 0 but for what a potential adds and takes off again.
fn dense<T: Cell>(n: usize) -> Vec<T> {
    let mut state = 1u64;
    let mut random = |below: i64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as i64 % below
    };
    let potential: Vec<i64> = (0..n).map(|_| random(4)).collect();
    let cell = |i| -random(8) + potential[i % n] - potential[i / n];
    (0..n * n).map(cell).map(|w| T::try_from(w).ok().unwrap_or(T::NO_PATH)).collect()
}

/// The best of several runs, in billions of relaxations per second.
fn rate<T: Cell>(n: usize, runs: u32, run: fn(&mut [T], usize) -> Result<(), ClosureError>) -> f64 {
    let matrix = dense::<T>(n);
    let seconds = (0..runs).map(|_| {
        let mut copy = matrix.clone();
        let start = Instant::now();
        run(&mut copy, n).expect("feasible");
        start.elapsed().as_secs_f64()
    });
    (n as f64).powi(3) / seconds.fold(f64::INFINITY, f64::min) / 1e9
}

fn main() {
    println!("billions of relaxations per second, best of several runs");
    println!("{:>6} {:>8} {:>8} {:>12} {:>12}", "n", "i32", "i16", "scalar i32", "scalar i16");
    for (n, runs) in [(64, 200), (256, 50), (512, 20), (1024, 10), (1000, 10)] {
        println!(
            "{n:>6} {:>8.2} {:>8.2} {:>12.2} {:>12.2}",
            rate::<i32>(n, runs, close),
            rate::<i16>(n, runs, close),
            rate::<i32>(n, runs.min(3), close_scalar),
            rate::<i16>(n, runs.min(3), close_scalar),
        );
    }
}
