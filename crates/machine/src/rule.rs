//! Goal: the dependence rule of a class, and the latency entry behind it, as far as they are printed.
//!
//! Source: latency-model document, worked example (class 2 on sm_80, the only pair printed in full). For every other
//! class and architecture the rule has the latency and throughput of the class table and nothing else.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::table;
use crate::table::embedded;
use crate::{Arch, ClassId, Cost, Span, class_costs};

/// How a consumer of a class's result must wait. Absent fields are not printed anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DependenceRule {
    /// The class; must equal the latency entry's.
    pub unit_id: ClassId,
    /// 1 is the standard rule.
    pub rule_type: Option<u8>,
    /// Result-to-use cost.
    pub latency: Option<Cost>,
    /// Smallest issue interval; 0 is full rate.
    pub throughput_inv: Option<Cost>,
    /// Cost when tracked by a barrier.
    pub barrier_latency: Option<u8>,
    /// Share of scoreboard bandwidth, as its inverse.
    pub barrier_throughput: Option<u8>,
    /// Read-side override; -1 is "use the default".
    pub read_latency: Option<i16>,
    /// Write-side override; -1 is "use the default".
    pub write_latency: Option<i16>,
    /// Mandatory stall before the next issue.
    pub stall_cycles: Option<u16>,
    /// Dispatch slots taken.
    pub issue_slots: Option<u8>,
    /// How much of this is printed, and for whom.
    pub origin: RuleOrigin,
}

/// Where a rule comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleOrigin {
    /// Every field is printed for this architecture.
    Printed,
    /// Every field is printed for another architecture of the same table base.
    PrintedFor(Arch),
    /// Only latency and throughput, from the class table.
    ClassTable,
}

impl RuleOrigin {
    /// Why fields are absent.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Self::Printed | Self::PrintedFor(_) => None,
            Self::ClassTable => {
                Some("no rule is printed: latency and throughput are the class table's, where it has them")
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    #[serde(deserialize_with = "table::parse")]
    class: ClassId,
    #[serde(deserialize_with = "table::text")]
    arch: String,
    #[serde(deserialize_with = "table::number")]
    rule_type: u8,
    #[serde(deserialize_with = "table::number")]
    latency: u32,
    #[serde(deserialize_with = "table::number")]
    throughput_inv: u32,
    #[serde(deserialize_with = "table::number")]
    barrier_latency: u8,
    #[serde(deserialize_with = "table::number")]
    barrier_throughput: u8,
    read_latency: i16,
    write_latency: i16,
    #[serde(deserialize_with = "table::number")]
    stall_cycles: u16,
    #[serde(deserialize_with = "table::number")]
    issue_slots: u8,
    #[serde(rename = "source", deserialize_with = "table::text")]
    _source: String,
}

static RULES: LazyLock<Vec<RawRule>> =
    embedded!("dependence_rules", RawRule, |row| format!("{} {}", row.class, row.arch));

/// The rule of a class on an architecture; `None` when no table mentions the class.
///
/// A rule printed for sm_80 serves the architectures that share the sm_80 base layer. The others fall back to the class
/// table, even where they inherit sm_80's costs, because nothing says that their remaining fields agree.
pub fn dependence_rule(arch: Arch, class: ClassId) -> Option<DependenceRule> {
    let printed = RULES.iter().find_map(|raw| {
        let owner: Arch = raw.arch.parse().expect("known architecture, checked by the tests");
        let shared = owner.info().layers.first().map(|layer| &layer.name);
        let same = arch.info().layers.first().map(|layer| &layer.name) == shared;
        (raw.class == class && same).then_some((raw, owner))
    });
    if let Some((raw, owner)) = printed {
        return Some(DependenceRule {
            unit_id: class,
            rule_type: Some(raw.rule_type),
            latency: Some(Cost(Span::exact(raw.latency))),
            throughput_inv: Some(Cost(Span::exact(raw.throughput_inv))),
            barrier_latency: Some(raw.barrier_latency),
            barrier_throughput: Some(raw.barrier_throughput),
            read_latency: Some(raw.read_latency),
            write_latency: Some(raw.write_latency),
            stall_cycles: Some(raw.stall_cycles),
            issue_slots: Some(raw.issue_slots),
            origin: if owner == arch { RuleOrigin::Printed } else { RuleOrigin::PrintedFor(owner) },
        });
    }
    let costs = class_costs(arch, class)?;
    Some(DependenceRule {
        unit_id: class,
        rule_type: None,
        latency: costs.latency,
        throughput_inv: costs.throughput_inv,
        barrier_latency: None,
        barrier_throughput: None,
        read_latency: None,
        write_latency: None,
        stall_cycles: None,
        issue_slots: None,
        origin: RuleOrigin::ClassTable,
    })
}

/// The content of a 72-byte latency entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HwLatencyEntry {
    /// The class.
    pub unit_id: ClassId,
    /// Pipes it may issue on, one mask per pipe; 255 marks a pipe that does not apply.
    pub pipe_masks_a: [u8; 8],
    /// Pipes it may pair with, likewise; zero forbids dual issue.
    pub pipe_masks_b: [u8; 8],
    /// Scheduling parameters.
    pub sched_params: SchedParams,
}

macro_rules! sched_params {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// The twelve scheduling parameters of a latency entry, in record order.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
        pub struct SchedParams { $($(#[$doc])* pub $name: u8),* }

        impl SchedParams {
            /// In record order.
            pub fn to_array(self) -> [u8; 12] {
                [$(self.$name),*]
            }

            /// From record order.
            pub fn from_array([$($name),*]: [u8; 12]) -> Self {
                Self { $($name),* }
            }
        }
    };
}

sched_params! {
    /// Special-case flag.
    special_flag,
    /// Throughput class: 4 is quarter rate.
    throughput_class,
    /// Read hazard override.
    read_hazard_override,
    /// Gap a write must keep after a read.
    write_after_read_gap,
    /// Scoreboard class.
    scoreboard_class,
    /// Stall cycles modelled before a barrier is used instead.
    max_stall_cycles,
    /// Barrier class.
    barrier_class,
    /// Barrier stall weight.
    barrier_stall_weight,
    /// Minimum issue distance.
    min_issue_distance,
    /// Pipe contention group.
    pipe_contention_group,
    /// Resource class.
    resource_class,
    /// Reserved.
    reserved,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEntry {
    #[serde(rename = "table")]
    _table: String,
    #[serde(deserialize_with = "table::number")]
    sm_lo: u16,
    #[serde(deserialize_with = "table::number")]
    sm_hi: u16,
    #[serde(deserialize_with = "table::parse")]
    class: ClassId,
    #[serde(deserialize_with = "table::bytes")]
    pipe_masks_a: [u8; 8],
    #[serde(deserialize_with = "table::bytes")]
    pipe_masks_b: [u8; 8],
    #[serde(deserialize_with = "table::bytes")]
    sched_params: [u8; 12],
    #[serde(rename = "source", deserialize_with = "table::text")]
    _source: String,
}

static ENTRIES: LazyLock<Vec<RawEntry>> =
    embedded!("hw_latency_entries", RawEntry, |row| format!("{} {}", row.sm_lo, row.class));

/// The latency entry of a class on an architecture, where one is printed.
pub fn hw_latency_entry(arch: Arch, class: ClassId) -> Option<HwLatencyEntry> {
    let number = arch.number()?;
    let raw = ENTRIES.iter().find(|row| row.class == class && (row.sm_lo..=row.sm_hi).contains(&number))?;
    Some(HwLatencyEntry {
        unit_id: class,
        pipe_masks_a: raw.pipe_masks_a,
        pipe_masks_b: raw.pipe_masks_b,
        sched_params: SchedParams::from_array(raw.sched_params),
    })
}
