//! Which lanes hold a value that is still wanted.
//!
//! Backward data flow on the lanes that are live into some block; lanes that live and die inside one block never enter
//! the sets, so their size follows the control flow and not the number of virtual registers.

use crate::cfg::Cfg;
use crate::function::{Block, Function};
use crate::lane::Lane;
use cranelift_entity::SecondaryMap;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
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
    live_in: Sets,
    live_out: Sets,
}

impl Liveness {
    /// The most memory that the sets may take: ten thousand registers over a hundred thousand blocks.
    pub const LIMIT: usize = 1 << 30;

    /// Solves the data flow. A guarded write does not kill.
    ///
    /// Reads are those that instructions list. What a call, an opaque instruction or the caller behind a return may
    /// read besides is not counted: enough for register pressure, not for removing a write.
    pub fn new(f: &Function, cfg: &Cfg) -> Result<Liveness, TooLarge> {
        Liveness::solve(f, cfg).map(|(liveness, _)| liveness)
    }

    /// As [`Liveness::new`], with how many times a block was looked at.
    fn solve(f: &Function, cfg: &Cfg) -> Result<(Liveness, usize), TooLarge> {
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
        let mut kills = Sets::new(blocks, size);
        let mut live_in = Sets::new(blocks, size);
        let mut live_out = Sets::new(blocks, size);
        for block in f.blocks() {
            for &inst in f.block_insts(block) {
                if f.kills(inst) {
                    f.for_each_write(inst, |w| {
                        if let Some(&number) = numbers.get(&w.lane) {
                            kills.insert(block, number);
                        }
                    });
                }
            }
            for &number in &exposed[block] {
                live_in.insert(block, number);
            }
        }
        drop(exposed);
        // Pass 3: backward, successors first, until nothing changes. Sweep by sweep, so that their number follows how deep loops are
        // nested; of the blocks only those are looked at that have a successor with more.
        let mut order: Vec<Block> = f.blocks().collect();
        order.sort_by_key(|&b| cfg.rpo_index(b));
        order.reverse();
        let mut place: SecondaryMap<Block, u32> = SecondaryMap::with_capacity(blocks);
        for (at, &block) in (0..).zip(&order) {
            place[block] = at;
        }
        let mut queued: SecondaryMap<Block, bool> = SecondaryMap::with_default(true);
        let mut sweep: BinaryHeap<Reverse<u32>> = (0..order.len() as u32).map(Reverse).collect();
        let mut next: Vec<Reverse<u32>> = Vec::new();
        let mut looks = 0;
        while !sweep.is_empty() {
            while let Some(Reverse(at)) = sweep.pop() {
                looks += 1;
                let block = order[at as usize];
                queued[block] = false;
                for &succ in cfg.succs(block) {
                    live_out.add(block, &live_in, succ);
                }
                if !live_in.add_without(block, &live_out, &kills) {
                    continue;
                }
                for &pred in cfg.preds(block) {
                    if !std::mem::replace(&mut queued[pred], true) {
                        let place = Reverse(place[pred]);
                        if place.0 > at { sweep.push(place) } else { next.push(place) }
                    }
                }
            }
            sweep.extend(next.drain(..));
        }
        Ok((Liveness { lanes, live_in, live_out }, looks))
    }

    /// Lanes live on entry to a block.
    pub fn live_in(&self, block: Block) -> impl Iterator<Item = Lane> {
        self.live_in.of(block).map(|i| self.lanes[i])
    }

    /// Lanes live on exit from a block.
    pub fn live_out(&self, block: Block) -> impl Iterator<Item = Lane> {
        self.live_out.of(block).map(|i| self.lanes[i])
    }
}

/// A set of numbers for every block, side by side in one table.
#[derive(Clone, Debug)]
struct Sets {
    /// Words of a set.
    width: usize,
    words: Vec<u64>,
}

impl Sets {
    /// Empty ones, of numbers below `size`.
    fn new(blocks: usize, size: usize) -> Sets {
        let width = size.div_ceil(64);
        Sets { width, words: vec![0; blocks * width] }
    }

    fn words(&self, block: Block) -> Range<usize> {
        let start = block.as_u32() as usize * self.width;
        start..start + self.width
    }

    fn insert(&mut self, block: Block, number: u32) {
        let start = self.words(block).start;
        self.words[start + number as usize / 64] |= 1 << (number % 64);
    }

    /// Adds what another table has for another block.
    fn add(&mut self, block: Block, others: &Sets, other: Block) {
        let range = self.words(block);
        for (to, from) in self.words[range].iter_mut().zip(&others.words[others.words(other)]) {
            *to |= from;
        }
    }

    /// Adds what another table has for the block, without what a third one has. Returns whether that is more.
    fn add_without(&mut self, block: Block, others: &Sets, without: &Sets) -> bool {
        let range = self.words(block);
        let words = others.words[range.clone()].iter().zip(&without.words[range.clone()]);
        let mut more = 0;
        for (to, (from, without)) in self.words[range].iter_mut().zip(words) {
            let added = from & !without & !*to;
            *to |= added;
            more |= added;
        }
        more != 0
    }

    /// The numbers of a block, in order.
    fn of(&self, block: Block) -> impl Iterator<Item = usize> {
        (0..).step_by(64).zip(&self.words[self.words(block)]).flat_map(|(first, &word)| {
            std::iter::successors(Some(word), |&word| Some(word & word.wrapping_sub(1)))
                .take_while(|&word| word != 0)
                .map(move |word| first + word.trailing_zeros() as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse;
    use std::fmt::Write;

    /// Branches from everywhere to everywhere, and in every block another register is read: what takes blocks in the order that they
    /// come to mind looks at each of them hundreds of times.
    #[test]
    fn branches_that_mean_nothing_cost_few_looks() {
        const BLOCKS: u64 = 2000;
        let mut text = "func f sm_90 {\n".to_owned();
        let mut seed = 1u64;
        for n in 0..BLOCKS {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (to, register) = ((seed >> 33) % BLOCKS, (seed >> 20) % 250);
            let _ = writeln!(text, "^b{n}:\n R{} = MOV R{register}\n @P1 BRA ^b{to} !branch", n % 250);
        }
        text += "^end:\n EXIT !exit\n}";
        let module = parse(&text).expect("a right text");
        let f = &module.functions[0];
        let (liveness, looks) = Liveness::solve(f, &Cfg::new(f)).expect("small");
        assert!(liveness.live_in(f.blocks().next().expect("a block")).count() > 200);
        assert!(looks < 20 * BLOCKS as usize, "{looks}");
    }
}
