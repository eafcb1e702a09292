//! Goal: what the warps of a loop wait for: global memory, each other, or nothing but their own results.
//!
//! A *stream* is a loop that loads from global memory and has no barrier: its warps may run apart, and do best when each goes on for
//! as long as it can, so that their loads spread over time. At a barrier they meet again, and who ran ahead waits. A loop that does
//! neither is *closed*: what its warps do depends on nothing that the model does not see.
//!
//! Cost: linear. Source: measured on an H200. With fewer turns given away Black-Scholes runs 4 % faster, a convolution 2 %, layer norm
//! 1 %; kernels with barriers in their loops up to 9 % slower. Orders found by a long search on the model, with other
//! registers, run up to 10 % faster in closed loops; by search alone up to 7 % slower in others.

use crate::code::Code;
use fixedbitset::FixedBitSet;
use sassafras_ir::cfg::Cfg;
use sassafras_ir::dominators::Dominators;
use sassafras_ir::loops::Loops;
use sassafras_ir::{Block, Effects};

/// The loops of a function by what their warps wait for, as blocks whose innermost loop they are.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    streams: FixedBitSet,
    closed: FixedBitSet,
}

impl Streams {
    /// Looks at all loops of a function.
    pub fn new(code: &Code<'_>, cfg: &Cfg) -> Streams {
        let f = code.f;
        let backwards =
            |block| cfg.succs(block).iter().any(|&succ| cfg.rpo_index(succ) <= cfg.rpo_index(block));
        if !f.blocks().any(backwards) {
            return Streams::default();
        }
        Streams::of_loops(code, &Loops::new(f, cfg, &Dominators::new(f, cfg)))
    }

    /// Looks at these loops.
    pub fn of_loops(code: &Code<'_>, loops: &Loops) -> Streams {
        let f = code.f;
        let mut loads = FixedBitSet::with_capacity(loops.len());
        let mut barriers = FixedBitSet::with_capacity(loops.len());
        for block in f.blocks() {
            let Some(id) = loops.innermost(block) else { continue };
            let id = id.as_u32() as usize;
            for &inst in f.block_insts(block) {
                loads.set(id, loads.contains(id) || code.loads_global(inst));
                let effects = f.inst(inst).effects;
                barriers.set(id, barriers.contains(id) || effects.contains(Effects::BARRIER));
            }
        }
        let mut found = Streams {
            streams: FixedBitSet::with_capacity(f.block_count()),
            closed: FixedBitSet::with_capacity(f.block_count()),
        };
        for block in f.blocks() {
            if let Some(id) = loops.innermost(block) {
                let id = id.as_u32() as usize;
                let apart = !barriers.contains(id);
                found.streams.set(block.as_u32() as usize, apart && loads.contains(id));
                found.closed.set(block.as_u32() as usize, apart && !loads.contains(id));
            }
        }
        found
    }

    /// Whether a block belongs to a stream.
    pub fn is_stream(&self, block: Block) -> bool {
        self.streams.contains(block.as_u32() as usize)
    }

    /// Whether a block belongs to a closed loop.
    pub fn is_closed(&self, block: Block) -> bool {
        self.closed.contains(block.as_u32() as usize)
    }

    /// Whether there are closed loops at all.
    pub fn any_closed(&self) -> bool {
        !self.closed.is_clear()
    }

    /// Whether there are streams at all.
    pub fn any(&self) -> bool {
        !self.streams.is_clear()
    }
}
