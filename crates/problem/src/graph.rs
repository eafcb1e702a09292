//! Nodes and edges, with adjacency both ways.

use crate::problem::{Op, Problem, Use};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// A node: an instruction by its position in the region, or a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub u32);

impl Node {
    /// As an index into tables over nodes.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Why one node must precede another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum EdgeKind {
    /// Reads what the other wrote.
    Raw,
    /// Overwrites what the other read.
    War,
    /// Overwrites what the other wrote.
    Waw,
    /// Memory accesses that may touch the same bytes.
    Memory,
    /// One of the two is a branch, a call or not understood.
    Control,
    /// One of the two is a barrier or changes the set of running threads.
    Barrier,
    /// Both keep their order among ordered effects.
    Order,
}

impl EdgeKind {
    /// A short name.
    pub const fn name(self) -> &'static str {
        match self {
            EdgeKind::Raw => "raw",
            EdgeKind::War => "war",
            EdgeKind::Waw => "waw",
            EdgeKind::Memory => "memory",
            EdgeKind::Control => "control",
            EdgeKind::Barrier => "barrier",
            EdgeKind::Order => "order",
        }
    }
}

/// Which operand, and which lane of it, one end of a register edge is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct End {
    /// The operand's position (definitions first), [`End::GUARD`] or [`End::NONE`].
    pub operand: u8,
    /// The lane of the operand; 0 is the low half of a pair.
    pub part: u8,
}

impl End {
    /// The guard of the instruction.
    pub const GUARD: u8 = 254;
    /// No operand: the edge is not about a register.
    pub const NONE: End = End { operand: 255, part: 0 };
}

/// `to` may start `latency` cycles after `from` started, `distance` iterations later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// What comes first.
    pub from: Node,
    /// What has to wait.
    pub to: Node,
    /// How long, in the unit of the latency model.
    pub latency: u16,
    /// Why.
    pub kind: EdgeKind,
    /// In how many iterations of the loop around the region; 0 inside one iteration.
    pub distance: u8,
    /// The operand of `from`.
    pub from_end: End,
    /// The operand of `to`.
    pub to_end: End,
}

/// A dependence graph.
#[derive(Clone, Debug)]
pub struct Graph {
    insts: u32,
    /// In the order they were found: by the instruction that waits, nearly.
    edges: Vec<Edge>,
    succs: Adjacency,
    preds: Adjacency,
    topological: Vec<Node>,
    regions: Vec<Range<u32>>,
}

/// Positions in the list of edges, by node.
#[derive(Clone, Debug)]
struct Adjacency {
    /// Where each node's positions start; one entry more than there are nodes.
    start: Vec<u32>,
    edges: Vec<u32>,
}

impl Adjacency {
    /// Lists of the given lengths, to be filled.
    fn with_degrees(mut degrees: Vec<u32>) -> Adjacency {
        let mut sum = 0;
        for degree in &mut degrees {
            sum += std::mem::replace(degree, sum);
        }
        degrees.push(sum);
        Adjacency { start: degrees, edges: vec![0; sum as usize] }
    }

    /// Puts an edge behind those that its node has already; `start` is its next free place while lists are filled.
    fn push(&mut self, node: Node, edge: u32) {
        let slot = &mut self.start[node.index()];
        self.edges[*slot as usize] = edge;
        *slot += 1;
    }

    /// Every `start` now stands where the next node's list starts: moves them back by one node.
    fn finish(&mut self) {
        self.start.pop();
        self.start.insert(0, 0);
    }

    fn of(&self, node: Node) -> &[u32] {
        &self.edges[self.start[node.index()] as usize..self.start[node.index() + 1] as usize]
    }

    fn bytes(&self) -> usize {
        size_of_val(self.start.as_slice()) + size_of_val(self.edges.as_slice())
    }
}

impl Graph {
    /// Makes adjacency lists in one pass over the edges, whose numbers per node are known: `degrees` are those leaving
    /// and entering each node. `join_places[j]` is the instruction that join `insts + j` stands just before; edges of one
    /// iteration lead forward in that order. For builders that count while they walk; others have [`Graph::of_edges`].
    ///
    /// # Panics
    /// When the degrees are not those of the edges.
    pub fn new(
        insts: u32,
        join_places: &[u32],
        edges: Vec<Edge>,
        degrees: (Vec<u32>, Vec<u32>),
        regions: Vec<Range<u32>>,
    ) -> Graph {
        Graph::assemble(insts, merge_joins(insts, join_places), edges, degrees, regions)
    }

    /// The graph of these edges, one region. Nodes come in the order of their numbers as far as the edges of one iteration
    /// allow; none where those go around in a circle, or name nodes from `insts` on.
    pub fn of_edges(insts: u32, edges: Vec<Edge>) -> Option<Graph> {
        if edges.iter().any(|e| e.from.0 >= insts || e.to.0 >= insts) {
            return None;
        }
        let degrees = degrees(insts as usize, &edges);
        let regions = (insts > 0).then_some(0..insts).into_iter().collect();
        let mut graph = Graph::assemble(insts, (0..insts).map(Node).collect(), edges, degrees, regions);
        graph.topological = graph.sorted()?;
        Some(graph)
    }

    /// Adds the graph to a problem: an operation for every node, in their order, joins included, and an edge for every
    /// edge, in theirs. `describe` gives an operation its name and what it holds. Returns the operation of node 0; the
    /// others follow.
    ///
    /// A join is an operation that holds nothing and takes no time of its own: its edges carry the latencies. So every
    /// path between instructions has the length that it has in the graph, and a schedule of the problem with the joins
    /// left out keeps all instructions as far apart as they must be; conversely a join fits in wherever instructions are,
    /// at the latest of what it waits for.
    pub fn add_to(&self, problem: &mut Problem, mut describe: impl FnMut(Node) -> (String, Vec<Use>)) -> Op {
        let first = problem.ops().len() as u32;
        for node in (0..self.node_count() as u32).map(Node) {
            let (name, uses) = describe(node);
            problem.add_op(name, uses);
        }
        let op = |node: Node| Op::from_u32(first + node.0);
        for e in &self.edges {
            problem.add_edge(op(e.from), op(e.to), i32::from(e.latency), u32::from(e.distance));
        }
        op(Node(0))
    }

    /// An order of the instructions with their starts, and the joins put in: each just behind the last node that it waits
    /// for, at the latest time that those ask for. `start` is by instruction. For [`verify_order`](crate::verify_order) on
    /// the problem that the graph [becomes](Graph::add_to).
    ///
    /// Instructions that `order` leaves out stay out; the checker says so.
    pub fn with_joins(&self, order: &[Node], start: &[u64]) -> (Vec<Node>, Vec<u64>) {
        // By node: 0 at the beginning, otherwise the place of an instruction.
        let mut places = vec![0u32; self.node_count()];
        let mut times = vec![0u64; self.node_count()];
        for (place, node) in (1..).zip(order) {
            if let Some(at) = places.get_mut(node.index()) {
                *at = place;
            }
        }
        for (time, &start) in times.iter_mut().zip(start) {
            *time = start;
        }
        let mut joins = Vec::new();
        for &join in self.topological.iter().filter(|n| self.is_join(**n)) {
            for e in self.preds_here(join) {
                places[join.index()] = places[join.index()].max(places[e.from.index()]);
                times[join.index()] = times[join.index()].max(times[e.from.index()] + u64::from(e.latency));
            }
            joins.push(join);
        }
        // Instructions in front of the joins of their place, and those as they feed each other.
        let mut whole: Vec<Node> = order.iter().copied().chain(joins).collect();
        whole.sort_by_key(|n| (places.get(n.index()).copied().unwrap_or(0), self.is_join(*n)));
        (whole, times)
    }

    fn assemble(
        insts: u32,
        topological: Vec<Node>,
        edges: Vec<Edge>,
        (leaving, entering): (Vec<u32>, Vec<u32>),
        regions: Vec<Range<u32>>,
    ) -> Graph {
        let mut succs = Adjacency::with_degrees(leaving);
        let mut preds = Adjacency::with_degrees(entering);
        for (i, edge) in edges.iter().enumerate() {
            succs.push(edge.from, i as u32);
            preds.push(edge.to, i as u32);
        }
        succs.finish();
        preds.finish();
        Graph { insts, edges, succs, preds, topological, regions }
    }

    /// The same nodes with only these edges (positions in [`Graph::edges`]).
    #[must_use]
    pub fn with_edges(&self, kept: &[u32]) -> Graph {
        let edges: Vec<Edge> = kept.iter().map(|&e| self.edges[e as usize]).collect();
        let degrees = degrees(self.node_count(), &edges);
        Graph::assemble(self.insts, self.topological.clone(), edges, degrees, self.regions.clone())
    }

    /// The same graph with more orders between nodes, which may go against the program's; none if that cannot be.
    #[must_use]
    pub fn with_orders(&self, orders: &[(Node, Node)]) -> Option<Graph> {
        let mut edges = self.edges.clone();
        edges.extend(orders.iter().map(|&(from, to)| Edge {
            from,
            to,
            latency: 0,
            kind: EdgeKind::Order,
            distance: 0,
            from_end: End::NONE,
            to_end: End::NONE,
        }));
        let degrees = degrees(self.node_count(), &edges);
        let mut graph =
            Graph::assemble(self.insts, self.topological.clone(), edges, degrees, self.regions.clone());
        graph.topological = graph.sorted()?;
        Some(graph)
    }

    /// The same graph in which what waits for one of these nodes waits at least so long.
    #[must_use]
    pub fn with_latency(mut self, nodes: &[Node], latency: u16) -> Graph {
        for &node in nodes {
            for at in self.succs.of(node).to_vec() {
                let edge = &mut self.edges[at as usize];
                edge.latency = edge.latency.max(latency);
            }
        }
        self
    }

    /// Every node after all its predecessors, otherwise in the order that they have now; none if there is no such order.
    fn sorted(&self) -> Option<Vec<Node>> {
        let mut place = vec![0u32; self.node_count()];
        for (at, node) in (0..).zip(&self.topological) {
            place[node.index()] = at;
        }
        let mut missing: Vec<usize> =
            (0..self.node_count() as u32).map(|node| self.preds_here(Node(node)).count()).collect();
        let mut ready: BinaryHeap<Reverse<u32>> = self
            .topological
            .iter()
            .filter(|node| missing[node.index()] == 0)
            .map(|node| Reverse(place[node.index()]))
            .collect();
        let mut sorted = Vec::with_capacity(self.node_count());
        while let Some(Reverse(at)) = ready.pop() {
            let node = self.topological[at as usize];
            sorted.push(node);
            for edge in self.succs_here(node) {
                missing[edge.to.index()] -= 1;
                if missing[edge.to.index()] == 0 {
                    ready.push(Reverse(place[edge.to.index()]));
                }
            }
        }
        (sorted.len() == self.node_count()).then_some(sorted)
    }

    /// How many instructions the region has; they are the nodes from 0 on.
    pub fn inst_count(&self) -> usize {
        self.insts as usize
    }

    /// How many nodes there are, joins included.
    pub fn node_count(&self) -> usize {
        self.topological.len()
    }

    /// The instructions as nodes, in program order.
    pub fn insts(&self) -> impl DoubleEndedIterator<Item = Node> + ExactSizeIterator + use<> {
        (0..self.insts).map(Node)
    }

    /// Whether a node stands for no instruction.
    pub fn is_join(&self, node: Node) -> bool {
        node.0 >= self.insts
    }

    /// All edges.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// All edges, by the node that they leave: the order for people.
    pub fn edges_by_node(&self) -> impl Iterator<Item = &Edge> {
        (0..self.node_count() as u32).flat_map(|n| self.succs(Node(n)))
    }

    /// The edges that leave a node, as positions in [`Graph::edges`].
    pub fn succ_edges(&self, node: Node) -> &[u32] {
        self.succs.of(node)
    }

    /// The edges that leave a node.
    pub fn succs(&self, node: Node) -> impl ExactSizeIterator<Item = &Edge> {
        self.succs.of(node).iter().map(|&i| &self.edges[i as usize])
    }

    /// The edges that enter a node.
    pub fn preds(&self, node: Node) -> impl ExactSizeIterator<Item = &Edge> {
        self.preds.of(node).iter().map(|&i| &self.edges[i as usize])
    }

    /// The edges that leave a node inside one iteration.
    pub fn succs_here(&self, node: Node) -> impl Iterator<Item = &Edge> {
        self.succs(node).filter(|e| e.distance == 0)
    }

    /// The edges that enter a node inside one iteration.
    pub fn preds_here(&self, node: Node) -> impl Iterator<Item = &Edge> {
        self.preds(node).filter(|e| e.distance == 0)
    }

    /// Every node after all its predecessors of the same iteration: program order, with joins put in.
    pub fn topological(&self) -> &[Node] {
        &self.topological
    }

    /// Stretches of instructions between those that nothing moves across; each of those is a stretch of its own.
    pub fn regions(&self) -> &[Range<u32>] {
        &self.regions
    }

    /// The memory that the graph holds.
    pub fn bytes(&self) -> usize {
        size_of_val(self.edges.as_slice())
            + self.succs.bytes()
            + self.preds.bytes()
            + size_of_val(self.topological.as_slice())
            + size_of_val(self.regions.as_slice())
    }
}

/// How many edges leave and enter each node.
fn degrees(nodes: usize, edges: &[Edge]) -> (Vec<u32>, Vec<u32>) {
    let mut degrees = (vec![0; nodes], vec![0; nodes]);
    for edge in edges {
        degrees.0[edge.from.index()] += 1;
        degrees.1[edge.to.index()] += 1;
    }
    degrees
}

/// Program order with every join just before the instruction that it was made for.
fn merge_joins(insts: u32, join_places: &[u32]) -> Vec<Node> {
    let mut joins: Vec<(u32, Node)> =
        join_places.iter().enumerate().map(|(j, &before)| (before, Node(insts + j as u32))).collect();
    // Stable by place: a join that feeds another one was made before it.
    joins.sort_by_key(|&(before, _)| before);
    let mut order = Vec::with_capacity(insts as usize + joins.len());
    let mut joins = joins.into_iter().peekable();
    for inst in 0..insts {
        while let Some((_, join)) = joins.next_if(|&(before, _)| before <= inst) {
            order.push(join);
        }
        order.push(Node(inst));
    }
    order.extend(joins.map(|(_, join)| join));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: u32, to: u32, latency: u16, distance: u8) -> Edge {
        let kind = EdgeKind::Raw;
        Edge {
            from: Node(from),
            to: Node(to),
            latency,
            kind,
            distance,
            from_end: End::NONE,
            to_end: End::NONE,
        }
    }

    #[test]
    fn edges_may_go_against_the_numbers_but_not_around() {
        let graph = Graph::of_edges(3, vec![edge(2, 0, 1, 0), edge(0, 2, 9, 1)]).expect("a graph");
        assert_eq!(graph.topological(), [Node(1), Node(2), Node(0)]);
        assert_eq!(graph.succs_here(Node(2)).map(|e| e.to).collect::<Vec<_>>(), [Node(0)]);
        assert!(Graph::of_edges(2, vec![edge(0, 1, 0, 0), edge(1, 0, 0, 0)]).is_none());
        assert!(Graph::of_edges(2, vec![edge(0, 2, 0, 0)]).is_none());
        assert!(Graph::of_edges(0, vec![]).expect("empty").regions().is_empty());
    }

    #[test]
    fn joins_are_put_in_behind_what_they_wait_for() {
        // 0, 1 -> join 3 -> join 4 -> 2; joins stand before instruction 2.
        let edges = vec![edge(0, 3, 5, 0), edge(1, 3, 2, 0), edge(3, 4, 0, 0), edge(4, 2, 0, 0)];
        let graph =
            Graph::new(3, &[2, 2], edges.clone(), degrees(5, &edges), std::iter::once(0..3).collect());
        let (order, times) = graph.with_joins(&[1, 0, 2].map(Node), &[1, 0, 6]);
        assert_eq!(order, [1, 0, 3, 4, 2].map(Node));
        assert_eq!(times, [1, 0, 6, 6, 6]);
        let mut problem = Problem::new();
        graph.add_to(&mut problem, |n| (n.0.to_string(), vec![]));
        let check = |order: &[u32], start: &[u64]| {
            let order: Vec<Node> = order.iter().copied().map(Node).collect();
            let (order, times) = graph.with_joins(&order, start);
            let ops: Vec<Op> = order.iter().map(|n| Op::from_u32(n.0)).collect();
            let times: Vec<i64> = times.iter().map(|&t| t as i64).collect();
            crate::verify_order(&problem, &ops, &times)
        };
        assert_eq!(check(&[1, 0, 2], &[1, 0, 6]), Ok(()));
        assert!(check(&[1, 0, 2], &[1, 0, 4]).is_err());
        assert!(check(&[1, 2, 0], &[1, 0, 6]).is_err());
        assert!(check(&[1, 2], &[1, 0, 6]).is_err());
        assert!(check(&[1, 2, 9], &[1, 0, 6]).is_err());
    }
}
