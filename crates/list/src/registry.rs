//! What is said of every strategy that a user can ask for.
//!
//! `--strategy` and its help, `sassafras strategies`, docs/strategies.md and all contests are made from the table [`STRATEGIES`], which
//! stands beside the strategies' files and has a line for each; a contest takes one more contestant when a line names it.

use crate::engine::Schedule;
use crate::request::Request;
use crate::strategies::{BINARY, CODE, TILE};
use crate::strategy::{Described, Strategy};
use std::fmt;

pub use crate::strategies::STRATEGIES;

/// What a strategy takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Machine code.
    Binary,
    /// PTX.
    Ptx,
    /// The text IR.
    Text,
    /// Tile programs.
    Tile,
}

impl Input {
    /// What users call it.
    pub const fn name(self) -> &'static str {
        match self {
            Input::Binary => "binaries",
            Input::Ptx => "PTX",
            Input::Text => "the text IR",
            Input::Tile => "tile programs",
        }
    }
}

/// When a strategy runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Before register allocation.
    Before,
    /// After it.
    After,
    /// Either.
    Any,
}

/// Whether the order of a block is taken, where the user asks for a strategy by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The original order stays.
    Never,
    /// If it is faster by the model.
    IfFaster,
    /// Whatever the model says.
    Always,
}

/// What a strategy takes part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contest {
    /// `auto`: every block of PTX and the text IR.
    Auto,
    /// `tepid`: blocks in loops, and blocks that work in shared memory.
    Loops,
    /// `tepid`: again with other windows, in loops of multiply-accumulates where operands stay in the reuse cache.
    Windows,
    /// `tepid`: code that runs once and stores to lines of memory several times; taken if it is faster.
    Stores,
    /// `tepid`: code that runs once and loads from memory; taken if it costs little.
    LoadsEarly,
    /// No contest: operands of recurrences in PTX change places, too.
    Commute,
}

/// How an entry orders.
#[derive(Clone, Copy)]
enum Work {
    /// Blocks, one by one; none where the block lacks something that the strategy looks at.
    Block(fn(&Request<'_>) -> Option<Schedule>),
    /// Blocks, by orders that the user gives.
    Orders,
    /// The best of others.
    Contest,
    /// Agents of tile programs.
    Agents,
}

/// A strategy as users know it.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The name that it is asked for by.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// What it takes.
    pub takes: &'static [Input],
    /// When it runs.
    pub phase: Phase,
    /// Whether its orders are taken.
    pub taken: Taken,
    /// What it takes part in.
    pub contests: &'static [Contest],
    /// The knobs that it reads.
    pub knobs: &'static [&'static str],
    /// Where it comes from.
    pub source: &'static str,
    work: Work,
}

/// What is said of a contest.
pub(crate) struct About {
    pub summary: &'static str,
    pub knobs: &'static [&'static str],
    pub contests: &'static [Contest],
    pub source: &'static str,
}

pub(crate) const fn of<S: Described>(
    takes: &'static [Input],
    phase: Phase,
    taken: Taken,
    contests: &'static [Contest],
    make: fn(&Request<'_>) -> Option<Schedule>,
) -> Entry {
    let (summary, knobs, source, work) = (S::SUMMARY, S::KNOBS, S::SOURCE, Work::Block(make));
    Entry { name: <S as Strategy>::NAME, summary, takes, phase, taken, contests, knobs, source, work }
}

pub(crate) const fn orders<S: Described>(takes: &'static [Input], phase: Phase) -> Entry {
    let (summary, knobs, source, work) = (S::SUMMARY, S::KNOBS, S::SOURCE, Work::Orders);
    let (name, taken, contests) = (<S as Strategy>::NAME, Taken::Always, &[]);
    Entry { name, summary, takes, phase, taken, contests, knobs, source, work }
}

pub(crate) const fn contest(
    name: &'static str,
    takes: &'static [Input],
    phase: Phase,
    about: About,
) -> Entry {
    let About { summary, knobs, contests, source } = about;
    Entry {
        name,
        summary,
        takes,
        phase,
        taken: Taken::IfFaster,
        contests,
        knobs,
        source,
        work: Work::Contest,
    }
}

pub(crate) const fn agents(name: &'static str, summary: &'static str) -> Entry {
    let (knobs, source, work): (&[&str], _, _) = (&[], "tile-scheduler document", Work::Agents);
    Entry {
        name,
        summary,
        takes: TILE,
        phase: Phase::Before,
        taken: Taken::Always,
        contests: &[],
        knobs,
        source,
        work,
    }
}

/// The strategy of this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    STRATEGIES.iter().find(|entry| entry.name == name)
}

/// The strategy of this name, for names that are known at compile time: `const { get("auto") }`. Another one does not compile.
pub const fn get(name: &str) -> &'static Entry {
    let mut at = 0;
    while at < STRATEGIES.len() {
        if is_same(STRATEGIES[at].name, name) {
            return &STRATEGIES[at];
        }
        at += 1;
    }
    panic!("no strategy has this name")
}

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// The contestants of a contest.
pub fn contestants(contest: Contest) -> impl Iterator<Item = &'static Entry> {
    STRATEGIES.iter().filter(move |entry| entry.is_block() && entry.takes_part(contest))
}

impl Entry {
    /// Whether it takes this.
    pub fn takes(&self, input: Input) -> bool {
        self.takes.contains(&input)
    }

    /// Whether it takes part in this.
    pub fn takes_part(&self, contest: Contest) -> bool {
        self.contests.contains(&contest)
    }

    /// Whether it is the best of others.
    pub const fn is_contest(&self) -> bool {
        matches!(self.work, Work::Contest)
    }

    /// Whether its orders come from the user.
    pub const fn is_given(&self) -> bool {
        matches!(self.work, Work::Orders)
    }

    /// Whether it orders a block by itself.
    pub const fn is_block(&self) -> bool {
        matches!(self.work, Work::Block(_))
    }

    /// Whether it keeps the original order.
    pub fn keeps(&self) -> bool {
        self.taken == Taken::Never
    }

    /// Whether it is for machine code alone: it looks at what instructions take of a sub-core.
    pub fn is_for_machine_code(&self) -> bool {
        self.takes == BINARY
    }

    /// Orders a block; none where that lacks something that the strategy looks at, or where this is no strategy of blocks.
    pub fn order(&self, request: &Request<'_>) -> Option<Schedule> {
        match self.work {
            Work::Block(make) => make(request),
            Work::Orders | Work::Contest | Work::Agents => None,
        }
    }

    /// What it takes, in words; none where that is everything with blocks.
    pub fn restriction(&self) -> Option<String> {
        let names: Vec<&str> = self.takes.iter().map(|input| input.name()).collect();
        (self.takes != CODE).then(|| names.join(" and "))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.name == other.name
    }
}

impl Eq for Entry {}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_described() {
        for (at, entry) in STRATEGIES.iter().enumerate() {
            assert_eq!(find(entry.name), Some(entry));
            assert_eq!(STRATEGIES.iter().position(|other| other == entry), Some(at), "{entry:?}");
            assert!(!entry.summary.is_empty() && !entry.source.is_empty() && !entry.takes.is_empty());
            assert!(entry.summary.len() <= 100 && !entry.summary.ends_with('.'), "{entry:?}");
        }
    }

    #[test]
    fn contests_have_contestants_that_take_their_code() {
        for (contest, input) in [
            (Contest::Auto, Input::Ptx),
            (Contest::Auto, Input::Text),
            (Contest::Loops, Input::Binary),
            (Contest::Windows, Input::Binary),
            (Contest::Stores, Input::Binary),
            (Contest::LoadsEarly, Input::Binary),
        ] {
            assert!(contestants(contest).count() > 0, "{contest:?}");
            assert!(contestants(contest).all(|entry| entry.takes(input)), "{contest:?}");
        }
    }
}
