//! Shorter lifetimes for free: whole turns, rows untouched.
//!
//! Goal: fewer slots. An operation whose results are larger than what only it still reads moves later by as many whole
//! turns as its readers allow; one of the other kind moves earlier. Rows do not change, so resources do not either. From
//! the last operation to the first, then from the first to the last, until nothing moves.
//!
//! [`squeeze`] moves operations by cycles instead, for loops whose buffers do not fit otherwise.
//!
//! Cost: a few passes over the edges.

use cranelift_entity::EntityRef;
use sassafras_modulo::{Problem, Schedule, Table};
use sassafras_tileir::program::{Op, Program};

/// Bytes that an operation's results take less the bytes it is the only reader of.
fn weight(program: &Program, op: Op, readers: &[u32]) -> i128 {
    let data = &program.ops[op];
    let bytes = |v: sassafras_tileir::program::Value| i128::from(program.values[program.origin(v)].bytes);
    let made: i128 = data.results.iter().map(|&v| bytes(v)).sum();
    let freed: i128 = data
        .operands
        .iter()
        .filter(|o| readers[program.origin(o.value).index()] == 1)
        .map(|o| bytes(o.value))
        .sum();
    made - freed
}

/// Moves operations by whole turns. `fixed` ones stay.
pub fn compact(program: &Program, problem: &Problem, schedule: &mut Schedule, fixed: impl Fn(Op) -> bool) {
    let ii = i64::from(schedule.ii);
    let n = problem.ops().len();
    let (mut incoming, mut outgoing) = (vec![Vec::new(); n], vec![Vec::new(); n]);
    for e in problem.edges().iter().filter(|e| e.from != e.to) {
        outgoing[e.from.index()].push(e);
        incoming[e.to.index()].push(e);
    }
    let mut readers = vec![0u32; program.values.len()];
    for o in program.ops.values().flat_map(|o| &o.operands) {
        readers[program.origin(o.value).index()] += 1;
    }
    let mut by_time: Vec<usize> = (0..n).collect();
    for _ in 0..4 {
        let mut moved = false;
        by_time.sort_by_key(|&i| (schedule.times[i], i));
        for &i in by_time.iter().rev().chain(by_time.iter()) {
            if fixed(Op::new(i)) {
                continue;
            }
            let time = schedule.times[i];
            let turns = if weight(program, Op::new(i), &readers) > 0 {
                // Later, as far as what needs it allows; what nothing needs stays.
                let room = outgoing[i].iter().map(|e| {
                    schedule.times[e.to.index()] + ii * i64::from(e.distance) - i64::from(e.latency) - time
                });
                room.min().map_or(0, |r| r.div_euclid(ii).max(0))
            } else {
                let room = incoming[i].iter().map(|e| {
                    time + ii * i64::from(e.distance) - i64::from(e.latency) - schedule.times[e.from.index()]
                });
                -room.min().map_or(time.div_euclid(ii), |r| r.div_euclid(ii)).max(0)
            };
            if turns != 0 {
                schedule.times[i] += turns * ii;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
}

/// Moves operations whose results are larger than what only they still read as late as their readers and the table
/// allow, from the last to the first. Rows change; what the schedule must keep, it keeps.
pub fn squeeze(program: &Program, problem: &Problem, schedule: &mut Schedule) {
    let Ok(mut table) = Table::new(problem, schedule.ii) else { return };
    for op in problem.ops() {
        if table.place(op, schedule.times[op.index()]).is_err() {
            return;
        }
    }
    let ii = i64::from(schedule.ii);
    let mut outgoing = vec![Vec::new(); problem.ops().len()];
    for e in problem.edges().iter().filter(|e| e.from != e.to) {
        outgoing[e.from.index()].push(e);
    }
    let mut readers = vec![0u32; program.values.len()];
    for o in program.ops.values().flat_map(|o| &o.operands) {
        readers[program.origin(o.value).index()] += 1;
    }
    let mut by_time: Vec<_> = problem.ops().collect();
    by_time.sort_by_key(|op| std::cmp::Reverse((schedule.times[op.index()], op.index())));
    for op in by_time {
        let i = op.index();
        let room = outgoing[i]
            .iter()
            .map(|e| schedule.times[e.to.index()] + ii * i64::from(e.distance) - i64::from(e.latency));
        let Some(latest) = room.min() else { continue };
        if weight(program, Op::new(i), &readers) <= 0 || latest <= schedule.times[i] {
            continue;
        }
        table.unplace(op);
        let time = table.latest(op, schedule.times[i]..=latest).unwrap_or(schedule.times[i]);
        if table.place(op, time).is_ok() {
            schedule.times[i] = time;
        }
    }
}

/// Bytes of all slots that values need, each from its first write to its last read, sharing left aside: to compare schedules of
/// one problem.
pub fn bytes(program: &Program, schedule: &Schedule) -> u128 {
    let ii = i64::from(schedule.ii.max(1));
    // First and last cycle of each value's storage.
    let mut lives: Vec<Option<(i64, i64)>> = vec![None; program.values.len()];
    for (op, data) in program.ops.iter() {
        let time = schedule.times[op.index()];
        for &v in &data.results {
            let life = lives[program.origin(v).index()].get_or_insert((time, time));
            *life = (life.0.min(time), life.1.max(time));
        }
    }
    for (op, data) in program.ops.iter() {
        for o in &data.operands {
            if let Some(life) = &mut lives[program.origin(o.value).index()] {
                life.1 = life.1.max(schedule.times[op.index()] + ii * i64::from(o.distance));
            }
        }
    }
    let slots = |(from, to): (i64, i64)| ((to - from) / ii + 1).unsigned_abs();
    let each = program
        .values
        .iter()
        .map(|(v, data)| lives[v.index()].map_or(0, |life| u128::from(data.bytes) * u128::from(slots(life))));
    each.sum()
}

/// Moves everything by whole turns so that the first operation is in the first one.
pub fn to_start(schedule: &mut Schedule) {
    let ii = i64::from(schedule.ii.max(1));
    let first = schedule.times.iter().min().map_or(0, |t| t.div_euclid(ii) * ii);
    schedule.times.iter_mut().for_each(|t| *t -= first);
}
