//! Numbers of PTX: decimal, octal, hexadecimal, binary, and floating point as bits.

/// The value, or the bits of a floating-point number; `None` when it is no number of 64 bits.
pub fn parse_number(text: &str) -> Option<i64> {
    if let Some(bits) = text.strip_prefix("0f").or_else(|| text.strip_prefix("0F")) {
        return u32::from_str_radix(bits, 16).ok().map(i64::from);
    }
    if let Some(bits) = text.strip_prefix("0d").or_else(|| text.strip_prefix("0D")) {
        return u64::from_str_radix(bits, 16).ok().map(u64::cast_signed);
    }
    if text.contains('.') {
        return text.parse::<f64>().ok().map(|value| value.to_bits().cast_signed());
    }
    let digits = text.strip_suffix(['u', 'U']).unwrap_or(text);
    let (digits, radix) = match digits.get(..2) {
        Some("0x" | "0X") => (&digits[2..], 16),
        Some("0b" | "0B") => (&digits[2..], 2),
        _ if digits.len() > 1 && digits.starts_with('0') => (&digits[1..], 8),
        _ => (digits, 10),
    };
    u64::from_str_radix(digits, radix).ok().map(u64::cast_signed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_number() {
        assert_eq!(parse_number("42"), Some(42));
        assert_eq!(parse_number("42U"), Some(42));
        assert_eq!(parse_number("0x1F"), Some(31));
        assert_eq!(parse_number("0b101"), Some(5));
        assert_eq!(parse_number("017"), Some(15));
        assert_eq!(parse_number("0"), Some(0));
        assert_eq!(parse_number("0f3F800000"), Some(0x3F80_0000));
        assert_eq!(parse_number("0dBFF0000000000000"), Some((-1.0_f64).to_bits().cast_signed()));
        assert_eq!(parse_number("1.5"), Some(1.5_f64.to_bits().cast_signed()));
        assert_eq!(parse_number("18446744073709551615"), Some(-1));
        assert_eq!(parse_number("18446744073709551616"), None);
        assert_eq!(parse_number("0xZ"), None);
    }
}
