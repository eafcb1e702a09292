//! Goal: who chooses a scoreboard first.
//!
//! There are six; the latency-model document gives them out by the producer's class, and classes of long latency come first:
//! they lose most by sharing. Long is what takes more than the documented 19 cycles; among those the longest first, then all
//! others as they stand in the code.
//!
//! Cost: one sort.

use crate::code::{Code, index};
use sassafras_ir::Inst;
use sassafras_machine::constants;

/// Cycles that a scoreboard of an instruction is expected to be held: until the result is there, or the sources have been read
/// where there is none. 0 for instructions of fixed latency.
pub fn held(code: &Code<'_>, inst: Inst) -> u16 {
    let op = code.op(inst);
    match (op.decoupled, code.writes(inst).is_empty()) {
        (false, _) => 0,
        (true, false) => op.expected.write,
        (true, true) => op.expected.read,
    }
}

/// Whether an instruction is of long latency.
pub fn is_long(code: &Code<'_>, inst: Inst) -> bool {
    u32::from(held(code, inst)) > constants().long_latency_threshold
}

/// By instruction: its turn, 0 first.
pub fn ranks(code: &Code<'_>) -> Vec<u32> {
    let f = code.f;
    let mut order: Vec<Inst> = f.blocks().flat_map(|block| f.block_insts(block)).copied().collect();
    order.sort_by_key(|&inst| {
        let cycles = if is_long(code, inst) { held(code, inst) } else { 0 };
        std::cmp::Reverse(cycles)
    });
    let mut ranks = vec![u32::MAX; f.inst_count()];
    for (rank, &inst) in (0..).zip(&order) {
        ranks[index(inst)] = rank;
    }
    ranks
}
