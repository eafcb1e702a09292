//! Goal: the modulo table as a drawing: a line per resource, II cycles wide, a box per hold.
//!
//! Holds that wrap are two boxes; those longer than II fill the line. Colours are stages; a title says which operation it is.

use crate::page::svg::Svg;
use sassafras_tile::view::View;

const LEFT: f64 = 150.0;
const WIDTH: f64 = 800.0;
const LINE: f64 = 22.0;
/// Colours of stages; more stages begin again.
const COLOURS: u32 = 6;

/// Draws the table.
pub fn draw(v: &View) -> String {
    let ii = f64::from(v.ii.max(1));
    let height = LINE * (v.resources.len() as f64 + 1.0) + 8.0;
    let label = format!("modulo table of {}: II {}, {} resources", v.name, v.ii, v.resources.len());
    let mut svg = Svg::new("modulo", LEFT + WIDTH + 10.0, height, &label);
    let x = |cycle: f64| LEFT + WIDTH * cycle / ii;
    for (line, r) in v.resources.iter().enumerate() {
        let y = LINE * line as f64 + 4.0;
        svg.text("slot", 4.0, y + 14.0, &r.name);
        svg.block("lane", LEFT, y, WIDTH, LINE - 4.0);
        for o in &v.ops {
            for h in o.everything().iter().filter(|h| h.resource == r.name) {
                let start = (u64::from(o.row) + u64::from(h.start)) % u64::from(v.ii.max(1));
                let end = start + u64::from(h.cycles);
                let class = format!("s{}", o.stage % COLOURS);
                svg.open(&format!("{}: stage {}, cycles {start} to {end}", o.name, o.stage));
                for (from, to) in
                    [(start, end.min(v.ii.into())), (0, end.saturating_sub(v.ii.into()).min(v.ii.into()))]
                {
                    if from < to {
                        svg.block(&class, x(from as f64), y, x(to as f64) - x(from as f64), LINE - 4.0);
                    }
                }
                // A name where it fits, about seven units per letter.
                if (x(end as f64) - x(start as f64)) > 7.0 * o.name.len() as f64 && end <= u64::from(v.ii) {
                    svg.text("in", x(start as f64) + 3.0, y + 13.0, &o.name);
                }
                svg.close();
            }
        }
    }
    let y = LINE * v.resources.len() as f64 + 18.0;
    svg.text("axis", LEFT, y, "0");
    svg.text("axis", LEFT + WIDTH - 30.0, y, &v.ii.to_string());
    svg.finish()
}
