//! Goal: what is written leaves nothing in flight where threads of a warp that run apart converge for a moment, or part again.
//!
//! Nearly all compiled code waits for every scoreboard before `WARPSYNC.COLLECTIVE` and `ENDCOLLECTIVE` (`machine/data/collectives.csv`);
//! some leaves loads and stores in flight (catboost 1.2, NVSHMEM 3.8), so code that somebody else compiled is not asked for it.
//!
//! Cost: the data flow of the checker once more, where there is such an instruction.

use super::rules::Special;
use super::{Finding, HazardKind, Observer, Pair, Rules, walk};
use sassafras_ir::{Block, Function};

/// Scoreboards that nobody waited for, at instructions that want none.
pub(super) fn in_flight(f: &Function, rules: &Rules) -> Vec<Finding> {
    if !f.opcodes().any(|text| matches!(Special::of(text), Special::Collective(_))) {
        return Vec::new();
    }
    let mut found = InFlight { blocks: vec![Vec::new(); f.block_count()], current: 0 };
    walk(f, rules, &mut found);
    found.blocks.into_iter().flatten().collect()
}

struct InFlight {
    blocks: Vec<Vec<Finding>>,
    current: usize,
}

impl Observer for InFlight {
    fn block(&mut self, block: Block) {
        self.current = block.as_u32() as usize;
        self.blocks[self.current].clear();
    }

    fn pair(&mut self, pair: &Pair<'_>) {
        if pair.leaves_in_flight() {
            self.blocks[self.current].push(Finding {
                kind: HazardKind::Settle,
                lane: None,
                producer: pair.producer,
                consumer: pair.consumer,
                needed: None,
                given: pair.elapsed,
            });
        }
    }
}
