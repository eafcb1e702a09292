//! Files against their reorderings: legal ones pass, and every single change is noticed.

use proptest::prelude::*;
use sassafras_cubin::{CodeEdit, Container, Cubin};
use sassafras_ir::text::parse_annotated;
use sassafras_verify::against::{self, Change, Comparison, Mismatch};

#[path = "../../cubin/tests/support/build.rs"]
mod build;

const EXIT: u128 = 0x0380_0000_0000_0000_0000_794d;
const CONTROL: std::ops::Range<u32> = 105..126;

/// `FADD Rd, Ra, Rb`.
fn fadd(d: u128, a: u128, b: u128) -> u128 {
    0x7221 | d << 16 | a << 24 | b << 32 | 0x000f_c400 << 96
}

/// `BSSY B0` by `words` instructions from the next one.
fn bssy(words: u128) -> u128 {
    0x0380_0000 << 64 | (words * 4) << 34 | 0x7945
}

/// A branch of sm_90 by `words` instructions from the next one.
fn relative(opcode: u128, words: i128) -> u128 {
    let offset = (words * 4) as u128;
    0x0380_0000 << 64 | (offset & 0xff) << 16 | (offset >> 8 & ((1 << 48) - 1)) << 34 | opcode
}

/// The hand-built cubin of the `cubin` crate, with attributes, relocation and lines, and these eight instructions.
fn cubin(words: &[u128; 8]) -> Vec<u8> {
    let mut file = build::cubin();
    let range = Cubin::parse(&file).expect("parses").code()[0].file_range.clone();
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    file[range].copy_from_slice(&bytes);
    file
}

fn sample() -> Vec<u8> {
    cubin(&[
        fadd(1, 10, 11),
        fadd(2, 1, 12),
        fadd(3, 13, 14),
        fadd(4, 15, 16),
        fadd(5, 3, 2),
        fadd(6, 20, 21),
        EXIT,
        relative(0x7947, -1),
    ])
}

const LEGAL: [u32; 8] = [2, 0, 3, 1, 5, 4, 6, 7];

fn permuted(file: &[u8], order: [u32; 8]) -> Vec<u8> {
    let cubin = Cubin::parse(file).expect("parses");
    cubin.rewrite(&[CodeEdit::permuted(&cubin.code()[0], order.to_vec())]).expect("rewritten")
}

fn compare(old: &[u8], new: &[u8]) -> Comparison {
    let (old, new) = (Container::parse(old).expect("parses"), Container::parse(new).expect("parses"));
    against::files(&old, &new).expect("readable")
}

/// Whether the change is noticed: by the reader or by the comparison.
fn noticed(old: &[u8], new: &[u8]) -> bool {
    let old = Container::parse(old).expect("parses");
    match Container::parse(new).map(|new| against::files(&old, &new)) {
        Ok(Ok(comparison)) => !comparison.is_legal(),
        Ok(Err(_)) | Err(_) => true,
    }
}

fn the_change(old: &[u8], new: &[u8]) -> Change {
    compare(old, new).differences.into_iter().next().expect("a difference").change
}

#[test]
fn a_legal_order_passes_and_back() {
    let old = sample();
    let new = permuted(&old, LEGAL);
    assert_ne!(old, new);
    let compared = compare(&old, &new);
    assert_eq!(compared.differences, []);
    assert_eq!((compared.cubins, compared.instructions, compared.moved), (1, 8, 6));
    assert!(compare(&new, &old).is_legal());
    assert_eq!(compare(&old, &old).moved, 0);
}

#[test]
fn an_order_that_computes_something_else_is_named() {
    let old = sample();
    let new = permuted(&old, [1, 0, 2, 3, 4, 5, 6, 7]);
    let compared = compare(&old, &new);
    let [difference] = &compared.differences[..] else { panic!("{compared:?}") };
    assert_eq!((difference.section.as_str(), difference.offset), (".text.k", Some(0)));
    assert!(matches!(difference.change, Change::Order(_)), "{difference}");
    assert!(difference.to_string().contains("reads another value of R1"), "{difference}");
    // Across the end of a block.
    let new = permuted(&old, [0, 1, 2, 3, 4, 6, 5, 7]);
    assert!(matches!(the_change(&old, &new), Change::Order(_)));
    let new = permuted(&old, [0, 1, 2, 3, 4, 5, 7, 6]);
    assert!(matches!(the_change(&old, &new), Change::Word { .. }));
}

#[test]
fn nothing_crosses_the_read_of_a_clock() {
    // CS2R R8, SR_CLOCKLO, and CS2R R8, SRZ; S2R R8, SR_TID.X.
    let cs2r = |register: u128| 0x7805 | 8 << 16 | register << 72 | 0x000f_c400 << 96;
    let s2r = 0x7919 | 8 << 16 | 0x21 << 72 | 0x000f_c400 << 96;
    let file = |read: u128| {
        cubin(&[
            fadd(1, 10, 11),
            fadd(2, 10, 12),
            read,
            fadd(4, 15, 16),
            fadd(5, 10, 15),
            fadd(6, 20, 21),
            EXIT,
            relative(0x7947, -1),
        ])
    };
    let across = [[0, 2, 1, 3, 4, 5, 6, 7], [0, 1, 3, 2, 4, 5, 6, 7], [0, 3, 2, 1, 4, 5, 6, 7]];
    for clock in [80, 81, 82, 83] {
        let old = file(cs2r(clock));
        for order in across {
            let change = the_change(&old, &permuted(&old, order));
            assert!(matches!(change, Change::Timed { .. }), "{order:?}: {change}");
        }
        let beside = permuted(&old, [1, 0, 2, 4, 5, 3, 6, 7]);
        assert!(compare(&old, &beside).is_legal(), "each on its side");
    }
    for other in [cs2r(255), s2r] {
        let old = file(other);
        assert!(across.iter().all(|&order| compare(&old, &permuted(&old, order)).is_legal()));
    }
}

#[test]
fn what_an_instruction_carries_has_to_follow() {
    let old = sample();
    let moved = permuted(&old, LEGAL);
    let code = |file: &[u8]| Cubin::parse(file).expect("parses").code()[0].file_range.clone();
    // The words in the new order, all that names them as it was.
    let mut forgotten = old.clone();
    forgotten[code(&old)].copy_from_slice(&moved[code(&moved)]);
    let texts: Vec<String> = compare(&old, &forgotten).differences.iter().map(ToString::to_string).collect();
    for what in ["COOP_GROUP_INSTR_OFFSETS", "COOP_GROUP_MASK_REGIDS", "relocation", ".debug_line"] {
        assert!(texts.iter().any(|text| text.contains(what)), "{what}: {texts:#?}");
    }
    // One at a time.
    let cubin = Cubin::parse(&moved).expect("parses");
    let relocation = cubin.code()[0].relocations[0].file_offset;
    let mut new = moved.clone();
    new[relocation] ^= 0x10;
    assert!(matches!(the_change(&old, &new), Change::Lost { .. } | Change::Gained { .. }));
    let (_, section) = cubin.section_named(".nv.info.k").expect("there");
    let exits = cubin.code()[0].attributes[1].payload_range.start + section.file_range.start;
    let mut new = moved.clone();
    new[exits] ^= 0x10;
    let texts: Vec<String> = compare(&old, &new).differences.iter().map(ToString::to_string).collect();
    assert!(texts.iter().any(|text| text.contains("EXIT_INSTR_OFFSETS")), "{texts:?}");
}

/// Every result matters: a register that nobody reads may be another one.
#[test]
fn every_flipped_bit_is_noticed_but_for_control_fields() {
    // STG.E.64 desc[UR4][R20.64], R4
    let store = 0x000f_e200_0c10_1b04 << 64 | 0x0000_0004_1400_7986;
    let old = cubin(&[
        fadd(1, 10, 11),
        fadd(2, 1, 12),
        fadd(3, 13, 14),
        fadd(4, 15, 16),
        fadd(5, 3, 2),
        store,
        EXIT,
        relative(0x7947, -1),
    ]);
    for new in [old.clone(), permuted(&old, [2, 0, 3, 1, 4, 5, 6, 7])] {
        let code = Cubin::parse(&new).expect("parses").code()[0].file_range.clone();
        let missed: Vec<(usize, u32)> = (0..new.len())
            .flat_map(|at| (0..8).map(move |bit| (at, bit)))
            .filter(|&(at, bit)| {
                let mut new = new.clone();
                new[at] ^= 1 << bit;
                let in_word = (at.wrapping_sub(code.start) % 16) as u32 * 8 + bit;
                let control = code.contains(&at) && CONTROL.contains(&in_word);
                noticed(&old, &new) == control
            })
            .collect();
        assert!(
            missed.is_empty(),
            "{} of {} bytes: {:?}",
            missed.len(),
            new.len(),
            &missed[..missed.len().min(9)]
        );
    }
}

/// An attribute says that R11 holds a mask at the second instruction, which does not read it.
#[test]
fn a_register_that_an_attribute_names() {
    let tail = [fadd(5, 3, 3), fadd(6, 5, 5), EXIT, EXIT, EXIT, relative(0x7947, -1)];
    let code = |first: u128, second: u128| {
        let mut words = [0; 8];
        (words[0], words[1]) = (first, second);
        words[2..].copy_from_slice(&tail);
        cubin(&words)
    };
    let old = code(fadd(11, 8, 8), fadd(2, 9, 9));
    let renamed = compare(&old, &code(fadd(11, 8, 8), fadd(4, 9, 9)));
    assert_eq!((renamed.differences.len(), renamed.renamed), (0, 1), "its result may go elsewhere");
    let change = the_change(&old, &code(fadd(12, 8, 8), fadd(2, 9, 9)));
    assert!(change.to_string().contains("reads another value of R11"), "{change}");
}

#[test]
fn equal_instructions_raise_no_alarm() {
    // Results of the first and third go nowhere: they can change places, and their lines with them.
    let nothing = fadd(255, 1, 1);
    let old = cubin(&[
        nothing,
        fadd(2, 12, 12),
        nothing,
        fadd(4, 15, 16),
        nothing,
        nothing,
        EXIT,
        relative(0x7947, -1),
    ]);
    for order in [[2, 1, 0, 3, 4, 5, 6, 7], [5, 4, 3, 2, 1, 0, 6, 7], [1, 0, 5, 2, 3, 4, 6, 7]] {
        assert_eq!(compare(&old, &permuted(&old, order)).differences, [], "{order:?}");
    }
    // A chain of equal instructions keeps its order whichever is taken for which.
    let step = fadd(1, 1, 1);
    let old = cubin(&[step, fadd(2, 12, 12), step, fadd(3, 1, 1), step, step, EXIT, relative(0x7947, -1)]);
    assert!(compare(&old, &permuted(&old, [0, 2, 1, 3, 4, 5, 6, 7])).is_legal());
    assert!(!compare(&old, &permuted(&old, [0, 1, 3, 2, 4, 5, 6, 7])).is_legal(), "R3 is one step behind");
}

#[test]
fn a_moved_distance_has_to_name_the_same_place() {
    let words =
        [bssy(4), fadd(1, 10, 11), fadd(2, 12, 12), EXIT, EXIT, fadd(3, 1, 1), EXIT, relative(0x7947, -1)];
    let old = cubin(&words);
    let edit = |word: u128| {
        let cubin = Cubin::parse(&old).expect("parses");
        let mut edit = CodeEdit::permuted(&cubin.code()[0], vec![1, 2, 0, 3, 4, 5, 6, 7]);
        edit.words[2] = word;
        cubin.rewrite(&[edit]).expect("rewritten")
    };
    assert_eq!(compare(&old, &edit(bssy(2))).differences, []);
    let change = the_change(&old, &edit(bssy(4)));
    assert!(matches!(change, Change::Target { was: 0x50, is: 0x70, .. }), "{change}");
}

#[test]
fn containers_are_compared_around_their_images() {
    // Only a fatbinary by itself may grow, with the line table: here it is none.
    let mut old = sample();
    let name = old.windows(13).position(|window| window == b"\0.debug_line\0").expect("its name");
    old[name + 2] = b'x';
    let new = permuted(&old, LEGAL);
    assert_eq!(new.len(), old.len());
    let wrap = |cubin: &[u8]| build::fatbin(&[(80, 0, &old, 0), (90, 0, cubin, 0)]);
    let host = |cubin: &[u8]| build::host(&[&wrap(cubin)]);
    let archive = |cubin: &[u8]| build::archive(&[("a.o", &host(cubin)), ("b.txt", b"text")]);
    for wrap in [&wrap as &dyn Fn(&[u8]) -> Vec<u8>, &host, &archive] {
        let (old, new) = (wrap(&old), wrap(&new));
        let compared = compare(&old, &new);
        assert_eq!((compared.differences, compared.cubins, compared.moved), (vec![], 2, 6));
        let missed: Vec<usize> = (0..new.len())
            .filter(|at| {
                let mut new = new.clone();
                new[*at] ^= 0x80;
                !noticed(&old, &new)
            })
            .collect();
        // Only control fields of the two cubins may differ: of eight words, twice, the highest bits of two bytes.
        assert_eq!(missed.len(), 2 * 8 * 2, "of {} bytes: {missed:?}", new.len());
    }
    let (short, long) = (sample(), permuted(&sample(), LEGAL));
    let (short, long) = (build::fatbin(&[(90, 0, &short, 0)]), build::fatbin(&[(90, 0, &long, 0)]));
    assert_ne!(short.len(), long.len());
    assert_eq!(compare(&short, &long).differences, []);
    let other = build::fatbin(&[(90, 0, &old, 0)]);
    assert!(matches!(the_change(&wrap(&old), &other), Change::Structure { .. }));
}

/// Code for link-time optimisation that only NVIDIA's tools decompress is compared as it is stored.
#[test]
fn what_is_no_cubin_need_not_be_readable() {
    let cubin = sample();
    let mut old = build::fatbin(&[(80, 1 << 13, b"no LZ4 block at all", 999), (80, 0, &cubin, 0)]);
    old[16..18].copy_from_slice(&8u16.to_le_bytes());
    assert_eq!(compare(&old, &old).differences, []);
    let mut new = old.clone();
    new[16 + 64] ^= 1;
    let (was, is) =
        (Container::parse(&old).expect("recognised"), Container::parse(&new).expect("recognised"));
    assert!(against::files(&was, &is).is_err(), "other bytes that cannot be read");
}

#[test]
fn text_modules() {
    let text =
        "func f sm_90 (R0, R2) {\n^a:\n  R4 = MOV R0\n  R5 = FADD R4, R2\n  R6 = MOV R2\n  EXIT !exit\n}\n";
    let module = |text: &str| parse_annotated(text).expect("parses");
    let lines: Vec<&str> = text.lines().collect();
    let with = |order: [usize; 7]| module(&order.map(|line| lines[line]).join("\n"));
    let old = module(text);
    assert_eq!(against::annotated(&old, &with([0, 1, 4, 2, 3, 5, 6])), []);
    let found = against::annotated(&old, &with([0, 1, 3, 2, 4, 5, 6]));
    assert!(matches!(found[..], [Mismatch::Order { .. }]), "{found:?}");
    let found = against::annotated(&old, &module(&text.replace("MOV R2", "MOV R0")));
    assert!(matches!(found[..], [Mismatch::Instruction { .. }]), "{found:?}");
    for (from, to) in [("func f", "func g"), ("^a", "^b"), ("sm_90", "sm_80"), ("(R0, R2)", "(R0, R2, R3)")] {
        let found = against::annotated(&old, &module(&text.replace(from, to)));
        assert!(matches!(found[..], [Mismatch::Structure { .. }]), "{to}: {found:?}");
    }
    let double = format!("{text}{}", text.replace("func f", "func g"));
    assert_eq!(against::annotated(&old, &module(&double)).len(), 1);
}

proptest! {
    /// Any bytes in place of any part of a cubin: compared without a panic, whatever comes out.
    #[test]
    fn nothing_panics(at in 0usize..2048, bytes in proptest::collection::vec(any::<u8>(), 1..64), side: bool) {
        let old = sample();
        let mut new = permuted(&old, LEGAL);
        let at = at % new.len();
        let end = (at + bytes.len()).min(new.len());
        new[at..end].copy_from_slice(&bytes[..end - at]);
        if let Ok(new) = Container::parse(&new) {
            let old = Container::parse(&old).expect("parses");
            let _ = if side { against::files(&old, &new) } else { against::files(&new, &old) };
        }
    }
}
