//! Instructions in the disassembler's spelling.
//!
//! Where it writes a label, the byte address stands here. Opaque words print as `.word`.

use std::fmt::{self, Display, Formatter, Write};

use sassafras_control::{Field as ControlField, RawControl};

use super::decode::Decoded;
use super::number;
use super::table::{Decoration, Field, Kind, Operand};

const RZ: u64 = 255;
const PT: u64 = 7;
const GUARD: (u32, u64) = (16, 0xf);

/// An instruction to print; see [`Decoded::display`].
#[derive(Clone, Copy, Debug)]
pub struct Listing<'a> {
    decoded: &'a Decoded,
    reuse: u8,
}

impl Decoded {
    /// Prints the instruction; with its control word also the `.reuse` marks of its sources.
    pub fn display(&self, control: Option<RawControl>) -> Listing<'_> {
        Listing { decoded: self, reuse: control.map_or(0, |control| control.get(ControlField::Reuse)) }
    }
}

impl Display for Decoded {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.display(None).fmt(f)
    }
}

impl Display for Listing<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let word = self.decoded.word();
        let Some(row) = self.decoded.row else {
            return write!(f, ".word {word:#018x} ;");
        };
        if row.guarded {
            let guard = word >> GUARD.0 & GUARD.1;
            let not = if guard >> 3 == 1 { "!" } else { "" };
            match guard & PT {
                PT if not.is_empty() => {}
                PT => f.write_str("@!PT ")?,
                index => write!(f, "@{not}P{index} ")?,
            }
        }
        f.write_str(&row.name)?;
        for modifier in &row.modifiers {
            f.write_str(modifier.text(word, self.reuse).unwrap_or(".?"))?;
        }
        let printed = |operand: &&Operand| {
            !operand.hidden && (operand.default.is_none() || operand.kind.value(word) != operand.default)
        };
        for (i, operand) in row.operands.iter().filter(printed).enumerate() {
            f.write_str(if i == 0 { " " } else { ", " })?;
            self.operand(f, operand)?;
        }
        f.write_str(" ;")
    }
}

impl Listing<'_> {
    fn operand(&self, f: &mut Formatter<'_>, operand: &Operand) -> fmt::Result {
        let word = self.decoded.word();
        let set = |bit: Option<u8>| bit.is_some_and(|bit| word >> bit & 1 == 1);
        let Decoration { negate, absolute, invert, not, slot, suffixes } = &operand.decoration;
        let (negate, absolute, invert) = (set(*negate), set(*absolute), set(*invert));
        let is_immediate =
            matches!(operand.kind, Kind::Integer { .. } | Kind::F32(_) | Kind::F64(_) | Kind::F16(_));
        if !is_immediate {
            f.write_str(if set(*not) { "!" } else { "" })?;
            f.write_str(if negate { "-" } else { "" })?;
            f.write_str(if invert { "~" } else { "" })?;
            f.write_str(if absolute { "|" } else { "" })?;
        }
        self.kind(f, &operand.kind)?;
        if is_immediate {
            f.write_str(if negate { ".NEG" } else { "" })?;
            f.write_str(if absolute { ".ABS" } else { "" })?;
            f.write_str(if invert { ".INV" } else { "" })?;
        }
        for suffix in suffixes {
            f.write_str(suffix.text(word, self.reuse).unwrap_or(".?"))?;
        }
        f.write_str(if absolute && !is_immediate { "|" } else { "" })?;
        let is_register = matches!(&operand.kind, Kind::Gpr { field, .. } if field.get(word) != RZ);
        if is_register && slot.is_some_and(|slot| self.reuse >> slot & 1 == 1) {
            f.write_str(".reuse")?;
        }
        Ok(())
    }

    fn kind(&self, f: &mut Formatter<'_>, kind: &Kind) -> fmt::Result {
        let word = self.decoded.word();
        match kind {
            Kind::Gpr { field, plus, .. } => gpr(f, field.get(word), *plus),
            Kind::Predicate { .. } => match kind.value(word) {
                Some(index) if index != PT => write!(f, "P{index}"),
                _ => f.write_str("PT"),
            },
            Kind::Constant { bank, offset } => {
                write!(f, "c[{:#x}][", bank.get(word))?;
                number::hex(f, offset.get_signed(word) * 4)?;
                f.write_str("]")
            }
            Kind::Integer { field, signed: true } => number::hex(f, field.get_signed(word)),
            Kind::Integer { field, signed: false } | Kind::Absolute(field) => {
                write!(f, "{:#x}", field.get(word))
            }
            Kind::F32(field) => number::float(f, number::single(left(field, word, 32) as u32)),
            Kind::F64(field) => number::float(f, f64::from_bits(left(field, word, 64))),
            Kind::F16(field) => number::float(f, number::half(left(field, word, 16) as u16)),
            Kind::Address { base, offset, unit, .. } => {
                let base = base.get(word);
                // An address without a register is not relative to anything.
                let value =
                    |field: &Field| if base == RZ { field.get(word) as i64 } else { field.get_signed(word) };
                let offset = offset.as_ref().map_or(0, |field| value(field) * i64::from(*unit));
                f.write_str("[")?;
                address(f, base, offset)?;
                f.write_str("]")
            }
            Kind::IndexedConstant { bank, base, offset } => {
                write!(f, "c[{:#x}][", bank.get(word))?;
                address(f, base.get(word), offset.get_signed(word))?;
                f.write_str("]")
            }
            Kind::JumpRegister { base, offset } => {
                gpr(f, base.get(word), 0)?;
                match offset.get_signed(word) {
                    0 => Ok(()),
                    offset => {
                        f.write_char(' ')?;
                        number::hex(f, offset)
                    }
                }
            }
            Kind::Target(field) => number::hex(f, self.decoded.raw_target(field) as i64),
            Kind::Test { set, field } => write!(f, "CC{}", set.text(field.get(word)).unwrap_or(".?")),
            Kind::Flags => f.write_str("CC"),
            Kind::Predicates { .. } => f.write_str("PR"),
            Kind::Scoreboards(field) => {
                let set = field.get(word);
                let mut numbers = (0..field.width()).rev().filter(|i| set >> i & 1 == 1);
                write!(f, "{{{}", numbers.next().unwrap_or_default())?;
                numbers.try_for_each(|number| write!(f, ",{number}"))?;
                f.write_str("}")
            }
            Kind::Text { set, field } => f.write_str(set.text(field.get(word)).unwrap_or("?")),
            Kind::Literal(text) => f.write_str(text),
        }
    }
}

/// The highest bits of a number of `width` bits.
fn left(field: &Field, word: u64, width: u32) -> u64 {
    field.get(word) << (width - field.width())
}

fn gpr(f: &mut Formatter<'_>, value: u64, plus: u8) -> fmt::Result {
    match value {
        RZ => f.write_str("RZ"),
        _ => write!(f, "R{}", value + u64::from(plus)),
    }
}

/// A base register and an offset: either is left out when it is zero, but not both.
fn address(f: &mut Formatter<'_>, base: u64, offset: i64) -> fmt::Result {
    match (base, offset) {
        (_, 0) => gpr(f, base, 0),
        (RZ, _) => number::hex(f, offset),
        _ => {
            gpr(f, base, 0)?;
            f.write_char('+')?;
            number::hex(f, offset)
        }
    }
}
