//! Goal: every loop of CUDA Tile IR that works on tiles becomes a [`Program`] for an architecture, or says why not.
//!
//! ```text
//! module ──loops──▶ names of a loop (scope, body) ──operations that work──▶ conversions between storages, costs ──▶ program
//! ```
//!
//! What an operation becomes is a table (`data/ops.csv`); what an architecture has for it are others (`families.csv`, `kinds.csv`,
//! `pipes.csv`, and the figures of [`sassafras_machine::tile`]). In short:
//!
//! * tiles are loaded into shared memory, and stored from it where the hardware does that by itself;
//! * matrix products read shared memory and accumulate in registers or tensor memory, in place. Where instructions take registers (sm_80,
//!   sm_120) products move slices of their operands there while they multiply, in registers set apart for two slices of each; with documented
//!   costs an operation before them moves whole operands;
//! * everything else works on registers. Where a value is in the wrong storage, an operation that moves it is put in, once for all readers;
//! * names for the same elements (`reshape`, `broadcast`, `permute`, `assume`) and signs cost nothing: a use means the value behind them. An
//!   order of axes costs nothing because whoever reads the tile chooses the layout; that is exact for operands of matrix products, and too
//!   cheap where both layouts are given;
//! * numbers that depend on nothing but the index and what is known before the loop are left out: every agent computes them itself;
//! * a reduction whose rows several warps share ends with a barrier: an operation of its own, after which everybody has the result (with
//!   documented costs it is one operation);
//! * element-wise operations that follow one another and whose values nobody else reads are one operation (not with documented costs);
//! * an `if` without memory accesses is one operation that takes what the longer of its sides takes, pipe by pipe;
//! * what the loop carries is an operand of an earlier iteration. A sum or product that takes the place of what is carried is in place;
//! * tokens become orders between the operations that access memory.
//!
//! # What it counts, and what not
//!
//! Tiles are divided among all threads evenly. Elements narrower than 32 bits take an instruction each, as if nothing were packed: too much for
//! arithmetic on 16 bits. Operands that several warps read from shared memory are counted once: too little for `mma_sync`. A row of a tile
//! is spread over the four threads of a quad, as PTX lays out accumulators, or over more where there are few rows: a reduction along rows takes
//! shuffles between them.
//! Values from before the loop take storage like all others; whoever gives out storage counts them. What other blocks load too comes from
//! the cache, everything else from memory (`reuse`); what a block loads again later is not told from what it loads once.

mod attributes;
mod body;
mod branch;
mod cost;
mod divide;
mod emit;
mod fuse;
mod names;
mod reuse;
mod scope;
pub mod tables;

#[cfg(test)]
mod tests;

use crate::cuda::{Header, Module, Operation, Region, Value};
use crate::program::{Program, ProgramError};
use scope::Scope;
use thiserror::Error;

/// Where costs are from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Model {
    /// Cycles: rates and latencies of hardware, scaled by shape and element type.
    #[default]
    Hardware,
    /// Scheduling costs: the documented footprint of each operation, whatever its size.
    Documented,
}

/// A loop, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lowered {
    /// The entry that it is in.
    pub entry: String,
    /// The line of the text that it begins on.
    pub line: u32,
    /// The program, or why there is none.
    pub program: Result<Program, NotLowered>,
}

/// Why a loop was not lowered.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("line {line}: {why}")]
pub struct NotLowered {
    /// Where the reason is: a line of the text.
    pub line: u32,
    /// The reason.
    pub why: Reason,
}

/// A reason why a loop is not lowered.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// Another loop is inside; that one is lowered.
    #[error("a loop inside")]
    Outer,
    /// How often it runs is known only at its end.
    #[error("`loop` is left by a condition: its iterations cannot overlap")]
    Open,
    /// Nothing in it works on tiles.
    #[error("nothing works on tiles")]
    NoWork,
    /// An operation that no table has.
    #[error("`{name}` is not known")]
    Unknown {
        /// Its name.
        name: String,
    },
    /// An operation that cannot be part of a lowered loop.
    #[error("`{name}` cannot be lowered: {why}")]
    Refused {
        /// Its name.
        name: String,
        /// Why.
        why: String,
    },
    /// An access to memory or a matrix product on one side of an `if`.
    #[error("`{name}` inside an `if`")]
    Conditional {
        /// Its name.
        name: String,
    },
    /// An operand or result without a shape that is known.
    #[error("`{name}`: the shape of a tile is not known")]
    Shape {
        /// The operation.
        name: String,
    },
    /// The machine's tables have nothing to calculate with.
    #[error("no `{figure}` is known for sm_{arch}")]
    NoFigure {
        /// What is missing.
        figure: String,
        /// For which architecture.
        arch: u32,
    },
    /// Matrix units that do not take such elements.
    #[error("the matrix units of sm_{arch} do not take {what}")]
    NoMatrix {
        /// The architecture.
        arch: u32,
        /// What they do not take.
        what: String,
    },
    /// A loop whose tiles cannot be divided.
    #[error("not in {parts} parts: {why}")]
    Whole {
        /// How many parts were wanted.
        parts: u32,
        /// Why there are none.
        why: &'static str,
    },
    /// The program that came out makes no sense: sizes beyond all limits, mostly.
    #[error(transparent)]
    Program(#[from] ProgramError),
}

pub(crate) type Outcome<T> = Result<T, NotLowered>;

impl Reason {
    /// At a line.
    pub(crate) fn at(self, op: &Operation) -> NotLowered {
        NotLowered { line: op.line.0, why: self }
    }
}

/// Lowers every loop of every entry for an architecture (90 for sm_90), in the order of the text.
///
/// ```
/// use sassafras_tileir::{cuda::Module, lower::{Model, lower}};
///
/// let text = "
/// entry @sum(%n: tile<i32>, %v: v) {
///   %t = make_token : token
///   %zero = constant <f32: 0.0> : tile<1024xf32>
///   %for = for %i in (%n to %n, step %n) : tile<i32> iter_values(%acc = %zero) -> (tile<1024xf32>) {
///     %x, %o = load_view_tko weak %v[%i] token = %t : v, tile<i32> -> tile<1024xf32>, token
///     %sum = addf %acc, %x : tile<1024xf32>
///     continue %sum : tile<1024xf32>
///   }
///   return
/// }";
/// let lowered = lower(&Module::parse(text)?, 90, Model::Hardware);
/// let program = lowered[0].program.clone()?;
/// let kinds: Vec<&str> = program.ops.values().map(|op| op.kind.as_str()).collect();
/// assert_eq!(kinds, ["tma_load", "smem_read", "simt"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn lower(module: &Module, arch: u32, model: Model) -> Vec<Lowered> {
    lower_in_parts(module, arch, model, 1)
}

/// Lowers every loop with its tiles in so many parts along the rows of matrix products: as many operations as parts, each on fewer
/// registers for a shorter time. A loop that cannot be divided says why.
pub fn lower_in_parts(module: &Module, arch: u32, model: Model, parts: u32) -> Vec<Lowered> {
    let mut found = Vec::new();
    for entry in module.entries() {
        lower_entry(entry, cost::Costs { arch, model }, parts, &mut found);
    }
    found
}

/// A region that is being gone through.
struct Frame<'a> {
    region: &'a Region,
    /// The operation that it is in.
    around: Option<&'a Operation>,
    next: usize,
    /// Whether the regions of the next operation have been entered.
    inside: bool,
    started: bool,
    /// What it added to the scope, and what that hid.
    added: Vec<(Value, Option<scope::Outer<'a>>)>,
}

impl<'a> Frame<'a> {
    fn new(region: &'a Region, around: Option<&'a Operation>) -> Frame<'a> {
        Frame { region, around, next: 0, inside: false, started: false, added: Vec::new() }
    }
}

fn lower_entry(entry: &Operation, costs: cost::Costs, parts: u32, found: &mut Vec<Lowered>) {
    let name = entry.symbol().unwrap_or("entry").trim_matches('"');
    let loops = entry.walk().filter(|op| is_loop(op)).count();
    let clusters = attributes::hint(entry, costs.arch, "num_cta_in_cga").unwrap_or(1) > 1;
    let mut scope = Scope::default();
    scope.block = reuse::asked(entry);
    let mut frames: Vec<Frame<'_>> = entry.regions.iter().rev().map(|r| Frame::new(r, None)).collect();
    let mut number = 0;
    while let Some(frame) = frames.last_mut() {
        if !frame.started {
            frame.started = true;
            for (i, binding) in frame.region.arguments.iter().enumerate() {
                let value = Value { name: binding.name.clone(), number: None };
                // An index depends on where its loop begins.
                let by = frame.around.filter(|op| i == 0 && op.as_for().is_some()).map(|op| (op, usize::MAX));
                let outer = scope::Outer { by, ty: &binding.ty };
                frame.added.push((value.clone(), scope.insert(value, outer)));
            }
        }
        let Some(op) = frame.region.operations.get(frame.next) else {
            let frame = frames.pop().expect("the last one");
            frame.added.into_iter().rev().for_each(|(value, hidden)| scope.restore(value, hidden));
            continue;
        };
        if frame.inside {
            for (i, value) in op.values().enumerate() {
                let Some(ty) = op.result_type(i) else { continue };
                let outer = scope::Outer { by: Some((op, i)), ty };
                frame.added.push((value.clone(), scope.insert(value, outer)));
            }
            (frame.inside, frame.next) = (false, frame.next + 1);
            continue;
        }
        frame.inside = true;
        if is_loop(op) {
            number += 1;
            let around = frames[..frames.len() - 1].iter().rev();
            let around = around.filter_map(|f| f.region.operations.get(f.next)?.as_for()).next();
            let program = lower_loop(op, &scope, costs, parts).map(|mut program| {
                program.name = names::valid(name);
                if loops > 1 {
                    program.name = format!("{}.{number}", program.name);
                }
                program.persistent = around.filter(|_| !clusters).and_then(|outer| scope.persistent(outer));
                program
            });
            let program = program.and_then(|program| match program.check() {
                Ok(()) => Ok(program),
                Err(error) => Err(Reason::from(error).at(op)),
            });
            found.push(Lowered { entry: name.to_owned(), line: op.line.0, program });
        }
        frames.extend(op.regions.iter().rev().map(|r| Frame::new(r, Some(op))));
    }
}

fn is_loop(op: &Operation) -> bool {
    matches!(op.header, Header::For(_) | Header::Loop { .. })
}

fn lower_loop(op: &Operation, scope: &Scope<'_>, costs: cost::Costs, parts: u32) -> Outcome<Program> {
    let Some(family) = tables::tables().family(costs.arch) else {
        return Err(Reason::NoFigure { figure: "family".into(), arch: costs.arch }.at(op));
    };
    if let Some(inner) = op.walk().skip(1).find(|inner| is_loop(inner)) {
        return Err(Reason::Outer.at(inner));
    }
    let Header::For(header) = &op.header else { return Err(Reason::Open.at(op)) };
    let divided = match parts {
        0 | 1 => None,
        _ => Some(divide::divide(op, parts, family.rows).map_err(|why| Reason::Whole { parts, why }.at(op))?),
    };
    let body = body::Body::new(divided.as_ref().unwrap_or(op), scope)?;
    let mut program = emit::emit(&body, costs)?;
    program.trips = scope.trips(header);
    Ok(program)
}
