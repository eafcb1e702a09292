//! Pairs of neighbours on code that ptxas wrote for sm_52, and on any bytes.

use proptest::prelude::*;
use sassafras_control::maxwell::{GroupControl, Slot as Third};
use sassafras_control::{Field, RawControl};
use sassafras_machine::Arch;
use sassafras_model::dual_issue::observed::Refusal;
use sassafras_model::dual_issue::pairing::Half;
use sassafras_tepid::dual_issue::{Pairing, Stream, compare, walk};

/// Four groups of a matrix product: its first three instructions, and nine from behind its preamble.
const CODE: [[u64; 4]; 4] = [
    [0x001c4400fe0007f6, 0x4c98078000870001, 0x4c98078005770002, 0xf0c8000002170005],
    [0x001ff400fe0007f6, 0x5c12000000572e2e, 0x3848000000272e31, 0xe2400000e988000f],
    [0x081fc000e22007f0, 0x5bdf7f8020570002, 0xf0c8000002570006, 0x4e007f8005673003],
    [0x001fc440fe800731, 0xf0c8000002670007, 0x4f107f8005673009, 0x3829000000270200],
];

fn bytes(groups: &[[u64; 4]]) -> Vec<u8> {
    groups.iter().flatten().flat_map(|word| word.to_le_bytes()).collect()
}

fn stream(groups: &[[u64; 4]]) -> Stream {
    Stream::decode(&bytes(groups), Arch::SM_52).expect("whole groups")
}

#[test]
fn the_pairs_of_ptxas_are_found_again() {
    let stream = stream(&CODE);
    let pairs = |pairing| {
        let found = walk(&stream, pairing);
        let pairs = found.paired.iter().enumerate().filter(|(_, paired)| **paired);
        pairs
            .map(|(at, _)| format!("{} || {}", stream.slots[at].text(), stream.slots[at + 1].text()))
            .collect::<Vec<_>>()
    };
    let expected = [
        "MOV R2, c[0x0][0x15c] || S2R R5, SR_TID.X",
        "SHL R49, R46, 0x2 || @!P0 BRA 0xed8",
        "LEA.HI R2, R0, R5, RZ, 0x2 || S2R R6, SR_CTAID.X",
        "XMAD R3, R48.reuse, c[0x0][0x158], RZ || S2R R7, SR_CTAID.Y",
    ];
    assert_eq!(pairs(Pairing::Marked), expected);
    assert_eq!(pairs(Pairing::Legal), expected);
    assert!(pairs(Pairing::Single).is_empty());
}

#[test]
fn a_comparison_counts_and_names_reasons() {
    let found = compare(&stream(&CODE));
    assert_eq!((found.instructions, found.marked, found.legal, found.both), (12, 4, 4, 4));
    assert_eq!((found.covered(), found.taken()), (Some(1.0), Some(1.0)));
    assert!(found.only_marked.is_empty() && found.only_legal.is_empty());
    let [single, marked, legal] = found.cycles;
    assert!(marked < single && legal == marked, "{:?}", found.cycles);
    // None of the documents' matrix: a special-register read has no unit there, and branches are forbidden.
    assert_eq!(found.documented, 0);
}

/// Takes a mark away, or sets one, in the copy of the code.
fn with_stall(group: usize, slot: Third, stall: u8) -> [[u64; 4]; 4] {
    let mut code = CODE;
    let word = GroupControl::from_bits(code[group][0]);
    let control = word.get(slot).with(Field::Stall, stall).expect("fits");
    code[group][0] = word.with(slot, control).bits();
    code
}

#[test]
fn a_mark_too_few_and_one_too_many_are_told() {
    let missing = compare(&stream(&with_stall(2, Third::First, 2)));
    assert_eq!((missing.marked, missing.legal, missing.only_legal.as_slice()), (3, 4, &[0x48][..]));
    // Arithmetic beside arithmetic: XMAD.MRG || SHR.
    let wrong = compare(&stream(&with_stall(3, Third::Second, 0)));
    assert_eq!(wrong.only_marked, [(0x70, Refusal::Place(Half::Second))]);
    // The first instruction of a kernel, even beside one that could follow.
    let mut code = with_stall(0, Third::First, 0);
    code[0][2] = code[0][3];
    let entry = compare(&stream(&code));
    assert_eq!(entry.only_marked[0], (0x8, Refusal::Entry));
}

#[test]
fn sums_add_up() {
    let one = compare(&stream(&CODE));
    let mut sum = one.clone();
    sum.add(&one);
    assert_eq!((sum.instructions, sum.marked, sum.both), (24, 8, 8));
    assert_eq!(sum.cycles, one.cycles.map(|cycles| 2 * cycles));
    assert_eq!(
        sum.documented_refused.values().sum::<usize>(),
        2 * one.documented_refused.values().sum::<usize>()
    );
}

#[test]
fn a_cut_group_is_an_error() {
    let bytes = bytes(&CODE);
    assert!(Stream::decode(&bytes[..100], Arch::SM_52).is_err());
    assert!(Stream::decode(&[], Arch::SM_52).is_ok_and(|stream| compare(&stream).instructions == 0));
}

proptest! {
    /// Words of real instructions in any order and any control bits: no panic, and what is paired is consistent.
    #[test]
    fn any_code_is_walked(
        picks in proptest::collection::vec((0usize..12, 0u32..1 << 21), 0..30),
        noise in proptest::collection::vec(any::<u64>(), 0..8),
    ) {
        let mut groups: Vec<[u64; 4]> = picks
            .chunks_exact(3)
            .map(|three| {
                let mut control = GroupControl::default();
                let mut group = [0; 4];
                for ((&(pick, bits), slot), place) in three.iter().zip(Third::ALL).zip(1..) {
                    control = control.with(slot, RawControl::from_bits_truncate(bits));
                    group[place] = CODE[pick / 3][1 + pick % 3];
                }
                group[0] = control.bits();
                group
            })
            .collect();
        groups.extend(noise.chunks_exact(4).map(|words| [words[0], words[1], words[2], words[3]]));
        let stream = stream(&groups);
        for pairing in [Pairing::Single, Pairing::Marked, Pairing::Legal] {
            let found = walk(&stream, pairing);
            prop_assert_eq!(found.cycles.len(), stream.slots.len());
            prop_assert!(found.cycles.is_sorted());
            for at in 1..stream.slots.len() {
                let together = found.cycles[at] == found.cycles[at - 1];
                prop_assert!(!together || found.paired[at - 1]);
                if pairing == Pairing::Legal {
                    prop_assert_eq!(found.paired[at - 1], found.verdicts[at - 1].is_none());
                    prop_assert_eq!(together, found.paired[at - 1]);
                }
            }
        }
        let found = compare(&stream);
        prop_assert_eq!(found.marked, found.both + found.only_marked.len());
        prop_assert_eq!(found.legal, found.both + found.only_legal.len());
    }

    #[test]
    fn any_bytes_decode(bytes in proptest::collection::vec(any::<u8>(), 0..256)) {
        if let Ok(stream) = Stream::decode(&bytes, Arch::SM_50) {
            let _ = compare(&stream);
        }
    }
}
