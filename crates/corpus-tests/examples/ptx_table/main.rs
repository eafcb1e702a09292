//! What ptxas makes of every strategy: registers, spills and its own time per kernel, as a table in Markdown.
//!
//! `cargo xtask ptx-table` writes `docs/ptx-registers.md` with it. The first argument is the file to write; the corpus and the tools
//! are found through `SASSAFRAS_CORPUS` and `SASSAFRAS_TOOLS`.
//!
//! * [`measure`]: schedules and compiles;
//! * [`totals`]: sums, the best with hindsight, and how far estimates can be trusted;
//! * [`page`]: the text; [`origin`]: who wrote a module.

mod measure;
mod origin;
mod page;
mod totals;

use std::env;
use std::fs;

use anyhow::{Context, Result};
use sassafras_testkit::tools::{succeed, tool};
use std::process::Command;

fn main() -> Result<()> {
    let path = env::args_os().nth(1).context("the file to write is missing")?;
    let ptxas = tool("ptxas", "13.4");
    let kernels = measure::all(&ptxas)?;
    let version = succeed(Command::new(&ptxas).arg("--version"));
    let version = version.split(", V").nth(1).and_then(|tail| tail.split_whitespace().next());
    let date = succeed(Command::new("date").args(["-u", "+%F"]));
    let text = page::write(&kernels, version.context("no version of ptxas")?, date.trim(), &processor());
    fs::write(&path, text).with_context(|| path.to_string_lossy().into_owned())
}

/// What the processor calls itself.
fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        text.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split_once(": "));
    model.map_or("an unknown processor", |(_, name)| name).to_owned()
}
