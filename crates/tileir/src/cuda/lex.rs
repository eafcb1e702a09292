//! Tokens, with where they are.

use crate::lex::{TextError, error_at};
use logos::Logos;

/// A token.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip r"[ \t\r\n]+")]
#[logos(skip(r"//[^\n]*", allow_greedy = true))]
pub(super) enum Token {
    /// `%name`, or one of several results: `%name#1`.
    #[regex(r"%[A-Za-z0-9_$.]+(#[0-9]+)?")]
    Value,
    /// `@name` or `@"any name"`.
    #[regex(r#"@([A-Za-z_$][A-Za-z0-9_$.]*|"([^"\\\n]|\\[^\n])*")"#)]
    Symbol,
    /// `#name`: an attribute of a dialect, or an alias of one.
    #[regex(r"#[A-Za-z_$][A-Za-z0-9_$.]*")]
    Hash,
    /// A name or a word.
    #[regex(r"[A-Za-z_$][A-Za-z0-9_$.]*")]
    Word,
    /// `128x?x`: what stands before the type of an element, or before the last number of a shape.
    #[regex(r"(([0-9]+|\?)x)+", priority = 5)]
    Extents,
    #[regex(r"-?[0-9]+(\.[0-9]*([eE][+-]?[0-9]+)?)?", priority = 4)]
    #[regex(r"0x[0-9A-Fa-f]+", priority = 6)]
    Number,
    #[regex(r#""([^"\\\n]|\\[^\n])*""#)]
    Text,
    #[token("?")]
    Unknown,
    #[token("->")]
    Arrow,
    #[token(",")]
    Comma,
    #[token(":")]
    Colon,
    #[token("=")]
    Equals,
    #[token("(")]
    OpenParen,
    #[token(")")]
    CloseParen,
    #[token("[")]
    OpenSquare,
    #[token("]")]
    CloseSquare,
    #[token("<")]
    OpenAngle,
    #[token(">")]
    CloseAngle,
    #[token("{")]
    OpenBrace,
    #[token("}")]
    CloseBrace,
    /// The end of the text; made by the parser.
    End,
}

/// A token and its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lexeme {
    pub(super) token: Token,
    pub(super) start: usize,
    pub(super) end: usize,
    /// From 1.
    pub(super) line: u32,
    /// Whether it is the first of its line.
    pub(super) first: bool,
}

/// All tokens of a text, an end behind them.
pub(super) fn lex(text: &str) -> Result<Vec<Lexeme>, TextError> {
    let mut found = Vec::with_capacity(text.len() / 4);
    let (mut line, mut seen, mut first) = (1_u32, 0, true);
    for (token, span) in Token::lexer(text).spanned() {
        let newlines = text.as_bytes()[seen..span.start].iter().filter(|&&b| b == b'\n').count();
        line = line.saturating_add(u32::try_from(newlines).unwrap_or(u32::MAX));
        first |= newlines > 0;
        let Ok(token) = token else {
            let rest = &text[span.start..];
            let message = match rest.chars().next() {
                Some('"') => "a string without its end".to_owned(),
                Some(c @ ('%' | '@' | '#')) => format!("`{c}` without a name"),
                Some(c) => format!("`{}` starts nothing", c.escape_default()),
                None => "the text ends inside a token".to_owned(),
            };
            return Err(error_at(text, span.start, message));
        };
        found.push(Lexeme { token, start: span.start, end: span.end, line, first });
        // No token holds a newline.
        (seen, first) = (span.end, false);
    }
    found.push(Lexeme { token: Token::End, start: text.len(), end: text.len(), line, first: true });
    Ok(found)
}
