//! Goal: the attribute records of `.nv.info*` sections, and which of their words are instruction offsets.
//!
//! A record is `{format u8, type u8, value u16}`; with format 4 the value is the length of a payload that follows.
//! Source: `data/attributes.csv`, whose rows say where they come from: names as cuobjdump 13.4 prints them, layouts from
//! ptxas 12.9 and 13.4 output.

use std::fmt;
use std::ops::Range;
use std::sync::LazyLock;

use crate::bytes::{Bytes, words};
use crate::error::{Error, Problem};

/// How a record carries its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// No value.
    None,
    /// One byte.
    Byte,
    /// Two bytes.
    Half,
    /// A payload of its own size.
    Sized,
}

/// The type byte of a record.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AttributeType(pub u8);

macro_rules! types {
    ($($(#[doc = $doc:literal])* $name:ident = $value:literal),* $(,)?) => {
        impl AttributeType {
            $($(#[doc = $doc])* pub const $name: Self = Self($value);)*
        }
    };
}

types! {
    /// Largest block a kernel may be launched with (`.maxntid`).
    MAX_THREADS = 0x05,
    /// Constant-bank symbol, offset and size of the parameters.
    PARAM_CBANK = 0x0a,
    /// Exact block a kernel must be launched with (`.reqntid`).
    REQNTID = 0x10,
    /// Stack frame of a function.
    FRAME_SIZE = 0x11,
    /// Least stack that a kernel needs.
    MIN_STACK_SIZE = 0x12,
    /// Parameter: ordinal, offset, size.
    KPARAM_INFO = 0x17,
    /// Register limit the kernel was compiled with.
    MAXREG_COUNT = 0x1b,
    /// Offsets of EXIT instructions.
    EXIT_INSTR_OFFSETS = 0x1c,
    /// Offsets of warp-synchronising instructions on cooperative groups.
    COOP_GROUP_INSTR_OFFSETS = 0x28,
    /// Register count of a function.
    REGCOUNT = 0x2f,
    /// Indirect branches and their targets.
    INDIRECT_BRANCH_TARGETS = 0x34,
    /// Hardware barriers in use.
    NUM_BARRIERS = 0x4c,
    /// What the compiler notes of instructions: those that spill registers.
    ANNOTATIONS = 0x55,
}

impl AttributeType {
    /// Its row of the table, if it has one.
    pub fn info(self) -> Option<&'static AttributeInfo> {
        let index = TABLE.binary_search_by_key(&self, |info| info.kind);
        index.ok().map(|index| &TABLE[index])
    }

    /// Where instruction offsets sit in its payload.
    pub fn offsets(self) -> OffsetLayout {
        self.info().map_or(OffsetLayout::Unknown, |info| info.offsets)
    }
}

impl fmt::Display for AttributeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.info() {
            Some(info) if !info.name.is_empty() => f.write_str(info.name),
            _ => write!(f, "attribute {:#04x}", self.0),
        }
    }
}

impl fmt::Debug for AttributeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Where instruction offsets sit in a payload of 32-bit words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffsetLayout {
    /// Nowhere.
    None,
    /// Records of `words` words, the offset at word `at` of each; a plain list is records of one word.
    Records {
        /// Words per record.
        words: usize,
        /// Position of the offset.
        at: usize,
    },
    /// No offsets, but word *i* belongs to entry *i* of the list attribute of this type and moves with it.
    Parallel(AttributeType),
    /// `{branch offset, 0, n, targets[n]}` repeated. Targets are block starts: places, not instructions.
    BranchTargets,
    /// One word of kind, then offsets.
    KindList,
    /// Not known: the payload may hold offsets.
    Unknown,
}

/// A row of the attribute table.
#[derive(Debug, Clone)]
pub struct AttributeInfo {
    /// Type byte.
    pub kind: AttributeType,
    /// Name without the common prefix; empty where no tool names it.
    pub name: &'static str,
    /// Where offsets sit.
    pub offsets: OffsetLayout,
    /// Whether ptxas writes the records in ascending order of offset.
    pub ascending: bool,
    /// Where the row comes from.
    pub source: &'static str,
    /// What else is known.
    pub note: &'static str,
}

static TABLE: LazyLock<Vec<AttributeInfo>> = LazyLock::new(|| {
    parse_table(include_str!("../data/attributes.csv")).expect("the built-in table is tested")
});

/// Every known attribute, by type.
pub fn attribute_table() -> &'static [AttributeInfo] {
    &TABLE
}

/// A table row that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("attribute table, line {line}: {column} `{value}`")]
struct TableError {
    line: usize,
    column: &'static str,
    value: String,
}

fn parse_table(text: &'static str) -> Result<Vec<AttributeInfo>, TableError> {
    let mut rows: Vec<AttributeInfo> = Vec::new();
    for (index, line) in text.lines().enumerate().skip(1) {
        let error = |column, value: &str| TableError { line: index + 1, column, value: value.to_owned() };
        let fields: Vec<&str> = line.split(',').collect();
        let [kind, name, _format, offsets, order, source, note] = fields[..] else {
            return Err(error("column count", line));
        };
        let kind = u8::from_str_radix(kind, 16).map(AttributeType).map_err(|_| error("type", kind))?;
        if rows.last().is_some_and(|last| last.kind >= kind) {
            return Err(error("type (not ascending)", line));
        }
        if source.is_empty() {
            return Err(error("source", source));
        }
        rows.push(AttributeInfo {
            kind,
            name,
            offsets: parse_layout(offsets).ok_or_else(|| error("offsets", offsets))?,
            ascending: match order {
                "ascending" => true,
                "" => false,
                _ => return Err(error("order", order)),
            },
            source,
            note,
        });
    }
    Ok(rows)
}

fn parse_layout(text: &str) -> Option<OffsetLayout> {
    let mut parts = text.split(':');
    let mut number = |radix| parts.next().and_then(|part| usize::from_str_radix(part, radix).ok());
    let layout = match text.split(':').next()? {
        "none" => OffsetLayout::None,
        "unknown" => OffsetLayout::Unknown,
        "branch-targets" => OffsetLayout::BranchTargets,
        "kind-list" => OffsetLayout::KindList,
        "list" => OffsetLayout::Records { words: 1, at: 0 },
        "pairs" => {
            number(10);
            OffsetLayout::Records { words: 2, at: number(10)? }
        }
        "records" => {
            number(10);
            OffsetLayout::Records { words: number(10)?, at: number(10)? }
        }
        "parallel" => {
            number(16);
            OffsetLayout::Parallel(AttributeType(u8::try_from(number(16)?).ok()?))
        }
        _ => return None,
    };
    match layout {
        OffsetLayout::Records { words, at } if at >= words => None,
        layout => Some(layout),
    }
}

/// One record of a `.nv.info*` section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute<'d> {
    /// Its type.
    pub kind: AttributeType,
    /// How the value is carried.
    pub format: Format,
    /// The 16 bits after the type: the value, or the payload's length.
    pub value: u16,
    /// The payload; empty unless the format is [`Format::Sized`].
    pub payload: &'d [u8],
    /// Byte range of the payload in its section.
    pub payload_range: Range<usize>,
}

impl Attribute<'_> {
    /// The payload as words; a rest shorter than a word is left out.
    pub fn words(&self) -> impl DoubleEndedIterator<Item = u32> + ExactSizeIterator {
        words(self.payload)
    }

    /// Three words, as block sizes are stored.
    pub(crate) fn dimensions(&self) -> Option<[u32; 3]> {
        let mut words = self.words();
        Some([words.next()?, words.next()?, words.next()?])
    }
}

/// Reads the records of one section.
pub(crate) fn parse_attributes<'d>(section: Bytes<'d, '_>) -> Result<Vec<Attribute<'d>>, Error> {
    let mut attributes = Vec::new();
    let mut at = 0u64;
    while (at as usize) < section.data.len() {
        let [format, kind, low, high] = section.array(at, "attribute record")?;
        let value = u16::from_le_bytes([low, high]);
        let format = match format {
            1 => Format::None,
            2 => Format::Byte,
            3 => Format::Half,
            4 => Format::Sized,
            other => {
                return Err(
                    section.error(at, Problem::BadField { what: "attribute format", value: other.into() })
                );
            }
        };
        let len = if format == Format::Sized { value } else { 0 };
        let payload_range = section.range(at + 4, len.into(), "attribute payload")?;
        attributes.push(Attribute {
            kind: AttributeType(kind),
            format,
            value,
            payload: &section.data[payload_range.clone()],
            payload_range,
        });
        at += 4 + u64::from(len);
    }
    Ok(attributes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_reads_and_names_what_the_code_names() {
        let table = parse_table(include_str!("../data/attributes.csv")).expect("valid");
        assert!(table.len() > 90);
        let name = |kind: AttributeType| kind.info().expect("in the table").name;
        assert_eq!(name(AttributeType::EXIT_INSTR_OFFSETS), "EXIT_INSTR_OFFSETS");
        assert_eq!(name(AttributeType::REGCOUNT), "REGCOUNT");
        assert_eq!(name(AttributeType::MAX_THREADS), "MAX_THREADS");
        assert_eq!(name(AttributeType::REQNTID), "REQNTID");
        assert_eq!(name(AttributeType::FRAME_SIZE), "FRAME_SIZE");
        assert_eq!(name(AttributeType::ANNOTATIONS), "ANNOTATIONS");
        for info in &table {
            if let OffsetLayout::Parallel(list) = info.offsets {
                assert_eq!(list.offsets(), OffsetLayout::Records { words: 1, at: 0 });
            }
            assert!(info.offsets != OffsetLayout::Unknown || !info.note.is_empty());
        }
    }

    #[test]
    fn a_broken_table_is_noticed() {
        let rows = |row| parse_table(row).map(|rows| rows.len());
        assert_eq!(rows("header\n1c,EXIT,4,list,ascending,s,"), Ok(1));
        for broken in [
            "header\n1c,EXIT,4,list,ascending,s",
            "header\nzz,EXIT,4,list,ascending,s,",
            "header\n1c,EXIT,4,lisst,ascending,s,",
            "header\n1c,EXIT,4,records:2:2,ascending,s,",
            "header\n1c,EXIT,4,list,descending,s,",
            "header\n1c,EXIT,4,list,ascending,,",
            "header\n1c,A,4,list,,s,\n1c,B,4,list,,s,",
        ] {
            assert!(rows(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn records() {
        let bytes = [4, 0x1c, 4, 0, 0x10, 0, 0, 0, 3, 0x1b, 0xff, 0, 1, 0x2a, 0, 0];
        let records = parse_attributes(Bytes::new(&bytes, ".nv.info.k")).expect("valid");
        assert_eq!(records.len(), 3);
        assert_eq!(records[0].words().collect::<Vec<_>>(), [0x10]);
        assert_eq!(records[0].payload_range, 4..8);
        assert_eq!(records[1].value, 0xff);
        for cut in [1, 3, 5, 7, 9, 13] {
            let error = parse_attributes(Bytes::new(&bytes[..cut], ".nv.info.k"));
            assert_eq!(error.expect_err("truncated").place.section, ".nv.info.k");
        }
    }
}
