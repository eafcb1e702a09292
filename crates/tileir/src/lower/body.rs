//! The body of a loop: what its names stand for, and which operations work.

use super::scope::{Behind, Scope};
use super::tables::{self, Class, tables};
use super::{Outcome, Reason, branch};
use crate::cuda::{Operation, Tile, Type, Value};
use std::collections::{HashMap, VecDeque};

/// How a name differs from the value behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Look {
    /// Axes are in another order.
    pub(super) transposed: bool,
    /// Elements are others, or in another number.
    pub(super) changed: bool,
}

impl Look {
    fn with(self, other: Look) -> Look {
        Look { transposed: self.transposed || other.transposed, changed: self.changed || other.changed }
    }
}

/// What a name of the body is.
enum Named<'a> {
    /// A name for another one.
    Alias(&'a Value, Look),
    /// Nothing that is handed over.
    Nothing,
    /// Carried: what the iteration before passed on at this position.
    Carried(usize),
    /// A result of an operation that works.
    Work(usize, usize),
    /// A token made of others.
    Join(Vec<&'a Value>),
    /// The token of an operation that works.
    Done(usize),
}

/// A tile that an operation of the loop makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Made {
    /// The operation, a position in [`Body::work`].
    pub(super) work: usize,
    /// The result.
    pub(super) result: usize,
}

/// What an operand stands for.
#[derive(Clone, Debug)]
pub(super) enum Source<'a> {
    /// Nothing that is handed over.
    Nothing,
    /// What an operation made, so many iterations ago.
    Made(Made, u32, Look),
    /// A tile from before the loop.
    Outside(Behind<'a>),
}

/// An operation that works.
pub(super) struct Work<'a> {
    /// What it is in the text.
    pub(super) op: &'a Operation,
    /// What the table says.
    pub(super) row: &'static tables::Operation,
    /// The tiles that it makes, with their names; tokens are left out.
    pub(super) results: Vec<(Value, &'a Tile)>,
    /// The values that it reads, tokens too.
    pub(super) operands: Vec<&'a Value>,
}

/// The body of a loop.
pub(super) struct Body<'a, 's> {
    /// The loop.
    pub(super) op: &'a Operation,
    scope: &'s Scope<'a>,
    names: HashMap<Value, Named<'a>>,
    definitions: HashMap<Value, (&'a Operation, usize)>,
    /// What the loop passes on, by position; with what it begins.
    carried: Vec<(&'a Value, &'a Value)>,
    /// In program order.
    pub(super) work: Vec<Work<'a>>,
    /// Who reads a tile: the reader's position, from how many iterations ago.
    pub(super) reads: HashMap<Made, Vec<(usize, u32)>>,
    /// What the loop passes on at its end: the tile, from how many iterations before the last.
    pub(super) outs: Vec<(Made, u32)>,
}

impl<'a, 's> Body<'a, 's> {
    /// Goes through a counted loop without loops inside.
    pub(super) fn new(op: &'a Operation, scope: &'s Scope<'a>) -> Outcome<Body<'a, 's>> {
        let Some(region) = op.regions.first() else { return Err(Reason::NoWork.at(op)) };
        let mut names = HashMap::new();
        let name = |name: &str| Value { name: name.to_owned(), number: None };
        if let Some(index) = region.arguments.first() {
            names.insert(name(&index.name), Named::Nothing);
        }
        let passed: Vec<&Value> = match region.terminator() {
            Some(last) if last.name == "continue" => last.operands(),
            _ => Vec::new(),
        };
        let mut definitions = HashMap::new();
        for op in &region.operations {
            definitions.extend(op.values().enumerate().map(|(i, value)| (value, (op, i))));
        }
        let mut carried = Vec::new();
        for (i, (binding, initial)) in op.carried().enumerate() {
            let Some(next) = passed.get(i) else { break };
            names.insert(name(&binding.name), Named::Carried(i));
            carried.push((*next, initial));
        }
        let mut body = Body {
            op,
            scope,
            names,
            definitions,
            carried,
            work: Vec::new(),
            reads: HashMap::new(),
            outs: Vec::new(),
        };
        let rows = rows(&region.operations)?;
        let data = body.depends_on_data(&region.operations, &rows);
        for ((op, row), data) in region.operations.iter().zip(rows).zip(data) {
            body.add(op, row, data)?;
        }
        if body.work.is_empty() {
            return Err(Reason::NoWork.at(op));
        }
        for (position, work) in body.work.iter().enumerate() {
            for value in &work.operands {
                if let Source::Made(made, distance, _) = body.source(value) {
                    body.reads.entry(made).or_default().push((position, distance));
                }
            }
        }
        for (next, _) in &body.carried {
            if let Source::Made(made, distance, _) = body.source(next)
                && !body.outs.contains(&(made, distance))
            {
                body.outs.push((made, distance));
            }
        }
        Ok(body)
    }

    /// Which operations make tiles, or something that depends on one. The others compute with the index and with what is known
    /// before the loop. Linear: a search from those that make tiles along uses, around the loop too.
    fn depends_on_data(&self, ops: &'a [Operation], rows: &[&'static tables::Operation]) -> Vec<bool> {
        let n = ops.len();
        let mut by: HashMap<Value, usize> = HashMap::new();
        for (i, op) in ops.iter().enumerate() {
            by.extend(op.values().map(|value| (value, i)));
        }
        let node = |value: &Value| match self.names.get(value) {
            Some(Named::Carried(k)) => Some(n + k),
            _ => by.get(value).copied(),
        };
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); n + self.carried.len()];
        for (i, op) in ops.iter().enumerate() {
            for value in branch::operands(op) {
                if let Some(from) = node(value) {
                    users[from].push(i);
                }
            }
        }
        for (k, (next, _)) in self.carried.iter().enumerate() {
            if let Some(from) = node(next) {
                users[from].push(n + k);
            }
        }
        let mut found = vec![false; n + self.carried.len()];
        let mut pending: Vec<usize> = Vec::new();
        for (i, (op, row)) in ops.iter().zip(rows).enumerate() {
            let makes = match row.class {
                Class::Elementwise | Class::If => (0..op.result_count())
                    .filter_map(|r| op.result_type(r)?.as_tile())
                    .any(|tile| !tile.shape.is_empty()),
                Class::Reduce | Class::Scan | Class::LoadView | Class::LoadPtr => true,
                Class::Atomic | Class::Mma | Class::MmaScaled => true,
                _ => false,
            };
            if makes {
                found[i] = true;
                pending.push(i);
            }
        }
        while let Some(i) = pending.pop() {
            for &user in &users[i] {
                // Sizes and views do not depend on what is in a tile.
                let passes = user >= n || !matches!(rows[user].class, Class::View | Class::Token);
                if passes && !found[user] {
                    found[user] = true;
                    pending.push(user);
                }
            }
        }
        found.truncate(n);
        found
    }

    fn add(&mut self, op: &'a Operation, row: &'static tables::Operation, data: bool) -> Outcome<()> {
        let first = op.operands().first().copied();
        let alias = |look| match first {
            Some(value) => Named::Alias(value, look),
            None => Named::Nothing,
        };
        let named = match row.class {
            Class::Free => alias(Look::default()),
            Class::Layout | Class::Modifier => alias(Look { changed: true, ..Look::default() }),
            Class::Transpose => alias(Look { transposed: true, ..Look::default() }),
            Class::View | Class::Control => Named::Nothing,
            Class::Token => Named::Join(op.operands()),
            Class::Refused => {
                return Err(Reason::Refused { name: op.name.clone(), why: row.source.clone() }.at(op));
            }
            Class::Elementwise | Class::If if !data => {
                if row.class == Class::If {
                    branch::check(op)?;
                }
                Named::Nothing
            }
            _ => return self.add_work(op, row),
        };
        // Only the first result can be a name for the first operand.
        let mut named = Some(named);
        for value in op.values() {
            self.names.insert(value, named.take().unwrap_or(Named::Nothing));
        }
        Ok(())
    }

    fn add_work(&mut self, op: &'a Operation, row: &'static tables::Operation) -> Outcome<()> {
        let position = self.work.len();
        let mut results = Vec::new();
        for (i, value) in op.values().enumerate() {
            match op.result_type(i) {
                Some(Type::Tile(tile)) if tile.bytes().is_some() => {
                    self.names.insert(value.clone(), Named::Work(position, results.len()));
                    results.push((value, tile));
                }
                Some(Type::Token) if row.class != Class::If => {
                    self.names.insert(value, Named::Done(position));
                }
                _ => return Err(Reason::Shape { name: op.name.clone() }.at(op)),
            }
        }
        if row.class == Class::If {
            branch::check(op)?;
        }
        let operands = branch::operands(op);
        self.work.push(Work { op, row, results, operands });
        Ok(())
    }

    /// What can be seen outside.
    pub(super) fn scope(&self) -> &Scope<'a> {
        self.scope
    }

    /// The operation that defines a value, in the loop or outside, and as which result.
    pub(super) fn defined(&self, value: &Value) -> Option<(&'a Operation, usize)> {
        self.definitions.get(value).copied().or_else(|| self.scope.by(value))
    }

    /// What the index of the loop or a carried value begins with, and what becomes of it.
    pub(super) fn begins(&self, value: &Value) -> Vec<&'a Value> {
        if let Some(Named::Carried(k)) = self.names.get(value) {
            return vec![self.carried[*k].0, self.carried[*k].1];
        }
        let region = self.op.regions.first();
        let index = region.and_then(|r| r.arguments.first()).is_some_and(|a| a.name == value.name);
        match self.op.as_for() {
            Some(header) if index && value.number.is_none() => vec![&header.from, &header.step],
            _ => Vec::new(),
        }
    }

    /// What a name stands for.
    pub(super) fn source(&self, value: &Value) -> Source<'a> {
        let (mut at, mut distance, mut look) = (value, 0_u32, Look::default());
        let outside = |value: &Value, look: Look| match self.scope.behind(value) {
            Some(behind) => Source::Outside(Behind {
                changed: behind.changed || look.changed,
                transposed: behind.transposed || look.transposed,
                ..behind
            }),
            None => Source::Nothing,
        };
        loop {
            match self.names.get(at) {
                None => return outside(at, look),
                Some(Named::Alias(next, more)) => (at, look) = (next, look.with(*more)),
                Some(Named::Carried(k)) => {
                    let (next, initial) = self.carried[*k];
                    // A value that goes round without being made is from before the loop.
                    if distance as usize > self.carried.len() {
                        return outside(initial, look);
                    }
                    (at, distance) = (next, distance + 1);
                }
                Some(Named::Work(work, result)) => {
                    return Source::Made(Made { work: *work, result: *result }, distance, look);
                }
                Some(Named::Nothing | Named::Join(_) | Named::Done(_)) => return Source::Nothing,
            }
        }
    }

    /// The operations that a token comes after, each with the fewest iterations between. What comes from more iterations ago has been
    /// waited for by the reader's own earlier iterations.
    pub(super) fn before(&self, work: &Work<'a>) -> Vec<(usize, u32)> {
        let mut least: HashMap<&Value, u32> = HashMap::new();
        let mut found: Vec<(usize, u32)> = Vec::new();
        let mut pending: VecDeque<(&Value, u32)> = work.operands.iter().map(|value| (*value, 0)).collect();
        // Distances ascend: what costs nothing goes to the front.
        while let Some((value, distance)) = pending.pop_front() {
            if least.get(value).is_some_and(|&known| known <= distance) {
                continue;
            }
            least.insert(value, distance);
            match self.names.get(value) {
                Some(Named::Done(from)) => found.push((*from, distance)),
                Some(Named::Join(values)) => {
                    values.iter().rev().for_each(|value| pending.push_front((value, distance)));
                }
                Some(Named::Carried(k)) => pending.push_back((self.carried[*k].0, distance + 1)),
                _ => {}
            }
        }
        found.sort_unstable();
        found.dedup_by_key(|f| f.0);
        found
    }
}

/// What the table says of each operation.
fn rows(ops: &[Operation]) -> Outcome<Vec<&'static tables::Operation>> {
    let row = |op: &Operation| {
        let row = tables().operation(&op.name);
        row.ok_or_else(|| Reason::Unknown { name: op.name.clone() }.at(op))
    };
    ops.iter().map(row).collect()
}
