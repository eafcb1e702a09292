//! What a heuristic is.

use sassafras_problem::graph::{Graph, Node};
use sassafras_problem::paths::Paths;

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
    /// Those whose operands are there in the present cycle; the clock moves when there are none, or to where the unit of the
    /// chosen one is free.
    Fed,
    /// All whose predecessors have been placed; the clock moves to where the chosen one can start.
    Released,
}

/// What decides between candidates of equal keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// Source order, seen from the end that the schedule grows from.
    Source,
    /// Who was released after fewer picks, then source order.
    Release,
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

    /// What decides between equal keys, smaller first, for a node that was released after so many picks of its region.
    pub(crate) fn tie(&self, ties: Ties, node: Node, picks: u32) -> u64 {
        let source = match self.direction {
            Direction::TopDown => node.0,
            Direction::BottomUp => u32::MAX - node.0,
        };
        let released = if ties == Ties::Release { picks } else { 0 };
        (u64::from(released) << 32) | u64::from(source)
    }
}

/// What [`crate::registry`] says of a strategy.
pub trait Described: Strategy {
    /// What it does, in one line.
    const SUMMARY: &'static str;
    /// The knobs that it reads.
    const KNOBS: &'static [&'static str] = &[];
    /// Where it comes from.
    const SOURCE: &'static str;
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

/// A candidate as it stands at a pick.
#[derive(Clone, Copy, Debug)]
pub struct Offer<K> {
    /// Which.
    pub node: Node,
    /// Its key, as [`Strategy::offered`] gives it.
    pub key: K,
    /// Whether its unit is free.
    pub free: bool,
}

/// Ranks candidates.
///
/// A key is a row of numbers compared from the left, larger first; [`Strategy::COMPONENTS`] names them, and the name of
/// the first that differs from the next best candidate is the reason of a pick. Equal keys fall back to source order.
///
/// What a key depends on decides how it is kept up to date, so that a pick costs O(log n) and yet equals one that looks at all
/// candidates anew: what follows from picks is asked for again where [`Strategy::placed`] or [`Strategy::clock`] names the node;
/// what is the same for many candidates (a full register file, a busy unit) goes into [`Strategy::offered`].
pub trait Strategy {
    /// The key.
    type Key: Ord + Copy + AsRef<[i64]>;

    /// The name users choose it by.
    const NAME: &'static str;
    /// What the numbers of a key mean.
    const COMPONENTS: &'static [&'static str];
    /// Whether [`Strategy::group`] tells candidates apart.
    const GROUPED: bool = false;
    /// Whether [`Strategy::offered`] looks at units.
    const UNITS: bool = false;

    /// Which nodes it chooses from.
    fn candidates(&self) -> Candidates;

    /// Told before the first pick of a region, with all its nodes.
    fn begin(&mut self, _context: &Context<'_>, _region: usize, _nodes: &[Node]) {}

    /// Told when everything that a node waits for has been placed, with the first cycle it could start in.
    fn released(&mut self, _context: &Context<'_>, _node: Node, _ready: u64) {}

    /// The key of a node as of now, but for what [`Strategy::offered`] adds.
    fn key(&self, context: &Context<'_>, node: Node) -> Self::Key;

    /// What decides between equal keys.
    fn ties(&self) -> Ties {
        Ties::Source
    }

    /// Candidates of one group (and unit) keep their order under [`Strategy::offered`].
    fn group(&self, _context: &Context<'_>, _node: Node) -> i32 {
        0
    }

    /// A key at a pick. For one group and one state of the unit it must not change the order of keys.
    fn offered(&self, key: Self::Key, _group: i32, _free: bool) -> Self::Key {
        key
    }

    /// Told before a pick when the clock has moved; adds to `changed` like [`Strategy::placed`].
    fn clock(&mut self, _context: &Context<'_>, _cycle: u64, _changed: &mut Vec<Node>) {}

    /// Told of every pick and the cycle it starts in. A strategy whose keys depend on what was placed adds to `changed` the nodes
    /// whose key or group is another one now; the engine asks for them again.
    fn placed(&mut self, _context: &Context<'_>, _node: Node, _cycle: u64, _changed: &mut Vec<Node>) {}

    /// What made the difference to the next best candidate.
    fn decided(&self, _context: &Context<'_>, chosen: Offer<Self::Key>, next: Offer<Self::Key>) -> Reason {
        let differs = chosen.key.as_ref().iter().zip(next.key.as_ref()).position(|(a, b)| a != b);
        differs.map_or(Reason::SourceOrder, |i| Reason::Component(Self::COMPONENTS[i]))
    }
}
