//! Tokens of the text form.

use logos::Logos;

/// One token. Newlines count: they end an instruction.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip r"[ \t\r]+")]
#[logos(skip(r"//[^\n]*", allow_greedy = true))]
pub(super) enum Token {
    #[token("\n")]
    Newline,
    #[regex(r"[A-Za-z_][A-Za-z0-9_.]*")]
    Word,
    #[regex(r"%[a-z]+[0-9]+")]
    Virtual,
    #[regex(r"\^[A-Za-z0-9_.$]+")]
    Label,
    #[regex(r"\$[A-Za-z0-9_.$]+")]
    Symbol,
    #[regex(r#""([^"\\\n]|\\[^\n])*""#)]
    Quoted,
    #[regex(r"\[B[0-9-]{6}:R[^\]\n]*\]")]
    Control,
    #[regex(r"[0-9][0-9A-Za-z]*")]
    Number,
    #[token("^")]
    Caret,
    #[token("$")]
    Dollar,
    #[token("@")]
    At,
    #[token("!")]
    Bang,
    #[token("=")]
    Equals,
    #[token(",")]
    Comma,
    #[token(":")]
    Colon,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
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
    /// The end of the text; made by the parser.
    End,
}

impl Token {
    /// How an error message calls it.
    pub(super) const fn describe(self) -> &'static str {
        match self {
            Token::Newline => "the end of the line",
            Token::Word => "a word",
            Token::Virtual => "a virtual register",
            Token::Label => "a block label",
            Token::Symbol => "a symbol",
            Token::Quoted => "a quoted name",
            Token::Control => "control fields",
            Token::Number => "a number",
            Token::Caret => "`^`",
            Token::Dollar => "`$`",
            Token::At => "`@`",
            Token::Bang => "`!`",
            Token::Equals => "`=`",
            Token::Comma => "`,`",
            Token::Colon => "`:`",
            Token::Plus => "`+`",
            Token::Minus => "`-`",
            Token::OpenBracket => "`[`",
            Token::CloseBracket => "`]`",
            Token::OpenParen => "`(`",
            Token::CloseParen => "`)`",
            Token::OpenBrace => "`{`",
            Token::CloseBrace => "`}`",
            Token::End => "the end of the text",
        }
    }
}
