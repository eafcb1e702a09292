//! What is demanded of a pair of instructions: the mined tables of [`sassafras_machine::mined`], asked for a pair.

use super::walk::{HazardKind, Pair};
use rustc_hash::FxHashMap;
use sassafras_ir::{Effects, Function, Inst, Operand, RegClass, Role};
use sassafras_machine::collectives::{InFlight, in_flight};
use sassafras_machine::dispatch::{
    Dispatch, Overwriter, Pipe, addend_spacing, known_dispatch, longest_source_read, predicate_settle_min,
    source_read, switches,
};
use sassafras_machine::mined::seen::Seen;
use sassafras_machine::mined::{
    ClassNumber, File, LeastLatency, MinedTable, OpcodeFacts, PAIR, PairQuery, Queues, Use, accepted_queues,
    barrier_reads, holds_back, least_latency, result_after_reads,
};
use sassafras_machine::reuse::{ReuseCache, reuse_cache};
use sassafras_machine::{Arch, Category, Hazard, constants};
use std::borrow::Cow;
use std::sync::{LazyLock, OnceLock, PoisonError, RwLock};

/// What a pair needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// That many cycles from issue to issue.
    Cycles(u16),
    /// A scoreboard, whatever the distance.
    Scoreboard,
    /// A control field that means something.
    LegalField,
    /// Nobody has seen such a pair.
    Unknown,
}

/// What is demanded on one architecture.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    table: Cow<'static, MinedTable>,
    /// A barrier that holds the warp goes on only when what was issued before has read its sources.
    pub(super) barrier_reads: bool,
    /// Whose pipes are checked; none for rules of a table alone.
    arch: Option<Arch>,
    /// Cycles until the warp's turn may go to other threads of it, behind whatever writes a predicate.
    pub(super) predicate_settle: u8,
    known: Known,
    /// The least distances that compiled code was seen to leave; none for rules of a table alone, and for mining.
    pub(super) seen: Option<&'static Seen>,
    /// Whether results that come at a fixed time behind the reading of their sources need no scoreboard: in code that others compiled.
    after_reads: bool,
}

/// What was found out about opcodes so far: functions share most of theirs, and libraries have thousands of functions.
#[derive(Debug, Default)]
struct Known(RwLock<FxHashMap<String, OpcodeInfo>>);

impl Clone for Known {
    /// Starts anew: it can be found out again.
    fn clone(&self) -> Known {
        Known::default()
    }
}

impl Rules {
    /// The architecture; none for rules of a table alone.
    pub(super) fn arch(&self) -> Option<Arch> {
        self.arch
    }

    /// The rules of a table.
    pub fn new(table: MinedTable) -> Rules {
        Rules { table: Cow::Owned(table), ..Rules::default() }
    }

    /// The same rules, with the pipes of an architecture.
    #[must_use]
    pub fn with_pipes(self, arch: Arch) -> Rules {
        let predicate_settle = predicate_settle_min(arch);
        Rules { arch: Some(arch), predicate_settle, known: Known::default(), ..self }
    }

    /// The rules of an architecture. Where nothing was mined every distance is unknown, but scoreboards are checked.
    pub fn of(arch: Arch) -> &'static Rules {
        static ALL: LazyLock<FxHashMap<Arch, OnceLock<Rules>>> =
            LazyLock::new(|| Arch::all().map(|arch| (arch, OnceLock::new())).collect());
        static NONE: LazyLock<Rules> = LazyLock::new(Rules::default);
        let read = || match MinedTable::of(arch) {
            Some(table) => {
                let table = Cow::Borrowed(table);
                let seen = Seen::of(arch);
                let barrier_reads = barrier_reads(arch);
                let rules = Rules { table, barrier_reads, seen, after_reads: true, ..Rules::default() };
                rules.with_pipes(arch)
            }
            None => Rules::default(),
        };
        ALL.get(&arch).map_or(&NONE, |rules| rules.get_or_init(read))
    }

    /// The same rules, without the least distances that compiled code was seen to leave.
    #[must_use]
    pub fn without_seen(&self) -> Rules {
        Rules { seen: None, ..self.clone() }
    }

    /// The same rules for code that a scheduler wrote: results are there when a scoreboard says so, whenever their sources were read.
    #[must_use]
    pub(super) fn without_after_reads(&self) -> Rules {
        Rules { after_reads: false, ..self.clone() }
    }

    /// Whether code of a function may rely on results that come at a fixed time behind the reading of their sources.
    pub(super) fn has_after_reads(&self, f: &Function) -> bool {
        let opcodes = self.opcodes(f);
        let shapes = self.shapes(f, &opcodes);
        opcodes.iter().map(|info| &info.timing).chain(shapes.values()).any(|timing| timing.after_reads > 0)
    }

    /// Cycles from the reading of an opcode's sources until its result is there; 0 where that is not known.
    fn after_reads(&self, text: &str) -> u8 {
        self.arch.filter(|_| self.after_reads).and_then(|arch| result_after_reads(arch, text)).unwrap_or(0)
    }

    /// The rules of an architecture without its distances, for mining them anew.
    pub fn for_mining(arch: Arch) -> Rules {
        Rules {
            table: Cow::Owned(MinedTable::of(arch).map(MinedTable::without_distances).unwrap_or_default()),
            barrier_reads: barrier_reads(arch),
            ..Rules::default()
        }
    }

    /// What a pair needs.
    pub fn need(&self, pair: &Pair<'_>) -> Need {
        let hazard = match pair.kind {
            HazardKind::WaitTooSoon => {
                return Need::Cycles(u16::from(constants().scoreboard_set_to_wait));
            }
            HazardKind::Settle if pair.required_stall == 0 => return Need::Scoreboard,
            HazardKind::Acquire | HazardKind::Reuse | HazardKind::Crowded => return Need::Scoreboard,
            HazardKind::Stall | HazardKind::Pipe | HazardKind::Settle | HazardKind::Unseen => {
                return Need::Cycles(u16::from(pair.required_stall));
            }
            HazardKind::Field => return Need::LegalField,
            HazardKind::Raw | HazardKind::War if pair.required_stall > 0 => {
                return Need::Cycles(u16::from(pair.required_stall));
            }
            HazardKind::Raw => Hazard::Raw,
            HazardKind::War => Hazard::War,
            HazardKind::Waw => Hazard::Waw,
        };
        if pair.guarded {
            return Need::Scoreboard;
        }
        self.asked(&query(pair, hazard), pair.decoupled)
    }

    /// What a question to the table comes to, for a pair that no scoreboard is about; `decoupled`: the first one takes as long as it takes.
    pub fn asked(&self, query: &PairQuery, decoupled: bool) -> Need {
        match self.table.demanded(query) {
            Some(cycles) => Need::Cycles(cycles),
            None if decoupled => Need::Scoreboard,
            // Sources that no row names are read at issue.
            None if query.hazard == Hazard::War => Need::Cycles(1),
            // One unit has the convergence barriers, and takes its instructions in order.
            None if query.file == File::Barrier => Need::Cycles(u16::from(constants().convergence_barrier)),
            None => self.table.bound(query).map_or(Need::Unknown, Need::Cycles),
        }
    }

    /// The class of an opcode, perhaps with its shape ([`class_name`]), if a row names it.
    pub fn class(&self, name: &str) -> Option<ClassNumber> {
        self.table.number(name)
    }

    /// Whether results of an opcode come back when they are ready, and scoreboards say so.
    pub fn is_decoupled(&self, opcode: &str) -> bool {
        let by_category = || Category::of(opcode).is_none_or(is_decoupled);
        self.table.opcode(opcode).map_or_else(by_category, |facts| facts.decoupled)
    }

    /// The cycles that a scheduler leaves where a pair meets on a lane ([`Distance::safe`](sassafras_machine::mined::Distance)): at least
    /// as many as are needed. None where no mined distance is asked for.
    pub fn usual(&self, pair: &Pair<'_>) -> Option<u16> {
        let hazard = match pair.kind {
            HazardKind::Raw => Hazard::Raw,
            HazardKind::War => Hazard::War,
            HazardKind::Waw => Hazard::Waw,
            _ => return None,
        };
        let is_mined = !pair.guarded && pair.required_stall == 0;
        is_mined.then(|| self.table.distance(&query(pair, hazard))).flatten().map(|distance| distance.safe)
    }

    /// The longest distance that any use of the first one's result is known to need, where its latency is fixed.
    pub(super) fn longest(&self, pair: &Pair<'_>) -> Option<u16> {
        let opcode = pair.function.opcode_text(pair.function.inst(pair.producer).opcode);
        (!pair.decoupled).then(|| self.table.horizon(opcode, pair.file())).flatten()
    }

    /// By how much less is demanded of a pair than its row says.
    pub(super) fn slack(&self, pair: &Pair<'_>) -> u16 {
        let query = query(pair, Hazard::Raw);
        let row = self.table.accepted(&query);
        row.zip(self.table.demanded(&query)).map_or(0, |(row, demanded)| row.saturating_sub(demanded))
    }

    /// What is known of every opcode of a function.
    pub(super) fn opcodes(&self, f: &Function) -> Vec<OpcodeInfo> {
        let known = self.known.0.read().unwrap_or_else(PoisonError::into_inner);
        let found: Vec<Option<OpcodeInfo>> = f.opcodes().map(|text| known.get(text).copied()).collect();
        drop(known);
        let find = |(text, found): (&str, Option<OpcodeInfo>)| {
            found.unwrap_or_else(|| {
                let info = self.opcode(text);
                let mut known = self.known.0.write().unwrap_or_else(PoisonError::into_inner);
                known.insert(text.to_owned(), info);
                info
            })
        };
        f.opcodes().zip(found).map(find).collect()
    }

    fn opcode(&self, text: &str) -> OpcodeInfo {
        let category = Category::of(text);
        let default = OpcodeFacts { decoupled: self.is_decoupled(text), boarded: false, min_stall: 1 };
        OpcodeInfo {
            category,
            facts: self.table.opcode(text).unwrap_or(default),
            queues: accepted_queues(text, category),
            least: least_latency(text, category),
            special: Special::of(text),
            timing: self.timing(text),
            switches: switches(text),
            reuse_cache: self.arch.and_then(|arch| reuse_cache(arch, text)),
            class: self.table.number(text),
            class_64: self.table.number(&format!("{text}{PAIR}")),
            horizon: RegClass::ALL.map(|class| self.horizon(text, category, class)),
        }
    }

    /// How an opcode, perhaps with its shape, goes through the pipes and reads its operands.
    fn timing(&self, text: &str) -> Timing {
        // What no row knows goes through no pipe and settles at once.
        let mut dispatch = self.arch.and_then(|arch| known_dispatch(arch, text)).unwrap_or_default();
        for pipe in self.arch.into_iter().flat_map(holds_back) {
            dispatch.busy_min[pipe as usize] = 0;
        }
        let reads = |by| self.arch.map_or(1, |arch| longest_source_read(arch, text, by).least);
        Timing {
            pipes: Pipes::of(&dispatch),
            reads: [Overwriter::Fixed, Overwriter::Varying].map(reads),
            addend: self.arch.and_then(|arch| addend_spacing(arch, text)).map_or(0, |spacing| spacing.least),
            after_reads: self.after_reads(text),
        }
    }

    /// How an opcode, perhaps with its shape, goes through the pipes as a scheduler sees it; none where no row says so.
    pub(super) fn usual_pipes(&self, text: &str) -> Option<Dispatch> {
        known_dispatch(self.arch?, text)
    }

    /// For how many cycles a pipe that both go through holds the second one back by itself: so far apart they are seen for its sake alone.
    pub(super) fn held_back(&self, f: &Function, first: Inst, second: Inst) -> u8 {
        let Some(arch) = self.arch else { return 0 };
        let dispatch = |inst| known_dispatch(arch, f.opcode_text(f.inst(inst).opcode)).unwrap_or_default();
        let (first, second) = (dispatch(first), dispatch(second));
        let pipes = holds_back(arch).map(|pipe| pipe as usize).filter(|&pipe| second.enters[pipe]);
        pipes.map(|pipe| first.busy[pipe]).max().unwrap_or(0)
    }

    /// Matrix instructions, whose shape decides how long they run.
    pub(super) fn shapes(&self, f: &Function, opcodes: &[OpcodeInfo]) -> FxHashMap<Inst, Timing> {
        let mut known: FxHashMap<String, Timing> = FxHashMap::default();
        let insts = f.blocks().flat_map(|block| f.block_insts(block).iter().copied());
        let is_matrix =
            |&inst: &Inst| opcodes[f.inst(inst).opcode.as_u32() as usize].category == Some(Category::Tensor);
        let timing = |inst: Inst| {
            let name = class_name(f, inst);
            let timing = known.get(&name).copied().unwrap_or_else(|| self.timing(&name));
            known.insert(name, timing);
            (inst, timing)
        };
        insts.filter(is_matrix).map(timing).collect()
    }

    /// Cycles from an instruction of fixed latency to one that overwrites a source of it.
    pub(super) fn source_read(&self, f: &Function, reader: Inst, writer: Inst, varying: bool) -> u8 {
        let by = if varying { Overwriter::Varying } else { Overwriter::Fixed };
        let writer = f.opcode_text(f.inst(writer).opcode);
        self.arch.map_or(1, |arch| source_read(arch, &class_name(f, reader), writer, by).least)
    }

    /// After how many cycles a result of fixed latency is surely there.
    fn horizon(&self, text: &str, category: Option<Category>, class: RegClass) -> u8 {
        let mined = self.table.horizon(text, file(class));
        mined.map_or_else(|| default_horizon(category), |cycles| cycles.min(255) as u8)
    }

    /// The class of every instruction of a function.
    pub(super) fn classes(&self, f: &Function, opcodes: &[OpcodeInfo]) -> Vec<Option<ClassNumber>> {
        let mut classes = vec![None; f.inst_count()];
        for &inst in f.blocks().flat_map(|block| f.block_insts(block)) {
            let info = &opcodes[f.inst(inst).opcode.as_u32() as usize];
            classes[inst.as_u32() as usize] = match info.category {
                Some(Category::Tensor) => self.table.number(&class_name(f, inst)),
                _ if info.class != info.class_64 && is_pair(f, inst) => info.class_64,
                _ => info.class,
            };
        }
        classes
    }
}

impl Pair<'_> {
    /// Whether the second one reads the register in a pair: what wide multiplications add to.
    pub fn is_addend(&self) -> bool {
        let f = self.function;
        let place = usize::from(self.slot.0).checked_sub(f.defs(self.consumer).len());
        let operand = place.and_then(|place| f.uses(self.consumer).get(place));
        matches!(operand, Some(Operand::Reg(span)) if span.class() == RegClass::Gpr && span.len() == 2)
    }
}

/// The question that a pair asks of the table.
fn query(pair: &Pair<'_>, hazard: Hazard) -> PairQuery {
    PairQuery {
        hazard,
        file: pair.file(),
        producer: pair.producer_class,
        // Sources are read whole.
        high: pair.part % 2 == 1 && hazard != Hazard::War,
        consumer: pair.consumer_class,
        used_as: pair.used_as,
        slot: pair.slot,
        addend: pair.is_addend(),
    }
}

/// The name of an instruction for [`class_of`](sassafras_machine::mined::class_of): its opcode, and how many registers
/// the result takes, for matrix instructions also the sources, since the shape decides how long they run.
pub fn class_name(f: &Function, inst: Inst) -> String {
    let mut name = f.opcode_text(f.inst(inst).opcode).to_owned();
    if Category::of(&name) != Some(Category::Tensor) {
        if is_pair(f, inst) {
            name.push_str(PAIR);
        }
        return name;
    }
    let mut separator = ':';
    for operand in f.defs(inst).iter().chain(f.uses(inst)) {
        if let Operand::Reg(span) = operand
            && span.class() == RegClass::Gpr
        {
            name.push(separator);
            name.push_str(&span.len().to_string());
            separator = '/';
        }
    }
    name
}

/// The position of a matrix instruction's third source of general registers: what it adds to.
pub fn addend(f: &Function, inst: Inst) -> Option<u16> {
    let general = |op: &Operand| matches!(op, Operand::Reg(span) if span.class() == RegClass::Gpr);
    let mut places = f.uses(inst).iter().enumerate().filter(|(_, op)| general(op));
    places.nth(2).map(|(place, _)| (f.defs(inst).len() + place) as u16)
}

/// Whether the result is a pair of registers; where it is a predicate alone, whether the first source is one (`IADD.64 RZ, P0, R2, R4`).
fn is_pair(f: &Function, inst: Inst) -> bool {
    let first = |operands: &[Operand]| {
        operands.iter().find_map(|op| match op {
            Operand::Reg(span) => Some((span.class(), span.len())),
            _ => None,
        })
    };
    match first(f.defs(inst)) {
        Some((RegClass::Gpr, len)) => len == 2,
        Some((RegClass::Pred, _)) => first(f.uses(inst)) == Some((RegClass::Gpr, 2)),
        _ => false,
    }
}

/// The register file of a class, as the tables call it.
pub fn file(class: RegClass) -> File {
    match class {
        RegClass::Gpr => File::General,
        RegClass::Uniform => File::Uniform,
        RegClass::Pred => File::Predicate,
        RegClass::UPred => File::UniformPredicate,
        RegClass::Barrier => File::Barrier,
        RegClass::Flag => File::Flag,
    }
}

/// What the walk needs of an opcode.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpcodeInfo {
    pub category: Option<Category>,
    pub facts: OpcodeFacts,
    pub queues: Queues,
    pub least: LeastLatency,
    pub special: Special,
    /// That of matrix instructions depends on their shape, too ([`Rules::shapes`]).
    pub timing: Timing,
    /// Gives the warp's turn to other threads of it.
    pub switches: bool,
    /// Where its flagged sources stay at hand; none where that is not known.
    pub reuse_cache: Option<ReuseCache>,
    /// The class in the table, and that of the same opcode with a pair as its result.
    pub class: Option<ClassNumber>,
    pub class_64: Option<ClassNumber>,
    /// By register class.
    pub horizon: [u8; 6],
}

/// How an instruction goes through the pipes and reads its operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    pub pipes: Pipes,
    /// Cycles until its sources may be overwritten: by what has a fixed latency, and by what takes its time. For some that
    /// overwrite less is enough ([`Rules::source_read`]).
    pub reads: [u8; 2],
    /// Cycles until another of its pipe may add to its result; 0 where that is not known, or waits for scoreboards.
    pub addend: u8,
    /// Cycles from the reading of its sources until its result is there; 0 where only a scoreboard tells.
    pub after_reads: u8,
}

/// The pipes an opcode goes through, and how long it settles.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pipes {
    /// Those it goes into, one bit each.
    pub enters: u16,
    /// Those it holds up for longer than a cycle, one bit each.
    pub holds: u16,
    /// By pipe, for how long.
    pub busy: [u8; Pipe::ALL.len()],
    /// Until the warp's turn may go to other threads of it.
    pub settle: u8,
}

impl Pipes {
    fn of(dispatch: &Dispatch) -> Pipes {
        let mask = |which: &dyn Fn(usize) -> bool| {
            (0..Pipe::ALL.len()).filter(|&pipe| which(pipe)).fold(0, |mask, pipe| mask | 1 << pipe)
        };
        Pipes {
            enters: mask(&|pipe| dispatch.enters_min[pipe]),
            // The next instruction comes a cycle later in any case.
            holds: mask(&|pipe| dispatch.busy_min[pipe] > 1),
            busy: dispatch.busy_min,
            settle: dispatch.settle_min,
        }
    }
}

/// Opcodes that wait or run in ways of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Special {
    No,
    /// Waits for a scoreboard's count.
    Depbar,
    /// Holds the warp.
    Bar,
    /// Finished when everything issued before it is.
    Fence,
    /// Lets threads of a warp that run apart converge for a moment, or part again, with nothing else in flight.
    Collective(InFlight),
    /// Its predicate says what kind of memory the address lies in, which is known when the sources are read.
    GenericAtomic,
    /// Runs beside the warp and is waited for by groups.
    WarpgroupMma,
    /// May wait for such groups.
    WarpgroupWait,
}

impl Special {
    pub(super) fn of(text: &str) -> Special {
        if let Some(allowed) = in_flight(text) {
            return Special::Collective(allowed);
        }
        match text.split('.').next().unwrap_or(text) {
            "DEPBAR" => Special::Depbar,
            "BAR" => Special::Bar,
            "FENCE" => Special::Fence,
            "ATOM" => Special::GenericAtomic,
            "WARPGROUP" => Special::WarpgroupWait,
            _ if Category::of(text) == Some(Category::WarpgroupMma) => Special::WarpgroupMma,
            _ => Special::No,
        }
    }
}

/// A horizon where nothing was mined: longer than any latency of the category.
fn default_horizon(category: Option<Category>) -> u8 {
    match category {
        Some(Category::Alu | Category::Fma | Category::ImadWide | Category::Uniform) => 24,
        _ => 64,
    }
}

/// Whether results of the category come back when they are ready, where no table says otherwise.
fn is_decoupled(category: Category) -> bool {
    category.is_memory()
        || matches!(
            category,
            Category::Sfu
                | Category::Convert
                | Category::Shuffle
                | Category::SpecialRegister
                | Category::Barrier
        )
}

/// How an instruction uses a lane that it reads.
pub(super) fn used_as(f: &Function, inst: Inst, role: Role) -> Use {
    let leaves = Effects::BRANCH | Effects::EXIT | Effects::RET;
    match role {
        Role::Operand(_) => Use::Operand,
        Role::Address(_) => Use::Address,
        Role::Guard if f.inst(inst).effects.intersects(leaves) => Use::Branch,
        Role::Guard => Use::Guard,
    }
}
