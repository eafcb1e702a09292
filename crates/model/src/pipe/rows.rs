//! Rows of the pipe-class table: their conditions, their parsing, and the proof that no two of them tie.

use std::cmp::Reverse;
use std::ops::RangeInclusive;

use sassafras_machine::{PipeFlags, PipeMask, SubClass, constants, pipe_mask_rows};
use smallvec::SmallVec;

use crate::pipe::PipeQuery;
use crate::table::{Row, TableError, TableProblem, parse_number};

/// A question about an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Condition {
    /// `wide`: 64-bit data type.
    Wide,
    /// `type=N`: the data type code.
    DataType(u8),
    /// `operand.N`: bit N of the deciding operand.
    OperandBit(u8),
    /// `memory=N`: the memory-space code.
    Memory(u8),
    /// `op1-class=N`: register class of the first operand.
    Operand1Class(u8),
    /// `op2-class=N`: register class of the second operand.
    Operand2Class(u8),
    /// `same-source`.
    SameSource,
    /// `flag-operand`.
    FlagOperand,
    /// `extended`: extended encoding.
    Extended,
    /// `control`: control form of the marker opcode.
    Control,
    /// `tensor`: tensor feature enabled.
    Tensor,
}

impl Condition {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "wide" => Self::Wide,
            "same-source" => Self::SameSource,
            "flag-operand" => Self::FlagOperand,
            "extended" => Self::Extended,
            "control" => Self::Control,
            "tensor" => Self::Tensor,
            _ => {
                if let Some(bit) = text.strip_prefix("operand.") {
                    return Some(Self::OperandBit(parse_number(bit).filter(|b| *b < 32)?));
                }
                let (name, value) = text.split_once('=')?;
                let value = parse_number(value)?;
                match name {
                    "type" => Self::DataType(value),
                    "memory" => Self::Memory(value),
                    "op1-class" => Self::Operand1Class(value),
                    "op2-class" => Self::Operand2Class(value),
                    _ => return None,
                }
            }
        })
    }

    fn holds(self, q: &PipeQuery) -> bool {
        match self {
            Self::Wide => q.wide,
            Self::DataType(t) => q.data_type == t,
            Self::OperandBit(bit) => q.operand >> bit & 1 == 1,
            Self::Memory(m) => q.memory == Some(m),
            Self::Operand1Class(c) => q.operand_classes[0] == Some(c),
            Self::Operand2Class(c) => q.operand_classes[1] == Some(c),
            Self::SameSource => q.same_source,
            Self::FlagOperand => q.flag_operand,
            Self::Extended => q.extended,
            Self::Control => q.control,
            Self::Tensor => q.tensor,
        }
    }

    /// Whether one field would have to hold two values for both to be true.
    fn excludes(self, other: Self) -> bool {
        self != other
            && std::mem::discriminant(&self) == std::mem::discriminant(&other)
            && !matches!(self, Self::OperandBit(_))
    }
}

/// A condition, or its negation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Literal {
    /// The question.
    pub condition: Condition,
    /// The answer that satisfies the row.
    pub expected: bool,
}

impl Literal {
    fn contradicts(self, other: Self) -> bool {
        (self.condition == other.condition && self.expected != other.expected)
            || (self.expected && other.expected && self.condition.excludes(other.condition))
    }
}

/// One row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipeRow {
    /// Opcodes it covers; `None` is the default row.
    pub opcodes: Option<RangeInclusive<u16>>,
    /// Instructions as this table names them: one per opcode, or one name for them all.
    pub mnemonics: Vec<String>,
    /// What must hold, all of it.
    pub conditions: Vec<Literal>,
    /// One class; several where the document leaves the choice open; none where it prints none.
    pub classes: SmallVec<[u16; 2]>,
    /// Pipe override.
    pub pipe: Option<PipeMask>,
    /// Sub-class override.
    pub sub_class: Option<SubClass>,
    /// Pipe-flag override.
    pub flags: Option<PipeFlags>,
    /// Where the row comes from.
    pub source: String,
    /// Why `classes` is not a single one; empty otherwise.
    pub reason: String,
    line: u64,
}

impl PipeRow {
    /// Whether the row applies to an instruction.
    #[must_use]
    pub fn matches(&self, query: &PipeQuery) -> bool {
        let masked = query.opcode & constants().opcode_mask;
        let covered = self
            .opcodes
            .as_ref()
            .is_none_or(|range| u16::try_from(masked).is_ok_and(|opcode| range.contains(&opcode)));
        covered && self.conditions.iter().all(|l| l.condition.holds(query) == l.expected)
    }

    /// The opcodes that go by a name in this row.
    pub fn opcodes_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = u16> + 'a {
        let shared = self.mnemonics.len() == 1;
        let opcodes = self.opcodes.clone().into_iter().flatten().enumerate();
        opcodes.filter_map(move |(i, opcode)| {
            let mnemonic = self.mnemonics.get(if shared { 0 } else { i });
            (mnemonic.is_some_and(|m| m == name)).then_some(opcode)
        })
    }

    /// More conditions beat fewer; among equals the narrower opcode range wins.
    #[must_use]
    pub(crate) fn specificity(&self) -> (usize, Reverse<u32>) {
        let width = self.opcodes.as_ref().map_or(u32::MAX, |r| u32::from(r.end() - r.start()));
        (self.conditions.len(), Reverse(width))
    }

    fn ties_with(&self, other: &Self) -> bool {
        let overlap = match (&self.opcodes, &other.opcodes) {
            (Some(a), Some(b)) => a.start() <= b.end() && b.start() <= a.end(),
            _ => true,
        };
        overlap
            && self.specificity() == other.specificity()
            && !self.conditions.iter().any(|a| other.conditions.iter().any(|b| a.contradicts(*b)))
    }
}

/// Parses one row.
pub(crate) fn parse_row(row: &Row<'_>) -> Result<PipeRow, TableError> {
    let opcodes = match (row.number::<u16>("opcode_lo")?, row.number::<u16>("opcode_hi")?) {
        (None, None) => None,
        (Some(lo), Some(hi)) if lo <= hi => Some(lo..=hi),
        _ => return Err(row.bad("opcode_hi", "both ends of an ascending range, or neither")),
    };
    let mnemonics: Vec<_> = row.filled("mnemonic")?.split(';').map(|m| m.trim().to_owned()).collect();
    let width = opcodes.as_ref().map_or(1, ExactSizeIterator::len);
    if mnemonics.len() != 1 && mnemonics.len() != width {
        return Err(row.bad("mnemonic", "one name, or one per opcode of the range"));
    }
    let mut conditions: Vec<Literal> = Vec::new();
    for word in row.text("condition")?.split_whitespace() {
        let (expected, name) = match word.strip_prefix('!') {
            Some(name) => (false, name),
            None => (true, word),
        };
        let literal = Condition::parse(name).map(|condition| Literal { condition, expected });
        match literal {
            Some(l) if conditions.iter().any(|c| c.condition == l.condition || c.contradicts(l)) => {
                return Err(row.bad("condition", "each condition once, without contradiction"));
            }
            Some(literal) => conditions.push(literal),
            None => return Err(row.bad("condition", "conditions of the documented vocabulary")),
        }
    }
    let classes = row.text("classes")?;
    let classes: SmallVec<[u16; 2]> = classes
        .split('|')
        .filter(|c| !classes.is_empty() || !c.is_empty())
        .map(|c| parse_number(c.trim()).filter(|c| *c < 1 << 9))
        .collect::<Option<_>>()
        .ok_or_else(|| row.bad("classes", "9-bit classes separated by `|`, or nothing"))?;
    let reason = row.text("reason")?;
    if reason.is_empty() != (classes.len() == 1) {
        return Err(row.bad("reason", "a reason exactly when the class is not a single one"));
    }
    let pipe = named(row, "pipe", "A, B, C, all or nothing", |name| {
        let known = pipe_mask_rows().iter().find(|r| r.name == name)?;
        PipeMask::from_in_place(known.value)
    })?;
    let sub_class = named(row, "sub_class", "a documented sub-class or nothing", |text| {
        text.parse::<SubClass>().ok().filter(|s| s.row().is_some())
    })?;
    let flags = named(row, "flags", "documented pipe flags or nothing", |text| {
        text.parse::<PipeFlags>().ok().filter(|f| f.row().is_some())
    })?;
    Ok(PipeRow {
        opcodes,
        mnemonics,
        conditions,
        classes,
        pipe,
        sub_class,
        flags,
        source: row.filled("source")?.to_owned(),
        reason: reason.to_owned(),
        line: row.line,
    })
}

/// An optional field of a fixed vocabulary.
fn named<T>(
    row: &Row<'_>,
    column: &'static str,
    expected: &'static str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, TableError> {
    match row.text(column)? {
        "" => Ok(None),
        text => parse(text).map(Some).ok_or_else(|| row.bad(column, expected)),
    }
}

/// Splits the default row off and proves that no instruction can satisfy two equally specific rows.
pub(crate) fn check_rows(rows: Vec<PipeRow>) -> Result<(Vec<PipeRow>, PipeRow), TableError> {
    const TABLE: &str = "pipe_classes.csv";
    for (i, row) in rows.iter().enumerate() {
        if let Some(other) = rows[..i].iter().find(|other| row.ties_with(other)) {
            return Err(TableError {
                table: TABLE,
                line: row.line,
                problem: TableProblem::Overlap(other.line),
            });
        }
    }
    let is_default = |row: &PipeRow| row.opcodes.is_none() && row.conditions.is_empty();
    let mut rows = rows;
    let Some(at) = rows.iter().position(is_default) else {
        return Err(TableError { table: TABLE, line: 0, problem: TableProblem::MissingRow("default") });
    };
    let default = rows.remove(at);
    Ok((rows, default))
}
