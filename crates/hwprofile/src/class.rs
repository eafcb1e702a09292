//! A scheduling class: its 72-byte latency entry, its rule, and the 16-byte knowledge record.
//!
//! Source: latency-model document, worked example (entry and rule) and the record it populates.

use sassafras_machine::{ClassId, SchedParams};
use serde::Serialize;

use crate::DecodeError;
use crate::bytes::{Field, get, put, same};
use crate::record::Standard;
use crate::rule::{self, Rule};

/// The content of a latency entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LatencyEntry {
    /// Pipes the class may issue on, one mask per pipe; 255 marks a pipe that does not apply.
    pub pipe_masks_a: [u8; 8],
    /// Pipes it may pair with, likewise; zero forbids dual issue.
    pub pipe_masks_b: [u8; 8],
    /// Scheduling parameters.
    pub sched_params: SchedParams,
}

const ENTRY_FIELDS: [Field; 6] = [
    (0, 2, "latency entry unit id"),
    (2, 2, "latency entry reserved word"),
    (4, 8, "latency entry pipe masks a"),
    (12, 8, "latency entry pipe masks b"),
    (20, 12, "latency entry parameters"),
    (32, 40, "latency entry padding"),
];

impl LatencyEntry {
    /// Size of an entry. The document prints the first 32 bytes; the others are zero.
    pub const SIZE: usize = 72;

    /// The documented bytes.
    pub fn to_bytes(&self, unit_id: u16) -> [u8; Self::SIZE] {
        let mut out = [0; Self::SIZE];
        put(&mut out, 0, 2, unit_id.into());
        out[4..12].copy_from_slice(&self.pipe_masks_a);
        out[12..20].copy_from_slice(&self.pipe_masks_b);
        out[20..32].copy_from_slice(&self.sched_params.to_array());
        out
    }

    /// The entry of 72 bytes read at `offset`, which must be `unit_id`'s.
    pub(crate) fn decode(bytes: &[u8; Self::SIZE], unit_id: u16, offset: usize) -> Result<Self, DecodeError> {
        let part = |at: usize| -> [u8; 8] { get(bytes, at, 8).to_le_bytes() };
        let mut params = [0; 12];
        params.copy_from_slice(&bytes[20..32]);
        let entry = Self {
            pipe_masks_a: part(4),
            pipe_masks_b: part(12),
            sched_params: SchedParams::from_array(params),
        };
        same(offset, bytes, &entry.to_bytes(unit_id), &ENTRY_FIELDS)?;
        Ok(entry)
    }

    /// Dual-issue flags: the pairing masks of the first two pipes.
    pub fn dual_issue_flags(&self) -> u16 {
        u16::from_le_bytes([self.pipe_masks_b[0], self.pipe_masks_b[1]])
    }
}

/// What a profile knows of one scheduling class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Default)]
pub struct Class {
    /// The latency entry, where one is known.
    pub entry: Option<LatencyEntry>,
    /// The dependence rule.
    pub rule: Rule,
    /// Dual-issue flags, where known.
    pub dual_issue: Option<u16>,
}

/// Size of the knowledge record.
pub(crate) const KNOWLEDGE_SIZE: usize = 16;
const HAS_ENTRY: u8 = 1;
const HAS_DUAL_ISSUE: u8 = 2;
const RANGES: usize = 6;

const KNOWLEDGE_FIELDS: [Field; 7] = [
    (0, 2, "knowledge unit id"),
    (2, 2, "knowledge unknown-field mask"),
    (4, 1, "knowledge flags"),
    (5, 1, "knowledge reserved byte"),
    (RANGES, 4, "knowledge ranges"),
    (10, 2, "knowledge dual-issue flags"),
    (12, 4, "knowledge padding"),
];

impl Class {
    /// The standard schedule record of the class; `None` when its latency or its throughput factor is unknown.
    ///
    /// The factor is the entry's throughput class where there is an entry (class 2: 17 × 4 = 68), else the rule's
    /// throughput (class 4: 42 × 15 = 630). A rule throughput of 0 means full rate, whose factor only an entry tells.
    /// Flags of unknown dual-issue classes are 0; [`Self::dual_issue`] tells them apart.
    pub fn standard(&self) -> Option<Standard> {
        let latency = self.rule.latency.exact()?;
        let factor = match &self.entry {
            Some(entry) => entry.sched_params.throughput_class,
            None => self.rule.throughput_inv.exact().filter(|&factor| factor != 0)?,
        };
        Some(Standard {
            cost_product: u32::from(latency) * u32::from(factor),
            base_latency: latency.into(),
            dual_issue_flags: self.dual_issue.unwrap_or(0),
        })
    }

    pub(crate) fn knowledge(&self, unit_id: u16) -> [u8; KNOWLEDGE_SIZE] {
        let mut out = [0; KNOWLEDGE_SIZE];
        put(&mut out, 0, 2, unit_id.into());
        put(&mut out, 2, 2, self.rule.unknown().into());
        out[4] |= if self.entry.is_some() { HAS_ENTRY } else { 0 };
        out[4] |= if self.dual_issue.is_some() { HAS_DUAL_ISSUE } else { 0 };
        out[RANGES..RANGES + 4].copy_from_slice(&self.rule.ranges());
        put(&mut out, 10, 2, self.dual_issue.unwrap_or(0).into());
        out
    }

    /// The class of a knowledge record and a rule, without its entry.
    pub(crate) fn decode(
        (knowledge, knowledge_at): (&[u8; KNOWLEDGE_SIZE], usize),
        (rule, rule_at): (&[u8; Rule::SIZE], usize),
        entry: impl FnOnce(u16) -> Result<LatencyEntry, DecodeError>,
    ) -> Result<(ClassId, Self), DecodeError> {
        let unit_id = get(knowledge, 0, 2) as u16;
        let id = ClassId::new(unit_id).ok_or(DecodeError::Class { offset: knowledge_at, class: unit_id })?;
        let (unknown, flags) = (get(knowledge, 2, 2) as u16, knowledge[4]);
        let ranges = [0, 1, 2, 3].map(|i| knowledge[RANGES + i]);
        let class = Self {
            entry: (flags & HAS_ENTRY != 0).then(|| entry(unit_id)).transpose()?,
            rule: Rule::from_parts(rule, unknown, ranges, knowledge_at + RANGES)?,
            dual_issue: (flags & HAS_DUAL_ISSUE != 0).then(|| get(knowledge, 10, 2) as u16),
        };
        same(knowledge_at, knowledge, &class.knowledge(unit_id), &KNOWLEDGE_FIELDS)?;
        same(rule_at, rule, &class.rule.to_bytes(unit_id), &rule::FIELDS)?;
        Ok((id, class))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Estimate;

    /// The document's entry of class 2 on the sm_8x table, byte for byte.
    #[test]
    fn the_worked_example() {
        let entry = LatencyEntry {
            pipe_masks_a: [3, 3, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
            pipe_masks_b: [0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0],
            sched_params: SchedParams::from_array([0, 4, 0, 1, 0, 7, 3, 2, 1, 2, 3, 0]),
        };
        let bytes = entry.to_bytes(2);
        #[rustfmt::skip]
        assert_eq!(bytes[..32], [
            0x02, 0x00, 0x00, 0x00,
            0x03, 0x03, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
            0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00,
            0x00, 0x04, 0x00, 0x01, 0x00, 0x07, 0x03, 0x02, 0x01, 0x02, 0x03, 0x00,
        ]);
        assert_eq!(bytes[32..], [0; 40]);
        assert_eq!(entry.sched_params.throughput_class, 4);
        assert_eq!(entry.sched_params.max_stall_cycles, 7);
        assert_eq!(LatencyEntry::decode(&bytes, 2, 0), Ok(entry));
        assert!(LatencyEntry::decode(&bytes, 3, 0).is_err());
    }

    #[test]
    fn a_cost_needs_both_factors() {
        let with = |latency, throughput_inv| Class {
            rule: Rule { latency, throughput_inv, ..Rule::default() },
            ..Class::default()
        };
        let cost = |class: Class| class.standard().map(|standard| standard.cost_product);
        assert_eq!(cost(with(Estimate::Exact(42), Estimate::Exact(15))), Some(630));
        assert_eq!(cost(with(Estimate::Exact(17), Estimate::Exact(0))), None);
        assert_eq!(cost(with(Estimate::Exact(17), Estimate::Unknown)), None);
        assert_eq!(cost(with(Estimate::between(20, 23).expect("a range"), Estimate::Exact(19))), None);
    }
}
