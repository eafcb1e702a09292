//! Lifting: the code of one function becomes an IR function with blocks, labels, effects and the raw words.
//!
//! What the decoder does not know becomes an instruction with the effect [`Effects::OPAQUE`] and no operands; it ends its
//! block, and where its opcode lies among those of control flow, it is a branch to every block. Control flow
//! is read off branches, exits, returns and calls; reconvergence points (`BSSY`, collective `WARPSYNC`) start a block
//! and are named as labels. An instruction whose result is its own address (`LEPC` without a distance) is a block of its own:
//! nothing is moved from block to block, so it stays where it stands. Three things differ between the machine and the IR, and are resolved on the safe side:
//!
//! * A branch may have a condition besides its guard (`BRA P0`, `BRA.U UP0`, `BRA.DIV`). Without a guard the IR would
//!   not fall through, so the next block is named as a second target.
//! * An instruction guarded by the constant false never runs. It keeps its place but gets no operands: a write that
//!   never happens must not end a live range.
//! * Code ends in padding. The `NOP`s behind the last terminator are not lifted ([`Lifted::padding`]).

use std::collections::BTreeSet;

use sassafras_control::volta;
use sassafras_ir::function::InstSpec;
use sassafras_ir::{Block, Effects, Function, Guard, Inst, Operand, Payload, RegClass, Span};
use sassafras_machine::Arch;
use thiserror::Error;

use crate::decode::{Decoded, Decoder, Flow, INSTRUCTION_BYTES, Sources};
use crate::rename::{Renamer, Unnamed};

/// What to lift.
#[derive(Clone, Copy, Debug)]
pub struct Code<'a> {
    /// The function's name.
    pub name: &'a str,
    /// The architecture.
    pub arch: Arch,
    /// The bytes of its code.
    pub bytes: &'a [u8],
    /// Targets of indirect branches: `(address of the branch, targets)`, both in bytes from the start of the code.
    pub indirect: &'a [(u64, Vec<u64>)],
    /// Addresses of calls that nothing comes back from, in order: they are lifted as branches. Which these are shows in the whole
    /// section ([`crate::program`]).
    pub jumps: &'a [u64],
}

/// A lifted function.
#[derive(Clone, Debug)]
pub struct Lifted {
    /// The IR. Instruction `i` stands at byte `16 i` of the code.
    pub function: Function,
    /// How many instructions behind the last terminator were left out: padding that control never reaches.
    pub padding: usize,
    /// How many instructions are opaque.
    pub opaque: usize,
    /// Blocks that calls inside the code go to.
    pub callees: Vec<Block>,
    /// By instruction, the source registers that each of the three reuse flags of its control field is for.
    pub sources: Vec<Sources>,
}

impl Lifted {
    /// Gives an instruction other registers, in its word too: `read` and `written` map what it reads and writes. Where the word does
    /// not allow it, nothing changes.
    ///
    /// # Errors
    /// When there is no such instruction.
    pub fn rename(
        &mut self,
        renamer: &Renamer,
        inst: Inst,
        mut read: impl FnMut(Span) -> Span,
        mut written: impl FnMut(Span) -> Span,
    ) -> Result<(), Unnamed> {
        let Payload::Word(word) = self.function.inst(inst).payload else { return Err(Unnamed::Opaque) };
        // Text may leave all of the word out but the control fields: then no bits name registers.
        if word & !volta::MASK != 0 {
            let word = renamer.rename(word, |field| {
                let to = if field.is_read() { read(field.span) } else { written(field.span) };
                Some(to.first().index())
            })?;
            self.function.set_payload(inst, Payload::Word(word));
        }
        self.function.rename(inst, &mut read, &mut written);
        for source in self.sources[inst.as_u32() as usize].iter_mut().flatten() {
            *source = read(*source);
        }
        Ok(())
    }

    /// The byte address of an instruction.
    pub fn address(&self, inst: Inst) -> u64 {
        u64::from(inst.as_u32()) * INSTRUCTION_BYTES
    }
}

/// Why code cannot be lifted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LiftError {
    /// No decoding table.
    #[error("{0} has no decoding table")]
    UnknownArch(Arch),
    /// No instruction at all.
    #[error("`{0}` has no code")]
    Empty(String),
    /// A length that is no multiple of the instruction size.
    #[error("`{name}`: {bytes} bytes of code are no whole number of 16-byte instructions")]
    Ragged {
        /// The function.
        name: String,
        /// Its length.
        bytes: usize,
    },
    /// More blocks than an unknown indirect branch can name.
    #[error(
        "`{name}`: an indirect branch at {address:#x} with unknown targets in a function of {blocks} blocks"
    )]
    TooManyBlocks {
        /// The function.
        name: String,
        /// The branch.
        address: u64,
        /// How many.
        blocks: usize,
    },
    /// Many branches to unknown places among many blocks.
    #[error(
        "`{name}`: too many branches with unknown targets up to {address:#x} in a function of {blocks} blocks; they may \
         have {MOST_UNKNOWN_WAYS} ways"
    )]
    TooManyWays {
        /// The function.
        name: String,
        /// The branch that is one too many.
        address: u64,
        /// How many.
        blocks: usize,
    },
}

/// The most ways that all branches of a function with unknown targets may have together: each goes to every block, so that they would
/// grow with the square of its length. Compiled code has a few such branches at most.
pub const MOST_UNKNOWN_WAYS: usize = 1 << 20;

/// Lifts one function.
pub fn lift(code: &Code<'_>) -> Result<Lifted, LiftError> {
    let decoder = Decoder::new(code.arch);
    if !decoder.has_table() {
        return Err(LiftError::UnknownArch(code.arch));
    }
    let (words, rest) = code.bytes.as_chunks::<16>();
    if !rest.is_empty() {
        return Err(LiftError::Ragged { name: code.name.to_owned(), bytes: code.bytes.len() });
    }
    let mut decoded: Vec<Decoded> = words
        .iter()
        .zip(0..)
        .map(|(bytes, i)| decoder.decode(u128::from_le_bytes(*bytes), i * INSTRUCTION_BYTES))
        .collect();
    let is_jump = |inst: &&mut Decoded| code.jumps.binary_search(&inst.pc()).is_ok();
    decoded.iter_mut().filter(is_jump).for_each(Decoded::take_for_branch);
    let padding = padding(&decoded);
    decoded.truncate(decoded.len() - padding);
    if decoded.is_empty() {
        return Err(LiftError::Empty(code.name.to_owned()));
    }
    Lifter::new(code, &decoded).run(padding)
}

/// How many trailing instructions are padding. One is kept when nothing before it surely leaves the function.
fn padding(decoded: &[Decoded]) -> usize {
    let nops = decoded.iter().rev().take_while(|inst| inst.is_padding()).count();
    match decoded[..decoded.len() - nops].last() {
        Some(last) if last.leaves() => nops,
        _ => nops.saturating_sub(1),
    }
}

struct Lifter<'a> {
    code: &'a Code<'a>,
    decoded: &'a [Decoded],
    function: Function,
    /// The block that starts at an instruction.
    block_at: Vec<Option<Block>>,
    defs: Vec<Operand>,
    uses: Vec<Operand>,
    /// Ways of branches to unknown places so far.
    unknown_ways: usize,
}

impl<'a> Lifter<'a> {
    fn new(code: &'a Code<'a>, decoded: &'a [Decoded]) -> Lifter<'a> {
        let mut lifter = Lifter {
            code,
            decoded,
            function: Function::new(code.name, code.arch.to_string()),
            block_at: vec![None; decoded.len()],
            defs: Vec::new(),
            uses: Vec::new(),
            unknown_ways: 0,
        };
        for leader in lifter.leaders() {
            let name = format!("L{:x}", leader as u64 * INSTRUCTION_BYTES);
            lifter.block_at[leader] = Some(lifter.function.add_block(&name));
        }
        lifter
    }

    /// The instruction at a byte address inside the code.
    fn index(&self, address: u64) -> Option<usize> {
        let index = usize::try_from(address / INSTRUCTION_BYTES).ok()?;
        (address.is_multiple_of(INSTRUCTION_BYTES) && index < self.decoded.len()).then_some(index)
    }

    fn block(&self, address: u64) -> Option<Block> {
        self.index(address).and_then(|i| self.block_at[i])
    }

    fn indirect(&self, pc: u64) -> Option<&'a [u64]> {
        let mut known = self.code.indirect.iter();
        known.find(|(branch, _)| *branch == pc).map(|(_, targets)| targets.as_slice())
    }

    fn leaders(&self) -> BTreeSet<usize> {
        let mut leaders = BTreeSet::from([0]);
        for (i, inst) in self.decoded.iter().enumerate() {
            if inst.is_pinned() {
                leaders.insert(i);
            }
            let ends = match inst.flow() {
                Flow::Next | Flow::CallElsewhere => inst.is_opaque() || inst.is_pinned(),
                Flow::Return | Flow::Exit => true,
                Flow::Branch { target } => {
                    leaders.extend(self.index(target));
                    true
                }
                Flow::Call { target } => {
                    leaders.extend(self.index(target));
                    false
                }
                Flow::Reconverge { target } => {
                    leaders.extend(self.index(target));
                    inst.is_collective()
                }
                Flow::IndirectBranch => {
                    let targets = self.indirect(inst.pc()).unwrap_or_default();
                    leaders.extend(targets.iter().filter_map(|&target| self.index(target)));
                    true
                }
            };
            if ends && i + 1 < self.decoded.len() {
                leaders.insert(i + 1);
            }
        }
        leaders
    }

    fn run(mut self, padding: usize) -> Result<Lifted, LiftError> {
        let mut opaque = 0;
        let mut callees = BTreeSet::new();
        let mut sources = Vec::with_capacity(self.decoded.len());
        let mut block = Block::from_u32(0);
        for (i, inst) in self.decoded.iter().enumerate() {
            block = self.block_at[i].unwrap_or(block);
            let is_last = i + 1 == self.decoded.len();
            let effects = self.operands(inst, is_last)?;
            opaque += usize::from(effects.contains(Effects::OPAQUE));
            if let Flow::Call { target } = inst.flow() {
                callees.extend(self.block(target));
            }
            sources.push(inst.flagged_sources());
            let guard = self.guard(inst, effects);
            self.function.push(
                block,
                &InstSpec {
                    opcode: inst.mnemonic().unwrap_or("OPAQUE"),
                    guard,
                    defs: &self.defs,
                    uses: &self.uses,
                    effects: Some(effects),
                    payload: Payload::Word(inst.word()),
                },
            );
        }
        let callees = callees.into_iter().collect();
        Ok(Lifted { function: self.function, padding, opaque, callees, sources })
    }

    /// The guard; the condition of an exit or return without one takes its place.
    fn guard(&self, inst: &Decoded, effects: Effects) -> Option<Guard> {
        if effects.contains(Effects::OPAQUE) && effects.intersects(Effects::TERMINATOR) {
            return None;
        }
        inst.guard()
            .or_else(|| effects.intersects(Effects::EXIT | Effects::RET).then(|| inst.condition()).flatten())
    }

    /// Fills `defs` and `uses` and returns the effects.
    fn operands(&mut self, inst: &Decoded, is_last: bool) -> Result<Effects, LiftError> {
        self.defs.clear();
        self.uses.clear();
        let mut effects = inst.effects();
        if inst.never_runs() {
            effects = Effects::ORDERED;
        } else {
            // Threads that run apart write the same uniform registers: each must find what it left when it is its turn again.
            if inst.writes().any(|reg| matches!(reg.span.class(), RegClass::Uniform | RegClass::UPred)) {
                effects |= Effects::CROSS_LANE;
            }
            for reg in inst.writes() {
                let overlaps = |op: &Operand| op.span().is_some_and(|s| s.overlaps(reg.span));
                if self.defs.iter().any(overlaps) {
                    effects |= Effects::OPAQUE; // two results in one register: which one wins is not known
                } else {
                    self.defs.push(Operand::Reg(reg.span));
                }
            }
            let plain = inst.reads().filter(|reg| reg.address.is_none());
            self.uses.extend(plain.map(|reg| Operand::Reg(reg.span)));
            for access in inst.accesses() {
                let mem = Operand::Mem(self.function.add_mem(access.mem));
                let side = if access.is_write { &mut self.defs } else { &mut self.uses };
                side.push(mem);
            }
            effects |= self.labels(inst, is_last)?;
        }
        let leaves = effects.intersects(Effects::TERMINATOR) && inst.leaves();
        if is_last && !leaves {
            // Control would run off the end: the IR has no such place.
            effects = effects.difference(Effects::BRANCH) | Effects::EXIT | Effects::OPAQUE;
        }
        Ok(effects)
    }

    /// Adds the labels of the instruction; a target that is not in the code makes it opaque.
    fn labels(&mut self, inst: &Decoded, is_last: bool) -> Result<Effects, LiftError> {
        let next = self.block(inst.pc() + INSTRUCTION_BYTES);
        let mut extra = Effects::empty();
        match inst.flow() {
            Flow::Next | Flow::CallElsewhere | Flow::Return | Flow::Exit => {}
            Flow::Call { target } => {
                self.uses.extend(self.block(target).map(Operand::Label));
            }
            Flow::Reconverge { target } => {
                self.uses.extend(self.block(target).map(Operand::Label));
                if inst.is_collective() {
                    // Threads outside the collective go on at the target.
                    extra |= Effects::BRANCH;
                    self.uses.extend(next.map(Operand::Label));
                }
            }
            Flow::Branch { target } => match self.block(target) {
                Some(block) => {
                    self.uses.push(Operand::Label(block));
                    if inst.has_condition() && !is_last {
                        self.uses.extend(next.map(Operand::Label));
                    }
                }
                None => extra |= self.anywhere(inst)?,
            },
            Flow::IndirectBranch => match self.indirect(inst.pc()) {
                Some(targets) if targets.iter().all(|&t| self.block(t).is_some()) => {
                    let blocks: BTreeSet<_> = targets.iter().filter_map(|&t| self.block(t)).collect();
                    self.uses.extend(blocks.into_iter().map(Operand::Label));
                    if targets.is_empty() {
                        extra |= self.anywhere(inst)?;
                    }
                }
                _ => extra |= self.anywhere(inst)?,
            },
        }
        Ok(extra)
    }

    /// A branch to an unknown place: opaque, and to every block.
    fn anywhere(&mut self, inst: &Decoded) -> Result<Effects, LiftError> {
        let blocks = self.function.block_count();
        if blocks + self.uses.len() > usize::from(u16::MAX) {
            return Err(LiftError::TooManyBlocks {
                name: self.code.name.to_owned(),
                address: inst.pc(),
                blocks,
            });
        }
        self.unknown_ways += blocks;
        if self.unknown_ways > MOST_UNKNOWN_WAYS {
            return Err(LiftError::TooManyWays {
                name: self.code.name.to_owned(),
                address: inst.pc(),
                blocks,
            });
        }
        self.uses.extend(self.function.blocks().map(Operand::Label));
        Ok(Effects::OPAQUE)
    }
}
