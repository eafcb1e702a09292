//! Numbers in the disassembler's spelling.

use std::fmt::{self, Write};
use std::ops::RangeInclusive;

/// Significant digits of a floating-point immediate.
const DIGITS: usize = 20;
/// Set in an FP64 number that is a quiet NaN.
const QUIET: u64 = 1 << 51;
/// The smallest and largest decimal exponent that is written without one.
const FIXED: RangeInclusive<i32> = -4..=8;

/// An integer: sign and hexadecimal magnitude.
pub(super) fn hex(out: &mut impl Write, value: i64) -> fmt::Result {
    let sign = if value < 0 { "-" } else { "" };
    write!(out, "{sign}{:#x}", value.unsigned_abs())
}

/// A floating-point number: 20 digits with trailing zeros dropped; large ones with an exponent and all 21 digits.
pub(super) fn float(out: &mut impl Write, value: f64) -> fmt::Result {
    let sign = |plus| if value.is_sign_negative() { "-" } else { plus };
    if value.is_nan() {
        let kind = if value.to_bits() & QUIET == 0 { 'S' } else { 'Q' };
        return write!(out, "{}{kind}NAN", sign("+"));
    }
    if value.is_infinite() {
        return write!(out, "{}INF", sign("+"));
    }
    if value == 0.0 {
        return out.write_str(if value.is_sign_negative() { "-0.0" } else { "0" });
    }
    out.write_str(sign(""))?;
    let text = format!("{:.*e}", DIGITS - 1, value.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if exponent > *FIXED.end() {
        // One digit more, and zeros stay.
        let text = format!("{:.*e}", DIGITS, value.abs());
        let mantissa = text.split('e').next().unwrap_or(&text);
        return write!(out, "{mantissa}e+{exponent:02}");
    }
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let digits = digits.trim_end_matches('0');
    if exponent < *FIXED.start() {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        return write!(out, "{first}{point}{rest}e-{:02}", exponent.unsigned_abs());
    }
    if exponent < 0 {
        return write!(out, "0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1));
    }
    let whole = exponent as usize + 1;
    if digits.len() <= whole {
        return write!(out, "{digits}{}", "0".repeat(whole - digits.len()));
    }
    let (whole, rest) = digits.split_at(whole);
    write!(out, "{whole}.{rest}")
}

/// The value of a 32-bit floating-point number; the disassembler calls every NaN quiet.
pub(super) fn single(bits: u32) -> f64 {
    let value = f32::from_bits(bits);
    if value.is_nan() {
        f64::NAN.copysign(if value.is_sign_negative() { -1.0 } else { 1.0 })
    } else {
        f64::from(value)
    }
}

/// The value of a 16-bit floating-point number.
pub(super) fn half(bits: u16) -> f64 {
    let magnitude = match (bits >> 10 & 0x1f, f64::from(bits & 0x3ff)) {
        (0, mantissa) => mantissa * f64::powi(2.0, -24),
        (0x1f, 0.0) => f64::INFINITY,
        (0x1f, _) => f64::NAN,
        (exponent, mantissa) => (1024.0 + mantissa) * f64::powi(2.0, i32::from(exponent) - 25),
    };
    magnitude.copysign(if bits >> 15 == 1 { -1.0 } else { 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: f64) -> String {
        let mut out = String::new();
        float(&mut out, value).unwrap();
        out
    }

    #[test]
    fn floats_read_as_the_disassembler_writes_them() {
        let cases = [
            (f64::from(f32::MAX), "3.40282346638528859812e+38"),
            (f64::from(f32::from_bits(0x60ad_78ec)), "1.00000002004087734272e+20"),
            (f64::from(f32::from_bits(0x0020_0003)), "2.9387400809511117444e-39"),
            (16_777_216.0, "16777216"),
            (-2.5, "-2.5"),
            (1e9, "1.00000000000000000000e+09"),
            (18_014_398_509_481_984.0, "1.80143985094819840000e+16"),
            (f64::from(0.1f32), "0.10000000149011611938"),
            (f64::from(0.001f32), "0.0010000000474974513054"),
            (f64::from(0.0001f32), "9.9999997473787516356e-05"),
            (-0.0, "-0.0"),
            (0.0, "0"),
            (f64::NEG_INFINITY, "-INF"),
            (f64::NAN, "+QNAN"),
            (f64::from_bits(0xfff6_0000_0000_0000), "-SNAN"),
            (single(0x7f80_0001), "+QNAN"),
            (single(0xff80_0001), "-QNAN"),
            (half(0x3c00), "1"),
            (half(0x0003), "1.78813934326171875e-07"),
            (half(0x7c00), "+INF"),
            (half(0xfe00), "-QNAN"),
        ];
        for (value, expected) in cases {
            assert_eq!(text(value), expected);
        }
    }

    #[test]
    fn integers_carry_their_sign_in_front() {
        let mut out = String::new();
        hex(&mut out, -0x7_fffd).unwrap();
        hex(&mut out, i64::MIN).unwrap();
        assert_eq!(out, "-0x7fffd-0x8000000000000000");
    }
}
