//! What a strategy is made from: a block made ready by a front-end, and what is asked for.

use crate::strategies::{Boosted, Terms};
use crate::strategy::{Direction, Strategy};
use crate::{Resources, Schedule, Values, naive, schedule};
use sassafras_ir::Span;
use sassafras_machine::dispatch::Pipe;
use sassafras_problem::graph::{Graph, Node};
use sassafras_problem::paths::Paths;

/// A block made ready for scheduling.
pub trait Prepared {
    /// The dependences.
    fn graph(&self) -> &Graph;

    /// Depths and heights.
    fn paths(&self) -> &Paths;

    /// What every node occupies.
    fn resources(&self) -> &Resources;

    /// Which values nodes write and read; none where they cannot be had.
    fn values(&self) -> Option<&Values>;

    /// Asynchronous tensor copies, which should start early.
    fn boosted(&self) -> &[Node];

    /// What nodes take of a sub-core; none for code that is not machine code.
    fn sub_core(&self) -> Option<&dyn SubCore>;
}

/// What the instructions of a block of machine code take of the sub-core that they run on.
pub trait SubCore {
    /// Whether it moves data, and does no arithmetic.
    fn is_transfer(&self, node: Node) -> bool;

    /// Whether it loads from global memory.
    fn is_global_load(&self, node: Node) -> bool;

    /// Cycles that it counts for where arithmetic is weighed against transfers.
    fn cycles(&self, node: Node) -> u32;

    /// Pipes, each with the cycles that it takes.
    fn pipes(&self, node: Node) -> &[(Pipe, u16)];

    /// Source registers by reuse flag; none for operands that are read elsewhere.
    fn sources(&self, node: Node) -> [Option<Span>; 3];

    /// General registers written.
    fn writes(&self, node: Node) -> &[Span];

    /// The longest path to go, around the loop too.
    fn steady(&self, node: Node) -> i64;

    /// Cycles of the pipe that it keeps longest; one for an instruction without.
    fn cycles_of_pipe(&self, node: Node) -> u16 {
        self.pipes(node).iter().map(|&(_, cycles)| cycles).max().unwrap_or(0).max(1)
    }
}

/// Which engine runs a strategy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// The one of [`crate::engine`].
    #[default]
    Heaps,
    /// Its oracle, [`crate::naive`]: the same picks, in quadratic time. For tests.
    Naive,
}

/// Paths that differ by less than this count as equally long where something else matters more.
pub const WINDOW: i64 = 64;

/// A block, and how it is to be ordered.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The block.
    pub block: &'a dyn Prepared,
    /// Switches of the strategies.
    pub terms: Terms,
    /// From which end, for strategies that can grow from either.
    pub direction: Direction,
    /// The seed of a random order.
    pub seed: u64,
    /// Paths that differ by less than this count as equally long where something else matters more.
    pub window: i64,
    /// Which engine.
    pub engine: Engine,
}

impl<'a> Request<'a> {
    /// A block to be ordered from the beginning, with everything as it is by default.
    pub fn new(block: &'a dyn Prepared) -> Request<'a> {
        Request {
            block,
            terms: Terms::default(),
            direction: Direction::TopDown,
            seed: 0,
            window: WINDOW,
            engine: Engine::Heaps,
        }
    }

    /// The dependences.
    pub fn graph(&self) -> &'a Graph {
        self.block.graph()
    }

    /// What nodes take of a sub-core.
    pub fn machine(&self) -> Option<&'a dyn SubCore> {
        self.block.sub_core()
    }

    /// Which values nodes write and read.
    pub fn values(&self) -> Option<&'a Values> {
        self.block.values()
    }

    /// Asynchronous tensor copies.
    pub fn boosted(&self) -> Boosted {
        Boosted::new(self.graph(), self.block.boosted().iter().copied())
    }

    /// Runs a strategy, which grows from the end that the user asks for.
    pub fn either<S: Strategy>(&self, strategy: S) -> Option<Schedule> {
        self.run(self.direction, strategy)
    }

    /// Runs a strategy that grows from the first instruction on.
    pub fn down<S: Strategy>(&self, strategy: S) -> Option<Schedule> {
        self.run(Direction::TopDown, strategy)
    }

    /// Runs a strategy that grows from the last instruction back.
    pub fn up<S: Strategy>(&self, strategy: S) -> Option<Schedule> {
        self.run(Direction::BottomUp, strategy)
    }

    fn run<S: Strategy>(&self, direction: Direction, mut strategy: S) -> Option<Schedule> {
        let (graph, paths, resources) = (self.block.graph(), self.block.paths(), self.block.resources());
        Some(match self.engine {
            Engine::Heaps => schedule(graph, paths, resources, direction, &mut strategy),
            Engine::Naive => naive::schedule(graph, paths, resources, direction, &mut strategy),
        })
    }
}
