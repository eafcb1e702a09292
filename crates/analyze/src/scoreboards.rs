//! Goal: how many results that scoreboards guard are under way at once, and what it costs that they share six.
//!
//! Instructions name six scoreboards; the documented guidance counts against a model of 63 or 255. Under way is what one warp alone has
//! issued and not got back, at its expected latency. What sharing costs is the difference between waiting for scoreboards and
//! waiting for exactly those results that are needed, with the same stalls.
//!
//! Cost: linear in the edges of the dependence graph. Source: the ptxas-scheduling document (scoreboard pressure: the four lines, SbOverload,
//! SbStallDiff) gives names; what the numbers count is our reading. *Unordered* are global, local and texture accesses: they come back
//! in any order.

use crate::rounded;
use crate::steady::Steady;
use sassafras_deps::{BuildOptions, Graph, Node, build};
use sassafras_ir::Inst;
use sassafras_machine::{Arch, Category, constants};
use sassafras_tepid::code::{Special, index};
use sassafras_tepid::latency::Mined;
use sassafras_tepid::{Code, Fields};
use serde::Serialize;
use std::collections::BTreeMap;

/// Iterations that are compared.
const ITERATIONS: usize = 4;

/// How many are under way.
#[derive(Clone, Debug, Default, Serialize)]
pub struct UnderWay {
    /// Instructions.
    pub instructions: u32,
    /// The most at once.
    pub peak: u32,
    /// In the mean, over the cycles of the code.
    pub mean: f64,
}

/// The guidance.
#[derive(Clone, Debug, Serialize)]
pub struct Pressure {
    /// Entries of the documented model.
    pub model: u32,
    /// All instructions that set a scoreboard.
    pub all: UnderWay,
    /// Those that come back in any order.
    pub unordered: UnderWay,
    /// Those by opcode.
    pub unordered_instructions: BTreeMap<String, u32>,
    /// The queues that they come back from.
    pub queues: BTreeMap<&'static str, UnderWay>,
    /// Results under way beyond the six scoreboards, at most.
    #[serde(rename = "SbOverload")]
    pub overload: u32,
    /// Cycles that sharing scoreboards costs one warp alone; none where something else is waited for, too.
    #[serde(rename = "SbStallDiff")]
    pub stall_difference: Option<u32>,
}

/// Looks at a way through code.
pub fn pressure(code: &Code<'_>, insts: &[Inst], fields: &[Fields], steady: &Steady) -> Pressure {
    let sets = |inst: Inst| fields[index(inst)].write.is_some() || fields[index(inst)].read.is_some();
    let queue = |inst: Inst| match code.op(inst).category {
        Some(Category::Global) => Some("global"),
        Some(Category::Local) => Some("local"),
        Some(Category::Texture) => Some("texture"),
        _ => None,
    };
    let mut unordered_instructions = BTreeMap::new();
    for &inst in insts.iter().filter(|&&inst| sets(inst) && queue(inst).is_some()) {
        *unordered_instructions
            .entry(code.f.opcode_text(code.f.inst(inst).opcode).to_owned())
            .or_default() += 1;
    }
    let under_way = |takes: &dyn Fn(Inst) -> bool| under_way(code, insts, fields, steady, takes);
    let all = under_way(&sets);
    let mut queues = BTreeMap::new();
    for name in ["global", "local", "texture"] {
        let found = under_way(&|inst| sets(inst) && queue(inst) == Some(name));
        if found.instructions > 0 {
            queues.insert(name, found);
        }
    }
    Pressure {
        model: model(code.arch),
        overload: all.peak.saturating_sub(constants().scoreboards.into()),
        unordered: under_way(&|inst| sets(inst) && queue(inst).is_some()),
        all,
        unordered_instructions,
        queues,
        stall_difference: sharing(code, insts, fields, steady.repeats),
    }
}

fn model(arch: Arch) -> u32 {
    let known = constants();
    if arch.number().is_some_and(|sm| sm >= 100) {
        known.scoreboard_model_sm100
    } else {
        known.scoreboard_model
    }
}

fn under_way(
    code: &Code<'_>,
    insts: &[Inst],
    fields: &[Fields],
    steady: &Steady,
    takes: &dyn Fn(Inst) -> bool,
) -> UnderWay {
    let mut ends: Vec<(u32, i32)> = Vec::new();
    let mut cycles = 0u64;
    for issue in &steady.issues {
        let inst = insts[issue.step];
        if takes(inst) {
            let (expected, fields) = (code.op(inst).expected, fields[index(inst)]);
            let latency = if fields.write.is_some() { expected.write } else { expected.read };
            ends.extend([(issue.at, 1), (issue.at + u32::from(latency), -1)]);
            cycles += u64::from(latency);
        }
    }
    ends.sort_unstable();
    let (mut now, mut peak) = (0i32, 0i32);
    for (_, change) in ends {
        now += change;
        peak = peak.max(now);
    }
    let time = steady.issues.last().map_or(1, |issue| issue.at + 1);
    let instructions = insts.iter().filter(|&&inst| takes(inst)).count() as u32;
    UnderWay { instructions, peak: peak as u32, mean: rounded(cycles as f64 / f64::from(time)) }
}

/// What it costs one warp that results share scoreboards.
fn sharing(code: &Code<'_>, insts: &[Inst], fields: &[Fields], repeats: bool) -> Option<u32> {
    let beside = |inst: &Inst| matches!(code.op(*inst).special, Special::Depbar | Special::Warpgroup);
    if insts.iter().any(beside) {
        return None;
    }
    let graph = build(code.f, insts, &Mined::new(code), BuildOptions { carried: repeats });
    let run = Run { code, insts, fields, graph: &graph, iterations: if repeats { ITERATIONS } else { 1 } };
    Some(run.by_scoreboards().saturating_sub(run.by_results()) / run.iterations as u32)
}

/// One warp alone, pipes left out.
struct Run<'a, 'f> {
    code: &'a Code<'f>,
    insts: &'a [Inst],
    fields: &'a [Fields],
    graph: &'a Graph,
    iterations: usize,
}

impl Run<'_, '_> {
    fn by_scoreboards(&self) -> u32 {
        let mut clear = [0u32; 8];
        let mut now = 0;
        for &inst in self.insts.iter().cycle().take(self.insts.len() * self.iterations) {
            let fields = self.fields[index(inst)];
            let waits = (0..8).filter(|board| fields.wait >> board & 1 == 1).map(|board| clear[board]);
            now = now.max(waits.max().unwrap_or(0));
            let expected = self.code.op(inst).expected;
            for (board, latency) in [(fields.write, expected.write), (fields.read, expected.read)] {
                if let Some(board) = board {
                    let clear = &mut clear[usize::from(board & 7)];
                    *clear = (*clear).max(now + u32::from(latency));
                }
            }
            now += u32::from(fields.stall.max(1));
        }
        now
    }

    fn by_results(&self) -> u32 {
        let nodes = self.graph.node_count();
        let (mut before, mut here) = (vec![None; nodes], vec![None; nodes]);
        let mut now = 0;
        for _ in 0..self.iterations {
            for at in 0..self.insts.len() {
                let node = Node(at as u32);
                now = now.max(self.ready(node, &before, &mut here));
                here[at] = Some(now);
                now += u32::from(self.fields[index(self.insts[at])].stall.max(1));
            }
            // Joins that nobody of this iteration asked for, and the next may.
            for join in self.insts.len()..nodes {
                self.ready(Node(join as u32), &before, &mut here);
            }
            std::mem::swap(&mut before, &mut here);
            here.fill(None);
        }
        now
    }

    /// When everything that a node waits for by a scoreboard is done. Joins on the way are made known.
    fn ready(&self, node: Node, before: &[Option<u32>], here: &mut [Option<u32>]) -> u32 {
        let mut stack = vec![node];
        while let Some(&top) = stack.last() {
            let unknown = self.graph.preds(top).find(|edge| {
                edge.distance == 0 && self.graph.is_join(edge.from) && here[edge.from.index()].is_none()
            });
            if let Some(edge) = unknown {
                stack.push(edge.from);
                continue;
            }
            let times = self.graph.preds(top).filter_map(|edge| {
                let from =
                    if edge.distance == 0 { here[edge.from.index()] } else { before[edge.from.index()] };
                let guarded =
                    self.graph.is_join(edge.from) || self.code.op(self.insts[edge.from.index()]).decoupled;
                from.filter(|_| guarded).map(|from| from + u32::from(edge.latency))
            });
            let ready = times.max().unwrap_or(0);
            stack.pop();
            if top == node && !self.graph.is_join(node) {
                return ready;
            }
            here[top.index()] = Some(ready);
        }
        here[node.index()].unwrap_or(0)
    }
}
