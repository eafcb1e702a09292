//! The carrier of sm_50–62: one 64-bit word before each group of three 64-bit instructions.
//!
//! Three 21-bit slots, the first instruction's lowest. Bit 63 is left over; it is preserved.

use crate::RawControl;

/// Instructions per control word.
pub const GROUP: usize = 3;
/// Bytes of a group: the control word and its instructions.
pub const GROUP_BYTES: usize = 8 * (1 + GROUP);

/// Which instruction of the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Slot {
    /// The instruction right after the control word.
    First,
    /// The second.
    Second,
    /// The third.
    Third,
}

impl Slot {
    /// The slots in the order of their instructions.
    pub const ALL: [Self; GROUP] = [Self::First, Self::Second, Self::Third];

    const fn shift(self) -> u32 {
        self as u32 * RawControl::BITS
    }
}

/// A control word of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct GroupControl(u64);

impl GroupControl {
    /// The word as it is stored.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The word to store.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The control word of one instruction.
    pub const fn get(self, slot: Slot) -> RawControl {
        // Truncation to 32 bits keeps the 21 that count.
        RawControl::from_bits_truncate((self.0 >> slot.shift()) as u32)
    }

    /// The word with one slot replaced; the other slots and bit 63 are kept.
    pub const fn with(self, slot: Slot, control: RawControl) -> Self {
        let mask = ((1 << RawControl::BITS) - 1) << slot.shift();
        Self(self.0 & !mask | (control.bits() as u64) << slot.shift())
    }

    /// Bit 63, which no slot uses.
    pub const fn spare_bit(self) -> bool {
        self.0 >> 63 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_the_padding_that_ptxas_writes() {
        // A group of three NOPs.
        let word = GroupControl::from_bits(0x001f_8000_fc00_07e0);
        for slot in Slot::ALL {
            assert_eq!(word.get(slot).to_string(), "B------:R-:W-:Y:S00");
        }
        assert!(!word.spare_bit());
    }

    proptest! {
        #[test]
        fn only_the_slot_changes(bits: u64, slot in 0usize..GROUP, control in 0u32..1 << 21) {
            let (word, raw) = (GroupControl::from_bits(bits), RawControl::from_bits_truncate(control));
            let out = word.with(Slot::ALL[slot], raw);
            prop_assert_eq!(out.spare_bit(), word.spare_bit());
            for other in Slot::ALL {
                prop_assert_eq!(out.get(other), if other == Slot::ALL[slot] { raw } else { word.get(other) });
            }
            prop_assert_eq!(out.with(Slot::ALL[slot], word.get(Slot::ALL[slot])), word);
        }
    }
}
