//! Goal: control fields that are right for any order, for want of good ones.
//!
//! Control fields belong to an order: another one needs other stalls and scoreboards. Until they are assigned anew, a
//! function whose order changed gets fields that make it run one instruction after the other: each takes the longest
//! stall, waits for every scoreboard, and sets one if its time varies. That is slow and good for one thing: to find out
//! whether an order computes the same.
//!
//! Whether an instruction's time varies is told by its category, and by the code itself: an opcode that the compiler gave
//! a scoreboard anywhere in the section gets one everywhere.

use sassafras_control::{Field, RawControl, volta};
use sassafras_cubin::CodeEdit;
use sassafras_ir::{Effects, Function, Inst, Role};
use sassafras_machine::Category;
use sassafras_sass::program::Routine;
use std::collections::BTreeSet;

/// Longest stall, the warp yields, waits for all six scoreboards, nothing kept for reuse.
const STALL: u8 = 15;
const ALL: u8 = 0b11_1111;
const NONE: u8 = 7;
/// Any will do: the next instruction waits for it.
const RESULT: u8 = 0;
const SOURCES: u8 = 1;

/// Rewrites the control fields of all routines of a section. `edit` holds the new order.
pub fn rewrite(routines: &[Routine], edit: &mut CodeEdit) {
    let boards = |word: u128| {
        let raw = volta::read(word);
        [Field::Write, Field::Read].map(|field| raw.get(field) != NONE)
    };
    let mut variable: BTreeSet<&str> = BTreeSet::new();
    for routine in routines {
        let f = &routine.lifted.function;
        for (inst, slot) in instructions(routine) {
            if boards(edit.words[slot]).contains(&true) {
                variable.insert(f.opcode_text(f.inst(inst).opcode));
            }
        }
    }
    for routine in routines {
        let f = &routine.lifted.function;
        for (inst, slot) in instructions(routine) {
            let name = f.opcode_text(f.inst(inst).opcode);
            let varies = variable.contains(name) || Category::of(name).is_some_and(takes_its_time);
            let word = edit.words[slot];
            let [mut write, mut read] = boards(word);
            if varies && !f.inst(inst).effects.intersects(Effects::TERMINATOR | Effects::CALL) {
                write |= writes(f, inst);
                read |= !write && reads(f, inst);
            }
            let board = |set: bool, number: u8| if set { number } else { NONE };
            let fields = [STALL, 0, board(write, RESULT), board(read, SOURCES), ALL, 0];
            let raw = RawControl::from_fields(fields).unwrap_or_default();
            edit.words[slot] = volta::insert(word, raw);
        }
    }
}

/// The instructions in their new order, each with its new slot.
fn instructions(routine: &Routine) -> impl Iterator<Item = (Inst, usize)> {
    let f = &routine.lifted.function;
    let first = (routine.range.start / 16) as usize;
    f.blocks().flat_map(|block| f.block_insts(block)).copied().zip(first..)
}

fn writes(f: &Function, inst: Inst) -> bool {
    let mut any = false;
    f.for_each_write(inst, |_| any = true);
    any
}

fn reads(f: &Function, inst: Inst) -> bool {
    let mut any = false;
    f.for_each_read(inst, |lane| any |= lane.role != Role::Guard);
    any
}

fn takes_its_time(category: Category) -> bool {
    category.is_memory()
        || matches!(
            category,
            Category::Sfu | Category::Convert | Category::Shuffle | Category::SpecialRegister
        )
}
