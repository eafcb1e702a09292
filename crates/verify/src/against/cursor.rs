//! Goal: reading DWARF numbers from foreign bytes without panics.

/// A position in bytes.
pub(super) struct Cursor<'d> {
    pub data: &'d [u8],
    pub at: usize,
}

impl<'d> Cursor<'d> {
    pub fn new(data: &'d [u8], at: usize) -> Cursor<'d> {
        Cursor { data, at }
    }

    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let bytes = *self.data.get(self.at..)?.first_chunk()?;
        self.at += N;
        Some(bytes)
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
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

    pub fn uleb(&mut self) -> Option<u64> {
        let (value, _) = self.leb()?;
        Some(value)
    }

    pub fn sleb(&mut self) -> Option<i64> {
        let (value, bits) = self.leb()?;
        let unused = 64 - bits.min(64);
        Some((value << unused) as i64 >> unused)
    }

    /// The number and how many bits it was given with.
    fn leb(&mut self) -> Option<(u64, u32)> {
        let (mut value, mut bits) = (0, 0);
        loop {
            let byte = self.u8()?;
            if bits >= 64 {
                return None;
            }
            value |= u64::from(byte & 0x7f) << bits;
            bits += 7;
            if byte & 0x80 == 0 {
                return Some((value, bits));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let mut cursor = Cursor::new(&[0x7f, 0x80, 1, 0x7f, 0x80, 0x7f, 0xff], 0);
        assert_eq!(cursor.uleb(), Some(127));
        assert_eq!(cursor.uleb(), Some(128));
        assert_eq!(cursor.sleb(), Some(-1));
        assert_eq!(cursor.sleb(), Some(-128));
        assert_eq!(cursor.uleb(), None, "no end");
        assert_eq!(Cursor::new(&[0x80; 20], 0).uleb(), None, "no number");
        assert_eq!(Cursor::new(&[1], 0).skip(2), None);
    }
}
