//! What a text says of machine code beside the IR: operand slots, and what a kernel declares.

use crate::function::{Function, Inst, Payload};
use crate::lane::Span;
use sassafras_control::volta;

/// The registers in the operand slots `a`, `b` and `c` of an instruction.
pub type Slots = [Option<Span>; 3];

/// A function of a text, with what the text says of its machine code.
#[derive(Clone, Debug)]
pub struct Annotated {
    /// The function.
    pub function: Function,
    /// The rest.
    pub annotations: Annotations,
}

/// What a text says of the machine code of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    /// By instruction.
    pub slots: Vec<Slots>,
    /// What the kernel declares.
    pub declared: Declared,
}

/// What a kernel declares of its launches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// The host can launch it; else it is a function that something calls.
    pub entry: bool,
    /// Registers per thread.
    pub registers: Option<u32>,
    /// Threads of a block.
    pub threads: Option<u32>,
    /// Bytes of static shared memory.
    pub shared: u64,
}

/// Whether any instruction of a function has control fields: then it is machine code, and all of them have to.
pub fn has_control(f: &Function) -> bool {
    insts(f).any(|inst| is_controlled(f, inst))
}

/// The first instruction without control fields.
pub fn uncontrolled(f: &Function) -> Option<Inst> {
    insts(f).find(|&inst| !is_controlled(f, inst))
}

fn insts(f: &Function) -> impl Iterator<Item = Inst> {
    f.blocks().flat_map(|block| f.block_insts(block)).copied()
}

/// Fields that are all 0 stand for none: no compiler makes them, since they would set two scoreboards at once and never let the warp wait.
fn is_controlled(f: &Function, inst: Inst) -> bool {
    matches!(f.inst(inst).payload, Payload::Word(word) if word & volta::MASK != 0)
}
