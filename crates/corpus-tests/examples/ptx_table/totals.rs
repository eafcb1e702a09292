//! Sums over kernels, the best with hindsight, and how far estimates can be trusted.

use crate::measure::{Kernel, Used};

/// What a way of ordering sums up to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Total {
    pub registers: u32,
    pub spills: u32,
    /// Kernels with fewer registers than in the order that came.
    pub fewer: usize,
    /// Kernels with more.
    pub more: usize,
    /// Kernels with more bytes of spills.
    pub spilling: usize,
}

impl Total {
    fn add(&mut self, original: Used, used: Used) {
        self.registers += used.registers;
        self.spills += used.spills;
        self.fewer += usize::from(used.registers < original.registers);
        self.more += usize::from(used.registers > original.registers);
        self.spilling += usize::from(used.spills > original.spills);
    }
}

/// The sums of one way.
pub fn of<'k>(kernels: impl IntoIterator<Item = &'k Kernel>, way: usize) -> Total {
    let mut total = Total::default();
    for kernel in kernels {
        total.add(kernel.used[0], kernel.used[way]);
    }
    total
}

/// The sums if of every kernel the way with the fewest registers were known, with no more spills.
pub fn best<'k>(kernels: impl IntoIterator<Item = &'k Kernel>) -> Total {
    let mut total = Total::default();
    for kernel in kernels {
        let original = kernel.used[0];
        let allowed = kernel.used.iter().filter(|used| used.spills <= original.spills);
        let best = allowed.min_by_key(|used| (used.registers, used.spills)).copied().unwrap_or(original);
        total.add(original, best);
    }
    total
}

/// How the changes that the estimate promises and those that ptxas shows go together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Agreement {
    /// Pearson's coefficient over all orders for which the estimate changes.
    pub correlation: f64,
    /// How often both go in the same direction, and in opposite ones.
    pub same: usize,
    pub opposite: usize,
    /// How many orders there are whose estimate changes.
    pub orders: usize,
}

/// Over all kernels and ways.
pub fn agreement(kernels: &[Kernel]) -> Agreement {
    let mut pairs: Vec<(f64, f64)> = Vec::new();
    for kernel in kernels {
        for way in 1..kernel.used.len() {
            let change = |old: u32, new: u32| f64::from(new) - f64::from(old);
            let estimated = change(kernel.estimates[0], kernel.estimates[way]);
            let real = change(kernel.used[0].registers, kernel.used[way].registers);
            if estimated != 0.0 {
                pairs.push((estimated, real));
            }
        }
    }
    let count = pairs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let sum = |of: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>();
    let together = sum(&|pair| (pair.0 - x) * (pair.1 - y));
    let alone = sum(&|pair| (pair.0 - x).powi(2)) * sum(&|pair| (pair.1 - y).powi(2));
    Agreement {
        correlation: if alone > 0.0 { together / alone.sqrt() } else { 0.0 },
        same: pairs.iter().filter(|pair| pair.0 * pair.1 > 0.0).count(),
        opposite: pairs.iter().filter(|pair| pair.0 * pair.1 < 0.0).count(),
        orders: pairs.len(),
    }
}
