//! The total type: any 21 bits.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

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

/// A text that is no control column.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{0}` is no control column: B------:R-:W-:-:S01 is one (waits, read and write scoreboard, yield, stall), with :abcd behind it for reuse"
)]
pub struct NotAColumn(String);

impl FromStr for RawControl {
    type Err = NotAColumn;

    /// The column that `Display` writes.
    fn from_str(text: &str) -> Result<RawControl, NotAColumn> {
        column(text).ok_or_else(|| NotAColumn(text.to_owned()))
    }
}

fn column(text: &str) -> Option<RawControl> {
    let mut parts = text.split(':');
    let mut part = |prefix: char| parts.next()?.strip_prefix(prefix);
    let bits = |text: &str, names: &[u8]| -> Option<u8> {
        let is_whole = text.len() == names.len() || names[0] == b'a' && text.len() + 1 == names.len();
        let bit = |(i, (&byte, &name)): (usize, (&u8, &u8))| match byte {
            b'-' => Some(0),
            byte => (byte == name).then_some(1 << i),
        };
        let set = text.as_bytes().iter().zip(names).enumerate().map(bit);
        is_whole.then_some(set)?.sum()
    };
    let board = |text: &str| match text.as_bytes() {
        b"-" => Some(7),
        &[digit @ b'0'..=b'6'] => Some(digit - b'0'),
        _ => None,
    };
    let wait = bits(part('B')?, b"012345")?;
    let (read, write) = (board(part('R')?)?, board(part('W')?)?);
    let no_yield = match parts.next()? {
        "-" => 1,
        "Y" => 0,
        _ => return None,
    };
    let stall = parts.next()?.strip_prefix('S').filter(|text| text.len() == 2)?;
    let stall = stall.bytes().all(|b| b.is_ascii_digit()).then(|| stall.parse().ok())??;
    let reuse = parts.next().map_or(Some(0), |text| bits(text, b"abcd"))?;
    if parts.next().is_some() {
        return None;
    }
    let fields = [
        (Field::Wait, wait),
        (Field::Read, read),
        (Field::Write, write),
        (Field::Yield, no_yield),
        (Field::Stall, stall),
        (Field::Reuse, reuse),
    ];
    fields.into_iter().try_fold(RawControl::default(), |raw, (field, value)| raw.with(field, value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_read_as_it_is_written() {
        for bits in (0..1 << RawControl::BITS).step_by(7) {
            let raw = RawControl::from_bits(bits).expect("in range");
            assert_eq!(raw.to_string().parse(), Ok(raw));
        }
        for bad in [
            "",
            "B------",
            "B------:R-:W-:-:S1",
            "B------:R8:W-:-:S01",
            "B1-----:R-:W-:-:S01",
            "B------:R-:W-:-:S16",
            "B------:R-:W-:-:S01:",
            "B------:R-:W-:-:S01:abcde",
            "B------:R-:W-:-:S01:a--:",
            "B------:R-:W-:-:S+1",
            "X",
        ] {
            assert!(bad.parse::<RawControl>().is_err(), "{bad}");
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
