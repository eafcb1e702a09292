//! Goal: pack and unpack the six-byte scheduling descriptor.
//!
//! Source: latency-model document, scheduling descriptor layout and descriptor initialisation. The document describes
//! the six bytes through overlapping accesses: a double word at byte 0, a word at byte 2, a byte at byte 3 and a word at
//! byte 4. Laid over one another they give fields that do not overlap:
//!
//! | bits | field | the document's view |
//! |---|---|---|
//! | 0–8 | latency index | double word, mask 0x1FF |
//! | 9–14 | reserved | |
//! | 15–19 | pipe mask | double word, 0xF8000 |
//! | 20–24 | throughput class / sub-class | word at 2, 0x1F0; sub-class 0x10 to 0x40 uses its low four bits |
//! | 25–29 | pipe flags | byte at 3, 0x3E |
//! | 30–31 | reserved | |
//! | 32–36 | read barrier mask | word at 4, 0x1F |
//! | 37–41 | write barrier mask | word at 4, 0x3E0 |
//! | 42–47 | reserved | |
//!
//! Two statements cannot be taken literally. The layout puts the sub-class in bits 0 to 3 of the word at 2, which are
//! the upper bits of the pipe mask, while its printed values (0x10 to 0x40) sit in bits 4 to 7, as the later encoding
//! table says: the values win. There the sub-class lies inside the throughput class, so the two are one field here, and
//! writing a sub-class replaces the maximum-throughput sentinel.

use crate::{LatencyIndex, PipeFlags, PipeMask, SubClass};

/// The 48 bits of a descriptor. Reserved bits survive every edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Descriptor(u64);

/// The fields of a descriptor. Barrier masks have five bits each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DescriptorFields {
    /// Index into the architecture's latency table.
    pub latency_index: LatencyIndex,
    /// Execution pipe.
    pub pipe_mask: PipeMask,
    /// Sub-class, which is also the throughput class.
    pub sub_class: SubClass,
    /// Sub-unit affinity.
    pub pipe_flags: PipeFlags,
    /// Read barrier mask; bits above the fifth do not fit and are rejected by [`Descriptor::pack`].
    pub read_barriers: u8,
    /// Write barrier mask, likewise.
    pub write_barriers: u8,
}

/// (lowest bit, width) of each field.
const INDEX: (u32, u32) = (0, 9);
const PIPE_MASK: (u32, u32) = (15, 5);
const SUB_CLASS: (u32, u32) = (20, 5);
const PIPE_FLAGS: (u32, u32) = (25, 5);
const READ: (u32, u32) = (32, 5);
const WRITE: (u32, u32) = (37, 5);

impl Descriptor {
    /// Every pipe, every flag, every barrier, maximum throughput, index 0: where classification starts from.
    pub const ALL_PIPES: Self = Self(0xF8000 | 0x1F0 << 16 | 0x3E << 24 | 0x1F << 32 | 0x3E0 << 32);

    /// From raw bits; `None` beyond 48.
    pub const fn from_bits(bits: u64) -> Option<Self> {
        if bits >> 48 == 0 { Some(Self(bits)) } else { None }
    }

    /// The raw bits.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The six bytes, little endian.
    pub fn to_bytes(self) -> [u8; 6] {
        let [a, b, c, d, e, f, ..] = self.0.to_le_bytes();
        [a, b, c, d, e, f]
    }

    /// From six little-endian bytes.
    pub fn from_bytes([a, b, c, d, e, f]: [u8; 6]) -> Self {
        Self(u64::from_le_bytes([a, b, c, d, e, f, 0, 0]))
    }

    /// Packs fields with reserved bits zero; `None` when a barrier mask exceeds five bits.
    pub fn pack(fields: &DescriptorFields) -> Option<Self> {
        Self(0).with(fields)
    }

    /// Replaces every field and keeps the reserved bits; `None` when a barrier mask exceeds five bits.
    pub fn with(self, fields: &DescriptorFields) -> Option<Self> {
        if fields.read_barriers > 0x1F || fields.write_barriers > 0x1F {
            return None;
        }
        Some(
            self.set(INDEX, fields.latency_index.get())
                .set(PIPE_MASK, fields.pipe_mask.bits().into())
                .set(SUB_CLASS, fields.sub_class.bits().into())
                .set(PIPE_FLAGS, fields.pipe_flags.bits().into())
                .set(READ, fields.read_barriers.into())
                .set(WRITE, fields.write_barriers.into()),
        )
    }

    /// All fields.
    pub fn unpack(self) -> DescriptorFields {
        let five = |field| self.get(field) as u8;
        DescriptorFields {
            latency_index: LatencyIndex::new(self.get(INDEX)).expect("nine bits"),
            pipe_mask: PipeMask::new(five(PIPE_MASK)).expect("five bits"),
            sub_class: SubClass::new(five(SUB_CLASS)).expect("five bits"),
            pipe_flags: PipeFlags::new(five(PIPE_FLAGS)).expect("five bits"),
            read_barriers: five(READ),
            write_barriers: five(WRITE),
        }
    }

    const fn get(self, (lo, width): (u32, u32)) -> u16 {
        (self.0 >> lo) as u16 & ((1 << width) - 1)
    }

    const fn set(self, (lo, width): (u32, u32), value: u16) -> Self {
        let mask = ((1u64 << width) - 1) << lo;
        Self(self.0 & !mask | (value as u64) << lo & mask)
    }
}
