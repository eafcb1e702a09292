//! Goal: an order improved by moving single instructions, on the cycles of the model.
//!
//! Bounded by evaluations and deterministic: instructions are moved to other legal places by a fixed sequence of pseudo-random
//! numbers, and a move stays when it is not worse. It ends when no order can be better.

use crate::body::Body;
use crate::pipeline::Pipeline;
use sassafras_deps::Node;
use smallvec::SmallVec;

/// How far an instruction is moved at most.
const FAR: usize = 64;

/// Short blocks are not searched for longer than this many rounds per instruction.
const MOST_ROUNDS: u64 = 64;
/// It ends when one part in so many of its rounds has brought nothing, but not before this many.
const PATIENCE: u64 = 4;
const LEAST_PATIENCE: u64 = 64;

/// Improves an order by moving instructions. Returns its cycles.
pub fn search(
    body: &Body,
    pipeline: &mut Pipeline<'_>,
    order: &mut Vec<Node>,
    mut cycles: u32,
    bound: u32,
    evaluations: u32,
) -> u32 {
    let n = order.len();
    if n < 4 {
        return cycles;
    }
    let rounds = (u64::from(evaluations) * 100 / n as u64)
        .clamp(4, u64::from(evaluations).clamp(4, MOST_ROUNDS * n as u64));
    let patience = (rounds / PATIENCE).max(LEAST_PATIENCE);
    let mut idle = 0;
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let mut trial = order.clone();
    for _ in 0..rounds {
        if cycles <= bound || idle > patience {
            break;
        }
        idle += 1;
        let from = (next() % n as u64) as usize;
        let (lo, hi) = legal_range(body, order, from);
        if hi - lo < 1 {
            continue;
        }
        let to = lo + (next() % (hi - lo + 1) as u64) as usize;
        if to == from {
            continue;
        }
        trial.clone_from(order);
        let node = trial.remove(from);
        trial.insert(to, node);
        if let Some(new) = pipeline.cycles_within(&trial, cycles) {
            idle = if new < cycles { 0 } else { idle };
            cycles = new;
            std::mem::swap(order, &mut trial);
        }
    }
    cycles
}

/// The places that an instruction may move to, others staying.
fn legal_range(body: &Body, order: &[Node], from: usize) -> (usize, usize) {
    let node = order[from];
    let depends = |a: Node, b: Node| reaches(body, a, b);
    let mut lo = from;
    while lo > 0 && from - lo < FAR && !depends(order[lo - 1], node) {
        lo -= 1;
    }
    let mut hi = from;
    while hi + 1 < order.len() && hi - from < FAR && !depends(node, order[hi + 1]) {
        hi += 1;
    }
    (lo, hi)
}

/// Whether an edge leads from one instruction to another, through joins too.
fn reaches(body: &Body, from: Node, to: Node) -> bool {
    let mut stack: SmallVec<[Node; 8]> = SmallVec::from_slice(&[from]);
    while let Some(node) = stack.pop() {
        for edge in body.graph.succs_here(node) {
            if edge.to == to {
                return true;
            }
            if body.graph.is_join(edge.to) {
                stack.push(edge.to);
            }
        }
    }
    false
}
