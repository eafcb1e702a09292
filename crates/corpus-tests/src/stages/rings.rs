//! Addresses that come again: how many there are, and which belong together.

use std::collections::{BTreeMap, BTreeSet};

/// The addresses that one instruction used, turn by turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Round {
    /// This many, over and over in the same order.
    Closed(Vec<u32>),
    /// All different as far as was seen.
    Open(Vec<u32>),
    /// In no order that is understood.
    Unruly,
}

impl Round {
    /// Reads a sequence of addresses.
    pub(super) fn new(addresses: &[u32]) -> Round {
        let distinct: BTreeSet<u32> = addresses.iter().copied().collect();
        let (round, rest) = addresses.split_at(distinct.len());
        if round.iter().copied().collect::<BTreeSet<u32>>() != distinct {
            return Round::Unruly;
        }
        let follows = rest.iter().zip(round.iter().cycle()).all(|(a, b)| a == b);
        match (follows, rest.is_empty()) {
            (false, _) => Round::Unruly,
            (true, true) => Round::Open(round.to_vec()),
            (true, false) => Round::Closed(round.to_vec()),
        }
    }

    pub(super) fn addresses(&self) -> &[u32] {
        match self {
            Round::Closed(addresses) | Round::Open(addresses) => addresses,
            Round::Unruly => &[],
        }
    }
}

/// The distance of neighbours, when it is the same for all.
pub(super) fn stride(addresses: &[u32]) -> Option<u32> {
    let sorted: Vec<u32> = addresses.iter().copied().collect::<BTreeSet<u32>>().into_iter().collect();
    let mut strides = sorted.windows(2).map(|pair| pair[1] - pair[0]);
    let first = strides.next()?;
    strides.all(|stride| stride == first).then_some(first)
}

/// Sets that grow together (union-find): members `0..n`, joined by keys that they share.
#[derive(Debug, Default)]
pub(super) struct Groups<K> {
    parents: Vec<usize>,
    owners: BTreeMap<K, usize>,
}

impl<K: Ord> Groups<K> {
    pub(super) fn new(members: usize) -> Groups<K> {
        Groups { parents: (0..members).collect(), owners: BTreeMap::new() }
    }

    /// The member that stands for the group of another one: the first.
    pub(super) fn first(&self, mut member: usize) -> usize {
        while self.parents[member] != member {
            member = self.parents[member];
        }
        member
    }

    /// Gives a member a key; whoever has the same one is in its group.
    pub(super) fn key(&mut self, member: usize, key: K) {
        let owner = *self.owners.entry(key).or_insert(member);
        let (a, b) = (self.first(owner), self.first(member));
        self.parents[a.max(b)] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_closed_when_it_begins_anew() {
        assert_eq!(Round::new(&[8, 16, 0, 8, 16]), Round::Closed(vec![8, 16, 0]));
        assert_eq!(Round::new(&[8, 8]), Round::Closed(vec![8]));
        assert_eq!(Round::new(&[0, 8, 16]), Round::Open(vec![0, 8, 16]));
        assert_eq!(Round::new(&[0, 8, 16, 8]), Round::Unruly);
        assert_eq!(Round::new(&[0, 0, 8, 8]), Round::Unruly);
        assert_eq!(Round::new(&[0, 8, 0, 0]), Round::Unruly);
    }

    #[test]
    fn strides_are_those_of_neighbours() {
        assert_eq!(stride(&[16, 0, 8]), Some(8));
        assert_eq!(stride(&[0, 8, 24]), None);
        assert_eq!(stride(&[0]), None);
    }

    #[test]
    fn groups_are_joined_by_keys() {
        let mut groups = Groups::new(4);
        for (member, key) in [(0, 1), (1, 2), (2, 1), (3, 3), (1, 3)] {
            groups.key(member, key);
        }
        assert_eq!([0, 1, 2, 3].map(|member| groups.first(member)), [0, 1, 0, 1]);
    }
}
