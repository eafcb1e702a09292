//! Profile to bytes and back, and what happens to bytes that are not quite a profile.

use crate::common::{full, profile};
use proptest::prelude::*;
use sassafras_hwprofile::{DecodeError, Profile, RecordType, fuzz_decode};

proptest! {
    #[test]
    fn a_profile_survives_its_bytes(profile in profile()) {
        let bytes = profile.encode().expect("fits");
        prop_assert_eq!(bytes.len() % 16, 0);
        prop_assert_eq!(Profile::decode(&bytes), Ok(profile));
    }

    /// Mutated files either fail or are the encoding of what they decode to.
    #[test]
    fn mutated_bytes_are_an_error_or_canonical(
        profile in profile(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in option_cut(),
    ) {
        let mut bytes = profile.encode().expect("fits");
        for (index, value) in edits {
            let at = index.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        fuzz_decode(&bytes);
    }

    #[test]
    fn arbitrary_bytes_never_panic(tail in prop::collection::vec(any::<u8>(), 0..400), valid_head: bool) {
        let mut bytes = if valid_head { full().encode().expect("fits")[..64].to_vec() } else { Vec::new() };
        bytes.extend(tail);
        fuzz_decode(&bytes);
    }
}

fn option_cut() -> impl Strategy<Value = Option<prop::sample::Index>> {
    prop::option::weighted(0.2, any::<prop::sample::Index>())
}

/// Every single-byte change of a file with all record types, in four ways.
#[test]
fn every_byte_is_checked_or_carried() {
    let bytes = full().encode().expect("fits");
    let mut refused = 0;
    for at in 0..bytes.len() {
        for change in [1, 0x10, 0x80, 0xFF] {
            let mut mutated = bytes.clone();
            mutated[at] ^= change;
            fuzz_decode(&mutated);
            refused += usize::from(Profile::decode(&mutated).is_err());
        }
    }
    // What is carried is the free data; counts, offsets, sentinels and padding are the larger part.
    assert!(refused > bytes.len() * 2, "{refused} of {} changes refused", bytes.len() * 4);
    for len in 0..bytes.len() {
        assert!(Profile::decode(&bytes[..len]).is_err(), "cut at {len}");
    }
    assert!(Profile::decode(&[&bytes[..], &[0; 16]].concat()).is_err());
}

fn le(bytes: &[u8], at: usize, size: usize) -> usize {
    bytes[at..at + size].iter().rev().fold(0, |value, &byte| value << 8 | usize::from(byte))
}

/// The offset of the first record of a type.
fn record(bytes: &[u8], kind: RecordType) -> usize {
    (0..le(bytes, 28, 4))
        .map(|index| le(bytes, 48, 8) + 96 * index)
        .find(|&at| le(bytes, at, 2) == usize::from(kind.code()))
        .expect("the full profile has every type")
}

#[test]
fn broken_fields_are_named() {
    let bytes = full().encode().expect("fits");
    let broken = |at: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        Profile::decode(&bytes).expect_err("broken").to_string()
    };
    let at = |kind| record(&bytes, kind);
    for (offset, value, message) in [
        (0, b'X', "magic"),
        (8, 9, "version is 0x9, expected 0x1"),
        (12, 81, "unknown architecture 81"),
        (20, 9, "offset is"),
        (56, 1, "file length"),
        (at(RecordType::Wait) + 16, 0, "record cost product is 0x100, expected 0x118"),
        (at(RecordType::BarrierData) + 4, 0, "record aux size is 0x0, expected 0x80"),
        (at(RecordType::Scoreboard) + 40, 35, "record data size is 0x23, expected 0x24"),
        (at(RecordType::Standard) + 89, 1, "record padding is 0x1, expected 0x0"),
        (at(RecordType::Standard) + 32, 1, "record data pointer"),
        (at(RecordType::GroupBoundary) + 48, 0, "record inline string"),
        (at(RecordType::GroupBoundary) + 80, 0, "record string buffer pointer"),
        (at(RecordType::SmSpecific) + 64, 0, "record parent pointer"),
        (at(RecordType::Variants) + 16, 0, "variant start index is 0x0"),
        (at(RecordType::CategoryHeader) + 16, 3, "record cost product is 0x3, expected 0x2"),
        (at(RecordType::Root), 2, "unknown record type 2"),
        (at(RecordType::Root) + 4, 0, "record aux size"),
    ] {
        let found = broken(offset, value);
        assert!(found.contains(message), "{offset:#x}: {found}, expected {message}");
        assert!(found.contains("offset 0x"), "{found}");
    }
}

#[test]
fn the_assembly_order_is_enforced() {
    let bytes = full().encode().expect("fits");
    // A standard entry becomes a valid barrier entry, which has no place after barrier data.
    let mut swapped = bytes.clone();
    let at = record(&bytes, RecordType::Standard);
    swapped[at] = RecordType::BarrierEntry.code() as u8;
    swapped[at + 20..at + 24].fill(0);
    assert!(matches!(
        Profile::decode(&swapped),
        Err(DecodeError::Order { offset, found: Some(RecordType::BarrierEntry), .. }) if offset == at
    ));
}

#[test]
fn counts_beyond_the_file_allocate_nothing() {
    let mut bytes = full().encode().expect("fits");
    for at in [20, 24, 28] {
        let saved: [u8; 4] = bytes[at..at + 4].try_into().expect("four bytes");
        bytes[at..at + 4].fill(0xFF);
        assert!(Profile::decode(&bytes).is_err());
        bytes[at..at + 4].copy_from_slice(&saved);
    }
    assert!(Profile::decode(&bytes).is_ok());
}
