//! Dominators, by the semi-NCA algorithm (Georgiadis and Tarjan): semidominators by path compression, then one walk up
//! the tree per block. Near-linear in practice, no recursion.

use crate::cfg::Cfg;
use crate::function::{Block, Function};
use cranelift_entity::SecondaryMap;

/// The dominator tree of the blocks that can be reached.
#[derive(Clone, Debug)]
pub struct Dominators {
    idom: SecondaryMap<Block, Option<Block>>,
    /// Entry and exit numbers of a walk over the tree: `a` dominates `b` when `b`'s interval lies inside `a`'s.
    interval: SecondaryMap<Block, Option<(u32, u32)>>,
}

impl Dominators {
    /// Computes the tree.
    pub fn new(f: &Function, cfg: &Cfg) -> Dominators {
        let mut idom = SecondaryMap::with_capacity(f.block_count());
        let Some(entry) = f.blocks().next() else {
            return Dominators { idom, interval: SecondaryMap::new() };
        };

        // Depth-first numbering; `parent` is the tree of that walk.
        let mut order: Vec<Block> = Vec::new();
        let mut number: SecondaryMap<Block, u32> = SecondaryMap::with_default(u32::MAX);
        let mut parent: Vec<u32> = Vec::new();
        let mut stack = vec![(entry, 0u32)];
        while let Some((block, from)) = stack.pop() {
            if number[block] != u32::MAX {
                continue;
            }
            let n = order.len() as u32;
            number[block] = n;
            order.push(block);
            parent.push(from);
            stack.extend(cfg.succs(block).iter().rev().map(|&s| (s, n)));
        }

        let n = order.len();
        let mut ancestor = parent.clone();
        let mut label: Vec<u32> = (0..n as u32).collect();
        let mut semi: Vec<u32> = (0..n as u32).collect();
        let mut path = Vec::new();
        for w in (1..n).rev() {
            semi[w] = parent[w];
            for &pred in cfg.preds(order[w]) {
                let v = number[pred];
                if v != u32::MAX {
                    let u = evaluate(v, w as u32, &mut ancestor, &mut label, &semi, &mut path);
                    semi[w] = semi[w].min(semi[u as usize]);
                }
            }
            label[w] = w as u32;
        }
        let mut dom = parent;
        for w in 1..n {
            while dom[w] > semi[w] {
                dom[w] = dom[dom[w] as usize];
            }
            idom[order[w]] = Some(order[dom[w] as usize]);
        }
        let interval = intervals(&order, &dom);
        Dominators { idom, interval }
    }

    /// The closest strict dominator; `None` for the entry and for what cannot be reached.
    pub fn idom(&self, block: Block) -> Option<Block> {
        self.idom[block]
    }

    /// Whether every path from the entry to `b` goes through `a` (a block dominates itself). Constant time.
    pub fn dominates(&self, a: Block, b: Block) -> bool {
        match (self.interval[a], self.interval[b]) {
            (Some((a_in, a_out)), Some((b_in, b_out))) => a_in <= b_in && b_out <= a_out,
            _ => false,
        }
    }
}

/// The vertex with the smallest semidominator on the path from `v` up to, but without, the vertices not yet linked
/// (those numbered below `linked`).
fn evaluate(
    v: u32,
    linked: u32,
    ancestor: &mut [u32],
    label: &mut [u32],
    semi: &[u32],
    path: &mut Vec<u32>,
) -> u32 {
    if v <= linked {
        return v;
    }
    let mut u = v;
    while ancestor[u as usize] > linked {
        path.push(u);
        u = ancestor[u as usize];
    }
    while let Some(w) = path.pop() {
        let a = ancestor[w as usize];
        if semi[label[a as usize] as usize] < semi[label[w as usize] as usize] {
            label[w as usize] = label[a as usize];
        }
        ancestor[w as usize] = ancestor[a as usize];
    }
    label[v as usize]
}

/// Entry and exit numbers of a depth-first walk over the tree given by `dom` on walk numbers.
fn intervals(order: &[Block], dom: &[u32]) -> SecondaryMap<Block, Option<(u32, u32)>> {
    // A vertex's dominator has a smaller number, so sizes and places follow from two sweeps, without a walk.
    let n = order.len();
    let mut size = vec![1u32; n];
    for w in (1..n).rev() {
        size[dom[w] as usize] += size[w];
    }
    let mut next: Vec<u32> = vec![0; n];
    let mut interval = SecondaryMap::with_capacity(n);
    for w in 0..n {
        let start = if w == 0 { 0 } else { next[dom[w] as usize] };
        if w > 0 {
            next[dom[w] as usize] += size[w];
        }
        next[w] = start + 1;
        interval[order[w]] = Some((start, start + size[w] - 1));
    }
    interval
}
