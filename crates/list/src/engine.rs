//! The engine.

use crate::resources::{Reservations, Resources};
use crate::strategy::{Candidates, Context, Direction, Offer, Reason, Strategy, Ties};
use rustc_hash::FxHashMap;
use sassafras_problem::graph::{Edge, Graph, Node};
use sassafras_problem::paths::Paths;
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
/// Cost: O(log n) per edge, pick and changed key, plus the number of demand classes and groups per pick. Deterministic.
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
    let mut counts = Counts::default();
    for (region, slice) in region_slices(graph).into_iter().enumerate() {
        let first_pick = result.picks.len();
        strategy.begin(&context, region, slice);
        Run::new(&context, resources, strategy, &mut state, slice).finish(&mut result, &mut counts);
        let picked = result.picks[first_pick..].iter().map(|p| p.node);
        match direction {
            Direction::TopDown => result.order.extend(picked),
            Direction::BottomUp => result.order.extend(picked.rev()),
        }
    }
    result.statistics.reasons = counts.0.into_iter().collect();
    result
}

/// Picks by reason. There are few reasons, and most picks have one of two.
#[derive(Default)]
struct Counts(Vec<(Reason, u64)>);

impl Counts {
    fn add(&mut self, reason: Reason) {
        match self.0.iter().position(|(known, _)| *known == reason) {
            Some(0) => self.0[0].1 += 1,
            Some(at) => {
                self.0[at].1 += 1;
                self.0.swap(at, at - 1);
            }
            None => self.0.push((reason, 1)),
        }
    }
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

/// What is known of every node, reused from region to region. One record per node: a visit touches most of it.
struct State {
    nodes: Vec<NodeState>,
    current: u32,
}

#[derive(Clone, Copy)]
struct NodeState {
    /// The earliest start, as far as those that were placed say.
    ready: u64,
    /// Which region (from 1) the node is in; 0 before its turn.
    region: u32,
    /// Neighbours inside the region that have not been placed.
    waiting: u32,
    /// Picks before it was released, in its region.
    released: u32,
    /// Counts the keys that a node had: heap entries with another number are stale.
    version: u32,
    status: Status,
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
        let new =
            NodeState { ready: 0, region: 0, waiting: 0, released: 0, version: 0, status: Status::Waits };
        State { nodes: vec![new; graph.node_count()], current: 0 }
    }

    fn of(&self, node: Node) -> &NodeState {
        &self.nodes[node.index()]
    }

    fn of_mut(&mut self, node: Node) -> &mut NodeState {
        &mut self.nodes[node.index()]
    }
}

/// A candidate in a heap: larger keys first, then source order in the direction of growth.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Entry<K> {
    key: K,
    tie: Reverse<u64>,
    node: Node,
    version: u32,
}

/// The first entry of a heap as it stands now.
struct Top<K> {
    heap: usize,
    offer: Offer<K>,
    tie: Reverse<u64>,
}

impl<K: Ord> Top<K> {
    fn beats(&self, other: &Top<K>) -> bool {
        (&self.offer.key, self.tie) > (&other.offer.key, other.tie)
    }
}

/// Candidates that keep their order whatever happens.
struct Heap<K> {
    class: usize,
    group: i32,
    entries: BinaryHeap<Entry<K>>,
}

impl<K: Ord> Heap<K> {
    fn new(class: usize, group: i32) -> Heap<K> {
        Heap { class, group, entries: BinaryHeap::new() }
    }
}

struct Run<'a, 'r, S: Strategy> {
    context: &'a Context<'a>,
    resources: &'r Resources,
    strategy: &'a mut S,
    state: &'a mut State,
    slice: &'a [Node],
    reservations: Reservations<'r>,
    candidates_are: Candidates,
    ties: Ties,
    by_class: bool,
    picks: u32,
    /// Candidates by demand class and group, as far as those matter.
    heaps: Vec<Heap<S::Key>>,
    /// The heap of each class and group; empty when the class alone counts.
    slots: FxHashMap<(usize, i32), usize>,
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
        let (candidates_are, ties) = (strategy.candidates(), strategy.ties());
        let by_class = S::UNITS || candidates_are == Candidates::Ready;
        let heaps = match (S::GROUPED, by_class) {
            (true, _) => 0,
            (false, true) => resources.demands().len(),
            (false, false) => 1,
        };
        Run {
            context,
            resources,
            strategy,
            state,
            slice,
            reservations: Reservations::new(resources),
            candidates_are,
            ties,
            by_class,
            picks: 0,
            heaps: (0..heaps).map(|class| Heap::new(class, 0)).collect(),
            slots: FxHashMap::default(),
            later: BinaryHeap::new(),
            candidates: 0,
            most_candidates: 0,
            changed: Vec::new(),
            open_joins: Vec::new(),
        }
    }

    fn finish(mut self, result: &mut Schedule, counts: &mut Counts) {
        self.open();
        let mut told = 0;
        loop {
            if self.candidates_are != Candidates::Ready {
                self.reservations.advance_to(self.reservations.next_slot());
            }
            let cycle = self.reservations.cycle();
            if cycle > told {
                told = cycle;
                self.strategy.clock(self.context, cycle, &mut self.changed);
                self.ask_again();
            }
            while let Some(&Reverse((ready, node))) = self.later.peek()
                && ready <= cycle
            {
                self.later.pop();
                self.enter(node);
            }
            match self.take() {
                Some((node, why)) => {
                    let class = self.resources.class_of(node.index());
                    let start = self.state.of(node).ready.max(self.reservations.earliest(class));
                    self.reservations.advance_to(start);
                    self.reservations.start(class);
                    result.picks.push(Pick { node, cycle: start, reason: why });
                    counts.add(why);
                    self.picks += 1;
                    // The strategy hears of it first: keys of what is set free follow from the pick.
                    self.state.of_mut(node).status = Status::Placed;
                    self.strategy.placed(self.context, node, start, &mut self.changed);
                    self.ask_again();
                    self.pass_on(node, start);
                    self.follow_joins();
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
            self.state.of_mut(node).region = current;
        }
        for &node in self.slice {
            let mut waiting = 0;
            for_each_incoming(self.context, node, |_, from| waiting += u32::from(self.in_region(from)));
            self.state.of_mut(node).waiting = waiting;
        }
        let slice = self.slice;
        // A join that waits for nothing sets its successors free before they are looked at themselves.
        for &node in slice {
            if self.state.of(node).waiting == 0 && self.context.graph.is_join(node) {
                self.open_joins.push(node);
            }
        }
        for &node in slice {
            if self.state.of(node).waiting == 0 && !self.context.graph.is_join(node) {
                self.release(node);
            }
        }
        self.follow_joins();
    }

    fn in_region(&self, node: Node) -> bool {
        self.state.of(node).region == self.state.current
    }

    /// A node whose predecessors have all been placed becomes a candidate now or when its operands are there.
    fn release(&mut self, node: Node) {
        self.state.of_mut(node).released = self.picks;
        let ready = self.state.of(node).ready;
        self.strategy.released(self.context, node, ready);
        if self.candidates_are != Candidates::Released && ready > self.reservations.cycle() {
            self.later.push(Reverse((ready, node)));
        } else {
            self.enter(node);
        }
    }

    fn enter(&mut self, node: Node) {
        self.state.of_mut(node).status = Status::Candidate;
        self.candidates += 1;
        self.most_candidates = self.most_candidates.max(self.candidates);
        self.push_entry(node);
    }

    fn push_entry(&mut self, node: Node) {
        let class = if self.by_class { self.resources.class_of(node.index()) } else { 0 };
        let heap = if S::GROUPED {
            let group = self.strategy.group(self.context, node);
            *self.slots.entry((class, group)).or_insert_with(|| {
                self.heaps.push(Heap::new(class, group));
                self.heaps.len() - 1
            })
        } else {
            class
        };
        self.heaps[heap].entries.push(Entry {
            key: self.strategy.key(self.context, node),
            tie: Reverse(self.context.tie(self.ties, node, self.state.of(node).released)),
            node,
            version: self.state.of(node).version,
        });
    }

    /// The best candidate that can start now, with the reason.
    fn take(&mut self) -> Option<(Node, Reason)> {
        // The two best first entries; the next best candidate of all is the second of them or follows the first in its heap.
        let mut best: Option<Top<S::Key>> = None;
        let mut second: Option<Top<S::Key>> = None;
        for heap in 0..self.heaps.len() {
            let Some(top) = self.top(heap) else { continue };
            if best.as_ref().is_none_or(|best| top.beats(best)) {
                second = best.replace(top);
            } else if second.as_ref().is_none_or(|second| top.beats(second)) {
                second = Some(top);
            }
        }
        let chosen = best?;
        self.heaps[chosen.heap].entries.pop();
        self.candidates -= 1;
        let follows = self.top(chosen.heap);
        let next = match (second, follows) {
            (Some(second), Some(follows)) => Some(if follows.beats(&second) { follows } else { second }),
            (one, other) => one.or(other),
        };
        let why = match next {
            Some(next) => self.strategy.decided(self.context, chosen.offer, next.offer),
            None => Reason::OnlyChoice,
        };
        Some((chosen.offer.node, why))
    }

    /// The first entry of a heap, if it may be taken now.
    fn top(&mut self, heap: usize) -> Option<Top<S::Key>> {
        let Heap { class, group, entries } = &mut self.heaps[heap];
        while let Some(entry) = entries.peek()
            && (entry.version != self.state.of(entry.node).version
                || self.state.of(entry.node).status == Status::Placed)
        {
            entries.pop();
        }
        let entry = entries.peek()?;
        let free = !self.by_class || self.reservations.earliest(*class) <= self.reservations.cycle();
        if !free && self.candidates_are == Candidates::Ready {
            return None;
        }
        let key = self.strategy.offered(entry.key, *group, free);
        Some(Top { heap, tie: entry.tie, offer: Offer { node: entry.node, key, free } })
    }

    /// The next cycle in which something may start; nothing when all are placed.
    fn next_event(&self) -> Option<u64> {
        let later = self.later.peek().map(|Reverse((ready, _))| *ready);
        let waiting = self.heaps.iter().filter(|heap| !heap.entries.is_empty());
        let units = waiting.map(|heap| self.reservations.earliest(heap.class)).min();
        later.into_iter().chain(units).min()
    }

    /// Joins take no time: what they let through is let through at once.
    fn follow_joins(&mut self) {
        while let Some(join) = self.open_joins.pop() {
            self.pass_on(join, self.state.of(join).ready);
        }
    }

    /// Lets those that wait for the node know.
    fn pass_on(&mut self, from: Node, start: u64) {
        let context = self.context;
        for_each_outgoing(context, from, |e, to| {
            if !self.in_region(to) {
                return;
            }
            let state = self.state.of_mut(to);
            state.ready = state.ready.max(start + u64::from(e.latency));
            state.waiting -= 1;
            if state.waiting == 0 {
                if context.graph.is_join(to) {
                    self.open_joins.push(to);
                } else {
                    self.release(to);
                }
            }
        });
    }

    /// Asks again for the keys that changed.
    fn ask_again(&mut self) {
        let mut changed = std::mem::take(&mut self.changed);
        for node in changed.drain(..) {
            let state = self.state.of_mut(node);
            if state.status == Status::Candidate {
                state.version += 1;
                self.push_entry(node);
            }
        }
        self.changed = changed;
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
