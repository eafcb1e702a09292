//! Templates: the text of an instruction with the fields that it is made of.
//!
//! ```text
//! FADD{.FTZ:80}{=round:78..80} {R:16}, {$a:-|f}<81..84!=7?, {P:81}>
//! ```
//!
//! | piece | prints |
//! |---|---|
//! | `{.FTZ:80}`, `{-:72}` | the text when the bit is set; `{.S32:!73}` when it is not |
//! | `{=round:78..80}` | what the value table `round` says for the field |
//! | `{R:16}` `{UR:24}` `{P:81}` `{UP:81}` `{B:16..20}` | a register; `P~` and `UP~` count down from 7 |
//! | `{x:32..64}` `{s:32..64}` | an unsigned, a signed integer in hexadecimal; `*4` after the field scales it |
//! | `{target:34..82*4}` | the address that many bytes after the next instruction |
//! | `{f32:32..64}` `{f64:…}` `{f16:…}` `{bf16:…}` | a float |
//! | `{reuse:122}` | `.reuse`, when the bit is set and the control field lets it take effect |
//! | `{addr R:24/{.64:90} UR:32 x:40..64}` | the sum of the parts of an address, see [`Component`]; `/` starts a suffix |
//! | `<74=1 87..90!=7?…>` | the text in it, when all conditions hold |
//! | `{!91=1}` | nothing; the text is partial unless the condition holds |
//! | `{$a:-\|f}` | an arithmetic source, see [`super::operand`] |

use std::collections::HashMap;
use std::sync::Arc;

use super::field::{Condition, Field};
use super::number::Float;
use super::operand::Operands;

/// How deep `<…>` may nest.
const DEPTH: u8 = 4;

/// What a field's values are called; `None` for values without a name.
pub(super) type Values = Box<[Option<Name>]>;

/// What a field's value is called.
#[derive(Clone, Debug)]
pub(super) struct Name {
    pub text: Box<str>,
    /// Whether another value, the usual one, has the same name.
    pub is_alias: bool,
}

/// Register files as they are spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Gpr,
    Uniform,
    Pred,
    /// A predicate whose field counts down from 7.
    PredDown,
    UPred,
    /// A uniform predicate whose field counts down from 7.
    UPredDown,
    Barrier,
}

impl Class {
    /// The name before the number.
    pub fn prefix(self) -> &'static str {
        match self {
            Class::Gpr => "R",
            Class::Uniform => "UR",
            Class::Pred | Class::PredDown => "P",
            Class::UPred | Class::UPredDown => "UP",
            Class::Barrier => "B",
        }
    }

    /// The letter that the highest number is called by: the constant zero or true.
    pub fn constant(self) -> Option<char> {
        match self {
            Class::Gpr | Class::Uniform => Some('Z'),
            Class::Pred | Class::PredDown | Class::UPred | Class::UPredDown => Some('T'),
            _ => None,
        }
    }

    fn named(name: &str) -> Option<Class> {
        Some(match name {
            "R" => Class::Gpr,
            "UR" => Class::Uniform,
            "P" => Class::Pred,
            "P~" => Class::PredDown,
            "UP" => Class::UPred,
            "UP~" => Class::UPredDown,
            "B" => Class::Barrier,
            _ => return None,
        })
    }
}

/// One part of a template.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    Text(Box<str>),
    Flag { bit: u8, set: bool, text: Box<str> },
    Table { field: Field, values: Arc<Values> },
    Register { class: Class, field: Field },
    Hex { field: Field, scale: u16, signed: bool },
    Target { field: Field, scale: u16 },
    Float { kind: Float, field: Field },
    Reuse { bit: u8 },
    Address(Box<[Component]>),
    Optional { conditions: Box<[Condition]>, body: Box<[Piece]> },
    Expect(Condition),
}

/// A part of an address, joined to the others by `+`. An offset of zero is left out, and so is `RZ` when another part is
/// there, unless it has a suffix. `R?` loses its suffix first, `UR?` is treated alike.
#[derive(Clone, Debug)]
pub(super) enum Component {
    /// A register and its suffixes.
    Register { class: Class, field: Field, suffix: Box<[Piece]>, bare_zero: bool },
    /// The offset: signed behind a register; alone, `signed` decides.
    Offset { field: Field, scale: u16, signed: bool },
}

/// What a template may refer to.
pub(super) struct Context<'a> {
    pub tables: &'a HashMap<String, Arc<Values>>,
    pub uniform_bits: u8,
    pub operands: Option<&'a Operands>,
}

/// Parses a template.
pub(super) fn parse(text: &str, context: &Context<'_>) -> Result<Box<[Piece]>, String> {
    let expanded;
    let text = match context.operands {
        Some(operands) => {
            expanded = operands.expand(text)?;
            &expanded
        }
        None => text,
    };
    Parser { rest: text, context }.pieces(DEPTH, None)
}

struct Parser<'a> {
    rest: &'a str,
    context: &'a Context<'a>,
}

impl<'a> Parser<'a> {
    /// Reads up to `end`, which is consumed.
    fn pieces(&mut self, depth: u8, end: Option<char>) -> Result<Box<[Piece]>, String> {
        let mut out = Vec::new();
        loop {
            let at = self.rest.find(['{', '<', '}', '>']).unwrap_or(self.rest.len());
            if at > 0 {
                out.push(Piece::Text(self.rest[..at].into()));
            }
            let Some(mark) = self.rest[at..].chars().next() else {
                self.rest = "";
                return match end {
                    None => Ok(out.into()),
                    Some(end) => Err(format!("no `{end}`")),
                };
            };
            self.rest = &self.rest[at + 1..];
            match mark {
                '{' => {
                    let body = self.braced()?;
                    out.push(self.piece(body)?);
                }
                '<' => {
                    let depth = depth.checked_sub(1).ok_or("nested too deep")?;
                    let (conditions, rest) = self.rest.split_once('?').ok_or("no `?` after `<`")?;
                    self.rest = rest;
                    let conditions = Condition::parse_all(conditions)?;
                    out.push(Piece::Optional { conditions, body: self.pieces(depth, Some('>'))? });
                }
                mark if Some(mark) == end => return Ok(out.into()),
                mark => return Err(format!("stray `{mark}`")),
            }
        }
    }

    /// The text up to the matching `}`.
    fn braced(&mut self) -> Result<&'a str, String> {
        let mut depth = 0u32;
        for (at, c) in self.rest.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => {
                    let body = &self.rest[..at];
                    self.rest = &self.rest[at + 1..];
                    return Ok(body);
                }
                '}' => depth -= 1,
                _ => {}
            }
        }
        Err("no `}`".into())
    }

    fn piece(&self, body: &str) -> Result<Piece, String> {
        if let Some(condition) = body.strip_prefix('!').filter(|rest| rest.contains('=')) {
            return Ok(Piece::Expect(condition.parse()?));
        }
        if let Some(components) = body.strip_prefix("addr ") {
            return Ok(Piece::Address(
                components.split_whitespace().map(|c| self.component(c)).collect::<Result<_, _>>()?,
            ));
        }
        let (what, place) = body.rsplit_once(':').ok_or_else(|| format!("`{body}` names no bits"))?;
        if let Some(class) = Class::named(what) {
            return Ok(Piece::Register { class, field: self.register(class, place)? });
        }
        if let Some(name) = what.strip_prefix('=') {
            let field: Field = place.parse()?;
            let values = self.context.tables.get(name).ok_or_else(|| format!("no value table `{name}`"))?;
            return if values.len() <= 1 << field.len().min(16) {
                Ok(Piece::Table { field, values: values.clone() })
            } else {
                Err(format!("the table of `{body}` has {} values", values.len()))
            };
        }
        let float = match what {
            "f16" => Some(Float::F16),
            "bf16" => Some(Float::BF16),
            "f32" => Some(Float::F32),
            "f64" => Some(Float::F64),
            _ => None,
        };
        if let Some(kind) = float {
            let field: Field = place.parse()?;
            return if field.len() == kind.bits() {
                Ok(Piece::Float { kind, field })
            } else {
                Err(format!("`{body}` has the wrong width"))
            };
        }
        match what {
            "x" | "s" => {
                let (field, scale) = scaled(place)?;
                Ok(Piece::Hex { field, scale, signed: what == "s" })
            }
            "target" => {
                let (field, scale) = scaled(place)?;
                Ok(Piece::Target { field, scale })
            }
            "reuse" => Ok(Piece::Reuse { bit: bit(place)? }),
            _ if what.starts_with(|c: char| c.is_ascii_alphanumeric()) => {
                Err(format!("`{what}` is no kind of piece"))
            }
            text => {
                let (place, set) = match place.strip_prefix('!') {
                    Some(place) => (place, false),
                    None => (place, true),
                };
                Ok(Piece::Flag { bit: bit(place)?, set, text: text.into() })
            }
        }
    }

    fn component(&self, text: &str) -> Result<Component, String> {
        let (part, suffix) = text.split_once('/').unwrap_or((text, ""));
        let (what, place) = part.split_once(':').ok_or_else(|| format!("`{text}` names no bits"))?;
        let (what, bare_zero) = match what.strip_suffix('?') {
            Some(what) => (what, true),
            None => (what, false),
        };
        if let Some(class) = Class::named(what) {
            let suffix = Parser { rest: suffix, context: self.context }.pieces(0, None)?;
            return Ok(Component::Register { class, field: self.register(class, place)?, suffix, bare_zero });
        }
        if !suffix.is_empty() || !matches!(what, "x" | "s") {
            return Err(format!("`{text}` is no part of an address"));
        }
        let (field, scale) = scaled(place)?;
        Ok(Component::Offset { field, scale, signed: what == "s" })
    }

    /// A register field: all its bits, or the lowest one, when the class says how many there are.
    fn register(&self, class: Class, place: &str) -> Result<Field, String> {
        let len = match class {
            Class::Gpr => 8,
            Class::Uniform => self.context.uniform_bits,
            Class::Pred | Class::PredDown | Class::UPred | Class::UPredDown => 3,
            _ => 1,
        };
        match place.parse::<u8>() {
            Ok(lo) => format!("{lo}..{}", u16::from(lo) + u16::from(len)).parse(),
            Err(_) => place.parse(),
        }
    }
}

fn bit(text: &str) -> Result<u8, String> {
    text.parse().ok().filter(|&b| b < 128).ok_or_else(|| format!("`{text}` is no bit"))
}

/// `40..54*4`: a field and what its number is multiplied by.
fn scaled(text: &str) -> Result<(Field, u16), String> {
    let (field, scale) = text.split_once('*').unwrap_or((text, "1"));
    let scale = scale.parse().map_err(|_| format!("`{scale}` is no scale"))?;
    Ok((field.parse()?, scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<usize, String> {
        let tables = HashMap::from([("two".to_owned(), Arc::new(vec![None; 4].into()))]);
        parse(text, &Context { tables: &tables, uniform_bits: 6, operands: None }).map(|p| p.len())
    }

    #[test]
    fn pieces_are_told_apart() {
        assert_eq!(
            check("MOV{.X:5}{=two:6..8} {R:16}, [{addr R:24/{.64:90} UR:32 s:40..64}]<5=1?, {P:81}>"),
            Ok(9)
        );
        assert_eq!(check("{target:16..24+34..82*4}{f32:32..64}{reuse:122}{!91=1}"), Ok(4));
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in [
            "{",
            "}",
            "<5=1?",
            "<5=1>",
            "{R:200}",
            "{=one:5..7}",
            "{=two:5}",
            "{f32:0..31}",
            "{y:5}",
            "{.X:128}",
            "{addr Q:5}",
            "{addr s:5/{.X:1}}",
            "<1=1?<2=1?<3=1?<4=1?<5=1?x>>>>>",
        ] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }
}
