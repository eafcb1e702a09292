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

/// Rounds until no instruction asks for another scoreboard. Each round adds at least one; from the second half on, all of their opcodes.
const ROUNDS: usize = 32;

/// The control fields of all instructions, by instruction.
pub fn rebuild(code: &Code<'_>, original: &Original) -> Result<Vec<Fields>, Unsolvable> {
    let insts = || code.f.blocks().flat_map(|block| code.f.block_insts(block));
    if let Some(&inst) = insts().find(|&&inst| code.op(inst).form.unknown) {
        return Err(Unsolvable { inst, obstacle: Obstacle::Unknown });
    }
    let cfg = Cfg::new(code.f);
    let mut reads = FixedBitSet::with_capacity(code.f.inst_count());
    let mut eased = FixedBitSet::with_capacity(code.f.inst_count());
    let mut tools = fields::Tools::new(code, original);
    let mut given = boards::Given::default();
    let mut rounds = 0;
    while rounds < ROUNDS {
        let boards = boards::assign(code, original, &cfg, &mut reads, &mut given);
        let asked = reads.count_ones(..);
        let mut fields = match fields::assign(code, original, &cfg, &boards, (&mut reads, &eased), &mut tools)
        {
            Ok(fields) => fields,
            // Where the tables ask for more than stalls can give, what the compiler left is enough, block by block.
            Err(Unsolvable { inst, obstacle: Obstacle::TooClose { .. } }) if !eased.contains(index(inst)) => {
                let insts = code.f.blocks().map(|block| code.f.block_insts(block));
                let block = insts.into_iter().find(|insts| insts.contains(&inst)).unwrap_or_default();
                eased.extend(block.iter().map(|&inst| index(inst)));
                eased.insert(index(inst));
                continue;
            }
            Err(unsolvable) => return Err(unsolvable),
        };
        rounds += 1;
        if reads.count_ones(..) == asked {
            let streams = Streams::new(code, &cfg);
            for block in code.f.blocks() {
                let insts = code.f.block_insts(block);
                yields::assign(code, insts, streams.is_stream(block), &mut fields);
                reuse::assign(code, insts, |inst| original.holds_all(inst), &mut fields);
                for &inst in insts.iter().filter(|&&inst| original.drains(inst)) {
                    let field = &mut fields[index(inst)];
                    (field.stall, field.yields, field.reuse) = (0, true, 0);
                }
            }
            return Ok(fields);
        }
        if rounds >= ROUNDS / 2 {
            ask_alike(code, &mut reads);
        }
    }
    let inst = Inst::from_u32(reads.ones().next_back().unwrap_or(0) as u32);
    Err(Unsolvable { inst, obstacle: Obstacle::Scoreboards })
}

/// Where some instructions of an opcode need a scoreboard to show that their sources were read, all of that opcode get one.
fn ask_alike(code: &Code<'_>, reads: &mut FixedBitSet) {
    let f = code.f;
    let opcode = |inst: Inst| f.inst(inst).opcode.as_u32() as usize;
    let asked: FixedBitSet = reads.ones().map(|inst| opcode(Inst::from_u32(inst as u32))).collect();
    let alike =
        f.blocks().flat_map(|block| f.block_insts(block)).filter(|&&inst| asked.contains(opcode(inst)));
    reads.extend(alike.map(|&inst| index(inst)));
}
