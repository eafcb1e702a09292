//! From a 64-bit word to what the instruction reads, writes and does.
//!
//! Source: the tables of [`super::table`]; nothing here knows an opcode.

use sassafras_control::maxwell::GROUP_BYTES;
use sassafras_ir::{AccessFlags, Effects, Guard, Lane, MemAccess, RegClass, Span};
use sassafras_machine::Arch;
use smallvec::SmallVec;

use super::table::{Direction, Field, FlowKind, Kind, Lanes, MemKind, Modifier, Operand, Row, Tables, Width};
use crate::decode::Access;
use crate::table::Bits;

/// The size of an instruction.
const INSTRUCTION_BYTES: u64 = 8;
const GUARD_BIT: u32 = 16;
const GUARD_NOT: u32 = 19;
const TRUE: u64 = 7;
const RZ: u64 = 255;

/// Registers that an instruction names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    /// The registers.
    pub span: Span,
    /// Where their number sits in the word; `None` for the condition codes, members of a predicate mask and registers
    /// that follow another operand's.
    pub field: Option<Bits>,
    /// Whether they are the address of the memory access.
    pub is_address: bool,
    /// Whether they are read.
    pub is_read: bool,
    /// Whether they are written.
    pub is_written: bool,
}

/// The control-flow role of an instruction. Targets are byte addresses in the same section.
///
/// These chips keep a stack per warp: some instructions push an address, others pop one and go there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Goes on to the next instruction.
    Next,
    /// Jumps, under its guard or condition.
    Branch {
        /// Where to.
        target: u64,
    },
    /// Jumps to an address that is not in the word.
    IndirectBranch,
    /// Calls a function of the same section.
    Call {
        /// Its first instruction.
        target: u64,
    },
    /// Calls a function that a relocation or a constant names.
    CallElsewhere,
    /// Returns.
    Return,
    /// Ends the thread.
    Exit,
    /// Pushes an address for a later pop (`SSY`, `PBK`, `PCNT`, `PRET` …), and goes on.
    Push {
        /// The address.
        target: u64,
    },
    /// Pops an address and goes there (`SYNC`, `BRK`, `CONT` …).
    Pop,
}

/// A decoded instruction.
#[derive(Clone, Debug)]
pub struct Decoded {
    pub(super) row: Option<&'static Row>,
    word: u64,
    pc: u64,
    guard: Option<Guard>,
    registers: SmallVec<[Register; 8]>,
    complete: bool,
}

/// Decodes the word at byte address `pc`. A word of an architecture of another encoding is opaque.
pub fn decode(word: u64, arch: Arch, pc: u64) -> Decoded {
    let mut out = Decoded { row: None, word, pc, guard: None, registers: SmallVec::new(), complete: false };
    let index = arch.number().and_then(|sm| Tables::builtin().of(sm));
    let Some(row) = index.and_then(|index| index.row(word)) else {
        return out;
    };
    if collect(row, word, &mut out.registers).is_none() {
        out.registers.clear();
        return out;
    }
    if row.guarded {
        let lane = Lane::physical(RegClass::Pred, (word >> GUARD_BIT & TRUE) as u32);
        out.guard = lane.map(|lane| Guard { lane, negated: word >> GUARD_NOT & 1 == 1 });
    }
    let listed = |modifier: &Modifier| modifier.text(word, 0).is_some();
    out.complete = word & !row.accounted == 0
        && row.modifiers.iter().all(listed)
        && row.operands.iter().all(|operand| {
            operand.decoration.suffixes.iter().all(listed)
                && match &operand.kind {
                    Kind::Text { set, field } | Kind::Test { set, field } => {
                        set.text(field.get(word)).is_some()
                    }
                    _ => true,
                }
        });
    out.row = Some(row);
    out
}

/// Collects the registers; `None` when a width is not known or a span leaves its file.
fn collect(row: &Row, word: u64, out: &mut SmallVec<[Register; 8]>) -> Option<()> {
    let suffixes = row.operands.iter().flat_map(|operand| &operand.decoration.suffixes);
    for direction in row.modifiers.iter().chain(suffixes).filter_map(|modifier| modifier.flags(word)) {
        out.push(register(flags()?, None, direction));
    }
    for operand in &row.operands {
        push(operand, word, out)?;
    }
    Some(())
}

/// The condition codes as one span.
fn flags() -> Option<Span> {
    Span::new(Lane::physical(RegClass::Flag, 0)?, RegClass::Flag.physical_lanes() as u8)
}

fn register(span: Span, field: Option<Bits>, direction: Direction) -> Register {
    Register {
        span,
        field,
        is_address: false,
        is_read: direction != Direction::Write,
        is_written: direction != Direction::Read,
    }
}

fn push(operand: &Operand, word: u64, out: &mut SmallVec<[Register; 8]>) -> Option<()> {
    let direction = operand.direction;
    match &operand.kind {
        Kind::Gpr { field, lanes, plus } => {
            if let Some(span) = gpr(field, *plus, lanes, word)? {
                out.push(register(span, field.bits().filter(|_| *plus == 0), direction));
            }
        }
        Kind::Address { base, lanes, .. } => {
            if let Some(span) = gpr(base, 0, lanes, word)? {
                out.push(Register { is_address: true, ..register(span, base.bits(), direction) });
            }
        }
        Kind::IndexedConstant { base, .. } | Kind::JumpRegister { base, .. } => {
            if let Some(span) = gpr(base, 0, &Lanes::Fixed(1), word)? {
                let is_address = matches!(operand.kind, Kind::IndexedConstant { .. });
                out.push(Register { is_address, ..register(span, base.bits(), direction) });
            }
        }
        Kind::Predicate { field, .. } => {
            let index = operand.kind.value(word)?;
            if let Some(lane) = Lane::physical(RegClass::Pred, index as u32) {
                out.push(register(lane.into(), field.bits(), direction));
            }
        }
        Kind::Predicates { mask } => {
            let mask = mask.as_ref().map_or(u64::MAX, |field| field.get(word));
            for index in (0..RegClass::Pred.physical_lanes()).filter(|i| mask >> i & 1 == 1) {
                out.push(register(Lane::physical(RegClass::Pred, index)?.into(), None, direction));
            }
        }
        Kind::Test { field, .. } if super::table::depends(field.get(word)) => {
            out.push(register(flags()?, None, direction));
        }
        Kind::Flags => out.push(register(flags()?, None, direction)),
        _ => {}
    }
    Some(())
}

/// The registers that a field names: `Some(None)` for the constant register or no register at all, `None` when the
/// word does not fit the table.
fn gpr(field: &Field, plus: u8, lanes: &Lanes, word: u64) -> Option<Option<Span>> {
    let lanes = match lanes {
        Lanes::Fixed(lanes) => *lanes,
        Lanes::By(rule, field) => rule.get(field.get(word))?.lanes,
    };
    let value = field.get(word);
    if lanes == 0 || value == RZ && plus == 0 {
        return Some(None);
    }
    let first = Lane::physical(RegClass::Gpr, value as u32 + u32::from(plus))?;
    Span::new(first, lanes).map(Some)
}

impl Decoded {
    /// Whether the instruction is not known: nothing may move across it.
    pub fn is_opaque(&self) -> bool {
        self.row.is_none()
    }

    /// Whether every bit of the word is accounted for.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// The word it was decoded from.
    pub fn word(&self) -> u64 {
        self.word
    }

    /// The name without modifiers; `None` when opaque.
    pub fn mnemonic(&self) -> Option<&'static str> {
        self.row.map(|row| &*row.name)
    }

    /// The predicate that it runs under; `None` means always (or never, or opaque).
    pub fn guard(&self) -> Option<Guard> {
        self.guard
    }

    /// Whether it is guarded by the constant false: never executed.
    pub fn never_runs(&self) -> bool {
        self.row.is_some_and(|row| row.guarded) && self.guard.is_none() && self.word >> GUARD_NOT & 1 == 1
    }

    /// Every register operand, the guard not counted.
    pub fn registers(&self) -> &[Register] {
        &self.registers
    }

    /// The registers that are read, the guard not counted.
    pub fn reads(&self) -> impl Iterator<Item = &Register> {
        self.registers.iter().filter(|register| register.is_read)
    }

    /// The registers that are written.
    pub fn writes(&self) -> impl Iterator<Item = &Register> {
        self.registers.iter().filter(|register| register.is_written)
    }

    /// The memory access. Textures and surfaces have one of unknown width.
    pub fn access(&self) -> Option<Access> {
        let row = self.row?;
        let spec = row.memory.as_ref()?;
        let width = match &spec.width {
            Width::Unknown => None,
            Width::Bytes(bytes) => Some(*bytes),
            Width::By(rule, field) => rule.get(field.get(self.word)).and_then(|extent| extent.bytes),
        };
        let offset = row.operands.iter().find_map(|operand| match &operand.kind {
            Kind::Address { offset: Some(field), unit, .. } => {
                Some(field.get_signed(self.word) * i64::from(*unit))
            }
            Kind::IndexedConstant { offset, .. } => Some(offset.get_signed(self.word)),
            _ => None,
        });
        let flags = if spec.kind == MemKind::Atomic { AccessFlags::ATOMIC } else { AccessFlags::empty() };
        let base = self.registers.iter().find(|register| register.is_address).map(|register| register.span);
        let mem = MemAccess {
            space: spec.space,
            flags,
            width,
            base,
            index: None,
            offset: offset.unwrap_or_default(),
        };
        Some(Access { mem, is_write: spec.kind != MemKind::Load, is_read: spec.kind != MemKind::Store })
    }

    /// Whether it reads constant memory, as an operand or as a load.
    pub fn reads_constants(&self) -> bool {
        let is_constant =
            |operand: &Operand| matches!(operand.kind, Kind::Constant { .. } | Kind::IndexedConstant { .. });
        self.row.is_some_and(|row| row.operands.iter().any(is_constant))
    }

    /// The control-flow role.
    pub fn flow(&self) -> Flow {
        let Some((row, kind)) = self.row.and_then(|row| row.flow.map(|kind| (row, kind))) else {
            return Flow::Next;
        };
        let target = row.operands.iter().find_map(|operand| match &operand.kind {
            Kind::Target(field) => Some(self.target(field)),
            _ => None,
        });
        match (kind, target) {
            (FlowKind::Branch, Some(target)) => Flow::Branch { target },
            (FlowKind::Branch, None) => Flow::IndirectBranch,
            (FlowKind::Call, Some(target)) => Flow::Call { target },
            (FlowKind::Call, None) => Flow::CallElsewhere,
            (FlowKind::Push, Some(target)) => Flow::Push { target },
            (FlowKind::Push, None) | (FlowKind::Pop, _) => Flow::Pop,
            (FlowKind::Return, _) => Flow::Return,
            (FlowKind::Exit, _) => Flow::Exit,
        }
    }

    /// A relative target, counted from the next instruction.
    pub(super) fn raw_target(&self, field: &Field) -> u64 {
        self.pc.wrapping_add(INSTRUCTION_BYTES).wrapping_add_signed(field.get_signed(self.word))
    }

    /// The instruction that a target means: one that names a control word means the instruction behind it.
    fn target(&self, field: &Field) -> u64 {
        let target = self.raw_target(field);
        if target.is_multiple_of(GROUP_BYTES as u64) {
            target.wrapping_add(INSTRUCTION_BYTES)
        } else {
            target
        }
    }

    /// What it does besides reading and writing operands.
    pub fn effects(&self) -> Effects {
        let Some(row) = self.row else {
            return Effects::OPAQUE;
        };
        let flow = match self.flow() {
            Flow::Next => Effects::empty(),
            Flow::Branch { .. } | Flow::IndirectBranch => Effects::BRANCH,
            Flow::Pop => Effects::BRANCH | Effects::CONVERGENCE,
            Flow::Push { .. } => Effects::CONVERGENCE,
            Flow::Call { .. } | Flow::CallElsewhere => Effects::CALL,
            Flow::Return => Effects::RET,
            Flow::Exit => Effects::EXIT,
        };
        row.effects | flow
    }
}
