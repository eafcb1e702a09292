//! Facts typed from the latency-model document by hand, against the tables.

use sassafras_machine::*;
use std::collections::BTreeMap;

fn class(number: u16) -> ClassId {
    ClassId::new(number).unwrap()
}

fn entry(group: OpcodeGroup, mnemonic: &str) -> &'static OpcodeEntry {
    opcodes().iter().find(|entry| entry.group == group && entry.mnemonic == mnemonic).unwrap()
}

/// The class under facts, as a number.
fn resolved(group: OpcodeGroup, mnemonic: &str, facts: Conditions) -> Option<u16> {
    resolve_class(entry(group, mnemonic), &facts).class().map(ClassId::get)
}

fn index(group: OpcodeGroup, mnemonic: &str, facts: Conditions) -> Option<u16> {
    resolve_class(entry(group, mnemonic), &facts).latency_index().map(LatencyIndex::get)
}

fn lat(arch: Arch, number: u16) -> (Option<String>, Option<String>) {
    let costs = class_costs(arch, class(number)).unwrap();
    let text = |cost: Option<Cost>| cost.map(|Cost(span)| span.to_string());
    (text(costs.latency), text(costs.throughput_inv))
}

fn both(latency: &str, throughput: &str) -> (Option<String>, Option<String>) {
    (Some(latency.to_owned()), Some(throughput.to_owned()))
}

const WIDE: Conditions = Conditions { wide: true, ..NARROW };
const MERCURY: Conditions = Conditions { mercury: true, ..NARROW };
const NARROW: Conditions = Conditions {
    wide: false,
    mercury: false,
    fp_width: false,
    data_type: None,
    flag: false,
    memory: None,
    reg_class: None,
    remat: false,
    split: 0,
    variant: 0,
    version: None,
};

#[test]
fn every_printed_row_is_there() {
    let count = |group| opcodes().iter().filter(|entry| entry.group == group).count();
    let counts: Vec<_> = OpcodeGroup::ALL.iter().map(|&group| count(group)).collect();
    assert_eq!(counts, [16, 18, 8, 14, 4, 11, 3]);

    let rows = |origin| {
        let mut rows: Vec<_> =
            ClassTable::documented().iter().filter(|c| c.origin == origin).map(|c| c.printed_row).collect();
        let classes = rows.len();
        rows.dedup();
        (rows.len(), classes)
    };
    assert_eq!(rows(ClassOrigin::Common), (26, 34));
    assert_eq!(rows(ClassOrigin::Tensor), (12, 14));

    assert_eq!(ArchTable::layers().len(), 17);
    assert_eq!(warp_profiles().len(), 6);
    assert_eq!(sub_arch_variants().len(), 12);
    assert_eq!(issue_widths().len(), 9);
    assert_eq!(Unit::ALL.len(), 10);
    assert_eq!(unit_names().len(), 5);
    assert_eq!(char_codes().len(), 8);
    assert_eq!(memory_spaces().len(), 7);
    assert_eq!((pipe_mask_rows().len(), pipe_flag_rows().len()), (4, 7));
    assert_eq!(sub_class_rows().len(), 4 + 1, "four sub-classes and the sentinel");
}

#[test]
fn numbers_agree_between_the_two_columns() {
    for row in sub_arch_variants() {
        assert_eq!(row.sm_id, row.hex);
        // All but the two oldest repeat the id's low digit.
        if row.sm_id > 20481 {
            assert_eq!(u32::from(row.variant), row.sm_id & 0xF);
        }
    }
    for row in char_codes() {
        assert_eq!(row.code as u32, u32::from(row.decimal));
    }
}

#[test]
fn integer_rows() {
    use OpcodeGroup::Integer as G;
    assert_eq!(resolved(G, "IMAD", NARROW), Some(130));
    for name in ["IMAD_WIDE", "IADD3", "BMSK", "SGXT", "LOP3", "ISETP"] {
        assert_eq!(resolved(G, name, NARROW), Some(72), "{name}");
        assert_eq!(resolved(G, name, WIDE), Some(683), "{name}");
    }
    // The numbers printed behind the width are opcodes: 3 and 5 share a case, 4 and 6 are their rows' own.
    let fp = Conditions { fp_width: true, ..NARROW };
    for (name, number, sub, mask) in [
        ("IMAD_WIDE", 131, Some(0x20), None),
        ("IADD3", 140, Some(0x30), None),
        ("BMSK", 131, None, None),
        ("SGXT", 140, Some(0x30), None),
        ("LOP3", 140, None, Some(0x18000)),
        ("ISETP", 72, None, None),
    ] {
        let found = pipes(G, name, fp);
        assert_eq!((resolved(G, name, fp), found.sub, found.mask), (Some(number), sub, mask), "{name}");
    }
    assert_eq!(resolved(G, "ISETP", Conditions { data_type: Some(19), ..NARROW }), Some(52));
    assert_eq!(resolved(G, "IABS", NARROW), Some(2));
    assert_eq!(resolved(G, "IABS", Conditions { flag: true, ..NARROW }), Some(3));
    assert_eq!(resolved(G, "SHF", NARROW), Some(200));
    assert_eq!(resolved(G, "SHF", WIDE), Some(551));
    assert_eq!(resolved(G, "SHF", MERCURY), Some(694));
    assert_eq!(resolved(G, "SHF", Conditions { split: 2, ..MERCURY }), Some(700));
    let numbers: Vec<_> = entry(G, "SHF").aliases.iter().map(|a| a.ori.unwrap().get()).collect();
    assert_eq!(numbers, [0xB, 0x6C, 0x95]);
    let ResolvedPipes { flags, sub, .. } = pipes(G, "I2I", NARROW);
    assert_eq!((flags, sub), (Some(0x06), Some(0x20)));
    assert_eq!(resolved(G, "BREV", NARROW), Some(547));
}

struct ResolvedPipes {
    mask: Option<u32>,
    sub: Option<u32>,
    flags: Option<u32>,
}

fn pipes(group: OpcodeGroup, mnemonic: &str, facts: Conditions) -> ResolvedPipes {
    match resolve_class(entry(group, mnemonic), &facts) {
        ClassRef::Class(choice) => ResolvedPipes {
            mask: choice.pipe_mask.map(PipeMask::in_place),
            sub: choice.sub_class.map(SubClass::in_place),
            flags: choice.pipe_flags.map(PipeFlags::in_place),
        },
        ClassRef::Dynamic => ResolvedPipes { mask: None, sub: None, flags: None },
    }
}

#[test]
fn fp_rows() {
    use OpcodeGroup::{Fp32, Fp64};
    let four: Vec<_> = [NARROW, Conditions { split: 2, ..NARROW }, WIDE, Conditions { split: 2, ..WIDE }]
        .map(|facts| resolved(Fp32, "FSETP", facts).unwrap())
        .into();
    assert_eq!(four, [11, 12, 544, 769]);
    assert_eq!(resolve_class(entry(Fp32, "MOV"), &NARROW), ClassRef::Dynamic);
    assert_eq!(resolve_class(entry(Fp32, "SEL"), &NARROW), ClassRef::Dynamic);
    assert_eq!(resolved(Fp32, "PRMT", MERCURY), Some(641));
    assert_eq!(resolved(Fp32, "I2F/PRMT", WIDE), Some(586));
    assert_eq!(resolved(Fp32, "I2F/PRMT", MERCURY), Some(707));
    assert_eq!(resolved(Fp32, "VABSDIFF4", NARROW), Some(33));
    assert_eq!(resolved(Fp32, "MUFU", NARROW), Some(548));
    assert_eq!(index(Fp32, "MUFU", NARROW), None, "548 needs ten bits and has no printed index");
    let f2f = pipes(Fp32, "F2F", NARROW);
    assert_eq!((f2f.mask, f2f.flags), (Some(0x08000), Some(0x04)));
    assert_eq!(index(Fp64, "DFMA", NARROW), Some(0xE8));
    assert_eq!((resolved(Fp64, "DADD", NARROW), index(Fp64, "DADD", NARROW)), (Some(131), Some(3)));
    assert_eq!(resolved(Fp64, "DFMA (sm82+)", WIDE), Some(175));
    assert_eq!(resolved(Fp64, "DFMA (sm82+)", MERCURY), Some(688));
}

#[test]
fn memory_and_control_rows() {
    use OpcodeGroup::{Control, Memory as G};
    let memory = |code| Conditions { memory: Some(code), ..NARROW };
    let flagged = Conditions { flag: true, ..NARROW };
    assert_eq!(resolved(G, "ATOM", NARROW), Some(7));
    assert_eq!(resolved(G, "ATOM", flagged), Some(575));
    assert_eq!(resolved(G, "ATOM", memory(3)), Some(8));
    assert_eq!(resolved(G, "ATOM", memory(4)), Some(9));
    assert_eq!(resolved(G, "CCTLL", memory(2)), Some(7));
    assert_eq!(resolved(G, "LD (generic)", Conditions { remat: true, ..NARROW }), Some(125));
    assert_eq!(resolved(G, "LD (generic)", flagged), Some(126));
    assert_eq!(resolved(G, "LD (generic)", NARROW), Some(127));
    assert_eq!(resolved(G, "LDS", Conditions { reg_class: Some(3), ..NARROW }), Some(30));
    assert_eq!(resolved(G, "STS", NARROW), resolved(Control, "OUT_FINAL", NARROW));
    assert_eq!(resolved(G, "LDG", NARROW), Some(183));
    assert_eq!(resolved(G, "RED", MERCURY), Some(692));
    assert_eq!(resolved(Control, "BRA", MERCURY), Some(670));
    assert_eq!(pipes(Control, "BSYNC", NARROW).mask, Some(0xF8000));
}

#[test]
fn tensor_and_collective_rows() {
    use OpcodeGroup::{Collective, Tensor as G};
    assert_eq!((resolved(G, "HMMA_16", WIDE), index(G, "HMMA_16", WIDE)), (Some(758), Some(0xF7)));
    assert_eq!(resolved(G, "HMMA_16", NARROW), Some(103));
    assert_eq!((resolved(G, "HMMA pair", WIDE), index(G, "HMMA pair", WIDE)), (Some(760), Some(0xF9)));
    assert_eq!(resolved(G, "HMMA pair", Conditions { data_type: Some(6), ..NARROW }), Some(88));
    assert_eq!((resolved(G, "WGMMA", NARROW), index(G, "WGMMA", NARROW)), (Some(745), Some(0xF1)));
    assert_eq!(resolved(G, "WGMMA (v3)", Conditions { version: Some(3), ..NARROW }), Some(744));
    assert_eq!(resolved(G, "WGMMA (v3)", Conditions { version: Some(2), ..NARROW }), Some(203));
    for (split, number) in [(1, 765), (2, 766), (3, 767)] {
        let facts = Conditions { split, ..NARROW };
        assert_eq!(
            (resolved(G, "BGMMA/QMMA", facts), index(G, "BGMMA/QMMA", facts)),
            (Some(number), Some(0xFB))
        );
    }
    assert_eq!(index(G, "DP tensor", NARROW), Some(0xF6));
    assert_eq!(index(G, "DP tensor", WIDE), Some(0xFA));
    assert_eq!(pipes(G, "HMMA/BMMA", NARROW).flags, Some(0x0C));
    let b = Conditions { variant: 2, ..NARROW };
    assert_eq!(
        (resolved(Collective, "Collective", b), index(Collective, "Collective", b)),
        (Some(750), Some(0xF5))
    );
    assert_eq!(index(Collective, "RELBULK", NARROW), Some(0xF3));
}

#[test]
fn costs() {
    assert_eq!(lat(Arch::SM_80, 2), both("17", "0"));
    assert_eq!(lat(Arch::SM_90, 4), both("42", "15"));
    assert_eq!(lat(Arch::SM_80, 15), both("255", "35"));
    assert_eq!(lat(Arch::SM_90, 15), both("22", "2"));
    assert_eq!(lat(Arch::SM_100, 18), both("21-56", "19"));
    assert_eq!(lat(Arch::SM_80, 72), both("5", "9"));
    assert_eq!(lat(Arch::SM_100, 72), both("31", "12"));
    assert_eq!(lat(Arch::SM_90, 66), both("48-74", "19-33"));
    assert_eq!(lat(Arch::SM_80, 57), both("45-47", "19"));
    assert_eq!(lat(Arch::SM_90, 118), both("14", "19"));
    assert_eq!(lat(Arch::SM_80, 683), both("70", "31"));
    assert_eq!(lat(Arch::SM_100, 766), (Some("52".to_owned()), None));
    assert_eq!(lat(Arch::SM_90, 745), (None, None));
    assert_eq!(lat(Arch::SM_100, 745).0.as_deref(), Some("65"));
    assert_eq!(lat(Arch::SM_90, 183), (None, None));

    let inherited = class_costs(Arch::SM_86, class(72)).unwrap();
    assert_eq!(inherited.inherited_from, Some(Arch::SM_80));
    assert!(inherited.inferred.is_some());
    assert_eq!(class_costs(Arch::SM_121, class(72)).unwrap().inherited_from, Some(Arch::SM_100));
    assert_eq!(class_costs(Arch::SM_90, class(72)).unwrap().inherited_from, None);
    assert!(class_costs(Arch::SM_90, class(1)).is_none());
}

#[test]
fn rules() {
    let rule = dependence_rule(Arch::SM_80, class(2)).unwrap();
    assert_eq!(rule.origin, RuleOrigin::Printed);
    assert_eq!((rule.barrier_latency, rule.barrier_throughput), (Some(56), Some(8)));
    assert_eq!((rule.read_latency, rule.write_latency), (Some(-1), Some(-1)));
    assert_eq!((rule.stall_cycles, rule.issue_slots, rule.rule_type), (Some(0), Some(1), Some(1)));
    assert_eq!(rule.latency, class_costs(Arch::SM_80, class(2)).unwrap().latency);
    assert_eq!(rule.throughput_inv, class_costs(Arch::SM_80, class(2)).unwrap().throughput_inv);
    assert_eq!(dependence_rule(Arch::SM_87, class(2)).unwrap().origin, RuleOrigin::PrintedFor(Arch::SM_80));

    let rule = dependence_rule(Arch::SM_90, class(2)).unwrap();
    assert_eq!((rule.origin, rule.barrier_latency), (RuleOrigin::ClassTable, None));
    assert!(rule.origin.reason().is_some() && rule.latency.is_some());

    let entry = hw_latency_entry(Arch::SM_86, class(2)).unwrap();
    assert_eq!(entry.pipe_masks_a, [3, 3, 255, 255, 255, 255, 255, 255]);
    assert_eq!(entry.pipe_masks_b, [0, 0, 255, 255, 255, 255, 0, 0]);
    let params = entry.sched_params;
    assert_eq!((params.throughput_class, params.max_stall_cycles, params.barrier_class), (4, 7, 3));
    assert_eq!(params.to_array(), [0, 4, 0, 1, 0, 7, 3, 2, 1, 2, 3, 0]);
    assert!(hw_latency_entry(Arch::SM_90, class(2)).is_none());
}

#[test]
fn units_and_encodings() {
    assert_eq!(Unit::Smem.index(), 7);
    assert_eq!((Unit::Udp.usage_offset(), Unit::Udp.delta_offset()), (36, 76));
    assert_eq!((RESOURCE_FLAGS_OFFSET, RESOURCE_SLOT_SIZE), (80, 84));
    assert_eq!(Unit::Dfma.info().ipc.min, Some(Rate { instructions: 1, cycles: 64 }));
    assert!(Unit::Mma.info().ipc.min.is_none());
    for (at, &unit) in Unit::ALL.iter().enumerate() {
        assert_eq!((unit.info().unit, unit.info().index), (unit, at));
    }
    assert_eq!((Pipe::Xu.unit(), Pipe::Sfu.unit()), (None, Some(Unit::Sfu)));
    assert_eq!(class_for_unit_name(40, "LSU_T").get(), 15);
    assert_eq!(class_for_unit_name(53, "DMMA").get(), 118);
    assert_eq!(class_for_unit_name(53, "LSU_T").get(), 35);
    let codes = char_codes().iter().map(|row| (row.code, row.fu_id));
    let ids = "DEFJKLNS".chars().zip([40, 44, 48, 52, 56, 60, 32, 36]);
    assert_eq!(codes.collect::<BTreeMap<_, _>>(), ids.collect());
    assert_eq!(pipe_mask_rows()[1].units, [1, 3, 8]);
    assert_eq!(MemorySpace::from_code(16).unwrap().space, "global");
    let generic = MemorySpace::from_code(1).unwrap().typical;
    assert!(generic.open && generic.cycles == Span::new(20, 200).unwrap());
    let hot = |opcode, space, mode, operand| {
        temperature_rules().iter().find(|r| r.matches(opcode, space, mode, operand)).map(|r| r.temperature)
    };
    assert_eq!(hot(183, 6, 0, 0), Some(Temperature::Hot));
    assert_eq!(hot(288, 5, 0, 0), Some(Temperature::Cold));
    assert_eq!(hot(183, 4, 2, 0), Some(Temperature::Cold));
    assert_eq!(
        (hot(91, 0, 0, 15), hot(92, 0, 0, 14), hot(92, 0, 0, 4)),
        (Some(Temperature::Hot), Some(Temperature::Cold), None)
    );
    assert_eq!(hiding_categories().iter().filter(|c| c.typical.is_none()).count(), 1);
}

#[test]
fn warps() {
    let ranges = warp_profiles();
    assert_eq!((ranges[0].id_lo, ranges[5].id_hi), (0, None));
    assert!(ranges.windows(2).all(|pair| pair[0].id_hi.map(|hi| hi + 1) == Some(pair[1].id_lo)));
    for (id, warps, slots) in [
        (0, 4, 96),
        (20479, 4, 96),
        (20480, 6, 176),
        (28672, 7, 192),
        (28673, 7, 208),
        (36863, 8, 224),
        (36864, 16, 240),
    ] {
        let profile = WarpProfile::for_sm_id(id);
        assert_eq!((profile.warps, profile.dispatch_slots), (warps, slots), "{id}");
    }
    assert_eq!(WarpProfile::for_sm_id(u32::MAX).packed, Some(16 << 16 | 16));
    assert!(WarpProfile::for_sm_id(0).packed.is_none() && WarpProfile::for_sm_id(0).packed_reason.is_some());
    let hopper = WarpProfile::for_arch(Arch::SM_90A).unwrap();
    assert_eq!((hopper.sm_id, hopper.variant.unwrap().variant, hopper.inferred), (Some(36868), 4, None));
    assert!(WarpProfile::for_arch(Arch::SM_86).unwrap().inferred.is_some());
    assert!(WarpProfile::for_arch(Arch::UNIVERSAL).is_none());
    for (mode, width) in [(0, 2), (1, 1), (2, 2), (3, 4), (7, 8), (8, 1), (9, 1), (10, 9), (11, 10), (200, 2)]
    {
        assert_eq!(issue_width(mode), width, "{mode}");
    }
}

#[test]
fn scalars() {
    let c = constants();
    assert_eq!((c.long_latency_threshold, c.infinite_latency, c.unscheduled_position), (19, 0x1869F, -1));
    assert_eq!(c.dynamic_class, ClassId::DYNAMIC.get());
    assert_eq!((c.batch_window_sentinel, c.opcode_mask), (u32::MAX, 0xFFFF_CFFF));
}

#[test]
fn real_mnemonics() {
    let found = |name: &str| class_for_mnemonic(name).map(|m| (m.class.class().map(ClassId::get), m.via));
    assert_eq!(found("FFMA"), Some((Some(4), Via::Example)));
    assert_eq!(found("FMUL.FTZ"), Some((Some(4), Via::Example)));
    assert_eq!(found("FADD"), Some((Some(5), Via::Example)));
    assert_eq!(found("EXIT"), Some((Some(130), Via::Example)));
    assert_eq!(found("IADD3.X"), Some((Some(72), Via::Table)));
    assert_eq!(found("LOP3.LUT"), Some((Some(72), Via::Table)));
    assert_eq!(found("LDG.E.128"), Some((Some(183), Via::Table)));
    assert_eq!(found("IMAD.WIDE.U32"), Some((Some(72), Via::Table)));
    assert_eq!(found("IMAD.MOV.U32"), Some((Some(130), Via::Table)));
    assert_eq!(found("CS2R.32"), Some((Some(27), Via::Table)));
    assert_eq!(found("HMMA.16816.F32"), Some((Some(759), Via::Table)));
    assert_eq!(found("FRND"), Some((Some(54), Via::Alias)));
    assert_eq!(found("CCTL.IVALL"), Some((Some(533), Via::Alias)));
    assert_eq!(found("MOV"), Some((None, Via::Table)));
    assert_eq!(found("BAR.SYNC"), Some((Some(64), Via::Table)));
    assert_eq!(found("FROBNICATE"), None);
    assert_eq!(found(""), None);
    let all = classes_for_mnemonic("LDG.E", &Conditions::default());
    let classes: Vec<_> = all.iter().filter_map(|m| m.class.class()).map(ClassId::get).collect();
    assert_eq!(classes, [183, 16, 17, 18, 19, 15]);
    assert_eq!(unit_for_mnemonic("FFMA"), Some(Unit::Fma));
    assert_eq!(unit_for_mnemonic("LDS.128"), Some(Unit::Lsu));
    assert_eq!(unit_for_mnemonic("BMSK"), Some(Unit::Alu));
    assert_eq!(unit_for_mnemonic("MUFU.RCP"), Some(Unit::Sfu));
}
