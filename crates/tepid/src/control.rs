//! Goal: every control field of a function anew, for its instructions as they stand.
//!
//! Scoreboards are assigned, then waits and stalls are placed. Where that shows that the sources of an instruction need a
//! scoreboard of their own, both are done again with it. What came may be kept where it still serves ([`Keep`]): which is better is for
//! whoever asks to find out ([`clock`](crate::clock)).

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

/// What of the fields that came is kept where it serves. Any of it is safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep<'a> {
    /// Nothing: all are computed for the order that stands.
    Nothing,
    /// Every instruction keeps its scoreboards, if it needs any. These, blocks that stand as they came, also wait for what they waited for and stall
    /// no less.
    Blocks(&'a FixedBitSet),
}

impl Keep<'_> {
    /// Whether an instruction keeps all that it came with.
    pub fn keeps(self, inst: Inst) -> bool {
        matches!(self, Keep::Blocks(kept) if kept.contains(index(inst)))
    }
}

/// The control fields of all instructions, by instruction.
///
/// # Errors
/// When no stalls and waits serve some instruction.
pub fn rebuild(code: &Code<'_>, original: &Original) -> Result<Vec<Fields>, Unsolvable> {
    rebuild_with(code, original, Keep::Nothing)
}

/// As [`rebuild`], but for what is kept.
///
/// # Errors
/// As [`rebuild`].
pub fn rebuild_with(code: &Code<'_>, original: &Original, keep: Keep<'_>) -> Result<Vec<Fields>, Unsolvable> {
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
        let boards = boards::assign((code, original), &cfg, keep, &mut reads, &mut given);
        let asked = reads.count_ones(..);
        let mut fields =
            match fields::assign((code, original, keep), &cfg, &boards, (&mut reads, &eased), &mut tools) {
                Ok(fields) => fields,
                // Where the tables ask for more than stalls can give, what the compiler left is enough, block by block.
                Err(Unsolvable { inst, obstacle: Obstacle::TooClose { .. } })
                    if !eased.contains(index(inst)) =>
                {
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
                if insts.first().is_some_and(|&first| keep.keeps(first)) {
                    keep_turns(original, insts, streams.is_stream(block), &mut fields);
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

/// In a block that keeps its fields: turns, where no stream gives them away too soon, and flags of reuse, where all else is as it came.
fn keep_turns(original: &Original, insts: &[Inst], is_stream: bool, fields: &mut [Fields]) {
    let plain = |fields: &Fields| (fields.stall, fields.wait, fields.write, fields.read);
    let same = |inst: &Inst| plain(&fields[index(*inst)]) == plain(&original.fields[index(*inst)]);
    let all = insts.iter().all(same);
    for &inst in insts {
        let (field, came) = (&mut fields[index(inst)], &original.fields[index(inst)]);
        if all {
            field.reuse = came.reuse;
        }
        if !is_stream && field.stall == came.stall {
            field.yields = came.yields;
        }
    }
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
