//! Goal: a new order for a block, where the model says that it is clearly better.
//!
//! A block is ordered by the contestants that its class calls for ([`sassafras_list::registry`]), the best of those is improved by a search, and all compete with the
//! order that came under one cost, the cycles of [`Pipeline`]. The order that came stays unless another one is better by the
//! margin. What a loop of multiply-accumulates shows (registers fetched per order) decides which further orders are tried.

use crate::body::Body;
use crate::classify::Class;
use crate::pipeline::Pipeline;
use crate::ready::Ready;
use crate::rename::Names;
use crate::search::{Bounds, search};
use sassafras_deps::Node;
use sassafras_ir::{Block, Inst};
use sassafras_list::registry::{Contest as Part, Entry, contestants};
use sassafras_list::{Direction, Request, Strategy, schedule};

/// A loop with more than one global load in so many instructions loads much.
const LOADS: usize = 25;
/// Within so many cycles paths count as equally long, too, besides [`sassafras_list::request::WINDOW`].
const OTHER_WINDOWS: [i64; 2] = [16, 256];
/// A load that is not at least so many instructions earlier hides nothing.
const WORTH_MOVING: usize = 8;
/// Beyond this level nothing is searched longer.
const DEEPEST_LEVEL: u32 = 5;
/// Thousandths that early loads may cost by the model in code that is no loop by itself. On an H200 those of the suite that cost up to
/// 58 by the model were up to 3.6 % faster and one 0.9 % slower, and those that cost 100 and more were 3 to 5 % slower.
const EARLY_MARGIN: u64 = 65;

/// Thousandths that the best policy may cost by the model in code that works in shared memory. On an H200 those of the suite that it
/// says cost up to 5 were all faster, by 1 to 6 %.
const SHARED_MARGIN: u64 = 20;
/// Thousandths that a search, or a plan that is seldom right, must bring to be believed: of orders that differ by less the model
/// does not know which an H200 runs faster.
const UNPROVEN: u32 = 30;

/// With more warps the model says nothing new, and errs more.
const MODELLED_WARPS: u32 = 4;
/// Warps that closed loops are modelled with, and how much longer they are searched.
const CLOSED_WARPS: usize = 2;
const CLOSED_SEARCH: u32 = 128;
/// Short blocks are not searched for longer than this many rounds per instruction.
const MOST_ROUNDS: u64 = 16;
/// What is the standard elsewhere is too little there.
const CLOSED_LEVEL: u32 = 2;

/// How to schedule.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Warps of a scheduler in flight, as far as the model tells them apart.
    pub warps: usize,
    /// All of them.
    pub resident: u32,
    /// Another order must be better than the one that came by this many thousandths.
    pub margin: u32,
    /// Evaluations of the search per block, for a block of 100 instructions; fewer for longer ones. None: nothing is searched, and
    /// registers stay.
    pub evaluations: u32,
    /// Only this order, whatever the model says.
    pub strategy: Option<&'static Entry>,
    /// Whether the model sees all that matters, so that what a search brings is believed.
    pub trusted: bool,
    /// General registers that code may use; without any, it keeps those that it has.
    pub registers: u32,
    /// How hard to try: 0 leaves everything as it came, 1 is the standard, each step above searches four times as long and lets
    /// more policies compete.
    pub level: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            warps: 4,
            resident: 4,
            margin: 10,
            evaluations: 32,
            strategy: None,
            trusted: false,
            registers: 0,
            level: 1,
        }
    }
}

impl Settings {
    /// For code of which each scheduler has so many warps at once.
    #[must_use]
    pub fn for_warps(self, resident: u32) -> Settings {
        Settings { warps: resident.clamp(1, MODELLED_WARPS) as usize, resident, ..self }
    }

    /// For a closed loop: of what happens there the model knows enough for a long search.
    pub(crate) fn closed(&self) -> Settings {
        let evaluations = self.evaluations.saturating_mul(CLOSED_SEARCH);
        let level = if self.level == 1 { CLOSED_LEVEL } else { self.level };
        Settings { warps: self.warps.min(CLOSED_WARPS), evaluations, trusted: true, level, ..*self }
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
    /// Its registers, where they are others.
    pub names: Option<Names>,
}

/// Whether a block stays as it came, whatever the model says about it.
pub(crate) fn stays(body: &Body, settings: &Settings) -> bool {
    let loads = || body.nodes.iter().filter(|node| node.is_load).count();
    match settings.strategy {
        Some(_) => false,
        None if body.profile.works_in_shared() || settings.level > 1 => false,
        // The model knows too little of memory.
        None if body.is_loop => loads() * LOADS > body.nodes.len(),
        None => loads() == 0 && body.lines.members.len() < 2,
    }
}

/// An order with who made it.
pub(crate) type Proposal = (&'static str, Vec<Node>);
/// An order with its cycles and who made it.
type Made = (u32, &'static str, Vec<Node>);

/// Orders that compete for a block.
pub(crate) struct Contest<'a, 'b> {
    /// The block.
    pub block: &'a Ready<'a>,
    /// The judge.
    pub pipeline: &'a mut Pipeline<'b>,
    /// Cycles of the order that came.
    pub before: u32,
    /// How to schedule.
    pub settings: &'a Settings,
    /// Competes with what the policies make, and must be clearly better.
    pub more: Option<Proposal>,
}

impl Contest<'_, '_> {
    /// The best order of the block, if it is not the one that came.
    pub fn decide(mut self) -> Option<Choice> {
        let Contest { block, before, settings, .. } = self;
        let body = block.body;
        let chosen = match settings.strategy {
            Some(strategy) => self.made_by(strategy),
            None if body.profile.works_in_shared() && !settings.trusted => self.in_shared(),
            None if body.is_loop || settings.level > 1 && body.profile.class != Class::Straight => {
                self.in_loop()
            }
            None => self.once(),
        };
        let (after, by, nodes) = chosen.filter(|(.., order)| *order != body.original())?;
        let order = nodes.iter().map(|node| body.insts[node.index()]).collect();
        let cycles = (before, after);
        Some(Choice { block: body.block, order, nodes, cycles, by, class: body.profile.class, names: None })
    }

    /// The best of the policies, whose orders of code that works in shared memory an H200 runs faster, nearly whatever the model
    /// says: it does not see that warps meet at barriers.
    fn in_shared(&mut self) -> Option<Made> {
        let most = u64::from(self.before) * (1000 + SHARED_MARGIN) / 1000;
        let limit = u32::try_from(most).unwrap_or(u32::MAX);
        let mut best: Made = (limit.saturating_add(1), "original", self.block.body.original());
        self.compete(&mut best);
        if best.0 > limit {
            return None;
        }
        if self.settings.level > 1 {
            self.improve(&mut best);
        }
        Some(best)
    }

    /// Policies and a search compete; the order that came stays unless another is better by the margin.
    fn in_loop(&mut self) -> Option<Made> {
        let (before, settings) = (self.before, self.settings);
        let better = |cycles: u32| {
            u64::from(cycles) * 1000 <= u64::from(before) * u64::from(1000 - settings.margin.min(1000))
        };
        if !better(self.pipeline.bound()) {
            return None;
        }
        let mut best: Made = (before, "original", self.block.body.original());
        self.compete(&mut best);
        if best.0 == before && settings.level <= 1 {
            // Where no policy finds anything a short search does not, either.
            return None;
        }
        self.improve(&mut best);
        better(best.0).then_some(best)
    }

    /// Lets the policies compete with the best order so far.
    fn compete(&mut self, best: &mut Made) {
        let (block, body) = (self.block, self.block.body);
        let problem = block.problem();
        let mut try_out = |(by, order): Proposal, margin: u32| {
            let limit = u64::from(best.0) * u64::from(1000 - margin) / 1000;
            if let Some(cycles) = self.pipeline.cycles_within(&order, (limit as u32).saturating_sub(1)) {
                *best = (cycles, by, order);
            }
        };
        let fetched = fetches(body, &body.original());
        let mut made: Vec<(&Entry, Proposal)> = Vec::new();
        for strategy in contestants(Part::Loops) {
            made.extend(block.order(strategy, &problem).map(|proposal| (strategy, proposal)));
        }
        // Operands can be kept at hand: how much that may delay long paths is worth trying out.
        let at_hand = |order: &[Node]| body.profile.class == Class::Mac && fetches(body, order) < fetched;
        let again = made.iter().filter(|(by, (_, order))| by.takes_part(Part::Windows) && at_hand(order));
        let again: Vec<&Entry> = again.map(|&(by, _)| by).collect();
        for (_, proposal) in made {
            try_out(proposal, 0);
        }
        for window in OTHER_WINDOWS {
            let problem = Request { window, ..problem };
            for made in again.iter().filter_map(|strategy| block.order(strategy, &problem)) {
                try_out(made, 0);
            }
        }
        if let Some(made) = self.more.take() {
            try_out(made, UNPROVEN);
        }
    }

    /// Improves the best order by a search, if that brings more than the model errs by.
    fn improve(&mut self, best: &mut Made) {
        let settings = self.settings;
        if settings.evaluations == 0 {
            return;
        }
        let evaluations = settings.evaluations << (2 * settings.level.clamp(1, DEEPEST_LEVEL) - 2);
        let margin = if settings.trusted { 0 } else { UNPROVEN };
        let enough = u64::from(best.0) * u64::from(1000 - margin) / 1000;
        let bound = self.pipeline.bound();
        if u64::from(bound) > enough {
            return;
        }
        let mut order = best.2.clone();
        let bounds = Bounds { evaluations, most: MOST_ROUNDS, least: bound, seed: 0 };
        let pipeline = &mut *self.pipeline;
        let improved = search(self.block.body, &mut order, best.0, bounds, |order, limit| {
            pipeline.cycles_within(order, limit)
        });
        if u64::from(improved) <= enough && improved < best.0 {
            *best = (improved, "search", order);
        }
    }

    /// Code that runs once is bound by memory: stores of a line go together, and if there is nothing to be done about those, loads
    /// go early unless the model says that this costs something.
    fn once(&mut self) -> Option<Made> {
        let (body, before) = (self.block.body, self.before);
        if body.lines.members.len() > 1 {
            let made = contestants(Part::Stores).filter_map(|strategy| self.made_by(strategy));
            let fastest = made.min_by_key(|&(after, ..)| after);
            if let Some(made) = fastest.filter(|&(after, ..)| after < before) {
                return Some(made);
            }
        }
        if !body.nodes.iter().any(|node| node.is_load) {
            return None;
        }
        let earlier = |(place, node): (usize, &Node)| {
            body.nodes[node.index()].is_load && node.index() >= place + WORTH_MOVING
        };
        let problem = self.block.problem();
        let made = contestants(Part::LoadsEarly).filter_map(|strategy| self.block.order(strategy, &problem));
        let made = made.filter(|(_, order)| order.iter().enumerate().any(earlier));
        let timed = made.map(|(by, order)| (self.pipeline.cycles(&order), by, order));
        let cheap = |after: u32| u64::from(after) * 1000 <= u64::from(before) * (1000 + EARLY_MARGIN);
        timed.min_by_key(|&(after, ..)| after).filter(|&(after, ..)| cheap(after))
    }

    /// What a strategy makes of the block, with its cycles.
    fn made_by(&mut self, strategy: &Entry) -> Option<Made> {
        let (by, order) = self.block.order(strategy, &self.block.problem())?;
        Some((self.pipeline.cycles(&order), by, order))
    }
}

/// Registers fetched by an order.
fn fetches(body: &Body, order: &[Node]) -> u32 {
    let mut fetched = Vec::new();
    body.fetches(order, &mut fetched);
    fetched.iter().flatten().map(|&bank| u32::from(bank)).sum()
}

/// What a strategy makes of a block.
pub(crate) fn run<S: Strategy>(body: &Body, strategy: &mut S) -> Proposal {
    let made = schedule(&body.graph, &body.paths, &body.resources, Direction::TopDown, strategy);
    (S::NAME, made.order)
}
