//! The carrier of sm_70 and later: bits 105..126 of the 128-bit instruction.
//!
//! Bit 125 belongs to no field of the vendor's description; it is the fourth bit of the reuse field here, so that it
//! travels with the control word instead of being lost. Bits 126 and 127 are not control bits and are never touched.

use crate::RawControl;

/// Lowest control bit of the 128-bit word.
pub const SHIFT: u32 = 105;
/// The control bits of the 128-bit word.
pub const MASK: u128 = ((1 << RawControl::BITS) - 1) << SHIFT;

/// The control word of an instruction.
pub const fn read(word: u128) -> RawControl {
    RawControl::from_bits_truncate(((word & MASK) >> SHIFT) as u32)
}

/// The instruction with its control word replaced and every other bit kept.
pub const fn insert(word: u128, control: RawControl) -> u128 {
    word & !MASK | (control.bits() as u128) << SHIFT
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Field;
    use proptest::prelude::*;

    #[test]
    fn reads_an_instruction_that_ptxas_wrote() {
        // FFMA R14, R7.reuse, R7.reuse, R14 as nvdisasm prints it.
        let raw = read(0x0c4fe4000000000e_00000007070e1223);
        assert_eq!(raw.to_string(), "B--2---:R-:W-:-:S02:ab-");
        assert_eq!(raw.get(Field::Reuse), 3);
    }

    proptest! {
        #[test]
        fn only_the_control_bits_change(word: u128, bits in 0u32..1 << 21) {
            let raw = RawControl::from_bits_truncate(bits);
            let out = insert(word, raw);
            prop_assert_eq!(read(out), raw);
            prop_assert_eq!(out & !MASK, word & !MASK);
            prop_assert_eq!(insert(out, read(word)), word);
        }
    }
}
