//! Goal: an analysis as text, in views: each answers one question, and is left out where there is nothing to say.
//!
//! Source: the layout of the statistics that the ptxas-scheduling document prints, and the views of llvm-mca.

use crate::cause::cause;
use crate::columns::{aligned, columns, counted, known, number};
use anstyle::{AnsiColor, Style};
use sassafras_analyze::hiding::Hiding;
use sassafras_analyze::kernel::Moment;
use sassafras_analyze::scoreboards::{Pressure, UnderWay};
use sassafras_analyze::units::Units;
use sassafras_analyze::{Kernel, LoopReport};
use std::fmt::Write;

/// A question that is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// The kernel in a few numbers, and its warps.
    Summary,
    /// Scheduling guidance: latencies, the bottleneck, units, loops.
    Guidance,
    /// What the cycles of each loop go to.
    Lost,
    /// Latency hiding.
    Hiding,
    /// Scoreboard pressure.
    Scoreboards,
    /// Statistics of blocks, and ratios of loop classes.
    Blocks,
    /// Every instruction.
    Instructions,
    /// Which units each loop keeps busy.
    Resources,
    /// A loop in its steady state, as a picture.
    Timeline,
    /// What an iteration waits for.
    Critical,
}

impl View {
    /// All of them, in the order in which they are printed.
    pub const ALL: [View; 10] = [
        View::Summary,
        View::Guidance,
        View::Lost,
        View::Hiding,
        View::Scoreboards,
        View::Blocks,
        View::Resources,
        View::Critical,
        View::Timeline,
        View::Instructions,
    ];
    /// Those that are printed where nobody asks for others.
    pub const USUAL: [View; 6] =
        [View::Summary, View::Guidance, View::Lost, View::Hiding, View::Scoreboards, View::Critical];
}

/// Which parts of a kernel are shown.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// The views.
    pub views: Vec<View>,
    /// Only loops that start at these offsets, or with blocks of these numbers; all without any.
    pub loops: Vec<u64>,
    /// Only these blocks; all without any.
    pub blocks: Vec<u32>,
}

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
/// Columns of a timeline.
const WIDE: u32 = 100;
/// Wider timelines are cut.
const MOST_ROWS: usize = 400;

/// A kernel, view by view.
pub fn kernel(kernel: &Kernel, parts: &Parts) -> String {
    let mut out = String::new();
    let s = &kernel.summary;
    let _ = writeln!(out, "{BOLD}{}{BOLD:#} ({})", kernel.name, kernel.arch);
    for &view in View::ALL.iter().filter(|view| parts.views.contains(view)) {
        let shown: Vec<&LoopReport> = kernel.loops.iter().filter(|found| parts.takes_loop(found)).collect();
        match view {
            View::Summary => {
                let _ = writeln!(
                    out,
                    "{} in {}, {}; estimated latency {} cycles, {} per warp when all overlap",
                    counted(s.instructions, "instruction"),
                    counted(s.blocks, "block"),
                    counted(s.loops, "loop"),
                    number(s.latency),
                    number(s.throughput)
                );
                if s.loops_left_out > 0 {
                    let left_out = counted(s.loops_left_out, "loop");
                    let _ = writeln!(out, "{left_out} left out: there is too much in loops inside loops");
                }
                occupancy(&mut out, kernel);
            }
            View::Guidance => guidance(&mut out, kernel, &shown),
            View::Lost => lost(&mut out, &shown),
            View::Hiding => {
                hiding(&mut out, "the function", &kernel.hiding);
                for found in shown {
                    hiding(&mut out, &title(found), &found.hiding);
                }
            }
            View::Scoreboards => {
                scoreboards(&mut out, "the function", &kernel.scoreboards);
                for found in shown {
                    scoreboards(&mut out, &title(found), &found.scoreboards);
                }
            }
            View::Blocks => blocks(&mut out, kernel, parts),
            View::Instructions => instructions(&mut out, kernel, parts),
            View::Resources => {
                for found in shown {
                    resources(&mut out, &title(found), &found.units);
                }
            }
            View::Timeline => {
                for found in shown {
                    timeline(&mut out, kernel, found);
                }
            }
            View::Critical => {
                for found in shown {
                    critical(&mut out, kernel, found);
                }
            }
        }
    }
    out.push('\n');
    out
}

/// A line per kernel.
pub fn list(kernels: &[Kernel]) -> String {
    let rows = kernels.iter().map(|kernel| {
        let hottest = kernel.loops.first();
        let of = |part: fn(&LoopReport) -> f64| {
            hottest.map_or_else(|| "-".to_owned(), |found| number(part(found)))
        };
        vec![
            kernel.name.clone(),
            kernel.arch.clone(),
            kernel.summary.instructions.to_string(),
            kernel.occupancy.warps.to_string(),
            number(kernel.summary.latency),
            of(|found| found.cycles),
            of(|found| found.units.issue_utilisation),
            known(kernel.units.bottleneck),
            kernel.bound_by.to_string(),
        ]
    });
    let head =
        ["kernel", "arch", "insts", "warps", "latency", "loop cycles", "issue %", "busiest", "bound by"];
    columns(&head, 2, true, rows.collect())
}

impl Parts {
    fn takes_loop(&self, found: &LoopReport) -> bool {
        let named = self.loops.iter().any(|&wanted| found.is_at(wanted));
        let blocks = self.blocks.is_empty() || found.blocks.iter().any(|block| self.blocks.contains(block));
        (self.loops.is_empty() || named) && blocks
    }

    fn takes_block(&self, block: u32) -> bool {
        self.blocks.is_empty() || self.blocks.contains(&block)
    }
}

fn title(found: &LoopReport) -> String {
    format!("the loop at /*{:04x}*/", found.offset)
}

fn head(out: &mut String, text: &str) {
    let _ = writeln!(out, "\n{BOLD}{text}{BOLD:#}");
}

fn occupancy(out: &mut String, kernel: &Kernel) {
    let o = &kernel.occupancy;
    let _ = write!(
        out,
        "{} registers ({} in use at most), {} threads per block, {} bytes of shared memory: {} of {} warps per scheduler",
        known(o.registers),
        kernel.summary.live_peak,
        known(o.threads),
        o.shared,
        o.warps,
        o.most
    );
    if let (Some(save), Some(then)) = (o.registers_to_save, o.warps_then) {
        let _ = write!(out, "; {save} registers fewer make that {then}");
    }
    if let Some(spare) = o.registers_to_spare.filter(|&spare| spare > 0) {
        let _ = write!(out, "; {spare} more cost none");
    }
    out.push('\n');
}

fn guidance(out: &mut String, kernel: &Kernel, loops: &[&LoopReport]) {
    head(out, "SCHEDULING GUIDANCE:");
    let _ = writeln!(out, "Estimated latency of the function: {} cycles", number(kernel.summary.latency));
    for found in loops {
        let _ = writeln!(
            out,
            "Estimated latency of {}: {} cycles per iteration alone, {} per warp with {} warps",
            title(found),
            number(found.latency),
            number(found.cycles),
            found.warps
        );
    }
    let units = &kernel.units;
    let _ = writeln!(out, "Bottleneck: {}; bound by {}", known(units.bottleneck), kernel.bound_by);
    let _ = writeln!(out, "Resource utilisation of the hottest code, in per cent of its cycles:");
    let used = units.units.iter().map(|unit| format!("{} {}", unit.unit, number(unit.utilisation)));
    let _ = writeln!(out, "  {}", used.collect::<Vec<_>>().join(", "));
    let _ = writeln!(
        out,
        "  issue slots {}, data path of shared memory and the first cache {}",
        number(units.issue_utilisation),
        number(units.data_path.1)
    );
    if loops.is_empty() {
        return;
    }
    let _ = writeln!(out, "LOOP STATIC METRICS");
    let rows = loops.iter().map(|found| {
        let m = &found.metrics;
        let mut row = vec![format!("/*{:04x}*/", found.offset), found.class.name().to_owned()];
        row.extend(
            [found.depth, m.instructions, m.macs, m.global_loads, m.global_stores, m.shared_accesses]
                .map(|n| n.to_string()),
        );
        row.extend([m.barriers, m.branches, m.live_peak, m.stalls, m.waits].map(|n| n.to_string()));
        let b = &found.bounds;
        row.extend([b.issue, b.unit, b.data_path, b.recurrence].map(|n| n.to_string()));
        row
    });
    let names = [
        "loop",
        "class",
        "depth",
        "insts",
        "macs",
        "LDG",
        "STG",
        "shared",
        "BAR",
        "BRA",
        "regs",
        "stalls",
        "waits",
        "≥ issue",
        "≥ unit",
        "≥ data",
        "≥ chain",
    ];
    out.push_str(&columns(&names, 2, false, rows.collect()));
}

fn lost(out: &mut String, loops: &[&LoopReport]) {
    if loops.is_empty() {
        return;
    }
    head(out, "What the cycles of an iteration go to");
    let rows = loops
        .iter()
        .flat_map(|found| [(found, "all warps", &found.shared), (found, "one alone", &found.own)]);
    let rows = rows.map(|(found, who, c)| {
        let busy = c.busy.iter().map(|(pipe, cycles)| format!("{pipe} {}", number(*cycles)));
        let mut row = vec![format!("/*{:04x}*/", found.offset), who.to_owned()];
        row.extend([c.issued, c.register_banks, c.stall, c.scoreboard, c.beside, c.barrier].map(number));
        row.push(busy.collect::<Vec<_>>().join(", "));
        row
    });
    let names =
        ["loop", "warps", "issued", "banks", "stalls", "scoreboards", "beside", "barriers", "busy pipes"];
    out.push_str(&columns(&names, 2, true, rows.collect()));
}

fn hiding(out: &mut String, of: &str, found: &[Hiding]) {
    if found.iter().all(|hiding| hiding.num == 0) {
        return;
    }
    head(out, &format!("Latency hiding of {of}"));
    for h in found {
        let (avg, whole) = (number(h.avg), h.whole);
        let _ = writeln!(
            out,
            "{} latency hiding: Num {}, Avg {avg}, Min {}, Max {} (all of it: {whole})",
            h.name, h.num, h.min, h.max
        );
    }
}

fn scoreboards(out: &mut String, of: &str, p: &Pressure) {
    if p.all.instructions == 0 {
        return;
    }
    let line = |u: &UnderWay| {
        format!(
            "{}, {} under way at most, {} in the mean",
            counted(u.instructions, "instruction"),
            u.peak,
            number(u.mean)
        )
    };
    head(out, &format!("SCOREBOARD PRESSURE GUIDANCE ({} SBs) of {of}:", p.model));
    let _ = writeln!(out, "All Insts: {}", line(&p.all));
    let _ = writeln!(out, "All Unordered-VQ Insts: {}", line(&p.unordered));
    let insts = p.unordered_instructions.iter().map(|(name, count)| format!("{name} {count}"));
    let _ = writeln!(out, "Unordered-VQ INST Stat: {}", or_none(insts));
    let queues = p.queues.iter().map(|(name, found)| format!("{name}: {}", line(found)));
    let _ = writeln!(out, "Unordered VQ Stat: {}", or_none(queues));
    let _ = writeln!(out, ": SbOverload {}, SbStallDiff {}", p.overload, known(p.stall_difference));
}

fn or_none(parts: impl Iterator<Item = String>) -> String {
    let text = parts.collect::<Vec<_>>().join(", ");
    if text.is_empty() { "none".to_owned() } else { text }
}

fn blocks(out: &mut String, kernel: &Kernel, parts: &Parts) {
    head(out, "Blocks");
    let rows = kernel.blocks.iter().filter(|block| parts.takes_block(block.block)).map(|b| {
        vec![
            b.block.to_string(),
            format!("/*{:04x}*/", b.offset),
            b.class.name().to_owned(),
            b.depth.to_string(),
            b.instructions.to_string(),
            b.sub_regions.to_string(),
            if b.header { "yes" } else { "no" }.to_owned(),
            b.hints.to_string(),
            b.data_path.to_string(),
            number(b.time),
            number(b.tepid_time),
            b.macs.to_string(),
            b.mac_reuses.to_string(),
            number(b.mac_util),
            number(b.tepid_mac_util),
        ]
    });
    let names = [
        "block",
        "at",
        "class",
        "depth",
        "insts",
        "tSubBb",
        "HeaderBb",
        "Nvopts",
        "LsuResBusy",
        "Time",
        "TepidTime",
        "MacInsts",
        "MacReuses",
        "MacUtil",
        "TepidMacUtil",
    ];
    out.push_str(&columns(&names, 3, false, rows.collect()));
    for r in kernel.ratios.iter().filter(|ratio| parts.takes_block(ratio.block)) {
        let (wait, tepid) = (number(r.wait), number(r.tepid));
        let _ = writeln!(
            out,
            "block {} ({}) against block {}: {} {wait}, {} {tepid}",
            r.block,
            r.class.name(),
            r.against,
            r.wait_name,
            r.tepid_name
        );
    }
}

fn instructions(out: &mut String, kernel: &Kernel, parts: &Parts) {
    head(out, "Instructions");
    let rows = kernel.instructions.iter().filter(|row| parts.takes_block(row.block)).map(|r| {
        let waits = r.waits.iter().map(|wait| {
            let by =
                wait.set_by.iter().map(|offset| format!("/*{offset:04x}*/")).collect::<Vec<_>>().join(" ");
            let by = if by.is_empty() { "an earlier block".to_owned() } else { by };
            format!("SB{} from {by}", wait.board)
        });
        let sets = [("W", r.sets[0]), ("R", r.sets[1])];
        let sets = sets.iter().filter_map(|(name, board)| board.map(|board| format!("{name}{board}")));
        let varies = if r.varies && r.latency.is_some() { "~" } else { "" };
        vec![
            format!("/*{:04x}*/", r.offset),
            r.text.clone(),
            r.class.map_or("?", |class| class.name()).to_owned(),
            known(r.unit),
            r.unit_cycles.to_string(),
            format!("{varies}{}", known(r.latency)),
            format!("{}{}", r.stall, if r.yields { "Y" } else { "" }),
            sets.collect::<Vec<_>>().join(" "),
            known(r.live),
            known(r.lost),
            waits.collect::<Vec<_>>().join(", "),
        ]
    });
    let names = [
        "at",
        "instruction",
        "class",
        "unit",
        "busy",
        "latency",
        "stall",
        "sets",
        "regs",
        "lost",
        "waits for",
    ];
    out.push_str(&columns(&names, 4, true, rows.collect()));
}

fn resources(out: &mut String, of: &str, units: &Units) {
    head(out, &format!("Units, per iteration of {of}"));
    let rows = units.units.iter().filter(|unit| unit.cycles > 0).map(|unit| {
        let bar = "█".repeat((unit.utilisation / 2.5).round().clamp(0.0, 40.0) as usize);
        let title = unit.unit.facts().title.clone();
        let mut row = vec![unit.unit.to_string(), title];
        row.extend([unit.instructions, unit.cycles].map(|n| n.to_string()));
        row.extend([number(unit.utilisation), bar]);
        row
    });
    out.push_str(&columns(&["unit", "what for", "insts", "cycles", "%", ""], 2, true, rows.collect()));
}

fn critical(out: &mut String, kernel: &Kernel, found: &LoopReport) {
    if found.critical.is_empty() {
        return;
    }
    head(out, &format!("What an iteration of {} waits for, one warp alone", title(found)));
    let text = |offset: u64| {
        let row = kernel.instructions.iter().find(|row| row.offset == offset);
        row.map_or_else(String::new, |row| row.text.clone())
    };
    let rows = found.critical.iter().map(|link| {
        let cause = cause(&link.cause);
        vec![format!("+{}", link.cycles), format!("/*{:04x}*/", link.offset), text(link.offset), cause]
    });
    out.push_str(&aligned(&["cycles", "at", "instruction", "because of"], |at| at > 0, rows.collect()));
}

/// A row per instruction: `·` while it is held up, `▶` when it is issued, `═` until its result is there.
fn timeline(out: &mut String, kernel: &Kernel, found: &LoopReport) {
    head(out, &format!("One iteration of {}, one warp alone, in its steady state", title(found)));
    let last = found.timeline.iter().map(|moment| moment.issued).max().unwrap_or(0);
    let scale = last.div_ceil(WIDE).max(1);
    let _ = writeln!(out, "{DIM}a column is {scale} cycles; · held up, ▶ issued, ═ under way{DIM:#}");
    let issued = AnsiColor::Green.on_default();
    let held = AnsiColor::Red.on_default();
    for moment in found.timeline.iter().take(MOST_ROWS) {
        let Moment { offset, arrives, issued: at, done, held_by, .. } = moment;
        let row = kernel.instructions.iter().find(|row| row.offset == *offset);
        let text: String = row.map_or("", |row| &row.text).chars().take(36).collect();
        let waits = "·".repeat(((at / scale) - (arrives / scale)) as usize);
        let flies = (done / scale).min(WIDE).saturating_sub(at / scale + 1);
        let space = " ".repeat((arrives / scale) as usize);
        let by = held_by.as_deref().map_or_else(String::new, |by| format!("  {DIM}{by}{DIM:#}"));
        let flies = "═".repeat(flies as usize);
        let _ = writeln!(
            out,
            "/*{offset:04x}*/ {text:36} {at:>5} |{space}{held}{waits}{held:#}{issued}▶{issued:#}{flies}{by}"
        );
    }
}
