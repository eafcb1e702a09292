//! The total type: any 21 bits.

use std::fmt;
use std::str::FromStr;

use crate::layout::{Field, FieldOverflow, HARDWARE};

/// The 21 control bits of one instruction, legal or not, in [`HARDWARE`] order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct RawControl(u32);

impl RawControl {
    /// Bits per instruction.
    pub const BITS: u32 = 21;
    const MASK: u32 = (1 << Self::BITS) - 1;

    /// The control word of the low 21 bits.
    pub const fn from_bits_truncate(bits: u32) -> Self {
        Self(bits & Self::MASK)
    }

    /// The bits.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Assembles the fields, given in [`Field::ALL`] order.
    pub const fn from_fields(values: [u8; 6]) -> Result<Self, FieldOverflow> {
        let (mut raw, mut i) = (Self(0), 0);
        while i < values.len() {
            raw = match raw.with(Field::ALL[i], values[i]) {
                Ok(raw) => raw,
                Err(overflow) => return Err(overflow),
            };
            i += 1;
        }
        Ok(raw)
    }

    /// The fields in [`Field::ALL`] order.
    pub fn fields(self) -> [u8; 6] {
        Field::ALL.map(|field| self.get(field))
    }

    /// The value of one field.
    pub const fn get(self, field: Field) -> u8 {
        HARDWARE.place(field).get(self.0)
    }

    /// The word with one field replaced.
    pub const fn with(self, field: Field, value: u8) -> Result<Self, FieldOverflow> {
        let place = HARDWARE.place(field);
        match place.set(self.0, value) {
            Some(bits) => Ok(Self(bits)),
            None => Err(FieldOverflow { field, value, width: place.width }),
        }
    }
}

impl fmt::Debug for RawControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawControl({:#08x}, {self})", self.0)
    }
}

/// A compact column: wait mask, read scoreboard, write scoreboard, yield, stall, and the reuse slots if any is set:
/// `B0-2---:R-:W1:Y:S04:ab-`. `Y` is printed when the yield bit is *clear*, which is what makes the warp yield.
impl fmt::Display for RawControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::from("B");
        let wait = self.get(Field::Wait);
        text.extend((0..6u8).map(|i| if wait >> i & 1 == 1 { char::from(b'0' + i) } else { '-' }));
        for (label, field) in [(":R", Field::Read), (":W", Field::Write)] {
            text.push_str(label);
            text.push(match self.get(field) {
                7 => '-',
                n => char::from(b'0' + n),
            });
        }
        text.push_str(if self.get(Field::Yield) == 0 { ":Y" } else { ":-" });
        text.push_str(&format!(":S{:02}", self.get(Field::Stall)));
        let reuse = self.get(Field::Reuse);
        if reuse != 0 {
            text.push(':');
            text.extend(
                (0..4u8)
                    .filter(|&i| i < 3 || reuse >> i & 1 == 1)
                    .map(|i| if reuse >> i & 1 == 1 { char::from(b'a' + i) } else { '-' }),
            );
        }
        f.pad(&text)
    }
}

/// A text that is not the column of a control word.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no control column; one is `B------:R-:W-:Y:S01`: scoreboards waited for, read and write scoreboard, `Y` to yield, \
     stall cycles, and behind another `:` the reuse slots `abcd`"
)]
pub struct ColumnError(String);

/// Reads what [`fmt::Display`] writes, and nothing else: every control word has one spelling.
impl FromStr for RawControl {
    type Err = ColumnError;

    fn from_str(text: &str) -> Result<Self, ColumnError> {
        read(text).filter(|raw| raw.to_string() == text).ok_or_else(|| ColumnError(text.to_owned()))
    }
}

/// The control word of a column; spellings that no column has may be among them.
fn read(text: &str) -> Option<RawControl> {
    let mut parts = text.split(':');
    let wait = parts.next()?.strip_prefix('B')?;
    let wait = wait
        .bytes()
        .filter(|digit| *digit != b'-')
        .try_fold(0u8, |mask, digit| Some(mask | 1u8.checked_shl(u32::from(digit.checked_sub(b'0')?))?))?;
    let mut board = |label: char| match parts.next()?.strip_prefix(label)? {
        "-" => Some(7),
        digit => digit.parse().ok(),
    };
    let (read, write) = (board('R')?, board('W')?);
    let yields = u8::from(parts.next()? != "Y");
    let stall = parts.next()?.strip_prefix('S')?.parse().ok()?;
    let slots = parts.next().unwrap_or_default().bytes().filter(|slot| *slot != b'-');
    let reuse = slots
        .map(|slot| slot.checked_sub(b'a'))
        .try_fold(0u8, |mask, slot| Some(mask | 1u8.checked_shl(u32::from(slot?))?))?;
    let fields = [
        (Field::Wait, wait),
        (Field::Read, read),
        (Field::Write, write),
        (Field::Yield, yields),
        (Field::Stall, stall),
        (Field::Reuse, reuse),
    ];
    fields.into_iter().try_fold(RawControl::default(), |raw, (field, value)| raw.with(field, value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_read_back_and_nothing_else_is() {
        // Every value of every field beside all others at rest, and mixtures of all.
        for bits in (0..1 << RawControl::BITS).step_by(7) {
            let raw = RawControl::from_bits_truncate(bits);
            assert_eq!(raw.to_string().parse(), Ok(raw));
        }
        for wrong in [
            "",
            "B",
            "B------:R-:W-:Y",
            "B------:R-:W-:Y:S1",
            "B------:R-:W-:Y:S16",
            "B1-----:R-:W-:Y:S01",
            "B------:R9:W-:Y:S01",
            "B------:W-:R-:Y:S01",
            "B------:R-:W-:Y:S01:---",
            "B------:R-:W-:Y:S01:b--",
            "B------:R-:W-:Y:S01:a--:x",
            "BÿÿÿÿÿÿR",
            "B------:R7:W-:Y:S01",
            "B------:R-:W-:n:S01",
            "B------:R-:W-:Y:S01:z",
        ] {
            assert!(wrong.parse::<RawControl>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn fields_and_bits_are_inverse_over_the_whole_space() {
        for bits in 0..1 << RawControl::BITS {
            let raw = RawControl::from_bits_truncate(bits);
            assert_eq!(RawControl::from_fields(raw.fields()), Ok(raw));
            assert_eq!(raw.bits(), bits);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(
            RawControl::default().with(Field::Wait, 64),
            Err(FieldOverflow { field: Field::Wait, value: 64, width: 6 })
        );
        assert!(RawControl::from_fields([16, 0, 0, 0, 0, 0]).is_err());
    }

    #[test]
    fn the_column_is_compact_and_pads() {
        let raw = RawControl::from_fields([4, 0, 1, 7, 0b101, 0]).expect("fits");
        assert_eq!(raw.to_string(), "B0-2---:R-:W1:Y:S04");
        assert_eq!(format!("{raw:24}|"), "B0-2---:R-:W1:Y:S04     |");
        let raw = RawControl::from_fields([11, 1, 6, 5, 0b11_1111, 0b1010]).expect("fits");
        assert_eq!(raw.to_string(), "B012345:R5:W6:-:S11:-b-d");
    }
}
