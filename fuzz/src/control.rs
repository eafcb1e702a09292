//! Control words: carriers leave other bits alone, and a legal word is made of its parts.

use sassafras_control::maxwell::{GroupControl, Slot};
use sassafras_control::{Control, Family, RawControl, volta};

/// Takes 16 bytes as an instruction and, where there are more, four as a control word to put in.
pub fn control(data: &[u8]) -> bool {
    let Some((word, rest)) = data.split_first_chunk::<16>() else {
        return false;
    };
    let word = u128::from_le_bytes(*word);
    let stored = volta::read(word);
    let new =
        rest.first_chunk().map_or(stored, |bytes| RawControl::from_bits_truncate(u32::from_le_bytes(*bytes)));
    carriers(word, new);
    for raw in [stored, new] {
        assert_eq!(RawControl::from_bits_truncate(raw.bits()), raw);
        assert_eq!(RawControl::from_fields(raw.fields()), Ok(raw));
        assert!(raw.to_string().starts_with('B'));
        for family in [Family::Maxwell, Family::Volta] {
            match Control::try_new(raw, family) {
                Ok(control) => parts(control),
                Err(violation) => assert!(!violation.to_string().is_empty()),
            }
        }
    }
    true
}

fn carriers(word: u128, new: RawControl) {
    assert_eq!(volta::insert(word, volta::read(word)), word);
    let out = volta::insert(word, new);
    assert_eq!(volta::read(out), new);
    assert_eq!(out & !volta::MASK, word & !volta::MASK);

    let group = GroupControl::from_bits(word as u64);
    for slot in Slot::ALL {
        assert_eq!(group.with(slot, group.get(slot)), group);
        let out = group.with(slot, new);
        assert_eq!(out.spare_bit(), group.spare_bit());
        for other in Slot::ALL {
            assert_eq!(out.get(other), if other == slot { new } else { group.get(other) });
        }
    }
}

/// A legal word is what its setters make of its getters, starting from the idle word.
fn parts(control: Control) {
    let rebuilt = Control::new(control.family())
        .with_issue(control.issue())
        .and_then(|c| c.with_reuse(control.reuse()))
        .map(|c| c.with_write(control.write()).with_read(control.read()).with_wait(control.wait()));
    assert_eq!(rebuilt, Ok(control));
    assert_eq!(control.with_issue(control.issue()), Ok(control));
    assert_eq!(Control::try_new(control.into(), control.family()), Ok(control));
}
