//! What stands outside functions.

use super::{Parser, Result};
use crate::lexer::Token;

impl Parser<'_> {
    pub(super) fn module(&mut self) -> Result<()> {
        loop {
            match self.peek() {
                Token::End => return Ok(()),
                Token::Semicolon => self.at += 1,
                Token::Dot => self.top_directive()?,
                _ => return self.expected("a directive"),
            }
        }
    }

    fn top_directive(&mut self) -> Result<()> {
        match self.text() {
            ".version" => {
                self.at += 1;
                self.module.header.version = Some(self.expect(Token::Number, "a version")?);
                Ok(())
            }
            ".target" => self.target(),
            ".address_size" => {
                self.at += 1;
                self.module.header.address_size = Some(self.expect(Token::Number, "32 or 64")?);
                Ok(())
            }
            ".file" => {
                self.at += 1;
                self.skip_file();
                Ok(())
            }
            ".loc" => {
                self.at += 1;
                self.skip_loc()
            }
            ".section" => {
                self.at += 1;
                self.skip_section()
            }
            ".visible" | ".extern" | ".weak" | ".common" | ".entry" | ".func" => self.declaration(),
            ".global" | ".const" | ".shared" | ".local" | ".tex" | ".reg" | ".param" | ".pragma"
            | ".alias" => self.skip_statement().map(drop),
            _ => self.skip_unknown(),
        }
    }

    /// `.target sm_90a, debug`
    fn target(&mut self) -> Result<()> {
        self.at += 1;
        self.module.header.target = Some(self.expect(Token::Word, "an architecture")?);
        while self.accept(Token::Comma).is_some() {
            self.expect(Token::Word, "an option of the target")?;
        }
        Ok(())
    }

    /// Linkage, then a function or a variable.
    fn declaration(&mut self) -> Result<()> {
        let start = self.span();
        let mut linkage = Vec::new();
        while self.peek() == Token::Dot {
            match self.text() {
                ".visible" | ".extern" | ".weak" | ".common" => {
                    linkage.push(self.span());
                    self.at += 1;
                }
                ".entry" | ".func" => return self.function(start, linkage),
                _ => break,
            }
        }
        self.skip_statement().map(drop)
    }
}
