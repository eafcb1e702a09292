//! Nodes and edges, with adjacency both ways.

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
    pub const NONE: End = End {
        operand: 255,
        part: 0,
    };
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
    edges: Vec<Edge>,
    succ_start: Vec<u32>,
    pred_start: Vec<u32>,
    pred_edges: Vec<u32>,
    topological: Vec<Node>,
    regions: Vec<Range<u32>>,
}

impl Graph {
    /// Sorts edges into adjacency lists. `join_places[j]` is the instruction that join `insts + j` stands just before.
    pub(crate) fn new(
        insts: u32,
        join_places: &[u32],
        edges: Vec<Edge>,
        regions: Vec<Range<u32>>,
    ) -> Graph {
        Graph::sorted(insts, edges, merge_joins(insts, join_places), regions)
    }

    fn sorted(
        insts: u32,
        edges: Vec<Edge>,
        topological: Vec<Node>,
        regions: Vec<Range<u32>>,
    ) -> Graph {
        let nodes = topological.len();
        let succ_start = bucket_starts(nodes, edges.iter().map(|e| e.from));
        let mut next = succ_start.clone();
        let mut order = vec![0u32; edges.len()];
        for (i, edge) in edges.iter().enumerate() {
            let slot = &mut next[edge.from.index()];
            order[*slot as usize] = i as u32;
            *slot += 1;
        }
        let edges: Vec<Edge> = order.iter().map(|&i| edges[i as usize]).collect();
        let pred_start = bucket_starts(nodes, edges.iter().map(|e| e.to));
        let mut next = pred_start.clone();
        let mut pred_edges = order;
        for (i, edge) in edges.iter().enumerate() {
            let slot = &mut next[edge.to.index()];
            pred_edges[*slot as usize] = i as u32;
            *slot += 1;
        }
        Graph {
            insts,
            edges,
            succ_start,
            pred_start,
            pred_edges,
            topological,
            regions,
        }
    }

    /// The same nodes with only these edges (positions in [`Graph::edges`]).
    #[must_use]
    pub fn with_edges(&self, kept: &[u32]) -> Graph {
        let edges = kept.iter().map(|&e| self.edges[e as usize]).collect();
        Graph::sorted(
            self.insts,
            edges,
            self.topological.clone(),
            self.regions.clone(),
        )
    }

    /// How many instructions the region has; they are the nodes from 0 on.
    pub fn inst_count(&self) -> usize {
        self.insts as usize
    }

    /// How many nodes there are, joins included.
    pub fn node_count(&self) -> usize {
        self.succ_start.len() - 1
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

    /// The edges that leave a node.
    pub fn succs(&self, node: Node) -> &[Edge] {
        &self.edges
            [self.succ_start[node.index()] as usize..self.succ_start[node.index() + 1] as usize]
    }

    /// The edges that enter a node.
    pub fn preds(&self, node: Node) -> impl ExactSizeIterator<Item = &Edge> {
        let range =
            self.pred_start[node.index()] as usize..self.pred_start[node.index() + 1] as usize;
        self.pred_edges[range]
            .iter()
            .map(|&i| &self.edges[i as usize])
    }

    /// The edges that leave a node inside one iteration.
    pub fn succs_here(&self, node: Node) -> impl Iterator<Item = &Edge> {
        self.succs(node).iter().filter(|e| e.distance == 0)
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
            + size_of_val(self.succ_start.as_slice())
            + size_of_val(self.pred_start.as_slice())
            + size_of_val(self.pred_edges.as_slice())
            + size_of_val(self.topological.as_slice())
            + size_of_val(self.regions.as_slice())
    }
}

/// Where each node's edges start when edges are sorted by one of their ends; one entry more than there are nodes.
fn bucket_starts(nodes: usize, ends: impl Iterator<Item = Node>) -> Vec<u32> {
    let mut starts = vec![0u32; nodes + 1];
    for end in ends {
        starts[end.index() + 1] += 1;
    }
    for i in 0..nodes {
        starts[i + 1] += starts[i];
    }
    starts
}

/// Program order with every join just before the instruction that it was made for.
fn merge_joins(insts: u32, join_places: &[u32]) -> Vec<Node> {
    let mut joins: Vec<(u32, Node)> = join_places
        .iter()
        .enumerate()
        .map(|(j, &before)| (before, Node(insts + j as u32)))
        .collect();
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
