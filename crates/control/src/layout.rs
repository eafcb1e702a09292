//! Where each control field sits, as data.
//!
//! Source: ptxas output. The encoder table of `latency-model` differs in the order of the scoreboards, which no code has; the
//! bit ranges that `ptxas-scheduling` prints name no six scoreboards.

use crate::RawControl;

/// A field of the control word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Field {
    /// Cycles before the next instruction of the warp may issue.
    Stall,
    /// Clear = the group ends here and another warp may issue; set = keep going.
    Yield,
    /// Scoreboard raised until the result is written; 7 = none.
    Write,
    /// Scoreboard raised until the sources are read; 7 = none.
    Read,
    /// Scoreboards that must be zero before this instruction issues, one bit each.
    Wait,
    /// Operand slots whose register stays in the reuse cache, one bit each.
    Reuse,
}

impl Field {
    /// All fields, in the hardware's order from the least significant bit.
    pub const ALL: [Self; 6] = [Self::Stall, Self::Yield, Self::Write, Self::Read, Self::Wait, Self::Reuse];
}

/// The position of one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which field.
    pub field: Field,
    /// Least significant bit.
    pub lsb: u32,
    /// Number of bits.
    pub width: u32,
}

impl Place {
    const fn mask(self) -> u32 {
        (1 << self.width) - 1
    }

    /// The field's value in `word`.
    pub const fn get(self, word: u32) -> u8 {
        ((word >> self.lsb) & self.mask()) as u8
    }

    /// `word` with the field replaced; `None` when `value` is too large for it.
    pub const fn set(self, word: u32, value: u8) -> Option<u32> {
        if value as u32 > self.mask() {
            return None;
        }
        Some(word & !(self.mask() << self.lsb) | (value as u32) << self.lsb)
    }
}

/// A value that does not fit its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("value {value} does not fit the {width}-bit field {field:?}")]
pub struct FieldOverflow {
    /// The field.
    pub field: Field,
    /// The value offered.
    pub value: u8,
    /// The field's width.
    pub width: u32,
}

/// An order of the six fields that tiles 21 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    places: [Place; 6],
}

impl Layout {
    /// Packs fields of the given widths one after the other from bit 0.
    const fn packed(order: [(Field, u32); 6]) -> Self {
        let mut places = [Place { field: Field::Stall, lsb: 0, width: 0 }; 6];
        let (mut i, mut lsb) = (0, 0);
        while i < order.len() {
            places[i] = Place { field: order[i].0, lsb, width: order[i].1 };
            lsb += order[i].1;
            i += 1;
        }
        assert!(lsb == RawControl::BITS);
        Self { places }
    }

    /// Where `field` sits.
    pub const fn place(&self, field: Field) -> Place {
        let mut i = 0;
        while self.places[i].field as u8 != field as u8 {
            i += 1;
        }
        self.places[i]
    }
}

/// The order used by the hardware (ptxas 12.9 and 13.4 output, sm_50 to sm_121), in a slot of an sm_50–62 word and from bit 105 of an sm_70+ instruction alike.
pub const HARDWARE: Layout = Layout::packed([
    (Field::Stall, 4),
    (Field::Yield, 1),
    (Field::Write, 3),
    (Field::Read, 3),
    (Field::Wait, 6),
    (Field::Reuse, 4),
]);
