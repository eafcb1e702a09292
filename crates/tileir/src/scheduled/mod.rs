//! A loop after scheduling, as agents that run beside each other and the pipes, mutexes, buffers and barriers between them.
//!
//! # What it means
//!
//! An *agent* is a group of warps that performs [`Step`]s one after the other: its prologue once, its steady steps
//! `n - lead` times, its epilogue once, where `n` is the number of trips and `lead` is [`AgentData::lead`]. If `n` is
//! less than [`Scheduled::short_below`], every agent performs its [`short`](AgentData::short) steps `n` times instead.
//! Every step is about one iteration of the original loop ([`At`]).
//!
//! A [`Action::Run`] starts an operation, which reads its operands where the step's [`Source`]s say. A synchronous one is complete when the step is; an asynchronous one completes
//! some time later, an in-order one after all of its kind that were started before it.
//!
//! *Fill* `j` of a [pipe](PipeData) is what its writers of iteration `j` write. It is *full* when all of them have
//! committed and completed; before the loop the fills `-initial ..= -1` are full. It is *free* when every reader that
//! reads it in one of the `n` iterations has released it and completed. The slots of a pipe are used in turn: each of its
//! values lives in a [buffer](BufferData), and fill `j` of the buffer's member `m` of `M` takes turn
//! `M * (j + shift) + m`, in slot `turn % depth`. A pipe without values takes turn `j + initial` of its own `depth`.
//!
//! * [`Action::Acquire`] waits until the fill that has the slot `depth` turns before is free; a reader that the acquiring
//!   operation replaces in place does not count;
//! * [`Action::Commit`] says that a writer will have written its part when it completes;
//! * [`Action::Wait`] waits until the fill that a reader reads is full;
//! * [`Action::Release`] says that a reader will have read its fill when it completes;
//! * [`Action::Lock`] waits until the mutex is free, [`Action::Unlock`] frees it when the operation completes.
//!
//! [Places](Place) say when things happen if nothing is late: operation `o` of iteration `i` starts in cycle
//! `ii * (i + stage) + row`, and iterations follow each other every `ii` cycles. A schedule without places says nothing of its
//! rate.
//!
//! Steps that cannot matter are left out: a pipe whose backing is [`Backing::Local`] has none at all, and a reader in
//! the agent of a synchronous writer does not wait. Slots are used and must be respected all the same.

pub(crate) mod text;

pub use crate::lex::TextError;
pub use text::{parse, print};

use crate::program::{Op, Operand, Persistent, Program, Storage, Value};
use cranelift_entity::{PrimaryMap, entity_impl};
use serde::Serialize;
use std::collections::HashMap;

/// A pipe of a [`Scheduled`] loop; printed as `Pipe_0`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pipe(u32);
entity_impl!(Pipe, "Pipe_");

/// A mutex of a [`Scheduled`] loop; printed as `Mutex_0`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mutex(u32);
entity_impl!(Mutex, "Mutex_");

/// A buffer of a [`Scheduled`] loop; printed as `buffer0`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Buffer(u32);
entity_impl!(Buffer, "buffer");

/// An agent of a [`Scheduled`] loop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Agent(u32);
entity_impl!(Agent, "agent");

/// How the loop's operations are given to warps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// One agent, one iteration after the other.
    None,
    /// One agent, iterations overlap.
    Unspecialize,
    /// Agents of their own for transfers, matrix units and the rest.
    WarpSpecialize,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Strategy; 3] = [Strategy::None, Strategy::Unspecialize, Strategy::WarpSpecialize];

    /// Its word in texts and options.
    pub fn word(self) -> &'static str {
        match self {
            Strategy::None => "none",
            Strategy::Unspecialize => "unspecialize",
            Strategy::WarpSpecialize => "warp-specialize",
        }
    }
}

/// What a pipe carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flavour {
    /// Nothing that takes turns in slots: an order, tokens, or values from before the loop, which stay where they are.
    Scalar,
    /// Tiles, in the slots of a buffer.
    Tile,
}

impl Flavour {
    /// Its word in texts.
    pub fn word(self) -> &'static str {
        match self {
            Flavour::Scalar => "scalar",
            Flavour::Tile => "tile",
        }
    }
}

/// What the two ends of a pipe meet at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backing {
    /// Nothing: the order of one agent's steps is enough.
    Local,
    /// Two barrier objects in shared memory per slot, one for full and one for free.
    Mbarrier,
    /// A numbered barrier of the block; only pipes without values that have bytes.
    NamedBarrier(u32),
}

/// Which input of an operation a reader of a pipe is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Input {
    /// An operand, by its position in the operation.
    Operand(u32),
    /// An order of the program, by its position in [`Program::orders`].
    Order(u32),
}

/// An input that is read through a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reader {
    /// The operation.
    pub op: Op,
    /// Its input.
    pub input: Input,
}

impl Reader {
    /// From how many iterations ago it reads; nothing if the program has no such input.
    pub fn distance(self, program: &Program) -> Option<u32> {
        match self.input {
            Input::Operand(i) => Some(program.ops.get(self.op)?.operands.get(i as usize)?.distance),
            Input::Order(i) => Some(program.orders.get(i as usize)?.distance),
        }
    }
}

/// A pipe; see the module's comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipeData {
    /// What it carries.
    pub flavour: Flavour,
    /// The operations that write each fill together. None for values from before the loop: then every fill is full.
    pub writers: Vec<Op>,
    /// The values it carries: origins, or parts of one that are handed over apart. What a pipe carries no other one does.
    pub values: Vec<Value>,
    /// Who reads it.
    pub readers: Vec<Reader>,
    /// Slots.
    pub depth: u32,
    /// Fills from before the loop.
    pub initial: u32,
    /// What its ends meet at.
    pub backing: Backing,
    /// The stage of its first writer (of its reader if it has none).
    pub stage: u32,
    /// The order of that operation.
    pub order: u32,
}

impl PipeData {
    /// How many fills a writer may be ahead of the slowest reader: one less than there are slots, since the writer needs one
    /// of them itself.
    pub fn slack(&self) -> u32 {
        self.depth.saturating_sub(1)
    }
}

/// Storage for the values of pipes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferData {
    /// Where.
    pub storage: Storage,
    /// Bytes of a slot.
    pub bytes: u64,
    /// The type of the elements.
    pub element: String,
    /// Slots.
    pub depth: u32,
    /// Its first byte within the storage.
    pub offset: u64,
    /// Whose values it holds, in the order of their turns.
    pub members: Vec<Member>,
}

/// A value that lives in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The pipe that carries it.
    pub pipe: Pipe,
    /// The value.
    pub value: Value,
    /// What is added to an iteration for its turn.
    pub shift: u32,
}

/// A mutex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MutexData {
    /// The program's mutex that it stands for.
    pub of: crate::program::Mutex,
    /// The named barrier behind it.
    pub barrier: u32,
    /// The stage of its first operation.
    pub stage: u32,
    /// The order of that operation.
    pub order: u32,
}

impl MutexData {
    /// How many operations may be ahead of who holds it: none.
    pub const SLACK: u32 = 0;
}

/// Which iteration a step is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// What is counted from.
    pub base: Base,
    /// How far.
    pub offset: i64,
}

/// What [`At`] counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// The first iteration: in prologues.
    First,
    /// How often the steady or short steps have been performed before: in those.
    Round,
    /// The number of trips: in epilogues.
    Trips,
}

impl At {
    /// The iteration, in a round of a loop of so many trips.
    pub fn iteration(self, round: u64, trips: u64) -> i64 {
        let base = match self.base {
            Base::First => 0,
            Base::Round => round as i64,
            Base::Trips => trips as i64,
        };
        base.saturating_add(self.offset)
    }
}

/// What a step does; see the module's comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Waits for a free slot.
    Acquire(Pipe),
    /// Starts an operation.
    Run(Op),
    /// Publishes a writer's part of a fill.
    Commit(Pipe, Op),
    /// Waits for a full slot.
    Wait(Pipe, Reader),
    /// Gives a slot back.
    Release(Pipe, Reader),
    /// Enters a mutex for an operation.
    Lock(Mutex, Op),
    /// Leaves it.
    Unlock(Mutex, Op),
}

/// A step of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What is done.
    pub action: Action,
    /// For which iteration.
    pub at: At,
    /// For a run, where it reads each operand; nothing for one that no pipe hands on. Empty for all other steps.
    pub sources: Vec<Option<Source>>,
}

/// Where an operand is read: a fill of a pipe, and the turn of the buffer that it is in. The operation itself knows values and
/// distances; in a region where stages work on different iterations this is what is left of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The pipe.
    pub pipe: Pipe,
    /// The fill, counted from what the step's iteration is counted from.
    pub fill: i64,
    /// Where it is; nothing for what has no storage.
    pub turn: Option<Turn>,
}

/// A turn of a buffer: `times` what a step counts from, and `plus`. The slot is the turn modulo the buffer's depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The buffer.
    pub buffer: Buffer,
    /// Turns between two iterations; 0 in prologues, where iterations are numbers.
    pub times: u32,
    /// What is added.
    pub plus: i64,
}

/// Where operands are, looked up once per loop.
pub struct Sources<'a> {
    program: &'a Program,
    /// For every reader its pipe and, where its value has storage, the buffer, its members, and the turn of fill 0.
    of: HashMap<Reader, (Pipe, Option<Ring>)>,
}

/// A value's place: the buffer, how many values it holds, the turn of fill 0.
type Ring = (Buffer, u32, i64);

impl<'a> Sources<'a> {
    /// From pipes and buffers. Linear in both.
    pub fn new(program: &'a Program, scheduled: &Scheduled) -> Sources<'a> {
        let mut places = HashMap::new();
        for (buffer, b) in scheduled.buffers.iter() {
            let apart = b.members.len() as u32;
            for (m, member) in (0..).zip(&b.members) {
                let first = i64::from(apart) * i64::from(member.shift) + m;
                places.entry((member.pipe, member.value)).or_insert((buffer, apart, first));
            }
        }
        let mut of = HashMap::new();
        for (pipe, p) in scheduled.pipes.iter() {
            for &reader in &p.readers {
                let Input::Operand(i) = reader.input else { continue };
                let Some(o) = program.ops.get(reader.op).and_then(|d| d.operands.get(i as usize)) else {
                    continue;
                };
                // The operand, or what it is part of.
                let mut at = Some(o.value);
                let mut place = None;
                for _ in 0..=program.values.len() {
                    let Some(v) = at.filter(|_| place.is_none()) else { break };
                    place = places.get(&(pipe, v)).copied();
                    at = program.values[v].part_of;
                }
                of.insert(reader, (pipe, place));
            }
        }
        Sources { program, of }
    }

    /// Where an operation reads its operands when it is run for an iteration.
    pub fn of(&self, op: Op, at: At) -> Vec<Option<Source>> {
        let Some(data) = self.program.ops.get(op) else { return Vec::new() };
        let source = |(i, operand): (u32, &Operand)| {
            let &(pipe, place) = self.of.get(&Reader { op, input: Input::Operand(i) })?;
            let fill = at.offset.saturating_sub(operand.distance.into());
            let turn = place.map(|(buffer, apart, first)| Turn {
                buffer,
                times: if at.base == Base::First { 0 } else { apart },
                plus: i64::from(apart).saturating_mul(fill).saturating_add(first),
            });
            Some(Source { pipe, fill, turn })
        };
        (0..).zip(&data.operands).map(source).collect()
    }
}

/// Warps that run one list of steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentData {
    /// Its name.
    pub name: String,
    /// How many warps.
    pub warps: u32,
    /// How many rounds of the steady steps its prologue and epilogue replace.
    pub lead: u32,
    /// Steps before the steady ones.
    pub prologue: Vec<Step>,
    /// Steps of each round.
    pub steady: Vec<Step>,
    /// Steps after them.
    pub epilogue: Vec<Step>,
    /// Steps of one iteration where there are too few of them for the others.
    pub short: Vec<Step>,
}

/// The loop over output tiles around the loop, with an index wide enough for it: `index = cluster; while index < count { tile of
/// index; index += step }` in every cluster.
///
/// For each tile all agents perform the loop from its prologue to its epilogue. Between two tiles they meet, and pipes are
/// drained: whatever was filled has been read, all slots are free, fills begin at 0 again. So what is right for one tile is
/// right for all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TileLoop {
    /// What it was built from.
    pub shape: Persistent,
    /// Tiles in each dimension.
    pub tiles: Vec<u64>,
    /// All tiles; the index runs from the cluster's number to this, exclusive.
    pub count: u64,
    /// What a cluster adds to its index: the number of clusters.
    pub step: u64,
    /// Bits of the index.
    pub index_bits: u32,
    /// How the index makes the coordinates of the cluster's first tile, dimension by dimension; not used where `work` says
    /// which tiles there are.
    pub coordinates: Vec<Coordinate>,
    /// The tiles that the index stands for, where the source says which.
    pub work: Vec<WorkTile>,
}

/// A coordinate: `index / over % of * times`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Coordinate {
    /// What the index is divided by.
    pub over: u64,
    /// Clusters in this dimension.
    pub of: u64,
    /// Tiles of a cluster in this dimension.
    pub times: u64,
}

/// Coordinates of one work tile in the one representation that everything after uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkTile {
    /// Tile coordinates, one per dimension.
    pub coordinates: Vec<u64>,
    /// Whether there is such a tile.
    pub valid: bool,
}

impl TileLoop {
    /// Coordinates from an index: dimension 0 varies fastest, as grids do.
    pub fn coordinates_of(shape: &Persistent, tiles: &[u64]) -> Vec<Coordinate> {
        let mut over = 1u64;
        let dimension = |(&tiles, &cluster): (&u64, &u64)| {
            let of = (tiles / cluster.max(1)).max(1);
            let made = Coordinate { over, of, times: cluster };
            over = over.saturating_mul(of);
            made
        };
        tiles.iter().zip(&shape.cluster).map(dimension).collect()
    }

    /// The work tile of an index.
    pub fn work_tile(&self, index: u64) -> WorkTile {
        let listed = usize::try_from(index).ok().and_then(|i| self.work.get(i));
        listed.cloned().unwrap_or_else(|| WorkTile {
            coordinates: self.coordinates.iter().map(|c| index / c.over % c.of * c.times).collect(),
            valid: index < self.count && self.work.is_empty(),
        })
    }
}

/// Bytes of a barrier object: two for each slot of a pipe with [`Backing::Mbarrier`].
pub const BARRIER_BYTES: u64 = 8;

/// Bytes of shared memory that hold barrier objects and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BarrierArea {
    /// The first.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
}

/// When an operation starts; see the module's comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Whole intervals after its iteration begins.
    pub stage: u32,
    /// Cycles after that, fewer than the interval.
    pub row: u32,
    /// Its position among all operations by stage and row.
    pub order: u32,
}

/// A scheduled loop; see the module's comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheduled {
    /// The program's name.
    pub name: String,
    /// Cycles between the starts of two iterations.
    pub ii: u32,
    /// Iterations under way at once.
    pub stages: u32,
    /// How operations were given to agents.
    pub strategy: Strategy,
    /// Set where iterations run one after the other because no generator found a schedule in which they overlap, or none whose
    /// buffers fit.
    pub trivial: bool,
    /// Below so many trips the short steps are performed.
    pub short_below: u64,
    /// When operations start, by their numbers; empty where nothing is said.
    pub places: Vec<Place>,
    /// Pipes.
    pub pipes: PrimaryMap<Pipe, PipeData>,
    /// Mutexes.
    pub mutexes: PrimaryMap<Mutex, MutexData>,
    /// Buffers.
    pub buffers: PrimaryMap<Buffer, BufferData>,
    /// Agents.
    pub agents: PrimaryMap<Agent, AgentData>,
    /// Where barrier objects are; a schedule that does not say leaves that to whoever runs it.
    pub barriers: Option<BarrierArea>,
    /// The loop around it.
    pub tile_loop: Option<TileLoop>,
}

impl Scheduled {
    /// Says for every run where its operands are, by pipes and buffers as they are now.
    pub fn set_sources(&mut self, program: &Program) {
        let sources = Sources::new(program, self);
        self.runs_mut().for_each(|(op, step)| step.sources = sources.of(op, step.at));
    }

    /// All steps that run something.
    pub(crate) fn runs_mut(&mut self) -> impl Iterator<Item = (Op, &mut Step)> {
        self.agents.values_mut().flat_map(|a| {
            let parts = [&mut a.prologue, &mut a.steady, &mut a.epilogue, &mut a.short];
            parts.into_iter().flatten().filter_map(|step| match step.action {
                Action::Run(op) => Some((op, step)),
                _ => None,
            })
        })
    }

    /// Bytes of a storage that all buffers take together, where they lie.
    pub fn bytes(&self, storage: Storage) -> u64 {
        let ends = self.buffers.values().filter(|b| b.storage == storage);
        ends.map(|b| b.offset.saturating_add(b.bytes.saturating_mul(b.depth.into()))).max().unwrap_or(0)
    }
}
