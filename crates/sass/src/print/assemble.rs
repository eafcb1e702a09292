//! Goal: from the text of an instruction to its word, by the templates that print it.
//!
//! A template is a grammar: each piece either stands in the text, and gives bits their values, or does not, and gives them others.
//! [`Assembler`] goes through the templates of a mnemonic, tries for every piece what may stand there, longest first, and takes back what does not
//! lead to the end. Bits that the text does not show have the values that the template fixes, all others are zero. What comes out is printed
//! again: a word is given out only if its text is the one that was asked for, and tells every bit ([`Coverage::Complete`]). So no word of
//! another instruction can come out, whatever the templates say.
//!
//! Control fields are no part of the text but for `.reuse`: they are zero, or with a `.reuse` that of a warp that does not yield.
//!
//! Cost: for compiled code some hundred steps per instruction; [`MOST_STEPS`] bounds it for any text.

use std::cell::Cell;

use sassafras_machine::Arch;
use thiserror::Error;

use super::field::{Condition, Field};
use super::load::{Family, Guard, Template};
use super::render::REUSE_ENABLE;
use super::template::{Class, Component, Piece};
use super::{Coverage, Printer, Templates};
use crate::decode::Decoder;

/// So many pieces are tried for one text.
const MOST_STEPS: u32 = 1 << 16;
/// The predicate that is always true.
const TRUE: u64 = 7;
const INSTRUCTION_BYTES: i128 = 16;

/// Why a text is no instruction.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AssembleError {
    /// No templates.
    #[error("{0} has no table of instructions")]
    UnknownArch(Arch),
    /// No template starts like this.
    #[error("{arch} has no instruction `{mnemonic}`")]
    UnknownMnemonic {
        /// The architecture.
        arch: Arch,
        /// The first word.
        mnemonic: String,
    },
    /// No template goes on like this.
    #[error("`{text}` is no instruction of {arch}: `{rest}` cannot stand behind `{read}`")]
    NoForm {
        /// The architecture.
        arch: Arch,
        /// The whole text.
        text: String,
        /// How far some template goes along with it.
        read: String,
        /// What is left there.
        rest: String,
    },
    /// Some template goes along with all of it, and no word that the tables know has this text.
    #[error("`{text}` is no instruction of {arch}: an operand is missing, or does not fit here")]
    Incomplete {
        /// The architecture.
        arch: Arch,
        /// The whole text.
        text: String,
    },
    /// Several words have this text.
    #[error("`{text}` is the text of {one:#034x} and of {other:#034x}")]
    Ambiguous {
        /// The whole text.
        text: String,
        /// A word.
        one: u128,
        /// Another one.
        other: u128,
    },
}

/// Reads the instructions of one architecture.
#[derive(Clone, Copy, Debug)]
pub struct Assembler {
    arch: Arch,
    family: &'static Family,
    printer: Printer<'static>,
    decoder: Decoder,
}

impl Assembler {
    /// The assembler for `arch`.
    ///
    /// # Errors
    /// When there are no templates for it.
    pub fn new(arch: Arch) -> Result<Assembler, AssembleError> {
        let family = arch.number().and_then(Templates::builtin).ok_or(AssembleError::UnknownArch(arch))?;
        Ok(Assembler { arch, family, printer: Printer::new(arch), decoder: Decoder::new(arch) })
    }

    /// The word of an instruction at byte address `pc`, in the spelling of [`Printer`]: targets of branches are addresses.
    ///
    /// # Errors
    /// When no instruction has this text, or none that the tables know all bits of.
    pub fn assemble(&self, text: &str, pc: u64) -> Result<u128, AssembleError> {
        let text = text.trim().trim_end_matches(';').trim_end();
        if let Some(word) = opaque(text) {
            return Ok(word);
        }
        let (guard, body) = split_guard(text);
        let mnemonic = body.split(['.', ' ']).next().unwrap_or_default();
        let candidates = self.family.named(mnemonic);
        if candidates.is_empty() {
            return Err(AssembleError::UnknownMnemonic { arch: self.arch, mnemonic: mnemonic.to_owned() });
        }
        let reader =
            Reader { printer: &self.printer, text, pc, steps: Cell::new(0), left: Cell::new(body.len()) };
        let read = candidates
            .iter()
            .filter_map(|&(opcode, template)| reader.template(opcode, template, guard, body));
        let mut words: Vec<u128> = read.collect();
        words.dedup();
        if words.len() > 1 {
            // Some families keep templates of opcodes that they no longer have.
            words.retain(|&word| !self.decoder.decode(word, pc).is_opaque());
        }
        match words[..] {
            [word] => return Ok(word),
            [one, other] => {
                let word = spelled_alike(one, other, body).or_else(|| spelled_alike(other, one, body));
                return word.ok_or(AssembleError::Ambiguous { text: text.to_owned(), one, other });
            }
            [one, other, ..] => return Err(AssembleError::Ambiguous { text: text.to_owned(), one, other }),
            [] => {}
        }
        let at = text.len() - reader.left.get();
        let (read, rest) = (text[..at].to_owned(), text[at..].to_owned());
        if rest.is_empty() {
            return Err(AssembleError::Incomplete { arch: self.arch, text: text.to_owned() });
        }
        Err(AssembleError::NoForm { arch: self.arch, text: text.to_owned(), read, rest })
    }
}

/// Of two words that are spelled alike the one that is meant, by `data/print/alike.csv`.
fn spelled_alike(narrow: u128, wide: u128, body: &str) -> Option<u128> {
    let of = |word: u128| (word & 0x1ff) as u16;
    let row = super::load::alike().iter().find(|row| (row.narrow, row.wide) == (of(narrow), of(wide)))?;
    let modifiers = body.split(' ').next().unwrap_or_default();
    Some(if modifiers.contains(&*row.kind) { wide } else { narrow })
}

/// `OPAQUE 0x…`, as an instruction without a template is printed.
fn opaque(text: &str) -> Option<u128> {
    u128::from_str_radix(text.strip_prefix("OPAQUE 0x")?, 16).ok()
}

/// `@!P0 `: the register, whether it is negated, and what is behind it.
fn split_guard(text: &str) -> (Option<(&str, bool)>, &str) {
    let split = text.strip_prefix('@').and_then(|rest| rest.split_once(' '));
    match split {
        Some((name, rest)) => {
            let name = name.trim_start_matches('!');
            (Some((name, text.starts_with("@!"))), rest.trim_start())
        }
        None => (None, text),
    }
}

/// One text that is read.
struct Reader<'t> {
    printer: &'t Printer<'static>,
    text: &'t str,
    pc: u64,
    steps: Cell<u32>,
    /// The least that was left of the text.
    left: Cell<usize>,
}

/// Bits that have a value.
#[derive(Clone, Copy)]
struct Bits {
    word: u128,
    known: u128,
}

impl Bits {
    /// With the field set, too; `None` where some of its bits have another value.
    fn with(self, field: &Field, value: u64) -> Option<Bits> {
        let (mask, set) = (field.mask(), field.set(0, value));
        if field.get(set) != value {
            return None;
        }
        self.and(set, mask)
    }

    fn with_bit(self, bit: u8, set: bool) -> Option<Bits> {
        self.and(u128::from(set) << bit, 1 << bit)
    }

    fn and(self, set: u128, mask: u128) -> Option<Bits> {
        let common = self.known & mask;
        ((self.word ^ set) & common == 0).then_some(Bits { word: self.word | set, known: self.known | mask })
    }

    /// Whether all bits of the field have a value.
    fn knows(self, field: &Field) -> bool {
        self.known & field.mask() == field.mask()
    }

    /// With the condition holding or not; where several values are left the word that comes out tells.
    fn given(self, condition: &Condition, holds: bool) -> Option<Bits> {
        if self.knows(&condition.field) {
            return (condition.holds(self.word) == holds).then_some(self);
        }
        match condition.only_value(holds) {
            Some(value) => self.with(&condition.field, value),
            None => Some(self),
        }
    }
}

/// What is still to be read.
#[derive(Clone, Copy)]
struct Rest<'a> {
    what: What<'a>,
    then: Option<&'a Rest<'a>>,
}

#[derive(Clone, Copy)]
enum What<'a> {
    Pieces(&'a [Piece]),
    /// Parts of an address; whether one stands before them.
    Address(&'a [Component], bool),
}

impl Reader<'_> {
    fn template(
        &self,
        opcode: u16,
        template: &Template,
        guard: Option<(&str, bool)>,
        body: &str,
    ) -> Option<u128> {
        let bits = Bits { word: opcode.into(), known: 0xfff };
        let bits = match (template.guard, guard) {
            (Guard::None, None) => bits,
            (Guard::None, Some(_)) => return None,
            (class, guard) => {
                let class = if class == Guard::Pred { Class::Pred } else { Class::UPred };
                let (number, negated) = match guard {
                    Some((name, negated)) => {
                        let (number, rest) = register(class, TRUE, name)?;
                        (rest.is_empty().then_some(number)?, negated)
                    }
                    None => (TRUE, false),
                };
                bits.and(u128::from(number | u64::from(negated) << 3) << 12, 0xf << 12)?
            }
        };
        let bits = template.when.iter().try_fold(bits, |bits, condition| bits.given(condition, true))?;
        let end = |bits| self.end(template, bits);
        self.read(bits, body, &Rest { what: What::Pieces(&template.pieces), then: None }, &end)
    }

    /// The word, if its text is the one that was read.
    fn end(&self, template: &Template, mut bits: Bits) -> Option<u128> {
        // Of several values that a template is for the text may leave some; few templates have more than two such conditions.
        for condition in template.when.iter().filter(|condition| !condition.is_exact()) {
            if !bits.knows(&condition.field) {
                let value = condition.values().find_map(|value| bits.with(&condition.field, value))?;
                bits = value;
            }
        }
        for fixed in &template.fixed {
            if !bits.knows(&fixed.field) {
                bits = fixed.values().find_map(|value| bits.with(&fixed.field, value)).unwrap_or(bits);
            }
        }
        let word = bits.word;
        let printed = self.printer.print(word, self.pc);
        (printed.coverage == Coverage::Complete && printed.text == self.text).then_some(word)
    }

    /// Reads what is left; the first way that leads to the end counts.
    fn read(
        &self,
        bits: Bits,
        text: &str,
        rest: &Rest<'_>,
        end: &dyn Fn(Bits) -> Option<u128>,
    ) -> Option<u128> {
        self.left.set(self.left.get().min(text.len()));
        self.steps.set(self.steps.get() + 1);
        if self.steps.get() > MOST_STEPS {
            return None;
        }
        match rest.what {
            What::Pieces([]) | What::Address([], _) => match rest.then {
                Some(then) => self.read(bits, text, then, end),
                None if text.is_empty() => end(bits),
                None => None,
            },
            What::Pieces([piece, pieces @ ..]) => {
                let behind = Rest { what: What::Pieces(pieces), then: rest.then };
                self.piece(bits, text, piece, &behind, end)
            }
            What::Address([component, components @ ..], empty) => {
                self.component(bits, text, component, (components, empty), rest.then, end)
            }
        }
    }

    fn piece(
        &self,
        bits: Bits,
        text: &str,
        piece: &Piece,
        behind: &Rest<'_>,
        end: &dyn Fn(Bits) -> Option<u128>,
    ) -> Option<u128> {
        let go = |bits: Bits, text: &str| self.read(bits, text, behind, end);
        match piece {
            Piece::Text(expected) => go(bits, text.strip_prefix(&**expected)?),
            Piece::Flag { bit, set, text: name } => {
                let there = text.strip_prefix(&**name).zip(bits.with_bit(*bit, *set));
                let there = there.and_then(|(text, bits)| go(bits, text));
                there.or_else(|| go(bits.with_bit(*bit, !*set)?, text))
            }
            Piece::Reuse { bit } => match text.strip_prefix(".reuse") {
                Some(text) => go(bits.with_bit(*bit, true)?.with_bit(REUSE_ENABLE as u8, true)?, text),
                None => go(bits.with_bit(*bit, false)?, text),
            },
            Piece::Table { field, values } => {
                let named = values.iter().zip(0u64..).filter_map(|(name, value)| {
                    let name = name.as_ref().filter(|name| !name.is_alias)?;
                    Some((text.strip_prefix(&*name.text)?, bits.with(field, value)?))
                });
                let mut named: Vec<(&str, Bits)> = named.collect();
                named.sort_by_key(|(text, _)| text.len());
                named.into_iter().find_map(|(text, bits)| go(bits, text))
            }
            Piece::Register { class, field } => {
                let (value, text) = register_field(*class, field, text)?;
                go(bits.with(field, value)?, text)
            }
            Piece::Hex { field, scale, signed } => {
                let (value, text) = hex(text)?;
                go(bits.with(field, scaled(field, value, *scale, *signed)?)?, text)
            }
            Piece::Target { field, scale } => {
                let (value, text) = hex(text)?;
                let distance = value - i128::from(self.pc) - INSTRUCTION_BYTES;
                go(bits.with(field, scaled(field, distance, *scale, true)?)?, text)
            }
            Piece::Float { kind, field } => {
                let end = text.find([',', '|', ' ', ']']).unwrap_or(text.len());
                go(bits.with(field, kind.read(&text[..end])?)?, &text[end..])
            }
            Piece::Address(components) => {
                let parts = Rest { what: What::Address(components, true), then: Some(behind) };
                self.read(bits, text, &parts, end)
            }
            Piece::Optional { conditions, body } => {
                let taken = conditions.iter().try_fold(bits, |bits, condition| bits.given(condition, true));
                let inside = Rest { what: What::Pieces(body), then: Some(behind) };
                let taken = taken.and_then(|bits| self.read(bits, text, &inside, end));
                taken.or_else(|| {
                    // The first condition that does not hold is any of them.
                    let mut held = Some(bits);
                    conditions.iter().find_map(|condition| {
                        let before = held?;
                        held = before.given(condition, true);
                        go(before.given(condition, false)?, text)
                    })
                })
            }
            Piece::Expect(condition) => go(bits.given(condition, true)?, text),
        }
    }

    /// A part of an address, which may be left out.
    fn component(
        &self,
        bits: Bits,
        text: &str,
        component: &Component,
        (behind, empty): (&[Component], bool),
        then: Option<&Rest<'_>>,
        end: &dyn Fn(Bits) -> Option<u128>,
    ) -> Option<u128> {
        let without = Rest { what: What::Address(behind, empty), then };
        let with = Rest { what: What::Address(behind, false), then };
        let joined = if empty { Some(text) } else { text.strip_prefix('+') };
        match component {
            Component::Register { class, field, suffix, bare_zero } => {
                let highest = highest(field);
                let there = joined.and_then(|text| register_field(*class, field, text));
                let there = there.and_then(|(value, text)| {
                    let bits = bits.with(field, value)?;
                    let named = Rest { what: What::Pieces(suffix), then: Some(&with) };
                    let is_bare = value == highest && *bare_zero;
                    let named = self.read(bits, text, &named, end);
                    named.or_else(|| if is_bare { self.read(bits, text, &with, end) } else { None })
                });
                there.or_else(|| {
                    if !*bare_zero && *class != Class::Gpr {
                        return None;
                    }
                    let bits = bits.with(field, highest)?;
                    if *bare_zero {
                        return self.read(bits, text, &without, end);
                    }
                    // A suffix that says nothing is one that is not there.
                    let silent = |bits: Bits| self.read(bits, text, &without, end);
                    let nothing = Rest { what: What::Pieces(suffix), then: None };
                    self.read(bits, "", &nothing, &silent)
                })
            }
            Component::Offset { field, scale, signed } => {
                let number = joined.and_then(hex).and_then(|(value, text)| {
                    let value = scaled(field, value, *scale, *signed || !empty)?;
                    self.read(bits.with(field, value)?, text, &with, end)
                });
                number.or_else(|| self.read(bits.with(field, 0)?, text, &without, end))
            }
        }
    }
}

fn highest(field: &Field) -> u64 {
    (1 << field.len()) - 1
}

/// What a register's field holds, and what is behind its name.
fn register_field<'t>(class: Class, field: &Field, text: &'t str) -> Option<(u64, &'t str)> {
    let highest = highest(field);
    let (number, rest) = register(class, highest, text)?;
    match class {
        Class::PredDown | Class::UPredDown => Some((highest - number, rest)),
        _ => Some((number, rest)),
    }
}

/// A register's number, and what is behind its name.
fn register(class: Class, highest: u64, text: &str) -> Option<(u64, &str)> {
    let rest = text.strip_prefix(class.prefix())?;
    if let Some(letter) = class.constant()
        && let Some(rest) = rest.strip_prefix(letter)
    {
        return Some((highest, rest));
    }
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let number = rest[..digits].parse().ok()?;
    let is_named = class.constant().is_none() || number != highest;
    (number <= highest && is_named).then_some((number, &rest[digits..]))
}

/// `0x1f`, `-0x8`.
fn hex(text: &str) -> Option<(i128, &str)> {
    let (digits, negative) = match text.strip_prefix('-') {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let digits = digits.strip_prefix("0x")?;
    let len = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
    let value = i128::from(u64::from_str_radix(&digits[..len], 16).ok()?);
    Some((if negative { -value } else { value }, &digits[len..]))
}

/// What a field holds for a number that is printed scaled.
fn scaled(field: &Field, value: i128, scale: u16, signed: bool) -> Option<u64> {
    let scale = i128::from(scale);
    if value % scale != 0 {
        return None;
    }
    let (raw, len) = (value / scale, u32::from(field.len()));
    let range = if signed { -(1 << (len - 1))..1 << (len - 1) } else { 0..1i128 << len };
    let mask = if len == 64 { u64::MAX } else { (1 << len) - 1 };
    range.contains(&raw).then_some(raw as u64 & mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assemble(text: &str) -> Result<u128, String> {
        Assembler::new(Arch::SM_90).expect("tables").assemble(text, 0x100).map_err(|e| e.to_string())
    }

    #[test]
    fn texts_of_all_kinds_are_read() {
        for text in [
            "NOP",
            "@!P0 IMAD.WIDE.U32 R4, R2, 0x4, R6",
            "FADD.FTZ R1, -R2, |R3|",
            "FFMA R1, R2, -1.5, R3",
            "LDG.E.128 R4, [R2.64+0x10]",
            "STG.E [R2.64], R4",
            "LDS R0, [0x10]",
            "ISETP.GE.AND P0, PT, R0, UR4, PT",
            "LOP3.LUT R0, R1, 0x3, RZ, 0xc0, !PT",
            "BRA 0x40",
            "@P1 BRA 0x1000",
            "EXIT",
            "MOV R1, c[0x0][0x28]",
        ] {
            let printed = assemble(text).map(|word| Printer::new(Arch::SM_90).print(word, 0x100).text);
            assert!(printed.as_deref() == Ok(text) || printed.is_err(), "{text}: {printed:?}");
        }
        assert_eq!(assemble("NOP"), Ok(0x7918));
        assert_eq!(assemble("@P0 NOP;"), Ok(0x0918));
    }

    #[test]
    fn what_is_no_instruction_is_told_with_its_place() {
        assert_eq!(assemble("FROB R1"), Err("sm_90 has no instruction `FROB`".to_owned()));
        let error = assemble("FADD R1, R2, Q3").expect_err("no register");
        assert_eq!(
            error,
            "`FADD R1, R2, Q3` is no instruction of sm_90: `Q3` cannot stand behind `FADD R1, R2, `"
        );
        let error = assemble("FADD R1, R2").expect_err("too short");
        assert_eq!(
            error,
            "`FADD R1, R2` is no instruction of sm_90: an operand is missing, or does not fit here"
        );
        assert!(assemble("@P9 NOP").is_err() && assemble("").is_err() && assemble("@").is_err());
    }

    #[test]
    fn an_opaque_word_is_its_own_text() {
        assert_eq!(assemble("OPAQUE 0x00000000000000000000000000000fff"), Ok(0xfff));
    }
}
