//! The control-flow graph of a function.

use crate::function::{Block, Effects, Function};
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

/// Edges between blocks, both ways, and a reverse post-order of what can be reached from the first block.
#[derive(Clone, Debug)]
pub struct Cfg {
    succs: SecondaryMap<Block, SmallVec<[Block; 2]>>,
    preds: SecondaryMap<Block, SmallVec<[Block; 2]>>,
    rpo: Vec<Block>,
    rpo_index: SecondaryMap<Block, Option<u32>>,
}

impl Cfg {
    /// Reads the edges off the last instruction of every block. Linear.
    ///
    /// A block falls through to the next one unless its last instruction leaves it without a guard. Edges are not
    /// repeated: a branch to the next block is one edge.
    pub fn new(f: &Function) -> Cfg {
        let mut cfg = Cfg {
            succs: SecondaryMap::with_capacity(f.block_count()),
            preds: SecondaryMap::with_capacity(f.block_count()),
            rpo: Vec::new(),
            rpo_index: SecondaryMap::with_capacity(f.block_count()),
        };
        // By block, the last one that has it as a successor: a branch may name very many.
        let mut named_by: SecondaryMap<Block, Option<Block>> = SecondaryMap::with_capacity(f.block_count());
        let mut blocks = f.blocks().peekable();
        while let Some(block) = blocks.next() {
            let last = f.block_insts(block).last().copied();
            let targets = last.into_iter().flat_map(|inst| f.branch_targets(inst));
            let falls = last.is_none_or(|inst| {
                let data = f.inst(inst);
                data.guard.is_some() || !data.effects.intersects(Effects::TERMINATOR)
            });
            for succ in targets.chain(blocks.peek().copied().filter(|_| falls)) {
                if named_by[succ].replace(block) != Some(block) {
                    cfg.succs[block].push(succ);
                    cfg.preds[succ].push(block);
                }
            }
        }
        cfg.rpo = cfg.post_order(f);
        cfg.rpo.reverse();
        for (i, &block) in cfg.rpo.iter().enumerate() {
            cfg.rpo_index[block] = Some(i as u32);
        }
        cfg
    }

    fn post_order(&self, f: &Function) -> Vec<Block> {
        let mut order = Vec::with_capacity(f.block_count());
        let Some(entry) = f.blocks().next() else {
            return order;
        };
        let mut seen: SecondaryMap<Block, bool> = SecondaryMap::with_capacity(f.block_count());
        let mut stack = vec![(entry, 0)];
        seen[entry] = true;
        while let Some((block, next)) = stack.last_mut() {
            let block = *block;
            match self.succs[block].get(*next).copied() {
                Some(succ) => {
                    *next += 1;
                    if !seen[succ] {
                        seen[succ] = true;
                        stack.push((succ, 0));
                    }
                }
                None => {
                    order.push(block);
                    stack.pop();
                }
            }
        }
        order
    }

    /// Where control may go after a block.
    pub fn succs(&self, block: Block) -> &[Block] {
        &self.succs[block]
    }

    /// Where control may come from.
    pub fn preds(&self, block: Block) -> &[Block] {
        &self.preds[block]
    }

    /// The blocks that can be reached, each before its successors except along back edges.
    pub fn reverse_post_order(&self) -> &[Block] {
        &self.rpo
    }

    /// A block's place in the reverse post-order; `None` when it cannot be reached.
    pub fn rpo_index(&self, block: Block) -> Option<u32> {
        self.rpo_index[block]
    }

    /// Whether control can get to the block.
    pub fn is_reachable(&self, block: Block) -> bool {
        self.rpo_index[block].is_some()
    }
}
