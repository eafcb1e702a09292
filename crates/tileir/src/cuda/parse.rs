//! The parser: recursive descent with a limit on the depth, one walk over the tokens.
//!
//! An operation ends with its line, unless what follows cannot begin another: a comma, a colon, an arrow, a brace, or parentheses
//! with what a region binds. Everything else about operations is in [`Parser::operation`].

use super::lex::{Lexeme, Token, lex};
use super::tree::{
    Alias, Argument, Attribute, Binding, Bracket, Header, Item, Key, Line, Location, Loop, Module, Operation,
    Region, Results, Separator, Value,
};
use super::types::{Extent, TensorView, Tile, Type, View, ViewKind};
use crate::lex::{TextError, error_at};
use std::collections::HashMap;
use std::str::FromStr;

type Result<T, E = TextError> = std::result::Result<T, E>;

/// How many regions, brackets and types may be open inside each other.
const MAX_DEPTH: usize = 64;

impl Module {
    /// Reads a text. Stops at the first error.
    ///
    /// # Errors
    /// Where the text does not have the shape of operations, where a value is used that is not defined or is defined twice.
    pub fn parse(text: &str) -> Result<Module> {
        let tokens = lex(text)?;
        let mut parser = Parser { text, tokens, at: 0, depth: 0, scope: Scope::default() };
        let mut items = Vec::new();
        while parser.peek() != Token::End {
            items.push(parser.item()?);
        }
        Ok(Module { items })
    }
}

impl FromStr for Module {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Module> {
        Module::parse(text)
    }
}

/// The values that can be seen.
#[derive(Default)]
struct Scope<'a> {
    /// Under how many numbers a name stands; none where it stands alone.
    counts: HashMap<&'a str, Option<u32>>,
    /// In the order of their definitions.
    names: Vec<&'a str>,
}

struct Parser<'a> {
    text: &'a str,
    /// The last one is the end, which is never passed.
    tokens: Vec<Lexeme>,
    at: usize,
    depth: usize,
    scope: Scope<'a>,
}

impl<'a> Parser<'a> {
    fn lexeme(&self) -> Lexeme {
        self.ahead(0)
    }

    fn ahead(&self, count: usize) -> Lexeme {
        self.tokens[(self.at + count).min(self.tokens.len() - 1)]
    }

    fn peek(&self) -> Token {
        self.lexeme().token
    }

    fn slice(&self, lexeme: Lexeme) -> &'a str {
        &self.text[lexeme.start..lexeme.end]
    }

    fn word(&self) -> &'a str {
        if self.peek() == Token::Word { self.slice(self.lexeme()) } else { "" }
    }

    fn error<T>(&self, at: Lexeme, message: impl Into<String>) -> Result<T> {
        Err(error_at(self.text, at.start, message.into()))
    }

    fn expected<T>(&self, what: &str) -> Result<T> {
        let found = match self.peek() {
            Token::End => "the end of the text".to_owned(),
            _ => format!("`{}`", self.slice(self.lexeme())),
        };
        self.error(self.lexeme(), format!("expected {what}, found {found}"))
    }

    fn take(&mut self) -> Lexeme {
        let lexeme = self.lexeme();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        lexeme
    }

    fn accept(&mut self, token: Token) -> bool {
        let same = self.peek() == token;
        if same {
            self.take();
        }
        same
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let same = self.word() == word;
        if same {
            self.take();
        }
        same
    }

    fn expect(&mut self, token: Token, what: &str) -> Result<Lexeme> {
        if self.peek() == token { Ok(self.take()) } else { self.expected(what) }
    }

    fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.accept_word(word) { Ok(()) } else { self.expected(&format!("`{word}`")) }
    }

    /// Whether nothing stands between the token before the next one and the next one.
    fn is_tight(&self) -> bool {
        self.gap().is_empty()
    }

    /// What stands between the token before the next one and the next one.
    fn gap(&self) -> &'a str {
        let before = self.at.checked_sub(1).map_or(0, |at| self.tokens[at].end);
        &self.text[before..self.lexeme().start]
    }

    /// Runs something that may come back here.
    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == MAX_DEPTH {
            return self.error(self.lexeme(), format!("more than {MAX_DEPTH} brackets inside each other"));
        }
        self.depth += 1;
        let done = parse(self);
        self.depth -= 1;
        done
    }

    /// Things with commas between them, up to and with a bracket.
    fn list<T>(
        &mut self,
        close: Token,
        what: &str,
        mut parse: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut found = Vec::new();
        if self.accept(close) {
            return Ok(found);
        }
        loop {
            found.push(parse(self)?);
            if self.accept(close) {
                return Ok(found);
            }
            if !self.accept(Token::Comma) {
                return self.expected(what);
            }
        }
    }

    fn define(&mut self, lexeme: Lexeme, count: Option<u32>) -> Result<String> {
        let name = &self.slice(lexeme)[1..];
        if name.contains('#') {
            return self.error(lexeme, "a number belongs where a value is used, not where it is defined");
        }
        if self.scope.counts.insert(name, count).is_some() {
            return self.error(lexeme, format!("`%{name}` is defined already"));
        }
        self.scope.names.push(name);
        Ok(name.to_owned())
    }

    /// A value where it is used.
    fn value(&mut self) -> Result<Value> {
        let lexeme = self.expect(Token::Value, "a value")?;
        let text = &self.slice(lexeme)[1..];
        let (name, number) = match text.split_once('#') {
            Some((name, digits)) => (name, Some(self.number(lexeme, digits)?)),
            None => (text, None),
        };
        match (self.scope.counts.get(name), number) {
            (None, _) => self.error(lexeme, format!("`%{name}` is not defined here")),
            (Some(None), Some(_)) => self.error(lexeme, format!("`%{name}` is one value")),
            (Some(Some(count)), None) => {
                self.error(lexeme, format!("`%{name}` is {count} values: say which"))
            }
            (Some(Some(count)), Some(number)) if number >= *count => {
                self.error(lexeme, format!("`%{name}` is {count} values"))
            }
            _ => Ok(Value { name: name.to_owned(), number }),
        }
    }

    /// A number without needless zeros, so that it is printed as it was read.
    fn number<N: FromStr>(&self, lexeme: Lexeme, digits: &str) -> Result<N> {
        if digits.len() > 1 && digits.starts_with('0') {
            return self.error(lexeme, format!("`{digits}` begins with a zero"));
        }
        match digits.parse() {
            Ok(number) => Ok(number),
            Err(_) => self.error(lexeme, format!("`{digits}` is no number that fits here")),
        }
    }

    fn integer<N: FromStr>(&mut self, what: &str) -> Result<N> {
        let lexeme = self.expect(Token::Number, what)?;
        self.number(lexeme, self.slice(lexeme))
    }

    fn item(&mut self) -> Result<Item> {
        if self.peek() != Token::Hash {
            return Ok(Item::Operation(self.operation()?));
        }
        let name = self.take();
        self.expect(Token::Equals, "`=`")?;
        let start = self.lexeme();
        let (mut open, mut end) = (0_usize, start.start);
        while self.peek() != Token::End && (open > 0 || end == start.start || !self.lexeme().first) {
            match self.peek() {
                Token::OpenParen | Token::OpenSquare | Token::OpenAngle | Token::OpenBrace => open += 1,
                Token::CloseParen | Token::CloseSquare | Token::CloseAngle | Token::CloseBrace => {
                    let Some(less) = open.checked_sub(1) else {
                        return self.expected("an attribute");
                    };
                    open = less;
                }
                _ => {}
            }
            end = self.take().end;
        }
        if open > 0 || end == start.start {
            return self.expected(if open > 0 { "a closing bracket" } else { "an attribute" });
        }
        Ok(Item::Alias(Alias {
            name: self.slice(name).to_owned(),
            text: self.text[start.start..end].to_owned(),
        }))
    }

    fn operation(&mut self) -> Result<Operation> {
        let line = Line(self.lexeme().line);
        let results = self.results()?;
        let name = self.expect(Token::Word, "the name of an operation")?;
        let name = self.slice(name);
        let outside = self.scope.names.len();
        let (header, mut bound) = match name {
            "for" => self.counted_loop(&results)?,
            "loop" => self.open_loop(&results)?,
            _ => self.plain()?,
        };
        let mut regions = Vec::new();
        while let Some(label) = self.begins_region(!regions.is_empty()) {
            let label = label.map(str::to_owned);
            if label.is_some() {
                self.take();
            }
            let arguments = match bound.take() {
                Some(bound) => bound,
                None if self.accept(Token::OpenParen) => self.bindings()?,
                None => Vec::new(),
            };
            self.expect(Token::OpenBrace, "`{`")?;
            let operations = self.deeper(Self::body)?;
            regions.push(Region { label, arguments, operations });
            self.forget(outside);
        }
        if bound.is_some() {
            return self.expected("`{`");
        }
        let location = self.location()?;
        let next = self.lexeme();
        if !next.first && !matches!(next.token, Token::CloseBrace | Token::End) {
            return self.expected("the end of the line");
        }
        let results = results.into_iter().map(|(lexeme, count)| {
            let name = self.define(lexeme, count)?;
            Ok(Results { name, count })
        });
        let results = results.collect::<Result<_>>()?;
        Ok(Operation { results, name: name.to_owned(), header, regions, location, line })
    }

    /// `%a, %b:2 =`; the names are defined behind the operation.
    fn results(&mut self) -> Result<Vec<(Lexeme, Option<u32>)>> {
        let mut results = Vec::new();
        if self.peek() != Token::Value {
            return Ok(results);
        }
        loop {
            let lexeme = self.expect(Token::Value, "a value")?;
            let count =
                if self.accept(Token::Colon) { Some(self.integer("a number of results")?) } else { None };
            if count == Some(0) {
                return self.error(lexeme, "no results share this name");
            }
            results.push((lexeme, count));
            if !self.accept(Token::Comma) {
                self.expect(Token::Equals, "`=`")?;
                return Ok(results);
            }
        }
    }

    /// Forgets the values that were defined after so many others.
    fn forget(&mut self, outside: usize) {
        for name in self.scope.names.drain(outside..) {
            self.scope.counts.remove(name);
        }
    }

    /// Operations up to and with the brace that closes them.
    fn body(&mut self) -> Result<Vec<Operation>> {
        let mut operations = Vec::new();
        while !self.accept(Token::CloseBrace) {
            operations.push(self.operation()?);
        }
        Ok(operations)
    }

    /// Whether a region comes next, and the word before it.
    fn begins_region(&self, another: bool) -> Option<Option<&'a str>> {
        match self.peek() {
            Token::OpenBrace | Token::OpenParen => Some(None),
            Token::Word if another && !self.is_location() => {
                let word = self.word();
                let open = matches!(self.ahead(1).token, Token::OpenBrace | Token::OpenParen);
                (open && (word == "else" || !self.lexeme().first)).then_some(Some(word))
            }
            _ => None,
        }
    }

    /// `%a: T, %b: T)`: names that a region gives.
    fn bindings(&mut self) -> Result<Vec<Binding>> {
        self.list(Token::CloseParen, "`,` or `)`", |parser| {
            let lexeme = parser.expect(Token::Value, "a value")?;
            parser.expect(Token::Colon, "`:`")?;
            let ty = parser.ty()?;
            let location = parser.location()?;
            Ok(Binding { name: parser.define(lexeme, None)?, ty, location })
        })
    }

    fn is_location(&self) -> bool {
        let next = self.ahead(1);
        self.word() == "loc" && next.token == Token::OpenParen && next.start == self.lexeme().end
    }

    fn location(&mut self) -> Result<Option<Location>> {
        if !self.is_location() {
            return Ok(None);
        }
        self.take();
        let start = self.take().end;
        let mut open = 1_usize;
        loop {
            match self.peek() {
                Token::OpenParen => open += 1,
                Token::CloseParen => open -= 1,
                Token::End => return self.expected("`)`"),
                _ => {}
            }
            let lexeme = self.take();
            if open == 0 {
                return Ok(Some(Location(self.text[start..lexeme.start].to_owned())));
            }
        }
    }

    /// `%i in (%from to %to, step %step) : T iter_values(…) -> (T, …)`, the name already taken.
    fn counted_loop(&mut self, results: &[(Lexeme, Option<u32>)]) -> Result<(Header, Option<Vec<Binding>>)> {
        let unsigned = self.accept_word("unsigned");
        let index = self.expect(Token::Value, "the index of the loop")?;
        self.expect_word("in")?;
        self.expect(Token::OpenParen, "`(`")?;
        let from = self.value()?;
        self.expect_word("to")?;
        let to = self.value()?;
        self.expect(Token::Comma, "`,`")?;
        self.expect_word("step")?;
        let step = self.value()?;
        self.expect(Token::CloseParen, "`)`")?;
        self.expect(Token::Colon, "`:`")?;
        let ty = self.ty()?;
        let (names, initial) = self.carried()?;
        let mut types = Vec::new();
        let place = self.lexeme();
        if self.accept(Token::Arrow) {
            self.expect(Token::OpenParen, "`(`")?;
            types = self.list(Token::CloseParen, "`,` or `)`", Self::ty)?;
        }
        self.count(place, "types", types.len(), initial.len())?;
        self.count(place, "results", results.iter().map(counted).sum(), initial.len())?;
        let mut bound = vec![Binding { name: self.define(index, None)?, ty, location: None }];
        for (lexeme, ty) in names.into_iter().zip(types) {
            bound.push(Binding { name: self.define(lexeme, None)?, ty, location: None });
        }
        Ok((Header::For(Loop { unsigned, from, to, step, initial }), Some(bound)))
    }

    /// `iter_values(…) : T, … -> T, …`, the name already taken.
    fn open_loop(&mut self, results: &[(Lexeme, Option<u32>)]) -> Result<(Header, Option<Vec<Binding>>)> {
        let (names, initial) = self.carried()?;
        let place = self.lexeme();
        let mut types = if self.accept(Token::Colon) { self.types()? } else { Vec::new() };
        // Without anything carried the types behind the colon are those of the results.
        let result_types = if initial.is_empty() {
            std::mem::take(&mut types)
        } else if self.accept(Token::Arrow) {
            self.types()?
        } else {
            Vec::new()
        };
        self.count(place, "types", types.len(), initial.len())?;
        self.count(place, "results", results.iter().map(counted).sum(), result_types.len())?;
        let mut bound = Vec::new();
        for (lexeme, ty) in names.into_iter().zip(types) {
            bound.push(Binding { name: self.define(lexeme, None)?, ty, location: None });
        }
        Ok((Header::Loop { initial, result_types }, Some(bound)))
    }

    fn count(&self, place: Lexeme, what: &str, found: usize, expected: usize) -> Result<()> {
        if found == expected {
            return Ok(());
        }
        self.error(place, format!("{found} {what} of a loop that has {expected}"))
    }

    /// `iter_values(%a = %x, …)`, or nothing.
    fn carried(&mut self) -> Result<(Vec<Lexeme>, Vec<Value>)> {
        if !self.accept_word("iter_values") {
            return Ok((Vec::new(), Vec::new()));
        }
        self.expect(Token::OpenParen, "`(`")?;
        let pairs = self.list(Token::CloseParen, "`,` or `)`", |parser| {
            let name = parser.expect(Token::Value, "a value")?;
            parser.expect(Token::Equals, "`=`")?;
            Ok((name, parser.value()?))
        })?;
        Ok(pairs.into_iter().unzip())
    }

    /// Arguments and types, up to the regions; what the first region binds where that stands behind a symbol.
    fn plain(&mut self) -> Result<(Header, Option<Vec<Binding>>)> {
        let mut arguments = Vec::new();
        let mut bound = None;
        loop {
            let next = self.lexeme();
            let separator = match next.token {
                Token::Comma if !arguments.is_empty() => {
                    self.take();
                    Separator::Comma
                }
                Token::Colon | Token::Arrow => break,
                Token::OpenBrace if !self.is_dictionary() => break,
                Token::CloseBrace | Token::End => break,
                _ if next.first && next.token != Token::OpenBrace || self.is_location() => break,
                _ => Separator::Blank,
            };
            if separator == Separator::Blank {
                self.elided(&mut arguments);
            }
            let argument = self.argument(separator, false)?;
            let symbol = matches!(argument.value, Attribute::Symbol(_));
            arguments.push(argument);
            if symbol && self.peek() == Token::OpenParen && !self.lexeme().first {
                if bound.is_some() {
                    return self.error(self.lexeme(), "a second signature");
                }
                self.take();
                bound = Some(self.bindings()?);
            }
        }
        if matches!(self.peek(), Token::Colon | Token::Arrow | Token::OpenBrace) {
            self.elided(&mut arguments);
        }
        let types = if self.accept(Token::Colon) { self.types()? } else { Vec::new() };
        let (mut result_types, mut parentheses) = (Vec::new(), false);
        if self.accept(Token::Arrow) {
            parentheses = self.accept(Token::OpenParen);
            result_types = if parentheses {
                self.list(Token::CloseParen, "`,` or `)`", Self::ty)?
            } else {
                self.types()?
            };
        }
        let signature = bound.is_some();
        Ok((Header::Plain { arguments, signature, types, result_types, parentheses }, bound))
    }

    /// Two blanks stand where a mode that has its default is not printed.
    fn elided(&self, arguments: &mut Vec<Argument>) {
        if self.gap() == "  " {
            arguments.push(Argument { separator: Separator::Blank, key: None, value: Attribute::Default });
        }
    }

    /// Whether the brace that comes next begins attributes and not operations.
    fn is_dictionary(&self) -> bool {
        self.ahead(1).token == Token::Word && self.ahead(2).token == Token::Equals
    }

    /// One argument, or one entry between brackets.
    fn argument(&mut self, separator: Separator, inside: bool) -> Result<Argument> {
        let mut key = None;
        let sign = self.ahead(1);
        let colon = inside && sign.token == Token::Colon;
        if self.peek() == Token::Word && (colon || sign.token == Token::Equals) {
            let name = self.take();
            let blank = !self.is_tight();
            self.take();
            key = Some(Key { name: self.slice(name).to_owned(), colon, blank });
        }
        let mut value = self.deeper(Self::attribute)?;
        if inside && self.accept(Token::Colon) {
            value = Attribute::Typed(Box::new(value), Box::new(self.ty()?));
        }
        Ok(Argument { separator, key, value })
    }

    fn attribute(&mut self) -> Result<Attribute> {
        let lexeme = self.lexeme();
        let text = self.slice(lexeme);
        let bracket = match lexeme.token {
            Token::Value => {
                let value = self.value()?;
                if self.peek() == Token::OpenSquare && self.is_tight() {
                    self.take();
                    return Ok(Attribute::Indexed(value, self.entries(Token::CloseSquare)?));
                }
                return Ok(Attribute::Value(value));
            }
            Token::Word | Token::Hash => {
                let parameters = self.ahead(1).token == Token::OpenAngle && self.ahead(1).start == lexeme.end;
                if parameters && is_type(text) {
                    return Ok(Attribute::Type(Box::new(self.ty()?)));
                }
                self.take();
                if !parameters {
                    return Ok(Attribute::Word(text.to_owned()));
                }
                self.take();
                return Ok(Attribute::Call(text.to_owned(), self.entries(Token::CloseAngle)?));
            }
            Token::Symbol => {
                self.take();
                return Ok(Attribute::Symbol(text.to_owned()));
            }
            Token::Number => {
                self.take();
                return Ok(Attribute::Number(text.to_owned()));
            }
            Token::Text => {
                self.take();
                return Ok(Attribute::Text(text.to_owned()));
            }
            Token::Unknown => {
                self.take();
                return Ok(Attribute::Unknown);
            }
            Token::Extents => {
                let mut shape = self.extents()?;
                if !self.is_tight() {
                    return self.expected("a number or a type right behind `x`");
                }
                if self.peek() == Token::Word {
                    return Ok(Attribute::Shape(shape, Some(Box::new(self.ty()?))));
                }
                shape.push(self.extent()?);
                return Ok(Attribute::Shape(shape, None));
            }
            Token::OpenParen => (Bracket::Round, Token::CloseParen),
            Token::OpenSquare => (Bracket::Square, Token::CloseSquare),
            Token::OpenAngle => (Bracket::Angle, Token::CloseAngle),
            Token::OpenBrace => (Bracket::Brace, Token::CloseBrace),
            _ => return self.expected("an argument"),
        };
        self.take();
        Ok(Attribute::Group(bracket.0, self.entries(bracket.1)?))
    }

    /// Entries up to and with the bracket that closes them.
    fn entries(&mut self, close: Token) -> Result<Vec<Argument>> {
        let mut entries = Vec::new();
        while !self.accept(close) {
            let comma = !entries.is_empty() && self.accept(Token::Comma);
            let separator = if comma { Separator::Comma } else { Separator::Blank };
            entries.push(self.argument(separator, true)?);
        }
        Ok(entries)
    }

    /// `128x?x`.
    fn extents(&mut self) -> Result<Vec<Extent>> {
        let lexeme = self.expect(Token::Extents, "a shape")?;
        let parts = self.slice(lexeme).trim_end_matches('x').split('x');
        parts.map(|part| self.size(lexeme, part)).collect()
    }

    fn size(&self, lexeme: Lexeme, text: &str) -> Result<Extent> {
        if text == "?" { Ok(Extent::Dynamic) } else { Ok(Extent::Static(self.number(lexeme, text)?)) }
    }

    /// A number or `?`.
    fn extent(&mut self) -> Result<Extent> {
        match self.peek() {
            Token::Number | Token::Unknown => {
                let lexeme = self.take();
                self.size(lexeme, self.slice(lexeme))
            }
            _ => self.expected("a number or `?`"),
        }
    }

    /// Types with commas between them, at least one.
    fn types(&mut self) -> Result<Vec<Type>> {
        let mut types = vec![self.ty()?];
        while self.accept(Token::Comma) {
            types.push(self.ty()?);
        }
        Ok(types)
    }

    fn ty(&mut self) -> Result<Type> {
        self.deeper(Self::ty_inside)
    }

    fn ty_inside(&mut self) -> Result<Type> {
        let name = self.expect(Token::Word, "a type")?;
        let name = self.slice(name);
        if self.peek() != Token::OpenAngle || !self.is_tight() {
            return Ok(if name == "token" { Type::Token } else { Type::Scalar(name.to_owned()) });
        }
        self.take();
        let ty = match name {
            "tile" => {
                let (shape, element) = self.shaped()?;
                Type::Tile(Tile { shape, element })
            }
            "tensor_view" => Type::TensorView(self.tensor_view()?),
            "ptr" => Type::Pointer(Box::new(self.ty()?)),
            _ => match ViewKind::from_name(name) {
                Some(kind) => Type::View(self.view(kind)?),
                None => {
                    let parameters = self.entries(Token::CloseAngle)?;
                    return Ok(Type::Other { name: name.to_owned(), parameters });
                }
            },
        };
        self.expect(Token::CloseAngle, "`>`")?;
        Ok(ty)
    }

    /// `128x64xf16`.
    fn shaped(&mut self) -> Result<(Vec<Extent>, Box<Type>)> {
        let shape = if self.peek() == Token::Extents { self.extents()? } else { Vec::new() };
        if !shape.is_empty() && !self.is_tight() {
            return self.expected("a type right behind `x`");
        }
        Ok((shape, Box::new(self.ty()?)))
    }

    /// What stands inside the angle brackets of a view of an array.
    fn tensor_view(&mut self) -> Result<TensorView> {
        let (shape, element) = self.shaped()?;
        let mut strides = Vec::new();
        if self.accept(Token::Comma) {
            self.expect_word("strides")?;
            self.expect(Token::Equals, "`=`")?;
            self.expect(Token::OpenSquare, "`[`")?;
            strides = self.list(Token::CloseSquare, "`,` or `]`", Self::extent)?;
        }
        Ok(TensorView { shape, element, strides })
    }

    /// What stands inside the angle brackets of a view of tiles.
    fn view(&mut self, kind: ViewKind) -> Result<View> {
        self.expect_word("tile")?;
        self.expect(Token::Equals, "`=`")?;
        self.expect(Token::OpenParen, "`(`")?;
        let mut tile = Vec::new();
        if self.peek() == Token::Extents {
            let lexeme = self.lexeme();
            for extent in self.extents()? {
                let Some(size) = extent.known() else {
                    return self.error(lexeme, "the shape of a tile is known");
                };
                tile.push(size);
            }
        }
        tile.push(self.integer("the shape of a tile")?);
        self.expect(Token::CloseParen, "`)`")?;
        self.expect(Token::Comma, "`,`")?;
        let mut traversal = None;
        if self.accept_word("traversal_strides") {
            traversal = Some(self.numbers()?);
            self.expect(Token::Comma, "`,`")?;
        }
        let mut padding = None;
        if self.accept_word("padding_value") {
            self.expect(Token::Equals, "`=`")?;
            let value = self.expect(Token::Word, "what is outside the array")?;
            padding = Some(self.slice(value).to_owned());
            self.expect(Token::Comma, "`,`")?;
        }
        self.expect_word("tensor_view")?;
        self.expect(Token::OpenAngle, "`<`")?;
        let tensor = self.deeper(Self::tensor_view)?;
        self.expect(Token::CloseAngle, "`>`")?;
        let (mut dim_map, mut sparse_dim) = (None, None);
        while self.accept(Token::Comma) {
            if dim_map.is_none() && sparse_dim.is_none() && self.accept_word("dim_map") {
                dim_map = Some(self.numbers()?);
            } else if sparse_dim.is_none() && self.accept_word("sparse_dim") {
                self.expect(Token::Equals, "`=`")?;
                sparse_dim = Some(self.integer("an axis")?);
            } else {
                return self.expected("`dim_map` or `sparse_dim`");
            }
        }
        Ok(View { kind, tile, traversal, padding, tensor, dim_map, sparse_dim })
    }

    /// `=[1, 2]`.
    fn numbers(&mut self) -> Result<Vec<u64>> {
        self.expect(Token::Equals, "`=`")?;
        self.expect(Token::OpenSquare, "`[`")?;
        self.list(Token::CloseSquare, "`,` or `]`", |parser| parser.integer("a number"))
    }
}

fn counted(results: &(Lexeme, Option<u32>)) -> usize {
    results.1.unwrap_or(1) as usize
}

/// Whether a name with parameters is that of a type.
fn is_type(name: &str) -> bool {
    matches!(name, "tile" | "tensor_view" | "ptr") || ViewKind::from_name(name).is_some()
}
