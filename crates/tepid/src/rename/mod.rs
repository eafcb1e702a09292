//! Goal: values that live and die inside a block get the registers that an order wants, so that it need not keep them apart.
//!
//! After register allocation one register holds many values in turn, and each has to wait until the one before it was read. In a block
//! with *virtual* registers every value that is defined and read for the last time inside it has one of its own; for an order of that
//! registers are found again, as long as there are enough.
//!
//! Values that come into the block or leave it keep their registers, and so do those of instructions that name registers in no
//! field of their word. Nothing is renamed in blocks where other code may look at registers (calls, returns, convergence barriers), and no
//! register is used beyond those that the kernel has.
//!
//! Cost: finding values is linear, an allocation takes registers times values. Source: the tepid document (anti-dependences).

mod allocate;
mod alone;
mod anti;
mod parity;
mod values;

pub(crate) use alone::Alone;
pub use anti::{Breaker, Breaking, Broken, Half};

use crate::body::Body;
use crate::rename::allocate::Allocator;
use crate::rename::values::Values;
use rustc_hash::FxHashMap;
use sassafras_deps::Node;
use sassafras_ir::cfg::Cfg;
use sassafras_ir::liveness::Liveness;
use sassafras_ir::{Block, Effects, Function, Inst, Lane, Operand, RegClass, Span};
use sassafras_machine::Arch;

/// Effects that let other code look at registers.
const ELSEWHERE: Effects = Effects::CALL.union(Effects::OPAQUE).union(Effects::RET);
/// And those that threads meet at.
const LOOKED_AT: Effects = ELSEWHERE.union(Effects::CONVERGENCE);
/// Registers of a function that has no room: those up to the stack pointer.
const RESERVED: u32 = 2;
/// Instructions that change how many registers there are.
const CHANGES_COUNT: &str = "USETMAXREG";

/// Which registers of a function may hold other values, and where.
pub struct Room {
    live: Liveness,
    /// Lanes that are wanted where diverged threads meet: never free.
    meeting: Vec<Lane>,
    /// General registers that the function has.
    registers: u32,
}

impl Room {
    /// Of a function that has so many general registers; none where other code may look at them.
    pub fn new(f: &Function, cfg: &Cfg, registers: u32) -> Option<Room> {
        if registers <= RESERVED {
            return None;
        }
        let insts = || f.blocks().flat_map(|block| f.block_insts(block));
        let dynamic = f.opcodes().any(|opcode| opcode.starts_with(CHANGES_COUNT));
        if dynamic || insts().any(|&inst| f.inst(inst).effects.intersects(ELSEWHERE)) {
            return None;
        }
        let live = Liveness::new(f, cfg).ok()?;
        let labels = insts().flat_map(|&inst| f.uses(inst)).filter_map(|operand| match operand {
            Operand::Label(block) => Some(*block),
            _ => None,
        });
        let mut met: Vec<Block> = labels.collect();
        met.sort_unstable();
        met.dedup();
        let mut meeting: Vec<Lane> = met.into_iter().flat_map(|block| live.live_in(block)).collect();
        meeting.sort_unstable();
        meeting.dedup();
        Some(Room { live, meeting, registers })
    }

    /// Whether the registers of a block may change.
    pub fn allows(&self, f: &Function, block: Block) -> bool {
        let looked_at = |inst: Inst| f.inst(inst).effects.intersects(LOOKED_AT);
        !f.block_insts(block).iter().any(|&inst| looked_at(inst))
    }

    /// Lanes that are wanted behind a block.
    fn wanted(&self, block: Block) -> impl Iterator<Item = Lane> {
        self.live.live_out(block).chain(self.meeting.iter().copied())
    }
}

/// The registers of a block's instructions, where they are others than before.
#[derive(Clone, Debug, Default)]
pub struct Names {
    read: FxHashMap<(Inst, Lane), Lane>,
    written: FxHashMap<(Inst, Lane), Lane>,
}

impl Names {
    /// Those of the second of two functions that differ in registers only, for the instructions that theirs stand for.
    pub(crate) fn between(insts: &[Inst], old: &Function, new: &Function) -> Names {
        let mut names = Names::default();
        for (own, &inst) in old.blocks().flat_map(|block| old.block_insts(block)).zip(insts) {
            let (mut read, mut written) = (Vec::new(), Vec::new());
            old.for_each_read(*own, |lane| read.push(lane.lane));
            old.for_each_write(*own, |lane| written.push(lane.lane));
            let (mut reads, mut writes) = (read.into_iter(), written.into_iter());
            new.for_each_read(*own, |lane| note(&mut names.read, inst, reads.next(), lane.lane));
            new.for_each_write(*own, |lane| note(&mut names.written, inst, writes.next(), lane.lane));
        }
        names
    }

    /// Whether all registers are as they were.
    pub fn is_empty(&self) -> bool {
        self.read.is_empty() && self.written.is_empty()
    }

    /// Instructions with other registers, in order.
    pub fn insts(&self) -> Vec<Inst> {
        let mut insts: Vec<Inst> =
            self.read.keys().chain(self.written.keys()).map(|&(inst, _)| inst).collect();
        insts.sort_unstable();
        insts.dedup();
        insts
    }

    /// What an instruction reads now, where it read these.
    pub fn read(&self, inst: Inst, span: Span) -> Span {
        moved(span, self.read.get(&(inst, span.first())))
    }

    /// What an instruction writes now, where it wrote these.
    pub fn written(&self, inst: Inst, span: Span) -> Span {
        moved(span, self.written.get(&(inst, span.first())))
    }
}

fn note(names: &mut FxHashMap<(Inst, Lane), Lane>, inst: Inst, old: Option<Lane>, new: Lane) {
    if let Some(old) = old.filter(|&old| old != new) {
        names.insert((inst, old), new);
    }
}

fn moved(span: Span, to: Option<&Lane>) -> Span {
    to.and_then(|&first| Span::new(first, span.len())).unwrap_or(span)
}

/// A block with virtual registers, and what finds others for them.
pub(crate) struct Freed<'a> {
    /// The block.
    pub block: Alone,
    now: &'a Alone,
    values: Values,
    allocator: Allocator,
}

impl<'a> Freed<'a> {
    /// Frees those values of a block that `chosen` accepts by their number; the block stands for another one of a function. None when
    /// none can be.
    pub fn new(
        now: &'a Alone,
        arch: Arch,
        room: &Room,
        of: Block,
        chosen: impl Fn(u32) -> bool,
    ) -> Option<Freed<'a>> {
        let wanted: Vec<Lane> = room.wanted(of).collect();
        let mut values = Values::new(&now.function, arch, &wanted);
        if values.is_empty() {
            return None;
        }
        values.keep_others(chosen);
        parity::choose(&now.code(arch), now, &mut values);
        let allocator = Allocator::new(&values, now.late(arch), room.registers);
        let block = now.renamed(
            |inst, lane| values.virtual_read(inst.as_u32(), lane),
            |inst, lane| values.virtual_written(inst.as_u32(), lane),
        );
        Some(Freed { block, now, values, allocator })
    }

    /// How many values could be freed.
    fn count(&self) -> u32 {
        self.values.all().len() as u32
    }

    /// The number of the value that an instruction writes into a lane, freed or not.
    fn value_written(&self, at: u32, lane: Lane) -> Option<u32> {
        self.values.writes().get(&(at, lane)).copied()
    }

    /// Whether there are registers for an order of a body of the block.
    pub fn fits(&mut self, body: &Body, order: &[Node]) -> bool {
        self.allocator.run(&self.values, order.iter().map(|node| body.insts[node.index()].as_u32()))
    }

    /// Whether there are registers for an order.
    fn fits_insts(&mut self, order: &[Inst]) -> bool {
        self.allocator.run(&self.values, order.iter().map(|inst| inst.as_u32()))
    }

    /// The block in such an order, with registers for it. None when there are not enough.
    pub fn settle(self, body: &Body, order: &[Node]) -> Option<Alone> {
        let order: Vec<Inst> = order.iter().map(|node| body.insts[node.index()]).collect();
        self.settle_insts(&order)
    }

    fn settle_insts(mut self, order: &[Inst]) -> Option<Alone> {
        if !self.fits_insts(order) {
            return None;
        }
        let Freed { now, values, allocator, .. } = self;
        let place = |value: Option<&u32>, lane| {
            let value = *value?;
            values.is_freed(value).then(|| allocator.place(value, lane))
        };
        let mut settled = now.renamed(
            |inst, lane| place(values.reads().get(&(inst.as_u32(), lane)), lane),
            |inst, lane| place(values.writes().get(&(inst.as_u32(), lane)), lane),
        );
        settled.function.reorder(settled.only, order);
        Some(settled)
    }
}

/// Whether registers of a class get other names: general ones and predicates.
const fn is_renamed(class: RegClass) -> bool {
    matches!(class, RegClass::Gpr | RegClass::Pred)
}
