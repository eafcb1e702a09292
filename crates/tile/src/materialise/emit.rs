//! Skeletons become pipes with slots and backings; mutexes get their barriers.

use super::MaterialiseError;
use crate::agents::Plan;
use crate::analysis::Analysis;
use crate::buffers::barriers::{self, Turns, User};
use crate::buffers::{self, Layout, Plot};
use crate::solve::Skeleton;
use cranelift_entity::{EntityRef, PrimaryMap};
use sassafras_machine::tile::threshold;
use sassafras_tileir::program::{Execution, Mutex, Op, Program};
use sassafras_tileir::scheduled::{
    Backing, BarrierArea, BufferData, Flavour, Input, Member, MutexData, Pipe, PipeData, Place, Scheduled,
    Strategy,
};
use std::cell::LazyCell;

/// Who runs an operation.
pub fn agent_of(plans: &[Plan], op: Op) -> usize {
    plans.iter().position(|p| p.ops.binary_search(&op).is_ok()).unwrap_or(0)
}

/// Whether `second` in its agent can only start when `first` in its own is done, without any step that says so: one agent
/// performs both, and the first is done when its step is, or both are in one queue.
pub fn in_step(program: &Program, plans: &[Plan], first: Op, second: Op) -> bool {
    let same_queue = program.queue(first).is_some() && program.queue(first) == program.queue(second);
    agent_of(plans, first) == agent_of(plans, second)
        && (program.ops[first].execution == Execution::Sync || same_queue)
}

/// Pipes and buffers before their ends meet at anything.
pub fn local(
    program: &Program,
    analysis: &Analysis,
    pipes: &[Skeleton],
    depths: &[u32],
    plots: &[Plot],
) -> Scheduled {
    let mut scheduled = Scheduled {
        name: program.name.clone(),
        ii: analysis.ii,
        stages: analysis.stages,
        strategy: Strategy::None,
        trivial: analysis.trivial,
        short_below: 0,
        places: analysis
            .places
            .iter()
            .map(|p| Place { stage: p.stage, row: p.row, order: p.order })
            .collect(),
        pipes: PrimaryMap::new(),
        mutexes: PrimaryMap::new(),
        buffers: PrimaryMap::new(),
        agents: PrimaryMap::new(),
        barriers: None,
        tile_loop: None,
    };
    for (i, s) in pipes.iter().enumerate() {
        let place = s.key().map(|op| analysis.place(op));
        let tokens = s.values.iter().all(|&v| program.values[v].bytes == 0);
        let carried = s.readers.iter().filter_map(|r| r.distance(program)).max().unwrap_or(0);
        let depth = if tokens && !s.producers.is_empty() {
            depths[i].max(threshold("scalar_pipe_depth"))
        } else {
            depths[i]
        };
        scheduled.pipes.push(PipeData {
            flavour: if tokens || s.producers.is_empty() { Flavour::Scalar } else { Flavour::Tile },
            writers: s.producers.clone(),
            values: s.values.clone(),
            readers: s.readers.clone(),
            depth,
            initial: if s.producers.is_empty() { 0 } else { carried },
            backing: Backing::Local,
            stage: place.map_or(0, |p| p.stage),
            order: place.map_or(0, |p| p.order),
        });
    }
    for plot in plots {
        let members =
            plot.members.iter().map(|&(pipe, value, shift)| Member { pipe: Pipe::new(pipe), value, shift });
        scheduled.buffers.push(BufferData {
            storage: plot.storage,
            bytes: plot.bytes,
            element: plot.element.clone(),
            depth: plot.depth,
            offset: plot.offset,
            members: members.collect(),
        });
    }
    scheduled
}

/// Pipes whose ends must meet at something, with whether they carry values that have bytes.
pub fn met(program: &Program, plans: &[Plan], scheduled: &Scheduled) -> Vec<(Pipe, bool)> {
    let carries = |p: &PipeData| p.values.iter().any(|&v| program.values[v].bytes > 0);
    let pipes = scheduled.pipes.iter();
    let met = pipes.filter(|(x, p)| !p.writers.is_empty() && needs_backing(program, plans, scheduled, *x));
    met.map(|(x, p)| (x, carries(p))).collect()
}

/// Those who fill a pipe asynchronously do it with one instruction: what full means differs from one to another.
fn one_kind(program: &Program, p: &PipeData, pipe: Pipe) -> Result<(), MaterialiseError> {
    let asynchronous = p.writers.iter().map(|&w| &program.ops[w]).filter(|o| o.execution == Execution::Async);
    let mut kinds: Vec<&str> = asynchronous.map(|o| o.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    match kinds[..] {
        [first, second, ..] => Err(MaterialiseError::Producers {
            pipe: pipe.to_string(),
            first: first.to_owned(),
            second: second.to_owned(),
        }),
        _ => Ok(()),
    }
}

/// Builds everything but agents.
pub fn emit(
    program: &Program,
    analysis: &Analysis,
    layout: &Layout,
    plans: &[Plan],
    mutexes: &[(Mutex, Op)],
) -> Result<Scheduled, MaterialiseError> {
    let mut scheduled = local(program, analysis, &layout.pipes, &layout.depths, &layout.plots);
    scheduled.barriers = (layout.barriers > 0).then_some(BarrierArea { offset: 0, bytes: layout.barriers });
    // Which pipes need something to meet at.
    let mut tokens = Vec::new();
    for (pipe, carries) in met(program, plans, &scheduled) {
        one_kind(program, &scheduled.pipes[pipe], pipe)?;
        if carries {
            scheduled.pipes[pipe].backing = Backing::Mbarrier;
        } else {
            tokens.push(pipe);
        }
    }
    let mut users: Vec<User> = Vec::new();
    for (of, _) in mutexes {
        let ops = &program.mutexes[*of].ops;
        users.push(User { first: ops.clone(), last: ops.iter().map(|&o| (o, 0)).collect() });
    }
    for &pipe in &tokens {
        let p = &scheduled.pipes[pipe];
        let last = p.readers.iter().map(|r| (r.op, r.distance(program).unwrap_or(0)));
        users.push(User { first: p.writers.clone(), last: last.collect() });
    }
    let have = buffers::table(program).barriers;
    // Who comes before whom is asked only where numbers run out.
    let turns = LazyCell::new(|| Turns::new(program));
    let given = barriers::assign(users.len(), have, |a, b| turns.apart(&users[a], &users[b]))
        .map_err(|_| MaterialiseError::Barriers { wanted: users.len(), have })?;
    for (&(of, first), &barrier) in mutexes.iter().zip(&given) {
        let place = analysis.place(first);
        scheduled.mutexes.push(MutexData { of, barrier, stage: place.stage, order: place.order });
    }
    for (&pipe, &barrier) in tokens.iter().zip(&given[mutexes.len()..]) {
        scheduled.pipes[pipe].backing = Backing::NamedBarrier(barrier);
    }
    Ok(scheduled)
}

/// Pipes whose fills are in the slots that `pipe` writes next: its own, and those that share its buffers.
pub fn before(scheduled: &Scheduled, pipe: Pipe) -> Vec<Pipe> {
    let mut found = Vec::new();
    for buffer in scheduled.buffers.values() {
        let count = buffer.members.len();
        for (i, _) in buffer.members.iter().enumerate().filter(|(_, m)| m.pipe == pipe) {
            // `depth` turns before, whose that is.
            let back = buffer.depth as usize % count;
            found.push(buffer.members[(i + count - back) % count].pipe);
        }
    }
    if found.is_empty() {
        found.push(pipe);
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether the operation's operand is what its result takes the place of.
pub fn in_place(program: &Program, scheduled: &Scheduled, op: Op, input: Input) -> bool {
    let Input::Operand(i) = input else { return false };
    let Some(operand) = program.ops[op].operands.get(i as usize) else { return false };
    let [result] = program.ops[op].results[..] else { return false };
    // A permission that was not used has slots of its own. Where both are in one slot the result's turn is the next one:
    // lives of others are not in between.
    let holds = |v| scheduled.buffers.values().find(|b| b.members.iter().any(|m| m.value == v));
    let shared =
        holds(result).is_some_and(|b| b.depth == 1 && b.members.iter().any(|m| m.value == operand.value));
    operand.in_place && shared
}

/// Whether a reader must wait for a pipe's writers.
pub fn must_wait(program: &Program, plans: &[Plan], p: &PipeData, reader: Op) -> bool {
    p.writers.iter().any(|&w| !in_step(program, plans, w, reader))
}

/// Whether a writer must wait for a slot.
pub fn must_acquire(
    program: &Program,
    plans: &[Plan],
    scheduled: &Scheduled,
    pipe: Pipe,
    writer: Op,
) -> bool {
    before(scheduled, pipe).into_iter().any(|p| {
        scheduled.pipes[p].readers.iter().any(|r| {
            let replaced = r.op == writer && in_place(program, scheduled, r.op, r.input);
            !replaced && !in_step(program, plans, r.op, writer)
        })
    })
}

/// The pipe itself and those that share a buffer with it.
pub fn sharing(scheduled: &Scheduled, pipe: Pipe) -> Vec<Pipe> {
    let mut found = vec![pipe];
    for buffer in scheduled.buffers.values().filter(|b| b.members.iter().any(|m| m.pipe == pipe)) {
        found.extend(buffer.members.iter().map(|m| m.pipe));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether anything waits at a pipe: its readers, its writers, or the writers of what shares its slots.
fn needs_backing(program: &Program, plans: &[Plan], scheduled: &Scheduled, pipe: Pipe) -> bool {
    let p = &scheduled.pipes[pipe];
    let acquires =
        |q: Pipe| scheduled.pipes[q].writers.iter().any(|&w| must_acquire(program, plans, scheduled, q, w));
    p.readers.iter().any(|r| must_wait(program, plans, p, r.op))
        || sharing(scheduled, pipe).into_iter().any(acquires)
}
