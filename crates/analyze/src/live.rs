//! Goal: how many general registers hold something that is still wanted, before every instruction.
//!
//! Cost: linear in operands. Source: the liveness of `ir`.

use rustc_hash::FxHashSet;
use sassafras_ir::cfg::Cfg;
use sassafras_ir::liveness::Liveness;
use sassafras_ir::{Function, Lane, RegClass};
use sassafras_tepid::code::index;

/// By instruction: general registers that are live at it, its results included. Empty where the function is too large to know.
pub fn live(f: &Function, cfg: &Cfg) -> Vec<u32> {
    let Ok(liveness) = Liveness::new(f, cfg) else { return Vec::new() };
    let mut counts = vec![0; f.inst_count()];
    for block in f.blocks() {
        let mut live: FxHashSet<Lane> =
            liveness.live_out(block).filter(|lane| lane.class() == RegClass::Gpr).collect();
        for &inst in f.block_insts(block).iter().rev() {
            let general = |lane: Lane| lane.class() == RegClass::Gpr;
            f.for_each_write(inst, |write| {
                if general(write.lane) {
                    live.insert(write.lane);
                }
            });
            counts[index(inst)] = live.len() as u32;
            if f.kills(inst) {
                f.for_each_write(inst, |write| {
                    live.remove(&write.lane);
                });
            }
            f.for_each_read(inst, |read| {
                if general(read.lane) {
                    live.insert(read.lane);
                }
            });
            counts[index(inst)] = counts[index(inst)].max(live.len() as u32);
        }
    }
    counts
}
