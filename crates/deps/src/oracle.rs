//! The slow, obviously right graph: an edge for every pair that must keep its order, each judged by itself.
//!
//! Cubic in places and without any table that the builder has. Tests build both and compare *longest paths* between
//! instructions, since the builder leaves out edges that others imply and puts joins in.

use crate::build::{BuildOptions, Traits, only_ends_block};
use crate::graph::Graph;
use crate::latency::{LatencyModel, OrderKind};
use crate::memory::{byte_range, regions};
use sassafras_ir::{AccessFlags, Function, Inst, Lane, LaneRef, MemAccess};

/// No path.
pub const NONE: i64 = i64::MIN;

/// Longest paths between instructions of two iterations: `[i][j]` for the `i`-th and `j`-th instruction of the
/// iterations one after the other. Without carried edges the second iteration stands alone.
pub type Closure = Vec<Vec<i64>>;

/// The closure of a built graph.
pub fn closure_of(graph: &Graph) -> Closure {
    let nodes = graph.node_count();
    let place = |node: usize, iteration: usize| iteration * nodes + node;
    let mut edges = Vec::new();
    for e in graph.edges() {
        let latency = i64::from(e.latency);
        let distance = usize::from(e.distance);
        for iteration in 0..2 - distance {
            edges.push((
                place(e.from.index(), iteration),
                place(e.to.index(), iteration + distance),
                latency,
            ));
        }
    }
    let order: Vec<usize> =
        (0..2).flat_map(|it| graph.topological().iter().map(move |n| place(n.index(), it))).collect();
    let all = longest_paths(&edges, &order);
    let insts = graph.inst_count();
    let wanted: Vec<usize> = (0..2).flat_map(|it| (0..insts).map(move |i| place(i, it))).collect();
    wanted.iter().map(|&i| wanted.iter().map(|&j| all[i][j]).collect()).collect()
}

/// The closure of the pairwise rules.
pub fn closure<M: LatencyModel>(f: &Function, insts: &[Inst], model: &M, options: BuildOptions) -> Closure {
    let n = insts.len();
    let pairs = Pairs { f, model, sequence: insts.iter().chain(insts).copied().collect(), n };
    let mut edges = Vec::new();
    for i in 0..2 * n {
        for j in i + 1..2 * n {
            let same_iteration = (i < n) == (j < n);
            if !same_iteration && !options.carried {
                continue;
            }
            // The second iteration repeats the first: what only holds there because of the first is not an edge.
            let latency = if i >= n { pairs.latency(i - n, j - n) } else { pairs.latency(i, j) };
            if let Some(latency) = latency {
                edges.push((i, j, i64::from(latency)));
            }
        }
    }
    longest_paths(&edges, &(0..2 * n).collect::<Vec<_>>())
}

fn longest_paths(edges: &[(usize, usize, i64)], order: &[usize]) -> Closure {
    let n = order.len();
    let mut preds = vec![Vec::new(); n];
    for &(from, to, latency) in edges {
        preds[to].push((from, latency));
    }
    (0..n)
        .map(|start| {
            let mut longest = vec![NONE; n];
            longest[start] = 0;
            for &node in order {
                for &(from, latency) in &preds[node] {
                    if longest[from] != NONE {
                        longest[node] = longest[node].max(longest[from] + latency);
                    }
                }
            }
            longest
        })
        .collect()
}

struct Pairs<'a, M> {
    f: &'a Function,
    model: &'a M,
    /// Two iterations one after the other.
    sequence: Vec<Inst>,
    n: usize,
}

impl<M: LatencyModel> Pairs<'_, M> {
    /// How long `j` must wait for `i`, if it must.
    fn latency(&self, i: usize, j: usize) -> Option<u16> {
        [self.registers(i, j), self.memory(i, j), self.effects(i, j)].into_iter().flatten().max()
    }

    fn reads(&self, i: usize) -> Vec<LaneRef> {
        let mut lanes = Vec::new();
        self.f.for_each_read(self.sequence[i], |r| lanes.push(r));
        lanes
    }

    fn writes(&self, i: usize) -> Vec<LaneRef> {
        let mut lanes = Vec::new();
        self.f.for_each_write(self.sequence[i], |w| lanes.push(w));
        lanes
    }

    fn killed_between(&self, lane: Lane, i: usize, j: usize) -> bool {
        (i + 1..j).any(|k| self.f.kills(self.sequence[k]) && self.writes(k).iter().any(|w| w.lane == lane))
    }

    fn registers(&self, i: usize, j: usize) -> Option<u16> {
        let (f, m, a, b) = (self.f, self.model, self.sequence[i], self.sequence[j]);
        let mut longest = None;
        let mut pairs = |first: &[LaneRef], second: &[LaneRef], cost: &dyn Fn(LaneRef, LaneRef) -> u16| {
            for &x in first {
                for &y in second.iter().filter(|y| y.lane == x.lane) {
                    if !self.killed_between(x.lane, i, j) {
                        longest = longest.max(Some(cost(x, y)));
                    }
                }
            }
        };
        let (reads_a, writes_a) = (self.reads(i), self.writes(i));
        let (reads_b, writes_b) = (self.reads(j), self.writes(j));
        pairs(&writes_a, &reads_b, &|x, y| m.raw(m.def_class(f, a, x), m.use_class(f, b, y)));
        pairs(&reads_a, &writes_b, &|x, y| m.war(m.use_class(f, a, x), m.def_class(f, b, y)));
        pairs(&writes_a, &writes_b, &|x, y| m.waw(m.def_class(f, a, x), m.def_class(f, b, y)));
        longest
    }

    fn memory(&self, i: usize, j: usize) -> Option<u16> {
        let mut longest = None;
        for (x, x_written) in self.f.accesses(self.sequence[i]) {
            for (y, y_written) in self.f.accesses(self.sequence[j]) {
                if !self.may_alias(i, x, j, y) {
                    continue;
                }
                let x_reads = !x_written || x.flags.contains(AccessFlags::ATOMIC);
                let y_reads = !y_written || y.flags.contains(AccessFlags::ATOMIC);
                // A load from memory that nothing changes waits for nothing, and nothing waits for it.
                let x_fixed = !x_written && x.reads_constant_memory();
                let y_fixed = !y_written && y.reads_constant_memory();
                let mut add = |applies: bool, kind| {
                    if applies && !x_fixed && !y_fixed {
                        longest = longest.max(Some(self.model.order(kind)));
                    }
                };
                add(x_written && y_reads, OrderKind::MemoryRaw);
                add(x_reads && y_written, OrderKind::MemoryWar);
                add(x_written && y_written, OrderKind::MemoryWaw);
            }
        }
        longest
    }

    fn may_alias(&self, i: usize, x: &MemAccess, j: usize, y: &MemAccess) -> bool {
        if regions(x.space) & regions(y.space) == 0 {
            return false;
        }
        let same_registers = x.space == y.space
            && (x.base, x.index) == (y.base, y.index)
            && x.address().all(|span| span.len() <= 2);
        let same_values = || {
            x.address()
                .flat_map(|span| span.lanes())
                .all(|lane| (i..j).all(|k| self.writes(k).iter().all(|w| w.lane != lane)))
        };
        match (byte_range(x), byte_range(y)) {
            (Some(a), Some(b)) if same_registers && same_values() => a.start < b.end && b.start < a.end,
            _ => true,
        }
    }

    fn effects(&self, i: usize, j: usize) -> Option<u16> {
        let (a, b) = (self.traits(i), self.traits(j));
        let (effects_a, effects_b) =
            (self.f.inst(self.sequence[i]).effects, self.f.inst(self.sequence[j]).effects);
        let crosses = i < self.n && j >= self.n;
        let ends_block = only_ends_block(effects_a) || only_ends_block(effects_b);
        let touches = |t: Traits| t.sync || t.ordered || t.soft;
        let mut longest = None;
        let mut add = |applies: bool, kind| {
            if applies {
                longest = longest.max(Some(self.model.order(kind)));
            }
        };
        add((a.full || b.full) && !(crosses && ends_block), OrderKind::Control);
        add((a.sync && touches(b)) || (b.sync && touches(a)), OrderKind::Barrier);
        add(a.ordered && b.ordered, OrderKind::Order);
        longest
    }

    fn traits(&self, i: usize) -> Traits {
        let mut traits = Traits::of(self.f.inst(self.sequence[i]).effects);
        for (access, written) in self.f.accesses(self.sequence[i]) {
            traits.soft |= written || !access.reads_constant_memory();
            traits.ordered |= access.flags.contains(AccessFlags::VOLATILE);
        }
        traits
    }
}
