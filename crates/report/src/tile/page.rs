//! Goal: one page for a browser, whole in itself: why II is what it is, the modulo table, buffers, agents and pipes.

use super::{Loop, table};
use askama::Template;

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
    made: Vec<String>,
}

/// The page of some loops.
pub fn html(input: &str, loops: &[Loop]) -> String {
    let drawn =
        |of| Drawn { of, table: table::draw(&of.view), used: used(of), made: super::text::made(&of.view) };
    let page = Page { input, version: env!("CARGO_PKG_VERSION"), loops: loops.iter().map(drawn).collect() };
    // Writing to a string fails only where a template's part does, and none of them can.
    page.render().unwrap_or_default() + "\n"
}

fn used(of: &Loop) -> Vec<String> {
    let some = of.view.storages.iter().filter(|s| s.used > 0);
    some.map(|s| format!("{}: {}", s.storage, super::text::bytes(s))).collect()
}
