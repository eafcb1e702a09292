//! Which registers are still wanted when a block ends, asked lane by lane.
//!
//! Most lanes hold the same in both modules and are never asked about, so nothing is computed for them. Of a lane that is, the blocks are
//! found that it is wanted behind, from its readers backwards. A call or an opaque instruction wants every lane; a return wants what it
//! lists.
//!
//! Cost: one walk over the function, then the blocks that a lane lives in, for each lane that is asked about. Beyond [`LIMIT`] of these every
//! lane counts as wanted, which is safe.

use crate::live::reads_all;
use rustc_hash::{FxHashMap, FxHashSet};
use sassafras_ir::cfg::Cfg;
use sassafras_ir::{Block, Effects, Function, Lane};

/// How many blocks are visited for all lanes together.
const LIMIT: usize = 1 << 24;

pub(super) struct Wanted {
    cfg: Cfg,
    lanes: FxHashMap<Lane, Uses>,
    /// Blocks with an instruction that may read anything.
    greedy: Vec<Block>,
    /// The blocks that a lane is wanted behind.
    found: FxHashMap<Lane, FxHashSet<Block>>,
    left: usize,
}

/// The blocks that do something with a lane.
#[derive(Default)]
struct Uses {
    /// Read before it is overwritten.
    read: Vec<Block>,
    /// Overwritten for certain, and not read before.
    killed: FxHashSet<Block>,
}

impl Wanted {
    pub fn new(f: &Function) -> Wanted {
        let mut wanted = Wanted {
            cfg: Cfg::new(f),
            lanes: FxHashMap::default(),
            greedy: Vec::new(),
            found: FxHashMap::default(),
            left: LIMIT,
        };
        for block in f.blocks() {
            let mut greedy = false;
            for &inst in f.block_insts(block) {
                f.for_each_read(inst, |read| {
                    let uses = wanted.lanes.entry(read.lane).or_default();
                    if !uses.killed.contains(&block) && uses.read.last() != Some(&block) {
                        uses.read.push(block);
                    }
                });
                greedy |= reads_all(f.inst(inst).effects.difference(Effects::RET));
                if f.kills(inst) {
                    f.for_each_write(inst, |write| {
                        let uses = wanted.lanes.entry(write.lane).or_default();
                        if uses.read.last() != Some(&block) {
                            uses.killed.insert(block);
                        }
                    });
                }
            }
            if greedy {
                wanted.greedy.push(block);
            }
        }
        wanted
    }

    /// Whether anything behind a block may want what a lane holds.
    pub fn behind(&mut self, block: Block, lane: Lane) -> bool {
        if !self.found.contains_key(&lane) {
            let found = self.blocks(lane);
            self.found.insert(lane, found);
        }
        self.left == 0 || self.found[&lane].contains(&block)
    }

    fn blocks(&mut self, lane: Lane) -> FxHashSet<Block> {
        let none = Uses::default();
        let uses = self.lanes.get(&lane).unwrap_or(&none);
        let mut waiting: Vec<Block> = uses.read.iter().chain(&self.greedy).copied().collect();
        let mut found = FxHashSet::default();
        while let Some(block) = waiting.pop() {
            for &before in self.cfg.preds(block) {
                self.left = self.left.saturating_sub(1);
                if self.left > 0 && found.insert(before) && !uses.killed.contains(&before) {
                    waiting.push(before);
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sassafras_ir::liveness::Liveness;
    use sassafras_testkit::random::{Shape, function};
    use sassafras_testkit::rng::Rng;

    /// What the other analysis finds wanted is wanted here; what is wanted here and not there is so because something may read anything.
    #[test]
    fn the_other_analysis_agrees() {
        let (mut wanted_lanes, mut others) = (0, 0);
        for seed in 0..600 {
            let mut rng = Rng::new(seed);
            let shape = Shape::random(&mut rng, 6, 12);
            let f = function(&mut rng, &shape);
            let insts = || f.blocks().flat_map(|block| f.block_insts(block));
            let greedy = insts().any(|&i| f.inst(i).effects.intersects(Effects::CALL | Effects::OPAQUE));
            let mut lanes: Vec<Lane> = Vec::new();
            insts().for_each(|&inst| f.for_each_write(inst, |write| lanes.push(write.lane)));
            lanes.sort_unstable();
            lanes.dedup();
            let other = Liveness::new(&f, &Cfg::new(&f)).expect("small");
            let mut wanted = Wanted::new(&f);
            for block in f.blocks() {
                let out: FxHashSet<Lane> = other.live_out(block).collect();
                for &lane in &lanes {
                    let here = wanted.behind(block, lane);
                    assert!(here || !out.contains(&lane), "seed {seed}: {lane} behind {block}");
                    assert!(greedy || here == out.contains(&lane), "seed {seed}: {lane} behind {block}");
                    wanted_lanes += usize::from(here);
                    others += usize::from(!here);
                }
            }
        }
        assert!(wanted_lanes > 1_000 && others > 1_000, "{wanted_lanes} {others}");
    }

    #[test]
    fn when_time_is_up_everything_is_wanted() {
        let text = "func f sm_90 (%r0) {\n^a:\n  %r1 = MOV %r0\n^b:\n  %r2 = MOV %r1\n  EXIT !exit\n}\n";
        let module = sassafras_ir::text::parse(text).expect("parses");
        let f = &module.functions[0];
        let [a, b] = [0, 1].map(Block::from_u32);
        let lane = |index| Lane::virt(sassafras_ir::RegClass::Gpr, index).expect("a lane");
        let mut wanted = Wanted::new(f);
        assert!(wanted.behind(a, lane(1)) && !wanted.behind(b, lane(1)) && !wanted.behind(a, lane(2)));
        wanted.left = 0;
        assert!(wanted.behind(b, lane(1)) && wanted.behind(a, lane(2)));
    }
}
