//! Goal: which SM a cubin was built for.
//!
//! Source: `e_flags` of ptxas 12.9 and 13.4 output for every target they take. The number sits in bits 8..16 where
//! `EI_OSABI` is 0x41 and in bits 0..8 where it is 0x33. The letter of `sm_90a` is bit 3 (0x41) or 11 (0x33) of ptxas 12's
//! flags; ptxas 13 moved it to `.nv.compat`. The letter of `sm_100f` is recorded nowhere but in the fatbinary entry and in
//! the command line that `.note.nv.tkinfo` quotes.

use std::fmt;

/// The letter after the SM number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Variant {
    /// No letter: runs on the SM and later ones of its generation.
    #[default]
    Base,
    /// `a`: features of exactly this SM.
    Accelerated,
    /// `f`: features of this SM's family.
    Family,
}

/// An SM version as a cubin or a fatbinary entry records it, known to the tables or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sm {
    /// 90 for sm_90.
    pub number: u16,
    /// The letter.
    pub variant: Variant,
}

impl Sm {
    /// Bytes of one instruction slot that can move on its own: 16 from sm_70 on. Earlier ones share a control word among
    /// three instructions and have none.
    pub fn slot_bytes(self) -> Option<usize> {
        (self.number >= 70).then_some(16)
    }

    pub(crate) fn from_elf_flags(os_abi: u8, flags: u32) -> Option<Self> {
        let (number, accelerated) = match os_abi {
            0x41 => (flags >> 8 & 0xff, flags >> 3 & 1),
            0x33 => (flags & 0xff, flags >> 11 & 1),
            _ => return None,
        };
        Some(Self {
            number: number as u16,
            variant: if accelerated == 1 { Variant::Accelerated } else { Variant::Base },
        })
    }
}

impl fmt::Display for Sm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.variant {
            Variant::Base => "",
            Variant::Accelerated => "a",
            Variant::Family => "f",
        };
        write!(f, "sm_{}{letter}", self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_as_ptxas_writes_them() {
        let name = |abi, flags| Sm::from_elf_flags(abi, flags).map(|sm| sm.to_string());
        assert_eq!(name(0x33, 0x005a_055a).as_deref(), Some("sm_90"));
        assert_eq!(name(0x33, 0x005a_0d5a).as_deref(), Some("sm_90a"));
        assert_eq!(name(0x33, 0x003d_053d).as_deref(), Some("sm_61"));
        assert_eq!(name(0x41, 0x0600_5a04).as_deref(), Some("sm_90"));
        assert_eq!(name(0x41, 0x0600_6402).as_deref(), Some("sm_100"));
        assert_eq!(name(0x41, 0x0600_640a).as_deref(), Some("sm_100a"));
        assert_eq!(name(0x03, 0), None);
    }
}
