//! Goal: to find the block whose new order is at fault, by letting only some of them change.

use std::sync::atomic::{AtomicU64, Ordering};

/// Which blocks may change. New orders are counted in the order of the file, so that work on it must be done by one thread.
#[derive(Debug, Default)]
pub struct Bisection {
    /// Only blocks of these numbers; all of them when there are none.
    pub blocks: Vec<u32>,
    /// At most so many in all.
    pub cutoff: Option<u64>,
    taken: AtomicU64,
}

impl Bisection {
    /// Only these blocks, and not more than `cutoff` of them.
    pub fn new(blocks: Vec<u32>, cutoff: Option<u64>) -> Bisection {
        Bisection { blocks, cutoff, taken: AtomicU64::new(0) }
    }

    /// Whether not all blocks may change.
    pub const fn is_active(&self) -> bool {
        !self.blocks.is_empty() || self.cutoff.is_some()
    }

    /// Whether a block that would get another order gets it.
    pub fn takes(&self, block: u32) -> bool {
        if !self.blocks.is_empty() && !self.blocks.contains(&block) {
            return false;
        }
        self.cutoff.is_none_or(|cutoff| self.taken.fetch_add(1, Ordering::Relaxed) < cutoff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_blocks_and_so_many() {
        let all = Bisection::default();
        assert!((0..5).all(|block| all.takes(block)));
        let some = Bisection::new(vec![1, 3], Some(1));
        assert_eq!([0, 1, 2, 3].map(|block| some.takes(block)), [false, true, false, false]);
    }
}
