//! Does a schedule run at the rate that it claims?
//!
//! [`Scheduled::places`] say when each operation starts. If all of the following holds, every operation of every iteration can
//! start exactly then, so that iterations follow each other every `ii` cycles:
//!
//! 1. nothing is held by more than there is: resources, mutexes, and the warps of each agent, which its synchronous
//!    operations keep while they hold anything (or for their latency, if they hold nothing);
//! 2. whatever an operation needs is done by then: values, orders, and the readers of what was in its slot before. Between
//!    operations of one in-order queue it is enough that the first holds nothing any more, since the queue makes the second
//!    wait;
//! 3. every agent performs its steps in the order of these times, so that none is kept from starting by one that comes later.
//!
//! Waits and acquires take no time when what they wait for is there, which 2 says. Prologue and epilogue are rounds of which
//! some operations are missing. This looks at times only; whether values are right is for replays to say, at any times.
//!
//! Cost: sorting of holds; for every slot its readers.

use super::names::Names;
use super::violation::Violation;
use cranelift_entity::EntityRef;
use sassafras_tileir::program::{Execution, Op};
use sassafras_tileir::scheduled::{Action, Agent, Backing, Base, Pipe};

struct Timing<'a> {
    n: Names<'a>,
    ii: i64,
    owners: &'a [Option<Agent>],
    found: Vec<Violation>,
}

/// What is wrong with the places of a schedule; nothing where it has none. Everything that it names is there.
pub(super) fn violations(n: Names<'_>, owners: &[Option<Agent>]) -> Vec<Violation> {
    if n.s.places.is_empty() {
        return Vec::new();
    }
    let mut t = Timing { n, ii: n.s.ii.into(), owners, found: Vec::new() };
    t.numbers();
    if t.found.is_empty() {
        t.holds();
        t.needs();
        t.slots();
        t.steps();
    }
    t.found
}

impl Timing<'_> {
    fn time(&self, op: Op) -> i64 {
        let place = self.n.s.places[op.index()];
        self.ii * i64::from(place.stage) + i64::from(place.row)
    }

    /// Cycles from an operation's start until nothing is held any more, if anything is.
    fn held(&self, op: Op) -> Option<i64> {
        let data = &self.n.p.ops[op];
        data.holds.iter().map(|h| i64::from(h.start) + i64::from(h.rows)).max()
    }

    /// Cycles from the start of the first until the second can start, if it needs the first.
    fn apart(&self, first: Op, second: Op) -> i64 {
        let latency = i64::from(self.n.p.ops[first].latency).max(1);
        let queue = self.n.p.queue(first);
        match self.held(first) {
            Some(held) if queue.is_some() && queue == self.n.p.queue(second) => held.min(latency).max(1),
            _ => latency,
        }
    }

    fn numbers(&mut self) {
        let (p, s) = (self.n.p, self.n.s);
        if s.places.len() != p.ops.len() {
            self.found.push(Violation::Places { places: s.places.len(), operations: p.ops.len() });
            return;
        }
        let wrong = |what: String| Violation::Misplaced { what };
        let mut orders = vec![false; s.places.len()];
        for (op, place) in p.ops.keys().zip(&s.places) {
            if place.row >= s.ii {
                let what = format!("`{}` is in row {} of {}", self.n.op(op), place.row, s.ii);
                self.found.push(wrong(what));
            }
            if place.stage >= s.stages {
                let what = format!("`{}` is in stage {} of {}", self.n.op(op), place.stage, s.stages);
                self.found.push(wrong(what));
            }
            match orders.get_mut(place.order as usize) {
                Some(taken) if !*taken => *taken = true,
                _ => {
                    let what =
                        format!("`{}` has order {}, which is no or not its own", self.n.op(op), place.order);
                    self.found.push(wrong(what));
                }
            }
        }
        let mut by_order: Vec<_> = p.ops.keys().zip(&s.places).collect();
        by_order.sort_by_key(|(_, place)| place.order);
        for pair in by_order.windows(2) {
            let key = |i: usize| (pair[i].1.stage, pair[i].1.row);
            if key(0) > key(1) {
                let (a, b) = (self.n.op(pair[0].0), self.n.op(pair[1].0));
                self.found.push(wrong(format!("`{a}` is ordered before `{b}` and starts after it")));
            }
        }
        // Pipes and mutexes go by the place of the operation that owns them.
        for (pipe, d) in s.pipes.iter() {
            let Some(owner) = d.writers.first().copied().or(d.readers.first().map(|r| r.op)) else {
                continue;
            };
            let place = s.places[owner.index()];
            if (d.stage, d.order) != (place.stage, place.order) {
                self.found.push(wrong(format!("{pipe} is not where `{}` is", self.n.op(owner))));
            }
        }
    }

    /// Whether more units are held in some row than there are. `holds`: who, from when, for how long, how many units.
    fn room(&mut self, what: &str, capacity: u64, holds: &[(Op, i64, i64, u64)]) {
        // Units that are held all the time, and what begins and ends in the course of an interval.
        let mut always = 0_u64;
        let mut changes: Vec<(i64, bool, u64, Op)> = Vec::new();
        for &(op, start, rows, units) in holds.iter().filter(|h| h.2 > 0) {
            always = always.saturating_add(units.saturating_mul((rows / self.ii) as u64));
            let rest = rows % self.ii;
            if rest == 0 {
                continue;
            }
            let (first, end) = (start.rem_euclid(self.ii), start.rem_euclid(self.ii) + rest);
            changes.push((first, true, units, op));
            if end > self.ii {
                changes.push((0, true, units, op));
                changes.push((self.ii, false, units, op));
                changes.push((end - self.ii, false, units, op));
            } else {
                changes.push((end, false, units, op));
            }
        }
        // Ends before beginnings of the same row.
        changes.sort_by_key(|c| (c.0, c.1));
        let mut now = always;
        let report =
            |row: i64, units: u64| Violation::Overbooked { what: what.to_owned(), row, units, capacity };
        if now > capacity {
            self.found.push(report(0, now));
            return;
        }
        for (row, begins, units, _) in changes {
            now = if begins { now.saturating_add(units) } else { now.saturating_sub(units) };
            if now > capacity {
                self.found.push(report(row, now));
                return;
            }
        }
    }

    fn holds(&mut self) {
        let (p, s) = (self.n.p, self.n.s);
        for (resource, r) in p.resources.iter() {
            let mut holds = Vec::new();
            for (op, data) in p.ops.iter() {
                for h in data.holds.iter().filter(|h| h.resource == resource) {
                    holds.push((
                        op,
                        self.time(op) + i64::from(h.start),
                        i64::from(h.rows),
                        u64::from(h.units),
                    ));
                }
            }
            self.room(&format!("`{}`", r.name), r.capacity.into(), &holds);
        }
        for m in p.mutexes.values() {
            let one = |&op: &Op| (op, self.time(op), i64::from(p.ops[op].latency).max(1), 1);
            let holds: Vec<_> = m.ops.iter().map(one).collect();
            self.room(&format!("mutex `{}`", m.name), 1, &holds);
        }
        for (agent, data) in s.agents.iter() {
            let mine = p
                .ops
                .iter()
                .filter(|(op, o)| self.owners[op.index()] == Some(agent) && o.execution == Execution::Sync);
            let busy = |op: Op| self.held(op).unwrap_or(p.ops[op].latency.into()).max(1);
            let holds: Vec<_> = mine.map(|(op, _)| (op, self.time(op), busy(op), 1)).collect();
            self.room(&format!("agent `{}`", data.name), 1, &holds);
        }
    }

    /// `second` of iteration `distance` may not start before `first` of iteration 0 is done.
    fn after(&mut self, first: Op, second: Op, distance: i64, least: i64, why: &str) {
        let need = self.time(first) + least;
        let have = self.time(second).saturating_add(self.ii.saturating_mul(distance));
        if have < need {
            self.found.push(Violation::Early {
                op: self.n.op(second),
                by: (need - have) as u64,
                needs: self.n.op(first),
                why: why.to_owned(),
            });
        }
    }

    fn needs(&mut self) {
        let p = self.n.p;
        let writers = p.writers();
        for (reader, data) in p.ops.iter() {
            for o in &data.operands {
                for &writer in &writers[o.value.index()] {
                    let least = self.apart(writer, reader);
                    self.after(writer, reader, o.distance.into(), least, "a value");
                }
            }
        }
        for o in &p.orders {
            let least = self.apart(o.from, o.to).max(o.latency.into());
            self.after(o.from, o.to, o.distance.into(), least, "an order");
        }
    }

    /// Readers of what was in a slot before its next writer.
    fn slots(&mut self) {
        let s = self.n.s;
        for (_, b) in s.buffers.iter() {
            let count = b.members.len() as i64;
            for (m, member) in b.members.iter().enumerate() {
                // The fill of iteration 0, and the one whose slot it takes.
                let turn = count * i64::from(member.shift) + m as i64;
                let before = turn - i64::from(b.depth);
                let which = before.rem_euclid(count);
                let Some(other) = b.members.get(which as usize) else { continue };
                let iteration = before.div_euclid(count) - i64::from(other.shift);
                self.freed(other.pipe, member.pipe, iteration);
            }
        }
        for (pipe, d) in s.pipes.iter() {
            // Barriers of a pipe are used again like slots.
            if d.backing != Backing::Local {
                self.freed(pipe, pipe, -i64::from(d.depth));
            }
        }
    }

    /// The fill `iteration` of `old` is free when that of iteration 0 of `new` is written.
    fn freed(&mut self, old: Pipe, new: Pipe, iteration: i64) {
        let (p, s) = (self.n.p, self.n.s);
        for r in &s.pipes[old].readers {
            let distance = i64::from(r.distance(p).unwrap_or(0));
            for &writer in &s.pipes[new].writers {
                // Whoever takes the place of what it reads does both itself.
                if writer != r.op {
                    let least = self.apart(r.op, writer);
                    self.after(
                        r.op,
                        writer,
                        -(iteration + distance),
                        least,
                        "a slot that it reads until then",
                    );
                }
            }
        }
    }

    /// Steps come in the order of times, for the iterations that places say.
    fn steps(&mut self) {
        let s = self.n.s;
        for (_, data) in s.agents.iter() {
            let runs: Vec<(Op, i64)> = data
                .steady
                .iter()
                .filter_map(|step| match step.action {
                    Action::Run(op) if step.at.base == Base::Round => Some((op, step.at.offset)),
                    _ => None,
                })
                .collect();
            let first = runs.iter().map(|r| s.places[r.0.index()].stage).min().unwrap_or(0);
            for &(op, offset) in &runs {
                let behind = i64::from(s.places[op.index()].stage - first);
                if offset != i64::from(data.lead) - behind {
                    let what = format!(
                        "agent `{}` runs `{}` in another stage than it is in",
                        data.name,
                        self.n.op(op)
                    );
                    self.found.push(Violation::Misplaced { what });
                }
            }
            for pair in runs.windows(2) {
                let row = |i: usize| s.places[pair[i].0.index()].row;
                if row(0) > row(1) {
                    let (a, b) = (self.n.op(pair[0].0), self.n.op(pair[1].0));
                    let what =
                        format!("agent `{}` runs `{a}` before `{b}`, which is in an earlier row", data.name);
                    self.found.push(Violation::Misplaced { what });
                }
            }
        }
    }
}
