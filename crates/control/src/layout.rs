//! Where each control field sits, as data: the hardware's order and the orders that the documents print.
//!
//! Sources: `latency-model` (the control-word encoder table and the 21-bit merge of the join point), `ptxas-scheduling`
//! (the printed bit ranges), and ptxas output itself for [`HARDWARE`].

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
    /// Short name.
    pub name: &'static str,
    /// Where the order comes from.
    pub source: &'static str,
    places: [Place; 6],
}

impl Layout {
    /// Packs fields of the given widths one after the other from bit 0.
    const fn packed(name: &'static str, source: &'static str, order: [(Field, u32); 6]) -> Self {
        let mut places = [Place { field: Field::Stall, lsb: 0, width: 0 }; 6];
        let (mut i, mut lsb) = (0, 0);
        while i < order.len() {
            places[i] = Place { field: order[i].0, lsb, width: order[i].1 };
            lsb += order[i].1;
            i += 1;
        }
        assert!(lsb == RawControl::BITS);
        Self { name, source, places }
    }

    /// The fields from the least significant bit up.
    pub const fn places(&self) -> &[Place; 6] {
        &self.places
    }

    /// Where `field` sits.
    pub const fn place(&self, field: Field) -> Place {
        let mut i = 0;
        while self.places[i].field as u8 != field as u8 {
            i += 1;
        }
        self.places[i]
    }

    /// The 21-bit word of this layout for a control word.
    pub fn encode(&self, raw: RawControl) -> u32 {
        self.places.iter().fold(0, |word, place| word | u32::from(raw.get(place.field)) << place.lsb)
    }

    /// The control word that a 21-bit word of this layout stands for; higher bits of `word` are ignored.
    pub fn decode(&self, word: u32) -> RawControl {
        let bits = self
            .places
            .iter()
            .fold(0, |bits, place| bits | u32::from(place.get(word)) << HARDWARE.place(place.field).lsb);
        RawControl::from_bits_truncate(bits)
    }
}

/// The order used by the hardware, in a slot of an sm_50–62 word and from bit 105 of an sm_70+ instruction alike.
pub const HARDWARE: Layout = Layout::packed(
    "hardware",
    "ptxas 12.9 and 13.4 output, sm_50 to sm_121",
    [
        (Field::Stall, 4),
        (Field::Yield, 1),
        (Field::Write, 3),
        (Field::Read, 3),
        (Field::Wait, 6),
        (Field::Reuse, 4),
    ],
);

/// The order of the encoder table, packed from bit 0: the read barrier comes before the write barrier.
///
/// The table prints 6 bits for each barrier index; with 3 (the width of the join point's pseudocode) the fields add up
/// to the 21 bits that the same text states, so 3 is the reading taken.
pub const LATENCY_MODEL: Layout = Layout::packed(
    "latency-model",
    "latency-model, Stall Encoding in Control Words",
    [
        (Field::Stall, 4),
        (Field::Yield, 1),
        (Field::Read, 3),
        (Field::Write, 3),
        (Field::Wait, 6),
        (Field::Reuse, 4),
    ],
);

/// A field of [`PTXAS_SCHEDULING`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrintedField {
    /// Its name in the document.
    pub name: &'static str,
    /// Least significant bit.
    pub lsb: u32,
    /// Number of bits.
    pub width: u32,
    /// What the document says it holds.
    pub meaning: &'static str,
}

impl PrintedField {
    /// The field's value in `word`.
    pub const fn get(&self, word: u32) -> u32 {
        (word >> self.lsb) & ((1 << self.width) - 1)
    }
}

/// The bit ranges printed by `ptxas-scheduling`, SASS Control Word Encoding.
///
/// Only the stall and yield fields agree with the hardware: a five-bit mask cannot name six scoreboards and nothing
/// holds the read scoreboard, so this is a way to *view* 21 bits and no translation from or to [`RawControl`]'s fields
/// exists. The yield polarity it states ("1 = suggest warp switch") is also the inverse of the hardware's.
pub const PTXAS_SCHEDULING: [PrintedField; 5] = [
    PrintedField { name: "stall count", lsb: 0, width: 4, meaning: "0-15 cycles" },
    PrintedField { name: "yield hint", lsb: 4, width: 1, meaning: "1 = suggest warp switch" },
    PrintedField {
        name: "write barrier index",
        lsb: 5,
        width: 5,
        meaning: "scoreboard to signal on completion",
    },
    PrintedField { name: "read barrier mask", lsb: 10, width: 5, meaning: "scoreboards to wait on" },
    PrintedField { name: "barrier count", lsb: 15, width: 6, meaning: "dual-issue marker, reserved bits" },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_ranges_tile_the_21_bits() {
        let mut next = 0;
        for field in &PTXAS_SCHEDULING {
            assert_eq!(field.lsb, next, "{}", field.name);
            next += field.width;
        }
        assert_eq!(next, RawControl::BITS);
    }

    #[test]
    fn every_layout_is_a_bijection_over_the_whole_space() {
        for layout in [HARDWARE, LATENCY_MODEL] {
            for bits in 0..1 << RawControl::BITS {
                let raw = RawControl::from_bits(bits).expect("in range");
                assert_eq!(layout.decode(layout.encode(raw)), raw, "{}", layout.name);
            }
        }
    }

    #[test]
    #[expect(clippy::unusual_byte_groupings, reason = "grouped by field")]
    fn the_encoder_table_differs_from_the_hardware_in_the_barrier_order_only() {
        let raw = RawControl::from_fields([4, 1, 2, 5, 0b10_0001, 0b0011]).expect("fits");
        assert_eq!(HARDWARE.encode(raw), 0b0011_100001_101_010_1_0100);
        assert_eq!(LATENCY_MODEL.encode(raw), 0b0011_100001_010_101_1_0100);
    }
}
