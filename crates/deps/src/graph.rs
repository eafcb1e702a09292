//! Nodes and edges, with adjacency both ways.

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
    /// and entering each node. `join_places[j]` is the instruction that join `insts + j` stands just before.
    pub(crate) fn new(
        insts: u32,
        join_places: &[u32],
        edges: Vec<Edge>,
        degrees: (Vec<u32>, Vec<u32>),
        regions: Vec<Range<u32>>,
    ) -> Graph {
        Graph::assemble(insts, merge_joins(insts, join_places), edges, degrees, regions)
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
        let mut degrees = (vec![0; self.node_count()], vec![0; self.node_count()]);
        for edge in &edges {
            degrees.0[edge.from.index()] += 1;
            degrees.1[edge.to.index()] += 1;
        }
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
        let mut degrees = (vec![0; self.node_count()], vec![0; self.node_count()]);
        for edge in &edges {
            degrees.0[edge.from.index()] += 1;
            degrees.1[edge.to.index()] += 1;
        }
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
