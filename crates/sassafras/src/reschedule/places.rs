//! Goal: no instruction crosses a place that something outside the code points to.

use super::kept::Kept;
use super::settle::Fault;
use sassafras_cubin::{Boundary, FrameRow};
use sassafras_ir::Block;
use sassafras_sass::program::Routine;
use std::collections::BTreeMap;

/// Places in a section that instructions stay on their side of.
pub struct Places {
    /// Addresses that something may point to.
    pub boundaries: Vec<Boundary>,
    /// Rows of call-frame data, table by table.
    pub frames: Vec<Vec<FrameRow>>,
}

impl Places {
    /// The blocks of a routine that have to have another order than they have.
    pub fn crossed(&self, routine: &Routine) -> Vec<Fault> {
        let fault = |block, why| Fault { suspects: vec![block], why };
        let sides = self.beside(routine);
        let sides = sides.into_iter().map(|block| fault(block, Kept::CrossesName));
        let rows = self.out_of_turn(routine).into_iter();
        sides.chain(rows.map(|block| fault(block, Kept::CrossesFrameRow))).collect()
    }

    /// Blocks in which an instruction has crossed a place inside that something may point to.
    fn beside(&self, routine: &Routine) -> Vec<Block> {
        let f = &routine.lifted.function;
        let is_crossed = |&block: &Block| {
            let new = f.block_insts(block);
            // Instructions are numbered in the order that they came in.
            let mut old = new.to_vec();
            old.sort_unstable();
            let Some(&first) = old.first() else { return false };
            let start = routine.offset(first);
            self.boundaries.iter().any(|boundary| {
                let before =
                    boundary.offset.saturating_sub(start).div_ceil(16).min(old.len() as u64) as usize;
                before > 0 && new[..before].iter().any(|&inst| inst > old[before - 1])
            })
        };
        f.blocks().filter(is_crossed).collect()
    }

    /// Blocks with rows of call-frame data that follow an instruction to the other side of another row.
    fn out_of_turn(&self, routine: &Routine) -> Vec<Block> {
        let f = &routine.lifted.function;
        let mut places: BTreeMap<u64, (u64, Block)> = BTreeMap::new();
        let mut new = routine.range.start;
        for block in f.blocks() {
            for &inst in f.block_insts(block) {
                places.insert(routine.offset(inst), (new, block));
                new += 16;
            }
        }
        let mut found = Vec::new();
        for rows in &self.frames {
            let place = |row: &FrameRow| row.behind.and_then(|behind| places.get(&behind));
            let address = |row: &FrameRow| place(row).map_or(row.address, |(new, _)| new + 16);
            if !rows.is_sorted_by_key(address) {
                let blocks = rows.iter().filter_map(place).map(|&(_, block)| block);
                found.extend(blocks.filter(|&block| !f.block_insts(block).is_sorted()));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}
