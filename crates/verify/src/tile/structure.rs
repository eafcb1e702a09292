//! What a schedule says, without running it.

use super::Limits;
use super::names::Names;
use super::violation::Violation;
use cranelift_entity::EntityRef;
use sassafras_tileir::program::{Accumulators, Op, Program, Storage, Value};
use sassafras_tileir::scheduled::{
    Action, Agent, AgentData, BARRIER_BYTES, Backing, Base, Buffer, Flavour, Input, Pipe, Reader, Scheduled,
    Source, Step, Turn,
};
use std::collections::{BTreeMap, BTreeSet};

/// The largest depth of pipes and buffers, number of initial fills, shift, lead and `short_below` that is looked at: a
/// replay has a table entry for each.
const MAX_NUMBER: u64 = 1 << 16;
/// The largest number of slots of all buffers.
const MAX_SLOTS: u64 = 1 << 20;

/// All steps of an agent, with the name of their part and what they count from.
pub(super) fn parts(a: &AgentData) -> [(&'static str, &[Step], Base, &'static str); 4] {
    [
        ("prologue", &a.prologue, Base::First, "the first"),
        ("steady", &a.steady, Base::Round, "the round"),
        ("epilogue", &a.epilogue, Base::Trips, "the number of trips"),
        ("short", &a.short, Base::Round, "the round"),
    ]
}

pub(super) struct Structure<'a> {
    n: Names<'a>,
    limits: &'a Limits,
    /// Who runs each operation.
    owners: Vec<Option<Agent>>,
    /// For each value the operations that write its origin.
    writers: Vec<Vec<Op>>,
    found: Vec<Violation>,
}

/// Everything that is wrong. References to things that there are not are found first and alone, since nothing else can be
/// asked then.
pub(super) fn violations(program: &Program, scheduled: &Scheduled, limits: &Limits) -> Vec<Violation> {
    if let Err(e) = program.check() {
        return vec![Violation::Program { why: e.to_string() }];
    }
    let n = Names { p: program, s: scheduled };
    let owners = vec![None; program.ops.len()];
    let mut c = Structure { n, limits, owners, writers: Vec::new(), found: Vec::new() };
    c.references();
    c.numbers();
    if !c.found.is_empty() {
        return c.found;
    }
    c.writers = program.writers();
    if scheduled.name != program.name {
        let (scheduled, program) = (scheduled.name.clone(), program.name.clone());
        c.found.push(Violation::Name { scheduled, program });
    }
    c.agents();
    c.steps();
    c.coverage();
    c.pipes();
    c.inputs();
    c.sources();
    c.barriers();
    c.mutexes();
    c.buffers();
    c.registers();
    c.in_place();
    c.outs();
    if let Err(why) = super::tiles::check(program, scheduled.tile_loop.as_ref()) {
        c.found.push(Violation::TileLoop { why });
    }
    // Times mean something only of what is right otherwise.
    if c.found.is_empty() {
        c.found = super::timing::violations(c.n, &c.owners);
    }
    c.found
}

impl<'a> Structure<'a> {
    fn all_steps(&self) -> impl Iterator<Item = (Agent, &'a Step)> + use<'a> {
        let agents = self.n.s.agents.iter();
        agents.flat_map(|(a, d)| parts(d).into_iter().flat_map(move |p| p.1.iter().map(move |s| (a, s))))
    }

    fn unknown(&mut self, place: String, what: &'static str, number: usize) {
        self.found.push(Violation::Unknown { place, what, number: number as u64 });
    }

    fn references(&mut self) {
        let (p, s) = (self.n.p, self.n.s);
        let op = |o: Op| p.ops.get(o).is_none().then_some(("operation", o.index()));
        let value = |v: Value| p.values.get(v).is_none().then_some(("value", v.index()));
        let pipe = |x: Pipe| s.pipes.get(x).is_none().then_some(("pipe", x.index()));
        let reader = |r: Reader| {
            op(r.op).or_else(|| match r.input {
                Input::Operand(i) => {
                    let there = p.ops[r.op].operands.len();
                    (i as usize >= there).then_some(("operand", i as usize))
                }
                Input::Order(i) => match p.orders.get(i as usize) {
                    None => Some(("order", i as usize)),
                    Some(o) => (o.to != r.op).then_some(("such order into the operation:", i as usize)),
                },
            })
        };
        let mut bad = Vec::new();
        for (x, d) in s.pipes.iter() {
            let wrong = d.writers.iter().find_map(|&o| op(o));
            let wrong = wrong.or_else(|| d.values.iter().find_map(|&v| value(v)));
            let wrong = wrong.or_else(|| d.readers.iter().find_map(|&r| reader(r)));
            bad.extend(wrong.map(|w| (x.to_string(), w)));
        }
        for (x, d) in s.buffers.iter() {
            let wrong = d.members.iter().find_map(|m| pipe(m.pipe).or_else(|| value(m.value)));
            bad.extend(wrong.map(|w| (x.to_string(), w)));
        }
        for (x, d) in s.mutexes.iter() {
            if p.mutexes.get(d.of).is_none() {
                bad.push((x.to_string(), ("mutex of the program", d.of.index())));
            }
        }
        for (a, step) in self.all_steps() {
            let source = |x: &Source| {
                let buffer = x.turn.map(|t| t.buffer).filter(|&b| s.buffers.get(b).is_none());
                pipe(x.pipe).or(buffer.map(|b| ("buffer", b.index())))
            };
            let wrong = match step.action {
                Action::Acquire(x) => pipe(x),
                Action::Run(o) => op(o).or_else(|| step.sources.iter().flatten().find_map(source)),
                Action::Commit(x, o) => pipe(x).or_else(|| op(o)),
                Action::Wait(x, r) | Action::Release(x, r) => pipe(x).or_else(|| reader(r)),
                Action::Lock(m, o) | Action::Unlock(m, o) => {
                    let there = s.mutexes.get(m).is_some();
                    if there { op(o) } else { Some(("mutex", m.index())) }
                }
            };
            bad.extend(wrong.map(|w| (format!("agent `{}`", self.n.agent(a)), w)));
        }
        for (place, (what, number)) in bad {
            self.unknown(place, what, number);
        }
    }

    fn numbers(&mut self) {
        let s = self.n.s;
        let mut all: Vec<(String, u64, u64)> = Vec::new();
        for (x, d) in s.pipes.iter() {
            all.push((format!("{x}: a depth of"), d.depth.into(), MAX_NUMBER));
            all.push((format!("{x}: initial fills:"), d.initial.into(), MAX_NUMBER));
        }
        for (x, d) in s.buffers.iter() {
            all.push((format!("{x}: a depth of"), d.depth.into(), MAX_NUMBER));
            for m in &d.members {
                all.push((format!("{x}: a shift of"), m.shift.into(), MAX_NUMBER));
            }
        }
        let slots = s.buffers.values().map(|b| u64::from(b.depth)).sum();
        all.push(("slots of all buffers:".into(), slots, MAX_SLOTS));
        all.push(("short below".into(), s.short_below, MAX_NUMBER));
        all.push(("stages:".into(), s.stages.into(), MAX_SLOTS));
        for a in s.agents.values() {
            all.push((format!("agent `{}`: a lead of", a.name), a.lead.into(), MAX_NUMBER));
        }
        let steps = s.agents.values().flat_map(|a| parts(a).map(|p| p.1.len() as u64)).sum();
        all.push(("steps:".into(), steps, MAX_SLOTS));
        let beyond = all.into_iter().filter(|(_, number, limit)| number > limit);
        self.found.extend(beyond.map(|(what, number, limit)| Violation::TooLarge { what, number, limit }));
    }

    fn agents(&mut self) {
        let mut names = BTreeSet::new();
        for a in self.n.s.agents.values() {
            if !names.insert(&a.name) {
                self.found
                    .push(Violation::Twice { place: "the loop".into(), what: format!("agent `{}`", a.name) });
            }
            if u64::from(a.lead) > self.n.s.short_below {
                self.found.push(Violation::Lead {
                    agent: a.name.clone(),
                    lead: a.lead,
                    short_below: self.n.s.short_below,
                });
            }
        }
        let mut told = BTreeSet::new();
        for (agent, step) in self.all_steps() {
            let Action::Run(op) = step.action else { continue };
            let owner = &mut self.owners[op.index()];
            match *owner {
                None => *owner = Some(agent),
                Some(first) if first != agent => {
                    if told.insert((op, agent)) {
                        self.found.push(Violation::TwoAgents {
                            op: self.n.op(op),
                            first: self.n.agent(first),
                            second: self.n.agent(agent),
                        });
                    }
                }
                Some(_) => {}
            }
        }
        for op in self.n.p.ops.keys() {
            if self.owners[op.index()].is_none() {
                self.found.push(Violation::Agentless { op: self.n.op(op) });
            }
        }
    }

    /// Every step is about something of its agent, and counts as its part does.
    fn steps(&mut self) {
        let n = self.n;
        for (agent, data) in n.s.agents.iter() {
            for (part, steps, base, from) in parts(data) {
                for step in steps {
                    if step.at.base != base {
                        self.found.push(Violation::Counting {
                            agent: data.name.clone(),
                            step: n.step(step.action),
                            part,
                            from,
                        });
                    }
                    self.step(agent, step.action);
                }
            }
        }
    }

    fn step(&mut self, agent: Agent, action: Action) {
        let n = self.n;
        let name = || n.agent(agent);
        let pipe = match action {
            Action::Acquire(x) | Action::Commit(x, _) | Action::Wait(x, _) | Action::Release(x, _) => Some(x),
            Action::Run(_) | Action::Lock(..) | Action::Unlock(..) => None,
        };
        if pipe.is_some_and(|x| n.s.pipes[x].backing == Backing::Local) {
            self.found.push(Violation::LocalStep { agent: name(), step: n.step(action) });
            return;
        }
        let stranger = match action {
            Action::Acquire(x) => {
                let writers = &n.s.pipes[x].writers;
                let mine = writers.iter().any(|o| self.owners[o.index()] == Some(agent));
                (!mine).then_some("it runs no writer of the pipe")
            }
            Action::Commit(x, o) => {
                (!n.s.pipes[x].writers.contains(&o)).then_some("the pipe has no such writer")
            }
            Action::Wait(x, r) | Action::Release(x, r) => {
                (!n.s.pipes[x].readers.contains(&r)).then_some("the pipe has no such reader")
            }
            Action::Lock(m, o) | Action::Unlock(m, o) => {
                let ops = &n.p.mutexes[n.s.mutexes[m].of].ops;
                (!ops.contains(&o)).then_some("the mutex does not have that operation")
            }
            Action::Run(_) => None,
        };
        if let Some(why) = stranger {
            self.found.push(Violation::Stranger { agent: name(), step: n.step(action), why });
            return;
        }
        let op = match action {
            Action::Commit(_, o) | Action::Lock(_, o) | Action::Unlock(_, o) => Some(o),
            Action::Wait(_, r) | Action::Release(_, r) => Some(r.op),
            Action::Acquire(_) | Action::Run(_) => None,
        };
        if let Some(owner) = op.and_then(|o| self.owners[o.index()])
            && owner != agent
        {
            let owner = n.agent(owner);
            self.found.push(Violation::Elsewhere { agent: name(), step: n.step(action), owner });
        }
    }

    /// Every operation runs exactly once in each of `0..n`, for every `n`: the prologue runs it for the iterations before
    /// the first round's, the epilogue for those after the last round's.
    fn coverage(&mut self) {
        let n = self.n;
        for (agent, data) in n.s.agents.iter() {
            let mut runs: BTreeMap<Op, [Vec<i64>; 4]> = BTreeMap::new();
            for (which, (_, steps, ..)) in parts(data).into_iter().enumerate() {
                for step in steps {
                    if let Action::Run(op) = step.action {
                        runs.entry(op).or_default()[which].push(step.at.offset);
                    }
                }
            }
            for (op, [mut prologue, steady, mut epilogue, short]) in runs {
                if self.owners[op.index()] != Some(agent) {
                    continue;
                }
                prologue.sort_unstable();
                epilogue.sort_unstable();
                let why = match steady[..] {
                    // Only loops of no trips take the short steps if they are taken below 1.
                    _ if n.s.short_below > 1 && short != [0] => {
                        Some(format!("the short steps run it {}", times(&short)))
                    }
                    [first] if first >= 0 && first <= i64::from(data.lead) => {
                        let rest = i64::from(data.lead) - first;
                        if !prologue.iter().copied().eq(0..first) {
                            Some(format!(
                                "the steady steps run it from iteration {first} on, the prologue {}",
                                times(&prologue)
                            ))
                        } else if !epilogue.iter().copied().eq(-rest..0) {
                            Some(format!(
                                "the last {rest} iterations are left to the epilogue, which runs it {}",
                                times(&epilogue)
                            ))
                        } else {
                            None
                        }
                    }
                    [first] => Some(format!(
                        "with a lead of {}, the steady steps cannot run it from iteration {first} on",
                        data.lead
                    )),
                    _ => Some(format!("the steady steps run it {}", times(&steady))),
                };
                if let Some(why) = why {
                    self.found.push(Violation::Coverage { agent: data.name.clone(), op: n.op(op), why });
                }
            }
        }
    }

    fn twice<T: Ord + Copy>(&mut self, place: String, items: &[T], name: impl Fn(T) -> String) {
        let mut seen = BTreeSet::new();
        for &item in items {
            if !seen.insert(item) {
                self.found.push(Violation::Twice { place: place.clone(), what: name(item) });
            }
        }
    }

    fn pipes(&mut self) {
        let n = self.n;
        // By origin: values that pipes carry, and results with who defines them.
        let mut carried: BTreeMap<Value, Vec<(Value, Pipe)>> = BTreeMap::new();
        let mut defined: Vec<Vec<(Value, Op)>> = vec![Vec::new(); n.p.values.len()];
        for (op, d) in n.p.ops.iter() {
            d.results.iter().for_each(|&r| defined[n.p.origin(r).index()].push((r, op)));
        }
        for (x, d) in n.s.pipes.iter() {
            let pipe = x.to_string();
            self.twice(pipe.clone(), &d.writers, |o| format!("`{}` as a writer", n.op(o)));
            self.twice(pipe.clone(), &d.values, |v| format!("`{}`", n.value(v)));
            self.twice(pipe.clone(), &d.readers, |r| n.input(r));
            if d.depth == 0 {
                self.found.push(Violation::NoSlots { place: pipe.clone() });
            }
            if d.stage >= n.s.stages {
                self.found.push(Violation::Stage { place: pipe.clone(), stage: d.stage, stages: n.s.stages });
            }
            if d.flavour == Flavour::Tile && d.values.iter().all(|&v| n.p.values[v].bytes == 0) {
                self.found.push(Violation::NoTiles { pipe: pipe.clone() });
            }
            for &v in &d.values {
                // Something without storage may be told to several.
                let others = carried.entry(n.p.origin(v)).or_default();
                if n.p.values[v].bytes > 0
                    && let Some((_, first)) = others.iter().find(|o| **o != (v, x) && overlap(n.p, v, o.0))
                {
                    self.found.push(Violation::CarriedTwice {
                        value: n.value(v),
                        first: first.to_string(),
                        second: pipe.clone(),
                    });
                }
                others.push((v, x));
            }
            // Whoever defines anything of what it carries, and nobody else.
            let mut wanted: Vec<Op> = Vec::new();
            for &v in &d.values {
                let of = defined[n.p.origin(v).index()].iter();
                wanted.extend(of.filter(|r| overlap(n.p, r.0, v)).map(|r| r.1));
            }
            wanted.sort_unstable();
            wanted.dedup();
            let mut writers = d.writers.clone();
            writers.sort_unstable();
            writers.dedup();
            if !d.values.is_empty() && writers != wanted {
                self.found.push(Violation::Writers {
                    pipe: pipe.clone(),
                    values: d.values.iter().map(|&v| n.value(v)).collect(),
                    writers: n.ops(&writers),
                    wanted: n.ops(&wanted),
                });
            }
            let bad: Vec<_> = d.readers.iter().filter_map(|&r| self.reader(x, r)).collect();
            self.found.extend(bad);
            self.ends(x);
        }
    }

    fn reader(&self, x: Pipe, r: Reader) -> Option<Violation> {
        let (n, d) = (self.n, &self.n.s.pipes[x]);
        let why = match r.input {
            Input::Operand(i) => {
                let value = n.p.ops[r.op].operands[i as usize].value;
                let carries = d.values.iter().any(|&v| n.p.is_within(value, v));
                (!carries).then_some("it does not carry that value")
            }
            Input::Order(i) => {
                let from = n.p.orders[i as usize].from;
                (!d.writers.contains(&from)).then_some("what must come first is no writer of it")
            }
        };
        if let Some(why) = why {
            return Some(Violation::WrongPipe { pipe: x.to_string(), input: n.input(r), why });
        }
        let distance = r.distance(n.p).unwrap_or(0);
        // Every fill of a pipe without writers is full.
        (distance > d.initial && !d.writers.is_empty()).then(|| Violation::Initial {
            pipe: x.to_string(),
            initial: d.initial,
            input: n.input(r),
            distance,
        })
    }

    /// Which agents the ends of a pipe may be in.
    fn ends(&mut self, x: Pipe) {
        let (n, d) = (self.n, &self.n.s.pipes[x]);
        if d.writers.is_empty() {
            // What is there before the loop every agent can have.
            return;
        }
        let readers = d.readers.iter().map(|r| r.op);
        let ends: Vec<(Op, Agent)> = d
            .writers
            .iter()
            .copied()
            .chain(readers)
            .filter_map(|o| self.owners[o.index()].map(|a| (o, a)))
            .collect();
        let Some(&(op, agent)) = ends.first() else { return };
        if let Some(&(other, other_agent)) = ends.iter().find(|e| e.1 != agent)
            && d.backing == Backing::Local
        {
            self.found.push(Violation::LocalCrosses {
                pipe: x.to_string(),
                op: n.op(op),
                agent: n.agent(agent).into(),
                other: n.op(other),
                other_agent: n.agent(other_agent).into(),
            });
        }
        for &v in &d.values {
            if n.p.values[v].storage != Storage::Register || n.p.values[v].bytes == 0 {
                continue;
            }
            let touches = |op: Op| {
                d.writers.contains(&op) || n.p.ops[op].operands.iter().any(|o| n.p.is_within(o.value, v))
            };
            if let Some(&(other, other_agent)) = ends.iter().find(|e| e.1 != agent && touches(e.0)) {
                self.found.push(Violation::RegisterCrosses {
                    value: n.value(v),
                    op: n.op(op),
                    agent: n.agent(agent).into(),
                    other: n.op(other),
                    other_agent: n.agent(other_agent).into(),
                });
            }
        }
    }

    /// Every input of what the loop computes comes through exactly one pipe.
    fn inputs(&mut self) {
        let n = self.n;
        let mut through: BTreeMap<Reader, Pipe> = BTreeMap::new();
        for (x, d) in n.s.pipes.iter() {
            for &r in &d.readers {
                if let Some(first) = through.insert(r, x)
                    && first != x
                {
                    self.found.push(Violation::ReadTwice {
                        input: n.input(r),
                        first: first.to_string(),
                        second: x.to_string(),
                    });
                }
            }
        }
        for (op, d) in n.p.ops.iter() {
            for (i, o) in d.operands.iter().enumerate() {
                let r = Reader { op, input: Input::Operand(i as u32) };
                let writers = &self.writers[o.value.index()];
                if !writers.is_empty() && !through.contains_key(&r) {
                    self.found.push(Violation::Unread { input: n.input(r), writers: n.ops(writers) });
                }
            }
        }
        for (i, o) in n.p.orders.iter().enumerate() {
            let r = Reader { op: o.to, input: Input::Order(i as u32) };
            if !through.contains_key(&r) {
                self.found.push(Violation::Unread { input: n.input(r), writers: n.ops(&[o.from]) });
            }
        }
    }

    /// Every run reads its operands where pipes and buffers have them, in its own iteration or as far back as the program says.
    fn sources(&mut self) {
        let n = self.n;
        let mut through: BTreeMap<(Op, u32), Pipe> = BTreeMap::new();
        for (x, d) in n.s.pipes.iter() {
            for r in &d.readers {
                if let Input::Operand(i) = r.input {
                    through.insert((r.op, i), x);
                }
            }
        }
        let mut members: BTreeMap<Pipe, Vec<(Buffer, usize)>> = BTreeMap::new();
        for (b, d) in n.s.buffers.iter() {
            for (m, member) in d.members.iter().enumerate() {
                members.entry(member.pipe).or_default().push((b, m));
            }
        }
        for (agent, step) in self.all_steps() {
            let Action::Run(op) = step.action else { continue };
            let operands = &n.p.ops[op].operands;
            let mut wrong = (step.sources.len() != operands.len()).then_some(0);
            for (i, (o, said)) in operands.iter().zip(&step.sources).enumerate() {
                let pipe = through.get(&(op, i as u32)).copied();
                let right = match (pipe, said) {
                    (None, None) => true,
                    (Some(x), Some(s)) => {
                        let own = members.get(&x).map_or(&[][..], |m| m);
                        let holds = |&&(b, m): &&(Buffer, usize)| {
                            n.p.is_within(o.value, n.s.buffers[b].members[m].value)
                        };
                        let fill = step.at.offset.saturating_sub(o.distance.into());
                        let turn = own.iter().find(holds).map(|&(b, m)| {
                            let d = &n.s.buffers[b];
                            let apart = d.members.len() as i64;
                            let times = if step.at.base == Base::First { 0 } else { d.members.len() as u32 };
                            let first = apart * i64::from(d.members[m].shift) + m as i64;
                            let plus = apart.saturating_mul(fill).saturating_add(first);
                            Turn { buffer: b, times, plus }
                        });
                        (s.pipe, s.fill, s.turn) == (x, fill, turn)
                    }
                    _ => false,
                };
                if !right {
                    wrong = wrong.or(Some(i));
                }
            }
            if let Some(i) = wrong {
                self.found.push(Violation::WrongSource {
                    agent: n.agent(agent),
                    step: n.step(step.action),
                    offset: step.at.offset,
                    operand: i as u32,
                });
            }
        }
    }

    fn barriers(&mut self) {
        let n = self.n;
        let mut used: Vec<Use> = Vec::new();
        for (x, d) in n.s.pipes.iter() {
            if let Backing::NamedBarrier(barrier) = d.backing {
                let last = d.readers.iter().map(|r| (r.op, r.distance(n.p).unwrap_or(0)));
                used.push((barrier, x.to_string(), d.writers.clone(), last.collect()));
                // A token has no bytes: there is nothing to carry.
                if let Some(&v) = d.values.iter().find(|&&v| n.p.values[v].bytes > 0) {
                    let value = n.value(v);
                    self.found.push(Violation::BarrierCarries { pipe: x.to_string(), value, barrier });
                }
            }
        }
        used.extend(n.s.mutexes.iter().map(|(x, m)| {
            let ops = &n.p.mutexes[m.of].ops;
            (m.barrier, x.to_string(), ops.clone(), ops.iter().map(|&o| (o, 0)).collect())
        }));
        used.sort_by_key(|u| u.0);
        let limit = self.limits.barriers;
        for (barrier, place, ..) in used.iter().filter(|u| u.0 >= limit) {
            self.found.push(Violation::BarrierNumber { place: place.clone(), barrier: *barrier, limit });
        }
        // One number for two is right where they take turns whatever the timing: dependences say so.
        let mut before = None;
        for (at, second) in used.iter().enumerate() {
            let same = used[..at].iter().filter(|first| first.0 == second.0);
            for first in same {
                let before = before.get_or_insert_with(|| Before::new(n.p));
                let turns = |a: &Use, b: &Use| before.all(&a.3, &b.2, 0) && before.all(&b.3, &a.2, 1);
                if !turns(first, second) && !turns(second, first) {
                    self.found.push(Violation::BarrierTwice {
                        barrier: first.0,
                        first: first.1.clone(),
                        second: second.1.clone(),
                    });
                }
            }
        }
    }

    fn mutexes(&mut self) {
        let n = self.n;
        let mut there = BTreeSet::new();
        for (x, m) in n.s.mutexes.iter() {
            if !there.insert(m.of) {
                let what = format!("mutex `{}`", n.p.mutexes[m.of].name);
                self.found.push(Violation::Twice { place: "the loop".into(), what });
            }
            if m.stage >= n.s.stages {
                let (place, stage, stages) = (x.to_string(), m.stage, n.s.stages);
                self.found.push(Violation::Stage { place, stage, stages });
            }
        }
        for (of, m) in n.p.mutexes.iter() {
            if !there.contains(&of) {
                self.found.push(Violation::MutexMissing { mutex: m.name.clone() });
            }
        }
    }

    fn buffers(&mut self) {
        let n = self.n;
        let mut placed = BTreeMap::new();
        for (b, d) in n.s.buffers.iter() {
            let buffer = b.to_string();
            if d.depth == 0 {
                self.found.push(Violation::NoSlots { place: buffer.clone() });
            }
            for m in &d.members {
                let (pipe, value) = (m.pipe.to_string(), n.value(m.value));
                let (x, v) = (&n.s.pipes[m.pipe], &n.p.values[m.value]);
                if !x.values.contains(&m.value) {
                    self.found.push(Violation::Foreign { buffer: buffer.clone(), pipe, value });
                    continue;
                }
                if let Some(first) = placed.insert((m.pipe, m.value), b) {
                    let (first, second) = (first.to_string(), buffer.clone());
                    self.found.push(Violation::PlacedTwice { pipe, value, first, second });
                    continue;
                }
                if v.storage != d.storage {
                    self.found.push(Violation::Place {
                        buffer: buffer.clone(),
                        value: value.clone(),
                        found: d.storage,
                        wanted: v.storage,
                    });
                }
                if v.bytes > d.bytes {
                    self.found.push(Violation::SlotSize {
                        buffer: buffer.clone(),
                        value: value.clone(),
                        bytes: d.bytes,
                        wanted: v.bytes,
                    });
                }
                if m.shift < x.initial {
                    let (shift, initial) = (m.shift, x.initial);
                    let buffer = buffer.clone();
                    self.found.push(Violation::Shift {
                        buffer,
                        pipe: pipe.clone(),
                        value: value.clone(),
                        shift,
                        initial,
                    });
                }
                if d.members.len() > 1 && x.writers.is_empty() {
                    self.found.push(Violation::Shared { buffer: buffer.clone(), value });
                }
                if d.members.len() == 1 && x.depth != d.depth {
                    let buffer = buffer.clone();
                    self.found.push(Violation::Depths {
                        pipe,
                        depth: x.depth,
                        buffer,
                        buffer_depth: d.depth,
                    });
                }
            }
        }
        // What is there before the loop may have a place that the loop does not know of.
        for (x, d) in n.s.pipes.iter().filter(|(_, d)| !d.writers.is_empty()) {
            for &v in &d.values {
                if n.p.values[v].bytes > 0 && !placed.contains_key(&(x, v)) {
                    let (pipe, value) = (x.to_string(), n.value(v));
                    self.found.push(Violation::Unplaced { pipe, value });
                }
            }
        }
        for storage in Storage::ALL {
            self.layout(storage);
        }
        let objects = n.s.pipes.values().filter(|d| d.backing == Backing::Mbarrier);
        let wanted = objects.map(|d| 2 * u64::from(d.depth) * BARRIER_BYTES).sum();
        if let Some(bytes) = n.s.barriers.map(|a| a.bytes).filter(|&b| b < wanted) {
            self.found.push(Violation::BarrierArea { bytes, wanted });
        }
    }

    /// What an agent keeps in registers is in those of its warps. Values from before the loop are in every agent that reads
    /// them.
    fn registers(&mut self) {
        let n = self.n;
        let mut bytes: BTreeMap<Agent, u64> = BTreeMap::new();
        for b in n.s.buffers.values().filter(|b| b.storage == Storage::Register) {
            let pipes = b.members.iter().map(|m| &n.s.pipes[m.pipe]);
            let agents: BTreeSet<Agent> = pipes
                .flat_map(|p| match p.writers.is_empty() {
                    true => p.readers.iter().map(|r| r.op).collect::<Vec<_>>(),
                    false => p.writers.clone(),
                })
                .filter_map(|op| self.owners[op.index()])
                .collect();
            for agent in agents {
                let all = bytes.entry(agent).or_default();
                *all = all.saturating_add(b.bytes.saturating_mul(b.depth.into()));
            }
        }
        for (agent, bytes) in bytes {
            let data = &n.s.agents[agent];
            let limit = self.limits.warp_register.saturating_mul(data.warps.into());
            if bytes > limit {
                let (agent, warps) = (data.name.clone(), data.warps);
                self.found.push(Violation::AgentRegisters { agent, warps, bytes, limit });
            }
        }
        let warps = n.s.agents.values().fold(0_u32, |sum, a| sum.saturating_add(a.warps));
        if warps > self.limits.warps {
            self.found.push(Violation::Warps { warps, limit: self.limits.warps });
        }
    }

    fn layout(&mut self, storage: Storage) {
        let mut ranges: Vec<(u128, u128, String)> = Vec::new();
        for (b, d) in self.n.s.buffers.iter().filter(|(_, d)| d.storage == storage) {
            let size = u128::from(d.bytes) * u128::from(d.depth);
            if size > 0 {
                ranges.push((u128::from(d.offset), u128::from(d.offset) + size, b.to_string()));
            }
        }
        if let Some(area) = self.n.s.barriers.filter(|a| storage == Storage::Shared && a.bytes > 0) {
            let first = u128::from(area.offset);
            ranges.push((first, first + u128::from(area.bytes), "barriers".into()));
        }
        ranges.sort_unstable();
        // The one that reaches furthest so far: whoever begins before its end overlaps with it.
        let mut furthest: Option<&(u128, u128, String)> = None;
        for range in &ranges {
            if let Some(f) = furthest
                && range.0 < f.1
            {
                let (first, second) = (f.2.clone(), range.2.clone());
                self.found.push(Violation::Overlap { storage, first, second });
            }
            if furthest.is_none_or(|f| range.1 > f.1) {
                furthest = Some(range);
            }
        }
        let limit = self.limits.bytes(self.n.p, storage);
        if let Some(&(_, end, _)) = furthest
            && end > u128::from(limit)
        {
            let bytes = u64::try_from(end).unwrap_or(u64::MAX);
            self.found.push(Violation::Budget { storage, bytes, limit });
        }
    }

    /// What is wanted after the loop is in its slot then: no later turn of the slot belongs to an iteration that there is. Counted
    /// from the last iteration, so that it holds for every number of trips.
    fn outs(&mut self) {
        let n = self.n;
        for out in &n.p.outs {
            for b in n.s.buffers.values() {
                let count = b.members.len() as i64;
                let depth = i64::from(b.depth).max(1);
                let turn =
                    |m: usize, iteration: i64| count * (iteration + i64::from(b.members[m].shift)) + m as i64;
                for (m, _) in
                    b.members.iter().enumerate().filter(|(_, member)| overlap(n.p, member.value, out.value))
                {
                    let wanted = turn(m, -i64::from(out.distance));
                    // The last turns of the slot, of the last iteration or one of the few before it.
                    let over = (0..b.members.len()).find(|&other| {
                        let last = turn(other, 0);
                        // Iterations of one member come back to a slot every `depth` of them at the latest.
                        (0..depth)
                            .map(|back| last - back * count)
                            .any(|t| t > wanted && (t - wanted) % depth == 0)
                    });
                    if let Some(other) = over {
                        let (value, by) = (n.value(out.value), n.value(b.members[other].value));
                        self.found.push(Violation::Lost { value, distance: out.distance, by });
                    }
                }
            }
        }
    }

    /// A result in place of an operand is in its slot, in every iteration. One that only may be there can be anywhere: what
    /// it overwrites is looked at when it does.
    fn in_place(&mut self) {
        let n = self.n;
        let accumulators = Accumulators::of(n.p);
        // Where each value lives: buffer, its depth, and the turn of fill 0 with the turns between two fills.
        let mut places: BTreeMap<Value, (usize, i64, i64, i64)> = BTreeMap::new();
        for (b, d) in n.s.buffers.iter() {
            let apart = d.members.len() as i64;
            for (m, member) in (0..).zip(&d.members) {
                let first = apart * i64::from(member.shift) + m;
                places.insert(member.value, (b.index(), i64::from(d.depth), first, apart));
            }
        }
        for (op, d) in n.p.ops.iter() {
            let (Some(o), Some(&result)) = (d.operands.iter().find(|o| o.in_place), d.results.first()) else {
                continue;
            };
            if accumulators.permits(n.p, op, o) {
                continue;
            }
            let origin = n.p.origin(o.value);
            // A result that nobody reads has no pipe, and nothing says where it is.
            let (Some(was), Some(is)) = (places.get(&origin), places.get(&result)) else { continue };
            let apart = is.2 - was.2 + was.3 * i64::from(o.distance);
            if was.0 != is.0 || was.1 == 0 || apart % was.1 != 0 {
                self.found.push(Violation::NotInPlace {
                    op: n.op(op),
                    value: n.value(origin),
                    result: n.value(result),
                });
            }
        }
    }
}

/// A use of a named barrier: its number, whose it is, who begins a use in an iteration, and who ends it how many later.
type Use = (u32, String, Vec<Op>, Vec<(Op, u32)>);

/// Which operations have completed when others start, by dependences.
struct Before {
    /// For each operation those after it, with the fewest iterations between them.
    after: Vec<BTreeMap<usize, u32>>,
}

impl Before {
    /// Relaxes until nothing changes. An in-order queue starts an operation before the one that it depends on has completed.
    fn new(p: &Program) -> Before {
        let mut edges = p.dependences();
        edges.retain(|&(from, to, _)| p.queue(from).is_none() || p.queue(from) != p.queue(to));
        let mut after: Vec<BTreeMap<usize, u32>> = vec![BTreeMap::new(); p.ops.len()];
        for &(from, to, distance) in &edges {
            let at = after[from.index()].entry(to.index()).or_insert(distance);
            *at = distance.min(*at);
        }
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for &(from, to, distance) in &edges {
                for (further, d) in after[to.index()].clone() {
                    let through = distance.saturating_add(d);
                    let at = after[from.index()].entry(further).or_insert(u32::MAX);
                    changed |= through < *at;
                    *at = through.min(*at);
                }
            }
        }
        Before { after }
    }

    /// Whether all of `last` have completed when any of `first`, so many iterations later, starts.
    fn all(&self, last: &[(Op, u32)], first: &[Op], later: u32) -> bool {
        last.iter().all(|&(op, late)| {
            let after = &self.after[op.index()];
            first.iter().all(|f| after.get(&f.index()).is_some_and(|d| d.saturating_add(late) <= later))
        })
    }
}

/// Whether two values have bytes in common: one is the other or a part of it.
pub(super) fn overlap(program: &Program, a: Value, b: Value) -> bool {
    program.is_within(a, b) || program.is_within(b, a)
}

fn times(offsets: &[i64]) -> String {
    match offsets {
        [] => "not at all".into(),
        _ => format!("at {}", offsets.iter().map(|o| format!("{o:+}")).collect::<Vec<_>>().join(", ")),
    }
}
