//! Goal: how many cycles the code that came left from one instruction to another, along every way between them.
//!
//! Some results take longer than the longest stall, or nobody knows how long they take. Then the compiler that made the code is
//! asked: as far apart as it left two instructions they need to be, and no further.
//!
//! Cost: the instructions of the next cycles, for the few that are asked about. Instructions are numbered in the order that they came in.

use crate::code::{Code, index};
use crate::original::Fields;
use rustc_hash::FxHashMap;
use sassafras_ir::cfg::Cfg;
use sassafras_ir::{Block, Effects, Inst};

/// What is said of an instruction on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is one of those that are looked for.
    Found,
    /// With it on the way, stalls do not tell how long that takes.
    Unknown,
    /// Neither.
    On,
}

/// The least cycles by stalls from an instruction to one that is looked for, on any way; none where all are further than `limit`, and
/// where stalls do not tell.
pub fn least_cycles(
    code: &Code<'_>,
    cfg: &Cfg,
    fields: &[Fields],
    from: (Block, Inst),
    limit: u32,
    what: impl Fn(Inst) -> Step,
) -> Option<u32> {
    let f = code.f;
    let mut best: Option<u32> = None;
    // By block: the least cycles at its beginning.
    let mut entered: FxHashMap<Block, u32> = FxHashMap::default();
    let mut ways = vec![(from.0, Some(from.1), 0)];
    while let Some((block, start, mut clock)) = ways.pop() {
        let mut insts = f.block_insts(block).to_vec();
        insts.sort_unstable();
        let first = start.map_or(0, |inst| insts.partition_point(|&other| other < inst));
        let mut open = true;
        for (i, &inst) in insts.iter().enumerate().skip(first) {
            let step = if i == first && start.is_some() { Step::On } else { what(inst) };
            match step {
                Step::Found => best = Some(best.map_or(clock, |best| best.min(clock))),
                Step::Unknown => return None,
                Step::On => {}
            }
            // A call and a return take longer than anything of fixed latency.
            open = step == Step::On && !f.inst(inst).effects.contains(Effects::CALL);
            clock += u32::from(fields[index(inst)].stall);
            open &= clock <= limit && best.is_none_or(|best| clock < best);
            if !open {
                break;
            }
        }
        if !open {
            continue;
        }
        for &succ in cfg.succs(block) {
            let least = entered.entry(succ).or_insert(u32::MAX);
            if clock < *least {
                *least = clock;
                ways.push((succ, None, clock));
            }
        }
    }
    best.filter(|&best| best <= limit)
}
