//! Which registers are still wanted when a block ends, seen from the original code.
//!
//! Backward data flow over all lanes, derived here and not taken from [`sassafras_ir::liveness`], which counts listed reads
//! only. What may be read without being listed:
//!
//! * a call, an opaque instruction and a return hand every lane to code that is not looked at;
//! * an exit hands over nothing: the thread is gone;
//! * where diverged threads meet (`BSYNC`), they may go on at any place that is named as a meeting place;
//! * what something outside the code says about a register at an instruction (*watched*).
//!
//! Uniform registers and convergence barriers belong to the warp. Threads that have taken another way may want them although
//! no path from here leads to a reader: unless no branch of the kernel can part the threads of a warp, all of them are wanted
//! everywhere.

use rustc_hash::FxHashSet;
use sassafras_ir::cfg::Cfg;
use sassafras_ir::{Block, Effects, Function, Inst, Lane, Operand, RegClass};

/// A set of physical lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LaneSet([u64; WORDS]);

const WORDS: usize = 9;
/// Where the lanes of each class start, by the number of the class.
const STARTS: [u32; 7] = [0, 255, 510, 517, 524, 540, 544];

impl LaneSet {
    pub const ALL: LaneSet = LaneSet([u64::MAX; WORDS]);

    /// The place of a lane; virtual lanes have none.
    fn place(lane: Lane) -> Option<(usize, u64)> {
        let place = STARTS[lane.class() as usize] + lane.index();
        (!lane.is_virtual()).then_some((place as usize / 64, 1 << (place % 64)))
    }

    pub fn insert(&mut self, lane: Lane) {
        if let Some((word, bit)) = LaneSet::place(lane) {
            self.0[word] |= bit;
        }
    }

    fn remove(&mut self, lane: Lane) {
        if let Some((word, bit)) = LaneSet::place(lane) {
            self.0[word] &= !bit;
        }
    }

    /// Whether the lane is in the set; a virtual one counts as such.
    pub fn contains(&self, lane: Lane) -> bool {
        LaneSet::place(lane).is_none_or(|(word, bit)| self.0[word] & bit != 0)
    }

    /// Adds a set; whether this one has grown.
    pub fn extend(&mut self, other: &LaneSet) -> bool {
        let before = *self;
        self.0.iter_mut().zip(other.0).for_each(|(to, from)| *to |= from);
        *self != before
    }

    fn without(mut self, other: &LaneSet) -> LaneSet {
        self.0.iter_mut().zip(other.0).for_each(|(from, gone)| *from &= !gone);
        self
    }

    /// The lanes in order.
    pub fn lanes(&self) -> impl Iterator<Item = Lane> {
        let of = |class: RegClass| {
            (0..class.physical_lanes()).filter_map(move |index| Lane::physical(class, index))
        };
        RegClass::ALL.into_iter().flat_map(of).filter(|&lane| self.contains(lane))
    }
}

/// What is wanted at the ends of blocks.
pub(crate) struct Live {
    out: Vec<LaneSet>,
    /// What is wanted at some meeting place.
    meeting: LaneSet,
    /// What belongs to the warp and may be wanted by threads elsewhere.
    shared: LaneSet,
}

#[derive(Clone, Default)]
struct Flow {
    /// Wanted at the start whatever is wanted at the end.
    read: LaneSet,
    /// Certainly overwritten.
    killed: LaneSet,
    meets: bool,
}

impl Live {
    /// Solves the data flow. `entry` says whether the function is launched, so that its warps start undivided; `watched`
    /// gives the lanes that something outside the code speaks of at an instruction.
    pub fn new(f: &Function, entry: bool, watched: impl Fn(Inst) -> LaneSet) -> Live {
        let cfg = Cfg::new(f);
        let flows: Vec<Flow> = f.blocks().map(|block| flow(f, f.block_insts(block), &watched)).collect();
        let places: FxHashSet<Block> = meeting_places(f).collect();
        let mut into = vec![LaneSet::default(); flows.len()];
        let (mut out, mut meeting) = (into.clone(), LaneSet::default());
        let mut waiting: Vec<Block> = f.blocks().collect();
        let mut queued = vec![true; flows.len()];
        waiting.sort_by_key(|&block| cfg.rpo_index(block));
        while let Some(block) = waiting.pop() {
            let index = block.as_u32() as usize;
            queued[index] = false;
            for &next in cfg.succs(block) {
                let wanted = into[next.as_u32() as usize];
                out[index].extend(&wanted);
            }
            let flow = &flows[index];
            let mut wanted = out[index].without(&flow.killed);
            wanted.extend(&flow.read);
            if flow.meets {
                wanted.extend(&meeting);
            }
            if !into[index].extend(&wanted) {
                continue;
            }
            let mut again = |block: Block| {
                if !std::mem::replace(&mut queued[block.as_u32() as usize], true) {
                    waiting.push(block);
                }
            };
            cfg.preds(block).iter().copied().for_each(&mut again);
            if places.contains(&block) && meeting.extend(&into[index]) {
                f.blocks().filter(|block| flows[block.as_u32() as usize].meets).for_each(&mut again);
            }
        }
        let mut shared = LaneSet::default();
        for class in [RegClass::Uniform, RegClass::UPred, RegClass::Barrier] {
            let free = class != RegClass::Barrier && entry && stays_together(f);
            let lanes = (0..class.physical_lanes()).filter_map(|index| Lane::physical(class, index));
            lanes.filter(|_| !free).for_each(|lane| shared.insert(lane));
        }
        Live { out, meeting, shared }
    }

    /// What is wanted when the block ends.
    pub fn out(&self, block: Block) -> LaneSet {
        let mut out = self.out[block.as_u32() as usize];
        out.extend(&self.shared);
        out
    }

    /// What is wanted wherever an instruction may let threads go on, besides the next place.
    pub fn elsewhere(&self, f: &Function, inst: Inst) -> LaneSet {
        if meets(f, inst) { self.meeting } else { LaneSet::default() }
    }

    /// Whether a register of the class can stand in for another: nobody else looks at it.
    pub fn may_rename(&self, class: RegClass) -> bool {
        match class {
            RegClass::Gpr | RegClass::Pred => true,
            _ => Lane::physical(class, 0).is_some_and(|lane| !self.shared.contains(lane)),
        }
    }
}

/// Whether an instruction hands every register to code that is not looked at.
pub(crate) fn reads_all(effects: Effects) -> bool {
    effects.intersects(Effects::CALL | Effects::OPAQUE | Effects::RET)
}

/// Whether threads may go on at another place than the next one because they have met there.
fn meets(f: &Function, inst: Inst) -> bool {
    let mut barrier = false;
    f.for_each_read(inst, |read| barrier |= read.lane.class() == RegClass::Barrier);
    barrier && f.inst(inst).effects.contains(Effects::CONVERGENCE)
}

/// The blocks that are named without being branched to or called.
fn meeting_places(f: &Function) -> impl Iterator<Item = Block> {
    let insts = f.blocks().flat_map(|block| f.block_insts(block));
    insts.filter(|&&inst| !f.inst(inst).effects.intersects(Effects::BRANCH | Effects::CALL)).flat_map(
        |&inst| {
            f.uses(inst).iter().filter_map(|operand| match operand {
                Operand::Label(block) => Some(*block),
                _ => None,
            })
        },
    )
}

fn flow(f: &Function, insts: &[Inst], watched: impl Fn(Inst) -> LaneSet) -> Flow {
    let mut flow = Flow::default();
    for &inst in insts.iter().rev() {
        if f.kills(inst) {
            f.for_each_write(inst, |write| {
                flow.read.remove(write.lane);
                flow.killed.insert(write.lane);
            });
        }
        f.for_each_read(inst, |read| flow.read.insert(read.lane));
        flow.read.extend(&watched(inst));
        if reads_all(f.inst(inst).effects) {
            flow.read = LaneSet::ALL;
        }
        flow.meets |= meets(f, inst);
    }
    flow
}

/// Whether no branch can part the threads of a warp: none depends on what differs from thread to thread, and nothing else
/// runs.
fn stays_together(f: &Function) -> bool {
    f.blocks().flat_map(|block| f.block_insts(block)).all(|&inst| {
        let effects = f.inst(inst).effects;
        let mut own = effects.contains(Effects::CONVERGENCE);
        f.for_each_read(inst, |read| {
            own |= !matches!(read.lane.class(), RegClass::Uniform | RegClass::UPred);
        });
        !(reads_all(effects) || effects.contains(Effects::BRANCH) && own)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sassafras_ir::liveness::Liveness;
    use sassafras_ir::text::parse;

    fn wanted(text: &str, entry: bool) -> Vec<Vec<String>> {
        let module = parse(text).expect("parses");
        let f = &module.functions[0];
        let live = Live::new(f, entry, |_| LaneSet::default());
        let own = |lane: &Lane| lane.class() != RegClass::Barrier;
        let out = |block| live.out(block).lanes().filter(own).map(|lane| lane.to_string()).collect();
        f.blocks().map(out).collect()
    }

    #[test]
    fn exits_want_nothing_and_returns_everything() {
        let body = "^a:\n  R4 = MOV R0\n  @P0 EXIT !exit\n^b:\n  R5 = MOV R4\n  EXIT !exit\n";
        let head = "func f sm_90 (R0, P0) {\n";
        assert_eq!(wanted(&format!("{head}{body}}}\n"), true), [vec!["R4"], vec![]]);
        let returning = format!("{head}{}}}\n", body.replace("EXIT !exit\n", "RET !ret\n"));
        let all = wanted(&returning, true);
        // All but R5, which is overwritten; behind the return only what belongs to the warp.
        assert_eq!((all[0].len(), all[1].len()), (254 + 255 + 7 + 7 + 4, 255 + 7), "{all:?}");
    }

    #[test]
    fn threads_that_meet_may_go_on_where_they_meet() {
        let text = "func f sm_90 (R0, P0) {\n^a:\n  B0 = BSSY ^d !convergence\n  R4 = MOV R0\n  BRA ^b !branch\n\
                    ^b:\n  BSYNC B0 !convergence\n  EXIT !exit\n^d:\n  R5 = MOV R4\n  EXIT !exit\n}\n";
        assert_eq!(wanted(text, true)[0], ["R4"]);
        assert!(wanted(&text.replace("BSYNC B0", "NOP"), true)[0].is_empty());
    }

    #[test]
    fn uniform_registers_are_the_kernels_while_its_threads_stay_together() {
        let text = |guard: &str| {
            format!(
                "func f sm_90 (UR0, P0, UP0) {{\n^a:\n  UR4 = UMOV UR0\n  {guard}BRA ^a !branch\n^b:\n  EXIT !exit\n}}\n"
            )
        };
        assert_eq!(wanted(&text("@UP0 "), true)[0], ["UR0", "UP0"]);
        assert_eq!(wanted(&text("@UP0 "), false)[0].len(), 255 + 7, "called by who knows whom");
        assert_eq!(wanted(&text("@P0 "), true)[0].len(), 255 + 7 + 1);
    }

    #[test]
    fn every_lane_has_its_own_place() {
        for (i, class) in RegClass::ALL.into_iter().enumerate() {
            assert_eq!(STARTS[i + 1] - STARTS[i], class.physical_lanes(), "{class:?}");
        }
        assert!(STARTS[6] as usize <= 64 * WORDS);
        assert_eq!(LaneSet::ALL.lanes().count(), STARTS[6] as usize);
    }

    #[test]
    fn listed_reads_are_those_of_the_other_analysis() {
        use sassafras_testkit::random::{Shape, function};
        use sassafras_testkit::rng::Rng;
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            let shape = Shape::random(&mut rng, 6, 12);
            let f = function(&mut rng, &shape);
            let live = Live::new(&f, false, |_| LaneSet::default());
            let other = Liveness::new(&f, &Cfg::new(&f)).expect("small");
            for block in f.blocks() {
                for lane in other.live_out(block) {
                    assert!(live.out(block).contains(lane), "seed {seed}: {lane}");
                }
            }
        }
    }
}
