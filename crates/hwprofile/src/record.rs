//! The 96-byte schedule record in its fourteen types, with the 32-byte header and data block that follow in the output.
//!
//! Source: latency-model document, 96-byte schedule record format, record type codes, sub-record formats.

use std::num::NonZeroU32;

use serde::Serialize;

use crate::DecodeError;
use crate::bytes::{Field, Input, get, padded, put, same, zero};
use crate::data::{BarrierTable, Block, DependencyTable, Dimension, SmTable, Variant, VariantSection};
use crate::kind::RecordType;
use crate::text::{Label, Text};

/// The payload of a standard entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Standard {
    /// Latency times throughput: the primary sorting key.
    pub cost_product: u32,
    /// Base latency.
    pub base_latency: u16,
    /// Dual-issue compatibility mask.
    pub dual_issue_flags: u16,
}

/// One record with what its type lets it say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    Root,
    Standard(Standard),
    CategoryHeader(Vec<Text>),
    SmSpecific(SmTable),
    BarrierHeader(BarrierTable),
    Dimensions(Vec<Dimension>),
    Scoreboard(DependencyTable),
    Wait(DependencyTable),
    CategoryFooter,
    Variants(VariantSection),
    GroupBoundary(Option<Label>),
    BarrierEntry { stall: u32 },
    BarrierData(BarrierTable),
    Weights(Text),
}

/// Offsets that a record refers to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Index of the record.
    pub index: u32,
    /// Offset of the record.
    pub record_at: u64,
    /// Offset of its header in the output.
    pub header_at: u64,
    /// Offset of the root record.
    pub root_at: u64,
    /// Offset of the category header.
    pub category_at: u64,
    /// Offset of the tables: the profile object.
    pub tables_at: u64,
    /// Size of the tables.
    pub tables_size: u32,
}

pub(crate) const RECORD_SIZE: usize = 96;
pub(crate) const HEADER_SIZE: usize = 32;

/// `aux_size` and `cost_product` that the document calls fixed.
const DEPENDENCY_SENTINEL: u64 = 280;

const FIELDS: [Field; 17] = [
    (0, 2, "record type"),
    (2, 2, "record padding"),
    (4, 4, "record aux size"),
    (8, 8, "record reserved"),
    (16, 4, "record cost product"),
    (20, 2, "record base latency"),
    (22, 2, "record dual-issue flags"),
    (24, 8, "record reserved"),
    (32, 8, "record data pointer"),
    (40, 8, "record data size"),
    (48, 1, "record inline flag"),
    (49, 15, "record inline string"),
    (64, 8, "record parent pointer"),
    (72, 8, "record reserved"),
    (80, 8, "record string buffer pointer"),
    (88, 1, "record string-backed flag"),
    (89, 7, "record padding"),
];

const HEADER_FIELDS: [Field; 5] = [
    (0, 8, "block data pointer"),
    (8, 4, "block size"),
    (12, 4, "block capacity"),
    (16, 8, "block allocator"),
    (24, 8, "block reserved"),
];

/// How a record refers to its data block.
#[derive(PartialEq)]
enum Link {
    None,
    /// Through the data pointer and size.
    Raw,
    /// Through the string buffer pointer.
    Growable,
}

impl Record {
    pub fn kind(&self) -> RecordType {
        match self {
            Self::Root => RecordType::Root,
            Self::Standard(_) => RecordType::Standard,
            Self::CategoryHeader(_) => RecordType::CategoryHeader,
            Self::SmSpecific(_) => RecordType::SmSpecific,
            Self::BarrierHeader(_) => RecordType::BarrierHeader,
            Self::Dimensions(_) => RecordType::Dimensions,
            Self::Scoreboard(_) => RecordType::Scoreboard,
            Self::Wait(_) => RecordType::Wait,
            Self::CategoryFooter => RecordType::CategoryFooter,
            Self::Variants(_) => RecordType::Variants,
            Self::GroupBoundary(_) => RecordType::GroupBoundary,
            Self::BarrierEntry { .. } => RecordType::BarrierEntry,
            Self::BarrierData(_) => RecordType::BarrierData,
            Self::Weights(_) => RecordType::Weights,
        }
    }

    /// The string in the record itself, if it has one.
    fn inline(&self) -> Option<&str> {
        match self {
            Self::GroupBoundary(label) => label.as_ref().map(Label::as_str),
            Self::Weights(text) => Some(text.as_str()).filter(|text| text.len() <= Label::MAX),
            _ => None,
        }
    }

    /// The data block, empty for none.
    pub fn block(&self) -> Vec<u8> {
        let strings =
            |texts: &[Text]| texts.iter().flat_map(|text| [text.as_str(), "\0"]).collect::<String>();
        match self {
            Self::CategoryHeader(names) => strings(names).into_bytes(),
            Self::SmSpecific(table) => table.to_bytes(),
            Self::BarrierHeader(table) | Self::BarrierData(table) => table.0.to_vec(),
            Self::Dimensions(dimensions) => dimensions.iter().flat_map(|d| d.to_bytes()).collect(),
            Self::Scoreboard(table) | Self::Wait(table) => table.0.to_vec(),
            Self::Variants(section) => section.variants.iter().flat_map(|v| v.to_bytes()).collect(),
            Self::Weights(text) if self.inline().is_none() => {
                strings(std::slice::from_ref(text)).into_bytes()
            }
            Self::Root
            | Self::Standard(_)
            | Self::CategoryFooter
            | Self::GroupBoundary(_)
            | Self::BarrierEntry { .. }
            | Self::Weights(_) => Vec::new(),
        }
    }

    fn link(&self, block_len: usize) -> Link {
        match self {
            _ if block_len == 0 => Link::None,
            Self::BarrierHeader(_) | Self::BarrierData(_) | Self::Scoreboard(_) | Self::Wait(_) => Link::Raw,
            _ => Link::Growable,
        }
    }

    /// The record and its header in the output.
    pub fn encode(&self, place: &Place, block_len: usize) -> ([u8; RECORD_SIZE], [u8; HEADER_SIZE]) {
        let mut out = [0; RECORD_SIZE];
        put(&mut out, 0, 2, self.kind().code().into());
        let (aux, cost) = match self {
            Self::Root => (place.tables_size.into(), 0),
            Self::Standard(standard) => {
                put(&mut out, 20, 2, standard.base_latency.into());
                put(&mut out, 22, 2, standard.dual_issue_flags.into());
                (0, standard.cost_product.into())
            }
            Self::CategoryHeader(names) => (0, names.len() as u64),
            Self::SmSpecific(table) => (0, 4 * table.classes.len() as u64),
            Self::Scoreboard(_) | Self::Wait(_) => (block_len as u64, DEPENDENCY_SENTINEL),
            Self::BarrierData(_) => (block_len as u64, 0),
            Self::BarrierEntry { stall } => (0, (*stall).into()),
            Self::Variants(section) => {
                put(&mut out, 20, 4, place.index.into());
                put(&mut out, 24, 8, place.category_at);
                (0, section.start_index.get().into())
            }
            Self::BarrierHeader(_)
            | Self::Dimensions(_)
            | Self::CategoryFooter
            | Self::GroupBoundary(_)
            | Self::Weights(_) => (0, 0),
        };
        put(&mut out, 4, 4, aux);
        put(&mut out, 16, 4, cost);
        let parent = match self {
            Self::SmSpecific(_) => place.root_at,
            Self::CategoryHeader(_) => place.tables_at,
            _ => 0,
        };
        put(&mut out, 64, 8, parent);
        if let Some(text) = self.inline() {
            out[48] = 1;
            out[49..49 + text.len()].copy_from_slice(text.as_bytes());
            put(&mut out, 80, 8, place.record_at + 48);
        }
        let link = self.link(block_len);
        let (data, size) = match self {
            Self::Root => (place.tables_at, place.tables_size.into()),
            _ if link == Link::None => (0, 0),
            _ => (place.header_at + HEADER_SIZE as u64, block_len as u64),
        };
        if link == Link::Raw || *self == Self::Root {
            put(&mut out, 32, 8, data);
            put(&mut out, 40, 8, size);
        }
        if link == Link::Growable {
            put(&mut out, 80, 8, place.header_at);
            out[88] = 1;
        }
        let mut header = [0; HEADER_SIZE];
        put(&mut header, 0, 8, data);
        put(&mut header, 8, 4, size);
        put(&mut header, 12, 4, padded(size));
        (out, header)
    }

    /// Reads the record at `place`, checks every byte of it, its header, its block and the padding, and returns it with
    /// the offset behind them.
    pub fn decode(input: Input<'_>, place: &Place) -> Result<(Self, u64), DecodeError> {
        let (record_at, header_at) = (place.record_at as usize, place.header_at as usize);
        let bytes: [u8; RECORD_SIZE] = input.array(record_at, "record")?;
        let header: [u8; HEADER_SIZE] = input.array(header_at, "block header")?;
        let code = get(&bytes, 0, 2) as u16;
        let kind = RecordType::from_code(code).ok_or(DecodeError::RecordType { offset: record_at, code })?;
        let block_at = header_at + HEADER_SIZE;
        // The root's data is the tables, not a block of its own.
        let size = if kind == RecordType::Root { 0 } else { get(&header, 8, 4) as usize };
        let block = input.slice(block_at, size, "data block")?;
        let record = Self::parse(kind, &bytes, record_at, block, block_at)?;

        let (expected, expected_header) = record.encode(place, block.len());
        same(header_at, &header, &expected_header, &HEADER_FIELDS)?;
        same(record_at, &bytes, &expected, &FIELDS)?;
        let expected_block = record.block();
        if block.len() != expected_block.len() {
            return Err(DecodeError::BlockSize { offset: block_at, expected: "none", found: block.len() });
        }
        same(block_at, block, &expected_block, &[(0, block.len(), "data block")])?;
        let end = padded(block_at as u64 + size as u64);
        let padding_at = block_at + size;
        zero(padding_at, input.slice(padding_at, end as usize - padding_at, "padding")?)?;
        Ok((record, end))
    }

    /// The typed content, as far as it is not fixed by the type.
    fn parse(
        kind: RecordType,
        bytes: &[u8; RECORD_SIZE],
        record_at: usize,
        block: &[u8],
        block_at: usize,
    ) -> Result<Self, DecodeError> {
        let size_error = |expected| DecodeError::BlockSize { offset: block_at, expected, found: block.len() };
        let barrier = || block.try_into().map(Block).map_err(|_| size_error("128"));
        let dependency = || block.try_into().map(Block).map_err(|_| size_error("36"));
        let cost = get(bytes, 16, 4) as u32;
        let inline = || {
            let text = &bytes[49..64];
            let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
            let text =
                str::from_utf8(&text[..end]).map_err(|_| DecodeError::Text { offset: record_at + 49 })?;
            Label::new(text).ok_or(DecodeError::Text { offset: record_at + 49 })
        };
        let is_inline = bytes[48] == 1;
        Ok(match kind {
            RecordType::Root => Self::Root,
            RecordType::Standard => Self::Standard(Standard {
                cost_product: cost,
                base_latency: get(bytes, 20, 2) as u16,
                dual_issue_flags: get(bytes, 22, 2) as u16,
            }),
            RecordType::CategoryHeader => Self::CategoryHeader(strings(block, block_at)?),
            RecordType::SmSpecific => {
                let classes = cost as usize / 4;
                if block.len() != SmTable::size(classes) {
                    return Err(size_error("16 and 4 per 8 classes"));
                }
                Self::SmSpecific(SmTable::from_bytes(block, classes))
            }
            RecordType::BarrierHeader => Self::BarrierHeader(barrier()?),
            RecordType::BarrierData => Self::BarrierData(barrier()?),
            RecordType::Dimensions => {
                let (dimensions, rest) = block.as_chunks::<{ Dimension::SIZE }>();
                if dimensions.is_empty() || !rest.is_empty() {
                    return Err(size_error("a positive multiple of 12"));
                }
                Self::Dimensions(dimensions.iter().map(|bytes| Dimension::from_bytes(bytes)).collect())
            }
            RecordType::Scoreboard => Self::Scoreboard(dependency()?),
            RecordType::Wait => Self::Wait(dependency()?),
            RecordType::CategoryFooter => Self::CategoryFooter,
            RecordType::Variants => {
                let (variants, rest) = block.as_chunks::<{ Variant::SIZE }>();
                if !rest.is_empty() {
                    return Err(size_error("a multiple of 20"));
                }
                Self::Variants(VariantSection {
                    start_index: NonZeroU32::new(cost).ok_or(DecodeError::Value {
                        offset: record_at + 16,
                        field: "variant start index",
                        expected: 1,
                        found: 0,
                    })?,
                    variants: variants.iter().map(|bytes| Variant::from_bytes(bytes)).collect(),
                })
            }
            RecordType::GroupBoundary => Self::GroupBoundary(is_inline.then(inline).transpose()?),
            RecordType::BarrierEntry => Self::BarrierEntry { stall: cost },
            RecordType::Weights if is_inline => Self::Weights(inline()?.into_text()),
            RecordType::Weights => match <[Text; 1]>::try_from(strings(block, block_at)?) {
                Ok([text]) => Self::Weights(text),
                Err(_) => return Err(DecodeError::Text { offset: block_at }),
            },
        })
    }
}

/// NUL-terminated strings, one after the other.
fn strings(block: &[u8], block_at: usize) -> Result<Vec<Text>, DecodeError> {
    let mut at = block_at;
    block
        .split_inclusive(|&byte| byte == 0)
        .map(|piece| {
            let offset = at;
            at += piece.len();
            let text =
                piece.strip_suffix(&[0]).and_then(|piece| str::from_utf8(piece).ok()).and_then(Text::new);
            text.ok_or(DecodeError::Text { offset })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place {
        index: 3,
        record_at: 0x200,
        header_at: 0x400,
        root_at: 0x140,
        category_at: 0x1A0,
        tables_at: 64,
        tables_size: 112,
    };

    fn encoded(record: &Record) -> [u8; RECORD_SIZE] {
        record.encode(&PLACE, record.block().len()).0
    }

    fn bytes_at(pairs: &[(usize, &[u8])]) -> [u8; RECORD_SIZE] {
        let mut out = [0; RECORD_SIZE];
        for (at, bytes) in pairs {
            out[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        out
    }

    /// The document's record of class 2 on sm_80, byte for byte.
    #[test]
    fn the_worked_example() {
        let record =
            Record::Standard(Standard { cost_product: 17 * 4, base_latency: 17, dual_issue_flags: 0 });
        assert_eq!(encoded(&record), bytes_at(&[(0, &[23]), (16, &[68]), (20, &[17])]));
    }

    #[test]
    fn type_dependent_fields() {
        let tables = &[112, 0, 0, 0];
        assert_eq!(encoded(&Record::Root), bytes_at(&[(0, &[1]), (4, tables), (32, &[64]), (40, tables)]));
        let dependency =
            bytes_at(&[(0, &[54]), (4, &[36]), (16, &[0x18, 0x01]), (32, &[0x20, 4]), (40, &[36])]);
        assert_eq!(encoded(&Record::Wait(Block([7; 36]))), dependency);
        assert_eq!(encoded(&Record::Scoreboard(Block([7; 36])))[1..], dependency[1..]);
        assert_eq!(
            encoded(&Record::BarrierData(Block([7; 128]))),
            bytes_at(&[(0, b"M"), (4, &[128]), (32, &[0x20, 4]), (40, &[128])])
        );
        assert_eq!(
            encoded(&Record::BarrierHeader(Block([7; 128]))),
            bytes_at(&[(0, b"-"), (32, &[0x20, 4]), (40, &[128])])
        );
        assert_eq!(encoded(&Record::BarrierEntry { stall: 9 }), bytes_at(&[(0, b"E"), (16, &[9])]));
        let names = ["base", "full"].map(|name| Text::new(name).expect("no NUL")).to_vec();
        assert_eq!(
            encoded(&Record::CategoryHeader(names)),
            bytes_at(&[(0, b"!"), (16, &[2]), (64, &[64]), (80, &[0, 4]), (88, &[1])])
        );
        let table = SmTable { classes: vec![crate::Properties::of([1; 4]); 9] };
        assert_eq!(
            encoded(&Record::SmSpecific(table)),
            bytes_at(&[(0, b","), (16, &[36]), (64, &[0x40, 1]), (80, &[0, 4]), (88, &[1])])
        );
        let section = VariantSection { start_index: NonZeroU32::MIN, variants: Vec::new() };
        assert_eq!(
            encoded(&Record::Variants(section)),
            bytes_at(&[(0, b";"), (16, &[1]), (20, &[3]), (24, &[0xA0, 1])])
        );
    }

    #[test]
    fn short_strings_are_inline_and_long_ones_are_not() {
        let weights = |text: &str| Record::Weights(Text::new(text).expect("no NUL"));
        assert_eq!(
            encoded(&weights("fifteen letters")),
            bytes_at(&[(0, b"W"), (48, b"\x01fifteen letters"), (80, &[0x30, 2])])
        );
        let long = weights("sixteen letters!");
        assert_eq!(encoded(&long), bytes_at(&[(0, b"W"), (80, &[0, 4]), (88, &[1])]));
        let (_, header) = long.encode(&PLACE, long.block().len());
        assert_eq!(header[..16], [0x20, 4, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0, 32, 0, 0, 0]);
        assert_eq!(header[16..], [0; 16]);
    }
}
