//! Functions up to their bodies.

use super::{Parser, Result, vector_elements};
use crate::lexer::Token;
use crate::syntax::{Directive, Function, Kind, Param};
use crate::text::Span;

impl Parser<'_> {
    /// `.entry name (params) directives { … }`, or `;` for a body.
    pub(super) fn function(&mut self, start: Span, linkage: Vec<Span>) -> Result<()> {
        let kind = if self.text() == ".entry" { Kind::Entry } else { Kind::Func };
        self.at += 1;
        let mut directives = Vec::new();
        self.header_directives(&mut directives)?;
        self.scopes.open_function(&mut self.module.parents);
        let returns = if self.peek() == Token::OpenParen { self.params()? } else { Vec::new() };
        let name = self.expect(Token::Word, "the function's name")?;
        let params = if self.peek() == Token::OpenParen { self.params()? } else { Vec::new() };
        self.header_directives(&mut directives)?;
        let body = match self.peek() {
            Token::Semicolon => {
                self.at += 1;
                None
            }
            Token::OpenBrace => Some(self.body()?),
            _ => return self.expected("`{` or `;`"),
        };
        self.scopes.close_function();
        let span = start.to(self.last_span());
        let function = Function { kind, name, span, linkage, returns, params, directives, body };
        self.module.functions.push(function);
        Ok(())
    }

    fn header_directives(&mut self, directives: &mut Vec<Directive>) -> Result<()> {
        while self.peek() == Token::Dot {
            let name = self.span();
            self.at += 1;
            if let Some(open) = self.accept(Token::OpenParen) {
                self.skip_bracket(open)?;
            }
            while matches!(self.peek(), Token::Number | Token::Quoted | Token::Comma | Token::Minus) {
                self.at += 1;
            }
            directives.push(Directive { name, span: name.to(self.last_span()) });
            // Of the directives here only this one has a semicolon of its own.
            if self.slice(name) == ".pragma" {
                self.expect(Token::Semicolon, "`;`")?;
            }
        }
        Ok(())
    }

    /// `( .param .align 8 .b8 name[16], .reg .b32 name )`
    fn params(&mut self) -> Result<Vec<Param>> {
        let open = self.expect(Token::OpenParen, "`(`")?;
        let mut params = Vec::new();
        let (mut name, mut ty, mut elements, mut is_register) = (None, None, 1, false);
        loop {
            let token = self.peek();
            let span = self.span();
            self.at += 1;
            match token {
                Token::Dot if self.slice(span) == ".reg" => is_register = true,
                Token::Dot if is_register => match vector_elements(self.slice(span)) {
                    Some(number) => elements = number,
                    None => ty = Some(span),
                },
                Token::Word => name = Some(span),
                Token::OpenBracket => drop(self.skip_bracket(span)?),
                Token::Comma | Token::CloseParen => {
                    if let Some(name) = name.take() {
                        let ty = ty.take().filter(|_| is_register);
                        let register = ty.map(|ty| self.declare(name, None, ty, elements)).transpose()?;
                        params.push(Param { name, register });
                    }
                    (elements, is_register) = (1, false);
                    if token == Token::CloseParen {
                        return Ok(params);
                    }
                }
                Token::End | Token::Semicolon | Token::OpenBrace | Token::CloseBrace => {
                    return self.error(open, "a list of parameters without its end");
                }
                _ => {}
            }
        }
    }
}
