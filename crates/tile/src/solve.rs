//! From operations with stages and orders to groups of producers and their consumers.
//!
//! This reads a published schedule and never changes it: no II, no table. For every pair of a raw value and a consumer
//! 1. the candidate producers are those that define something of the raw value's storage, by stage, then order;
//! 2. *live at the consumer* are those whose definition reaches it: what they define has bytes in common with what is read.
//!    That set is closed: where a live producer itself reads that storage, what reaches it there is live too, since what
//!    it leaves in the slot is made from what it found;
//! 3. whatever is live at one consumer is one set: an operand is read from one slot. An operation that defines several values
//!    is in one set only, so that sets that share a producer coalesce by themselves;
//! 4. each set becomes one skeleton of a pipe; its earliest member by stage and order is the canonical owner. Parts of one
//!    value that nobody reads together are several sets, and have pipes and slots of their own;
//! 5. a consumer that nothing of the loop reaches gets a pipe without producers, even where other parts of the same value
//!    are produced.
//!
//! A skeleton carries the least value that covers what its producers define and its readers read. Skeletons whose values
//! have bytes in common become one, and so do all of an origin whose parts do not fit into it side by side, or of which a part
//! is read by nobody: nobody would wait for it.
//! Dependences without values become skeletons without values; mutexes are seeded before any of this.
//!
//! Dependences that schedules keep are coarser: a reader comes after all writers of an origin
//! ([`Program::writers`](sassafras_tileir::program::Program::writers)). So whatever is decided here, the schedule allows it.
//!
//! Cost: operands times producers of one origin. Source: `tile-scheduler` ("Schedule::solve", its phases 1, 2, 5 and 6; 3 and 4
//! belong to generation).

use crate::analysis::{Analysis, compare};
use crate::union::Union;
use cranelift_entity::EntityRef;
use sassafras_tileir::program::{Op, Program, Value};
use sassafras_tileir::scheduled::{Input, Reader};
use std::collections::{BTreeMap, BTreeSet};

/// A pipe before it has slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skeleton {
    /// The producers by stage and order; the first is the canonical owner. None for values from before the loop.
    pub producers: Vec<Op>,
    /// The values that it carries, origins or parts that are handed over apart; none for an order.
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
    let defined = Defined::new(program);
    let mut sets = Union::new(program.ops.len());
    let mut read: Vec<Read> = Vec::new();
    for consumer in analysis.sorted() {
        for (i, operand) in program.ops[consumer].operands.iter().enumerate() {
            let reader = Reader { op: consumer, input: Input::Operand(i as u32) };
            read.push((Some(reader), operand.value, defined.live(program, operand.value)));
        }
    }
    // Who reads after the loop reads one slot as well.
    read.extend(program.outs.iter().map(|o| (None, o.value, defined.live(program, o.value))));
    for (_, _, live) in &read {
        live.windows(2).for_each(|pair| {
            sets.join(pair[1].index(), pair[0].index());
        });
    }
    let whole = settle(program, &mut sets, &read);
    let mut found: Vec<Skeleton> = Vec::new();
    let mut of_set: BTreeMap<usize, usize> = BTreeMap::new();
    for op in analysis.sorted().into_iter().filter(|&op| !program.ops[op].results.is_empty()) {
        // By stage and order: whoever opens a skeleton is its canonical owner.
        let at = *of_set.entry(sets.find(op.index())).or_insert_with(|| {
            found.push(Skeleton { producers: Vec::new(), values: Vec::new(), readers: Vec::new() });
            found.len() - 1
        });
        found[at].producers.push(op);
    }
    let covers = covers(program, &mut sets, &read, &whole);
    for (&(set, _), &value) in &covers {
        found[of_set[&set]].values.push(value);
    }
    // Values from before the loop, by the largest that is read of each.
    let mut before: BTreeMap<Value, usize> = BTreeMap::new();
    let outer = outermost(program, &read);
    for (reader, value, live) in read {
        let Some(reader) = reader else { continue };
        let origin = program.origin(value);
        let reached = match live.first() {
            Some(op) => Some(sets.find(op.index())),
            // Nothing defines it, but it lies in what is handed over as one.
            None => covers.iter().find(|c| c.0.1 == origin && program.is_within(value, *c.1)).map(|c| c.0.0),
        };
        let at = match reached {
            Some(set) => of_set[&set],
            None => *before.entry(outer[&value]).or_insert_with(|| {
                found.push(Skeleton {
                    producers: Vec::new(),
                    values: vec![outer[&value]],
                    readers: Vec::new(),
                });
                found.len() - 1
            }),
        };
        found[at].readers.push(reader);
    }
    let key = |s: &Skeleton| {
        s.key().map(|op| (s.producers.is_empty(), analysis.place(op).stage, analysis.place(op).order))
    };
    for s in &mut found {
        s.values.sort_unstable();
    }
    found.sort_by_key(|s| (key(s), s.values.first().copied()));
    found.extend(orders(program, analysis));
    found
}

/// Results by origin.
struct Defined {
    of: Vec<Vec<(Value, Op)>>,
}

impl Defined {
    fn new(program: &Program) -> Defined {
        let mut of = vec![Vec::new(); program.values.len()];
        for (op, data) in program.ops.iter() {
            data.results.iter().for_each(|&v| of[program.origin(v).index()].push((v, op)));
        }
        Defined { of }
    }

    /// Who defines something that has bytes in common with a value.
    fn reaching(&self, program: &Program, value: Value) -> impl Iterator<Item = Op> {
        let of = self.of[program.origin(value).index()].iter();
        of.filter(move |d| program.is_within(d.0, value) || program.is_within(value, d.0)).map(|d| d.1)
    }

    /// Producers that are live where a value is read, closed over what they read of the same storage themselves.
    fn live(&self, program: &Program, value: Value) -> Vec<Op> {
        let raw = program.origin(value);
        let mut live: Vec<Op> = Vec::new();
        let mut reads = vec![value];
        while let Some(value) = reads.pop() {
            for op in self.reaching(program, value) {
                if !live.contains(&op) {
                    live.push(op);
                    let own = program.ops[op].operands.iter().map(|o| o.value);
                    reads.extend(own.filter(|&v| program.origin(v) == raw));
                }
            }
        }
        live
    }
}

/// The least value that two of one origin are parts of.
fn join(program: &Program, a: Value, b: Value) -> Value {
    let mut at = a;
    while let Some(whole) = program.values[at].part_of.filter(|_| !program.is_within(b, at)) {
        at = whole;
    }
    at
}

/// Who reads (nobody of the loop where it is what comes after it), what, and the producers that are live there.
type Read = (Option<Reader>, Value, Vec<Op>);

/// For each set and origin the value that the set's pipe carries; origins of `whole` as one.
fn covers(
    program: &Program,
    sets: &mut Union,
    read: &[Read],
    whole: &BTreeSet<Value>,
) -> BTreeMap<(usize, Value), Value> {
    let mut covers: BTreeMap<(usize, Value), Value> = BTreeMap::new();
    let mut cover = |set: usize, value: Value| {
        let origin = program.origin(value);
        let at = covers.entry((set, origin)).or_insert(if whole.contains(&origin) { origin } else { value });
        *at = join(program, *at, value);
    };
    for (op, data) in program.ops.iter() {
        data.results.iter().for_each(|&v| cover(sets.find(op.index()), v));
    }
    for (_, value, live) in read {
        if let Some(op) = live.first() {
            cover(sets.find(op.index()), *value);
        }
    }
    covers
}

/// Joins sets until no two carry the same bytes; returns origins that are not taken apart, because what is carried of them is
/// more than they are, or because nobody reads a part of them.
fn settle(program: &Program, sets: &mut Union, read: &[Read]) -> BTreeSet<Value> {
    let mut whole = BTreeSet::new();
    loop {
        let covers = covers(program, sets, read, &whole);
        let mut by_origin: BTreeMap<Value, Vec<(usize, Value)>> = BTreeMap::new();
        for (&(set, origin), &value) in &covers {
            by_origin.entry(origin).or_default().push((set, value));
        }
        let mut changed = false;
        let readers = read.iter().filter(|r| r.0.is_some()).filter_map(|r| r.2.first());
        let wanted: BTreeSet<usize> = readers.map(|op| sets.find(op.index())).collect();
        for (&origin, carried) in &by_origin {
            let mut all: Vec<Value> = carried.iter().map(|c| c.1).collect();
            let free = read.iter().filter(|r| r.2.is_empty() && program.origin(r.1) == origin).map(|r| r.1);
            let free: Vec<Value> = free.collect();
            // Nobody would wait for a part that nobody reads: it goes with the others, produced or from before the loop.
            if carried.len() + free.len() > 1 && carried.iter().any(|c| !wanted.contains(&c.0)) {
                changed |= whole.insert(origin);
            }
            all.extend(free.into_iter().filter(|&v| !carried.iter().any(|c| program.is_within(v, c.1))));
            all.sort_unstable();
            all.dedup();
            let bytes = all.iter().map(|&v| u128::from(program.values[v].bytes)).sum::<u128>();
            if bytes > u128::from(program.values[origin].bytes) && whole.insert(origin) {
                changed = true;
            }
            for (i, a) in carried.iter().enumerate() {
                for b in &carried[..i] {
                    let same = program.is_within(a.1, b.1) || program.is_within(b.1, a.1);
                    if same || whole.contains(&origin) {
                        changed |= sets.join(a.0, b.0);
                    }
                }
            }
        }
        if !changed {
            return whole;
        }
    }
}

/// For each value that is read and that nothing reaches the largest such value it is part of.
fn outermost(program: &Program, read: &[Read]) -> BTreeMap<Value, Value> {
    let free: BTreeSet<Value> = read.iter().filter(|r| r.2.is_empty()).map(|r| r.1).collect();
    let outer = |&value: &Value| {
        let (mut best, mut at) = (value, program.values[value].part_of);
        while let Some(whole) = at {
            if free.contains(&whole) {
                best = whole;
            }
            at = program.values[whole].part_of;
        }
        (value, best)
    };
    free.iter().map(outer).collect()
}

/// Dependences without values: those of one operation are one pipe.
fn orders(program: &Program, analysis: &Analysis) -> Vec<Skeleton> {
    let mut by_producer: BTreeMap<Op, Vec<Reader>> = BTreeMap::new();
    for (i, o) in program.orders.iter().enumerate() {
        let reader = Reader { op: o.to, input: Input::Order(i as u32) };
        by_producer.entry(o.from).or_default().push(reader);
    }
    let mut found: Vec<Skeleton> = by_producer
        .into_iter()
        .map(|(from, mut readers)| {
            readers.sort_by(|a, b| compare(analysis, a.op, b.op).then(a.input.cmp(&b.input)));
            Skeleton { producers: vec![from], values: Vec::new(), readers }
        })
        .collect();
    found.sort_by(|a, b| compare(analysis, a.producers[0], b.producers[0]));
    found
}
