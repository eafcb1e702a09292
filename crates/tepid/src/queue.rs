//! Places that wait to be looked at, the first one first: a set that knows below which word it has nothing, so that going through all of a
//! long function does not begin at its start again for every block.

use fixedbitset::FixedBitSet;

/// A set of places.
pub struct Queue {
    set: FixedBitSet,
    /// No place is in a word before this one.
    first: usize,
}

const WORD: usize = usize::BITS as usize;

impl Queue {
    /// Room for so many places, none of them in it.
    pub fn new(places: usize) -> Queue {
        Queue { set: FixedBitSet::with_capacity(places), first: 0 }
    }

    /// All of so many places.
    pub fn full(places: usize) -> Queue {
        let mut queue = Queue::new(places);
        queue.set.insert_range(..);
        queue
    }

    /// Puts a place in, or takes it out.
    pub fn set(&mut self, place: usize, is_in: bool) {
        self.set.set(place, is_in);
        if is_in {
            self.first = self.first.min(place / WORD);
        }
    }

    /// Whether a place is in it.
    pub fn contains(&self, place: usize) -> bool {
        self.set.contains(place)
    }

    /// Takes the first place out.
    pub fn pop(&mut self) -> Option<usize> {
        let rest = self.set.as_slice().get(self.first..)?;
        let Some(skipped) = rest.iter().position(|&word| word != 0) else {
            self.first += rest.len();
            return None;
        };
        self.first += skipped;
        let place = self.first * WORD + rest[skipped].trailing_zeros() as usize;
        self.set.remove(place);
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_comes_first_whenever_it_came() {
        let mut queue = Queue::full(130);
        assert_eq!((queue.pop(), queue.pop()), (Some(0), Some(1)));
        (3..129).for_each(|place| queue.set(place, false));
        assert_eq!((queue.pop(), queue.pop()), (Some(2), Some(129)));
        assert_eq!(queue.pop(), None);
        queue.set(70, true);
        queue.set(5, true);
        assert!(queue.contains(70) && !queue.contains(6));
        assert_eq!((queue.pop(), queue.pop(), queue.pop()), (Some(5), Some(70), None));
        assert_eq!(Queue::new(0).pop(), None);
    }
}
