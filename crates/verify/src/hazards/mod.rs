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
//!    awaited instruction takes at the least, less what has passed already.
//!
//! Where paths meet, the worst holds: the fewest cycles, covered only if covered on all.

pub mod rules;
pub mod walk;

pub use rules::{Need, Rules};
pub use walk::{HazardKind, Pair, walk};

use sassafras_ir::text::print_inst;
use sassafras_ir::{Function, Inst, Lane};

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
        let lane = self.lane.map_or(String::new(), |lane| format!(" on {lane}"));
        let needed = self.needed.map_or("a scoreboard".to_owned(), |n| format!("{n} cycles"));
        format!(
            "{}{lane}: `{}` then `{}`: needs {needed}, has {} cycles",
            self.kind.name(),
            print_inst(f, self.producer),
            print_inst(f, self.consumer),
            self.given
        )
    }
}

/// What the checker says of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Hazards that nothing covers, in program order of the consumer.
    pub findings: Vec<Finding>,
    /// Pairs whose needed distance no table knows.
    pub unknown: u64,
    /// Pairs looked at.
    pub pairs: u64,
}

/// Checks a function against the distances that are demanded.
pub fn check(f: &Function, rules: &Rules) -> Report {
    let mut report = Report::default();
    walk(f, rules, |pair| {
        report.pairs += 1;
        if pair.covered {
            return;
        }
        let needed = match rules.need(pair) {
            Need::Cycles(cycles) if pair.elapsed >= cycles => return,
            Need::Cycles(cycles) => Some(cycles),
            Need::Scoreboard => None,
            Need::Unknown => {
                report.unknown += 1;
                return;
            }
        };
        report.findings.push(Finding {
            kind: pair.kind,
            lane: pair.lane,
            producer: pair.producer,
            consumer: pair.consumer,
            needed,
            given: pair.elapsed,
        });
    });
    report.findings.sort_by_key(|f| (f.consumer, f.producer, f.lane, f.kind));
    report.findings.dedup();
    report
}
