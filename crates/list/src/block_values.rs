//! The values of a block: which instruction writes what which others read.

use crate::values::{Value, Values};
use rustc_hash::FxHashMap;
use sassafras_ir::{Function, Inst, Lane, LaneRef, RegClass};

/// Finds the values of a block whose instructions come in this order. `live_out` are the lanes that are wanted behind it.
///
/// What an operand writes is one value, however many lanes it has. A guarded write may leave what was there: it reads the old
/// value and writes a new one. Only general registers have a width. Linear.
pub fn values(f: &Function, insts: &[Inst], live_out: impl Iterator<Item = Lane>) -> Values {
    let mut values = Values::new();
    let mut holds: FxHashMap<Lane, Value> = FxHashMap::default();
    let (mut reads, mut written): (Vec<Value>, Vec<LaneRef>) = (Vec::new(), Vec::new());
    let enter = |lane: Lane, values: &mut Values| values.enters(width(lane), !lane.is_virtual());
    for &inst in insts {
        reads.clear();
        written.clear();
        let mut read = |lane: Lane, values: &mut Values| {
            reads.push(*holds.entry(lane).or_insert_with(|| enter(lane, values)));
        };
        f.for_each_read(inst, |r| read(r.lane, &mut values));
        f.for_each_write(inst, |w| written.push(w));
        if !f.kills(inst) {
            written.iter().for_each(|w| read(w.lane, &mut values));
        }
        reads.sort_unstable();
        reads.dedup();
        // Lanes of one operand follow each other.
        let operands = || written.chunk_by(|a, b| a.role == b.role);
        let first = values.node(
            &reads,
            operands().map(|lanes| (lanes.iter().map(|w| width(w.lane)).sum(), !lanes[0].lane.is_virtual())),
        );
        for (number, lanes) in operands().enumerate() {
            for w in lanes {
                holds.insert(w.lane, first.after(number));
            }
        }
    }
    for lane in live_out {
        let value = holds.get(&lane).copied();
        let value = value.unwrap_or_else(|| enter(lane, &mut values));
        values.leaves(value);
    }
    values.finish();
    values
}

fn width(lane: Lane) -> u16 {
    u16::from(lane.class() == RegClass::Gpr)
}
