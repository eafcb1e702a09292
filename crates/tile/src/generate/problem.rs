//! A loop as a problem of modulo scheduling.
//!
//! Operations keep their numbers. Edges are
//! 1. values: from whoever writes the value's storage to its reader, with the writer's latency; between operations of one
//!    in-order queue only until the queue takes the next one, since that one starts when the first is done;
//! 2. orders, with at least the latency of the first operation;
//! 3. storage that is reused: other readers of an accumulator before it is overwritten; and where a value may have no more
//!    than so many slots, its readers before the writer that needs the first slot again;
//! 4. positions that the source prescribes within a stage (`nv_tile.aws.order`, with `nv_tile.aws.stage`).
//!
//! Every latency is at least 1, so that whatever depends on something starts strictly later and ties never matter.
//!
//! A mutex is a resource of one unit that its operations hold until they are done. So is an agent: its synchronous operations
//! are issued one after the other, each for as long as it holds anything ([`busy`]). What comes later of a latency only
//! delays who needs the result, as warps go on until they do.

use crate::agents::Plan;
use cranelift_entity::EntityRef;
use sassafras_modulo::{Op, Problem, Use};
use sassafras_tileir::program::{self, Accumulators, Execution, Program, Value};
use std::collections::BTreeMap;

/// What was made of a loop.
#[derive(Clone, Debug)]
pub struct Built {
    /// The problem.
    pub problem: Problem,
    /// What a cycle of it stands for.
    pub quantum: u32,
}

/// An operation's number in the problem.
pub fn op(op: program::Op) -> Op {
    Op::new(op.index())
}

/// Cycles until an operation has its results and is done with its operands; at least 1.
pub fn duration(program: &Program, op: program::Op) -> u32 {
    program.ops[op].latency.max(1)
}

/// Cycles for which an operation keeps the warps of its agent from others: none where it runs by itself; as long as it holds
/// anything; its latency where it holds nothing.
pub fn busy(program: &Program, op: program::Op) -> u32 {
    let data = &program.ops[op];
    match data.execution {
        Execution::Sync => {
            let held = data.holds.iter().map(|h| h.start + h.rows).max();
            held.unwrap_or(data.latency).max(1)
        }
        Execution::Async | Execution::InOrder => 0,
    }
}

/// Cycles between two operations of which the second needs the first.
pub fn flow_latency(program: &Program, from: program::Op, to: program::Op) -> u32 {
    let data = &program.ops[from];
    match program.queue(from) {
        Some(queue) if program.queue(to) == Some(queue) => {
            // Until the queue takes the next one: as long as anything is held.
            let held = data.holds.iter().map(|h| h.start + h.rows).max();
            held.unwrap_or(data.latency).min(data.latency).max(1)
        }
        _ => duration(program, from),
    }
}

/// Builds the problem. `plans`: who runs what. `caps`: the most slots of values (origins). `quantum`: cycles that one row stands
/// for.
pub fn build(program: &Program, plans: &[Plan], caps: &BTreeMap<Value, u32>, quantum: u32) -> Built {
    let quantum = quantum.max(1);
    let q = |cycles: u32| cycles.div_ceil(quantum);
    let mut problem = Problem::new();
    let resources: Vec<_> =
        program.resources.values().map(|r| problem.add_resource(r.name.clone(), r.capacity)).collect();
    let mutexes: Vec<_> =
        program.mutexes.values().map(|m| problem.add_resource(format!("mutex {}", m.name), 1)).collect();
    let agents: Vec<_> =
        plans.iter().map(|p| problem.add_resource(format!("warps of {}", p.name), 1)).collect();
    let mut agent_of = vec![None; program.ops.len()];
    for (plan, &agent) in plans.iter().zip(&agents) {
        plan.ops.iter().for_each(|o| agent_of[o.index()] = Some(agent));
    }
    for (op, data) in program.ops.iter() {
        let mut uses: Vec<Use> = data
            .holds
            .iter()
            .map(|h| {
                // Rows that are touched at all.
                let (first, end) = (h.start / quantum, (h.start + h.rows).div_ceil(quantum));
                let (resource, units) = (resources[h.resource.index()], h.units);
                Use { resource, start: first, rows: end - first, units }
            })
            .collect();
        for (mutex, m) in program.mutexes.iter() {
            if m.ops.contains(&op) {
                uses.push(Use::first(mutexes[mutex.index()], q(duration(program, op))));
            }
        }
        let busy = busy(program, op);
        uses.extend(agent_of[op.index()].filter(|_| busy > 0).map(|agent| Use::first(agent, q(busy))));
        problem.add_op(data.name.clone(), uses);
    }
    let mut edge = |from: program::Op, to: program::Op, latency: u32, distance: u32| {
        problem.add_edge(op(from), op(to), q(latency) as i32, distance);
    };
    let writers = program.writers();
    for (reader, data) in program.ops.iter() {
        for o in &data.operands {
            for &writer in &writers[o.value.index()] {
                edge(writer, reader, flow_latency(program, writer, reader), o.distance);
            }
        }
    }
    for o in &program.orders {
        edge(o.from, o.to, o.latency.max(flow_latency(program, o.from, o.to)), o.distance);
    }
    for (from, to, distance) in Accumulators::of(program).orders(program) {
        edge(from, to, flow_latency(program, from, to), distance);
    }
    // A value with at most `depth` slots: what is read `distance` iterations later is read before the slot is written
    // again. `depth` is never below the distance.
    for (&value, &depth) in caps {
        for (reader, data) in program.ops.iter() {
            for o in data.operands.iter().filter(|o| program.origin(o.value) == value) {
                for &writer in &writers[value.index()] {
                    if reader != writer || !o.in_place {
                        edge(
                            reader,
                            writer,
                            flow_latency(program, reader, writer),
                            depth.saturating_sub(o.distance),
                        );
                    }
                }
            }
        }
    }
    // Prescribed positions within a stage: everything of one position before everything of the next. Those of the same
    // position are in no order. A cycle apart, since ties would go by program order.
    let mut placed: BTreeMap<u32, BTreeMap<u32, Vec<program::Op>>> = BTreeMap::new();
    for (op, o) in program.ops.iter() {
        if let (Some(stage), Some(order)) = (o.attributes.stage, o.attributes.order) {
            placed.entry(stage).or_default().entry(order).or_default().push(op);
        }
    }
    for positions in placed.values() {
        for (before, after) in positions.values().zip(positions.values().skip(1)) {
            for (&from, &to) in before.iter().flat_map(|from| after.iter().map(move |to| (from, to))) {
                problem.add_edge(op(from), op(to), 1, 0);
            }
        }
    }
    Built { problem, quantum }
}
