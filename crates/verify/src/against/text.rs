//! Goal: two text-IR modules, function by function.
//!
//! Instructions are compared by their text and their machine word, without control fields. Of several equal ones the first is the first, as
//! in binaries. A block that holds others is compared by what it computes ([`crate::values`]): its registers may be others.

use super::rename::register_fields;
use crate::live::{LaneSet, Live};
use crate::precedence::mix;
use crate::reorder::{self, Illegal};
use crate::values::{self, Deviation, Step};
use rustc_hash::FxHashMap;
use sassafras_control::volta;
use sassafras_ir::text::{Annotated, has_control, print_bare};
use sassafras_ir::{Block, Function, Inst, MemAccess, Operand, Payload, Role, Span};
use sassafras_machine::Arch;
use sassafras_sass::Decoder;
use sassafras_sass::program::Relative;
use std::cell::OnceCell;
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

/// Every difference of `new` from `old` that is not a legal reordering of blocks. What is launched starts with its warps undivided, so that
/// uniform registers may be others where they stay so.
pub fn annotated(old: &[Annotated], new: &[Annotated]) -> Vec<Mismatch> {
    if old.len() != new.len() {
        return vec![structure("the number of functions".to_owned(), old.len(), new.len())];
    }
    let compare = |(was, is): (&Annotated, &Annotated)| {
        if was.annotations.declared != is.annotations.declared {
            let what = format!("what `{}` declares", was.function.name);
            let [was, is] = [was, is].map(|text| format!("{:?}", text.annotations.declared));
            return vec![structure(what, was, is)];
        }
        functions(&was.function, &is.function, was.annotations.declared.entry)
    };
    old.iter().zip(new).flat_map(compare).collect()
}

fn structure(what: String, was: impl ToString, is: impl ToString) -> Mismatch {
    Mismatch::Structure { what, was: was.to_string(), is: is.to_string() }
}

fn functions(old: &Function, new: &Function, entry: bool) -> Vec<Mismatch> {
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
    let arch = Arch::parse_or_universal(&old.arch).ok();
    let (relative, decoder) = (arch.map(Relative::new), arch.map(Decoder::new));
    let is_machine_code = has_control(old) && has_control(new);
    let compared = Compared { old, new, relative, decoder, live: OnceCell::new(), entry, is_machine_code };
    old.blocks().filter_map(|block| compared.block(block)).collect()
}

/// What the two versions of a function are compared with.
struct Compared<'a> {
    old: &'a Function,
    new: &'a Function,
    relative: Option<Relative>,
    decoder: Option<Decoder>,
    live: OnceCell<Live>,
    entry: bool,
    /// Both have control fields: registers may be others.
    is_machine_code: bool,
}

impl Compared<'_> {
    /// The instruction without control fields, and its word without distances: labels name the places.
    fn key(&self, f: &Function, inst: Inst) -> (String, u128) {
        let word = word(f, inst);
        let distance = self.relative.as_ref().map_or(0, |relative| relative.mask(word));
        (print_bare(f, inst), word & !distance)
    }

    fn block(&self, block: Block) -> Option<Mismatch> {
        let Compared { old, new, .. } = *self;
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
        let mut by_text: FxHashMap<(String, u128), VecDeque<Inst>> = FxHashMap::default();
        for &inst in was {
            by_text.entry(self.key(old, inst)).or_default().push_back(inst);
        }
        let mut order = Vec::with_capacity(is.len());
        let mut found = None;
        for (position, &inst) in is.iter().enumerate() {
            match by_text.get_mut(&self.key(new, inst)).and_then(VecDeque::pop_front) {
                Some(same) => order.push(same),
                None => {
                    let ((function, block), inst) = (name(), print_bare(new, inst));
                    found = Some(Mismatch::Instruction { function, block, inst, position });
                    break;
                }
            }
        }
        let illegal = match found {
            None => reorder::check(old, was, &order).err()?,
            Some(found) if !self.is_machine_code => return Some(found),
            Some(found) => match self.renamed(block) {
                Ok(()) => return None,
                Err(Deviation::Sees { place, what, .. }) => {
                    Illegal::Differs { inst: print_bare(new, is[place]), position: place, what }
                }
                Err(Deviation::LiveOut(lane)) => Illegal::LiveOut(lane),
                Err(Deviation::Other | Deviation::Stop(_)) => return Some(found),
            },
        };
        let (function, block) = name();
        Some(Mismatch::Order { function, block, illegal })
    }

    /// Compares a block by what it computes; its registers may be others.
    fn renamed(&self, block: Block) -> Result<(), Deviation> {
        let live = self.live.get_or_init(|| Live::new(self.old, self.entry, |_| LaneSet::default()));
        let steps = |f: &Function| -> Vec<Step> {
            f.block_insts(block).iter().map(|&inst| self.step(f, inst, live)).collect()
        };
        let wanted = live.out(block);
        values::compare(&steps(self.old), &steps(self.new), &[], |lane| wanted.contains(lane)).map(drop)
    }

    /// An instruction for value numbering: what it is apart from its registers, and those.
    fn step(&self, f: &Function, inst: Inst, live: &Live) -> Step {
        let (data, word) = (f.inst(inst), word(f, inst));
        let may_rename = |class| live.may_rename(class);
        let names = match &self.decoder {
            Some(decoder) if word != 0 => register_fields(&decoder.decode(word, 0), may_rename),
            _ => 0,
        };
        let distance = self.relative.as_ref().map_or(0, |relative| relative.mask(word));
        let guard = data.guard.map(|guard| guard.negated);
        let mut shape = format!("{} {guard:?} {}", f.opcode_text(data.opcode), f.defs(inst).len());
        let register = |span: Span| (span.class(), span.len(), (!may_rename(span.class())).then_some(span));
        for &operand in f.operands(inst) {
            shape += &match operand {
                Operand::Reg(span) => format!(", {:?}", register(span)),
                Operand::Tied { span, def } => format!(", tied {def} {:?}", register(span)),
                Operand::Symbol(name) => format!(", ${}", f.text(name)),
                Operand::Mem(mem) => {
                    let access = MemAccess { base: None, index: None, ..*f.mem(mem) };
                    let address = [f.mem(mem).base, f.mem(mem).index].map(|span| span.map(register));
                    format!(", {access:?} {address:?}")
                }
                other => format!(", {other:?}"),
            };
        }
        let bytes = shape.bytes().map(u128::from);
        let parts = [word & !names & !distance, names, data.effects.bits().into()].into_iter().chain(bytes);
        let signature = parts.fold(0, |all, part| mix(mix(all).wrapping_add(part)));
        let mut step = Step::new(signature, word & names, data.effects);
        step.guard = data.guard;
        f.for_each_read(inst, |read| {
            if read.role != Role::Guard {
                step.reads.push(read.lane);
            }
        });
        step.reads.extend(live.elsewhere(f, inst).lanes());
        f.for_each_write(inst, |write| step.writes.push(write.lane));
        step.accesses = f.accesses(inst).map(|(access, written)| (*access, written)).collect();
        step
    }
}

/// The machine word without its control fields; 0 where there is none.
fn word(f: &Function, inst: Inst) -> u128 {
    match f.inst(inst).payload {
        Payload::Word(word) => word & !volta::MASK,
        Payload::None | Payload::Text(_) => 0,
    }
}
