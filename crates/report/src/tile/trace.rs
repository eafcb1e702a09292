//! Goal: the steady state of a loop as a trace for Perfetto and chrome://tracing: what each agent runs and what each resource is held
//! by, for as many iterations as overlap and two more. A cycle is written as a microsecond.
//!
//! Cost: linear in what is written. Source: the Trace Event Format.

use super::Loop;
use serde_json::{Value, json};

/// The trace of some loops: a process each.
pub fn json(input: &str, loops: &[Loop]) -> String {
    let mut events: Vec<Value> = Vec::new();
    for (at, l) in loops.iter().enumerate() {
        one(at + 1, l, &mut events);
    }
    let other = json!({ "input": input, "time": "one microsecond is one cycle of the model" });
    json!({ "traceEvents": events, "displayTimeUnit": "ns", "otherData": other }).to_string()
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
            let args = json!({ "iteration": i, "stage": o.stage, "row": o.row, "order": o.order });
            events.push(json!({ "name": format!("{} ({i})", o.name), "ph": "X", "cat": o.kind, "pid": pid, "tid": tid,
                "ts": o.time + i * i64::from(v.ii), "dur": o.latency.max(1), "args": args }));
        }
    }
    for r in &v.resources {
        let holds: Vec<(i64, u32, &str)> = v
            .ops
            .iter()
            .flat_map(|o| o.holds.iter().filter(|h| h.resource == r.name).map(|h| (o.time + i64::from(h.start), h.cycles, o.name.as_str())))
            .collect();
        if holds.is_empty() || r.capacity > 1 {
            continue;
        }
        let tid = thread(&format!("slot {}", r.name), events);
        for i in 0..rounds {
            for (time, cycles, name) in &holds {
                events.push(json!({ "name": format!("{name} ({i})"), "ph": "X", "cat": "slot", "pid": pid, "tid": tid,
                    "ts": time + i * i64::from(v.ii), "dur": cycles, "args": {} }));
            }
        }
    }
}
