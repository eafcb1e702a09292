//! Fields that templates print: any number of bit ranges, read as one number.

use std::str::FromStr;

use smallvec::SmallVec;

use crate::table::Bits;

/// Bits gathered from one or more ranges, the first range lowest; at most 64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    parts: SmallVec<[Bits; 2]>,
    len: u8,
    mask: u128,
}

impl Field {
    /// How many bits.
    pub fn len(&self) -> u8 {
        self.len
    }

    /// The bits in the word.
    pub fn mask(&self) -> u128 {
        self.mask
    }

    /// The value in `word`.
    #[inline]
    pub fn get(&self, word: u128) -> u64 {
        let (mut value, mut shift) = (0, 0);
        for bits in &self.parts {
            value |= bits.get(word) << shift;
            shift += bits.len();
        }
        value
    }

    /// The word with the field set to `value`; what does not fit is cut off.
    pub fn set(&self, word: u128, mut value: u64) -> u128 {
        let mut out = word;
        for bits in &self.parts {
            out = bits.set(out, value);
            value = value.checked_shr(bits.len().into()).unwrap_or(0);
        }
        out
    }

    /// The value in `word` as a two's-complement number.
    #[inline]
    pub fn get_signed(&self, word: u128) -> i64 {
        let unused = 64 - u32::from(self.len);
        ((self.get(word) << unused) as i64) >> unused
    }
}

impl FromStr for Field {
    type Err = String;

    /// `73..76` or `64..67+72..77`.
    fn from_str(text: &str) -> Result<Field, String> {
        let parts: SmallVec<[Bits; 2]> = text.split('+').map(str::parse).collect::<Result<_, _>>()?;
        let (mut len, mut mask) = (0u8, 0u128);
        for bits in &parts {
            let own = bits.set(0, u64::MAX);
            if mask & own != 0 {
                return Err(format!("`{text}` names a bit twice"));
            }
            mask |= own;
            len = len.saturating_add(bits.len());
        }
        if len > 64 {
            return Err(format!("`{text}` has {len} bits, at most 64 are allowed"));
        }
        Ok(Field { parts, len, mask })
    }
}

/// A condition on a field: `74=1`, `81..84!=7`, `32..40=0|255`, `32..64=pow2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Condition {
    pub field: Field,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    OneOf(SmallVec<[u64; 2]>),
    NoneOf(SmallVec<[u64; 2]>),
    PowerOfTwo,
}

impl Condition {
    /// Whether `word` fulfils it.
    #[inline]
    pub fn holds(&self, word: u128) -> bool {
        let value = self.field.get(word);
        match &self.test {
            Test::OneOf(values) => values.contains(&value),
            Test::NoneOf(values) => !values.contains(&value),
            Test::PowerOfTwo => value.is_power_of_two(),
        }
    }

    /// Whether its outcome for `word` says which value the field has.
    pub fn tells(&self, word: u128) -> bool {
        let (values, outcome) = match &self.test {
            Test::OneOf(values) => (values, true),
            Test::NoneOf(values) => (values, false),
            Test::PowerOfTwo => return false,
        };
        self.field.len() == 1 || values.len() == 1 && self.holds(word) == outcome
    }

    /// Whether only one value fulfils it.
    pub fn is_exact(&self) -> bool {
        matches!(&self.test, Test::OneOf(values) if values.len() == 1)
    }

    /// The one value with which it holds, or with which it does not; `None` where there are several.
    pub fn only_value(&self, holds: bool) -> Option<u64> {
        let (values, is_one_of) = match &self.test {
            Test::OneOf(values) => (values, true),
            Test::NoneOf(values) => (values, false),
            Test::PowerOfTwo => return None,
        };
        let &[value] = &values[..] else { return None };
        match is_one_of == holds {
            true => Some(value),
            false => (self.field.len() == 1).then(|| 1 - value),
        }
    }

    /// The values that it is about.
    pub fn values(&self) -> impl Iterator<Item = u64> + '_ {
        let values = match &self.test {
            Test::OneOf(values) => &values[..],
            Test::NoneOf(_) | Test::PowerOfTwo => &[],
        };
        values.iter().copied()
    }

    /// Conditions separated by spaces; all must hold.
    pub fn parse_all(text: &str) -> Result<Box<[Condition]>, String> {
        text.split_whitespace().map(str::parse).collect()
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Condition, String> {
        let (field, values) = text.split_once('=').ok_or_else(|| format!("`{text}` has no `=`"))?;
        let (field, negated) = match field.strip_suffix('!') {
            Some(field) => (field, true),
            None => (field, false),
        };
        let field: Field = field.parse()?;
        if values == "pow2" && !negated {
            return Ok(Condition { field, test: Test::PowerOfTwo });
        }
        let values = values
            .split('|')
            .map(|v| {
                let value = v.parse::<u64>().map_err(|_| format!("`{v}` is no value"))?;
                let fits = field.len() == 64 || value < 1 << field.len();
                if fits { Ok(value) } else { Err(format!("`{v}` does not fit the field of `{text}`")) }
            })
            .collect::<Result<_, String>>()?;
        Ok(Condition { field, test: if negated { Test::NoneOf(values) } else { Test::OneOf(values) } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_join_lowest_first() {
        let field: Field = "4..6+0".parse().unwrap();
        assert_eq!((field.get(0b10_0001), field.len(), field.mask()), (0b110, 3, 0b11_0001));
        assert_eq!((field.set(0, 0b110), field.set(0b1, 0)), (0b10_0001, 0));
        let signed: Field = "0..2+8".parse().unwrap();
        assert_eq!(signed.get_signed(0x103), -1);
    }

    #[test]
    fn conditions_test_values() {
        let holds = |text: &str, word| text.parse::<Condition>().unwrap().holds(word);
        assert!(holds("0..3=1|7", 7) && !holds("0..3=1|7", 2));
        assert!(holds("0..3!=7", 6) && !holds("0..3!=7", 7));
        assert!(holds("0..8=pow2", 64) && !holds("0..8=pow2", 0) && !holds("0..8=pow2", 3));
    }

    #[test]
    fn only_some_outcomes_tell_the_value() {
        let tells = |text: &str, word| text.parse::<Condition>().unwrap().tells(word);
        assert!(tells("0..3=7", 7) && !tells("0..3=7", 6) && !tells("0..3=1|7", 7));
        assert!(tells("0..3!=7", 7) && !tells("0..3!=7", 6));
        assert!(tells("0=1", 0) && tells("0!=1", 0) && !tells("0..8=pow2", 1));
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in ["", "x=1", "0..3", "0..3=8", "0..3=a", "0..3!=pow2", "0+0=1", "0..64+64=0"] {
            assert!(bad.parse::<Condition>().is_err(), "{bad}");
        }
    }
}
