//! Goal: two text-IR modules, function by function.
//!
//! Instructions are compared by their text. Of several equal ones the first is the first, as in binaries.

use crate::reorder::{self, Illegal};
use rustc_hash::FxHashMap;
use sassafras_ir::text::print_inst;
use sassafras_ir::{Block, Function, Inst, Module};
use std::collections::VecDeque;
use thiserror::Error;

/// A difference between two modules that is not a legal reordering.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// The modules do not hold the same functions.
    #[error("{what} was {was}, is {is}")]
    Structure {
        /// What.
        what: String,
        /// In the original.
        was: String,
        /// In the new module.
        is: String,
    },
    /// An instruction that the block did not hold.
    #[error("function `{function}`, block `{block}`: did not hold `{inst}` (at {position} in the new order)")]
    Instruction {
        /// The function.
        function: String,
        /// The block.
        block: String,
        /// The instruction.
        inst: String,
        /// Its place.
        position: usize,
    },
    /// The order computes something else.
    #[error("function `{function}`, block `{block}`: {illegal}")]
    Order {
        /// The function.
        function: String,
        /// The block.
        block: String,
        /// Why.
        illegal: Illegal,
    },
}

/// Every difference of `new` from `old` that is not a legal reordering of blocks.
pub fn modules(old: &Module, new: &Module) -> Vec<Mismatch> {
    let (was, is) = (&old.functions, &new.functions);
    if was.len() != is.len() {
        return vec![structure("the number of functions".to_owned(), was.len(), is.len())];
    }
    was.iter().zip(is).flat_map(|(was, is)| functions(was, is)).collect()
}

fn structure(what: String, was: impl ToString, is: impl ToString) -> Mismatch {
    Mismatch::Structure { what, was: was.to_string(), is: is.to_string() }
}

fn functions(old: &Function, new: &Function) -> Vec<Mismatch> {
    let head = |f: &Function| {
        let inputs: Vec<String> = f.inputs.iter().map(ToString::to_string).collect();
        format!("{} {} ({})", f.name, f.arch, inputs.join(", "))
    };
    if head(old) != head(new) {
        return vec![structure("a function".to_owned(), head(old), head(new))];
    }
    let of_function = |what: &str| format!("function `{}`: {what}", old.name);
    if old.block_count() != new.block_count() {
        let what = of_function("the number of blocks");
        return vec![structure(what, old.block_count(), new.block_count())];
    }
    old.blocks().filter_map(|block| compare(old, new, block)).collect()
}

fn compare(old: &Function, new: &Function, block: Block) -> Option<Mismatch> {
    let name = || (old.name.clone(), old.block_name(block).to_owned());
    if old.block_name(block) != new.block_name(block) {
        let what = format!("function `{}`: a block", old.name);
        return Some(structure(what, old.block_name(block), new.block_name(block)));
    }
    let (was, is) = (old.block_insts(block), new.block_insts(block));
    if was.len() != is.len() {
        let (function, block) = name();
        let what = format!("function `{function}`, block `{block}`: the number of instructions");
        return Some(structure(what, was.len(), is.len()));
    }
    let mut by_text: FxHashMap<String, VecDeque<Inst>> = FxHashMap::default();
    for &inst in was {
        by_text.entry(print_inst(old, inst)).or_default().push_back(inst);
    }
    let mut order = Vec::with_capacity(is.len());
    for (position, &inst) in is.iter().enumerate() {
        let text = print_inst(new, inst);
        match by_text.get_mut(&text).and_then(VecDeque::pop_front) {
            Some(same) => order.push(same),
            None => {
                let (function, block) = name();
                return Some(Mismatch::Instruction { function, block, inst: text, position });
            }
        }
    }
    let illegal = reorder::check(old, was, &order).err()?;
    let (function, block) = name();
    Some(Mismatch::Order { function, block, illegal })
}
