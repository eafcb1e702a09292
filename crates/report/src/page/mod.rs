//! Goal: one page for a browser, whole in itself, that says in words and pictures where the cycles of every kernel go.
//!
//! `words` explains in plain sentences, `timeline` and `pressure` draw, `listing` shows the code, `limits` keeps pages of large
//! libraries small; `templates/` has the page itself, its style and its few lines of script. Templates escape what they show; drawings
//! escape through `svg`.
//!
//! Cost: linear in what is shown. Source: the views of [`text`](crate::text).

mod kernel;
mod limits;
mod listing;
mod loops;
mod pressure;
mod show;
pub(crate) mod svg;
mod timeline;
mod words;

use crate::columns::number;
use askama::Template;
use kernel::KernelView;
use limits::Limits;
use sassafras_analyze::{Kernel, LoopReport};

/// Up to so many kernels are shown open.
const OPEN: usize = 3;

#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    input: &'a str,
    version: &'static str,
    lines: Vec<Line<'a>>,
    kernels: Vec<KernelView<'a>>,
}

/// A line of the list of kernels.
struct Line<'a> {
    kernel: &'a Kernel,
    hottest: Option<&'a LoopReport>,
}

impl Line<'_> {
    fn cycles(&self) -> String {
        self.hottest.map_or_else(|| "–".to_owned(), |found| number(found.cycles))
    }

    fn busiest(&self) -> String {
        let units = &self.kernel.units;
        let busiest = units.bottleneck.map(|unit| &units.units[unit as usize]);
        busiest.map_or_else(|| "–".to_owned(), |unit| format!("{} {} %", unit.unit, number(unit.utilisation)))
    }
}

/// The page of some kernels that were found in a file.
pub fn html(input: &str, kernels: &[Kernel]) -> String {
    let limits = Limits::new(kernels);
    let page = Page {
        input,
        version: env!("CARGO_PKG_VERSION"),
        lines: kernels.iter().map(|kernel| Line { kernel, hottest: kernel.loops.first() }).collect(),
        kernels: (kernels.iter().enumerate())
            .map(|(at, kernel)| KernelView::new(at, kernel, kernels.len() <= OPEN, &limits))
            .collect(),
    };
    // Writing to a string fails only where a template's part does, and none of them can.
    page.render().unwrap_or_default() + "\n"
}
