//! Values gathered from one or more bit ranges of a 64-bit word.

use smallvec::SmallVec;

use crate::table::Bits;

/// A value made of bit ranges, the first range lowest: `20..39+56`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field(SmallVec<[Bits; 2]>);

impl Field {
    pub fn new(pieces: SmallVec<[Bits; 2]>) -> Result<Field, String> {
        let mut seen = 0u64;
        for bits in &pieces {
            let mask = Field::mask_of(*bits);
            if u32::from(bits.lo()) + u32::from(bits.len()) > u64::BITS || seen & mask != 0 {
                return Err(format!("bits {bits} leave the word or are named twice"));
            }
            seen |= mask;
        }
        if pieces.is_empty() { Err("no bits".into()) } else { Ok(Field(pieces)) }
    }

    /// One range; `None` outside the word.
    pub fn range(lo: u8, len: u8) -> Option<Field> {
        let mut pieces = SmallVec::new();
        pieces.push(Bits::new(lo, len)?);
        Field::new(pieces).ok()
    }

    fn mask_of(bits: Bits) -> u64 {
        bits.set(0, u64::MAX) as u64
    }

    /// The bits it is made of.
    pub fn mask(&self) -> u64 {
        self.0.iter().fold(0, |mask, bits| mask | Field::mask_of(*bits))
    }

    /// How many bits.
    pub fn width(&self) -> u32 {
        self.mask().count_ones()
    }

    /// Its bits when they are one range.
    pub fn bits(&self) -> Option<Bits> {
        match self.0.as_slice() {
            [bits] => Some(*bits),
            _ => None,
        }
    }

    /// The lowest bit of the first range.
    pub fn lo(&self) -> u8 {
        self.0.first().map_or(0, |bits| bits.lo())
    }

    #[inline]
    pub fn get(&self, word: u64) -> u64 {
        let (mut value, mut shift) = (0, 0);
        for bits in &self.0 {
            value |= bits.get(u128::from(word)) << shift;
            shift += bits.len();
        }
        value
    }

    /// The value as a two's-complement number.
    pub fn get_signed(&self, word: u64) -> i64 {
        let unused = u64::BITS - self.width();
        ((self.get(word) << unused) as i64) >> unused
    }
}
