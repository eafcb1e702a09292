//! The serial generator: one iteration after the other.
//!
//! Goal: a schedule for every loop, the same each time. Operations come in an order that respects dependences, those
//! that are ready in program order; each starts when what it needs is done and the table has room; II is the time until
//! everything is done, so that iterations never overlap. Looks at no constraint but dependences and resources.
//!
//! Cost: a heap of ready operations and one probe each. Source: `tile-gates` ("Serial Generator").

use super::problem::duration;
use cranelift_entity::EntityRef;
use sassafras_modulo::{Op, Problem, Schedule, Table};
use sassafras_tileir::program::Program;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The order in which the serial generator takes operations: topological, ties in program order.
pub fn order(problem: &Problem) -> Vec<Op> {
    let n = problem.ops().len();
    let (mut next, mut before) = (vec![Vec::new(); n], vec![0u32; n]);
    for e in problem.edges().iter().filter(|e| e.distance == 0 && e.from != e.to) {
        next[e.from.index()].push(e.to);
        before[e.to.index()] += 1;
    }
    let mut ready: BinaryHeap<Reverse<Op>> =
        problem.ops().filter(|o| before[o.index()] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(n);
    while let Some(Reverse(op)) = ready.pop() {
        order.push(op);
        for &to in &next[op.index()] {
            before[to.index()] -= 1;
            if before[to.index()] == 0 {
                ready.push(Reverse(to));
            }
        }
    }
    order
}

/// Schedules; nothing if dependences within an iteration go round in a circle, or numbers grow too large.
pub fn generate(program: &Program, problem: &Problem, quantum: u32) -> Option<Schedule> {
    let order = order(problem);
    if order.len() != problem.ops().len() {
        return None;
    }
    let done = |op: Op| {
        let own = duration(program, sassafras_tileir::program::Op::new(op.index())).div_ceil(quantum);
        u64::from(own).max(problem.span(op))
    };
    // Long enough that nothing wraps however operations are placed: they end one after the other at the latest.
    let most: u64 = problem.ops().map(done).sum::<u64>()
        + problem.edges().iter().map(|e| u64::from(e.latency.unsigned_abs())).sum::<u64>();
    let mut table = Table::new(problem, u32::try_from(most.max(1)).ok()?).ok()?;
    let mut incoming = vec![Vec::new(); problem.ops().len()];
    for e in problem.edges().iter().filter(|e| e.distance == 0) {
        incoming[e.to.index()].push((e.from, e.latency));
    }
    let mut end = 1;
    for op in order {
        let ready = incoming[op.index()]
            .iter()
            .filter_map(|&(from, latency)| Some(table.time(from)? + i64::from(latency)));
        let start = ready.max().unwrap_or(0).max(0);
        let time = table.earliest(op, start..=i64::MAX)?;
        table.place(op, time).ok()?;
        end = end.max(u64::try_from(time).ok()? + done(op));
    }
    // Whatever takes longer than the operations themselves, such as the latency of an order to the next iteration.
    let times: Option<Vec<i64>> = problem.ops().map(|op| table.time(op)).collect();
    let times = times?;
    for e in problem.edges().iter().filter(|e| e.distance > 0) {
        let need = times[e.from.index()] + i64::from(e.latency) - times[e.to.index()];
        let need = u64::try_from(need).unwrap_or(0);
        end = end.max(need.div_ceil(u64::from(e.distance)));
    }
    Some(Schedule { ii: u32::try_from(end).ok()?, times })
}
