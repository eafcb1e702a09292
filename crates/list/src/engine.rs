//! The engine.

use crate::resources::{Reservations, Resources};
use crate::strategy::{Candidates, Context, Direction, Reason, Strategy, reason};
use sassafras_deps::paths::Paths;
use sassafras_deps::{Edge, Graph, Node};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// One decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// What was taken.
    pub node: Node,
    /// In which cycle of its region, counted from the end the schedule grows from.
    pub cycle: u64,
    /// Why.
    pub reason: Reason,
}

/// Counters of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Picks by reason.
    pub reasons: BTreeMap<Reason, u64>,
    /// The most candidates there were at once.
    pub most_candidates: usize,
}

/// What the engine made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The instructions in their new order.
    pub order: Vec<Node>,
    /// The decisions, in the order they were taken.
    pub picks: Vec<Pick>,
    /// Counters.
    pub statistics: Statistics,
}

/// Schedules every region of a graph by itself and puts them behind each other.
///
/// Cost: O(log n) per edge and pick, plus the number of demand classes per pick. Deterministic.
pub fn schedule<S: Strategy>(
    graph: &Graph,
    paths: &Paths,
    resources: &Resources,
    direction: Direction,
    strategy: &mut S,
) -> Schedule {
    let context = Context { graph, paths, direction };
    let mut result = Schedule {
        order: Vec::with_capacity(graph.inst_count()),
        picks: Vec::with_capacity(graph.inst_count()),
        statistics: Statistics::default(),
    };
    let mut state = State::new(graph);
    for slice in region_slices(graph) {
        let first_pick = result.picks.len();
        Run::new(&context, resources, strategy, &mut state, slice).finish(&mut result);
        let picked = result.picks[first_pick..].iter().map(|p| p.node);
        match direction {
            Direction::TopDown => result.order.extend(picked),
            Direction::BottomUp => result.order.extend(picked.rev()),
        }
    }
    result
}

/// Each region as a slice of the topological order: its instructions with the joins made for them.
pub(crate) fn region_slices(graph: &Graph) -> Vec<&[Node]> {
    let order = graph.topological();
    let mut slices = Vec::with_capacity(graph.regions().len());
    let mut start = 0;
    for region in graph.regions() {
        let mut end = start;
        let mut left = region.len();
        while left > 0 {
            left -= usize::from(!graph.is_join(order[end]));
            end += 1;
        }
        slices.push(&order[start..end]);
        start = end;
    }
    slices
}

/// Tables over all nodes, reused from region to region.
struct State {
    /// Which region (from 1) the node is in; 0 before its turn.
    region: Vec<u32>,
    current: u32,
    /// Neighbours inside the region that have not been placed.
    waiting: Vec<u32>,
    /// The earliest start, as far as those that were placed say.
    ready: Vec<u64>,
    /// Counts the keys that a node had: heap entries with another number are stale.
    version: Vec<u32>,
    status: Vec<Status>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    /// Waits for others, or for its operands.
    Waits,
    /// In a heap.
    Candidate,
    Placed,
}

impl State {
    fn new(graph: &Graph) -> State {
        let n = graph.node_count();
        State {
            region: vec![0; n],
            current: 0,
            waiting: vec![0; n],
            ready: vec![0; n],
            version: vec![0; n],
            status: vec![Status::Waits; n],
        }
    }
}

/// A candidate in a heap: larger keys first, then source order in the direction of growth.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Entry<K> {
    key: K,
    tie: Reverse<u32>,
    node: Node,
    version: u32,
}

struct Run<'a, 'r, S: Strategy> {
    context: &'a Context<'a>,
    resources: &'r Resources,
    strategy: &'a mut S,
    state: &'a mut State,
    slice: &'a [Node],
    reservations: Reservations<'r>,
    /// Candidates by demand class; one heap for all when the clock does not matter.
    heaps: Vec<BinaryHeap<Entry<S::Key>>>,
    /// Released nodes whose operands come later.
    later: BinaryHeap<Reverse<(u64, Node)>>,
    candidates: usize,
    most_candidates: usize,
    changed: Vec<Node>,
    open_joins: Vec<Node>,
}

impl<'a, 'r, S: Strategy> Run<'a, 'r, S> {
    fn new(
        context: &'a Context<'a>,
        resources: &'r Resources,
        strategy: &'a mut S,
        state: &'a mut State,
        slice: &'a [Node],
    ) -> Self {
        let heaps = match S::CANDIDATES {
            Candidates::Ready => resources.demands().len(),
            Candidates::Released => 1,
        };
        Run {
            context,
            resources,
            strategy,
            state,
            slice,
            reservations: Reservations::new(resources),
            heaps: (0..heaps).map(|_| BinaryHeap::new()).collect(),
            later: BinaryHeap::new(),
            candidates: 0,
            most_candidates: 0,
            changed: Vec::new(),
            open_joins: Vec::new(),
        }
    }

    fn finish(mut self, result: &mut Schedule) {
        self.open();
        loop {
            let cycle = self.reservations.cycle();
            while let Some(&Reverse((ready, node))) = self.later.peek()
                && ready <= cycle
            {
                self.later.pop();
                self.enter(node);
            }
            match self.take() {
                Some((node, why)) => {
                    let class = self.resources.class_of(node.index());
                    let start = self.state.ready[node.index()].max(self.reservations.earliest(class));
                    self.reservations.advance_to(start);
                    self.reservations.start(class);
                    result.picks.push(Pick { node, cycle: start, reason: why });
                    *result.statistics.reasons.entry(why).or_default() += 1;
                    self.place(node, start);
                    self.tell(node);
                }
                None => match self.next_event() {
                    Some(cycle) => self.reservations.advance_to(cycle),
                    None => break,
                },
            }
        }
        let most = &mut result.statistics.most_candidates;
        *most = (*most).max(self.most_candidates);
    }

    /// Makes the region's nodes known and releases those that wait for nothing.
    fn open(&mut self) {
        self.state.current += 1;
        let current = self.state.current;
        for &node in self.slice {
            self.state.region[node.index()] = current;
        }
        for &node in self.slice {
            let mut waiting = 0;
            for_each_incoming(self.context, node, |_, from| waiting += u32::from(self.in_region(from)));
            self.state.waiting[node.index()] = waiting;
        }
        let slice = self.slice;
        // A join that waits for nothing sets its successors free before they are looked at themselves.
        for &node in slice {
            if self.state.waiting[node.index()] == 0 && self.context.graph.is_join(node) {
                self.open_joins.push(node);
            }
        }
        for &node in slice {
            if self.state.waiting[node.index()] == 0 && !self.context.graph.is_join(node) {
                self.release(node);
            }
        }
        self.follow_joins();
    }

    fn in_region(&self, node: Node) -> bool {
        self.state.region[node.index()] == self.state.current
    }

    /// A node whose predecessors have all been placed becomes a candidate now or when its operands are there.
    fn release(&mut self, node: Node) {
        let ready = self.state.ready[node.index()];
        if S::CANDIDATES == Candidates::Ready && ready > self.reservations.cycle() {
            self.later.push(Reverse((ready, node)));
        } else {
            self.enter(node);
        }
    }

    fn enter(&mut self, node: Node) {
        self.state.status[node.index()] = Status::Candidate;
        self.candidates += 1;
        self.most_candidates = self.most_candidates.max(self.candidates);
        self.push_entry(node);
    }

    fn push_entry(&mut self, node: Node) {
        let heap = if self.heaps.len() == 1 { 0 } else { self.resources.class_of(node.index()) };
        self.heaps[heap].push(Entry {
            key: self.strategy.key(self.context, node),
            tie: Reverse(tie(self.context.direction, node)),
            node,
            version: self.state.version[node.index()],
        });
    }

    /// The best candidate that can start now, with the reason.
    fn take(&mut self) -> Option<(Node, Reason)> {
        let best = self.best_heap()?;
        let entry = self.heaps[best].pop()?;
        self.candidates -= 1;
        let next = self.best_heap().and_then(|heap| self.heaps[heap].peek());
        Some((entry.node, reason::<S>(&entry.key, next.map(|e| &e.key))))
    }

    /// The heap whose first entry is the best among those that can start now.
    fn best_heap(&mut self) -> Option<usize> {
        let mut best: Option<usize> = None;
        for heap in 0..self.heaps.len() {
            while let Some(entry) = self.heaps[heap].peek()
                && (entry.version != self.state.version[entry.node.index()]
                    || self.state.status[entry.node.index()] == Status::Placed)
            {
                self.heaps[heap].pop();
            }
            let Some(entry) = self.heaps[heap].peek() else {
                continue;
            };
            let now = S::CANDIDATES == Candidates::Released
                || self.reservations.earliest(heap) <= self.reservations.cycle();
            if now && best.and_then(|b| self.heaps[b].peek()).is_none_or(|b| entry > b) {
                best = Some(heap);
            }
        }
        best
    }

    /// The next cycle in which something may start; nothing when all are placed.
    fn next_event(&self) -> Option<u64> {
        let later = self.later.peek().map(|Reverse((ready, _))| *ready);
        let units = (0..self.heaps.len())
            .filter(|&heap| !self.heaps[heap].is_empty())
            .map(|heap| self.reservations.earliest(heap))
            .min();
        later.into_iter().chain(units).min()
    }

    /// Lets those that wait for the node know.
    fn place(&mut self, node: Node, start: u64) {
        self.state.status[node.index()] = Status::Placed;
        self.pass_on(node, start);
        self.follow_joins();
    }

    /// Joins take no time: what they let through is let through at once.
    fn follow_joins(&mut self) {
        while let Some(join) = self.open_joins.pop() {
            self.pass_on(join, self.state.ready[join.index()]);
        }
    }

    fn pass_on(&mut self, from: Node, start: u64) {
        let context = self.context;
        for_each_outgoing(context, from, |e, to| {
            if !self.in_region(to) {
                return;
            }
            let ready = &mut self.state.ready[to.index()];
            *ready = (*ready).max(start + u64::from(e.latency));
            self.state.waiting[to.index()] -= 1;
            if self.state.waiting[to.index()] == 0 {
                if context.graph.is_join(to) {
                    self.open_joins.push(to);
                } else {
                    self.release(to);
                }
            }
        });
    }

    /// Tells the strategy, and asks again for the keys that changed.
    fn tell(&mut self, node: Node) {
        self.strategy.placed(self.context, node, &mut self.changed);
        for node in std::mem::take(&mut self.changed) {
            let i = node.index();
            if self.state.status[i] == Status::Candidate {
                self.state.version[i] += 1;
                self.push_entry(node);
            }
        }
    }
}

pub(crate) fn tie(direction: Direction, node: Node) -> u32 {
    match direction {
        Direction::TopDown => node.0,
        Direction::BottomUp => u32::MAX - node.0,
    }
}

/// Calls `visit` for every edge that leaves a node in the direction of growth, with the node at its other end.
pub(crate) fn for_each_outgoing(context: &Context<'_>, node: Node, mut visit: impl FnMut(&Edge, Node)) {
    match context.direction {
        Direction::TopDown => context.graph.succs_here(node).for_each(|e| visit(e, e.to)),
        Direction::BottomUp => context.graph.preds_here(node).for_each(|e| visit(e, e.from)),
    }
}

/// Calls `visit` for every edge that enters a node in the direction of growth, with the node at its other end.
pub(crate) fn for_each_incoming(context: &Context<'_>, node: Node, mut visit: impl FnMut(&Edge, Node)) {
    match context.direction {
        Direction::TopDown => context.graph.preds_here(node).for_each(|e| visit(e, e.from)),
        Direction::BottomUp => context.graph.succs_here(node).for_each(|e| visit(e, e.to)),
    }
}
