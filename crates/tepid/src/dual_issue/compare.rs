//! Two pairings of one section side by side: the one that its control words mark, and all that the conditions allow.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use sassafras_ir::Space;
use sassafras_machine::{Temperature, unit_for_mnemonic};
use sassafras_model::dual_issue::benefit::{BlockInfo, MemoryInstr, classify_block};
use sassafras_model::dual_issue::matrix::PipeMatrix;
use sassafras_model::dual_issue::observed::Refusal;
use sassafras_model::dual_issue::pairing::{IssueCandidate, PairContext, PairRefusal, refusals};

use sassafras_sass::maxwell::Flow;

use super::stream::{Slot, Stream};
use super::walk::{Pairing, walk};

/// Register banks of these chips, for the documented fifth condition: four, by the public assemblers for them.
const BANKS: NonZeroU32 = NonZeroU32::new(4).expect("not zero");

/// What came of a comparison. Addresses are those of the first instruction of a pair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Instructions.
    pub instructions: usize,
    /// Pairs that are marked.
    pub marked: usize,
    /// Pairs that the conditions allow.
    pub legal: usize,
    /// Pairs that are both.
    pub both: usize,
    /// Marked pairs that the conditions refuse, and why.
    pub only_marked: Vec<(u64, Refusal)>,
    /// Legal pairs that are not marked.
    pub only_legal: Vec<u64>,
    /// Of these, pairs whose second instruction waits for a scoreboard: a compiler that expects a long wait has no use for them.
    pub second_waits: usize,
    /// Neighbours at the right places that are neither, by reason.
    pub refused: BTreeMap<Refusal, usize>,
    /// Marked pairs that the documented conditions accept.
    pub documented: usize,
    /// Marked pairs that they refuse, by the condition: a pair that breaks several is in each.
    pub documented_refused: BTreeMap<Condition, usize>,
    /// Marked pairs in code that the documented gate leaves out: a block of it touches global and shared memory.
    pub gated: usize,
    /// Cycles of the walk: one at a time, with the marked pairs, with the legal ones.
    pub cycles: [u64; 3],
}

/// The documented conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Condition {
    /// 1: the documents name no unit for one of the two mnemonics.
    NoUnit,
    /// 1: units.
    Units,
    /// 2: dependence.
    Dependence,
    /// 3: a pending barrier.
    Barrier,
    /// 4: the architecture.
    Architecture,
    /// 5: register banks.
    Banks,
    /// 6: encoding.
    Encoding,
}

impl Condition {
    /// What it is about, in a word or two.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoUnit => "no unit documented",
            Self::Units => "units",
            Self::Dependence => "dependence",
            Self::Barrier => "pending barrier",
            Self::Architecture => "architecture",
            Self::Banks => "register banks",
            Self::Encoding => "encoding",
        }
    }
}

/// Compares both pairings of a section.
pub fn compare(stream: &Stream) -> Comparison {
    let [single, marked, legal] =
        [Pairing::Single, Pairing::Marked, Pairing::Legal].map(|pairing| walk(stream, pairing));
    let mut found = Comparison {
        instructions: stream.slots.len(),
        cycles: [single.total, marked.total, legal.total],
        ..Comparison::default()
    };
    for (at, pair) in stream.slots.windows(2).enumerate() {
        let [first, second] = pair else { continue };
        let (is_marked, is_legal) = (marked.paired[at], legal.paired[at]);
        found.marked += usize::from(is_marked);
        found.legal += usize::from(is_legal);
        found.both += usize::from(is_marked && is_legal);
        match (is_marked, legal.verdicts[at]) {
            (true, Some(refusal)) => found.only_marked.push((first.address, refusal)),
            (false, None) => {
                found.only_legal.push(first.address);
                let waits = second.waits() != 0 || second.mnemonic() == "DEPBAR";
                found.second_waits += usize::from(waits);
            }
            (false, Some(refusal)) if !matches!(refusal, Refusal::Place(_)) => {
                *found.refused.entry(refusal).or_default() += 1;
            }
            _ => {}
        }
        if is_marked {
            let broken = documented(stream, first, second);
            found.documented += usize::from(broken.is_empty());
            broken.into_iter().for_each(|c| *found.documented_refused.entry(c).or_default() += 1);
        }
    }
    found.gated = if is_gated(stream) { found.marked } else { 0 };
    found
}

/// Whether the documented gate of a function closes for its memory instructions, whatever the chip.
fn is_gated(stream: &Stream) -> bool {
    let mut blocks: Vec<Vec<MemoryInstr>> = vec![Vec::new()];
    for slot in &stream.slots {
        if slot.starts_block {
            blocks.push(Vec::new());
        }
        let temperature = slot.decoded.access().and_then(|access| match access.mem.space {
            Space::Global | Space::Generic | Space::Texture | Space::Surface => Some(Temperature::Hot),
            Space::Shared | Space::Const => Some(Temperature::Cold),
            _ => None,
        });
        if let (Some(block), Some(_)) = (blocks.last_mut(), temperature) {
            block.push(MemoryInstr { temperature, last_source_byte: 0 });
        }
        if slot.decoded.flow() != Flow::Next {
            blocks.push(Vec::new());
        }
    }
    blocks.iter().any(|instrs| classify_block(&BlockInfo { edge_flags: 3, instrs }).is_mixed())
}

impl Comparison {
    /// The share of marked pairs that the conditions allow; none when nothing is marked.
    pub fn covered(&self) -> Option<f64> {
        (self.marked > 0).then(|| self.both as f64 / self.marked as f64)
    }

    /// The share of legal pairs that are marked; none when nothing is legal.
    pub fn taken(&self) -> Option<f64> {
        (self.legal > 0).then(|| self.both as f64 / self.legal as f64)
    }

    /// Adds the numbers of another comparison, its lists of addresses not.
    pub fn add(&mut self, other: &Comparison) {
        self.instructions += other.instructions;
        self.marked += other.marked;
        self.legal += other.legal;
        self.both += other.both;
        self.second_waits += other.second_waits;
        self.documented += other.documented;
        self.gated += other.gated;
        for (sum, cycles) in self.cycles.iter_mut().zip(other.cycles) {
            *sum += cycles;
        }
        for (&refusal, n) in &other.refused {
            *self.refused.entry(refusal).or_default() += n;
        }
        for (&condition, n) in &other.documented_refused {
            *self.documented_refused.entry(condition).or_default() += n;
        }
    }
}

/// The documented conditions that a pair breaks, each once.
fn documented(stream: &Stream, first: &Slot, second: &Slot) -> Vec<Condition> {
    let units = [first, second].map(|slot| unit_for_mnemonic(slot.mnemonic()));
    let [Some(a), Some(b)] = units else { return vec![Condition::NoUnit] };
    // Banks are those of general registers.
    let general = |slot: &Slot| slot.reads.iter().copied().filter(|&lane| lane < 256).collect::<Vec<_>>();
    let reads = [general(first), general(second)];
    let candidate = |slot, unit, reads| IssueCandidate {
        unit,
        reads,
        writes: Slot::candidate(slot).writes,
        pending_barrier: Slot::waits(slot) != 0,
        may_lead: true,
        may_follow: true,
    };
    let context = PairContext { arch: stream.arch, banks: BANKS, matrix: PipeMatrix::shipped() };
    let pair = [candidate(first, a, &reads[0]), candidate(second, b, &reads[1])];
    let mut broken: Vec<Condition> = refusals(&context, &pair[0], &pair[1])
        .map(|refusal| match refusal {
            PairRefusal::Pipes { .. } => Condition::Units,
            PairRefusal::ReadAfterWrite { .. } | PairRefusal::WriteAfterWrite { .. } => Condition::Dependence,
            PairRefusal::PendingBarrier(_) => Condition::Barrier,
            PairRefusal::Architecture => Condition::Architecture,
            PairRefusal::BankConflict { .. } => Condition::Banks,
            PairRefusal::Encoding(_) => Condition::Encoding,
        })
        .collect();
    broken.dedup();
    broken
}
