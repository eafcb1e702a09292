//! Goal: nothing is written that takes longer than what came, by the clock that everybody prints ([`Time`]).
//!
//! A routine is timed as it came, and every attempt as it would be written. Where the scheduler chose the orders, blocks in a part that
//! takes longer by more than [`MARGIN`] get back what they came with; if it is no part with a new order, but all of the routine, all of
//! them do. What the user asked for (an order by name, rebuilt fields) is timed and written all the same.
//!
//! Cost: one run of the clock for every routine, and of what changes of it one for every attempt.

use super::kept::Kept;
use super::propose::Subject;
use super::settle::Fault;
use super::{Control, Options};
use fixedbitset::FixedBitSet;
use sassafras_ir::function::Payload;
use sassafras_ir::{Block, Function, Inst};
use sassafras_sass::Lifted;
use sassafras_sass::program::Routine;
use sassafras_tepid as tepid;
use sassafras_tepid::clock::{PARTS, Parts, Time, is_slower};

/// Thousandths that code may take longer: less is within what the model errs by.
const MARGIN: u64 = 5;

/// Times a routine before and after.
pub struct Judge {
    before: Time,
    parts: Parts,
    /// By instruction, as they came.
    fields: Vec<tepid::Fields>,
    /// By instruction, as they came.
    words: Vec<u128>,
    resident: u32,
    /// Whether slower code is refused.
    refuses: bool,
}

impl Judge {
    /// For a routine as it came.
    pub fn new(
        lifted: &Lifted,
        original: &tepid::Original,
        subject: Subject<'_>,
        options: &Options,
    ) -> Judge {
        let resident = subject.warps();
        let f = &lifted.function;
        let code = tepid::Code::new(f, &lifted.sources, subject.arch);
        let words = (0..f.inst_count()).map(|inst| word(f, Inst::from_u32(inst as u32))).collect();
        let refuses = options.control == Control::Rebuild && options.chooses();
        let parts = Parts::new(&code);
        let before = Time::again(&parts, &code, &original.fields, resident, |_| None);
        Judge { before, parts, fields: original.fields.clone(), words, resident, refuses }
    }

    /// Cycles of the routine as it came.
    pub fn before(&self) -> u64 {
        self.before.cycles()
    }

    /// How long a routine takes as it would be written.
    pub fn time(&self, routine: &Routine, code: &tepid::Code<'_>, fields: &[tepid::Fields]) -> Time {
        let f = &routine.lifted.function;
        let same = |&inst: &Inst| fields[inst.as_u32() as usize] == self.fields[inst.as_u32() as usize];
        let stays = |&block: &Block| !self.is_new(f, block) && f.block_insts(block).iter().all(same);
        let known = |part: usize| {
            let part = self.before.parts.get(part)?;
            part.blocks.iter().all(stays).then_some(part.sixteenths)
        };
        Time::again(&self.parts, code, fields, self.resident, known)
    }

    /// The instructions of blocks that stand as they came, where the scheduler chose the orders; who asks for all fields anew gets them.
    pub fn kept(&self, routine: &Routine) -> Option<FixedBitSet> {
        let f = &routine.lifted.function;
        let kept = f.blocks().filter(|&block| !self.is_new(f, block));
        let insts = kept.flat_map(|block| f.block_insts(block));
        self.refuses.then(|| insts.map(|inst| inst.as_u32() as usize).collect())
    }

    /// Whether a block has another order or other registers.
    fn is_new(&self, f: &Function, block: Block) -> bool {
        let insts = f.block_insts(block);
        let renamed = |&inst: &Inst| word(f, inst) != self.words[inst.as_u32() as usize];
        !insts.is_sorted() || insts.iter().any(renamed)
    }

    /// Cycles of a routine that takes so long as it would be written.
    ///
    /// # Errors
    /// With the blocks that make it slower, where that is refused.
    pub fn judge(&self, routine: &Routine, now: &Time) -> Result<u64, Vec<Fault>> {
        let f = &routine.lifted.function;
        if !self.refuses {
            return Ok(now.cycles());
        }
        let slower = |before: u64, after: u64, suspects: Vec<Block>| Fault {
            suspects,
            why: Kept::Slower { before: before.div_ceil(PARTS), after: after.div_ceil(PARTS) },
        };
        let faults: Vec<Fault> = (now.slower(&self.before, MARGIN))
            .flat_map(|(before, part)| {
                let blamed = part.blocks.iter().copied().filter(|&block| self.is_new(f, block));
                blamed.map(|block| slower(before.sixteenths, part.sixteenths, vec![block]))
            })
            .collect();
        let (before, after) = (self.before.sixteenths(), now.sixteenths());
        if !faults.is_empty() {
            Err(faults)
        } else if is_slower(before, after, MARGIN) {
            Err(vec![slower(before, after, Vec::new())])
        } else {
            Ok(now.cycles())
        }
    }
}

fn word(f: &Function, inst: Inst) -> u128 {
    match f.inst(inst).payload {
        Payload::Word(word) => word,
        Payload::None | Payload::Text(_) => 0,
    }
}
