//! Goal: pages of large libraries that browsers still open gladly.
//!
//! A page has a budget of rows in pictures and of rows in listings. Where that is not enough, the longest are cut, all at the same length.
//!
//! Cost: n log n. Source: a library of 200 kernels and 110,000 instructions, and what it takes to stay under 15 MB.

use sassafras_analyze::Kernel;

/// Rows of all pictures, of all listings, and steps of all critical sequences.
const PICTURES: usize = 10_000;
const LISTINGS: usize = 32_000;
const STEPS: usize = 10_000;
/// No picture is longer: beyond this nobody scrolls.
const LONGEST: usize = 2_000;

/// What is cut at which length.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Rows of a picture of a loop.
    pub picture: usize,
    /// Instructions of a listing.
    pub listing: usize,
    /// Steps of a critical sequence.
    pub critical: usize,
}

impl Limits {
    /// For a page of these kernels.
    pub fn new(kernels: &[Kernel]) -> Limits {
        let loops = kernels.iter().flat_map(|kernel| kernel.loops.iter().map(|found| found.timeline.len()));
        let steps = kernels.iter().flat_map(|kernel| kernel.loops.iter().map(|found| found.critical.len()));
        let listings = kernels.iter().map(|kernel| kernel.instructions.len());
        Limits {
            picture: cut(loops.collect(), PICTURES).min(LONGEST),
            listing: cut(listings.collect(), LISTINGS),
            critical: cut(steps.collect(), STEPS).min(LONGEST),
        }
    }
}

/// The length at which the longest are to be cut so that all together keep to the budget.
fn cut(mut lengths: Vec<usize>, budget: usize) -> usize {
    lengths.sort_unstable();
    let mut left = budget;
    for (at, &length) in lengths.iter().enumerate() {
        let share = left / (lengths.len() - at);
        if length > share {
            return share;
        }
        left -= length;
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_the_longest_are_cut() {
        assert_eq!(cut(vec![10, 20, 30], 60), usize::MAX);
        assert_eq!(cut(vec![10, 100, 30, 200], 100), 30);
        assert_eq!(cut(vec![], 5), usize::MAX);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn the_budget_is_kept(lengths in prop::collection::vec(0usize..500, 0..40), budget in 0usize..4000) {
            let at = cut(lengths.clone(), budget);
            prop_assert!(lengths.iter().map(|&length| length.min(at)).sum::<usize>() <= budget);
            prop_assert!(at < usize::MAX || lengths.iter().sum::<usize>() <= budget);
        }
    }
}
