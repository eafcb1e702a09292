//! Are all hazards of scheduled SASS covered?
//!
//! The checker works on a lifted function: lanes that instructions read and write, and the control field in each
//! instruction's word. It knows no scheduler and builds no dependence graph. A forward data flow over the whole
//! control-flow graph carries, for every lane, the writes and reads that may still be under way ([`mod@walk`]); at every
//! instruction each of them meets what the instruction reads and writes, and the pair is shown to an observer:
//!
//! * the *checker* ([`check`]) compares it with the distances that are demanded ([`rules`]);
//! * the *miner* collects the smallest distances that a compiler left.
//!
//! A pair is **covered** when
//!
//! 1. a scoreboard that the first instruction set has been waited for (a write scoreboard covers reading and
//!    overwriting the result, and a finished write implies that its sources were read; a read scoreboard covers
//!    overwriting a source), or the count that a `DEPBAR` waits for leaves it out;
//! 2. a later instruction of the same pipe set a scoreboard that has been waited for: results return in order inside a
//!    pipe;
//! 3. enough cycles lie between, counted as the sum of the stalls on the way. A wait on the way credits at most what the
//!    awaited instruction takes at the least, less what has passed already; nothing if a guard may keep it from running;
//! 4. it overwrites a source of an earlier instruction of the same block and queue, and compiled code relies on that for
//!    such a pair (`machine/data/mined/queues.csv`).
//!
//! Where paths meet, the worst holds: the fewest cycles, covered only if covered on all.
//!
//! Whatever the registers, instructions keep a distance from those before them (`machine/data/dispatch.csv`):
//!
//! * inside a block, no instruction goes into a pipe that has not taken up the one before ([`HazardKind::Pipe`]);
//! * before `BSYNC` gives the warp's turn to other threads, results have settled ([`HazardKind::Settle`]).
//!
//! So they do where they meet on a register and nothing sets a scoreboard:
//!
//! * no source of an instruction of fixed latency is overwritten before it has been read (`machine/data/source_reads.csv`): by a
//!   load in the very next cycle, by arithmetic while a matrix instruction reads ([`HazardKind::War`]);
//! * no matrix instruction adds to the result of another before it is there (`machine/data/addends.csv`). Those that set
//!   scoreboards wait for their turn instead ([`HazardKind::Raw`]).
//!
//! Beyond rules, no pair with hidden state stands closer than compiled code was ever seen to leave it ([`HazardKind::Unseen`], `unseen`).
//!
//! For all of these the smallest distance that compiled code leaves is demanded, even where a device needs more: a scheduler
//! keeps to the larger number, a checker must accept what compilers write.

mod asked;
mod collectives;
mod conditions;
mod fields;
mod paths;
mod reuse;
pub mod rules;
mod spacing;
mod state;
mod unseen;
pub mod walk;

pub use asked::{Asked, Right, asked};
pub use paths::Paths;
pub use rules::{Need, Rules};
pub use unseen::{Came, rewritten};
pub use walk::{HazardKind, Observer, Pair, walk};

use rustc_hash::FxHashSet;
use sassafras_ir::text::print_inst;
use sassafras_ir::{Block, Function, Inst, Lane};
use sassafras_machine::mined::seen::Form;

/// Hazards of one function that are kept; of more only their number is.
pub const MOST_FINDINGS: usize = 10_000;

/// A hazard that nothing covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What kind.
    pub kind: HazardKind,
    /// The lane; none where a scoreboard is waited for too soon.
    pub lane: Option<Lane>,
    /// The instruction that is under way.
    pub producer: Inst,
    /// The instruction that comes too soon.
    pub consumer: Inst,
    /// Cycles that are needed; none where a scoreboard is needed.
    pub needed: Option<u16>,
    /// Cycles that there are.
    pub given: u16,
}

impl Finding {
    /// One line for people.
    pub fn describe(&self, f: &Function) -> String {
        self.describe_with(|inst| print_inst(f, inst))
    }

    /// One line for people, with instructions as `text` has them.
    pub fn describe_with(&self, text: impl Fn(Inst) -> String) -> String {
        let lane = self.lane.map_or(String::new(), |lane| format!(" on {lane}"));
        let needed = match (self.kind, self.needed) {
            (HazardKind::Field, _) => "a control field that this machine has".to_owned(),
            (HazardKind::Crowded, _) => "waits".to_owned(),
            (HazardKind::Reuse, _) => "its reuse flag cleared".to_owned(),
            (_, Some(cycles)) => format!("{cycles} cycles"),
            (_, None) => "a scoreboard".to_owned(),
        };
        format!(
            "{}{lane}: `{}` then `{}`: needs {needed}, has {} cycles",
            self.kind.name(),
            text(self.producer),
            text(self.consumer),
            self.given
        )
    }
}

/// What the checker says of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Hazards that nothing covers, in program order of the consumer.
    pub findings: Vec<Finding>,
    /// How many more there are: no more than [`MOST_FINDINGS`] are kept.
    pub more: u64,
    /// Pairs whose needed distance no table knows.
    pub unknown: u64,
    /// Pairs looked at.
    pub pairs: u64,
}

/// Checks a function against the distances that are demanded.
pub fn check(f: &Function, rules: &Rules) -> Report {
    let forms = unseen::forms(f, rules);
    let blocks = vec![Report::default(); f.block_count()];
    let met = FxHashSet::default();
    let mut checker = Checker { rules, forms: &forms, blocks, current: 0, at: None, met };
    walk(f, rules, &mut checker);
    let mut report = Report::default();
    for block in checker.blocks {
        report.findings.extend(block.findings);
        report.more += block.more;
        report.unknown += block.unknown;
        report.pairs += block.pairs;
    }
    report.findings.extend(unseen::check(f, rules, &forms));
    report.findings.extend(reuse::check(f, rules));
    report.findings.sort_by_key(|f| (f.consumer, f.producer, f.lane, f.kind));
    report.findings.dedup();
    report.more += report.findings.len().saturating_sub(MOST_FINDINGS) as u64;
    report.findings.truncate(MOST_FINDINGS);
    report
}

struct Checker<'a> {
    rules: &'a Rules,
    forms: &'a [Form],
    blocks: Vec<Report>,
    current: usize,
    /// The instruction that findings beyond those that are kept are counted for, and what it was found to meet.
    at: Option<Inst>,
    met: FxHashSet<(Inst, Option<Lane>, HazardKind)>,
}

impl Checker<'_> {
    /// The least distance that was seen of such a pair, where this one is closer.
    ///
    /// A result of fixed latency is there for every reader after the longest distance that any is known to need: beyond that the least that was seen is
    /// chance, however often. Where the reader is known to read later than its row says, as much less is asked.
    fn closer_than_seen(&self, pair: &Pair<'_>) -> Option<u16> {
        let seen = unseen::too_close(self.rules.seen?, self.forms, pair)?;
        let slack = if pair.kind == HazardKind::Raw { self.rules.slack(pair) } else { 0 };
        let least = Some(seen.saturating_sub(slack)).filter(|&least| pair.elapsed < least)?;
        let bound = if pair.kind == HazardKind::Raw { self.rules.longest(pair) } else { None };
        bound.map_or(Some(least), |longest| (pair.elapsed < longest).then(|| least.min(longest)))
    }
}

impl Observer for Checker<'_> {
    fn block(&mut self, block: Block) {
        self.current = block.as_u32() as usize;
        self.at = None;
        self.blocks[self.current] = Report::default();
    }

    fn pair(&mut self, pair: &Pair<'_>) {
        // What is in flight where threads converge is asked of rewritten code alone: some compiled code leaves it so.
        if pair.leaves_in_flight() {
            return;
        }
        self.blocks[self.current].pairs += 1;
        let mut kind = pair.kind;
        let needed = match self.rules.need(pair) {
            Need::Cycles(cycles) if pair.elapsed >= cycles => match self.closer_than_seen(pair) {
                Some(least) => {
                    kind = HazardKind::Unseen;
                    Some(least)
                }
                None => return,
            },
            Need::Cycles(cycles) => Some(cycles),
            Need::Scoreboard | Need::LegalField => None,
            Need::Unknown => {
                self.blocks[self.current].unknown += 1;
                return;
            }
        };
        let report = &mut self.blocks[self.current];
        if report.findings.len() >= MOST_FINDINGS {
            // One that an instruction has by two operands is one.
            if self.at.replace(pair.consumer) != Some(pair.consumer) {
                self.met.clear();
            }
            report.more += u64::from(self.met.insert((pair.producer, pair.lane, kind)));
            return;
        }
        report.findings.push(Finding {
            kind,
            lane: pair.lane,
            producer: pair.producer,
            consumer: pair.consumer,
            needed,
            given: pair.elapsed,
        });
    }
}
