//! Goal: one iteration of a loop as a picture: a row per instruction, cycles from left to right.
//!
//! Three parts that scroll together: the axis above, instructions as text at the left, and their bars. Hatched is an instruction that is
//! held up, solid one that is issued, and a thin line leads to its result. Results that come after the iteration are cut with an arrow.
//!
//! Cost: linear. Source: the timeline view of llvm-mca.

use super::svg::{Escaped, Short, Svg};
use sassafras_analyze::kernel::Moment;
use sassafras_analyze::{Kernel, LoopReport};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Pixels: of a row, of the axis, of all cycles together where that is possible, and of one cycle.
const ROW: f64 = 16.0;
const AXIS: f64 = 22.0;
const WIDE: f64 = 820.0;
const CYCLE: (f64, f64) = (2.0, 14.0);
/// Pixels of a character of the words inside a bar.
const CHARACTER: f64 = 5.6;
/// Cycles between two lines of the grid: the first of these that leaves them far enough apart.
const STEPS: [u32; 12] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];
const APART: f64 = 48.0;
/// Longer instructions are cut.
const TEXT: usize = 44;

/// A picture in parts.
pub struct Timeline {
    /// The axis.
    pub axis: String,
    /// A line per instruction.
    pub labels: String,
    /// Their bars.
    pub bars: String,
    /// Instructions that are shown.
    pub shown: usize,
}

/// Draws a loop, so many instructions of it at most; none where it did not run.
pub fn timeline(kernel: &Kernel, found: &LoopReport, most: usize) -> Option<Timeline> {
    let moments = &found.timeline[..found.timeline.len().min(most)];
    let last = moments.iter().map(|moment| moment.issued).max()? + 1;
    let scale = (WIDE / f64::from(last)).clamp(CYCLE.0, CYCLE.1);
    let (width, height) = (f64::from(last) * scale + 8.0, ROW * moments.len() as f64);
    let label = format!("One iteration of the loop at 0x{:x}, instruction by instruction", found.offset);
    let mut axis = Svg::new("axis", width, AXIS, "Cycles");
    let mut bars = Svg::new("bars", width, height, &label);
    grid(&mut axis, &mut bars, last, scale, height);
    for (row, moment) in moments.iter().enumerate() {
        bar(&mut bars, moment, row, scale, width);
    }
    let labels = labels(kernel, found, moments);
    Some(Timeline { axis: axis.finish(), labels, bars: bars.finish(), shown: moments.len() })
}

fn grid(axis: &mut Svg, bars: &mut Svg, last: u32, scale: f64, height: f64) {
    let far = |step: &&u32| f64::from(**step) * scale >= APART;
    let step = STEPS.iter().find(far).copied().unwrap_or(STEPS[STEPS.len() - 1]);
    let mut lines = String::new();
    for cycle in (0..=last).step_by(step as usize) {
        let x = f64::from(cycle) * scale;
        let _ = write!(lines, "M{} 0V{}", Short(x), Short(height));
        axis.text("", x + 3.0, AXIS - 7.0, &cycle.to_string());
    }
    bars.path("grid", &lines);
}

fn bar(svg: &mut Svg, moment: &Moment, row: usize, scale: f64, width: f64) {
    let at = |cycle: u32| f64::from(cycle) * scale;
    let y = row as f64 * ROW;
    let unit = moment.unit.map_or_else(|| "u".to_owned(), |unit| format!("u{}", unit as usize));
    svg.open(&words(moment));
    svg.block("h", 0.0, y, width, ROW);
    let (from, until) = (at(moment.arrives), at(moment.issued));
    svg.block("w", from, y + 3.0, until - from, ROW - 6.0);
    if let Some(by) = &moment.held_by
        && until - from > CHARACTER * by.len() as f64 + 8.0
    {
        svg.text("by", from + 4.0, y + 11.5, by);
    }
    svg.block(&unit, until, y + 2.0, scale.max(3.0), ROW - 4.0);
    let (start, end) = (until + scale.max(3.0), at(moment.done));
    svg.block(&format!("{unit} r"), start, y + ROW / 2.0 - 1.0, end - start, 2.0);
    if end > width {
        svg.path(&unit, &format!("M{} {}l-5 -3v6z", Short(width), Short(y + ROW / 2.0)));
    }
    svg.close();
}

/// What a row shows, for those who point at it.
fn words(moment: &Moment) -> String {
    let Moment { arrives, issued, done, held_by, .. } = moment;
    let mut text = format!("Issued in cycle {issued}");
    if let Some(by) = held_by {
        let _ = write!(text, ", held up since {arrives} by {by}");
    }
    if *done > issued + 1 {
        let _ = write!(text, "; result in cycle {done}");
    }
    text
}

fn labels(kernel: &Kernel, found: &LoopReport, moments: &[Moment]) -> String {
    let texts: BTreeMap<u64, &str> =
        kernel.instructions.iter().map(|row| (row.offset, row.text.as_str())).collect();
    let critical: BTreeSet<u64> = found.critical.iter().map(|link| link.offset).collect();
    let mut out = String::new();
    for moment in moments {
        let text = texts.get(&moment.offset).copied().unwrap_or_default();
        let mut short: String = text.chars().take(TEXT).collect();
        if short.len() < text.len() {
            short.pop();
            short.push('…');
        }
        let mark = if critical.contains(&moment.offset) { '◆' } else { ' ' };
        let (unit, name) =
            moment.unit.map_or(("u".to_owned(), ""), |unit| (format!("u{}", unit as usize), unit.name()));
        let _ = writeln!(
            out,
            "{mark}<i>{:04x}</i><b class={unit}></b>{name:6} {}",
            moment.offset,
            Escaped(&short)
        );
    }
    out
}
