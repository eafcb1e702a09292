//! Goal: one page for a browser, whole in itself: why II is what it is, the modulo table, buffers, agents and pipes.

use super::{Loop, table};
use askama::Template;
use sassafras_tile::view::StorageView;

#[derive(Template)]
#[template(path = "tile.html")]
struct Page<'a> {
    input: &'a str,
    version: &'static str,
    loops: Vec<Drawn<'a>>,
}

struct Drawn<'a> {
    of: &'a Loop,
    table: String,
    used: Vec<String>,
}

/// The page of some loops.
pub fn html(input: &str, loops: &[Loop]) -> String {
    let drawn = |of| Drawn { of, table: table::draw(&of.view), used: used(of) };
    let page = Page { input, version: env!("CARGO_PKG_VERSION"), loops: loops.iter().map(drawn).collect() };
    // Writing to a string fails only where a template's part does, and none of them can.
    page.render().unwrap_or_default() + "\n"
}

fn used(of: &Loop) -> Vec<String> {
    let some = of.view.storages.iter().filter(|s| s.used > 0);
    let line = |s: &StorageView| match s.budget {
        Some(budget) => format!("{}: {} of {budget} bytes", s.storage, s.used),
        None => format!("{}: {} bytes, without a limit", s.storage, s.used),
    };
    some.map(line).collect()
}
