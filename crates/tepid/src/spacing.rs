//! Goal: no two instructions closer than compiled code was ever seen to leave them, whether or not registers connect them.
//!
//! Holds for pairs of which one has hidden state, an unusual pipe or takes its time; where no device confirmed anything, for all.
//! A pair that was seen too seldom to know anything of it keeps its order and the distance that it came with; where it stood far
//! apart and comes in the other order, the longest stall.
//!
//! Cost: a look at the instructions of the last sixteen cycles, for the few that need it. Source: `machine/data/mined/*.seen.csv`.

use crate::code::{Code, index};
use crate::original::Original;
use fixedbitset::FixedBitSet;
use sassafras_ir::Inst;
use sassafras_machine::constants;
use sassafras_machine::mined::seen::{Kind, REACH};

/// Distances of pairs of opcodes of one function, remembered.
pub struct Spacing<'c, 'f> {
    code: &'c Code<'f>,
    original: &'c Original,
    /// When each instruction was issued in the order that came, by its stalls.
    issued: Vec<i32>,
    /// How many waits stood before each, its own included.
    waits: Vec<u32>,
    /// By kind and the numbers of two opcodes.
    known: Vec<u8>,
    opcodes: usize,
}

/// What neighbours can be kept apart by.
pub const LONGEST: i32 = 15;
const UNASKED: u8 = 255;
const RARE: u8 = 254;

impl<'c, 'f> Spacing<'c, 'f> {
    /// Nothing asked yet.
    pub fn new(code: &'c Code<'f>, original: &'c Original) -> Spacing<'c, 'f> {
        let mut clock = 0;
        let issued = original.fields.iter().map(|fields| {
            let now = clock;
            clock += i32::from(fields.stall);
            now
        });
        let mut waited = 0;
        let waits = original.fields.iter().map(|fields| {
            waited += u32::from(fields.wait != 0);
            waited
        });
        let opcodes = code.f.opcodes().count();
        let kinds = if code.seen.is_some() { 2 } else { 0 };
        let known = vec![UNASKED; kinds * opcodes * opcodes];
        Spacing { code, original, issued: issued.collect(), waits: waits.collect(), known, opcodes }
    }

    /// Whether anything is asked of an instruction and others that are not plain arithmetic.
    pub fn is_sensitive(&self, inst: Inst) -> bool {
        self.code.seen.is_some() && (self.code.op(inst).form.sensitive || self.original.is_still(inst))
    }

    /// Whether nothing is known of how close two instructions may come.
    fn is_rare(&mut self, first: Inst, second: Inst, next: bool) -> bool {
        self.known(Kind::Near, first, second) == RARE
            && (!next || self.known(Kind::Next, first, second) == RARE)
    }

    /// Cycles from one instruction to another. `next`: nothing stands between; `together`: they are in one block; `waits`: the
    /// second waits for a scoreboard. None: as many as it came with, see [`Spacing::kept`].
    pub fn needed(
        &mut self,
        first: Inst,
        second: Inst,
        next: bool,
        together: bool,
        waits: bool,
    ) -> Option<i32> {
        let still = self.original.is_still(first) || self.original.is_still(second);
        let near = self.known(Kind::Near, first, second);
        let next = if next { self.known(Kind::Next, first, second) } else { RARE };
        let least = match (near, next) {
            _ if still && together => None,
            (RARE, RARE) if together => None,
            (RARE, RARE) => Some(1),
            (RARE, least) | (least, RARE) => Some(i32::from(least)),
            (near, next) => Some(i32::from(near.max(next))),
        };
        // It waited where it came from, and waits now.
        let still_waits = || waits && together && self.waited(first, second);
        match least {
            // Nothing is closer.
            Some(1) => Some(1),
            Some(least) if still_waits() => Some(least.min(self.kept(first, second, waits))),
            least => least,
        }
    }

    /// Cycles that a pair of one block and one iteration keeps of those that it came with.
    pub fn kept(&self, first: Inst, second: Inst, waits: bool) -> i32 {
        match self.came(first, second) {
            Some((before, waited)) if !waited || waits => before.min(LONGEST),
            _ => LONGEST,
        }
    }

    /// Cycles that the reader of a result keeps of those that it came with; no more than tell of a latency.
    pub fn kept_read(&self, first: Inst, second: Inst) -> i32 {
        match self.came(first, second) {
            Some((before, false)) => before.min(longest_read()),
            _ => LONGEST,
        }
    }

    /// Cycles by which a pair came, if it came in that order, and whether a wait stood between, which takes longer.
    fn came(&self, first: Inst, second: Inst) -> Option<(i32, bool)> {
        let before = self.issued[index(second)] - self.issued[index(first)];
        (before > 0).then(|| (before, self.waited(first, second)))
    }

    fn waited(&self, first: Inst, second: Inst) -> bool {
        self.waits[index(first)] != self.waits[index(second)]
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

/// Cycles beyond which a distance says nothing of how long a result takes.
pub fn longest_read() -> i32 {
    i32::from(constants().longest_seen_read)
}

/// The instructions of pairs that stand near each other and of which nothing is known: they keep their order.
pub fn rare(code: &Code<'_>, original: &Original) -> FixedBitSet {
    let mut found = FixedBitSet::with_capacity(code.f.inst_count());
    if code.seen.is_none() {
        return found;
    }
    let mut spacing = Spacing::new(code, original);
    for block in code.f.blocks() {
        let insts = code.f.block_insts(block);
        let mut last_sensitive = None;
        for (i, &second) in insts.iter().enumerate() {
            let now = spacing.issued[index(second)];
            let waits = spacing.waits[index(second)];
            let near = |first: &Inst, spacing: &Spacing<'_, '_>| {
                let first = index(*first);
                waits == spacing.waits[first] && now - spacing.issued[first] < i32::from(REACH)
            };
            let sensitive = spacing.is_sensitive(second);
            if sensitive || last_sensitive.is_some_and(|first| near(&first, &spacing)) {
                for (place, &first) in insts[..i].iter().rev().enumerate() {
                    if !near(&first, &spacing) {
                        break;
                    }
                    let asked = sensitive || spacing.is_sensitive(first);
                    if asked && spacing.is_rare(first, second, place == 0) {
                        found.insert(index(first));
                        found.insert(index(second));
                    }
                }
            }
            if sensitive {
                last_sensitive = Some(second);
            }
        }
    }
    found
}
