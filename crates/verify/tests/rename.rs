//! Blocks with other registers: legal renames pass, and everything else is named.

use sassafras_cubin::Container;
use sassafras_testkit::words;
use sassafras_verify::against::{self, Change, Comparison};

#[path = "../../cubin/tests/support/build.rs"]
mod build;

const CONTROL: u128 = 0x000f_c400 << 96;
const EXIT: u128 = 0x0380_0000_0000_0000_0000_794d;
const RET: u128 = 0x0380_0000_0000_0000_1400_7950;
const RZ: u128 = 255;
const PT: u128 = 7;

fn fadd(d: u128, a: u128, b: u128) -> u128 {
    0x7221 | d << 16 | a << 24 | b << 32 | CONTROL
}

/// `@Pguard FADD` or, from 8 on, `@!P(guard - 8)`.
fn guarded(guard: u128, word: u128) -> u128 {
    word & !(0xf << 12) | guard << 12
}

/// `ISETP.NE.AND Pd, PT, Ra, Rb, PT`.
fn isetp(d: u128, a: u128, b: u128) -> u128 {
    0x0bf0_5270 << 64 | d << 81 | PT << 84 | 0x720c | a << 24 | b << 32
}

/// `LDG.E{.64} Rd, desc[UR4][Ra.64]` for one or two registers.
fn load(lanes: u128, d: u128, a: u128) -> u128 {
    (0x0c1e_1900 | (lanes - 1) << 9) << 64 | 4 << 32 | a << 24 | d << 16 | 0x7981
}

/// `STG.E desc[UR4][Ra.64], Rb`.
fn store(a: u128, b: u128) -> u128 {
    0x0c10_1904 << 64 | b << 32 | a << 24 | 0x7986
}

fn cubin(body: &[u128]) -> Vec<u8> {
    let header = *build::cubin().first_chunk().expect("a header");
    words::cubin(&header, &[body])
}

fn compare(old: &[u128], new: &[u128]) -> Comparison {
    let (old, new) = (cubin(old), cubin(new));
    let parse = |file| Container::parse(file).expect("parses");
    against::files(&parse(&old), &parse(&new)).expect("readable")
}

#[track_caller]
fn accepted(old: &[u128], new: &[u128], renamed: u64) {
    let compared = compare(old, new);
    assert_eq!(compared.differences.iter().map(ToString::to_string).collect::<Vec<_>>(), [""; 0]);
    assert_eq!(compared.renamed, renamed, "renamed");
    assert!(compare(new, old).is_legal(), "and back");
}

#[track_caller]
fn refused(old: &[u128], new: &[u128], why: &str) -> Change {
    let differences = compare(old, new).differences;
    let [difference] = &differences[..] else { panic!("{differences:?}") };
    assert!(difference.to_string().contains(why), "{difference}");
    difference.change.clone()
}

#[test]
fn a_definition_and_all_its_uses() {
    let old = [load(1, 4, 2), fadd(8, 4, 4), store(2, 8), load(1, 4, 6), fadd(8, 4, 9), store(6, 8), EXIT];
    let mut new = old;
    (new[3], new[4], new[5]) = (load(1, 10, 6), fadd(11, 10, 9), store(6, 11));
    accepted(&old, &new, 3);
    // Now nothing keeps the sums apart; the stores stay in order, and no load crosses one.
    let old = [load(1, 4, 2), fadd(8, 4, 4), fadd(9, 8, 8), load(1, 4, 6), fadd(8, 4, 9), store(6, 8), EXIT];
    let new =
        [load(1, 4, 2), load(1, 10, 6), fadd(8, 4, 4), fadd(9, 8, 8), fadd(8, 10, 9), store(6, 8), EXIT];
    accepted(&old, &new, 2);
    let swapped =
        [load(1, 4, 2), fadd(8, 4, 4), fadd(9, 8, 8), fadd(8, 10, 9), load(1, 10, 6), store(6, 8), EXIT];
    refused(&old, &swapped, "`FADD R8, R10, R9` (at 3 in the new order) reads another value of R10");
}

#[test]
fn a_register_that_is_still_wanted() {
    let old = [load(1, 4, 2), fadd(8, 4, 4), fadd(9, 5, 8), store(2, 9), EXIT];
    refused(
        &old,
        &[load(1, 5, 2), fadd(8, 5, 5), fadd(9, 5, 8), store(2, 9), EXIT],
        "reads another value of R5",
    );
    // A use that was forgotten.
    refused(&old, &[load(1, 6, 2), fadd(8, 6, 4), fadd(9, 5, 8), store(2, 9), EXIT], "`FADD R8, R6, R4`");
    // Wanted behind the block.
    let branch = |word: u128| {
        let over = 0x0380_0000 << 64 | 4 << 16 | 0x0947; // @P0 BRA over one
        [word, over, store(2, 3), store(2, 4), EXIT]
    };
    refused(&branch(fadd(4, 5, 5)), &branch(fadd(6, 5, 5)), "R4 holds another value at the end of the block");
    refused(&branch(fadd(6, 5, 5)), &branch(fadd(3, 5, 5)), "R3 holds another value at the end of the block");
    accepted(&branch(fadd(6, 5, 5)), &branch(fadd(7, 5, 5)), 1);
    // Whoever called may want it.
    accepted(&[fadd(6, 5, 5), EXIT], &[fadd(7, 5, 5), EXIT], 1);
    refused(&[fadd(6, 5, 5), RET], &[fadd(7, 5, 5), RET], "may read any register");
}

#[test]
fn partial_writes_under_a_guard() {
    let p0 = |word| guarded(0, word);
    let not_p0 = |word| guarded(8, word);
    // Read where the guard does not hold: what was there before is part of the value.
    let old = [fadd(4, 1, 1), p0(fadd(4, 2, 2)), store(6, 4), EXIT];
    refused(&old, &[fadd(4, 1, 1), p0(fadd(5, 2, 2)), store(6, 5), EXIT], "`STG.E desc[UR4][R6.64], R5`");
    accepted(&old, &[fadd(5, 1, 1), p0(fadd(5, 2, 2)), store(6, 5), EXIT], 3);
    // Read under the same guard only, or written for both outcomes: it is not.
    let old = [p0(fadd(4, 2, 2)), p0(store(6, 4)), EXIT];
    accepted(&old, &[p0(fadd(5, 2, 2)), p0(store(6, 5)), EXIT], 2);
    let old = [p0(fadd(4, 2, 2)), not_p0(fadd(4, 3, 3)), store(6, 4), EXIT];
    accepted(&old, &[not_p0(fadd(5, 3, 3)), p0(fadd(5, 2, 2)), store(6, 5), EXIT], 3);
    refused(&old, &[not_p0(fadd(5, 3, 3)), p0(fadd(5, 2, 2)), store(6, 4), EXIT], "another value of R4");
    refused(
        &[p0(fadd(4, 2, 2)), not_p0(store(6, 4)), EXIT],
        &[p0(fadd(5, 2, 2)), not_p0(store(6, 5)), EXIT],
        "of R5",
    );
    // The predicate changes between.
    let old = [p0(fadd(4, 2, 2)), isetp(0, 8, 9), p0(store(6, 4)), EXIT];
    refused(&old, &[p0(fadd(5, 2, 2)), isetp(0, 8, 9), p0(store(6, 5)), EXIT], "another value of R5");
    // Predicates have names too.
    let old = [isetp(0, 8, 9), p0(fadd(4, 2, 2)), p0(store(6, 4)), EXIT];
    accepted(&old, &[isetp(1, 8, 9), guarded(1, fadd(4, 2, 2)), guarded(1, store(6, 4)), EXIT], 3);
    refused(&old, &[isetp(1, 8, 9), guarded(1, fadd(4, 2, 2)), p0(store(6, 4)), EXIT], "another value of P0");
    let other_way = [isetp(1, 8, 9), guarded(9, fadd(4, 2, 2)), guarded(1, store(6, 4)), EXIT];
    assert!(matches!(refused_any(&old, &other_way), Change::Word { .. }), "another instruction");
}

#[test]
fn guards_say_nothing_about_other_threads() {
    // SHFL.IDX PT, Rd, Ra, 0, 0 takes registers of threads whose guard may not hold.
    let shfl = |d: u128, a: u128| guarded(0, PT << 81 | a << 24 | d << 16 | 0x7f89);
    let code = |r: u128| [guarded(0, fadd(r, 2, 2)), shfl(5, r), guarded(0, store(6, 5)), EXIT];
    refused(&code(4), &code(8), "reads another value of R8");
}

#[test]
fn what_is_not_decoded_keeps_its_registers() {
    // Never executed: no register of it counts, and no other instruction stands for it.
    let never = |r: u128| [guarded(15, fadd(r, 2, 2)), store(6, 5), EXIT];
    assert!(matches!(refused_any(&never(4), &never(8)), Change::Word { .. }));
    // Two results in one predicate: which one wins is not known.
    let twice = |p: u128| isetp(p, 2, 3) & !(7 << 84) | p << 84;
    let code = |p: u128| [twice(p), fadd(9, 2, 2), EXIT];
    assert!(matches!(refused_any(&code(0), &code(1)), Change::Word { .. }));
}

fn refused_any(old: &[u128], new: &[u128]) -> Change {
    compare(old, new).differences.into_iter().next().expect("a difference").change
}

#[test]
fn tuples_are_renamed_as_a_whole() {
    let old = [load(2, 4, 2), fadd(8, 4, 5), store(2, 8), EXIT];
    accepted(&old, &[load(2, 10, 2), fadd(8, 10, 11), store(2, 8), EXIT], 2);
    refused(&old, &[load(2, 10, 2), fadd(8, 10, 5), store(2, 8), EXIT], "reads another value of R5");
    refused(&old, &[load(2, 10, 2), fadd(8, 11, 10), store(2, 8), EXIT], "reads another value of R11");
    let odd = refused(&old, &[load(2, 11, 2), fadd(8, 11, 12), store(2, 8), EXIT], "R11:2");
    assert!(matches!(odd, Change::Misaligned { .. }));
    // The second half hits what is wanted.
    let old = [load(2, 4, 2), fadd(8, 4, 5), fadd(8, 8, 11), store(2, 8), EXIT];
    refused(
        &old,
        &[load(2, 10, 2), fadd(8, 10, 11), fadd(8, 8, 11), store(2, 8), EXIT],
        "another value of R11",
    );
}

#[test]
fn registers_that_are_not_there() {
    // The cubin says 128, of which code can name all but two.
    let old = [load(1, 4, 2), store(2, 4), EXIT];
    accepted(&old, &[load(1, 125, 2), store(2, 125), EXIT], 2);
    let change = refused(&old, &[load(1, 126, 2), store(2, 126), EXIT], "may name 126 registers");
    assert!(matches!(change, Change::NoRegister { limit: 126, .. }));
    // RZ is no register: neither from it nor to it.
    assert!(matches!(refused_any(&old, &[load(1, RZ, 2), store(2, RZ), EXIT]), Change::Word { .. }));
    let (old, new) = ([fadd(RZ, 2, 2), EXIT], [fadd(9, 2, 2), EXIT]);
    assert!(matches!(refused_any(&old, &new), Change::Word { .. }));
}

#[test]
fn equal_instructions_can_stand_for_each_other() {
    let old = [load(1, 4, 2), load(1, 5, 2), fadd(8, 4, 5), store(2, 8), EXIT];
    let compared = compare(&old, &[load(1, 5, 2), load(1, 4, 2), fadd(8, 4, 5), store(2, 8), EXIT]);
    assert_eq!((compared.differences.len(), compared.renamed, compared.moved), (0, 0, 2));
    // Which of the two is read makes no difference.
    accepted(&old, &[load(1, 4, 2), load(1, 5, 2), fadd(8, 5, 4), store(2, 8), EXIT], 1);
    // It does when a store may come between.
    let old = [load(1, 4, 2), store(6, 9), load(1, 5, 2), fadd(8, 4, 5), store(2, 8), EXIT];
    refused(&old, &[load(1, 4, 2), store(6, 9), load(1, 5, 2), fadd(8, 5, 4), store(2, 8), EXIT], "FADD");
    let early = [load(1, 4, 2), load(1, 10, 2), store(6, 9), fadd(8, 4, 10), store(2, 8), EXIT];
    refused(&old, &early, "memory access");
}

#[test]
fn two_chains_change_their_registers() {
    // The words are a permutation of the old ones; only their values tell that nothing else has changed.
    let old = [fadd(4, 1, 1), fadd(5, 4, 4), fadd(4, 2, 2), fadd(6, 4, 4), fadd(7, 5, 6), store(8, 7), EXIT];
    let new = [fadd(4, 2, 2), fadd(6, 4, 4), fadd(4, 1, 1), fadd(5, 4, 4), fadd(7, 5, 6), store(8, 7), EXIT];
    accepted(&old, &new, 0);
    let wrong =
        [fadd(4, 2, 2), fadd(5, 4, 4), fadd(4, 1, 1), fadd(6, 4, 4), fadd(7, 5, 6), store(8, 7), EXIT];
    refused(&old, &wrong, "reads another value");
}

#[test]
fn uniform_registers_belong_to_the_warp() {
    // UMOV URd, imm and its use as a descriptor.
    let umov = |d: u128| 0x7882 | d << 16 | 5 << 32;
    let user = |u: u128| fadd(4, 1, 0) & !0xfff | 0xe21 | u << 32;
    let over = 0x0380_0000 << 64 | 4 << 16 | 0x0947; // @P0 BRA over one
    let old = [umov(6), user(6), store(2, 4), EXIT];
    accepted(&old, &[umov(8), user(8), store(2, 4), EXIT], 2);
    let beyond = [umov(62), user(62), store(2, 4), EXIT];
    accepted(&old, &beyond, 2);
    // Threads that branch may want what this path does not.
    let old = [umov(6), user(6), store(2, 4), over, EXIT, store(2, 5), EXIT];
    let new = [umov(8), user(8), store(2, 4), over, EXIT, store(2, 5), EXIT];
    assert!(matches!(refused_any(&old, &new), Change::Word { .. }));
}

/// A block of many thousand instructions, every register renamed: time grows with its length, not with its square.
#[test]
fn long_blocks_take_their_length() {
    let block = |n: usize, shift: u128| -> Vec<u128> {
        let step = |i: usize| {
            let i = i as u128;
            let (d, a) = (16 + i * 7 % 64 + shift, if i == 0 { 2 } else { 16 + (i - 1) * 7 % 64 + shift });
            if i % 5 == 4 { store(2, a) } else { fadd(d, a, 3 + i % 8) }
        };
        (0..n)
            .map(|i| if i % 5 == 0 { fadd(16 + i as u128 * 7 % 64 + shift, 3, 4) } else { step(i) })
            .chain([EXIT])
            .collect()
    };
    let seconds = |n| {
        let (old, new) = (cubin(&block(n, 0)), cubin(&block(n, 32)));
        let parse = |file| Container::parse(file).expect("parses");
        sassafras_testkit::timing::seconds(|| {
            let compared = against::files(&parse(&old), &parse(&new)).expect("readable");
            assert!(compared.is_legal() && compared.renamed as usize > n / 4, "{:?}", compared.differences);
        })
    };
    let (short, long) = (seconds(4_000), seconds(32_000));
    assert!(long < 24.0 * short, "{short} s, {long} s");
}
