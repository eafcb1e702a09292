//! The join of control words on what ptxas wrote: taken apart into what its two producers say, and joined again.
#![cfg(feature = "real-tools")]

use rayon::prelude::*;
use sassafras_control::maxwell::{GROUP_BYTES, GroupControl};
use sassafras_control::{Control, Family, Issue, RawControl, Violation, volta};
use sassafras_corpus_tests::{Item, cubins};
use sassafras_cubin::Cubin;
use sassafras_machine::InstructionEncoding;
use sassafras_model::stall::StallCap;
use sassafras_sass::program::arch_of;
use sassafras_tepid::dual_issue::{Pairing, Stream, walk};
use sassafras_tepid::join::{group, join, regroup, split};

/// Words taken apart and joined, by family; and for the grouped ones the stalls of ptxas and ours.
#[derive(Default)]
struct Tally {
    maxwell: usize,
    volta: usize,
    stalls: (u64, u64),
    /// Words that are not legal: marks of texture fetches.
    marks: usize,
}

/// The word, if it is legal. Texture fetches up to sm_8x carry reuse bits beside a clear yield bit, which mean something else.
fn legal(raw: RawControl, family: Family, tally: &mut Tally) -> Option<Control> {
    let control = Control::try_new(raw, family);
    tally.marks += usize::from(matches!(control, Err(Violation::ReuseAcrossYield { .. })));
    assert!(
        !matches!(control, Err(violation) if !matches!(violation, Violation::ReuseAcrossYield { .. })),
        "{raw}"
    );
    control.ok()
}

fn again(control: Control) {
    let (timing, encoding) = split(control);
    let joined = join(control.family(), StallCap::Uncapped, &timing, &encoding);
    assert_eq!(joined.control, control);
    assert_eq!((joined.uncovered, joined.lost_pair, joined.forced_yield), (0, false, false), "{control}");
}

fn look(item: &Item) -> Tally {
    let mut tally = Tally::default();
    let cubin = Cubin::parse(&item.bytes).expect("a cubin");
    let Some(arch) = arch_of(cubin.sm()) else { return tally };
    let grouped = arch.info().encoding == InstructionEncoding::Grouped64;
    for section in cubin.code() {
        if !grouped {
            for word in section.bytes.as_chunks::<16>().0 {
                let raw = volta::read(u128::from_le_bytes(*word));
                legal(raw, Family::Volta, &mut tally).into_iter().for_each(again);
                tally.volta += 1;
            }
            continue;
        }
        let stream = Stream::decode(section.bytes, arch).expect("whole groups");
        let words: Vec<GroupControl> = section
            .bytes
            .as_chunks::<GROUP_BYTES>()
            .0
            .iter()
            .map(|group| GroupControl::from_bits(u64::from_le_bytes(*group.first_chunk().expect("a word"))))
            .collect();
        let raw: Vec<_> = stream.slots.iter().map(|slot| slot.control).collect();
        assert_eq!(group::unpack(&words), raw);
        assert_eq!(group::pack_raw(&raw), words, "three words of 21 bits, and nothing else");
        for &raw in &raw {
            legal(raw, Family::Maxwell, &mut tally).into_iter().for_each(again);
            tally.maxwell += 1;
        }
        // Made anew with the pairs of ptxas: the same pairs and scoreboards, and no longer stalls in all.
        let walk = walk(&stream, Pairing::Marked);
        let made = regroup::joined(&stream, &walk);
        assert_eq!(regroup::groups(&stream, &walk).len(), words.len());
        for (slot, joined) in stream.slots.iter().zip(&made) {
            let Ok(old) = Control::try_new(slot.control, Family::Maxwell) else { continue };
            let new = joined.control;
            assert!(!joined.lost_pair && slot.is_marked() == (new.issue() == Issue::Dual), "{old} {new}");
            assert_eq!((new.write(), new.read(), new.wait()), (old.write(), old.read(), old.wait()));
            tally.stalls.0 += u64::from(old.stall().cycles());
            tally.stalls.1 += u64::from(new.stall().cycles());
        }
    }
    tally
}

#[test]
fn words_of_ptxas_are_joined_from_their_parts() {
    let tallies: Vec<Tally> = cubins().expect("the corpus").par_iter().map(look).collect();
    let sum = |part: fn(&Tally) -> usize| tallies.iter().map(part).sum::<usize>();
    let (maxwell, volta) = (sum(|t| t.maxwell), sum(|t| t.volta));
    let stalls = tallies.iter().fold((0, 0), |s, t| (s.0 + t.stalls.0, s.1 + t.stalls.1));
    let marks = sum(|t| t.marks);
    eprintln!(
        "{maxwell} words of sm_50 to sm_62, {volta} of sm_70 and later, {marks} marks; stalls {stalls:?}"
    );
    assert!(marks * 10_000 < maxwell + volta, "{marks}");
    assert!(maxwell > 50_000 && volta > 1_000_000);
    assert!(stalls.1 <= stalls.0, "{stalls:?}");
}
