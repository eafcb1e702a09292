//! Goal: what all warps of a loop did, as a trace for Perfetto and chrome://tracing.
//!
//! One process per loop; in it a thread per unit, then per scoreboard, then per warp. Where several keep a unit or a scoreboard at
//! once (every warp has its own six), there are several threads: slices of one thread never overlap. A cycle is written as a microsecond.
//!
//! Cost: linear in what is written. Source: the Trace Event Format: complete events (`X`), metadata (`M`).

use crate::rows::rows;
use sassafras_analyze::trace::{Span, Trace};
use sassafras_analyze::{Kernel, LoopReport};
use serde::Serialize;
use serde_json::{Value, json};

#[derive(Serialize)]
struct File {
    #[serde(rename = "traceEvents")]
    events: Vec<Event>,
    #[serde(rename = "displayTimeUnit")]
    display: &'static str,
    #[serde(rename = "otherData")]
    other: Value,
}

#[derive(Serialize)]
struct Event {
    name: String,
    ph: &'static str,
    pid: usize,
    tid: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<u32>,
    args: Value,
}

/// The trace of every loop that has one.
pub fn json(input: &str, kernels: &[Kernel]) -> String {
    let loops = kernels.iter().flat_map(|kernel| kernel.loops.iter().map(move |found| (kernel, found)));
    let traced = loops.filter_map(|(kernel, found)| Some((kernel, found, found.trace.as_ref()?)));
    let mut events = Vec::new();
    for (at, (kernel, found, trace)) in traced.enumerate() {
        Process { pid: at + 1, threads: 0, trace, events: &mut events }.write(kernel, found);
    }
    let other = json!({ "input": input, "time": "one microsecond is one cycle of the model" });
    let file = File { events, display: "ns", other };
    // Numbers and strings alone: nothing here fails to be written.
    serde_json::to_string(&file).unwrap_or_default()
}

/// A loop that is being written.
struct Process<'a> {
    pid: usize,
    threads: usize,
    trace: &'a Trace,
    events: &'a mut Vec<Event>,
}

impl Process<'_> {
    fn write(&mut self, kernel: &Kernel, found: &LoopReport) {
        let trace = self.trace;
        let name = format!(
            "{}, loop at 0x{:x} ({}, {} warps; 1 µs is 1 cycle)",
            kernel.name, found.offset, kernel.arch, found.warps
        );
        self.meta(0, "process_name", json!({ "name": name }));
        self.meta(0, "process_sort_index", json!({ "sort_index": self.pid }));
        for (unit, spans) in &trace.units {
            self.shared(&format!("unit {unit}"), "unit", spans);
        }
        self.shared("data path", "unit", &trace.data_path);
        for (board, spans) in trace.scoreboards.iter().enumerate() {
            self.shared(&format!("SB {board}"), "scoreboard", spans);
        }
        for (warp, parts) in trace.warps.iter().enumerate() {
            let tid = self.thread(&format!("warp {warp}"));
            for part in parts {
                match &part.lost_to {
                    None => self.slice(tid, "issue", self.text(&part.span), &part.span),
                    Some(cause) => self.slice(tid, "lost", cause.clone(), &part.span),
                }
            }
        }
    }

    /// What several may keep at once, on as many threads as that takes.
    fn shared(&mut self, name: &str, category: &'static str, spans: &[Span]) {
        for (row, spans) in rows(spans).iter().enumerate() {
            let tid = match row {
                0 => self.thread(name),
                _ => self.thread(&format!("{name} ({})", row + 1)),
            };
            for span in spans {
                self.slice(tid, category, self.text(span), span);
            }
        }
    }

    fn text(&self, span: &Span) -> String {
        self.trace.steps[span.step].1.clone()
    }

    fn thread(&mut self, name: &str) -> usize {
        self.threads += 1;
        let tid = self.threads;
        self.meta(tid, "thread_name", json!({ "name": name }));
        self.meta(tid, "thread_sort_index", json!({ "sort_index": tid }));
        tid
    }

    fn meta(&mut self, tid: usize, name: &str, args: Value) {
        let event = Event {
            name: name.to_owned(),
            ph: "M",
            pid: self.pid,
            tid,
            cat: None,
            ts: None,
            dur: None,
            args,
        };
        self.events.push(event);
    }

    fn slice(&mut self, tid: usize, category: &'static str, name: String, span: &Span) {
        let at = format!("0x{:x}", self.trace.steps[span.step].0);
        let args = match category {
            // The name says what was waited for: who waited is the instruction.
            "lost" => json!({ "before": self.text(span), "at": at }),
            _ => json!({ "warp": span.warp, "at": at }),
        };
        let (ts, dur) = (Some(span.start), Some(span.cycles));
        self.events.push(Event { name, ph: "X", pid: self.pid, tid, cat: Some(category), ts, dur, args });
    }
}
