//! Timing for benchmarks, and growth over sizes.

use crate::workloads::Workload;
use std::hint::black_box;
use std::time::Instant;

/// The time one call takes, in seconds: the average over a batch of about a twentieth of a second, in processor time
/// where the system tells it, so that other work on the machine counts little.
pub fn seconds<T>(mut call: impl FnMut() -> T) -> f64 {
    const BATCH_SECONDS: f64 = 0.05;
    let (wall, cpu) = (Instant::now(), processor_seconds());
    let mut repeats = 0u32;
    while repeats == 0 || wall.elapsed().as_secs_f64() < BATCH_SECONDS {
        black_box(call());
        repeats += 1;
    }
    let elapsed = match (cpu, processor_seconds()) {
        (Some(before), Some(after)) if after > before => after - before,
        _ => wall.elapsed().as_secs_f64(),
    };
    elapsed / f64::from(repeats)
}

/// Seconds that this thread has run on a processor, where the system says so (Linux).
fn processor_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = stat.split_ascii_whitespace().next()?.parse().ok()?;
    Some(nanoseconds * 1e-9)
}

/// One row of a scaling table.
#[derive(Clone, Debug)]
pub struct Scaling {
    /// The shape of the code.
    pub workload: Workload,
    /// Instructions and seconds, in rising order of size.
    pub points: Vec<(usize, f64)>,
}

impl Scaling {
    /// Measures `call` on each size: `rounds` over all sizes in turn, so that a slow spell hits them all, and of each
    /// size the best round, which is the one least disturbed. `prepare` makes the input, outside the clock.
    pub fn measure<I, T>(
        workload: Workload,
        sizes: &[usize],
        rounds: usize,
        prepare: impl Fn(usize) -> I,
        call: impl Fn(&I) -> T,
    ) -> Scaling {
        let inputs: Vec<I> = sizes.iter().map(|&n| prepare(n)).collect();
        let mut points: Vec<(usize, f64)> = sizes.iter().map(|&n| (n, f64::INFINITY)).collect();
        for _ in 0..rounds.max(1) {
            for (input, point) in inputs.iter().zip(&mut points) {
                point.1 = point.1.min(seconds(|| call(input)));
            }
        }
        Scaling { workload, points }
    }

    /// Instructions per second at one of the sizes.
    pub fn rate(&self, size: usize) -> f64 {
        let (n, seconds) = self.points.iter().find(|p| p.0 == size).copied().unwrap_or((0, 1.0));
        n as f64 / seconds
    }

    /// How the time grows between the first and the last size: 1 is linear.
    pub fn exponent(&self) -> f64 {
        match (self.points.first(), self.points.last()) {
            (Some(&(n0, t0)), Some(&(n1, t1))) if n1 > n0 => (t1 / t0).ln() / (n1 as f64 / n0 as f64).ln(),
            _ => f64::NAN,
        }
    }
}
