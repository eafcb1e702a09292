//! Goal: registers in use along the code, as a curve, with the registers that are reserved and where more warps would fit.
//!
//! Cost: linear in the instructions. Source: the liveness of the analysis; steps of occupancy as it has them.

use super::svg::{Short, Svg};
use sassafras_analyze::Kernel;
use std::fmt::Write;

/// Pixels: the frame, and the room for numbers at the left and below.
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 190.0;
const LEFT: f64 = 36.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 20.0;
/// Room for words at the right.
const RIGHT: f64 = 150.0;
/// Words of two lines closer than this would overlap.
const APART: f64 = 13.0;

/// Draws a kernel; none where registers are not known.
pub fn pressure(kernel: &Kernel) -> Option<String> {
    let live: Vec<u32> = kernel.instructions.iter().filter_map(|row| row.live).collect();
    if live.len() < 2 {
        return None;
    }
    let occupancy = &kernel.occupancy;
    let top = live.iter().copied().chain(occupancy.registers).max().unwrap_or(1).max(1);
    let frame = Frame { count: live.len(), top: f64::from(top) };
    let label = format!("Registers in use along the code: {} at most", kernel.summary.live_peak);
    let mut svg = Svg::new("pressure", WIDTH, HEIGHT, &label);
    bands(&mut svg, kernel, &frame);
    curve(&mut svg, &live, &frame);
    let mut lines = Vec::new();
    if let Some(registers) = occupancy.registers {
        lines.push((registers, "limit", format!("{registers} reserved")));
        if let (Some(save), Some(warps)) = (occupancy.registers_to_save, occupancy.warps_then) {
            lines.push((registers - save, "step", format!("{save} fewer: {warps} warps")));
        }
    }
    lines.push((kernel.summary.live_peak, "peak", format!("{} in use at most", kernel.summary.live_peak)));
    lines.sort_by_key(|line| std::cmp::Reverse(line.0));
    let mut above = 0.0;
    for (registers, class, words) in lines {
        let y = frame.y(registers);
        svg.path(class, &format!("M{LEFT} {}H{}", Short(y), WIDTH - RIGHT));
        above = (y + 4.0).max(above + APART);
        svg.text("words", WIDTH - RIGHT + 8.0, above, &words);
    }
    svg.text("n", 4.0, frame.y(0) + 4.0, "0");
    svg.path("frame", &format!("M{LEFT} {}V{}H{}", TOP, frame.y(0), WIDTH - RIGHT));
    if let (Some(first), Some(last)) = (kernel.instructions.first(), kernel.instructions.last()) {
        svg.text("n", LEFT, HEIGHT - 5.0, &format!("{:04x}", first.offset));
        svg.text("n end", WIDTH - RIGHT, HEIGHT - 5.0, &format!("{:04x}", last.offset));
    }
    Some(svg.finish())
}

/// Where things are.
struct Frame {
    count: usize,
    top: f64,
}

impl Frame {
    fn x(&self, at: usize) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * at as f64 / self.count as f64
    }

    fn y(&self, registers: u32) -> f64 {
        HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * f64::from(registers) / self.top
    }
}

/// The hottest loop, shaded.
fn bands(svg: &mut Svg, kernel: &Kernel, frame: &Frame) {
    let Some(hottest) = kernel.loops.first() else { return };
    let inside: Vec<bool> =
        kernel.instructions.iter().map(|row| hottest.blocks.contains(&row.block)).collect();
    let mut at = 0;
    let mut named = false;
    for run in inside.chunk_by(|a, b| a == b) {
        if run[0] {
            let (from, until) = (frame.x(at), frame.x(at + run.len()));
            svg.open("the hottest loop");
            svg.block("band", from, TOP, until - from, HEIGHT - TOP - BOTTOM);
            svg.close();
            if !named {
                svg.text("n", from, TOP - 4.0, "hottest loop");
                named = true;
            }
        }
        at += run.len();
    }
}

/// The area under the registers in use; of many instructions the most of those that share a pixel.
fn curve(svg: &mut Svg, live: &[u32], frame: &Frame) {
    let share = live.len().div_ceil((WIDTH - LEFT - RIGHT) as usize).max(1);
    let mut d = format!("M{} {}", Short(LEFT), Short(frame.y(0)));
    let mut now = None;
    for (at, some) in live.chunks(share).enumerate() {
        let most = some.iter().copied().max();
        if let Some(registers) = most.filter(|_| most != now) {
            let _ = write!(d, "H{}V{}", Short(frame.x(at * share)), Short(frame.y(registers)));
        }
        now = most;
    }
    let _ = write!(d, "H{}V{}z", Short(frame.x(live.len())), Short(frame.y(0)));
    svg.path("area", &d);
}
