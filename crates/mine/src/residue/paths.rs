//! The ways from one instruction to another, and how many cycles of stalls lie on each.
//!
//! Inside a block there is one. Over the edges of blocks the ways are followed as long as they are short enough to matter: no
//! distance is longer than [`REACH`]. A way that is shorter than the fewest cycles that the checker counted is none on which the two
//! meet: something ended it there.

use rustc_hash::FxHashMap;
use sassafras_control::{Field, volta};
use sassafras_ir::cfg::Cfg;
use sassafras_ir::{Block, Function, Inst, Payload};
use sassafras_machine::constants;
use sassafras_verify::hazards::{Asked, HazardKind};

/// Ways of more cycles leave so much that nothing on them is asked for.
const REACH: u16 = 48;
/// So many ways are followed from a block.
const WAYS: usize = 96;
/// A way that leaves so many cycles more than are asked for asks for none of them.
const SPARE: u16 = 40;
/// Blocks on a way, at most.
const DEPTH: usize = 10;

/// Places of a block that lie on a way: their stalls are part of its cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The block.
    pub block: Block,
    /// The first place.
    pub from: u32,
    /// The place behind the last.
    pub to: u32,
}

/// Blocks between two, with the cycles of all their stalls.
#[derive(Clone)]
struct Way {
    between: Vec<Block>,
    to: Block,
    cycles: u16,
}

/// The ways of a function.
pub struct Paths<'a> {
    cfg: &'a Cfg,
    /// By instruction: block and place.
    places: Vec<(Block, u32)>,
    /// By block: cycles from its start, one more than there are instructions.
    times: Vec<Vec<u16>>,
    ways: FxHashMap<Block, Vec<Way>>,
}

impl<'a> Paths<'a> {
    pub fn new(f: &Function, cfg: &'a Cfg) -> Paths<'a> {
        let mut places = Vec::new();
        let mut times = vec![Vec::new(); f.block_count()];
        for block in f.blocks() {
            places.resize(f.inst_count(), (block, 0));
            let times = &mut times[block.as_u32() as usize];
            times.push(0);
            let mut time = 0u16;
            for (place, &inst) in f.block_insts(block).iter().enumerate() {
                places[inst.as_u32() as usize] = (block, place as u32);
                time = time.saturating_add(counted(f, inst));
                times.push(time);
            }
        }
        Paths { cfg, places, times, ways: FxHashMap::default() }
    }

    /// Calls `visit` with every way on which the two meet: its cycles and its parts.
    pub fn each(&mut self, asked: &Asked, mut visit: impl FnMut(u16, &[Part])) {
        let [(first, a), (second, b)] =
            [asked.first, asked.second].map(|inst| self.places[inst.as_u32() as usize]);
        // Elsewhere an instruction meets itself in the next round of a loop.
        if asked.first == asked.second && matches!(asked.kind, HazardKind::Stall | HazardKind::Unseen) {
            return visit(asked.elapsed, &[Part { block: first, from: a, to: a + 1 }]);
        }
        if first == second && a < b {
            let times = &self.times[first.as_u32() as usize];
            let cycles = times[b as usize] - times[a as usize];
            return visit(cycles, &[Part { block: first, from: a, to: b }]);
        }
        let (cfg, times) = (self.cfg, &self.times);
        let ways = self.ways.entry(first).or_insert_with(|| follow(cfg, times, first));
        let length = |block: Block| times[block.as_u32() as usize].len() as u32 - 1;
        let of = |block: Block| times[block.as_u32() as usize].last().copied().unwrap_or(0);
        let outside = of(first) - times[first.as_u32() as usize][a as usize]
            + times[second.as_u32() as usize][b as usize];
        let [tail, head] =
            [Part { block: first, from: a, to: length(first) }, Part { block: second, from: 0, to: b }];
        let mut parts = Vec::new();
        let mut found = false;
        for way in ways.iter().filter(|way| way.to == second) {
            let cycles = outside + way.cycles;
            // Waits on the way are not counted here.
            if cycles > asked.elapsed.max(asked.need) + SPARE || cycles < asked.elapsed {
                continue;
            }
            parts.clear();
            parts.push(tail);
            parts.extend(way.between.iter().map(|&block| Part { block, from: 0, to: length(block) }));
            parts.push(head);
            visit(cycles, &parts);
            found = true;
        }
        if !found {
            // By a call, or on a way that is long.
            visit(asked.elapsed, &[tail, head]);
        }
    }
}

/// The cycles until the next instruction, as the checker counts them.
pub fn counted(f: &Function, inst: Inst) -> u16 {
    let Payload::Word(word) = f.inst(inst).payload else { return 1 };
    match volta::read(word).get(Field::Stall) {
        0 => u16::from(constants().scoreboard_set_to_wait),
        stall => u16::from(stall),
    }
}

/// Ways from the end of a block to the starts of others, shortest in blocks first.
fn follow(cfg: &Cfg, times: &[Vec<u16>], from: Block) -> Vec<Way> {
    let start = |&to: &Block| Way { between: Vec::new(), to, cycles: 0 };
    let mut ways: Vec<Way> = cfg.succs(from).iter().map(start).collect();
    let mut next = 0;
    while next < ways.len() && ways.len() < WAYS {
        let way = ways[next].clone();
        next += 1;
        let cycles = way.cycles.saturating_add(times[way.to.as_u32() as usize].last().copied().unwrap_or(0));
        if cycles > REACH || way.between.len() >= DEPTH {
            continue;
        }
        for &to in cfg.succs(way.to) {
            let mut between = way.between.clone();
            between.push(way.to);
            ways.push(Way { between, to, cycles });
        }
    }
    ways
}
