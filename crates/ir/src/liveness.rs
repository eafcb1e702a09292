//! Which lanes hold a value that is still wanted.
//!
//! Backward data flow on the lanes that are live into some block; lanes that live and die inside one block never enter
//! the sets, so their size follows the control flow and not the number of virtual registers.

use crate::cfg::Cfg;
use crate::function::{Block, Function};
use crate::lane::Lane;
use cranelift_entity::SecondaryMap;
use fixedbitset::FixedBitSet;
use rustc_hash::{FxHashMap, FxHashSet};
use thiserror::Error;

/// The sets would not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("liveness of {lanes} registers over {blocks} blocks would take {bytes} bytes, more than {limit}")]
pub struct TooLarge {
    /// Lanes that live across blocks.
    pub lanes: usize,
    /// Blocks.
    pub blocks: usize,
    /// What the sets would take.
    pub bytes: usize,
    /// What is allowed.
    pub limit: usize,
}

/// Live lanes at the borders of blocks.
#[derive(Clone, Debug)]
pub struct Liveness {
    lanes: Vec<Lane>,
    live_in: SecondaryMap<Block, FixedBitSet>,
    live_out: SecondaryMap<Block, FixedBitSet>,
}

impl Liveness {
    /// The most memory that the sets may take: ten thousand registers over a hundred thousand blocks.
    pub const LIMIT: usize = 1 << 30;

    /// Solves the data flow. A guarded write does not kill.
    ///
    /// Reads are those that instructions list. What a call, an opaque instruction or the caller behind a return may
    /// read besides is not counted: enough for register pressure, not for removing a write.
    pub fn new(f: &Function, cfg: &Cfg) -> Result<Liveness, TooLarge> {
        // Pass 1: lanes read before a killing write in their block.
        let mut numbers: FxHashMap<Lane, u32> = FxHashMap::default();
        let mut lanes = Vec::new();
        let mut exposed: SecondaryMap<Block, Vec<u32>> = SecondaryMap::with_capacity(f.block_count());
        let mut killed = FxHashSet::default();
        for block in f.blocks() {
            killed.clear();
            for &inst in f.block_insts(block) {
                f.for_each_read(inst, |r| {
                    if !killed.contains(&r.lane) {
                        let number = *numbers.entry(r.lane).or_insert_with(|| {
                            lanes.push(r.lane);
                            lanes.len() as u32 - 1
                        });
                        exposed[block].push(number);
                    }
                });
                if f.kills(inst) {
                    f.for_each_write(inst, |w| {
                        killed.insert(w.lane);
                    });
                }
            }
        }
        // Pass 2: what each block kills, of those lanes.
        let size = lanes.len();
        let (blocks, limit) = (f.block_count(), Self::LIMIT);
        let bytes = blocks.saturating_mul(size.div_ceil(64)).saturating_mul(3 * 8);
        if bytes > limit {
            return Err(TooLarge { lanes: size, blocks, bytes, limit });
        }
        let empty = FixedBitSet::with_capacity(size);
        let mut kills: SecondaryMap<Block, FixedBitSet> = SecondaryMap::with_default(empty.clone());
        let mut live_in: SecondaryMap<Block, FixedBitSet> = SecondaryMap::with_default(empty.clone());
        let mut live_out: SecondaryMap<Block, FixedBitSet> = SecondaryMap::with_default(empty.clone());
        for block in f.blocks() {
            for &inst in f.block_insts(block) {
                if f.kills(inst) {
                    f.for_each_write(inst, |w| {
                        if let Some(&number) = numbers.get(&w.lane) {
                            kills[block].insert(number as usize);
                        }
                    });
                }
            }
            for &number in &exposed[block] {
                live_in[block].insert(number as usize);
            }
            live_out[block] = empty.clone();
        }
        // Pass 3: backward, successors first, until nothing changes.
        let mut work: Vec<Block> = f.blocks().collect();
        let mut queued: SecondaryMap<Block, bool> = SecondaryMap::with_default(true);
        work.sort_by_key(|&b| cfg.rpo_index(b));
        let mut through = empty;
        while let Some(block) = work.pop() {
            queued[block] = false;
            for i in 0..cfg.succs(block).len() {
                let succ = cfg.succs(block)[i];
                let from = std::mem::take(&mut live_in[succ]);
                live_out[block].union_with(&from);
                live_in[succ] = from;
            }
            through.clone_from(&live_out[block]);
            through.difference_with(&kills[block]);
            if !through.is_subset(&live_in[block]) {
                live_in[block].union_with(&through);
                for &pred in cfg.preds(block) {
                    if !queued[pred] {
                        queued[pred] = true;
                        work.push(pred);
                    }
                }
            }
        }
        Ok(Liveness { lanes, live_in, live_out })
    }

    /// Lanes live on entry to a block.
    pub fn live_in(&self, block: Block) -> impl Iterator<Item = Lane> {
        self.live_in[block].ones().map(|i| self.lanes[i])
    }

    /// Lanes live on exit from a block.
    pub fn live_out(&self, block: Block) -> impl Iterator<Item = Lane> {
        self.live_out[block].ones().map(|i| self.lanes[i])
    }
}
