//! Places in a source text, and where one statement's text ends and the next one's begins.

use std::ops::Range;

/// Some bytes of a module's source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// The lexer refuses longer texts, so places fit.
    pub(crate) fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }

    /// The first byte.
    pub fn start(self) -> usize {
        self.start as usize
    }

    /// The byte behind the last one.
    pub fn end(self) -> usize {
        self.end as usize
    }

    /// The bytes.
    pub fn range(self) -> Range<usize> {
        self.start()..self.end()
    }

    /// From the start of this one to the end of the other.
    pub(crate) fn to(self, other: Span) -> Span {
        Span { start: self.start, end: other.end }
    }
}

/// Where the text of a statement ends whose last token ends at `end`: behind the newline if only blanks and a comment follow on the
/// line, else at `end`.
pub(crate) fn boundary(source: &str, end: usize) -> usize {
    let rest = &source[end..];
    let tail = rest.trim_start_matches([' ', '\t', '\r']);
    if !tail.is_empty() && !tail.starts_with('\n') && !tail.starts_with("//") {
        return end;
    }
    rest.find('\n').map_or(source.len(), |at| end + at + 1)
}

/// Where the blanks in front of `start` begin, on its line and not before `limit`.
pub(crate) fn indent(source: &str, limit: usize, start: usize) -> usize {
    limit + source[limit..start].trim_end_matches([' ', '\t']).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_owns_the_rest_of_its_line() {
        assert_eq!(boundary("a; // b\n c;", 2), 8);
        assert_eq!(boundary("a; b;\n", 2), 2);
        assert_eq!(boundary("a; /* b */\n", 2), 2);
        assert_eq!(boundary("a;\r\nb", 2), 4);
        assert_eq!(boundary("a;  ", 2), 4);
    }

    #[test]
    fn indents_stop_at_the_line_and_at_the_limit() {
        assert_eq!(indent("a;\n\t b", 0, 5), 3);
        assert_eq!(indent("a;  b", 3, 4), 3);
    }
}
