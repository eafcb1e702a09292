//! `sassafras strategies`

use crate::output;
use anyhow::Result;
use sassafras_list::registry::{Contest, Entry, Phase, STRATEGIES};
use std::fmt::Write;

/// List every strategy: what it takes, when it runs, which contests it takes part in, the knobs that it reads, its source
#[derive(clap::Args)]
pub struct Arguments {
    /// Print the page docs/strategies.md
    #[arg(long)]
    markdown: bool,
}

const HEADING: [&str; 7] = ["strategy", "what it does", "takes", "phase", "contests", "knobs", "source"];

const HEAD: &str = "# Strategies

Made from the table in `crates/list/src/strategies/mod.rs` by `sassafras strategies --markdown`; a test compares the two.

The contests: `auto` is that strategy; `loops`, `windows`, `stores` and `loads` are those of `tepid`: for blocks in loops or that work in
shared memory, the same again with other windows of path length, and stores or loads of code that runs once. In loops there compete
besides, without being strategies of their own: the plan for matrix kernels (`interleave`), the search, and other registers (`rename`).
";

pub fn run(arguments: &Arguments) -> Result<()> {
    if arguments.markdown {
        return output::print(&markdown()?);
    }
    let mut table = output::table(&HEADING[..5], &[]);
    for entry in STRATEGIES {
        table.add_row(row(entry).into_iter().take(5));
    }
    output::print(&output::render(&table))
}

fn row(entry: &Entry) -> [String; 7] {
    let takes: Vec<&str> = entry.takes.iter().map(|input| input.name()).collect();
    let phase = match entry.phase {
        Phase::Before => "before allocation",
        Phase::After => "after allocation",
        Phase::Any => "any",
    };
    let contests: Vec<&str> = entry.contests.iter().filter_map(|&contest| name(contest)).collect();
    [
        entry.name.to_owned(),
        entry.summary.to_owned(),
        takes.join(", "),
        phase.to_owned(),
        contests.join(", "),
        entry.knobs.join(", "),
        entry.source.to_owned(),
    ]
}

/// What a contest is called; none for what is no contest.
const fn name(contest: Contest) -> Option<&'static str> {
    match contest {
        Contest::Auto => Some("auto"),
        Contest::Loops => Some("loops"),
        Contest::Windows => Some("windows"),
        Contest::Stores => Some("stores"),
        Contest::LoadsEarly => Some("loads"),
        Contest::Commute => None,
    }
}

fn markdown() -> Result<String> {
    let mut out = format!("{HEAD}\n| {} |\n|{}\n", HEADING.join(" | "), "---|".repeat(HEADING.len()));
    for entry in STRATEGIES {
        writeln!(out, "| {} |", row(entry).join(" | "))?;
    }
    Ok(out)
}
