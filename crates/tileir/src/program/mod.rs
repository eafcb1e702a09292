//! A loop of tile operations as a scheduling problem.
//!
//! A [`Program`] says what one iteration computes and what each operation holds of the machine, not when anything runs:
//!
//! * *values* ([`ValueData`]) are tiles with a place (registers, shared memory, tensor memory) and a size. A value may be
//!   part of another one: its *origin* is the value at the end of that chain, and storage belongs to origins;
//! * *operations* ([`OpData`]) read values of this or of an earlier iteration and define others. An operand that is *in
//!   place* is overwritten by the operation's result (accumulators), or may be ([`Accumulators::permits`]);
//! * *orders* ([`Order`]) are dependences without a value; *mutexes* ([`MutexData`]) are operations that must not overlap;
//! * *resources* have a capacity; operations hold units of them for some cycles ([`Hold`]).
//!
//! Operation `o` of iteration `i` that reads value `v` with distance `d` reads what iteration `i - d` defined, or, for
//! `i < d`, a value from before the loop. A value that no operation defines is from before the loop in every iteration.
//!
//! After the loop nothing is wanted but the program's [outs](Out).
//!
//! [`text`] is the readable form; [`Program::check`] says what makes no sense.

mod accumulators;
mod check;
pub mod text;

pub use accumulators::Accumulators;
pub use check::ProgramError;
pub use text::{TextError, parse, print};

use cranelift_entity::{PrimaryMap, entity_impl};
use serde::{Deserialize, Serialize};
use std::fmt;

/// An operation of a [`Program`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Op(u32);
entity_impl!(Op, "op");

/// A value of a [`Program`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(u32);
entity_impl!(Value, "value");

/// A resource of a [`Program`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource(u32);
entity_impl!(Resource, "resource");

/// A mutex of a [`Program`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mutex(u32);
entity_impl!(Mutex, "mutex");

/// Where a value lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Storage {
    /// Registers of the warps that compute it: other agents cannot see it.
    Register,
    /// Shared memory.
    Shared,
    /// Tensor memory (sm_100 and later).
    Tensor,
}

impl Storage {
    /// All of them.
    pub const ALL: [Storage; 3] = [Storage::Register, Storage::Shared, Storage::Tensor];

    /// Its word in texts.
    pub fn word(self) -> &'static str {
        match self {
            Storage::Register => "register",
            Storage::Shared => "shared",
            Storage::Tensor => "tensor",
        }
    }
}

impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueData {
    /// Unique within the program.
    pub name: String,
    /// Where it lives.
    pub storage: Storage,
    /// Its size; 0 for tokens.
    pub bytes: u64,
    /// The type of its elements, as the source names it.
    pub element: String,
    /// The value that this is a part of.
    pub part_of: Option<Value>,
}

/// A read of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// What is read.
    pub value: Value,
    /// From how many iterations ago.
    pub distance: u32,
    /// Whether the operation's result takes the place of what is read: in a chain of [`Accumulators`] it does, elsewhere it
    /// may.
    pub in_place: bool,
}

/// A part of a reservation pattern: `units` of `resource` for `rows`
/// cycles, `start` cycles after the operation's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// What is held.
    pub resource: Resource,
    /// The first cycle, from the operation's start.
    pub start: u32,
    /// For how many cycles.
    pub rows: u32,
    /// How many units.
    pub units: u32,
}

/// How an operation runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Execution {
    /// The warps that start it do its work: while it holds anything they start nothing else, and they wait for it where
    /// they need its result.
    Sync,
    /// It is started and completes by itself, in any order with others (TMA transfers).
    Async,
    /// It is started and completes by itself, after all of its kind that were started before (matrix units).
    InOrder,
}

impl Execution {
    /// Its word in texts.
    pub fn word(self) -> &'static str {
        match self {
            Execution::Sync => "sync",
            Execution::Async => "async",
            Execution::InOrder => "in-order",
        }
    }
}

/// What sources may say about an operation's schedule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// `nv_tile.aws.stage`: the stage it must be in.
    pub stage: Option<u32>,
    /// `nv_tile.aws.order`: its position within the stage, among those that have one.
    pub order: Option<u32>,
    /// `tileas.schedule.constraint.gid`: its group.
    pub gid: Option<u32>,
    /// `tileas.schedule.constraint.leader_gid`: the group that its group follows.
    pub leader_gid: Option<u32>,
    /// `tileas.schedule.constraint.max_depth`: how many slots its results may have.
    pub max_depth: Option<u32>,
    /// `tileas.schedule.constraint.force_serial_execution`.
    pub serial: bool,
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpData {
    /// Unique within the program.
    pub name: String,
    /// What it does: `tma_load`, `wgmma`, `simt`, ... Operations of one in-order kind share a queue.
    pub kind: String,
    /// What it reads.
    pub operands: Vec<Operand>,
    /// What it defines.
    pub results: Vec<Value>,
    /// Cycles from its start until its results are there and its operands have been read.
    pub latency: u32,
    /// How it runs.
    pub execution: Execution,
    /// What it holds.
    pub holds: Vec<Hold>,
    /// What sources say about its schedule.
    pub attributes: Attributes,
}

/// A dependence without a value: `to` of iteration `i + distance` starts at least `latency` cycles after `from` of
/// iteration `i`, and not before that one has completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// What comes first.
    pub from: Op,
    /// What waits.
    pub to: Op,
    /// Cycles between the starts.
    pub latency: u32,
    /// Iterations between the two.
    pub distance: u32,
}

/// A value that is wanted after the loop: what the last iteration defined, or one so many iterations before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Out {
    /// What is wanted.
    pub value: Value,
    /// From how many iterations before the last.
    pub distance: u32,
}

/// Operations of which no two may be under way at once, of the same or of different iterations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MutexData {
    /// Unique within the program.
    pub name: String,
    /// Those that exclude each other.
    pub ops: Vec<Op>,
}

/// A resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceData {
    /// Unique within the program.
    pub name: String,
    /// Units that can be held at once.
    pub capacity: u32,
}

/// The loop over output tiles that a persistent kernel puts around the loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Persistent {
    /// Elements of the problem in each dimension.
    pub problem: Vec<u64>,
    /// Elements of a tile in each dimension.
    pub tile: Vec<u64>,
    /// Blocks of a cluster in each dimension.
    pub cluster: Vec<u64>,
}

/// A work tile as a source gives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Descriptor {
    /// Asynchronous values: one per coordinate, and whether there is such a tile.
    Async {
        /// The coordinates.
        coordinates: Vec<u64>,
        /// Whether there is such a tile.
        valid: bool,
    },
    /// In the manner of CUTLASS: row, column, batch, and whether there is such a tile.
    Cutlass {
        /// Row of tiles.
        m: u64,
        /// Column of tiles.
        n: u64,
        /// Batch.
        l: u64,
        /// Whether there is such a tile.
        valid: bool,
    },
}

/// A loop; see the module's comment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// The architecture that holds and latencies are for, such as `sm_90`.
    pub arch: Option<String>,
    /// How often it runs, where that is known.
    pub trips: Option<u64>,
    /// Whether the source forbids overlap (`force_serial_execution` on the loop).
    pub serial: bool,
    /// The loop around it.
    pub persistent: Option<Persistent>,
    /// The tiles that the loop around it works on, where the source says which; all of them otherwise.
    pub work_tiles: Vec<Descriptor>,
    /// Budgets that differ from the architecture's, in bytes.
    pub budgets: Vec<(Storage, u64)>,
    /// Resources.
    pub resources: PrimaryMap<Resource, ResourceData>,
    /// Values.
    pub values: PrimaryMap<Value, ValueData>,
    /// Operations, in program order.
    pub ops: PrimaryMap<Op, OpData>,
    /// Dependences without values.
    pub orders: Vec<Order>,
    /// Mutexes.
    pub mutexes: PrimaryMap<Mutex, MutexData>,
    /// What is wanted after the loop.
    pub outs: Vec<Out>,
}

impl Program {
    /// An empty loop.
    pub fn new(name: impl Into<String>) -> Program {
        Program { name: name.into(), ..Program::default() }
    }

    /// The value whose storage `value` is in: the end of the chain of [`ValueData::part_of`].
    pub fn origin(&self, value: Value) -> Value {
        let mut at = value;
        // A chain is at most as long as there are values; `check` refuses circles.
        for _ in 0..self.values.len() {
            match self.values[at].part_of {
                Some(whole) => at = whole,
                None => break,
            }
        }
        at
    }

    /// Whether a value is another one or a part of it.
    pub fn is_within(&self, value: Value, whole: Value) -> bool {
        let mut at = Some(value);
        // As in `origin`.
        for _ in 0..=self.values.len() {
            match at {
                Some(v) if v == whole => return true,
                Some(v) => at = self.values[v].part_of,
                None => return false,
            }
        }
        false
    }

    /// The operation that defines each value, if one does.
    pub fn definitions(&self) -> cranelift_entity::SecondaryMap<Value, Option<Op>> {
        let mut by = cranelift_entity::SecondaryMap::with_capacity(self.values.len());
        for (op, data) in self.ops.iter() {
            for &v in &data.results {
                by[v] = Some(op);
            }
        }
        by
    }

    /// From how many iterations before the last a value's storage is wanted after the loop: the most, if it is.
    pub fn wanted_after(&self, value: Value) -> Option<u32> {
        let origin = self.origin(value);
        self.outs.iter().filter(|o| self.origin(o.value) == origin).map(|o| o.distance).max()
    }

    /// An operation by its name.
    pub fn op(&self, name: &str) -> Option<Op> {
        self.ops.iter().find(|(_, o)| o.name == name).map(|(op, _)| op)
    }

    /// The in-order queue that an operation is put on: the name of its kind.
    pub fn queue(&self, op: Op) -> Option<&str> {
        let data = &self.ops[op];
        (data.execution == Execution::InOrder).then_some(data.kind.as_str())
    }
}
