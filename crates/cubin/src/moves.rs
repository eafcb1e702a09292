//! Goal: a validated permutation of slots that answers where an instruction went and what it may not cross.

use crate::edit::Reason;

pub(crate) const SLOT: u64 = 16;

/// Where every instruction of one code section goes.
pub(crate) struct Moves {
    /// By old slot.
    new_slot: Vec<u32>,
    /// By slot *n*: the largest new slot among the old slots `0..=n`.
    reach: Vec<u32>,
    identity: bool,
}

impl Moves {
    /// From the old slot of every new slot.
    pub fn new(order: &[u32]) -> Result<Self, Reason> {
        let mut new_slot = vec![u32::MAX; order.len()];
        for (new, &old) in order.iter().enumerate() {
            match new_slot.get_mut(old as usize) {
                Some(slot) if *slot == u32::MAX => *slot = new as u32,
                _ => return Err(Reason::NotAPermutation(old)),
            }
        }
        let reach = new_slot
            .iter()
            .scan(0, |most, &slot| {
                *most = slot.max(*most);
                Some(*most)
            })
            .collect();
        Ok(Self { identity: order.iter().enumerate().all(|(i, &old)| i as u32 == old), new_slot, reach })
    }

    pub fn is_identity(&self) -> bool {
        self.identity
    }

    pub fn slots(&self) -> usize {
        self.new_slot.len()
    }

    pub fn new_slot(&self, old: usize) -> usize {
        self.new_slot[old] as usize
    }

    /// The new offset of the instruction at `offset`; `None` where no instruction starts.
    pub fn follow(&self, offset: u64) -> Option<u64> {
        let slot = usize::try_from(offset / SLOT).ok()?;
        let &new = self.new_slot.get(slot)?;
        offset.is_multiple_of(SLOT).then_some(u64::from(new) * SLOT)
    }

    /// Whether every instruction stays on its side of the place before the instruction at `offset`.
    pub fn keeps_sides(&self, offset: u64) -> bool {
        let before = (offset.div_ceil(SLOT)).min(self.slots() as u64) as usize;
        before == 0 || (self.reach[before - 1] as usize) < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follow_and_sides() {
        let moves = Moves::new(&[1, 0, 2, 4, 3]).expect("a permutation");
        assert_eq!(moves.follow(0), Some(16));
        assert_eq!(moves.follow(48), Some(64));
        assert_eq!(moves.follow(8), None);
        assert_eq!(moves.follow(80), None);
        let kept: Vec<_> = (0..=5).map(|slot| moves.keeps_sides(slot * 16)).collect();
        assert_eq!(kept, [true, false, true, true, false, true]);
        assert!(!moves.is_identity());
    }

    #[test]
    fn no_permutation() {
        assert_eq!(Moves::new(&[0, 0]).err(), Some(Reason::NotAPermutation(0)));
        assert_eq!(Moves::new(&[0, 2]).err(), Some(Reason::NotAPermutation(2)));
    }
}
