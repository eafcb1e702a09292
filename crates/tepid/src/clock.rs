//! Goal: one figure for how long a function takes as it is written, which everybody prints and which decides.
//!
//! A function is cut into parts: each innermost loop, one iteration along its most likely way ([`way`](crate::way)); the straight code of a
//! loop around others or of the function, as far as the way through it goes without meeting another loop; and every block off those
//! ways by itself. Each part is run by its control fields ([`Replay`]), a loop in its steady state, by few warps and by as many as are
//! resident and tell something new, and the mean of both counts; what is seldom gone through, by one alone. The figure is their sum, a part in `d` loops taken [`times`] as often.
//!
//! So it depends on code, architecture and resident warps alone: not on who made the code or what it was before. Parts follow from control
//! flow, which no order of instructions changes; two versions of a function can be held side by side part by part ([`Time::slower`]).
//!
//! Cost: linear in instructions, times six warps, in loops ten and three iterations. Source: [`Replay`], which says its own; that both few
//! warps and many count is as in `refine`: how many are there when it matters is not known.

use crate::code::{Code, index};
use crate::function::times;
use crate::original::Fields;
use crate::replay::Replay;
use crate::way::{around_among, through};
use fixedbitset::FixedBitSet;
use sassafras_ir::cfg::Cfg;
use sassafras_ir::dominators::Dominators;
use sassafras_ir::loops::{Loop, Loops};
use sassafras_ir::{Block, Inst};
use std::collections::BTreeMap;

/// Few warps, and so many that more tell nothing new.
pub const FEW: u32 = 2;
/// See [`FEW`].
pub const MANY: u32 = 8;
/// As many as tell something of code that runs once.
pub const MANY_ONCE: u32 = 4;
/// Iterations of a loop that are counted, behind one that warms up.
const COUNTED: usize = 2;
/// Replays count in parts of a cycle.
pub const PARTS: u64 = 16;
/// Code beyond so many instructions is run piece by piece, so that no clock overflows.
const PIECE: usize = 1 << 16;
/// Blocks are looked at again for every loop around them; beyond so many times the number of blocks, outer loops are not gone through.
const LOOKS: usize = 16;

/// How long a function takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Time {
    /// Its parts.
    pub parts: Vec<Part>,
}

/// Code that is run at one go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its blocks, in order.
    pub blocks: Vec<Block>,
    /// Whether its iterations follow each other.
    pub repeats: bool,
    /// How often it is taken to run.
    pub times: u64,
    /// How long it takes, in sixteenths of a cycle per warp.
    pub sixteenths: u64,
}

impl Time {
    /// Of a function as it is written, with its control fields by instruction, for so many resident warps of a scheduler.
    pub fn of(code: &Code<'_>, fields: &[Fields], resident: u32) -> Time {
        Time::again(&Parts::new(code), code, fields, resident, |_| None)
    }

    /// The same of a function whose parts are known; of some of them may be known how long they take.
    pub fn again(
        parts: &Parts,
        code: &Code<'_>,
        fields: &[Fields],
        resident: u32,
        known: impl Fn(usize) -> Option<u64>,
    ) -> Time {
        let time = |(number, (blocks, kind, times)): (usize, &(Vec<Block>, Kind, u64))| {
            let run = || {
                let insts = blocks.iter().flat_map(|&block| code.f.block_insts(block));
                run(code, &insts.copied().collect::<Vec<Inst>>(), fields, *kind, resident)
            };
            let sixteenths = known(number).unwrap_or_else(run);
            Part { blocks: blocks.clone(), repeats: *kind == Kind::Loop, times: *times, sixteenths }
        };
        Time { parts: parts.list.iter().enumerate().map(time).collect() }
    }

    /// Cycles per warp, every part as often as it is taken to run.
    pub fn cycles(&self) -> u64 {
        self.sixteenths().div_ceil(PARTS)
    }

    /// The same in sixteenths.
    pub fn sixteenths(&self) -> u64 {
        let sum = self.parts.iter().map(|part| part.times.saturating_mul(part.sixteenths));
        sum.fold(0, u64::saturating_add)
    }

    /// The parts that take longer than the same ones before, by more than so many thousandths.
    pub fn slower<'a>(&'a self, before: &'a Time, margin: u64) -> impl Iterator<Item = (&'a Part, &'a Part)> {
        let pairs = before.parts.iter().zip(&self.parts);
        pairs.filter(move |(before, now)| is_slower(before.sixteenths, now.sixteenths, margin))
    }
}

/// Whether one figure is more than another by more than so many thousandths.
pub fn is_slower(before: u64, now: u64, margin: u64) -> bool {
    u128::from(now) * 1000 > u128::from(before) * u128::from(1000 + margin)
}

/// How long code takes, in sixteenths of a cycle per warp.
fn run(code: &Code<'_>, insts: &[Inst], fields: &[Fields], kind: Kind, resident: u32) -> u64 {
    let warps = match kind {
        Kind::Loop => [FEW, MANY],
        Kind::Straight => [FEW, MANY_ONCE],
        Kind::Aside => [1, 1],
    };
    let warps = warps.map(|most| resident.clamp(1, most) as usize);
    let pieces = insts.chunks(PIECE).map(|insts| {
        let replay = Replay::new(code, insts, fields);
        // Who comes next comes when the last stall is over.
        let last = insts.last().map_or(0, |&inst| u64::from(fields[index(inst)].stall.max(1)) - 1);
        let [few, many] = warps.map(|warps| match kind {
            Kind::Loop => replay
                .times(warps, 1 + COUNTED, 1)
                .map_or(0, |(warm, end)| u64::from(end - warm) * PARTS / (COUNTED * warps) as u64),
            Kind::Straight | Kind::Aside => {
                replay.times(warps, 1, 0).map_or(0, |(_, end)| (u64::from(end) + last) * PARTS / warps as u64)
            }
        });
        (few + many).div_ceil(2)
    });
    pieces.sum()
}

/// How blocks are gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// One iteration behind the other, by few warps and by many.
    Loop,
    /// Once, by few and by some.
    Straight,
    /// Seldom: by one alone.
    Aside,
}

/// The parts of a function: they follow from control flow alone.
pub struct Parts {
    /// Blocks, how they are gone through, and how often.
    list: Vec<(Vec<Block>, Kind, u64)>,
    taken: FixedBitSet,
}

impl Parts {
    /// Of a function.
    pub fn new(code: &Code<'_>) -> Parts {
        let f = code.f;
        let cfg = Cfg::new(f);
        let loops = Loops::new(f, &cfg, &Dominators::new(f, &cfg));
        let mut parts = Parts { list: Vec::new(), taken: FixedBitSet::with_capacity(f.block_count()) };
        let mut members: BTreeMap<Loop, Vec<Block>> = BTreeMap::new();
        let mut left = LOOKS * f.block_count();
        for &block in cfg.reverse_post_order() {
            let mut around = loops.innermost(block);
            while let Some(id) = around.filter(|_| left > 0) {
                members.entry(id).or_default().push(block);
                left -= 1;
                around = loops.parent(id);
            }
        }
        let is_innermost =
            |id: Loop, blocks: &[Block]| blocks.iter().all(|&b| loops.innermost(b) == Some(id));
        let whole = |id: Loop, blocks: &[Block]| {
            // Where looking ended early, loops have lost blocks, and perhaps their header.
            left > 0 || blocks.first() == Some(&loops.header(id))
        };
        for (&id, blocks) in members.iter().filter(|(id, blocks)| whole(**id, blocks)) {
            let way = around_among(f, &cfg, &loops, id, blocks.iter().copied()).blocks;
            match is_innermost(id, blocks) {
                true => parts.add(way, Kind::Loop, times(loops.depth(id))),
                false => parts.add_runs(way, &loops, Some(id)),
            }
        }
        parts.add_runs(through(f, &cfg).blocks, &loops, None);
        for block in f.blocks() {
            parts.add(vec![block], Kind::Aside, times(loops.block_depth(block)));
        }
        parts.list.retain(|(blocks, ..)| blocks.iter().any(|&block| !f.block_insts(block).is_empty()));
        parts
    }

    /// Adds what of a way stands in a loop and in none inside it, cut where the way goes through another.
    fn add_runs(&mut self, way: Vec<Block>, loops: &Loops, id: Option<Loop>) {
        for run in way.chunk_by(|&one, &other| loops.innermost(one) == loops.innermost(other)) {
            if run.first().is_some_and(|&block| loops.innermost(block) == id) {
                self.add(run.to_vec(), Kind::Straight, times(id.map_or(0, |id| loops.depth(id))));
            }
        }
    }

    /// Adds blocks that are in no part yet.
    fn add(&mut self, mut blocks: Vec<Block>, kind: Kind, times: u64) {
        blocks.retain(|block| !self.taken.put(block.as_u32() as usize));
        if !blocks.is_empty() {
            self.list.push((blocks, kind, times));
        }
    }
}
