//! The parser: recursive descent without recursion (nothing nests), one function per line of the grammar.

use super::annotations::{Annotated, Annotations, Declared, Slots};
use super::error::ParseError;
use super::lexer::Token;
use super::printer::FLAG_NAMES;
use crate::function::{Block, Effects, Function, Guard, InstSpec, Module, Payload};
use crate::lane::{Lane, RegClass, Span};
use crate::operand::{AccessFlags, MemAccess, Operand, Space};
use logos::Logos;
use rustc_hash::FxHashMap;
use sassafras_control::{RawControl, volta};
use std::ops::Range;

/// How many operands an instruction may have on one side.
const MAX_OPERANDS: usize = 255;

/// Parses a text. Stops at the first error. The result is not verified yet; see [`crate::verify`].
pub fn parse(source: &str) -> Result<Module, ParseError> {
    let functions = parse_annotated(source)?.into_iter().map(|annotated| annotated.function).collect();
    Ok(Module { functions })
}

/// As [`parse`], with what the text says of machine code beside the IR.
pub fn parse_annotated(source: &str) -> Result<Vec<Annotated>, ParseError> {
    if u32::try_from(source.len()).is_err() {
        return Err(ParseError::new(source, 0..0, "the text is longer than 4 GiB"));
    }
    let mut tokens = Vec::with_capacity(source.len() / 4);
    for (token, span) in Token::lexer(source).spanned() {
        match token {
            Ok(token) => tokens.push((token, span.start as u32, span.end as u32)),
            Err(()) => {
                let message = if source[span.clone()].starts_with('"') {
                    "a quoted name without its end"
                } else {
                    "a character that starts nothing here"
                };
                return Err(ParseError::new(source, span, message));
            }
        }
    }
    let mut parser = Parser { source, tokens, at: 0, slots: Vec::new() };
    let mut functions = Vec::new();
    loop {
        parser.skip_newlines();
        if parser.peek() == Token::End {
            return Ok(functions);
        }
        functions.push(parser.function()?);
    }
}

type Result<T, E = ParseError> = std::result::Result<T, E>;

struct Parser<'a> {
    source: &'a str,
    tokens: Vec<(Token, u32, u32)>,
    at: usize,
    /// Of the instructions of the function so far.
    slots: Vec<Slots>,
}

/// Blocks by name, and where each was first named without having been defined yet.
#[derive(Default)]
struct Labels {
    blocks: FxHashMap<String, Block>,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token {
        self.tokens.get(self.at).map_or(Token::End, |t| t.0)
    }

    fn peek_at(&self, ahead: usize) -> Token {
        self.tokens.get(self.at + ahead).map_or(Token::End, |t| t.0)
    }

    fn span(&self) -> Range<usize> {
        match self.tokens.get(self.at) {
            Some(&(_, start, end)) => start as usize..end as usize,
            None => self.source.len()..self.source.len(),
        }
    }

    fn text(&self) -> &'a str {
        &self.source[self.span()]
    }

    fn error<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(ParseError::new(self.source, self.span(), message))
    }

    fn error_at<T>(&self, span: Range<usize>, message: impl Into<String>) -> Result<T> {
        Err(ParseError::new(self.source, span, message))
    }

    fn expected<T>(&self, what: &str) -> Result<T> {
        self.error(format!("expected {what}, found {}", self.peek().describe()))
    }

    /// Takes the next token if it is this one, and returns its text.
    fn accept(&mut self, token: Token) -> Option<&'a str> {
        if self.peek() == token {
            let text = self.text();
            self.at += 1;
            Some(text)
        } else {
            None
        }
    }

    fn expect(&mut self, token: Token) -> Result<&'a str> {
        match self.accept(token) {
            Some(text) => Ok(text),
            None => self.expected(token.describe()),
        }
    }

    fn skip_newlines(&mut self) {
        while self.accept(Token::Newline).is_some() {}
    }

    fn word_or_quoted(&mut self, what: &str) -> Result<String> {
        match self.peek() {
            Token::Word => Ok(self.expect(Token::Word)?.to_owned()),
            Token::Quoted => self.quoted(),
            _ => self.expected(what),
        }
    }

    fn quoted(&mut self) -> Result<String> {
        let span = self.span();
        let raw = self.expect(Token::Quoted)?;
        let mut name = String::with_capacity(raw.len());
        let mut chars = raw[1..raw.len() - 1].chars();
        while let Some(c) = chars.next() {
            name.push(match c {
                '\\' => match chars.next() {
                    Some('n') => '\n',
                    Some('t') => '\t',
                    Some('r') => '\r',
                    Some(c @ ('"' | '\\')) => c,
                    _ => {
                        return self.error_at(span, "an escape must be one of \\n \\t \\r \\\" \\\\");
                    }
                },
                c => c,
            });
        }
        Ok(name)
    }

    /// A name behind `^` or `$`: in the same token, or quoted behind the sign.
    fn tail(&mut self, whole: Token, sign: Token) -> Result<String> {
        if let Some(text) = self.accept(whole) {
            return Ok(text[1..].to_owned());
        }
        self.expect(sign)?;
        self.quoted()
    }

    fn function(&mut self) -> Result<Annotated> {
        if self.peek() != Token::Word || self.text() != "func" {
            return self.expected("`func`");
        }
        self.at += 1;
        let name = self.word_or_quoted("the function's name")?;
        let arch = self.word_or_quoted("the architecture")?;
        let mut f = Function::new(name, arch);
        if self.accept(Token::OpenParen).is_some() {
            loop {
                f.inputs.push(self.register("an input register")?);
                if self.accept(Token::Comma).is_none() {
                    break;
                }
            }
            self.expect(Token::CloseParen)?;
        }
        let declared = self.declared()?;
        self.expect(Token::OpenBrace)?;
        self.expect(Token::Newline)?;
        let labels = self.declare_blocks(&mut f)?;
        let mut block = None;
        loop {
            self.skip_newlines();
            match self.peek() {
                Token::CloseBrace => {
                    self.at += 1;
                    if self.peek() != Token::End {
                        self.expect(Token::Newline)?;
                    }
                    let slots = std::mem::take(&mut self.slots);
                    return Ok(Annotated { function: f, annotations: Annotations { slots, declared } });
                }
                Token::Label | Token::Caret => {
                    let name = self.tail(Token::Label, Token::Caret)?;
                    self.expect(Token::Colon)?;
                    self.expect(Token::Newline)?;
                    block = labels.blocks.get(&name).copied();
                }
                Token::End => return self.expected("`}`"),
                _ => match block {
                    Some(block) => self.instruction(&mut f, block, &labels)?,
                    None => return self.expected("a block label"),
                },
            }
        }
    }

    /// `launch(entry, registers 32, threads 256, shared 4096)`, of which each part may be missing.
    fn declared(&mut self) -> Result<Declared> {
        let mut declared = Declared::default();
        if self.peek() != Token::Word || self.text() != "launch" {
            return Ok(declared);
        }
        self.at += 1;
        self.expect(Token::OpenParen)?;
        loop {
            let span = self.span();
            let name = self.expect(Token::Word)?;
            let number = if name == "entry" { 0 } else { self.integer()? };
            match (name, u32::try_from(number), u64::try_from(number)) {
                ("entry", _, _) => declared.entry = true,
                ("registers", Ok(registers), _) => declared.registers = Some(registers),
                ("threads", Ok(threads), _) => declared.threads = Some(threads),
                ("shared", _, Ok(bytes)) => declared.shared = bytes,
                _ => {
                    return self
                        .error_at(span, "`entry`, or one of registers, threads and shared and a number");
                }
            }
            if self.accept(Token::Comma).is_none() {
                break;
            }
        }
        self.expect(Token::CloseParen)?;
        Ok(declared)
    }

    /// Walks ahead over the body and makes its blocks, so that labels can be named before they stand.
    fn declare_blocks(&mut self, f: &mut Function) -> Result<Labels> {
        let start = self.at;
        let mut labels = Labels::default();
        let mut line_start = true;
        loop {
            match self.peek() {
                Token::End | Token::CloseBrace => break,
                Token::Label | Token::Caret if line_start => {
                    let span = self.span();
                    let name = self.tail(Token::Label, Token::Caret)?;
                    if labels.blocks.contains_key(&name) {
                        return self.error_at(span, format!("a second block called `{name}`"));
                    }
                    let block = f.add_block(&name);
                    labels.blocks.insert(name, block);
                    line_start = false;
                }
                Token::Newline => {
                    self.at += 1;
                    line_start = true;
                }
                _ => {
                    self.at += 1;
                    line_start = false;
                }
            }
        }
        self.at = start;
        Ok(labels)
    }

    fn instruction(&mut self, f: &mut Function, block: Block, labels: &Labels) -> Result<()> {
        let control = self.control()?;
        let guard = if self.accept(Token::At).is_some() {
            let negated = self.accept(Token::Bang).is_some();
            let span = self.span();
            let register = self.register("a predicate")?;
            if register.len() != 1 || !register.class().can_guard() {
                return self.error_at(span, format!("{register} cannot guard an instruction"));
            }
            Some(Guard { lane: register.first(), negated })
        } else {
            None
        };
        let mut defs = Vec::new();
        if self.line_has_equals() {
            self.operands(f, labels, &mut defs)?;
            self.expect(Token::Equals)?;
        }
        let opcode = self.word_or_quoted("an opcode")?;
        let mut uses = Vec::new();
        if !matches!(self.peek(), Token::Newline | Token::End | Token::Bang | Token::CloseBrace)
            && !self.at_payload()
            && !self.at_list("slots")
        {
            self.operands(f, labels, &mut uses)?;
        }
        let mut effects = Effects::empty();
        while self.accept(Token::Bang).is_some() {
            let Some((_, effect)) = Effects::NAMES.into_iter().find(|(name, _)| *name == self.text()) else {
                return self
                    .error(format!("no such effect; one of {}", Effects::NAMES.map(|n| n.0).join(", ")));
            };
            self.expect(Token::Word)?;
            effects |= effect;
        }
        let slots = if self.at_list("slots") { self.slots()? } else { Slots::default() };
        self.slots.push(slots);
        let payload = self.word(f, control)?;
        if self.peek() != Token::End && self.peek() != Token::CloseBrace {
            self.expect(Token::Newline)?;
        }
        f.push(
            block,
            &InstSpec { opcode: &opcode, guard, defs: &defs, uses: &uses, effects: Some(effects), payload },
        );
        Ok(())
    }

    fn line_has_equals(&self) -> bool {
        self.tokens[self.at..]
            .iter()
            .map(|t| t.0)
            .take_while(|t| *t != Token::Newline)
            .any(|token| token == Token::Equals)
    }

    fn at_payload(&self) -> bool {
        self.at_list("raw") || self.at_list("text")
    }

    fn at_list(&self, name: &str) -> bool {
        self.peek() == Token::Word && self.peek_at(1) == Token::OpenParen && self.text() == name
    }

    /// `[B------:R-:W0:Y:S04]`, if it is there.
    fn control(&mut self) -> Result<Option<RawControl>> {
        let span = self.span();
        let Some(text) = self.accept(Token::Control) else { return Ok(None) };
        match text[1..text.len() - 1].parse() {
            Ok(control) => Ok(Some(control)),
            Err(error) => self.error_at(span, format!("{error}")),
        }
    }

    /// `slots(R4, -, R6:2)`: up to three.
    fn slots(&mut self) -> Result<Slots> {
        self.at += 2;
        let mut slots = Slots::default();
        for slot in &mut slots {
            if self.accept(Token::Minus).is_none() {
                *slot = Some(self.register("a register or `-`")?);
            }
            if self.accept(Token::Comma).is_none() {
                break;
            }
        }
        self.expect(Token::CloseParen)?;
        Ok(slots)
    }

    /// What a front-end keeps; control fields are bits of the machine word.
    fn word(&mut self, f: &mut Function, control: Option<RawControl>) -> Result<Payload> {
        let span = self.span();
        let payload = if self.at_payload() { self.payload(f)? } else { Payload::None };
        match (control, payload) {
            (None, payload) => Ok(payload),
            (Some(control), Payload::None) => Ok(Payload::Word(volta::insert(0, control))),
            (Some(control), Payload::Word(word)) if word & volta::MASK == 0 => {
                Ok(Payload::Word(volta::insert(word, control)))
            }
            (Some(_), Payload::Word(_)) => {
                self.error_at(span, "a raw word with control fields, which stand in front of it already")
            }
            (Some(_), Payload::Text(_)) => self.error_at(span, "source text has no control fields"),
        }
    }

    fn payload(&mut self, f: &mut Function) -> Result<Payload> {
        let kind = self.expect(Token::Word)?;
        self.expect(Token::OpenParen)?;
        let payload = if kind == "raw" {
            let digits = self.text();
            let word = digits.strip_prefix("0x").and_then(|d| u128::from_str_radix(d, 16).ok());
            match word {
                Some(word) if self.peek() == Token::Number => {
                    self.at += 1;
                    Payload::Word(word)
                }
                _ => return self.expected("a word of at most 128 bits as 0x…"),
            }
        } else {
            let text = self.quoted()?;
            Payload::Text(f.intern(&text))
        };
        self.expect(Token::CloseParen)?;
        Ok(payload)
    }

    fn operands(&mut self, f: &mut Function, labels: &Labels, into: &mut Vec<Operand>) -> Result<()> {
        loop {
            if into.len() == MAX_OPERANDS {
                return self.error(format!("more than {MAX_OPERANDS} operands"));
            }
            let operand = self.operand(f, labels)?;
            into.push(operand);
            if self.accept(Token::Comma).is_none() {
                return Ok(());
            }
        }
    }

    fn operand(&mut self, f: &mut Function, labels: &Labels) -> Result<Operand> {
        match self.peek() {
            Token::Virtual => Ok(Operand::Reg(self.register("a register")?)),
            Token::Number | Token::Minus => Ok(Operand::Imm(self.integer()?)),
            Token::Label | Token::Caret => {
                let span = self.span();
                let name = self.tail(Token::Label, Token::Caret)?;
                match labels.blocks.get(&name) {
                    Some(&block) => Ok(Operand::Label(block)),
                    None => self.error_at(span, format!("no block is called `{name}`")),
                }
            }
            Token::Symbol | Token::Dollar => {
                let name = self.tail(Token::Symbol, Token::Dollar)?;
                Ok(Operand::Symbol(f.intern(&name)))
            }
            Token::Word if self.peek_at(1) == Token::OpenBracket && self.text() == "c" => self.bank(),
            Token::Word if self.peek_at(1) == Token::OpenBracket => {
                let access = self.access()?;
                Ok(Operand::Mem(f.add_mem(access)))
            }
            Token::Word if self.peek_at(1) == Token::OpenParen && self.text() == "tied" => {
                self.at += 2;
                let span = self.span();
                let Ok(def) = u8::try_from(self.integer()?) else {
                    return self.error_at(span, "the number of a definition");
                };
                self.expect(Token::CloseParen)?;
                Ok(Operand::Tied { span: self.register("a register")?, def })
            }
            Token::Word => {
                let text = self.text();
                if let Some(class) = RegClass::ALL.into_iter().find(|c| c.constant_name() == Some(text)) {
                    self.at += 1;
                    return Ok(Operand::Constant(class));
                }
                Ok(Operand::Reg(self.register("an operand")?))
            }
            _ => self.expected("an operand"),
        }
    }

    fn bank(&mut self) -> Result<Operand> {
        self.expect(Token::Word)?;
        let span = self.span();
        self.expect(Token::OpenBracket)?;
        let bank = self.integer()?;
        self.expect(Token::CloseBracket)?;
        self.expect(Token::OpenBracket)?;
        let offset = self.integer()?;
        self.expect(Token::CloseBracket)?;
        match (u8::try_from(bank), u32::try_from(offset)) {
            (Ok(bank), Ok(offset)) => Ok(Operand::Bank { bank, offset }),
            _ => self.error_at(span, "a bank is at most 255 and an offset at most 4294967295"),
        }
    }

    fn access(&mut self) -> Result<MemAccess> {
        let (span, text) = (self.span(), self.text());
        let mut parts = text.split('.');
        let Some(space) = parts.next().and_then(Space::parse) else {
            let spaces = Space::ALL.map(Space::name).join(", ");
            return self.error(format!("no such memory space; one of {spaces}"));
        };
        let mut access =
            MemAccess { space, flags: AccessFlags::empty(), width: None, base: None, index: None, offset: 0 };
        for part in parts {
            if let Some((_, flag)) = FLAG_NAMES.into_iter().find(|(name, _)| *name == part) {
                access.flags |= flag;
            } else if let (Ok(width), None) = (part.parse::<u32>(), access.width) {
                access.width = Some(width);
            } else {
                return self
                    .error_at(span, format!("`{part}` is neither a width in bytes nor a flag of an access"));
            }
        }
        self.at += 1;
        self.expect(Token::OpenBracket)?;
        self.address(&mut access)?;
        self.expect(Token::CloseBracket)?;
        Ok(access)
    }

    /// `base`, `base+index`, `base+index+16`, `0+index`, `16`: up to two registers, then a number.
    fn address(&mut self, access: &mut MemAccess) -> Result<()> {
        let mut index_only = false;
        if matches!(self.peek(), Token::Number | Token::Minus) {
            access.offset = self.integer()?;
            if access.offset != 0 || self.peek() != Token::Plus {
                return Ok(());
            }
            index_only = true;
        } else {
            access.base = Some(self.register("an address")?);
        }
        let second_is_register = self.peek() == Token::Plus && self.peek_at(1) != Token::Number;
        if second_is_register || index_only {
            self.expect(Token::Plus)?;
            access.index = Some(self.register("an index register")?);
        }
        match self.peek() {
            Token::Plus => {
                self.at += 1;
                access.offset = self.integer()?;
            }
            Token::Minus => access.offset = self.integer()?,
            _ => {}
        }
        Ok(())
    }

    fn integer(&mut self) -> Result<i64> {
        let span = self.span();
        let negative = self.accept(Token::Minus).is_some();
        let digits = self.expect(Token::Number)?;
        let magnitude = match digits.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16),
            None => digits.parse::<u64>(),
        };
        let value = magnitude.ok().map(i128::from).map(|m| if negative { -m } else { m });
        match value.and_then(|v| i64::try_from(v).ok()) {
            Some(value) => Ok(value),
            None => self.error_at(span, "not a number of 64 bits"),
        }
    }

    fn register(&mut self, what: &str) -> Result<Span> {
        let span = self.span();
        let text = self.text();
        let first = match self.peek() {
            Token::Virtual => self.lane(&text[1..], RegClass::virtual_prefix, Lane::virt)?,
            Token::Word => self.lane(text, RegClass::prefix, Lane::physical)?,
            _ => return self.expected(what),
        };
        let Some(first) = first else {
            return self.error(format!("expected {what}; `{text}` is no register"));
        };
        self.at += 1;
        let mut lanes = 1;
        if self.peek() == Token::Colon {
            self.at += 1;
            match u8::try_from(self.integer()?) {
                Ok(n) => lanes = n,
                Err(_) => return self.error_at(span, "a register has at most 255 lanes"),
            }
        }
        match Span::new(first, lanes) {
            Some(register) => Ok(register),
            None => self.error_at(span, format!("there are no {lanes} lanes from {first} on")),
        }
    }

    /// `R12` and the like; `None` when the text is not of that shape, an error when there is no such register.
    fn lane(
        &self,
        text: &str,
        prefix: impl Fn(RegClass) -> &'static str,
        make: impl Fn(RegClass, u32) -> Option<Lane>,
    ) -> Result<Option<Lane>> {
        let digits = text.trim_start_matches(|c: char| !c.is_ascii_digit());
        let class = RegClass::ALL.into_iter().find(|&c| prefix(c) == &text[..text.len() - digits.len()]);
        // `R007` would print back as `R7`: one spelling per register.
        let canonical = digits == "0" || !digits.starts_with('0');
        let (Some(class), true, true) = (class, canonical, digits.bytes().all(|b| b.is_ascii_digit())) else {
            return Ok(None);
        };
        if digits.is_empty() {
            return Ok(None);
        }
        match digits.parse().ok().and_then(|index| make(class, index)) {
            Some(lane) => Ok(Some(lane)),
            None => self.error(format!("there is no register `{text}`")),
        }
    }
}
