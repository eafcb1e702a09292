//! The control field of an instruction, and what waiting instructions say in fields of their own.

use sassafras_control::{Control, Family, Field, Violation, volta};
use sassafras_ir::{Function, Inst, Lane, Payload, RegClass};

/// What the checker needs of a control field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    pub stall: u8,
    pub wait: u8,
    pub write: Option<u8>,
    pub read: Option<u8>,
    /// Not guarded by the constant false.
    pub runs: bool,
    /// Another warp may go first.
    pub yields: bool,
    /// The sources that stay at hand, by place.
    pub reuse: u8,
    /// What the word has in the places of source registers.
    pub sources: Option<[u8; 3]>,
    /// Why the fields together mean nothing on sm_70 and later.
    pub violation: Option<Violation>,
}

impl Fields {
    /// An instruction without a word has no control field and counts as stall 1.
    pub fn of(f: &Function, inst: Inst) -> Fields {
        let Payload::Word(word) = f.inst(inst).payload else {
            return Fields {
                stall: 1,
                wait: 0,
                write: None,
                read: None,
                runs: true,
                yields: false,
                reuse: 0,
                sources: None,
                violation: None,
            };
        };
        let raw = volta::read(word);
        let board = |field| Some(raw.get(field)).filter(|&b| b < 6);
        Fields {
            stall: raw.get(Field::Stall),
            wait: raw.get(Field::Wait),
            write: board(Field::Write),
            read: board(Field::Read),
            runs: word >> 12 & 15 != 15,
            yields: raw.get(Field::Yield) == 0,
            reuse: raw.get(Field::Reuse),
            sources: Some([24, 32, 64].map(|low| (word >> low) as u8)),
            violation: Control::try_new(raw, Family::Volta).err(),
        }
    }
}

impl Fields {
    /// Whether a general register stays at hand for the next instruction.
    pub fn keeps(&self, lane: Lane) -> bool {
        let kept = |place: usize| self.reuse >> place & 1 == 1;
        let Some([first, second, third]) = self.sources else { return false };
        let is = |at: u8| u32::from(at) == lane.index();
        // The second of two operands stands in the second field, and may be kept in the third place.
        lane.class() == RegClass::Gpr
            && (kept(0) && is(first) || kept(1) && is(second) || kept(2) && (is(third) || is(second)))
    }
}

/// Waits until at most `count` of the instructions that set `board` are under way, and for all of `drained`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Depbar {
    pub board: u8,
    pub count: u8,
    pub drained: u8,
}

impl Depbar {
    /// The fields of a `DEPBAR`.
    pub fn of(f: &Function, inst: Inst) -> Option<Depbar> {
        let Payload::Word(word) = f.inst(inst).payload else { return None };
        Some(Depbar {
            board: (word >> 44 & 7) as u8,
            count: (word >> 38 & 63) as u8,
            drained: (word >> 32 & 63) as u8,
        })
    }
}

/// Whether a `BAR` holds the warp until the barrier opens. One that only arrives does not.
pub(super) fn bar_blocks(f: &Function, inst: Inst) -> bool {
    matches!(f.inst(inst).payload, Payload::Word(word) if word >> 77 & 7 != 1)
}

/// How many groups of warpgroup matrix instructions a `WARPGROUP` leaves under way; none for one that does not wait.
pub(super) fn warpgroup_wait(f: &Function, inst: Inst) -> Option<u8> {
    match f.inst(inst).payload {
        Payload::Word(word) if word >> 80 & 1 == 1 => Some((word >> 72) as u8),
        _ => None,
    }
}

/// Whether a warpgroup matrix instruction ends a group.
pub(super) fn ends_group(f: &Function, inst: Inst) -> bool {
    matches!(f.inst(inst).payload, Payload::Word(word) if word >> 84 & 7 == 0)
}
