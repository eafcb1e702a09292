//! The pipe-class assigner: which execution pipe, and which 9-bit pipe class, an instruction gets at encoding time.
//!
//! Source: latency-model document, section "Execution Pipe Assignment". The decisions are rows of
//! `data/pipe_classes.csv`; the code only finds the most specific row that an instruction satisfies.
//!
//! Readings: opcode numbers clash with those of the scheduling-class tables (0x12 is FADD here), so a caller maps its
//! instructions to *this* table's opcodes by the mnemonic column. The tensor gate covers the four tensor rows. Where
//! the text gives two classes without saying which, or none, the row keeps both or none, with the reason.

mod rows;

use std::sync::LazyLock;

use sassafras_machine::{Descriptor, DescriptorFields, LatencyIndex, PipeFlags, PipeMask, SubClass};

use crate::pipe::rows::{check_rows, parse_row};
use crate::table::{TableError, read_table};

pub use rows::{Condition, Literal, PipeRow};

/// Everything the assigner may look at. Unset fields keep their neutral default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PipeQuery {
    /// Opcode in this document's numbering; modifier bits are masked out here.
    pub opcode: u32,
    /// The data type is wide (64-bit).
    pub wide: bool,
    /// The data type code; 19 has classes of its own.
    pub data_type: u8,
    /// The deciding operand's low word, of which the table tests single bits.
    pub operand: u32,
    /// Memory-space code of the access (3 shared, 4 constant).
    pub memory: Option<u8>,
    /// Register classes of the first and second operand.
    pub operand_classes: [Option<u8>; 2],
    /// Both sources encode the same register.
    pub same_source: bool,
    /// The access carries a flag operand.
    pub flag_operand: bool,
    /// The instruction needs the extended encoding.
    pub extended: bool,
    /// The target recognises the instruction as the control form of the marker opcode.
    pub control: bool,
    /// The tensor feature is enabled for this compilation.
    pub tensor: bool,
}

/// What the assigner writes into the descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PipeAssignment<'t> {
    /// The row that decided.
    pub row: &'t PipeRow,
    /// Execution pipe: the row's override or all pipes.
    pub pipe: PipeMask,
    /// Sub-class: the row's override or the maximum-throughput sentinel.
    pub sub_class: SubClass,
    /// Pipe flags: the row's override or all flags set.
    pub flags: PipeFlags,
}

impl PipeAssignment<'_> {
    /// The pipe class, when the document determines it.
    #[must_use]
    pub fn class(&self) -> Option<u16> {
        match self.row.classes[..] {
            [class] => Some(class),
            _ => None,
        }
    }

    /// The descriptor: initialised to all pipes, then overridden; `None` when the class is not determined.
    #[must_use]
    pub fn descriptor(&self) -> Option<Descriptor> {
        let initial = Descriptor::ALL_PIPES;
        initial.with(&DescriptorFields {
            latency_index: LatencyIndex::new(self.class()?)?,
            pipe_mask: self.pipe,
            sub_class: self.sub_class,
            pipe_flags: self.flags,
            ..initial.unpack()
        })
    }

    /// Whether only the table's default row applied.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.row.opcodes.is_none()
    }
}

/// The decision table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipeTable {
    rows: Vec<PipeRow>,
    default: PipeRow,
}

static SHIPPED: LazyLock<PipeTable> = LazyLock::new(|| {
    PipeTable::parse(include_str!("../../data/pipe_classes.csv"))
        .expect("the shipped pipe classes are validated by a test")
});

impl PipeTable {
    /// The documented table.
    #[must_use]
    pub fn shipped() -> &'static Self {
        &SHIPPED
    }

    /// Parses a table.
    ///
    /// # Errors
    /// Names the line of a malformed row, of a row that another makes ambiguous, or the missing default row.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let rows = read_table("pipe_classes.csv", text, parse_row)?;
        let (rows, default) = check_rows(rows)?;
        Ok(Self { rows, default })
    }

    /// All rows, the default last.
    pub fn rows(&self) -> impl Iterator<Item = &PipeRow> {
        self.rows.iter().chain([&self.default])
    }

    /// The opcodes that go by a name in this table, ascending; a name may stand for several (DFMA does).
    #[must_use]
    pub fn opcodes_named(&self, name: &str) -> Vec<u16> {
        let mut opcodes: Vec<_> = self.rows.iter().flat_map(|row| row.opcodes_named(name)).collect();
        opcodes.sort_unstable();
        opcodes.dedup();
        opcodes
    }

    /// Picks the most specific satisfied row: most conditions first, then the narrowest opcode range. The loader
    /// guarantees that there is exactly one.
    #[must_use]
    pub fn assign(&self, query: &PipeQuery) -> PipeAssignment<'_> {
        let row = self
            .rows
            .iter()
            .filter(|row| row.matches(query))
            .max_by_key(|row| row.specificity())
            .unwrap_or(&self.default);
        PipeAssignment {
            row,
            pipe: row.pipe.unwrap_or(PipeMask::ALL),
            sub_class: row.sub_class.unwrap_or(SubClass::ALL),
            flags: row.flags.unwrap_or(PipeFlags::ALL),
        }
    }
}

#[cfg(test)]
mod tests;
