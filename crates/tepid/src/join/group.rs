//! The words of sm_50 to sm_62: three instructions share one of 64 bits.

use sassafras_control::maxwell::{GROUP, GroupControl, Slot};
use sassafras_control::{Control, Family, Issue, RawControl};

/// The control words of a run of instructions that starts a group. The last group is filled up with what padding has.
pub fn pack(controls: &[Control]) -> Vec<GroupControl> {
    let words = controls.iter().map(|control| control.raw()).collect::<Vec<_>>();
    pack_raw(&words)
}

/// [`pack`] for words of any content.
pub fn pack_raw(words: &[RawControl]) -> Vec<GroupControl> {
    words
        .chunks(GROUP)
        .map(|three| {
            let slots = three.iter().copied().chain(std::iter::repeat(padding().raw()));
            Slot::ALL
                .into_iter()
                .zip(slots)
                .fold(GroupControl::default(), |word, (slot, raw)| word.with(slot, raw))
        })
        .collect()
}

/// The words of single instructions, in order.
pub fn unpack(words: &[GroupControl]) -> Vec<RawControl> {
    words.iter().flat_map(|word| Slot::ALL.map(|slot| word.get(slot))).collect()
}

/// What an instruction that only fills a group has.
pub fn padding() -> Control {
    let idle = Control::new(Family::Maxwell);
    idle.with_issue(Issue::Drain).unwrap_or(idle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn padding_is_what_ptxas_writes() {
        assert_eq!(padding().to_string(), "B------:R-:W-:Y:S00");
        assert_eq!(pack(&[padding(); 2]), [GroupControl::from_bits(0x001f_8000_fc00_07e0)]);
        assert!(pack(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn words_come_back(bits in proptest::collection::vec(0u32..1 << 21, 0..40)) {
            let raw: Vec<RawControl> = bits.iter().map(|&bits| RawControl::from_bits_truncate(bits)).collect();
            let packed = pack_raw(&raw);
            prop_assert_eq!(packed.len(), raw.len().div_ceil(GROUP));
            prop_assert!(packed.iter().all(|word| !word.spare_bit()));
            let back = unpack(&packed);
            prop_assert_eq!(&back[..raw.len()], &raw[..]);
            prop_assert!(back[raw.len()..].iter().all(|&raw| raw == padding().raw()));
        }
    }
}
