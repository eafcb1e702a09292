//! From operations with stages and orders to groups of producers and their consumers.
//!
//! This reads a published schedule and never changes it: no II, no table. For every pair of a raw value and a consumer
//! 1. the candidate producers are sorted by stage, then order;
//! 2. those whose value is live at the consumer are closed over: whatever defines a part of the same storage belongs;
//! 3. producers that are linked through that storage become one set;
//! 4. the earliest of a set is its canonical owner, and the set and the consumer become a skeleton of a pipe;
//! 5. a consumer whose value nothing in the loop produces gets a pipe without producers.
//!
//! Then skeletons that share a producer coalesce, equal ones collapse, and the leaders are kept for whoever asks.
//! Dependences without values become skeletons without values; mutexes are seeded before any of this.
//!
//! Source: `tile-scheduler` ("Schedule::solve", its phases 1, 2, 5 and 6; 3 and 4 belong to generation).

use crate::analysis::{Analysis, compare};
use crate::union::Union;
use cranelift_entity::EntityRef;
use sassafras_tileir::program::{Op, Program, Value};
use sassafras_tileir::scheduled::{Input, Reader};

/// A pipe before it has slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skeleton {
    /// The producers by stage and order; the first is the canonical owner. None for values from before the loop.
    pub producers: Vec<Op>,
    /// Origins of the values that it carries; none for an order.
    pub values: Vec<Value>,
    /// Who reads it, by stage and order.
    pub readers: Vec<Reader>,
}

impl Skeleton {
    /// The operation whose stage and order the pipe has.
    pub fn key(&self) -> Option<Op> {
        self.producers.first().copied().or(self.readers.first().map(|r| r.op))
    }
}

/// Mutexes of the loop with the operation whose stage and order they have: seeded before pipes, since a missing
/// exclusion is wrong where a missing pipe is only slow.
pub fn mutexes(program: &Program, analysis: &Analysis) -> Vec<(sassafras_tileir::program::Mutex, Op)> {
    let first = |ops: &[Op]| ops.iter().copied().min_by(|&a, &b| compare(analysis, a, b));
    program.mutexes.iter().filter_map(|(m, data)| Some((m, first(&data.ops)?))).collect()
}

/// All pipes of a scheduled loop.
pub fn pipes(program: &Program, analysis: &Analysis) -> Vec<Skeleton> {
    let mut found: Vec<Skeleton> = Vec::new();
    for consumer in analysis.sorted() {
        for (i, operand) in program.ops[consumer].operands.iter().enumerate() {
            let reader = Reader { op: consumer, input: Input::Operand(i as u32) };
            found.push(solve(program, analysis, program.origin(operand.value), reader));
        }
    }
    // A value that nobody in the loop reads still needs a place.
    let writers = program.writers();
    for (value, data) in program.values.iter() {
        let mut producers = writers[value.index()].clone();
        if data.part_of.is_none() && !producers.is_empty() && !found.iter().any(|s| s.values.contains(&value))
        {
            producers.sort_by(|&a, &b| compare(analysis, a, b));
            found.push(Skeleton { producers, values: vec![value], readers: Vec::new() });
        }
    }
    let mut found = coalesce(analysis, found);
    let orders = program.orders.iter().enumerate().map(|(i, o)| Skeleton {
        producers: vec![o.from],
        values: Vec::new(),
        readers: vec![Reader { op: o.to, input: Input::Order(i as u32) }],
    });
    found.extend(coalesce(analysis, orders.collect()));
    found
}

/// One pair of a raw value and a consumer.
fn solve(program: &Program, analysis: &Analysis, raw: Value, reader: Reader) -> Skeleton {
    let defines = |op: Op| program.ops[op].results.iter().any(|&v| program.origin(v) == raw);
    let mut work: Vec<Op> = program.ops.keys().filter(|&op| defines(op)).collect();
    work.sort_by(|&a, &b| compare(analysis, a, b));
    // Live at the consumer: what defines a part, and, through operands of the same storage, what defined it before.
    let definitions = program.definitions();
    let mut union = Union::new(program.ops.len());
    let mut live = work.clone();
    let mut at = 0;
    while at < live.len() {
        let producer = live[at];
        at += 1;
        for operand in program.ops[producer].operands.iter().filter(|o| program.origin(o.value) == raw) {
            if let Some(by) = definitions[operand.value] {
                union.join(producer.index(), by.index());
                if !live.contains(&by) {
                    live.push(by);
                }
            }
        }
    }
    // Storage is handed over as a whole: all of its producers are one group, whoever they read from.
    for pair in live.windows(2) {
        union.join(pair[1].index(), pair[0].index());
    }
    live.sort_by(|&a, &b| compare(analysis, a, b));
    Skeleton { producers: live, values: vec![raw], readers: vec![reader] }
}

/// Merges skeletons that share a producer, and those without one that carry the same value to the same consumer.
fn coalesce(analysis: &Analysis, skeletons: Vec<Skeleton>) -> Vec<Skeleton> {
    let mut union = Union::new(skeletons.len());
    let mut by_producer = std::collections::BTreeMap::new();
    for (i, s) in skeletons.iter().enumerate() {
        for p in &s.producers {
            match by_producer.get(p) {
                Some(&first) => {
                    union.join(i, first);
                }
                None => {
                    by_producer.insert(*p, i);
                }
            }
        }
    }
    let mut merged = Vec::new();
    for set in union.sets() {
        let mut all = Skeleton { producers: Vec::new(), values: Vec::new(), readers: Vec::new() };
        for i in set {
            all.producers.extend(&skeletons[i].producers);
            all.values.extend(&skeletons[i].values);
            all.readers.extend(&skeletons[i].readers);
        }
        all.producers.sort_by(|&a, &b| compare(analysis, a, b));
        all.producers.dedup();
        all.values.sort_unstable();
        all.values.dedup();
        all.readers.sort_by(|a, b| compare(analysis, a.op, b.op).then(a.input.cmp(&b.input)));
        all.readers.dedup();
        merged.push(all);
    }
    let key = |s: &Skeleton| {
        s.key().map(|op| (s.producers.is_empty(), analysis.place(op).stage, analysis.place(op).order))
    };
    merged.sort_by_key(|s| (key(s), s.values.first().copied()));
    merged
}
