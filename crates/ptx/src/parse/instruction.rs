//! `@guard opcode.modifiers operands;`

use super::{MAX_BRACKETS, Parser, Result};
use crate::lexer::Token;
use crate::syntax::{Atom, AtomKind, Guard, InstId, Instruction, Link, Operand, OperandKind};
use crate::text::Span;

impl Parser<'_> {
    pub(super) fn instruction(&mut self) -> Result<InstId> {
        let start = self.span();
        let guard = self.guard()?;
        let first = self.expect(Token::Word, "an opcode")?;
        let mut opcode = first;
        while self.peek() == Token::Dot {
            opcode = opcode.to(self.span());
            self.at += 1;
        }
        let first_operand = self.module.operands.len() as u32;
        if self.peek() != Token::Semicolon {
            loop {
                self.operand()?;
                if self.accept(Token::Comma).is_none() {
                    break;
                }
            }
        }
        let end = self.expect(Token::Semicolon, "`;`")?;
        let inst = InstId(self.module.insts.len() as u32);
        self.module.insts.push(Instruction {
            span: start.to(end),
            chunk: start.to(end),
            pieces: (0, 0),
            guard,
            opcode,
            operands: (first_operand, self.module.operands.len() as u32),
            scope: self.scopes.innermost(),
            loc: None,
        });
        Ok(inst)
    }

    fn guard(&mut self) -> Result<Option<Guard>> {
        if self.accept(Token::At).is_none() {
            return Ok(None);
        }
        let negated = self.accept(Token::Bang).is_some();
        let span = self.expect(Token::Word, "a predicate")?;
        let atom = self.module.atoms.len() as u32;
        self.atom(Token::Word, span, Link::First, false);
        Ok(Some(Guard { atom, negated }))
    }

    fn atom(&mut self, token: Token, span: Span, link: Link, negative: bool) {
        let kind = match token {
            Token::Word => self.scopes.find(self.slice(span)).unwrap_or(AtomKind::Word),
            Token::Number => AtomKind::Number,
            _ => AtomKind::Quoted,
        };
        self.module.atoms.push(Atom { kind, span, link, negative });
    }

    /// One operand, up to the comma or semicolon outside its brackets.
    fn operand(&mut self) -> Result<()> {
        let start = self.span();
        let first_atom = self.module.atoms.len() as u32;
        let kind = match self.peek() {
            Token::OpenBracket => OperandKind::Address,
            Token::OpenBrace => OperandKind::Vector,
            Token::OpenParen => OperandKind::Group,
            _ => OperandKind::Plain,
        };
        let mut open: Vec<Token> = Vec::new();
        let mut exact = true;
        let mut link = Some(Link::First);
        let mut negative = false;
        loop {
            let (token, span) = (self.peek(), self.span());
            match token {
                Token::Comma | Token::Semicolon if open.is_empty() => break,
                Token::Word | Token::Number | Token::Quoted => {
                    // Two names without a sign between them are not understood.
                    exact &= link.is_some();
                    self.atom(token, span, link.unwrap_or(Link::Comma), negative);
                    (link, negative) = (None, false);
                }
                Token::OpenBracket | Token::OpenBrace | Token::OpenParen => {
                    exact &= open.is_empty() == (span == start) && link.is_some();
                    if open.len() >= MAX_BRACKETS {
                        return self.error(span, "too many open brackets");
                    }
                    open.push(token);
                }
                Token::CloseBracket | Token::CloseBrace | Token::CloseParen => {
                    if open.pop().is_none_or(|o| closing(o) != token) {
                        return self.expected("`;`");
                    }
                    link = None;
                }
                Token::Comma => link = Some(Link::Comma),
                Token::Pipe => link = Some(Link::Pipe),
                Token::Plus | Token::Minus => {
                    let sign_of_number = link.is_some();
                    negative ^= token == Token::Minus;
                    if !sign_of_number {
                        link = Some(Link::Plus);
                    }
                }
                Token::Bang if link.is_some() => {}
                Token::Semicolon | Token::End | Token::At => return self.expected("the operand's end"),
                Token::Bang
                | Token::Sign
                | Token::Colon
                | Token::Less
                | Token::Greater
                | Token::Equals
                | Token::Dot => exact = false,
            }
            self.at += 1;
        }
        if self.at > 0 && self.span() == start {
            return self.expected("an operand");
        }
        let span = start.to(self.last_span());
        let atoms = (first_atom, self.module.atoms.len() as u32);
        self.module.operands.push(Operand { kind, span, exact, atoms });
        Ok(())
    }
}

const fn closing(open: Token) -> Token {
    match open {
        Token::OpenBracket => Token::CloseBracket,
        Token::OpenBrace => Token::CloseBrace,
        _ => Token::CloseParen,
    }
}
