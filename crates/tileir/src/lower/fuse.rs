//! Element-wise operations that follow one another become one.
//!
//! Goal: the registers that real code takes. A compiler computes `exp2(a * b - c)` element by element: products and differences are never
//! whole tiles. So an operation on registers whose only result has one reader, itself an operation on registers of the same iteration, is
//! done with that reader: it holds what both held, takes as long as both, and the value between them is gone.
//!
//! Accumulators, attributes and values that somebody else reads stay as they are, and what the loop carries is not made to wait for what it
//! does not. From the last operation to the first, so that whole chains collapse. Cost: for each operation a look at all operands.

use crate::program::{Attributes, Execution, Hold, Op, OpData, Operand, Program, Value};
use cranelift_entity::{EntityRef, PrimaryMap};

/// Joins what can be joined.
pub(super) fn fuse(program: &mut Program) {
    let mut gone = vec![false; program.ops.len()];
    for first in program.ops.keys().rev() {
        let Some(second) = reader(program, first) else { continue };
        let joined = join(program, first, second);
        program.ops[second] = joined;
        // What is gone reads nothing: its operands are the joined operation's.
        program.ops[first].operands.clear();
        program.ops[first].results.clear();
        gone[first.index()] = true;
    }
    if gone.contains(&true) {
        rebuild(program, &gone);
    }
}

fn is_plain(op: &OpData) -> bool {
    let carried = op.operands.iter().any(|o| o.in_place && o.distance > 0);
    op.kind == "simt" && op.execution == Execution::Sync && op.attributes == Attributes::default() && !carried
}

/// The one operation that an operation can be joined with.
fn reader(program: &Program, first: Op) -> Option<Op> {
    let a = &program.ops[first];
    let &[result] = &a.results[..] else { return None };
    let wanted = program.wanted_after(result).is_some();
    if wanted || !is_plain(a) || program.orders.iter().any(|o| o.from == first || o.to == first) {
        return None;
    }
    let mut reads = program
        .ops
        .iter()
        .flat_map(|(op, data)| data.operands.iter().filter(move |o| o.value == result).map(move |o| (op, o)));
    let (second, operand) = reads.next()?;
    // The place of an accumulator is not given up.
    let replaced = operand.in_place && !is_permission(program, second);
    let alone = reads.next().is_none() && operand.distance == 0 && !replaced;
    (alone && is_plain(&program.ops[second]) && !depends(program, second, second, first)).then_some(second)
}

/// What two operations hold together.
fn both(a: &OpData, b: &OpData) -> Vec<Hold> {
    let mut holds: Vec<Hold> = b.holds.clone();
    for h in &a.holds {
        match holds.iter_mut().find(|k| k.resource == h.resource) {
            Some(same) => same.rows = same.rows.saturating_add(h.rows),
            None => holds.push(*h),
        }
    }
    holds
}

/// Whether an operation needs another one, of this or an earlier iteration, other than through `past`. What is carried around the
/// loop must not wait for what is not: an operation that needs itself past another one is not joined with that.
fn depends(program: &Program, op: Op, on: Op, past: Op) -> bool {
    let writers = program.writers();
    let (mut seen, mut look) = (vec![false; program.ops.len()], vec![op]);
    while let Some(at) = look.pop() {
        for before in program.ops[at].operands.iter().flat_map(|o| &writers[o.value.index()]) {
            if *before == on {
                return true;
            }
            if !seen[before.index()] && *before != past {
                seen[before.index()] = true;
                look.push(*before);
            }
        }
    }
    false
}

/// Whether an operation's place is a permission: nothing that the loop carries goes through it.
fn is_permission(program: &Program, op: Op) -> bool {
    let data = &program.ops[op];
    let carried =
        |v: &Value| program.ops.values().flat_map(|o| &o.operands).any(|o| o.value == *v && o.in_place);
    !data.results.iter().any(carried) || data.operands.iter().filter(|o| o.in_place).all(|o| o.distance == 0)
}

fn join(program: &Program, first: Op, second: Op) -> OpData {
    let (a, b) = (&program.ops[first], &program.ops[second]);
    let between = a.results[0];
    let mut operands: Vec<Operand> = Vec::new();
    for o in a.operands.iter().chain(b.operands.iter().filter(|o| o.value != between)) {
        match operands.iter_mut().find(|p| (p.value, p.distance) == (o.value, o.distance)) {
            // What is read twice is still wanted when it is overwritten.
            Some(twice) => twice.in_place = false,
            None => operands.push(*o),
        }
    }
    // One place at most, and only of the size of what is put there.
    let size = b.results.first().map(|&v| program.values[v].bytes);
    let mut taken = false;
    for o in operands.iter_mut().filter(|o| o.in_place) {
        let fits = b.results.len() == 1 && size == Some(program.values[o.value].bytes);
        o.in_place = fits && !taken;
        taken |= o.in_place;
    }
    OpData { operands, holds: both(a, b), latency: a.latency.saturating_add(b.latency), ..b.clone() }
}

/// The program without the operations that are gone and the values that nobody names any more.
fn rebuild(program: &mut Program, gone: &[bool]) {
    let mut named = vec![false; program.values.len()];
    for (_, data) in program.ops.iter().filter(|(op, _)| !gone[op.index()]) {
        for v in data.results.iter().copied().chain(data.operands.iter().map(|o| o.value)) {
            named[v.index()] = true;
        }
    }
    program.outs.iter().for_each(|o| named[o.value.index()] = true);
    let mut values = PrimaryMap::new();
    let mut value_of: Vec<Option<Value>> = vec![None; program.values.len()];
    for (v, data) in program.values.iter().filter(|(v, _)| named[v.index()]) {
        value_of[v.index()] = Some(values.push(data.clone()));
    }
    let mut ops = PrimaryMap::new();
    let mut op_of: Vec<Option<Op>> = vec![None; program.ops.len()];
    for (op, data) in program.ops.iter().filter(|(op, _)| !gone[op.index()]) {
        let mut data = data.clone();
        data.operands.iter_mut().for_each(|o| o.value = value_of[o.value.index()].unwrap_or(o.value));
        data.results.iter_mut().for_each(|v| *v = value_of[v.index()].unwrap_or(*v));
        op_of[op.index()] = Some(ops.push(data));
    }
    program.outs.iter_mut().for_each(|o| o.value = value_of[o.value.index()].unwrap_or(o.value));
    for o in &mut program.orders {
        o.from = op_of[o.from.index()].unwrap_or(o.from);
        o.to = op_of[o.to.index()].unwrap_or(o.to);
    }
    (program.ops, program.values) = (ops, values);
}
