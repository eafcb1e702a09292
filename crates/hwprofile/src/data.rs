//! What the data blocks of records hold: sub-records, packed bitmasks, opaque tables.
//!
//! Source: latency-model document, sub-record formats in the growable buffer; type-dependent fields of the records.

use std::fmt;
use std::num::NonZeroU32;

use serde::{Serialize, Serializer};

use crate::bytes::{get, put};

/// Bytes whose meaning the document does not give.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Block<const N: usize>(pub [u8; N]);

/// The barrier data of a barrier header or a barrier data record.
pub type BarrierTable = Block<128>;
/// The dependency tracking table of a wait or scoreboard record.
pub type DependencyTable = Block<36>;

impl<const N: usize> fmt::Display for Block<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl<const N: usize> fmt::Debug for Block<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Block({self})")
    }
}

impl<const N: usize> Serialize for Block<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A sub-record of the variant section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Variant {
    /// Where the variant comes from.
    pub source_data: u32,
    /// Flags.
    pub flags: u16,
    /// Its throughput.
    pub throughput_value: u32,
    /// An auxiliary parameter.
    pub aux_value: u32,
}

impl Variant {
    /// Size of a sub-record.
    pub const SIZE: usize = 20;

    /// The documented bytes.
    pub fn to_bytes(self) -> [u8; Self::SIZE] {
        let mut out = [0; Self::SIZE];
        put(&mut out, 0, 4, self.source_data.into());
        put(&mut out, 4, 2, self.flags.into());
        put(&mut out, 8, 4, self.throughput_value.into());
        put(&mut out, 12, 4, self.aux_value.into());
        out
    }

    /// Reads the named fields; the reserved ones are the caller's to check.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        Self {
            source_data: get(bytes, 0, 4) as u32,
            flags: get(bytes, 4, 2) as u16,
            throughput_value: get(bytes, 8, 4) as u32,
            aux_value: get(bytes, 12, 4) as u32,
        }
    }
}

/// The variant section; written only with a start index, as the document's condition is that it is not zero.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct VariantSection {
    /// Start index.
    pub start_index: NonZeroU32,
    /// The variants.
    pub variants: Vec<Variant>,
}

/// A sub-record of the dimension entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Dimension {
    /// Flags of the tree node.
    pub flags: u16,
    /// Value of the node.
    pub value: u32,
    /// Low half of the node's child pointer, as stored.
    pub child: u32,
}

impl Dimension {
    /// Size of a sub-record.
    pub const SIZE: usize = 12;

    /// The documented bytes.
    pub fn to_bytes(self) -> [u8; Self::SIZE] {
        let mut out = [0; Self::SIZE];
        put(&mut out, 0, 2, self.flags.into());
        put(&mut out, 4, 4, self.value.into());
        put(&mut out, 8, 4, self.child.into());
        out
    }

    /// Reads the named fields; the reserved one is the caller's to check.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        Self {
            flags: get(bytes, 0, 2) as u16,
            value: get(bytes, 4, 4) as u32,
            child: get(bytes, 8, 4) as u32,
        }
    }
}

/// Four bits of a class in an SM-specific table: bit `i` is set when property `i` is not 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Properties(u8);

impl Properties {
    /// The bits of a source entry's four properties.
    pub fn of(properties: [u32; 4]) -> Self {
        Self(properties.iter().enumerate().fold(0, |bits, (i, &value)| bits | u8::from(value != 1) << i))
    }

    /// The bits; `None` above four.
    pub const fn from_bits(bits: u8) -> Option<Self> {
        if bits < 16 { Some(Self(bits)) } else { None }
    }

    /// The bits.
    pub const fn bits(self) -> u8 {
        self.0
    }
}

/// The SM-specific class descriptor: a fixed 16-byte head, then the properties of the classes, eight to a word.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Default)]
#[serde(transparent)]
pub struct SmTable {
    /// The classes' properties.
    pub classes: Vec<Properties>,
}

impl SmTable {
    const HEAD: usize = 16;
    const CLASS_FLAGS: u64 = 2;
    const LATENCY_MASK: u64 = 0xFFFF_FFFF_0000_0000;
    const PER_WORD: usize = 8;

    /// Size of the table of this many classes.
    pub(crate) fn size(classes: usize) -> usize {
        Self::HEAD + 4 * classes.div_ceil(Self::PER_WORD)
    }

    /// The documented bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![0; Self::HEAD];
        put(&mut out, 0, 4, Self::CLASS_FLAGS);
        put(&mut out, 8, 8, Self::LATENCY_MASK);
        for word in self.classes.chunks(Self::PER_WORD) {
            let packed =
                word.iter().enumerate().fold(0, |bits, (i, class)| bits | u32::from(class.0) << (4 * i));
            out.extend(packed.to_le_bytes());
        }
        out
    }

    /// Reads `classes` nibbles of a block of [`Self::size`]; the head is the caller's to check.
    pub(crate) fn from_bytes(bytes: &[u8], classes: usize) -> Self {
        let nibble = |i: usize| Properties(bytes[Self::HEAD + i / 2] >> (4 * (i % 2)) & 15);
        Self { classes: (0..classes).map(nibble).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variant_and_dimension_layouts() {
        let variant = Variant { source_data: 0x0403_0201, flags: 0x0605, throughput_value: 7, aux_value: 8 };
        let bytes = variant.to_bytes();
        assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 0, 0, 7, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Variant::from_bytes(&bytes), variant);
        let dimension = Dimension { flags: 0x0201, value: 3, child: 4 };
        let bytes = dimension.to_bytes();
        assert_eq!(bytes, [1, 2, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0]);
        assert_eq!(Dimension::from_bytes(&bytes), dimension);
    }

    #[test]
    fn properties_pack_eight_to_a_word() {
        let table = SmTable {
            classes: [[1, 1, 1, 1], [0, 1, 1, 1], [1, 2, 1, 3], [9, 9, 9, 9]]
                .map(Properties::of)
                .into_iter()
                .chain((0..5).map(|_| Properties::of([1, 1, 1, 0])))
                .collect(),
        };
        let bytes = table.to_bytes();
        #[rustfmt::skip]
        assert_eq!(bytes, [
            2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF,
            0x10, 0xFA, 0x88, 0x88, 0x08, 0, 0, 0,
        ]);
        assert_eq!(bytes.len(), SmTable::size(9));
        assert_eq!(SmTable::from_bytes(&bytes, 9), table);
    }
}
