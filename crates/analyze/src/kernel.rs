//! Goal: everything about a function, put together.
//!
//! Cost: every block and every loop is run on the model a few times; linear in instructions times warps.

use crate::blocks::{BlockReport, Standing};
use crate::critical::{Chain, Link};
use crate::hiding::{Hiding, hiding};
use crate::live::live;
use crate::occupancy::Occupancy;
use crate::ratios::{Ratios, ratios};
use crate::rounded;
use crate::scoreboards::{Pressure, pressure};
use crate::steady::{Cycles, Steady, Watched};
use crate::table::{Row, Rows};
use crate::trace::{Trace, Traced, causes};
use crate::units::{Bound, Units};
use sassafras_deps::cyclic::critical_recurrence;
use sassafras_deps::{BuildOptions, EdgeKind, build};
use sassafras_ir::cfg::Cfg;
use sassafras_ir::dominators::Dominators;
use sassafras_ir::loops::{Loop, Loops};
use sassafras_ir::{Block, Effects, Function, Inst};
use sassafras_machine::multiprocessor::Launch;
use sassafras_tepid::classify::{Class, Place, Profile};
use sassafras_tepid::clock::Time;
use sassafras_tepid::code::index;
use sassafras_tepid::function::times;
use sassafras_tepid::latency::Mined;
use sassafras_tepid::replay::Issue;
use sassafras_tepid::way::{self, Way};
use sassafras_tepid::{Code, Fields, original};
use serde::Serialize;

/// What is asked about.
pub struct Subject<'a, 'f> {
    /// Its name.
    pub name: &'a str,
    /// The code, with its words.
    pub code: &'a Code<'f>,
    /// What is known of the launch.
    pub launch: Launch,
    /// Where an instruction stands, in bytes from the start of the section.
    pub offset: &'a (dyn Fn(Inst) -> u64 + Sync),
    /// Its text.
    pub text: &'a (dyn Fn(Inst) -> String + Sync),
    /// The loops whose traces are wanted.
    pub traced: &'a Traced,
}

/// Everything about a function.
#[derive(Clone, Debug, Serialize)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// The architecture.
    pub arch: String,
    /// In a few numbers.
    pub summary: Summary,
    /// Warps.
    pub occupancy: Occupancy,
    /// Latency hiding on the way through the function.
    pub hiding: Vec<Hiding>,
    /// Scoreboards on that way.
    pub scoreboards: Pressure,
    /// Loops, the hottest first.
    pub loops: Vec<LoopReport>,
    /// Blocks, in their order.
    pub blocks: Vec<BlockReport>,
    /// Loops of transfers and epilogues against arithmetic.
    pub ratios: Vec<Ratios>,
    /// Units of the hottest code: the hottest loop, or the whole function where there is none.
    pub units: Units,
    /// What bounds that.
    pub bound_by: Bound,
    /// Every instruction.
    pub instructions: Vec<Row>,
}

/// A function in a few numbers.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Instructions.
    pub instructions: u32,
    /// Blocks.
    pub blocks: u32,
    /// Loops.
    pub loops: u32,
    /// Those of them that were not looked at: there is too much in loops inside loops.
    #[serde(skip_serializing_if = "is_zero")]
    pub loops_left_out: u32,
    /// Cycles per warp by the clock that judges what `schedule` writes ([`sassafras_tepid::clock`]).
    pub cycles: u64,
    /// Estimated latency: cycles for one warp alone, loops taken to go round ten times.
    pub latency: f64,
    /// The same per warp when all overlap.
    pub throughput: f64,
    /// The most general registers in use at once.
    pub live_peak: u32,
    /// Cycles of stalls, each instruction once.
    pub stalls: u64,
    /// Instructions that wait for a scoreboard.
    pub waits: u32,
}

/// A loop.
#[derive(Clone, Debug, Serialize)]
pub struct LoopReport {
    /// Where it starts, in bytes from the start of the section.
    pub offset: u64,
    /// The block that it starts with.
    pub header: u32,
    /// How deep it is nested; 1 is outermost.
    pub depth: u32,
    /// What it does.
    pub class: Class,
    /// The blocks of an iteration.
    pub blocks: Vec<u32>,
    /// Blocks of the loop beside those.
    pub other_blocks: u32,
    /// The static metrics.
    pub metrics: Metrics,
    /// Warps per scheduler that it was run with.
    pub warps: u32,
    /// Cycles per iteration and warp, with these.
    pub cycles: f64,
    /// Cycles per iteration with one warp alone: the estimated latency.
    pub latency: f64,
    /// Cycles that an iteration takes at least, and why.
    pub bounds: Bounds,
    /// What the cycles of the sub-core go to, per iteration and warp.
    pub shared: Cycles,
    /// What the cycles of one warp alone go to, per iteration.
    pub own: Cycles,
    /// What bounds it.
    pub bound_by: Bound,
    /// Units.
    pub units: Units,
    /// Latency hiding.
    pub hiding: Vec<Hiding>,
    /// Scoreboards.
    pub scoreboards: Pressure,
    /// One warp alone in the steady state.
    pub timeline: Vec<Moment>,
    /// What an iteration waits for.
    pub critical: Vec<Link>,
    /// What all warps did, where that was asked for.
    #[serde(skip)]
    pub trace: Option<Trace>,
}

impl LoopReport {
    /// Whether it starts at this offset, or with the block of this number: how people name a loop.
    pub fn is_at(&self, place: u64) -> bool {
        self.offset == place || u64::from(self.header) == place
    }
}

/// What an iteration is made of.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Metrics {
    /// Instructions.
    pub instructions: u32,
    /// Multiply-accumulates.
    pub macs: u32,
    /// Loads from global memory.
    pub global_loads: u32,
    /// Stores to global memory.
    pub global_stores: u32,
    /// Accesses to shared memory.
    pub shared_accesses: u32,
    /// Barriers.
    pub barriers: u32,
    /// Branches.
    pub branches: u32,
    /// The most general registers in use at once.
    pub live_peak: u32,
    /// Cycles of stalls.
    pub stalls: u32,
    /// Instructions that wait for a scoreboard.
    pub waits: u32,
}

/// Cycles that an iteration takes at least.
#[derive(Clone, Debug, Serialize)]
pub struct Bounds {
    /// One instruction per cycle.
    pub issue: u32,
    /// The busiest unit.
    pub unit: u32,
    /// The data path.
    pub data_path: u32,
    /// Results that the next iteration needs, for one warp.
    pub recurrence: u32,
    /// The same, shared by all warps.
    pub recurrence_shared: f64,
}

/// An instruction of one warp in the steady state; cycles are counted from the start of the iteration.
#[derive(Clone, Debug, Serialize)]
pub struct Moment {
    /// Where it stands.
    pub offset: u64,
    /// When it could have gone, had nothing held it up.
    pub arrives: u32,
    /// When it was issued.
    pub issued: u32,
    /// When its result is there.
    pub done: u32,
    /// What it was held up by: `stall`, `scoreboard 3`, the name of a pipe, and so on; none where it was not.
    pub held_by: Option<String>,
    /// The unit that it keeps.
    pub unit: Option<sassafras_machine::guidance::GuidanceUnit>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The most instructions that ways around loops have together. Loops inside loops repeat them; compiled code of 87,000 instructions
/// stays far below.
const MOST_IN_LOOPS: usize = 1 << 18;
/// Finding a way looks at every block; so many cost as much as an instruction on it.
const BLOCKS_PER_INSTRUCTION: usize = 64;

/// The loops that are looked at with a way around each, outer ones first. Inner ones matter most, and are left out last.
fn looked_at(f: &Function, cfg: &Cfg, loops: &Loops) -> Vec<(Loop, Way)> {
    let mut ids: Vec<Loop> = loops.iter().collect();
    ids.sort_by_key(|&id| loops.depth(id));
    let (mut found, mut left) = (Vec::new(), MOST_IN_LOOPS);
    for id in ids.into_iter().rev() {
        let way = way::around(f, cfg, loops, id);
        let cost = way.insts.len() + f.block_count() / BLOCKS_PER_INSTRUCTION;
        let Some(rest) = left.checked_sub(cost) else { break };
        left = rest;
        found.push((id, way));
    }
    found.reverse();
    found
}

/// Looks at a function from all sides.
pub fn analyze(subject: &Subject<'_, '_>) -> Kernel {
    let code = subject.code;
    let f = code.f;
    let cfg = Cfg::new(f);
    let loops = Loops::new(f, &cfg, &Dominators::new(f, &cfg));
    let occupancy = Occupancy::new(code.arch, &subject.launch);
    let fields = original::fields(code);
    let live = live(f, &cfg);
    let warps = occupancy.warps.max(1) as usize;
    let about = About { subject, fields: &fields, live: &live, warps, latencies: latencies(code) };

    let mut reports: Vec<(f64, Loop, LoopReport)> = Vec::new();
    let mut lost: Vec<Option<u32>> = vec![None; f.inst_count()];
    // Outer loops first, so that inner ones have the last word about their instructions.
    for (id, way) in looked_at(f, &cfg, &loops) {
        let (report, steady, way) = about.report(&loops, id, way);
        for (&inst, cycles) in way.insts.iter().zip(steady.lost_alone()) {
            lost[index(inst)] = Some(cycles);
        }
        let weight = times(report.depth) as f64 * report.cycles;
        reports.push((weight, id, report));
    }
    // Stable: of two that weigh the same the one that comes first in the code.
    reports.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.2.offset.cmp(&b.2.offset)));
    for (place, (_, id, report)) in reports.iter_mut().enumerate() {
        if subject.traced.takes(place, report) {
            let insts = way::around(f, &cfg, &loops, *id).insts;
            // Once more: what all warps of all loops did is too much to keep until the hottest is known.
            let watched = Watched::new(code, &insts, &fields, warps);
            report.trace = Some(Trace::new(subject, &insts, &fields, &watched, (report.cycles, warps)));
        }
    }
    let loop_reports: Vec<LoopReport> = reports.into_iter().map(|(_, _, report)| report).collect();

    let whole = way::through(f, &cfg);
    // What all warps do there is told only where there is no loop.
    let together = if loop_reports.is_empty() { warps } else { 1 };
    let steady = Steady::new(code, &whole.insts, &fields, together, false);
    let blocks: Vec<BlockReport> = f.blocks().map(|block| about.block(&cfg, &loops, block)).collect();
    let rows = Rows { code, fields: &fields, live: &live, lost: &lost, latencies: &about.latencies };
    let instructions: Vec<Row> =
        f.blocks().flat_map(|block| rows.of(block, subject.offset, subject.text)).collect();
    let trips = |block: &BlockReport| times(block.depth) as f64;
    let on_way: Vec<&BlockReport> =
        whole.blocks.iter().map(|block| &blocks[block.as_u32() as usize]).collect();
    let sum =
        |part: fn(&BlockReport) -> f64| rounded(on_way.iter().map(|block| trips(block) * part(block)).sum());
    let summary = Summary {
        instructions: instructions.len() as u32,
        blocks: blocks.len() as u32,
        loops: loops.len() as u32,
        loops_left_out: (loops.len() - loop_reports.len()) as u32,
        cycles: Time::of(code, &fields, occupancy.warps).cycles(),
        latency: sum(|block| block.time),
        throughput: sum(|block| block.tepid_time),
        live_peak: live.iter().copied().max().unwrap_or(0),
        stalls: instructions.iter().map(|row| u64::from(row.stall)).sum(),
        waits: instructions.iter().filter(|row| !row.waits.is_empty()).count() as u32,
    };
    let (units, bound_by) = match loop_reports.first() {
        Some(hottest) => (hottest.units.clone(), hottest.bound_by),
        None => {
            let units = Units::new(code, &whole.insts, steady.cycles);
            let bound_by = units.bound_by(steady.shared());
            (units, bound_by)
        }
    };
    Kernel {
        name: subject.name.to_owned(),
        arch: code.arch.to_string(),
        hiding: hiding(code, &whole.insts, &fields, false),
        scoreboards: pressure(code, &whole.insts, &fields, &steady),
        units,
        bound_by,
        ratios: ratios(&blocks),
        summary,
        occupancy,
        loops: loop_reports,
        blocks,
        instructions,
    }
}

/// What all parts are about.
struct About<'a, 'f> {
    subject: &'a Subject<'a, 'f>,
    fields: &'a [Fields],
    live: &'a [u32],
    warps: usize,
    /// By instruction, see [`latencies`].
    latencies: Vec<Option<u32>>,
}

impl About<'_, '_> {
    fn block(&self, cfg: &Cfg, loops: &Loops, block: Block) -> BlockReport {
        let code = self.subject.code;
        let innermost = loops.innermost(block);
        let behind = || cfg.preds(block).iter().any(|&pred| loops.innermost(pred).is_some());
        let place = match innermost {
            Some(_) => Place::Loop,
            None if behind() => Place::Behind,
            None => Place::Apart,
        };
        let insts = code.f.block_insts(block);
        let standing = Standing {
            block,
            offset: insts.first().map_or(0, |&inst| (self.subject.offset)(inst)),
            depth: loops.block_depth(block),
            header: innermost.is_some_and(|id| loops.header(id) == block),
            repeats: cfg.succs(block).contains(&block),
            class: Profile::new(code, insts, place).class,
        };
        BlockReport::new(code, self.fields, &standing, self.warps)
    }

    fn report(&self, loops: &Loops, id: Loop, way: Way) -> (LoopReport, Steady, Way) {
        let code = self.subject.code;
        let insts = &way.insts;
        let steady = Steady::new(code, insts, self.fields, self.warps, true);
        let graph = build(code.f, insts, &Mined::new(code), BuildOptions { carried: true });
        let units = Units::new(code, insts, steady.cycles);
        let recurrence = critical_recurrence(&graph).map_or(0, |found| found.cycles() as u32);
        let all = code.f.blocks().filter(|&block| loops.contains(id, block)).count();
        let chain = Chain { code, insts, fields: self.fields, graph: &graph, steady: &steady };
        let report = LoopReport {
            offset: insts.first().map_or(0, |&inst| (self.subject.offset)(inst)),
            header: loops.header(id).as_u32(),
            depth: loops.depth(id),
            class: Profile::new(code, insts, Place::Loop).class,
            blocks: way.blocks.iter().map(|block| block.as_u32()).collect(),
            other_blocks: (all - way.blocks.len()) as u32,
            metrics: self.metrics(insts),
            warps: self.warps as u32,
            cycles: steady.cycles,
            latency: steady.alone,
            bounds: Bounds {
                issue: insts.len() as u32,
                unit: units.units.iter().map(|unit| unit.cycles).max().unwrap_or(0),
                data_path: units.data_path.0,
                recurrence,
                recurrence_shared: rounded(f64::from(recurrence) / self.warps as f64),
            },
            bound_by: units.bound_by(steady.shared()),
            shared: steady.shared().clone(),
            own: steady.own(),
            hiding: hiding(code, insts, self.fields, true),
            scoreboards: pressure(code, insts, self.fields, &steady),
            timeline: self.timeline(insts, &steady),
            critical: chain.links(self.subject.offset),
            trace: None,
            units,
        };
        (report, steady, way)
    }

    fn metrics(&self, insts: &[Inst]) -> Metrics {
        let (code, f) = (self.subject.code, self.subject.code.f);
        let profile = Profile::new(code, insts, Place::Loop);
        let mut metrics =
            Metrics { instructions: insts.len() as u32, macs: profile.macs, ..Metrics::default() };
        metrics.shared_accesses = profile.shared;
        for &inst in insts {
            let effects = f.inst(inst).effects;
            let stores = f.accesses(inst).any(|(access, write)| write && access.space.is_global());
            metrics.global_loads += u32::from(code.loads_global(inst));
            metrics.global_stores += u32::from(stores);
            metrics.barriers += u32::from(effects.contains(Effects::BARRIER));
            metrics.branches += u32::from(effects.contains(Effects::BRANCH));
            metrics.live_peak = metrics.live_peak.max(self.live.get(index(inst)).copied().unwrap_or(0));
            metrics.stalls += u32::from(self.fields[index(inst)].stall);
            metrics.waits += u32::from(self.fields[index(inst)].wait != 0);
        }
        metrics
    }

    fn timeline(&self, insts: &[Inst], steady: &Steady) -> Vec<Moment> {
        let code = self.subject.code;
        let issues = steady.iteration();
        let Some(first) = issues.first() else { return Vec::new() };
        let start = first.at - first.lost.total().min(first.at);
        let latencies = &self.latencies;
        let moment = |issue: &Issue| {
            let inst = insts[issue.step];
            let op = code.op(inst);
            let latency =
                if op.decoupled { u32::from(op.expected.write) } else { latencies[index(inst)].unwrap_or(1) };
            Moment {
                offset: (self.subject.offset)(inst),
                arrives: issue.at - start - issue.lost.total().min(issue.at - start),
                issued: issue.at - start,
                done: issue.at - start + latency,
                held_by: held_by(issue),
                unit: crate::units::of(code, inst)
                    .into_iter()
                    .max_by_key(|&(_, cycles)| cycles)
                    .map(|(unit, _)| unit),
            }
        };
        issues.iter().map(moment).collect()
    }
}

/// By instruction: the longest distance that somebody of its block keeps who reads its result.
fn latencies(code: &Code<'_>) -> Vec<Option<u32>> {
    let model = Mined::new(code);
    let mut longest = vec![None; code.f.inst_count()];
    for block in code.f.blocks() {
        let insts = code.f.block_insts(block);
        let graph = build(code.f, insts, &model, BuildOptions { carried: false });
        for edge in
            graph.edges().iter().filter(|edge| edge.kind == EdgeKind::Raw && !graph.is_join(edge.from))
        {
            let own = &mut longest[index(insts[edge.from.index()])];
            *own = (*own).max(Some(u32::from(edge.latency)));
        }
    }
    longest
}

/// What held an instruction up for longest.
fn held_by(issue: &Issue) -> Option<String> {
    let longest = causes(&issue.lost).into_iter().rev().max_by_key(|(cycles, _)| *cycles);
    longest.filter(|(cycles, _)| *cycles > 0).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sassafras_ir::text::parse;
    use std::fmt::Write;

    /// How many loops of a nest so deep are looked at, and which of them last.
    fn nest(depth: usize) -> (usize, u32) {
        let mut text = "func f sm_90 (R0, R2) {\n^a:\n R4 = FADD R0, R2\n".to_owned();
        for n in 0..depth {
            let _ = writeln!(text, "^head{n}:\n R5 = FADD R4, R2\n R6 = FADD R4, R2");
        }
        for n in (0..depth).rev() {
            let _ = writeln!(text, "^latch{n}:\n R7 = FADD R6, R2\n @P1 BRA ^head{n} !branch");
        }
        text += "^b:\n EXIT !exit\n}";
        let module = parse(&text).expect("parses");
        let f = &module.functions[0];
        let cfg = Cfg::new(f);
        let loops = Loops::new(f, &cfg, &Dominators::new(f, &cfg));
        assert_eq!(loops.len(), depth);
        let found = looked_at(f, &cfg, &loops);
        assert!(found.is_sorted_by_key(|(id, _)| loops.depth(*id)));
        (found.len(), found.last().map_or(0, |(id, _)| loops.depth(*id)))
    }

    #[test]
    fn deep_nests_lose_their_outer_loops() {
        assert_eq!(nest(100), (100, 100));
        let (found, deepest) = nest(2000);
        assert!((100..1000).contains(&found), "{found}");
        assert_eq!(deepest, 2000, "inner loops matter most");
    }
}
