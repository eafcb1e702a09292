//! The file around the documented bytes: header, parts, encoder and decoder.
//!
//! | offset | size | container header field |
//! |---|---|---|
//! | 0 | 8 | [`MAGIC`] |
//! | 8 | 2 | [`VERSION`] |
//! | 10 | 2 | header size, 64 |
//! | 12 | 4 | architecture: SM number (0 = the universal fallback), suffix letter or 0, 1 |
//! | 16 | 4 | architecture whose costs it uses, likewise; all 0 when its own |
//! | 20 | 4 | number of latency entries |
//! | 24 | 4 | number of rules, and of knowledge records |
//! | 28 | 4 | number of schedule records |
//! | 32 | 8 | offset of the tables |
//! | 40 | 8 | offset of the knowledge records |
//! | 48 | 8 | offset of the schedule records |
//! | 56 | 8 | length of the file |

use sassafras_machine::{Arch, Suffix};

use crate::bytes::{ALIGN, Field, Input, get, padded, put, same, zero};
use crate::class::{Class, KNOWLEDGE_SIZE, LatencyEntry};
use crate::grammar;
use crate::profile::Profile;
use crate::record::{HEADER_SIZE, Place, RECORD_SIZE, Record};
use crate::rule::Rule;
use crate::{DecodeError, EncodeError};

/// First bytes of a profile.
pub const MAGIC: [u8; 8] = *b"SASFHWP\n";
/// Version of the container.
pub const VERSION: u16 = 1;
const SIZE: usize = 64;

const FIELDS: [Field; 16] = [
    (0, 8, "magic"),
    (8, 2, "version"),
    (10, 2, "header size"),
    (12, 2, "architecture number"),
    (14, 1, "architecture suffix"),
    (15, 1, "architecture marker"),
    (16, 2, "inherited architecture number"),
    (18, 1, "inherited architecture suffix"),
    (19, 1, "inherited architecture marker"),
    (20, 4, "latency entry count"),
    (24, 4, "rule count"),
    (28, 4, "record count"),
    (32, 8, "tables offset"),
    (40, 8, "knowledge offset"),
    (48, 8, "records offset"),
    (56, 8, "file length"),
];

/// Where the parts lie. Counts are 32-bit, so no sum overflows 64 bits.
#[derive(Clone, Copy)]
struct Parts {
    entries: u32,
    rules: u32,
    records: u32,
}

impl Parts {
    const TABLES: u64 = SIZE as u64;

    fn rules_at(self) -> u64 {
        Self::TABLES + u64::from(self.entries) * LatencyEntry::SIZE as u64
    }

    fn tables_end(self) -> u64 {
        self.rules_at() + u64::from(self.rules) * Rule::SIZE as u64
    }

    fn knowledge_at(self) -> u64 {
        padded(self.tables_end())
    }

    fn records_at(self) -> u64 {
        self.knowledge_at() + u64::from(self.rules) * KNOWLEDGE_SIZE as u64
    }

    fn output_at(self) -> u64 {
        self.records_at() + u64::from(self.records) * RECORD_SIZE as u64
    }

    fn tables_size(self) -> Option<u32> {
        u32::try_from(self.tables_end() - Self::TABLES).ok()
    }

    fn place(self, index: u32, root: u64, header_at: u64, tables_size: u32) -> Place {
        let record = |index: u64| self.records_at() + index * RECORD_SIZE as u64;
        Place {
            index,
            record_at: record(index.into()),
            header_at,
            root_at: record(root),
            category_at: record(root + 1),
            tables_at: Self::TABLES,
            tables_size,
        }
    }
}

fn put_arch(out: &mut [u8], arch: Option<Arch>) {
    let Some(arch) = arch else { return };
    put(out, 0, 2, arch.number().unwrap_or(0).into());
    out[2] = match arch.suffix() {
        Suffix::None => 0,
        Suffix::A => b'a',
        Suffix::F => b'f',
    };
    out[3] = 1;
}

fn get_arch(header: &[u8; SIZE], offset: usize) -> Result<Option<Arch>, DecodeError> {
    let field = &header[offset..offset + 4];
    if field == [0; 4] {
        return Ok(None);
    }
    let (number, suffix) = (get(field, 0, 2) as u16, field[2]);
    let name = match (number, suffix) {
        (0, 0) => Some("universal".to_owned()),
        (_, 0) => Some(format!("sm_{number}")),
        (_, b'a' | b'f') => Some(format!("sm_{number}{}", char::from(suffix))),
        _ => None,
    };
    let arch = name.and_then(|name| name.parse().ok());
    arch.map(Some).ok_or(DecodeError::Arch { offset, number, suffix })
}

fn header(profile: &Profile, parts: Parts, file_len: u64) -> [u8; SIZE] {
    let mut out = [0; SIZE];
    out[..8].copy_from_slice(&MAGIC);
    put(&mut out, 8, 2, VERSION.into());
    put(&mut out, 10, 2, SIZE as u64);
    put_arch(&mut out[12..16], Some(profile.arch));
    put_arch(&mut out[16..20], profile.inherited_from);
    put(&mut out, 20, 4, parts.entries.into());
    put(&mut out, 24, 4, parts.rules.into());
    put(&mut out, 28, 4, parts.records.into());
    put(&mut out, 32, 8, Parts::TABLES);
    put(&mut out, 40, 8, parts.knowledge_at());
    put(&mut out, 48, 8, parts.records_at());
    put(&mut out, 56, 8, file_len);
    out
}

fn count(len: usize, what: &'static str) -> Result<u32, EncodeError> {
    u32::try_from(len).map_err(|_| EncodeError::TooLarge { what })
}

impl Profile {
    /// The file.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let records = grammar::records(self);
        let parts = Parts {
            entries: count(
                self.classes.values().filter(|class| class.entry.is_some()).count(),
                "entry table",
            )?,
            rules: count(self.classes.len(), "rule table")?,
            records: count(records.len(), "record table")?,
        };
        let tables_size = parts.tables_size().ok_or(EncodeError::TooLarge { what: "the tables" })?;

        let mut out = vec![0; SIZE];
        for (id, class) in &self.classes {
            out.extend(class.entry.iter().flat_map(|entry| entry.to_bytes(id.get())));
        }
        for (id, class) in &self.classes {
            out.extend(class.rule.to_bytes(id.get()));
        }
        out.resize(parts.knowledge_at() as usize, 0);
        for (id, class) in &self.classes {
            out.extend(class.knowledge(id.get()));
        }

        let root = grammar::root_index(records[0].kind().code());
        let mut output = Vec::new();
        for (index, record) in (0..).zip(&records) {
            let block = record.block();
            // The largest derived number: four bits per class of an SM-specific table.
            count(block.len().saturating_mul(8), "a data block")?;
            let place = parts.place(index, root, parts.output_at() + output.len() as u64, tables_size);
            let (bytes, block_header) = record.encode(&place, block.len());
            out.extend(bytes);
            output.extend(block_header);
            output.extend(block);
            output.resize(padded(output.len() as u64) as usize, 0);
        }
        out.append(&mut output);
        let file_len = out.len() as u64;
        out[..SIZE].copy_from_slice(&header(self, parts, file_len));
        Ok(out)
    }

    /// Reads a file. Accepts exactly what [`Self::encode`] writes; allocates no more than a small multiple of `data`.
    pub fn decode(data: &[u8]) -> Result<Self, DecodeError> {
        let input = Input(data);
        let head: [u8; SIZE] = input.array(0, "container header")?;
        same(0, &head[..12], &header(&Self::new(Arch::UNIVERSAL), NOTHING, 0)[..12], &FIELDS)?;
        let missing = DecodeError::Arch { offset: 12, number: 0, suffix: 0 };
        let mut profile = Self::new(get_arch(&head, 12)?.ok_or(missing)?);
        profile.inherited_from = get_arch(&head, 16)?;
        let number = |at| get(&head, at, 4) as u32;
        let parts = Parts { entries: number(20), rules: number(24), records: number(28) };
        same(0, &head, &header(&profile, parts, data.len() as u64), &FIELDS)?;
        let truncated = |what, needed| DecodeError::Truncated { offset: SIZE, what, needed, len: data.len() };
        // From here on every part's offset fits the address space.
        if parts.output_at() > data.len() as u64 {
            return Err(truncated("tables and records", parts.output_at() - SIZE as u64));
        }
        let tables_size = parts.tables_size().ok_or_else(|| truncated("tables", parts.tables_end()))?;

        profile.decode_classes(input, parts)?;

        let first = if parts.records == 0 { 0 } else { get(data, parts.records_at() as usize, 2) as u16 };
        let root = grammar::root_index(first);
        let mut records = Vec::new();
        let mut output_at = parts.output_at();
        for index in 0..parts.records {
            let place = parts.place(index, root, output_at, tables_size);
            let (record, end) = Record::decode(input, &place)?;
            records.push((place.record_at as usize, record));
            output_at = end;
        }
        grammar::fill(&mut profile, records, parts.output_at() as usize)?;
        if output_at != data.len() as u64 {
            return Err(DecodeError::Value {
                offset: 56,
                field: "file length",
                expected: output_at,
                found: data.len() as u64,
            });
        }
        Ok(profile)
    }

    fn decode_classes(&mut self, input: Input<'_>, parts: Parts) -> Result<(), DecodeError> {
        let mut entry_at = SIZE;
        let rules_at = parts.rules_at() as usize;
        for index in 0..parts.rules as usize {
            let rule_at = rules_at + index * Rule::SIZE;
            let knowledge_at = parts.knowledge_at() as usize + index * KNOWLEDGE_SIZE;
            let (knowledge, rule) = (input.array(knowledge_at, "knowledge")?, input.array(rule_at, "rule")?);
            let (id, class) = Class::decode((&knowledge, knowledge_at), (&rule, rule_at), |unit_id| {
                if entry_at == rules_at {
                    return Err(entry_count(parts.entries, parts.entries.saturating_add(1)));
                }
                let at = entry_at;
                entry_at += LatencyEntry::SIZE;
                LatencyEntry::decode(&input.array(at, "latency entry")?, unit_id, at)
            })?;
            if self.classes.last_key_value().is_some_and(|(&last, _)| last >= id) {
                return Err(DecodeError::Class { offset: knowledge_at, class: id.get() });
            }
            self.classes.insert(id, class);
        }
        if entry_at != rules_at {
            let used = (entry_at - SIZE) / LatencyEntry::SIZE;
            return Err(entry_count(parts.entries, used as u32));
        }
        let (from, to) = (parts.tables_end() as usize, parts.knowledge_at() as usize);
        zero(from, input.slice(from, to - from, "padding")?)
    }
}

fn entry_count(found: u32, expected: u32) -> DecodeError {
    DecodeError::Value {
        offset: 20,
        field: "latency entry count",
        expected: expected.into(),
        found: found.into(),
    }
}

const NOTHING: Parts = Parts { entries: 0, rules: 0, records: 0 };

/// Every part is a multiple of the alignment, so that only the tables and the data blocks need padding.
const _: () = {
    let sizes = [SIZE, RECORD_SIZE, HEADER_SIZE, KNOWLEDGE_SIZE];
    let mut i = 0;
    while i < sizes.len() {
        assert!(sizes[i].is_multiple_of(ALIGN));
        i += 1;
    }
};
