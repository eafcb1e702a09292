//! Goal: the documented statistics of a block, under their documented names.
//!
//! | name | here |
//! |---|---|
//! | `tSubBb` | regions of the block that nothing is moved between: what barriers, calls and opaque instructions cut it into |
//! | `HeaderBb` | whether a loop starts here |
//! | `Nvopts` | instructions with a scheduling hint: reuse of a register, or a turn given away |
//! | `LsuResBusy` | cycles that its accesses keep the data path of shared memory and the first cache |
//! | `Time` | cycles for one warp alone |
//! | `TepidTime` | cycles per warp when all warps overlap |
//! | `MacInsts`, `MacReuses` | multiply-accumulates, and their sources that are kept at hand |
//! | `MacUtil`, `TepidMacUtil` | per cent of `Time` and `TepidTime` in which the multiply-accumulates keep their pipe |
//!
//! Cost: each block is run twice on the model. Source: the ptxas-scheduling document (per-block statistics) names them; what *Nvopts*,
//! *Time* and *TepidTime* count is our reading.

use crate::percent;
use crate::steady::Steady;
use crate::units::Units;
use sassafras_ir::{Block, Effects, Inst};
use sassafras_tepid::classify::{Class, Kind, kind};
use sassafras_tepid::code::index;
use sassafras_tepid::{Code, Fields};
use serde::Serialize;

/// The statistics of a block.
#[derive(Clone, Debug, Serialize)]
pub struct BlockReport {
    /// Its number.
    pub block: u32,
    /// Where its first instruction stands, in bytes from the start of the section.
    pub offset: u64,
    /// Instructions.
    pub instructions: u32,
    /// Loops around it.
    pub depth: u32,
    /// What it does.
    pub class: Class,
    /// Regions that nothing is moved between.
    #[serde(rename = "tSubBb")]
    pub sub_regions: u32,
    /// Whether a loop starts here.
    #[serde(rename = "HeaderBb")]
    pub header: bool,
    /// Instructions with a scheduling hint.
    #[serde(rename = "Nvopts")]
    pub hints: u32,
    /// Cycles of the data path.
    #[serde(rename = "LsuResBusy")]
    pub data_path: u32,
    /// Cycles for one warp alone.
    #[serde(rename = "Time")]
    pub time: f64,
    /// Cycles per warp when all overlap.
    #[serde(rename = "TepidTime")]
    pub tepid_time: f64,
    /// Multiply-accumulates.
    #[serde(rename = "MacInsts")]
    pub macs: u32,
    /// Their sources that are kept at hand.
    #[serde(rename = "MacReuses")]
    pub mac_reuses: u32,
    /// Per cent of the time alone.
    #[serde(rename = "MacUtil")]
    pub mac_util: f64,
    /// Per cent of the time when all overlap.
    #[serde(rename = "TepidMacUtil")]
    pub tepid_mac_util: f64,
}

/// Where a block stands.
pub struct Standing {
    /// The block.
    pub block: Block,
    /// Its first instruction.
    pub offset: u64,
    /// Loops around it.
    pub depth: u32,
    /// Whether a loop starts here.
    pub header: bool,
    /// Whether it is a loop of its own.
    pub repeats: bool,
    /// What it does.
    pub class: Class,
}

impl BlockReport {
    /// Looks at a block.
    pub fn new(code: &Code<'_>, fields: &[Fields], standing: &Standing, warps: usize) -> BlockReport {
        let insts = code.f.block_insts(standing.block);
        let (time, alone) = Steady::times(code, insts, fields, warps, standing.repeats);
        let macs: Vec<(Inst, u32)> = (insts.iter())
            .filter_map(|&inst| match kind(code, inst) {
                (Kind::Mac, cycles) => Some((inst, cycles)),
                _ => None,
            })
            .collect();
        let mac_cycles: u32 = macs.iter().map(|(_, cycles)| cycles).sum();
        let cuts = Effects::BARRIER | Effects::CALL | Effects::OPAQUE;
        let is_cut = |inst: &&Inst| code.f.inst(**inst).effects.intersects(cuts);
        BlockReport {
            block: standing.block.as_u32(),
            offset: standing.offset,
            instructions: insts.len() as u32,
            depth: standing.depth,
            class: standing.class,
            sub_regions: 1 + insts.iter().filter(is_cut).count() as u32,
            header: standing.header,
            hints: insts
                .iter()
                .filter(|&&inst| fields[index(inst)].reuse != 0 || fields[index(inst)].yields)
                .count() as u32,
            data_path: Units::new(code, insts, 1.0).data_path.0,
            time: alone,
            tepid_time: time,
            macs: macs.len() as u32,
            mac_reuses: macs.iter().map(|&(inst, _)| fields[index(inst)].reuse.count_ones()).sum(),
            mac_util: percent(f64::from(mac_cycles), alone),
            tepid_mac_util: percent(f64::from(mac_cycles), time),
        }
    }
}
