//! Goal: machine code as text and back: what a cubin's routine says, with its control fields, in the text form of the IR.
//!
//! A routine that was printed and read again is the same for everything that asks about instructions: operands, effects, words, operand
//! slots. What a cubin says beside its code (attributes, relocations, padding, places that tables point to) is not in the text.

use crate::decode::INSTRUCTION_BYTES;
use crate::lift::Lifted;
use crate::program::Routine;
use sassafras_ir::Effects;
use sassafras_ir::text::{Annotated, Annotations, Declared, print_annotated};

/// The text of a routine, of which the kernel declares this.
pub fn print(routine: &Routine, declared: Declared) -> String {
    let declared = Declared { entry: routine.entry, ..declared };
    let Lifted { function, sources, .. } = &routine.lifted;
    print_annotated(function, &Annotations { slots: sources.clone(), declared })
}

/// The routine of a text, by itself in a section of this number.
pub fn routine(text: &Annotated, section: usize) -> Routine {
    let f = &text.function;
    let insts = f.blocks().flat_map(|block| f.block_insts(block));
    let opaque = insts.filter(|&&inst| f.inst(inst).effects.contains(Effects::OPAQUE)).count();
    let lifted = Lifted {
        function: f.clone(),
        padding: 0,
        opaque,
        callees: Vec::new(),
        sources: text.annotations.slots.clone(),
    };
    let range = 0..f.inst_count() as u64 * INSTRUCTION_BYTES;
    Routine { name: f.name.clone(), section, range, entry: text.annotations.declared.entry, lifted }
}
