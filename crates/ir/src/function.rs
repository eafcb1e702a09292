//! Modules, functions, blocks and instructions.

use crate::lane::{Lane, Span};
use crate::operand::{MemAccess, MemRef, Name, Operand};
use bitflags::bitflags;
use cranelift_entity::{EntityRef, PrimaryMap, entity_impl};
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;
use std::sync::Arc;

/// A block of a function, numbered in layout order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block(u32);
entity_impl!(Block, "block");

/// An instruction of a function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Inst(u32);
entity_impl!(Inst, "inst");

/// An opcode as the front-end spells it, modifiers included; interned per function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Opcode(u32);
entity_impl!(Opcode, "op");

bitflags! {
    /// What an instruction does besides reading and writing its operands.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct Effects: u16 {
        /// Goes to one of its labels.
        const BRANCH = 1;
        /// Ends the thread.
        const EXIT = 2;
        /// Returns to the caller.
        const RET = 4;
        /// Calls; may read and write anything.
        const CALL = 8;
        /// Synchronises threads or orders memory.
        const BARRIER = 16;
        /// Changes or names the set of threads that run together.
        const CONVERGENCE = 32;
        /// Reads other lanes of the warp: must see the same set of running threads.
        const CROSS_LANE = 64;
        /// Keeps its order among all ordered instructions (clocks, special registers).
        const ORDERED = 128;
        /// Not understood: nothing moves across it.
        const OPAQUE = 256;
    }
}

impl Effects {
    /// Effects that end a block.
    pub const TERMINATOR: Effects = Effects::BRANCH.union(Effects::EXIT).union(Effects::RET);

    /// The names of the text form.
    pub const NAMES: [(&'static str, Effects); 9] = [
        ("branch", Effects::BRANCH),
        ("exit", Effects::EXIT),
        ("ret", Effects::RET),
        ("call", Effects::CALL),
        ("barrier", Effects::BARRIER),
        ("convergence", Effects::CONVERGENCE),
        ("cross_lane", Effects::CROSS_LANE),
        ("ordered", Effects::ORDERED),
        ("opaque", Effects::OPAQUE),
    ];
}

/// The predicate that an instruction runs under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    /// The predicate bit.
    pub lane: Lane,
    /// Run when it is clear.
    pub negated: bool,
}

/// What the front-end keeps to write the instruction back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Payload {
    /// Nothing: the instruction was made here.
    #[default]
    None,
    /// The machine word (64-bit encodings use the low half).
    Word(u128),
    /// The source text.
    Text(Name),
}

/// One instruction; operands live in the function's pool.
#[derive(Clone, Debug)]
pub struct InstData {
    /// What it is.
    pub opcode: Opcode,
    /// Under which predicate it runs; `None` means always.
    pub guard: Option<Guard>,
    /// What it does besides.
    pub effects: Effects,
    /// What the front-end keeps.
    pub payload: Payload,
    first_operand: u32,
    defs: u16,
    uses: u16,
}

#[derive(Clone, Debug)]
struct BlockData {
    name: Name,
    insts: Vec<Inst>,
}

/// How an instruction touches a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// As its guard.
    Guard,
    /// As the operand with this position (definitions first, then uses).
    Operand(u16),
    /// As part of the address of the memory operand with this position.
    Address(u16),
}

/// A lane as one operand of one instruction names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneRef {
    /// The lane.
    pub lane: Lane,
    /// Which operand.
    pub role: Role,
    /// Which lane of the operand: 0 for the low half of a pair.
    pub part: u8,
}

/// What an instruction is made of, for [`Function::push`].
#[derive(Clone, Debug, Default)]
pub struct InstSpec<'a> {
    /// The opcode with its modifiers.
    pub opcode: &'a str,
    /// The guard.
    pub guard: Option<Guard>,
    /// What is written.
    pub defs: &'a [Operand],
    /// What is read.
    pub uses: &'a [Operand],
    /// What it does besides.
    pub effects: Option<Effects>,
    /// What the front-end keeps.
    pub payload: Payload,
}

type Interner = IndexSet<Box<str>, FxBuildHasher>;

/// A function: blocks in layout order, instructions, pools.
///
/// Clones share the pools until one of them is changed there: another order, other effects and other words leave them alone.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name, as the front-end gave it.
    pub name: String,
    /// The architecture it is for, as the front-end spells it (`sm_90`).
    pub arch: String,
    /// Registers that hold a value on entry.
    pub inputs: Vec<Span>,
    blocks: PrimaryMap<Block, BlockData>,
    insts: PrimaryMap<Inst, InstData>,
    operands: Arc<Vec<Operand>>,
    mems: Arc<PrimaryMap<MemRef, MemAccess>>,
    opcodes: Arc<Interner>,
    names: Arc<Interner>,
}

/// Several functions: what one text file holds.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// The functions in file order.
    pub functions: Vec<Function>,
}

impl Function {
    /// An empty function.
    pub fn new(name: impl Into<String>, arch: impl Into<String>) -> Function {
        Function {
            name: name.into(),
            arch: arch.into(),
            inputs: Vec::new(),
            blocks: PrimaryMap::new(),
            insts: PrimaryMap::new(),
            operands: Arc::default(),
            mems: Arc::new(PrimaryMap::new()),
            opcodes: Arc::default(),
            names: Arc::default(),
        }
    }

    /// Interns a name.
    pub fn intern(&mut self, text: &str) -> Name {
        Name::new(intern(&mut self.names, text))
    }

    /// The text of a name.
    pub fn text(&self, name: Name) -> &str {
        &self.names[name.index()]
    }

    /// Interns an opcode.
    pub fn intern_opcode(&mut self, text: &str) -> Opcode {
        Opcode::new(intern(&mut self.opcodes, text))
    }

    /// The spelling of an opcode.
    #[inline]
    pub fn opcode_text(&self, opcode: Opcode) -> &str {
        &self.opcodes[opcode.index()]
    }

    /// The opcodes in use, in the order of their numbers: the key of tables that a model prepares once per function.
    pub fn opcodes(&self) -> impl ExactSizeIterator<Item = &str> {
        self.opcodes.iter().map(AsRef::as_ref)
    }

    /// Adds a block behind the others.
    pub fn add_block(&mut self, name: &str) -> Block {
        let name = self.intern(name);
        self.blocks.push(BlockData { name, insts: Vec::new() })
    }

    /// Adds a memory access, to be named by an operand.
    pub fn add_mem(&mut self, access: MemAccess) -> MemRef {
        Arc::make_mut(&mut self.mems).push(access)
    }

    /// Appends an instruction to a block.
    ///
    /// # Panics
    /// When it has more than 65,535 operands on one side.
    pub fn push(&mut self, block: Block, spec: &InstSpec<'_>) -> Inst {
        let opcode = self.intern_opcode(spec.opcode);
        let first_operand = self.operands.len() as u32;
        let operands = Arc::make_mut(&mut self.operands);
        operands.extend_from_slice(spec.defs);
        operands.extend_from_slice(spec.uses);
        let inst = self.insts.push(InstData {
            opcode,
            guard: spec.guard,
            effects: spec.effects.unwrap_or(Effects::empty()),
            payload: spec.payload,
            first_operand,
            defs: u16::try_from(spec.defs.len()).expect("too many definitions"),
            uses: u16::try_from(spec.uses.len()).expect("too many uses"),
        });
        self.blocks[block].insts.push(inst);
        inst
    }

    /// The blocks in layout order.
    pub fn blocks(&self) -> cranelift_entity::Keys<Block> {
        self.blocks.keys()
    }

    /// How many blocks there are.
    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// How many instructions there are.
    #[inline]
    pub fn inst_count(&self) -> usize {
        self.insts.len()
    }

    /// A block's name.
    pub fn block_name(&self, block: Block) -> &str {
        self.text(self.blocks[block].name)
    }

    /// A block's instructions in order.
    #[inline]
    pub fn block_insts(&self, block: Block) -> &[Inst] {
        &self.blocks[block].insts
    }

    /// Puts a block's instructions into another order.
    ///
    /// # Panics
    /// When `order` is not a permutation of what the block holds: a schedule that loses an instruction is a bug that
    /// must not travel on.
    pub fn reorder(&mut self, block: Block, order: &[Inst]) {
        let (mut old, mut new) = (self.blocks[block].insts.clone(), order.to_vec());
        old.sort_unstable();
        new.sort_unstable();
        assert_eq!(old, new, "not a permutation of {}", self.block_name(block));
        self.blocks[block].insts = order.to_vec();
    }

    /// An instruction.
    #[inline]
    pub fn inst(&self, inst: Inst) -> &InstData {
        &self.insts[inst]
    }

    /// Gives an instruction more effects: orders that a pass wants kept.
    pub fn add_effects(&mut self, inst: Inst, effects: Effects) {
        self.insts[inst].effects |= effects;
    }

    /// Gives an instruction other registers: `read` maps what its guard, addresses and uses name, `written` what it defines.
    ///
    /// What `read` makes of a guard must be a single lane.
    pub fn rename(
        &mut self,
        inst: Inst,
        mut read: impl FnMut(Span) -> Span,
        mut written: impl FnMut(Span) -> Span,
    ) {
        let data = &mut self.insts[inst];
        if let Some(guard) = &mut data.guard {
            guard.lane = read(guard.lane.into()).first();
        }
        let (first, defs) = (data.first_operand as usize, usize::from(data.defs));
        let operands = &mut Arc::make_mut(&mut self.operands)[first..first + defs + usize::from(data.uses)];
        for (i, operand) in operands.iter_mut().enumerate() {
            match operand {
                Operand::Reg(span) if i < defs => *span = written(*span),
                Operand::Reg(span) | Operand::Tied { span, .. } => *span = read(*span),
                Operand::Mem(mem) => {
                    // Another instruction may name the same access.
                    let mut access = self.mems[*mem];
                    access.base = access.base.map(&mut read);
                    access.index = access.index.map(&mut read);
                    *mem = Arc::make_mut(&mut self.mems).push(access);
                }
                _ => {}
            }
        }
    }

    /// Keeps something else for writing the instruction back.
    pub fn set_payload(&mut self, inst: Inst, payload: Payload) {
        self.insts[inst].payload = payload;
    }

    /// A function of only this block. Its instructions are numbered as they stand, and labels name the block itself.
    #[must_use]
    pub fn excerpt(&self, block: Block) -> Function {
        let mut excerpt = Function::new(self.name.clone(), self.arch.clone());
        let only = excerpt.add_block(self.block_name(block));
        for &inst in self.block_insts(block) {
            let data = &self.insts[inst];
            let operands: Vec<Operand> = self
                .operands(inst)
                .iter()
                .map(|&operand| match operand {
                    Operand::Label(_) => Operand::Label(only),
                    Operand::Symbol(name) => Operand::Symbol(excerpt.intern(self.text(name))),
                    Operand::Mem(mem) => Operand::Mem(excerpt.add_mem(self.mems[mem])),
                    other => other,
                })
                .collect();
            let (defs, uses) = operands.split_at(usize::from(data.defs));
            let payload = match data.payload {
                Payload::Text(name) => Payload::Text(excerpt.intern(self.text(name))),
                other => other,
            };
            let spec = InstSpec {
                opcode: self.opcode_text(data.opcode),
                guard: data.guard,
                defs,
                uses,
                effects: Some(data.effects),
                payload,
            };
            excerpt.push(only, &spec);
        }
        excerpt
    }

    /// Its definitions.
    #[inline]
    pub fn defs(&self, inst: Inst) -> &[Operand] {
        let data = &self.insts[inst];
        let first = data.first_operand as usize;
        &self.operands[first..first + usize::from(data.defs)]
    }

    /// Its uses.
    #[inline]
    pub fn uses(&self, inst: Inst) -> &[Operand] {
        let data = &self.insts[inst];
        let first = data.first_operand as usize + usize::from(data.defs);
        &self.operands[first..first + usize::from(data.uses)]
    }

    /// Definitions, then uses: the positions of [`Role::Operand`].
    pub fn operands(&self, inst: Inst) -> &[Operand] {
        let data = &self.insts[inst];
        let first = data.first_operand as usize;
        &self.operands[first..first + usize::from(data.defs) + usize::from(data.uses)]
    }

    /// A memory access.
    pub fn mem(&self, mem: MemRef) -> &MemAccess {
        &self.mems[mem]
    }

    /// The memory accesses of an instruction: `(access, written)`.
    pub fn accesses(&self, inst: Inst) -> impl Iterator<Item = (&MemAccess, bool)> {
        let defs = usize::from(self.insts[inst].defs);
        self.operands(inst).iter().enumerate().filter_map(move |(i, op)| match op {
            Operand::Mem(mem) => Some((&self.mems[*mem], i < defs)),
            _ => None,
        })
    }

    /// Whether what the instruction writes is certainly overwritten: a guarded or opaque write may not happen.
    pub fn kills(&self, inst: Inst) -> bool {
        let data = &self.insts[inst];
        data.guard.is_none() && !data.effects.contains(Effects::OPAQUE)
    }

    /// Calls `visit` for every lane that the instruction reads: guard, addresses, uses.
    pub fn for_each_read(&self, inst: Inst, mut visit: impl FnMut(LaneRef)) {
        let data = &self.insts[inst];
        if let Some(guard) = data.guard {
            visit(LaneRef { lane: guard.lane, role: Role::Guard, part: 0 });
        }
        for (i, operand) in self.operands(inst).iter().enumerate() {
            let position = i as u16;
            match *operand {
                Operand::Reg(span) | Operand::Tied { span, .. } if i >= usize::from(data.defs) => {
                    visit_span(span, Role::Operand(position), 0, &mut visit);
                }
                Operand::Mem(mem) => {
                    let mut part = 0;
                    for span in self.mems[mem].address() {
                        visit_span(span, Role::Address(position), part, &mut visit);
                        part += span.len();
                    }
                }
                _ => {}
            }
        }
    }

    /// Calls `visit` for every lane that the instruction writes or may write.
    pub fn for_each_write(&self, inst: Inst, mut visit: impl FnMut(LaneRef)) {
        for (i, operand) in self.defs(inst).iter().enumerate() {
            if let Operand::Reg(span) = *operand {
                visit_span(span, Role::Operand(i as u16), 0, &mut visit);
            }
        }
    }

    /// The blocks that the instruction names, when it is a branch.
    pub fn branch_targets(&self, inst: Inst) -> impl Iterator<Item = Block> {
        let is_branch = self.insts[inst].effects.contains(Effects::BRANCH);
        self.uses(inst).iter().filter_map(move |op| match op {
            Operand::Label(block) if is_branch => Some(*block),
            _ => None,
        })
    }
}

fn visit_span(span: Span, role: Role, first_part: u8, visit: &mut impl FnMut(LaneRef)) {
    for (i, lane) in span.lanes().enumerate() {
        visit(LaneRef { lane, role, part: first_part.wrapping_add(i as u8) });
    }
}

fn intern(set: &mut Arc<Interner>, text: &str) -> usize {
    match set.get_index_of(text) {
        Some(index) => index,
        None => Arc::make_mut(set).insert_full(text.into()).0,
    }
}
