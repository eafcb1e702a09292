//! What is known outside a loop: definitions, constants, the loop around.

use super::reuse::Numbers;
use super::tables::{Class, tables};
use crate::cuda::{Attribute, Extent, Loop, Operation, Tile, Type, Value};
use crate::program::Persistent;
use std::collections::HashMap;

/// How many definitions are gone through for one number.
const STEPS: usize = 64;

/// A value that can be seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outer<'a> {
    /// What defines it, and as which result; nothing for arguments.
    pub(super) by: Option<(&'a Operation, usize)>,
    /// Its type.
    pub(super) ty: &'a Type,
}

/// All values that can be seen at a place.
#[derive(Default)]
pub(super) struct Scope<'a> {
    names: HashMap<Value, Outer<'a>>,
    /// Which of the numbers of a block the entry asks for.
    pub(super) block: Numbers,
}

/// What is behind a name outside the loop.
#[derive(Clone, Debug)]
pub(super) struct Behind<'a> {
    /// The value that is computed or loaded before the loop.
    pub(super) value: Value,
    /// Its type.
    pub(super) tile: &'a Tile,
    /// Whether other elements, or the same ones in another number, are meant.
    pub(super) changed: bool,
    /// Whether axes are in another order.
    pub(super) transposed: bool,
}

impl<'a> Scope<'a> {
    /// Adds a value and returns what it hides.
    pub(super) fn insert(&mut self, value: Value, outer: Outer<'a>) -> Option<Outer<'a>> {
        self.names.insert(value, outer)
    }

    /// Takes a value away again.
    pub(super) fn restore(&mut self, value: Value, hidden: Option<Outer<'a>>) {
        match hidden {
            Some(outer) => self.names.insert(value, outer),
            None => self.names.remove(&value),
        };
    }

    /// The tile that a name outside the loop stands for; nothing for what is not handed over: constants, tokens, views, and
    /// single integers and addresses.
    pub(super) fn behind(&self, value: &Value) -> Option<Behind<'a>> {
        let (mut at, mut changed, mut transposed) = (value.clone(), false, false);
        // Every step goes to an earlier definition.
        loop {
            let outer = self.names.get(&at)?;
            if let Some((op, _)) = outer.by {
                match tables().operation(&op.name).map(|row| row.class) {
                    Some(Class::View | Class::Token) => return None,
                    Some(class @ (Class::Free | Class::Layout | Class::Transpose)) => {
                        let next = op.operands().first().copied()?;
                        changed |= class == Class::Layout;
                        transposed |= class == Class::Transpose;
                        at = next.clone();
                        continue;
                    }
                    _ => {}
                }
            }
            let tile = outer.ty.as_tile()?;
            return (!is_index(tile)).then_some(Behind { value: at, tile, changed, transposed });
        }
    }

    /// What defines a value.
    pub(super) fn by(&self, value: &Value) -> Option<(&'a Operation, usize)> {
        self.names.get(value)?.by
    }

    /// The definition behind names for the same number.
    fn definition(&self, value: &Value) -> Option<(&'a Operation, usize)> {
        let mut at = value;
        for _ in 0..STEPS {
            let (op, result) = self.names.get(at)?.by?;
            match op.name.as_str() {
                "assume" | "reshape" => at = op.operands().first().copied()?,
                _ => return Some((op, result)),
            }
        }
        None
    }

    /// The whole number of a constant.
    fn literal(&self, value: &Value) -> Option<i128> {
        let (op, _) = self.definition(value)?;
        let [argument] = op.arguments() else { return None };
        let Attribute::Group(_, inside) = &argument.value else { return None };
        let [only] = &inside[..] else { return None };
        match &only.value {
            Attribute::Number(digits) if op.name == "constant" => digits.parse().ok(),
            _ => None,
        }
    }

    /// The whole number that a name stands for, where the text tells: a constant, or a number of tiles.
    fn number(&self, value: &Value) -> Option<i128> {
        let tiles = |(problem, tile): (u64, u64)| i128::from(problem.div_ceil(tile));
        self.literal(value).or_else(|| self.sizes(self.definition(value)?).map(tiles))
    }

    /// Sizes of which a number of tiles is the quotient.
    fn sizes(&self, (op, result): (&Operation, usize)) -> Option<(u64, u64)> {
        match op.name.as_str() {
            "get_index_space_shape" => self.index_space(op, result),
            "divi" => self.quotient(op),
            _ => None,
        }
    }

    /// How often a loop runs, where its bounds are constants.
    pub(super) fn trips(&self, header: &Loop) -> Option<u64> {
        let [from, to, step] = [&header.from, &header.to, &header.step].map(|value| self.number(value));
        let (from, to, step) = (from?, to?, step?);
        if step <= 0 {
            return None;
        }
        let length = to.checked_sub(from)?.max(0);
        u64::try_from(length / step + i128::from(length % step != 0)).ok()
    }

    /// The shape of a loop over output tiles: from the block's number by the number of blocks to a product of quotients of sizes, all known.
    pub(super) fn persistent(&self, outer: &Loop) -> Option<Persistent> {
        let made_by = |value: &Value| self.names.get(value)?.by.map(|(op, _)| op.name.as_str());
        if made_by(&outer.from) != Some("get_tile_block_id")
            || made_by(&outer.step) != Some("get_num_tile_blocks")
        {
            return None;
        }
        let (mut problem, mut tile) = (Vec::new(), Vec::new());
        let mut pending = vec![outer.to.clone()];
        for _ in 0..STEPS {
            let Some(value) = pending.pop() else { break };
            let found = self.definition(&value)?;
            if found.0.name == "muli" {
                pending.extend(found.0.operands().into_iter().rev().cloned());
                continue;
            }
            let (p, t) = self.sizes(found)?;
            problem.push(p);
            tile.push(t);
        }
        let whole = pending.is_empty() && !problem.is_empty();
        whole.then(|| Persistent { cluster: vec![1; problem.len()], problem, tile })
    }

    /// The size of an array and of a tile along an axis of the tiles, for a result of `get_index_space_shape`.
    fn index_space(&self, op: &Operation, axis: usize) -> Option<(u64, u64)> {
        let view = self.names.get(op.operands().first().copied()?)?.ty.as_view()?;
        let of_array = match &view.dim_map {
            Some(map) => usize::try_from(*map.get(axis)?).ok()?,
            None => axis,
        };
        let Extent::Static(problem) = *view.tensor.shape.get(of_array)? else { return None };
        let tile = *view.tile.get(axis)?;
        (problem > 0 && tile > 0 && view.traversal.is_none()).then_some((problem, tile))
    }

    /// Both numbers of a division that rounds up.
    fn quotient(&self, op: &Operation) -> Option<(u64, u64)> {
        let up = op.arguments().iter().any(|argument| {
            let word = |a: &crate::cuda::Argument| matches!(&a.value, Attribute::Word(w) if w == "positive_inf");
            matches!(&argument.value, Attribute::Call(name, inside) if name == "rounding" && inside.iter().any(word))
        });
        let operands = op.operands();
        let [a, b] = operands[..] else { return None };
        let small = |value| self.literal(value).and_then(|n| u64::try_from(n).ok());
        let (problem, tile) = (small(a)?, small(b)?);
        (up && problem > 0 && tile > 0).then_some((problem, tile))
    }
}

/// A single integer, truth value or address.
pub(super) fn is_index(tile: &Tile) -> bool {
    let whole = match &*tile.element {
        Type::Scalar(name) => name.starts_with('i'),
        Type::Pointer(_) => true,
        _ => false,
    };
    tile.shape.is_empty() && whole
}
