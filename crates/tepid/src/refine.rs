//! Goal: a block of a closed loop as fast as it can be written: order, registers and control fields together.
//!
//! From the order that was chosen on, registers are freed ([`rename`](crate::rename)), an order is searched for that on the
//! [`Pipeline`], registers are found for it, and an order is searched once more for these; that is repeated, and begun anew with other random
//! numbers. Every result gets its control fields and is run by them ([`Replay`]), with few warps and with as many as there are. The
//! best is improved by a last search that judges every order so, as it would be written.
//!
//! Cost: bounded by evaluations, some hundreds per instruction on the pipeline and a few by replay. Source: anti-dependences are in the
//! tepid document; why the last word is the replay's: of orders that the pipeline takes for equally good, an H200 runs some 5 % faster.

use crate::body::{Around, Body};
use crate::code::Code;
use crate::control::rebuild;
use crate::latency::Mined;
use crate::original::Original;
use crate::pipeline::Pipeline;
use crate::polished::{Key, Polished, once};
use crate::rename::{Alone, Freed, Names, Room};
use crate::replay::Replay;
use crate::search::{Bounds, search};
use rustc_hash::FxHashMap;
use sassafras_deps::Node;
use sassafras_ir::Block;
use std::sync::Arc;

/// How often registers are found for an order, and an order for registers.
const ROUNDS: usize = 3;
/// How often that is begun anew, each time with other random numbers.
const ATTEMPTS: u64 = 3;
/// Rounds of a search per instruction.
const SEARCHED: u64 = 16;
/// Evaluations of orders as they would be written, for a block of 100 instructions, and rounds per instruction.
const POLISHED: (u32, u64) = (1000, 4);
/// Warps that code is judged with in the end: few, and as many as there are, but for those that tell nothing new.
const FEW: usize = 2;
const MANY: usize = 8;
/// Thousandths that it must bring.
const WORTH: u64 = 10;

/// A block that may change in every way.
pub(crate) struct Refine<'a, 'f> {
    /// The function.
    pub code: &'a Code<'f>,
    /// What there is room for, where registers may change.
    pub room: Option<&'a Room>,
    /// The block.
    pub block: Block,
    /// What it stands among.
    pub around: Around<'f>,
    /// Warps that orders are modelled with.
    pub warps: usize,
    /// Warps that there are.
    pub resident: u32,
    /// Evaluations of a search on the pipeline.
    pub evaluations: u32,
}

/// What came of it.
pub(crate) struct Refined {
    /// Positions in the order that came.
    pub order: Vec<Node>,
    /// The registers, where they are others.
    pub names: Names,
    /// Cycles of the pipeline.
    pub cycles: u32,
}

impl Refine<'_, '_> {
    /// Goes on from an order of the block. None when nothing is clearly faster.
    pub fn from(&self, order: &[Node]) -> Option<Refined> {
        let f = self.code.f;
        let came = Alone::new(self.code, self.block);
        let original = Original::new(&came.code(self.code.arch));
        let mut start = came.clone();
        start.reorder(&self.body(&came), order);
        let before = self.judge(&start, &original)?;
        let mut best = (before, start.clone());
        for (attempt, room) in (0..ATTEMPTS).zip(self.room.into_iter().cycle()) {
            if !room.allows(f, self.block) {
                break;
            }
            let mut now = start.clone();
            for _ in 0..ROUNDS {
                let Some(next) = self.round(&now, room, attempt) else { break };
                let cycles = self.judge(&next, &original)?;
                if cycles < best.0 {
                    best = (cycles, next.clone());
                }
                now = next;
            }
        }
        let (cycles, mut made) = best;
        let cycles = self.polish(&came, &mut made, cycles, &original);
        if u64::from(cycles) * 1000 > u64::from(before) * (1000 - WORTH) {
            return None;
        }
        let body = self.body(&made);
        Some(Refined {
            order: made.insts().iter().map(|inst| Node(inst.as_u32())).collect(),
            names: Names::between(f.block_insts(self.block), &came.function, &made.function),
            cycles: Pipeline::new(&body, self.warps).cycles(&body.original()),
        })
    }

    fn body(&self, block: &Alone) -> Body {
        // What follows is not in the block's own function.
        let around = Around { following: Vec::new(), entry: self.around.entry.clone(), ..self.around };
        let code = block.code(self.code.arch);
        Body::among(&code, &Mined::new(&code), block.only, &around)
    }

    /// Finds an order for free registers, registers for that, and an order for those. None when there is nothing to rename.
    fn round(&self, now: &Alone, room: &Room, seed: u64) -> Option<Alone> {
        let mut freed = Freed::new(now, self.code.arch, room, self.block, |_| true)?;
        let body = self.body(&freed.block);
        let order = self.search(&body, seed, |order| freed.fits(&body, order));
        let mut settled = freed.settle(&body, &order)?;
        let body = self.body(&settled);
        let order = self.search(&body, seed, |_| true);
        settled.reorder(&body, &order);
        Some(settled)
    }

    /// An order by the pipeline, among those that fit.
    fn search(&self, body: &Body, seed: u64, mut fits: impl FnMut(&[Node]) -> bool) -> Vec<Node> {
        let mut order = body.original();
        let mut pipeline = Pipeline::new(body, self.warps);
        let cycles = pipeline.cycles(&order);
        let bounds = Bounds { evaluations: self.evaluations, most: SEARCHED, least: pipeline.bound(), seed };
        search(body, &mut order, cycles, bounds, |order, limit| {
            pipeline.cycles_within(order, limit).filter(|_| fits(order))
        });
        order
    }

    /// Improves a block, which takes so many cycles as it would be written, by those cycles.
    fn polish(&self, came: &Alone, block: &mut Alone, cycles: u32, original: &Original) -> u32 {
        let body = self.body(block);
        let Around { is_loop, together, .. } = self.around;
        let key = Key::new(came, block, (self.code.arch, is_loop, together, self.many(), cycles));
        let Polished { order, cycles } = once(key, || self.search_written(&body, block, cycles, original));
        block.reorder(&body, &order);
        cycles
    }

    /// Searches by the cycles of orders as they would be written.
    fn search_written(&self, body: &Body, block: &Alone, cycles: u32, original: &Original) -> Polished {
        let mut order = body.original();
        let mut trial = block.clone();
        let facts = Arc::clone(block.code(self.code.arch).facts());
        let (evaluations, most) = POLISHED;
        let bounds = Bounds { evaluations, most, least: 0, seed: 0 };
        // Orders come back; limits never rise, so that one that was too long is so for good.
        let mut judged: FxHashMap<Box<[Node]>, Option<u32>> = FxHashMap::default();
        let cycles = search(body, &mut order, cycles, bounds, |order, limit| {
            if let Some(known) = judged.get(order) {
                return known.filter(|&cycles| cycles <= limit);
            }
            trial.reorder(body, order);
            let code = trial.code_again(self.code.arch, &facts);
            let found = self.judge_code(&trial, &code, original, limit);
            judged.insert(order.into(), found);
            found
        });
        Polished { order: order.into(), cycles }
    }

    /// Cycles of a block as it would be written.
    fn judge(&self, block: &Alone, original: &Original) -> Option<u32> {
        self.judge_code(block, &block.code(self.code.arch), original, u32::MAX)
    }

    /// The same, unless they are more than a limit.
    fn judge_code(&self, block: &Alone, code: &Code<'_>, original: &Original, limit: u32) -> Option<u32> {
        let fields = rebuild(code, original).ok()?;
        let replay = Replay::new(code, block.function.block_insts(block.only), &fields);
        let few = replay.cycles_within(FEW, limit.checked_sub(replay.least())?)?;
        Some(few + replay.cycles_within(self.many(), limit - few)?)
    }

    /// As many warps as there are, but for those that tell nothing new.
    fn many(&self) -> usize {
        (self.resident as usize).clamp(FEW, MANY)
    }
}
