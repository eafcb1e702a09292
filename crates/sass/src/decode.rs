//! From a 128-bit word to what the instruction reads, writes and does.
//!
//! Source: the tables of [`crate::table`]. Nothing here knows an opcode: the interpreter looks up the row of bits
//! 0..12, reads the register fields that the row names and sizes them by the row's lane rules. A word without a row, with
//! an unlisted modifier value, or with a register span that leaves its file is *opaque*.

use sassafras_ir::{Effects, Guard, Lane, MemAccess, RegClass, Span};
use sassafras_machine::{Arch, Category};
use smallvec::SmallVec;

use crate::table::{Bits, Direction, FamilyTable, FlowKind, MemKind, Row, Slot, SlotClass, Tables, Width};

/// A register operand: the lanes, the field that names them, and what they are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegOperand {
    /// The registers.
    pub span: Span,
    /// Where their number sits in the word; `None` for members of a predicate mask.
    pub field: Option<Bits>,
    /// The memory access whose address they are part of.
    pub address: Option<u8>,
    /// Which reuse flag of the control field keeps it at hand for the next instruction.
    pub reuse: Option<u8>,
    read: bool,
    written: bool,
}

impl RegOperand {
    /// Whether the instruction reads it.
    pub const fn is_read(&self) -> bool {
        self.read
    }

    /// Whether the instruction writes it.
    pub const fn is_written(&self) -> bool {
        self.written
    }
}

/// The source registers of an instruction by reuse flag.
pub type Sources = [Option<Span>; 3];

/// A memory access and its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The access.
    pub mem: MemAccess,
    /// Whether memory is written.
    pub is_write: bool,
    /// Whether memory is read.
    pub is_read: bool,
}

/// The control-flow role of an instruction. Targets are byte addresses in the same section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Goes on to the next instruction.
    Next,
    /// Jumps, under its guard or condition.
    Branch {
        /// Where to.
        target: u64,
    },
    /// Jumps to a computed address.
    IndirectBranch,
    /// Calls a function of the same section.
    Call {
        /// Its first instruction.
        target: u64,
    },
    /// Calls a function that a relocation or a register names.
    CallElsewhere,
    /// Returns.
    Return,
    /// Ends the thread.
    Exit,
    /// Names the place where diverged threads meet again, and goes on.
    Reconverge {
        /// The meeting place.
        target: u64,
    },
}

/// A decoded instruction.
#[derive(Clone, Debug)]
pub struct Decoded {
    row: Option<&'static Row>,
    /// Opaque, with an opcode of a control-flow instruction.
    may_branch: bool,
    /// A call that nothing comes back from.
    jumps: bool,
    word: u128,
    pc: u64,
    guard: Option<Guard>,
    regs: SmallVec<[RegOperand; 8]>,
}

/// The decoder of one architecture.
#[derive(Clone, Copy, Debug)]
pub struct Decoder {
    table: Option<&'static FamilyTable>,
}

/// Decodes one word at byte address `pc`. For many words, make a [`Decoder`] once.
pub fn decode(word: u128, arch: Arch, pc: u64) -> Decoded {
    Decoder::new(arch).decode(word, pc)
}

const OPCODE_MASK: u128 = 0xfff;
/// The predicate that an instruction runs under, where its row says that it has one.
pub(crate) const GUARD: Bits = Bits::new(GUARD_BIT as u8, 3).expect("inside the word");
const GUARD_BIT: u32 = 12;
const GUARD_NOT: u32 = 15;
const TRUE: u64 = 7;
/// The size of an instruction.
pub(crate) const INSTRUCTION_BYTES: u64 = 16;
/// Branch offsets count four bytes.
const OFFSET_UNIT: i64 = 4;
/// Where the form of an arithmetic opcode sits; the form with registers alone, and that with a number for the second source.
const FORM_BIT: u32 = 9;
const REGISTERS: u16 = 1;
const IMMEDIATE: u16 = 4;
/// Where the second and the third source of the form with registers alone are named.
const SECOND_SOURCE: u8 = 32;
const THIRD_SOURCE: u8 = 64;
/// Set in a constant source when its bank address comes from a uniform register pair.
const BINDLESS: u32 = 91;

impl Decoder {
    /// The decoder for `arch`; for an architecture without a table every instruction is opaque.
    pub fn new(arch: Arch) -> Decoder {
        Decoder { table: arch.number().and_then(Tables::builtin) }
    }

    /// Whether there is a table at all.
    pub fn has_table(&self) -> bool {
        self.table.is_some()
    }

    /// Decodes one word at byte address `pc`.
    pub fn decode(&self, word: u128, pc: u64) -> Decoded {
        let regs = SmallVec::new();
        let mut out = Decoded { row: None, may_branch: false, jumps: false, word, pc, guard: None, regs };
        let Some(table) = self.table else {
            return out;
        };
        let opcode = (word & OPCODE_MASK) as usize;
        out.may_branch = table.is_control(opcode);
        let Some(row) = table.rows(opcode).iter().find(|row| row.when.iter().all(|c| c.holds(word))) else {
            return out;
        };
        out.guard = guard(row, word);
        for slot in &row.slots {
            if push(&mut out.regs, slot, word).is_none() {
                out.regs.clear();
                out.guard = None;
                return out;
            }
        }
        out.row = Some(row);
        out.may_branch = false;
        out
    }
}

fn guard(row: &Row, word: u128) -> Option<Guard> {
    let class = match row.guard? {
        SlotClass::UPred => RegClass::UPred,
        _ => RegClass::Pred,
    };
    let index = (word >> GUARD_BIT) as u32 & TRUE as u32;
    Lane::physical(class, index).map(|lane| Guard { lane, negated: word >> GUARD_NOT & 1 == 1 })
}

/// Adds the registers of a slot; `None` when the word does not fit the table.
#[inline]
fn push(regs: &mut SmallVec<[RegOperand; 8]>, slot: &Slot, word: u128) -> Option<()> {
    let lanes = slot.lanes.get(word)?;
    if lanes == 0 {
        return Some(());
    }
    let mut value = slot.bits.get(word);
    let (class, constant) = match slot.class {
        SlotClass::Gpr => (RegClass::Gpr, 255),
        SlotClass::Uniform => (RegClass::Uniform, (1 << slot.bits.len()) - 1),
        SlotClass::Pred => (RegClass::Pred, TRUE),
        SlotClass::UPred => (RegClass::UPred, TRUE),
        SlotClass::PredDown => {
            value = TRUE - value;
            (RegClass::Pred, TRUE)
        }
        SlotClass::UPredDown => {
            value = TRUE - value;
            (RegClass::UPred, TRUE)
        }
        SlotClass::Barrier => (RegClass::Barrier, u64::MAX),
        SlotClass::ConstBank => {
            if word >> BINDLESS & 1 == 0 {
                return Some(());
            }
            (RegClass::Uniform, (1 << slot.bits.len()) - 1)
        }
        SlotClass::PredMask => {
            return push_each(regs, slot, RegClass::Pred, value);
        }
        SlotClass::UPredMask => return push_each(regs, slot, RegClass::UPred, value),
        SlotClass::PredOthers => return push_each(regs, slot, RegClass::Pred, !value),
        SlotClass::UPredOthers => return push_each(regs, slot, RegClass::UPred, !value),
        SlotClass::AllPreds => return push_each(regs, slot, RegClass::Pred, u64::MAX),
        SlotClass::AllUPreds => return push_each(regs, slot, RegClass::UPred, u64::MAX),
    };
    if value == constant {
        return Some(());
    }
    let span = Span::new(Lane::physical(class, value as u32)?, lanes)?;
    regs.push(operand(span, slot, Some(slot.bits)));
    Some(())
}

/// Adds the predicates of a mask.
fn push_each(regs: &mut SmallVec<[RegOperand; 8]>, slot: &Slot, class: RegClass, mask: u64) -> Option<()> {
    for index in (0..TRUE as u32).filter(|i| mask >> i & 1 == 1) {
        regs.push(operand(Lane::physical(class, index)?.into(), slot, None));
    }
    Some(())
}

fn operand(span: Span, slot: &Slot, field: Option<Bits>) -> RegOperand {
    RegOperand {
        span,
        field,
        address: slot.address,
        reuse: slot.reuse.filter(|_| span.class() == RegClass::Gpr),
        read: slot.direction != Direction::Write,
        written: slot.direction != Direction::Read,
    }
}

impl Decoded {
    /// Whether the instruction is not (fully) known: nothing may move across it. [`Decoded::flow`] says whether it may
    /// be a branch.
    pub fn is_opaque(&self) -> bool {
        self.row.is_none()
    }

    /// The word it was decoded from.
    pub fn word(&self) -> u128 {
        self.word
    }

    /// Its byte address.
    pub fn pc(&self) -> u64 {
        self.pc
    }

    /// The opcode field, bits 0..12: for arithmetic, opcode 0..9 and form 9..12.
    pub fn opcode(&self) -> u16 {
        (self.word & OPCODE_MASK) as u16
    }

    fn form(&self) -> u16 {
        self.opcode() >> FORM_BIT
    }

    /// The name, with the modifiers that the table tells apart; `None` when opaque.
    pub fn mnemonic(&self) -> Option<&'static str> {
        self.row.map(|row| &*row.mnemonic)
    }

    /// The predicate that it runs under; `None` means always (or opaque).
    pub fn guard(&self) -> Option<Guard> {
        self.guard
    }

    /// Whether it is guarded by the constant false: never executed.
    pub fn never_runs(&self) -> bool {
        let pt = self.word >> GUARD_BIT & u128::from(TRUE) == u128::from(TRUE);
        self.row.is_some_and(|row| row.guard.is_some()) && pt && self.word >> GUARD_NOT & 1 == 1
    }

    /// Whether it is a `NOP` that runs under no condition.
    pub(crate) fn is_padding(&self) -> bool {
        self.mnemonic() == Some("NOP") && self.guard.is_none()
    }

    /// The condition of a control-flow instruction besides its guard: a predicate operand that is read.
    pub(crate) fn condition(&self) -> Option<Guard> {
        self.row?.flow.as_ref()?;
        self.reads().find(|reg| reg.span.class().can_guard()).map(|reg| Guard {
            lane: reg.span.first(),
            negated: reg.field.is_some_and(|f| self.word >> (f.lo() + f.len()) & 1 == 1),
        })
    }

    /// Whether a control-flow instruction may fall through although no guard says so: it has a condition, or goes
    /// on when the threads have not diverged.
    pub(crate) fn has_condition(&self) -> bool {
        let uniform = |reg: &RegOperand| reg.span.class() == RegClass::Uniform;
        let flow = self.row.and_then(|row| row.flow.as_ref());
        matches!(flow, Some(FlowKind::BranchIf(_)))
            || self.condition().is_some()
            || matches!(self.flow(), Flow::Branch { .. }) && self.reads().any(uniform)
    }

    /// Whether it opens a region that only some threads run through.
    pub(crate) fn is_collective(&self) -> bool {
        match self.flow() {
            Flow::Reconverge { target } => {
                self.writes().next().is_none() && target != self.pc.wrapping_add(INSTRUCTION_BYTES)
            }
            _ => false,
        }
    }

    /// Whether its result is its own address: it has to stand where it stands.
    pub(crate) fn is_pinned(&self) -> bool {
        matches!(self.row.and_then(|row| row.flow.as_ref()), Some(FlowKind::Here))
    }

    /// Whether control surely does not go on to the next instruction.
    pub(crate) fn leaves(&self) -> bool {
        self.effects().intersects(Effects::TERMINATOR)
            && !self.is_opaque()
            && self.guard().is_none()
            && !self.never_runs()
            && !self.has_condition()
    }

    /// Whether all that it writes is in its word: a number, or the address of a place that it names.
    pub(crate) fn names_a_place(&self) -> bool {
        let is_number = self.mnemonic() == Some("MOV") && self.form() == IMMEDIATE;
        is_number || matches!(self.flow(), Flow::Reconverge { .. })
    }

    /// The register that it copies to another one, if that is all it does: by `MOV`, or as a sum with a product of zeros.
    pub(crate) fn copied(&self) -> Option<Lane> {
        let place = match self.mnemonic()? {
            "MOV" if self.form() == REGISTERS => SECOND_SOURCE,
            "IMAD" if self.form() == REGISTERS => THIRD_SOURCE,
            _ => return None,
        };
        match &self.regs[..] {
            [to, from] if to.written && from.read => {
                let is_whole =
                    to.span.len() == 1 && from.span.len() == 1 && from.span.class() == RegClass::Gpr;
                (is_whole && from.field?.lo() == place).then(|| from.span.first())
            }
            _ => None,
        }
    }

    /// Takes a call inside its section for the branch that it is when nothing comes back.
    pub(crate) fn take_for_branch(&mut self) {
        self.jumps = true;
    }

    /// Every register operand, the guard not counted.
    pub fn registers(&self) -> &[RegOperand] {
        &self.regs
    }

    /// The operands that are read, the guard not counted.
    pub fn reads(&self) -> impl Iterator<Item = &RegOperand> {
        self.regs.iter().filter(|reg| reg.read)
    }

    /// The operands that are written.
    pub fn writes(&self) -> impl Iterator<Item = &RegOperand> {
        self.regs.iter().filter(|reg| reg.written)
    }

    /// The source registers that each of the three reuse flags of its control field is for.
    pub fn flagged_sources(&self) -> Sources {
        let mut sources = Sources::default();
        // Matrix instructions name no form; their sources sit where those of the first form do.
        let by_place = |reg: &RegOperand| match reg.field?.lo() {
            _ if self.category() != Some(Category::Tensor) => None,
            24 => Some(0),
            32 => Some(1),
            64 => Some(2),
            _ => None,
        };
        for reg in self.reads() {
            if let Some(flag) = reg.reuse.or_else(|| by_place(reg)) {
                sources[usize::from(flag)] = Some(reg.span);
            }
        }
        sources
    }

    /// The scheduling category; `None` when opaque.
    pub fn category(&self) -> Option<Category> {
        self.row.map(|row| row.category)
    }

    /// What it does besides reading and writing operands.
    pub fn effects(&self) -> Effects {
        let effects = self.row.map_or(Effects::OPAQUE, |row| row.effects);
        let flow = match self.flow() {
            Flow::Next | Flow::Reconverge { .. } => Effects::empty(),
            Flow::Branch { .. } | Flow::IndirectBranch => Effects::BRANCH,
            Flow::Call { .. } | Flow::CallElsewhere => Effects::CALL,
            Flow::Return => Effects::RET,
            Flow::Exit => Effects::EXIT,
        };
        effects | flow
    }

    /// The control-flow role. An opaque word among the control-flow opcodes may go anywhere.
    pub fn flow(&self) -> Flow {
        if self.may_branch {
            return Flow::IndirectBranch;
        }
        let Some(kind) = self.row.and_then(|row| row.flow.as_ref()) else {
            return Flow::Next;
        };
        match kind {
            FlowKind::Branch(offset) | FlowKind::BranchIf(offset) => {
                Flow::Branch { target: self.target(offset) }
            }
            FlowKind::Call(offset) if self.jumps => Flow::Branch { target: self.target(offset) },
            FlowKind::Call(offset) => Flow::Call { target: self.target(offset) },
            FlowKind::Reconverge(offset) => Flow::Reconverge { target: self.target(offset) },
            FlowKind::IndirectBranch => Flow::IndirectBranch,
            FlowKind::AbsoluteCall | FlowKind::IndirectCall => Flow::CallElsewhere,
            FlowKind::Return => Flow::Return,
            FlowKind::Exit => Flow::Exit,
            FlowKind::Here => Flow::Next,
        }
    }

    /// A relative target, counted from the next instruction; the last piece of the offset carries the sign.
    fn target(&self, pieces: &[Bits]) -> u64 {
        let (mut offset, mut shift) = (0i64, 0);
        for bits in pieces {
            offset &= (1 << shift) - 1;
            offset |= bits.get_signed(self.word).wrapping_shl(shift);
            shift += u32::from(bits.len());
        }
        self.pc.wrapping_add(INSTRUCTION_BYTES).wrapping_add_signed(offset.wrapping_mul(OFFSET_UNIT))
    }

    /// The memory accesses.
    pub fn accesses(&self) -> impl Iterator<Item = Access> {
        let specs = self.row.map_or(&[][..], |row| &row.mem);
        specs.iter().enumerate().map(|(i, spec)| {
            let mut address =
                self.regs.iter().filter(move |reg| reg.address == Some(i as u8)).map(|reg| reg.span);
            Access {
                mem: MemAccess {
                    space: spec.space,
                    flags: spec.flags(self.word),
                    width: match &spec.width {
                        Width::Unknown => None,
                        Width::Bytes(bytes) => Some(*bytes),
                        Width::By(rule) => rule.bytes(self.word),
                    },
                    base: address.next(),
                    index: address.next(),
                    offset: spec.offset.map_or(0, |bits| bits.get_signed(self.word)),
                },
                is_write: spec.kind != MemKind::Load,
                is_read: spec.kind != MemKind::Store,
            }
        })
    }
}
