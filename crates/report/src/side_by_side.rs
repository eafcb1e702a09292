//! Goal: two versions of a kernel as text: numbers beside each other, what moved, where less and where more is lost.

use crate::columns::{columns, number};
use anstyle::{AnsiColor, Style};
use sassafras_analyze::compare::{Change, Comparison};
use std::fmt::Write;

/// So many rows of a list are shown; the JSON has all of them.
pub const USUAL_ROWS: usize = 10;
const BOLD: Style = Style::new().bold();

/// A comparison, with so many rows of what is lost before instructions.
pub fn comparison(found: &Comparison, most: usize) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{BOLD}{}{BOLD:#} ({})", found.name, found.arch);
    let rows = found.numbers.iter().filter(|number| number.before != 0.0 || number.after != 0.0);
    let rows = rows.map(|n| vec![n.name.to_owned(), number(n.before), number(n.after)]).collect();
    out.push_str(&columns(&["", "before", "after"], 1, false, rows));
    let loops = found.loops.iter().map(|l| {
        let mut row = vec![format!("block {}", l.header)];
        row.extend(
            [l.cycles.0, l.cycles.1, l.latency.0, l.latency.1, l.issue_utilisation.0, l.issue_utilisation.1]
                .map(number),
        );
        row
    });
    let head = ["loop", "cycles", "after", "alone", "after", "issue %", "after"];
    let loops = columns(&head, 1, false, loops.collect());
    if !loops.is_empty() {
        let _ = writeln!(out, "\n{loops}");
    }
    let _ = writeln!(
        out,
        "{} instructions stand elsewhere in their block, {} have no twin (other registers, mostly)",
        found.moved.len(),
        found.changed
    );
    changes(&mut out, "Less is lost before", AnsiColor::Green.on_default(), &found.shorter, most);
    changes(&mut out, "More is lost before", AnsiColor::Red.on_default(), &found.longer, most);
    out.push('\n');
    out
}

fn changes(out: &mut String, title: &str, style: Style, all: &[Change], most: usize) {
    if all.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{BOLD}{title}{BOLD:#}");
    let rows = all.iter().take(most).map(|change| {
        vec![
            format!("block {}", change.block),
            format!("/*{:04x}*/ → /*{:04x}*/", change.offsets.0, change.offsets.1),
            format!("{style}{} → {}{style:#}", change.lost.0, change.lost.1),
            change.text.clone(),
        ]
    });
    for row in rows {
        let _ = writeln!(out, "  {}", row.join("  "));
    }
    if all.len() > most {
        let _ = writeln!(out, "  and {} more", all.len() - most);
    }
}
