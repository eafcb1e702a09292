//! Goal: orders for all blocks of a function that matter, each knowing what its neighbours leave under way.
//!
//! Blocks are gone through in the order that control reaches them. What a block leaves under way (loads, mostly) is handed to those
//! behind it, so that they are judged by the time at which their operands really come; a block is done again when a neighbour
//! behind it in that order got another one. In a function with loops only these matter, and loops in loops count more.
//!
//! Cost: every block at most twice. Source: the ptxas-scheduling document (the optimiser over all blocks that follows the one for
//! single blocks).

use crate::body::{Around, Body, Entry};
use crate::classify::Place;
use crate::code::Code;
use crate::cutlass::CutlassPlan;
use crate::latency::Mined;
use crate::pipeline::Pipeline;
use crate::queue::Queue;
use crate::ready::Ready;
use crate::refine::Refine;
use crate::rename::Room;
use crate::schedule::{Choice, Contest, Settings, run, stays};
use crate::streams::Streams;
use sassafras_ir::cfg::Cfg;
use sassafras_ir::dominators::Dominators;
use sassafras_ir::liveness::Liveness;
use sassafras_ir::loops::Loops;
use sassafras_ir::{Block, Inst};
use sassafras_list::block_values::values;
use sassafras_list::strategies::Given;
use std::cell::OnceCell;

/// What is to be done with a function.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// New orders. Blocks that stay as they came are not listed.
    pub choices: Vec<Choice>,
    /// Cycles of the model for what matters, loops in loops counted more often: as it came, and as it is to be.
    pub cycles: (u64, u64),
    /// Its streams, which give their turns away too soon; empty where nothing is to be done.
    pub streams: Streams,
}

/// How often a loop is taken to go round, and how deep that is counted.
const TRIPS: u64 = 10;
const DEEPEST: u32 = 4;

/// How often code this deep in loops is taken to run where nothing says so.
pub const fn times(depth: u32) -> u64 {
    TRIPS.pow(if depth < DEEPEST { depth } else { DEEPEST })
}

/// Shorter blocks are left alone.
const SMALL: usize = 4;
/// How often a block is scheduled at most.
const VISITS: u8 = 2;

/// Chooses orders for the blocks of a function.
pub fn choose(code: &Code<'_>, settings: &Settings) -> Plan {
    choose_with(code, settings, None)
}

/// Chooses orders for the blocks of a function that there may be a plan for: then matrix and memory instructions in turn compete,
/// too.
pub fn choose_with(code: &Code<'_>, settings: &Settings, cutlass: Option<&CutlassPlan>) -> Plan {
    let f = code.f;
    let cfg = Cfg::new(f);
    let loops = Loops::new(f, &cfg, &Dominators::new(f, &cfg));
    let mut sizes = vec![0; loops.len()];
    for block in f.blocks() {
        if let Some(id) = loops.innermost(block) {
            sizes[index_of(id.as_u32())] += f.block_insts(block).len();
        }
    }
    let mut whole = Whole {
        code,
        settings,
        cutlass,
        model: Mined::new(code),
        cfg: &cfg,
        room: OnceCell::new(),
        liveness: OnceCell::new(),
        streams: Streams::of_loops(code, &loops),
        loops: &loops,
        sizes,
        done: (0..f.block_count()).map(|_| Done::default()).collect(),
    };
    whole.run();
    whole.plan()
}

/// A block in an order from outside, as far as dependences allow: positions in the order that came.
pub fn given(code: &Code<'_>, block: Block, order: &[u32]) -> Vec<Inst> {
    let (place, entry) = (Place::Apart, Entry::default());
    let around = Around { is_loop: false, place, entry, following: Vec::new(), together: false };
    let body = Body::among(code, &Mined::new(code), block, &around);
    let (_, nodes) = run(&body, &mut Given::new(order));
    nodes.iter().map(|node| body.insts[node.index()]).collect()
}

struct Whole<'a, 'f> {
    code: &'a Code<'f>,
    settings: &'a Settings,
    cutlass: Option<&'a CutlassPlan>,
    model: Mined<'a, 'f>,
    cfg: &'a Cfg,
    loops: &'a Loops,
    streams: Streams,
    /// Where registers may change; few functions have a block that asks.
    room: OnceCell<Option<Room>>,
    /// What is wanted behind blocks; none where that takes too much.
    liveness: OnceCell<Option<Liveness>>,
    /// By loop: instructions of blocks whose innermost loop it is.
    sizes: Vec<usize>,
    done: Vec<Done>,
}

/// What became of a block so far.
#[derive(Default)]
struct Done {
    visits: u8,
    before: u32,
    /// How often the warps that it was modelled for make up all.
    scale: u32,
    choice: Option<Choice>,
    leaves: Entry,
}

impl Whole<'_, '_> {
    fn run(&mut self) {
        let f = self.code.f;
        let mut order: Vec<Block> = self.cfg.reverse_post_order().to_vec();
        order.extend(f.blocks().filter(|&block| !self.cfg.is_reachable(block)));
        let mut place = vec![0; f.block_count()];
        let mut queue = Queue::new(order.len());
        for (i, &block) in order.iter().enumerate() {
            place[index_of(block.as_u32())] = i;
            queue.set(i, self.matters(block));
        }
        while let Some(next) = queue.pop() {
            let block = order[next];
            if !self.block(block) {
                continue;
            }
            for &succ in self.cfg.succs(block) {
                let done = &self.done[index_of(succ.as_u32())];
                if succ != block && (1..VISITS).contains(&done.visits) {
                    queue.set(place[index_of(succ.as_u32())], true);
                }
            }
        }
    }

    /// In a function with loops, what is in one.
    fn is_hot(&self, block: Block) -> bool {
        self.loops.is_empty() || self.loops.innermost(block).is_some()
    }

    fn matters(&self, block: Block) -> bool {
        let wanted = self.is_hot(block) || self.settings.strategy.is_some();
        wanted && !self.code.f.block_insts(block).is_empty()
    }

    fn room(&self) -> Option<&Room> {
        self.room.get_or_init(|| Room::new(self.code.f, self.cfg, self.settings.registers)).as_ref()
    }

    fn place(&self, block: Block) -> Place {
        let of = |block| self.loops.innermost(block);
        let leaves = |&pred: &Block| of(pred).is_some_and(|id| !self.loops.contains(id, block));
        match of(block) {
            Some(_) => Place::Loop,
            None if self.cfg.preds(block).iter().any(leaves) => Place::Behind,
            None => Place::Apart,
        }
    }

    /// What may be under way where a block starts.
    fn entry(&self, block: Block) -> Entry {
        let mut entry = Entry::default();
        for &pred in self.cfg.preds(block).iter().filter(|&&pred| pred != block) {
            for (&lane, &rest) in &self.done[index_of(pred.as_u32())].leaves {
                let slot = entry.entry(lane).or_default();
                *slot = rest.max(*slot);
            }
        }
        entry
    }

    /// Schedules a block. Returns whether it has another order and leaves something else under way than before.
    fn block(&mut self, block: Block) -> bool {
        let insts = self.code.f.block_insts(block);
        if insts.len() < SMALL {
            // Nothing can move, and what it takes is issuing it.
            let done = &mut self.done[index_of(block.as_u32())];
            done.before = (insts.len() * self.settings.warps) as u32;
            done.visits = VISITS;
            return false;
        }
        // The block that makes up most of a loop is taken for all of it.
        let around = self.loops.innermost(block).map_or(0, |id| self.sizes[index_of(id.as_u32())]);
        let is_loop = 2 * insts.len() > around && around > 0;
        let around = Around {
            is_loop,
            place: self.place(block),
            entry: self.entry(block),
            following: self.cfg.succs(block).iter().map(|&succ| self.code.f.block_insts(succ)).collect(),
            together: true,
        };
        let body = Body::among(self.code, &self.model, block, &around);
        // What a closed loop needs shows with few warps; what is good for those is good for more.
        let closed = self.streams.is_closed(block);
        let settings = if closed { self.settings.closed() } else { *self.settings };
        let mut pipeline = Pipeline::new(&body, settings.warps);
        let original = body.original();
        let stays = self.settings.level > 0 && stays(&body, &settings);
        let before = if stays { pipeline.cycles_roughly(&original) } else { pipeline.cycles(&original) };
        let fixed = self.code.has_group(insts) || self.settings.level == 0;
        let choice = if fixed || stays {
            None
        } else {
            let interleaved = self.cutlass.and_then(|plan| plan.policy(self.code, &body));
            let more = interleaved.map(|mut policy| run(&body, &mut policy));
            let find = || {
                let liveness = self.liveness.get_or_init(|| Liveness::new(self.code.f, self.cfg).ok());
                Some(values(self.code.f, &body.insts, liveness.as_ref()?.live_out(block)))
            };
            let ready = Ready::new(&body, settings.registers, &find);
            Contest { block: &ready, pipeline: &mut pipeline, before, settings: &settings, more }.decide()
        };
        let searched = self.settings.strategy.is_none() && self.settings.evaluations > 0;
        let choice = if closed && !fixed && searched {
            let refine = Refine {
                code: self.code,
                room: self.room(),
                block,
                around,
                warps: settings.warps,
                resident: settings.resident,
                evaluations: settings.evaluations,
            };
            refined(&refine, &body, before, choice)
        } else {
            choice
        };
        let followed = self.cfg.succs(block).iter().any(|&succ| succ != block && self.matters(succ));
        let leaves = match &choice {
            _ if !followed => Entry::default(),
            // With other registers an order need not be one of the block as it came.
            Some(choice) if choice.names.is_none() => pipeline.alone(&choice.nodes).leaves,
            _ => pipeline.alone(&original).leaves,
        };
        let done = &mut self.done[index_of(block.as_u32())];
        let changed = choice.is_some() && done.leaves != leaves;
        let scale = self.settings.warps.div_ceil(settings.warps) as u32;
        *done = Done { visits: done.visits + 1, before, scale, choice, leaves };
        changed
    }

    fn plan(mut self) -> Plan {
        let wanted = self.settings.strategy.is_none() && self.settings.level > 0;
        let streams = if wanted { std::mem::take(&mut self.streams) } else { Streams::default() };
        let mut plan = Plan { streams, ..Plan::default() };
        let done = std::mem::take(&mut self.done);
        for (block, done) in self.code.f.blocks().zip(done) {
            if !self.is_hot(block) {
                plan.choices.extend(done.choice);
                continue;
            }
            let weight = times(self.loops.block_depth(block)) * u64::from(done.scale.max(1));
            let after = done.choice.as_ref().map_or(done.before, |choice| choice.cycles.1);
            plan.cycles.0 += weight * u64::from(done.before);
            plan.cycles.1 += weight * u64::from(after);
            plan.choices.extend(done.choice);
        }
        plan
    }
}

/// What was chosen, or what is better as it would be written.
fn refined(refine: &Refine<'_, '_>, body: &Body, before: u32, choice: Option<Choice>) -> Option<Choice> {
    let order = choice.as_ref().map_or_else(|| body.original(), |choice| choice.nodes.clone());
    let Some(made) = refine.from(&order) else { return choice };
    let names = Some(made.names).filter(|names| !names.is_empty());
    Some(Choice {
        block: body.block,
        order: made.order.iter().map(|node| body.insts[node.index()]).collect(),
        nodes: made.order,
        cycles: (before, made.cycles),
        by: if names.is_some() { "rename" } else { "replay" },
        class: body.profile.class,
        names,
    })
}

const fn index_of(number: u32) -> usize {
    number as usize
}
