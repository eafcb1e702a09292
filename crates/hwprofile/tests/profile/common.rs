//! Random profiles, and one that has everything.

use std::num::NonZeroU32;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use sassafras_hwprofile::{
    Block, Class, Dimension, Estimate, Group, Label, LatencyEntry, Override, Profile, Properties, Rule,
    SmTable, Standard, Text, Variant, VariantSection,
};
use sassafras_machine::{Arch, ClassId, SchedParams};

fn arch() -> impl Strategy<Value = Arch> {
    prop::sample::select(Arch::all().collect::<Vec<_>>())
}

fn text() -> impl Strategy<Value = Text> {
    "[^\0]{0,24}".prop_filter_map("no NUL", Text::new)
}

fn label() -> impl Strategy<Value = Label> {
    "[^\0]{0,15}".prop_filter_map("too long", Label::new)
}

fn estimate() -> impl Strategy<Value = Estimate> {
    prop_oneof![
        any::<(u8, u8)>().prop_map(|(a, b)| Estimate::between(a.min(b), a.max(b)).expect("ordered")),
        any::<u8>().prop_map(Estimate::Exact),
        Just(Estimate::Unknown)
    ]
}

fn latency_override() -> impl Strategy<Value = Option<Override>> {
    option::of(prop_oneof![Just(-1), any::<i16>()].prop_map(Override::from_raw))
}

prop_compose! {
    fn rule()(
        bytes: [Option<u8>; 4],
        latency in estimate(),
        throughput_inv in estimate(),
        read_latency in latency_override(),
        write_latency in latency_override(),
        stall_cycles: Option<u16>,
    ) -> Rule {
        let [rule_type, barrier_latency, barrier_throughput, issue_slots] = bytes;
        Rule {
            rule_type, latency, throughput_inv, barrier_latency, barrier_throughput, read_latency, write_latency,
            stall_cycles, issue_slots,
        }
    }
}

prop_compose! {
    fn class()(
        entry in option::of(any::<([u8; 8], [u8; 8], [u8; 12])>()),
        rule in rule(),
        dual_issue: Option<u16>,
    ) -> Class {
        let entry = entry.map(|(pipe_masks_a, pipe_masks_b, params)| LatencyEntry {
            pipe_masks_a, pipe_masks_b, sched_params: SchedParams::from_array(params),
        });
        Class { entry, rule, dual_issue }
    }
}

prop_compose! {
    fn group()(
        label in option::of(label()),
        barriers in vec(any::<u32>(), 0..3),
        barrier_data in vec(any::<[u8; 128]>().prop_map(Block), 0..2),
        standard in vec(any::<(u32, u16, u16)>(), 0..4),
        waits in vec(any::<[u8; 36]>().prop_map(Block), 0..2),
        scoreboards in vec(any::<[u8; 36]>().prop_map(Block), 0..2),
    ) -> Group {
        let standard = standard
            .into_iter()
            .map(|(cost_product, base_latency, dual_issue_flags)| Standard { cost_product, base_latency, dual_issue_flags })
            .collect();
        Group { label, barriers, barrier_data, standard, waits, scoreboards }
    }
}

fn variants() -> impl Strategy<Value = VariantSection> {
    (1u32.., vec(any::<(u32, u16, u32, u32)>(), 0..3)).prop_map(|(start, variants)| VariantSection {
        start_index: NonZeroU32::new(start).expect("positive"),
        variants: variants
            .into_iter()
            .map(|(source_data, flags, throughput_value, aux_value)| Variant {
                source_data,
                flags,
                throughput_value,
                aux_value,
            })
            .collect(),
    })
}

fn sm_table() -> impl Strategy<Value = SmTable> {
    vec(0u8..16, 0..20)
        .prop_map(|bits| SmTable { classes: bits.into_iter().filter_map(Properties::from_bits).collect() })
}

prop_compose! {
    /// Any profile.
    pub fn profile()(
        arch in arch(),
        inherited_from in option::of(arch()),
        classes in btree_map((0u16..=1023).prop_filter_map("class", ClassId::new), class(), 0..6),
        barrier_table in option::of(any::<[u8; 128]>().prop_map(Block)),
        sections in vec(text(), 0..4),
        variants in option::of(variants()),
        weights in option::of(text()),
        dimensions in vec(any::<(u16, u32, u32)>(), 0..3),
        groups in vec(group(), 0..3),
        sm_tables in vec(sm_table(), 0..3),
    ) -> Profile {
        let dimensions =
            dimensions.into_iter().map(|(flags, value, child)| Dimension { flags, value, child }).collect();
        Profile {
            arch, inherited_from, classes, barrier_table, sections, variants, weights, dimensions, groups, sm_tables,
        }
    }
}

/// A profile that uses every record type and every kind of field.
pub fn full() -> Profile {
    let text = |text: &str| Text::new(text).expect("no NUL");
    let class = |id| ClassId::new(id).expect("in range");
    let mut profile = Profile::for_arch(Arch::SM_80).expect("fits");
    profile.classes.retain(|id, _| [2, 4, 16].contains(&id.get()));
    profile.classes.insert(class(700), Class { dual_issue: Some(0x0201), ..Class::default() });
    profile.inherited_from = Some(Arch::SM_90A);
    profile.barrier_table = Some(Block([0xA5; 128]));
    profile.sections = vec![text("base"), text("")];
    let variant = Variant { source_data: 1, flags: 2, throughput_value: 3, aux_value: 4 };
    profile.variants = Some(VariantSection {
        start_index: NonZeroU32::new(5).expect("positive"),
        variants: vec![variant; 2],
    });
    profile.weights = Some(text("longer than the inline buffer"));
    profile.dimensions = vec![Dimension { flags: 1, value: 2, child: 3 }];
    profile.groups[0].barriers = vec![7];
    profile.groups[0].barrier_data = vec![Block([1; 128])];
    profile.groups[0].waits = vec![Block([2; 36])];
    profile.groups[0].scoreboards = vec![Block([3; 36])];
    profile.sm_tables = vec![SmTable { classes: vec![Properties::of([1, 2, 1, 1]); 9] }];
    profile
}
