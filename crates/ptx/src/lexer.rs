//! Tokens of PTX. Whitespace and comments are no tokens; they are what lies between two of them.

use crate::text::Span;
use logos::Logos;
use sassafras_ir::text::ParseError;

/// One token.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip r"[ \t\r\n\f\v]+")]
#[logos(skip(r"//[^\n]*", allow_greedy = true))]
#[logos(skip r"/\*([^*]|\*+[^*/])*\*+/")]
pub(crate) enum Token {
    /// A name or an opcode with its modifiers: `%r1`, `%tid.x`, `ld.global.f32`, `tcgen05.wait::ld.sync`.
    #[regex(r"([A-Za-z_$]|%[A-Za-z0-9_$])[A-Za-z0-9_$]*(\.[A-Za-z0-9_$]+(::[A-Za-z0-9_]+)*)*")]
    Word,
    /// A directive, or a modifier that stands apart from its opcode.
    #[regex(r"\.[A-Za-z0-9_$]+(::[A-Za-z0-9_]+)*")]
    Dot,
    #[regex(r"[0-9][0-9A-Za-z_]*(\.[0-9]*([eE][+-]?[0-9]+)?)?")]
    Number,
    #[regex(r#""([^"\\]|\\[^\n])*""#)]
    Quoted,
    #[token(",")]
    Comma,
    #[token(";")]
    Semicolon,
    #[token(":")]
    Colon,
    #[token("@")]
    At,
    #[token("!")]
    Bang,
    #[token("[")]
    OpenBracket,
    #[token("]")]
    CloseBracket,
    #[token("(")]
    OpenParen,
    #[token(")")]
    CloseParen,
    #[token("{")]
    OpenBrace,
    #[token("}")]
    CloseBrace,
    #[token("<")]
    Less,
    #[token(">")]
    Greater,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("|")]
    Pipe,
    #[token("=")]
    Equals,
    /// The other signs of constant expressions.
    #[regex(r"[*/%&^~?]")]
    Sign,
    /// The end of the text; made by the parser.
    End,
}

impl Token {
    /// How an error message calls it.
    pub(crate) const fn describe(self) -> &'static str {
        match self {
            Token::Word => "a name",
            Token::Dot => "a directive",
            Token::Number => "a number",
            Token::Quoted => "a string",
            Token::Comma => "`,`",
            Token::Semicolon => "`;`",
            Token::Colon => "`:`",
            Token::At => "`@`",
            Token::Bang => "`!`",
            Token::OpenBracket => "`[`",
            Token::CloseBracket => "`]`",
            Token::OpenParen => "`(`",
            Token::CloseParen => "`)`",
            Token::OpenBrace => "`{`",
            Token::CloseBrace => "`}`",
            Token::Less => "`<`",
            Token::Greater => "`>`",
            Token::Plus => "`+`",
            Token::Minus => "`-`",
            Token::Pipe => "`|`",
            Token::Equals => "`=`",
            Token::Sign => "an operator",
            Token::End => "the end of the text",
        }
    }
}

/// All tokens of a text with their places.
pub(crate) fn lex(source: &str) -> Result<Vec<(Token, Span)>, ParseError> {
    if u32::try_from(source.len()).is_err() {
        return Err(ParseError::new(source, 0..0, "the text is longer than 4 GiB"));
    }
    let mut tokens = Vec::with_capacity(source.len() / 5);
    for (token, range) in Token::lexer(source).spanned() {
        let message = match token {
            Ok(Token::Sign) if source[range.start..].starts_with("/*") => "a comment without its end",
            Ok(token) => {
                tokens.push((token, Span::new(range.start, range.end)));
                continue;
            }
            Err(()) if source[range.clone()].starts_with('"') => "a string without its end",
            Err(()) => "a character that starts nothing in PTX",
        };
        return Err(ParseError::new(source, range, message));
    }
    Ok(tokens)
}

/// Where the tokens of a text are, the text itself being at `start` of another; what is no token is left out.
pub(crate) fn spans(text: &str, start: usize) -> impl Iterator<Item = Span> {
    Token::lexer(text).spanned().filter_map(move |(token, range)| {
        token.is_ok().then(|| Span::new(start + range.start, start + range.end))
    })
}
