//! Goal: the conditions under which an opcode takes another scheduling class, and the facts they are tested on.
//!
//! Source: latency-model document, notes of the opcode-to-class tables. A condition is a conjunction of [`Atom`]s; the
//! empty conjunction, written `default`, always holds. Text form: `wide`, `type=19`, `mercury&split=2`.
//!
//! The integer notes print numbers behind the floating-point width ("FP-width 3,5", "FP-width 4", "Wide opcode 6").
//! Each is the opcode number of its row, or of another row with the same class, so they are read as the opcodes of one
//! shared case and not as width codes: the width is a yes/no fact.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// What is known of one instruction. The default is the document's: narrow, not Mercury, unflagged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Conditions {
    /// A wide data type (FP64).
    pub wide: bool,
    /// The Mercury encoder is in use.
    pub mercury: bool,
    /// A floating-point width.
    pub fp_width: bool,
    /// Data type code.
    pub data_type: Option<u8>,
    /// The tested flag (guard or flag operand) is set.
    pub flag: bool,
    /// Memory-space code, see [`MemorySpace`](crate::MemorySpace).
    pub memory: Option<u8>,
    /// Register class of the tested operand.
    pub reg_class: Option<u8>,
    /// A rematerialised instruction.
    pub remat: bool,
    /// Which outcome of a split on operand bits, counted from 1 as printed; 0 when not known.
    pub split: u8,
    /// Which variant of the operation, counted from 1; 0 when not known.
    pub variant: u8,
    /// Version of the operation.
    pub version: Option<u8>,
}

/// One test on [`Conditions`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Atom {
    /// The data type is wide.
    Wide,
    /// The Mercury encoder is in use.
    Mercury,
    /// The width is a floating-point one.
    FpWidth,
    /// The data type code.
    Type(u8),
    /// The flag is set.
    FlagSet,
    /// The flag is clear.
    FlagClear,
    /// The memory-space code.
    Memory(u8),
    /// The register class of the tested operand.
    RegClass(u8),
    /// The instruction is rematerialised.
    Remat,
    /// The n-th outcome of a split on operand bits the document does not spell out.
    Split(u8),
    /// The n-th variant.
    Variant(u8),
    /// A version is given and it is another one.
    NotVersion(u8),
}

impl Atom {
    fn holds(&self, facts: &Conditions) -> bool {
        match self {
            Self::Wide => facts.wide,
            Self::Mercury => facts.mercury,
            Self::FpWidth => facts.fp_width,
            Self::Type(code) => facts.data_type == Some(*code),
            Self::FlagSet => facts.flag,
            Self::FlagClear => !facts.flag,
            Self::Memory(code) => facts.memory == Some(*code),
            Self::RegClass(class) => facts.reg_class == Some(*class),
            Self::Remat => facts.remat,
            Self::Split(n) => facts.split == *n,
            Self::Variant(n) => facts.variant == *n,
            Self::NotVersion(n) => facts.version.is_some_and(|version| version != *n),
        }
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wide => f.write_str("wide"),
            Self::Mercury => f.write_str("mercury"),
            Self::FpWidth => f.write_str("fp_width"),
            Self::Type(n) => write!(f, "type={n}"),
            Self::FlagSet => f.write_str("flag_set"),
            Self::FlagClear => f.write_str("flag_clear"),
            Self::Memory(n) => write!(f, "memory={n}"),
            Self::RegClass(n) => write!(f, "reg_class={n}"),
            Self::Remat => f.write_str("remat"),
            Self::Split(n) => write!(f, "split={n}"),
            Self::Variant(n) => write!(f, "variant={n}"),
            Self::NotVersion(n) => write!(f, "not_version={n}"),
        }
    }
}

/// A text that is no condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a condition")]
pub struct ConditionError(String);

impl FromStr for Atom {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        let error = || ConditionError(text.to_owned());
        let number = |text: &str| text.parse::<u8>().map_err(|_| error());
        let Some((name, value)) = text.split_once('=') else {
            return match text {
                "wide" => Ok(Self::Wide),
                "mercury" => Ok(Self::Mercury),
                "fp_width" => Ok(Self::FpWidth),
                "flag_set" => Ok(Self::FlagSet),
                "flag_clear" => Ok(Self::FlagClear),
                "remat" => Ok(Self::Remat),
                _ => Err(error()),
            };
        };
        match name {
            "type" => number(value).map(Self::Type),
            "memory" => number(value).map(Self::Memory),
            "reg_class" => number(value).map(Self::RegClass),
            // Zero means "not known" in the facts, so it cannot be asked for.
            "split" | "variant" if number(value)? == 0 => Err(error()),
            "split" => number(value).map(Self::Split),
            "variant" => number(value).map(Self::Variant),
            "not_version" => number(value).map(Self::NotVersion),
            _ => Err(error()),
        }
    }
}

/// A conjunction of atoms; empty is the default.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Condition(Vec<Atom>);

impl Condition {
    /// Whether every atom holds.
    pub fn holds(&self, facts: &Conditions) -> bool {
        self.0.iter().all(|atom| atom.holds(facts))
    }

    /// The atoms.
    pub fn atoms(&self) -> &[Atom] {
        &self.0
    }

    /// Higher is more specific: first by number of atoms, then an atom that names a value beats a yes/no one.
    pub fn specificity(&self) -> usize {
        let valued = |atom: &Atom| {
            !matches!(
                atom,
                Atom::Wide | Atom::Mercury | Atom::FpWidth | Atom::FlagSet | Atom::FlagClear | Atom::Remat
            )
        };
        // A row holds far fewer than 64 atoms; the loader caps them.
        64 * self.0.len() + self.0.iter().filter(|atom| valued(atom)).count()
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("default");
        }
        for (at, atom) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str("&")?;
            }
            atom.fmt(f)?;
        }
        Ok(())
    }
}

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        if text == "default" {
            return Ok(Self::default());
        }
        let atoms = text.split('&').map(str::parse).collect::<Result<Vec<_>, _>>()?;
        if atoms.len() >= 64 { Err(ConditionError(text.chars().take(40).collect())) } else { Ok(Self(atoms)) }
    }
}

impl Serialize for Condition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
