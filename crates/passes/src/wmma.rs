//! Goal: warp-matrix accesses to one bank of shared memory stand together.
//!
//! Loads and stores of fragments that do not depend on each other are put into the order of the banks they start in, those of one bank in
//! source order; the strategies order everything else around them. An order that dependences forbid is left out.
//!
//! Cost: sorting the accesses. Source: the list-schedulers document (`wmma-memory-space-opt`).

use sassafras_deps::{Graph, Node};
use sassafras_ir::{Function, Inst, MemAccess, Operand, Space};

/// Banks of shared memory, and the bytes of each.
const BANKS: i64 = 32;
const BANK_BYTES: i64 = 4;
/// What accesses fragments of a matrix.
const ACCESSES: [&str; 5] = ["wmma.load", "wmma.store", "ldmatrix", "stmatrix", "LDSM"];

/// The graph with accesses to the same bank behind each other.
pub(crate) fn grouped(f: &Function, insts: &[Inst], graph: Graph) -> Graph {
    let mut best = graph;
    for region in best.regions().to_vec() {
        let mut accesses: Vec<(i64, Node)> =
            region.map(Node).filter_map(|node| Some((bank(f, insts[node.index()])?, node))).collect();
        if accesses.len() < 3 {
            continue;
        }
        accesses.sort_by_key(|&(bank, node)| (bank, node));
        let orders: Vec<(Node, Node)> = accesses.windows(2).map(|pair| (pair[0].1, pair[1].1)).collect();
        if let Some(with) = best.with_orders(&orders) {
            best = with;
        }
    }
    best
}

/// The bank that a fragment in shared memory starts in, as far as its offset tells.
fn bank(f: &Function, inst: Inst) -> Option<i64> {
    let opcode = f.opcode_text(f.inst(inst).opcode);
    if !ACCESSES.iter().any(|name| opcode.starts_with(name)) {
        return None;
    }
    let mut operands = f.defs(inst).iter().chain(f.uses(inst));
    let access: MemAccess = operands.find_map(|operand| match operand {
        Operand::Mem(mem) => Some(*f.mem(*mem)),
        _ => None,
    })?;
    (access.space == Space::Shared).then(|| access.offset.div_euclid(BANK_BYTES).rem_euclid(BANKS))
}
