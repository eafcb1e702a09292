//! Register pressure: how many lanes of each class are live at once.

use crate::function::{Block, Function, Inst};
use crate::lane::{Lane, RegClass};
use crate::liveness::Liveness;
use rustc_hash::FxHashSet;
use std::ops::Index;

/// A number per register class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerClass([u32; RegClass::ALL.len()]);

impl Index<RegClass> for PerClass {
    type Output = u32;
    fn index(&self, class: RegClass) -> &u32 {
        &self.0[class as usize]
    }
}

impl PerClass {
    /// The larger of the two in every class.
    pub fn max(self, other: PerClass) -> PerClass {
        PerClass(std::array::from_fn(|i| self.0[i].max(other.0[i])))
    }

    fn add(&mut self, lane: Lane) {
        self.0[lane.class() as usize] += 1;
    }

    fn remove(&mut self, lane: Lane) {
        self.0[lane.class() as usize] -= 1;
    }
}

/// The highest pressure in a block when its instructions run in `order`.
///
/// Counted at each instruction as what is live after it together with what it writes: a result needs its register even
/// when nobody reads it. Linear in the operands.
pub fn block_peak(f: &Function, liveness: &Liveness, block: Block, order: &[Inst]) -> PerClass {
    let mut live: FxHashSet<Lane> = liveness.live_out(block).collect();
    let mut now = PerClass::default();
    for &lane in &live {
        now.add(lane);
    }
    let mut peak = now;
    for &inst in order.iter().rev() {
        f.for_each_write(inst, |w| {
            if live.insert(w.lane) {
                now.add(w.lane);
            }
        });
        peak = peak.max(now);
        if f.kills(inst) {
            f.for_each_write(inst, |w| {
                if live.remove(&w.lane) {
                    now.remove(w.lane);
                }
            });
        }
        f.for_each_read(inst, |r| {
            if live.insert(r.lane) {
                now.add(r.lane);
            }
        });
        peak = peak.max(now);
    }
    peak
}

/// The highest pressure anywhere in a function.
pub fn peak(f: &Function, liveness: &Liveness) -> PerClass {
    f.blocks().fold(PerClass::default(), |peak, block| {
        peak.max(block_peak(f, liveness, block, f.block_insts(block)))
    })
}
