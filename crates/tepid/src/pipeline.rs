//! Goal: how long a sub-core takes for an order of a block, with several warps in flight.
//!
//! A model of one sub-core: one instruction per cycle is issued, from the warp that issued last as long as it can go on,
//! else from the one that has been ready longest. An instruction waits for its operands (edges of the dependence graph: mined
//! distances and expected latencies) and for its pipes, which all warps share. One whose sources cannot be read in time holds up
//! all that follows ([`Banks`]); what is at hand from an earlier read is not fetched again. The memory pipe has a queue, and
//! holds issue up only when that is full. Neighbouring bytes that are accessed with something else in between take it longer.
//!
//! A loop is run for several iterations by all warps, and the cycles of one in the steady state count.
//!
//! Cost: linear in warps times instructions and edges. Source: the ptxas-scheduling document (pipeline modeler, functional
//! unit handlers); register banks, issue order and store lines as measured (bench/gpu).

use crate::banks::Banks;
use crate::body::{Body, Entry};
use fixedbitset::FixedBitSet;
use sassafras_deps::Node;
use sassafras_machine::dispatch::Pipe;

/// Iterations of a loop that are run, of which the first warms up.
const ITERATIONS: u32 = 3;
/// In a long loop one shows the steady state.
const FEW_ITERATIONS: u32 = 2;
/// How many instructions that is.
const LONG: usize = 400;

/// The model, with its memory.
pub struct Pipeline<'b> {
    body: &'b Body,
    needs: Needs,
    warps: Vec<Warp>,
    fetches: Vec<[u8; 2]>,
    /// By position: more cycles of the memory pipe.
    extra: Vec<u32>,
    lines: FixedBitSet,
    stack: Vec<u32>,
}

/// What each node waits for, joins included. A warp issues one instruction per cycle in order, so that edges of one cycle or
/// less never bind and are left out.
struct Needs {
    start: Vec<u32>,
    list: Vec<Need>,
    insts: u32,
    /// The joins that an instruction waits for, or that lead to one.
    joins: Vec<u32>,
    /// Those that the next iteration waits for.
    carried_joins: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Need {
    from: u32,
    latency: u16,
    /// Of the iteration before.
    carried: bool,
}

impl Needs {
    fn new(body: &Body) -> Needs {
        let graph = &body.graph;
        // How long before a node, at most, what it stands for was issued: joins stand for others.
        let mut behind = vec![0u32; graph.node_count()];
        for &node in graph.topological().iter().filter(|&&node| graph.is_join(node)) {
            let longest = graph.preds(node).map(|edge| u32::from(edge.latency) + behind[edge.from.index()]);
            behind[node.index()] = longest.max().unwrap_or(0);
        }
        let insts = graph.inst_count() as u32;
        let mut needs =
            Needs { start: vec![0], list: Vec::new(), insts, joins: Vec::new(), carried_joins: Vec::new() };
        for node in (0..graph.node_count() as u32).map(Node) {
            for edge in graph.preds(node) {
                let binds = u32::from(edge.latency) + behind[edge.from.index()] > 1;
                if binds || graph.is_join(node) {
                    let carried = edge.distance > 0;
                    needs.list.push(Need { from: edge.from.0, latency: edge.latency, carried });
                }
            }
            needs.start.push(needs.list.len() as u32);
        }
        needs.find_joins(graph.node_count());
        needs
    }

    fn find_joins(&mut self, nodes: usize) {
        let mut asked = FixedBitSet::with_capacity(nodes);
        let mut carried = FixedBitSet::with_capacity(nodes);
        let mut open: Vec<u32> = (0..self.start[self.insts as usize]).collect();
        while let Some(i) = open.pop() {
            let need = self.list[i as usize];
            let from = need.from as usize;
            if self.is_join(need.from) {
                carried.set(from, need.carried || carried.contains(from));
                if !asked.put(from) {
                    open.extend(self.start[from]..self.start[from + 1]);
                }
            }
        }
        self.joins = asked.ones().map(|join| join as u32).collect();
        self.carried_joins = carried.ones().map(|join| join as u32).collect();
    }

    fn of(&self, node: usize) -> &[Need] {
        &self.list[self.start[node] as usize..self.start[node + 1] as usize]
    }

    const fn is_join(&self, node: u32) -> bool {
        node >= self.insts
    }
}

/// A warp by itself.
#[derive(Clone, Debug, Default)]
pub struct Alone {
    /// Cycles that it waits for operands.
    pub waited: u32,
    /// What it leaves under way.
    pub leaves: Entry,
}

/// A join that nobody has asked for.
const UNKNOWN: u32 = u32::MAX;

#[derive(Clone, Default)]
struct Warp {
    at: usize,
    iteration: u32,
    clock: u32,
    /// When the operands of the next instruction are there.
    ready: u32,
    /// By node, in this iteration and the one before: when it was issued; for joins, when all before it were.
    issued: [Vec<u32>; 2],
}

impl<'b> Pipeline<'b> {
    /// For so many warps.
    pub fn new(body: &'b Body, warps: usize) -> Pipeline<'b> {
        Pipeline {
            body,
            needs: Needs::new(body),
            warps: vec![Warp::default(); warps.max(1)],
            fetches: Vec::new(),
            extra: Vec::new(),
            lines: FixedBitSet::with_capacity(body.lines.members.len()),
            stack: Vec::new(),
        }
    }

    /// No order takes fewer cycles: every instruction is issued, and every pipe has its work, for all warps.
    pub fn bound(&self) -> u32 {
        let mut busy = [0u32; Pipe::ALL.len()];
        for &(pipe, cycles) in self.body.nodes.iter().flat_map(|node| &node.pipes) {
            busy[pipe as usize] += u32::from(cycles);
        }
        let longest = busy.into_iter().max().unwrap_or(0).max(self.body.nodes.len() as u32);
        longest * self.warps.len() as u32
    }

    /// Cycles per iteration of all warps.
    pub fn cycles(&mut self, order: &[Node]) -> u32 {
        self.cycles_within(order, u32::MAX).unwrap_or(u32::MAX)
    }

    /// Cycles per iteration of all warps, unless they are more than a limit.
    ///
    /// The mean of what all of them take and of what half of them take twice: how many are there when it matters is not known, and what
    /// is good for one number by chance is seldom good for the other.
    pub fn cycles_within(&mut self, order: &[Node], limit: u32) -> Option<u32> {
        if order.is_empty() {
            return Some(0);
        }
        self.body.fetches(order, &mut self.fetches);
        self.find_left_lines(order);
        let (all, half) = (self.warps.len(), self.warps.len() / 2);
        if half < 2 {
            // With more warps than are modelled nobody waits for results.
            let hidden = self.hidden(order) * all as u32;
            let most = limit.saturating_mul(2).saturating_add(1);
            let shown = self.run(order, all, most.saturating_sub(hidden))?;
            return Some((shown + hidden) / 2).filter(|&cycles| cycles <= limit);
        }
        // Half of them are never quicker than the bound says, twice.
        let most = limit.saturating_mul(2).saturating_add(1);
        let alone = 2 * self.run(order, half, most.saturating_sub(self.bound()) / 2)?;
        let together = self.run(order, all, most.saturating_sub(alone))?;
        Some((alone + together) / 2).filter(|&cycles| cycles <= limit)
    }

    /// Cycles per iteration of one warp among so many that only issue, banks and pipes hold it up.
    fn hidden(&self, order: &[Node]) -> u32 {
        let mut banks = Banks::default();
        let mut now = 0;
        for &fetched in &self.fetches[..order.len()] {
            now += banks.read(now, fetched, self.body.sm.bank_window) + 1;
        }
        now.max(self.bound() / self.warps.len() as u32)
    }

    /// Roughly the cycles per iteration of all warps, where nothing depends on them.
    pub fn cycles_roughly(&mut self, order: &[Node]) -> u32 {
        if order.is_empty() {
            return 0;
        }
        self.body.fetches(order, &mut self.fetches);
        self.find_left_lines(order);
        let few = self.warps.len().div_ceil(2);
        let cycles = self.run(order, few, u32::MAX).unwrap_or(u32::MAX);
        (u64::from(cycles) * self.warps.len() as u64 / few as u64) as u32
    }

    /// Cycles per iteration of so many warps, unless they are more than a limit.
    fn run(&mut self, order: &[Node], warps: usize, limit: u32) -> Option<u32> {
        let body = self.body;
        let iterations = match order.len() {
            _ if !body.is_loop => 1,
            LONG.. => FEW_ITERATIONS,
            _ => ITERATIONS,
        };
        let counted = if body.is_loop { iterations - 1 } else { 1 };
        let Pipeline { needs, warps: all, fetches, extra, stack, .. } = self;
        let warps = &mut all[..warps];
        for warp in &mut *warps {
            warp.start(body, needs, order[0]);
        }
        let mut free = [0u32; Pipe::ALL.len()];
        let mut banks = Banks::default();
        let most = limit.saturating_add(1).saturating_mul(counted);
        let (mut now, mut current) = (0, 0);
        // Warps go on for as long as any of them counts, so that none runs alone at the end.
        let once = warps.len() * order.len();
        let (mut issued, mut warm) = (0, 0);
        while issued < iterations as usize * once {
            if now - warm >= most {
                return None;
            }
            // The warp that issued last goes on if it can; else the one that can go first.
            let start = |warp: &Warp| {
                let mut start = warp.ready;
                for &(pipe, _) in &body.nodes[order[warp.at].index()].pipes {
                    let slack = if pipe == Pipe::Memory { body.sm.memory_queue } else { 0 };
                    start = start.max(free[pipe as usize].saturating_sub(slack));
                }
                start
            };
            let over = |warp: &Warp| !body.is_loop && warp.iteration > 0;
            let mut best = (u32::MAX, current);
            if !over(&warps[current]) {
                best.0 = start(&warps[current]);
            }
            if best.0 > now {
                for (i, warp) in warps.iter().enumerate().filter(|(_, warp)| !over(warp)) {
                    // Most warps wait for their own operands: no need to look at pipes then.
                    if warp.ready < best.0 {
                        let at = start(warp).max(now);
                        best = if at < best.0 { (at, i) } else { best };
                    }
                }
            }
            let (at, chosen) = (best.0.max(now), best.1);
            let warp = &mut warps[chosen];
            let node = order[warp.at].index();
            // What stands in the queue of the memory pipe starts when its turn has come.
            let mut started = at;
            for &(pipe, cycles) in &body.nodes[node].pipes {
                let free = &mut free[pipe as usize];
                if pipe == Pipe::Memory {
                    started = at.max(*free);
                    *free = started + u32::from(cycles) + extra[warp.at];
                } else {
                    *free = at + u32::from(cycles);
                }
            }
            let held = banks.read(at, fetches[warp.at], body.sm.bank_window);
            warp.issued[0][node] = started + held;
            warp.clock = at + held + 1;
            (now, current) = (warp.clock, chosen);
            issued += 1;
            if issued == once && body.is_loop {
                warm = now;
            }
            warp.at += 1;
            if warp.at == order.len() {
                if !body.is_loop {
                    (warp.iteration, warp.at) = (1, 0);
                    continue;
                }
                warp.next_iteration(needs, stack);
            }
            warp.arrive(body, needs, order[warp.at], stack);
        }
        Some((now - warm) / counted).filter(|&cycles| cycles <= limit)
    }

    /// How a warp fares by itself, pipes and banks left aside.
    pub fn alone(&mut self, order: &[Node]) -> Alone {
        let mut alone = Alone::default();
        let Some(&first) = order.first() else { return alone };
        let Pipeline { body, needs, stack, .. } = self;
        let mut warp = Warp::default();
        warp.start(body, needs, first);
        for &node in order {
            warp.arrive(body, needs, node, stack);
            alone.waited += warp.ready - warp.clock;
            warp.issued[0][node.index()] = warp.ready;
            warp.clock = warp.ready + 1;
        }
        let mut left = Entry::default();
        for node in order {
            let (latency, lanes) = &body.nodes[node.index()].late;
            let rest = (warp.issued[0][node.index()] + u32::from(*latency)).saturating_sub(warp.clock);
            for &lane in lanes {
                left.insert(lane, rest);
            }
        }
        left.retain(|_, rest| *rest > 0);
        alone.leaves = left;
        alone
    }

    /// Finds where a line is stored to again with another one in between.
    fn find_left_lines(&mut self, order: &[Node]) {
        let lines = &self.body.lines;
        self.lines.clear();
        self.extra.clear();
        self.extra.resize(order.len(), 0);
        let mut last = None;
        for (at, node) in order.iter().enumerate() {
            let Some(line) = lines.of[node.index()] else { continue };
            if self.lines.put(usize::from(line)) && last.is_some_and(|(_, other)| other != line) {
                self.extra[at] = self.body.sm.left_line;
            }
            last = Some((at, line));
        }
        if let Some((at, line)) = last
            && !lines.continued.is_clear()
            && !lines.continued.contains(usize::from(line))
        {
            // The code behind the block comes back to a line.
            self.extra[at] += self.body.sm.left_line;
        }
    }
}

impl Warp {
    fn start(&mut self, body: &Body, needs: &Needs, first: Node) {
        (self.at, self.iteration, self.clock, self.ready) = (0, 0, 0, 0);
        // Instructions are issued before anybody asks when they were; only joins must be forgotten.
        let nodes = needs.start.len() - 1;
        self.issued[0].resize(nodes, UNKNOWN);
        if body.is_loop {
            self.issued[1].resize(nodes, UNKNOWN);
        }
        for &join in &needs.joins {
            self.issued[0][join as usize] = UNKNOWN;
        }
        self.arrive(body, needs, first, &mut Vec::new());
    }

    /// The warp stands before an instruction: when can it go?
    fn arrive(&mut self, body: &Body, needs: &Needs, node: Node, stack: &mut Vec<u32>) {
        for i in needs.start[node.index()]..needs.start[node.index() + 1] {
            let need = needs.list[i as usize];
            if need.carried && self.iteration == 0 {
                continue;
            }
            if !need.carried && needs.is_join(need.from) {
                self.join(needs, need.from, stack);
            }
        }
        self.ready = self.clock.max(self.after(needs.of(node.index())));
        if self.iteration == 0
            && let Some(&there) = body.entry.get(node.index())
        {
            self.ready = self.ready.max(there);
        }
    }

    /// When all of these are done. Joins of this iteration among them are known.
    fn after(&self, needs: &[Need]) -> u32 {
        let mut ready = 0;
        for need in needs {
            if need.carried && self.iteration == 0 {
                continue;
            }
            let issued = self.issued[usize::from(need.carried)][need.from as usize];
            ready = ready.max(issued + u32::from(need.latency));
        }
        ready
    }

    /// Makes a join of this iteration known, and those it waits for before it.
    fn join(&mut self, needs: &Needs, join: u32, stack: &mut Vec<u32>) {
        stack.push(join);
        while let Some(&top) = stack.last() {
            let list = needs.of(top as usize);
            let unknown = |need: &&Need| {
                !need.carried && needs.is_join(need.from) && self.issued[0][need.from as usize] == UNKNOWN
            };
            if self.issued[0][top as usize] != UNKNOWN {
                stack.pop();
            } else if let Some(need) = list.iter().find(unknown) {
                stack.push(need.from);
            } else {
                self.issued[0][top as usize] = self.after(list);
                stack.pop();
            }
        }
    }

    fn next_iteration(&mut self, needs: &Needs, stack: &mut Vec<u32>) {
        for &join in &needs.carried_joins {
            self.join(needs, join, stack);
        }
        self.iteration += 1;
        self.at = 0;
        self.issued.swap(0, 1);
        for &join in &needs.joins {
            self.issued[0][join as usize] = UNKNOWN;
        }
    }
}
