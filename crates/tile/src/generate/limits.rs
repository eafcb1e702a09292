//! Limits on slots: the fewest that a value can do with, those that are asked for, and who gives up a slot where buffers do
//! not fit.
//!
//! Goal of [`give_up`]: enough bytes for the least II. Every slot less is one more circuit (who reads the slot comes before
//! who writes it again) and so a bound of II; what costs no more than the II at hand comes first, the largest buffer among
//! those, then what costs least.
//!
//! Cost: one closure, then one look at a value's readers for each slot that is given up and each buffer.

use super::GenerateError;
use super::problem::{build, flow_latency, op};
use crate::agents::Plan;
use crate::buffers::Over;
use crate::options::Options;
use cranelift_entity::EntityRef;
use sassafras_modulo::Distances;
use sassafras_tileir::program::{Program, Value};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Slots by origin.
pub type Caps = BTreeMap<Value, u32>;

/// Over how many iterations a value (an origin) is carried.
fn carried(program: &Program, value: Value) -> u32 {
    let operands = program.ops.values().flat_map(|o| &o.operands);
    operands.filter(|o| program.origin(o.value) == value).map(|o| o.distance).max().unwrap_or(0)
}

/// Slots that a value (an origin) needs whatever the order of operations: for the iterations it is carried over, and for those
/// that are wanted after the loop.
fn fewest(program: &Program, value: Value) -> u32 {
    let after = program.wanted_after(value).map_or(0, |d| d.saturating_add(1));
    carried(program, value).max(after).max(1)
}

/// The fewest slots that a value (an origin) can have beside the limits of others: as many as iterations it is carried over
/// or wanted after the loop, and one more than those it is carried over where whoever reads the oldest comes after whoever
/// writes the next within an iteration.
pub fn least_slots(program: &Program, plans: &[Plan], caps: &Caps, value: Value) -> u32 {
    let (carried, fewest) = (carried(program, value), fewest(program, value));
    if fewest > carried {
        return fewest;
    }
    let mut with = caps.clone();
    with.insert(value, carried);
    // One more leaves no edge within an iteration, so that nothing is waited for that waits itself.
    if build(program, plans, &with, 1).problem.check().is_ok() { carried } else { carried + 1 }
}

/// The limits that attributes and options ask for: of several, the least. None of them can be below what the value needs.
pub fn asked(program: &Program, plans: &[Plan], options: &Options) -> Result<Caps, GenerateError> {
    let mut wanted = Caps::new();
    let mut limit = |value: Value, depth: u32| {
        let cap = wanted.entry(program.origin(value)).or_insert(depth);
        *cap = depth.min(*cap).max(1);
    };
    for o in program.ops.values() {
        if let Some(depth) = o.attributes.max_depth {
            o.results.iter().for_each(|&v| limit(v, depth));
        }
    }
    for (v, data) in program.values.iter() {
        if let Some(&depth) = options.depths.get(&data.name) {
            limit(v, depth);
        }
    }
    let mut caps = Caps::new();
    for (value, asked) in wanted {
        let least = least_slots(program, plans, &caps, value);
        if asked < least {
            return Err(GenerateError::Depth { value: program.values[value].name.clone(), asked, least });
        }
        caps.insert(value, asked);
    }
    Ok(caps)
}

/// What is known of a ring.
struct Known {
    /// Cycles from a write to the read and until the slot is free, with the iterations between the two, for each reader.
    around: Vec<(u64, u32)>,
    fewest: u32,
    carried: u32,
}

/// The limits with further ones, such that buffers take so many bytes less; nothing where one slot less each is not
/// enough. `ii`: the one at which they did not fit.
pub fn give_up(program: &Program, plans: &[Plan], caps: &Caps, over: &Over, ii: u32) -> Option<Caps> {
    let problem = build(program, plans, caps, 1).problem;
    let distances = Distances::new(&problem, ii).ok();
    let writers = program.writers();
    let around = |value: Value| -> Vec<(u64, u32)> {
        let mut found = Vec::new();
        for (reader, data) in program.ops.iter() {
            for o in data.operands.iter().filter(|o| program.origin(o.value) == value) {
                for &writer in writers[value.index()].iter().filter(|&&w| w != reader || !o.in_place) {
                    let path = distances.as_ref().and_then(|d| d.get(op(writer), op(reader))).unwrap_or(0);
                    let cycles = i64::from(path) + i64::from(flow_latency(program, reader, writer));
                    found.push((u64::try_from(cycles).unwrap_or(0), o.distance));
                }
            }
        }
        found
    };
    let known = |value: Value| Known {
        around: around(value),
        fewest: fewest(program, value),
        carried: carried(program, value),
    };
    let rings: Vec<Known> = over.rings.iter().map(|r| known(r.value)).collect();
    // The II that so many slots ask for by themselves, if all other paths stay as they are. Within an iteration it is a
    // question of order, which `least_slots` answers.
    let asks = |i: usize, depth: u32| {
        let turns = |distance: u32| u64::from(depth.saturating_sub(distance));
        let each = rings[i].around.iter().filter(|a| turns(a.1) > 0).map(|a| a.0.div_ceil(turns(a.1)));
        each.max().unwrap_or(0).max(u64::from(ii))
    };
    let mut caps = caps.clone();
    let mut depth: Vec<u32> = over.rings.iter().map(|r| r.depth).collect();
    let mut freed = 0u64;
    while freed < over.need - over.have {
        let candidates = over.rings.iter().enumerate().filter_map(|(i, ring)| {
            let fewer = depth[i] - 1;
            let r = &rings[i];
            let can = fewer >= r.fewest
                && (fewer > r.carried || fewer >= least_slots(program, plans, &caps, ring.value));
            can.then(|| (asks(i, fewer), Reverse(ring.bytes), i))
        });
        let (_, Reverse(bytes), i) = candidates.min()?;
        depth[i] -= 1;
        freed = freed.saturating_add(bytes);
        caps.insert(over.rings[i].value, depth[i]);
    }
    Some(caps)
}
