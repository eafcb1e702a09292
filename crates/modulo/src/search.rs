//! The search for the least number that is feasible: of initiation intervals, and of cost thresholds.
//!
//! Galloping, then binary search, as `tile-scheduler` has it ("Search Driver"): from the lower end the number grows until a
//! probe succeeds, then the bracket between the last failure and the success is halved. That finds the least feasible
//! number if feasibility is monotone. What a heuristic finds is not: it may succeed at 10, fail at 11 and succeed at 12.
//! So the numbers that halving skipped can be probed as well ([`Confirm`]), and the result says how much is known
//! ([`Evidence`]) and what was probed. No number is probed twice.
//!
//! Cost: about `2 log(answer / start)` probes; to confirm, one for each smaller number of the bracket or of the range.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// How the number grows until a probe succeeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gallop {
    /// It doubles: 1, 2, 4, 8 for cost thresholds.
    #[default]
    Value,
    /// Its distance from the lower end doubles: for II, where the answer is mostly the bound or little more.
    Step,
    /// The same from a first distance on: for large II, where one cycle more or less is little.
    Stride(u32),
}

/// Which smaller numbers are probed once one has been found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Confirm {
    /// None: feasibility is monotone.
    Nothing,
    /// Those in the bracket, above the last number that galloping saw fail.
    #[default]
    Bracket,
    /// All down to the lower end, and the whole range before the answer is that there is none.
    Range,
}

/// What is known of the numbers below the answer, or of all numbers where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Every one was probed and failed, so the answer is the least whether or not feasibility is monotone.
    Exhaustive,
    /// Every one from this number on was probed and failed; below, the answer relies on monotony.
    From(u32),
    /// The answer is the least if feasibility is monotone.
    Monotone,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search<T> {
    /// The least feasible number that was found, with what its probe returned.
    pub found: Option<(u32, T)>,
    /// What is known of the numbers below.
    pub evidence: Evidence,
    /// Whether a number turned out feasible below one that failed: proof that feasibility is not monotone.
    pub gap: bool,
    /// Every number probed, in order, with whether it was feasible.
    pub probes: Vec<(u32, bool)>,
}

struct Prober<F, T> {
    probe: F,
    known: BTreeMap<u32, bool>,
    probes: Vec<(u32, bool)>,
    /// The least feasible number so far.
    best: Option<(u32, T)>,
}

impl<T, F: FnMut(u32) -> Option<T>> Prober<F, T> {
    fn at(&mut self, number: u32) -> bool {
        if let Some(&feasible) = self.known.get(&number) {
            return feasible;
        }
        let result = (self.probe)(number);
        let feasible = result.is_some();
        self.known.insert(number, feasible);
        self.probes.push((number, feasible));
        if let Some(result) = result
            && self.best.as_ref().is_none_or(|(best, _)| number < *best)
        {
            self.best = Some((number, result));
        }
        feasible
    }

    /// The first feasible number of a range, linearly; those that were probed are not probed again.
    fn scan(&mut self, mut numbers: RangeInclusive<u32>) {
        numbers.any(|n| self.at(n));
    }
}

/// The least number of `range` for which `probe` returns something.
///
/// An empty range has no answer, and every number in it was probed.
pub fn first_feasible<T>(
    range: RangeInclusive<u32>,
    gallop: Gallop,
    confirm: Confirm,
    probe: impl FnMut(u32) -> Option<T>,
) -> Search<T> {
    let mut p = Prober { probe, known: BTreeMap::new(), probes: Vec::new(), best: None };
    let (lower, upper) = range.into_inner();
    if lower <= upper {
        // The least number that may be the answer, if feasibility is monotone.
        let mut low = lower;
        let mut at = lower;
        let mut step = match gallop {
            Gallop::Stride(first) => first.max(1),
            _ => 1u32,
        };
        while !p.at(at) && at < upper {
            low = at + 1;
            let next = match gallop {
                Gallop::Value => at.saturating_mul(2).max(1),
                Gallop::Step | Gallop::Stride(_) => lower.saturating_add(step),
            };
            step = step.saturating_mul(2);
            at = next.min(upper);
        }
        let bracket = low;
        if p.best.is_some() {
            let mut high = at;
            while low < high {
                let middle = low + (high - low) / 2;
                if p.at(middle) {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
        }
        let end = p.best.as_ref().map_or(upper, |(n, _)| *n);
        match confirm {
            Confirm::Nothing => {}
            Confirm::Bracket if p.best.is_some() => p.scan(bracket..=end),
            Confirm::Bracket => {}
            Confirm::Range => p.scan(lower..=end),
        }
    }
    // How far down from the answer, or from the upper end, no number was left out.
    let end = p.best.as_ref().map_or(u64::from(upper) + 1, |(n, _)| u64::from(*n));
    let mut from = end;
    while from > 0 && u32::try_from(from - 1).is_ok_and(|n| p.known.contains_key(&n)) {
        from -= 1;
    }
    let evidence = if lower > upper || from <= u64::from(lower) {
        Evidence::Exhaustive
    } else if from < end {
        Evidence::From(from as u32)
    } else {
        Evidence::Monotone
    };
    let gap = p.known.iter().zip(p.known.iter().skip(1)).any(|((_, &a), (_, &b))| a && !b);
    Search { found: p.best, evidence, gap, probes: p.probes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn even_from(limit: u32) -> impl Fn(u32) -> Option<u32> {
        move |n| (n >= limit).then_some(n * 10)
    }

    #[test]
    fn as_the_specification_searches() {
        let s = first_feasible(1..=100, Gallop::Value, Confirm::Nothing, even_from(11));
        assert_eq!(s.found, Some((11, 110)));
        let probes: Vec<u32> = s.probes.iter().map(|p| p.0).collect();
        assert_eq!(probes, [1, 2, 4, 8, 16, 12, 10, 11]);
        assert_eq!((s.evidence, s.gap), (Evidence::From(10), false));
        let s = first_feasible(7..=100, Gallop::Step, Confirm::Bracket, even_from(8));
        assert_eq!((s.found, s.evidence), (Some((8, 80)), Evidence::Exhaustive));
        assert_eq!(s.probes, [(7, false), (8, true)]);
    }

    #[test]
    fn the_ends_of_the_numbers() {
        let never = |_| None::<()>;
        let s = first_feasible(RangeInclusive::new(5, 4), Gallop::Value, Confirm::Range, never);
        assert_eq!((s.found, s.evidence, s.probes.len()), (None, Evidence::Exhaustive, 0));
        let s = first_feasible(0..=u32::MAX, Gallop::Value, Confirm::Bracket, never);
        assert_eq!((s.found, s.probes.len()), (None, 34));
        let s =
            first_feasible(0..=u32::MAX, Gallop::Step, Confirm::Nothing, |n| (n == u32::MAX).then_some(()));
        assert_eq!(s.found, Some((u32::MAX, ())));
        let s = first_feasible(0..=0, Gallop::Value, Confirm::Nothing, |_| Some(1));
        assert_eq!((s.found, s.evidence), (Some((0, 1)), Evidence::Exhaustive));
    }

    proptest! {
        #[test]
        fn against_a_linear_scan(
            feasible in prop::collection::vec(any::<bool>(), 1..70),
            monotone in any::<bool>(),
            lower in 0u32..6,
            gallop in prop_oneof![Just(Gallop::Value), Just(Gallop::Step), (0u32..9).prop_map(Gallop::Stride)],
            confirm in prop_oneof![Just(Confirm::Nothing), Just(Confirm::Bracket), Just(Confirm::Range)],
        ) {
            let mut feasible = feasible;
            if monotone {
                feasible.sort_unstable();
            }
            let at = |n: u32| feasible[(n - lower) as usize].then_some(n);
            let upper = lower + feasible.len() as u32 - 1;
            let linear = (lower..=upper).find(|&n| at(n).is_some());
            let s = first_feasible(lower..=upper, gallop, confirm, at);
            let found = s.found.as_ref().map(|f| f.0);
            if monotone || confirm == Confirm::Range || s.evidence == Evidence::Exhaustive {
                prop_assert_eq!(found, linear);
            }
            if confirm == Confirm::Range {
                prop_assert_eq!(s.evidence, Evidence::Exhaustive);
            }
            // Whatever is found is feasible, with its own outcome, and is the least of what was probed.
            if let Some((n, outcome)) = s.found {
                prop_assert_eq!((n, Some(outcome)), (outcome, at(n)));
                prop_assert!(s.probes.iter().all(|&(p, ok)| !ok || p >= n));
            }
            if let Evidence::From(from) = s.evidence {
                prop_assert!((from..found.unwrap_or(upper + 1)).all(|n| at(n).is_none()));
                prop_assert!(from > lower);
            }
            prop_assert!(!(monotone && s.gap));
            // Each number once, and the truth about it.
            let mut probed: Vec<u32> = s.probes.iter().map(|p| p.0).collect();
            prop_assert!(s.probes.iter().all(|&(n, ok)| at(n).is_some() == ok));
            probed.sort_unstable();
            probed.dedup();
            prop_assert_eq!(probed.len(), s.probes.len());
        }
    }
}
