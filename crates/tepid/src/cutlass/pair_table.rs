//! Block → (stall target, register limit), found by the FNV-1a hash of the block's number.
//!
//! Source: latency-model document, "Scheduling Score Adjustment": seed, prime and the 64-bit value that stands for "no
//! override" are printed. That value, `0x7FFFFFFF00000000`, tells which half is which: the high one is the register limit
//! (no limit: the largest number), the low one the stall target (none: 0). The number of buckets is not printed; it is a power
//! of two that grows with the entries. Four bytes are hashed, the lowest first.

/// The seed of the hash.
pub const SEED: u32 = 0x811C_9DC5;
/// Its prime.
pub const PRIME: u32 = 16_777_619;
/// What a lookup that finds nothing gives.
pub const MISS: u64 = 0x7FFF_FFFF_0000_0000;

/// FNV-1a of a block's number.
pub const fn hash(block: u32) -> u32 {
    let bytes = block.to_le_bytes();
    let (mut hash, mut i) = (SEED, 0);
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u32).wrapping_mul(PRIME);
        i += 1;
    }
    hash
}

/// What a block should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StallPair {
    /// The stall around matrix instructions; 0 for none in particular.
    pub stall_target: i32,
    /// The registers that should be live at most.
    pub register_limit: i32,
}

impl StallPair {
    /// No override.
    pub const NONE: StallPair = StallPair::from_packed(MISS);

    /// Both halves in one word.
    pub const fn packed(self) -> u64 {
        (self.register_limit as u32 as u64) << 32 | self.stall_target as u32 as u64
    }

    /// Of both halves.
    pub const fn from_packed(word: u64) -> StallPair {
        StallPair { stall_target: word as u32 as i32, register_limit: (word >> 32) as u32 as i32 }
    }
}

/// The table.
#[derive(Clone, Debug, Default)]
pub struct PairTable {
    /// A power of two of chains; none before the first entry.
    buckets: Vec<Vec<(u32, u64)>>,
    len: usize,
}

/// Entries per bucket before there are more buckets.
const LOAD: usize = 2;

impl PairTable {
    /// Empty.
    pub fn new() -> PairTable {
        PairTable::default()
    }

    /// How many blocks have a pair.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no block has one.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Gives a block a pair. Returns the one that it had.
    pub fn insert(&mut self, block: u32, pair: StallPair) -> Option<StallPair> {
        if self.len >= self.buckets.len() * LOAD {
            self.grow();
        }
        let at = self.bucket(block);
        let chain = &mut self.buckets[at];
        if let Some((_, word)) = chain.iter_mut().find(|(other, _)| *other == block) {
            return Some(StallPair::from_packed(std::mem::replace(word, pair.packed())));
        }
        chain.push((block, pair.packed()));
        self.len += 1;
        None
    }

    /// The packed pair of a block, or [`MISS`].
    pub fn lookup(&self, block: u32) -> u64 {
        let chain = self.buckets.get(self.bucket(block)).map_or(&[][..], Vec::as_slice);
        chain.iter().find(|(other, _)| *other == block).map_or(MISS, |&(_, word)| word)
    }

    /// The pair of a block; [`StallPair::NONE`] where it has none.
    pub fn get(&self, block: u32) -> StallPair {
        StallPair::from_packed(self.lookup(block))
    }

    fn bucket(&self, block: u32) -> usize {
        hash(block) as usize & self.buckets.len().saturating_sub(1)
    }

    fn grow(&mut self) {
        let size = (self.buckets.len() * 2).max(8);
        let old = std::mem::replace(&mut self.buckets, vec![Vec::new(); size]);
        for (block, word) in old.into_iter().flatten() {
            let at = self.bucket(block);
            self.buckets[at].push((block, word));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_hash_is_the_published_one() {
        // FNV-1a of four zero bytes, as test vectors print it.
        assert_eq!(hash(0), 0x4B95_F515);
        let by_hand =
            |bytes: [u8; 4]| bytes.iter().fold(SEED, |h, &b| (h ^ u32::from(b)).wrapping_mul(PRIME));
        for block in [0, 1, 255, 256, 65_537, u32::MAX] {
            assert_eq!(hash(block), by_hand(block.to_le_bytes()));
        }
    }

    #[test]
    fn a_miss_means_no_override() {
        let table = PairTable::new();
        assert!(table.is_empty());
        assert_eq!(table.lookup(3), MISS);
        assert_eq!(table.get(3), StallPair { stall_target: 0, register_limit: i32::MAX });
        assert_eq!(StallPair::NONE.packed(), MISS);
    }

    #[test]
    fn halves_do_not_mix() {
        let pair = StallPair { stall_target: -1, register_limit: 168 };
        assert_eq!(pair.packed(), 0x0000_00A8_FFFF_FFFF);
        assert_eq!(StallPair::from_packed(pair.packed()), pair);
    }

    proptest! {
        #[test]
        fn it_is_a_map(entries in proptest::collection::vec((0u32..64, any::<i32>(), any::<i32>()), 0..200)) {
            let (mut table, mut map) = (PairTable::new(), BTreeMap::new());
            for &(block, stall_target, register_limit) in &entries {
                let pair = StallPair { stall_target, register_limit };
                prop_assert_eq!(table.insert(block, pair), map.insert(block, pair));
            }
            prop_assert_eq!(table.len(), map.len());
            for block in 0..70 {
                prop_assert_eq!(table.get(block), map.get(&block).copied().unwrap_or(StallPair::NONE));
            }
        }
    }
}
