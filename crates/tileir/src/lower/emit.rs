//! From the body of a loop to a program: storages, conversions between them, costs.

use super::body::{Body, Look, Made, Source, Work};
use super::cost::{Cost, Costs, instructions};
use super::names::{Given, plain, prefixed};
use super::tables::{Class, Family, tables};
use super::{Model, Outcome, Reason, attributes, fuse};
use crate::cuda::{Header, Tile, Type, ViewKind};
use crate::program::{
    Attributes, Execution, Hold, Op, OpData, Operand, Order, Out, Program, Resource, ResourceData, Storage,
    Value, ValueData,
};
use cranelift_entity::EntityRef;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Bytes of a row of an operand that one `mma` instruction multiplies: 16 elements of 16 bits, 32 of 8.
const INSTRUCTION_DEPTH: u64 = 32;

/// Makes the program.
pub(super) fn emit(body: &Body<'_, '_>, costs: Costs) -> Outcome<Program> {
    let Some(family) = tables().family(costs.arch) else {
        return Err(Reason::NoFigure { figure: "family".into(), arch: costs.arch }.at(body.op));
    };
    let mut emitter = Emitter {
        body,
        costs,
        family,
        program: Program::new("loop"),
        values: Given::default(),
        ops: Given::default(),
        resources: BTreeMap::new(),
        home: HashMap::new(),
        outside: HashMap::new(),
        copies: HashMap::new(),
        placed: BTreeSet::new(),
        fragments: None,
        main: Vec::new(),
    };
    emitter.program.arch = Some(format!("sm_{}", costs.arch));
    for (position, work) in body.work.iter().enumerate() {
        for (result, (value, tile)) in work.results.iter().enumerate() {
            let storage = emitter.storage(work);
            let new = emitter.value(&plain(value), storage, tile);
            emitter.home.insert(Made { work: position, result }, new);
        }
    }
    for (position, work) in body.work.iter().enumerate() {
        emitter.work(position, work).map_err(|why| why.at(work.op))?;
    }
    emitter.orders().map_err(|why| why.at(body.op))?;
    let outs = body.outs.iter().map(|(made, distance)| (emitter.home[made], *distance));
    emitter.program.outs = outs.map(|(value, distance)| Out { value, distance }).collect();
    emitter.only_closed();
    // Documented costs are of single operations.
    if costs.model == Model::Hardware {
        fuse::fuse(&mut emitter.program);
    }
    Ok(emitter.program)
}

struct Emitter<'b, 'a, 's> {
    body: &'b Body<'a, 's>,
    costs: Costs,
    family: &'static Family,
    program: Program,
    values: Given,
    ops: Given,
    resources: BTreeMap<String, Resource>,
    /// Where tiles are made.
    home: HashMap<Made, Value>,
    /// Tiles from before the loop, by name and storage.
    outside: HashMap<(crate::cuda::Value, Storage), Value>,
    /// Copies in another storage: of a value, from how many iterations ago, where, how large.
    copies: HashMap<(Value, u32, Storage, u64), Value>,
    /// Values that took the place of another one.
    placed: BTreeSet<Value>,
    /// Registers for the slices of operands that products are reading from shared memory, of all products.
    fragments: Option<Value>,
    /// The operation that does what the work is about, and its kind.
    main: Vec<(Op, String)>,
}

type Try<T> = Result<T, Reason>;

fn read(value: Value, distance: u32) -> Operand {
    Operand { value, distance, in_place: false }
}

impl Emitter<'_, '_, '_> {
    fn accumulators(&self) -> Storage {
        if self.family.matrix == "tcgen05_mma" { Storage::Tensor } else { Storage::Register }
    }

    /// Where the results of an operation are made.
    fn storage(&self, work: &Work<'_>) -> Storage {
        match work.row.class {
            Class::LoadView if self.by_transfer(work) => Storage::Shared,
            Class::Mma | Class::MmaScaled => self.accumulators(),
            _ => Storage::Register,
        }
    }

    /// Whether hardware that moves tiles can do it: rows by index only from sm_100 on.
    fn by_transfer(&self, work: &Work<'_>) -> bool {
        let gathers = match &work.op.header {
            Header::Plain { types, .. } => {
                types.iter().filter_map(Type::as_view).any(|view| view.kind == ViewKind::GatherScatter)
            }
            _ => false,
        };
        !gathers || self.family.matrix == "tcgen05_mma"
    }

    fn value(&mut self, name: &str, storage: Storage, tile: &Tile) -> Value {
        let element = match &*tile.element {
            Type::Scalar(name) => super::names::valid(name),
            Type::Pointer(_) => "ptr".to_owned(),
            _ => "element".to_owned(),
        };
        let bytes = tile.bytes().unwrap_or(0);
        self.push_value(name, storage, bytes, element)
    }

    fn push_value(&mut self, name: &str, storage: Storage, bytes: u64, element: String) -> Value {
        let name = self.values.unique(name);
        self.program.values.push(ValueData { name, storage, bytes, element, part_of: None })
    }

    fn op(
        &mut self,
        name: &str,
        kind: &str,
        operands: Vec<Operand>,
        results: Vec<Value>,
        cost: Cost,
        attributes: Attributes,
    ) -> Op {
        let execution = tables().kind(kind).map_or(Execution::Sync, |kind| kind.execution);
        let mut holds = Vec::new();
        for (slot, rows) in cost.holds {
            let resource = match self.resources.get(&slot) {
                Some(&resource) => resource,
                None => {
                    let new = ResourceData { name: slot.clone(), capacity: 1 };
                    let resource = self.program.resources.push(new);
                    self.resources.insert(slot, resource);
                    resource
                }
            };
            holds.push(Hold { resource, start: 0, rows, units: 1 });
        }
        let (name, kind) = (self.ops.unique(name), kind.to_owned());
        let latency = cost.latency;
        self.program.ops.push(OpData { name, kind, operands, results, latency, execution, holds, attributes })
    }

    /// A copy of a value in another storage, made once for all readers.
    fn copy(&mut self, operand: Operand, to: Storage, bytes: u64, element: &str) -> Try<Operand> {
        let key = (operand.value, operand.distance, to, bytes);
        if let Some(&copy) = self.copies.get(&key) {
            return Ok(read(copy, 0));
        }
        let from = &self.program.values[operand.value];
        let name = from.name.clone();
        let (kind, prefix, suffix) = match (from.storage, to) {
            (Storage::Shared, Storage::Register) => ("smem_read", "read", "reg"),
            (Storage::Register, Storage::Shared) => ("smem_write", "write", "smem"),
            (Storage::Tensor, _) => ("tcgen05_load", "tmem_load", "reg"),
            (Storage::Register, _) => ("tcgen05_store", "tmem_store", "tmem"),
            (Storage::Shared, _) => ("tcgen05_copy", "tmem_copy", "tmem"),
        };
        let cost = self.costs.moves(kind, bytes)?;
        let copy = self.push_value(&format!("{name}_{suffix}"), to, bytes, element.to_owned());
        let operand = Operand { in_place: false, ..operand };
        self.op(&prefixed(prefix, &name), kind, vec![operand], vec![copy], cost, Attributes::default());
        self.copies.insert(key, copy);
        Ok(read(copy, 0))
    }

    /// A tile from before the loop, in the storage that its reader wants.
    fn outside_value(&mut self, value: &crate::cuda::Value, tile: &Tile, storage: Storage) -> Operand {
        let key = (value.clone(), storage);
        if let Some(&known) = self.outside.get(&key) {
            return read(known, 0);
        }
        let new = self.value(&plain(value), storage, tile);
        self.outside.insert(key, new);
        read(new, 0)
    }

    /// What an operand is in registers.
    fn in_registers(&mut self, source: &Source<'_>) -> Try<Option<Operand>> {
        match source {
            Source::Nothing => Ok(None),
            Source::Outside(behind) => {
                Ok(Some(self.outside_value(&behind.value, behind.tile, Storage::Register)))
            }
            Source::Made(made, distance, _) => {
                let value = self.home[made];
                let data = &self.program.values[value];
                if data.storage == Storage::Register {
                    return Ok(Some(read(value, *distance)));
                }
                let (bytes, element) = (data.bytes, data.element.clone());
                self.copy(read(value, *distance), Storage::Register, bytes, &element).map(Some)
            }
        }
    }

    /// What an operand is in shared memory. `turned`: whether axes may be in another order there.
    fn in_shared(
        &mut self,
        name: &crate::cuda::Value,
        source: &Source<'_>,
        tile: &Tile,
        turned: bool,
    ) -> Try<Operand> {
        let as_it_is = |look: Look| !look.changed && (turned || !look.transposed);
        match source {
            Source::Nothing => return Ok(self.outside_value(name, tile, Storage::Shared)),
            Source::Outside(behind) => {
                let look = Look { transposed: behind.transposed, changed: behind.changed };
                return Ok(match as_it_is(look) {
                    true => self.outside_value(&behind.value, behind.tile, Storage::Shared),
                    false => self.outside_value(name, tile, Storage::Shared),
                });
            }
            Source::Made(made, distance, look) => {
                let value = self.home[made];
                if self.program.values[value].storage == Storage::Shared && as_it_is(*look) {
                    return Ok(read(value, *distance));
                }
            }
        }
        let Some(register) = self.in_registers(source)? else {
            return Ok(self.outside_value(name, tile, Storage::Shared));
        };
        let element = match &*tile.element {
            Type::Scalar(name) => super::names::valid(name),
            _ => self.program.values[register.value].element.clone(),
        };
        self.copy(register, Storage::Shared, tile.bytes().unwrap_or(0), &element)
    }

    /// All operands in registers, each once.
    fn all_in_registers(&mut self, work: &Work<'_>) -> Try<Vec<Operand>> {
        let mut found: Vec<Operand> = Vec::new();
        for value in &work.operands {
            if let Some(operand) = self.in_registers(&self.body.source(value))?
                && !found.contains(&operand)
            {
                found.push(operand);
            }
        }
        Ok(found)
    }

    /// Whether nobody reads a tile of so many iterations ago after this position, nor after the loop.
    fn is_last(&self, made: Made, distance: u32, position: usize) -> bool {
        let reads = self.body.reads.get(&made).map_or(&[][..], Vec::as_slice);
        let in_loop = reads.iter().all(|&(reader, d)| d < distance || d == distance && reader <= position);
        in_loop && self.body.outs.iter().all(|&(out, d)| out != made || d < distance)
    }

    fn work(&mut self, position: usize, work: &Work<'_>) -> Try<()> {
        let attributes = attributes::of(work.op, self.costs.arch);
        let results: Vec<Value> =
            (0..work.results.len()).map(|result| self.home[&Made { work: position, result }]).collect();
        let own = work.op.values().next().map(|value| plain(&value));
        let name = |prefix: &str| match &own {
            Some(own) => prefixed(prefix, own),
            None => prefix.to_owned(),
        };
        let bytes = results.iter().fold(0_u64, |sum, &v| sum.saturating_add(self.program.values[v].bytes));
        let (op, kind) = match work.row.class {
            Class::LoadView | Class::LoadPtr => {
                let kind = match self.storage(work) {
                    Storage::Shared => self.family.load.as_str(),
                    _ => "simt_load",
                };
                let operands = self.all_in_registers(work)?;
                let cost = self.costs.moves_from(kind, bytes, self.body.reuse(work))?;
                (self.op(&name("load"), kind, operands, results, cost, attributes), kind)
            }
            Class::StoreView if self.family.store == "tma_store" && self.by_transfer(work) => {
                let tile = operand_type(work, 0)?;
                let stored = *work.operands.first().ok_or_else(|| shape(work))?;
                let source = self.body.source(stored);
                let mut operands = vec![self.in_shared(stored, &source, tile, false)?];
                // Indices that depend on tiles.
                for value in &work.operands[1..] {
                    operands.extend(self.in_registers(&self.body.source(value))?);
                }
                let cost = self.costs.moves("tma_store", tile.bytes().ok_or_else(|| shape(work))?)?;
                (self.op(&name("store"), "tma_store", operands, results, cost, attributes), "tma_store")
            }
            Class::StoreView | Class::StorePtr | Class::Atomic => {
                let (kind, prefix) = match work.row.class {
                    Class::Atomic => ("simt_atomic", "atomic"),
                    _ => ("simt_store", "store"),
                };
                let operands = self.all_in_registers(work)?;
                let mut cost = self.costs.moves(kind, stored_bytes(work)?)?;
                // A result comes back from memory.
                if self.is_read(position) {
                    cost.latency = cost.latency.saturating_add(self.costs.seen_after(kind)?);
                }
                (self.op(&name(prefix), kind, operands, results, cost, attributes), kind)
            }
            Class::Mma | Class::MmaScaled => {
                let op = self.matrix(position, work, &name("mma"), results, attributes)?;
                (op, self.family.matrix.as_str())
            }
            _ => {
                let mut operands = self.all_in_registers(work)?;
                if work.row.class == Class::Elementwise {
                    self.in_place(position, work, &mut operands, &results);
                }
                let mut instructions = instructions(work.op)?;
                let name = name(&work.op.name);
                let across = matches!(work.row.class, Class::Reduce | Class::Scan)
                    && self.costs.model == Model::Hardware
                    && instructions.meet();
                let op = if across {
                    self.across_warps(&name, operands, results, &instructions, attributes)?
                } else {
                    let cost = self.costs.simt(&instructions)?;
                    self.op(&name, "simt", operands, results, cost, attributes)
                };
                (op, "simt")
            }
        };
        self.main.push((op, kind.to_owned()));
        Ok(())
    }

    /// A reduction whose rows several warps share: each puts what it has found into shared memory, all meet at a barrier, and everybody
    /// reads what the others have found.
    fn across_warps(
        &mut self,
        name: &str,
        operands: Vec<Operand>,
        results: Vec<Value>,
        instructions: &super::cost::Work,
        attributes: Attributes,
    ) -> Try<Op> {
        let warps = u64::from(sassafras_machine::tile::threshold("agent_warps_compute"));
        let mut found = Vec::new();
        for &result in &results {
            let data = &self.program.values[result];
            let (bytes, element) = (data.bytes.saturating_mul(warps), data.element.clone());
            let partial = format!("{}_partial", data.name);
            found.push(self.push_value(&partial, Storage::Shared, bytes, element));
        }
        let cost = self.costs.simt(instructions)?;
        self.op(name, "simt", operands, found.clone(), cost, attributes.clone());
        let bytes = found.iter().fold(0_u64, |sum, &v| sum.saturating_add(self.program.values[v].bytes));
        let cost = self.costs.barrier(bytes)?;
        let operands = found.into_iter().map(|v| read(v, 0)).collect();
        Ok(self.op(&prefixed("barrier", name), "barrier", operands, results, cost, attributes))
    }

    fn is_read(&self, position: usize) -> bool {
        self.body.reads.keys().any(|made| made.work == position)
    }

    /// Lets the result of an element-wise operation take the place of what the loop carries, if nobody wants that any more;
    /// or else of what this iteration made and nobody wants any more.
    fn in_place(&mut self, position: usize, work: &Work<'_>, operands: &mut [Operand], results: &[Value]) {
        let &[result] = results else { return };
        for of_chain in [true, false] {
            for value in &work.operands {
                let Source::Made(made, distance, _) = self.body.source(value) else { continue };
                let old = self.home[&made];
                let (was, is) = (&self.program.values[old], &self.program.values[result]);
                let same = was.storage == Storage::Register && was.bytes == is.bytes;
                let carried = distance == 1 || distance == 0 && self.placed.contains(&old);
                let fits = if of_chain { carried } else { distance == 0 && was.element == is.element };
                if !same || !fits || !self.is_last(made, distance, position) {
                    continue;
                }
                // What is read twice is still wanted when it is overwritten.
                let mut reads = operands.iter_mut().filter(|o| o.value == old);
                let (Some(operand), None) = (reads.next(), reads.next()) else { continue };
                if operand.distance == distance {
                    operand.in_place = true;
                    if of_chain {
                        self.placed.insert(result);
                    }
                    return;
                }
            }
        }
    }

    fn matrix(
        &mut self,
        position: usize,
        work: &Work<'_>,
        name: &str,
        results: Vec<Value>,
        attributes: Attributes,
    ) -> Try<Op> {
        let [a, b, c] = [0, 1, 2].map(|i| operand_type(work, i));
        let (a, b, c) = (a?, b?, c?);
        let bits = self.matrix_bits(work, a, b)?;
        let depth = a.shape.last().and_then(|extent| extent.known()).ok_or_else(|| shape(work))?;
        let products = c.elements().ok_or_else(|| shape(work))?.saturating_mul(depth);
        let names = &work.operands;
        if names.len() < 3 {
            return Err(shape(work));
        }
        let mut operands = Vec::new();
        // What is read from shared memory on the way, and how much of that one instruction takes.
        let (mut streamed, mut slices) = (0_u64, 0_u64);
        for (i, tile) in [a, b].into_iter().enumerate() {
            let source = self.body.source(names[i]);
            let operand = self.factor(i, names[i], &source, tile)?;
            if self.streams() && self.program.values[operand.value].storage == Storage::Shared {
                let bytes = tile.bytes().ok_or_else(|| shape(work))?;
                let line = depth.saturating_mul(tile.element.bits().unwrap_or(8)).div_ceil(8).max(1);
                streamed = streamed.saturating_add(bytes);
                slices = slices.saturating_add(bytes.saturating_mul(INSTRUCTION_DEPTH).div_ceil(line));
            }
            operands.push(operand);
        }
        if streamed > 0 {
            operands.push(self.fragments(2 * slices));
        }
        // Scales are in tensor memory where accumulators are, and in registers elsewhere.
        for (i, &scale) in names.iter().enumerate().skip(3) {
            let source = self.body.source(scale);
            if self.accumulators() != Storage::Tensor {
                operands.extend(self.in_registers(&source)?);
                continue;
            }
            let Ok(tile) = operand_type(work, i) else { continue };
            let shared = self.in_shared(scale, &source, tile, true)?;
            let data = &self.program.values[shared.value];
            let (bytes, element) = (data.bytes, data.element.clone());
            operands.push(self.copy(shared, Storage::Tensor, bytes, &element)?);
        }
        operands.extend(self.addend(position, names[2], c, &results)?);
        let mut cost = self.costs.matrix(&self.family.matrix, products, bits)?;
        if streamed > 0 {
            cost = self.costs.beside(cost, self.costs.moves("smem_read", streamed)?);
        }
        Ok(self.op(name, &self.family.matrix, operands, results, cost, attributes))
    }

    /// The bits of an element that rates depend on.
    fn matrix_bits(&self, work: &Work<'_>, a: &Tile, b: &Tile) -> Try<u64> {
        let arch = self.costs.arch;
        let refuse = |what: String| Err(Reason::NoMatrix { arch, what });
        if work.row.class == Class::MmaScaled && !self.family.scaled {
            return refuse("scales".into());
        }
        let mut most = 0;
        for tile in [a, b] {
            let Type::Scalar(element) = &*tile.element else { return Err(shape(work)) };
            let bits = tile.element.bits().ok_or_else(|| shape(work))?;
            let float8 = bits == 8 && element.starts_with('f');
            // Products of f32 and f64 are not those of matrix units of tf32.
            if element == "f32" || element == "f64" || bits < 8 || float8 && !self.family.float8 {
                return refuse(format!("`{element}`"));
            }
            most = most.max(bits);
        }
        Ok(most)
    }

    /// An operand that is multiplied, the first or the second one.
    fn factor(
        &mut self,
        which: usize,
        name: &crate::cuda::Value,
        source: &Source<'_>,
        tile: &Tile,
    ) -> Try<Operand> {
        let made_here = match source {
            Source::Made(made, distance, _) => Some((self.home[made], *distance))
                .filter(|(v, _)| self.program.values[*v].storage != Storage::Shared),
            _ => None,
        };
        if self.family.matrix != "mma_sync" {
            // Only the first one may come from registers, and only where accumulators are there too.
            let register = which == 0 && made_here.is_some() && self.accumulators() == Storage::Register;
            return match (register, self.in_registers_if(register, source)?) {
                (true, Some(operand)) => Ok(operand),
                _ => self.in_shared(name, source, tile, true),
            };
        }
        if self.streams() {
            return match (which, made_here) {
                (0, Some((value, distance))) if self.program.values[value].storage == Storage::Register => {
                    Ok(read(value, distance))
                }
                _ => self.in_shared(name, source, tile, true),
            };
        }
        // Everything comes from registers. What threads computed has the layout of accumulators, which is that of the first operand; the
        // second one goes through shared memory.
        if which == 1 && made_here.is_some() {
            let shared = self.in_shared(name, source, tile, true)?;
            let data = &self.program.values[shared.value];
            let (bytes, element) = (data.bytes, data.element.clone());
            return self.copy(shared, Storage::Register, bytes, &element);
        }
        match self.in_registers(source)? {
            Some(operand) => Ok(operand),
            None => Ok(self.outside_value(name, tile, Storage::Register)),
        }
    }

    /// Whether products read their operands from shared memory slice by slice: where instructions take registers, code moves one slice while
    /// it multiplies the one before, and never has whole operands in registers. Documented costs are of single operations.
    fn streams(&self) -> bool {
        self.family.matrix == "mma_sync" && self.costs.model == Model::Hardware
    }

    /// Registers for slices of operands, which all products use in turn.
    fn fragments(&mut self, bytes: u64) -> Operand {
        let value = match self.fragments {
            Some(value) => value,
            None => self.push_value("fragments", Storage::Register, 0, "b32".to_owned()),
        };
        self.fragments = Some(value);
        let data = &mut self.program.values[value];
        data.bytes = data.bytes.max(bytes);
        read(value, 0)
    }

    fn in_registers_if(&mut self, wanted: bool, source: &Source<'_>) -> Try<Option<Operand>> {
        if wanted { self.in_registers(source) } else { Ok(None) }
    }

    /// What is added to: nothing where that is a constant.
    fn addend(
        &mut self,
        position: usize,
        name: &crate::cuda::Value,
        tile: &Tile,
        results: &[Value],
    ) -> Try<Option<Operand>> {
        let source = self.body.source(name);
        let home = self.accumulators();
        let bytes = tile.bytes().unwrap_or(0);
        let (made, distance, look) = match &source {
            Source::Nothing => return Ok(None),
            Source::Outside(behind) => return Ok(Some(self.outside_value(&behind.value, behind.tile, home))),
            Source::Made(made, distance, look) => (*made, *distance, *look),
        };
        let value = self.home[&made];
        let data = &self.program.values[value];
        if data.storage == home && data.bytes == bytes && !look.changed && !look.transposed {
            let in_place = distance <= 1 && self.is_last(made, distance, position);
            self.placed.extend(results.iter().filter(|_| in_place));
            return Ok(Some(Operand { value, distance, in_place }));
        }
        let Some(register) = self.in_registers(&source)? else { return Ok(None) };
        if home == Storage::Register {
            return Ok(Some(register));
        }
        let element = self.program.values[register.value].element.clone();
        let stored = self.copy(register, Storage::Tensor, bytes, &element)?;
        // The store overwrites this product's result of the iteration before, if everybody is done with that.
        let &[result] = results else { return Ok(Some(stored)) };
        let own = Made { work: position, result: 0 };
        let carried = self.body.reads.get(&own).is_some_and(|reads| reads.iter().any(|read| read.1 == 1));
        let same = self.program.values[result].bytes == bytes;
        let writer = self.program.ops.keys().next_back();
        if let Some(writer) = writer.filter(|_| carried && same && self.is_last(own, 1, position)) {
            let op = &mut self.program.ops[writer];
            let fresh = op.results == [stored.value] && op.operands.iter().all(|o| !o.in_place);
            if fresh {
                op.operands.push(Operand { value: result, distance: 1, in_place: true });
            }
        }
        Ok(Some(Operand { in_place: true, ..stored }))
    }

    /// Orders from tokens.
    fn orders(&mut self) -> Try<()> {
        for (position, work) in self.body.work.iter().enumerate() {
            for (before, distance) in self.body.before(work) {
                let (from, kind) = &self.main[before];
                let latency = self.costs.seen_after(kind)?;
                self.program.orders.push(Order { from: *from, to: self.main[position].0, latency, distance });
            }
        }
        Ok(())
    }

    /// Takes back places of element-wise operations from which no chain leads around the loop once: such a place is no accumulator's. Those
    /// of values of the same iteration stay as permissions.
    fn only_closed(&mut self) {
        let p = &mut self.program;
        let mut takes: Vec<Option<(Value, u32)>> = vec![None; p.values.len()];
        for op in p.ops.values() {
            for operand in op.operands.iter().filter(|o| o.in_place) {
                if let [result] = op.results[..] {
                    takes[result.index()] = Some((operand.value, operand.distance));
                }
            }
        }
        // Every value takes the place of one at most, so chains end or close; those that close keep their places.
        let mut state = vec![0_u8; takes.len()];
        for start in 0..takes.len() {
            let mut path = Vec::new();
            let mut at = start;
            while state[at] == 0 {
                state[at] = 1;
                path.push(at);
                match takes[at] {
                    Some((next, _)) => at = next.index(),
                    None => break,
                }
            }
            let closed = path.iter().position(|&v| v == at).filter(|_| takes[at].is_some());
            let circle = closed.unwrap_or(path.len());
            let around: u64 = path[circle..].iter().filter_map(|&v| takes[v]).map(|t| u64::from(t.1)).sum();
            for (i, &v) in path.iter().enumerate() {
                state[v] = if i >= circle && around == 1 { 3 } else { 2 };
            }
        }
        for op in p.ops.values_mut().filter(|op| op.kind == "simt") {
            let keeps = op.results.iter().all(|v| state[v.index()] == 3);
            op.operands.iter_mut().for_each(|o| o.in_place &= keeps || o.distance == 0);
        }
    }
}

fn shape(work: &Work<'_>) -> Reason {
    Reason::Shape { name: work.op.name.clone() }
}

/// The type of an operand, where types stand in the order of operands.
fn operand_type<'a>(work: &Work<'a>, number: usize) -> Try<&'a Tile> {
    match &work.op.header {
        Header::Plain { types, .. } => types
            .get(number)
            .and_then(Type::as_tile)
            .filter(|tile| tile.bytes().is_some())
            .ok_or_else(|| shape(work)),
        _ => Err(shape(work)),
    }
}

/// The bytes that a store or an atomic operation moves: of its widest operand that is no address.
fn stored_bytes(work: &Work<'_>) -> Try<u64> {
    let Header::Plain { types, .. } = &work.op.header else { return Err(shape(work)) };
    let tiles = types.iter().filter_map(Type::as_tile).filter(|t| !matches!(*t.element, Type::Pointer(_)));
    tiles.filter_map(Tile::bytes).max().ok_or_else(|| shape(work))
}
