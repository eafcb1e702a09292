//! Goal: the instructions that a warp most likely goes through, in one iteration of a loop and in the whole function.
//!
//! Of all ways through the blocks, back edges left out, the one with the fewest calls is taken (slow paths of divisions are calls), and of
//! those the longest. Inner loops are gone through once.
//!
//! Cost: linear in the edges of the blocks that are looked at. Source: our own choice; no document says how the compiler picks one.

use rustc_hash::FxHashMap;
use sassafras_ir::cfg::Cfg;
use sassafras_ir::loops::{Loop, Loops};
use sassafras_ir::{Block, Effects, Function, Inst};
use std::cmp::Reverse;

/// A way through some blocks.
#[derive(Clone, Debug, Default)]
pub struct Way {
    /// The blocks, in order.
    pub blocks: Vec<Block>,
    /// Their instructions.
    pub insts: Vec<Inst>,
}

/// One iteration of a loop.
pub fn around(f: &Function, cfg: &Cfg, loops: &Loops, id: Loop) -> Way {
    let blocks = cfg.reverse_post_order().iter().copied().filter(|&block| loops.contains(id, block));
    around_among(f, cfg, loops, id, blocks)
}

/// The same, for who knows the blocks of the loop: in reverse post-order, so that its header comes first.
pub fn around_among(
    f: &Function,
    cfg: &Cfg,
    loops: &Loops,
    id: Loop,
    blocks: impl Iterator<Item = Block>,
) -> Way {
    longest(f, cfg, blocks, |block| loops.latches(id).contains(&block))
}

/// From the entry to an end.
pub fn through(f: &Function, cfg: &Cfg) -> Way {
    longest(f, cfg, cfg.reverse_post_order().iter().copied(), |block| cfg.succs(block).is_empty())
}

type Length = (Reverse<u32>, u32);

/// The longest way from the first of these blocks, which are in reverse post-order, to one that ends it, or to none if there is no such.
fn longest(
    f: &Function,
    cfg: &Cfg,
    blocks: impl Iterator<Item = Block>,
    ends: impl Fn(Block) -> bool,
) -> Way {
    let blocks: Vec<Block> = blocks.collect();
    let places: FxHashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
    let Some(&entry) = blocks.first() else { return Way::default() };
    // By place: how long the best way there is, and from which place it comes.
    let mut best: Vec<Option<(Length, Option<usize>)>> = vec![None; blocks.len()];
    best[0] = Some((length(f, entry), None));
    let mut last = (0, None);
    for (place, &block) in blocks.iter().enumerate() {
        let Some((so_far, _)) = best[place] else { continue };
        if ends(block) && last.1.is_none_or(|found| so_far > found) {
            last = (place, Some(so_far));
        }
        for succ in cfg.succs(block) {
            let Some(&next) = places.get(succ).filter(|&&next| next > place) else { continue };
            let own = length(f, *succ);
            let sum = (Reverse(so_far.0.0 + own.0.0), so_far.1 + own.1);
            if best[next].is_none_or(|(found, _)| sum > found) {
                best[next] = Some((sum, Some(place)));
            }
        }
    }
    let mut way = Vec::new();
    let mut next = Some(last.0);
    while let Some(place) = next {
        way.push(blocks[place]);
        next = best[place].and_then(|(_, from)| from);
    }
    way.reverse();
    let insts = way.iter().flat_map(|&block| f.block_insts(block)).copied().collect();
    Way { blocks: way, insts }
}

/// Calls and instructions of a block.
fn length(f: &Function, block: Block) -> Length {
    let insts = f.block_insts(block);
    let calls = insts.iter().filter(|&&inst| f.inst(inst).effects.contains(Effects::CALL)).count();
    (Reverse(calls as u32), insts.len() as u32)
}
