//! Hot (global, texture) and cold (shared, constant) memory instructions.
//!
//! Source: latency-model document, section "Memory Space Classification for Pairing"; the rules are rows of the machine
//! tables.
//!
//! Readings: the pairing test prints the codes 6 and 5 where the memory-space classifier prints 16 and 3 for the same
//! spaces. Both are accepted; the code 4 is printed by both and taken as one. Internal opcode numbers are mapped to the
//! role they play.

use sassafras_machine::{Temperature, temperature_rules};

/// A memory instruction, by what the pairing test looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairingAccess {
    /// A load or store.
    LoadStore {
        /// Space code of the last source operand, of either numbering.
        space: u8,
        /// Address mode, see [`address_mode`].
        address_mode: u8,
    },
    /// A texture fetch or surface load.
    TextureSurface {
        /// The operand whose low bits decide.
        operand: u32,
    },
}

/// The address mode in bits 19 to 21 of an operand's property word.
#[must_use]
pub const fn address_mode(word: u32) -> u8 {
    ((word >> 19) & 7) as u8
}

/// The document's internal numbers of the two roles (the first of each pair stands for both).
const LOAD_STORE: u16 = 183;
const TEXTURE_SURFACE: u16 = 91;

/// Hot, cold, or neither.
#[must_use]
pub fn temperature(access: PairingAccess) -> Option<Temperature> {
    let (opcode, space, mode, operand) = match access {
        PairingAccess::LoadStore { space, address_mode } => {
            (LOAD_STORE, pairing_code(space), address_mode, 0)
        }
        PairingAccess::TextureSurface { operand } => (TEXTURE_SURFACE, 0, 0, operand),
    };
    let mut rules = temperature_rules().iter();
    rules.find(|rule| rule.matches(opcode, space, mode, operand)).map(|rule| rule.temperature)
}

/// The pairing test's code for a space, whichever numbering it was given in.
fn pairing_code(code: u8) -> u8 {
    let twin = temperature_rules().iter().find(|rule| rule.classifier == Some(code));
    twin.and_then(|rule| rule.space).unwrap_or(code)
}

#[cfg(test)]
mod tests {
    use Temperature::{Cold, Hot};

    use super::*;

    fn load(space: u8, address_mode: u8) -> Option<Temperature> {
        temperature(PairingAccess::LoadStore { space, address_mode })
    }

    #[test]
    fn loads_by_either_numbering() {
        for mode in 0..8 {
            assert_eq!([load(6, mode), load(16, mode)], [Some(Hot); 2]);
            assert_eq!([load(5, mode), load(3, mode)], [Some(Cold); 2]);
            let by_mode = match mode {
                1 => Some(Hot),
                2 => Some(Cold),
                _ => None,
            };
            assert_eq!(load(4, mode), by_mode);
            for neither in [0, 1, 2, 7, 11, 17] {
                assert_eq!(load(neither, mode), None);
            }
        }
        assert_eq!((address_mode(1 << 19), address_mode(!0), address_mode(1 << 22)), (1, 7, 0));
    }

    #[test]
    fn textures_by_operand_bits_as_printed() {
        for operand in 0..64u32 {
            let hot = operand & 7 == 7;
            let cold = operand & 1 == 0 && (operand ^ 6) & 6 == 0;
            let expected = hot.then_some(Hot).or(cold.then_some(Cold));
            assert!(!(hot && cold));
            assert_eq!(temperature(PairingAccess::TextureSurface { operand }), expected);
        }
    }

    #[test]
    fn no_instruction_is_both() {
        let both = |opcode, space, mode, operand| {
            let hits = temperature_rules().iter().filter(|r| r.matches(opcode, space, mode, operand));
            let found: Vec<_> = hits.map(|r| r.temperature).collect();
            found.contains(&Hot) && found.contains(&Cold)
        };
        for space in 0..=20 {
            for mode in 0..8 {
                for operand in 0..8 {
                    assert!([183, 288, 91, 92].iter().all(|&o| !both(o, space, mode, operand)));
                }
            }
        }
    }
}
