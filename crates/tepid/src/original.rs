//! What the control fields that code came with say beyond register hazards.
//!
//! Most scoreboards guard registers, and those are found again from the instructions alone. Six things are not:
//!
//! * a fence or a bulk copy sets a scoreboard that guards no register. Whoever waited for it must wait again: the pair
//!   becomes a *token*, written by one and read by the other, and nothing moves across either;
//! * an acquire is a load or an atomic, and a fence or a `NOP` behind it that waits for its result without reading it: nothing behind may
//!   be issued before it is there. Whoever ordered memory and waited for a read of memory waits for it again, by a token, too;
//! * `DEPBAR` names a scoreboard and a count in its own word. Scoreboards that it names are *pinned*: who set one sets it
//!   again, in the same order, and nobody else does;
//! * `WARPSYNC` names the place behind it: it stays there;
//! * a clock is read where it is read: what a kernel times stays between the two reads, and who reads one waits for what it waited for;
//! * some results are announced by the read scoreboard (predicates of generic atomics).

use crate::code::{Code, LANES, Special, index};
use crate::spacing;
use fixedbitset::FixedBitSet;
use rustc_hash::{FxHashMap, FxHashSet};
use sassafras_control::{Field, RawControl, volta};
use sassafras_ir::cfg::Cfg;
use sassafras_ir::{AccessFlags, Effects, Function, Inst, Operand, Payload};
use sassafras_machine::Category;
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

    /// The scoreboards that are set, as a mask.
    pub fn boards(self) -> u8 {
        [self.write, self.read].into_iter().flatten().fold(0, |mask, board| mask | 1 << board)
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
    /// Instructions that set a scoreboard that somebody waited for without reading a register, each with its token.
    pub tokens: FxHashMap<Inst, u16>,
    /// Those of them that read memory, and guard their results by that scoreboard. Their numbers come behind those of the others.
    acquired: FixedBitSet,
    /// How many others there are.
    fences: usize,
    /// The tokens that an instruction waits for.
    pub waits: FxHashMap<Inst, SmallVec<[u16; 2]>>,
    held: Vec<(Inst, Effects)>,
    /// Those of them that nothing moves across.
    holds_all: FixedBitSet,
    /// Fences whose stall is 0.
    drains: FixedBitSet,
    /// Instructions that keep their distances, whatever is known of them.
    still: FixedBitSet,
}

/// The fields of a function's words, by instruction, and nothing of what they mean.
pub fn fields(code: &Code<'_>) -> Vec<Fields> {
    let f = code.f;
    let mut fields = vec![Fields::of(0); f.inst_count()];
    for &inst in f.blocks().flat_map(|block| f.block_insts(block)) {
        if let Payload::Word(word) = f.inst(inst).payload {
            fields[index(inst)] = Fields::of(word);
        }
    }
    fields
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
            acquired: FixedBitSet::with_capacity(f.inst_count()),
            fences: setters.len(),
            waits: FxHashMap::default(),
            held: Vec::new(),
            holds_all: FixedBitSet::with_capacity(f.inst_count()),
            drains,
            still: FixedBitSet::with_capacity(f.inst_count()),
        };
        let setters = setters
            .into_iter()
            .map(|inst| Setter { inst, boards: original.boards(inst) })
            .collect::<Vec<_>>();
        if !setters.is_empty() {
            let waits = follow(code, &original.fields, &setters, |_| true);
            original.add_tokens(&setters, waits);
        }
        original.find_acquires(code);
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

    /// Whether nothing moves across an instruction, for what its fields said.
    pub fn holds_all(&self, inst: Inst) -> bool {
        self.holds_all.contains(index(inst))
    }

    fn find_held(&mut self, code: &Code<'_>) {
        for &inst in code.f.blocks().flat_map(|block| code.f.block_insts(block)) {
            let special = code.op(inst).special;
            let old = self.fields[index(inst)];
            let boards = old.boards();
            let is_token = self.is_fence(inst) || self.waits_for_fence(inst);
            if special == Special::Warpgroup
                || ends_in_place(code.f, inst)
                || reads_what_changes(code, inst)
                || is_token && boards & self.pinned == 0 && special != Special::Depbar
            {
                self.held.push((inst, Effects::OPAQUE));
                self.holds_all.insert(index(inst));
            } else if boards & self.pinned != 0 || special == Special::Depbar {
                self.held.push((inst, Effects::ORDERED | Effects::BARRIER));
            }
        }
        let rare = spacing::rare(code, self);
        self.held.extend(rare.ones().map(|inst| (Inst::from_u32(inst as u32), Effects::ORDERED)));
    }

    /// The scoreboards that an instruction set.
    fn boards(&self, inst: Inst) -> u8 {
        self.fields[index(inst)].boards()
    }

    /// Whether an instruction set a scoreboard that guards no register.
    pub fn is_fence(&self, inst: Inst) -> bool {
        self.tokens.contains_key(&inst) && !self.acquired.contains(index(inst))
    }

    fn waits_for_fence(&self, inst: Inst) -> bool {
        let waits = self.waits.get(&inst);
        waits.is_some_and(|waits| waits.iter().any(|&lane| usize::from(lane - LANES) < self.fences))
    }

    /// Gives tokens to those who were waited for, or guard nothing.
    fn add_tokens(&mut self, setters: &[Setter], waits: Vec<(Inst, u32)>) {
        let first = self.tokens.len();
        // More than there are numbers for share the last one: whoever waits for one of these waits for all.
        let token = |setter: usize| LANES + (first + setter).min(usize::from(u16::MAX - LANES)) as u16;
        for (number, setter) in setters.iter().enumerate() {
            self.tokens.insert(setter.inst, token(number));
        }
        for (inst, setter) in waits {
            self.waits.entry(inst).or_default().push(token(setter as usize));
        }
    }

    /// Finds who orders memory and waited for reads of it. Cost: a data flow over the reads of memory, where there is such a wait at all.
    fn find_acquires(&mut self, code: &Code<'_>) {
        let f = code.f;
        let orders = |inst: Inst| {
            let effects = f.inst(inst).effects;
            effects.intersects(Effects::BARRIER | Effects::CONVERGENCE)
                && !effects.intersects(Effects::TERMINATOR)
                && code.op(inst).special != Special::Depbar
        };
        let insts = || f.blocks().flat_map(|block| f.block_insts(block)).copied();
        if !insts().any(|inst| self.fields[index(inst)].wait != 0 && orders(inst)) {
            return;
        }
        let reads = |inst: Inst| {
            f.accesses(inst).any(|(access, written)| {
                !access.reads_constant_memory() && (!written || access.flags.contains(AccessFlags::ATOMIC))
            })
        };
        let candidates: Vec<Setter> = insts()
            .filter(|inst| reads(*inst) && !self.tokens.contains_key(inst))
            .filter_map(|inst| Some(Setter { inst, boards: 1 << self.fields[index(inst)].write? }))
            .collect();
        let waits = follow(code, &self.fields, &candidates, orders);
        let mut waited: Vec<u32> = waits.iter().map(|&(_, setter)| setter).collect();
        waited.sort_unstable();
        waited.dedup();
        let setters: Vec<Setter> = waited.iter().map(|&setter| candidates[setter as usize]).collect();
        let renumbered =
            |(inst, setter)| waited.binary_search(&setter).ok().map(|number| (inst, number as u32));
        self.add_tokens(&setters, waits.into_iter().filter_map(renumbered).collect());
        self.acquired.extend(setters.iter().map(|setter| index(setter.inst)));
    }
}

/// An instruction, and the scoreboards of it that are followed.
#[derive(Clone, Copy)]
struct Setter {
    inst: Inst,
    boards: u8,
}

/// Finds who waited for each setter, along all paths: pairs of who waited and the setter's number, once each. Only those count whom `counts` says.
fn follow(
    code: &Code<'_>,
    fields: &[Fields],
    setters: &[Setter],
    counts: impl Fn(Inst) -> bool,
) -> Vec<(Inst, u32)> {
    let f = code.f;
    let number: FxHashMap<Inst, usize> =
        setters.iter().enumerate().map(|(n, setter)| (setter.inst, n)).collect();
    let mut waits: FxHashSet<(Inst, u32)> = FxHashSet::default();
    let cfg = Cfg::new(f);
    let mut entry = vec![FixedBitSet::with_capacity(setters.len()); f.block_count()];
    let mut queue: Vec<_> = cfg.reverse_post_order().to_vec();
    queue.extend(f.blocks().filter(|&block| !cfg.is_reachable(block)));
    queue.reverse();
    while let Some(block) = queue.pop() {
        let mut live = entry[block.as_u32() as usize].clone();
        for &inst in f.block_insts(block) {
            let wait = fields[index(inst)].wait;
            let (mut counted, mut drained) = (0, wait);
            if let (Special::Depbar, Payload::Word(word)) = (code.op(inst).special, f.inst(inst).payload) {
                let depbar = Depbar::of(word);
                drained |= depbar.drained;
                counted = 1 << depbar.board;
            }
            if drained | counted != 0 && !live.is_clear() {
                let met: Vec<usize> =
                    live.ones().filter(|&n| setters[n].boards & (drained | counted) != 0).collect();
                for n in met {
                    if counts(inst) {
                        waits.insert((inst, n as u32));
                    }
                    live.set(n, setters[n].boards & drained == 0);
                }
            }
            if f.inst(inst).effects.contains(Effects::CALL) {
                live.clear();
            }
            if let Some(&n) = number.get(&inst) {
                live.insert(n);
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
    let mut waits: Vec<_> = waits.into_iter().collect();
    waits.sort_unstable();
    waits
}

/// Whether an instruction names the place behind it as the one where threads meet, and so cannot move.
fn ends_in_place(f: &Function, inst: Inst) -> bool {
    let label = |op: &Operand| matches!(op, Operand::Label(_));
    f.inst(inst).effects.contains(Effects::CONVERGENCE)
        && f.defs(inst).is_empty()
        && f.uses(inst).iter().any(label)
}

/// Whether an instruction reads a special register that changes while the thread runs: the tables have those order memory.
fn reads_what_changes(code: &Code<'_>, inst: Inst) -> bool {
    code.op(inst).category == Some(Category::SpecialRegister)
        && code.f.inst(inst).effects.contains(Effects::CONVERGENCE)
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
