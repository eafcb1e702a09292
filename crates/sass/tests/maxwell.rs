//! Decoder and printer of sm_50–62: golden words, any word, groups, tables, and the real tools.

#[cfg(feature = "real-tools")]
#[path = "maxwell/real.rs"]
mod real;

use std::collections::BTreeSet;

use proptest::prelude::*;
use sassafras_ir::{AccessFlags, Effects, RegClass, Space, Span};
use sassafras_machine::Arch;
use sassafras_sass::maxwell::table::Sources;
use sassafras_sass::maxwell::{Decoded, Flow, GroupError, decode, groups};

const ARCHS: [Arch; 6] = [Arch::SM_50, Arch::SM_52, Arch::SM_53, Arch::SM_60, Arch::SM_61, Arch::SM_62];
/// The address that the golden words stand at.
const PC: u64 = 8;

/// Register names of spans; the condition codes are one.
fn names<'a>(spans: impl Iterator<Item = &'a Span>) -> BTreeSet<String> {
    spans
        .flat_map(|span| span.lanes())
        .map(|lane| if lane.class() == RegClass::Flag { "CC".to_owned() } else { lane.to_string() })
        .collect()
}

/// Registers read, the guard among them, and registers written.
fn sets(decoded: &Decoded) -> (BTreeSet<String>, BTreeSet<String>) {
    let guard = decoded.guard().map(|guard| Span::from(guard.lane));
    let reads = decoded.reads().map(|register| &register.span).chain(&guard);
    (names(reads), names(decoded.writes().map(|register| &register.span)))
}

/// Text without white space.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

fn word_set(text: &str) -> BTreeSet<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn golden_words() {
    let mut count = 0;
    for line in include_str!("maxwell/golden.txt").lines().filter(|line| !line.starts_with('#')) {
        // The bars between the parts have white space on both sides, those of an absolute value do not.
        let padded = format!("{line} ");
        let parts: Vec<&str> = padded.split(" | ").collect();
        let [word, text, reads, writes] = match parts.as_slice() {
            [word, text, rest] => [*word, *text, "", rest.trim_start_matches('|')],
            [word, text, reads, writes] => [*word, *text, *reads, *writes],
            _ => panic!("{line}: four parts expected"),
        };
        let (arch, word) = word.split_once(' ').expect("architecture and word");
        let word = u64::from_str_radix(word, 16).expect("a word");
        let decoded = decode(word, arch.parse().expect("an architecture"), PC);
        assert_eq!(squeezed(&decoded.to_string()), squeezed(text), "{line}");
        assert!(decoded.is_complete(), "{line}");
        let (found_reads, found_writes) = sets(&decoded);
        assert_eq!(found_reads, word_set(reads), "reads of {line}");
        assert_eq!(found_writes, word_set(writes), "writes of {line}");
        count += 1;
    }
    assert!(count > 500, "{count} words");
}

#[test]
fn an_unknown_word_is_opaque() {
    for word in [u64::MAX, 0, 0xffff_0000_0000_0000] {
        let decoded = decode(word, Arch::SM_61, PC);
        assert!(decoded.is_opaque() && !decoded.is_complete());
        assert_eq!(decoded.effects(), Effects::OPAQUE);
        assert_eq!((decoded.mnemonic(), decoded.registers().len(), decoded.flow()), (None, 0, Flow::Next));
        assert_eq!(decoded.to_string(), format!(".word {word:#018x} ;"));
    }
    let other_encoding = decode(0x5c10_0000_0037_0201, Arch::SM_70, PC);
    assert!(other_encoding.is_opaque());
}

#[test]
fn a_bit_that_no_row_names_makes_it_partial() {
    let whole = decode(0x5c10_0000_0037_0201, Arch::SM_50, PC);
    let more = decode(0x5c10_0000_1037_0201, Arch::SM_50, PC);
    assert!(whole.is_complete());
    assert!(!more.is_complete() && !more.is_opaque());
    assert_eq!(whole.to_string(), more.to_string());
    assert!(!decode(0x5080_0000_0097_0201, Arch::SM_50, PC).is_complete(), "an unlisted modifier value");
}

#[test]
fn an_instruction_belongs_to_the_chips_that_have_it() {
    let dot = 0x53f8_0200_0037_0201;
    assert_eq!(decode(dot, Arch::SM_61, PC).mnemonic(), Some("IDP.4A"));
    assert!(decode(dot, Arch::SM_60, PC).is_opaque());
    let half = 0x5d10_0000_0037_0201;
    assert_eq!(decode(half, Arch::SM_60, PC).mnemonic(), Some("HADD2"));
    assert!(decode(half, Arch::SM_50, PC).is_opaque());
}

#[test]
fn control_flow_roles() {
    let flow = |word| decode(word, Arch::SM_50, 0x48).flow();
    assert_eq!(flow(0xe240_0000_0187_000f), Flow::Branch { target: 0x68 });
    assert_eq!(flow(0xe240_0fff_ff87_000f), Flow::Branch { target: 0x48 }, "a jump to itself");
    assert_eq!(flow(0xe290_0000_0100_0000), Flow::Push { target: 0x68 }, "0x60 is a control word");
    assert_eq!(flow(0xe260_0000_0200_0040), Flow::Call { target: 0x70 });
    assert_eq!(flow(0xe220_0000_0000_0040), Flow::CallElsewhere);
    assert_eq!(flow(0xe250_0fff_f507_030f), Flow::IndirectBranch);
    assert_eq!(flow(0xf0f8_0000_0007_000f), Flow::Pop);
    assert_eq!(flow(0xe340_0000_0000_000f), Flow::Pop);
    assert_eq!(flow(0xe320_0000_0007_000f), Flow::Return);
    assert_eq!(flow(0xe300_0000_0007_000f), Flow::Exit);
    assert_eq!(flow(0x50b0_0000_0007_0f00), Flow::Next);
    let exit = decode(0xe300_0000_0007_000f, Arch::SM_50, PC);
    assert_eq!(exit.effects(), Effects::EXIT);
    let sync = decode(0xf0f8_0000_0007_000f, Arch::SM_50, PC);
    assert_eq!(sync.effects(), Effects::BRANCH | Effects::CONVERGENCE);
}

#[test]
fn memory_accesses() {
    let load = decode(0xeed5_2000_0107_0204, Arch::SM_50, PC);
    assert_eq!(load.to_string(), "LDG.E.64 R4, [R2+0x10] ;");
    let access = load.access().expect("an access");
    assert!(access.is_read && !access.is_write);
    assert_eq!((access.mem.space, access.mem.width, access.mem.offset), (Space::Global, Some(8), 0x10));
    assert_eq!(access.mem.base.map(Span::len), Some(2), "a 64-bit address");
    let atomic = decode(0xec00_0000_1037_0201, Arch::SM_50, PC).access().expect("an access");
    assert!(atomic.is_read && atomic.is_write);
    assert_eq!((atomic.mem.space, atomic.mem.flags), (Space::Shared, AccessFlags::ATOMIC));
    let store = decode(0xef56_0fff_ff07_0204, Arch::SM_50, PC).access().expect("an access");
    assert_eq!((store.mem.space, store.mem.width, store.mem.offset), (Space::Local, Some(16), -16));
    assert!(store.is_write && !store.is_read);
    let constant = decode(0xef95_0020_0087_0204, Arch::SM_50, PC).access().expect("an access");
    assert_eq!((constant.mem.space, constant.mem.offset), (Space::Const, 8));
    assert!(decode(0x5c10_0000_0037_0201, Arch::SM_50, PC).access().is_none());
}

#[test]
fn guards() {
    let word = |guard: u64| 0x5c10_0000_0030_0201 | guard << 16;
    assert!(decode(word(7), Arch::SM_50, PC).guard().is_none());
    let negated = decode(word(0xa), Arch::SM_50, PC);
    assert_eq!(negated.guard().map(|guard| (guard.lane.index(), guard.negated)), Some((2, true)));
    assert_eq!(negated.to_string(), "@!P2 IADD R1, R2, R3 ;");
    let never = decode(word(0xf), Arch::SM_50, PC);
    assert!(never.never_runs() && !negated.never_runs());
    assert_eq!(never.to_string(), "@!PT IADD R1, R2, R3 ;");
}

#[test]
fn groups_are_walked_and_control_words_skipped() {
    let words = [0x001f_8000_fc00_07e0_u64, 1, 2, 3, 0x0007_0000_e000_07f1, 4, 5, 6];
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let walked = groups(&bytes).expect("whole groups");
    assert_eq!(walked.len(), 6);
    let walked: Vec<_> = walked.collect();
    assert_eq!(walked.iter().map(|i| i.word).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(walked.iter().map(|i| i.address).collect::<Vec<_>>(), [8, 16, 24, 40, 48, 56]);
    assert_eq!(walked[3].control.bits(), 0x7f1);
    assert_eq!(walked[0].control, walked[2].control);
}

/// Replaces the first `from` of one table and says whether the loader still takes the tables.
fn accepts(table: usize, from: &str, to: &str) -> bool {
    let mut sources = Sources::builtin();
    let text = [sources.instructions, sources.forms, sources.modifiers, sources.widths][table];
    assert!(text.contains(from), "`{from}` is not in table {table}");
    let changed: &'static str = Box::leak(text.replacen(from, to, 1).into_boxed_str());
    match table {
        0 => sources.instructions = changed,
        1 => sources.forms = changed,
        2 => sources.modifiers = changed,
        _ => sources.widths = changed,
    }
    sources.validate().is_ok()
}

#[test]
fn the_tables_parse_and_their_faults_are_noticed() {
    assert_eq!(Sources::builtin().validate(), Ok(()));
    let faults = [
        (0, "0x5c58000000000000", "0x5c58"),
        (0, "0x5c58000000000000", "0x5c5c000000000000"),
        (0, "0x5c58000000000000", "0x4c58000000000000"),
        (0, "FADD,50-62,rci", "FADD,62-50,rci"),
        (0, "FADD,50-62,rci", "FADD,50-62,rcx"),
        (0, "round@39..41", "rounded@39..41"),
        (0, "round@39..41", "round@39"),
        (0, "round@39..41", "round@41..39"),
        (0, "round@39..41", "round@63..70"),
        (0, ".FTZ@44", ".FTZ@64"),
        (0, ".FTZ@44", ".FTZ"),
        (0, "<R8-48|46", "<R60-48|46"),
        (0, "<R8-48|46", "<Z8-48|46"),
        (0, "<R8-48|46", "<R8-48|46;"),
        (0, "<bf-45|49^2", "<bf-45|49^9"),
        (0, "load global", "fetch global"),
        (0, "load global", "load heap"),
        (0, "size@48..51,,", "size@,,"),
        (0, ",branch,", ",leap,"),
        (0, ",cross_lane,", ",loud,"),
        (0, "FMUL,", "FMUL,\"\","),
        (0, "0x5c68000000000000", "0x5c58000000000000"),
        (1, "01011,0", "0101,0"),
        (1, "01011,0", "01011,1"),
        (1, "R39,\"registers", "R99,\"registers"),
        (2, "icmp,1,", "icmp,0,"),
        (2, "icmp,1,", "icmp,8,"),
        (2, "icmp,1,", "icmp,x,"),
        (2, "icmp,1,", "icmp,99999,"),
        (3, "addr,1,", "addr,0,"),
        (3, "addr,1,", "addr,one,"),
    ];
    for (table, from, to) in faults {
        assert!(!accepts(table, from, to), "`{to}` instead of `{from}` was taken");
    }
    let error = Sources { instructions: "name\nX", ..Sources::builtin() }.validate().expect_err("no columns");
    assert_eq!((error.table.as_str(), error.line), ("instructions", 2));
}

#[test]
fn every_row_names_its_source() {
    let Sources { instructions, forms, modifiers, widths } = Sources::builtin();
    for table in [instructions, forms, modifiers, widths] {
        let lines = table.lines().filter(|line| !line.starts_with('#'));
        assert!(lines.clone().next().is_some_and(|header| header.ends_with(",source")));
        for line in lines {
            let source = line.rsplit(',').next().unwrap_or_default();
            assert!(!source.trim_matches('"').is_empty(), "{line}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn no_word_is_refused(word: u64, arch in 0usize..ARCHS.len(), pc: u64, bits in 0u32..1 << 21) {
        let decoded = decode(word, ARCHS[arch], pc);
        let control = sassafras_control::RawControl::from_bits_truncate(bits);
        let text = decoded.display(Some(control)).to_string();
        prop_assert!(text.ends_with(" ;"));
        prop_assert_eq!(decoded.is_opaque(), decoded.mnemonic().is_none());
        prop_assert!(!(decoded.is_opaque() && decoded.is_complete()));
        prop_assert!(!decoded.is_complete() || !text.contains(".?"), "{}", text);
        prop_assert!(decoded.registers().iter().all(|r| r.is_read || r.is_written));
        let _ = (decoded.flow(), decoded.access(), decoded.effects(), decoded.never_runs());
    }

    #[test]
    fn a_register_is_where_its_field_says(word: u64, arch in 0usize..ARCHS.len()) {
        let decoded = decode(word, ARCHS[arch], PC);
        for register in decoded.registers() {
            let Some(field) = register.field else { continue };
            let value = field.get(u128::from(word));
            let index = u64::from(register.span.first().index());
            // Some predicate fields count down.
            prop_assert!(value == index || register.span.class() == RegClass::Pred && value == 7 - index);
        }
    }

    #[test]
    fn ragged_code_is_refused_with_its_place(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let whole = bytes.len() / 32 * 32;
        match groups(&bytes) {
            Ok(walked) => {
                prop_assert_eq!(bytes.len(), whole);
                prop_assert_eq!(walked.len(), walked.clone().count());
                for instruction in walked {
                    let at = instruction.address as usize;
                    prop_assert_eq!(&instruction.word.to_le_bytes()[..], &bytes[at..at + 8]);
                    prop_assert_ne!(at % 32, 0);
                }
            }
            Err(error) => {
                let expected = GroupError { offset: whole as u64, length: bytes.len() - whole };
                prop_assert_eq!(error, expected);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn no_table_text_panics(edit in "[ -~]{0,12}", at in 0usize..50_000, table in 0usize..4) {
        let builtin = Sources::builtin();
        let text = [builtin.instructions, builtin.forms, builtin.modifiers, builtin.widths][table];
        let at = at % text.len();
        let broken = format!("{}{edit}{}", &text[..at], &text[at..]);
        let sources = match table {
            0 => Sources { instructions: &broken, ..builtin },
            1 => Sources { forms: &broken, ..builtin },
            2 => Sources { modifiers: &broken, ..builtin },
            _ => Sources { widths: &broken, ..builtin },
        };
        let _ = sources.validate();
    }
}
