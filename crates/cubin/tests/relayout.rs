//! Code of another length: everything that names an instruction or a position still names it, and what cannot follow is refused.

use std::collections::BTreeMap;

use proptest::prelude::*;
use sassafras_cubin::{
    AttributeType, Container, Cubin, Origin, Reason, Relayout, RewriteOptions, Slot, attribute_table,
};

#[path = "support/build.rs"]
mod build;
#[path = "support/references.rs"]
mod references;
#[path = "support/shuffle.rs"]
mod shuffle;

use references::{Kinds, NOP, SAME, expected, inverse, random, references};
use shuffle::Random;

/// A cubin that nvcc made, with segments.
const LINKED: &[u8] = include_bytes!("../../cli/samples/nbody.cubin");

const NOTHING: RewriteOptions = RewriteOptions { capsules: sassafras_cubin::Capsules::Refuse };

fn files() -> [Vec<u8>; 2] {
    [build::cubin(), LINKED.to_vec()]
}

/// An edit of the built cubin in the order of `slots`: old slots, or none for a `NOP`.
fn edit_of(cubin: &Cubin, slots: &[Option<u32>]) -> Relayout {
    let unchanged = Relayout::unchanged(&cubin.code()[0]);
    let mut seen = Vec::new();
    let slot = |from: &Option<u32>| match *from {
        None => Slot { word: NOP, origin: Origin::New },
        Some(from) if seen.contains(&from) => {
            Slot { origin: Origin::Copied(from), ..unchanged.slots[from as usize] }
        }
        Some(from) => {
            seen.push(from);
            unchanged.slots[from as usize]
        }
    };
    Relayout { slots: slots.iter().map(slot).collect(), ..unchanged.clone() }
}

#[test]
fn an_edit_that_changes_nothing_gives_the_same_bytes() {
    for file in files() {
        let cubin = Cubin::parse(&file).expect("parses");
        let same: Vec<_> = cubin.code().iter().map(Relayout::unchanged).collect();
        assert_eq!(cubin.relayout(&same, NOTHING).expect("nothing changes"), file);
        let again: Vec<_> = same.iter().cloned().map(Relayout::without_padding).collect();
        assert_eq!(cubin.relayout(&again, NOTHING).expect("the padding comes back"), file);
    }
}

/// The new offsets are written down by hand.
#[test]
fn offsets_follow_copies_and_deletions() {
    let file = build::cubin();
    let cubin = Cubin::parse(&file).expect("parses");
    // 2 is deleted; 3, which ends the program, and 1 and 5 are there twice.
    let slots = [0, 1, 3, 9, 4, 1, 5, 5, 6, 7, 3, 9].map(|slot| (slot < 9).then_some(slot));
    let edit = edit_of(&cubin, &slots);
    let layout = cubin.layout(&edit).expect("follows");
    assert_eq!((layout.instruction(0x20), layout.instruction(0x40), layout.size()), (None, Some(0x40), 0xc0));
    let new = cubin.relayout(&[edit], NOTHING).expect("follows");
    let cubin = Cubin::parse(&new).expect("parses");
    let code = &cubin.code()[0];
    let words = |kind: u8| -> Vec<u32> {
        let kind = AttributeType(kind);
        code.attributes.iter().find(|attribute| attribute.kind == kind).expect("there").words().collect()
    };
    assert_eq!(words(0x1c), [0x20, 0x80, 0xa0]);
    assert_eq!(words(0x28), [0x10, 0x50]);
    assert_eq!(words(0x29), [0x0500_000b, 0x0500_000b]);
    let offsets: Vec<u64> = code.relocations.iter().map(|relocation| relocation.offset).collect();
    assert_eq!(offsets, [0x60, 0x70]);
    assert_eq!((code.bytes.len(), code.functions[0].range.clone()), (192, 0..192));
}

/// A list without an entry is no longer there, and neither is what stands beside it.
#[test]
fn a_list_that_names_nothing_goes() {
    let file = build::cubin();
    let cubin = Cubin::parse(&file).expect("parses");
    let edit = edit_of(&cubin, &[Some(0), Some(3), Some(4), Some(5), Some(6), Some(7)]);
    let new = cubin.relayout(&[edit], NOTHING).expect("follows");
    let cubin = Cubin::parse(&new).expect("parses");
    let kinds: Vec<u8> = cubin.code()[0].attributes.iter().map(|attribute| attribute.kind.0).collect();
    assert_eq!(kinds, [0x1b, 0x1c]);
}

/// Rows of deleted instructions may be what others were inlined at; nothing is known of the rest.
#[test]
fn lines_of_deleted_and_copied_instructions() {
    let file = build::cubin();
    let cubin = Cubin::parse(&file).expect("parses");
    for deleted in 0..8 {
        let slots: Vec<_> = (0..8).filter(|&slot| slot != deleted).chain([0, 5]).map(Some).collect();
        let edit = edit_of(&cubin, &slots);
        let new = cubin.relayout(&[edit], NOTHING).unwrap_or_else(|refusal| panic!("{deleted}: {refusal}"));
        let again = Cubin::parse(&new).expect("parses");
        // Whoever reads the table again finds it whole.
        let more = edit_of(&again, &[vec![None], (0..9).map(Some).collect()].concat());
        again.relayout(&[more], NOTHING).unwrap_or_else(|refusal| panic!("{deleted}: {refusal}"));
    }
}

#[test]
fn counts_are_set_wherever_they_are() {
    let cubin = Cubin::parse(LINKED).expect("parses");
    let code = &cubin.code()[0];
    assert!(code.registers.is_some_and(|count| count != 77) && code.barriers != Some(5));
    let edit = Relayout { registers: Some(77), barriers: Some(5), ..Relayout::unchanged(code) };
    let new = cubin.relayout(std::slice::from_ref(&edit), NOTHING).expect("follows");
    let again = Cubin::parse(&new).expect("parses");
    let found = &again.code()[0];
    assert_eq!((found.registers, found.barriers, found.bytes), (Some(77), Some(5), code.bytes));
    let reason = |edit: Relayout| cubin.relayout(&[edit], NOTHING).expect_err("refused").reason;
    assert_eq!(
        reason(Relayout { registers: Some(256), ..edit.clone() }),
        Reason::Registers { count: 256, most: 255 }
    );
    assert_eq!(
        reason(Relayout { registers: Some(0), ..edit.clone() }),
        Reason::Registers { count: 0, most: 255 }
    );
    assert_eq!(reason(Relayout { barriers: Some(17), ..edit }), Reason::Barriers(17));
    // The built file keeps no register count.
    let file = build::cubin();
    let cubin = Cubin::parse(&file).expect("parses");
    let edit = Relayout { registers: Some(20), ..Relayout::unchanged(&cubin.code()[0]) };
    let reason = cubin.relayout(&[edit], NOTHING).expect_err("refused").reason;
    assert_eq!(reason, Reason::NoCount("register"));
}

#[test]
fn bad_edits_are_refused() {
    let file = build::cubin();
    let cubin = Cubin::parse(&file).expect("parses");
    let unchanged = Relayout::unchanged(&cubin.code()[0]);
    let reason = |edits: &[Relayout]| cubin.relayout(edits, NOTHING).expect_err("refused").reason;
    let with = |slots: &[Option<u32>]| reason(&[edit_of(&cubin, slots)]);
    assert_eq!(reason(&[unchanged.clone(), unchanged.clone()]), Reason::EditedTwice);
    assert_eq!(reason(&[Relayout { section: 2, ..unchanged.clone() }]), Reason::NotCode(2));
    assert!(matches!(with(&[]), Reason::BadLength { slots: 0, .. }));
    let mut twice = edit_of(&cubin, &[Some(0), Some(1)]);
    twice.slots[1].origin = Origin::Moved(0);
    assert_eq!(reason(&[twice.clone()]), Reason::NotAPermutation(0));
    twice.slots[1].origin = Origin::Copied(8);
    assert_eq!(reason(&[twice]), Reason::NotAPermutation(8));
    for (offset, slot) in [(0, 1), (0x80, 8), (0x18, 1), (0x10, 9), (0x100, 1)] {
        let positions = BTreeMap::from([(offset, slot)]);
        assert_eq!(reason(&[Relayout { positions, ..unchanged.clone() }]), Reason::BadPosition(offset));
    }
}

/// Bytes of the file that must not be trusted, broken in turn.
#[test]
fn what_cannot_follow_is_refused() {
    let file = build::cubin();
    let find = |name: &str| {
        let cubin = Cubin::parse(&file).expect("parses");
        cubin.section_named(name).expect("there").1.file_range.start
    };
    let (info, line, rela) = (find(".nv.info.k"), find(".debug_line"), find(".rela.text.k"));
    let names = find(".shstrtab");
    let reason = |at: usize, byte: u8| {
        let mut broken = file.clone();
        broken[at] = byte;
        let cubin = Cubin::parse(&broken).expect("parses");
        let edit = edit_of(&cubin, &[vec![None], (0..8).map(Some).collect()].concat());
        cubin.relayout(&[edit], NOTHING).expect_err("refused").reason
    };
    assert!(matches!(reason(info + 5, 0x7e), Reason::UnknownAttribute { value: 0x30, .. }));
    assert!(matches!(reason(info + 8, 0x31), Reason::NoInstruction { value: 0x31, .. }));
    assert!(matches!(reason(info + 8, 0x70), Reason::Unsorted { .. }));
    assert!(matches!(reason(rela, 0x80), Reason::MisplacedRelocation(0x80)));
    assert!(matches!(reason(line + 4, 9), Reason::Lines { at: 0, .. }));
    let constant = file[names..].windows(4).position(|text| text == b".nv.").expect("a name");
    let section = file[names..].windows(16).position(|text| text == b".nv.constant0.k\0").expect("a name");
    assert!(constant <= section);
    assert_eq!(reason(names + section + 4, b'X'), Reason::UnknownSection);
}

/// The fatbinary takes an image that grew.
#[test]
fn a_grown_image_goes_into_its_container() {
    let size = LINKED.len() as u64;
    let zstd = zstd::bulk::compress(LINKED, 3).expect("room enough");
    for (flags, stored, size) in [(0, LINKED, 0), (1 << 15, &zstd[..], size)] {
        let image = build::fatbin(&[(80, 0, &build::cubin(), 0), (90, flags, stored, size)]);
        let container = Container::parse(&image).expect("recognised");
        let cubin = Cubin::parse(LINKED).expect("parses");
        let none = Kinds { copies: false, moves: false, deletes: false };
        let edit = random(&cubin, &cubin.code()[0], &mut Random(3), none);
        let new = cubin.relayout(&[edit], NOTHING).expect("follows");
        assert!(new.len() > LINKED.len());
        let file = container.replace(&container.images()[1], &new).expect("goes in");
        let again = Container::parse(&file).expect("still whole");
        assert!(*again.bytes(&again.images()[1]).expect("reads") == new);
        assert!(*again.bytes(&again.images()[0]).expect("reads") == build::cubin());
    }
}

#[test]
fn attributes_that_no_file_here_has() {
    // Every layout of the table is one that the writer takes.
    for info in attribute_table() {
        let mut file = build::cubin();
        let at = {
            let cubin = Cubin::parse(&file).expect("parses");
            cubin.section_named(".nv.info.k").expect("there").1.file_range.start + 5
        };
        file[at] = info.kind.0;
        let cubin = Cubin::parse(&file).expect("parses");
        let edit = edit_of(&cubin, &[vec![None], (0..8).map(Some).collect()].concat());
        if let Ok(new) = cubin.relayout(std::slice::from_ref(&edit), NOTHING) {
            let new = Cubin::parse(&new).expect("parses");
            let size = new.code()[0].bytes.len() as u64;
            assert_eq!(references(&new, edit.section, &SAME), expected(&cubin, &edit, size), "{}", info.kind);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// What a random edit leaves names what it named, and inserting is undone by deleting.
    #[test]
    fn references_follow_random_edits(seed: u64) {
        for file in files() {
            let cubin = Cubin::parse(&file).expect("parses");
            let code = &cubin.code()[0];
            let kinds = Kinds { copies: true, moves: true, deletes: true };
            let edit = random(&cubin, code, &mut Random(seed), kinds);
            let new = match cubin.relayout(std::slice::from_ref(&edit), NOTHING) {
                Ok(new) => new,
                // Rows of frames hold behind one instruction, and in their order.
                Err(refusal) => {
                    prop_assert!(matches!(refusal.reason, Reason::Frames { .. }), "{refusal}");
                    continue;
                }
            };
            let new = Cubin::parse(&new).expect("parses");
            let size = new.code()[0].bytes.len() as u64;
            prop_assert_eq!(references(&new, edit.section, &SAME), expected(&cubin, &edit, size));
        }
    }

    #[test]
    fn inserting_is_undone_by_deleting(seed: u64) {
        for file in files() {
            let cubin = Cubin::parse(&file).expect("parses");
            let kinds = Kinds { copies: true, moves: false, deletes: false };
            let edit = random(&cubin, &cubin.code()[0], &mut Random(seed), kinds);
            let Ok(new) = cubin.relayout(std::slice::from_ref(&edit), NOTHING) else {
                continue;
            };
            let new = Cubin::parse(&new).expect("parses");
            let back = new.relayout(&[inverse(&new, &edit)], NOTHING).expect("follows");
            prop_assert!(back == file, "seed {seed}");
        }
    }

    /// Damaged files are refused or written again, and never panic.
    #[test]
    fn damage_is_survived(seed: u64, bytes in prop::collection::vec((0usize..1 << 20, any::<u8>()), 1..4)) {
        let mut file = LINKED.to_vec();
        for (at, byte) in bytes {
            // Half of the damage is in the headers at the end.
            let len = file.len();
            let at = if at % 2 == 0 { at % len } else { len - 1 - at % (len / 8) };
            file[at] = byte;
        }
        if let Ok(cubin) = Cubin::parse(&file) {
            for code in cubin.code() {
                let mut edit = Relayout::unchanged(code).without_padding();
                edit.slots.insert(Random(seed).below(edit.slots.len()), Slot { word: NOP, origin: Origin::New });
                edit.registers = Some(40);
                edit.barriers = Some(2);
                let _ = cubin.relayout(&[edit], NOTHING);
            }
        }
    }
}
