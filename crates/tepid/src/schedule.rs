//! Goal: a new order for a block, where the model says that it is clearly better.
//!
//! A block is ordered by each policy that its class calls for, the best of those is improved by a search, and all compete with the
//! order that came under one cost, the cycles of [`Pipeline`]. The order that came stays unless another one is better by the
//! margin. What a loop of multiply-accumulates shows (registers fetched per order) decides which further orders are tried.

use crate::body::Body;
use crate::classify::Class;
use crate::pipeline::Pipeline;
use crate::policies::{Balance, EarlyLoads, Height, ReuseFirst, Reverse, Steady};
use crate::search::search;
use sassafras_deps::Node;
use sassafras_ir::{Block, Inst};
use sassafras_list::{Direction, Strategy, schedule};

/// A loop with more than one global load in so many instructions loads much.
const LOADS: usize = 25;
/// Paths that differ by less than this count as equally long where something else matters more.
const WINDOW: i64 = 64;
const OTHER_WINDOWS: [i64; 2] = [16, 256];
/// A load that is not at least so many instructions earlier hides nothing.
const WORTH_MOVING: usize = 8;
/// Beyond this level nothing is searched longer.
const DEEPEST_LEVEL: u32 = 5;
/// Thousandths that early loads may cost by the model in code that is no loop by itself. On an H200 those of the suite that cost up to
/// 58 by the model were up to 3.6 % faster and one 0.9 % slower, and those that cost 100 and more were 3 to 5 % slower.
const EARLY_MARGIN: u64 = 65;

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
    /// How hard to try: 0 leaves everything as it came, 1 is the standard, each step above searches four times as long and lets
    /// more policies compete.
    pub level: u32,
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
    /// The longest path around the loop first.
    Steady,
    /// Arithmetic and transfers side by side.
    Balance,
    /// The last of the source first, to find faults.
    Reverse,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { warps: 4, margin: 10, evaluations: 32, policy: None, level: 1 }
    }
}

/// What became of a block.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The block.
    pub block: Block,
    /// Its new order.
    pub order: Vec<Inst>,
    /// The same as positions in the order that came.
    pub nodes: Vec<Node>,
    /// Cycles of the model for the order that came, and for this one.
    pub cycles: (u32, u32),
    /// Who made it.
    pub by: &'static str,
    /// What kind of block it is.
    pub class: Class,
}

/// The best order of a block, if it is not the one that came. `more` competes with what the policies make.
pub(crate) fn choose_order(
    body: &Body,
    pipeline: &mut Pipeline<'_>,
    before: u32,
    settings: &Settings,
    more: Option<(&'static str, Vec<Node>)>,
) -> Option<Choice> {
    let original = body.original();
    let chosen = match settings.policy {
        Some(policy) => {
            let (by, order) = by_policy(body, policy);
            Some((pipeline.cycles(&order), by, order))
        }
        None if body.is_loop || settings.level > 1 && body.profile.class != Class::Straight => {
            choose_for_loop(body, pipeline, before, settings, more)
        }
        None => choose_for_once(body, pipeline, before),
    };
    let (after, by, order) = chosen.filter(|(.., order)| *order != original)?;
    let nodes = order;
    let order = nodes.iter().map(|node| body.insts[node.index()]).collect();
    Some(Choice { block: body.block, order, nodes, cycles: (before, after), by, class: body.profile.class })
}

/// An order with its cycles and who made it.
type Made = (u32, &'static str, Vec<Node>);

/// Policies and a search compete; the order that came stays unless another is better by the margin.
fn choose_for_loop(
    body: &Body,
    pipeline: &mut Pipeline<'_>,
    before: u32,
    settings: &Settings,
    more: Option<(&'static str, Vec<Node>)>,
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
    let mut best: Made = (before, "original", body.original());
    let mut compete = |(by, order): (&'static str, Vec<Node>), pipeline: &mut Pipeline<'_>| {
        if let Some(cycles) = pipeline.cycles_within(&order, best.0.saturating_sub(1)) {
            best = (cycles, by, order);
        }
    };
    let policies = [Policy::Height, Policy::Reuse, Policy::Steady, Policy::Balance];
    policies.into_iter().for_each(|policy| compete(by_policy(body, policy), pipeline));
    more.into_iter().for_each(|made| compete(made, pipeline));
    if body.profile.class == Class::Mac
        && fetches(body, &by_policy(body, Policy::Reuse).1) < fetches(body, &body.original())
    {
        // Operands can be kept at hand: how much that may delay long paths is worth trying out.
        for window in OTHER_WINDOWS {
            compete(run(body, &mut ReuseFirst::new(body, window)), pipeline);
        }
    }
    let (mut after, mut by, mut order) = best;
    if after == before && settings.level <= 1 {
        // Where no policy finds anything a short search does not, either.
        return None;
    }
    let evaluations = settings.evaluations << (2 * settings.level.clamp(1, DEEPEST_LEVEL) - 2);
    let improved = search(body, pipeline, &mut order, after, bound, evaluations);
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
    let earlier = |(place, node): (usize, &Node)| {
        body.nodes[node.index()].is_load && node.index() >= place + WORTH_MOVING
    };
    if !order.iter().enumerate().any(earlier) {
        return None;
    }
    let after = pipeline.cycles(&order);
    let cheap = u64::from(after) * 1000 <= u64::from(before) * (1000 + EARLY_MARGIN);
    cheap.then_some((after, by, order))
}

/// Registers fetched by an order.
fn fetches(body: &Body, order: &[Node]) -> u32 {
    let mut fetched = Vec::new();
    body.fetches(order, &mut fetched);
    fetched.iter().flatten().map(|&bank| u32::from(bank)).sum()
}

/// What a strategy makes of a block.
pub(crate) fn run<S: Strategy>(body: &Body, strategy: &mut S) -> (&'static str, Vec<Node>) {
    let made = schedule(&body.graph, &body.paths, &body.resources, Direction::TopDown, strategy);
    (S::NAME, made.order)
}

fn by_policy(body: &Body, policy: Policy) -> (&'static str, Vec<Node>) {
    match policy {
        Policy::Original => ("original", body.original()),
        Policy::Height => run(body, &mut Height::new(body)),
        Policy::Reuse => run(body, &mut ReuseFirst::new(body, WINDOW)),
        Policy::EarlyLoads => run(body, &mut EarlyLoads::new(body)),
        Policy::Steady => run(body, &mut Steady::new(body)),
        Policy::Balance => run(body, &mut Balance::new(body, WINDOW)),
        Policy::Reverse => run(body, &mut Reverse),
    }
}
