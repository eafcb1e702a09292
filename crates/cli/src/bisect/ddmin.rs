//! Goal: a smallest set of changes that still fails, in few runs.
//!
//! Delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002): the set is cut into
//! parts; where a part alone fails, or what is left without it, that is gone on with; else the parts get smaller. One
//! culprit among n is found in about 2 log₂ n runs; at worst there are n² + 3n.

/// Makes a set that fails so small that it fails no more without any one of its members.
///
/// `all` has to fail, and nothing at all has to pass: neither is asked. Members keep their order.
///
/// # Errors
/// The first error of `fails`.
pub fn minimise<T: Clone, E>(all: &[T], mut fails: impl FnMut(&[T]) -> Result<bool, E>) -> Result<Vec<T>, E> {
    let mut set = all.to_vec();
    let mut parts = 2;
    'smaller: while set.len() > 1 {
        let bounds: Vec<_> =
            (0..parts).map(|part| (part * set.len() / parts)..((part + 1) * set.len() / parts)).collect();
        for part in &bounds {
            if fails(&set[part.clone()])? {
                set = set[part.clone()].to_vec();
                parts = 2;
                continue 'smaller;
            }
        }
        // Of two parts each is what is left without the other.
        for part in bounds.iter().filter(|_| parts > 2) {
            let rest = [&set[..part.start], &set[part.end..]].concat();
            if fails(&rest)? {
                set = rest;
                parts = (parts - 1).max(2).min(set.len());
                continue 'smaller;
            }
        }
        if parts == set.len() {
            break;
        }
        parts = (2 * parts).min(set.len());
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::convert::Infallible;

    /// The result and the number of runs.
    fn run(count: usize, fails: impl Fn(u32) -> bool) -> (u32, usize) {
        let mut runs = 0;
        let all: Vec<usize> = (0..count).collect();
        let bits = |set: &[usize]| set.iter().fold(0u32, |bits, member| bits | 1 << member);
        let found = minimise(&all, |set| {
            runs += 1;
            assert!(!set.is_empty() && set.is_sorted(), "{set:?}");
            Ok::<bool, Infallible>(fails(bits(set)))
        });
        let Ok(found) = found;
        (bits(&found), runs)
    }

    #[test]
    fn one_culprit_takes_few_runs() {
        for culprit in 0..32 {
            let (found, runs) = run(32, |set| set >> culprit & 1 == 1);
            assert_eq!(found, 1 << culprit);
            assert!(runs <= 10, "{culprit}: {runs} runs");
        }
    }

    #[test]
    fn two_far_apart_are_both_found() {
        let (found, runs) = run(16, |set| set & 0x8001 == 0x8001);
        assert_eq!(found, 0x8001);
        assert!(runs <= 16 * 16 + 3 * 16, "{runs} runs");
    }

    #[test]
    fn one_member_needs_no_run() {
        assert_eq!(run(1, |_| true), (1, 0));
    }

    #[test]
    fn errors_end_the_search() {
        assert_eq!(minimise(&[1, 2, 3], |_| Err("no disk")), Err("no disk"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        /// Where a superset of what fails fails, too, the result is one of the smallest that brute force finds.
        #[test]
        fn monotone_failures_give_a_minimal_set(cores in prop::collection::vec(1u32..256, 1..4)) {
            let fails = |set: u32| cores.iter().any(|core| set & core == *core);
            let (found, runs) = run(8, fails);
            let all: Vec<u32> = (1..256).filter(|&set| fails(set)).collect();
            let minimal: Vec<u32> =
                all.iter().copied().filter(|set| !all.iter().any(|one| one != set && one & set == *one)).collect();
            prop_assert!(minimal.contains(&found), "{found:#b} of {minimal:?}");
            prop_assert!(runs <= 8 * 8 + 3 * 8, "{runs} runs");
        }

        /// For any other behaviour: it fails, and passes without any one member.
        #[test]
        fn any_failure_gives_a_set_without_a_needless_member(table in prop::collection::vec(any::<bool>(), 256)) {
            let fails = |set: u32| set == 255 || set != 0 && table[set as usize];
            let (found, runs) = run(8, fails);
            prop_assert!(fails(found));
            let needed = |bit: u32| found == 1 << bit || !fails(found & !(1 << bit));
            let all_needed = (0..8).filter(|bit| found >> bit & 1 == 1).all(needed);
            prop_assert!(all_needed, "{found:#b}");
            prop_assert!(runs <= 8 * 8 + 3 * 8, "{runs} runs");
        }
    }
}
