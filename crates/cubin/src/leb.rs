//! Goal: a cursor over DWARF bytes: LEB128 numbers and fixed integers.

/// Reads forward; `None` at the end of the bytes or on a number too large.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'d> {
    pub data: &'d [u8],
    pub at: usize,
}

impl<'d> Cursor<'d> {
    pub fn new(data: &'d [u8], at: usize) -> Self {
        Self { data, at }
    }

    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let bytes = *self.data.get(self.at..)?.first_chunk()?;
        self.at += N;
        Some(bytes)
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn skip(&mut self, len: u64) -> Option<()> {
        let end = self.at.checked_add(usize::try_from(len).ok()?)?;
        (end <= self.data.len()).then(|| self.at = end)
    }

    /// The value's 64 low bits, sign-extended or not.
    fn leb(&mut self, signed: bool) -> Option<u64> {
        let (mut value, mut shift) = (0u64, 0);
        loop {
            let byte = self.u8()?;
            if shift < 64 {
                value |= u64::from(byte & 0x7f) << shift;
            }
            shift += 7;
            if byte & 0x80 == 0 {
                if signed && byte & 0x40 != 0 && shift < 64 {
                    value |= u64::MAX << shift;
                }
                return (shift <= 70).then_some(value);
            }
        }
    }

    pub fn uleb(&mut self) -> Option<u64> {
        self.leb(false)
    }

    pub fn sleb(&mut self) -> Option<i64> {
        self.leb(true).map(|value| value as i64)
    }
}

pub(crate) fn push_uleb(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            return out.push(byte);
        }
        out.push(byte | 0x80);
    }
}

pub(crate) fn push_sleb(out: &mut Vec<u8>, mut value: i64) {
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        if value == i64::from(byte as i8) << 57 >> 63 {
            return out.push(byte);
        }
        out.push(byte | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(signed: i64, unsigned: u64, small in -300i64..300) {
            for value in [signed, small] {
                let mut out = Vec::new();
                push_sleb(&mut out, value);
                prop_assert_eq!(Cursor::new(&out, 0).sleb(), Some(value));
            }
            let mut out = Vec::new();
            push_uleb(&mut out, unsigned);
            prop_assert_eq!(Cursor::new(&out, 0).uleb(), Some(unsigned));
        }
    }

    #[test]
    fn shortest_form() {
        let bytes = |value| {
            let mut out = Vec::new();
            push_sleb(&mut out, value);
            out
        };
        assert_eq!(bytes(63), [0x3f]);
        assert_eq!(bytes(64), [0xc0, 0]);
        assert_eq!(bytes(-64), [0x40]);
        assert_eq!(bytes(-65), [0xbf, 0x7f]);
    }
}
