//! Which strategy orders a block, and running it.

use crate::block::Prepared;
use sassafras_list::strategies::{
    Boosted, Converge, CriticalPath, IlpMax, IlpMin, ListBurr, ListHybrid, ListIlp, Original, Shuffle,
    Source, Terms,
};
use sassafras_list::{Direction, Schedule, Strategy, schedule};

/// Which strategy orders the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Keeps the order.
    Original,
    /// A random legal order.
    Shuffle {
        /// Chooses it.
        seed: u64,
    },
    /// The longest path first.
    CriticalPath,
    /// One of the seven of the list-schedulers document.
    List(List),
    /// The best of all by estimate, for each block.
    Auto,
}

/// The seven strategies of the list-schedulers document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// Few registers.
    Burr,
    /// Source order unless registers run out.
    Source,
    /// Latency and registers in balance.
    Hybrid,
    /// Six weighted terms.
    Ilp,
    /// Long latencies first.
    Converge,
    /// As much side by side as there is.
    IlpMax,
    /// As little side by side as can be.
    IlpMin,
}

impl List {
    /// All of them.
    pub const ALL: [List; 7] =
        [List::Burr, List::Source, List::Hybrid, List::Ilp, List::Converge, List::IlpMax, List::IlpMin];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            List::Burr => ListBurr::NAME,
            List::Source => Source::NAME,
            List::Hybrid => ListHybrid::NAME,
            List::Ilp => ListIlp::NAME,
            List::Converge => Converge::NAME,
            List::IlpMax => IlpMax::NAME,
            List::IlpMin => IlpMin::NAME,
        }
    }

    /// Whether it is one of those that run after register allocation.
    pub const fn is_post_allocation(self) -> bool {
        matches!(self, List::Converge | List::IlpMax | List::IlpMin)
    }
}

impl Choice {
    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Choice::Original => Original::NAME,
            Choice::Shuffle { .. } => Shuffle::NAME,
            Choice::CriticalPath => CriticalPath::NAME,
            Choice::List(list) => list.name(),
            Choice::Auto => "auto",
        }
    }
}

/// Orders a block. `direction` is for the strategies that can grow from either end.
pub(crate) fn run(block: &Prepared, choice: Choice, direction: Direction, terms: &Terms) -> Schedule {
    match choice {
        Choice::Original | Choice::Auto => block.with(direction, &mut Original),
        Choice::Shuffle { seed } => block.with(direction, &mut Shuffle { seed }),
        Choice::CriticalPath => block.with(direction, &mut CriticalPath),
        Choice::List(list) => listed(block, list, terms),
    }
}

fn listed(block: &Prepared, list: List, terms: &Terms) -> Schedule {
    use Direction::{BottomUp, TopDown};
    let (graph, values, terms) = (&block.graph, &block.values, *terms);
    let boosted = Boosted::new(graph, block.boosted.iter().copied());
    match list {
        List::Burr => block.with(BottomUp, &mut ListBurr::new(graph, values, boosted, terms)),
        List::Source => block.with(BottomUp, &mut Source::new(graph, values, boosted, terms)),
        List::Hybrid => block.with(BottomUp, &mut ListHybrid::new(graph, values, boosted, terms)),
        List::Ilp => block.with(BottomUp, &mut ListIlp::new(graph, values, boosted, terms)),
        List::Converge => block.with(TopDown, &mut Converge::new(graph, boosted, terms)),
        List::IlpMax => block.with(BottomUp, &mut IlpMax::new(graph, boosted, terms)),
        List::IlpMin => block.with(BottomUp, &mut IlpMin::new(graph, boosted, terms)),
    }
}

impl Prepared {
    fn with<S: Strategy>(&self, direction: Direction, strategy: &mut S) -> Schedule {
        schedule(&self.graph, &self.paths, &self.resources, direction, strategy)
    }
}
