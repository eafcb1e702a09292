//! The readable form of loops: read and printed.
//!
//! ```text
//! loop matmul {
//!   arch sm_90
//!   trips 64
//!   resource tma 1
//!   value a : shared 16384 f16
//!   value acc : register 65536 f32
//!   op load_a = tma_load () -> (a) { async latency 500 hold tma 0..8 }
//!   op mma = wgmma (a, acc[-1] in place) -> (acc) { in-order latency 64 nv_tile.aws.stage = 1 }
//!   order mma -> load_a latency 0 distance 2
//!   out acc
//! }
//! ```
//!
//! Things are named before they are used, but for the wholes of values; an operation may read what a later one defines from
//! an earlier iteration, so values stand before the operations. What is left out has no effect: holds, attributes, `sync`, a latency of 0.

use super::{
    Attributes, Descriptor, Execution, Hold, MutexData, Op, OpData, Operand, Order, Out, Persistent, Program,
    Resource, ResourceData, Storage, Value, ValueData,
};
use crate::lex::{Token, Words};
use std::collections::HashMap;
use std::fmt::Write;

pub use crate::lex::TextError;

/// The names of attributes with a number.
const STAGE: &str = "nv_tile.aws.stage";
const ORDER: &str = "nv_tile.aws.order";
const GID: &str = "tileas.schedule.constraint.gid";
const LEADER: &str = "tileas.schedule.constraint.leader_gid";
const DEPTH: &str = "tileas.schedule.constraint.max_depth";
/// The attribute without one.
const SERIAL: &str = "tileas.schedule.constraint.force_serial_execution";

/// Reads all loops of a text and checks each of them.
pub fn parse(text: &str) -> Result<Vec<Program>, TextError> {
    let mut words = Words::new(text)?;
    let mut programs = Vec::new();
    while words.peek().is_some() {
        words.expect("loop")?;
        programs.push(one(&mut words)?);
    }
    if programs.is_empty() {
        return words.error("expected a loop");
    }
    Ok(programs)
}

/// The loop behind the word `loop`, checked.
pub(crate) fn one(words: &mut Words<'_>) -> Result<Program, TextError> {
    let name = words.name("the name of a loop")?;
    let program = Reader { words, program: Program::new(name), names: Names::default() }.body()?;
    match program.check() {
        Ok(()) => Ok(program),
        Err(e) => words.error_back(format!("loop `{name}`: {e}")),
    }
}

#[derive(Default)]
struct Names<'a> {
    resources: HashMap<&'a str, Resource>,
    values: HashMap<&'a str, Value>,
    ops: HashMap<&'a str, Op>,
    parts: Vec<(Value, &'a str)>,
}

struct Reader<'w, 'a> {
    words: &'w mut Words<'a>,
    program: Program,
    names: Names<'a>,
}

impl<'a> Reader<'_, 'a> {
    fn body(mut self) -> Result<Program, TextError> {
        self.words.expect("{")?;
        while !self.words.eat("}") {
            let word = self.words.name("a line of the loop or `}`")?;
            match word {
                "arch" => self.program.arch = Some(self.words.name("an architecture")?.into()),
                "trips" => self.program.trips = Some(self.words.number("a number of trips")?),
                "serial" => self.program.serial = true,
                "persistent" => self.persistent()?,
                "work_tile" => self.work_tile()?,
                "budget" => {
                    let storage = self.storage()?;
                    let bytes = self.words.number("bytes")?;
                    self.program.budgets.push((storage, bytes));
                }
                "resource" => {
                    let name = self.words.name("the name of a resource")?;
                    let capacity = self.words.number("a capacity")?;
                    let new = self.program.resources.push(ResourceData { name: name.into(), capacity });
                    self.names.resources.entry(name).or_insert(new);
                }
                "value" => self.value()?,
                "op" => self.op()?,
                "order" => self.order()?,
                "out" => {
                    let value = find(self.words, &self.names.values, "value")?;
                    let distance = distance(self.words)?;
                    self.program.outs.push(Out { value, distance });
                }
                "mutex" => {
                    let name = self.words.name("the name of a mutex")?.to_owned();
                    let ops = {
                        let names = &self.names;
                        self.words.list(|w| find(w, &names.ops, "operation"))?
                    };
                    self.program.mutexes.push(MutexData { name, ops });
                }
                _ => {
                    return self.words.error_back(format!(
                        "`{word}` begins no line; those are arch, trips, serial, persistent, work_tile, budget, resource, value, op, order, mutex and out"
                    ));
                }
            }
        }
        for (part, whole) in std::mem::take(&mut self.names.parts) {
            let Some(&found) = self.names.values.get(whole) else {
                let name = &self.program.values[part].name;
                return self.words.error_back(format!("`{name}` is part of `{whole}`, which there is not"));
            };
            self.program.values[part].part_of = Some(found);
        }
        Ok(self.program)
    }

    fn storage(&mut self) -> Result<Storage, TextError> {
        let word = self.words.name("a storage")?;
        match Storage::ALL.into_iter().find(|s| s.word() == word) {
            Some(storage) => Ok(storage),
            None => self
                .words
                .error_back(format!("`{word}` is no storage; those are register, shared and tensor")),
        }
    }

    fn persistent(&mut self) -> Result<(), TextError> {
        self.words.expect("problem")?;
        let problem = self.words.numbers("an extent")?;
        self.words.expect("tile")?;
        let tile = self.words.numbers("an extent")?;
        self.words.expect("cluster")?;
        let cluster = self.words.numbers("an extent")?;
        self.program.persistent = Some(Persistent { problem, tile, cluster });
        Ok(())
    }

    fn work_tile(&mut self) -> Result<(), TextError> {
        let kind = self.words.name("async or cutlass")?;
        let coordinates = match kind {
            "async" | "cutlass" => self.words.numbers("a coordinate")?,
            _ => return self.words.error_back(format!("expected async or cutlass, found `{kind}`")),
        };
        let valid = !self.words.eat("invalid");
        let tile = match (kind, &coordinates[..]) {
            ("cutlass", &[m, n, l]) => Descriptor::Cutlass { m, n, l, valid },
            ("cutlass", _) => {
                return self.words.error_back("a work tile of CUTLASS has a row, a column and a batch");
            }
            _ => Descriptor::Async { coordinates, valid },
        };
        self.program.work_tiles.push(tile);
        Ok(())
    }

    fn value(&mut self) -> Result<(), TextError> {
        let name = self.words.name("the name of a value")?;
        self.words.expect(":")?;
        let storage = self.storage()?;
        let bytes = self.words.number("bytes")?;
        let element = self.words.name("an element type")?.to_owned();
        let whole = if self.words.eat("part") {
            self.words.expect("of")?;
            Some(self.words.name("a value")?)
        } else {
            None
        };
        let data = ValueData { name: name.into(), storage, bytes, element, part_of: None };
        let new = self.program.values.push(data);
        // The whole may come later.
        self.names.parts.extend(whole.map(|whole| (new, whole)));
        self.names.values.entry(name).or_insert(new);
        Ok(())
    }

    fn op(&mut self) -> Result<(), TextError> {
        let name = self.words.name("the name of an operation")?;
        self.words.expect("=")?;
        let kind = self.words.name("a kind of operation")?.to_owned();
        let names = &self.names;
        let operands = self.words.list(|w| {
            let value = find(w, &names.values, "value")?;
            let distance = distance(w)?;
            let in_place = w.eat("in");
            if in_place {
                w.expect("place")?;
            }
            Ok(Operand { value, distance, in_place })
        })?;
        self.words.expect("->")?;
        let results = self.words.list(|w| find(w, &names.values, "value"))?;
        let mut op = OpData {
            name: name.into(),
            kind,
            operands,
            results,
            latency: 0,
            execution: Execution::Sync,
            holds: Vec::new(),
            attributes: Attributes::default(),
        };
        self.words.expect("{")?;
        while !self.words.eat("}") {
            self.property(&mut op)?;
        }
        let new = self.program.ops.push(op);
        self.names.ops.entry(name).or_insert(new);
        Ok(())
    }

    fn property(&mut self, op: &mut OpData) -> Result<(), TextError> {
        let word = self.words.name("a property or `}`")?;
        match word {
            "sync" => op.execution = Execution::Sync,
            "async" => op.execution = Execution::Async,
            "in" => {
                self.words.expect("-")?;
                self.words.expect("order")?;
                op.execution = Execution::InOrder;
            }
            "latency" => op.latency = self.words.number("a latency")?,
            "hold" => {
                let resource = find(self.words, &self.names.resources, "resource")?;
                let start = self.words.number("a cycle")?;
                self.words.expect("..")?;
                let end: u32 = self.words.number("a cycle")?;
                let units = if self.words.eat("*") { self.words.number("units")? } else { 1 };
                let Some(rows) = end.checked_sub(start) else {
                    return self
                        .words
                        .error_back(format!("the hold ends at {end}, before it starts at {start}"));
                };
                op.holds.push(Hold { resource, start, rows, units });
            }
            SERIAL => op.attributes.serial = true,
            _ => {
                let a = &mut op.attributes;
                let place = match word {
                    STAGE => &mut a.stage,
                    ORDER => &mut a.order,
                    GID => &mut a.gid,
                    LEADER => &mut a.leader_gid,
                    DEPTH => &mut a.max_depth,
                    _ => {
                        return self.words.error_back(format!(
                            "`{word}` is no property; those are sync, async, in-order, latency, hold and attributes: {STAGE}, {ORDER}, {GID}, {LEADER}, {DEPTH}, {SERIAL}"
                        ));
                    }
                };
                self.words.expect("=")?;
                *place = Some(self.words.number(word)?);
            }
        }
        Ok(())
    }

    fn order(&mut self) -> Result<(), TextError> {
        let from = find(self.words, &self.names.ops, "operation")?;
        self.words.expect("->")?;
        let to = find(self.words, &self.names.ops, "operation")?;
        let latency = if self.words.eat("latency") { self.words.number("a latency")? } else { 0 };
        let distance = if self.words.eat("distance") { self.words.number("a distance")? } else { 0 };
        self.program.orders.push(Order { from, to, latency, distance });
        Ok(())
    }
}

/// `[-1]`, or nothing for 0.
fn distance(words: &mut Words<'_>) -> Result<u32, TextError> {
    if !words.eat("[") {
        return Ok(0);
    }
    words.expect("-")?;
    let distance = words.number("a distance")?;
    words.expect("]")?;
    Ok(distance)
}

fn find<T: Copy>(words: &mut Words<'_>, names: &HashMap<&str, T>, what: &str) -> Result<T, TextError> {
    if !matches!(words.peek(), Some(Token::Name(_))) {
        return words.error(format!("expected the {what} by its name, found {}", words.shown()));
    }
    let name = words.name(what)?;
    match names.get(name) {
        Some(&found) => Ok(found),
        None => words.error_back(format!("there is no {what} `{name}` above")),
    }
}

/// Prints a loop so that [`parse`] gives the same one back.
pub fn print(program: &Program) -> String {
    let mut out = String::new();
    write(program, &mut out).expect("writing to a string succeeds");
    out
}

fn write(p: &Program, out: &mut String) -> std::fmt::Result {
    writeln!(out, "loop {} {{", p.name)?;
    if let Some(arch) = &p.arch {
        writeln!(out, "  arch {arch}")?;
    }
    if let Some(trips) = p.trips {
        writeln!(out, "  trips {trips}")?;
    }
    if p.serial {
        writeln!(out, "  serial")?;
    }
    if let Some(Persistent { problem, tile, cluster }) = &p.persistent {
        writeln!(out, "  persistent problem {problem:?} tile {tile:?} cluster {cluster:?}")?;
    }
    for tile in &p.work_tiles {
        let (what, coordinates, valid) = match tile {
            Descriptor::Async { coordinates, valid } => ("async", coordinates.clone(), *valid),
            Descriptor::Cutlass { m, n, l, valid } => ("cutlass", vec![*m, *n, *l], *valid),
        };
        writeln!(out, "  work_tile {what} {coordinates:?}{}", if valid { "" } else { " invalid" })?;
    }
    for (storage, bytes) in &p.budgets {
        writeln!(out, "  budget {storage} {bytes}")?;
    }
    for r in p.resources.values() {
        writeln!(out, "  resource {} {}", r.name, r.capacity)?;
    }
    for v in p.values.values() {
        write!(out, "  value {} : {} {} {}", v.name, v.storage, v.bytes, v.element)?;
        if let Some(whole) = v.part_of {
            write!(out, " part of {}", p.values[whole].name)?;
        }
        writeln!(out)?;
    }
    for o in p.ops.values() {
        write_op(p, o, out)?;
    }
    for o in &p.orders {
        let (from, to) = (&p.ops[o.from].name, &p.ops[o.to].name);
        writeln!(out, "  order {from} -> {to} latency {} distance {}", o.latency, o.distance)?;
    }
    for m in p.mutexes.values() {
        let ops: Vec<&str> = m.ops.iter().map(|&o| p.ops[o].name.as_str()).collect();
        writeln!(out, "  mutex {} ({})", m.name, ops.join(", "))?;
    }
    for o in &p.outs {
        write!(out, "  out {}", p.values[o.value].name)?;
        writeln!(out, "{}", if o.distance > 0 { format!("[-{}]", o.distance) } else { String::new() })?;
    }
    writeln!(out, "}}")
}

fn write_op(p: &Program, o: &OpData, out: &mut String) -> std::fmt::Result {
    write!(out, "  op {} = {} (", o.name, o.kind)?;
    for (i, operand) in o.operands.iter().enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        write!(out, "{comma}{}", p.values[operand.value].name)?;
        if operand.distance > 0 {
            write!(out, "[-{}]", operand.distance)?;
        }
        if operand.in_place {
            out.push_str(" in place");
        }
    }
    let results: Vec<&str> = o.results.iter().map(|&v| p.values[v].name.as_str()).collect();
    write!(out, ") -> ({}) {{ {} latency {}", results.join(", "), o.execution.word(), o.latency)?;
    for h in &o.holds {
        let end = u64::from(h.start) + u64::from(h.rows);
        write!(out, " hold {} {}..{end}", p.resources[h.resource].name, h.start)?;
        if h.units != 1 {
            write!(out, " * {}", h.units)?;
        }
    }
    let a = &o.attributes;
    for (name, number) in
        [(STAGE, a.stage), (ORDER, a.order), (GID, a.gid), (LEADER, a.leader_gid), (DEPTH, a.max_depth)]
    {
        if let Some(number) = number {
            write!(out, " {name} = {number}")?;
        }
    }
    if a.serial {
        write!(out, " {SERIAL}")?;
    }
    writeln!(out, " }}")
}
