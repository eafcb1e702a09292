//! What stands inside an operation: sides of an `if`.

use super::tables::{Class, tables};
use super::{Outcome, Reason};
use crate::cuda::{Operation, Region, Value};
use std::collections::HashSet;

/// All operations of a side, those of an `if` inside it too. The regions of reductions are theirs.
pub(super) fn side(region: &Region) -> Vec<&Operation> {
    let mut found = Vec::new();
    let mut pending: Vec<&Operation> = region.operations.iter().rev().collect();
    while let Some(op) = pending.pop() {
        found.push(op);
        if op.name == "if" {
            pending.extend(op.regions.iter().flat_map(|region| &region.operations).rev());
        }
    }
    found
}

/// The values that an operation reads; those that an `if` reads inside too.
pub(super) fn operands(op: &Operation) -> Vec<&Value> {
    let mut found = op.operands();
    if op.name != "if" {
        return found;
    }
    let inside: Vec<&Operation> = op.regions.iter().flat_map(side).collect();
    let own: HashSet<Value> = inside.iter().flat_map(|op| op.values()).collect();
    found.extend(inside.iter().flat_map(|op| op.operands()).filter(|value| !own.contains(value)));
    found
}

/// Whether an `if` can be one operation.
pub(super) fn check(op: &Operation) -> Outcome<()> {
    for inner in op.regions.iter().flat_map(side) {
        let name = || inner.name.clone();
        match tables().operation(&inner.name) {
            None => return Err(Reason::Unknown { name: name() }.at(inner)),
            Some(row) => match row.class {
                Class::Refused => {
                    return Err(Reason::Refused { name: name(), why: row.source.clone() }.at(inner));
                }
                Class::LoadView
                | Class::LoadPtr
                | Class::StoreView
                | Class::StorePtr
                | Class::Atomic
                | Class::Mma
                | Class::MmaScaled => return Err(Reason::Conditional { name: name() }.at(inner)),
                _ => {}
            },
        }
    }
    Ok(())
}
