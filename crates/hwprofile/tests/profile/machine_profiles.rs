//! The profiles built from the machine tables, and the document's worked example all the way through a file.

use sassafras_hwprofile::{Estimate, Profile, Standard};
use sassafras_machine::{Arch, ClassId};

fn class(id: u16) -> ClassId {
    ClassId::new(id).expect("in range")
}

#[test]
fn every_architecture_has_a_profile_that_round_trips() {
    for arch in Arch::all() {
        let profile = Profile::for_arch(arch).expect("table values fit");
        assert!(profile.classes.len() > 40, "{arch}");
        let bytes = profile.encode().expect("fits");
        assert_eq!(Profile::decode(&bytes), Ok(profile), "{arch}");
    }
}

/// Class 2 on sm_80 in the file: the 72 bytes, the 40 bytes and the 96 bytes of the document.
#[test]
fn the_worked_example_is_in_the_file_byte_for_byte() {
    let profile = Profile::for_arch(Arch::SM_80).expect("fits");
    let bytes = profile.encode().expect("fits");
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes")) as usize;

    let mut entry = [0; 72];
    #[rustfmt::skip]
    entry[..32].copy_from_slice(&[
        0x02, 0x00, 0x00, 0x00, 0x03, 0x03, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00,
        0x00, 0x04, 0x00, 0x01, 0x00, 0x07, 0x03, 0x02, 0x01, 0x02, 0x03, 0x00,
    ]);
    assert_eq!(bytes[64..136], entry);

    let mut rule = [0; 40];
    rule[..14].copy_from_slice(&[0x02, 0, 0x01, 0x11, 0, 0x38, 0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0x01]);
    assert_eq!(bytes[136..176], rule);

    // Root, category header, footer, group boundary, then the first class with a known cost.
    let mut record = [0; 96];
    (record[0], record[16], record[20]) = (23, 68, 17);
    let at = number(48) + 96 * 4;
    assert_eq!(bytes[at..at + 96], record);
}

#[test]
fn documented_costs() {
    let profile = Profile::for_arch(Arch::SM_80).expect("fits");
    let cost = |id| profile.classes[&class(id)].standard().map(|standard| standard.cost_product);
    assert_eq!(cost(2), Some(68));
    assert_eq!(cost(4), Some(630));
    // Full rate without an entry: the factor is unknown, so is the cost.
    assert_eq!(cost(3), None);
    // A printed range covers several classes: no single number.
    assert_eq!(cost(16), None);
    assert_eq!(profile.classes[&class(16)].rule.latency, Estimate::between(21, 23).expect("a range"));
    let second = Standard { cost_product: 630, base_latency: 42, dual_issue_flags: 0 };
    assert_eq!(profile.groups[0].standard[1], second);
}

#[test]
fn unknown_is_distinguishable_from_zero() {
    let profile = Profile::for_arch(Arch::SM_90).expect("fits");
    let bytes = profile.encode().expect("fits");
    let decoded = Profile::decode(&bytes).expect("valid");
    let rule = decoded.classes[&class(2)].rule;
    assert_eq!((rule.throughput_inv, rule.barrier_latency), (Estimate::Exact(0), None));
    // Pairing masks are printed as zero for sm_8x and sm_10x only.
    assert_eq!(decoded.classes[&class(2)].dual_issue, None);
    for arch in Arch::all() {
        let zero = matches!(arch.number(), Some(80..=89 | 100..=110));
        assert_eq!(
            Profile::for_arch(arch).expect("fits").classes[&class(2)].dual_issue,
            zero.then_some(0),
            "{arch}"
        );
    }
}

#[test]
fn the_text_view_shows_every_class_and_no_invented_number() {
    let text = Profile::for_arch(Arch::SM_86).expect("fits").to_string();
    assert!(text.starts_with("hardware profile of sm_86, costs inherited from sm_80\n"), "{text}");
    let line = |start: &str| text.lines().find(|line| line.trim_start().starts_with(start)).expect("printed");
    assert_eq!(
        line("2 ").split_whitespace().collect::<Vec<_>>(),
        ["2", "17", "0", "68", "56", "8", "default", "default", "0", "1", "1", "0"]
    );
    assert_eq!(
        line("16 ").split_whitespace().collect::<Vec<_>>(),
        ["16", "21-23", "19", "?", "?", "?", "?", "?", "?", "?", "?", "0"]
    );
}

#[test]
fn the_view_serialises() {
    let json = serde_json::to_value(crate::common::full()).expect("serialises");
    assert_eq!(json["arch"], "sm_80");
    assert_eq!(json["classes"]["4"]["rule"]["latency"]["exact"], 42);
    assert_eq!(json["classes"]["4"]["rule"]["barrier_latency"], serde_json::Value::Null);
}
