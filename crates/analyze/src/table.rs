//! Goal: every instruction with what a person asks about it: class, unit, latency, stall, and what it waits for.
//!
//! Cost: linear. Source: the tables of the machine crate; control fields as they are written.

use crate::units;
use sassafras_ir::{Block, Inst};
use sassafras_machine::Category;
use sassafras_machine::guidance::GuidanceUnit;
use sassafras_tepid::code::index;
use sassafras_tepid::{Code, Fields};
use serde::Serialize;

/// An instruction.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Where it stands, in bytes from the start of the section.
    pub offset: u64,
    /// The block.
    pub block: u32,
    /// Its text.
    pub text: String,
    /// Instructions that behave alike; none where no table has it.
    pub class: Option<Category>,
    /// The unit that it keeps longest.
    pub unit: Option<GuidanceUnit>,
    /// Cycles that it keeps it.
    pub unit_cycles: u32,
    /// Cycles until its result may be read: the longest distance that somebody in its block keeps, or what is expected where
    /// it varies; none where nobody reads it.
    pub latency: Option<u32>,
    /// Whether that varies.
    pub varies: bool,
    /// Stall.
    pub stall: u8,
    /// Whether it gives its turn away.
    pub yields: bool,
    /// Scoreboards that it sets: for its result, and for its sources.
    pub sets: [Option<u8>; 2],
    /// Sources kept at hand.
    pub reuse: u8,
    /// What it waits for.
    pub waits: Vec<Wait>,
    /// General registers in use.
    pub live: Option<u32>,
    /// Cycles that one warp alone loses before it, in the steady state of its innermost loop.
    pub lost: Option<u32>,
}

/// A scoreboard that is waited for.
#[derive(Clone, Debug, Serialize)]
pub struct Wait {
    /// Its number.
    pub board: u8,
    /// Offsets of the instructions of the block that set it; empty where it was set before.
    pub set_by: Vec<u64>,
}

/// The rows of a block.
pub struct Rows<'a, 'f> {
    /// The function.
    pub code: &'a Code<'f>,
    /// Control fields by instruction.
    pub fields: &'a [Fields],
    /// By instruction: registers in use; empty where that is not known.
    pub live: &'a [u32],
    /// By instruction: cycles lost.
    pub lost: &'a [Option<u32>],
    /// By instruction: the longest distance to whoever reads it.
    pub latencies: &'a [Option<u32>],
}

impl Rows<'_, '_> {
    /// The rows of a block, with texts from somebody who can print them.
    pub fn of(&self, block: Block, offset: impl Fn(Inst) -> u64, text: impl Fn(Inst) -> String) -> Vec<Row> {
        let Rows { code, fields, .. } = *self;
        // By scoreboard: who has set it since somebody last waited for it.
        let mut set: [Vec<u64>; 8] = Default::default();
        let row = |&inst: &Inst| {
            let own = fields[index(inst)];
            let boards = (0..6u8).filter(|board| own.wait >> board & 1 == 1);
            let waits = boards
                .map(|board| Wait { board, set_by: std::mem::take(&mut set[usize::from(board)]) })
                .collect();
            for board in [own.write, own.read].into_iter().flatten() {
                set[usize::from(board & 7)].push(offset(inst));
            }
            let longest = units::of(code, inst).into_iter().max_by_key(|&(_, cycles)| cycles);
            let op = code.op(inst);
            let expected =
                (op.decoupled && !code.writes(inst).is_empty()).then(|| u32::from(op.expected.write));
            Row {
                offset: offset(inst),
                block: block.as_u32(),
                text: text(inst),
                class: op.category,
                unit: longest.map(|(unit, _)| unit),
                unit_cycles: longest.map_or(0, |(_, cycles)| cycles),
                latency: expected.or(self.latencies[index(inst)]),
                varies: op.decoupled,
                stall: own.stall,
                yields: own.yields,
                sets: [own.write, own.read],
                reuse: own.reuse,
                waits,
                live: self.live.get(index(inst)).copied(),
                lost: self.lost[index(inst)],
            }
        };
        code.f.block_insts(block).iter().map(row).collect()
    }
}
