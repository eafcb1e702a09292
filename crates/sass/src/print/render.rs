//! From a template and a word to text.

use std::fmt::{self, Write};

use super::Coverage;
use super::field::Field;
use super::load::{Guard, Template};
use super::number;
use super::template::{Class, Component, Piece};

/// The bits that belong to the control field: bits 105..126, the reuse bits among them, and the two above it.
const CONTROL: u128 = !0 << 105;
/// The control bit without which the reuse bits have no effect.
pub(super) const REUSE_ENABLE: u32 = 109;
const GUARD: u128 = 0xf << 12;
const OPCODE: u128 = 0xfff;
const INSTRUCTION_BYTES: i128 = 16;

/// Writes a whole instruction.
pub(super) fn instruction(
    out: &mut impl Write,
    template: &Template,
    word: u128,
    pc: u64,
) -> Result<Coverage, fmt::Error> {
    let mut state = State { word, pc, told: OPCODE | CONTROL | template.told, partial: false };
    state.guard(out, template.guard)?;
    state.pieces(out, &template.pieces)?;
    let unknown = template.fixed.iter().any(|fixed| {
        let told = state.told & fixed.field.mask() == fixed.field.mask();
        state.told |= fixed.field.mask();
        !told && !fixed.holds(word)
    });
    let whole = !state.partial && !unknown && word & !state.told == 0;
    Ok(if whole { Coverage::Complete } else { Coverage::Partial })
}

struct State {
    word: u128,
    pc: u64,
    /// The bits that the text tells so far.
    told: u128,
    /// Whether something could not be told.
    partial: bool,
}

impl State {
    fn guard(&mut self, out: &mut impl Write, guard: Guard) -> fmt::Result {
        let class = match guard {
            Guard::None => return Ok(()),
            Guard::Pred => Class::Pred,
            Guard::UPred => Class::UPred,
        };
        self.told |= GUARD;
        let (index, negated) = (self.word >> 12 & 7, self.word >> 15 & 1 == 1);
        if index == 7 && !negated {
            return Ok(());
        }
        out.write_str(if negated { "@!" } else { "@" })?;
        name(out, class, index as u64, 7)?;
        out.write_char(' ')
    }

    fn pieces(&mut self, out: &mut impl Write, pieces: &[Piece]) -> fmt::Result {
        for piece in pieces {
            self.piece(out, piece)?;
        }
        Ok(())
    }

    fn read(&mut self, field: &Field) -> u64 {
        self.told |= field.mask();
        field.get(self.word)
    }

    fn bit(&mut self, bit: u8) -> bool {
        self.told |= 1 << bit;
        self.word >> bit & 1 == 1
    }

    /// A number that a scale may have moved up.
    fn number(&mut self, field: &Field, scale: u16, signed: bool) -> i128 {
        let raw = self.read(field);
        let value = if signed { i128::from(field.get_signed(self.word)) } else { i128::from(raw) };
        value * i128::from(scale)
    }

    fn piece(&mut self, out: &mut impl Write, piece: &Piece) -> fmt::Result {
        match piece {
            Piece::Text(text) => out.write_str(text),
            Piece::Flag { bit, set, text } => {
                if self.bit(*bit) == *set {
                    out.write_str(text)?;
                }
                Ok(())
            }
            Piece::Reuse { bit } => {
                if self.bit(*bit) && self.word >> REUSE_ENABLE & 1 == 1 {
                    out.write_str(".reuse")?;
                }
                Ok(())
            }
            Piece::Table { field, values } => {
                let value = self.read(field);
                match values.get(value as usize).and_then(Option::as_ref) {
                    Some(name) => {
                        self.partial |= name.is_alias;
                        out.write_str(&name.text)
                    }
                    None => {
                        self.partial = true;
                        write!(out, ".?{value:#x}")
                    }
                }
            }
            Piece::Register { class, field } => self.register(out, *class, field),
            Piece::Hex { field, scale, signed } => {
                let value = self.number(field, *scale, *signed);
                number::hex(out, value)
            }
            Piece::Target { field, scale } => {
                let target = i128::from(self.pc) + INSTRUCTION_BYTES + self.number(field, *scale, true);
                number::hex(out, target)
            }
            Piece::Float { kind, field } => {
                let raw = self.read(field);
                self.partial |= !kind.write(out, raw)?;
                Ok(())
            }
            Piece::Address(components) => self.address(out, components),
            Piece::Optional { conditions, body } => {
                for condition in conditions {
                    if condition.tells(self.word) {
                        self.told |= condition.field.mask();
                    }
                    if !condition.holds(self.word) {
                        return Ok(());
                    }
                }
                self.pieces(out, body)
            }
            Piece::Expect(condition) => {
                self.told |= condition.field.mask();
                self.partial |= !condition.holds(self.word);
                Ok(())
            }
        }
    }

    fn register(&mut self, out: &mut impl Write, class: Class, field: &Field) -> fmt::Result {
        let highest = (1 << field.len()) - 1;
        let value = self.read(field);
        match class {
            Class::PredDown | Class::UPredDown => name(out, class, highest - value, highest),
            _ => name(out, class, value, highest),
        }
    }

    fn address(&mut self, out: &mut impl Write, components: &[Component]) -> fmt::Result {
        let mut empty = true;
        for (i, component) in components.iter().enumerate() {
            match component {
                Component::Register { class, field, suffix, bare_zero } => {
                    let more = components[i + 1..].iter().any(|next| self.is_shown(next));
                    let highest = (1 << field.len()) - 1;
                    let zero = self.read(field) == highest && (*bare_zero || *class == Class::Gpr);
                    let bare = zero && (*bare_zero || self.is_silent(suffix));
                    if bare && more {
                        continue;
                    }
                    if !empty {
                        out.write_char('+')?;
                    }
                    empty = false;
                    self.register(out, *class, field)?;
                    if !bare {
                        self.pieces(out, suffix)?;
                    }
                }
                Component::Offset { field, scale, signed } => {
                    let value = self.number(field, *scale, *signed || !empty);
                    if value != 0 || empty {
                        if !empty {
                            out.write_char('+')?;
                        }
                        number::hex(out, value)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether suffixes print nothing; what they do not print is told by that.
    fn is_silent(&mut self, suffix: &[Piece]) -> bool {
        suffix.iter().all(|piece| match piece {
            Piece::Table { field, values } => {
                let value = self.read(field);
                let name = values.get(value as usize).and_then(Option::as_ref);
                name.is_some_and(|name| name.text.is_empty() && !name.is_alias)
            }
            Piece::Flag { bit, set, .. } => self.bit(*bit) != *set,
            _ => false,
        })
    }

    fn is_shown(&self, component: &Component) -> bool {
        match component {
            Component::Register { .. } => true,
            Component::Offset { field, .. } => field.get(self.word) != 0,
        }
    }
}

fn name(out: &mut impl Write, class: Class, value: u64, highest: u64) -> fmt::Result {
    out.write_str(class.prefix())?;
    match class.constant() {
        Some(letter) if value == highest => out.write_char(letter),
        _ => number::small_decimal(out, value),
    }
}
