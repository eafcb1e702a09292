//! Goal: what bounds a kernel and what that means, in sentences for people who do not know how instructions are scheduled.
//!
//! Cost: constant. Source: what the analysis says; every number is one of its.

use crate::columns::number;
use sassafras_analyze::steady::{Cycles, Idle};
use sassafras_analyze::units::{Bound, Units};
use sassafras_analyze::{Kernel, LoopReport};

/// What bounds a kernel, sentence by sentence.
pub fn words(kernel: &Kernel) -> Vec<String> {
    let mut text = Vec::new();
    match kernel.loops.first() {
        Some(hottest) => {
            text.push(where_time_goes(hottest));
            text.push(bound(hottest.bound_by, &hottest.units, Some(hottest)));
        }
        None => {
            text.push(format!(
                "There is no loop: the code runs through once, in {} cycles for one warp alone.",
                number(kernel.summary.latency)
            ));
            text.push(bound(kernel.bound_by, &kernel.units, None));
        }
    }
    text.push(busy(&kernel.units));
    text.push(occupancy(kernel));
    text
}

fn where_time_goes(hottest: &LoopReport) -> String {
    let (cycles, alone) = (number(hottest.cycles), number(hottest.latency));
    let base = format!("Most of the time goes to the loop at 0x{:x}", hottest.offset);
    match hottest.warps {
        1 => format!("{base}: {cycles} cycles for one iteration."),
        warps => format!(
            "{base}: with {warps} warps taking turns, one iteration costs {cycles} cycles per warp; a warp alone would need {alone}."
        ),
    }
}

fn bound(by: Bound, units: &Units, hottest: Option<&LoopReport>) -> String {
    match by {
        Bound::Unit(unit) => format!(
            "The {unit} unit ({}) is busy {} % of the time: it is the bottleneck. Another order of the same instructions helps little; \
             fewer instructions for this unit, or work moved to another one, would.",
            unit.facts().title,
            number(units.units[unit as usize].utilisation)
        ),
        Bound::DataPath => format!(
            "The path between registers and shared memory or the first cache is busy {} % of the time: data cannot move faster. Fewer \
             bytes per iteration, or values kept in registers for longer, would help.",
            number(units.data_path.1)
        ),
        Bound::Issue => format!(
            "An instruction starts in {} % of all cycles, and there is one issue slot per cycle: the scheduler has no time left. Only \
             fewer instructions make this faster.",
            number(units.issue_utilisation)
        ),
        Bound::IssueAndBanks => format!(
            "An instruction starts in {} % of all cycles; most of the others are lost because operands of one instruction lie in the \
             same register bank and are read one after the other{}. Other register numbers, or fewer instructions, make this faster.",
            number(units.issue_utilisation),
            hottest.map_or_else(String::new, |found| format!(
                " ({} cycles per iteration and warp)",
                number(found.shared.register_banks)
            ))
        ),
        Bound::Latency(idle) => latency(idle, hottest.map(|found| &found.shared)),
    }
}

fn latency(idle: Idle, cycles: Option<&Cycles>) -> String {
    let spent = |part: &dyn Fn(&Cycles) -> f64| {
        let cycles = cycles.map(part).filter(|&cycles| cycles > 0.0);
        cycles.map_or_else(String::new, |cycles| {
            format!(" That costs {} cycles per iteration and warp.", number(cycles))
        })
    };
    let base = "No unit is full: in many cycles no warp has an instruction that can start.";
    match idle {
        Idle::Stalls => format!(
            "{base} Most of these cycles pass because instructions need results that take a fixed time (stalls).{} More independent \
             instructions in between, or more warps, would fill the gaps.",
            spent(&|cycles| cycles.stall)
        ),
        Idle::Scoreboards => format!(
            "{base} Most of these cycles pass while warps wait for memory or other slow results (scoreboards).{} Loads that are \
             started earlier, more work between a load and its use, or more warps would fill the gaps.",
            spent(&|cycles| cycles.scoreboard)
        ),
        Idle::Beside => format!(
            "{base} Most of these cycles pass while warps wait for work that runs beside them: copies into shared memory or matrix \
             products.{} Starting these earlier, or keeping more of them under way, would fill the gaps.",
            spent(&|cycles| cycles.beside)
        ),
        Idle::Barriers => format!(
            "{base} Most of these cycles pass at barriers, where warps wait for each other.{} Fewer barriers, or more blocks at \
             once, would fill the gaps.",
            spent(&|cycles| cycles.barrier)
        ),
        Idle::Pipe(pipe) => format!(
            "In many cycles no warp has an instruction that can start, mostly because the {pipe} pipe is still busy with the one \
             before.{} Its instructions come in bursts: spread among others they would wait less.",
            spent(&|cycles| cycles.busy.get(pipe).copied().unwrap_or(0.0))
        ),
    }
}

fn busy(units: &Units) -> String {
    let mut used: Vec<_> = units.units.iter().filter(|unit| unit.cycles > 0).collect();
    used.sort_by(|a, b| b.utilisation.total_cmp(&a.utilisation));
    let mut parts: Vec<String> =
        used.iter().take(3).map(|unit| format!("{} {} %", unit.unit, number(unit.utilisation))).collect();
    parts.push(format!("issue slots {} %", number(units.issue_utilisation)));
    format!("How busy things are: {}.", parts.join(", "))
}

fn occupancy(kernel: &Kernel) -> String {
    let o = &kernel.occupancy;
    let mut text = format!("{} of {} possible warps fit on each scheduler", o.warps, o.most);
    if let (Some(save), Some(then)) = (o.registers_to_save, o.warps_then) {
        text += &format!("; with {save} registers fewer per thread, {then} would");
    }
    text + "."
}
