//! How numbers are spelled: hexadecimal integers with a sign, and floats in C's `%.20g` (`%.20e` from 1e9 on).

use std::fmt::{self, Write};

/// The floating-point formats of immediates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Float {
    /// IEEE half.
    F16,
    /// bfloat16: the upper half of a single.
    BF16,
    /// IEEE single.
    F32,
    /// The upper half of an IEEE double.
    F64,
}

/// Magnitudes from here on are spelled with an exponent and every digit.
const SCIENTIFIC: f64 = 1e9;
/// Significant digits of `%.20g`.
const DIGITS: usize = 20;

impl Float {
    /// How many bits of the word hold one.
    pub fn bits(self) -> u8 {
        match self {
            Float::F16 | Float::BF16 => 16,
            Float::F32 | Float::F64 => 32,
        }
    }

    /// Width of the fraction field.
    fn fraction(self) -> u32 {
        match self {
            Float::F16 => 10,
            Float::BF16 => 7,
            Float::F32 => 23,
            Float::F64 => 20,
        }
    }

    fn value(self, raw: u64) -> f64 {
        match self {
            Float::F32 => f64::from(f32::from_bits(raw as u32)),
            Float::BF16 => f64::from(f32::from_bits((raw as u32) << 16)),
            Float::F64 => f64::from_bits(raw << 32),
            Float::F16 => {
                let (exponent, fraction) = ((raw >> 10 & 0x1f) as i32, (raw & 0x3ff) as f64);
                let magnitude = match exponent {
                    0 => fraction * 2f64.powi(-24),
                    e => (1024.0 + fraction) * 2f64.powi(e - 25),
                };
                if raw >> 15 & 1 == 1 { -magnitude } else { magnitude }
            }
        }
    }

    /// The bits of a number as [`Float::write`] spells it; of those that round to the same the nearest.
    pub fn read(self, text: &str) -> Option<u64> {
        let width = u32::from(self.bits());
        let fraction = (1u64 << self.fraction()) - 1;
        let sign = u64::from(text.starts_with('-')) << (width - 1);
        let infinity = ((1u64 << (width - 1)) - 1) & !fraction;
        match text.trim_start_matches(['+', '-']) {
            "INF" => return Some(sign | infinity),
            "QNAN" => return Some(sign | infinity | fraction),
            rest if !rest.starts_with(|c: char| c.is_ascii_digit()) => return None,
            _ => {}
        }
        let value: f64 = text.parse().ok()?;
        Some(match self {
            Float::F32 => u64::from((value as f32).to_bits()),
            Float::BF16 => u64::from((value as f32).to_bits() >> 16),
            Float::F64 => value.to_bits() >> 32,
            Float::F16 => {
                let bits = value.abs().to_bits();
                let exponent = (bits >> 52) as i64 - 1023;
                sign | match exponent {
                    16.. => return None,
                    -14.. => ((exponent + 15) as u64) << 10 | bits >> 42 & 0x3ff,
                    _ => (value.abs() * 2f64.powi(24)) as u64,
                }
            }
        })
    }

    /// Spells the number with bits `raw`. Returns whether the text tells every bit: a NaN does not show its payload, so
    /// only the all-ones one is.
    pub fn write(self, out: &mut impl Write, raw: u64) -> Result<bool, fmt::Error> {
        let width = u32::from(self.bits());
        let fraction_bits = self.fraction();
        let fraction = raw & ((1 << fraction_bits) - 1);
        let sign = raw >> (width - 1) & 1 == 1;
        let all_ones = (1u64 << (width - 1 - fraction_bits)) - 1;
        if raw >> fraction_bits & all_ones == all_ones {
            out.write_char(if sign { '-' } else { '+' })?;
            let quiet = fraction >> (fraction_bits - 1) == 1;
            out.write_str(match (fraction, quiet) {
                (0, _) => "INF",
                (_, true) => "QNAN",
                (_, false) => "SNAN",
            })?;
            return Ok(fraction == 0 || fraction == (1 << fraction_bits) - 1);
        }
        decimal(out, self.value(raw))?;
        Ok(true)
    }
}

/// `0x1f`, `-0x8`.
pub(super) fn hex(out: &mut impl Write, value: i128) -> fmt::Result {
    if value < 0 {
        out.write_char('-')?;
    }
    let mut digits = [0u8; 32];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b"0123456789abcdef"[(rest & 0xf) as usize];
        rest >>= 4;
        if rest == 0 {
            break;
        }
    }
    out.write_str("0x")?;
    out.write_str(ascii(&digits[at..]))
}

/// `42`.
pub(super) fn small_decimal(out: &mut impl Write, value: u64) -> fmt::Result {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = value;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.write_str(ascii(&digits[at..]))
}

fn ascii(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// A stack buffer that the longest `{:.20e}` of a double fits.
#[derive(Default)]
struct Buffer {
    bytes: [u8; 32],
    len: usize,
}

impl Write for Buffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

fn decimal(out: &mut impl Write, value: f64) -> fmt::Result {
    if value == 0.0 {
        return out.write_str(if value.is_sign_negative() { "-0.0" } else { "0" });
    }
    let magnitude = value.abs();
    if value < 0.0 {
        out.write_char('-')?;
    }
    let mut buffer = Buffer::default();
    let every_digit = magnitude >= SCIENTIFIC;
    if every_digit {
        write!(buffer, "{magnitude:.20e}")?;
    } else {
        write!(buffer, "{magnitude:.0$e}", DIGITS - 1)?;
    }
    let (mantissa, exponent) = ascii(&buffer.bytes[..buffer.len]).split_once('e').ok_or(fmt::Error)?;
    let exponent: i32 = exponent.parse().map_err(|_| fmt::Error)?;
    let mantissa = if every_digit { mantissa } else { mantissa.trim_end_matches('0').trim_end_matches('.') };
    if every_digit || exponent < -4 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return write!(out, "{mantissa}e{sign}{:02}", exponent.unsigned_abs());
    }
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    match usize::try_from(exponent) {
        Err(_) => write!(out, "0.{:0<1$}{whole}{fraction}", "", exponent.unsigned_abs() as usize - 1),
        Ok(point) if point >= fraction.len() => {
            write!(out, "{whole}{fraction}{:0<1$}", "", point - fraction.len())
        }
        Ok(point) => write!(out, "{whole}{}.{}", &fraction[..point], &fraction[point..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float(kind: Float, raw: u64) -> String {
        let mut out = String::new();
        kind.write(&mut out, raw).unwrap();
        out
    }

    fn single(value: f32) -> String {
        float(Float::F32, value.to_bits().into())
    }

    #[test]
    fn singles_are_spelled_like_nvdisasm_does() {
        for (value, text) in [
            (1.0, "1"),
            (-1.0, "-1"),
            (0.0, "0"),
            (-0.0, "-0.0"),
            (0.1, "0.10000000149011611938"),
            (123_456.79, "123456.7890625"),
            (16_777_216.0, "16777216"),
            (1e8, "100000000"),
            (1e9, "1.00000000000000000000e+09"),
            (1e20, "1.00000002004087734272e+20"),
            (f32::MIN, "-3.40282346638528859812e+38"),
            (1e-4, "9.9999997473787516356e-05"),
            (1.1e-4, "0.00011000000085914507508"),
            (0.001, "0.0010000000474974513054"),
            (123.456, "123.45600128173828125"),
            (f32::from_bits(1), "1.4012984643248170709e-45"),
            (f32::INFINITY, "+INF"),
            (f32::NEG_INFINITY, "-INF"),
            (f32::from_bits(0x7fff_ffff), "+QNAN"),
            (f32::from_bits(0xff80_0001), "-SNAN"),
        ] {
            assert_eq!(single(value), text);
        }
    }

    #[test]
    fn halves_and_doubles_follow() {
        assert_eq!(float(Float::F16, 0x7bff), "65504");
        assert_eq!(float(Float::F16, 0x8001), "-5.9604644775390625e-08");
        assert_eq!(float(Float::F16, 0x3555), "0.333251953125");
        assert_eq!(float(Float::F16, 0xfc00), "-INF");
        assert_eq!(float(Float::BF16, 0x3f80), "1");
        assert_eq!(float(Float::F64, 0x3fb9_9999), "0.099999964237213134766");
        assert_eq!(float(Float::F64, 0x7ff0_0001), "+SNAN");
    }

    #[test]
    fn what_is_spelled_is_read_back() {
        for kind in [Float::F16, Float::BF16, Float::F32, Float::F64] {
            let step = (1u64 << kind.bits()) / 65_536;
            for raw in (0..65_536).map(|i| i * step) {
                let mut text = String::new();
                if kind.write(&mut text, raw).unwrap() {
                    assert_eq!(kind.read(&text), Some(raw), "{kind:?} {text}");
                }
            }
            assert_eq!([kind.read("x"), kind.read(""), kind.read("-"), kind.read("SNAN")], [None; 4]);
        }
    }

    #[test]
    fn only_one_nan_is_told_by_its_name() {
        let complete = |raw| Float::F32.write(&mut String::new(), raw).unwrap();
        assert!(complete(0x7fff_ffff) && complete(0xff80_0000) && !complete(0x7fc0_0000));
    }

    #[test]
    fn integers_are_hexadecimal_with_a_sign() {
        let text = |value| {
            let mut out = String::new();
            hex(&mut out, value).unwrap();
            out
        };
        assert_eq!([text(0), text(0x1f), text(-8)], ["0x0", "0x1f", "-0x8"]);
        assert_eq!(text(i128::from(i64::MIN)), "-0x8000000000000000");
    }
}
