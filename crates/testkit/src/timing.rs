//! Timing for benchmarks: medians, and growth over sizes.

use crate::workloads::Workload;
use std::hint::black_box;
use std::time::Instant;

/// The median time of `runs` calls, in seconds.
pub fn median_seconds<T>(runs: usize, mut call: impl FnMut() -> T) -> f64 {
    let mut times: Vec<f64> = (0..runs.max(1))
        .map(|_| {
            let start = Instant::now();
            black_box(call());
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// One row of a scaling table.
#[derive(Clone, Debug)]
pub struct Scaling {
    /// The shape of the code.
    pub workload: Workload,
    /// Instructions and median seconds, in rising order of size.
    pub points: Vec<(usize, f64)>,
}

impl Scaling {
    /// Measures `call` on each size. `prepare` makes its input, outside the clock.
    pub fn measure<I, T>(
        workload: Workload,
        sizes: &[usize],
        runs: usize,
        prepare: impl Fn(usize) -> I,
        call: impl Fn(&I) -> T,
    ) -> Scaling {
        let points = sizes
            .iter()
            .map(|&n| {
                let input = prepare(n);
                (n, median_seconds(runs, || call(&input)))
            })
            .collect();
        Scaling { workload, points }
    }

    /// Instructions per second at one of the sizes.
    pub fn rate(&self, size: usize) -> f64 {
        let (n, seconds) = self
            .points
            .iter()
            .find(|p| p.0 == size)
            .copied()
            .unwrap_or((0, 1.0));
        n as f64 / seconds
    }

    /// How the time grows between the first and the last size: 1 is linear.
    pub fn exponent(&self) -> f64 {
        match (self.points.first(), self.points.last()) {
            (Some(&(n0, t0)), Some(&(n1, t1))) if n1 > n0 => {
                (t1 / t0).ln() / (n1 as f64 / n0 as f64).ln()
            }
            _ => f64::NAN,
        }
    }
}
