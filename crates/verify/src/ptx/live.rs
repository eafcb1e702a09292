//! Which registers are still wanted when a block ends, asked lane by lane.
//!
//! Most lanes hold the same in both modules and are never asked about, so nothing is computed for them. Of a lane that is, the blocks are
//! found that it is wanted behind, from its readers backwards. A call or an opaque instruction wants every lane; a return wants what it
//! lists.
//!
//! Cost: one walk over the function, then the blocks that a lane lives in, for each lane that is asked about. Beyond [`LIMIT`] of these every
//! lane counts as wanted, which is safe.

use crate::live::reads_all;
use rustc_hash::{FxHashMap, FxHashSet};
use sassafras_ir::cfg::Cfg;
use sassafras_ir::{Block, Effects, Function, Lane};

/// How many blocks are visited for all lanes together.
const LIMIT: usize = 1 << 24;

pub(super) struct Wanted {
    cfg: Cfg,
    lanes: FxHashMap<Lane, Uses>,
    /// Blocks with an instruction that may read anything.
    greedy: Vec<Block>,
    /// The blocks that a lane is wanted behind.
    found: FxHashMap<Lane, FxHashSet<Block>>,
    left: usize,
}

/// The blocks that do something with a lane.
#[derive(Default)]
struct Uses {
    /// Read before it is overwritten.
    read: Vec<Block>,
    /// Overwritten for certain, and not read before.
    killed: FxHashSet<Block>,
}

impl Wanted {
    pub fn new(f: &Function) -> Wanted {
        let mut wanted = Wanted {
            cfg: Cfg::new(f),
            lanes: FxHashMap::default(),
            greedy: Vec::new(),
            found: FxHashMap::default(),
            left: LIMIT,
        };
        for block in f.blocks() {
            let mut greedy = false;
            for &inst in f.block_insts(block) {
                f.for_each_read(inst, |read| {
                    let uses = wanted.lanes.entry(read.lane).or_default();
                    if !uses.killed.contains(&block) && uses.read.last() != Some(&block) {
                        uses.read.push(block);
                    }
                });
                greedy |= reads_all(f.inst(inst).effects.difference(Effects::RET));
                if f.kills(inst) {
                    f.for_each_write(inst, |write| {
                        let uses = wanted.lanes.entry(write.lane).or_default();
                        if uses.read.last() != Some(&block) {
                            uses.killed.insert(block);
                        }
                    });
                }
            }
            if greedy {
                wanted.greedy.push(block);
            }
        }
        wanted
    }

    /// Whether anything behind a block may want what a lane holds.
    pub fn behind(&mut self, block: Block, lane: Lane) -> bool {
        if !self.found.contains_key(&lane) {
            let found = self.blocks(lane);
            self.found.insert(lane, found);
        }
        self.left == 0 || self.found[&lane].contains(&block)
    }

    fn blocks(&mut self, lane: Lane) -> FxHashSet<Block> {
        let none = Uses::default();
        let uses = self.lanes.get(&lane).unwrap_or(&none);
        let mut waiting: Vec<Block> = uses.read.iter().chain(&self.greedy).copied().collect();
        let mut found = FxHashSet::default();
        while let Some(block) = waiting.pop() {
            for &before in self.cfg.preds(block) {
                self.left = self.left.saturating_sub(1);
                if self.left > 0 && found.insert(before) && !uses.killed.contains(&before) {
                    waiting.push(before);
                }
            }
        }
        found
    }
}
