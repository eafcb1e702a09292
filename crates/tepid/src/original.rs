//! What the control fields that code came with say beyond register hazards.
//!
//! Most scoreboards guard registers, and those are found again from the instructions alone. Four things are not:
//!
//! * a fence or a bulk copy sets a scoreboard that guards no register. Whoever waited for it must wait again: the pair
//!   becomes a *token*, written by one and read by the other, and nothing moves across either;
//! * `DEPBAR` names a scoreboard and a count in its own word. Scoreboards that it names are *pinned*: who set one sets it
//!   again, in the same order, and nobody else does;
//! * `WARPSYNC` names the place behind it: it stays there;
//! * some results are announced by the read scoreboard (predicates of generic atomics).

use crate::code::{Code, LANES, Special, index};
use crate::spacing;
use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;
use sassafras_control::{Field, RawControl, volta};
use sassafras_ir::cfg::Cfg;
use sassafras_ir::{Effects, Function, Inst, Operand, Payload};
use sassafras_machine::mined::{File, Use};
use smallvec::SmallVec;

/// A control field by its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// Cycles until the next instruction of the warp.
    pub stall: u8,
    /// Another warp may go first.
    pub yields: bool,
    /// The scoreboard that says when the result is there.
    pub write: Option<u8>,
    /// The scoreboard that says when the sources have been read.
    pub read: Option<u8>,
    /// The scoreboards that it waits for.
    pub wait: u8,
    /// The sources that stay at hand.
    pub reuse: u8,
}

const NONE: u8 = 7;

impl Fields {
    /// The fields of a word.
    pub fn of(word: u128) -> Fields {
        let raw = volta::read(word);
        let board = |field| Some(raw.get(field)).filter(|&b| b < 6);
        Fields {
            stall: raw.get(Field::Stall),
            yields: raw.get(Field::Yield) == 0,
            write: board(Field::Write),
            read: board(Field::Read),
            wait: raw.get(Field::Wait),
            reuse: raw.get(Field::Reuse),
        }
    }

    /// The word with these fields.
    pub fn insert(self, word: u128) -> u128 {
        let values = [
            self.stall,
            u8::from(!self.yields),
            self.write.unwrap_or(NONE),
            self.read.unwrap_or(NONE),
            self.wait,
            self.reuse,
        ];
        // Every field is masked to its width, so that this cannot fail.
        let raw = RawControl::from_fields(values).unwrap_or_default();
        volta::insert(word, raw)
    }
}

/// A `DEPBAR`: waits until at most `count` of those that set `board` are under way, and for all of `drained`.
#[derive(Clone, Copy, Debug)]
pub struct Depbar {
    /// The scoreboard that is counted.
    pub board: u8,
    /// How many may be under way.
    pub count: u8,
    /// Scoreboards that are waited for entirely.
    pub drained: u8,
}

impl Depbar {
    /// The fields of a `DEPBAR`'s word.
    pub fn of(word: u128) -> Depbar {
        Depbar {
            board: (word >> 44 & 7) as u8,
            count: (word >> 38 & 63) as u8,
            drained: (word >> 32 & 63) as u8,
        }
    }
}

/// What the old fields say.
pub struct Original {
    /// By instruction.
    pub fields: Vec<Fields>,
    /// Scoreboards that a `DEPBAR` names, as a mask.
    pub pinned: u8,
    /// Instructions that set a scoreboard for no register, each with its token.
    pub tokens: FxHashMap<Inst, u16>,
    /// The tokens that an instruction waits for.
    pub waits: FxHashMap<Inst, SmallVec<[u16; 2]>>,
    held: Vec<(Inst, Effects)>,
    /// Fences whose stall is 0.
    drains: FixedBitSet,
    /// Instructions that keep their distances, whatever is known of them.
    still: FixedBitSet,
}

impl Original {
    /// Reads the fields of a function's words.
    pub fn new(code: &Code<'_>) -> Original {
        let f = code.f;
        let mut fields = vec![Fields::of(0); f.inst_count()];
        let mut pinned = 0;
        let mut setters = Vec::new();
        let mut drains = FixedBitSet::with_capacity(f.inst_count());
        for &inst in f.blocks().flat_map(|block| f.block_insts(block)) {
            let Payload::Word(word) = f.inst(inst).payload else { continue };
            let old = Fields::of(word);
            fields[index(inst)] = old;
            if old.stall == 0 && f.inst(inst).effects.contains(Effects::BARRIER) {
                drains.insert(index(inst));
            }
            if code.op(inst).special == Special::Depbar {
                let depbar = Depbar::of(word);
                pinned |= depbar.drained | 1 << depbar.board;
            }
            if guards_nothing(code, inst, &old) {
                setters.push(inst);
            }
        }
        let mut original = Original {
            fields,
            pinned: pinned & 0x3f,
            tokens: FxHashMap::default(),
            waits: FxHashMap::default(),
            held: Vec::new(),
            drains,
            still: FixedBitSet::with_capacity(f.inst_count()),
        };
        if !setters.is_empty() {
            original.follow(code, &setters);
        }
        original.find_held(code);
        original
    }

    /// Whether an instruction waits until the pipes have drained, as fences do; what runs for ever behind the end does nothing.
    pub fn drains(&self, inst: Inst) -> bool {
        self.drains.contains(index(inst))
    }

    /// From now on an instruction keeps its distance from those around it, whatever is known of their kind.
    pub fn keep_still(&mut self, inst: Inst) {
        self.still.insert(index(inst));
    }

    /// Whether an instruction keeps its distances.
    pub fn is_still(&self, inst: Inst) -> bool {
        self.still.contains(index(inst))
    }

    /// Whether an instruction's results are announced by its read scoreboard: those of a generic atomic that has only a
    /// predicate to give.
    pub fn announces_by_read(&self, code: &Code<'_>, inst: Inst) -> bool {
        let old = &self.fields[index(inst)];
        code.op(inst).special == Special::GenericAtomic && old.write.is_none() && old.read.is_some()
    }

    /// Keeps the orders that registers do not show: gives the instructions concerned effects that hold them in place.
    pub fn hold(&self, f: &mut Function) {
        for &(inst, effects) in &self.held {
            f.add_effects(inst, effects);
        }
    }

    fn find_held(&mut self, code: &Code<'_>) {
        for &inst in code.f.blocks().flat_map(|block| code.f.block_insts(block)) {
            let special = code.op(inst).special;
            let old = self.fields[index(inst)];
            let boards =
                [old.write, old.read].into_iter().flatten().fold(0u8, |mask, board| mask | 1 << board);
            let is_token = self.tokens.contains_key(&inst) || self.waits.contains_key(&inst);
            if special == Special::Warpgroup
                || ends_in_place(code.f, inst)
                || is_token && boards & self.pinned == 0 && special != Special::Depbar
            {
                self.held.push((inst, Effects::OPAQUE));
            } else if boards & self.pinned != 0 || special == Special::Depbar {
                self.held.push((inst, Effects::ORDERED | Effects::BARRIER));
            }
        }
        let rare = spacing::rare(code, self);
        self.held.extend(rare.ones().map(|inst| (Inst::from_u32(inst as u32), Effects::ORDERED)));
    }

    /// Finds who waited for each setter, along all paths.
    fn follow(&mut self, code: &Code<'_>, setters: &[Inst]) {
        let f = code.f;
        for (token, &inst) in setters.iter().enumerate() {
            self.tokens.insert(inst, LANES + token as u16);
        }
        let boards: Vec<u8> = setters
            .iter()
            .map(|&inst| {
                let old = self.fields[index(inst)];
                [old.write, old.read].into_iter().flatten().fold(0, |mask, board| mask | 1 << board)
            })
            .collect();
        let cfg = Cfg::new(f);
        let mut entry = vec![FixedBitSet::with_capacity(setters.len()); f.block_count()];
        let mut queue: Vec<_> = cfg.reverse_post_order().to_vec();
        queue.extend(f.blocks().filter(|&block| !cfg.is_reachable(block)));
        queue.reverse();
        while let Some(block) = queue.pop() {
            let mut live = entry[block.as_u32() as usize].clone();
            for &inst in f.block_insts(block) {
                let wait = self.fields[index(inst)].wait;
                let (mut counted, mut drained) = (0, wait);
                if let (Special::Depbar, Payload::Word(word)) = (code.op(inst).special, f.inst(inst).payload)
                {
                    let depbar = Depbar::of(word);
                    drained |= depbar.drained;
                    counted = 1 << depbar.board;
                }
                if drained | counted != 0 && !live.is_clear() {
                    let met: Vec<usize> =
                        live.ones().filter(|&token| boards[token] & (drained | counted) != 0).collect();
                    for token in met {
                        let waits = self.waits.entry(inst).or_default();
                        let lane = LANES + token as u16;
                        if !waits.contains(&lane) {
                            waits.push(lane);
                        }
                        live.set(token, boards[token] & drained == 0);
                    }
                }
                if f.inst(inst).effects.contains(Effects::CALL) {
                    live.clear();
                }
                if let Some(&lane) = self.tokens.get(&inst) {
                    live.insert(usize::from(lane - LANES));
                }
            }
            for &succ in cfg.succs(block) {
                let slot = &mut entry[succ.as_u32() as usize];
                if !live.is_subset(slot) {
                    slot.union_with(&live);
                    queue.push(succ);
                }
            }
        }
    }
}

/// Whether an instruction names the place behind it as the one where threads meet, and so cannot move.
fn ends_in_place(f: &Function, inst: Inst) -> bool {
    let label = |op: &Operand| matches!(op, Operand::Label(_));
    f.inst(inst).effects.contains(Effects::CONVERGENCE)
        && f.defs(inst).is_empty()
        && f.uses(inst).iter().any(label)
}

/// Whether an instruction set a scoreboard although it writes no register that one could guard, or reads none.
fn guards_nothing(code: &Code<'_>, inst: Inst, old: &Fields) -> bool {
    let writes = code.writes(inst).iter().any(|touch| touch.file != File::Barrier);
    let reads = code
        .reads(inst)
        .iter()
        .any(|touch| touch.file == File::General && matches!(touch.used_as, Use::Operand | Use::Address));
    old.write.is_some() && !writes || old.read.is_some() && !reads && !writes
}
