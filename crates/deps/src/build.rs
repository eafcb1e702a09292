//! The builder: one walk over the instructions of a region.

use crate::fan::Fan;
use crate::graph::{Edge, EdgeKind, End, Graph, Node};
use crate::latency::{LatencyModel, OrderKind};
use crate::memory::Memory;
use crate::registers::Registers;
use sassafras_ir::{AccessFlags, Effects, Function, Inst, LaneRef, Role};
use std::ops::Range;

/// What to build.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuildOptions {
    /// The region is the whole body of a loop: add the edges from one iteration to the next, with distance 1.
    ///
    /// The branch that closes the loop orders nothing across iterations, unless it is a call or not understood too.
    pub carried: bool,
}

/// Builds the dependence graph of `insts`, which follow each other in one block.
///
/// Near-linear in the number of operands: tables of last writers and readers per lane, runs per memory region, joins
/// where many meet many. Longest paths between instructions equal those of the graph with an edge for every pair that
/// must keep its order ([`crate::oracle`]).
pub fn build<M: LatencyModel>(f: &Function, insts: &[Inst], model: &M, options: BuildOptions) -> Graph {
    let mut walk = Walk {
        f,
        model,
        edges: Edges::new(insts.len()),
        registers: Registers::new(),
        memory: Memory::new(model),
        order: Order::default(),
    };
    let mut regions = Vec::new();
    let mut open = 0;
    for (i, &inst) in insts.iter().enumerate() {
        let source = Source { node: i as u32, iteration: 0 };
        walk.instruction(source, inst);
        if walk.fence(source) {
            let at = i as u32;
            regions.extend([open..at, at..at + 1].into_iter().filter(|r: &Range<u32>| !r.is_empty()));
            open = at + 1;
        }
    }
    if (open as usize) < insts.len() {
        regions.push(open..insts.len() as u32);
    }
    if options.carried {
        let mut fences = CarriedFences::new(f, insts);
        for (i, &inst) in insts.iter().enumerate() {
            let source = Source { node: i as u32, iteration: 1 };
            walk.instruction(source, inst);
            fences.visit(&mut walk.edges, source, f.inst(inst).effects, model.order(OrderKind::Control));
        }
    }
    let Edges { list, join_places, degrees, .. } = walk.edges;
    Graph::new(insts.len() as u32, &join_places, list, degrees, regions)
}

/// A node in one of the two iterations that the walk sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub node: u32,
    pub iteration: u8,
}

/// The edges so far.
#[derive(Debug)]
pub(crate) struct Edges {
    insts: u32,
    list: Vec<Edge>,
    join_places: Vec<u32>,
    /// Edges that leave and that enter each node.
    degrees: (Vec<u32>, Vec<u32>),
    /// The newest edge from each instruction, to merge edges between the same two.
    newest: Vec<u32>,
    /// Has a successor that is no fence.
    has_succ: Vec<bool>,
    at_fence: bool,
    /// The present instruction follows, in its iteration, another one that stands behind the last fence.
    follows: bool,
    last_fence: Option<u32>,
}

impl Edges {
    fn new(insts: usize) -> Edges {
        Edges {
            insts: insts as u32,
            list: Vec::with_capacity(insts * 6),
            join_places: Vec::new(),
            degrees: (vec![0; insts], vec![0; insts]),
            newest: vec![u32::MAX; insts],
            has_succ: vec![false; insts],
            at_fence: false,
            follows: false,
            last_fence: None,
        }
    }

    /// A new join, made for `consumer`.
    pub fn add_join(&mut self, consumer: Source) -> Source {
        self.join_places.push(consumer.node);
        self.degrees.0.push(0);
        self.degrees.1.push(0);
        Source { node: self.insts + self.join_places.len() as u32 - 1, iteration: consumer.iteration }
    }

    /// Adds an edge. Of several with one reason between the same two instructions the longest stays.
    pub fn add(
        &mut self,
        from: Source,
        to: Source,
        latency: u16,
        kind: EdgeKind,
        from_end: End,
        to_end: End,
    ) {
        if from == to {
            return;
        }
        let distance = to.iteration - from.iteration;
        let between_insts = from.node < self.insts && to.node < self.insts;
        if between_insts && distance == 0 {
            if to.iteration == 1 {
                return; // The first iteration has it already.
            }
            self.has_succ[from.node as usize] |= !self.at_fence;
            self.follows |= self.last_fence.is_none_or(|fence| from.node > fence);
        }
        let edge =
            Edge { from: Node(from.node), to: Node(to.node), latency, kind, distance, from_end, to_end };
        if from.node < self.insts {
            let newest = &mut self.newest[from.node as usize];
            if let Some(known) = self.list.get_mut(*newest as usize)
                && (known.to, known.kind, known.distance) == (edge.to, kind, distance)
            {
                if known.latency < latency {
                    *known = edge;
                }
                return;
            }
            *newest = self.list.len() as u32;
        }
        self.degrees.0[from.node as usize] += 1;
        self.degrees.1[to.node as usize] += 1;
        self.list.push(edge);
    }
}

struct Walk<'a, M> {
    f: &'a Function,
    model: &'a M,
    edges: Edges,
    registers: Registers,
    memory: Memory,
    order: Order,
}

impl<M: LatencyModel> Walk<'_, M> {
    /// Registers, memory and effects of one instruction; reads before writes.
    fn instruction(&mut self, source: Source, inst: Inst) {
        let Walk { f, model, edges, registers, memory, order } = self;
        edges.follows = false;
        edges.at_fence = Traits::of(f.inst(inst).effects).full;
        f.for_each_read(inst, |lane| {
            let class = model.use_class(f, inst, lane);
            let row = registers.row(lane.lane);
            registers.read(edges, row, source, class, end(lane), |d, u| model.raw(d, u));
        });
        let mut traits = Traits::of(f.inst(inst).effects);
        for (access, written) in f.accesses(inst) {
            traits.soft |= written || !access.reads_constant_memory();
            traits.ordered |= access.flags.contains(AccessFlags::VOLATILE);
        }
        if traits.soft {
            memory.accesses(edges, registers, source, f.accesses(inst));
        }
        let kills = f.kills(inst);
        f.for_each_write(inst, |lane| {
            let class = model.def_class(f, inst, lane);
            let row = registers.row(lane.lane);
            registers.write(
                edges,
                row,
                source,
                class,
                end(lane),
                kills,
                |u, d| model.war(u, d),
                |a, b| model.waw(a, b),
            );
        });
        order.visit(edges, source, traits, model.order(OrderKind::Barrier), model.order(OrderKind::Order));
    }

    /// Control order inside the first iteration, for the instruction just entered. Returns whether nothing moves across
    /// it.
    ///
    /// Only what has no successor yet needs an edge to a fence, and only what follows nothing behind the last fence
    /// needs one from it: the rest is ordered through those.
    fn fence(&mut self, source: Source) -> bool {
        let edges = &mut self.edges;
        let latency = self.model.order(OrderKind::Control);
        let fence_at = |node| Source { node, iteration: 0 };
        let is_fence = edges.at_fence;
        if let Some(last) = edges.last_fence
            && (!edges.follows || is_fence)
        {
            edges.add(fence_at(last), source, latency, EdgeKind::Control, End::NONE, End::NONE);
        }
        if is_fence {
            let first = edges.last_fence.map_or(0, |last| last + 1);
            for node in first..source.node {
                if !edges.has_succ[node as usize] {
                    edges.add(fence_at(node), source, latency, EdgeKind::Control, End::NONE, End::NONE);
                }
            }
            edges.last_fence = Some(source.node);
        }
        is_fence
    }
}

/// How an instruction's effects order it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traits {
    /// Nothing moves across it.
    pub full: bool,
    /// Ordered against everything below.
    pub sync: bool,
    /// Ordered among its like.
    pub ordered: bool,
    /// Accesses memory or other lanes: stays on its side of a `sync`.
    pub soft: bool,
}

impl Traits {
    pub fn of(effects: Effects) -> Traits {
        Traits {
            full: effects.intersects(Effects::TERMINATOR | Effects::CALL | Effects::OPAQUE),
            sync: effects.intersects(Effects::BARRIER | Effects::CONVERGENCE),
            ordered: effects.contains(Effects::ORDERED),
            soft: effects.contains(Effects::CROSS_LANE),
        }
    }
}

/// Whether an instruction does nothing but end its block: such a one orders nothing across iterations.
pub(crate) fn only_ends_block(effects: Effects) -> bool {
    effects.intersects(Effects::TERMINATOR) && !effects.intersects(Effects::CALL | Effects::OPAQUE)
}

/// Barriers and ordered effects.
#[derive(Debug, Default)]
struct Order {
    last_sync: Option<Source>,
    last_ordered: Option<Source>,
    /// What a barrier must wait for.
    soft: Fan,
}

impl Order {
    fn visit(&mut self, edges: &mut Edges, source: Source, traits: Traits, barrier: u16, order: u16) {
        let Traits { sync, ordered, soft, .. } = traits;
        if !(sync || ordered || soft) {
            return;
        }
        if let Some(last) = self.last_sync {
            edges.add(last, source, barrier, EdgeKind::Barrier, End::NONE, End::NONE);
        }
        if let Some(last) = self.last_ordered {
            if sync {
                edges.add(last, source, barrier, EdgeKind::Barrier, End::NONE, End::NONE);
            }
            if ordered {
                edges.add(last, source, order, EdgeKind::Order, End::NONE, End::NONE);
            }
        }
        if ordered {
            self.last_ordered = Some(source);
        }
        if sync {
            self.soft.connect(edges, source, EdgeKind::Barrier);
            self.soft = Fan::default();
            self.last_sync = Some(source);
        } else if soft {
            self.soft.push(source, barrier);
        }
    }
}

/// Calls and opaque instructions order what stands behind the last of them in one iteration before the first of them
/// in the next, and what stands before that behind the last.
struct CarriedFences {
    first: Option<u32>,
    last: Option<u32>,
    reached_first: bool,
    /// Instructions of the first iteration that do not end the block.
    movable: u32,
}

impl CarriedFences {
    fn new(f: &Function, insts: &[Inst]) -> CarriedFences {
        let is_fence = |&i: &usize| {
            let effects = f.inst(insts[i]).effects;
            Traits::of(effects).full && !only_ends_block(effects)
        };
        let ends = insts.last().is_some_and(|&i| only_ends_block(f.inst(i).effects));
        CarriedFences {
            first: (0..insts.len()).find(is_fence).map(|i| i as u32),
            last: (0..insts.len()).rev().find(is_fence).map(|i| i as u32),
            reached_first: false,
            movable: insts.len() as u32 - u32::from(ends),
        }
    }

    fn visit(&mut self, edges: &mut Edges, source: Source, effects: Effects, latency: u16) {
        let (Some(first), Some(last)) = (self.first, self.last) else {
            return;
        };
        if self.reached_first || only_ends_block(effects) {
            return;
        }
        let mut add = |node| {
            let from = Source { node, iteration: 0 };
            edges.add(from, source, latency, EdgeKind::Control, End::NONE, End::NONE);
        };
        add(last);
        if source.node == first {
            (last + 1..self.movable).for_each(add);
            self.reached_first = true;
        }
    }
}

fn end(lane: LaneRef) -> End {
    let operand = match lane.role {
        Role::Guard => End::GUARD,
        Role::Operand(i) | Role::Address(i) => {
            u8::try_from(i).map_or(End::GUARD - 1, |i| i.min(End::GUARD - 1))
        }
    };
    End { operand, part: lane.part }
}
