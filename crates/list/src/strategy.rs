//! What a heuristic is.

use sassafras_deps::paths::Paths;
use sassafras_deps::{Graph, Node};

/// From which end the schedule grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the first instruction on.
    TopDown,
    /// From the last instruction back.
    BottomUp,
}

/// Which nodes a strategy chooses from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Candidates {
    /// Those that can start in the present cycle: operands there, unit free. The clock moves when there are none.
    Ready,
    /// All whose predecessors have been placed; the clock moves to where the chosen one can start.
    Released,
}

/// What a strategy may look at.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The dependences.
    pub graph: &'a Graph,
    /// Depths and heights.
    pub paths: &'a Paths,
    /// From which end the schedule grows.
    pub direction: Direction,
}

impl Context<'_> {
    /// The longest path from a node to the end that the schedule has not reached yet.
    pub fn to_go(&self, node: Node) -> u64 {
        match self.direction {
            Direction::TopDown => self.paths.height(node),
            Direction::BottomUp => self.paths.depth(node),
        }
    }
}

/// Why a node was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// Nothing else could go.
    OnlyChoice,
    /// This component of the key was larger than that of the next best.
    Component(&'static str),
    /// The keys were equal: source order decided.
    SourceOrder,
}

impl Reason {
    /// A short name for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Reason::OnlyChoice => "only choice",
            Reason::Component(name) => name,
            Reason::SourceOrder => "source order",
        }
    }
}

/// Ranks candidates.
///
/// A key is a row of numbers compared from the left, larger first; [`Strategy::COMPONENTS`] names them, and the name of
/// the first that differs from the next best candidate is the reason of a pick. Equal keys fall back to source order.
pub trait Strategy {
    /// The key.
    type Key: Ord + Copy + AsRef<[i64]>;

    /// The name users choose it by.
    const NAME: &'static str;
    /// What the numbers of a key mean.
    const COMPONENTS: &'static [&'static str];
    /// Which nodes it chooses from.
    const CANDIDATES: Candidates;

    /// The key of a node as of now.
    fn key(&self, context: &Context<'_>, node: Node) -> Self::Key;

    /// Told of every pick. A strategy whose keys depend on what was placed adds to `changed` the nodes whose key is
    /// another one now; the engine asks for them again.
    fn placed(&mut self, _context: &Context<'_>, _node: Node, _changed: &mut Vec<Node>) {}
}

/// The reason that a key beats the next best one.
pub(crate) fn reason<S: Strategy>(chosen: &S::Key, next: Option<&S::Key>) -> Reason {
    let Some(next) = next else {
        return Reason::OnlyChoice;
    };
    let differs = chosen.as_ref().iter().zip(next.as_ref()).position(|(a, b)| a != b);
    differs.map_or(Reason::SourceOrder, |i| Reason::Component(S::COMPONENTS[i]))
}
