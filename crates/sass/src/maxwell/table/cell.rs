//! Reading the small languages of the cells.

use smallvec::SmallVec;

use super::field::Field;
use crate::table::Bits;

/// What is left of a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    pub rest: &'a str,
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str) -> Cursor<'a> {
        Cursor { rest: text }
    }

    /// Takes `prefix` where it comes next.
    pub fn eat(&mut self, prefix: &str) -> bool {
        self.rest.strip_prefix(prefix).map(|rest| self.rest = rest).is_some()
    }

    /// Fails unless `prefix` comes next.
    pub fn expect(&mut self, prefix: &str) -> Result<(), String> {
        if self.eat(prefix) { Ok(()) } else { Err(format!("`{prefix}` expected before `{}`", self.rest)) }
    }

    fn take(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !accept(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// A decimal number; `None` where none comes next.
    pub fn maybe_number<T: std::str::FromStr>(&mut self) -> Option<T> {
        let mut ahead = *self;
        let number = ahead.take(|c| c.is_ascii_digit()).parse().ok()?;
        *self = ahead;
        Some(number)
    }

    pub fn number<T: std::str::FromStr>(&mut self) -> Result<T, String> {
        self.maybe_number().ok_or_else(|| format!("a number expected before `{}`", self.rest))
    }

    /// A bit of the word.
    pub fn bit(&mut self) -> Result<u8, String> {
        match self.number()? {
            bit @ 0..64 => Ok(bit),
            bit => Err(format!("bit {bit} is outside the word")),
        }
    }

    /// A reuse flag of the control word.
    pub fn slot(&mut self) -> Result<u8, String> {
        match self.number()? {
            slot @ 0..4 => Ok(slot),
            slot => Err(format!("there is no reuse flag {slot}")),
        }
    }

    /// The name of a set or rule.
    pub fn name(&mut self) -> &'a str {
        self.take(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    }

    /// Text that is printed as it is, up to an `@`, `^`, `?` or the end.
    pub fn literal(&mut self) -> &'a str {
        self.take(|c| !matches!(c, '@' | '^' | '?'))
    }

    /// `20..39+56`.
    pub fn field(&mut self) -> Result<Field, String> {
        let mut pieces = SmallVec::new();
        loop {
            let lo = self.bit()?;
            let mut ahead = *self;
            let hi = if ahead.eat("..") { ahead.maybe_number::<u8>() } else { None };
            let bits = match hi {
                Some(hi) => {
                    *self = ahead;
                    hi.checked_sub(lo).and_then(|len| Bits::new(lo, len))
                }
                None => Bits::new(lo, 1),
            };
            pieces.push(bits.ok_or_else(|| format!("an empty range before `{}`", self.rest))?);
            let mut ahead = *self;
            if !(ahead.eat("+") && ahead.rest.starts_with(|c: char| c.is_ascii_digit())) {
                return Field::new(pieces);
            }
            *self = ahead;
        }
    }

    pub fn end(&self) -> Result<(), String> {
        if self.rest.is_empty() { Ok(()) } else { Err(format!("`{}` left over", self.rest)) }
    }
}
