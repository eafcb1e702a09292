//! The profile of an architecture from the machine tables.
//!
//! Everything the tables know goes in and nothing else does: barrier tables, weights, variants, dimensions and dependency
//! tables are not documented for any machine and are therefore absent, and unknown rule fields stay unknown.

use sassafras_machine::{Arch, ClassId, ClassTable, Cost, DependenceRule, HwLatencyEntry};
use sassafras_machine::{dependence_rule, hw_latency_entry};

use crate::class::{Class, LatencyEntry};
use crate::profile::{Group, Profile};
use crate::rule::{Estimate, Override, Rule};
use crate::text::{Label, Text};

/// A table value that the one-byte field of a rule cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("class {class} of {arch}: {field} {value} does not fit one byte")]
pub struct ValueTooLarge {
    /// The machine.
    pub arch: Arch,
    /// The class.
    pub class: ClassId,
    /// The rule's field.
    pub field: &'static str,
    /// The value.
    pub value: u32,
}

/// First class of the newer categories; those below exist since Volta (latency-model, opcode-to-class mapping).
const FIRST_NEWER_CLASS: u16 = 256;

/// Whether the table's pairing masks of the first two pipes are printed as all zero: sm_8x and sm_10x (latency-model, pipe
/// compatibility).
fn pairing_is_zero(arch: Arch) -> bool {
    matches!(arch.number(), Some(80..=89)) || arch.is_sm_10x()
}

impl Profile {
    /// The profile of `arch`: every documented class, its sections named after the table layers, and a standard entry
    /// for each class whose cost is known, in the order of the classes.
    pub fn for_arch(arch: Arch) -> Result<Self, ValueTooLarge> {
        let mut profile = Self::new(arch);
        for class in ClassTable::documented().iter() {
            let Some(rule) = dependence_rule(arch, class.id) else {
                continue;
            };
            profile.inherited_from = profile.inherited_from.or(class.costs(arch).inherited_from);
            let entry = hw_latency_entry(arch, class.id).map(LatencyEntry::from);
            let dual_issue = match &entry {
                Some(entry) => Some(entry.dual_issue_flags()),
                None => pairing_is_zero(arch).then_some(0),
            };
            profile.classes.insert(class.id, Class { entry, rule: convert(arch, &rule)?, dual_issue });
        }
        profile.sections = arch.info().layers.iter().filter_map(|layer| Text::new(&*layer.name)).collect();
        for (label, newer) in [("legacy", false), ("newer", true)] {
            let members = profile.classes.iter().filter(|(id, _)| (id.get() >= FIRST_NEWER_CLASS) == newer);
            let standard = members.filter_map(|(_, class)| class.standard()).collect();
            profile.groups.push(Group { label: Label::new(label), standard, ..Group::default() });
        }
        Ok(profile)
    }
}

impl From<HwLatencyEntry> for LatencyEntry {
    fn from(entry: HwLatencyEntry) -> Self {
        let HwLatencyEntry { unit_id: _, pipe_masks_a, pipe_masks_b, sched_params } = entry;
        Self { pipe_masks_a, pipe_masks_b, sched_params }
    }
}

fn convert(arch: Arch, rule: &DependenceRule) -> Result<Rule, ValueTooLarge> {
    let estimate = |cost: Option<Cost>, field| {
        let Some(Cost(span)) = cost else {
            return Ok(Estimate::Unknown);
        };
        let byte = |value| {
            u8::try_from(value).map_err(|_| ValueTooLarge { arch, class: rule.unit_id, field, value })
        };
        // A span is never empty, so it always has an estimate.
        Ok(Estimate::between(byte(span.lo())?, byte(span.hi())?).unwrap_or_default())
    };
    Ok(Rule {
        rule_type: rule.rule_type,
        latency: estimate(rule.latency, "latency")?,
        throughput_inv: estimate(rule.throughput_inv, "throughput")?,
        barrier_latency: rule.barrier_latency,
        barrier_throughput: rule.barrier_throughput,
        read_latency: rule.read_latency.map(Override::from_raw),
        write_latency: rule.write_latency.map(Override::from_raw),
        stall_cycles: rule.stall_cycles,
        issue_slots: rule.issue_slots,
    })
}
