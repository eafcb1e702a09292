//! Which new instruction is which old one, by what they are.

use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// For every new place an old one with the same keys, or with the same as far as there is one: the first key is asked first, then the
/// next. Of several that are the same the first comes first. `None` when one of them has no partner.
///
/// Cost: linear, for each key.
pub(super) fn pair<const N: usize>(was: &[[u128; N]], is: &[[u128; N]]) -> Option<Vec<u32>> {
    if was.len() != is.len() {
        return None;
    }
    let mut places: Vec<Option<u32>> = vec![None; is.len()];
    let mut taken = vec![false; was.len()];
    for level in 0..N {
        let mut left: FxHashMap<u128, VecDeque<u32>> = FxHashMap::default();
        for (from, keys) in (0..).zip(was).filter(|(from, _)| !taken[*from as usize]) {
            left.entry(keys[level]).or_default().push_back(from);
        }
        for (place, keys) in places.iter_mut().zip(is).filter(|(place, _)| place.is_none()) {
            *place = left.get_mut(&keys[level]).and_then(VecDeque::pop_front);
            if let Some(from) = *place {
                taken[from as usize] = true;
            }
        }
    }
    places.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::pair;

    #[test]
    fn the_most_alike_are_paired_first() {
        let was = [[1, 9], [2, 9], [3, 8]];
        assert_eq!(pair(&was, &[[2, 9], [3, 8], [4, 9]]), Some(vec![1, 2, 0]));
        assert_eq!(pair(&was, &[[5, 9], [6, 9], [7, 8]]), Some(vec![0, 1, 2]));
        assert_eq!(pair(&was, &[[5, 9], [6, 8], [7, 8]]), None);
        assert_eq!(pair(&was, &was[..2]), None);
    }
}
