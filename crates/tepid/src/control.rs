//! Goal: every control field of a function anew, for its instructions as they stand.
//!
//! Scoreboards are assigned, then waits and stalls are placed. Where that shows that the sources of an instruction need a
//! scoreboard of their own, both are done again with it.

use crate::boards;
use crate::code::{Code, index};
use crate::fields;
use crate::obstacle::{Obstacle, Unsolvable};
use crate::original::{Fields, Original};
use crate::streams::Streams;
use crate::{reuse, yields};
use fixedbitset::FixedBitSet;
use sassafras_ir::Inst;
use sassafras_ir::cfg::Cfg;

/// Rounds until no instruction asks for another scoreboard. Each round adds at least one.
const ROUNDS: usize = 16;

/// The control fields of all instructions, by instruction.
pub fn rebuild(code: &Code<'_>, original: &Original) -> Result<Vec<Fields>, Unsolvable> {
    let insts = || code.f.blocks().flat_map(|block| code.f.block_insts(block));
    if let Some(&inst) = insts().find(|&&inst| code.op(inst).form.unknown) {
        return Err(Unsolvable { inst, obstacle: Obstacle::Unknown });
    }
    let cfg = Cfg::new(code.f);
    let mut reads = FixedBitSet::with_capacity(code.f.inst_count());
    for _ in 0..ROUNDS {
        let boards = boards::assign(code, original, &cfg, &mut reads);
        let asked = reads.count_ones(..);
        let mut fields = fields::assign(code, original, &cfg, &boards, &mut reads)?;
        if reads.count_ones(..) == asked {
            let streams = Streams::new(code, &cfg);
            for block in code.f.blocks() {
                let insts = code.f.block_insts(block);
                yields::assign(code, insts, streams.is_stream(block), &mut fields);
                reuse::assign(code, insts, &mut fields);
                for &inst in insts.iter().filter(|&&inst| original.drains(inst)) {
                    let field = &mut fields[index(inst)];
                    (field.stall, field.yields, field.reuse) = (0, true, 0);
                }
            }
            return Ok(fields);
        }
    }
    let inst = Inst::from_u32(reads.ones().next_back().unwrap_or(0) as u32);
    Err(Unsolvable { inst, obstacle: Obstacle::Scoreboards })
}
