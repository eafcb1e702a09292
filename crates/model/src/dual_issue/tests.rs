use std::collections::BTreeSet;
use std::num::NonZeroU32;

use proptest::prelude::*;
use proptest::sample::select;
use sassafras_machine::{Arch, Unit};

use super::matrix::{MatrixVerdict, PipeMatrix};
use super::pairing::*;

const TEXT: &str = include_str!("../../data/dual_issue_pipes.csv");

fn context() -> PairContext<'static> {
    PairContext { arch: Arch::SM_52, banks: NonZeroU32::new(4).unwrap(), matrix: PipeMatrix::shipped() }
}

fn candidate<'a>(unit: Unit, writes: &'a [u32], reads: &'a [u32]) -> IssueCandidate<'a> {
    IssueCandidate { unit, reads, writes, pending_barrier: false, may_lead: true, may_follow: true }
}

#[test]
fn matrix_has_exactly_the_documented_permissions() {
    use Unit::{Alu, Fma, Lsu, Sfu};
    let allowed = [(Alu, Fma), (Alu, Lsu), (Alu, Sfu), (Fma, Alu), (Fma, Lsu), (Lsu, Alu), (Lsu, Fma)];
    for &a in Unit::ALL {
        for &b in Unit::ALL {
            let verdict = PipeMatrix::shipped().verdict(a, b);
            assert_eq!(verdict == MatrixVerdict::Allowed, allowed.contains(&(a, b)), "{a:?} {b:?}");
            let occupied = |u| matches!(u, Unit::Dfma | Unit::Mma | Unit::Bra);
            let forbidden = a == b || occupied(a) || occupied(b);
            assert_eq!(verdict == MatrixVerdict::Forbidden, forbidden, "{a:?} {b:?}");
        }
    }
}

#[test]
fn each_condition_has_its_reason() {
    let c = context();
    let a = candidate(Unit::Alu, &[8], &[0, 1]);
    let b = candidate(Unit::Fma, &[9], &[2, 3]);
    assert_eq!(can_pair(&c, &a, &b), Ok(()));

    let refused = |c: &PairContext<'_>, a: &IssueCandidate<'_>, b: &IssueCandidate<'_>| {
        let all: Vec<_> = refusals(c, a, b).collect();
        assert_eq!(all.len(), 1, "{all:?}");
        all[0]
    };
    let same = candidate(Unit::Alu, &[9], &[2, 3]);
    let pipes = PairRefusal::Pipes { first: Unit::Alu, second: Unit::Alu, verdict: MatrixVerdict::Forbidden };
    assert_eq!(refused(&c, &a, &same), pipes);
    let reads = candidate(Unit::Fma, &[9], &[8]);
    // Register 8 shares bank 0 with register 0, so two conditions fail; the documented order names RAW first.
    assert_eq!(can_pair(&c, &a, &reads), Err(PairRefusal::ReadAfterWrite { register: 8 }));
    assert_eq!(refusals(&c, &a, &reads).count(), 2);
    assert_eq!(can_pair(&c, &reads, &candidate(Unit::Alu, &[8], &[])), Ok(()), "WAR is allowed");
    let writes = candidate(Unit::Fma, &[8], &[2]);
    assert_eq!(refused(&c, &a, &writes), PairRefusal::WriteAfterWrite { register: 8 });
    let waits = IssueCandidate { pending_barrier: true, ..b };
    assert_eq!(refused(&c, &a, &waits), PairRefusal::PendingBarrier(Half::Second));
    let waits = IssueCandidate { pending_barrier: true, ..a };
    assert_eq!(refused(&c, &waits, &b), PairRefusal::PendingBarrier(Half::First));
    assert_eq!(refused(&PairContext { arch: Arch::SM_70, ..c }, &a, &b), PairRefusal::Architecture);
    let bank = candidate(Unit::Fma, &[9], &[5]);
    assert_eq!(refused(&c, &a, &bank), PairRefusal::BankConflict { first: 1, second: 5, bank: 1 });
    let shared = candidate(Unit::Fma, &[9], &[1]);
    assert_eq!(can_pair(&c, &a, &shared), Ok(()), "one register read twice is one fetch");
    let no_lead = IssueCandidate { may_lead: false, ..a };
    assert_eq!(refused(&c, &no_lead, &b), PairRefusal::Encoding(Half::First));
    let no_follow = IssueCandidate { may_follow: false, ..b };
    assert_eq!(refused(&c, &a, &no_follow), PairRefusal::Encoding(Half::Second));
}

#[test]
fn broken_matrices_are_noticed() {
    let breaks = |from: &str, to: &str| {
        assert!(TEXT.contains(from), "{from}");
        PipeMatrix::parse(&TEXT.replacen(from, to, 1)).unwrap_err()
    };
    breaks("ALU,FMA,yes", "ALU,FMAC,yes");
    breaks("ALU,FMA,yes", "same,FMA,yes");
    breaks("ALU,FMA,yes", "ALU,FMA,maybe");
    breaks("ALU,FMA,yes", "ALU,LSU,yes");
    breaks("ALU,FMA,yes", "ALU,ALU,yes");
    breaks("ALU,FMA,yes", "ALU,DFMA,yes");
    breaks("ALU,FMA,yes,latency-model: Pipe Compatibility Matrix", "ALU,FMA,yes,");
    breaks("any,same,no", "LSU,same,no");
    breaks("co_issue", "verdict");
}

fn sets() -> impl Strategy<Value = Vec<u32>> {
    proptest::collection::btree_set(0u32..24, 0..4).prop_map(|s: BTreeSet<u32>| s.into_iter().collect())
}

proptest! {
    #[test]
    fn independent_pairs_are_symmetric_where_the_matrix_is(
        units in proptest::array::uniform2(select(Unit::ALL.to_vec())),
        registers in proptest::array::uniform4(sets()),
        flags: [bool; 3],
    ) {
        let [ar, aw, br, bw] = &registers;
        let c = context();
        let a = IssueCandidate { pending_barrier: flags[0], ..candidate(units[0], aw, ar) };
        let b = IssueCandidate { may_lead: flags[1], may_follow: flags[1], pending_barrier: flags[2], ..candidate(units[1], bw, br) };
        let symmetric = c.matrix.verdict(a.unit, b.unit) == c.matrix.verdict(b.unit, a.unit);
        // A write-after-read pair is legal in one order only: that asymmetry belongs to the program.
        let war = ar.iter().any(|r| bw.contains(r)) != br.iter().any(|r| aw.contains(r));
        if symmetric && !war {
            prop_assert_eq!(can_pair(&c, &a, &b).is_ok(), can_pair(&c, &b, &a).is_ok());
        }
    }

    #[test]
    fn matrix_parser_never_panics(text in "[a-z,\"\n]{0,120}") {
        let _ = PipeMatrix::parse(&text);
        let _ = PipeMatrix::parse(&format!("{TEXT}{text}"));
    }
}
