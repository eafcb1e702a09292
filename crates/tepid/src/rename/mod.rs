//! Goal: values that live and die inside a block get the registers that an order wants, so that it need not keep them apart.
//!
//! After register allocation one register holds many values in turn, and each has to wait until the one before it was read. Here every
//! value that is defined and read for the last time inside the block first has a virtual register; orders are searched for that, as long
//! as there are registers for them, and then judged and improved once more with the registers that they got. That is repeated, each time
//! from the registers of the time before.
//!
//! Values that come into the block or leave it keep their registers, and so do those of instructions that name registers in no
//! field of their word. Registers stay in their bank, so that banks are read as before. Nothing is renamed in blocks where other code may
//! look at registers (calls, returns, convergence barriers), and no register is used beyond those that the kernel has.
//!
//! Cost: finding values is linear, an allocation takes registers times values, and each order that the search would keep needs one.
//! Source: the tepid document (anti-dependences).

mod allocate;
mod banks;
mod values;

use crate::body::{Around, Body};
use crate::code::{Code, Sources, index};
use crate::control::rebuild;
use crate::latency::Mined;
use crate::original::Original;
use crate::pipeline::Pipeline;
use crate::search::{Bounds, search};
use crate::replay;
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
/// How often registers are found for an order, and an order for registers.
const ROUNDS: usize = 3;
/// How often that is begun anew, each time with other random numbers.
const ATTEMPTS: u64 = 3;
/// Evaluations of orders as they would be written, for a block of 100 instructions.
const POLISH: u32 = 1000;
/// Warps that code is judged with in the end: few, and as many as there are, but for those that tell nothing new.
const FEW: usize = 2;
const MANY: usize = 8;
/// Thousandths that other registers must bring.
const WORTH: u64 = 10;

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
        (registers > 1).then_some(Room { live, meeting, registers })
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
    fn between(insts: &[Inst], old: &Function, new: &Function) -> Names {
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

    /// Instructions with other registers, in order.
    pub fn insts(&self) -> Vec<Inst> {
        let mut insts: Vec<Inst> = self.read.keys().chain(self.written.keys()).map(|&(inst, _)| inst).collect();
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

/// A block by itself. Its instructions are numbered by the positions that they came in.
#[derive(Clone)]
struct Alone {
    function: Function,
    sources: Vec<Sources>,
    only: Block,
}

impl Alone {
    fn new(code: &Code<'_>, block: Block) -> Alone {
        let function = code.f.excerpt(block);
        let sources = code.f.block_insts(block).iter().map(|&inst| code.sources(inst)).collect();
        let only = function.blocks().next().unwrap_or(block);
        Alone { function, sources, only }
    }

    fn code(&self, arch: Arch) -> Code<'_> {
        Code::new(&self.function, &self.sources, arch)
    }

    /// By position: whether an instruction reads its sources late.
    fn late(&self, arch: Arch) -> Vec<bool> {
        let code = self.code(arch);
        let mut late = vec![false; self.function.inst_count()];
        self.insts().into_iter().for_each(|inst| late[index(inst)] = code.op(inst).decoupled);
        late
    }

    fn insts(&self) -> Vec<Inst> {
        self.function.block_insts(self.only).to_vec()
    }

    /// The same with other registers.
    fn renamed(&self, read: impl Fn(Inst, Lane) -> Option<Lane>, written: impl Fn(Inst, Lane) -> Option<Lane>) -> Alone {
        let mut new = self.clone();
        for inst in self.insts() {
            let read = |span: Span| moved(span, read(inst, span.first()).as_ref());
            let written = |span: Span| moved(span, written(inst, span.first()).as_ref());
            new.sources[index(inst)].iter_mut().flatten().for_each(|span| *span = read(*span));
            new.function.rename(inst, read, written);
        }
        new
    }

    /// Puts the instructions into the order of a body of this block.
    fn reorder(&mut self, body: &Body, order: &[Node]) {
        let order: Vec<Inst> = order.iter().map(|node| body.insts[node.index()]).collect();
        self.function.reorder(self.only, &order);
    }
}

/// An order with other registers.
pub(crate) struct Renamed {
    /// Positions in the order that came.
    pub order: Vec<Node>,
    /// The registers.
    pub names: Names,
}

/// A block whose registers may change.
pub(crate) struct Renaming<'a, 'f> {
    /// The function.
    pub code: &'a Code<'f>,
    /// What there is room for, where registers may change.
    pub room: Option<&'a Room>,
    /// The block.
    pub block: Block,
    /// What it stands among.
    pub around: Around<'f>,
    /// Warps that orders are modelled with.
    pub warps: usize,
    /// Warps that there are.
    pub resident: u32,
    /// Evaluations of a search.
    pub evaluations: u32,
}

impl Renaming<'_, '_> {
    /// Goes on from an order of the block with its values in other registers. None when that is not faster as it would be written.
    pub fn improve(&self, order: &[Node]) -> Option<Renamed> {
        let f = self.code.f;
        let looked_at = |&inst: &Inst| f.inst(inst).effects.intersects(LOOKED_AT);
        let room = self.room.filter(|_| !f.block_insts(self.block).iter().any(looked_at));
        let came = Alone::new(self.code, self.block);
        let original = Original::new(&came.code(self.code.arch));
        let mut start = came.clone();
        let insts = start.insts();
        start.function.reorder(start.only, &order.iter().map(|node| insts[node.index()]).collect::<Vec<_>>());
        let mut best = (self.judge(&start, &original)?, start.clone());
        if std::env::var("SV").is_ok() { eprintln!("came {:?} start {}", self.judge(&came, &original), best.0); }
        let most = u64::from(best.0) * (1000 - WORTH) / 1000;
        if let Some(room) = room {
            let wanted: Vec<Lane> = room.wanted(self.block).collect();
            for attempt in 0..ATTEMPTS {
                let mut now = start.clone();
                for _ in 0..ROUNDS {
                    let Some(next) = self.round(now, room, &wanted, attempt) else { break };
                    let cycles = self.judge(&next, &original)?;
                    if cycles < best.0 {
                        best = (cycles, next.clone());
                    }
                    now = next;
                }
            }
        }
        let (cycles, mut made) = best;
        let cycles = self.polish(&mut made, cycles, &original);
        if std::env::var("SV").is_ok() { eprintln!("polished {cycles}"); }
        if u64::from(cycles) > most {
            return None;
        }
        let names = Names::between(f.block_insts(self.block), &came.function, &made.function);
        Some(Renamed { order: made.insts().iter().map(|inst| Node(inst.as_u32())).collect(), names })
    }

    fn body(&self, block: &Alone) -> Body {
        let around = Around { following: Vec::new(), entry: self.around.entry.clone(), ..self.around };
        let code = block.code(self.code.arch);
        Body::among(&code, &Mined::new(&code), block.only, &around)
    }

    /// Finds an order for free registers, registers for that, and an order for those. None when there is nothing to rename.
    fn round(&self, now: Alone, room: &Room, wanted: &[Lane], seed: u64) -> Option<Alone> {
        let arch = self.code.arch;
        let mut values = Values::new(&now.function, arch, wanted);
        if values.is_empty() {
            return None;
        }
        banks::choose(&now.code(arch), &now, &mut values);
        let late = now.late(arch);
        let mut allocator = Allocator::new(&values, late, room.registers);
        let free = now.renamed(
            |inst, lane| values.virtual_read(inst.as_u32(), lane),
            |inst, lane| values.virtual_written(inst.as_u32(), lane),
        );
        let body = self.body(&free);
        let mut places = |order: &[Node]| {
            allocator.run(&values, order.iter().map(|node| body.insts[node.index()].as_u32()))
        };
        let order = self.search(&body, seed, &mut places);
        if !places(&order) {
            return None;
        }
        let mut now = now.renamed(
            |inst, lane| Some(allocator.place(*values.reads().get(&(inst.as_u32(), lane))?, lane)),
            |inst, lane| Some(allocator.place(*values.writes().get(&(inst.as_u32(), lane))?, lane)),
        );
        now.reorder(&body, &order);
        let body = self.body(&now);
        let order = self.search(&body, seed, |_| true);
        now.reorder(&body, &order);
        Some(now)
    }

    fn search(&self, body: &Body, seed: u64, mut fits: impl FnMut(&[Node]) -> bool) -> Vec<Node> {
        let mut order = body.original();
        let mut pipeline = Pipeline::new(body, self.warps);
        let cycles = pipeline.cycles(&order);
        let bounds = Bounds { evaluations: self.evaluations, most: std::env::var("S2").ok().and_then(|v| v.parse().ok()).unwrap_or(16), least: pipeline.bound(), seed };
        search(body, &mut order, cycles, bounds, |order, limit| {
            pipeline.cycles_within(order, limit).filter(|_| fits(order))
        });
        order
    }

    /// Goes on from an order as it would be written.
    fn polish(&self, block: &mut Alone, cycles: u32, original: &Original) -> u32 {
        let body = self.body(block);
        let mut order = body.original();
        let mut trial = block.clone();
        let evaluations = std::env::var("SQ").ok().and_then(|v| v.parse().ok()).unwrap_or(POLISH);
        let bounds = Bounds { evaluations, most: std::env::var("S3").ok().and_then(|v| v.parse().ok()).unwrap_or(4), least: 0, seed: 0 };
        let cycles = search(&body, &mut order, cycles, bounds, |order, limit| {
            trial.reorder(&body, order);
            self.judge(&trial, original).filter(|&cycles| cycles <= limit)
        });
        block.reorder(&body, &order);
        cycles
    }

    /// Cycles of the block as it would be written, with few warps and with many.
    fn judge(&self, block: &Alone, original: &Original) -> Option<u32> {
        let code = block.code(self.code.arch);
        let fields = rebuild(&code, original).ok()?;
        let body = self.body(block);
        let many = (self.resident as usize).clamp(FEW, MANY);
        Some([FEW, many].into_iter().map(|warps| replay::cycles(&code, &body, &fields, warps)).sum())
    }
}

/// Whether registers of a class get other names: general ones and predicates.
const fn is_renamed(class: RegClass) -> bool {
    matches!(class, RegClass::Gpr | RegClass::Pred)
}
