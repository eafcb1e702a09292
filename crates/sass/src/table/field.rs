//! Bit fields of a 128-bit instruction word.

use std::fmt;
use std::str::FromStr;

/// Bits `lo..hi` of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bits {
    lo: u8,
    len: u8,
}

impl Bits {
    /// `len` bits from `lo` on; `None` when empty, longer than 64 or outside the word.
    pub const fn new(lo: u8, len: u8) -> Option<Bits> {
        if len == 0 || len > 64 || lo as u32 + len as u32 > 128 { None } else { Some(Bits { lo, len }) }
    }

    /// The lowest bit.
    pub const fn lo(self) -> u8 {
        self.lo
    }

    /// How many bits.
    #[allow(clippy::len_without_is_empty)] // never empty
    pub const fn len(self) -> u8 {
        self.len
    }

    /// The value in `word`.
    #[inline]
    pub const fn get(self, word: u128) -> u64 {
        ((word >> self.lo) & ((1u128 << self.len) - 1)) as u64
    }

    /// The value in `word` as a two's-complement number.
    pub const fn get_signed(self, word: u128) -> i64 {
        let unused = 64 - self.len as u32;
        ((self.get(word) << unused) as i64) >> unused
    }

    /// The word with the field set to `value` (its low bits).
    pub const fn set(self, word: u128, value: u64) -> u128 {
        let mask = (1u128 << self.len) - 1;
        (word & !(mask << self.lo)) | ((value as u128 & mask) << self.lo)
    }
}

impl FromStr for Bits {
    type Err = String;

    /// `72` or `73..76`.
    fn from_str(text: &str) -> Result<Bits, String> {
        let number = |t: &str| t.trim().parse::<u8>().map_err(|_| format!("`{t}` is no bit number"));
        let (lo, hi) = match text.split_once("..") {
            Some((lo, hi)) => (number(lo)?, number(hi)?),
            None => (number(text)?, number(text)?.saturating_add(1)),
        };
        hi.checked_sub(lo)
            .and_then(|len| Bits::new(lo, len))
            .ok_or_else(|| format!("`{text}` is no bit range of a 128-bit word"))
    }
}

impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.lo, self.lo + self.len)
    }
}

/// Up to ten bits gathered from one or more ranges, the first range lowest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gathered(Box<[Bits]>);

impl Gathered {
    /// More bits would make the tables of their values large.
    const MOST: u32 = 10;

    /// How many bits.
    pub fn bits(&self) -> u32 {
        self.0.iter().map(|bits| u32::from(bits.len)).sum()
    }

    /// How many different values there are.
    pub fn values(&self) -> usize {
        1 << self.bits()
    }

    #[inline]
    pub fn get(&self, word: u128) -> usize {
        let mut value = 0;
        let mut shift = 0;
        for bits in &self.0 {
            value |= (bits.get(word) as usize) << shift;
            shift += bits.len;
        }
        value
    }
}

impl FromStr for Gathered {
    type Err = String;

    /// `73..76` or `75..77+80`.
    fn from_str(text: &str) -> Result<Gathered, String> {
        let parts: Vec<Bits> = text.split('+').map(str::parse).collect::<Result<_, _>>()?;
        match parts.iter().map(|bits| u32::from(bits.len)).sum::<u32>() {
            0..=Self::MOST => Ok(Gathered(parts.into())),
            n => Err(format!("`{text}` has {n} bits, at most {} are allowed", Self::MOST)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_read_back_what_they_set() {
        let bits: Bits = "40..64".parse().unwrap();
        let word = bits.set(u128::MAX, 0x80_0001);
        assert_eq!(bits.get(word), 0x80_0001);
        assert_eq!(bits.get_signed(word), -0x7f_ffff);
        assert_eq!(word | 0xff_ffff << 40, u128::MAX, "other bits stay");
    }

    #[test]
    fn ranges_outside_the_word_are_refused() {
        for bad in ["", "x", "5..5", "7..3", "120..130", "0..65", "128"] {
            assert!(bad.parse::<Bits>().is_err(), "{bad}");
        }
        assert!("0..5+8..14".parse::<Gathered>().is_err(), "eleven bits");
    }

    #[test]
    fn gathering_puts_the_first_range_lowest() {
        let g: Gathered = "4..6+0".parse().unwrap();
        assert_eq!((g.get(0b10_0001), g.values()), (0b110, 8));
    }
}
