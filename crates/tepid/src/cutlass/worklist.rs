//! Goal: barrier points between the matrix instructions of a block.
//!
//! Blocks are gone through in reverse post-order. In a block that matrix instructions dominate, everything from the first of
//! them to the last is looked at, and an instruction becomes a point when a register among its sources stands at a position
//! below its opcode's threshold.
//!
//! Readings:
//! - Instructions of a sequence have one slot number, and slots are per block: a block's matrix instructions are one sequence.
//! - "Dominated" is not defined: here no pipe of the block is busier than the matrix pipe, or the matrix instructions run beside
//!   the warp; and there are at least two of them, so that there is something between.
//! - A point is stored as (block, priority); the instruction and its operands are kept beside it.
//!
//! Cost: linear in the operands. Source: latency-model document, "Barrier Worklist Builder".

use super::is_matrix;
use super::settings::Insertion;
use super::thresholds::Thresholds;
use crate::code::{Code, Special};
use sassafras_ir::cfg::Cfg;
use sassafras_ir::{Block, Inst, RegClass};
use sassafras_machine::dispatch::Pipe;

/// How urgent a barrier point is: 1 before 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(u8);

impl Priority {
    /// On the low-latency path.
    pub const FAST: Priority = Priority(1);
    /// Otherwise.
    pub const STANDARD: Priority = Priority(3);

    /// The documented number.
    pub fn number(self) -> u8 {
        self.0
    }
}

/// A place where a barrier may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// The block.
    pub block: Block,
    /// The instruction.
    pub inst: Inst,
    /// Source positions below the threshold that hold registers, one bit each.
    pub positions: u8,
    /// How urgent it is.
    pub priority: Priority,
}

/// The matrix instructions of a block that they dominate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// The block.
    pub block: Block,
    /// Place of the first one in the block.
    pub first: usize,
    /// Place of the last one.
    pub last: usize,
    /// How many there are.
    pub count: usize,
}

/// All points of a function, in reverse post-order of their blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Worklist {
    points: Vec<Point>,
    sequences: Vec<Sequence>,
}

impl Worklist {
    /// Finds the points.
    pub fn build(code: &Code<'_>, cfg: &Cfg, insertion: Insertion) -> Worklist {
        let f = code.f;
        let rows: Vec<Option<u8>> = f
            .opcodes()
            .map(|text| Thresholds::shipped().of(text).and_then(|row| row.value).map(|(value, _)| value))
            .collect();
        let mut found = Worklist::default();
        for &block in cfg.reverse_post_order() {
            let Some(sequence) = sequence(code, block) else { continue };
            found.sequences.push(sequence);
            let Insertion::On(priority) = insertion else { continue };
            for &inst in &f.block_insts(block)[sequence.first..=sequence.last] {
                let threshold = rows[f.inst(inst).opcode.as_u32() as usize];
                let positions = threshold.map_or(0, |threshold| positions(code, inst, threshold));
                if positions != 0 {
                    found.points.push(Point { block, inst, positions, priority });
                }
            }
        }
        found
    }

    /// The points.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The sequences, those without points too.
    pub fn sequences(&self) -> &[Sequence] {
        &self.sequences
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// The (block, priority) pairs as the document stores them, each once.
    pub fn pairs(&self) -> Vec<(u32, u8)> {
        let mut pairs: Vec<(u32, u8)> =
            self.points.iter().map(|point| (point.block.as_u32(), point.priority.number())).collect();
        pairs.dedup();
        pairs
    }
}

/// The sequence of a block; none where matrix instructions do not dominate it.
fn sequence(code: &Code<'_>, block: Block) -> Option<Sequence> {
    let insts = code.f.block_insts(block);
    let mut matrix = insts.iter().enumerate().filter(|&(_, &inst)| is_matrix(code, inst)).map(|(at, _)| at);
    let first = matrix.next()?;
    let (count, last) = matrix.fold((1, first), |(count, _), at| (count + 1, at));
    if count < 2 {
        return None;
    }
    let mut busy = [0u32; Pipe::ALL.len()];
    let mut beside = false;
    for &inst in insts {
        beside |= is_matrix(code, inst) && code.op(inst).special == Special::Warpgroup;
        for (pipe, cycles) in code.op(inst).dispatch.pipes() {
            busy[pipe as usize] += u32::from(cycles);
        }
    }
    let most = busy.iter().copied().max().unwrap_or(0);
    let dominates = beside || busy[Pipe::Tensor as usize] == most;
    dominates.then_some(Sequence { block, first, last, count })
}

/// Source positions below a threshold that hold general or uniform registers, one bit each.
fn positions(code: &Code<'_>, inst: Inst, threshold: u8) -> u8 {
    let sources = code.f.uses(inst).iter().take(usize::from(threshold.min(8)));
    sources.enumerate().fold(0, |bits, (at, operand)| {
        let is_data =
            operand.span().is_some_and(|span| matches!(span.class(), RegClass::Gpr | RegClass::Uniform));
        bits | u8::from(is_data) << at
    })
}
