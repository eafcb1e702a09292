//! Goal: the words of a block by the documented way, over measured latencies.
//!
//! Three phases, as the document has them:
//!
//! 1. the dependences into each instruction: what has a fixed latency is given cycles by the stalls before, the nearest first and
//!    not before the producer's own; everything else is announced by a scoreboard of the [`super::pool`] and waited for;
//! 2. yields and reuse flags, by this crate's rules for where instructions execute;
//! 3. the [`super::join`].
//!
//! It looks at one block: what comes in is waited for at the first instruction, what is under way at the end is told. The
//! pass over whole functions is [`crate::rebuild`], which also knows the four things that registers do not show; this one is the
//! reference for what the documents describe.
//!
//! Cost: the edges, those through joins once per instruction that waits; raising stalls goes back at most to the producer.
//! Source: latency-model document, "Join Point" and
//! "Stall Count Computation"; latencies are those of [`crate::latency::Mined`].

use sassafras_control::{Family, Scoreboard, Stall, WaitMask};
use sassafras_deps::{EdgeKind, Node};
use sassafras_model::stall::StallCap;

use super::pool::{Affinity, Pool, Request};
use super::{Joined, of_fields};
use crate::body::Body;
use crate::code::{Code, index};
use crate::original::Fields;
use crate::{reuse, yields};

/// The words of a block.
#[derive(Clone, Debug)]
pub struct Emitted {
    /// In the order of the instructions.
    pub words: Vec<Joined>,
    /// By position: the cycle it issues in when no wait takes time.
    pub cycles: Vec<u64>,
    /// By position: cycles that no stall could give; 0 where all is covered.
    pub uncovered: Vec<u32>,
    /// Scoreboards under way at the end.
    pub leaving: WaitMask,
}

/// Makes the words for a block in an order. `entering` is what may be under way before it.
pub fn emit(code: &Code<'_>, body: &Body, order: &[Node], cap: StallCap, entering: WaitMask) -> Emitted {
    let n = order.len();
    let limit = cap.apply(u32::from(Stall::MAX.cycles())).max(1);
    let mut position = vec![usize::MAX; body.graph.node_count()];
    order.iter().enumerate().for_each(|(at, node)| position[node.index()] = at);
    let mut timing = Timeline { cycles: Vec::with_capacity(n), stalls: Vec::with_capacity(n), limit };
    let mut boards: Vec<[Option<Scoreboard>; 2]> = vec![[None; 2]; body.insts.len()];
    let (mut pool, mut waited, mut uncovered) = (Pool::new(), vec![WaitMask::NONE; n], vec![0; n]);
    for (at, &node) in order.iter().enumerate() {
        let inst = body.insts[node.index()];
        let op = code.op(inst);
        timing.push();
        let mut wanted = if at == 0 { entering } else { WaitMask::NONE };
        // Cycles: a producer and how far behind it this one may go.
        let mut fixed: Vec<(usize, u32)> = Vec::new();
        collect(code, body, &position, node, &boards, &mut wanted, &mut fixed);
        for (producer, latency) in fixed {
            uncovered[at] = uncovered[at].max(timing.keep_apart(producer, at, latency));
        }
        // A scoreboard must have been set for a moment before anybody waits for it.
        let settle = u32::from(sassafras_machine::constants().scoreboard_set_to_wait);
        for before in (0..at).rev().take(settle as usize) {
            let set = boards[order[before].index()];
            if set.into_iter().flatten().any(|board| wanted.contains(board)) {
                timing.keep_apart(before, at, settle);
            }
        }
        waited[at] = wanted;
        pool.release(wanted);
        timing.least(at, u32::from(op.dispatch.least));
        if op.decoupled {
            let request = Request {
                affinity: Affinity(op.category.map_or(u16::MAX, |category| category as u16)),
                latency: u32::from(op.expected.write),
            };
            let overwritten = body.graph.succs_here(node).any(|edge| edge.kind == EdgeKind::War);
            let guarded = code.writes(inst).iter().any(|touch| code.is_guarded(inst, touch));
            let side = if guarded { Some(0) } else { overwritten.then_some(1) };
            if let Some(side) = side {
                boards[node.index()][side] = Some(pool.allocate(timing.cycles[at], request).board);
            }
        }
    }
    let blank = Fields { stall: 1, yields: false, write: None, read: None, wait: 0, reuse: 0 };
    let mut fields = vec![blank; code.f.inst_count()];
    let insts: Vec<_> = order.iter().map(|node| body.insts[node.index()]).collect();
    for (at, &node) in order.iter().enumerate() {
        let [write, read] = boards[node.index()].map(|board| board.map(Scoreboard::index));
        let field = &mut fields[index(insts[at])];
        *field = Fields { stall: timing.stalls[at] as u8, write, read, wait: waited[at].bits(), ..blank };
    }
    yields::assign(code, &insts, false, &mut fields);
    reuse::assign(code, &insts, |_| false, &mut fields);
    let words = insts.iter().map(|&inst| of_fields(Family::Volta, &fields[index(inst)])).collect();
    Emitted { words, cycles: timing.cycles, uncovered, leaving: pool.under_way() }
}

/// What a node waits for, through joins too.
fn collect(
    code: &Code<'_>,
    body: &Body,
    position: &[usize],
    node: Node,
    boards: &[[Option<Scoreboard>; 2]],
    wanted: &mut WaitMask,
    fixed: &mut Vec<(usize, u32)>,
) {
    let mut stack = vec![(node, 0u32)];
    while let Some((node, behind)) = stack.pop() {
        for edge in body.graph.preds_here(node) {
            let latency = behind + u32::from(edge.latency);
            if body.graph.is_join(edge.from) {
                stack.push((edge.from, latency));
                continue;
            }
            let producer = body.insts[edge.from.index()];
            let [write, read] = boards[edge.from.index()];
            let announced = match edge.kind {
                _ if !code.op(producer).decoupled => None,
                EdgeKind::Raw | EdgeKind::Waw => write,
                EdgeKind::War => write.or(read),
                _ => None,
            };
            match announced {
                Some(board) => *wanted = wanted.with(board),
                None => fixed.push((position[edge.from.index()], latency)),
            }
        }
    }
}

/// Issue cycles and stalls as they grow.
struct Timeline {
    cycles: Vec<u64>,
    stalls: Vec<u32>,
    limit: u32,
}

impl Timeline {
    fn push(&mut self) {
        let cycle = match (self.cycles.last(), self.stalls.last()) {
            (Some(&cycle), Some(&stall)) => cycle + u64::from(stall),
            _ => 0,
        };
        self.cycles.push(cycle);
        self.stalls.push(1);
    }

    /// The newest instruction stalls at least so long.
    fn least(&mut self, at: usize, stall: u32) {
        self.stalls[at] = self.stalls[at].max(stall.min(self.limit));
    }

    /// The instruction at `at`, the newest, goes at least `latency` cycles behind an earlier one. Returns what could not be given.
    fn keep_apart(&mut self, producer: usize, at: usize, latency: u32) -> u32 {
        let distance = self.cycles[at].saturating_sub(self.cycles[producer]);
        let mut missing = u64::from(latency).saturating_sub(distance) as u32;
        for place in (producer..at).rev() {
            let more = missing.min(self.limit.saturating_sub(self.stalls[place]));
            self.stalls[place] += more;
            missing -= more;
            self.cycles[place + 1..=at].iter_mut().for_each(|cycle| *cycle += u64::from(more));
            if missing == 0 {
                break;
            }
        }
        missing
    }
}
