//! What must hold of a function before anything else looks at it.

use crate::function::{Block, Effects, Function, Inst};
use crate::lane::{Lane, Span};
use crate::operand::{AccessFlags, Operand};
use rustc_hash::FxHashSet;
use thiserror::Error;

/// A rule that a function breaks.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Violation {
    /// The function has no block.
    #[error("the function has no blocks")]
    Empty,
    /// Two blocks share a name.
    #[error("two blocks are called `{0}`")]
    DuplicateBlock(String),
    /// A block's last instruction may run on where nothing follows.
    #[error("control falls off the end of the last block, `{0}`")]
    FallsOffTheEnd(String),
    /// A branch, exit or return before the end of a block.
    #[error("{place}: a branch, exit or return must end its block")]
    TerminatorInside {
        /// Where.
        place: Place,
    },
    /// A branch without a label.
    #[error("{place}: a branch needs at least one label")]
    BranchWithoutTarget {
        /// Where.
        place: Place,
    },
    /// A guard that is no predicate.
    #[error("{place}: {lane} cannot guard an instruction")]
    GuardClass {
        /// Where.
        place: Place,
        /// The lane.
        lane: Lane,
    },
    /// A definition that cannot be written.
    #[error("{place}: operand {operand} cannot be written")]
    NotWritable {
        /// Where.
        place: Place,
        /// The position.
        operand: usize,
    },
    /// Two definitions of one lane.
    #[error("{place}: {lane} is written twice")]
    WrittenTwice {
        /// Where.
        place: Place,
        /// The lane.
        lane: Lane,
    },
    /// A tied use that does not fit its definition.
    #[error("{place}: {span} is tied to definition {def}, which is {found}")]
    BadTie {
        /// Where.
        place: Place,
        /// The use.
        span: Span,
        /// The definition.
        def: u8,
        /// What stands there.
        found: String,
    },
    /// A flag on the wrong side of an access, or a width that is none.
    #[error("{place}: {what}")]
    BadAccess {
        /// Where.
        place: Place,
        /// What is wrong.
        what: &'static str,
    },
    /// A virtual register that is read before anything wrote it.
    #[error("{0} is read, but it is no input and nothing writes it")]
    Undefined(Lane),
}

/// An instruction's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The block's name.
    pub block: String,
    /// The instruction's number in the block.
    pub index: usize,
    /// The opcode.
    pub opcode: String,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "block `{}`, instruction {} ({})", self.block, self.index, self.opcode)
    }
}

/// Checks every rule; returns all that are broken, in program order.
pub fn verify(f: &Function) -> Result<(), Vec<Violation>> {
    let mut broken = Vec::new();
    let Some(last) = f.blocks().next_back() else {
        return Err(vec![Violation::Empty]);
    };
    let mut names = FxHashSet::default();
    for block in f.blocks() {
        if !names.insert(f.block_name(block)) {
            broken.push(Violation::DuplicateBlock(f.block_name(block).to_owned()));
        }
        for (index, &inst) in f.block_insts(block).iter().enumerate() {
            check_inst(f, block, index, inst, &mut broken);
        }
    }
    let ends = f.block_insts(last).last().is_some_and(|&inst| {
        let data = f.inst(inst);
        data.guard.is_none() && data.effects.intersects(Effects::TERMINATOR)
    });
    if !ends {
        broken.push(Violation::FallsOffTheEnd(f.block_name(last).to_owned()));
    }
    check_inputs(f, &mut broken);
    if broken.is_empty() { Ok(()) } else { Err(broken) }
}

fn check_inst(f: &Function, block: Block, index: usize, inst: Inst, broken: &mut Vec<Violation>) {
    let data = f.inst(inst);
    let place = || Place {
        block: f.block_name(block).to_owned(),
        index,
        opcode: f.opcode_text(data.opcode).to_owned(),
    };
    let is_last = index + 1 == f.block_insts(block).len();
    if data.effects.intersects(Effects::TERMINATOR) && !is_last {
        broken.push(Violation::TerminatorInside { place: place() });
    }
    if data.effects.contains(Effects::BRANCH) && f.branch_targets(inst).next().is_none() {
        broken.push(Violation::BranchWithoutTarget { place: place() });
    }
    if let Some(guard) = data.guard
        && !guard.lane.class().can_guard()
    {
        broken.push(Violation::GuardClass { place: place(), lane: guard.lane });
    }
    let mut written: Vec<Span> = Vec::new();
    for (operand, def) in f.defs(inst).iter().enumerate() {
        match *def {
            Operand::Reg(span) => {
                if let Some(lane) = span.lanes().find(|&l| written.iter().any(|w| w.overlaps(l.into()))) {
                    broken.push(Violation::WrittenTwice { place: place(), lane });
                }
                written.push(span);
            }
            Operand::Constant(_) | Operand::Mem(_) => {}
            _ => broken.push(Violation::NotWritable { place: place(), operand }),
        }
    }
    for operand in f.uses(inst) {
        if let Operand::Tied { span, def } = *operand {
            let found = f.defs(inst).get(usize::from(def)).copied();
            // Physical registers are the same ones; virtual ones get to be by allocation.
            let fits = |d: Span| match d.first().is_virtual() || span.first().is_virtual() {
                true => (d.len(), d.class()) == (span.len(), span.class()),
                false => d == span,
            };
            let fits = matches!(found, Some(Operand::Reg(d)) if fits(d));
            if !fits {
                let found = match found {
                    Some(Operand::Reg(d)) => d.to_string(),
                    Some(_) => "no register".to_owned(),
                    None => "missing".to_owned(),
                };
                broken.push(Violation::BadTie { place: place(), span, def, found });
            }
        }
    }
    for (access, written) in f.accesses(inst) {
        let what = if access.width == Some(0) {
            "an access of no bytes"
        } else if written && access.flags.contains(AccessFlags::READ_ONLY) {
            "a read-only access is written"
        } else if !written && access.flags.contains(AccessFlags::ATOMIC) {
            "an atomic access must stand among the definitions"
        } else {
            continue;
        };
        broken.push(Violation::BadAccess { place: place(), what });
    }
}

/// A virtual lane that is read must be an input or be written somewhere. (Whether it is written on *every* way to the
/// read is not asked: a value written and read under the same guard is fine and looks undefined to a data flow.)
fn check_inputs(f: &Function, broken: &mut Vec<Violation>) {
    let mut written: FxHashSet<Lane> = f.inputs.iter().flat_map(|span| span.lanes()).collect();
    for block in f.blocks() {
        for &inst in f.block_insts(block) {
            f.for_each_write(inst, |w| {
                written.insert(w.lane);
            });
        }
    }
    for block in f.blocks() {
        for &inst in f.block_insts(block) {
            f.for_each_read(inst, |r| {
                if r.lane.is_virtual() && written.insert(r.lane) {
                    broken.push(Violation::Undefined(r.lane));
                }
            });
        }
    }
}
