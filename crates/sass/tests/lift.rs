//! Lifting small pieces of code whose words are known.

use proptest::prelude::*;
use sassafras_ir::cfg::Cfg;
use sassafras_ir::{AccessFlags, Block, Effects, Operand, Payload, verify};
use sassafras_machine::Arch;
use sassafras_sass::{Code, LiftError, Lifted, lift};

const NOP: u128 = 0x7918;
const EXIT: u128 = 0x0380_0000_0000_0000_0000_794d;
const FADD: u128 = 0x12_1210_7221; // FADD R16, R18, R18
const BRX: u128 = 0x0383_ffff_ffff_ff00_0400_7949;

/// `@P1 BRA` by `words` instructions from the next one, in the layout of sm_80.
fn bra(guard: u128, words: i128) -> u128 {
    let offset = (words * 4) as u128 & ((1 << 48) - 1);
    0x0380_0000 << 64 | offset << 34 | guard << 12 | 0x947
}

fn lift_words(words: &[u128], indirect: &[(u64, Vec<u64>)]) -> Result<Lifted, LiftError> {
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    lift(&Code { name: "f", arch: Arch::SM_80, bytes: &bytes, indirect, jumps: &[] })
}

fn succs(lifted: &Lifted, block: usize) -> Vec<u32> {
    let cfg = Cfg::new(&lifted.function);
    let block = lifted.function.blocks().nth(block).expect("a block");
    cfg.succs(block).iter().map(|b| b.as_u32()).collect()
}

#[test]
fn what_threads_of_a_warp_tell_each_other_stays_in_order() {
    const STS: u128 = 0x0800 << 64 | 0x0000_0000_0700_7388; // STS [R7], R0
    const LDS: u128 = 0x0800 << 64 | 0x0000_4000_0704_7984; // LDS R4, [R7+0x40]
    let lifted = lift_words(&[STS, NOP, LDS, EXIT], &[]).expect("lifts");
    let f = &lifted.function;
    let insts: Vec<_> = f.blocks().flat_map(|block| f.block_insts(block)).copied().collect();
    let flags = |at: usize| f.accesses(insts[at]).map(|(access, _)| access.flags).collect::<Vec<_>>();
    assert_eq!(flags(0), [AccessFlags::MAYBE_VOLATILE], "st.volatile.shared has the same word");
    assert_eq!(flags(2), [AccessFlags::empty()], "stores keep their order against all loads");
    assert!(f.inst(insts[1]).effects.contains(Effects::CONVERGENCE), "__syncwarp() leaves it");
}

#[test]
fn a_loop_becomes_three_blocks() {
    // 0: FADD  1: FADD  2: @P1 BRA 1  3: EXIT  4: BRA 4  then padding
    let words = [FADD, FADD, bra(1, -2), EXIT, bra(7, -1), NOP, NOP, NOP];
    let lifted = lift_words(&words, &[]).expect("lifts");
    verify::verify(&lifted.function).expect("a sound function");
    assert_eq!((lifted.padding, lifted.opaque), (3, 0));
    assert_eq!(lifted.function.block_count(), 4);
    let edges: Vec<_> = (0..4).map(|b| succs(&lifted, b)).collect();
    assert_eq!(edges, [vec![1], vec![1, 2], vec![], vec![3]]);
    let function = &lifted.function;
    let words_back: Vec<_> =
        function.blocks().flat_map(|b| function.block_insts(b)).map(|&i| function.inst(i).payload).collect();
    let expected: Vec<_> = words[..5].iter().map(|&w| Payload::Word(w)).collect();
    assert_eq!(words_back, expected, "every word travels");
}

#[test]
fn a_condition_without_a_guard_still_falls_through() {
    // BRA P0, +1: the condition is an operand, not the guard.
    let conditional = bra(7, 1) & !(0b111 << 87);
    let lifted = lift_words(&[conditional, FADD, EXIT], &[]).expect("lifts");
    assert_eq!(succs(&lifted, 0), [2, 1]);
}

#[test]
fn a_branch_of_threads_that_are_apart_falls_through_otherwise() {
    // BRA.DIV ~URZ, +1 and BRA.CONV ~URZ, +1: no register says whether they are taken.
    for mode in [2, 3] {
        let mask = 1 << 91 | 1 << 30 | 0x3f << 24;
        let lifted = lift_words(&[bra(7, 1) | mode << 32 | mask, FADD, EXIT], &[]).expect("lifts");
        assert_eq!((succs(&lifted, 0), lifted.opaque), (vec![2, 1], 0));
    }
    let uniform = lift_words(&[bra(7, 1) | 1 << 32, FADD, EXIT], &[]).expect("lifts");
    assert_eq!(succs(&uniform, 0), [2], "BRA.U says only that all threads go");
}

#[test]
fn indirect_branches_go_where_the_caller_says_or_anywhere() {
    let words = [BRX, FADD, EXIT, FADD, EXIT];
    let known = lift_words(&words, &[(0, vec![0x30, 0x10])]).expect("lifts");
    assert_eq!((succs(&known, 0), known.opaque), (vec![1, 2], 0));
    for indirect in [vec![], vec![(0, vec![0x13])], vec![(0, vec![])]] {
        let unknown = lift_words(&words, &indirect).expect("lifts");
        let all: Vec<u32> = (0..unknown.function.block_count() as u32).collect();
        assert_eq!((succs(&unknown, 0), unknown.opaque), (all, 1));
        verify::verify(&unknown.function).expect("a sound function");
    }
}

#[test]
fn branches_that_go_anywhere_are_bounded() {
    let lifted = lift_words(&[BRX; 200], &[]).expect("each of 200 goes to each of 200");
    assert_eq!((succs(&lifted, 7).len(), lifted.opaque), (200, 200));
    // Random words are full of them: a megabyte would take gigabytes.
    let error = lift_words(&[BRX; 60_000], &[]).expect_err("too many");
    assert_eq!(error, LiftError::TooManyWays { name: "f".to_owned(), address: 0x110, blocks: 60_000 });
}

#[test]
fn a_write_that_never_happens_kills_nothing() {
    let never = FADD & !(0xf << 12) | 0xf << 12; // @!PT
    let lifted = lift_words(&[never, EXIT], &[]).expect("lifts");
    let inst = lifted.function.block_insts(Block::from_u32(0))[0];
    assert!(lifted.function.operands(inst).is_empty());
}

#[test]
fn code_that_runs_off_its_end_is_opaque_there() {
    for words in [vec![FADD], vec![FADD, NOP, NOP], vec![bra(1, -1)], vec![bra(7, 70)]] {
        let lifted = lift_words(&words, &[]).expect("lifts");
        verify::verify(&lifted.function).expect("a sound function");
        assert!(lifted.opaque > 0);
    }
}

#[test]
fn targets_outside_the_code_are_not_lost() {
    let lifted = lift_words(&[bra(1, 1000), FADD, EXIT], &[]).expect("lifts");
    let inst = lifted.function.block_insts(Block::from_u32(0))[0];
    let effects = lifted.function.inst(inst).effects;
    assert!(effects.contains(Effects::OPAQUE | Effects::BRANCH));
    let labels = lifted.function.uses(inst).iter();
    assert_eq!(labels.filter(|op| matches!(op, Operand::Label(_))).count(), 2);
}

#[test]
fn what_is_unknown_ends_its_block() {
    const UNKNOWN: u128 = 0xfff;
    let lifted = lift_words(&[FADD, UNKNOWN, FADD, EXIT], &[]).expect("lifts");
    verify::verify(&lifted.function).expect("a sound function");
    assert_eq!((lifted.opaque, lifted.function.block_count()), (1, 2));
    assert_eq!(succs(&lifted, 0), [1]);
}

#[test]
fn what_says_where_it_stands_is_a_block_of_its_own() {
    const LEPC: u128 = 0xa_734e; // LEPC R10
    let lifted = lift_words(&[FADD, FADD, LEPC, FADD, EXIT], &[]).expect("lifts");
    verify::verify(&lifted.function).expect("a sound function");
    let sizes: Vec<usize> =
        lifted.function.blocks().map(|block| lifted.function.block_insts(block).len()).collect();
    assert_eq!((sizes, lifted.opaque), (vec![2, 1, 2], 0));
    assert_eq!((succs(&lifted, 0), succs(&lifted, 1)), (vec![1], vec![2]));
}

#[test]
fn what_may_be_a_branch_goes_anywhere() {
    const UNKNOWN_BRANCH: u128 = 0xf4a;
    // The target of the last branch is a block that only the unknown word may reach otherwise.
    let words = [FADD, UNKNOWN_BRANCH, FADD, EXIT, FADD, bra(7, -2)];
    let lifted = lift_words(&words, &[]).expect("lifts");
    verify::verify(&lifted.function).expect("a sound function");
    let all: Vec<u32> = (0..lifted.function.block_count() as u32).collect();
    assert_eq!(succs(&lifted, 0), all);
    // Padding behind it may be reached.
    let at_the_end = lift_words(&[FADD, UNKNOWN_BRANCH, NOP, NOP], &[]).expect("lifts");
    verify::verify(&at_the_end.function).expect("a sound function");
    assert_eq!(at_the_end.padding, 1);
}

#[test]
fn errors_name_the_function() {
    let code = |bytes| Code { name: "f", arch: Arch::SM_80, bytes, indirect: &[], jumps: &[] };
    let error = lift(&code(&[0; 17])).expect_err("ragged");
    assert!(error.to_string().contains("`f`: 17 bytes"), "{error}");
    assert_eq!(lift(&code(&[])).expect_err("empty"), LiftError::Empty("f".into()));
    let old = Code { arch: Arch::SM_52, ..code(&[0; 16]) };
    assert_eq!(lift(&old).expect_err("no table"), LiftError::UnknownArch(Arch::SM_52));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// Whatever the words, lifting ends in a sound function.
    #[test]
    fn any_code_lifts(seeds in prop::collection::vec((any::<u128>(), 0usize..12), 1..40), which in 0usize..20) {
        const OPCODES: [u128; 12] =
            [0x947, 0x94d, 0x949, 0x950, 0x944, 0x945, 0x918, 0x223, 0x981, 0x348, 0x547, 0xfff];
        let archs: Vec<Arch> = Arch::all().collect();
        // Offsets stay small so that branches hit the code.
        let bytes: Vec<u8> = seeds
            .iter()
            .flat_map(|&(seed, op)| {
                let small = seed & !(0xffff_ffff_fff0 << 38) & !0xfff;
                (small | OPCODES[op]).to_le_bytes()
            })
            .collect();
        let code = Code { name: "f", arch: archs[which % archs.len()], bytes: &bytes, indirect: &[], jumps: &[] };
        match lift(&code) {
            Ok(lifted) => prop_assert_eq!(verify::verify(&lifted.function), Ok(())),
            Err(error) => prop_assert!(matches!(error, LiftError::UnknownArch(_) | LiftError::Empty(_))),
        }
    }
}
