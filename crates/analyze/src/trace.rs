//! Goal: what all warps of a loop did in its steady state, cycle by cycle, for those who draw it: who was issued and what each warp lost
//! cycles to, who kept a unit, who set a scoreboard until when.
//!
//! Two iterations are kept. Cycles are counted from where they start; what started before is cut there.
//!
//! Cost: linear in warps times instructions. Source: [`Replay`](sassafras_tepid::replay::Replay); cycles of units as [`units`] has them.

use crate::kernel::{LoopReport, Subject};
use crate::steady::Watched;
use crate::units;
use sassafras_ir::Inst;
use sassafras_machine::dispatch::Pipe;
use sassafras_machine::guidance::GuidanceUnit;
use sassafras_machine::multiprocessor::Multiprocessor;
use sassafras_tepid::Fields;
use sassafras_tepid::body::NodeFacts;
use sassafras_tepid::code::index;
use sassafras_tepid::replay::Lost;

/// Iterations that are kept.
const KEPT: f64 = 2.0;
/// Scoreboards of a warp.
const BOARDS: usize = 6;

/// Which loops of a function are traced.
#[derive(Clone, Debug, Default)]
pub enum Traced {
    /// None.
    #[default]
    No,
    /// The hottest.
    Hottest,
    /// Those that start at these offsets, or with blocks of these numbers.
    These(Vec<u64>),
}

impl Traced {
    /// Whether a loop is, by its place among the hottest.
    pub(crate) fn takes(&self, place: usize, found: &LoopReport) -> bool {
        match self {
            Traced::No => false,
            Traced::Hottest => place == 0,
            Traced::These(wanted) => wanted.iter().any(|&wanted| found.is_at(wanted)),
        }
    }
}

/// What all warps did.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Cycles that it shows.
    pub cycles: u32,
    /// The instructions of an iteration: offset and text.
    pub steps: Vec<(u64, String)>,
    /// By unit that somebody keeps: who, and for how long.
    pub units: Vec<(GuidanceUnit, Vec<Span>)>,
    /// The same for the data path of shared memory and the first cache.
    pub data_path: Vec<Span>,
    /// By number of scoreboard: who set it, until it is clear. Every warp has its own six.
    pub scoreboards: Vec<Vec<Span>>,
    /// By warp: what it did, one thing after the other.
    pub warps: Vec<Vec<Part>>,
}

/// Some cycles of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The warp.
    pub warp: u32,
    /// The instruction, by its place in [`Trace::steps`].
    pub step: usize,
    /// The first cycle.
    pub start: u32,
    /// How many.
    pub cycles: u32,
}

/// What a warp did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// When, and before which instruction, or for which.
    pub span: Span,
    /// What the cycles were lost to; none where the instruction was issued.
    pub lost_to: Option<String>,
}

/// What the cycles before an instruction were lost to, in the order in which they passed.
pub(crate) fn causes(lost: &Lost) -> [(u32, String); 6] {
    let scoreboard =
        lost.board.map_or("work beside the warp".to_owned(), |board| format!("scoreboard {board}"));
    let pipe = lost.pipe.map_or(String::new(), |pipe| format!("{pipe} pipe"));
    [
        (lost.stall, "stall".to_owned()),
        (lost.meeting, "barrier".to_owned()),
        (lost.wait, scoreboard),
        (lost.busy, pipe),
        (lost.turn, "other warps".to_owned()),
        (lost.banks, "register banks".to_owned()),
    ]
}

/// What is looked at: from a cycle on, for so many.
#[derive(Clone, Copy)]
struct Window {
    from: u32,
    cycles: u32,
}

impl Window {
    /// The part of some cycles that is inside. Results that come back later do so outside.
    fn cut(self, warp: usize, step: usize, start: u32, end: u32) -> Option<Span> {
        let start = start.max(self.from);
        let inside = start < self.from + self.cycles && start < end;
        inside.then(|| Span { warp: warp as u32, step, start: start - self.from, cycles: end - start })
    }
}

impl Trace {
    /// Of a loop with all its warps, each of which takes so many cycles for an iteration.
    pub(crate) fn new(
        subject: &Subject<'_, '_>,
        insts: &[Inst],
        fields: &[Fields],
        watched: &Watched,
        (cycles, warps): (f64, usize),
    ) -> Trace {
        let code = subject.code;
        let sm = Multiprocessor::of(code.arch);
        let (from, until) = watched.window;
        let wanted = (KEPT * cycles * warps as f64).ceil() as u32;
        let window = Window { from, cycles: wanted.min(until - from) };
        let kept: Vec<Vec<(GuidanceUnit, u32)>> = insts.iter().map(|&inst| units::of(code, inst)).collect();
        let data = |&inst: &Inst| -> u32 {
            let pipes = NodeFacts::new(code, inst, sm).pipes;
            pipes.iter().filter(|(pipe, _)| *pipe == Pipe::Memory).map(|&(_, cycles)| u32::from(cycles)).sum()
        };
        let data: Vec<u32> = insts.iter().map(data).collect();
        let mut by_unit: Vec<Vec<Span>> = vec![Vec::new(); GuidanceUnit::ALL.len()];
        let mut trace = Trace {
            cycles: window.cycles,
            steps: insts.iter().map(|&inst| ((subject.offset)(inst), (subject.text)(inst))).collect(),
            units: Vec::new(),
            data_path: Vec::new(),
            scoreboards: vec![Vec::new(); BOARDS],
            warps: vec![Vec::new(); warps],
        };
        for issue in &watched.issues {
            let (warp, step) = (issue.warp, issue.step);
            for &(unit, cycles) in &kept[step] {
                by_unit[unit as usize].extend(window.cut(warp, step, issue.started, issue.started + cycles));
            }
            trace.data_path.extend(window.cut(warp, step, issue.started, issue.started + data[step]));
            let own = fields[index(insts[step])];
            for (board, done) in [own.write, own.read].into_iter().zip(issue.done) {
                if let Some(spans) = board.and_then(|board| trace.scoreboards.get_mut(usize::from(board))) {
                    spans.extend(window.cut(warp, step, issue.at, done));
                }
            }
            let parts = &mut trace.warps[warp];
            let mut at = issue.at - issue.lost.total();
            for (cycles, name) in causes(&issue.lost) {
                let span = window.cut(warp, step, at, at + cycles);
                parts.extend(span.map(|span| Part { span, lost_to: Some(name) }));
                at += cycles;
            }
            let span = window.cut(warp, step, at, at + 1);
            parts.extend(span.map(|span| Part { span, lost_to: None }));
        }
        let used = GuidanceUnit::ALL.iter().copied().zip(by_unit).filter(|(_, spans)| !spans.is_empty());
        trace.units = used.collect();
        trace
    }
}
