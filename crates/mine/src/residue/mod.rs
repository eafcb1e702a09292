//! Which stall cycles of compiled code does no rule ask for?
//!
//! Every instruction takes a cycle to issue; a stall of `S` leaves `S - 1` more. Of those something *asks for* a cycle if the next
//! instruction could not come a cycle sooner, and with it everything behind, without breaking the distance between some instruction
//! before and some instruction behind. The rest could go. What no rule asks for is the *residue*: a rule that nobody knows, the issue
//! stage or a choice of the compiler must explain it ([`sassafras_machine::mined::residue`]).
//!
//! [`stalls`] takes the distances from the checker ([`sassafras_verify::hazards::asked()`]), so that there is one source of rules, over the
//! edges of blocks along the ways of `paths`, and those of the table of reasons from `claims`. `spare` goes through each block
//! in order and takes out of each stall what no distance forbids; what was taken out no longer separates those on both sides of it. Four
//! times: with the checker's rules; with what a scheduler leaves; with reasons; and with rows of least distances.
//!
//! Cost: one walk of the data flow, and per instruction the distances that span it.

mod claims;
mod paths;
pub mod report;
mod spare;

pub use claims::{Claim, Reasons};

use paths::Paths;
use sassafras_control::{Field, volta};
use sassafras_ir::cfg::Cfg;
use sassafras_ir::{Effects, Function, Inst, Payload};
use sassafras_verify::hazards::{Right, Rules, asked};
use spare::{Level, Spare, Taken};

/// The stall of one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// The instruction.
    pub inst: Inst,
    /// The next one of its block.
    pub next: Option<Inst>,
    /// What its field says.
    pub cycles: u8,
    /// Cycles beyond the first that no rule of the checker asks for.
    pub unchecked: u8,
    /// Those of them that no distance of a scheduler asks for either: the residue.
    pub residue: u8,
    /// Those of them that no reason explains.
    pub unexplained: u8,
    /// Those of them that no row of least distances asks for.
    pub unseen: u8,
    /// The reason that explains most, by its place in the table.
    pub reason: Option<u16>,
}

/// The stalls of a function that are at least 1, in order. An instruction that drains the pipes (stall 0) has none.
pub fn stalls(f: &Function, rules: &Rules, claims: &[Claim]) -> Vec<Stall> {
    let cfg = Cfg::new(f);
    let mut spare = Spare::new(f);
    let mut paths = Paths::new(f, &cfg);
    for asked in asked(f, rules) {
        let level = match asked.right {
            Right::Rule => Level::Rule,
            Right::Usual | Right::Excluded => Level::Usual,
            Right::Seen => Level::Seen,
        };
        paths.each(&asked, |cycles, parts| {
            // Where stalls alone keep the distance, no wait is relied on.
            let given = if cycles >= asked.need { cycles } else { asked.elapsed.max(cycles) };
            spare.add(level, asked.need, given, parts);
        });
    }
    for claim in claims {
        spare.add(Level::Reason(claim.reason), claim.cycles, claim.given, &[claim.part]);
    }
    let [rule, usual, reasons, seen]: [Vec<Taken>; 4] = spare.take();
    let mut out = Vec::new();
    for block in f.blocks() {
        let insts = f.block_insts(block);
        for (place, &inst) in insts.iter().enumerate() {
            let at = inst.as_u32() as usize;
            if let Some(cycles) = stall(f, inst).filter(|&cycles| cycles > 0) {
                out.push(Stall {
                    inst,
                    next: insts.get(place + 1).copied(),
                    cycles,
                    unchecked: rule[at].cycles,
                    residue: usual[at].cycles,
                    unexplained: reasons[at].cycles,
                    unseen: seen[at].cycles,
                    reason: reasons[at].reason.filter(|_| reasons[at].cycles < usual[at].cycles),
                });
            }
        }
    }
    out
}

/// The stall of an instruction that is understood.
fn stall(f: &Function, inst: Inst) -> Option<u8> {
    let Payload::Word(word) = f.inst(inst).payload else { return None };
    let is_opaque = f.inst(inst).effects.contains(Effects::OPAQUE);
    // A branch to itself stands behind the end.
    let is_end = f.branch_targets(inst).any(|block| f.block_insts(block).first() == Some(&inst));
    (!is_opaque && !is_end).then(|| volta::read(word).get(Field::Stall))
}
