//! The parser: recursive descent that does not recurse. Scopes are a stack with a limit, operands are flat.
//!
//! Files: [`module`] (directives and variables at the top), [`header`] (functions up to their bodies), [`body`] (statements),
//! [`instruction`] (guard, opcode, operands), [`scopes`] (which register a name is), [`blocks`] (what moves with which
//! instruction). One walk over the tokens, one over the statements of each function.

mod blocks;
mod body;
mod header;
mod instruction;
mod module;
mod scopes;

use crate::lexer::{Token, lex};
use crate::syntax::{Header, Module};
use crate::text::Span;
use rustc_hash::FxHashMap;
use sassafras_ir::text::ParseError;
use scopes::Scopes;
use std::collections::BTreeSet;

/// How many brackets may be open inside one statement.
const MAX_BRACKETS: usize = 16;

type Result<T, E = ParseError> = std::result::Result<T, E>;

impl Module {
    /// Parses PTX. Stops at the first error.
    ///
    /// # Errors
    /// Where the text is no PTX in shape: an unknown character, a statement without its end, brackets and scopes that do not
    /// match. Unknown directives, opcodes, modifiers and operands are no errors.
    pub fn parse(source: &str) -> Result<Module> {
        let tokens = lex(source)?;
        let module = Module {
            source: source.to_owned(),
            header: Header::default(),
            functions: Vec::new(),
            blocks: Vec::new(),
            insts: Vec::new(),
            operands: Vec::new(),
            atoms: Vec::new(),
            pieces: Vec::new(),
            registers: Vec::new(),
            labels: Vec::new(),
            target_lists: Vec::new(),
            parents: Vec::new(),
            orders: FxHashMap::default(),
            commuted: BTreeSet::new(),
            locs: Vec::new(),
        };
        let mut parser = Parser { source, tokens, at: 0, module, scopes: Scopes::default() };
        parser.module()?;
        Ok(parser.module)
    }
}

/// How many elements `.v2` and its like say.
fn vector_elements(directive: &str) -> Option<u8> {
    match directive {
        ".v2" => Some(2),
        ".v4" => Some(4),
        ".v8" => Some(8),
        _ => None,
    }
}

struct Parser<'a> {
    source: &'a str,
    tokens: Vec<(Token, Span)>,
    at: usize,
    module: Module,
    scopes: Scopes<'a>,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> Token {
        self.tokens.get(self.at + ahead).map_or(Token::End, |t| t.0)
    }

    fn span(&self) -> Span {
        let end = self.source.len();
        self.tokens.get(self.at).map_or(Span::new(end, end), |t| t.1)
    }

    /// The token before the next one.
    fn last_span(&self) -> Span {
        self.at.checked_sub(1).and_then(|i| self.tokens.get(i)).map_or(Span::default(), |t| t.1)
    }

    fn slice(&self, span: Span) -> &'a str {
        &self.source[span.range()]
    }

    fn text(&self) -> &'a str {
        self.slice(self.span())
    }

    fn error<T>(&self, span: Span, message: impl Into<String>) -> Result<T> {
        Err(ParseError::new(self.source, span.range(), message))
    }

    fn expected<T>(&self, what: &str) -> Result<T> {
        self.error(self.span(), format!("expected {what}, found {}", self.peek().describe()))
    }

    fn accept(&mut self, token: Token) -> Option<Span> {
        if self.peek() != token {
            return None;
        }
        let span = self.span();
        self.at += 1;
        Some(span)
    }

    fn expect(&mut self, token: Token, what: &str) -> Result<Span> {
        match self.accept(token) {
            Some(span) => Ok(span),
            None => self.expected(what),
        }
    }

    /// Takes everything up to the bracket that closes the one just taken.
    fn skip_bracket(&mut self, open: Span) -> Result<Span> {
        let mut depth = 1_usize;
        loop {
            match self.peek() {
                Token::OpenBrace | Token::OpenParen | Token::OpenBracket => depth += 1,
                Token::CloseBrace | Token::CloseParen | Token::CloseBracket => depth -= 1,
                Token::End => return self.error(open, "a bracket without its end"),
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(self.last_span());
            }
        }
    }

    /// Takes everything up to and with the semicolon, brackets whole.
    fn skip_statement(&mut self) -> Result<Span> {
        let start = self.span();
        loop {
            match self.peek() {
                Token::Semicolon => {
                    self.at += 1;
                    return Ok(start.to(self.last_span()));
                }
                Token::OpenBrace | Token::OpenParen | Token::OpenBracket => {
                    let open = self.span();
                    self.at += 1;
                    self.skip_bracket(open)?;
                }
                Token::CloseBrace | Token::CloseParen | Token::CloseBracket | Token::End => {
                    return self.expected("`;`");
                }
                _ => self.at += 1,
            }
        }
    }

    /// Takes a directive that this parser does not know: up to its semicolon, through its braces, or up to a line that begins with
    /// something new.
    fn skip_unknown(&mut self) -> Result<()> {
        self.at += 1;
        loop {
            match self.peek() {
                Token::Semicolon => {
                    self.at += 1;
                    return Ok(());
                }
                Token::OpenBrace => {
                    let open = self.span();
                    self.at += 1;
                    self.skip_bracket(open)?;
                    return Ok(());
                }
                Token::OpenParen | Token::OpenBracket => {
                    let open = self.span();
                    self.at += 1;
                    self.skip_bracket(open)?;
                }
                Token::End | Token::CloseBrace | Token::CloseParen | Token::CloseBracket => return Ok(()),
                Token::Dot | Token::At | Token::Word if self.begins_line() => return Ok(()),
                _ => self.at += 1,
            }
        }
    }

    fn begins_line(&self) -> bool {
        self.source[self.last_span().end()..self.span().start()].contains('\n')
    }

    /// `.loc file line column {, function_name label {+ offset}} {, inlined_at file line column}`, the name already taken.
    ///
    /// Strict, because it is written in front of other instructions than it was read before: it must not take their words.
    fn skip_loc(&mut self) -> Result<()> {
        self.place()?;
        while self.accept(Token::Comma).is_some() {
            match (self.peek(), self.text()) {
                (Token::Word, "function_name") => {
                    self.at += 1;
                    self.expect(Token::Word, "a label")?;
                    if self.accept(Token::Plus).is_some() {
                        self.expect(Token::Number, "an offset")?;
                    }
                }
                (Token::Word, "inlined_at") => {
                    self.at += 1;
                    self.place()?;
                }
                _ => return self.expected("`function_name` or `inlined_at`"),
            }
        }
        Ok(())
    }

    fn place(&mut self) -> Result<()> {
        for what in ["the number of a file", "a line", "a column"] {
            self.expect(Token::Number, what)?;
        }
        Ok(())
    }

    /// `.file index "name" {, timestamp, size}`, the name already taken.
    fn skip_file(&mut self) {
        self.accept(Token::Number);
        self.accept(Token::Quoted);
        while self.peek() == Token::Comma {
            self.at += 1;
            self.accept(Token::Number);
        }
    }

    /// `.section name { … }`, the name already taken.
    fn skip_section(&mut self) -> Result<()> {
        if !matches!(self.peek(), Token::Dot | Token::Word | Token::Quoted) {
            return self.expected("the name of a section");
        }
        self.at += 1;
        let open = self.expect(Token::OpenBrace, "`{`")?;
        self.skip_bracket(open)?;
        Ok(())
    }
}
