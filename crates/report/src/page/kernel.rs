//! Goal: a kernel on the page.

use super::limits::Limits;
use super::listing::Listing;
use super::loops::{LoopView, Tables};
use super::pressure::pressure;
use super::show;
use super::words::words;
use crate::columns::{known, number};
use askama::Template;
use sassafras_analyze::Kernel;
use sassafras_analyze::units::UnitUse;

#[derive(Template)]
#[template(path = "kernel.html")]
pub struct KernelView<'a> {
    at: usize,
    kernel: &'a Kernel,
    open: bool,
    words: Vec<String>,
    pressure: Option<String>,
    tables: Tables<'a>,
    loops: Vec<LoopView<'a>>,
    listing: Listing<'a>,
}

impl<'a> KernelView<'a> {
    /// The kernel at a place of the list.
    pub fn new(at: usize, kernel: &'a Kernel, open: bool, limits: &Limits) -> KernelView<'a> {
        let loops = kernel.loops.iter().enumerate();
        KernelView {
            at,
            kernel,
            open,
            words: words(kernel),
            pressure: pressure(kernel),
            tables: Tables::new(&kernel.hiding, &kernel.scoreboards),
            loops: loops.map(|(place, found)| LoopView::new(kernel, found, place == 0, limits)).collect(),
            listing: Listing::new(kernel, limits.listing),
        }
    }

    /// The numbers at the top: what they are, and what they count.
    fn tiles(&self) -> Vec<(&'static str, String)> {
        let (s, o) = (&self.kernel.summary, &self.kernel.occupancy);
        let mut tiles = vec![
            ("instructions", s.instructions.to_string()),
            ("loops", s.loops.to_string()),
            ("registers per thread", known(o.registers)),
            ("threads per block", known(o.threads)),
            ("bytes of shared memory", o.shared.to_string()),
        ];
        match self.kernel.loops.first() {
            Some(hottest) => tiles.extend([
                ("cycles per iteration and warp", number(hottest.cycles)),
                ("cycles, one warp alone", number(hottest.latency)),
            ]),
            None => tiles.extend([
                ("cycles per warp when all overlap", number(s.throughput)),
                ("cycles, one warp alone", number(s.latency)),
            ]),
        }
        tiles
    }

    /// Units that somebody uses, the busiest first.
    fn units(&self) -> Vec<&'a UnitUse> {
        let mut used: Vec<&UnitUse> = self.kernel.units.units.iter().filter(|unit| unit.cycles > 0).collect();
        used.sort_by(|a, b| b.utilisation.total_cmp(&a.utilisation));
        used
    }

    /// Whether each of the warps that a scheduler can have is there.
    fn warps(&self) -> impl Iterator<Item = bool> {
        let warps = self.kernel.occupancy.warps;
        (0..self.kernel.occupancy.most).map(move |warp| warp < warps)
    }
}
