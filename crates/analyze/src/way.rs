//! Goal: the instructions that a warp most likely goes through, in one iteration of a loop and in the whole function.
//!
//! Of all ways through the blocks, back edges left out, the one with the fewest calls is taken (slow paths of divisions are calls), and of
//! those the longest. Inner loops are gone through once.
//!
//! Cost: linear in the edges. Source: our own choice; no document says how the compiler picks one.

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
    let header = loops.header(id);
    longest(f, cfg, header, |block| loops.contains(id, block), |block| loops.latches(id).contains(&block))
}

/// From the entry to an end.
pub fn through(f: &Function, cfg: &Cfg) -> Way {
    match f.blocks().next() {
        Some(entry) => longest(f, cfg, entry, |_| true, |block| cfg.succs(block).is_empty()),
        None => Way::default(),
    }
}

type Length = (Reverse<u32>, u32);

fn longest(
    f: &Function,
    cfg: &Cfg,
    entry: Block,
    takes: impl Fn(Block) -> bool,
    ends: impl Fn(Block) -> bool,
) -> Way {
    let mut best: Vec<Option<(Length, Option<Block>)>> = vec![None; f.block_count()];
    let at = |block: Block| block.as_u32() as usize;
    best[at(entry)] = Some((length(f, entry), None));
    let mut last = (entry, None);
    for &block in cfg.reverse_post_order().iter().filter(|&&block| takes(block)) {
        let Some((so_far, _)) = best[at(block)] else { continue };
        if ends(block) && last.1.is_none_or(|found| so_far > found) {
            last = (block, Some(so_far));
        }
        for &succ in cfg.succs(block) {
            let forward = cfg.rpo_index(succ) > cfg.rpo_index(block);
            if !forward || !takes(succ) || succ == entry {
                continue;
            }
            let own = length(f, succ);
            let sum = (Reverse(so_far.0.0 + own.0.0), so_far.1 + own.1);
            if best[at(succ)].is_none_or(|(found, _)| sum > found) {
                best[at(succ)] = Some((sum, Some(block)));
            }
        }
    }
    let mut blocks = Vec::new();
    let mut next = Some(last.0);
    while let Some(block) = next {
        blocks.push(block);
        next = best[at(block)].and_then(|(_, from)| from);
    }
    blocks.reverse();
    let insts = blocks.iter().flat_map(|&block| f.block_insts(block)).copied().collect();
    Way { blocks, insts }
}

/// Calls and instructions of a block.
fn length(f: &Function, block: Block) -> Length {
    let insts = f.block_insts(block);
    let calls = insts.iter().filter(|&&inst| f.inst(inst).effects.contains(Effects::CALL)).count();
    (Reverse(calls as u32), insts.len() as u32)
}
