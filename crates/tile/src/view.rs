//! A scheduled loop with everything that is worth showing, ready to be printed, drawn or serialised.

use crate::analysis::Mii;
use crate::buffers;
use crate::explain::{self, Explanation};
use crate::generate::Generated;
use crate::generate::cost::Cost;
use crate::generate::problem::busy;
use crate::options::Options;
use cranelift_entity::EntityRef;
use sassafras_tileir::program::{Op, Program, Storage};
use sassafras_tileir::scheduled::{
    Action, Backing, BarrierArea, Base, Flavour, Input, MutexData, Reader, Scheduled, Step, TileLoop,
};
use serde::Serialize;

/// A scheduled loop.
#[derive(Clone, Debug, Serialize)]
pub struct View {
    /// Its name.
    pub name: String,
    /// Its architecture.
    pub arch: Option<String>,
    /// Cycles between iterations.
    pub ii: u32,
    /// Bounds.
    pub mii: Mii,
    /// Whether II is the least there is, and how that is known.
    pub known: String,
    /// Whether it is.
    pub optimal: bool,
    /// Stages.
    pub stages: u32,
    /// Cycles of one iteration one after the other.
    pub serial_cycles: u64,
    /// Who made the schedule.
    pub generator: &'static str,
    /// Why it is serial, if it is.
    pub serial_because: Option<&'static str>,
    /// Whether every generator but the serial one failed.
    pub trivial: bool,
    /// How agents were made.
    pub strategy: &'static str,
    /// What it costs.
    pub cost: Cost,
    /// II that were tried, with whether they worked.
    pub probes: Vec<(u32, bool)>,
    /// How often slots were limited to fit.
    pub constraint_iterations: u32,
    /// Operations by time.
    pub ops: Vec<OpView>,
    /// Resources.
    pub resources: Vec<ResourceView>,
    /// Agents.
    pub agents: Vec<AgentView>,
    /// Pipes.
    pub pipes: Vec<PipeView>,
    /// Mutexes.
    pub mutexes: Vec<MutexView>,
    /// Buffers.
    pub buffers: Vec<BufferView>,
    /// Storages.
    pub storages: Vec<StorageView>,
    /// Where barrier objects are.
    pub barriers: Option<BarrierArea>,
    /// The loop around it.
    pub tile_loop: Option<TileLoop>,
    /// Why II is what it is.
    pub explanation: Explanation,
}

/// An operation.
#[derive(Clone, Debug, Serialize)]
pub struct OpView {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// Who runs it.
    pub agent: String,
    /// Its cycle in iteration 0.
    pub time: i64,
    /// Its stage.
    pub stage: u32,
    /// Its row.
    pub row: u32,
    /// Its order.
    pub order: u32,
    /// Its latency.
    pub latency: u32,
    /// Which arm seated it.
    pub arm: Option<&'static str>,
    /// What it holds.
    pub holds: Vec<HoldView>,
    /// Cycles for which it keeps the warps of its agent.
    pub busy: u32,
}

/// A hold of a resource.
#[derive(Clone, Debug, Serialize)]
pub struct HoldView {
    /// The resource.
    pub resource: String,
    /// From which cycle after the start.
    pub start: u32,
    /// For how many.
    pub cycles: u32,
    /// Units.
    pub units: u32,
}

/// A resource.
#[derive(Clone, Debug, Serialize)]
pub struct ResourceView {
    /// Its name.
    pub name: String,
    /// Its units.
    pub capacity: u32,
    /// Unit-cycles that an iteration holds.
    pub held: u64,
    /// The same as a share of what there is.
    pub share: f64,
}

/// An agent.
#[derive(Clone, Debug, Serialize)]
pub struct AgentView {
    /// Its name.
    pub name: String,
    /// Its warps.
    pub warps: u32,
    /// Its rounds before the steady ones.
    pub lead: u32,
    /// Its operations in the order of the steady steps.
    pub ops: Vec<String>,
    /// Steps before the steady ones.
    pub prologue: Vec<StepView>,
    /// Steps of a round.
    pub steady: Vec<StepView>,
    /// Steps after the steady ones.
    pub epilogue: Vec<StepView>,
    /// Steps of one iteration where there are too few for the others.
    pub short: Vec<StepView>,
}

/// A step of an agent.
#[derive(Clone, Debug, Serialize)]
pub struct StepView {
    /// What is done.
    pub action: &'static str,
    /// The operation that it is about; none for an acquire.
    pub op: Option<String>,
    /// Its pipe, or its mutex.
    pub at: Option<String>,
    /// Which input, for waits and releases.
    pub input: Option<Input>,
    /// What the iteration is counted from: `first`, `round` or `trips`.
    pub base: &'static str,
    /// The iteration, from there.
    pub offset: i64,
    /// For a run, where its operands are.
    pub operands: Vec<Option<OperandView>>,
}

/// Where an operand is.
#[derive(Clone, Debug, Serialize)]
pub struct OperandView {
    /// The pipe.
    pub pipe: String,
    /// The fill, counted as the step's iteration is.
    pub fill: i64,
    /// The buffer, where it has one.
    pub buffer: Option<String>,
    /// Its turn: so often what is counted from, and so many more.
    pub turn: Option<(u32, i64)>,
}

/// A pipe.
#[derive(Clone, Debug, Serialize)]
pub struct PipeView {
    /// Its name.
    pub name: String,
    /// What it carries.
    pub values: Vec<String>,
    /// Who writes.
    pub writers: Vec<String>,
    /// Who reads, with the distance.
    pub readers: Vec<(String, u32)>,
    /// Its flavour.
    pub flavour: Flavour,
    /// Slots.
    pub depth: u32,
    /// Fills that a writer may be ahead of the slowest reader.
    pub slack: u32,
    /// Fills from before the loop.
    pub initial: u32,
    /// What its ends meet at.
    pub backing: String,
    /// Its stage and order.
    pub key: (u32, u32),
}

/// A mutex.
#[derive(Clone, Debug, Serialize)]
pub struct MutexView {
    /// Its name.
    pub name: String,
    /// The program's.
    pub of: String,
    /// Its operations.
    pub ops: Vec<String>,
    /// Its barrier.
    pub barrier: u32,
    /// Operations that may be ahead of who holds it.
    pub slack: u32,
}

/// A buffer.
#[derive(Clone, Debug, Serialize)]
pub struct BufferView {
    /// Its name.
    pub name: String,
    /// Where.
    pub storage: Storage,
    /// Bytes of a slot.
    pub bytes: u64,
    /// Slots.
    pub depth: u32,
    /// Its first byte.
    pub offset: u64,
    /// Whose values.
    pub values: Vec<String>,
}

/// A storage.
#[derive(Clone, Debug, Serialize)]
pub struct StorageView {
    /// Which.
    pub storage: Storage,
    /// Bytes used.
    pub used: u64,
    /// Bytes there; nothing where there is no limit.
    pub budget: Option<u64>,
}

impl OpView {
    /// What it holds, the warps of its agent among that.
    pub fn everything(&self) -> Vec<HoldView> {
        let warps = HoldView { resource: warps_of(&self.agent), start: 0, cycles: self.busy, units: 1 };
        self.holds.iter().cloned().chain((self.busy > 0).then_some(warps)).collect()
    }
}

/// What the warps of an agent are called as a resource.
fn warps_of(agent: &str) -> String {
    format!("warps of {agent}")
}

/// Everything about a scheduled loop.
pub fn view(program: &Program, generated: &Generated, scheduled: &Scheduled, options: &Options) -> View {
    let analysis = &generated.analysis;
    let name = |op: Op| program.ops[op].name.clone();
    let agent_of = |op: Op| {
        let runs = |a: &&sassafras_tileir::scheduled::AgentData| {
            a.steady.iter().any(|s| s.action == Action::Run(op))
        };
        scheduled.agents.values().find(runs).map_or(String::new(), |a| a.name.clone())
    };
    let mut by_time: Vec<Op> = program.ops.keys().collect();
    by_time.sort_by_key(|&op| (analysis.place(op).time, op));
    let ops = by_time.iter().map(|&op| {
        let (data, place) = (&program.ops[op], analysis.place(op));
        OpView {
            name: name(op),
            kind: data.kind.clone(),
            agent: agent_of(op),
            time: place.time,
            stage: place.stage,
            row: place.row,
            order: place.order,
            latency: data.latency,
            busy: busy(program, op),
            arm: analysis.arms.get(op.index()).map(|a| a.word()),
            holds: data
                .holds
                .iter()
                .map(|h| HoldView {
                    resource: program.resources[h.resource].name.clone(),
                    start: h.start,
                    cycles: h.rows,
                    units: h.units,
                })
                .collect(),
        }
    });
    let warps = generated.plans.iter().filter_map(|plan| {
        let held: u64 = plan.ops.iter().map(|&op| u64::from(busy(program, op))).sum();
        let share = held as f64 / f64::from(analysis.ii.max(1));
        (held > 0).then(|| ResourceView { name: warps_of(&plan.name), capacity: 1, held, share })
    });
    let resources = program.resources.iter().map(|(r, data)| {
        let holds = program.ops.values().flat_map(|o| &o.holds).filter(|h| h.resource == r);
        let held: u64 = holds.map(|h| u64::from(h.rows) * u64::from(h.units)).sum();
        let there = u64::from(analysis.ii) * u64::from(data.capacity);
        ResourceView {
            name: data.name.clone(),
            capacity: data.capacity,
            held,
            share: held as f64 / there.max(1) as f64,
        }
    });
    let steps = |steps: &[Step]| steps.iter().map(|s| step(program, s)).collect();
    let agents = scheduled.agents.values().map(|a| AgentView {
        name: a.name.clone(),
        warps: a.warps,
        lead: a.lead,
        ops: a
            .steady
            .iter()
            .filter_map(|s| if let Action::Run(op) = s.action { Some(name(op)) } else { None })
            .collect(),
        prologue: steps(&a.prologue),
        steady: steps(&a.steady),
        epilogue: steps(&a.epilogue),
        short: steps(&a.short),
    });
    let reader = |r: &Reader| {
        let what = match r.input {
            Input::Operand(_) => name(r.op),
            Input::Order(_) => format!("{} (order)", name(r.op)),
        };
        (what, r.distance(program).unwrap_or(0))
    };
    let pipes = scheduled.pipes.iter().map(|(pipe, p)| PipeView {
        name: pipe.to_string(),
        values: p.values.iter().map(|&v| program.values[v].name.clone()).collect(),
        writers: p.writers.iter().map(|&w| name(w)).collect(),
        readers: p.readers.iter().map(reader).collect(),
        flavour: p.flavour,
        depth: p.depth,
        slack: p.slack(),
        initial: p.initial,
        backing: match p.backing {
            Backing::Local => "local".to_owned(),
            Backing::Mbarrier => "mbarrier".to_owned(),
            Backing::NamedBarrier(i) => format!("barrier {i}"),
        },
        key: (p.stage, p.order),
    });
    let mutexes = scheduled.mutexes.iter().map(|(mutex, m)| MutexView {
        name: mutex.to_string(),
        of: program.mutexes[m.of].name.clone(),
        ops: program.mutexes[m.of].ops.iter().map(|&o| name(o)).collect(),
        barrier: m.barrier,
        slack: MutexData::SLACK,
    });
    let buffers = scheduled.buffers.iter().map(|(buffer, b)| BufferView {
        name: buffer.to_string(),
        storage: b.storage,
        bytes: b.bytes,
        depth: b.depth,
        offset: b.offset,
        values: b.members.iter().map(|m| program.values[m.value].name.clone()).collect(),
    });
    let storages = Storage::ALL.into_iter().map(|storage| StorageView {
        storage,
        used: generated.layout.used.get(&storage).copied().unwrap_or(0),
        budget: (!options.unlimited).then(|| buffers::budget_of(program, options, storage)),
    });
    View {
        name: program.name.clone(),
        arch: program.arch.clone(),
        ii: analysis.ii,
        mii: analysis.mii,
        known: analysis.known(),
        optimal: analysis.is_optimal(),
        stages: analysis.stages,
        serial_cycles: explain::serial_cycles(program, &generated.plans),
        generator: analysis.generator.word(),
        serial_because: analysis.serial_because,
        trivial: analysis.trivial,
        strategy: scheduled.strategy.word(),
        cost: analysis.cost,
        probes: analysis.probes.clone(),
        constraint_iterations: analysis.constraint_iterations,
        ops: ops.collect(),
        resources: resources.chain(warps).collect(),
        agents: agents.collect(),
        pipes: pipes.collect(),
        mutexes: mutexes.collect(),
        buffers: buffers.collect(),
        storages: storages.collect(),
        barriers: scheduled.barriers,
        tile_loop: scheduled.tile_loop.clone(),
        explanation: explain::explain(program, generated),
    }
}

fn step(program: &Program, step: &Step) -> StepView {
    let (action, op, at, input) = match step.action {
        Action::Acquire(x) => ("acquire", None, Some(x.to_string()), None),
        Action::Run(o) => ("run", Some(o), None, None),
        Action::Commit(x, o) => ("commit", Some(o), Some(x.to_string()), None),
        Action::Wait(x, r) => ("wait", Some(r.op), Some(x.to_string()), Some(r.input)),
        Action::Release(x, r) => ("release", Some(r.op), Some(x.to_string()), Some(r.input)),
        Action::Lock(m, o) => ("lock", Some(o), Some(m.to_string()), None),
        Action::Unlock(m, o) => ("unlock", Some(o), Some(m.to_string()), None),
    };
    let operand = |s: &sassafras_tileir::scheduled::Source| OperandView {
        pipe: s.pipe.to_string(),
        fill: s.fill,
        buffer: s.turn.map(|t| t.buffer.to_string()),
        turn: s.turn.map(|t| (t.times, t.plus)),
    };
    StepView {
        action,
        op: op.map(|o| program.ops[o].name.clone()),
        at,
        input,
        base: match step.at.base {
            Base::First => "first",
            Base::Round => "round",
            Base::Trips => "trips",
        },
        offset: step.at.offset,
        operands: step.sources.iter().map(|s| s.as_ref().map(operand)).collect(),
    }
}
