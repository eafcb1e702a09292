//! Goal: for people, by which blocks control comes from the one instruction of a finding to the other.
//!
//! Cost: linear in the function once; per finding, what a search in breadth meets before it is there.

use super::Finding;
use rustc_hash::FxHashMap;
use sassafras_ir::cfg::Cfg;
use sassafras_ir::{Block, Function, Inst};
use std::cell::OnceCell;
use std::collections::VecDeque;

/// Where the instructions of a function stand.
pub struct Paths<'f> {
    f: &'f Function,
    /// By instruction: its block, and its place there.
    places: Vec<Option<(Block, u32)>>,
    cfg: OnceCell<Cfg>,
}

impl<'f> Paths<'f> {
    /// Of a function as it stands.
    pub fn new(f: &'f Function) -> Paths<'f> {
        let mut places = vec![None; f.inst_count()];
        for block in f.blocks() {
            for (&inst, place) in f.block_insts(block).iter().zip(0..) {
                places[inst.as_u32() as usize] = Some((block, place));
            }
        }
        Paths { f, places, cfg: OnceCell::new() }
    }

    /// The blocks on a shortest way from the producer to the consumer of a finding, both ends included. One block when the
    /// producer stands before the consumer in it.
    pub fn of(&self, finding: &Finding) -> Vec<Block> {
        let place = |inst: Inst| self.places.get(inst.as_u32() as usize).copied().flatten();
        let (Some((from, first)), Some((to, second))) = (place(finding.producer), place(finding.consumer))
        else {
            return Vec::new();
        };
        if from == to && first < second {
            return vec![from];
        }
        let cfg = self.cfg.get_or_init(|| Cfg::new(self.f));
        let mut came_from: FxHashMap<Block, Block> = FxHashMap::default();
        let mut queue = VecDeque::from([from]);
        while let Some(block) = queue.pop_front() {
            for &next in cfg.succs(block) {
                came_from.entry(next).or_insert_with(|| {
                    queue.push_back(next);
                    block
                });
            }
            if came_from.contains_key(&to) {
                break;
            }
        }
        let mut path = vec![to];
        let mut at = to;
        while let Some(&before) = came_from.get(&at) {
            path.push(before);
            at = before;
            if at == from {
                break;
            }
        }
        path.reverse();
        path
    }
}
