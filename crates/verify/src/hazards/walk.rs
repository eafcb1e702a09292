//! The data flow.

use super::rules::{Key, Rules, Use, categories};
use fixedbitset::FixedBitSet;
use sassafras_control::{Field, volta};
use sassafras_ir::cfg::Cfg;
use sassafras_ir::{Block, Effects, Function, Inst, Lane, LaneRef, Payload, RegClass, Role};
use sassafras_machine::Category;

/// What two instructions collide over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HazardKind {
    /// Reads a result that may not be there.
    Raw,
    /// Overwrites a source that may not have been read.
    War,
    /// Overwrites a result that may not be there.
    Waw,
    /// Waits for a scoreboard that may not be set yet.
    WaitTooSoon,
}

impl HazardKind {
    /// A short name.
    pub const fn name(self) -> &'static str {
        match self {
            HazardKind::Raw => "raw",
            HazardKind::War => "war",
            HazardKind::Waw => "waw",
            HazardKind::WaitTooSoon => "wait-too-soon",
        }
    }
}

/// Two instructions that meet on a lane.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    /// The function.
    pub function: &'a Function,
    /// What they collide over.
    pub kind: HazardKind,
    /// Where; none for [`HazardKind::WaitTooSoon`].
    pub lane: Option<Lane>,
    /// The one under way.
    pub producer: Inst,
    /// The one that comes.
    pub consumer: Inst,
    /// The first one's category.
    pub producer_category: Option<Category>,
    /// The second one's.
    pub consumer_category: Option<Category>,
    /// How the second one uses the lane.
    pub used_as: Use,
    /// Which lane of the first one's operand.
    pub part: u8,
    /// Fewest cycles between the two on any path, waits credited.
    pub elapsed: u16,
    /// A wait lies between, or at the second one.
    pub waited: bool,
    /// The first one set a scoreboard for this.
    pub guarded: bool,
    /// A scoreboard covers the pair on every path.
    pub covered: bool,
}

impl Pair<'_> {
    /// What a distance for the pair is known by.
    pub fn key(&self) -> Key {
        Key {
            kind: self.kind,
            producer: self.producer_category,
            consumer: self.consumer_category,
            used_as: self.used_as,
            class: self.lane.map_or(RegClass::Gpr, Lane::class),
            high: self.part % 2 == 1,
        }
    }
}

/// Something under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fact {
    lane: Lane,
    producer: Inst,
    /// A write, or a read of a source.
    write: bool,
    part: u8,
    /// The scoreboard that the instruction set for this.
    guard: Option<u8>,
    /// Scoreboards that later instructions of the same pipe set.
    cover: u8,
    /// How many instructions have set the guard since.
    behind: u8,
    /// The clock when it was issued.
    issued: i32,
    waited: bool,
}

impl Fact {
    const fn key(&self) -> (Lane, Inst, bool) {
        (self.lane, self.producer, self.write)
    }
}

/// What is known of a scoreboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Board {
    setter: Inst,
    /// The latest clock it may have been set at: a wait must not come too soon.
    latest: i32,
    /// The earliest clock it was set at on every path; none when on some path it was not, or by another instruction.
    /// Waiting takes at least what is left of the setter's latency since then.
    earliest: Option<i32>,
}

/// The state at one point.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
struct State {
    facts: Vec<Fact>,
    boards: [Option<Board>; 6],
}

/// Facts without a scoreboard are forgotten after this many cycles when their latency is fixed: longer than any.
const FORGET: i32 = 64;
const MAX_ELAPSED: i32 = 1 << 14;

/// Shows every pair of instructions that meet on a lane, each once per way it was found, in program order.
///
/// Only blocks that can be reached are walked. Instructions without a word have no control field and count as stall 1.
pub fn walk<'f>(f: &'f Function, rules: &'f Rules, mut observe: impl FnMut(&Pair<'f>)) {
    let cfg = Cfg::new(f);
    let mut walker = Walker { f, rules, categories: categories(f) };
    let order = cfg.reverse_post_order();
    let mut entry: Vec<Option<State>> = vec![None; f.block_count()];
    let Some(&first) = order.first() else { return };
    entry[first.as_u32() as usize] = Some(State::default());
    let mut queued = FixedBitSet::with_capacity(order.len());
    queued.insert(0);
    while let Some(next) = queued.minimum() {
        queued.remove(next);
        let block = order[next];
        let Some(state) = entry[block.as_u32() as usize].clone() else { continue };
        let out = walker.block(block, state, &mut |_| ());
        for &succ in cfg.succs(block) {
            let slot = &mut entry[succ.as_u32() as usize];
            let changed = match slot {
                None => {
                    *slot = Some(out.clone());
                    true
                }
                Some(old) => old.merge(&out),
            };
            if changed && let Some(place) = cfg.rpo_index(succ) {
                queued.insert(place as usize);
            }
        }
    }
    for &block in order {
        if let Some(state) = entry[block.as_u32() as usize].take() {
            walker.block(block, state, &mut observe);
        }
    }
}

impl State {
    /// Joins another path's state; clocks of both stand at 0. Returns whether anything got worse.
    fn merge(&mut self, other: &State) -> bool {
        let mut changed = false;
        let mut merged = Vec::with_capacity(self.facts.len().max(other.facts.len()));
        let (mut a, mut b) = (self.facts.iter().peekable(), other.facts.iter().peekable());
        loop {
            let next = match (a.peek(), b.peek()) {
                (None, None) => break,
                (Some(x), None) => (Some(**x), None),
                (None, Some(y)) => (None, Some(**y)),
                (Some(x), Some(y)) => match x.key().cmp(&y.key()) {
                    std::cmp::Ordering::Less => (Some(**x), None),
                    std::cmp::Ordering::Greater => (None, Some(**y)),
                    std::cmp::Ordering::Equal => (Some(**x), Some(**y)),
                },
            };
            match next {
                (Some(x), None) => {
                    a.next();
                    merged.push(x);
                }
                (None, Some(y)) => {
                    b.next();
                    changed = true;
                    merged.push(y);
                }
                (Some(x), Some(y)) => {
                    a.next();
                    b.next();
                    let worst = Fact {
                        cover: x.cover & y.cover,
                        behind: x.behind.min(y.behind),
                        issued: x.issued.max(y.issued),
                        waited: x.waited || y.waited,
                        ..x
                    };
                    changed |= worst != x;
                    merged.push(worst);
                }
                (None, None) => break,
            }
        }
        self.facts = merged;
        for (board, &theirs) in self.boards.iter_mut().zip(&other.boards) {
            let worst = match (*board, theirs) {
                (Some(x), Some(y)) => {
                    let later = if x.latest >= y.latest { x } else { y };
                    let both = x.earliest.zip(y.earliest).filter(|_| x.setter == y.setter);
                    Some(Board { earliest: both.map(|(x, y)| x.min(y)), ..later })
                }
                (x, y) => x.or(y).map(|b| Board { earliest: None, ..b }),
            };
            changed |= worst != *board;
            *board = worst;
        }
        changed
    }
}

struct Walker<'a> {
    f: &'a Function,
    rules: &'a Rules,
    categories: Vec<Option<Category>>,
}

impl<'a> Walker<'a> {
    fn category(&self, inst: Inst) -> Option<Category> {
        self.categories[self.f.inst(inst).opcode.as_u32() as usize]
    }

    /// Runs a block; the state that comes out has its clock at 0 and its facts sorted.
    fn block(&mut self, block: Block, mut state: State, observe: &mut impl FnMut(&Pair<'a>)) -> State {
        let mut clock = 0;
        for &inst in self.f.block_insts(block) {
            clock = self.step(inst, clock, &mut state, observe);
        }
        state.facts.retain(|fact| !self.is_over(fact, clock));
        for fact in &mut state.facts {
            fact.issued = (fact.issued - clock).max(-MAX_ELAPSED);
        }
        for board in state.boards.iter_mut().flatten() {
            board.latest = (board.latest - clock).max(-MAX_ELAPSED);
            board.earliest = board.earliest.map(|at| (at - clock).max(-MAX_ELAPSED));
        }
        state.facts.sort_unstable_by_key(Fact::key);
        state
    }

    fn is_over(&self, fact: &Fact, clock: i32) -> bool {
        fact.guard.is_none()
            && clock - fact.issued >= FORGET
            && !self.category(fact.producer).is_some_and(varies)
    }

    fn step(
        &mut self,
        inst: Inst,
        clock: i32,
        state: &mut State,
        observe: &mut impl FnMut(&Pair<'a>),
    ) -> i32 {
        let f = self.f;
        let control = Fields::of(f, inst);
        let clock = self.wait(inst, &control, clock, state, observe);
        let category = self.category(inst);
        let pair = |fact: &Fact, kind, used_as| Pair {
            function: f,
            kind,
            lane: Some(fact.lane),
            producer: fact.producer,
            consumer: inst,
            producer_category: self.category(fact.producer),
            consumer_category: category,
            used_as,
            part: fact.part,
            elapsed: (clock - fact.issued).clamp(0, MAX_ELAPSED) as u16,
            waited: fact.waited,
            guarded: fact.guard.is_some(),
            covered: false,
        };
        f.for_each_read(inst, |read| {
            for fact in state.facts.iter().filter(|fact| fact.write && fact.lane == read.lane) {
                observe(&pair(fact, HazardKind::Raw, used_as(f, inst, read)));
            }
        });
        let kills = f.kills(inst);
        f.for_each_write(inst, |write| {
            for fact in state.facts.iter().filter(|fact| fact.lane == write.lane) {
                let kind = if fact.write { HazardKind::Waw } else { HazardKind::War };
                observe(&pair(fact, kind, Use::Overwrite));
            }
        });
        if kills {
            f.for_each_write(inst, |write| state.facts.retain(|fact| fact.lane != write.lane));
        }
        self.issue(inst, &control, clock, state);
        if state.facts.len() > 96 {
            state.facts.retain(|fact| !self.is_over(fact, clock));
        }
        clock + i32::from(control.stall.max(1))
    }

    /// Waits for scoreboards: what they cover is no longer under way. Returns the clock with what waiting credits.
    fn wait(
        &self,
        inst: Inst,
        control: &Fields,
        clock: i32,
        state: &mut State,
        observe: &mut impl FnMut(&Pair<'a>),
    ) -> i32 {
        let waits = control.wait | control.depbar.map_or(0, |d| d.drained | 1 << d.board);
        if waits == 0 {
            return clock;
        }
        let mut credited = clock;
        for board in 0..6u8 {
            let Some(set) = state.boards[usize::from(board)].filter(|_| waits >> board & 1 == 1) else {
                continue;
            };
            let elapsed = clock - set.latest;
            observe(&Pair {
                function: self.f,
                kind: HazardKind::WaitTooSoon,
                lane: None,
                producer: set.setter,
                consumer: inst,
                producer_category: self.category(set.setter),
                consumer_category: self.category(inst),
                used_as: Use::Operand,
                part: 0,
                elapsed: elapsed.clamp(0, MAX_ELAPSED) as u16,
                waited: false,
                guarded: true,
                covered: false,
            });
            let least = i32::from(self.rules.least_latency(self.category(set.setter)));
            credited = set.earliest.map_or(credited, |at| credited.max(at + least));
        }
        let released = |fact: &Fact| {
            let boards = fact.cover | fact.guard.map_or(0, |g| 1 << g);
            let counted = control.depbar.filter(|d| fact.guard == Some(d.board));
            let by_count = counted.is_some_and(|d| fact.behind >= d.count);
            by_count || boards & (control.wait | control.depbar.map_or(0, |d| d.drained)) != 0
        };
        state.facts.retain(|fact| !released(fact));
        for fact in &mut state.facts {
            fact.waited = true;
        }
        for board in 0..6usize {
            if control.wait >> board & 1 == 1 {
                state.boards[board] = None;
            }
        }
        credited
    }

    /// What the instruction leaves under way.
    fn issue(&self, inst: Inst, control: &Fields, clock: i32, state: &mut State) {
        let f = self.f;
        let category = self.category(inst);
        for guard in [control.write, control.read].into_iter().flatten() {
            for fact in &mut state.facts {
                let same_pipe = category.is_some() && self.category(fact.producer) == category;
                if fact.guard == Some(guard) {
                    fact.behind = fact.behind.saturating_add(1);
                } else if same_pipe && fact.write && control.write == Some(guard) {
                    fact.cover |= 1 << guard;
                }
            }
            state.boards[usize::from(guard)] =
                Some(Board { setter: inst, latest: clock, earliest: Some(clock) });
        }
        let mut add = |lane: LaneRef, write: bool, guard: Option<u8>, cover: u8| {
            state.facts.retain(|fact| fact.key() != (lane.lane, inst, write));
            state.facts.push(Fact {
                lane: lane.lane,
                producer: inst,
                write,
                part: lane.part,
                guard,
                cover,
                behind: 0,
                issued: clock,
                waited: false,
            });
        };
        f.for_each_write(inst, |lane| add(lane, true, control.write, 0));
        // Sources of fixed-latency instructions are read at issue. Others may say by a read scoreboard when they have
        // been; without one, a finished write says so too, or enough cycles.
        let finished = control.write.map_or(0, |board| 1 << board);
        if category.is_none_or(varies) || control.read.is_some() {
            f.for_each_read(inst, |lane| {
                if lane.role != Role::Guard {
                    add(lane, false, control.read, finished);
                }
            });
        }
    }
}

fn used_as(f: &Function, inst: Inst, read: LaneRef) -> Use {
    match read.role {
        Role::Operand(_) => Use::Operand,
        Role::Address(_) => Use::Address,
        Role::Guard if f.inst(inst).effects.intersects(Effects::BRANCH | Effects::EXIT | Effects::RET) => {
            Use::Branch
        }
        Role::Guard => Use::Guard,
    }
}

/// Whether results of the category come back when they are ready, not after a fixed time.
fn varies(category: Category) -> bool {
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

/// The control field of an instruction, and what a `DEPBAR` says in its own fields.
struct Fields {
    stall: u8,
    wait: u8,
    write: Option<u8>,
    read: Option<u8>,
    depbar: Option<Depbar>,
}

/// Waits until at most `count` of the instructions that set `board` are under way, and for all of `drained`.
#[derive(Clone, Copy)]
struct Depbar {
    board: u8,
    count: u8,
    drained: u8,
}

impl Fields {
    fn of(f: &Function, inst: Inst) -> Fields {
        let Payload::Word(word) = f.inst(inst).payload else {
            return Fields { stall: 1, wait: 0, write: None, read: None, depbar: None };
        };
        let raw = volta::read(word);
        let board = |field| Some(raw.get(field)).filter(|&b| b < 6);
        let is_depbar = f.opcode_text(f.inst(inst).opcode).starts_with("DEPBAR");
        Fields {
            stall: raw.get(Field::Stall),
            wait: raw.get(Field::Wait),
            write: board(Field::Write),
            read: board(Field::Read),
            depbar: is_depbar.then_some(Depbar {
                board: (word >> 44 & 7) as u8,
                count: (word >> 38 & 63) as u8,
                drained: (word >> 32 & 63) as u8,
            }),
        }
    }
}
