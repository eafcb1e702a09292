//! Words of the two text forms of loops, with where they are.

use logos::Logos;
use thiserror::Error;

/// A text that cannot be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{line}:{column}: {message}")]
pub struct TextError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

/// A word of a text.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip r"[ \t\r\n]+")]
#[logos(skip(r"#[^\n]*", allow_greedy = true))]
pub(crate) enum Token<'a> {
    /// A name or a word of the language.
    #[regex(r"[A-Za-z_$][A-Za-z0-9_$.]*")]
    Name(&'a str),
    /// A number.
    #[regex(r"[0-9]+")]
    Number(&'a str),
    /// Anything that separates.
    #[regex(r"->|\.\.|[{}()\[\],:=@*+\-]")]
    Mark(&'a str),
}

/// Whether a text is one name.
pub(crate) fn is_name(text: &str) -> bool {
    let mut lexer = Token::lexer(text);
    matches!(lexer.next(), Some(Ok(Token::Name(name))) if name.len() == text.len())
}

/// The words of a text, read one by one.
pub(crate) struct Words<'a> {
    text: &'a str,
    words: Vec<(Token<'a>, usize)>,
    at: usize,
}

impl<'a> Words<'a> {
    /// Cuts a text into words.
    pub(crate) fn new(text: &'a str) -> Result<Words<'a>, TextError> {
        let mut words = Vec::new();
        for (token, span) in Token::lexer(text).spanned() {
            match token {
                Ok(token) => words.push((token, span.start)),
                Err(()) => {
                    let shown: String = text[span.start..].chars().take(1).collect();
                    return Err(error_at(
                        text,
                        span.start,
                        format!("`{}` is not part of any word", shown.escape_default()),
                    ));
                }
            }
        }
        Ok(Words { text, words, at: 0 })
    }

    /// The next word.
    pub(crate) fn peek(&self) -> Option<Token<'a>> {
        self.words.get(self.at).map(|w| w.0)
    }

    /// An error at the next word.
    pub(crate) fn error<T>(&self, message: impl Into<String>) -> Result<T, TextError> {
        let at = self.words.get(self.at).map_or(self.text.len(), |w| w.1);
        Err(error_at(self.text, at, message.into()))
    }

    /// An error at the word before the next one.
    pub(crate) fn error_back<T>(&self, message: impl Into<String>) -> Result<T, TextError> {
        let at = self.words.get(self.at.saturating_sub(1)).map_or(self.text.len(), |w| w.1);
        Err(error_at(self.text, at, message.into()))
    }

    /// What the next word looks like, for messages.
    pub(crate) fn shown(&self) -> String {
        match self.peek() {
            None => "the end".into(),
            Some(Token::Name(t) | Token::Number(t) | Token::Mark(t)) => format!("`{t}`"),
        }
    }

    /// Whether the next word is this one.
    pub(crate) fn peek_is(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Name(t) | Token::Mark(t)) if t == word)
    }

    /// Whether the next word is this one; if so it is taken.
    pub(crate) fn eat(&mut self, word: &str) -> bool {
        let same = self.peek_is(word);
        self.at += usize::from(same);
        same
    }

    /// The next word must be this one.
    pub(crate) fn expect(&mut self, word: &str) -> Result<(), TextError> {
        if self.eat(word) { Ok(()) } else { self.error(format!("expected `{word}`, found {}", self.shown())) }
    }

    /// The next word must be a name.
    pub(crate) fn name(&mut self, what: &str) -> Result<&'a str, TextError> {
        match self.peek() {
            Some(Token::Name(name)) => {
                self.at += 1;
                Ok(name)
            }
            _ => self.error(format!("expected {what}, found {}", self.shown())),
        }
    }

    /// The next word must be a number.
    pub(crate) fn number<N: TryFrom<u64>>(&mut self, what: &str) -> Result<N, TextError> {
        match self.peek() {
            Some(Token::Number(digits)) => {
                let number = digits.parse::<u64>().ok().and_then(|n| N::try_from(n).ok());
                let Some(number) = number else {
                    return self.error(format!("`{digits}` is too large for {what}"));
                };
                self.at += 1;
                Ok(number)
            }
            _ => self.error(format!("expected {what}, found {}", self.shown())),
        }
    }

    /// `[ number, ... ]`
    pub(crate) fn numbers(&mut self, what: &str) -> Result<Vec<u64>, TextError> {
        self.expect("[")?;
        let mut found = Vec::new();
        while !self.eat("]") {
            if !found.is_empty() {
                self.expect(",")?;
            }
            found.push(self.number(what)?);
        }
        Ok(found)
    }

    /// A list in parentheses, parted by commas.
    pub(crate) fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, TextError>,
    ) -> Result<Vec<T>, TextError> {
        self.expect("(")?;
        let mut found = Vec::new();
        while !self.eat(")") {
            if !found.is_empty() {
                self.expect(",")?;
            }
            found.push(item(self)?);
        }
        Ok(found)
    }
}

/// An error at a byte of a text.
pub(crate) fn error_at(text: &str, at: usize, message: String) -> TextError {
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |n| n + 1);
    TextError { line, column: before[start..].chars().count() + 1, message }
}
