//! What can be wrong with a scheduled loop.

use sassafras_tileir::program::Storage;
use serde::Serialize;
use std::fmt;
use thiserror::Error;

/// An operation of one iteration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Instance {
    /// The operation's name.
    pub op: Box<str>,
    /// The iteration.
    pub iteration: i64,
}

impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` of iteration {}", self.op, self.iteration)
    }
}

/// How far an operation has come that should be complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Progress {
    /// It has not started.
    NotStarted,
    /// It is under way.
    UnderWay,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Progress::NotStarted => "has not started",
            Progress::UnderWay => "is still under way",
        })
    }
}

/// An agent that cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stuck {
    /// Its name.
    pub agent: String,
    /// The step that it is at.
    pub step: String,
    /// The iteration of the step.
    pub iteration: i64,
    /// What it waits for.
    pub waits_for: String,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stuck { agent, step, iteration, waits_for } = self;
        write!(f, "agent `{agent}` at `{step}` of iteration {iteration}: {waits_for}")
    }
}

fn listed<T: fmt::Display>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn quoted(items: &[String]) -> String {
    if items.is_empty() {
        return "nobody".into();
    }
    items.iter().map(|i| format!("`{i}`")).collect::<Vec<_>>().join(", ")
}

/// Why a scheduled loop is refused. Operations, values and agents go by their names, pipes, mutexes and buffers by
/// theirs in texts.
#[derive(Clone, Debug, Error, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Violation {
    // When operations start.
    /// Some operations have places, some have not.
    #[error("there are places for {places} of {operations} operations")]
    Places {
        /// How many places.
        places: usize,
        /// How many operations.
        operations: usize,
    },
    /// A place that cannot be.
    #[error("places: {what}")]
    Misplaced {
        /// What is wrong.
        what: String,
    },
    /// More is held in a row than there is.
    #[error("{what} is held by {units} units in row {row}, {capacity} are there: this II is not possible")]
    Overbooked {
        /// What is held.
        what: String,
        /// In which row.
        row: i64,
        /// How many units.
        units: u64,
        /// How many there are.
        capacity: u64,
    },
    /// An operation starts before something that it needs is done.
    #[error("`{op}` starts {by} cycles before `{needs}` is done with {why}: this II is not possible")]
    Early {
        /// The operation.
        op: String,
        /// By how many cycles.
        by: u64,
        /// What it needs.
        needs: String,
        /// What for.
        why: String,
    },
    // What a schedule says, without running it.
    /// The program itself makes no sense.
    #[error("the program makes no sense: {why}")]
    Program {
        /// What is wrong with it.
        why: String,
    },
    /// The schedule is of another program.
    #[error("this is a schedule of `{scheduled}`, not of `{program}`")]
    Name {
        /// What the schedule is of.
        scheduled: String,
        /// The program.
        program: String,
    },
    /// Something is named that there is not.
    #[error("{place}: there is no {what} {number}")]
    Unknown {
        /// Where.
        place: String,
        /// What kind of thing.
        what: &'static str,
        /// Its number.
        number: u64,
    },
    /// A number beyond what this checker takes.
    #[error("{what} {number} is more than {limit}")]
    TooLarge {
        /// What the number is.
        what: String,
        /// The number.
        number: u64,
        /// The limit.
        limit: u64,
    },
    /// Something is listed twice.
    #[error("{place} lists {what} twice")]
    Twice {
        /// Where.
        place: String,
        /// What.
        what: String,
    },
    /// Nobody runs an operation.
    #[error("no agent runs `{op}`")]
    Agentless {
        /// The operation.
        op: String,
    },
    /// Two agents run an operation.
    #[error("`{op}` is run by two agents, `{first}` and `{second}`")]
    TwoAgents {
        /// The operation.
        op: String,
        /// An agent.
        first: String,
        /// Another one.
        second: String,
    },
    /// A step about an operation that another agent runs.
    #[error("agent `{agent}` performs `{step}`, but the operation is run by agent `{owner}`")]
    Elsewhere {
        /// The agent.
        agent: String,
        /// The step.
        step: String,
        /// Who runs the operation.
        owner: String,
    },
    /// A step about something that takes no part in it.
    #[error("agent `{agent}` performs `{step}`, but {why}")]
    Stranger {
        /// The agent.
        agent: String,
        /// The step.
        step: String,
        /// What does not fit.
        why: &'static str,
    },
    /// An iteration that is counted from where this part of an agent cannot count.
    #[error("agent `{agent}`: `{step}` in the {part} steps does not count iterations from {from}")]
    Counting {
        /// The agent.
        agent: String,
        /// The step.
        step: String,
        /// The part.
        part: &'static str,
        /// Where it should count from.
        from: &'static str,
    },
    /// The steady steps would be performed less than no times.
    #[error(
        "agent `{agent}` has a lead of {lead}, but the short steps are taken below {short_below} trips only"
    )]
    Lead {
        /// The agent.
        agent: String,
        /// Its lead.
        lead: u32,
        /// From how many trips on the short steps are not taken.
        short_below: u64,
    },
    /// An operation that is not run exactly once in every iteration.
    #[error("agent `{agent}` does not run `{op}` once per iteration: {why}")]
    Coverage {
        /// The agent.
        agent: String,
        /// The operation.
        op: String,
        /// What is wrong.
        why: String,
    },
    /// A pipe whose writers are not those of its values.
    #[error("{pipe} is written by {}, but {} by {}", quoted(writers), quoted(values), quoted(wanted))]
    Writers {
        /// The pipe.
        pipe: String,
        /// Its values.
        values: Vec<String>,
        /// Its writers.
        writers: Vec<String>,
        /// Those that define anything of its values.
        wanted: Vec<String>,
    },
    /// Too little room for barrier objects.
    #[error("barrier objects take {wanted} bytes, but have {bytes}")]
    BarrierArea {
        /// What there is.
        bytes: u64,
        /// What pipes need.
        wanted: u64,
    },
    /// A run that reads an operand elsewhere than pipes and buffers have it.
    #[error(
        "agent `{agent}`: `{step}` @ {offset:+} reads operand {operand} from another pipe, fill or turn than the one that it is in"
    )]
    WrongSource {
        /// The agent.
        agent: String,
        /// The step.
        step: String,
        /// The step's iteration.
        offset: i64,
        /// The operand.
        operand: u32,
    },
    /// An input that no pipe hands on.
    #[error("no pipe hands on {input}, which {} writes", quoted(writers))]
    Unread {
        /// The input.
        input: String,
        /// Who writes it.
        writers: Vec<String>,
    },
    /// An input that two pipes hand on.
    #[error("{input} is read through {first} and through {second}")]
    ReadTwice {
        /// The input.
        input: String,
        /// A pipe.
        first: String,
        /// Another one.
        second: String,
    },
    /// A reader of what its pipe does not carry.
    #[error("{pipe} has the reader {input}, but {why}")]
    WrongPipe {
        /// The pipe.
        pipe: String,
        /// The input.
        input: String,
        /// What does not fit.
        why: &'static str,
    },
    /// Too few fills from before the loop.
    #[error("{pipe} has {initial} initial fills, but {input} reads at distance {distance}")]
    Initial {
        /// The pipe.
        pipe: String,
        /// Its fills from before the loop.
        initial: u32,
        /// A reader.
        input: String,
        /// How far back it reads.
        distance: u32,
    },
    /// A value with storage that two pipes carry.
    #[error("`{value}` is carried by {first} and by {second}")]
    CarriedTwice {
        /// The value.
        value: String,
        /// A pipe.
        first: String,
        /// Another one.
        second: String,
    },
    /// A value in registers that another agent touches.
    #[error(
        "`{value}` is in registers of agent `{agent}`, where `{op}` touches it, but `{other}` is run by agent `{other_agent}`"
    )]
    RegisterCrosses {
        /// The value.
        value: String,
        /// A writer or reader.
        op: String,
        /// Its agent.
        agent: Box<str>,
        /// Another writer or reader.
        other: String,
        /// Its agent.
        other_agent: Box<str>,
    },
    /// A pipe without anything to meet at whose ends are in two agents.
    #[error("{pipe} is local, but `{op}` is run by agent `{agent}` and `{other}` by agent `{other_agent}`")]
    LocalCrosses {
        /// The pipe.
        pipe: String,
        /// A writer or reader.
        op: String,
        /// Its agent.
        agent: Box<str>,
        /// Another writer or reader.
        other: String,
        /// Its agent.
        other_agent: Box<str>,
    },
    /// A step on a pipe that has nothing to meet at.
    #[error("agent `{agent}` performs `{step}`, but the pipe is local")]
    LocalStep {
        /// The agent.
        agent: String,
        /// The step.
        step: String,
    },
    /// A named barrier behind a pipe with values.
    #[error("{pipe} carries `{value}` and cannot have named barrier {barrier} behind it")]
    BarrierCarries {
        /// The pipe.
        pipe: String,
        /// A value of it.
        value: String,
        /// The barrier.
        barrier: u32,
    },
    /// A named barrier that there is not.
    #[error("{place} has named barrier {barrier}, but there are {limit}")]
    BarrierNumber {
        /// The pipe or mutex.
        place: String,
        /// The barrier.
        barrier: u32,
        /// How many there are.
        limit: u32,
    },
    /// A named barrier that is used twice.
    #[error("named barrier {barrier} is behind {first} and behind {second}")]
    BarrierTwice {
        /// The barrier.
        barrier: u32,
        /// A pipe or mutex.
        first: String,
        /// Another one.
        second: String,
    },
    /// A mutex of the program that the schedule has not.
    #[error("the program's mutex `{mutex}` is missing")]
    MutexMissing {
        /// The mutex.
        mutex: String,
    },
    /// Something without slots.
    #[error("{place} has no slots")]
    NoSlots {
        /// The pipe or buffer.
        place: String,
    },
    /// A pipe of tiles without tiles.
    #[error("{pipe} is a pipe of tiles, but nothing that it carries has storage")]
    NoTiles {
        /// The pipe.
        pipe: String,
    },
    /// A value with storage that no buffer holds.
    #[error("`{value}` of {pipe} is in no buffer")]
    Unplaced {
        /// The pipe.
        pipe: String,
        /// The value.
        value: String,
    },
    /// A value that two buffers hold.
    #[error("`{value}` of {pipe} is in {first} and in {second}")]
    PlacedTwice {
        /// The pipe.
        pipe: String,
        /// The value.
        value: String,
        /// A buffer.
        first: String,
        /// Another one.
        second: String,
    },
    /// A buffer that holds for a pipe what the pipe does not carry.
    #[error("{buffer} holds `{value}` for {pipe}, which does not carry it")]
    Foreign {
        /// The buffer.
        buffer: String,
        /// The pipe.
        pipe: String,
        /// The value.
        value: String,
    },
    /// A buffer elsewhere than its value.
    #[error("{buffer} is {found} storage, but `{value}` lives in {wanted} storage")]
    Place {
        /// The buffer.
        buffer: String,
        /// The value.
        value: String,
        /// Where the buffer is.
        found: Storage,
        /// Where the value lives.
        wanted: Storage,
    },
    /// A slot that is too small.
    #[error("a slot of {buffer} has {bytes} bytes, `{value}` needs {wanted}")]
    SlotSize {
        /// The buffer.
        buffer: String,
        /// The value.
        value: String,
        /// The bytes of a slot.
        bytes: u64,
        /// The bytes of the value.
        wanted: u64,
    },
    /// A pipe and the only buffer of a value of it that differ in depth.
    #[error("{pipe} has {depth} slots, {buffer} has {buffer_depth}")]
    Depths {
        /// The pipe.
        pipe: String,
        /// Its depth.
        depth: u32,
        /// The buffer.
        buffer: String,
        /// Its depth.
        buffer_depth: u32,
    },
    /// A shift that gives fills from before the loop no turn.
    #[error("{buffer} shifts `{value}` by {shift}, but {pipe} has {initial} initial fills")]
    Shift {
        /// The buffer.
        buffer: String,
        /// The pipe.
        pipe: String,
        /// The value.
        value: String,
        /// The shift.
        shift: u32,
        /// Fills from before the loop.
        initial: u32,
    },
    /// A value from before the loop in a buffer that is written.
    #[error("`{value}` is from before the loop and wanted in every iteration, but shares {buffer}")]
    Shared {
        /// The buffer.
        buffer: String,
        /// The value.
        value: String,
    },
    /// Two buffers that overlap.
    #[error("{first} and {second} overlap in {storage} storage")]
    Overlap {
        /// Where.
        storage: Storage,
        /// A buffer.
        first: String,
        /// Another one.
        second: String,
    },
    /// Buffers that do not fit.
    #[error("buffers reach to byte {bytes} of {storage} storage, which has {limit}")]
    Budget {
        /// Where.
        storage: Storage,
        /// What is taken.
        bytes: u64,
        /// What there is.
        limit: u64,
    },
    /// Something that is wanted after the loop is not there any more.
    #[error(
        "`{value}` of {distance} iterations before the last is wanted after the loop, but `{by}` has taken its slot by then"
    )]
    Lost {
        /// What is wanted.
        value: String,
        /// Of how many iterations before the last.
        distance: u32,
        /// What is in its slot.
        by: String,
    },
    /// More in registers than an agent's warps have.
    #[error("agent `{agent}` keeps {bytes} bytes in registers, its {warps} warps have {limit}")]
    AgentRegisters {
        /// The agent.
        agent: String,
        /// Its warps.
        warps: u32,
        /// Bytes of its values.
        bytes: u64,
        /// Bytes that its warps have.
        limit: u64,
    },
    /// More warps than a block has.
    #[error("agents have {warps} warps, a block has {limit}")]
    Warps {
        /// Warps of all agents.
        warps: u32,
        /// Warps of a block.
        limit: u32,
    },
    /// A result that should take the place of an operand and has a place of its own.
    #[error("`{op}` writes `{result}` in place of `{value}`, but they are not in the same slot")]
    NotInPlace {
        /// The operation.
        op: String,
        /// The operand.
        value: String,
        /// The result.
        result: String,
    },
    /// A stage that there is not.
    #[error("{place} is in stage {stage} of {stages}")]
    Stage {
        /// The pipe or mutex.
        place: String,
        /// The stage.
        stage: u32,
        /// How many there are.
        stages: u32,
    },
    /// A loop over tiles that leaves out or repeats tiles.
    #[error("the loop over tiles: {why}")]
    TileLoop {
        /// What is wrong.
        why: String,
    },

    // What happens when a schedule runs.
    /// A replay that went wrong, and which one.
    #[error("trips {trips}, {delay} delays, seed {seed}: {violation}")]
    InReplay {
        /// The number of trips.
        trips: u64,
        /// What the delays were like.
        delay: String,
        /// The seed.
        seed: u64,
        /// What went wrong.
        violation: Box<Violation>,
    },
    /// A step about an iteration that there is not.
    #[error("agent `{agent}` performs `{step}` of iteration {iteration}, but there are {trips} trips")]
    OutsideLoop {
        /// The agent.
        agent: String,
        /// The step.
        step: String,
        /// The iteration.
        iteration: i64,
        /// The number of trips.
        trips: u64,
    },
    /// An operation of an iteration that is run twice.
    #[error("{instance} is run twice")]
    RunTwice {
        /// The operation.
        instance: Instance,
    },
    /// An operation of an iteration that is never run.
    #[error("{instance} is never run")]
    NeverRun {
        /// The operation.
        instance: Instance,
    },
    /// A commit, release or unlock for an operation that has not been run.
    #[error("agent `{agent}` performs `{step}` of iteration {iteration} before it has run the operation")]
    WithoutRun {
        /// The agent.
        agent: String,
        /// The step.
        step: String,
        /// The iteration.
        iteration: i64,
    },
    /// A step that is performed twice for one iteration.
    #[error("agent `{agent}` performs `{step}` of iteration {iteration} twice")]
    StepTwice {
        /// The agent.
        agent: String,
        /// The step.
        step: String,
        /// The iteration.
        iteration: i64,
    },
    /// A reader that starts before what it reads is there.
    #[error("{reader} starts and reads fill {fill} of {pipe}, but {writer} {progress}")]
    NotFull {
        /// The reader.
        reader: Instance,
        /// The pipe.
        pipe: String,
        /// The fill.
        fill: i64,
        /// A writer of the fill.
        writer: Instance,
        /// How far the writer has come.
        progress: Progress,
    },
    /// A reader that finds something else in its slot.
    #[error("{reader} starts and reads fill {fill} of {pipe}, but {place} holds {holds}")]
    WrongFill {
        /// The reader.
        reader: Instance,
        /// The pipe.
        pipe: String,
        /// The fill.
        fill: i64,
        /// The slot.
        place: String,
        /// What is in it.
        holds: String,
    },
    /// A slot that is written before everybody has read it.
    #[error(
        "{writer} starts and overwrites fill {fill} of {pipe} in {place}, but its reader {reader} {progress}"
    )]
    Overwritten {
        /// The writer.
        writer: Instance,
        /// The slot.
        place: String,
        /// The pipe of what was there.
        pipe: String,
        /// The fill that was there.
        fill: i64,
        /// Who wants to read it.
        reader: Instance,
        /// How far the reader has come.
        progress: Progress,
    },
    /// A slot that two operations write.
    #[error(
        "{writer} starts and writes {place}, but {other}, which writes fill {fill} of {pipe} there, {progress}"
    )]
    WriteRace {
        /// The writer.
        writer: Instance,
        /// The slot.
        place: String,
        /// The pipe of what was there.
        pipe: String,
        /// The fill that was there.
        fill: i64,
        /// Who writes it.
        other: Instance,
        /// How far that one has come.
        progress: Progress,
    },
    /// An order that is not kept.
    #[error("{to} starts, but {from}, which must be complete before, {progress}")]
    OrderBroken {
        /// What must be complete.
        from: Instance,
        /// What starts.
        to: Instance,
        /// How far the first one has come.
        progress: Progress,
    },
    /// Two operations of a mutex under way at once.
    #[error("{second} starts while {first} is under way; mutex `{mutex}` forbids it")]
    MutexBroken {
        /// The program's mutex.
        mutex: String,
        /// What is under way.
        first: Instance,
        /// What starts.
        second: Instance,
    },
    /// An unlock of what is not locked for the operation.
    #[error("agent `{agent}` performs `{step}` of iteration {iteration} without having locked it")]
    NotLocked {
        /// The agent.
        agent: String,
        /// The step.
        step: String,
        /// The iteration.
        iteration: i64,
    },
    /// A fill that is never published.
    #[error("{writer} never commits to {pipe}")]
    NotCommitted {
        /// The pipe.
        pipe: String,
        /// The writer.
        writer: Instance,
    },
    /// A fill that is never given back.
    #[error("{reader} never releases {pipe}, through which it gets {input}")]
    NotReleased {
        /// The pipe.
        pipe: String,
        /// The reader.
        reader: Instance,
        /// Which input.
        input: String,
    },
    /// A mutex that is never left.
    #[error("{holder} never unlocks {mutex}")]
    NotUnlocked {
        /// The mutex.
        mutex: String,
        /// Who holds it.
        holder: Instance,
    },
    /// Agents that wait forever.
    #[error("deadlock: {}", listed(stuck))]
    Deadlock {
        /// Those that have not come to their end.
        stuck: Vec<Stuck>,
    },
}

impl Violation {}

// Results with it are handed around everywhere.
const _: () = assert!(size_of::<Violation>() < 128);
