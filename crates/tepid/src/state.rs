//! What may be under way at one point of the code, for the pass that places waits and stalls.
//!
//! Inside a block nothing is searched: an instruction has a number, a wait notes its number with its scoreboards, and
//! whether something is over is told by comparing numbers.

use crate::code::Touch;
use fixedbitset::FixedBitSet;
use sassafras_ir::Inst;
use sassafras_machine::mined::seen::REACH;
use smallvec::SmallVec;
use std::cmp::Ordering;

/// The scoreboards.
pub const BOARDS: usize = 6;
/// How many queues there may be.
const QUEUES: usize = 16;
/// Longer than any fixed latency.
pub const HORIZON: i32 = 64;
const NONE: u8 = 7;

/// The guard of an instruction as long as its predicate has not changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The predicate's place among [`State::versions`].
    pub predicate: u8,
    /// Runs when it is clear.
    pub negated: bool,
    /// How often the predicate had changed.
    pub version: u32,
}

/// A result, or the reading of a source, that may not be over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    pub lane: u16,
    pub producer: Inst,
    /// A result; else the reading of a source.
    pub write: bool,
    pub high: bool,
    /// Waits for a scoreboard; else for cycles.
    pub guarded: bool,
    /// The scoreboard that it is counted for, 7 for none.
    pub board: u8,
    /// All scoreboards of the instruction that end it.
    pub own: u8,
    /// Scoreboards of later instructions that end it, from the blocks before.
    pub cover: u8,
    pub queue: u8,
    pub issued: i32,
    pub number: u32,
    /// How often `board` had been set, the instruction itself included.
    pub count: i32,
    pub tag: Option<Tag>,
}

/// The state at the end of a block, clocks counted from there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exit {
    /// By lane, producer and kind.
    pub pending: Vec<Pending>,
    /// When each scoreboard was last set.
    pub set: [Option<i32>; BOARDS],
    /// When each pipe takes the next instruction.
    pub free: [i32; crate::fields::PIPES],
    /// When everything has settled.
    pub settled: i32,
    /// By lane: until when sources may still be read.
    pub reading: Vec<(u16, Reading)>,
    /// The last instructions that others keep a distance from, by instruction, each with its time.
    pub recent: Vec<(Inst, i32)>,
}

/// Until when a lane may still be read by instructions of fixed latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Instructions of fixed latency may overwrite it from here on.
    pub fixed: i32,
    /// Those that take their time may.
    pub varying: i32,
}

impl Exit {
    /// The worst of two.
    pub fn merge(&mut self, other: &Exit) {
        let merged = Vec::with_capacity(self.pending.len().max(other.pending.len()));
        let ours = std::mem::replace(&mut self.pending, merged);
        let (mut a, mut b) = (ours.into_iter().peekable(), other.pending.iter().copied().peekable());
        let key = |p: &Pending| (p.lane, p.producer, p.write);
        loop {
            let next = match (a.peek(), b.peek()) {
                (None, None) => break,
                (Some(_), None) => a.next(),
                (None, Some(_)) => b.next(),
                (Some(x), Some(y)) if key(x) < key(y) => a.next(),
                (Some(x), Some(y)) if key(x) > key(y) => b.next(),
                _ => a.next().zip(b.next()).map(|(x, y)| Pending {
                    cover: x.cover & y.cover,
                    issued: x.issued.max(y.issued),
                    count: x.count.max(y.count),
                    tag: x.tag.filter(|_| x.tag == y.tag),
                    ..x
                }),
            };
            self.pending.extend(next);
        }
        for (ours, theirs) in self.set.iter_mut().zip(other.set) {
            *ours = (*ours).max(theirs);
        }
        self.settled = self.settled.max(other.settled);
        merge_sorted(&mut self.reading, &other.reading, |ours, theirs| Reading {
            fixed: ours.fixed.max(theirs.fixed),
            varying: ours.varying.max(theirs.varying),
        });
        merge_sorted(&mut self.recent, &other.recent, i32::max);
        for (ours, theirs) in self.free.iter_mut().zip(other.free) {
            *ours = (*ours).max(theirs);
        }
    }
}

/// Merges lists in the order of their keys.
fn merge_sorted<K: Copy + Ord, V: Copy>(ours: &mut Vec<(K, V)>, theirs: &[(K, V)], both: impl Fn(V, V) -> V) {
    if theirs.is_empty() {
        return;
    }
    let merged = Vec::with_capacity(ours.len() + theirs.len());
    let (mut old, mut new) =
        (std::mem::replace(ours, merged).into_iter().peekable(), theirs.iter().peekable());
    while let (Some(&(key, value)), Some(&&(other, theirs))) = (old.peek(), new.peek()) {
        ours.push(match key.cmp(&other) {
            Ordering::Less => (key, value),
            Ordering::Equal => (key, both(value, theirs)),
            Ordering::Greater => (other, theirs),
        });
        old.next_if(|_| key <= other);
        new.next_if(|_| other <= key);
    }
    ours.extend(old);
    ours.extend(new.copied());
}

/// The state inside a block.
pub struct State {
    lanes: Vec<SmallVec<[Pending; 2]>>,
    /// Lanes that something was ever under way on.
    touched: FixedBitSet,
    /// By scoreboard: the number of the last instruction that waited for it.
    waited: [u32; BOARDS],
    /// By kind and queue: what has a smaller number is over.
    passed: [[u32; QUEUES]; 2],
    /// By kind, queue and scoreboard: the number of the last instruction of the queue that set it.
    setters: [[[u32; BOARDS]; QUEUES]; 2],
    /// How often each scoreboard was set in this block.
    sets: [i32; BOARDS],
    /// What was counted up to here is over.
    counted: [i32; BOARDS],
    /// When each scoreboard was last set.
    pub set: [Option<i32>; BOARDS],
    /// When each pipe takes the next instruction.
    pub free: [i32; crate::fields::PIPES],
    /// When everything has settled.
    pub settled: i32,
    reading: Vec<Reading>,
    /// Lanes that were ever read.
    read: FixedBitSet,
    /// How often each predicate has changed in this block: eight of each file.
    pub versions: [u32; 16],
    /// The instruction's number.
    pub number: u32,
    /// Instructions of the last cycles, in order.
    pub recent: Vec<Recent>,
    /// Those of them that keep others at a distance.
    pub sensitive: Vec<Recent>,
}

/// An instruction of the last cycles.
#[derive(Clone, Copy, Debug)]
pub struct Recent {
    /// Which.
    pub inst: Inst,
    /// When it was issued.
    pub at: i32,
    /// Whether it keeps others at a distance.
    pub sensitive: bool,
}

impl State {
    pub fn new(lanes: usize) -> State {
        State {
            lanes: vec![SmallVec::new(); lanes],
            touched: FixedBitSet::with_capacity(lanes),
            waited: [0; BOARDS],
            passed: [[0; QUEUES]; 2],
            setters: [[[0; BOARDS]; QUEUES]; 2],
            sets: [0; BOARDS],
            counted: [i32::MIN; BOARDS],
            set: [None; BOARDS],
            free: [0; crate::fields::PIPES],
            settled: 0,
            reading: vec![Reading::default(); lanes],
            read: FixedBitSet::with_capacity(lanes),
            versions: [0; 16],
            number: 0,
            recent: Vec::new(),
            sensitive: Vec::new(),
        }
    }

    /// Makes room for so many lanes.
    pub fn fit(&mut self, lanes: usize) {
        if self.lanes.len() < lanes {
            self.lanes.resize(lanes, SmallVec::new());
            self.reading.resize(lanes, Reading::default());
            self.touched.grow(lanes);
            self.read.grow(lanes);
        }
    }

    /// An instruction goes.
    pub fn issue(&mut self, inst: Inst, clock: i32, sensitive: bool) {
        let reach = i32::from(REACH);
        for recent in [&mut self.recent, &mut self.sensitive] {
            if recent.len() >= 64 {
                recent.retain(|recent| clock - recent.at < reach);
            }
        }
        let recent = Recent { inst, at: clock, sensitive };
        self.recent.push(recent);
        if sensitive {
            self.sensitive.push(recent);
        }
    }

    /// Starts a block.
    pub fn enter(&mut self, entry: &Exit) {
        self.clear();
        (self.set, self.free, self.settled) = (entry.set, entry.free, entry.settled);
        let before = entry.recent.iter().map(|&(inst, at)| Recent { inst, at, sensitive: true });
        self.recent.extend(before);
        self.recent.sort_by_key(|recent| recent.at);
        self.sensitive.clone_from(&self.recent);
        for &(lane, reading) in &entry.reading {
            self.reading[usize::from(lane)] = reading;
            self.read.insert(usize::from(lane));
        }
        for &pending in &entry.pending {
            self.touched.insert(usize::from(pending.lane));
            self.lanes[usize::from(pending.lane)].push(pending);
        }
    }

    /// Nothing is under way.
    pub fn clear(&mut self) {
        self.touched.ones().for_each(|lane| self.lanes[lane].clear());
        self.touched.clear();
        self.read.ones().for_each(|lane| self.reading[lane] = Reading::default());
        self.read.clear();
        self.waited = [0; BOARDS];
        self.passed = [[0; QUEUES]; 2];
        self.setters = [[[0; BOARDS]; QUEUES]; 2];
        self.sets = [0; BOARDS];
        self.counted = [i32::MIN; BOARDS];
        self.set = [None; BOARDS];
        self.free = [0; crate::fields::PIPES];
        self.settled = 0;
        self.versions = [0; 16];
        self.number = 0;
        self.recent.clear();
        self.sensitive.clear();
    }

    /// A lane is read by an instruction of fixed latency.
    pub fn read(&mut self, lane: u16, until: Reading) {
        let reading = &mut self.reading[usize::from(lane)];
        reading.fixed = reading.fixed.max(until.fixed);
        reading.varying = reading.varying.max(until.varying);
        self.read.insert(usize::from(lane));
    }

    /// Until when a lane may still be read.
    pub fn reading(&self, lane: u16) -> Reading {
        self.reading[usize::from(lane)]
    }

    /// What was ever under way on a lane.
    pub fn on(&self, lane: u16) -> &[Pending] {
        &self.lanes[usize::from(lane)]
    }

    /// Whether something guarded is over.
    pub fn is_over(&self, p: &Pending) -> bool {
        let waited = |mask: u8| boards(mask).any(|b| self.waited[b] > p.number);
        let passed = p.queue != 0 && self.passed[usize::from(p.write)][usize::from(p.queue)] > p.number;
        passed || waited(p.own | p.cover) || p.board < NONE && self.counted[usize::from(p.board)] >= p.count
    }

    /// Scoreboards of later instructions that end it.
    pub fn cover(&self, p: &Pending) -> u8 {
        if p.queue == 0 {
            return p.cover;
        }
        let setters = &self.setters[usize::from(p.write)][usize::from(p.queue)];
        (0..BOARDS).filter(|&b| setters[b] > p.number).fold(p.cover, |mask, b| mask | 1 << b)
    }

    /// The present instruction waits for scoreboards.
    pub fn wait(&mut self, mask: u8) {
        for b in boards(mask) {
            self.waited[b] = self.number;
            for kind in 0..2 {
                for queue in 0..QUEUES {
                    let setter = self.setters[kind][queue][b];
                    self.passed[kind][queue] = self.passed[kind][queue].max(setter);
                }
            }
        }
    }

    /// The present instruction waits until at most `left` of those that set the scoreboard are under way.
    pub fn count_down(&mut self, board: u8, left: u8) {
        let b = usize::from(board);
        self.counted[b] = self.counted[b].max(self.sets[b] - i32::from(left));
    }

    /// The present instruction sets scoreboards, at `clock`. Queues are those of its sources and of its results.
    pub fn set(&mut self, write: Option<u8>, read: Option<u8>, reads: u8, returns: u8, clock: i32) {
        for board in [write, read].into_iter().flatten() {
            let b = usize::from(board);
            self.sets[b] += 1;
            self.set[b] = Some(clock);
            self.setters[0][usize::from(reads)][b] = self.number;
        }
        if let Some(board) = write {
            self.setters[1][usize::from(returns)][usize::from(board)] = self.number;
        }
    }

    /// How often a scoreboard was set in this block.
    pub fn sets(&self, board: Option<u8>) -> i32 {
        board.map_or(0, |b| self.sets[usize::from(b)])
    }

    /// A lane is surely overwritten.
    pub fn overwrite(&mut self, lane: u16) {
        self.lanes[usize::from(lane)].clear();
    }

    /// Something is under way.
    pub fn add(&mut self, pending: Pending) {
        let list = &mut self.lanes[usize::from(pending.lane)];
        // Who reads later in the same queue has read when the others have.
        let implied = |p: &Pending| {
            !p.write && !pending.write && pending.queue != 0 && p.queue == pending.queue && p.guarded
        };
        let unguarded = pending.tag.is_none();
        list.retain(|p| {
            (p.producer, p.write) != (pending.producer, pending.write) && !(unguarded && implied(p))
        });
        if list.len() >= 8 {
            let now = pending.issued;
            list.retain(|p| p.guarded || now - p.issued < HORIZON);
        }
        list.push(pending);
        self.touched.insert(usize::from(pending.lane));
    }

    /// The tag, if its predicate has not changed since.
    pub fn current(&self, tag: Option<Tag>) -> Option<Tag> {
        tag.filter(|tag| self.versions[usize::from(tag.predicate)] == tag.version)
    }

    /// All that is guarded and not over.
    pub fn guarded(&self) -> Vec<Pending> {
        let all = self.touched.ones().flat_map(|lane| &self.lanes[lane]);
        all.filter(|p| p.guarded && !self.is_over(p)).copied().collect()
    }

    /// The state as a block that follows sees it.
    pub fn leave(&self, clock: i32) -> Exit {
        let most = self.touched.ones().map(|lane| self.lanes[lane].len()).sum();
        let mut pending: Vec<Pending> = Vec::with_capacity(most);
        for lane in self.touched.ones() {
            for p in &self.lanes[lane] {
                let over = if p.guarded { self.is_over(p) } else { clock - p.issued >= HORIZON };
                if over {
                    continue;
                }
                let sets = if p.board < NONE { self.sets[usize::from(p.board)] } else { 0 };
                pending.push(Pending {
                    cover: self.cover(p),
                    // Guarded ones do not count cycles, and states must settle.
                    issued: if p.guarded { 0 } else { p.issued - clock },
                    number: 0,
                    count: if p.board < NONE { (p.count - sets).max(-64) } else { 0 },
                    tag: self.current(p.tag).map(|tag| Tag { version: 0, ..tag }),
                    ..*p
                });
            }
        }
        pending.sort_unstable_by_key(|p| (p.lane, p.producer, p.write));
        Exit {
            pending,
            set: self.set.map(|at| at.map(|at| at - clock).filter(|&at| at > -HORIZON)),
            free: self.free.map(|at| (at - clock).max(0)),
            settled: (self.settled - clock).max(0),
            reading: self.still_reading(clock),
            recent: self.still_recent(clock),
        }
    }
}

impl State {
    fn still_recent(&self, clock: i32) -> Vec<(Inst, i32)> {
        let near = |recent: &&Recent| recent.sensitive && clock - recent.at < i32::from(REACH);
        let near = self.recent.iter().filter(near);
        let mut recent: Vec<_> = near.map(|recent| (recent.inst, recent.at - clock)).collect();
        recent.sort_unstable_by_key(|&(inst, at)| (inst, -at));
        recent.dedup_by_key(|(inst, _)| *inst);
        recent
    }

    fn still_reading(&self, clock: i32) -> Vec<(u16, Reading)> {
        let left = |lane: usize| {
            let Reading { fixed, varying } = self.reading[lane];
            let left = Reading { fixed: (fixed - clock).max(0), varying: (varying - clock).max(0) };
            (left != Reading::default()).then_some((lane as u16, left))
        };
        self.read.ones().filter_map(left).collect()
    }
}

/// The scoreboards of a mask.
pub fn boards(mask: u8) -> impl Iterator<Item = usize> {
    (0..BOARDS).filter(move |b| mask >> b & 1 == 1)
}

/// Whether two guards cannot both hold for one thread.
pub fn exclude(a: Option<Tag>, b: Option<Tag>) -> bool {
    a.zip(b).is_some_and(|(a, b)| a.predicate == b.predicate && a.negated != b.negated)
}

/// Whether a touch is of a predicate that may guard; its place among the versions.
pub fn predicate_place(touch: &Touch) -> Option<u8> {
    (512..528).contains(&touch.lane).then(|| (touch.lane - 512) as u8)
}
