//! What operations hold, and for how long, by either model.

use super::tables::{Class, Count, Formula, tables};
use super::{Model, Reason, branch};
use crate::cuda::{Header, Operation, Tile, Type};
use sassafras_machine::tile;
use std::collections::BTreeMap;

/// The fewest threads that share a row: PTX's layout of accumulators gives a row to four.
const QUAD: u64 = 4;
/// Threads of a warp.
const WARP: u64 = 32;

/// For which architecture and by which model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    /// 90 for sm_90.
    pub(super) arch: u32,
    /// The model.
    pub(super) model: Model,
}

/// Who reads what a load reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reuse {
    /// Nobody else: it comes from memory.
    Own,
    /// Other blocks too: one of them gets it from memory, the others from the cache.
    Same,
}

/// What an operation holds from its start on, and when it is done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    /// Slots and cycles.
    pub(super) holds: Vec<(String, u32)>,
    /// Cycles until results are there.
    pub(super) latency: u32,
}

impl Cost {
    fn most(&self) -> u32 {
        self.holds.iter().map(|hold| hold.1).max().unwrap_or(0)
    }

    fn hold(&mut self, slot: &str, cycles: u32) {
        match self.holds.iter_mut().find(|hold| hold.0 == slot) {
            Some(hold) => hold.1 = hold.1.saturating_add(cycles),
            None => self.holds.push((slot.to_owned(), cycles)),
        }
    }
}

/// Instructions by pipe, and what comes on top of their latency.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    /// By the pipe's position in the tables.
    instructions: BTreeMap<usize, u64>,
    /// Shuffles one after the other.
    steps: u64,
    /// Barriers of the block.
    barriers: u64,
}

impl Work {
    fn add(&mut self, pipe: usize, instructions: u64) {
        let all = self.instructions.entry(pipe).or_default();
        *all = all.saturating_add(instructions);
    }

    /// Whether warps have to meet, and if so not any more: whoever asks does it for them.
    pub(super) fn meet(&mut self) -> bool {
        std::mem::take(&mut self.barriers) > 0
    }

    fn and(&mut self, other: &Work) {
        other.instructions.iter().for_each(|(&pipe, &n)| self.add(pipe, n));
        self.steps += other.steps;
        self.barriers += other.barriers;
    }

    fn or(&mut self, other: &Work) {
        for (&pipe, &n) in &other.instructions {
            let most = self.instructions.entry(pipe).or_default();
            *most = n.max(*most);
        }
        self.steps = self.steps.max(other.steps);
        self.barriers = self.barriers.max(other.barriers);
    }
}

type Outcome<T> = Result<T, Reason>;

impl Costs {
    fn figure(&self, name: &str) -> Outcome<f64> {
        let missing = || Reason::NoFigure { figure: name.to_owned(), arch: self.arch };
        Ok(tile::hardware(self.arch, name).ok_or_else(missing)?.value)
    }

    /// Cycles for so much at a rate; at least one.
    fn cycles(&self, amount: u64, rate: &str) -> Outcome<u32> {
        // A float becomes the nearest number that fits.
        Ok(((amount as f64 / self.figure(rate)?).ceil() as u32).max(1))
    }

    fn latency(&self, name: &str) -> Outcome<u32> {
        Ok(self.figure(name)?.ceil() as u32)
    }

    /// Documented footprints one after the other.
    fn documented<'a>(&self, kinds: impl IntoIterator<Item = &'a str>) -> Cost {
        let mut cost = Cost::default();
        for kind in kinds {
            let mut latency = 0;
            for row in tile::documented(kind) {
                cost.hold(&row.slot, row.cycles);
                latency = latency.max(row.latency);
            }
            cost.latency += latency;
        }
        cost
    }

    /// An operation that moves so many bytes.
    pub(super) fn moves(&self, kind: &str, bytes: u64) -> Outcome<Cost> {
        self.moves_from(kind, bytes, Reuse::Own)
    }

    /// An operation that moves so many bytes, which other blocks read too or do not.
    pub(super) fn moves_from(&self, kind: &str, bytes: u64, reuse: Reuse) -> Outcome<Cost> {
        if self.model == Model::Documented {
            let row = tables().kind(kind);
            return Ok(self.documented(row.iter().flat_map(|k| &k.documented).map(String::as_str)));
        }
        let mut cost = Cost::default();
        let share = match reuse {
            Reuse::Own => "transfer_share",
            Reuse::Same => "transfer_share_same",
        };
        let slots: &[(&str, &str)] = match kind {
            "tma_load" => {
                &[("tma", "transfer_rate"), ("tp_smem_wr", "shared_write_rate"), ("tp_gnic_rd", share)]
            }
            "cp_async" => {
                &[("lsu", "transfer_rate"), ("tp_smem_wr", "shared_write_rate"), ("tp_gnic_rd", share)]
            }
            "simt_load" => &[("lsu", "transfer_rate"), ("tp_gnic_rd", share)],
            "tma_store" => &[
                ("tma", "transfer_rate"),
                ("tp_smem_rd", "shared_read_rate"),
                ("tp_gnic_wr", "transfer_share"),
            ],
            "smem_read" => &[("tp_smem_rd", "shared_read_rate"), ("lsu", "shared_read_rate")],
            "smem_write" => &[("tp_smem_wr", "shared_write_rate"), ("lsu", "shared_write_rate")],
            "tcgen05_load" => &[("tp_tmem_rd", "tensor_read_rate")],
            "tcgen05_store" | "tcgen05_copy" => &[("tp_tmem_wr", "tensor_write_rate")],
            // simt_store and simt_atomic
            _ => &[("lsu", "transfer_rate"), ("tp_gnic_wr", "transfer_share")],
        };
        for (slot, rate) in slots {
            cost.hold(slot, self.cycles(bytes, rate)?);
        }
        cost.latency = match kind {
            "tma_load" | "cp_async" | "tma_store" | "simt_load" => {
                let more = bytes as f64 * self.figure("transfer_latency_per_byte")?;
                let flight = (self.figure("transfer_latency")? + more).ceil() as u32;
                // Nothing is there before the last byte has come.
                flight.max(cost.most())
            }
            "smem_read" | "smem_write" => self.latency("shared_latency")?.saturating_add(cost.most()),
            "tcgen05_load" | "tcgen05_store" | "tcgen05_copy" => {
                self.latency("tensor_latency")?.saturating_add(cost.most())
            }
            // Threads go on as soon as the instructions have been taken.
            _ => self.latency("simt_latency")?.saturating_add(self.cycles(bytes, "transfer_rate")?),
        };
        Ok(cost)
    }

    /// Cycles until what a thread stored can be seen; 0 for what completes by itself or by the documents.
    pub(super) fn seen_after(&self, kind: &str) -> Outcome<u32> {
        match (self.model, kind) {
            (Model::Hardware, "simt_store" | "simt_atomic") => self.latency("transfer_latency"),
            _ => Ok(0),
        }
    }

    /// A matrix product of so many multiply-adds on elements of so many bits.
    pub(super) fn matrix(&self, kind: &str, multiply_adds: u64, bits: u64) -> Outcome<Cost> {
        if self.model == Model::Documented {
            return self.moves(kind, 0);
        }
        let cycles = self.cycles(multiply_adds, &format!("matrix_rate_{bits}"))?;
        let latency = cycles.saturating_add(self.latency("matrix_latency")?);
        Ok(Cost { holds: ["tc_and_mma", "tp_mma"].map(|slot| (slot.to_owned(), cycles)).to_vec(), latency })
    }

    /// Two things that one operation does beside each other: each holds what it holds, and results are there when the longer one is done
    /// after the first slice of the shorter one has come.
    pub(super) fn beside(&self, mut first: Cost, second: Cost) -> Cost {
        let (a, b) = (first.most(), second.most());
        let (wait_a, wait_b) = (first.latency.saturating_sub(a), second.latency.saturating_sub(b));
        second.holds.iter().for_each(|(slot, cycles)| first.hold(slot, *cycles));
        first.latency = a.max(b).saturating_add(wait_a).saturating_add(wait_b);
        first
    }

    /// Warps that meet, and then read so many bytes from shared memory that others have written.
    pub(super) fn barrier(&self, bytes: u64) -> Outcome<Cost> {
        let mut cost = Cost::default();
        for slot in ["tp_smem_rd", "lsu"] {
            cost.hold(slot, self.cycles(bytes, "shared_read_rate")?);
        }
        // There and back again.
        let shared = self.latency("shared_latency")?.saturating_mul(2);
        cost.latency = cost.most().saturating_add(self.latency("barrier")?).saturating_add(shared);
        Ok(cost)
    }

    /// Instructions of all threads.
    pub(super) fn simt(&self, work: &Work) -> Outcome<Cost> {
        let mut cost = Cost::default();
        let missing =
            |pipe: &usize| Reason::NoFigure { figure: tables().pipe_names[*pipe].clone(), arch: self.arch };
        if self.model == Model::Documented {
            // One footprint for each pipe, whatever the size.
            for pipe in work.instructions.keys() {
                let row = tables().pipe(self.arch, *pipe).ok_or_else(|| missing(pipe))?;
                for documented in tile::documented(&row.documented) {
                    if !cost.holds.iter().any(|hold| hold.0 == documented.slot) {
                        cost.hold(&documented.slot, documented.cycles);
                    }
                    cost.latency = cost.latency.max(documented.latency);
                }
            }
            cost.latency = cost.latency.max(1);
            return Ok(cost);
        }
        let all = work.instructions.values().fold(0_u64, |sum, &n| sum.saturating_add(n));
        cost.hold("issue", self.cycles(all, "issue_rate")?);
        for (pipe, &instructions) in &work.instructions {
            let row = tables().pipe(self.arch, *pipe).ok_or_else(|| missing(pipe))?;
            cost.hold(&row.slot, self.cycles(instructions, &row.rate)?);
        }
        // Shuffles go the way of shared memory, and so does what warps tell each other at a barrier.
        let shared = u64::from(self.latency("shared_latency")?);
        let barrier = u64::from(self.latency("barrier")?).saturating_add(2 * shared);
        let waits = work.steps.saturating_mul(shared).saturating_add(work.barriers.saturating_mul(barrier));
        let waits = u32::try_from(waits).unwrap_or(u32::MAX);
        cost.latency = cost.most().saturating_add(self.latency("simt_latency")?).saturating_add(waits);
        Ok(cost)
    }
}

/// The tiles behind the colon and the arrow.
fn tiles(op: &Operation) -> (Vec<&Tile>, Vec<&Tile>) {
    match &op.header {
        Header::Plain { types, result_types, .. } => (
            types.iter().filter_map(Type::as_tile).collect(),
            result_types.iter().filter_map(Type::as_tile).collect(),
        ),
        _ => (Vec::new(), Vec::new()),
    }
}

fn shape(op: &Operation) -> Reason {
    Reason::Shape { name: op.name.clone() }
}

/// The instructions of an operation on registers; nothing of those that cost nothing.
pub(super) fn instructions(op: &Operation) -> Outcome<Work> {
    let mut work = Work::default();
    let Some(row) = tables().operation(&op.name) else {
        return Err(Reason::Unknown { name: op.name.clone() });
    };
    match row.class {
        Class::Elementwise => {
            for count in &row.counts {
                work.add(count.pipe, amount(op, count)?);
            }
        }
        Class::Reduce | Class::Scan => combine(op, row.class == Class::Scan, &row.counts, &mut work)?,
        Class::If => {
            for region in &op.regions {
                let mut side = Work::default();
                for inner in branch::side(region).into_iter().filter(|inner| inner.name != "if") {
                    side.and(&instructions(inner)?);
                }
                work.or(&side);
            }
        }
        _ => {}
    }
    Ok(work)
}

/// What a count of the table comes to.
fn amount(op: &Operation, count: &Count) -> Outcome<u64> {
    let result = op.result_type(0).and_then(Type::as_tile).ok_or_else(|| shape(op))?;
    let elements = result.elements().ok_or_else(|| shape(op))?;
    let (types, results) = tiles(op);
    let all = || types.iter().chain(&results).copied().chain([result]);
    if all().any(|tile| matches!(&*tile.element, Type::Scalar(name) if name == "f64")) {
        return Err(Reason::Refused { name: op.name.clone(), why: "no rate of f64 is known".into() });
    }
    let of = match count.of {
        Formula::Elements => elements,
        Formula::Words => {
            let words = all().filter_map(|tile| tile.element.bits()).map(|bits| bits.div_ceil(32)).max();
            elements.saturating_mul(words.unwrap_or(1).max(1))
        }
        Formula::Input => types.first().and_then(|tile| tile.elements()).ok_or_else(|| shape(op))?,
    };
    Ok(of.saturating_mul(count.times))
}

/// A reduction or a scan: its region's instructions for every element, then between threads.
fn combine(op: &Operation, scan: bool, counts: &[Count], work: &mut Work) -> Outcome<()> {
    let (types, results) = tiles(op);
    let first = *types.first().ok_or_else(|| shape(op))?;
    let input = first.elements().ok_or_else(|| shape(op))?;
    let mut each = Work::default();
    for inner in op.regions.iter().flat_map(|region| &region.operations) {
        each.and(&instructions(inner)?);
    }
    // A scan combines twice: within a thread, and with what comes before it.
    let times = input.saturating_mul(if scan { 2 } else { 1 });
    for (&pipe, &n) in &each.instructions {
        work.add(pipe, n.saturating_mul(times));
    }
    let axis = op.argument("dim").and_then(|value| match value {
        crate::cuda::Attribute::Number(digits) => digits.parse::<usize>().ok(),
        _ => None,
    });
    let along = axis.and_then(|axis| first.shape.get(axis)?.known()).ok_or_else(|| shape(op))?.max(1);
    let rows = (input / along).max(1);
    let last = axis.is_some_and(|axis| axis + 1 == first.shape.len());
    let values = results.len().max(1) as u64;
    let warps = u64::from(tile::threshold("agent_warps_compute"));
    // A quad has a row; where there are fewer rows than quads, more threads share one.
    let threads = QUAD.max(WARP * warps / rows).min(along).max(1);
    let lanes = threads.min(WARP);
    let steps = u64::from(lanes.next_power_of_two().trailing_zeros());
    // Other axes than the last are spread over all warps, and so is a row that a warp does not have to itself.
    work.barriers += u64::from(threads > WARP || !last);
    work.steps += steps;
    for count in counts {
        let shuffles = rows.saturating_mul(threads).saturating_mul(steps);
        work.add(count.pipe, shuffles.saturating_mul(values).saturating_mul(count.times));
    }
    Ok(())
}
