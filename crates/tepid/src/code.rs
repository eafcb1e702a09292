//! What the passes ask about the instructions of a function, looked up once.
//!
//! Source: the mined tables of the machine crate for distances, queues and which results come when they are ready; its
//! dispatch table for pipes.

use crate::state::predicate_place;
use rustc_hash::FxHashMap;
use sassafras_ir::{Effects, Function, Inst, Lane, LaneRef, Operand, RegClass, Role, Span};
use sassafras_machine::collectives::in_flight;
use sassafras_machine::dispatch::{
    Dispatch, ExpectedLatency, Overwriter, Pipe, addend_spacing, dispatch, expected_latency,
    predicate_settle, source_read,
};
use sassafras_machine::mined::seen::{Form, Kind, Seen, place};
use sassafras_machine::mined::{
    ClassNumber, File, MinedTable, OpcodeFacts, PAIR, PairQuery, Queues, Use, queues,
};
use sassafras_machine::reuse::{ReuseCache, reuse_cache};
use sassafras_machine::{Arch, Category, Hazard};
use std::cell::RefCell;
use std::sync::Arc;

/// The source registers of an instruction by reuse flag.
pub type Sources = [Option<Span>; 3];

/// What is known of an opcode.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    /// `WARPGROUP.ARRIVE`: products of the warpgroup may follow.
    pub arrives: bool,
    /// Its form in the tables of least distances.
    pub form: Form,
    /// Its category; none when no table has it.
    pub category: Option<Category>,
    /// Results come when they are ready, and a scoreboard says when.
    pub decoupled: bool,
    /// The queues it goes through.
    pub queues: Queues,
    /// Keeps the warp's turn however long it stalls; others end it from the third cycle on.
    pub holds: bool,
    /// Pipe, interval and least stall.
    pub dispatch: Dispatch,
    /// Where its flagged sources stay at hand; nothing of it does where that is not known.
    pub reuse_cache: Option<ReuseCache>,
    /// How long it is expected to take, where that varies.
    pub expected: ExpectedLatency,
    /// Gives the warp's turn to other threads of it: everything before must have settled.
    pub switches: bool,
    /// Cycles until it may overwrite a source of uniform arithmetic: some write uniform registers sooner than that reads them.
    pub overwrites_uniform: u8,
    /// Cycles until its sources may be overwritten, by instructions of fixed latency and by others. For fixed latency only.
    pub reads: [u8; 2],
    /// Compiled code never sets a scoreboard for its sources: its result shows that they were read.
    pub shows_reads_by_result: bool,
    /// Instructions that are waited for in ways of their own.
    pub special: Special,
    class: Option<ClassNumber>,
    class_64: Option<ClassNumber>,
}

/// Opcodes that wait, or are waited for, in ways of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// None of those below.
    No,
    /// `DEPBAR`: waits for a scoreboard's count.
    Depbar,
    /// `WARPSYNC.COLLECTIVE`, `ENDCOLLECTIVE` and the like: waits for every scoreboard: threads that run apart converge or part.
    Collective,
    /// `ATOM`: its predicate comes with the read scoreboard.
    GenericAtomic,
    /// Runs beside the warp and is waited for by groups; nothing is known of single results.
    Warpgroup,
}

/// A lane as an instruction touches it.
#[derive(Clone, Copy, Debug)]
pub struct Touch {
    /// The lane's number, below [`LANES`] or a token's, or [`NOWHERE`].
    pub lane: u16,
    /// The register file.
    pub file: File,
    /// An odd lane of the operand.
    pub high: bool,
    /// How it is used, for lanes that are read.
    pub used_as: Use,
    /// At which operand, and whether in an odd lane of it.
    pub slot: (u8, bool),
    /// What a matrix instruction adds to: read when its turn in the pipe has come.
    pub addend: bool,
}

/// The number of a virtual lane: only orders are made for those, no control fields.
pub const NOWHERE: u16 = u16::MAX;

/// How many lanes there are; tokens are numbered from here on.
pub const LANES: u16 = 552;

/// A function with what the passes ask about it.
pub struct Code<'f> {
    /// The function.
    pub f: &'f Function,
    /// By instruction, the registers of its reuse flags.
    pub sources: &'f [Sources],
    /// The architecture.
    pub arch: Arch,
    /// The least distances that compiled code was seen to leave.
    pub seen: Option<&'static Seen>,
    facts: Arc<Facts>,
}

/// What was looked up about the instructions of a function, wherever they stand in their blocks.
pub struct Facts {
    table: Option<&'static MinedTable>,
    predicate_settle: u8,
    ops: Vec<Op>,
    classes: Vec<Option<ClassNumber>>,
    /// By matrix instruction: cycles until another may add to its result.
    addend_spacings: FxHashMap<Inst, u8>,
    touches: Vec<Touch>,
    /// By instruction: where its reads start and end, and where its writes end, among `touches`.
    ranges: Vec<[u32; 3]>,
}

impl<'f> Code<'f> {
    /// Looks everything up. `sources` has an entry per instruction, or none at all.
    pub fn new(f: &'f Function, sources: &'f [Sources], arch: Arch) -> Code<'f> {
        let table = MinedTable::of(arch);
        let ops: Vec<Op> = f.opcodes().map(|text| known_op(table, arch, text)).collect();
        let mut facts = Facts {
            table,
            predicate_settle: predicate_settle(arch),
            classes: vec![None; f.inst_count()],
            addend_spacings: FxHashMap::default(),
            touches: Vec::with_capacity(f.inst_count() * 5),
            ranges: vec![[0; 3]; f.inst_count()],
            ops,
        };
        for &inst in f.blocks().flat_map(|block| f.block_insts(block)) {
            facts.look_up(f, arch, inst);
        }
        Code { f, sources, arch, seen: Seen::of(arch), facts: facts.into() }
    }

    /// As [`Code::new`], of a function that differs from one that everything was looked up for in the order of its blocks only.
    pub fn reordered(f: &'f Function, sources: &'f [Sources], arch: Arch, facts: &Arc<Facts>) -> Code<'f> {
        Code { f, sources, arch, seen: Seen::of(arch), facts: Arc::clone(facts) }
    }

    /// What was looked up.
    pub fn facts(&self) -> &Arc<Facts> {
        &self.facts
    }

    /// What is known of an instruction's opcode.
    #[inline]
    pub fn op(&self, inst: Inst) -> &Op {
        self.facts.op(self.f, inst)
    }

    /// Whether an instruction loads from global memory into registers.
    pub fn loads_global(&self, inst: Inst) -> bool {
        let reads = self.f.accesses(inst).any(|(access, write)| !write && access.space.is_global());
        reads && !self.f.defs(inst).is_empty()
    }

    /// Whether some of the instructions run beside the warp.
    pub fn has_group(&self, insts: &[Inst]) -> bool {
        insts.iter().any(|&inst| self.op(inst).special == Special::Warpgroup)
    }

    /// Cycles of a sub-core's tensor pipe that a warpgroup's product takes: half of its columns, whatever its type.
    pub fn product_cycles(&self, inst: Inst) -> u32 {
        let f = self.f;
        let results = f.defs(inst).iter().filter_map(|def| def.span());
        let registers: u32 =
            results.filter(|span| span.class() == RegClass::Gpr).map(|span| u32::from(span.len())).sum();
        // A register holds one column of a thread's rows, or two in half precision.
        registers * if f.opcode_text(f.inst(inst).opcode).ends_with(".F16") { 2 } else { 1 }
    }

    /// The lanes that an instruction reads, guard and addresses included.
    #[inline]
    pub fn reads(&self, inst: Inst) -> &[Touch] {
        let [start, middle, _] = self.facts.ranges[index(inst)];
        &self.facts.touches[start as usize..middle as usize]
    }

    /// The lanes that an instruction writes or may write.
    #[inline]
    pub fn writes(&self, inst: Inst) -> &[Touch] {
        let [_, middle, end] = self.facts.ranges[index(inst)];
        &self.facts.touches[middle as usize..end as usize]
    }

    /// Cycles until the warp's turn may go to other threads of it.
    #[inline]
    pub fn settle(&self, inst: Inst) -> u8 {
        let is_predicate = |touch: &Touch| matches!(touch.file, File::Predicate | File::UniformPredicate);
        let predicate = !self.op(inst).decoupled && self.writes(inst).iter().any(is_predicate);
        self.op(inst).dispatch.settle.max(if predicate { self.facts.predicate_settle } else { 0 })
    }

    /// The source registers by reuse flag.
    pub fn sources(&self, inst: Inst) -> Sources {
        self.sources.get(index(inst)).copied().unwrap_or_default()
    }

    /// Whether an instruction's result waits for a scoreboard. Convergence barriers are written at a fixed time.
    #[inline]
    pub fn is_guarded(&self, inst: Inst, write: &Touch) -> bool {
        self.op(inst).decoupled && write.file != File::Barrier
    }
}

impl Facts {
    fn look_up(&mut self, f: &Function, arch: Arch, inst: Inst) {
        self.classes[index(inst)] = self.class_of(f, inst);
        let start = self.touches.len() as u32;
        f.for_each_read(inst, |lane| self.touches.push(touch(f, inst, lane, true)));
        let middle = self.touches.len() as u32;
        f.for_each_write(inst, |lane| self.touches.push(touch(f, inst, lane, false)));
        self.ranges[index(inst)] = [start, middle, self.touches.len() as u32];
        if self.op(f, inst).category != Some(Category::Tensor) {
            return;
        }
        if let Some(spacing) = addend_spacing(arch, &shaped_name(f, inst)) {
            self.addend_spacings.insert(inst, spacing.cycles);
        }
        if let Some(place) = addend(f, inst) {
            for touch in &mut self.touches[start as usize..middle as usize] {
                touch.addend = touch.used_as == Use::Operand && u16::from(touch.slot.0) == place;
            }
        }
    }

    #[inline]
    fn op(&self, f: &Function, inst: Inst) -> &Op {
        &self.ops[f.inst(inst).opcode.as_u32() as usize]
    }

    fn class_of(&self, f: &Function, inst: Inst) -> Option<ClassNumber> {
        let op = self.op(f, inst);
        match op.category {
            Some(Category::Tensor) => self.table?.number(&shaped_name(f, inst)),
            _ if op.class != op.class_64 && writes_pair(f, inst) => op.class_64,
            _ => op.class,
        }
    }
}

/// The position of an instruction in tables over instructions.
#[inline]
pub fn index(inst: Inst) -> usize {
    inst.as_u32() as usize
}

thread_local! {
    /// What was looked up before: functions share their opcodes, and every one costs several tables.
    static KNOWN: RefCell<FxHashMap<Arch, FxHashMap<Box<str>, Op>>> = RefCell::default();
}

fn known_op(table: Option<&MinedTable>, arch: Arch, text: &str) -> Op {
    KNOWN.with_borrow_mut(|known| {
        let known = known.entry(arch).or_default();
        // Names are those of instructions, so that there are not many; names that a user made up are not kept for ever.
        if known.len() > MOST_KNOWN {
            known.clear();
        }
        match known.get(text) {
            Some(op) => *op,
            None => *known.entry(text.into()).or_insert(op(table, arch, text)),
        }
    })
}

/// More opcodes than any architecture has.
const MOST_KNOWN: usize = 1 << 14;

fn op(table: Option<&MinedTable>, arch: Arch, text: &str) -> Op {
    let category = Category::of(text);
    let default = OpcodeFacts { decoupled: category.is_none_or(is_decoupled), boarded: false, min_stall: 1 };
    let mut facts = table.and_then(|table| table.opcode(text)).unwrap_or(default);
    // Code for sm_100 also runs on sm_103, where FP64 takes its time: newer compilers set scoreboards on both.
    facts.decoupled |= facts.boarded && category == Some(Category::Fp64);
    let mut dispatch = dispatch(arch, text);
    let form = Seen::of(arch).map_or_else(Form::default, |seen| seen.form(text));
    dispatch.least = dispatch.least.max(facts.min_stall).max(form.stall);
    let special = match text.split('.').next().unwrap_or(text) {
        _ if in_flight(text).is_some() => Special::Collective,
        "DEPBAR" => Special::Depbar,
        "ATOM" => Special::GenericAtomic,
        "WARPGROUP" => Special::Warpgroup,
        _ if category == Some(Category::WarpgroupMma) => Special::Warpgroup,
        _ => Special::No,
    };
    Op {
        category,
        arrives: text == "WARPGROUP.ARRIVE",
        form,
        decoupled: facts.decoupled,
        queues: own_queues(text, category, &dispatch),
        holds: holds(text, facts.decoupled, category),
        dispatch,
        reuse_cache: reuse_cache(arch, text),
        reads: [Overwriter::Fixed, Overwriter::Varying].map(|by| source_read(arch, text, "", by).cycles),
        switches: matches!(text.split('.').next().unwrap_or(text), "BSYNC" | "WARPSYNC" | "WARPGROUP"),
        overwrites_uniform: source_read(arch, Category::Uniform.name(), text, Overwriter::Fixed).cycles,
        expected: expected_latency(text),
        shows_reads_by_result: table.is_some_and(|table| table.shows_reads_by_result(text)),
        special,
        class: table.and_then(|table| table.number(text)),
        class_64: table.and_then(|table| table.number(&format!("{text}{PAIR}"))),
    }
}

/// The queues of an opcode. Only what goes through the memory pipe reads its sources in one order: on an H200 a special
/// function that was issued behind a store was done before the store had read its data.
fn own_queues(text: &str, category: Option<Category>, dispatch: &Dispatch) -> Queues {
    let mut queues = queues(text, category);
    if dispatch.busy[Pipe::Memory as usize] == 0 {
        queues.reads = 0;
    }
    queues
}

/// In compiled code instructions of fixed latency end the warp's turn when they stall for three cycles or more, and all
/// others keep it: no exception among tens of thousands but for some uniform instructions.
fn holds(text: &str, decoupled: bool, category: Option<Category>) -> bool {
    use Category::{Alu, Fma, Fp64, Half, ImadWide, ToUniform, Uniform, UniformLoad};
    let math =
        matches!(category, Some(Alu | Fma | ImadWide | Half | Fp64 | Uniform | UniformLoad | ToUniform));
    let ends = math || matches!(text, "NOP" | "CS2R" | "DEPBAR");
    decoupled || !ends
}

/// Whether results of the category come when they are ready, for opcodes that nobody has mined.
fn is_decoupled(category: Category) -> bool {
    use Category::{Barrier, Convert, Sfu, Shuffle, SpecialRegister};
    category.is_memory() || matches!(category, Sfu | Convert | Shuffle | SpecialRegister | Barrier)
}

fn writes_pair(f: &Function, inst: Inst) -> bool {
    let first = f.defs(inst).iter().find_map(|op| op.span());
    first.is_some_and(|span| span.class() == RegClass::Gpr && span.len() == 2)
}

/// The name of a matrix instruction in the tables: the shape decides how long it runs.
fn shaped_name(f: &Function, inst: Inst) -> String {
    let spans = f.defs(inst).iter().chain(f.uses(inst)).filter_map(|operand| match operand {
        Operand::Reg(span) if span.class() == RegClass::Gpr => Some(span.len().to_string()),
        _ => None,
    });
    let shape: Vec<String> = spans.collect();
    format!("{}:{}", f.opcode_text(f.inst(inst).opcode), shape.join("/"))
}

/// The position of the third general source, which a matrix instruction adds to.
fn addend(f: &Function, inst: Inst) -> Option<u16> {
    let general = |op: &Operand| matches!(op, Operand::Reg(span) if span.class() == RegClass::Gpr);
    let mut places = f.uses(inst).iter().enumerate().filter(|(_, op)| general(op));
    places.nth(2).map(|(place, _)| (f.defs(inst).len() + place) as u16)
}

fn touch(f: &Function, inst: Inst, lane: LaneRef, read: bool) -> Touch {
    let leaves = Effects::BRANCH | Effects::EXIT | Effects::RET;
    let used_as = match lane.role {
        _ if !read => Use::Overwrite,
        Role::Operand(_) => Use::Operand,
        Role::Address(_) => Use::Address,
        Role::Guard if f.inst(inst).effects.intersects(leaves) => Use::Branch,
        Role::Guard => Use::Guard,
    };
    let place = match lane.role {
        Role::Guard => 0,
        Role::Operand(place) | Role::Address(place) => place.min(255) as u8,
    };
    let odd = lane.part % 2 == 1;
    Touch {
        lane: number(lane.lane).unwrap_or(NOWHERE),
        file: file(lane.lane.class()),
        high: odd,
        used_as,
        slot: (place, odd),
        addend: false,
    }
}

/// A physical lane's number. Code with control fields has no virtual ones.
pub(crate) fn number(lane: Lane) -> Option<u16> {
    let base = match lane.class() {
        RegClass::Gpr => 0,
        RegClass::Uniform => 256,
        RegClass::Pred => 512,
        RegClass::UPred => 520,
        RegClass::Barrier => 528,
        RegClass::Flag => 544,
    };
    (!lane.is_virtual()).then(|| base + lane.index() as u16)
}

fn file(class: RegClass) -> File {
    match class {
        RegClass::Gpr => File::General,
        RegClass::Uniform => File::Uniform,
        RegClass::Pred => File::Predicate,
        RegClass::UPred => File::UniformPredicate,
        RegClass::Barrier => File::Barrier,
        RegClass::Flag => File::Flag,
    }
}

/// Distances between results of fixed latency and what touches them next, remembered.
pub struct Distances<'c, 'f> {
    code: &'c Code<'f>,
    known: FxHashMap<(u64, u64), Between>,
}

/// Where nothing is known: the longest stall there is. Compiled code has nothing else, either.
const UNKNOWN: u16 = 15;
const UNKNOWN_BARRIER: u16 = 10;

impl<'c, 'f> Distances<'c, 'f> {
    /// Nothing asked yet.
    pub fn new(code: &'c Code<'f>) -> Distances<'c, 'f> {
        Distances { code, known: FxHashMap::default() }
    }

    /// Cycles from the issue of `producer`, which writes `high`, to that of `consumer`, which touches the lane: what the classes
    /// of the two need, and what was seen of their forms.
    pub fn between(&mut self, producer: Inst, high: bool, consumer: Inst, touch: &Touch) -> Between {
        if touch.addend
            && let Some(&cycles) = self.code.facts.addend_spacings.get(&producer)
        {
            return Between { cycles: u16::from(cycles), seen: Sighting::Unasked };
        }
        let code = self.code;
        let (op, user) = (code.op(producer), code.op(consumer));
        let overwrites = touch.used_as == Use::Overwrite;
        // What was seen counts but where matrix instructions take turns, and where plain arithmetic overwrites results of its like.
        let sensitive = op.form.sensitive || user.form.sensitive;
        let seen = code.seen.filter(|_| !touch.addend && (sensitive || !overwrites));
        let at = match overwrites {
            true => 0,
            false => {
                let predicate = predicate_place(touch).filter(|_| touch.file == File::Predicate);
                place(op.form.serial, predicate, user.form.late, touch.slot)
            }
        };
        let class =
            |inst: Inst| code.facts.classes[index(inst)].map_or(0xffff, |class| u64::from(class.get()));
        let opcode = |inst: Inst| u64::from(code.f.inst(inst).opcode.as_u32());
        let classes = class(producer)
            | class(consumer) << 16
            | u64::from(touch.slot.0) << 33
            | u64::from(touch.slot.1) << 32
            | (touch.used_as as u64) << 44
            | (touch.file as u64) << 48
            | u64::from(high) << 56
            | u64::from(touch.addend) << 57
            | u64::from(user.decoupled) << 58;
        let forms = opcode(producer) | opcode(consumer) << 28 | u64::from(at) << 56;
        *self.known.entry((classes, forms)).or_insert_with(|| {
            let cycles = of_classes(code, producer, high, consumer, touch);
            let kind = match overwrites {
                true => Kind::Overwrites(touch.file, high),
                false => Kind::reads(touch.file, high, touch.used_as, at),
            };
            let seen = match seen.map(|seen| seen.least(kind, op.form, user.form)) {
                None => Sighting::Unasked,
                Some(None) => Sighting::Rare,
                Some(Some(least)) => Sighting::Least(u16::from(least)),
            };
            Between { cycles, seen }
        })
    }
}

/// How far a result and who touches it stand apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Between {
    /// Cycles from one issue to the other that the classes of the two need.
    pub cycles: u16,
    /// What was seen of such pairs.
    pub seen: Sighting,
}

/// What was seen of a result and who touches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sighting {
    /// Nothing is asked.
    Unasked,
    /// It was seen too seldom to know how close it may come.
    Rare,
    /// The least distance.
    Least(u16),
}

impl Between {
    /// Cycles to reckon with where nothing is known of the order that came.
    pub fn expected(self) -> u16 {
        match self.seen {
            Sighting::Least(least) => self.cycles.max(least.min(UNKNOWN)),
            Sighting::Rare | Sighting::Unasked => self.cycles,
        }
    }
}

/// Cycles that the classes of two instructions need.
fn of_classes(code: &Code<'_>, producer: Inst, high: bool, consumer: Inst, touch: &Touch) -> u16 {
    let hazard = if touch.used_as == Use::Overwrite { Hazard::Waw } else { Hazard::Raw };
    let (first, second) = (code.facts.classes[index(producer)], code.facts.classes[index(consumer)]);
    let query = PairQuery {
        hazard,
        file: touch.file,
        producer: first,
        high,
        consumer: second,
        used_as: touch.used_as,
        slot: touch.slot,
        addend: false,
    };
    let known = code.facts.table.and_then(|table| table.distance(&query));
    // Who could read a result by now may overwrite it: compiled code does both in one instruction.
    let read = |slot| {
        let slot = (slot, touch.slot.1);
        let query = PairQuery { hazard: Hazard::Raw, used_as: Use::Operand, slot, ..query };
        code.facts.table.and_then(|table| table.distance(&query)).map(|distance| distance.safe)
    };
    let fixed = touch.file == File::General && !code.op(consumer).decoupled;
    let readable = || (1..=3).map(read).max().flatten().filter(|_| fixed);
    // Where no row is about the pair its classes say what it needs at the least.
    let least = || code.facts.table.and_then(|table| table.bound(&query)).unwrap_or(0);
    known.map_or_else(
        || unknown(hazard, touch.file).max(least()),
        |distance| match hazard {
            // How close compiled code overwrites results depends on both latencies; a class of its own shows it.
            Hazard::Waw if distance.observed_min > 1 => distance.observed_min,
            Hazard::Waw => distance.safe.min(readable().unwrap_or(UNKNOWN)).min(UNKNOWN),
            _ if touch.addend => distance.observed_min,
            // A stall has at most 15 cycles: results that need more are waited for by several instructions, or seldom close.
            _ => distance.safe.min(distance.observed_min.max(UNKNOWN)),
        },
    )
}

fn unknown(hazard: Hazard, file: File) -> u16 {
    match (hazard, file) {
        (_, File::Barrier) => UNKNOWN_BARRIER,
        _ => UNKNOWN,
    }
}
