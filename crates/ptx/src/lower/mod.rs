//! Lowering: one function of a module becomes an IR function.
//!
//! Block `i` of the IR is block `i` of the function, and instruction `i` its instruction `i` ([`Lowered::inst`]); where control would run
//! off the end, a block with a `ret` of its own stands behind them. What PTX has and the IR has not is resolved on the safe side:
//!
//! * **Registers** are virtual lanes by declared type: one for up to 32 bits, two for 64, four for 128, one predicate bit. They get
//!   their numbers when they are first used, so that a range costs nothing.
//! * **Names of memory** are lanes too, uniform ones that nothing writes: accesses to one variable differ by their offsets, accesses to
//!   two of them are never told apart.
//! * **Kernel parameters** are read-only memory; other parameter memory is not.
//! * **Opaque** is what the table has no row for, what is not of its row's shape, and what names an unknown register. It
//!   reads and may write every register that it names; where it names a label, control may go there.
//!
//! Cost: linear in the text of the function.

mod labels;
mod number;
mod operands;
mod registers;

pub use number::parse_number;
pub use registers::Numbering;

use crate::syntax::{AtomKind, Function, InstId, Kind, Module, RegId};
use crate::table::{Modifiers, Row, Table};
use labels::Labels;
use rustc_hash::{FxHashMap, FxHashSet};
use sassafras_ir::function::InstSpec;
use sassafras_ir::{Block, Effects, Guard, Inst, Lane, Operand, Payload};
use std::collections::BTreeSet;
use thiserror::Error;

/// A lowered function.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The IR.
    pub function: sassafras_ir::Function,
    /// How many instructions are opaque.
    pub opaque: usize,
    first: u32,
    insts: u32,
}

impl Lowered {
    /// The PTX of an IR instruction; none of the `ret` that was added.
    pub fn inst(&self, inst: Inst) -> Option<InstId> {
        (inst.as_u32() < self.insts).then(|| InstId(self.first + inst.as_u32()))
    }
}

/// Why a function cannot be lowered.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LowerError {
    /// A declaration without a body.
    #[error("`{0}` has no body")]
    NoBody(String),
    /// More registers than lanes.
    #[error("`{0}` uses more registers than the IR can name")]
    TooManyRegisters(String),
    /// A branch to somewhere in a function with more blocks than a branch can name.
    #[error("`{0}`: a branch to an unknown place in a function of {1} blocks")]
    TooManyBlocks(String, usize),
}

/// Lowers a function of a module.
///
/// # Errors
/// When it has no body, or is larger than the IR can hold.
pub fn lower(module: &Module, function: &Function) -> Result<Lowered, LowerError> {
    lower_with(module, function, &mut Numbering::default())
}

/// Lowers a function with lanes that are given out elsewhere: two modules can be compared lane by lane.
///
/// # Errors
/// As [`lower`].
pub fn lower_with(
    module: &Module,
    function: &Function,
    numbering: &mut Numbering,
) -> Result<Lowered, LowerError> {
    let name = module.text(function.name());
    let Some(body) = &function.body else { return Err(LowerError::NoBody(name.to_owned())) };
    let mut lowering = Lowering {
        module,
        name,
        ir: sassafras_ir::Function::new(name, module.target().unwrap_or_default()),
        registers: numbering,
        labels: Labels::new(module, body),
        kernel_params: match function.kind {
            Kind::Entry => function.params.iter().map(|param| module.text(param.name)).collect(),
            Kind::Func => FxHashSet::default(),
        },
        returns: function.returns.iter().filter_map(|value| value.register).collect(),
        rows: FxHashMap::default(),
        defs: Vec::new(),
        uses: Vec::new(),
        blocks: function.blocks().len() as u32,
        opaque: 0,
    };
    lowering.run(function)?;
    let Lowering { ir, opaque, .. } = lowering;
    Ok(Lowered { function: ir, opaque, first: body.insts.start, insts: body.insts.len() as u32 })
}

/// Operands that an instruction may have on one side; what has more is opaque.
const MAX_OPERANDS: usize = 4096;

/// Set aside: more lanes than there are.
struct NoLane;

struct Lowering<'a> {
    module: &'a Module,
    name: &'a str,
    ir: sassafras_ir::Function,
    registers: &'a mut Numbering,
    labels: Labels<'a>,
    kernel_params: FxHashSet<&'a str>,
    /// Registers that the function returns its values in.
    returns: Vec<RegId>,
    rows: FxHashMap<&'a str, Option<(&'static Row, Modifiers)>>,
    defs: Vec<Operand>,
    uses: Vec<Operand>,
    /// Blocks of the function; the block behind them may be added.
    blocks: u32,
    opaque: usize,
}

impl<'a> Lowering<'a> {
    fn run(&mut self, function: &Function) -> Result<(), LowerError> {
        let needs_end = self.add_blocks(function);
        for (number, block) in function.blocks().enumerate() {
            let block_data = &self.module.blocks[block.index()];
            for inst in block_data.insts.clone() {
                self.inst(InstId(inst), Block::from_u32(number as u32))?;
            }
        }
        if needs_end {
            self.uses.clear();
            if self.returned().is_err() {
                return Err(LowerError::TooManyRegisters(self.name.to_owned()));
            }
            let (uses, effects) = (self.uses.as_slice(), Some(Effects::RET));
            let spec = InstSpec { opcode: "ret", uses, effects, ..InstSpec::default() };
            self.ir.push(Block::from_u32(self.blocks), &spec);
        }
        self.add_inputs();
        Ok(())
    }

    /// Makes all blocks; returns whether one was added behind the last.
    fn add_blocks(&mut self, function: &Function) -> bool {
        let mut names = FxHashSet::default();
        let module = self.module;
        for (number, block) in function.blocks().enumerate() {
            let insts = &module.blocks[block.index()].insts;
            self.labels.starts(insts.start, Block::from_u32(number as u32));
            let name = match self.labels.name_of(insts.start) {
                Some(label) if names.insert(label) => label.to_owned(),
                // A label has no dot.
                Some(label) => format!("{label}.{number}"),
                None => format!("b.{number}"),
            };
            self.ir.add_block(&name);
        }
        let end = function.body.as_ref().map_or(0, |body| body.insts.end);
        let leaves = function.insts().next_back().is_some_and(|last| {
            let data = module.inst(last);
            let effects = Table::get().row(module.text(data.opcode)).map(|row| row.effects);
            data.guard.is_none() && effects.is_some_and(|e| e.intersects(Effects::TERMINATOR))
        });
        let needs_end = !leaves || self.labels.name_of(end).is_some();
        if needs_end {
            let block = self.ir.add_block("end.");
            self.labels.starts(end, block);
        }
        needs_end
    }

    fn inst(&mut self, inst: InstId, block: Block) -> Result<(), LowerError> {
        let module = self.module;
        let data = module.inst(inst);
        let opcode = module.text(data.opcode);
        let row = *self
            .rows
            .entry(opcode)
            .or_insert_with(|| Table::get().row(opcode).map(|row| (row, Table::get().modifiers(opcode))));
        self.defs.clear();
        self.uses.clear();
        let understood = match row {
            Some((row, modifiers)) => self.by_row(inst, row, modifiers),
            None => Ok(None),
        };
        let guard = self.guard(inst);
        let (effects, guard) = match (understood, guard) {
            (Err(NoLane), _) | (_, Err(NoLane)) => {
                return Err(LowerError::TooManyRegisters(self.name.to_owned()));
            }
            (Ok(Some(effects)), Ok(Some(guard))) => (effects, guard),
            _ => (self.opaque(inst, block)?, None),
        };
        self.opaque += usize::from(effects.contains(Effects::OPAQUE));
        let (defs, uses) = (&self.defs, &self.uses);
        let spec = InstSpec { opcode, guard, defs, uses, effects: Some(effects), payload: Payload::None };
        self.ir.push(block, &spec);
        Ok(())
    }

    /// Reads the registers that the function returns.
    fn returned(&mut self) -> Result<(), NoLane> {
        for &register in &self.returns {
            let span = self.registers.span(self.module, register, 0, None)?;
            self.uses.extend(span.map(Operand::Reg));
        }
        Ok(())
    }

    /// The guard; the inner `None` is no guard, the outer one a guard that is no predicate.
    fn guard(&mut self, inst: InstId) -> Result<Option<Option<Guard>>, NoLane> {
        let Some(guard) = self.module.inst(inst).guard else { return Ok(Some(None)) };
        let AtomKind::Register { register, index, element } = self.module.atoms[guard.atom as usize].kind
        else {
            return Ok(None);
        };
        let span = self.registers.span(self.module, register, index, element)?;
        let lane = span.filter(|span| span.len() == 1 && span.class().can_guard());
        Ok(lane.map(|span| Some(Guard { lane: span.first(), negated: guard.negated })))
    }

    /// An instruction that is not understood: every register it names is read and may be written.
    fn opaque(&mut self, inst: InstId, block: Block) -> Result<Effects, LowerError> {
        self.defs.clear();
        self.uses.clear();
        let module = self.module;
        let data = module.inst(inst);
        let mut spans = BTreeSet::new();
        let mut targets = BTreeSet::new();
        let guard = data.guard.map(|guard| &module.atoms[guard.atom as usize]);
        let atoms = module.operands(inst).iter().flat_map(|operand| module.atoms(operand));
        for atom in atoms.chain(guard) {
            match atom.kind {
                AtomKind::Register { register, index, element } => {
                    let Ok(span) = self.registers.span(module, register, index, element) else {
                        return Err(LowerError::TooManyRegisters(self.name.to_owned()));
                    };
                    spans.extend(span.into_iter().flat_map(|span| span.lanes()));
                }
                AtomKind::Word => {
                    targets.extend(self.labels.find(module, data.scope, module.text(atom.span)))
                }
                _ => {}
            }
        }
        if spans.len() <= MAX_OPERANDS {
            self.uses.extend(spans.iter().map(|&lane| Operand::Reg(lane.into())));
            self.defs.extend(spans.iter().map(|&lane| Operand::Reg(lane.into())));
        }
        let ends = Table::get().ends_block(module.text(data.opcode));
        let transfers = Table::get().row(module.text(data.opcode)).is_some() && ends;
        let mut effects = Effects::OPAQUE;
        if transfers && targets.is_empty() {
            // A branch, exit or return in a shape that is not known.
            self.anywhere()?;
            effects |= Effects::BRANCH;
        } else if ends && !targets.is_empty() {
            let next = block.as_u32() + 1;
            targets.extend(((next as usize) < self.ir.block_count()).then(|| Block::from_u32(next)));
            if targets.len() > MAX_OPERANDS {
                self.anywhere()?;
            } else {
                self.uses.extend(targets.into_iter().map(Operand::Label));
            }
            effects |= Effects::BRANCH;
        }
        Ok(effects)
    }

    fn anywhere(&mut self) -> Result<(), LowerError> {
        let count = self.ir.block_count();
        if count + self.uses.len() > usize::from(u16::MAX) {
            return Err(LowerError::TooManyBlocks(self.name.to_owned(), count));
        }
        self.uses.extend(self.ir.blocks().map(Operand::Label));
        Ok(())
    }

    /// Lanes that are read and never written hold a value on entry: parameters, names, and what was never set.
    fn add_inputs(&mut self) {
        let mut known: FxHashSet<Lane> = FxHashSet::default();
        for block in self.ir.blocks() {
            for &inst in self.ir.block_insts(block) {
                self.ir.for_each_write(inst, |write| {
                    known.insert(write.lane);
                });
            }
        }
        let mut inputs = Vec::new();
        for block in self.ir.blocks() {
            for &inst in self.ir.block_insts(block) {
                self.ir.for_each_read(inst, |read| {
                    if read.lane.is_virtual() && known.insert(read.lane) {
                        inputs.push(read.lane.into());
                    }
                });
            }
        }
        self.ir.inputs = inputs;
    }
}
