//! The statements between a function's braces.

use super::{Parser, Result, vector_elements};
use crate::lexer::Token;
use crate::syntax::{Body, InstId, Label, TargetList};
use crate::text::Span;
use rustc_hash::FxHashSet;

/// A statement, as [`super::blocks`] wants it.
pub(super) enum Item {
    /// An instruction.
    Inst(InstId),
    /// A label, from its name to its colon.
    Label { name: Span, span: Span },
    /// A `.loc`.
    Loc(Span),
    /// Anything else: a brace, a declaration, a directive. Nothing moves across it.
    Other(Span),
}

impl<'a> Parser<'a> {
    pub(super) fn body(&mut self) -> Result<Body> {
        let open = self.expect(Token::OpenBrace, "`{`")?;
        let first = (self.module.insts.len() as u32, self.module.blocks.len() as u32);
        let first_label = self.module.labels.len() as u32;
        let first_list = self.module.target_lists.len() as u32;
        let mut items = vec![Item::Other(open)];
        let mut names = FxHashSet::default();
        loop {
            let start = self.span();
            match self.peek() {
                Token::OpenBrace => {
                    self.at += 1;
                    if !self.scopes.open(&mut self.module.parents) {
                        return self.error(start, "scopes nest too deeply");
                    }
                    items.push(Item::Other(start));
                }
                Token::CloseBrace => {
                    self.at += 1;
                    if !self.scopes.close() {
                        break;
                    }
                    items.push(Item::Other(start));
                }
                Token::Semicolon => {
                    self.at += 1;
                    items.push(Item::Other(start));
                }
                Token::Word if self.peek_at(1) == Token::Colon => {
                    items.push(self.label(&mut names)?);
                }
                Token::Word | Token::At => items.push(Item::Inst(self.instruction()?)),
                Token::Dot if self.text() == ".loc" => {
                    self.at += 1;
                    self.skip_loc()?;
                    let span = start.to(self.last_span());
                    self.module.locs.push(span);
                    items.push(Item::Loc(span));
                }
                Token::Dot => {
                    self.directive()?;
                    items.push(Item::Other(start.to(self.last_span())));
                }
                Token::End => return self.error(open, "a function without its end"),
                _ => return self.expected("a statement"),
            }
        }
        self.form_blocks(&items, first_label as usize, first_list as usize);
        Ok(Body {
            insts: first.0..self.module.insts.len() as u32,
            blocks: first.1..self.module.blocks.len() as u32,
            labels: first_label..self.module.labels.len() as u32,
            target_lists: first_list..self.module.target_lists.len() as u32,
        })
    }

    fn label(&mut self, names: &mut FxHashSet<(u32, &'a str)>) -> Result<Item> {
        let name = self.span();
        let text = self.text();
        self.at += 2;
        let span = name.to(self.last_span());
        let scope = self.scopes.innermost();
        if text.contains('.') {
            return self.error(name, "a label has no dot");
        }
        if !names.insert((scope.0, text)) {
            return self.error(name, format!("a second label called `{text}` in one scope"));
        }
        if self.peek() == Token::Dot && self.text() == ".branchtargets" {
            let mut ahead = 1;
            let mut targets = Vec::new();
            while matches!(self.peek_at(ahead), Token::Word | Token::Comma) {
                if let Some(&(Token::Word, span)) = self.tokens.get(self.at + ahead) {
                    targets.push(span);
                }
                ahead += 1;
            }
            self.module.target_lists.push(TargetList { name, scope, targets });
        } else {
            let inst = self.module.insts.len() as u32;
            self.module.labels.push(Label { name, scope, inst, named: false });
        }
        Ok(Item::Label { name, span })
    }

    fn directive(&mut self) -> Result<()> {
        match self.text() {
            ".reg" => self.registers(),
            ".file" => {
                self.at += 1;
                self.skip_file();
                Ok(())
            }
            ".section" => {
                self.at += 1;
                self.skip_section()
            }
            ".shared" | ".local" | ".param" | ".global" | ".const" | ".tex" | ".pragma"
            | ".branchtargets" | ".calltargets" | ".callprototype" => self.skip_statement().map(drop),
            _ => self.skip_unknown(),
        }
    }

    /// `.reg .v2 .b32 %r<10>, %sum;`
    fn registers(&mut self) -> Result<()> {
        self.at += 1;
        let mut elements = 1;
        let mut ty = None;
        while self.peek() == Token::Dot {
            match (self.text(), vector_elements(self.text())) {
                (_, Some(number)) => elements = number,
                // A number follows, which says nothing here.
                (".align", _) => {}
                _ => ty = Some(self.span()),
            }
            self.at += 1;
            self.accept(Token::Number);
        }
        let Some(ty) = ty else { return self.expected("the type of the registers") };
        loop {
            let name = self.expect(Token::Word, "the name of a register")?;
            let mut count = None;
            if self.accept(Token::Less).is_some() {
                let span = self.expect(Token::Number, "how many registers there are")?;
                match self.slice(span).parse::<u32>() {
                    Ok(number) => count = Some(number),
                    Err(_) => return self.error(span, "not a number of registers"),
                }
                self.expect(Token::Greater, "`>`")?;
            }
            self.declare(name, count, ty, elements)?;
            if self.accept(Token::Comma).is_none() {
                break;
            }
        }
        self.expect(Token::Semicolon, "`;`").map(drop)
    }
}
