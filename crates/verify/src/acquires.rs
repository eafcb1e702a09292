//! Goal: an acquire stays one.
//!
//! A load or an atomic that acquires is followed by a fence, a cache operation or a `NOP` that waits for its scoreboard without reading its
//! result: nothing behind may be issued before the value is there. No register shows that, so it is a matter of the code that came: whoever
//! orders memory and waited there for a read of memory must find it done in other code, too, whether by its own wait or by an earlier one.
//! Most such waits are acquires (`CCTL.IVALL`, `NOP`); the few others are kept alike.
//!
//! Cost: a data flow over the reads of memory, only where somebody waited like that.

use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;
use sassafras_control::{Field, volta};
use sassafras_ir::cfg::Cfg;
use sassafras_ir::{AccessFlags, Block, Effects, Function, Inst};

/// By who orders memory, in order: the reads of memory that it waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Awaited(Vec<(Inst, Inst)>);

/// The instructions of a function in some order, with words of some file.
pub(crate) struct Code<'a, O, W> {
    pub f: &'a Function,
    /// The instructions of a block.
    pub order: O,
    /// The word of an instruction.
    pub word: W,
}

impl<O: Fn(Block) -> Vec<Inst>, W: Fn(Inst) -> Option<u128>> Code<'_, O, W> {
    /// Who waited for reads of memory without need for a register.
    pub fn awaited(&self) -> Awaited {
        let all = || self.f.blocks().flat_map(|block| self.f.block_insts(block)).copied();
        let waits =
            |inst: Inst| (self.word)(inst).is_some_and(|word| volta::read(word).get(Field::Wait) != 0);
        if !all().any(|inst| orders(self.f, inst) && waits(inst)) {
            return Awaited::default();
        }
        let mut pairs = Vec::new();
        self.flow(|at, read, waited| {
            if waited {
                pairs.push((at, read));
            }
        });
        pairs.sort_unstable();
        pairs.dedup();
        Awaited(pairs)
    }

    /// The reads that were waited for in code that came, and are under way here behind the same instruction: it and the read.
    pub fn lost(&self, awaited: &Awaited) -> Vec<(Inst, Inst)> {
        if awaited.0.is_empty() {
            return Vec::new();
        }
        let mut lost = Vec::new();
        self.flow(|at, read, waited| {
            if !waited && awaited.0.binary_search(&(at, read)).is_ok() {
                lost.push((at, read));
            }
        });
        lost.sort_unstable();
        lost.dedup();
        lost
    }

    /// Calls `visit` with who orders memory, a read of it that may be under way there, and whether it waits for it.
    fn flow(&self, mut visit: impl FnMut(Inst, Inst, bool)) {
        let f = self.f;
        let blocks: Vec<Vec<Inst>> = f.blocks().map(|block| (self.order)(block)).collect();
        let readers: Vec<Inst> =
            blocks.iter().flatten().copied().filter(|&inst| reads_memory(f, inst)).collect();
        let number: FxHashMap<Inst, usize> = readers.iter().enumerate().map(|(n, &inst)| (inst, n)).collect();
        let field = |inst: Inst, field| (self.word)(inst).map_or(0, |word| volta::read(word).get(field));
        let mut by_board = vec![FixedBitSet::with_capacity(readers.len()); 6];
        for (n, &inst) in readers.iter().enumerate() {
            if let Some(readers) = by_board.get_mut(usize::from(field(inst, Field::Write))) {
                readers.insert(n);
            }
        }
        let cfg = Cfg::new(f);
        let mut entry = vec![FixedBitSet::with_capacity(readers.len()); f.block_count()];
        // Goes through a block; shows every instruction what is under way before it, and what is left when it ends.
        let walk = |block: Block, live: &mut FixedBitSet, seen: &mut dyn FnMut(Inst, &FixedBitSet, u8)| {
            for &inst in &blocks[block.as_u32() as usize] {
                let wait = field(inst, Field::Wait);
                seen(inst, live, wait);
                for board in (0..6).filter(|board| wait >> board & 1 == 1) {
                    live.difference_with(&by_board[board]);
                }
                if f.inst(inst).effects.contains(Effects::CALL) {
                    live.clear();
                }
                if let Some(&n) = number.get(&inst) {
                    live.insert(n);
                }
            }
        };
        let mut queue: Vec<Block> = f.blocks().collect();
        queue.reverse();
        while let Some(block) = queue.pop() {
            let mut live = entry[block.as_u32() as usize].clone();
            walk(block, &mut live, &mut |_, _, _| {});
            for &succ in cfg.succs(block) {
                let known = &mut entry[succ.as_u32() as usize];
                if !live.is_subset(known) {
                    known.union_with(&live);
                    queue.push(succ);
                }
            }
        }
        for block in f.blocks() {
            let mut live = entry[block.as_u32() as usize].clone();
            walk(block, &mut live, &mut |inst, live, wait| {
                if orders(f, inst) {
                    let done =
                        |n: usize| (0..6).any(|board| wait >> board & 1 == 1 && by_board[board].contains(n));
                    live.ones().for_each(|n| visit(inst, readers[n], done(n)));
                }
            });
        }
    }
}

/// Whether an instruction orders the memory accesses around it, and does not end its block.
fn orders(f: &Function, inst: Inst) -> bool {
    let effects = f.inst(inst).effects;
    effects.intersects(Effects::BARRIER | Effects::CONVERGENCE) && !effects.intersects(Effects::TERMINATOR)
}

fn reads_memory(f: &Function, inst: Inst) -> bool {
    f.accesses(inst).any(|(access, written)| {
        !access.reads_constant_memory() && (!written || access.flags.contains(AccessFlags::ATOMIC))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sassafras_ir::Payload;
    use sassafras_ir::text::parse;

    /// A load that sets scoreboard 0, something that does not order memory, a NOP that does, and a second load: each with the scoreboards that it
    /// waits for.
    fn function(waits: [u8; 3]) -> Function {
        let word =
            |wait: u8, write: u8| u128::from(wait) << 116 | u128::from(write) << 110 | 1 << 105 | 7 << 113;
        let [middle, fence, last] = waits.map(|wait| word(wait, 7));
        let text = format!(
            "func f sm_90 (R2, R3) {{\n^a:\n  R4 = LDG global.4[R2] raw({:#x})\n  R5 = IADD3 R3 raw({middle:#x})\n  NOP !convergence \
             raw({fence:#x})\n  R6 = LDG global.4[R3] raw({last:#x})\n  EXIT !exit raw({:#x})\n}}\n",
            word(0, 0),
            word(0, 7)
        );
        parse(&text).expect("parses").functions.remove(0)
    }

    fn code(f: &Function) -> Code<'_, impl Fn(Block) -> Vec<Inst>, impl Fn(Inst) -> Option<u128>> {
        let word = |inst: Inst| match f.inst(inst).payload {
            Payload::Word(word) => Some(word),
            _ => None,
        };
        Code { f, order: |block| f.block_insts(block).to_vec(), word }
    }

    #[test]
    fn a_fence_that_waited_for_a_load_finds_it_done() {
        let came = function([0, 1, 0]);
        let awaited = code(&came).awaited();
        assert_eq!(awaited.0.len(), 1);
        assert!(code(&came).lost(&awaited).is_empty());
        assert!(code(&function([1, 0, 0])).lost(&awaited).is_empty(), "an earlier wait does as well");
        assert_eq!(code(&function([0, 0, 0])).lost(&awaited).len(), 1, "nobody waits");
        assert_eq!(code(&function([0, 0, 1])).lost(&awaited).len(), 1, "what comes behind waits too late");
        assert_eq!(code(&function([0, 2, 0])).lost(&awaited).len(), 1, "another scoreboard");
    }

    #[test]
    fn waits_of_others_are_no_acquires() {
        assert_eq!(code(&function([1, 0, 0])).awaited(), Awaited::default());
        assert_eq!(code(&function([0, 0, 1])).awaited(), Awaited::default());
    }
}
