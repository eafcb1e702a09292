//! The assembly order: profile to records and back.
//!
//! Source: latency-model document, assembly sequence (barrier header if any, root, category header and footer, variants if
//! any, weights if any, dimensions if any), then the construction pipeline for groups and SM-specific tables.

use std::iter::Peekable;
use std::vec;

use crate::DecodeError;
use crate::kind::RecordType;
use crate::profile::{Group, Profile};
use crate::record::Record;

/// The records of a profile, in order.
pub(crate) fn records(profile: &Profile) -> Vec<Record> {
    let mut out = Vec::new();
    out.extend(profile.barrier_table.map(Record::BarrierHeader));
    out.push(Record::Root);
    out.push(Record::CategoryHeader(profile.sections.clone()));
    out.push(Record::CategoryFooter);
    out.extend(profile.variants.clone().map(Record::Variants));
    out.extend(profile.weights.clone().map(Record::Weights));
    if !profile.dimensions.is_empty() {
        out.push(Record::Dimensions(profile.dimensions.clone()));
    }
    for group in &profile.groups {
        out.push(Record::GroupBoundary(group.label.clone()));
        out.extend(group.barriers.iter().map(|&stall| Record::BarrierEntry { stall }));
        out.extend(group.barrier_data.iter().copied().map(Record::BarrierData));
        out.extend(group.standard.iter().copied().map(Record::Standard));
        out.extend(group.waits.iter().copied().map(Record::Wait));
        out.extend(group.scoreboards.iter().copied().map(Record::Scoreboard));
    }
    out.extend(profile.sm_tables.iter().cloned().map(Record::SmSpecific));
    out
}

/// Index of the root record, given the type code of the first record.
pub(crate) fn root_index(first_code: u16) -> u64 {
    u64::from(first_code == RecordType::BarrierHeader.code())
}

/// Records with their offsets, taken in order.
struct Stream {
    records: Peekable<vec::IntoIter<(usize, Record)>>,
    end: usize,
}

/// The payload of the next record, if it is of the given type.
macro_rules! take {
    ($stream:ident, $name:ident $payload:tt => $value:ident) => {
        match $stream.take(RecordType::$name) {
            Some(Record::$name $payload) => Some($value),
            _ => None,
        }
    };
}

impl Stream {
    fn take(&mut self, kind: RecordType) -> Option<Record> {
        self.records.next_if(|(_, record)| record.kind() == kind).map(|(_, record)| record)
    }

    fn require(&mut self, kind: RecordType) -> Result<Record, DecodeError> {
        self.take(kind).ok_or_else(|| self.unexpected(kind.name()))
    }

    fn unexpected(&mut self, expected: &'static str) -> DecodeError {
        match self.records.peek() {
            Some((offset, record)) => {
                DecodeError::Order { offset: *offset, expected, found: Some(record.kind()) }
            }
            None => DecodeError::Order { offset: self.end, expected, found: None },
        }
    }

    fn group(&mut self) -> Option<Group> {
        let stream = self;
        let label = take!(stream, GroupBoundary(label) => label)?;
        Some(Group {
            label,
            barriers: std::iter::from_fn(|| take!(stream, BarrierEntry { stall } => stall)).collect(),
            barrier_data: std::iter::from_fn(|| take!(stream, BarrierData(table) => table)).collect(),
            standard: std::iter::from_fn(|| take!(stream, Standard(standard) => standard)).collect(),
            waits: std::iter::from_fn(|| take!(stream, Wait(table) => table)).collect(),
            scoreboards: std::iter::from_fn(|| take!(stream, Scoreboard(table) => table)).collect(),
        })
    }
}

/// Fills the record-made parts of `profile`; `end` is the offset behind the records.
pub(crate) fn fill(
    profile: &mut Profile,
    records: Vec<(usize, Record)>,
    end: usize,
) -> Result<(), DecodeError> {
    let mut stream = Stream { records: records.into_iter().peekable(), end };
    profile.barrier_table = take!(stream, BarrierHeader(table) => table);
    stream.require(RecordType::Root)?;
    if let Record::CategoryHeader(names) = stream.require(RecordType::CategoryHeader)? {
        profile.sections = names;
    }
    stream.require(RecordType::CategoryFooter)?;
    profile.variants = take!(stream, Variants(section) => section);
    profile.weights = take!(stream, Weights(text) => text);
    profile.dimensions = take!(stream, Dimensions(dimensions) => dimensions).unwrap_or_default();
    profile.groups = std::iter::from_fn(|| stream.group()).collect();
    profile.sm_tables = std::iter::from_fn(|| take!(stream, SmSpecific(table) => table)).collect();
    match stream.records.peek() {
        None => Ok(()),
        Some(_) => Err(stream.unexpected("a record that the assembly order allows here")),
    }
}
