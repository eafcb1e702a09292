//! The six documented conditions under which two instructions issue in one cycle.
//!
//! Compiled code keeps others: see [`super::observed`].
//!
//! Sources: conditions 1–4 latency-model document, section "Dual-Issue Constraints"; 5 and 6 ptxas-scheduling document,
//! section "Dual-Issue Optimization".
//!
//! Readings:
//! - Condition 2 is "no RAW hazard" in one document and "no data dependences" in the other. A write-after-write pair is
//!   refused too; a write-after-read pair is not, both instructions read before either writes.
//! - Condition 5 compares sources *across* the pair: two different registers of one bank cannot be fetched together. The
//!   documents give neither the number of banks nor the mapping; the caller gives the number, the bank is the remainder.
//! - Condition 6 has no documented rule; the front-end says whether an instruction's form may lead and may follow.

use std::num::NonZeroU32;

use sassafras_machine::{Arch, Unit};
use thiserror::Error;

use super::matrix::{MatrixVerdict, PipeMatrix};

/// An instruction that may become half of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IssueCandidate<'a> {
    /// The functional unit it runs on.
    pub unit: Unit,
    /// Registers it reads.
    pub reads: &'a [u32],
    /// Registers it writes.
    pub writes: &'a [u32],
    /// It waits for a scoreboard barrier.
    pub pending_barrier: bool,
    /// Its encoding can be the first of a pair.
    pub may_lead: bool,
    /// Its encoding can be the second of a pair.
    pub may_follow: bool,
}

/// What the pair's conditions depend on beside the instructions.
#[derive(Debug, Clone, Copy)]
pub struct PairContext<'a> {
    /// The target.
    pub arch: Arch,
    /// Number of register banks.
    pub banks: NonZeroU32,
    /// The pipe matrix.
    pub matrix: &'a PipeMatrix,
}

/// Which half of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Half {
    /// The instruction that issues first.
    First,
    /// The one beside it.
    Second,
}

impl std::fmt::Display for Half {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::First => "first",
            Self::Second => "second",
        })
    }
}

/// Why a pair cannot issue together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PairRefusal {
    /// 1: the matrix forbids the two pipes, or does not list them in this order.
    #[error("pipes {first:?} and {second:?} do not issue together")]
    Pipes {
        /// Unit of the first instruction.
        first: Unit,
        /// Unit of the second one.
        second: Unit,
        /// Whether a row says so or none says otherwise.
        verdict: MatrixVerdict,
    },
    /// 2: the second instruction reads what the first writes.
    #[error("the second instruction reads register {register}, which the first writes")]
    ReadAfterWrite {
        /// The register.
        register: u32,
    },
    /// 2: both write one register.
    #[error("both instructions write register {register}")]
    WriteAfterWrite {
        /// The register.
        register: u32,
    },
    /// 3: one of them waits for a scoreboard.
    #[error("the {0} instruction waits for a barrier")]
    PendingBarrier(Half),
    /// 4: the architecture issues one at a time.
    #[error("the architecture does not dual-issue")]
    Architecture,
    /// 5: two different source registers share a bank.
    #[error("registers {first} and {second} share bank {bank}")]
    BankConflict {
        /// Source of the first instruction.
        first: u32,
        /// Source of the second one.
        second: u32,
        /// Their bank.
        bank: u32,
    },
    /// 6: the form of one of them does not fit its place.
    #[error("the encoding of the {0} instruction does not fit its place in a pair")]
    Encoding(Half),
}

type Check = fn(&PairContext<'_>, &IssueCandidate<'_>, &IssueCandidate<'_>) -> Option<PairRefusal>;

/// The conditions in their documented order.
const CONDITIONS: [Check; 6] = [pipes, dependence, barrier, architecture, banks, encoding];

/// Whether `first` and `second` may issue together; the first condition that fails says why not.
///
/// # Errors
/// The reason of the first failing condition.
pub fn can_pair(
    context: &PairContext<'_>,
    first: &IssueCandidate<'_>,
    second: &IssueCandidate<'_>,
) -> Result<(), PairRefusal> {
    refusals(context, first, second).next().map_or(Ok(()), Err)
}

/// Every failing condition, in documented order.
pub fn refusals<'a>(
    context: &'a PairContext<'a>,
    first: &'a IssueCandidate<'a>,
    second: &'a IssueCandidate<'a>,
) -> impl Iterator<Item = PairRefusal> + 'a {
    CONDITIONS.into_iter().filter_map(move |check| check(context, first, second))
}

fn pipes(c: &PairContext<'_>, a: &IssueCandidate<'_>, b: &IssueCandidate<'_>) -> Option<PairRefusal> {
    match c.matrix.verdict(a.unit, b.unit) {
        MatrixVerdict::Allowed => None,
        verdict => Some(PairRefusal::Pipes { first: a.unit, second: b.unit, verdict }),
    }
}

fn dependence(_: &PairContext<'_>, a: &IssueCandidate<'_>, b: &IssueCandidate<'_>) -> Option<PairRefusal> {
    let written = |registers: &[u32]| registers.iter().copied().find(|r| a.writes.contains(r));
    written(b.reads)
        .map(|register| PairRefusal::ReadAfterWrite { register })
        .or_else(|| written(b.writes).map(|register| PairRefusal::WriteAfterWrite { register }))
}

fn barrier(_: &PairContext<'_>, a: &IssueCandidate<'_>, b: &IssueCandidate<'_>) -> Option<PairRefusal> {
    halves(a.pending_barrier, b.pending_barrier).map(PairRefusal::PendingBarrier)
}

fn architecture(c: &PairContext<'_>, _: &IssueCandidate<'_>, _: &IssueCandidate<'_>) -> Option<PairRefusal> {
    (!c.arch.info().dual_issue).then_some(PairRefusal::Architecture)
}

fn banks(c: &PairContext<'_>, a: &IssueCandidate<'_>, b: &IssueCandidate<'_>) -> Option<PairRefusal> {
    a.reads.iter().find_map(|&first| {
        let bank = first % c.banks;
        let second = b.reads.iter().copied().find(|&r| r != first && r % c.banks == bank)?;
        Some(PairRefusal::BankConflict { first, second, bank })
    })
}

fn encoding(_: &PairContext<'_>, a: &IssueCandidate<'_>, b: &IssueCandidate<'_>) -> Option<PairRefusal> {
    halves(!a.may_lead, !b.may_follow).map(PairRefusal::Encoding)
}

fn halves(first: bool, second: bool) -> Option<Half> {
    match (first, second) {
        (true, _) => Some(Half::First),
        (_, true) => Some(Half::Second),
        _ => None,
    }
}
