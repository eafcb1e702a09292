//! Does a scheduled loop compute what the loop does, whatever completes when?
//!
//! Goal: whoever made a [`Scheduled`], however, agents that perform it neither race nor wait forever. Nothing here knows
//! how schedules are made; what a schedule means is said by [`sassafras_tileir::scheduled`] and by nothing else.
//!
//! 1. [`check`] reads the schedule: who runs what, for which iterations, what pipes carry, where values live; and, where the
//!    schedule says when operations start, whether iterations can follow each other as fast as it claims.
//! 2. [`replay`] performs it once, with operations that take as long as they like ([`Delay`]), and looks at every start: is
//!    what the operation reads in its slot and complete, is what it overwrites no longer wanted, are orders and mutexes
//!    kept?
//! 3. [`prove`] does both, for every small number of trips and for some large ones.
//! 4. [`explore`] tries all interleavings and all orders of completion. It shares no code with [`replay`] and is an oracle
//!    for tests: slow, and for few trips.
//! 5. [`mutate`] breaks schedules on purpose, for tests of whatever makes or checks them.
//!
//! # How the description is read
//!
//! Where the text of [`sassafras_tileir::scheduled`] leaves a choice, this is taken:
//!
//! * *Under way.* An operation reads and writes from its start until it completes. What it reads must be complete when it
//!   starts, and whoever overwrites its slots may start only when it has completed.
//! * *Queues.* An in-order operation takes effect when those before it in its queue have completed. So it may start while
//!   operations are under way that it depends on, if they are in the same queue: accumulating matrix operations need not
//!   wait for each other. The same holds for overwriting, orders and mutexes. Agents that use one kind share the queue.
//! * *In place.* The result must be in the very slot of the operand that it replaces. Where the operation is only permitted
//!   to do so ([`Accumulators::permits`](sassafras_tileir::program::Accumulators::permits)) the result can be anywhere.
//! * *Acquire* looks at exactly the fill `depth` turns before. Where there is no such fill (before the first, or in an
//!   iteration that there is not), it does not wait, even if an earlier turn of that slot is still in use.
//! * *Slots of pipes.* A pipe with barriers has `depth` of them, and its writer may not start before the readers of the fill
//!   `depth` fills before have completed, with or without storage. Local pipes without storage have no slots. A pipe
//!   whose values have no storage takes turns as one without values.
//! * *Buffers with one member* have the depth of its pipe.
//! * *Values from before the loop* are in every agent. They need no buffer, and one that they have is theirs alone. Their
//!   pipes need no steps.
//! * *Steps belong together.* Waits, commits, releases, locks and unlocks are performed by the agent that runs their operation;
//!   an acquire by one that runs a writer. Of pipes that are not local: where anybody ever waits, every writer commits, once;
//!   where anybody ever acquires the pipe or one that shares a buffer with it, every reader releases, once. Any step about an
//!   iteration outside of the loop is an error.
//! * *Tokens* (values of 0 bytes) may be carried by several pipes and may cross agents, wherever they are said to live.
//! * *After the loop* the program's outs are wanted: nothing has been put in their slots since, whatever the number of trips.
//!   Everything else may be overwritten for good once the loop's own readers are done.
//! * *Tiles* make whole clusters in every dimension, and the index of the loop over tiles counts clusters of tiles: each
//!   block of a cluster takes one. The index may be signed.

mod explore;
pub mod mutate;
mod names;
mod prove;
mod random;
mod replay;
mod structure;
mod tiles;
mod timing;
mod violation;

pub use explore::{Explored, explore};
pub use prove::{Effort, Proof, prove};
pub use replay::Replayer;
pub use violation::{Instance, Progress, Stuck, Violation};

use sassafras_machine::tile::Budget;
use sassafras_tileir::program::{Op, Program, Storage};
use sassafras_tileir::scheduled::{Agent, Scheduled};
use std::fmt;

/// What the machine has. Budgets of the program take precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of registers.
    pub register: u64,
    /// Bytes of registers that one warp can have.
    pub warp_register: u64,
    /// Warps of all agents.
    pub warps: u32,
    /// Bytes of shared memory.
    pub shared: u64,
    /// Bytes of tensor memory.
    pub tensor: u64,
    /// Named barriers; they are numbered from 0.
    pub barriers: u32,
}

impl Limits {
    /// No limits at all.
    pub const NONE: Limits = Limits {
        register: u64::MAX,
        warp_register: u64::MAX,
        warps: u32::MAX,
        shared: u64::MAX,
        tensor: u64::MAX,
        barriers: u32::MAX,
    };

    /// Those of a block.
    pub fn of(budget: &Budget) -> Limits {
        Limits {
            register: budget.register,
            warp_register: budget.warp_register,
            warps: budget.warps,
            shared: budget.shared,
            tensor: budget.tensor,
            barriers: budget.barriers,
        }
    }

    fn bytes(&self, program: &Program, storage: Storage) -> u64 {
        // No limits at all are none of the program's either.
        if *self == Limits::NONE {
            return u64::MAX;
        }
        let own = program.budgets.iter().rev().find(|b| b.0 == storage);
        own.map_or(
            match storage {
                Storage::Register => self.register,
                Storage::Shared => self.shared,
                Storage::Tensor => self.tensor,
            },
            |b| b.1,
        )
    }
}

/// How long operations take in a replay, and when agents go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// Operations complete when they start.
    None,
    /// A few steps each.
    Small,
    /// Mostly short, now and then very long.
    HeavyTail,
    /// Operations of one kind, chosen by the seed, take much longer.
    SlowKind,
    /// One agent, chosen by the seed, takes much longer for every step.
    SlowAgent,
    /// Operations complete only when no agent can go on, the last one that started first.
    Lifo,
    /// The same, any of them first.
    Late,
    /// One operation of one iteration completes only when nobody can go on, all others at once.
    Hold {
        /// The operation.
        op: Op,
        /// Its iteration.
        iteration: u64,
    },
    /// What the program says; agents lose no time. For time lines.
    Latency,
}

impl Delay {
    /// Those that depend on a seed only.
    pub const RANDOM: [Delay; 7] = [
        Delay::None,
        Delay::Small,
        Delay::HeavyTail,
        Delay::SlowKind,
        Delay::SlowAgent,
        Delay::Lifo,
        Delay::Late,
    ];

    /// A word for it.
    pub fn word(self) -> &'static str {
        match self {
            Delay::None => "no",
            Delay::Small => "small",
            Delay::HeavyTail => "heavy-tailed",
            Delay::SlowKind => "slow-kind",
            Delay::SlowAgent => "slow-agent",
            Delay::Lifo => "last-in-first-out",
            Delay::Late => "late",
            Delay::Hold { .. } => "one-held",
            Delay::Latency => "latency",
        }
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A replay in which nothing went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// The number of trips.
    pub trips: u64,
    /// Steps that agents performed.
    pub steps: u64,
    /// Operations that were run.
    pub operations: u64,
    /// When the last thing happened; cycles with [`Delay::Latency`].
    pub time: u64,
    /// What was under way when, by start; only if it was asked for.
    pub spans: Option<Vec<Span>>,
}

/// An operation of one iteration in a time line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Who ran it.
    pub agent: Agent,
    /// The operation.
    pub op: Op,
    /// The iteration.
    pub iteration: u64,
    /// When it started.
    pub start: u64,
    /// When it completed.
    pub end: u64,
}

/// Checks what a schedule says, without running it: agents, iterations, pipes, buffers, barriers, the loop over tiles.
///
/// Cost: near-linear in program and schedule.
///
/// # Errors
/// Everything that is wrong; where things are named that there are not, only those.
pub fn check(program: &Program, scheduled: &Scheduled, limits: &Limits) -> Result<(), Vec<Violation>> {
    let found = structure::violations(program, scheduled, limits);
    if found.is_empty() { Ok(()) } else { Err(found) }
}

/// Runs a schedule once with random delays; the seed also chooses what they are like. Whoever replays often lays the
/// schedule out once: [`Replayer`].
///
/// # Errors
/// The first thing that goes wrong, or the first thing that [`check`] refuses (limits aside).
pub fn replay(program: &Program, scheduled: &Scheduled, trips: u64, seed: u64) -> Result<Replay, Violation> {
    let delay = Delay::RANDOM[(seed % Delay::RANDOM.len() as u64) as usize];
    Replayer::new(program, scheduled)?.run(trips, seed, delay, false)
}
