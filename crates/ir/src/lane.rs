//! Register lanes: the unit of dependence, liveness and pressure.

use std::fmt;

/// A register file. Every lane belongs to exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum RegClass {
    /// General 32-bit registers, one per thread (`R`).
    Gpr = 0,
    /// Uniform 32-bit registers, one per warp (`UR`).
    Uniform = 1,
    /// Predicate bits (`P`).
    Pred = 2,
    /// Uniform predicate bits (`UP`).
    UPred = 3,
    /// Convergence-barrier registers (`B`).
    Barrier = 4,
    /// Condition-code bits of the 64-bit encodings (`CC`).
    Flag = 5,
}

impl RegClass {
    /// Every class, in the order of their numbers.
    pub const ALL: [RegClass; 6] = [
        RegClass::Gpr,
        RegClass::Uniform,
        RegClass::Pred,
        RegClass::UPred,
        RegClass::Barrier,
        RegClass::Flag,
    ];

    /// The prefix of a physical register's name.
    pub const fn prefix(self) -> &'static str {
        match self {
            RegClass::Gpr => "R",
            RegClass::Uniform => "UR",
            RegClass::Pred => "P",
            RegClass::UPred => "UP",
            RegClass::Barrier => "B",
            RegClass::Flag => "CC",
        }
    }

    /// The prefix of a virtual register's name, without its `%`.
    pub const fn virtual_prefix(self) -> &'static str {
        match self {
            RegClass::Gpr => "r",
            RegClass::Uniform => "ur",
            RegClass::Pred => "p",
            RegClass::UPred => "up",
            RegClass::Barrier => "b",
            RegClass::Flag => "cc",
        }
    }

    /// The constant register of the class, which is no lane: reads as zero (or true), writes are lost.
    pub const fn constant_name(self) -> Option<&'static str> {
        match self {
            RegClass::Gpr => Some("RZ"),
            RegClass::Uniform => Some("URZ"),
            RegClass::Pred => Some("PT"),
            RegClass::UPred => Some("UPT"),
            RegClass::Barrier | RegClass::Flag => None,
        }
    }

    /// How many physical lanes the widest encoding can name. The architecture may have fewer.
    pub const fn physical_lanes(self) -> u32 {
        match self {
            RegClass::Gpr | RegClass::Uniform => 255,
            RegClass::Pred | RegClass::UPred => 7,
            RegClass::Barrier => 16,
            RegClass::Flag => 4,
        }
    }

    /// Whether a lane of this class can guard an instruction.
    pub const fn can_guard(self) -> bool {
        matches!(self, RegClass::Pred | RegClass::UPred)
    }

    const fn from_bits(bits: u32) -> RegClass {
        RegClass::ALL[bits as usize]
    }
}

/// One 32-bit register unit or one predicate bit, virtual or physical. Packed into four bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane(u32);

const CLASS_SHIFT: u32 = 28;
const VIRTUAL_BIT: u32 = 1 << 27;

impl Lane {
    /// The largest index a virtual lane may have.
    pub const MAX_VIRTUAL: u32 = VIRTUAL_BIT - 1;

    /// The physical lane `index` of `class`, if the class has that many.
    pub const fn physical(class: RegClass, index: u32) -> Option<Lane> {
        if index < class.physical_lanes() {
            Some(Lane(((class as u32) << CLASS_SHIFT) | index))
        } else {
            None
        }
    }

    /// The virtual lane `index` of `class`, if the index fits.
    pub const fn virt(class: RegClass, index: u32) -> Option<Lane> {
        if index <= Self::MAX_VIRTUAL {
            Some(Lane(((class as u32) << CLASS_SHIFT) | VIRTUAL_BIT | index))
        } else {
            None
        }
    }

    /// The register file the lane is in.
    pub const fn class(self) -> RegClass {
        RegClass::from_bits(self.0 >> CLASS_SHIFT)
    }

    /// Whether the lane waits for an allocator.
    pub const fn is_virtual(self) -> bool {
        self.0 & VIRTUAL_BIT != 0
    }

    /// The number inside its class and kind.
    pub const fn index(self) -> u32 {
        self.0 & (VIRTUAL_BIT - 1)
    }

    /// The four bytes as they are: dense inside a class, a key for tables.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The lane `by` places on. The caller has checked that it exists (a [`Span`] has).
    const fn offset(self, by: u32) -> Lane {
        Lane(self.0 + by)
    }
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_virtual() {
            write!(f, "%{}{}", self.class().virtual_prefix(), self.index())
        } else {
            write!(f, "{}{}", self.class().prefix(), self.index())
        }
    }
}

impl fmt::Debug for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Consecutive lanes of one class: what one register operand names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    first: Lane,
    lanes: u8,
}

impl Span {
    /// `lanes` lanes from `first` on, if there are that many in its class.
    pub const fn new(first: Lane, lanes: u8) -> Option<Span> {
        let limit = if first.is_virtual() { Lane::MAX_VIRTUAL + 1 } else { first.class().physical_lanes() };
        if lanes == 0 || first.index() + lanes as u32 > limit { None } else { Some(Span { first, lanes }) }
    }

    /// The first lane.
    pub const fn first(self) -> Lane {
        self.first
    }

    /// How many lanes, at least one.
    #[allow(clippy::len_without_is_empty)] // a span is never empty
    pub const fn len(self) -> u8 {
        self.lanes
    }

    /// The register file the span is in.
    pub const fn class(self) -> RegClass {
        self.first.class()
    }

    /// The lanes in order.
    pub fn lanes(self) -> impl ExactSizeIterator<Item = Lane> + Clone {
        (0..self.lanes).map(move |i| self.first.offset(u32::from(i)))
    }

    /// Whether the two spans have a lane in common.
    pub const fn overlaps(self, other: Span) -> bool {
        let (a, b) = (self.first.0, other.first.0);
        a < b + other.lanes as u32 && b < a + self.lanes as u32
    }
}

impl From<Lane> for Span {
    fn from(lane: Lane) -> Span {
        Span { first: lane, lanes: 1 }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)?;
        if self.lanes > 1 { write!(f, ":{}", self.lanes) } else { Ok(()) }
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_keeps_class_kind_and_index() {
        for class in RegClass::ALL {
            for index in [0, 1, 3] {
                let p = Lane::physical(class, index).unwrap();
                assert_eq!((p.class(), p.is_virtual(), p.index()), (class, false, index));
                let v = Lane::virt(class, index).unwrap();
                assert_eq!((v.class(), v.is_virtual(), v.index()), (class, true, index));
            }
            assert_eq!(Lane::physical(class, class.physical_lanes()), None);
            assert_eq!(Lane::virt(class, Lane::MAX_VIRTUAL + 1), None);
        }
    }

    #[test]
    fn spans_stay_inside_their_class() {
        let r254 = Lane::physical(RegClass::Gpr, 254).unwrap();
        assert!(Span::new(r254, 1).is_some());
        assert!(Span::new(r254, 2).is_none(), "R255 is the zero register, not a lane");
        assert!(Span::new(r254, 0).is_none());
        let last = Lane::virt(RegClass::Gpr, Lane::MAX_VIRTUAL).unwrap();
        assert!(Span::new(last, 2).is_none());
    }

    #[test]
    fn overlap_is_by_lane() {
        let span = |i, n| Span::new(Lane::physical(RegClass::Gpr, i).unwrap(), n).unwrap();
        assert!(span(4, 2).overlaps(span(5, 1)));
        assert!(!span(4, 2).overlaps(span(6, 2)));
        assert!(!span(2, 1).overlaps(Lane::physical(RegClass::Pred, 2).unwrap().into()));
    }
}
