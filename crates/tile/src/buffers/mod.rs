//! Slots for the values of pipes: how many, shared by whom, where.
//!
//! Between generation and materialisation, in four steps:
//! 1. *lifetimes*: a fill lives from its first writer's start to its last reader's end, in cycles of the loop; a value
//!    needs as many slots as iterations begin in that time, and no fewer than the iterations it is carried over;
//! 2. *barriers*: room for the barrier objects of pipes whose ends meet at some; numbers of named barriers are given out when
//!    pipes are emitted ([`barriers`]);
//! 3. *buffers*: accumulators take turns in one slot, other values have a ring of slots;
//! 4. *sharing*: rings of one slot with the same storage, element and size become one buffer where lifetimes are
//!    disjoint in the same iteration: each then waits for the one before it. A result that may take the place of an
//!    operand is disjoint from it if nobody else reads the operand when the operation starts.
//!
//! Offsets are given out from the largest buffer to the smallest. Whatever does not fit its budget is reported with the
//! buffers that have slots to give up: the caller limits depths ([`limits`](crate::generate::limits)) and schedules again.
//!
//! Source: `tile-buffers`; budgets are a table of `machine`.

pub mod barriers;

use crate::agents::Plan;
use crate::analysis::Analysis;
use crate::generate::problem::duration;
use crate::materialise::emit;
use crate::options::Options;
use crate::solve::Skeleton;
use crate::union::Union;
use sassafras_machine::tile::{Budget, budget};
use sassafras_tileir::program::{Accumulators, Op, Program, Storage, Value};
use std::collections::BTreeMap;

/// Warps whose registers matrix instructions take together.
const WARPGROUP: u32 = 4;

/// A buffer to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plot {
    /// Where.
    pub storage: Storage,
    /// Bytes of a slot.
    pub bytes: u64,
    /// The type of the elements.
    pub element: String,
    /// Slots.
    pub depth: u32,
    /// Its first byte.
    pub offset: u64,
    /// Whose values: the pipe's position, the value, what is added to an iteration for its turn.
    pub members: Vec<(usize, Value, u32)>,
}

/// All pipes and buffers of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Pipes, as they were solved for.
    pub pipes: Vec<Skeleton>,
    /// Slots of each pipe.
    pub depths: Vec<u32>,
    /// Buffers.
    pub plots: Vec<Plot>,
    /// Bytes of barrier objects, which lie before all buffers of shared memory.
    pub barriers: u64,
    /// Bytes by storage.
    pub used: BTreeMap<Storage, u64>,
}

/// A value with several slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// The value, an origin.
    pub value: Value,
    /// Bytes of a slot.
    pub bytes: u64,
    /// Slots.
    pub depth: u32,
}

/// What does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Over {
    /// Which storage.
    pub storage: Storage,
    /// Bytes that the buffers take.
    pub need: u64,
    /// Bytes there are.
    pub have: u64,
    /// Buffers there that have slots to give up.
    pub rings: Vec<Ring>,
}

/// The budget of a storage for a loop.
pub fn budget_of(program: &Program, options: &Options, storage: Storage) -> u64 {
    if options.unlimited {
        return u64::MAX / 4;
    }
    if let Some(b) = program.budgets.iter().rev().find(|b| b.0 == storage) {
        return b.1;
    }
    let b = table(program);
    match storage {
        Storage::Register => b.register,
        Storage::Shared => b.shared,
        Storage::Tensor => b.tensor,
    }
}

/// The row of the budget table for a loop's architecture.
pub fn table(program: &Program) -> &'static Budget {
    let digits: String = program.arch.iter().flat_map(|a| a.chars()).filter(char::is_ascii_digit).collect();
    budget(digits.parse().unwrap_or(100))
}

/// A fill's life in cycles, from iteration 0's point of view.
pub(crate) fn life(program: &Program, analysis: &Analysis, pipe: &Skeleton) -> (i64, i64) {
    let ii = i64::from(analysis.ii);
    let start = pipe.producers.iter().map(|&w| analysis.place(w).time).min().unwrap_or(0);
    let end = pipe.readers.iter().map(|r| {
        let distance = r.distance(program).unwrap_or(0);
        analysis.place(r.op).time + i64::from(duration(program, r.op)) + ii * i64::from(distance)
    });
    let written = pipe.producers.iter().map(|&w| analysis.place(w).time + i64::from(duration(program, w)));
    (start, end.chain(written).max().unwrap_or(start))
}

/// Slots that a pipe needs.
fn slots(program: &Program, analysis: &Analysis, pipe: &Skeleton) -> u32 {
    let (start, end) = life(program, analysis, pipe);
    let carried = pipe.readers.iter().filter_map(|r| r.distance(program)).max().unwrap_or(0);
    let turns = (end - start).max(1).unsigned_abs().div_ceil(u64::from(analysis.ii.max(1)));
    // What is wanted after the loop is there until then.
    let after = pipe.values.iter().filter_map(|&v| program.wanted_after(v)).max().map_or(0, |d| d + 1);
    u32::try_from(turns).unwrap_or(u32::MAX).max(carried).max(after).max(1)
}

/// Lays everything out.
pub fn assign(
    program: &Program,
    analysis: &Analysis,
    pipes: &[Skeleton],
    plans: &[Plan],
    options: &Options,
) -> Result<Layout, Over> {
    let accumulators = Accumulators::of(program);
    let carrier = |value: Value| pipes.iter().position(|p| p.values.contains(&value));
    let mut depths: Vec<u32> = pipes.iter().map(|p| slots(program, analysis, p)).collect();
    let mut plots: Vec<Plot> = Vec::new();
    let plot = |value: Value, depth: u32, members: Vec<(usize, Value, u32)>| {
        let v = &program.values[value];
        Plot { storage: v.storage, bytes: v.bytes, element: v.element.clone(), depth, offset: 0, members }
    };
    for chain in &accumulators.chains {
        let members: Vec<(usize, Value, u32)> =
            chain.iter().filter_map(|&(v, _)| Some((carrier(v)?, v, 1))).collect();
        if let Some(&(_, value, _)) = members.first() {
            plots.push(plot(value, 1, members));
        }
    }
    // Rings, the shareable ones of one slot among them.
    let mut single: Vec<(usize, Value)> = Vec::new();
    for (i, pipe) in pipes.iter().enumerate() {
        for &value in &pipe.values {
            // What is from before the loop stays where it is.
            if pipe.producers.is_empty() && program.values[value].bytes > 0 {
                plots.push(plot(value, 1, vec![(i, value, 0)]));
                continue;
            }
            if accumulators.chain(value).is_some() || program.values[value].bytes == 0 {
                continue;
            }
            let carried = pipe.readers.iter().filter_map(|r| r.distance(program)).max().unwrap_or(0);
            if depths[i] == 1 && carried == 0 && !pipe.readers.is_empty() {
                single.push((i, value));
            } else {
                plots.push(plot(value, depths[i], vec![(i, value, carried)]));
            }
        }
    }
    for set in share(program, analysis, pipes, plans, &single) {
        let members: Vec<(usize, Value, u32)> = set.iter().map(|&s| (single[s].0, single[s].1, 0)).collect();
        plots.push(plot(members[0].1, 1, members));
    }
    for p in &plots {
        for m in &p.members {
            depths[m.0] = depths[m.0].min(p.depth);
        }
    }
    // Only pipes whose ends meet at barrier objects have some: two for each slot.
    let local = emit::local(program, analysis, pipes, &depths, &plots);
    let objects = emit::met(program, plans, &local).into_iter().filter(|m| m.1);
    let barriers: u64 = objects.map(|(pipe, _)| 2 * u64::from(local.pipes[pipe].depth)).sum();
    let barriers = barriers * table(program).barrier_bytes;
    let used = place(program, &mut plots, barriers);
    for (&storage, &need) in &used {
        let have = budget_of(program, options, storage);
        if need > have {
            // Only rings of one slot are shared. Limits are those of origins: parts of one give up slots together.
            let mut rings: BTreeMap<Value, Ring> = BTreeMap::new();
            for p in plots.iter().filter(|p| p.storage == storage && p.bytes > 0 && p.depth > 1) {
                let value = program.origin(p.members[0].1);
                let ring = rings.entry(value).or_insert(Ring { value, bytes: 0, depth: p.depth });
                (ring.bytes, ring.depth) = (ring.bytes + p.bytes, ring.depth.max(p.depth));
            }
            return Err(Over { storage, need, have, rings: rings.into_values().collect() });
        }
    }
    Ok(Layout { pipes: pipes.to_vec(), depths, plots, barriers, used })
}

/// Gives agents as many warps as their registers take, in whole groups of four where that is more than they have.
pub fn fit_warps(program: &Program, layout: &Layout, plans: &mut [Plan]) {
    let limit = table(program).warp_register;
    for plan in plans {
        let mine = |pipe: usize| {
            let p = &layout.pipes[pipe];
            // What is from before the loop is in every agent that reads it.
            let readers = p.readers.iter().map(|r| r.op).filter(|_| p.producers.is_empty());
            p.producers.iter().copied().chain(readers).any(|op| plan.ops.binary_search(&op).is_ok())
        };
        let own = layout.plots.iter().filter(|p| p.storage == Storage::Register);
        let own = own.filter(|p| p.members.iter().any(|m| mine(m.0)));
        let bytes = own.fold(0_u64, |sum, p| sum.saturating_add(p.bytes.saturating_mul(p.depth.into())));
        let warps = u32::try_from(bytes.div_ceil(limit.max(1))).unwrap_or(u32::MAX);
        if warps > plan.warps {
            plan.warps = warps.checked_next_multiple_of(WARPGROUP).unwrap_or(warps);
        }
    }
}

/// Sets of one-slot values that can share a slot, each in the order of their lives.
fn share(
    program: &Program,
    analysis: &Analysis,
    pipes: &[Skeleton],
    plans: &[Plan],
    single: &[(usize, Value)],
) -> Vec<Vec<usize>> {
    let ii = i64::from(analysis.ii);
    let agent = |op: Op| plans.iter().position(|p| p.ops.contains(&op));
    let lives: Vec<(i64, i64)> = single.iter().map(|&(i, _)| life(program, analysis, &pipes[i])).collect();
    let mut union = Union::new(single.len());
    let mut classes: Vec<Vec<usize>> = (0..single.len()).map(|s| vec![s]).collect();
    let accumulators = Accumulators::of(program);
    // The operand whose place a value may take, as far as times allow.
    let place_of: Vec<Option<usize>> = (0..single.len())
        .map(|b| {
            let &[op] = &pipes[single[b].0].producers[..] else { return None };
            let operands = &program.ops[op].operands;
            let operand = operands.iter().find(|o| accumulators.permits(program, op, o))?;
            let a = single.iter().position(|s| s.1 == operand.value)?;
            let others = pipes[single[a].0].readers.iter().filter(|r| r.op != op);
            let start = analysis.place(op).time;
            let mut ends = others.map(|r| {
                let distance = r.distance(program).unwrap_or(0);
                analysis.place(r.op).time + i64::from(duration(program, r.op)) + ii * i64::from(distance)
            });
            ends.all(|end| end <= start).then_some(a)
        })
        .collect();
    // Those that take an operand's place come first: they cost nothing and nobody else can be in between.
    let pairs = (0..single.len()).filter_map(|b| Some((place_of[b]?, b)));
    let all = (0..single.len()).flat_map(|a| (a + 1..single.len()).map(move |b| (a, b)));
    for (a, b) in pairs.chain(all) {
        let (va, vb) = (&program.values[single[a].1], &program.values[single[b].1]);
        let same = va.storage == vb.storage && va.element == vb.element && va.bytes == vb.bytes;
        let home = |s: usize| agent(pipes[single[s].0].producers[0]);
        if !same || single[a].0 == single[b].0 || va.storage == Storage::Register && home(a) != home(b) {
            continue;
        }
        let (ra, rb) = (union.find(a), union.find(b));
        if ra == rb {
            continue;
        }
        let mut members: Vec<usize> = classes[ra].iter().chain(&classes[rb]).copied().collect();
        members.sort_by_key(|&s| lives[s]);
        let apart =
            members.windows(2).all(|w| lives[w[0]].1 <= lives[w[1]].0 || place_of[w[1]] == Some(w[0]));
        let (first, last) = (members[0], members[members.len() - 1]);
        // After the loop there is what was put there last.
        let kept = |&s: &usize| s == last || program.wanted_after(single[s].1).is_none();
        let apart = apart && members.iter().all(kept);
        if apart && lives[last].1 <= lives[first].0 + ii {
            union.join(rb, ra);
            classes[ra] = members;
            classes[rb].clear();
        }
    }
    classes.into_iter().filter(|c| !c.is_empty()).collect()
}

/// Gives out offsets, largest first, and returns the bytes of each storage.
fn place(program: &Program, plots: &mut [Plot], barriers: u64) -> BTreeMap<Storage, u64> {
    let align = table(program).align;
    let mut used: BTreeMap<Storage, u64> = BTreeMap::new();
    if barriers > 0 {
        used.insert(Storage::Shared, barriers);
    }
    let mut order: Vec<usize> = (0..plots.len()).collect();
    order.sort_by_key(|&i| (std::cmp::Reverse(plots[i].bytes), i));
    for i in order {
        let p = &mut plots[i];
        let end = used.entry(p.storage).or_default();
        p.offset = match p.storage {
            Storage::Shared => end.next_multiple_of(align),
            _ => *end,
        };
        *end = p.offset.saturating_add(p.bytes.saturating_mul(p.depth.into()));
    }
    used
}
