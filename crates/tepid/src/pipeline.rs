//! Goal: how long a sub-core takes for an order of a block, with several warps in flight.
//!
//! A model of one sub-core: one instruction per cycle is issued, from the warp that issued last as long as it can go on,
//! else from the one that has been ready longest. An instruction waits for its operands (edges of the dependence graph: mined
//! distances and expected latencies), for its pipes, which all warps share, and for the two register banks, each of which
//! gives one register per cycle; what is at hand from an earlier read is not fetched again. Neighbouring bytes that are
//! accessed with something else in between take the memory pipe longer.
//!
//! A loop is run for several iterations, and the cycles of one in the steady state count.
//!
//! Cost: linear in warps times instructions and edges. Source: the ptxas-scheduling document (pipeline modeler, functional
//! unit handlers); register banks, issue order and store lines as measured (bench/gpu).

use crate::body::Body;
use sassafras_deps::Node;
use sassafras_machine::dispatch::Pipe;

/// Cycles that operand reads may lag behind.
const LAG: u32 = 3;
/// More cycles of the memory pipe for bytes of a line that was left in between.
const LEFT_LINE: u32 = 8;
/// Iterations that are run, of which the first warms up.
const ITERATIONS: u32 = 3;

/// The model, with its memory.
pub struct Pipeline<'b> {
    body: &'b Body,
    warps: Vec<Warp>,
}

#[derive(Clone, Default)]
struct Warp {
    at: usize,
    iteration: u32,
    clock: u32,
    /// By node, in this iteration and the next.
    ready: [Vec<u32>; 2],
    /// By join: edges of this iteration that have not come.
    waiting: Vec<u16>,
}

impl<'b> Pipeline<'b> {
    /// For so many warps.
    pub fn new(body: &'b Body, warps: usize) -> Pipeline<'b> {
        Pipeline { body, warps: vec![Warp::default(); warps.max(1)] }
    }

    /// Cycles per iteration of all warps.
    pub fn cycles(&mut self, order: &[Node]) -> u32 {
        let body = self.body;
        let iterations = if body.is_loop { ITERATIONS } else { 1 };
        let fetches = body.fetches(order);
        let extra = left_lines(body, order);
        let joins = body.graph.node_count() - body.graph.inst_count();
        for warp in &mut self.warps {
            warp.at = 0;
            warp.iteration = 0;
            warp.clock = 0;
            for ready in &mut warp.ready {
                ready.clear();
                ready.resize(body.graph.node_count(), 0);
            }
            warp.waiting.clear();
            warp.waiting.resize(joins, 0);
            count_joins(body, &mut warp.waiting);
        }
        let mut free = [0u32; Pipe::ALL.len()];
        let mut banks = [0u32; 2];
        let (mut now, mut current) = (0, 0);
        let mut left = self.warps.len();
        let mut warm = 0;
        while left > 0 {
            // The warp that issued last goes on if it can; else the one that can go first.
            let start = |warp: &Warp| {
                let node = order[warp.at];
                let mut start = warp.clock.max(warp.ready[0][node.index()]);
                for &(pipe, _) in &body.nodes[node.index()].pipes {
                    start = start.max(free[pipe as usize]);
                }
                let fetch = fetches[warp.at];
                for bank in 0..2 {
                    if fetch[bank] > 0 {
                        start = start.max(banks[bank].saturating_sub(LAG));
                    }
                }
                start
            };
            let mut best: Option<(u32, usize)> = None;
            let done = |warp: &Warp| warp.iteration == iterations;
            if !done(&self.warps[current]) {
                let at = start(&self.warps[current]);
                best = Some((at, current));
            }
            if best.is_none_or(|(at, _)| at > now) {
                for (i, warp) in self.warps.iter().enumerate().filter(|(_, warp)| !done(warp)) {
                    let at = start(warp).max(now);
                    if best.is_none_or(|(soonest, _)| at < soonest) {
                        best = Some((at, i));
                    }
                }
            }
            let Some((at, chosen)) = best else { break };
            let at = at.max(now);
            let warp = &mut self.warps[chosen];
            let position = warp.at;
            let node = order[position];
            for &(pipe, cycles) in &body.nodes[node.index()].pipes {
                let more = if pipe == Pipe::Memory { extra[position] } else { 0 };
                free[pipe as usize] = at + u32::from(cycles) + more;
            }
            for bank in 0..2 {
                banks[bank] = banks[bank].max(at) + u32::from(fetches[position][bank]);
            }
            warp.issue(body, node, at);
            (now, current) = (at + 1, chosen);
            warp.at += 1;
            if warp.at == order.len() {
                warp.next_iteration(body);
                if warp.iteration == 1 {
                    warm = warm.max(at);
                }
                left -= usize::from(warp.iteration == iterations);
            }
        }
        if iterations == 1 {
            // What is under way at the end counts: the next block waits for it.
            let last = self.warps.iter().map(|warp| warp.clock).max().unwrap_or(now);
            return now.max(last);
        }
        (now - warm) / (iterations - 1)
    }
}

impl Warp {
    fn issue(&mut self, body: &Body, node: Node, at: u32) {
        self.clock = at + 1;
        self.pass_on(body, node, at);
    }

    fn pass_on(&mut self, body: &Body, node: Node, at: u32) {
        let insts = body.graph.inst_count();
        for edge in body.graph.succs(node) {
            let ready = &mut self.ready[usize::from(edge.distance.min(1))][edge.to.index()];
            *ready = (*ready).max(at + u32::from(edge.latency));
            if edge.distance == 0 && edge.to.index() >= insts {
                let waiting = &mut self.waiting[edge.to.index() - insts];
                *waiting = waiting.saturating_sub(1);
                if *waiting == 0 {
                    let at = self.ready[0][edge.to.index()];
                    // Joins feed joins made later only, so that this ends.
                    self.pass_on(body, edge.to, at);
                }
            }
        }
    }

    fn next_iteration(&mut self, body: &Body) {
        self.iteration += 1;
        self.at = 0;
        self.ready.swap(0, 1);
        self.ready[1].iter_mut().for_each(|ready| *ready = 0);
        count_joins(body, &mut self.waiting);
        let insts = body.graph.inst_count();
        // Joins that wait for the iteration before only.
        for join in insts..body.graph.node_count() {
            if self.waiting[join - insts] == 0 {
                let at = self.ready[0][join];
                self.pass_on(body, Node(join as u32), at);
            }
        }
    }
}

/// By join: how many edges of its own iteration it waits for.
fn count_joins(body: &Body, waiting: &mut [u16]) {
    let insts = body.graph.inst_count();
    for (i, count) in waiting.iter_mut().enumerate() {
        let here = body.graph.preds_here(Node((insts + i) as u32)).count();
        *count = here.min(usize::from(u16::MAX)) as u16;
    }
}

/// By position: more cycles of the memory pipe where a line is touched again with another access in between.
fn left_lines(body: &Body, order: &[Node]) -> Vec<u32> {
    let mut seen: Vec<u16> = Vec::new();
    let mut last = None;
    order
        .iter()
        .map(|node| {
            let facts = &body.nodes[node.index()];
            if facts.line.is_none() && !facts.is_load {
                return 0;
            }
            let again = facts.line.is_some_and(|line| seen.contains(&line) && last != Some(line));
            seen.extend(facts.line);
            last = facts.line;
            if again { LEFT_LINE } else { 0 }
        })
        .collect()
}
