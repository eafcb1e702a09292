//! Where an instruction names its registers, and the same instruction with other registers.
//!
//! A register operand is a field of the word that holds the number of its first register; how many registers follow
//! depends on opcode and modifiers. [`Renamer::fields`] lists the fields of a word, [`Renamer::rename`] writes other
//! numbers into them. What it returns is decoded again before it is given out: it is the same instruction with the same
//! operands, apart from the registers that were asked for.
//!
//! Some registers have no field: the members of a predicate mask (`P2R`, `R2P`), and all predicates where a register
//! holds the mask. They are listed as [`Fields::fixed`] and cannot get another name. The constant registers (`RZ`, `URZ`,
//! `PT`, `UPT`) are no registers: a field that holds one is not listed and never written.
//!
//! Source: the decoding tables ([`crate::table`]); the alignment of tuples is what compiled code keeps
//! (`corpus-tests/tests/rename.rs`).

use sassafras_ir::{Lane, RegClass, Span};
use sassafras_machine::Arch;
use smallvec::SmallVec;
use thiserror::Error;

use crate::decode::{Decoded, Decoder, GUARD, RegOperand};
use crate::table::Bits;

/// A field that names registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The registers.
    pub span: Span,
    /// Where the number of the first one sits.
    pub bits: Bits,
    /// What they are for.
    pub role: FieldRole,
    /// Whether the field counts down from 7.
    down: bool,
}

/// What the registers of a field are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldRole {
    /// The instruction runs where the predicate holds.
    Guard,
    /// Read.
    Read,
    /// Written.
    Written,
    /// Read, then written.
    Both,
}

impl Field {
    /// Whether the instruction reads the registers.
    pub fn is_read(&self) -> bool {
        self.role != FieldRole::Written
    }

    /// Whether the instruction writes the registers.
    pub fn is_written(&self) -> bool {
        matches!(self.role, FieldRole::Written | FieldRole::Both)
    }

    /// The field as a mask of the word.
    pub fn mask(&self) -> u128 {
        self.bits.set(0, u64::MAX)
    }

    /// How many registers the field can name: the number of the constant register, where there is one.
    fn limit(&self) -> u32 {
        match self.span.class() {
            RegClass::Uniform => (1 << self.bits.len()) - 1,
            class => class.physical_lanes().min(1 << self.bits.len()),
        }
    }

    fn set(&self, word: u128, number: u32) -> u128 {
        self.bits.set(word, u64::from(if self.down { 7 - number } else { number }))
    }
}

/// The registers of one instruction.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    /// Those that a field names, the guard first.
    pub named: SmallVec<[Field; 8]>,
    /// Those that no field names.
    pub fixed: SmallVec<[Lane; 8]>,
}

/// Why an instruction cannot get other registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Unnamed {
    /// The decoder does not know its operands.
    #[error("the instruction is opaque")]
    Opaque,
    /// The register does not exist, or its field cannot hold it.
    #[error("register {number} for {span}: there is none")]
    NoSuchRegister {
        /// What was to be renamed.
        span: Span,
        /// The number asked for.
        number: u32,
    },
    /// A tuple of this size does not start there.
    #[error("register {number} for {span}: a tuple of this size starts at a multiple of {align}")]
    Misaligned {
        /// What was to be renamed.
        span: Span,
        /// The number asked for.
        number: u32,
        /// What it should be a multiple of.
        align: u32,
    },
    /// Two results would be written to one register.
    #[error("two results in {0}")]
    Clash(Span),
    /// With these registers the word means something else: the tables contradict themselves.
    #[error("another instruction")]
    Another,
}

/// What the number of a tuple's first register is a multiple of: 2 for a pair, 4 for three and four registers. Longer
/// tuples start at multiples of 8 in matrix instructions and of 4 in tensor-memory loads; the larger one is asked for.
pub const fn alignment(lanes: u8) -> u32 {
    match lanes {
        0 | 1 => 1,
        2 => 2,
        3 | 4 => 4,
        _ => 8,
    }
}

/// Whether a tuple that starts at `old` may start at `new`: at a multiple of its alignment, or as far from one as before.
pub const fn fits(lanes: u8, old: u32, new: u32) -> bool {
    let align = alignment(lanes);
    new.is_multiple_of(align) || new % align == old % align
}

/// Finds and rewrites the registers in the words of one architecture.
#[derive(Clone, Copy, Debug)]
pub struct Renamer {
    decoder: Decoder,
}

impl Renamer {
    /// For the words of `arch`.
    pub fn new(arch: Arch) -> Renamer {
        Renamer { decoder: Decoder::new(arch) }
    }

    /// Where the word names its registers; `None` when it is opaque.
    pub fn fields(&self, word: u128) -> Option<Fields> {
        fields(&self.decoder.decode(word, 0))
    }

    /// The word with other registers. `to` gets every field and says with which register it is to start; `None` leaves it.
    ///
    /// A result and a source that share a register are two fields, so that one of them can be renamed alone.
    ///
    /// # Errors
    /// When there is no such instruction.
    pub fn rename(&self, word: u128, mut to: impl FnMut(&Field) -> Option<u32>) -> Result<u128, Unnamed> {
        let old = self.decoder.decode(word, 0);
        let fields = fields(&old).ok_or(Unnamed::Opaque)?;
        let (mut renamed, mut spans) = (word, SmallVec::<[Span; 8]>::new());
        for field in &fields.named {
            let span = field.span;
            let number = to(field).unwrap_or(span.first().index());
            if number != span.first().index() {
                renamed = field.set(renamed, checked(field, number)?);
            }
            let first = Lane::physical(span.class(), number);
            spans.push(first.and_then(|first| Span::new(first, span.len())).unwrap_or(span));
        }
        let results = || fields.named.iter().zip(&spans).filter(|(field, _)| field.is_written());
        for (i, (_, &span)) in results().enumerate() {
            if results().skip(i + 1).any(|(_, other)| other.overlaps(span)) {
                return Err(Unnamed::Clash(span));
            }
        }
        let new = self.decoder.decode(renamed, 0);
        let same = |new: &Fields| new.named.iter().map(|field| field.span).eq(spans.iter().copied());
        match self::fields(&new) {
            Some(found) if same(&found) && found.fixed == fields.fixed && alike(&old, &new) => Ok(renamed),
            _ => Err(Unnamed::Another),
        }
    }
}

/// Where a decoded instruction names its registers; `None` when it is opaque.
pub fn fields(inst: &Decoded) -> Option<Fields> {
    if inst.is_opaque() {
        return None;
    }
    let mut out = Fields::default();
    if let Some(guard) = inst.guard() {
        let role = FieldRole::Guard;
        out.named.push(Field { span: guard.lane.into(), bits: GUARD, role, down: false });
    }
    for reg in inst.registers() {
        match reg.field {
            Some(bits) => {
                let down = bits.get(inst.word()) != u64::from(reg.span.first().index());
                out.named.push(Field { span: reg.span, bits, role: role(reg), down });
            }
            None => out.fixed.extend(reg.span.lanes()),
        }
    }
    Some(out)
}

fn role(reg: &RegOperand) -> FieldRole {
    match (reg.is_read(), reg.is_written()) {
        (true, true) => FieldRole::Both,
        (false, true) => FieldRole::Written,
        _ => FieldRole::Read,
    }
}

fn checked(field: &Field, number: u32) -> Result<u32, Unnamed> {
    let span = field.span;
    if number.checked_add(span.len().into()).is_none_or(|end| end > field.limit()) {
        Err(Unnamed::NoSuchRegister { span, number })
    } else if !fits(span.len(), span.first().index(), number) {
        Err(Unnamed::Misaligned { span, number, align: alignment(span.len()) })
    } else {
        Ok(number)
    }
}

/// The same row of the tables, with the same operands in the same places.
fn alike(old: &Decoded, new: &Decoded) -> bool {
    let place = |reg: &RegOperand| (reg.field, reg.address, role(reg), reg.span.len(), reg.span.class());
    let access = |inst: &Decoded| {
        let plain = |a: crate::Access| (a.mem.space, a.mem.flags, a.mem.width, a.mem.offset, a.is_write);
        inst.accesses().map(plain).collect::<SmallVec<[_; 2]>>()
    };
    (old.mnemonic(), old.flow(), old.effects(), old.category())
        == (new.mnemonic(), new.flow(), new.effects(), new.category())
        && old.registers().iter().map(place).eq(new.registers().iter().map(place))
        && access(old) == access(new)
}
