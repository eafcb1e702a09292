//! Tiles of a loop in parts along the rows of its matrix products.
//!
//! Goal: registers. A tile of 128 rows is multiplied, scaled and converted 128 rows at a time, and all its rows are in registers from the
//! first to the last of these. What two groups of 64 rows take instead is half as long and comes one after the other, as in kernels whose
//! groups of warps take turns. Nothing but rows of their own depends on rows: the parts are operations of their own.
//!
//! From the result of every product an axis is followed forwards and backwards, through names (`reshape`, `broadcast`, `permute`), arithmetic,
//! reductions along other axes, both sides of an `if`, and around the loop. What works on tiles with such an axis becomes one operation for every
//! part. What is loaded, comes from before the loop or is computed from the index stays whole; parts read it. Where the axis is lost (a
//! reduction along it, a second operand of a product, a store) the loop cannot be divided.
//!
//! The result is a loop of CUDA Tile IR again, which is lowered like any other. Linear in uses.

use super::tables::{Class, tables};
use crate::cuda::{
    Argument, Attribute, Binding, Extent, Header, Operation, Region, Results, Tile, Type, Value,
};
use std::collections::{HashMap, HashSet};

/// Why a loop is not divided, in words.
pub(super) type Whole = &'static str;

/// The axis of each tile that is divided.
struct Axes<'a> {
    axis: HashMap<Value, usize>,
    /// The type of every value in sight of the body.
    types: HashMap<Value, &'a Type>,
    /// Operations by the values that they define or use.
    near: HashMap<Value, Vec<&'a Operation>>,
    pending: Vec<Value>,
}

/// The loop in so many parts, none of fewer rows than `least`.
pub(super) fn divide(op: &Operation, parts: u32, least: u64) -> Result<Operation, Whole> {
    let Some(region) = op.regions.first() else { return Err("it has no body") };
    let mut axes =
        Axes { axis: HashMap::new(), types: HashMap::new(), near: HashMap::new(), pending: Vec::new() };
    axes.region(region);
    let products = region.operations.iter().filter(|o| class(o) == Some(Class::Mma));
    let mut any = false;
    for product in products {
        let value = product.values().next().ok_or("a product without a result")?;
        let rank = axes.tile(&value).ok_or("a product that is no tile")?.shape.len();
        axes.set(&value, rank.checked_sub(2).ok_or("a product without rows")?)?;
        any = true;
    }
    if !any {
        return Err("no matrix product whose rows could be divided");
    }
    let carried: Vec<(&Binding, &Value)> = match region.terminator() {
        Some(last) if last.name == "continue" => {
            let bindings = op.carried().map(|c| c.0);
            bindings.zip(last.operands()).collect()
        }
        _ => Vec::new(),
    };
    while let Some(value) = axes.pending.pop() {
        for (binding, next) in &carried {
            let inside = Value { name: binding.name.clone(), number: None };
            axes.same(&value, &inside, next)?;
        }
        for near in axes.near.get(&value).cloned().unwrap_or_default() {
            axes.follow(&value, near)?;
        }
    }
    for (value, &axis) in &axes.axis {
        let rows = axes.tile(value).and_then(|tile| tile.shape.get(axis)?.known());
        match rows {
            Some(rows) if rows % u64::from(parts) == 0 && rows / u64::from(parts) >= least => {}
            _ => return Err("too few rows for so many parts"),
        }
    }
    for inner in region.operations.iter().flat_map(Operation::walk).filter(|o| axes.divided(o)) {
        if !inner.values().all(|v| axes.axis.contains_key(&v)) {
            return Err("an operation has results with rows and without");
        }
    }
    Ok(axes.rebuild(op, region, parts))
}

fn class(op: &Operation) -> Option<Class> {
    tables().operation(&op.name).map(|row| row.class)
}

/// What stays whole though it has rows: parts read theirs of it.
fn stays(op: &Operation) -> bool {
    matches!(class(op), Some(Class::LoadView | Class::View))
}

/// The axis that a reduction goes along.
fn along(op: &Operation) -> Option<usize> {
    match op.argument("dim")? {
        Attribute::Number(digits) => digits.parse().ok(),
        _ => None,
    }
}

/// The numbers of a list among the arguments: the order of axes of `permute`.
fn numbers(op: &Operation) -> Option<Vec<usize>> {
    op.arguments().iter().find_map(|argument| match &argument.value {
        Attribute::Group(_, inside) => inside
            .iter()
            .map(|a| match &a.value {
                Attribute::Number(digits) => digits.parse().ok(),
                _ => None,
            })
            .collect(),
        _ => None,
    })
}

/// The axis of the same elements in another shape: as many before it, as many along it.
fn reshaped(from: &Tile, axis: usize, to: &Tile) -> Option<usize> {
    let before = |tile: &Tile, axis: usize| {
        tile.shape[..axis].iter().try_fold(1_u64, |product, extent| product.checked_mul(extent.known()?))
    };
    let (rows, first) = (from.shape.get(axis)?.known()?, before(from, axis)?);
    (0..to.shape.len()).find(|&a| to.shape[a].known() == Some(rows) && before(to, a) == Some(first))
}

impl<'a> Axes<'a> {
    fn region(&mut self, region: &'a Region) {
        for binding in &region.arguments {
            self.types.insert(Value { name: binding.name.clone(), number: None }, &binding.ty);
        }
        for op in &region.operations {
            for (i, value) in op.values().enumerate() {
                if let Some(ty) = op.result_type(i) {
                    self.types.insert(value.clone(), ty);
                }
                self.near.entry(value).or_default().push(op);
            }
            for value in op.operands() {
                self.near.entry(value.clone()).or_default().push(op);
            }
            if op.name == "if" {
                op.regions.iter().for_each(|inner| self.region(inner));
                // What a side passes on is what comes out.
                for last in op.regions.iter().filter_map(Region::terminator) {
                    for value in last.operands() {
                        self.near.entry(value.clone()).or_default().push(op);
                    }
                }
            }
        }
    }

    fn tile(&self, value: &Value) -> Option<&'a Tile> {
        self.types.get(value).copied().and_then(Type::as_tile)
    }

    fn set(&mut self, value: &Value, axis: usize) -> Result<(), Whole> {
        // What is from outside stays whole; its type is not asked for.
        if !self.types.contains_key(value) {
            return Ok(());
        }
        match self.axis.insert(value.clone(), axis) {
            None => self.pending.push(value.clone()),
            Some(known) if known == axis => {}
            Some(_) => return Err("rows of one product are columns of another"),
        }
        Ok(())
    }

    /// Two names whose axes are the same.
    fn same(&mut self, value: &Value, a: &Value, b: &Value) -> Result<(), Whole> {
        let axis = self.axis[value];
        if value == a {
            self.set(b, axis)?;
        }
        if value == b {
            self.set(a, axis)?;
        }
        Ok(())
    }

    /// What follows for the other values of an operation from the axis of one.
    fn follow(&mut self, value: &Value, op: &'a Operation) -> Result<(), Whole> {
        let axis = self.axis[value];
        let results: Vec<Value> = op.values().collect();
        let operands: Vec<&'a Value> = op.operands();
        let read = operands.contains(&value);
        let own = results.contains(value);
        match class(op) {
            // What is loaded or computed from the index stays whole.
            _ if stays(op) => {
                if read {
                    return Err("a load or an index depends on rows");
                }
            }
            Some(Class::Control) => {}
            Some(Class::Mma) => {
                let [a, b, c] = operands[..] else { return Err("a product without three operands") };
                if value == b {
                    return Err("a product multiplies by rows of another");
                }
                let rank = self.tile(&results[0]).map_or(0, |tile| tile.shape.len());
                if axis + 2 != rank {
                    return Err("rows of one product are columns of another");
                }
                for other in [a, c, &results[0]] {
                    self.set(other, axis)?;
                }
            }
            Some(Class::Transpose) => {
                let order = numbers(op).ok_or("an order of axes that is not known")?;
                if own {
                    let from = *order.get(axis).ok_or("an order of axes that is not known")?;
                    operands.iter().try_for_each(|o| self.set(o, from))?;
                } else {
                    let to =
                        order.iter().position(|&a| a == axis).ok_or("an order of axes that is not known")?;
                    results.iter().try_for_each(|r| self.set(r, to))?;
                }
            }
            Some(Class::Free) if op.name == "reshape" => {
                let (from, to) = (operands.first().copied().ok_or("nothing is reshaped")?, &results[0]);
                // The type of what is from outside stands in the text of the operation.
                let types = match &op.header {
                    Header::Plain { types, result_types, .. } => (types.first(), result_types.first()),
                    _ => (None, None),
                };
                let (Some(Type::Tile(a)), Some(Type::Tile(b))) = types else {
                    return Err("a shape is not known");
                };
                let lost = "rows are spread over other axes";
                if own {
                    let axis = reshaped(b, axis, a).ok_or(lost)?;
                    self.set(from, axis)?;
                } else {
                    self.set(to, reshaped(a, axis, b).ok_or(lost)?)?;
                }
            }
            Some(Class::Layout) if op.name == "broadcast" => {
                for other in operands.iter().copied().chain(&results).filter(|v| *v != value) {
                    let rows = self.tile(other).and_then(|t| t.shape.get(axis));
                    // The same row again and again belongs to all of them.
                    if !own || rows != Some(&Extent::Static(1)) {
                        self.set(other, axis)?;
                    }
                }
            }
            Some(Class::Reduce) => {
                let along = along(op).ok_or("a reduction along an axis that is not known")?;
                let lost = "a reduction goes along the rows";
                let (of_operands, of_results) = match own {
                    true => (axis + usize::from(axis >= along), axis),
                    false if axis == along => return Err(lost),
                    false => (axis, axis - usize::from(axis > along)),
                };
                operands.iter().try_for_each(|o| self.set(o, of_operands))?;
                results.iter().try_for_each(|r| self.set(r, of_results))?;
            }
            Some(Class::If) => {
                // Sides have as many values at their end as come out.
                for last in op.regions.iter().filter_map(Region::terminator) {
                    for (result, inner) in results.iter().zip(last.operands()) {
                        self.same(value, result, inner)?;
                    }
                }
            }
            Some(Class::Elementwise | Class::Modifier | Class::Free) => {
                let shape = |s: &Self, v: &Value| s.tile(v).map(|t| t.shape.clone());
                let wanted = shape(self, value);
                for other in operands.iter().copied().chain(&results) {
                    let known = self.types.contains_key(other);
                    if !known || shape(self, other).is_some_and(|s| s.is_empty()) {
                        continue;
                    }
                    if shape(self, other) != wanted {
                        return Err("rows are spread over other axes");
                    }
                    self.set(other, axis)?;
                }
            }
            _ => return Err("what works on rows cannot be divided"),
        }
        Ok(())
    }

    /// Whether an operation is done part by part.
    fn divided(&self, op: &Operation) -> bool {
        let own = op.values().any(|v| self.axis.contains_key(&v));
        own && !stays(op)
    }

    fn rebuild(&self, op: &Operation, region: &Region, parts: u32) -> Operation {
        let walk = region.operations.iter().flat_map(Operation::walk);
        let whole: HashSet<Value> = walk.filter(|o| stays(o)).flat_map(Operation::values).collect();
        let divided = |value: &Value| self.axis.contains_key(value) && !whole.contains(value);
        let rename = |value: &Value, part: u32| match divided(value) {
            true => {
                let number = value.number.map_or(String::new(), |n| format!("_{n}"));
                Value { name: format!("{}{number}.{part}", value.name), number: None }
            }
            false => value.clone(),
        };
        let named = |binding: &Binding| Value { name: binding.name.clone(), number: None };
        // How often each carried value is there afterwards.
        let times: Vec<u32> = op.carried().map(|(b, _)| if divided(&named(b)) { parts } else { 1 }).collect();
        let mut operations = Vec::new();
        for inner in &region.operations {
            if self.divided(inner) {
                operations.extend((0..parts).map(|part| self.part(inner, parts, &|v| rename(v, part))));
            } else if inner.name == "continue" {
                operations.push(spread(inner, &times, &rename));
            } else {
                operations.push(inner.clone());
            }
        }
        let mut arguments: Vec<Binding> = region.arguments.iter().take(1).cloned().collect();
        let mut initial = Vec::new();
        for ((binding, begin), &times) in op.carried().zip(&times) {
            let axis = self.axis.get(&named(binding)).copied().filter(|_| times > 1);
            for part in 0..times {
                let name = if times > 1 { rename(&named(binding), part).name } else { binding.name.clone() };
                arguments.push(Binding { name, ty: cut(&binding.ty, axis, times), location: None });
                initial.push(begin.clone());
            }
        }
        let mut new = op.clone();
        let count = u32::try_from(initial.len()).ok();
        if let (Some(first), Some(count @ 2..)) = (new.results.first().cloned(), count) {
            new.results = vec![Results { name: first.name, count: Some(count) }];
        }
        if let Header::For(header) = &mut new.header {
            header.initial = initial;
        }
        new.regions = vec![Region { label: region.label.clone(), arguments, operations }];
        new
    }

    /// An operation for one part.
    fn part(&self, op: &Operation, parts: u32, rename: &dyn Fn(&Value) -> Value) -> Operation {
        let mut new = op.clone();
        // Results that share a name are told apart by their new names.
        new.results = op.values().map(|v| Results { name: rename(&v).name, count: None }).collect();
        let of_result = |i: usize| op.values().nth(i).and_then(|v| self.axis.get(&v).copied());
        let shape = op.result_type(0).and_then(Type::as_tile).map(|t| t.shape.clone());
        let operands = op.operands();
        if let Header::Plain { arguments, types, result_types, .. } = &mut new.header {
            arguments.iter_mut().for_each(|a| replace(a, rename));
            let class = class(op);
            let last = types.len().saturating_sub(1);
            for (i, ty) in types.iter_mut().enumerate() {
                let axis = match class {
                    Some(Class::Mma) => {
                        if i == 1 {
                            None
                        } else {
                            of_result(0)
                        }
                    }
                    Some(Class::Elementwise | Class::Modifier) => {
                        let same = ty.as_tile().map(|t| &t.shape) == shape.as_ref();
                        of_result(0).filter(|_| same)
                    }
                    // Names: one operand; with no type behind an arrow the last type is the result's.
                    _ if result_types.is_empty() && i == last => of_result(0),
                    Some(Class::Free | Class::Layout | Class::Transpose) => {
                        self.operand_axis(op, operands.first().copied(), of_result(0))
                    }
                    _ => operands.get(i).and_then(|v| self.axis.get(*v).copied()),
                };
                *ty = cut(ty, axis, parts);
            }
            for (i, ty) in result_types.iter_mut().enumerate() {
                *ty = cut(ty, of_result(i), parts);
            }
        }
        if op.name == "if" {
            for region in &mut new.regions {
                for inner in &mut region.operations {
                    *inner = match inner.name.as_str() {
                        "yield" => {
                            let mut last = inner.clone();
                            if let Header::Plain { arguments, types, .. } = &mut last.header {
                                arguments.iter_mut().for_each(|a| replace(a, rename));
                                for (i, ty) in types.iter_mut().enumerate() {
                                    *ty = cut(ty, of_result(i), parts);
                                }
                            }
                            last
                        }
                        _ if self.divided(inner) => self.part(inner, parts, rename),
                        _ => inner.clone(),
                    };
                }
            }
        }
        new
    }

    /// The axis of the operand of a name, of one from outside too.
    fn operand_axis(
        &self,
        op: &Operation,
        operand: Option<&Value>,
        of_result: Option<usize>,
    ) -> Option<usize> {
        let operand = operand?;
        if self.types.contains_key(operand) {
            return self.axis.get(operand).copied();
        }
        match (&op.header, op.name.as_str()) {
            (Header::Plain { types, result_types, .. }, "reshape") => {
                match (types.first(), result_types.first()) {
                    (Some(Type::Tile(a)), Some(Type::Tile(b))) => reshaped(b, of_result?, a),
                    _ => None,
                }
            }
            (_, "permute") => numbers(op)?.get(of_result?).copied(),
            (Header::Plain { types, .. }, "broadcast") => {
                let tile = types.first()?.as_tile()?;
                of_result.filter(|&a| tile.shape.get(a).is_some_and(|e| *e != Extent::Static(1)))
            }
            _ => of_result,
        }
    }
}

/// A part of a tile.
fn cut(ty: &Type, axis: Option<usize>, parts: u32) -> Type {
    let mut new = ty.clone();
    if let (Type::Tile(tile), Some(axis)) = (&mut new, axis)
        && let Some(Extent::Static(rows)) = tile.shape.get_mut(axis)
    {
        *rows /= u64::from(parts);
    }
    new
}

/// Other names for the values of an argument.
fn replace(argument: &mut Argument, rename: &dyn Fn(&Value) -> Value) {
    match &mut argument.value {
        Attribute::Value(value) => *value = rename(value),
        Attribute::Indexed(value, inside) => {
            *value = rename(value);
            inside.iter_mut().for_each(|a| replace(a, rename));
        }
        Attribute::Call(_, inside) | Attribute::Group(_, inside) => {
            inside.iter_mut().for_each(|a| replace(a, rename));
        }
        _ => {}
    }
}

/// What is passed on, as often as it is carried.
fn spread(op: &Operation, times: &[u32], rename: &dyn Fn(&Value, u32) -> Value) -> Operation {
    let mut new = op.clone();
    if let Header::Plain { arguments, .. } = &mut new.header {
        let mut times = times.iter();
        for argument in std::mem::take(arguments) {
            let is_value = argument.value.value().is_some();
            let times = if is_value { times.next().copied().unwrap_or(1) } else { 1 };
            for part in 0..times {
                let mut one = argument.clone();
                replace(&mut one, &|v| rename(v, part));
                arguments.push(one);
            }
        }
    }
    new
}
