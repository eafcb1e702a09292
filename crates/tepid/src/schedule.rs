//! Goal: new orders for the blocks of a function, where the model says that they are clearly better.
//!
//! Every block that matters (in a loop; all of them in a function without loops) is ordered by each policy, the best of those is
//! improved by a search, and all compete with the order that came under one cost, the cycles of [`Pipeline`]. The order
//! that came stays unless another one is better by the margin.
//!
//! The search is bounded by evaluations and deterministic: instructions are moved to other legal places by a fixed sequence of
//! pseudo-random numbers, and a move stays when it is not worse.

use crate::body::Body;
use crate::code::{Code, Special};
use crate::latency::Mined;
use crate::pipeline::Pipeline;
use crate::policies::{EarlyLoads, Height, ReuseFirst};
use sassafras_deps::Node;
use sassafras_ir::cfg::Cfg;
use sassafras_ir::dominators::Dominators;
use sassafras_ir::loops::Loops;
use sassafras_ir::{Block, Inst};
use sassafras_list::{Direction, Strategy, schedule};

/// A loop with more than one global load in so many instructions loads much.
const LOADS: usize = 25;
/// Thousandths that early loads may cost by the model in code that runs once.
const EARLY_MARGIN: u64 = 50;

/// How to schedule.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Warps of a scheduler in flight.
    pub warps: usize,
    /// Another order must be better than the one that came by this many thousandths.
    pub margin: u32,
    /// Evaluations of the search per block, for a block of 100 instructions; fewer for longer ones.
    pub evaluations: u32,
    /// Only this order, whatever the model says.
    pub policy: Option<Policy>,
}

/// A way to order a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// As it came.
    Original,
    /// The longest path first.
    Height,
    /// Operands at hand first.
    Reuse,
    /// As it came, with global loads early.
    EarlyLoads,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { warps: 4, margin: 15, evaluations: 60, policy: None }
    }
}

/// What became of a block.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The block.
    pub block: Block,
    /// Its new order.
    pub order: Vec<Inst>,
    /// Cycles of the model for the order that came, and for this one.
    pub cycles: (u32, u32),
    /// Who made it.
    pub by: &'static str,
}

/// Chooses orders for the blocks of a function. Blocks that stay as they came are not listed.
pub fn choose(code: &Code<'_>, settings: &Settings) -> Vec<Choice> {
    let f = code.f;
    let cfg = Cfg::new(f);
    let loops = Loops::new(f, &cfg, &Dominators::new(f, &cfg));
    let model = Mined::new(code);
    let mut sizes = vec![0; loops.len()];
    for block in f.blocks() {
        if let Some(id) = loops.innermost(block) {
            sizes[id.as_u32() as usize] += f.block_insts(block).len();
        }
    }
    let mut choices = Vec::new();
    for block in f.blocks() {
        let insts = f.block_insts(block);
        let hot = loops.is_empty() || loops.innermost(block).is_some();
        let beside = |&inst: &Inst| code.op(inst).special == Special::Warpgroup;
        if insts.len() < 4 || insts.iter().any(beside) || !hot && settings.policy.is_none() {
            continue;
        }
        // The block that makes up most of a loop is taken for all of it.
        let around = loops.innermost(block).map_or(0, |id| sizes[id.as_u32() as usize]);
        let body = Body::new(code, &model, block, 2 * insts.len() > around && around > 0);
        choices.extend(choose_order(&body, settings));
    }
    choices
}

/// The best order of a block, if it is not the one that came.
fn choose_order(body: &Body, settings: &Settings) -> Option<Choice> {
    let original = body.original();
    let mut pipeline = Pipeline::new(body, settings.warps);
    let before = pipeline.cycles(&original);
    let made: Vec<(&'static str, Vec<Node>)> = match settings.policy {
        Some(policy) => vec![by_policy(body, policy)],
        // The model knows too little of memory: loops that load much stay as they came.
        None if body.is_loop
            && body.nodes.iter().filter(|node| node.is_load).count() * LOADS > body.nodes.len() =>
        {
            return None;
        }
        None if body.is_loop => {
            let all = [Policy::Original, Policy::Height, Policy::Reuse];
            all.into_iter().map(|policy| by_policy(body, policy)).collect()
        }
        None => vec![by_policy(body, Policy::EarlyLoads)],
    };
    let timed = made.into_iter().map(|(by, order)| (pipeline.cycles(&order), by, order));
    let (mut after, mut by, mut order) = timed.min_by_key(|&(cycles, ..)| cycles)?;
    if settings.policy.is_none() && !body.is_loop {
        // Code that runs once is bound by memory: its loads go early unless the model says that this costs something.
        if u64::from(after) * 1000 > u64::from(before) * (1000 + EARLY_MARGIN) {
            return None;
        }
    } else if settings.policy.is_none() {
        let improved = search(body, &mut pipeline, &mut order, after, settings.evaluations);
        if improved < after {
            (after, by) = (improved, "search");
        }
        let bound = u64::from(before) * u64::from(1000 - settings.margin.min(1000));
        if u64::from(after) * 1000 > bound {
            return None;
        }
    }
    if order == original {
        return None;
    }
    let order = order.iter().map(|node| body.insts[node.index()]).collect();
    Some(Choice { block: body.block, order, cycles: (before, after), by })
}

fn by_policy(body: &Body, policy: Policy) -> (&'static str, Vec<Node>) {
    fn run<S: Strategy>(body: &Body, strategy: &mut S) -> (&'static str, Vec<Node>) {
        let made = schedule(&body.graph, &body.paths, &body.resources, Direction::TopDown, strategy);
        (S::NAME, made.order)
    }
    match policy {
        Policy::Original => ("original", body.original()),
        Policy::Height => run(body, &mut Height::new(body)),
        Policy::Reuse => run(body, &mut ReuseFirst::new(body, 64)),
        Policy::EarlyLoads => run(body, &mut EarlyLoads::new(body)),
    }
}

/// Improves an order by moving instructions. Returns its cycles.
fn search(
    body: &Body,
    pipeline: &mut Pipeline<'_>,
    order: &mut Vec<Node>,
    mut cycles: u32,
    evaluations: u32,
) -> u32 {
    let n = order.len();
    if n < 4 {
        return cycles;
    }
    let rounds = (u64::from(evaluations) * 100 / n as u64).clamp(4, u64::from(evaluations) * 4);
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let mut trial = order.clone();
    for _ in 0..rounds {
        let from = (next() % n as u64) as usize;
        let (lo, hi) = legal_range(body, order, from);
        if hi - lo < 1 {
            continue;
        }
        let to = lo + (next() % (hi - lo + 1) as u64) as usize;
        if to == from {
            continue;
        }
        trial.clone_from(order);
        let node = trial.remove(from);
        trial.insert(to, node);
        let new = pipeline.cycles(&trial);
        if new <= cycles {
            cycles = new;
            std::mem::swap(order, &mut trial);
        }
    }
    cycles
}

/// The places that an instruction may move to, others staying.
fn legal_range(body: &Body, order: &[Node], from: usize) -> (usize, usize) {
    let node = order[from];
    let depends = |a: Node, b: Node| reaches(body, a, b);
    let mut lo = from;
    while lo > 0 && from - lo < 64 && !depends(order[lo - 1], node) {
        lo -= 1;
    }
    let mut hi = from;
    while hi + 1 < order.len() && hi - from < 64 && !depends(node, order[hi + 1]) {
        hi += 1;
    }
    (lo, hi)
}

/// Whether an edge leads from one instruction to another, through joins too.
fn reaches(body: &Body, from: Node, to: Node) -> bool {
    let mut stack = vec![from];
    while let Some(node) = stack.pop() {
        for edge in body.graph.succs_here(node) {
            if edge.to == to {
                return true;
            }
            if body.graph.is_join(edge.to) {
                stack.push(edge.to);
            }
        }
    }
    false
}
