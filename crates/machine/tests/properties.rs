//! Properties of the small languages: descriptor bits, architecture names, conditions.

use proptest::prelude::*;
use sassafras_machine::*;

fn fields() -> impl Strategy<Value = DescriptorFields> {
    (0..512u16, 0..32u8, 0..32u8, 0..32u8, 0..32u8, 0..32u8).prop_map(
        |(index, mask, sub, flags, read, write)| DescriptorFields {
            latency_index: LatencyIndex::new(index).unwrap(),
            pipe_mask: PipeMask::new(mask).unwrap(),
            sub_class: SubClass::new(sub).unwrap(),
            pipe_flags: PipeFlags::new(flags).unwrap(),
            read_barriers: read,
            write_barriers: write,
        },
    )
}

proptest! {
    #[test]
    fn fields_survive_packing(fields in fields()) {
        let packed = Descriptor::pack(&fields).unwrap();
        prop_assert_eq!(packed.unpack(), fields);
        prop_assert_eq!(Descriptor::from_bytes(packed.to_bytes()), packed);
    }

    #[test]
    fn bits_survive_unpacking(bits in 0..1u64 << 48, other in fields()) {
        let descriptor = Descriptor::from_bits(bits).unwrap();
        prop_assert_eq!(descriptor.bits(), bits);
        prop_assert_eq!(descriptor.with(&descriptor.unpack()), Some(descriptor));
        // Reserved bits are untouched by any edit.
        let edited = descriptor.with(&other).unwrap();
        prop_assert_eq!(edited.unpack(), other);
        let reserved = 0x3F << 9 | 0x3 << 30 | 0x3F << 42;
        prop_assert_eq!(edited.bits() & reserved, bits & reserved);
    }

    #[test]
    fn the_documents_views_agree(fields in fields()) {
        let bytes = Descriptor::pack(&fields).unwrap().to_bytes();
        let dword = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let word_2 = u32::from(u16::from_le_bytes([bytes[2], bytes[3]]));
        let word_4 = u16::from_le_bytes([bytes[4], bytes[5]]);
        prop_assert_eq!(dword & 0x1FF, u32::from(fields.latency_index.get()));
        prop_assert_eq!(dword & 0xF8000, fields.pipe_mask.in_place());
        prop_assert_eq!(word_2 & 0x1F0, fields.sub_class.in_place());
        prop_assert_eq!(u32::from(bytes[3]) & 0x3E, fields.pipe_flags.in_place());
        prop_assert_eq!(word_4 & 0x1F, u16::from(fields.read_barriers));
        prop_assert_eq!(word_4 & 0x3E0, u16::from(fields.write_barriers) << 5);
    }

    #[test]
    fn in_place_values_round_trip(value in 0..0x100000u32) {
        if let Some(mask) = PipeMask::from_in_place(value) {
            prop_assert_eq!(mask.in_place(), value);
        } else {
            prop_assert!(value & !0xF8000 != 0);
        }
        prop_assert_eq!(SubClass::from_in_place(value).is_some(), value & !0x1F0 == 0);
        prop_assert_eq!(PipeFlags::from_in_place(value).is_some(), value & !0x3E == 0);
    }

    #[test]
    fn arch_names_round_trip(at in any::<prop::sample::Index>(), prefix in "(sm_|SM_|sm|SM|)") {
        let all: Vec<_> = Arch::all().filter(|&arch| arch != Arch::UNIVERSAL).collect();
        let arch = *at.get(&all);
        let name = arch.to_string();
        prop_assert_eq!(name.replacen("sm_", &prefix, 1).parse(), Ok(arch));
    }

    #[test]
    fn arch_parsing_is_total(name in ".{0,12}") {
        match name.parse::<Arch>() {
            Ok(arch) => prop_assert_eq!(arch.to_string().parse(), Ok(arch)),
            Err(ArchError::Unknown { known, .. }) => {
                prop_assert!(known.contains("sm_90a") && known.contains("universal"));
                prop_assert_eq!(Arch::parse_or_universal(&name), Ok(Arch::UNIVERSAL));
            }
            Err(error) => prop_assert_eq!(Arch::parse_or_universal(&name), Err(error)),
        }
    }

    #[test]
    fn unknown_numbers_fall_back(number in 1..60000u32) {
        let name = format!("sm_{number}");
        let known = Arch::all().any(|arch| arch.to_string() == name);
        prop_assert_eq!(name.parse::<Arch>().is_ok(), known);
        let fallback = Arch::parse_or_universal(&name).unwrap();
        prop_assert_eq!(fallback == Arch::UNIVERSAL, !known);
    }

    #[test]
    fn conditions_round_trip(text in "(wide|mercury|type=6|type=19|split=2|memory=4)(&(remat|flag_set|fp_width))?") {
        let condition: Condition = text.parse().unwrap();
        prop_assert_eq!(condition.to_string(), text);
    }

    #[test]
    fn condition_parsing_is_total(text in ".{0,20}") {
        let _ = text.parse::<Condition>();
    }

    #[test]
    fn mnemonic_lookup_is_total(name in ".{0,20}") {
        let found = class_for_mnemonic(&name);
        prop_assert_eq!(found.is_some(), !classes_for_mnemonic(&name, &Conditions::default()).is_empty());
        let _ = (unit_for_mnemonic(&name), Category::of(&name));
    }

    #[test]
    fn every_fact_gives_a_class(wide: bool, mercury: bool, flag: bool, remat: bool, split in 0..8u8,
                                fp_width: bool, data_type in prop::option::of(0..24u8),
                                memory in prop::option::of(0..20u8)) {
        let facts = Conditions { wide, mercury, flag, remat, split, fp_width, data_type, memory, ..Conditions::default() };
        for entry in opcodes() {
            let chosen = entry.select(&facts).expect("some variant always holds");
            prop_assert!(chosen.condition.holds(&facts));
            let better = entry.variants.iter().find(|other| {
                other.condition.holds(&facts) && other.condition.specificity() > chosen.condition.specificity()
            });
            prop_assert!(better.is_none());
        }
    }
}

#[test]
fn the_default_descriptor() {
    let all = Descriptor::ALL_PIPES;
    let fields = all.unpack();
    assert_eq!(fields.pipe_mask.in_place(), 0xF8000);
    assert_eq!(fields.sub_class.in_place(), 0x1F0);
    assert_eq!(fields.pipe_flags.in_place(), 0x3E);
    assert_eq!((fields.read_barriers, u16::from(fields.write_barriers) << 5), (0x1F, 0x3E0));
    assert_eq!(fields.latency_index.get(), 0);
    assert_eq!(Descriptor::pack(&fields), Some(all));
    assert_eq!(fields.sub_class.row().unwrap().name, "maximum");
    assert!(Descriptor::pack(&DescriptorFields { read_barriers: 32, ..fields }).is_none());
    assert!(Descriptor::from_bits(1 << 48).is_none());
}

#[test]
fn odd_names_are_refused() {
    for name in [
        "",
        "sm_",
        "sm_a",
        "a",
        "sm_0",
        "sm_090",
        "-90",
        "+90",
        "sm_9 0",
        "sm_90b",
        "sm__90",
        "sm_99999999999",
    ] {
        assert!(matches!(name.parse::<Arch>(), Err(ArchError::Malformed(_))), "{name}");
    }
    assert_eq!("90".parse(), Ok(Arch::SM_90));
    assert_eq!("sm_90a".parse(), Ok(Arch::SM_90A));
    assert_eq!("Universal".parse(), Ok(Arch::UNIVERSAL));
}
