//! Goal: memory instructions of a matrix block in the order in which they should go, and when.
//!
//! In order of priority: what loads from global memory, which takes longest; what loads from shared memory; what stores to
//! shared memory, which waits for the former; all others. Inside a kind the order stays. Each one is given a place among the
//! block's matrix instructions: they are spread evenly, but what a matrix instruction of this block reads goes so many
//! matrix instructions before it as its latency takes.
//!
//! Cost: linear in the edges. Source: the ptxas-scheduling document names the reordering of memory operations and what it is
//! for (matrix instructions overlap transfers); the rule is ours.

use super::is_matrix;
use crate::body::Body;
use crate::code::Code;
use sassafras_deps::Node;
use sassafras_ir::{Inst, Space};
use sassafras_machine::dispatch::Pipe;

/// What a memory instruction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Loads from global memory, to registers or to shared memory.
    GlobalLoad,
    /// Loads from shared memory.
    SharedLoad,
    /// Stores to shared memory.
    SharedStore,
    /// Other accesses.
    Other,
}

/// What a memory instruction is for; none for all others.
pub fn kind(code: &Code<'_>, inst: Inst) -> Option<Kind> {
    let mut found: Option<Kind> = None;
    for (access, is_write) in code.f.accesses(inst) {
        let kind = match (access.space, is_write) {
            (Space::Global | Space::Generic, false) => Kind::GlobalLoad,
            (Space::Shared | Space::Cluster, false) => Kind::SharedLoad,
            (Space::Shared | Space::Cluster, true) => Kind::SharedStore,
            _ => Kind::Other,
        };
        found = Some(found.map_or(kind, |found| found.min(kind)));
    }
    found.filter(|_| !is_matrix(code, inst))
}

/// The memory instructions of a block in the order in which they should go.
pub fn order(code: &Code<'_>, body: &Body) -> Vec<Node> {
    let mut order: Vec<(Kind, Node)> =
        body.graph.insts().filter_map(|node| Some((kind(code, body.insts[node.index()])?, node))).collect();
    order.sort();
    order.into_iter().map(|(_, node)| node).collect()
}

/// By memory instruction: how many matrix instructions of the block should go before it.
pub fn places(code: &Code<'_>, body: &Body) -> Vec<(Node, u32)> {
    let matrix: Vec<Node> =
        body.graph.insts().filter(|node| is_matrix(code, body.insts[node.index()])).collect();
    let order = order(code, body);
    let interval = matrix
        .iter()
        .flat_map(|node| body.nodes[node.index()].pipes.iter())
        .filter(|(pipe, _)| *pipe == Pipe::Tensor)
        .map(|&(_, cycles)| u32::from(cycles))
        .max()
        .unwrap_or(1);
    // By node: its number among the matrix instructions.
    let mut numbers = vec![None; body.insts.len()];
    for (number, node) in (0u32..).zip(&matrix) {
        numbers[node.index()] = Some(number);
    }
    let (count, total) = (matrix.len() as u64, order.len().max(1) as u64);
    (0u64..)
        .zip(order)
        .map(|(at, node)| {
            let even = (at * count / total) as u32;
            let latency = u32::from(code.op(body.insts[node.index()]).expected.write);
            let reader = first_reader(body, &numbers, node);
            let needed = reader.map_or(u32::MAX, |reader| reader.saturating_sub(latency.div_ceil(interval)));
            (node, even.min(needed))
        })
        .collect()
}

/// The first matrix instruction that waits for a node directly, by its number.
fn first_reader(body: &Body, numbers: &[Option<u32>], node: Node) -> Option<u32> {
    let (mut stack, mut seen) = (vec![node], Vec::new());
    let mut first = None;
    while let Some(node) = stack.pop() {
        for edge in body.graph.succs_here(node) {
            if body.graph.is_join(edge.to) {
                // A join may be reached by several ways; once is enough.
                if !seen.contains(&edge.to) {
                    seen.push(edge.to);
                    stack.push(edge.to);
                }
            } else if let Some(number) = numbers[edge.to.index()] {
                first = Some(first.map_or(number, |first: u32| first.min(number)));
            }
        }
    }
    first
}
