//! Code of an outside compiler, made ready for the engine: its own operations, edges and resources, and the values that
//! operations write and read as plain numbers. No instruction of a GPU is needed.
//!
//! A [`Problem`] is enough for the strategies that look at no register: it is a [`Block`] without values. Those that do
//! want defs and uses too.
//!
//! ```
//! use sassafras_list::strategies::{Boosted, ListBurr, Terms};
//! use sassafras_list::{Block, Direction::BottomUp, Input};
//! use sassafras_problem::{Op, Problem};
//!
//! /// Two loads, what is made of each, and the sum: an operation's number is that of the value that it writes.
//! struct Sum(Problem);
//! impl Block for Sum {
//!     fn problem(&self) -> &Problem { &self.0 }
//!     fn defs(&self, op: Op) -> impl Iterator<Item = u32> { [op.as_u32()].into_iter() }
//!     fn uses(&self, op: Op) -> impl Iterator<Item = u32> {
//!         [&[][..], &[], &[0], &[1], &[2, 3]][op.as_u32() as usize].iter().copied()
//!     }
//! }
//! let mut p = Problem::new();
//! let ops = ["load a", "load b", "use a", "use b", "sum"].map(|name| p.add_op(name, vec![]));
//! [(0, 2), (1, 3), (2, 4), (3, 4)].map(|(from, to)| p.add_edge(ops[from], ops[to], 9, 0));
//! let input = Input::new(&Sum(p))?;
//! let mut few_registers = ListBurr::new(input.graph(), input.values(), Boosted::default(), Terms::default());
//! let order = input.schedule(BottomUp, &mut few_registers).order;
//! assert_eq!(order, [0, 2, 1, 3, 4].map(|at| ops[at]));
//! # Ok::<(), sassafras_list::InputError>(())
//! ```

use crate::engine::{self, Pick, Statistics};
use crate::resources::{Demand, ResourceError, Resources, Unit};
use crate::strategy::{Direction, Strategy};
use crate::timing::time;
use crate::values::{Value, Values};
use rustc_hash::FxHashMap;
use sassafras_problem::graph::{Edge, EdgeKind, End, Graph, Node};
use sassafras_problem::paths::Paths;
use sassafras_problem::pattern::fold;
use sassafras_problem::{Op, Problem, ProblemError, Violation, verify_order};
use std::iter;
use thiserror::Error;

/// Straight-line code of a caller: operations without order but for their edges.
///
/// A value is a number of the caller's choosing. One operation writes it, or none where the code begins with it; a
/// register that is written twice holds two values. Everything about values may stay as it is where no strategy looks at
/// registers: a [`Problem`] alone is a block.
pub trait Block {
    /// Operations, edges and resources. What must not start beside others, as on a machine that issues one operation per
    /// cycle, holds a resource for it.
    fn problem(&self) -> &Problem;

    /// The values that an operation writes.
    fn defs(&self, _op: Op) -> impl Iterator<Item = u32> {
        iter::empty()
    }

    /// The values that an operation reads. From the one that writes it an edge of distance 0 leads here.
    fn uses(&self, _op: Op) -> impl Iterator<Item = u32> {
        iter::empty()
    }

    /// The values that are wanted behind the code.
    fn live_out(&self) -> impl Iterator<Item = u32> {
        iter::empty()
    }

    /// How many registers a value takes of the file that runs short; 0 for a value of another file.
    fn width(&self, _value: u32) -> u16 {
        1
    }

    /// Whether a value has its register already.
    fn is_physical(&self, _value: u32) -> bool {
        false
    }
}

impl Block for Problem {
    fn problem(&self) -> &Problem {
        self
    }
}

/// Why the engine cannot take a block.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InputError {
    /// The problem makes no sense.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// The operations of one iteration wait for each other, be it for no time at all: no order has each behind what it
    /// waits for.
    #[error("operation `{op}` waits for itself within an iteration")]
    Circle {
        /// One of those operations.
        op: String,
    },
    /// An edge beyond what a graph holds.
    #[error(
        "edge {edge} has latency {latency} and distance {distance}; an order takes up to {} and {}",
        u16::MAX,
        u8::MAX
    )]
    Edge {
        /// Position in [`Problem::edges`].
        edge: usize,
        /// Its latency.
        latency: i32,
        /// Its distance.
        distance: u32,
    },
    /// A use beyond what the engine counts.
    #[error("operation `{op}` holds `{resource}` for {rows} cycles; an order takes up to {}", u16::MAX)]
    Use {
        /// The operation's name.
        op: String,
        /// The resource's name.
        resource: String,
        /// For how long.
        rows: u64,
    },
    /// More kinds of resources, or of patterns, than the engine counts.
    #[error("there are more than {} kinds of resources or reservation patterns", u16::MAX)]
    TooMany,
    /// A value that two operations write.
    #[error("value {value} is written by `{first}` and by `{second}`")]
    WrittenTwice {
        /// The value.
        value: u32,
        /// Who writes it.
        first: String,
        /// Who writes it too.
        second: String,
    },
    /// A value that is read without an edge from its writer.
    #[error(
        "value {value} is written by `{def}` and read by `{user}`, without an edge of distance 0 between them"
    )]
    NoEdge {
        /// The value.
        value: u32,
        /// Who writes it.
        def: String,
        /// Who reads it.
        user: String,
    },
    /// The engine refused the resources.
    #[error(transparent)]
    Resources(#[from] ResourceError),
}

/// A block made ready: what strategies are made from, and what the engine takes. Operations are nodes in an order that
/// their edges allow, otherwise as they were added.
#[derive(Clone, Debug)]
pub struct Input {
    ops: Vec<Op>,
    graph: Graph,
    paths: Paths,
    resources: Resources,
    values: Values,
}

/// An order, with when each operation starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ordered {
    /// The operations in their new order.
    pub order: Vec<Op>,
    /// When each operation starts, in the order of [`Problem::ops`].
    pub times: Vec<i64>,
    /// The decisions, in the order they were taken; [`Input::op`] has the operation of a node.
    pub picks: Vec<Pick>,
    /// Counters.
    pub statistics: Statistics,
}

impl Ordered {
    /// Whether the order and its times solve `problem`: [`verify_order`], which shares nothing with the engine.
    ///
    /// # Errors
    /// The first constraint that is broken.
    pub fn verify(&self, problem: &Problem) -> Result<(), Violation> {
        verify_order(problem, &self.order, &self.times)
    }
}

impl Input {
    /// Makes a block ready.
    ///
    /// The engine is simpler than a problem, and always on the safe side of it. An operation holds what it uses of a
    /// resource from its start to the end of the last use, with the most units that it needs at once; of a resource that
    /// some operation wants several units of, all take as many. A negative latency counts as 0. Edges that carry a value
    /// are [`EdgeKind::Raw`]; in a block without values, and between iterations, those that take time are.
    ///
    /// Costs a few sorts of the edges, uses and values.
    ///
    /// # Errors
    /// What makes no sense, and what the engine has no room for.
    pub fn new<B: Block>(block: &B) -> Result<Input, InputError> {
        let problem = block.problem();
        problem.check()?;
        let defs = defs(block)?;
        let edges = edges(block, &defs)?;
        // Once to find an order of the operations, and once with the nodes numbered in it.
        let count = problem.ops().len() as u32;
        let Some(unordered) = Graph::of_edges(count, edges.clone()) else {
            return Err(InputError::Circle { op: on_a_circle(problem) });
        };
        let ops: Vec<Op> = unordered.topological().iter().map(|n| Op::from_u32(n.0)).collect();
        let mut node_of = vec![Node(0); ops.len()];
        for (node, op) in (0..).zip(&ops) {
            node_of[op.as_u32() as usize] = Node(node);
        }
        let renumbered = edges.into_iter().map(|e| {
            let (from, to) = (node_of[e.from.index()], node_of[e.to.index()]);
            Edge { from, to, ..e }
        });
        let graph = Graph::of_edges(count, renumbered.collect()).unwrap_or(unordered);
        let values = values(block, &ops, &defs, &graph, &node_of)?;
        let resources = resources(problem, &ops)?;
        Ok(Input { ops, paths: Paths::new(&graph), graph, resources, values })
    }

    /// The dependences.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The values, for strategies that look at registers.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// The operation of a node.
    pub fn op(&self, node: Node) -> Option<Op> {
        self.ops.get(node.index()).copied()
    }

    /// Orders the block by a strategy, and times the order on the clock of [`time`].
    pub fn schedule<S: Strategy>(&self, direction: Direction, strategy: &mut S) -> Ordered {
        let found = engine::schedule(&self.graph, &self.paths, &self.resources, direction, strategy);
        let start = time(&self.graph, &self.resources, &found.order).start;
        let mut times = vec![0; self.ops.len()];
        for (op, start) in self.ops.iter().zip(start) {
            times[op.as_u32() as usize] = i64::try_from(start).unwrap_or(i64::MAX);
        }
        let order = found.order.iter().map(|n| self.ops[n.index()]).collect();
        Ordered { order, times, picks: found.picks, statistics: found.statistics }
    }
}

/// Who writes each value.
fn defs<B: Block>(block: &B) -> Result<FxHashMap<u32, Op>, InputError> {
    let problem = block.problem();
    let mut defs = FxHashMap::default();
    for op in problem.ops() {
        for value in block.defs(op) {
            if let Some(first) = defs.insert(value, op) {
                let [first, second] = [first, op].map(|op| problem.name(op).to_owned());
                return Err(InputError::WrittenTwice { value, first, second });
            }
        }
    }
    Ok(defs)
}

fn edges<B: Block>(block: &B, defs: &FxHashMap<u32, Op>) -> Result<Vec<Edge>, InputError> {
    let problem = block.problem();
    let edge = |(edge, e): (usize, &sassafras_problem::Edge)| {
        let wrong = || InputError::Edge { edge, latency: e.latency, distance: e.distance };
        let carries = || block.uses(e.to).any(|value| defs.get(&value) == Some(&e.from));
        let data = if e.distance == 0 && !defs.is_empty() { carries() } else { e.latency > 0 };
        Ok(Edge {
            from: Node(e.from.as_u32()),
            to: Node(e.to.as_u32()),
            latency: u16::try_from(e.latency.max(0)).map_err(|_| wrong())?,
            kind: if data { EdgeKind::Raw } else { EdgeKind::Order },
            distance: u8::try_from(e.distance).map_err(|_| wrong())?,
            from_end: End::NONE,
            to_end: End::NONE,
        })
    };
    // No operation waits for itself within an iteration: the problem has been checked.
    let other = |(_, e): &(usize, &sassafras_problem::Edge)| e.from != e.to || e.distance > 0;
    problem.edges().iter().enumerate().filter(other).map(edge).collect()
}

/// The name of an operation that waits for itself through edges of distance 0.
fn on_a_circle(problem: &Problem) -> String {
    // What waits for nothing is taken away until all that is left waits for something that is left: walking back from there
    // goes around.
    let mut left = vec![0u32; problem.ops().len()];
    let here = || problem.edges().iter().filter(|e| e.distance == 0);
    here().for_each(|e| left[e.to.as_u32() as usize] += 1);
    let mut before: Vec<Vec<Op>> = vec![Vec::new(); left.len()];
    let mut behind = before.clone();
    for e in here() {
        before[e.to.as_u32() as usize].push(e.from);
        behind[e.from.as_u32() as usize].push(e.to);
    }
    let mut free: Vec<Op> = problem.ops().filter(|op| left[op.as_u32() as usize] == 0).collect();
    while let Some(op) = free.pop() {
        for &to in &behind[op.as_u32() as usize] {
            left[to.as_u32() as usize] -= 1;
            free.extend((left[to.as_u32() as usize] == 0).then_some(to));
        }
    }
    let waits = |op: &Op| left[op.as_u32() as usize] > 0;
    let mut at = problem.ops().find(waits);
    for _ in 0..left.len() {
        at = at.and_then(|op| before[op.as_u32() as usize].iter().copied().find(waits));
    }
    at.map_or("?", |op| problem.name(op)).to_owned()
}

fn values<B: Block>(
    block: &B,
    ops: &[Op],
    defs: &FxHashMap<u32, Op>,
    graph: &Graph,
    node_of: &[Node],
) -> Result<Values, InputError> {
    let problem = block.problem();
    let mut values = Values::new();
    let mut known: FxHashMap<u32, Value> = FxHashMap::default();
    let enter = |values: &mut Values, value| values.enters(block.width(value), block.is_physical(value));
    for &op in ops {
        let mut reads = Vec::new();
        for value in block.uses(op) {
            if let Some(&def) = defs.get(&value) {
                let def_node = node_of[def.as_u32() as usize];
                let here = graph.preds_here(node_of[op.as_u32() as usize]);
                if here.map(|e| e.from).all(|from| from != def_node) {
                    let [def, user] = [def, op].map(|op| problem.name(op).to_owned());
                    return Err(InputError::NoEdge { value, def, user });
                }
            }
            reads.push(*known.entry(value).or_insert_with(|| enter(&mut values, value)));
        }
        reads.sort_unstable();
        reads.dedup();
        let written: Vec<u32> = block.defs(op).collect();
        let first = values.node(&reads, written.iter().map(|&v| (block.width(v), block.is_physical(v))));
        known.extend(written.into_iter().enumerate().map(|(number, value)| (value, first.after(number))));
    }
    for value in block.live_out() {
        let value = *known.entry(value).or_insert_with(|| enter(&mut values, value));
        values.leaves(value);
    }
    values.finish();
    Ok(values)
}

/// What every operation holds of each resource: the most units at once, and until when.
fn resources(problem: &Problem, ops: &[Op]) -> Result<Resources, InputError> {
    // By resource: the most that an operation wants, and how many operations want it.
    let mut wanted = vec![(1u64, 0u64); problem.resources().len()];
    let mut holds: Vec<Vec<(u16, u16)>> = Vec::with_capacity(ops.len());
    for &op in ops {
        let mut held: Vec<(u16, u16)> = Vec::new();
        for s in fold(problem.uses(op), problem.span(op).max(1) as u32) {
            let at = s.resource.as_u32();
            let unit = u16::try_from(at).map_err(|_| InputError::TooMany)?;
            let most = &mut wanted[at as usize].0;
            *most = s.units.max(*most);
            let end = u64::from(s.start) + u64::from(s.rows);
            let rows = u16::try_from(end).map_err(|_| InputError::Use {
                op: problem.name(op).to_owned(),
                resource: problem.resource_name(s.resource).to_owned(),
                rows: end,
            })?;
            // Segments come by resource and row.
            match held.last_mut() {
                Some(last) if last.0 == unit => last.1 = rows,
                _ => {
                    held.push((unit, rows));
                    wanted[at as usize].1 += 1;
                }
            }
        }
        holds.push(held);
    }
    let mut binds = Vec::with_capacity(wanted.len());
    let mut units = Vec::with_capacity(wanted.len());
    for (resource, (most, users)) in problem.resources().zip(wanted) {
        let copies = u64::from(problem.capacity(resource)) / most;
        // What there is enough of for all operations at once is left out.
        binds.push(copies < users);
        units.push(Unit {
            name: problem.resource_name(resource).to_owned(),
            copies: copies.min(users) as u32,
        });
    }
    let mut demands: Vec<Demand> = Vec::new();
    let mut known: FxHashMap<Vec<(u16, u16)>, u16> = FxHashMap::default();
    let mut class_of = Vec::with_capacity(ops.len());
    for mut held in holds {
        held.retain(|&(unit, _)| binds[usize::from(unit)]);
        let next = u16::try_from(demands.len()).map_err(|_| InputError::TooMany);
        class_of.push(match known.get(&held) {
            Some(&class) => class,
            None => {
                demands.push(Demand { units: held.clone() });
                *known.entry(held).or_insert(next?)
            }
        });
    }
    Ok(Resources::new(u32::MAX, units, demands, class_of)?)
}
