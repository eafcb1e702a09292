//! Goal: an order improved by moving single instructions, on the cycles of a model.
//!
//! Bounded by evaluations and deterministic: instructions are moved to other legal places by a fixed sequence of pseudo-random
//! numbers, and a move stays when it is not worse. It ends when no order can be better.

use crate::body::Body;
use sassafras_deps::Node;
use smallvec::SmallVec;

/// How far an instruction is moved at most.
const FAR: usize = 64;

/// It ends when one part in so many of its rounds has brought nothing, but not before this many.
const PATIENCE: u64 = 4;
const LEAST_PATIENCE: u64 = 64;

/// How long to search, and where to begin.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Evaluations for a block of 100 instructions; fewer for longer ones.
    pub evaluations: u32,
    /// Short blocks are not searched for longer than this many rounds per instruction.
    pub most: u64,
    /// No order takes fewer cycles.
    pub least: u32,
    /// Of the random numbers.
    pub seed: u64,
}

/// Improves an order, which takes so many cycles, by moving instructions. `cycles` gives those of another order, unless they are more
/// than a limit or there is no such order. Returns what the improved one takes.
pub fn search(
    body: &Body,
    order: &mut Vec<Node>,
    mut now: u32,
    bounds: Bounds,
    mut cycles: impl FnMut(&[Node], u32) -> Option<u32>,
) -> u32 {
    let n = order.len();
    if n < 4 {
        return now;
    }
    let evaluations = u64::from(bounds.evaluations);
    let rounds = (evaluations * 100 / n as u64).clamp(4, evaluations.clamp(4, bounds.most * n as u64));
    let patience = (rounds / PATIENCE).max(LEAST_PATIENCE);
    let mut idle = 0;
    let mut random = 0x9e37_79b9_7f4a_7c15u64 ^ (bounds.seed << 20);
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let mut trial = order.clone();
    for _ in 0..rounds {
        if now <= bounds.least || idle > patience {
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
        if let Some(new) = cycles(&trial, now) {
            idle = if new < now { 0 } else { idle };
            now = new;
            std::mem::swap(order, &mut trial);
        }
    }
    now
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
