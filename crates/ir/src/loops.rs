//! Natural loops and their nesting.

use crate::cfg::Cfg;
use crate::dominators::Dominators;
use crate::function::{Block, Function};
use cranelift_entity::{PrimaryMap, SecondaryMap, entity_impl};

/// A natural loop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Loop(u32);
entity_impl!(Loop, "loop");

#[derive(Clone, Debug)]
struct LoopData {
    header: Block,
    latches: Vec<Block>,
    parent: Option<Loop>,
    depth: u32,
    /// Its number when every loop comes before those inside it.
    first: u32,
    /// How many loops there are in it, itself included: they have the numbers from `first` on.
    nest: u32,
}

/// The loops of a function, inner ones before outer ones.
#[derive(Clone, Debug)]
pub struct Loops {
    loops: PrimaryMap<Loop, LoopData>,
    /// While loops are being found: a loop nearer to the outermost one around it (union-find with path halving, so
    /// that deep nests stay near-linear).
    outer: SecondaryMap<Loop, Option<Loop>>,
    innermost: SecondaryMap<Block, Option<Loop>>,
    irreducible: bool,
}

impl Loops {
    /// Finds the loops: one per header of a back edge. Near-linear: a finished inner loop is
    /// stepped over as a whole.
    pub fn new(f: &Function, cfg: &Cfg, doms: &Dominators) -> Loops {
        let mut found = Loops {
            loops: PrimaryMap::new(),
            outer: SecondaryMap::new(),
            innermost: SecondaryMap::with_capacity(f.block_count()),
            irreducible: false,
        };
        // Headers in reverse order of the walk: an inner header comes before the one around it.
        for &header in cfg.reverse_post_order().iter().rev() {
            let mut latches = Vec::new();
            for &pred in cfg.preds(header) {
                if !cfg.is_reachable(pred) {
                    continue;
                }
                if doms.dominates(header, pred) {
                    latches.push(pred);
                } else if cfg.rpo_index(pred) >= cfg.rpo_index(header) {
                    found.irreducible = true;
                }
            }
            if !latches.is_empty() {
                found.grow(cfg, header, latches);
            }
        }
        for id in found.loops.keys().rev() {
            // Parents come later in the list, so their depth is known when walking backwards.
            found.loops[id].depth = found.loops[id].parent.map_or(1, |p| found.loops[p].depth + 1);
        }
        found.number();
        found
    }

    /// Numbers the loops so that those inside a loop follow it.
    fn number(&mut self) {
        for id in self.loops.keys() {
            let nest = self.loops[id].nest;
            if let Some(parent) = self.loops[id].parent {
                self.loops[parent].nest += nest;
            }
        }
        let mut free: SecondaryMap<Loop, u32> = SecondaryMap::with_capacity(self.loops.len());
        let mut free_outside = 0;
        for id in self.loops.keys().rev() {
            let next = match self.loops[id].parent {
                Some(parent) => &mut free[parent],
                None => &mut free_outside,
            };
            let first = *next;
            *next += self.loops[id].nest;
            self.loops[id].first = first;
            free[id] = first + 1;
        }
    }

    fn grow(&mut self, cfg: &Cfg, header: Block, latches: Vec<Block>) {
        let mut work = latches.clone();
        let id = self.loops.push(LoopData { header, latches, parent: None, depth: 0, first: 0, nest: 1 });
        self.claim(header, id);
        while let Some(block) = work.pop() {
            // Of a finished inner loop only its header's predecessors matter.
            if let Some(entered) = self.claim(block, id) {
                work.extend(cfg.preds(entered).iter().copied().filter(|&p| cfg.is_reachable(p)));
            }
        }
    }

    /// Makes `id` the loop around a block, or around the outermost finished loop that the block is in. Returns the
    /// block whose predecessors are to be walked next; nothing when `id` had it already.
    fn claim(&mut self, block: Block, id: Loop) -> Option<Block> {
        match self.outermost(block) {
            None => {
                self.innermost[block] = Some(id);
                Some(block)
            }
            Some(inner) if inner == id => None,
            Some(inner) => {
                self.loops[inner].parent = Some(id);
                self.outer[inner] = Some(id);
                Some(self.loops[inner].header)
            }
        }
    }

    /// The outermost loop around a block so far.
    fn outermost(&mut self, block: Block) -> Option<Loop> {
        let mut at = self.innermost[block]?;
        while let Some(next) = self.outer[at] {
            if let Some(after) = self.outer[next] {
                self.outer[at] = Some(after);
            }
            at = next;
        }
        Some(at)
    }

    /// The loops, inner ones first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Loop> {
        self.loops.keys()
    }

    /// How many loops there are.
    pub fn len(&self) -> usize {
        self.loops.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.loops.is_empty()
    }

    /// The block that every path into the loop enters through.
    pub fn header(&self, id: Loop) -> Block {
        self.loops[id].header
    }

    /// The blocks that branch back to the header.
    pub fn latches(&self, id: Loop) -> &[Block] {
        &self.loops[id].latches
    }

    /// The loop around it.
    pub fn parent(&self, id: Loop) -> Option<Loop> {
        self.loops[id].parent
    }

    /// 1 for an outermost loop.
    pub fn depth(&self, id: Loop) -> u32 {
        self.loops[id].depth
    }

    /// The innermost loop that a block is in.
    pub fn innermost(&self, block: Block) -> Option<Loop> {
        self.innermost[block]
    }

    /// How many loops a block is in.
    pub fn block_depth(&self, block: Block) -> u32 {
        self.innermost[block].map_or(0, |id| self.depth(id))
    }

    /// Whether the block is in the loop or in one inside it.
    pub fn contains(&self, id: Loop, block: Block) -> bool {
        let data = &self.loops[id];
        self.innermost[block]
            .is_some_and(|inner| (data.first..data.first + data.nest).contains(&self.loops[inner].first))
    }

    /// Whether the graph has a cycle that is entered at more than one block; such a cycle is not listed as a loop.
    pub fn is_irreducible(&self) -> bool {
        self.irreducible
    }
}
