//! From cubins built by hand to routines with their places.

use sassafras_cubin::Cubin;
use sassafras_ir::{Effects, Operand, verify};
use sassafras_machine::Arch;
use sassafras_sass::program::{MOST_INSTRUCTIONS, Program, ProgramProblem, Relative, Routine};

#[path = "../../cubin/tests/support/build.rs"]
mod build;
use build::{Part, elf, symbol};

const NOP: u128 = 0x7918;
const EXIT: u128 = 0x0380_0000_0000_0000_0000_794d;
const FADD: u128 = 0x12_1210_7221; // FADD R16, R18, R18
const BRX: u128 = 0x0383_ffff_ffff_ff00_0400_7949;
const RET: u128 = 0x03c3_ffff_ffff_ff00_0200_7950; // RET.REL.NODEC R2
const LDL_R2: u128 = 0x10_0800 << 64 | 0x00ff_0102_7983; // LDL R2, [R1]
const CALL_ABS: u128 = 0x03c0_0000 << 64 | 0x7943;
const NOINC: u128 = 1 << 86;
const SM_80: u32 = 0x0600_5004;

/// `BRA` by `words` instructions from the next one.
fn bra(words: i128) -> u128 {
    relative(0x7947, words)
}

/// `CALL.REL.NOINC`.
fn call(words: i128) -> u128 {
    NOINC | relative(0x7944, words)
}

/// `@P0 CALL.REL.NOINC`, as compilers leave loops.
fn call_p0(words: i128) -> u128 {
    NOINC | relative(0x0944, words)
}

/// `MOV` of a number to a register.
fn number(to: u128, value: u128) -> u128 {
    0x0f00 << 64 | value << 32 | to << 16 | 0x7802
}

/// `MOV` of a register to another.
fn copy(to: u128, from: u128) -> u128 {
    0x0f00 << 64 | from << 32 | to << 16 | 0x7202
}

/// `BSSY B0`.
fn bssy(words: i128) -> u128 {
    relative(0x7945, words)
}

fn relative(opcode: u128, words: i128) -> u128 {
    let offset = (words * 4) as u128 & ((1 << 48) - 1);
    0x0380_0000 << 64 | offset << 34 | opcode
}

/// A cubin with one code section `k`, function symbols at slots, and attribute and constant sections.
fn cubin(flags: u32, words: &[u128], functions: &[(u8, u64, u64)], info: &[u8], bank2: &[u32]) -> Vec<u8> {
    let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut symbols = vec![0; 24];
    for &(name, start, slots) in functions {
        let other = if start == 0 { 0x10 } else { 0 };
        symbols.extend(symbol(name.into(), 2, other, 1, start * 16, slots * 16));
    }
    let table: Vec<u8> = bank2.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut parts = vec![
        Part { name: ".text.k", kind: 1, bytes: code, ..Part::default() },
        Part { name: ".strtab", kind: 3, bytes: b"\0k\0f\0g\0".to_vec(), ..Part::default() },
        Part { name: ".symtab", kind: 2, link: 2, info: 1, entry_size: 24, bytes: symbols },
        Part {
            name: ".nv.info.k",
            kind: 0x7000_0000,
            link: 3,
            info: 1,
            bytes: info.to_vec(),
            ..Part::default()
        },
    ];
    if !table.is_empty() {
        parts.push(Part { name: ".nv.constant2.k", kind: 1, info: 1, bytes: table, ..Part::default() });
    }
    elf(190, 0x41, flags, &parts)
}

fn routines(file: &[u8]) -> Vec<Routine> {
    let cubin = Cubin::parse(file).expect("parses");
    let program = Program::new(&cubin).expect("a table");
    let [code] = program.sections() else { panic!("one section") };
    let routines = program.lift(code).expect("lifts");
    for routine in &routines {
        verify::verify(&routine.lifted.function).expect("a sound function");
    }
    routines
}

/// Name, first and last slot, opaque instructions.
fn shape(routines: &[Routine]) -> Vec<(&str, u64, u64, usize)> {
    let shape = |r: &Routine| (r.range.start / 16, r.range.end / 16, r.lifted.opaque);
    routines.iter().map(|r| (r.name.as_str(), shape(r).0, shape(r).1, shape(r).2)).collect()
}

#[test]
fn a_section_that_is_too_long_is_refused() {
    // What a few kilobytes of a compressed fatbinary may stand for.
    let words = vec![0; MOST_INSTRUCTIONS as usize + 1];
    let file = cubin(SM_80, &words, &[(1, 0, words.len() as u64)], &[], &[]);
    let cubin = Cubin::parse(&file).expect("parses");
    let program = Program::new(&cubin).expect("a table");
    let error = program.lift(&program.sections()[0]).expect_err("too long");
    assert_eq!(error.problem, ProgramProblem::TooLong { instructions: MOST_INSTRUCTIONS + 1 });
    assert!(
        error.to_string().starts_with(".text.k at offset 0x0: 1048577 instructions in one section"),
        "{error}"
    );
}

#[test]
fn callees_are_routines_of_their_own() {
    // 0: CALL 4  1: FADD  2: EXIT  3: BRA 3 | 4: FADD  5: RET | 6: FADD  7: RET  8: NOP
    let words = [call(3), FADD, EXIT, bra(-1), FADD, RET, FADD, RET, NOP];
    let file = cubin(SM_80, &words, &[(1, 0, 9), (3, 4, 2), (5, 6, 2)], &[], &[]);
    let found = routines(&file);
    assert_eq!(shape(&found), [("k", 0, 4, 0), ("f", 4, 6, 0), ("g", 6, 9, 0)]);
    assert_eq!([found[0].entry, found[1].entry], [true, false]);
    let call = sassafras_ir::Inst::from_u32(0);
    let f = &found[0].lifted.function;
    assert!(f.inst(call).effects.contains(Effects::CALL));
    assert!(!f.uses(call).iter().any(|op| matches!(op, Operand::Label(_))), "the callee is no block of this");
    assert_eq!((found[1].offset(call), found[1].slot(call)), (0x40, 4));
    // A callee without a symbol is found by the call.
    let file = cubin(SM_80, &words, &[(1, 0, 9)], &[], &[]);
    assert_eq!(shape(&routines(&file)), [("k", 0, 4, 0), ("k+0x40", 4, 9, 0)]);
}

#[test]
fn what_control_crosses_is_one_routine() {
    // A branch into the next function, a fall into it, and a reconvergence point in it.
    for words in [
        [FADD, bra(1), EXIT, FADD, RET, NOP],
        [FADD, FADD, FADD, FADD, RET, NOP],
        [FADD, bssy(2), EXIT, FADD, RET, NOP],
    ] {
        let file = cubin(SM_80, &words, &[(1, 0, 6), (3, 3, 2)], &[], &[]);
        assert_eq!(shape(&routines(&file)), [("k", 0, 6, 0)], "{words:x?}");
    }
    // Padding between functions connects nothing.
    let file = cubin(SM_80, &[FADD, EXIT, NOP, FADD, RET, NOP], &[(1, 0, 6), (3, 3, 2)], &[], &[]);
    assert_eq!(shape(&routines(&file)), [("k", 0, 3, 0), ("f", 3, 6, 0)]);
}

/// Of the calls in code with these function symbols: slot, and whether it is a branch.
fn calls(words: &[u128], functions: &[(u8, u64, u64)]) -> Vec<(u32, bool)> {
    let mut found = Vec::new();
    for routine in routines(&cubin(SM_80, words, functions, &[], &[])) {
        let f = &routine.lifted.function;
        for &inst in f.blocks().flat_map(|block| f.block_insts(block)) {
            let effects = f.inst(inst).effects;
            if f.opcode_text(f.inst(inst).opcode) == "CALL.REL" {
                assert_ne!(
                    effects.contains(Effects::BRANCH),
                    effects.contains(Effects::CALL),
                    "one or the other"
                );
                found.push((routine.slot(inst), effects.contains(Effects::BRANCH)));
            }
        }
    }
    found
}

#[test]
fn a_call_that_nothing_comes_back_from_is_a_branch() {
    // 0: FADD | 1: FADD  2: @P0 CALL 4 | 3: BRA 1 | 4: FADD  5: EXIT
    let words = [FADD, FADD, call_p0(1), bra(-3), FADD, EXIT, NOP];
    let found = routines(&cubin(SM_80, &words, &[(1, 0, 7)], &[], &[]));
    assert_eq!(shape(&found), [("k", 0, 7, 0)]);
    let f = &found[0].lifted.function;
    let jump = sassafras_ir::Inst::from_u32(2);
    assert_eq!((f.inst(jump).effects, f.inst(jump).guard.is_some()), (Effects::BRANCH, true));
    assert_eq!(f.opcode_text(f.inst(jump).opcode), "CALL.REL", "it keeps its name");
    assert!(found[0].lifted.callees.is_empty());
    let cfg = sassafras_ir::cfg::Cfg::new(f);
    let succs = |block: u32| {
        let mut succs: Vec<u32> =
            cfg.succs(sassafras_ir::Block::from_u32(block)).iter().map(|b| b.as_u32()).collect();
        succs.sort_unstable();
        succs
    };
    assert_eq!((0..4).map(succs).collect::<Vec<_>>(), [vec![1], vec![2, 3], vec![1], vec![]]);
}

#[test]
fn returns_behind_a_branch_belong_to_calls_behind_it() {
    let k = [(1, 0, 9)];
    // A call behind the loop says where to return; its own callee does.
    let words = [FADD, call_p0(1), bra(-3), FADD, number(2, 0x60), call(1), EXIT, FADD, RET];
    assert_eq!(calls(&words, &k), [(1, true), (5, false)]);
    assert_eq!(shape(&routines(&cubin(SM_80, &words, &k, &[], &[])))[1], ("k+0x70", 7, 9, 0));
    // The callee may take the address to another register.
    let words = [FADD, call_p0(1), bra(-3), FADD, number(8, 0x60), call(1), EXIT, copy(2, 8), RET];
    assert_eq!(calls(&words, &k), [(1, true), (5, false)]);
    // An address from before the loop: it may be the one that the first call is to return to.
    let words = [number(2, 0x60), call_p0(1), bra(-3), FADD, FADD, call(1), EXIT, FADD, RET];
    assert_eq!(calls(&words, &k), [(1, false), (5, false)]);
}

#[test]
fn what_may_return_stays_a_call() {
    let k = [(1, 0, 8)];
    let returns = [FADD, call(2), FADD, EXIT, FADD, FADD, RET, NOP];
    assert_eq!(calls(&returns, &k), [(1, false)]);
    // A callee that keeps its return address in memory while it calls somebody else.
    let saves = [call(1), EXIT, number(2, 0x40), call(2), LDL_R2, RET, RET, NOP];
    assert_eq!(calls(&saves, &k), [(0, false), (3, false)]);
    assert!(routines(&cubin(SM_80, &saves, &k, &[], &[])).iter().all(|routine| routine.lifted.opaque == 0));
    // Nothing is known of what comes then: an indirect branch, a call elsewhere, an opaque instruction, the end of the code.
    for unknown in [BRX, CALL_ABS, 0xfff, FADD] {
        let words = [FADD, call_p0(1), bra(-3), FADD, FADD, FADD, FADD, unknown];
        assert_eq!(calls(&words, &k), [(1, false)], "{unknown:x}");
    }
    // What has a name is a function, even if it does not return.
    let words = [FADD, call_p0(1), bra(-3), FADD, FADD, EXIT, NOP, NOP];
    assert_eq!(calls(&words, &[(1, 0, 3), (3, 3, 5)]), [(1, false)]);
    assert_eq!(calls(&words, &k), [(1, true)]);
}

#[test]
fn indirect_branches_are_wired() {
    let words = [FADD, BRX, FADD, EXIT, FADD, EXIT, NOP, NOP];
    let targets = |info: &[u8], bank2: &[u32]| {
        let found = routines(&cubin(SM_80, &words, &[(1, 0, 8)], info, bank2));
        let f = &found[0].lifted.function;
        let blocks = f.branch_targets(sassafras_ir::Inst::from_u32(1));
        (blocks.map(|b| f.block_name(b).to_owned()).collect::<Vec<_>>(), found[0].lifted.opaque)
    };
    let record: Vec<u8> = [0x10u32, 0, 2, 0x20, 0x40].iter().flat_map(|word| word.to_le_bytes()).collect();
    let info = [&[4, 0x34, 20, 0][..], &record].concat();
    assert_eq!(targets(&info, &[]), (vec!["L20".to_owned(), "L40".to_owned()], 0), "by the attribute");
    let table = targets(&[], &[0x40, 0x7, 0x20]);
    assert_eq!(table, (vec!["L20".to_owned(), "L40".to_owned()], 0), "by the table");
    let (blocks, opaque) = targets(&[], &[]);
    assert_eq!((blocks.len(), opaque), (3, 1), "anywhere");
}

#[test]
fn branches_through_tables_are_bounded() {
    let words = vec![BRX; 2000];
    let table: Vec<u32> = (0..2000).map(|slot| slot * 16).collect();
    let file = cubin(SM_80, &words, &[(1, 0, 2000)], &[], &table);
    let cubin = Cubin::parse(&file).expect("parses");
    let program = Program::new(&cubin).expect("a table");
    let error = program.lift(&program.sections()[0]).expect_err("too many");
    assert_eq!(error.problem, ProgramProblem::TooManyWays { ways: 2000 * 1999 });
}

#[test]
fn what_cannot_be_lifted_is_named() {
    let problem = |file: &[u8]| {
        let cubin = Cubin::parse(file).expect("parses");
        let error = Program::new(&cubin).map(|p| p.lift(&p.sections()[0]).map(|r| r.len()));
        match error {
            Ok(Err(error)) | Err(error) => error,
            Ok(Ok(count)) => panic!("{count} routines"),
        }
    };
    let old = problem(&cubin(0x0600_3d04, &[NOP, EXIT], &[], &[], &[]));
    assert!(matches!(old.problem, ProgramProblem::NoTable(_)), "{old}");
    let unknown = problem(&cubin(0x0600_fe04, &[NOP, EXIT], &[], &[], &[]));
    assert!(matches!(unknown.problem, ProgramProblem::UnknownSm(_)), "{unknown}");
    let mut ragged = cubin(SM_80, &[NOP, EXIT], &[], &[], &[]);
    let size = ragged.windows(8).rposition(|w| w == 32u64.to_le_bytes()).expect("the section's size");
    ragged[size..size + 8].copy_from_slice(&24u64.to_le_bytes());
    let ragged = problem(&ragged);
    assert_eq!((ragged.section.as_str(), ragged.offset), (".text.k", 0));
    assert!(ragged.to_string().contains("24 bytes"), "{ragged}");
}

#[test]
fn relative_words_follow_when_they_move() {
    for arch in [Arch::SM_80, Arch::SM_90, Arch::SM_100] {
        let relative = Relative::new(arch);
        assert_eq!((relative.mask(FADD), relative.target(FADD, 0)), (0, None));
        assert_eq!(relative.moved(FADD, 0x10, 0x40), Some(FADD));
        for word in [bra(5), bssy(5), bssy(-3), call(1)] {
            let target = relative.target(word, 0x100).expect("names a place");
            let moved = relative.moved(word, 0x100, 0x130).expect("fits");
            assert_ne!(moved, word);
            assert_eq!(relative.target(moved, 0x130), Some(target), "{arch}");
            assert_eq!((moved ^ word) & !relative.mask(word), 0, "nothing else changes");
            assert_eq!(relative.moved(moved, 0x130, 0x100), Some(word), "and back");
        }
        assert_eq!(relative.moved(bra(1), 0, 1 << 62), None, "too far");
    }
    // LEPC R20, 0x140 at 0x100.
    let (relative, lepc) = (Relative::new(Arch::SM_120), 0x3014_794e);
    assert_eq!(relative.target(lepc, 0x100), Some(0x140));
    assert_eq!(relative.moved(lepc, 0x100, 0x120), Some(0x1014_794e));
}

#[test]
fn any_bytes_are_lifted_or_refused() {
    use proptest::prelude::*;
    let mut runner = proptest::test_runner::TestRunner::default();
    let word = prop_oneof![
        any::<u128>(),
        Just(NOP),
        Just(EXIT),
        Just(BRX),
        (-9i128..9).prop_map(bra),
        (-9i128..9).prop_map(call),
        (-9i128..9).prop_map(bssy),
    ];
    let words = proptest::collection::vec(word, 1..12);
    let input = (words, proptest::collection::vec((1u8..6, 0u64..14, 0u64..14), 0..4), any::<[u32; 6]>());
    runner
        .run(&input, |(words, functions, bank2)| {
            let file = cubin(SM_80, &words, &functions, &[], &bank2.map(|word| word % 0x200));
            let cubin = Cubin::parse(&file).expect("parses");
            let program = Program::new(&cubin).expect("a table");
            if let Ok(routines) = program.lift(&program.sections()[0]) {
                let mut next = 0;
                for routine in &routines {
                    prop_assert_eq!(routine.range.start, next, "no gap and no overlap");
                    next = routine.range.end;
                    let lifted = &routine.lifted;
                    let slots = lifted.function.inst_count() + lifted.padding;
                    prop_assert_eq!(slots as u64 * 16, routine.range.end - routine.range.start);
                }
                prop_assert_eq!(next, words.len() as u64 * 16);
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}
