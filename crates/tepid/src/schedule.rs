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
use sassafras_machine::multiprocessor::Multiprocessor;
use smallvec::SmallVec;

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
        Settings { warps: 4, margin: 15, evaluations: 24, policy: None }
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

/// What is to be done with a function.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// New orders. Blocks that stay as they came are not listed.
    pub choices: Vec<Choice>,
    /// Cycles of the model for what matters, loops in loops counted more often: as it came, and as it is to be.
    pub cycles: (u64, u64),
}

/// How often a loop is taken to go round, and how deep that is counted.
const TRIPS: u64 = 10;
const DEEPEST: u32 = 4;

/// Chooses orders for the blocks of a function.
pub fn choose(code: &Code<'_>, settings: &Settings) -> Plan {
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
    let mut plan = Plan::default();
    for block in f.blocks() {
        let insts = f.block_insts(block);
        let hot = loops.is_empty() || loops.innermost(block).is_some();
        if insts.is_empty() || !hot && settings.policy.is_none() {
            continue;
        }
        // The block that makes up most of a loop is taken for all of it.
        let around = loops.innermost(block).map_or(0, |id| sizes[id.as_u32() as usize]);
        let body = Body::new(code, &model, block, 2 * insts.len() > around && around > 0);
        let mut pipeline = Pipeline::new(&body, Multiprocessor::of(code.arch), settings.warps);
        let before = pipeline.cycles(&body.original());
        let beside = |&inst: &Inst| code.op(inst).special == Special::Warpgroup;
        let fixed = insts.len() < 4 || insts.iter().any(beside);
        let choice = if fixed { None } else { choose_order(&body, &mut pipeline, before, settings) };
        let weight = TRIPS.pow(loops.block_depth(block).min(DEEPEST));
        plan.cycles.0 += weight * u64::from(before);
        plan.cycles.1 += weight * u64::from(choice.as_ref().map_or(before, |choice| choice.cycles.1));
        plan.choices.extend(choice);
    }
    plan
}

/// The best order of a block, if it is not the one that came.
fn choose_order(
    body: &Body,
    pipeline: &mut Pipeline<'_>,
    before: u32,
    settings: &Settings,
) -> Option<Choice> {
    let original = body.original();
    let chosen = match settings.policy {
        Some(policy) => {
            let (by, order) = by_policy(body, policy);
            Some((pipeline.cycles(&order), by, order))
        }
        None if body.is_loop => choose_for_loop(body, pipeline, before, settings),
        None => choose_for_once(body, pipeline, before),
    };
    let (after, by, order) = chosen.filter(|(.., order)| *order != original)?;
    let order = order.iter().map(|node| body.insts[node.index()]).collect();
    Some(Choice { block: body.block, order, cycles: (before, after), by })
}

/// An order with its cycles and who made it.
type Made = (u32, &'static str, Vec<Node>);

/// Policies and a search compete; the order that came stays unless another is better by the margin.
fn choose_for_loop(
    body: &Body,
    pipeline: &mut Pipeline<'_>,
    before: u32,
    settings: &Settings,
) -> Option<Made> {
    // The model knows too little of memory: loops that load much stay as they came.
    if body.nodes.iter().filter(|node| node.is_load).count() * LOADS > body.nodes.len() {
        return None;
    }
    let better = |cycles: u32| {
        u64::from(cycles) * 1000 <= u64::from(before) * u64::from(1000 - settings.margin.min(1000))
    };
    let bound = pipeline.bound();
    if !better(bound) {
        return None;
    }
    let made = [Policy::Height, Policy::Reuse].map(|policy| by_policy(body, policy));
    let timed = made.into_iter().map(|(by, order)| (pipeline.cycles(&order), by, order));
    let best = timed.min_by_key(|&(cycles, ..)| cycles).filter(|&(cycles, ..)| cycles < before);
    let (mut after, mut by, mut order) = best.unwrap_or_else(|| (before, "original", body.original()));
    let improved = search(body, pipeline, &mut order, after, bound, settings.evaluations);
    if improved < after {
        (after, by) = (improved, "search");
    }
    better(after).then_some((after, by, order))
}

/// Code that runs once is bound by memory: its loads go early unless the model says that this costs something.
fn choose_for_once(body: &Body, pipeline: &mut Pipeline<'_>, before: u32) -> Option<Made> {
    if !body.nodes.iter().any(|node| node.is_load) {
        return None;
    }
    let (by, order) = by_policy(body, Policy::EarlyLoads);
    let after = pipeline.cycles(&order);
    let cheap = u64::from(after) * 1000 <= u64::from(before) * (1000 + EARLY_MARGIN);
    cheap.then_some((after, by, order))
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
    bound: u32,
    evaluations: u32,
) -> u32 {
    let n = order.len();
    if n < 4 {
        return cycles;
    }
    let rounds = (u64::from(evaluations) * 100 / n as u64).clamp(4, 4 * u64::from(evaluations).max(1));
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let mut trial = order.clone();
    for _ in 0..rounds {
        if cycles <= bound {
            break;
        }
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
        if let Some(new) = pipeline.cycles_within(&trial, cycles) {
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
    let mut stack: SmallVec<[Node; 8]> = SmallVec::from_slice(&[from]);
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
