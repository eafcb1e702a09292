//! The checker against the pairwise oracle of the dependence graph, and mutants that it must notice.

use proptest::prelude::*;
use sassafras_deps::BuildOptions;
use sassafras_deps::latency::UnitLatency;
use sassafras_deps::oracle::{self, NONE};
use sassafras_ir::{Function, Inst, text};
use sassafras_testkit::random::{Shape, function};
use sassafras_testkit::rng::Rng;
use sassafras_verify::reorder::{Illegal, What, check};

fn block(f: &Function) -> Vec<Inst> {
    f.block_insts(f.blocks().next().expect("a block")).to_vec()
}

fn random(rng: &mut Rng, insts: usize) -> Function {
    let shape = Shape::random(rng, 1, insts);
    function(rng, &shape)
}

/// A random order that keeps every pair with a path between them.
fn legal_shuffle(rng: &mut Rng, f: &Function, insts: &[Inst]) -> Vec<Inst> {
    let paths = oracle::closure(f, insts, &UnitLatency, BuildOptions::default());
    let mut left: Vec<usize> = (0..insts.len()).collect();
    let mut order = Vec::new();
    while !left.is_empty() {
        let free: Vec<usize> =
            left.iter().copied().filter(|&j| left.iter().all(|&i| i == j || paths[i][j] == NONE)).collect();
        let next = *rng.pick(&free);
        left.retain(|&i| i != next);
        order.push(insts[next]);
    }
    order
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sassafras_testkit::cases(800)))]

    #[test]
    fn every_order_that_keeps_dependences_is_legal(seed: u64, insts in 0usize..24) {
        let mut rng = Rng::new(seed);
        let f = random(&mut rng, insts);
        let old = block(&f);
        let new = legal_shuffle(&mut rng, &f, &old);
        prop_assert_eq!(check(&f, &old, &new), Ok(()));
        prop_assert_eq!(check(&f, &new, &old), Ok(()));
    }

    /// What is rejected is a real dependence, and a swap that changes what is read, or the order of conflicting
    /// accesses or effects, is rejected.
    #[test]
    fn swapped_neighbours_are_judged_right(seed: u64, insts in 1usize..24) {
        let mut rng = Rng::new(seed);
        let f = random(&mut rng, insts);
        let old = block(&f);
        for i in 0..old.len() - 1 {
            let mut new = old.clone();
            new.swap(i, i + 1);
            let pair = &old[i..i + 2];
            let depends = oracle::closure(&f, pair, &UnitLatency, BuildOptions::default())[0][1] != NONE;
            let verdict = check(&f, &old, &new);
            prop_assert!(depends || verdict.is_ok(), "{:?} without a dependence", verdict);
            if must_reject(&f, pair[0], pair[1]) {
                prop_assert!(verdict.is_err(), "{} / {}", text::print_inst(&f, pair[0]), text::print_inst(&f, pair[1]));
            }
        }
    }
}

/// The second reads what the first writes, and would not read the same otherwise; or one of them lets nothing pass.
fn must_reject(f: &Function, a: Inst, b: Inst) -> bool {
    let mut written = Vec::new();
    f.for_each_write(a, |w| written.push(w.lane));
    let mut reads = false;
    f.for_each_read(b, |r| reads |= written.contains(&r.lane));
    let full = |i: Inst| {
        use sassafras_ir::Effects;
        f.inst(i).effects.intersects(Effects::TERMINATOR | Effects::CALL | Effects::OPAQUE)
    };
    reads || full(a) || full(b)
}

fn parsed(body: &str) -> Function {
    let source = format!("func f sm_90 {{\n^a:\n{body}  EXIT !exit\n}}\n");
    text::parse(&source).expect("a right text").functions.remove(0)
}

fn swap(body: &str, i: usize, j: usize) -> Result<(), Illegal> {
    let f = parsed(body);
    let old = block(&f);
    let mut new = old.clone();
    new.swap(i, j);
    check(&f, &old, &new)
}

fn kind(result: Result<(), Illegal>) -> Option<What> {
    match result {
        Err(Illegal::Differs { what, .. }) => Some(what),
        _ => None,
    }
}

#[test]
fn each_kind_of_order_is_kept() {
    assert!(matches!(kind(swap("  R1 = MOV R0\n  R2 = MOV R1\n", 0, 1)), Some(What::Reads(_))));
    // Write after read, write after write.
    assert!(swap("  R2 = MOV R1\n  R1 = MOV R0\n", 0, 1).is_err());
    assert!(matches!(swap("  R1 = MOV R0\n  R1 = MOV R2\n", 0, 1), Err(Illegal::LiveOut(_))));
    // Two guarded writes: which of them is last matters.
    assert!(swap("  @P0 R1 = MOV R0\n  @P1 R1 = MOV R2\n", 0, 1).is_err());
    assert_eq!(kind(swap("  global.4[R1] = STG R0\n  R2 = LDG global.4[R3]\n", 0, 1)), Some(What::Memory));
    assert_eq!(kind(swap("  global.4[R1] = STG R0\n  R2 = LDG global.8[R1-4]\n", 0, 1)), Some(What::Memory));
    // Addresses of 32 bits wrap: these are the same bytes.
    let wrapped = "  shared.4[R1-4] = STS R0\n  R2 = LDS shared.4[R1+4294967292]\n";
    assert_eq!(kind(swap(wrapped, 0, 1)), Some(What::Memory));
    assert_eq!(kind(swap("  shared.4[R1] = STS R0\n  BAR !barrier\n", 0, 1)), Some(What::Effects));
    assert_eq!(kind(swap("  R1 = CS2R $A !ordered\n  R2 = CS2R $A !ordered\n", 0, 1)), Some(What::Effects));
    assert_eq!(kind(swap("  R1 = MOV R0\n  X !opaque\n", 0, 1)), Some(What::Effects));
}

#[test]
fn what_may_read_any_register_sees_the_same_in_all() {
    for fence in ["CALL !call", "X !opaque", "R1 = CALL !call"] {
        let body = format!("  R1 = MOV R0\n  R1 = MOV R2\n  {fence}\n  R1 = MOV R3\n");
        assert_eq!(kind(swap(&body, 0, 1)), Some(What::State), "{fence}");
        // The same behind it, where nobody looks.
        let body = format!("  {fence}\n  R1 = MOV R0\n  R1 = MOV R2\n  R1 = MOV R3\n");
        assert_eq!(swap(&body, 1, 2), Ok(()), "{fence}");
    }
}

/// Offsets of tensor memory are rows and columns: different ones may still overlap.
#[test]
fn only_bytes_can_be_told_apart() {
    let body = "  tensor.4[R1] = ST R0\n  R2 = LD tensor.4[R1+4]\n";
    assert_eq!(kind(swap(body, 0, 1)), Some(What::Memory));
}

#[test]
fn what_changes_nothing_is_let_through() {
    assert_eq!(swap("  R1 = MOV R0\n  R2 = MOV R0\n", 0, 1), Ok(()));
    assert_eq!(swap("  global.4[R1] = STG R0\n  R2 = LDG global.4[R1+4]\n", 0, 1), Ok(()));
    assert_eq!(swap("  global.4[R1] = STG R0\n  R2 = LDS shared.4[R3]\n", 0, 1), Ok(()));
    assert_eq!(swap("  R1 = MOV R0\n  BAR !barrier\n", 0, 1), Ok(()));
    // Dead writes may trade places: nobody can tell.
    assert_eq!(swap("  R1 = MOV R0\n  R1 = MOV R2\n  R1 = MOV R3\n", 0, 1), Ok(()));
}

#[test]
fn lost_and_doubled_instructions_are_noticed() {
    let f = parsed("  R1 = MOV R0\n  R2 = MOV R0\n");
    let old = block(&f);
    assert_eq!(check(&f, &old, &old[1..]), Err(Illegal::NotAPermutation));
    assert_eq!(check(&f, &old, &[old[0], old[0], old[2]]), Err(Illegal::NotAPermutation));
}
