//! Goal: no two instructions closer than compiled code was ever seen to leave them, whether or not registers connect them.
//!
//! Holds for pairs of which one has hidden state, an unusual pipe or takes its time; where no device confirmed anything, for all.
//! A pair that was seen too seldom to know anything of it keeps the distance that it came with, and the longest stall
//! where it did not come in that order.
//!
//! Cost: a look at the instructions of the last sixteen cycles, for the few that need it. Source: `machine/data/mined/*.seen.csv`.

use crate::code::{Code, index};
use crate::original::Original;
use sassafras_ir::Inst;
use sassafras_machine::mined::seen::Kind;

/// Distances of pairs of opcodes of one function, remembered.
pub struct Spacing<'c, 'f> {
    code: &'c Code<'f>,
    /// When each instruction was issued in the order that came, by its stalls.
    issued: Vec<i32>,
    /// By kind and the numbers of two opcodes.
    known: Vec<u8>,
    opcodes: usize,
}

/// What neighbours can be kept apart by.
const LONGEST: i32 = 15;
/// What readers of results are kept apart by: the longest fixed latency.
const LONGEST_READ: i32 = 32;
const UNASKED: u8 = 255;
const RARE: u8 = 254;

impl<'c, 'f> Spacing<'c, 'f> {
    /// Nothing asked yet.
    pub fn new(code: &'c Code<'f>, original: &Original) -> Spacing<'c, 'f> {
        let mut clock = 0;
        let issued = original.fields.iter().map(|fields| {
            let now = clock;
            clock += i32::from(fields.stall);
            now
        });
        let opcodes = code.f.opcodes().count();
        let kinds = if code.seen.is_some() { 2 } else { 0 };
        Spacing { code, issued: issued.collect(), known: vec![UNASKED; kinds * opcodes * opcodes], opcodes }
    }

    /// Whether anything is asked of an instruction and others that are not plain arithmetic.
    pub fn is_sensitive(&self, inst: Inst) -> bool {
        self.code.seen.is_some() && self.code.op(inst).form.sensitive
    }

    /// Cycles from one instruction to another. `next`: nothing stands between; `together`: they are in one block.
    pub fn needed(&mut self, first: Inst, second: Inst, next: bool, together: bool) -> i32 {
        let near = self.known(Kind::Near, first, second);
        let least = match next {
            true => Some(self.known(Kind::Next, first, second)).filter(|&least| least != RARE),
            false => None,
        };
        match (near, least) {
            (RARE, None) if together => self.kept(first, second),
            (RARE, None) => 1,
            (RARE, Some(least)) => i32::from(least),
            (near, least) => i32::from(near.max(least.unwrap_or(1))),
        }
    }

    /// Cycles that a pair keeps of those that it came with.
    fn kept(&self, first: Inst, second: Inst) -> i32 {
        let before = self.issued[index(second)] - self.issued[index(first)];
        if before > 0 { before.min(LONGEST) } else { LONGEST }
    }

    /// Cycles that the reader of a result keeps of those that it came with; no fixed latency is longer than [`LONGEST_READ`].
    pub fn kept_read(&self, first: Inst, second: Inst) -> i32 {
        let before = self.issued[index(second)] - self.issued[index(first)];
        if before > 0 { before.min(LONGEST_READ) } else { LONGEST }
    }

    fn known(&mut self, kind: Kind, first: Inst, second: Inst) -> u8 {
        let Some(seen) = self.code.seen else { return 1 };
        let number = |inst: Inst| self.code.f.inst(inst).opcode.as_u32() as usize;
        let plane = usize::from(kind == Kind::Next) * self.opcodes * self.opcodes;
        let slot = &mut self.known[plane + number(first) * self.opcodes + number(second)];
        if *slot == UNASKED {
            let (first, second) = (self.code.op(first).form, self.code.op(second).form);
            *slot = seen.least(kind, first, second).map_or(RARE, |least| least.min(LONGEST as u8));
        }
        *slot
    }
}
