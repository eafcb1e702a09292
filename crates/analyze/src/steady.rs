//! Goal: code run on the model: how long an iteration takes with all warps and with one alone, and what each cycle was lost to.
//!
//! Cost: linear in warps times instructions. Source: [`Replay`], which says its own.

use crate::rounded;
use sassafras_ir::Inst;
use sassafras_tepid::replay::{Issue, Replay};
use sassafras_tepid::{Code, Fields};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Iterations that are run; the first ones warm up.
const ITERATIONS: usize = 6;
/// Of these, so many are over before anything is counted.
const WARM: usize = 2;

/// Code in its steady state.
pub struct Steady {
    /// Cycles per iteration and warp, with all warps.
    pub cycles: f64,
    /// Cycles per iteration, with one warp alone.
    pub alone: f64,
    /// What one warp alone issued, all iterations.
    pub issues: Vec<Issue>,
    /// What all warps issued, all iterations.
    pub all: Vec<Issue>,
    /// How many warps that was.
    pub warps: usize,
    /// How many instructions an iteration has.
    pub length: usize,
    /// Whether iterations follow each other.
    pub repeats: bool,
}

/// Cycles of an iteration by what they go to.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Cycles {
    /// An instruction is issued.
    pub issued: f64,
    /// Sources in one register bank hold issue up.
    pub register_banks: f64,
    /// Nothing is issued: a stall lets a result of fixed latency settle.
    pub stall: f64,
    /// Nothing is issued: a scoreboard is waited for.
    pub scoreboard: f64,
    /// Nothing is issued: work beside the warp is waited for.
    pub beside: f64,
    /// Nothing is issued: a barrier is waited for.
    pub barrier: f64,
    /// Nothing is issued: a pipe is busy; by its name.
    pub busy: BTreeMap<&'static str, f64>,
}

/// Why nothing is issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// Stalls let results of fixed latency settle.
    Stalls,
    /// Scoreboards are waited for.
    Scoreboards,
    /// Work beside the warp is waited for.
    Beside,
    /// Barriers.
    Barriers,
    /// A pipe is busy.
    Pipe(&'static str),
}

impl fmt::Display for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Idle::Stalls => f.write_str("stalls"),
            Idle::Scoreboards => f.write_str("scoreboards"),
            Idle::Beside => f.write_str("work beside the warp"),
            Idle::Barriers => f.write_str("barriers"),
            Idle::Pipe(pipe) => write!(f, "the {pipe} pipe"),
        }
    }
}

impl Cycles {
    /// What most of the cycles in which nothing is issued go to, and how many that are.
    pub fn worst(&self) -> (Idle, f64) {
        let named = [
            (Idle::Stalls, self.stall),
            (Idle::Scoreboards, self.scoreboard),
            (Idle::Beside, self.beside),
            (Idle::Barriers, self.barrier),
        ];
        let busy = self.busy.iter().map(|(&pipe, &cycles)| (Idle::Pipe(pipe), cycles));
        named.into_iter().chain(busy).max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((Idle::Stalls, 0.0))
    }

    /// Cycles in which nothing is issued.
    pub fn idle(&self) -> f64 {
        self.stall + self.scoreboard + self.beside + self.barrier + self.busy.values().sum::<f64>()
    }
}

impl Steady {
    /// Runs code by its fields. Code that is no loop is run once.
    pub fn new(code: &Code<'_>, insts: &[Inst], fields: &[Fields], warps: usize, repeats: bool) -> Steady {
        let replay = Replay::new(code, insts, fields);
        let (all, cycles) = run(&replay, insts.len(), warps, repeats);
        let (issues, alone) =
            if warps == 1 { (all.clone(), cycles) } else { run(&replay, insts.len(), 1, repeats) };
        Steady { cycles, alone, issues, all, warps, length: insts.len(), repeats }
    }

    /// What one warp alone issues in an iteration of the steady state.
    pub fn iteration(&self) -> &[Issue] {
        let skipped = if self.repeats { WARM.min(self.issues.len() / self.length.max(1)) } else { 0 };
        let from = (skipped * self.length).min(self.issues.len());
        &self.issues[from..(from + self.length).min(self.issues.len())]
    }

    /// When the steady state of all warps starts and when it was last seen.
    pub fn window(&self) -> (u32, u32) {
        let skipped = if self.repeats { WARM * self.length * self.warps } else { 0 };
        let after = |issue: &Issue| issue.at + 1;
        let start = skipped.checked_sub(1).and_then(|last| self.all.get(last)).map_or(0, after);
        (start, self.all.last().map_or(start, after))
    }

    /// What the cycles of the sub-core go to, per warp and iteration.
    pub fn shared(&self) -> Cycles {
        self.cycles_of(&self.all, self.warps)
    }

    /// What the cycles of one warp alone go to, per iteration.
    pub fn own(&self) -> Cycles {
        self.cycles_of(&self.issues, 1)
    }

    fn cycles_of(&self, issues: &[Issue], warps: usize) -> Cycles {
        let skipped = if self.repeats { WARM * self.length * warps } else { 0 };
        let counted = issues.get(skipped..).unwrap_or_default();
        let times = (counted.len() as f64 / self.length.max(1) as f64).max(1.0);
        let mut out = Cycles { issued: counted.len() as f64 / times, ..Cycles::default() };
        let mut next =
            skipped.checked_sub(1).and_then(|last| issues.get(last)).map_or(0, |issue| issue.at + 1);
        for issue in counted {
            // Of whoever goes first after a pause, the last thing that it waited for ended the pause.
            let lost = issue.lost;
            let idle = f64::from(issue.at.saturating_sub(next + lost.banks)) / times;
            next = issue.at + 1;
            out.register_banks += f64::from(lost.banks) / times;
            match lost.pipe {
                Some(pipe) => *out.busy.entry(pipe.name()).or_default() += idle,
                None if lost.wait > 0 && lost.board.is_none() => out.beside += idle,
                None if lost.wait > 0 => out.scoreboard += idle,
                None if lost.meeting > 0 => out.barrier += idle,
                None => out.stall += idle,
            }
        }
        out.busy.retain(|_, cycles| *cycles > 0.0);
        let parts =
            [&mut out.issued, &mut out.register_banks, &mut out.stall, &mut out.scoreboard, &mut out.beside];
        parts
            .into_iter()
            .chain([&mut out.barrier])
            .chain(out.busy.values_mut())
            .for_each(|part| *part = rounded(*part));
        out
    }

    /// By place in the code: cycles that one warp alone loses before each instruction, in the steady state.
    pub fn lost_alone(&self) -> Vec<u32> {
        let mut lost = vec![0; self.length];
        for issue in self.iteration() {
            lost[issue.step] = issue.lost.total();
        }
        lost
    }
}

fn run(replay: &Replay, length: usize, warps: usize, repeats: bool) -> (Vec<Issue>, f64) {
    let iterations = if repeats { ITERATIONS } else { 1 };
    let mut issues = Vec::with_capacity(length * warps * iterations);
    let ended = replay.watch(warps, iterations, |issue| issues.push(issue));
    let Some((_, end)) = ended else { return (issues, 0.0) };
    // Warps run apart: counted from when the first iterations of all are over.
    let skipped = if repeats { WARM * length * warps } else { 0 };
    let start = skipped.checked_sub(1).and_then(|last| issues.get(last)).map_or(0, |issue| issue.at + 1);
    let times = (iterations - if repeats { WARM } else { 0 }) * warps;
    (issues, rounded(f64::from(end - start) / times.max(1) as f64))
}
