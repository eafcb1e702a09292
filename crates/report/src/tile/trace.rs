//! Goal: the steady state of a loop as a trace for Perfetto and chrome://tracing: what each agent runs and what each resource is held
//! by, for as many iterations as overlap and two more. A cycle is written as a microsecond.
//!
//! Cost: linear in what is written. Source: the Trace Event Format.

use super::Loop;
use sassafras_tile::view::{HoldView, OpView, View};
use serde_json::{Value, json};

/// The trace of some loops: a process each.
pub fn json(input: &str, loops: &[Loop]) -> String {
    let mut events: Vec<Value> = Vec::new();
    for (at, l) in loops.iter().enumerate() {
        one(at + 1, l, &mut events);
    }
    let loops: Vec<Value> = loops.iter().map(|l| made(&l.view)).collect();
    let other =
        json!({ "input": input, "time": "one microsecond is one cycle of the model", "loops": loops });
    json!({ "traceEvents": events, "displayTimeUnit": "ns", "otherData": other }).to_string()
}

/// How a schedule came about, which no slice shows.
fn made(v: &View) -> Value {
    json!({ "name": v.name, "ii": v.ii, "generator": v.generator, "cost": v.cost, "probes": v.probes })
}

fn one(pid: usize, l: &Loop, events: &mut Vec<Value>) {
    let v = &l.view;
    let meta = |tid: usize, what: &str, name: &str| json!({ "name": what, "ph": "M", "pid": pid, "tid": tid, "args": { "name": name } });
    events.push(meta(0, "process_name", &format!("{} (II {}, {} stages)", v.name, v.ii, v.stages)));
    // Operations that overlap themselves or each other get a thread each: slices of one thread never overlap.
    let mut threads = 0;
    let mut thread = |name: &str, events: &mut Vec<Value>| {
        threads += 1;
        events.push(meta(threads, "thread_name", name));
        threads
    };
    let rounds = i64::from(v.stages) + 2;
    for o in &v.ops {
        let lanes = (i64::from(o.latency.max(1)) + i64::from(v.ii) - 1) / i64::from(v.ii.max(1));
        let tids: Vec<usize> = (0..lanes.max(1))
            .map(|lane| {
                let lane = if lanes > 1 { format!(" {lane}") } else { String::new() };
                thread(&format!("{}: {}{lane}", o.agent, o.name), events)
            })
            .collect();
        for i in 0..rounds {
            let tid = tids[usize::try_from(i).unwrap_or(0) % tids.len()];
            let args =
                json!({ "iteration": i, "stage": o.stage, "row": o.row, "order": o.order, "arm": o.arm });
            events.push(
                json!({ "name": format!("{} ({i})", o.name), "ph": "X", "cat": o.kind, "pid": pid, "tid": tid,
                "ts": o.time + i * i64::from(v.ii), "dur": o.latency.max(1), "args": args }),
            );
        }
    }
    for r in &v.resources {
        let holds: Vec<(&OpView, HoldView)> = v
            .ops
            .iter()
            .flat_map(|o| o.everything().into_iter().map(move |h| (o, h)))
            .filter(|(_, h)| h.resource == r.name && h.cycles > 0)
            .collect();
        if holds.is_empty() {
            continue;
        }
        // One unit is held by one at a time. Of several each hold has a thread of its own, or as many as it overlaps itself.
        let shared = (r.capacity == 1).then(|| thread(&format!("slot {}", r.name), events));
        for (o, h) in holds {
            let tids: Vec<usize> = match shared {
                Some(tid) => vec![tid],
                None => (0..h.cycles.div_ceil(v.ii.max(1)))
                    .map(|_| thread(&format!("slot {} ({} units): {}", r.name, r.capacity, o.name), events))
                    .collect(),
            };
            for i in 0..rounds {
                let tid = tids[usize::try_from(i).unwrap_or(0) % tids.len()];
                let ts = o.time + i64::from(h.start) + i * i64::from(v.ii);
                events.push(
                    json!({ "name": format!("{} ({i})", o.name), "ph": "X", "cat": "slot", "pid": pid, "tid": tid,
                    "ts": ts, "dur": h.cycles, "args": { "units": h.units } }),
                );
            }
        }
    }
}
