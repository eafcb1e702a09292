//! Goal: the chain of instructions that one iteration waits for, and why each waits for the one before.
//!
//! From the last instruction of an iteration backwards, as one warp alone runs it: who waited for a scoreboard waited for who set it, who
//! stalled for a result or a source for the instruction of the dependence graph that is just so far away, who found a pipe busy for
//! who kept it; everybody else waited for the instruction in front.
//!
//! Cost: linear in the length of the chain and the edges on it. Source: the bottleneck view of llvm-mca, for in-order code with control fields.

use crate::steady::Steady;
use sassafras_deps::{Edge, EdgeKind, End, Graph, Node};
use sassafras_ir::{Function, Inst};
use sassafras_machine::multiprocessor::Multiprocessor;
use sassafras_tepid::body::NodeFacts;
use sassafras_tepid::code::index;
use sassafras_tepid::replay::Issue;
use sassafras_tepid::{Code, Fields};
use serde::Serialize;

/// How far back whoever set a scoreboard is looked for, in iterations.
const BACK: usize = 2;

/// One step of the chain.
#[derive(Clone, Debug, Serialize)]
pub struct Link {
    /// Where the instruction stands in the code.
    pub step: usize,
    /// Its offset, in bytes.
    pub offset: u64,
    /// Cycles that it was issued after the one before it in the chain.
    pub cycles: u32,
    /// Why it could not go sooner.
    pub cause: Cause,
}

/// Why an instruction could not go sooner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Cause {
    /// The iteration starts.
    Start,
    /// So many instructions go one after the other.
    Issue {
        /// How many.
        instructions: u32,
    },
    /// It reads a result, or overwrites something, at a fixed distance.
    Dependence {
        /// `raw`, `war`, `waw`, `memory` and so on.
        hazard: &'static str,
        /// The register.
        register: Option<String>,
    },
    /// The instruction in front stalls for longer than any dependence that is known.
    Stall,
    /// It waits for a scoreboard.
    Scoreboard {
        /// Its number.
        board: u8,
    },
    /// It waits for work beside the warp.
    Beside,
    /// A pipe is busy.
    Pipe {
        /// Which one.
        pipe: &'static str,
    },
    /// Its sources are in one register bank.
    Banks,
    /// A barrier.
    Barrier,
}

/// Code whose chain is looked for.
pub struct Chain<'a, 'f> {
    /// The function.
    pub code: &'a Code<'f>,
    /// The instructions of an iteration.
    pub insts: &'a [Inst],
    /// Control fields by instruction.
    pub fields: &'a [Fields],
    /// The dependences of the iteration.
    pub graph: &'a Graph,
    /// How it ran.
    pub steady: &'a Steady,
}

impl Chain<'_, '_> {
    /// The chain of one iteration, first instruction first.
    pub fn links(&self, offset: impl Fn(Inst) -> u64) -> Vec<Link> {
        let length = self.steady.length;
        let issues = &self.steady.issues;
        if length == 0 || issues.len() < length {
            return Vec::new();
        }
        let end = issues.len() - 1;
        let begin = if self.steady.repeats { end.saturating_sub(length) } else { 0 };
        let mut links: Vec<Link> = Vec::new();
        let mut at = end;
        while at > begin {
            let (from, cause) = self.before(at);
            let from = from.min(at - 1);
            let cycles = issues[at].at - issues[from].at;
            let step = issues[at].step;
            match (&cause, links.last_mut()) {
                // Runs of instructions one after the other are one link: that of the last of them.
                (
                    Cause::Issue { .. },
                    Some(Link { cycles: all, cause: Cause::Issue { instructions }, .. }),
                ) => {
                    *instructions += 1;
                    *all += cycles;
                }
                _ => links.push(Link { step, offset: offset(self.insts[step]), cycles, cause }),
            }
            at = from;
        }
        let step = issues[at].step;
        links.push(Link { step, offset: offset(self.insts[step]), cycles: 0, cause: Cause::Start });
        links.reverse();
        links
    }

    /// What an instruction waited for.
    fn before(&self, at: usize) -> (usize, Cause) {
        let lost = self.steady.issues[at].lost;
        let previous = at.saturating_sub(1);
        if lost.banks > 0 {
            return (previous, Cause::Banks);
        }
        if lost.busy > 0
            && let Some(pipe) = lost.pipe
        {
            let sm = Multiprocessor::of(self.code.arch);
            let uses = |&at: &usize| {
                let facts = NodeFacts::new(self.code, self.inst(at), sm);
                facts.pipes.iter().any(|&(used, _)| used == pipe)
            };
            let from = (0..at).rev().take(self.steady.length).find(uses);
            return (from.unwrap_or(previous), Cause::Pipe { pipe: pipe.name() });
        }
        if lost.wait > 0 {
            return match lost.board {
                Some(board) => (self.setter(at, board).unwrap_or(previous), Cause::Scoreboard { board }),
                None => (previous, Cause::Beside),
            };
        }
        if lost.meeting > 0 {
            return (previous, Cause::Barrier);
        }
        if lost.stall > 0 {
            return match self.tight(at) {
                Some((from, edge)) => {
                    let register = register(self.code.f, self.insts, edge);
                    (from, Cause::Dependence { hazard: edge.kind.name(), register })
                }
                None => (previous, Cause::Stall),
            };
        }
        (previous, Cause::Issue { instructions: 1 })
    }

    fn inst(&self, at: usize) -> Inst {
        self.insts[self.steady.issues[at].step]
    }

    /// Who of those that set a scoreboard is done last, before an instruction.
    fn setter(&self, at: usize, board: u8) -> Option<usize> {
        let done = |at: usize| {
            let (fields, expected) =
                (self.fields[index(self.inst(at))], self.code.op(self.inst(at)).expected);
            let part = |set: Option<u8>, latency: u16| (set == Some(board)).then_some(latency);
            let latency = part(fields.write, expected.write).max(part(fields.read, expected.read))?;
            Some(self.steady.issues[at].at + u32::from(latency))
        };
        let issued = self.steady.issues[at].at;
        let setters =
            (0..at).rev().take(BACK * self.steady.length).filter_map(|at| done(at).map(|done| (done, at)));
        setters.filter(|&(done, _)| done <= issued).max().map(|(_, at)| at)
    }

    /// The dependence that allows no sooner issue.
    fn tight(&self, at: usize) -> Option<(usize, &Edge)> {
        let issues: &[Issue] = &self.steady.issues;
        let length = self.steady.length;
        let node = Node(issues[at].step as u32);
        let exact = self.graph.preds(node).filter(|edge| !self.graph.is_join(edge.from)).filter_map(|edge| {
            let back = issues[at].step + length * usize::from(edge.distance);
            let from = (at + edge.from.index()).checked_sub(back)?;
            let tight = issues[at].at - issues[from].at == u32::from(edge.latency);
            (tight && edge.latency > 1).then_some((from, edge))
        });
        exact.max_by_key(|(_, edge)| (edge.kind == EdgeKind::Raw, edge.latency))
    }
}

/// The register that an edge is about.
fn register(f: &Function, insts: &[Inst], edge: &Edge) -> Option<String> {
    let (inst, end) = match edge.kind {
        EdgeKind::Raw | EdgeKind::Waw => (insts[edge.from.index()], edge.from_end),
        EdgeKind::War => (insts[edge.to.index()], edge.to_end),
        _ => return None,
    };
    if end.operand == End::GUARD || end == End::NONE {
        return None;
    }
    let operands = f.defs(inst).iter().chain(f.uses(inst));
    operands
        .clone()
        .nth(usize::from(end.operand))
        .and_then(|operand| operand.span())
        .map(|span| span.to_string())
}
