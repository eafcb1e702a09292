//! The typed values of a legal control word.

use std::fmt;

/// Encoding generation: the two have different carriers and slightly different rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// sm_50 to sm_62: Maxwell and Pascal.
    Maxwell,
    /// sm_70 and later.
    Volta,
}

impl Family {
    /// The family of an SM number (52, 90, 121 …); `None` below sm_50, whose control words are another format.
    pub const fn from_sm(sm: u32) -> Option<Self> {
        match sm {
            0..50 => None,
            50..70 => Some(Self::Maxwell),
            _ => Some(Self::Volta),
        }
    }
}

/// One of the six scoreboards that an instruction can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scoreboard(u8);

impl Scoreboard {
    /// How many there are.
    pub const COUNT: u8 = 6;

    /// Scoreboard `index`, 0 to 5.
    pub const fn new(index: u8) -> Option<Self> {
        if index < Self::COUNT { Some(Self(index)) } else { None }
    }

    /// All six.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
        (0..Self::COUNT).map(Self)
    }

    /// Its number.
    pub const fn index(self) -> u8 {
        self.0
    }
}

impl fmt::Display for Scoreboard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SB{}", self.0)
    }
}

/// The two fields that name a scoreboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScoreboardRole {
    /// Raised until the result is written: covers read-after-write and write-after-write.
    Write,
    /// Raised until the sources are read: covers write-after-read.
    Read,
}

impl fmt::Display for ScoreboardRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Write => "write",
            Self::Read => "read",
        })
    }
}

/// A set of scoreboards to wait for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct WaitMask(u8);

impl WaitMask {
    /// Waits for nothing.
    pub const NONE: Self = Self(0);
    /// Waits for all six.
    pub const ALL: Self = Self((1 << Scoreboard::COUNT) - 1);

    /// The mask with these bits; `None` when a bit names no scoreboard.
    pub const fn from_bits(bits: u8) -> Option<Self> {
        if bits & !Self::ALL.0 == 0 { Some(Self(bits)) } else { None }
    }

    /// One bit per scoreboard.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether nothing is waited for.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether `scoreboard` is waited for.
    pub const fn contains(self, scoreboard: Scoreboard) -> bool {
        self.0 >> scoreboard.0 & 1 == 1
    }

    /// The mask with `scoreboard` added.
    pub const fn with(self, scoreboard: Scoreboard) -> Self {
        Self(self.0 | 1 << scoreboard.0)
    }

    /// The scoreboards in the set, lowest first.
    pub fn iter(self) -> impl Iterator<Item = Scoreboard> {
        Scoreboard::all().filter(move |&sb| self.contains(sb))
    }
}

impl FromIterator<Scoreboard> for WaitMask {
    fn from_iter<I: IntoIterator<Item = Scoreboard>>(iter: I) -> Self {
        iter.into_iter().fold(Self::NONE, Self::with)
    }
}

impl fmt::Debug for WaitMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Scoreboard::index)).finish()
    }
}

/// A stall count that the four-bit field can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stall(u8);

impl Stall {
    /// No stall.
    pub const ZERO: Self = Self(0);
    /// The longest stall.
    pub const MAX: Self = Self(15);
    /// The longest stall that can keep the yield bit set on sm_70 and later.
    pub const MAX_HOLDING: Self = Self(11);

    /// A stall of `cycles`, 0 to 15. Zero is only legal as [`Issue::Drain`] or [`Issue::Dual`].
    pub const fn new(cycles: u8) -> Option<Self> {
        if cycles <= Self::MAX.0 { Some(Self(cycles)) } else { None }
    }

    /// The number of cycles.
    pub const fn cycles(self) -> u8 {
        self.0
    }
}

/// What stall and yield mean together: on the hardware they are one five-bit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Issue {
    /// Code 0. ptxas writes it on padding, and on sm_70+ wherever the pipeline has to drain.
    Drain,
    /// Stall 0 with the yield bit set: the next instruction issues in the same cycle (sm_50–62 only).
    Dual,
    /// The yield bit set: the warp keeps the issue slot if it can. At most 11 cycles on sm_70 and later.
    Hold(Stall),
    /// The yield bit clear: the group ends and another warp may issue.
    EndGroup(Stall),
}

/// Operand slots whose value stays in the reuse cache.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Reuse(u8);

impl Reuse {
    /// No slot.
    pub const NONE: Self = Self(0);

    /// One bit per slot, the first source operand lowest; `None` above four bits.
    pub const fn from_bits(bits: u8) -> Option<Self> {
        if bits < 16 { Some(Self(bits)) } else { None }
    }

    /// One bit per slot.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether no slot is kept.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether operand slot `slot` is kept.
    const fn contains(self, slot: u8) -> bool {
        slot < 4 && self.0 >> slot & 1 == 1
    }
}

impl fmt::Debug for Reuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries((0..4).filter(|&slot| self.contains(slot))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_split_at_sm_50_and_sm_70() {
        for (sm, family) in [
            (37, None),
            (50, Some(Family::Maxwell)),
            (62, Some(Family::Maxwell)),
            (70, Some(Family::Volta)),
            (121, Some(Family::Volta)),
        ] {
            assert_eq!(Family::from_sm(sm), family, "sm_{sm}");
        }
    }

    #[test]
    fn masks_are_sets_of_scoreboards() {
        for bits in 0..64 {
            let mask = WaitMask::from_bits(bits).expect("six bits");
            assert_eq!(mask.iter().collect::<WaitMask>(), mask);
            for sb in Scoreboard::all() {
                assert!(mask.with(sb).contains(sb));
            }
        }
        assert_eq!(WaitMask::from_bits(64), None);
        assert_eq!(Scoreboard::new(6), None);
        assert_eq!(Stall::new(16), None);
        assert_eq!(Reuse::from_bits(16), None);
    }
}
