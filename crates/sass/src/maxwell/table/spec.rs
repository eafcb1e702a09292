//! What the cells of the tables mean.

use std::sync::Arc;

use sassafras_ir::{Effects, Space};
use smallvec::SmallVec;

use super::field::Field;

/// Whether registers are read, written or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Direction {
    #[default]
    Read,
    Write,
    Both,
}

/// The texts of a modifier field, by value; `None` where nothing is known of it.
#[derive(Debug)]
pub(crate) struct Set(pub Box<[Option<Box<str>>]>);

impl Set {
    pub fn text(&self, value: u64) -> Option<&str> {
        self.0.get(value as usize)?.as_deref()
    }
}

/// The registers and bytes of one value of a size field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub lanes: u8,
    pub bytes: Option<u32>,
}

/// What each value of a size field means.
#[derive(Debug, Default)]
pub(crate) struct Rule(pub Vec<Option<Extent>>);

impl Rule {
    pub fn get(&self, value: u64) -> Option<Extent> {
        *self.0.get(value as usize)?
    }
}

/// How many registers an operand has.
#[derive(Clone, Debug)]
pub(crate) enum Lanes {
    Fixed(u8),
    By(Arc<Rule>, Field),
}

/// Text that a bit or a field adds.
#[derive(Clone, Debug)]
pub(crate) enum Modifier {
    Flag {
        text: Box<str>,
        bit: u8,
        when: bool,
        flags: Option<Direction>,
    },
    Set {
        set: Arc<Set>,
        field: Field,
    },
    /// Printed when this reuse flag of the control word is set.
    Reuse {
        text: Box<str>,
        slot: u8,
    },
}

impl Modifier {
    /// What it prints, given the word and the reuse flags of its control word; `None` for an unlisted value.
    pub fn text(&self, word: u64, reuse: u8) -> Option<&str> {
        match self {
            Modifier::Reuse { text, slot } => Some(if reuse >> slot & 1 == 1 { text } else { "" }),
            Modifier::Flag { text, bit, when, .. } => {
                Some(if (word >> bit & 1 == 1) == *when { text } else { "" })
            }
            Modifier::Set { set, field } => set.text(field.get(word)),
        }
    }

    /// The bits it reads.
    pub fn mask(&self) -> u64 {
        match self {
            Modifier::Flag { bit, .. } => 1 << bit,
            Modifier::Set { field, .. } => field.mask(),
            Modifier::Reuse { .. } => 0,
        }
    }

    /// How it uses the condition codes in `word`.
    pub fn flags(&self, word: u64) -> Option<Direction> {
        match self {
            Modifier::Flag { bit, when, flags, .. } if (word >> bit & 1 == 1) == *when => *flags,
            _ => None,
        }
    }
}

/// What an operand is.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Gpr { field: Field, lanes: Lanes, plus: u8 },
    Predicate { field: Field, down: bool },
    Constant { bank: Field, offset: Field },
    Integer { field: Field, signed: bool },
    F32(Field),
    F64(Field),
    F16(Field),
    Address { base: Field, lanes: Lanes, offset: Option<Field>, unit: u8 },
    IndexedConstant { bank: Field, base: Field, offset: Field },
    JumpRegister { base: Field, offset: Field },
    Target(Field),
    Absolute(Field),
    Test { field: Field, set: Arc<Set> },
    Flags,
    Predicates { mask: Option<Field> },
    Scoreboards(Field),
    Text { set: Arc<Set>, field: Field },
    Literal(Box<str>),
}

impl Kind {
    /// The bits it reads.
    pub fn mask(&self) -> u64 {
        let lanes = |lanes: &Lanes| match lanes {
            Lanes::Fixed(_) => 0,
            Lanes::By(_, field) => field.mask(),
        };
        match self {
            // A width field is also printed by a modifier or is part of the opcode; it is known where the rule lists it.
            Kind::Gpr { field, lanes: l, .. } => field.mask() | lanes(l),
            Kind::Address { base, lanes: l, offset, .. } => {
                base.mask() | lanes(l) | offset.as_ref().map_or(0, Field::mask)
            }
            Kind::Constant { bank, offset } => bank.mask() | offset.mask(),
            Kind::IndexedConstant { bank, base, offset } => bank.mask() | base.mask() | offset.mask(),
            Kind::JumpRegister { base, offset } => base.mask() | offset.mask(),
            Kind::Predicate { field, .. }
            | Kind::Integer { field, .. }
            | Kind::F32(field)
            | Kind::F64(field)
            | Kind::F16(field)
            | Kind::Target(field)
            | Kind::Absolute(field)
            | Kind::Test { field, .. }
            | Kind::Scoreboards(field)
            | Kind::Text { field, .. } => field.mask(),
            Kind::Predicates { mask } => mask.as_ref().map_or(0, Field::mask),
            Kind::Flags | Kind::Literal(_) => 0,
        }
    }

    /// The value that `?` compares with.
    pub fn value(&self, word: u64) -> Option<u64> {
        match self {
            Kind::Predicate { field, down: true } => Some(7 - field.get(word)),
            Kind::Gpr { field, .. }
            | Kind::Predicate { field, .. }
            | Kind::Integer { field, .. }
            | Kind::Test { field, .. }
            | Kind::Scoreboards(field)
            | Kind::Text { field, .. } => Some(field.get(word)),
            _ => None,
        }
    }
}

/// What is printed around an operand.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decoration {
    pub negate: Option<u8>,
    pub absolute: Option<u8>,
    pub invert: Option<u8>,
    pub not: Option<u8>,
    /// The reuse flag of the control word that stands for it.
    pub slot: Option<u8>,
    pub suffixes: SmallVec<[Modifier; 1]>,
}

impl Decoration {
    pub fn mask(&self) -> u64 {
        let bits = [self.negate, self.absolute, self.invert, self.not];
        let suffixes = self.suffixes.iter().fold(0, |mask, suffix| mask | suffix.mask());
        bits.into_iter().flatten().fold(suffixes, |mask, bit| mask | 1 << bit)
    }
}

/// One operand of a row.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    pub kind: Kind,
    pub direction: Direction,
    pub decoration: Decoration,
    /// Left out of the text when it has this value.
    pub default: Option<u64>,
    /// Named by the disassembler through its effect only.
    pub hidden: bool,
}

impl Operand {
    pub fn mask(&self) -> u64 {
        self.kind.mask() | self.decoration.mask()
    }
}

/// What a memory instruction does with its access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemKind {
    Load,
    Store,
    Atomic,
}

/// How many bytes an access has.
#[derive(Clone, Debug)]
pub(crate) enum Width {
    Unknown,
    Bytes(u32),
    By(Arc<Rule>, Field),
}

/// The memory access of a row.
#[derive(Clone, Debug)]
pub(crate) struct MemSpec {
    pub kind: MemKind,
    pub space: Space,
    pub width: Width,
}

/// The control-flow role of a row; targets are those of its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlowKind {
    Branch,
    Call,
    Push,
    Pop,
    Return,
    Exit,
}

/// One instruction in one form.
#[derive(Debug)]
pub(crate) struct Row {
    pub name: Box<str>,
    pub matching: u64,
    pub mask: u64,
    /// Every bit that the row says something about.
    pub accounted: u64,
    pub guarded: bool,
    pub modifiers: Box<[Modifier]>,
    pub operands: Box<[Operand]>,
    pub memory: Option<MemSpec>,
    pub flow: Option<FlowKind>,
    pub effects: Effects,
}
