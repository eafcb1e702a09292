//! What may still be under way at one point of the code.

use super::conditions::{self, Conditions, Value, Values};
use sassafras_ir::{Function, Inst, Lane, RegClass};
use sassafras_machine::dispatch::Pipe;

/// The place of a physical lane in dense tables. Virtual lanes have none: code with control fields has no virtual ones.
pub(super) fn dense(lane: Lane) -> Option<u16> {
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

/// How many dense places there are.
pub(super) const LANES: usize = 552;
/// How many predicates can guard: eight of each file.
const PREDICATES: usize = 16;
const NONE: u32 = u32::MAX;
const TIDY: usize = 192;
/// What is followed on one register: results and sources under way that nothing waits for. In libraries there are 128 at most (cuBLAS 13.8).
const MOST_ON_LANE: usize = 1024;
/// The same on all of them; 1,485 at most in libraries.
const MOST_UNDER_WAY: usize = 1 << 13;
/// Clocks are cut off here: longer than any latency.
pub(super) const MAX_ELAPSED: i32 = 1 << 14;
/// The counter of warpgroup groups takes the number behind the six scoreboards.
pub(super) const WARPGROUP: u8 = 6;

/// The guard of an instruction, as long as its predicate has not changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GuardTag {
    predicate: u8,
    negated: bool,
    version: u32,
}

/// Something under way: a result, or the reading of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fact {
    pub lane: Lane,
    pub producer: Inst,
    /// A write, or a read of a source.
    pub write: bool,
    /// Which lane of the producer's operand.
    pub part: u8,
    /// The scoreboard that the instruction set for this.
    pub guard: Option<u8>,
    /// Scoreboards of later instructions that cannot finish before this has.
    pub cover: u8,
    /// The scoreboard whose count says when this is over: the guard, or the first one of `cover`.
    pub counted: Option<u8>,
    /// How many instructions have set that scoreboard since the one that it is counted for.
    pub behind: u8,
    /// The queue in which the producer reads, or returns, in order.
    pub queue: u8,
    /// The producer's guard.
    pub tag: Option<GuardTag>,
    /// What held for the threads that ran the producer, as long as those predicates have not changed since.
    under: Values,
    /// The clock when it was issued.
    pub issued: i32,
    /// Nothing but straight code lies between.
    pub recent: bool,
    /// A wait lies between.
    pub waited: bool,
    /// For a result that is there at a fixed time behind the reading of its sources, whatever else says so.
    pub timed: Option<Timed>,
    /// The instruction count when it was issued.
    pub tick: u32,
    pub dead: bool,
    next: u32,
}

impl Fact {
    /// An instruction sets these scoreboards; those in `implied` are released only after this is over.
    pub fn set(&mut self, boards: u8, implied: u8) {
        if self.counted.is_some_and(|board| boards >> board & 1 == 1) {
            self.behind = self.behind.saturating_add(1);
        }
        self.cover |= implied;
        if self.counted.is_none() {
            self.counted = first_board(implied);
        }
    }

    /// Its sources have been read by this clock, as a wait for these scoreboards tells, if they say so.
    pub fn sources_read(&mut self, drained: u8, clock: i32) {
        if let Some(timed) = self.timed.as_mut().filter(|timed| timed.boards & drained != 0) {
            let at = clock + i32::from(timed.cycles);
            timed.at = Some(timed.at.map_or(at, |known| known.min(at)));
        }
    }

    /// The clock when the result is there, where its sources are known to have been read.
    pub fn there_at(&self) -> Option<i32> {
        self.timed?.at
    }

    const fn key(&self) -> (Lane, Inst, bool) {
        (self.lane, self.producer, self.write)
    }
}

/// When a result is there once its sources have been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timed {
    /// The queue in which the producer reads its sources.
    pub reads: u8,
    /// Scoreboards that are released only after the sources have been read.
    pub boards: u8,
    /// Cycles from then until the result is there.
    pub cycles: u8,
    /// The clock when it is there, once one of the scoreboards has been waited for.
    pub at: Option<i32>,
}

impl Timed {
    /// What holds on either of two paths.
    fn worst(self, other: Timed) -> Timed {
        Timed { boards: self.boards & other.boards, at: self.at.zip(other.at).map(|(a, b)| a.max(b)), ..self }
    }
}

/// A fact to be.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewFact {
    pub lane: Lane,
    pub producer: Inst,
    pub write: bool,
    pub part: u8,
    pub guard: Option<u8>,
    pub cover: u8,
    pub queue: u8,
    pub tag: Option<GuardTag>,
    pub under: Values,
    pub timed: Option<Timed>,
}

/// What is known of a scoreboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Board {
    /// Who set it last.
    pub setter: Inst,
    /// The latest clock it may have been set at: a wait must not come too soon.
    pub latest: i32,
    /// A wait lasts at least until this clock; none when on some path nothing set the board.
    pub done: Option<i32>,
}

/// Until when an instruction holds up those behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hold {
    /// The first clock at which another may go.
    pub until: i32,
    /// When the instruction was issued.
    pub issued: i32,
    pub by: Inst,
}

impl Hold {
    /// The same, clocks counted from this one.
    const fn since(self, clock: i32) -> Hold {
        Hold { until: self.until - clock, issued: self.issued - clock, by: self.by }
    }
}

/// Until when a source may still be read: by whether what overwrites it takes its time.
pub(super) type Reading = [Option<Reader>; 2];

/// Who may still read a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Reader {
    pub hold: Hold,
    /// The reader's guard.
    pub tag: Option<GuardTag>,
}

/// What instructions hold up whatever the registers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Holds {
    /// By pipe, for the instructions of this block: compiled code counts none across the edge of a block.
    pub pipes: [Option<Hold>; Pipe::ALL.len()],
    /// The warp's turn.
    pub turn: Option<Hold>,
}

/// The state at the edge of a block: clocks count back from 0, facts are sorted.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct State {
    facts: Vec<Fact>,
    boards: [Option<Board>; 6],
    turn: Option<Hold>,
    /// By place of the lane, in order.
    reading: Vec<(u16, Reading)>,
    conditions: Conditions,
}

impl State {
    /// How much is under way.
    pub fn len(&self) -> usize {
        self.facts.len()
    }

    /// Forgets what is under way.
    pub fn forget(&mut self) {
        self.facts = Vec::new();
    }

    /// What holds where control goes on only if a predicate has this value.
    pub fn holds(&self, value: Option<Value>) -> Values {
        value.map_or(0, |value| self.conditions.given(Some(value)))
    }

    /// The same where control goes on only if these hold: what other threads alone have under way is not met there.
    pub fn where_holds(&self, holds: Values) -> State {
        let mut state = self.clone();
        state.conditions.assume(holds);
        state.facts.retain(|fact| !conditions::exclude(fact.under, holds));
        state
    }

    /// Joins another path's state, which control comes from only if these hold. Returns whether anything got worse.
    pub fn merge(&mut self, other: &State, holds: Values) -> bool {
        let mut changed = false;
        let mut merged = Vec::with_capacity(self.facts.len().max(other.facts.len()));
        let theirs = other.facts.iter().filter(|fact| !conditions::exclude(fact.under, holds));
        let (mut a, mut b) = (self.facts.iter().peekable(), theirs.peekable());
        loop {
            let order = match (a.peek(), b.peek()) {
                (None, None) => break,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(x), Some(y)) => x.key().cmp(&y.key()),
            };
            match order {
                std::cmp::Ordering::Less => merged.extend(a.next()),
                std::cmp::Ordering::Greater => {
                    changed = true;
                    merged.extend(b.next());
                }
                std::cmp::Ordering::Equal => {
                    let (Some(x), Some(y)) = (a.next(), b.next()) else { break };
                    let worst = Fact {
                        cover: x.cover & y.cover,
                        counted: x.counted.filter(|_| x.counted == y.counted),
                        behind: x.behind.min(y.behind),
                        issued: x.issued.max(y.issued),
                        recent: x.recent && y.recent,
                        waited: x.waited || y.waited,
                        tag: x.tag.filter(|_| x.tag == y.tag),
                        under: x.under & y.under,
                        timed: x.timed.zip(y.timed).map(|(x, y)| x.worst(y)),
                        ..*x
                    };
                    changed |= worst != *x;
                    merged.push(worst);
                }
            }
        }
        self.facts = merged;
        for (board, &theirs) in self.boards.iter_mut().zip(&other.boards) {
            let worst = match (*board, theirs) {
                (Some(x), Some(y)) => {
                    let done = x.done.zip(y.done).map(|(x, y)| x.min(y));
                    // The newer setter; of two at one clock the later in the code, so that joining has no order.
                    let newer = if (x.latest, x.setter) >= (y.latest, y.setter) { x } else { y };
                    Some(Board { done, ..newer })
                }
                (x, y) => x.or(y).map(|b| Board { done: None, ..b }),
            };
            changed |= worst != *board;
            *board = worst;
        }
        let mut theirs = other.conditions;
        theirs.assume(holds);
        changed |= self.conditions.merge(&theirs);
        changed |= other.turn > self.turn;
        self.turn = self.turn.max(other.turn);
        for &(place, theirs) in &other.reading {
            match self.reading.binary_search_by_key(&place, |&(place, _)| place) {
                Ok(at) => {
                    let ours = &mut self.reading[at].1;
                    let worst = [ours[0].max(theirs[0]), ours[1].max(theirs[1])];
                    changed |= worst != *ours;
                    *ours = worst;
                }
                Err(at) => {
                    changed = true;
                    self.reading.insert(at, (place, theirs));
                }
            }
        }
        changed
    }
}

/// The state while walking through a block.
pub(super) struct Live {
    facts: Vec<Fact>,
    heads: Vec<u32>,
    pub boards: [Option<Board>; 6],
    pub holds: Holds,
    /// By place of the lane.
    reading: Vec<Reading>,
    /// The places with readers.
    read: Vec<u16>,
    versions: [u32; PREDICATES],
    conditions: Conditions,
    /// By predicate of a thread: the instruction count when it last changed in this block; 0 where it has not.
    changed: [u32; 8],
    pub clock: i32,
    tick: u32,
    last_wait: u32,
    /// Facts are tidied when there are more than this.
    limit: usize,
    /// More was under way than is followed.
    crowded: bool,
    /// For so many cycles what is over is carried from block to block, for those who want to see what was kept.
    pub linger: i32,
}

impl Live {
    pub fn new() -> Live {
        Live {
            facts: Vec::new(),
            heads: vec![NONE; LANES],
            boards: [None; 6],
            holds: Holds::default(),
            reading: vec![Reading::default(); LANES],
            read: Vec::new(),
            versions: [0; PREDICATES],
            conditions: Conditions::default(),
            changed: [0; 8],
            clock: 0,
            tick: 1,
            last_wait: 0,
            limit: TIDY,
            crowded: false,
            linger: 0,
        }
    }

    /// Starts a block; it may go on where one other ended.
    pub fn enter(&mut self, state: &State, goes_on: bool) {
        self.clear();
        self.boards = state.boards;
        self.holds.turn = state.turn;
        self.conditions = state.conditions;
        for &(place, reading) in &state.reading {
            self.reading[usize::from(place)] = reading;
            self.read.push(place);
        }
        for &fact in &state.facts {
            self.link(Fact { recent: fact.recent && goes_on, ..fact });
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        for fact in &self.facts {
            if let Some(place) = dense(fact.lane) {
                self.heads[usize::from(place)] = NONE;
            }
        }
        self.facts.clear();
        (self.boards, self.holds) = ([None; 6], Holds::default());
        self.all_read();
        self.versions = [0; PREDICATES];
        (self.conditions, self.changed) = (Conditions::default(), [0; 8]);
        (self.clock, self.tick, self.last_wait, self.limit) = (0, 1, 0, TIDY);
    }

    /// The state as it stands, for a block that follows.
    pub fn leave(&self) -> State {
        let mut facts: Vec<Fact> = self
            .facts
            .iter()
            .filter(|fact| !fact.dead)
            .map(|fact| Fact {
                issued: (fact.issued - self.clock).max(-MAX_ELAPSED),
                waited: self.waited(fact),
                tag: self.current(fact.tag).map(|tag| GuardTag { version: 0, ..tag }),
                under: self.under(fact),
                // What is there stays there, however long ago it came.
                timed: fact
                    .timed
                    .map(|timed| Timed { at: timed.at.map(|at| (at - self.clock).max(0)), ..timed }),
                tick: 0,
                next: NONE,
                ..*fact
            })
            .collect();
        facts.sort_unstable_by_key(Fact::key);
        let boards = self.boards.map(|board| {
            board.map(|b| Board {
                latest: (b.latest - self.clock).max(-MAX_ELAPSED),
                // What is past credits nothing, however long ago it was; loops would count down without end.
                done: b.done.map(|at| (at - self.clock).max(0)),
                ..b
            })
        });
        let turn = self.holds.turn.filter(|hold| hold.until + self.linger > self.clock);
        let turn = turn.map(|hold| hold.since(self.clock));
        State { facts, boards, turn, reading: self.still_read(), conditions: self.conditions }
    }

    fn still_read(&self) -> Vec<(u16, Reading)> {
        let left = |reader: Option<Reader>| {
            let lingers = |reader: &Reader| reader.hold.until + self.linger > self.clock;
            let Reader { hold, tag } = reader.filter(lingers)?;
            let tag = self.current(tag).map(|tag| GuardTag { version: 0, ..tag });
            Some(Reader { hold: hold.since(self.clock), tag })
        };
        let readings = self.read.iter().map(|&place| (place, self.reading[usize::from(place)].map(left)));
        let mut reading: Vec<_> = readings.filter(|&(_, reading)| reading != Reading::default()).collect();
        reading.sort_unstable_by_key(|&(place, _)| place);
        reading
    }

    /// A source is read until some clock.
    pub fn read(&mut self, lane: Lane, varying: bool, reader: Reader) {
        let Some(place) = dense(lane) else { return };
        let reading = &mut self.reading[usize::from(place)];
        if *reading == Reading::default() {
            self.read.push(place);
        }
        let slot = &mut reading[usize::from(varying)];
        *slot = (*slot).max(Some(reader));
    }

    /// Who may read a lane last, and may have done so already.
    pub fn reader(&self, lane: Lane, varying: bool) -> Option<Reader> {
        self.reading[usize::from(dense(lane)?)][usize::from(varying)]
    }

    /// All sources have been read.
    pub fn all_read(&mut self) {
        for place in self.read.drain(..) {
            self.reading[usize::from(place)] = Reading::default();
        }
    }

    fn link(&mut self, mut fact: Fact) {
        let Some(place) = dense(fact.lane) else { return };
        let head = &mut self.heads[usize::from(place)];
        fact.next = *head;
        *head = self.facts.len() as u32;
        self.facts.push(fact);
    }

    /// Adds what an instruction leaves under way. It replaces an older round of the same instruction, and what went into
    /// the same queue before it for the same threads: that is over when the new one is.
    pub fn add(&mut self, new: NewFact) {
        let versions = self.versions;
        self.kill_where(new.lane, |fact| {
            let same_threads = new.tag.is_none()
                || fact.tag.filter(|tag| versions[usize::from(tag.predicate)] == tag.version) == new.tag;
            let overtaken = new.queue != 0 && fact.queue == new.queue && same_threads;
            fact.write == new.write && (fact.producer == new.producer || overtaken)
        });
        if self.on(new.lane).take(MOST_ON_LANE).count() == MOST_ON_LANE {
            self.crowded = true;
            self.kill_where(new.lane, |_| true);
        }
        self.link(Fact {
            lane: new.lane,
            producer: new.producer,
            write: new.write,
            part: new.part,
            guard: new.guard,
            cover: new.cover,
            counted: new.guard.or_else(|| first_board(new.cover)),
            behind: 0,
            queue: new.queue,
            tag: new.tag,
            under: new.under,
            issued: self.clock,
            recent: true,
            waited: false,
            timed: new.timed,
            tick: self.tick,
            dead: false,
            next: NONE,
        });
    }

    /// What is under way on a lane.
    pub fn on(&self, lane: Lane) -> impl Iterator<Item = &Fact> {
        let mut at = dense(lane).map_or(NONE, |place| self.heads[usize::from(place)]);
        std::iter::from_fn(move || {
            while at != NONE {
                let fact = &self.facts[at as usize];
                at = fact.next;
                if !fact.dead {
                    return Some(fact);
                }
            }
            None
        })
    }

    /// Ends what is under way on a lane and answers to `which`.
    pub fn kill_where(&mut self, lane: Lane, which: impl Fn(&Fact) -> bool) {
        let mut at = dense(lane).map_or(NONE, |place| self.heads[usize::from(place)]);
        while at != NONE {
            let fact = &mut self.facts[at as usize];
            at = fact.next;
            fact.dead = fact.dead || which(fact);
        }
    }

    /// Calls `visit` for everything under way; what it returns true for has ended.
    pub fn end_where(&mut self, mut ended: impl FnMut(&mut Fact) -> bool) {
        for fact in &mut self.facts {
            fact.dead = fact.dead || ended(fact);
        }
    }

    /// Everything under way that a scoreboard tells the end of.
    pub fn guarded(&self) -> impl Iterator<Item = &Fact> {
        self.facts.iter().filter(|fact| !fact.dead && fact.guard.is_some_and(|board| board < WARPGROUP))
    }

    /// Goes on behind a call whose callee waits for these scoreboards.
    pub fn call(&mut self, waited: u8) {
        self.end_where(|fact| {
            let boards = fact.cover | fact.guard.map_or(0, |g| 1 << g);
            boards == 0 || boards & waited != 0
        });
        (self.boards, self.holds) = ([None; 6], Holds::default());
        self.all_read();
        self.note_wait();
        self.forget_predicates();
    }

    /// Any predicate may have changed.
    pub fn forget_predicates(&mut self) {
        (self.conditions, self.changed) = (Conditions::default(), [self.tick; 8]);
    }

    /// What holds for the threads that run an instruction now.
    pub fn given(&self, value: Option<Value>) -> Values {
        self.conditions.given(value)
    }

    /// Whether no thread that runs an instruction now, under these conditions, ran the producer.
    pub fn apart(&self, fact: &Fact, now: Values) -> bool {
        fact.under != 0 && conditions::exclude(self.under(fact), now)
    }

    /// What still holds for the threads that ran the producer.
    fn under(&self, fact: &Fact) -> Values {
        let changed = |&(_, &at): &(usize, &u32)| at != 0 && at >= fact.tick;
        match fact.under {
            0 => 0,
            under => {
                let lost = self.changed.iter().enumerate().filter(changed);
                lost.fold(under, |under, (at, _)| under & !conditions::both(at as u8))
            }
        }
    }

    /// An instruction writes predicates.
    pub fn write_predicates(&mut self, f: &Function, inst: Inst, runs: bool) {
        self.conditions.write(f, inst, runs);
    }

    /// Whether a wait came after the fact.
    pub fn waited(&self, fact: &Fact) -> bool {
        fact.waited || self.last_wait > fact.tick
    }

    /// The next instruction.
    pub fn advance(&mut self) {
        self.tick += 1;
    }

    /// The current instruction waits.
    pub fn note_wait(&mut self) {
        self.last_wait = self.tick;
    }

    /// The tag of a guard that is read now.
    pub fn tag(&self, predicate: Lane, negated: bool) -> Option<GuardTag> {
        let predicate = tag_place(predicate)?;
        Some(GuardTag { predicate, negated, version: self.versions[usize::from(predicate)] })
    }

    /// The predicate changes: what ran under it is no longer known to exclude anything.
    pub fn redefine(&mut self, predicate: Lane) {
        if let Some(place) = tag_place(predicate) {
            self.versions[usize::from(place)] += 1;
        }
        if let Some(place) = conditions::place(predicate) {
            self.changed[usize::from(place)] = self.tick;
        }
    }

    /// The tag, if its predicate has not changed since.
    pub fn current(&self, tag: Option<GuardTag>) -> Option<GuardTag> {
        tag.filter(|tag| self.versions[usize::from(tag.predicate)] == tag.version)
    }

    /// Whether more was under way since the last call than is followed; some of it is forgotten then.
    pub fn was_crowded(&mut self) -> bool {
        if self.facts.len() >= MOST_UNDER_WAY {
            self.crowded = true;
            self.end_where(|_| true);
        }
        std::mem::take(&mut self.crowded)
    }

    /// Drops the dead, and what `over` answers to, when there are many.
    pub fn tidy(&mut self, over: impl Fn(&Fact) -> bool) {
        if self.facts.len() <= self.limit {
            return;
        }
        let mut facts = std::mem::take(&mut self.facts);
        for fact in &facts {
            if let Some(place) = dense(fact.lane) {
                self.heads[usize::from(place)] = NONE;
            }
        }
        facts.retain(|fact| !fact.dead && !over(fact));
        self.limit = TIDY.max(2 * facts.len());
        for fact in facts {
            self.link(fact);
        }
    }
}

/// The lowest scoreboard of a mask.
fn first_board(mask: u8) -> Option<u8> {
    (mask != 0).then(|| mask.trailing_zeros() as u8)
}

/// Whether two guards cannot both hold for one thread.
pub(super) fn exclude(a: Option<GuardTag>, b: Option<GuardTag>) -> bool {
    a.zip(b).is_some_and(|(a, b)| a.predicate == b.predicate && a.negated != b.negated)
}

fn tag_place(lane: Lane) -> Option<u8> {
    let base = match lane.class() {
        RegClass::Pred => 0,
        RegClass::UPred => 8,
        _ => return None,
    };
    (!lane.is_virtual() && lane.index() < 8).then(|| base + lane.index() as u8)
}
