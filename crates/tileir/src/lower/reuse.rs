//! Which loads read what other blocks read, too.
//!
//! Goal: where a tile comes from. Blocks are told apart by their numbers (`get_tile_block_id`). If an entry asks for the first and the second
//! number of its block and a load depends on the first alone, all blocks that differ in the second load the same tile: one of them gets
//! it from memory and the others from the cache, at several times the rate. The same holds for a load that depends on a quotient or a
//! remainder, which several numbers have in common. Linear in the definitions behind a load.

use super::body::{Body, Work};
use super::cost::Reuse;
use crate::cuda::{Operation, Value};
use std::collections::HashSet;

/// Numbers of a block: the first, second and third.
pub(super) type Numbers = [bool; 3];

const NUMBER: &str = "get_tile_block_id";

/// The numbers that an entry asks for and uses.
pub(super) fn asked(entry: &Operation) -> Numbers {
    let mut of: Vec<(Value, usize)> = Vec::new();
    for op in entry.walk().filter(|op| op.name == NUMBER) {
        of.extend(op.values().enumerate().map(|(i, value)| (value, i)));
    }
    let used: HashSet<&Value> = entry.walk().flat_map(Operation::operands).collect();
    let mut numbers = [false; 3];
    for (value, i) in of.iter().filter(|(value, _)| used.contains(value)) {
        if let Some(number) = numbers.get_mut(*i) {
            *number |= used.contains(value);
        }
    }
    numbers
}

impl<'a> Body<'a, '_> {
    /// Who else reads what a load reads.
    pub(super) fn reuse(&self, work: &Work<'a>) -> Reuse {
        let (mut found, mut common) = ([false; 3], false);
        let mut seen: HashSet<&Value> = HashSet::new();
        let mut pending: Vec<&Value> = work.operands.clone();
        while let Some(value) = pending.pop() {
            if !seen.insert(value) {
                continue;
            }
            if let Some((op, result)) = self.defined(value) {
                if op.name == NUMBER
                    && let Some(number) = found.get_mut(result)
                {
                    *number = true;
                }
                common |= matches!(op.name.as_str(), "divi" | "remi");
                pending.extend(op.operands());
            }
            pending.extend(self.begins(value));
        }
        // A quotient that no number of a block is behind is the same for all of them anyway.
        match found == self.scope().block && !(common && found.contains(&true)) {
            true => Reuse::Own,
            false => Reuse::Same,
        }
    }
}
