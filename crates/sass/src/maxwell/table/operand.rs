//! From the tokens of a row to its modifiers and operands.

use std::collections::HashMap;
use std::sync::Arc;

use super::cell::Cursor;
use super::field::Field;
use super::spec::{Decoration, Direction, Kind, Lanes, Modifier, Operand, Rule, Set};

/// Width of a register field, and its value for the constant register.
const GPR: (u8, u64) = (8, 255);
const PREDICATE: (u8, u64) = (3, 7);
/// Where a constant source's bank and word offset sit.
const BANK: (u8, u8) = (34, 5);
const BANK_OFFSET: (u8, u8) = (20, 14);
/// The register fields of the three sources, in the order of the control word's reuse flags.
const SLOTS: [u8; 3] = [8, 20, 39];
/// The set that holds the names of the condition-code tests, and the test that always holds.
const TESTS: &str = "cc";
const ALWAYS: u64 = 15;
/// The test that never holds.
const NEVER: u64 = 0;

/// Whether a condition-code test looks at the codes.
pub(crate) fn depends(test: u64) -> bool {
    test != ALWAYS && test != NEVER
}

/// What the cells refer to.
pub(super) struct Context<'a> {
    pub sets: &'a HashMap<String, Arc<Set>>,
    pub rules: &'a HashMap<String, Arc<Rule>>,
    /// What `b`, `bf`, `bd` and `c` stand for.
    pub form: Option<&'a HashMap<String, String>>,
}

impl Context<'_> {
    fn set(&self, name: &str, field: &Field) -> Result<Arc<Set>, String> {
        let set = self.sets.get(name).ok_or_else(|| format!("no set `{name}`"))?;
        if 1 << field.width().min(16) < set.0.len() {
            return Err(format!("set `{name}` has values that {} bits cannot have", field.width()));
        }
        Ok(set.clone())
    }

    /// `rule@48..51`.
    pub fn rule(&self, cursor: &mut Cursor<'_>) -> Result<(Arc<Rule>, Field), String> {
        let name = cursor.name();
        let rule = self.rules.get(name).ok_or_else(|| format!("no rule `{name}`"))?;
        cursor.expect("@")?;
        Ok((rule.clone(), cursor.field()?))
    }

    fn lanes(&self, cursor: &mut Cursor<'_>) -> Result<Lanes, String> {
        if !cursor.eat(":") {
            return Ok(Lanes::Fixed(1));
        }
        match cursor.maybe_number() {
            Some(0) => Err("zero registers".into()),
            Some(lanes) => Ok(Lanes::Fixed(lanes)),
            None => self.rule(cursor).map(|(rule, field)| Lanes::By(rule, field)),
        }
    }

    /// The modifiers of a row.
    pub fn modifiers(&self, text: &str) -> Result<Box<[Modifier]>, String> {
        text.split_whitespace()
            .map(|token| {
                let mut cursor = Cursor::new(token);
                let modifier = self.modifier(&mut cursor)?;
                cursor.end().map(|()| modifier)
            })
            .collect()
    }

    /// `.X@43<CC`, `!.U32@48` or `icmp@49..52`.
    fn modifier(&self, cursor: &mut Cursor<'_>) -> Result<Modifier, String> {
        let when = !cursor.eat("!");
        if !cursor.rest.starts_with('.') {
            let name = cursor.name();
            cursor.expect("@")?;
            let field = cursor.field()?;
            return Ok(Modifier::Set { set: self.set(name, &field)?, field });
        }
        let text = cursor.literal().into();
        if cursor.eat("^") {
            return Ok(Modifier::Reuse { text, slot: cursor.slot()? });
        }
        cursor.expect("@")?;
        let bit = cursor.bit()?;
        let flags = if cursor.eat("<CC") {
            Some(Direction::Read)
        } else if cursor.eat(">CC") {
            Some(Direction::Write)
        } else {
            None
        };
        Ok(Modifier::Flag { text, bit, when, flags })
    }

    /// The operands of a row.
    pub fn operands(&self, text: &str) -> Result<Box<[Operand]>, String> {
        let one = |token: &str| self.operand(token).map_err(|why| format!("operand `{token}`: {why}"));
        text.split_whitespace().map(one).collect()
    }

    fn operand(&self, token: &str) -> Result<Operand, String> {
        let mut cursor = Cursor::new(token);
        let hidden = cursor.eat("_");
        let direction = if cursor.eat("<>") {
            Direction::Both
        } else if cursor.eat(">") {
            Direction::Write
        } else {
            cursor.eat("<");
            Direction::Read
        };
        let mut ahead = cursor;
        let source = ahead.name();
        let replaced;
        if !source.is_empty() {
            let form = self.form.ok_or("the row has no forms")?;
            let head = form.get(source).ok_or_else(|| format!("no source `{source}`"))?;
            replaced = format!("{head}{}", ahead.rest);
            cursor = Cursor::new(&replaced);
        }
        let kind = self.kind(&mut cursor)?;
        let (mut decoration, default) = self.decoration(&mut cursor, &kind)?;
        let slot = match (&kind, source.chars().next()) {
            (_, Some('b')) => Some(1),
            (_, Some('c')) => Some(2),
            (Kind::Gpr { field, .. }, None) => {
                SLOTS.iter().position(|lo| *lo == field.lo()).map(|slot| slot as u8)
            }
            _ => None,
        };
        decoration.slot = decoration.slot.or(slot);
        Ok(Operand { kind, direction, decoration, default, hidden })
    }

    fn kind(&self, cursor: &mut Cursor<'_>) -> Result<Kind, String> {
        let place = |(lo, len)| Field::range(lo, len).ok_or_else(|| "outside the word".to_owned());
        if cursor.eat("CC") {
            return Ok(Kind::Flags);
        }
        if cursor.eat("PR") {
            let mask = if cursor.eat("&") { Some(cursor.field()?) } else { None };
            return Ok(Kind::Predicates { mask });
        }
        let Some(letter) = cursor.rest.chars().next() else {
            return Err("empty".into());
        };
        cursor.rest = &cursor.rest[letter.len_utf8()..];
        Ok(match letter {
            'R' => {
                let field = place((cursor.bit()?, GPR.0))?;
                let plus = if cursor.eat("+") { cursor.number()? } else { 0 };
                Kind::Gpr { field, lanes: self.lanes(cursor)?, plus }
            }
            'P' | 'Q' => Kind::Predicate { field: place((cursor.bit()?, PREDICATE.0))?, down: letter == 'Q' },
            'K' => {
                self.lanes(cursor)?; // the same token names a register pair in another form
                Kind::Constant { bank: place(BANK)?, offset: place(BANK_OFFSET)? }
            }
            'I' => {
                let field = cursor.field()?;
                let signed = cursor.eat("s");
                self.lanes(cursor)?;
                Kind::Integer { field, signed }
            }
            'F' => Kind::F32(self.immediate(cursor, 32)?),
            'D' => Kind::F64(self.immediate(cursor, 64)?),
            'H' => Kind::F16(self.immediate(cursor, 16)?),
            'M' => {
                let base = place((cursor.bit()?, GPR.0))?;
                let lanes = self.lanes(cursor)?;
                let offset = if cursor.eat(",") { Some(cursor.field()?) } else { None };
                let unit = if cursor.eat("*") { cursor.number()? } else { 1 };
                Kind::Address { base, lanes, offset, unit }
            }
            'X' => {
                let bank = cursor.field()?;
                cursor.expect(":")?;
                let base = place((cursor.bit()?, GPR.0))?;
                cursor.expect(",")?;
                Kind::IndexedConstant { bank, base, offset: cursor.field()? }
            }
            'W' => {
                let base = place((cursor.bit()?, GPR.0))?;
                cursor.expect(",")?;
                Kind::JumpRegister { base, offset: cursor.field()? }
            }
            '@' => Kind::Target(cursor.field()?),
            'A' => Kind::Absolute(cursor.field()?),
            'T' => {
                let field = cursor.field()?;
                Kind::Test { set: self.set(TESTS, &field)?, field }
            }
            'L' => Kind::Scoreboards(cursor.field()?),
            '=' => {
                let mut ahead = *cursor;
                let name = ahead.name();
                if !name.is_empty() && ahead.eat("@") {
                    let field = ahead.field()?;
                    *cursor = ahead;
                    Kind::Text { set: self.set(name, &field)?, field }
                } else {
                    Kind::Literal(cursor.literal().into())
                }
            }
            other => return Err(format!("`{other}` begins no operand")),
        })
    }

    fn immediate(&self, cursor: &mut Cursor<'_>, most: u32) -> Result<Field, String> {
        let field = cursor.field()?;
        self.lanes(cursor)?;
        if field.width() > most { Err(format!("more than {most} bits")) } else { Ok(field) }
    }

    fn decoration(&self, cursor: &mut Cursor<'_>, kind: &Kind) -> Result<(Decoration, Option<u64>), String> {
        let mut out = Decoration::default();
        let mut default = matches!(kind, Kind::Test { .. }).then_some(ALWAYS);
        while !cursor.rest.is_empty() {
            if cursor.eat("-") {
                out.negate = Some(cursor.bit()?);
            } else if cursor.eat("|") {
                out.absolute = Some(cursor.bit()?);
            } else if cursor.eat("~") {
                out.invert = Some(cursor.bit()?);
            } else if cursor.eat("!") {
                out.not = Some(cursor.bit()?);
            } else if cursor.eat("^") {
                out.slot = Some(cursor.slot()?);
            } else if cursor.eat("?") {
                default = match (cursor.maybe_number(), kind) {
                    (Some(value), _) => Some(value),
                    (None, Kind::Gpr { .. }) => Some(GPR.1),
                    (None, Kind::Predicate { .. }) => Some(PREDICATE.1), // as the operand counts it
                    (None, _) => return Err("`?` needs a value".into()),
                };
            } else if cursor.rest.starts_with('.') {
                let mut ahead = *cursor;
                ahead.eat(".");
                if ahead.rest.starts_with(|c: char| c.is_ascii_lowercase()) {
                    *cursor = ahead;
                }
                out.suffixes.push(self.modifier(cursor)?);
            } else {
                return Err(format!("`{}` left over", cursor.rest));
            }
        }
        Ok((out, default))
    }
}
