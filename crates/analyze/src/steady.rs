//! Goal: code run on the model: how long an iteration takes with all warps and with one alone, and what each cycle was lost to.
//!
//! Cost: linear in warps times instructions; of what all warps issue only sums are kept, unless somebody draws it. Source: [`Replay`],
//! which says its own.

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
    /// What the cycles of the sub-core go to, per warp and iteration.
    shared: Cycles,
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
        let (replay, length) = (Replay::new(code, insts, fields), insts.len());
        let mut issues = Vec::with_capacity(length * iterations(repeats));
        let mut sum = Sum::new(length, 1, repeats);
        let alone = run(&replay, sum.skipped, 1, repeats, |issue| {
            sum.add(&issue);
            issues.push(issue);
        });
        let (cycles, shared) = if warps == 1 {
            (alone, sum.end())
        } else {
            let mut sum = Sum::new(length, warps, repeats);
            (run(&replay, sum.skipped, warps, repeats, |issue| sum.add(&issue)), sum.end())
        };
        Steady { cycles, alone, issues, shared, warps, length, repeats }
    }

    /// Cycles per iteration and warp with so many warps, and with one alone.
    pub fn times(
        code: &Code<'_>,
        insts: &[Inst],
        fields: &[Fields],
        warps: usize,
        repeats: bool,
    ) -> (f64, f64) {
        let replay = Replay::new(code, insts, fields);
        let time = |warps: usize| {
            let warm = if repeats { WARM } else { 0 };
            let counted = (iterations(repeats) - warm) * warps;
            let ended = replay.times(warps, iterations(repeats), warm);
            ended.map_or(0.0, |(start, end)| rounded(f64::from(end - start) / counted.max(1) as f64))
        };
        let alone = time(1);
        (if warps == 1 { alone } else { time(warps) }, alone)
    }

    /// What one warp alone issues in an iteration of the steady state.
    pub fn iteration(&self) -> &[Issue] {
        let skipped = if self.repeats { WARM.min(self.issues.len() / self.length.max(1)) } else { 0 };
        let from = (skipped * self.length).min(self.issues.len());
        &self.issues[from..(from + self.length).min(self.issues.len())]
    }

    /// What the cycles of the sub-core go to, per warp and iteration.
    pub fn shared(&self) -> &Cycles {
        &self.shared
    }

    /// What the cycles of one warp alone go to, per iteration.
    pub fn own(&self) -> Cycles {
        let mut sum = Sum::new(self.length, 1, self.repeats);
        self.issues.iter().for_each(|issue| sum.add(issue));
        sum.end()
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

/// What all warps issued.
pub struct Watched {
    /// All iterations of it.
    pub issues: Vec<Issue>,
    /// When the steady state starts and when it was last seen.
    pub window: (u32, u32),
}

impl Watched {
    /// Runs a loop as [`Steady`] does, and keeps what all warps issue.
    pub fn new(code: &Code<'_>, insts: &[Inst], fields: &[Fields], warps: usize) -> Watched {
        let replay = Replay::new(code, insts, fields);
        let mut issues = Vec::with_capacity(insts.len() * warps * ITERATIONS);
        let _ = replay.watch(warps, ITERATIONS, |issue| issues.push(issue));
        let after = |issue: &Issue| issue.at + 1;
        let last = (WARM * insts.len() * warps).checked_sub(1);
        let start = last.and_then(|last| issues.get(last)).map_or(0, after);
        let end = issues.last().map_or(start, after);
        Watched { issues, window: (start, end) }
    }
}

fn iterations(repeats: bool) -> usize {
    if repeats { ITERATIONS } else { 1 }
}

/// Cycles of an iteration by what they go to, summed up while it is run.
struct Sum {
    out: Cycles,
    /// Instructions that are issued before anything is counted, those so far, and those that are counted for each of an iteration.
    skipped: usize,
    seen: usize,
    times: f64,
    /// The cycle after the last instruction.
    next: u32,
}

impl Sum {
    fn new(length: usize, warps: usize, repeats: bool) -> Sum {
        let skipped = if repeats { WARM * length * warps } else { 0 };
        let counted = length * warps * iterations(repeats) - skipped;
        let times = (counted as f64 / length.max(1) as f64).max(1.0);
        let out = Cycles { issued: counted as f64 / times, ..Cycles::default() };
        Sum { out, skipped, seen: 0, times, next: 0 }
    }

    fn add(&mut self, issue: &Issue) {
        self.seen += 1;
        let next = std::mem::replace(&mut self.next, issue.at + 1);
        if self.seen <= self.skipped {
            return;
        }
        // Of whoever goes first after a pause, the last thing that it waited for ended the pause.
        let (lost, out) = (issue.lost, &mut self.out);
        let idle = f64::from(issue.at.saturating_sub(next + lost.banks)) / self.times;
        out.register_banks += f64::from(lost.banks) / self.times;
        match lost.pipe {
            Some(pipe) => *out.busy.entry(pipe.name()).or_default() += idle,
            None if lost.wait > 0 && lost.board.is_none() => out.beside += idle,
            None if lost.wait > 0 => out.scoreboard += idle,
            None if lost.meeting > 0 => out.barrier += idle,
            None => out.stall += idle,
        }
    }

    fn end(self) -> Cycles {
        let mut out = self.out;
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
}

/// Runs code and shows what is issued. Returns cycles per iteration and warp.
fn run(replay: &Replay, skipped: usize, warps: usize, repeats: bool, mut see: impl FnMut(Issue)) -> f64 {
    let (mut seen, mut start) = (0, 0);
    let ended = replay.watch(warps, iterations(repeats), |issue| {
        seen += 1;
        // Warps run apart: counted from when the first iterations of all are over.
        if seen == skipped {
            start = issue.at + 1;
        }
        see(issue);
    });
    let Some((_, end)) = ended else { return 0.0 };
    let times = (iterations(repeats) - if repeats { WARM } else { 0 }) * warps;
    rounded(f64::from(end - start) / times.max(1) as f64)
}
