//! Random renames and orders of compiled blocks, made and judged in the plainest way there is.
//!
//! [`Kernel::rename`] and [`Kernel::shuffle`] only make what is legal, by looking at every pair of instructions.
//! [`Kernel::run`] runs a block on numbers: whatever passes for legal has to give the same ones.

use std::collections::{HashMap, HashSet};

use sassafras_ir::cfg::Cfg;
use sassafras_ir::liveness::Liveness;
use sassafras_ir::{Block, Effects, Function, Lane, Operand, RegClass, Span};
use sassafras_machine::Arch;
use sassafras_sass::program::{Relative, Routine};
use sassafras_sass::rename::{Field, Fields, Renamer, alignment};
use sassafras_sass::{Decoder, Flow};
use sassafras_testkit::rng::Rng;

/// One routine whose words are being changed.
pub struct Kernel {
    renamer: Renamer,
    decoder: Decoder,
    relative: Relative,
    function: Function,
    live: Liveness,
    /// Lanes that are live wherever diverged threads may meet; `None`: every lane may be looked at from elsewhere.
    meeting: Option<HashSet<Lane>>,
    /// How many general registers code can name.
    registers: u32,
    /// The words of the whole routine.
    pub words: Vec<u128>,
}

/// Registers of a kernel's count that its code cannot name.
const WITHHELD: u32 = 2;

/// Effects that let other code look at registers, and those that threads meet at.
const ELSEWHERE: Effects = Effects::CALL.union(Effects::OPAQUE).union(Effects::RET);
const LOOKED_AT: Effects = ELSEWHERE.union(Effects::CONVERGENCE);

impl Kernel {
    pub fn new(arch: Arch, routine: &Routine, registers: u32, words: Vec<u128>) -> Kernel {
        let function = routine.lifted.function.clone();
        let live = Liveness::new(&function, &Cfg::new(&function)).expect("small");
        let insts = || function.blocks().flat_map(|block| function.block_insts(block));
        let closed = !insts().any(|&inst| function.inst(inst).effects.intersects(ELSEWHERE));
        let labels = insts().flat_map(|&inst| function.uses(inst)).filter_map(|operand| match operand {
            Operand::Label(block) => Some(*block),
            _ => None,
        });
        let meeting = closed.then(|| labels.flat_map(|block| live.live_in(block)).collect());
        let (renamer, decoder, relative) = (Renamer::new(arch), Decoder::new(arch), Relative::new(arch));
        let registers = registers.saturating_sub(WITHHELD);
        Kernel { renamer, decoder, relative, function, live, meeting, registers, words }
    }

    pub fn blocks(&self) -> impl Iterator<Item = Block> + use<> {
        self.function.blocks()
    }

    /// Where the instructions of a block stand.
    pub fn range(&self, block: Block) -> std::ops::Range<usize> {
        let insts = self.function.block_insts(block);
        let first = insts.first().map_or(0, |inst| inst.as_u32() as usize);
        first..first + insts.len()
    }

    pub fn fields(&self, at: usize) -> Fields {
        self.renamer.fields(self.words[at]).unwrap_or_default()
    }

    fn live_out(&self, block: Block, span: Span) -> bool {
        let Some(meeting) = &self.meeting else { return true };
        self.live.live_out(block).chain(meeting.iter().copied()).any(|lane| span.overlaps(lane.into()))
    }

    fn effects(&self, at: usize) -> Effects {
        self.decoder.decode(self.words[at], 0).effects()
    }

    /// A number for a field, aligned.
    pub fn number(&self, rng: &mut Rng, field: &Field) -> u32 {
        let (lanes, align) = (u32::from(field.span.len()), alignment(field.span.len()));
        let count = match field.span.class() {
            RegClass::Gpr => self.registers,
            RegClass::Uniform => 63,
            _ => 7,
        };
        rng.below(((count.max(lanes) - lanes) / align + 1) as usize) as u32 * align
    }

    /// Gives a random definition and all its uses another register, if a random one is free. Says whether.
    pub fn rename(&mut self, rng: &mut Rng, block: Block) -> bool {
        let range = self.range(block);
        if range.is_empty() {
            return false;
        }
        let at = range.start + rng.below(range.len());
        self.rename_at(rng, block, at).is_some()
    }

    fn rename_at(&mut self, rng: &mut Rng, block: Block, at: usize) -> Option<()> {
        let range = self.range(block);
        let fields: Vec<Fields> = range.clone().map(|at| self.fields(at)).collect();
        let fields = |at: usize| &fields[at - range.start];
        if (at..range.end).any(|at| self.effects(at).intersects(LOOKED_AT)) || is_guarded(fields(at)) {
            return None;
        }
        let results: Vec<&Field> = fields(at).named.iter().filter(|field| is_result(field)).collect();
        let old = results.get(rng.below(results.len().max(1)))?.span;
        // Up to the instruction that overwrites it, or to the end.
        let over = (at + 1..range.end).find(|&at| writes(fields(at), old));
        let last = over.unwrap_or(range.end - 1);
        match over {
            Some(at) if is_guarded(fields(at)) || !covers(fields(at), old) => return None,
            None if self.live_out(block, old) => return None,
            _ => {}
        }
        let inside = |field: &Field| field.span.lanes().all(|lane| old.overlaps(lane.into()));
        for at in at + 1..=last {
            let mut reads = fields(at).named.iter().filter(|field| field.is_read());
            if reads.any(|field| field.span.overlaps(old) && (field.is_written() || !inside(field)))
                || fields(at).fixed.iter().any(|&lane| old.overlaps(lane.into()))
            {
                return None;
            }
        }
        let number = self.number(rng, results.iter().find(|field| field.span == old)?);
        let new = Span::new(Lane::physical(old.class(), number)?, old.len())?;
        let free = new.lanes().all(|lane| {
            let untouched = (at..=last).all(|at| !touches(fields(at), lane));
            let next = (last + 1..range.end).find(|&at| touches(fields(at), lane));
            let dead = match next {
                Some(at) => overwrites(fields(at), lane),
                None => !self.live_out(block, lane.into()),
            };
            untouched && dead
        });
        if !free || new.overlaps(old) {
            return None;
        }
        let moved = |field: &Field| Some(number + field.span.first().index() - old.first().index());
        self.words[at] = self
            .renamer
            .rename(self.words[at], |field| (field.is_written() && field.span == old).then_some(number))
            .ok()?;
        for at in at + 1..=last {
            let use_of = |field: &Field| field.is_read() && field.span.overlaps(old);
            let word =
                self.renamer.rename(self.words[at], |field| use_of(field).then(|| moved(field)).flatten());
            self.words[at] = word.expect("another register of the same kind");
        }
        Some(())
    }

    /// Puts the instructions of a block into a random legal order; those with effects stay where they are.
    pub fn shuffle(&mut self, rng: &mut Rng, block: Block) -> Vec<usize> {
        let range = self.range(block);
        let pinned = |at: usize| {
            let inst = self.decoder.decode(self.words[at], 0);
            !inst.effects().is_empty() || inst.flow() != Flow::Next || self.relative.mask(self.words[at]) != 0
        };
        let mut order = Vec::new();
        let mut waiting: Vec<usize> = Vec::new();
        for at in range.clone() {
            if pinned(at) {
                self.drain(rng, &mut waiting, &mut order);
                order.push(at);
            } else {
                waiting.push(at);
            }
        }
        self.drain(rng, &mut waiting, &mut order);
        let words: Vec<u128> = order.iter().map(|&at| self.words[at]).collect();
        self.words[range].copy_from_slice(&words);
        order
    }

    fn drain(&self, rng: &mut Rng, waiting: &mut Vec<usize>, order: &mut Vec<usize>) {
        while !waiting.is_empty() {
            let ready: Vec<usize> = (0..waiting.len())
                .filter(|&i| waiting[..i].iter().all(|&before| !self.conflict(before, waiting[i])))
                .take(6)
                .collect();
            order.push(waiting.remove(*rng.pick(&ready)));
        }
    }

    fn conflict(&self, first: usize, second: usize) -> bool {
        let (a, b) = (self.fields(first), self.fields(second));
        let access = |at: usize| {
            let inst = self.decoder.decode(self.words[at], 0);
            (inst.accesses().count() > 0, inst.accesses().any(|access| access.is_write))
        };
        let ((a_touches, a_writes), (b_touches, b_writes)) = (access(first), access(second));
        let hits = |a: &Fields, b: &Fields| {
            a.named
                .iter()
                .filter(|field| field.is_written())
                .any(|field| field.span.lanes().any(|l| touches(b, l)))
                || self.masks(a, b)
        };
        a_touches && b_writes || a_writes && b_touches || hits(&a, &b) || hits(&b, &a)
    }

    /// Whether `b` touches what `a` touches without a field.
    fn masks(&self, a: &Fields, b: &Fields) -> bool {
        a.fixed.iter().any(|&lane| touches(b, lane))
    }

    /// What a block leaves in the registers that are live behind it and in memory, on random values.
    pub fn run(&self, block: Block, seed: u64) -> (Vec<u64>, u64) {
        let mut lanes: HashMap<Lane, u64> = HashMap::new();
        let mut memory = seed;
        let start = |lane: Lane| hash(seed, lane.bits().into());
        for at in self.range(block) {
            let (inst, fields) = (self.decoder.decode(self.words[at], 0), self.fields(at));
            let value = |lane: Lane| lanes.get(&lane).copied().unwrap_or(start(lane));
            if inst.guard().is_some_and(|guard| (value(guard.lane) & 1 == 1) == guard.negated) {
                continue;
            }
            let operands = fields.named.iter().fold(0, |mask, field| mask | field.mask());
            let rest = self.words[at] & !operands & ((1 << 105) - 1);
            let mut result = hash(rest as u64, (rest >> 64) as u64);
            for lane in inst.reads().flat_map(|reg| reg.span.lanes()) {
                let value = value(lane);
                result = hash(result, if lane.class().can_guard() { value & 1 } else { value });
            }
            if inst.accesses().count() > 0 || !inst.effects().is_empty() {
                result = hash(result, memory);
            }
            if inst.accesses().any(|access| access.is_write) || !inst.effects().is_empty() {
                memory = result;
            }
            for (part, lane) in (0..).zip(inst.writes().flat_map(|reg| reg.span.lanes())) {
                lanes.insert(lane, hash(result, part));
            }
        }
        let mut out: Vec<Lane> = self.live.live_out(block).collect();
        out.sort_unstable();
        (out.into_iter().map(|lane| lanes.get(&lane).copied().unwrap_or(start(lane))).collect(), memory)
    }
}

fn hash(a: u64, b: u64) -> u64 {
    Rng::new(Rng::new(a).next_u64() ^ b).next_u64()
}

fn is_guarded(fields: &Fields) -> bool {
    fields.named.iter().any(|field| field.role == sassafras_sass::rename::FieldRole::Guard)
}

fn is_result(field: &Field) -> bool {
    field.is_written() && !field.is_read() && matches!(field.span.class(), RegClass::Gpr | RegClass::Pred)
}

fn writes(fields: &Fields, span: Span) -> bool {
    fields.named.iter().any(|field| field.is_written() && field.span.overlaps(span))
}

fn covers(fields: &Fields, span: Span) -> bool {
    let whole = |field: &Field| span.lanes().all(|lane| field.span.overlaps(lane.into()));
    fields.named.iter().any(|field| field.is_written() && whole(field))
}

fn touches(fields: &Fields, lane: Lane) -> bool {
    fields.fixed.contains(&lane) || fields.named.iter().any(|field| field.span.overlaps(lane.into()))
}

fn overwrites(fields: &Fields, lane: Lane) -> bool {
    let read = |field: &Field| field.is_read() && field.span.overlaps(lane.into());
    !is_guarded(fields)
        && !fields.fixed.contains(&lane)
        && !fields.named.iter().any(read)
        && writes(fields, lane.into())
}
