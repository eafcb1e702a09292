//! A loop on a terminal: a headline, why II is what it is, then tables.

use super::Loop;
use crate::columns::{columns, counted};
use sassafras_tile::view::{StorageView, View};
use std::fmt::Write;

/// The text of some loops.
pub fn text(loops: &[Loop]) -> String {
    let mut out = String::new();
    for (i, l) in loops.iter().enumerate() {
        if i > 0 {
            out.push('\n');
        }
        // Writing to a string succeeds.
        let _ = one(l, &mut out);
    }
    out
}

/// What is used of a storage.
pub(super) fn bytes(s: &StorageView) -> String {
    match s.budget {
        Some(budget) => format!("{} of {budget} bytes", s.used),
        None => format!("{} bytes, without a limit", s.used),
    }
}

/// What is worth a sentence of how a schedule came about, besides who made it.
pub(super) fn made(v: &View) -> Vec<String> {
    let mut said = Vec::new();
    if v.trivial {
        said.push(
            "no schedule that overlaps was found, or none that fits: iterations run one after the other"
                .into(),
        );
    }
    let c = &v.cost;
    said.push(format!(
        "costs ({}, {}, {}, {}): resources, pipe slots, banks, order",
        c.resources, c.pipe, c.banks, c.order
    ));
    if let [(first, _), .., (last, _)] = v.probes[..] {
        said.push(format!("II that were tried: {}, from {first} to {last}", v.probes.len()));
    }
    if v.constraint_iterations > 0 {
        said.push(format!("slots were limited {} times to fit budgets", v.constraint_iterations));
    }
    said
}

fn one(l: &Loop, out: &mut String) -> std::fmt::Result {
    let v = &l.view;
    let arch = v.arch.as_deref().map_or(String::new(), |a| format!(" ({a})"));
    writeln!(
        out,
        "{}{arch}: II {} of at least {} ({}), {}, one iteration alone takes {} cycles",
        v.name,
        v.ii,
        v.mii.most(),
        v.known,
        counted(v.stages, "stage"),
        v.serial_cycles
    )?;
    let because = v.serial_because.map_or(String::new(), |b| format!(", because {b}"));
    writeln!(out, "  made by {}{because}; strategy {}", v.generator, v.strategy)?;
    for line in made(v) {
        writeln!(out, "  {line}")?;
    }
    writeln!(out, "  bound by {}", v.explanation.binds)?;
    writeln!(out, "  for an II that is one less:")?;
    for line in &v.explanation.for_one_less {
        writeln!(out, "    {line}")?;
    }
    if let Some(price) = &v.explanation.price_of_budgets {
        writeln!(out, "  {price}")?;
    }
    for line in &l.proof {
        writeln!(out, "  proof: {line}")?;
    }
    let ops = v.ops.iter().map(|o| {
        let holds: Vec<String> = o.holds.iter().map(|h| format!("{} {}", h.resource, h.cycles)).collect();
        vec![
            o.name.clone(),
            o.kind.clone(),
            o.agent.clone(),
            o.stage.to_string(),
            o.row.to_string(),
            o.order.to_string(),
            o.latency.to_string(),
            holds.join(", "),
        ]
    });
    let head = ["operation", "kind", "agent", "stage", "row", "order", "latency", "holds"];
    write!(out, "\n{}", columns(&head, 3, true, ops.collect()))?;
    let resources = v.resources.iter().map(|r| {
        vec![r.name.clone(), r.capacity.to_string(), r.held.to_string(), format!("{:.0} %", 100.0 * r.share)]
    });
    write!(out, "\n{}", columns(&["resource", "units", "held", "of II"], 1, false, resources.collect()))?;
    let pipes = v.pipes.iter().map(|p| {
        let readers: Vec<String> =
            p.readers.iter().map(|(r, d)| if *d > 0 { format!("{r}[-{d}]") } else { r.clone() }).collect();
        vec![
            p.name.clone(),
            p.backing.clone(),
            p.depth.to_string(),
            p.slack.to_string(),
            format!("{} -> {}", p.writers.join(", "), readers.join(", ")),
        ]
    });
    write!(
        out,
        "\n{}",
        columns(&["pipe", "backing", "slots", "slack", "from and to"], 2, true, pipes.collect())
    )?;
    let buffers = v.explanation.buffers.iter().map(|b| {
        vec![
            b.values.join(", "),
            b.storage.to_string(),
            b.depth.to_string(),
            b.bytes.to_string(),
            b.lives.to_string(),
            b.ii_with_one_less.map_or_else(|| "-".into(), |ii| ii.to_string()),
        ]
    });
    let head = ["buffer of", "storage", "slots", "bytes", "lives", "II with one slot less"];
    write!(out, "\n{}", columns(&head, 2, false, buffers.collect()))?;
    let used: Vec<String> =
        v.storages.iter().filter(|s| s.used > 0).map(|s| format!("{} {}", s.storage, bytes(s))).collect();
    writeln!(out, "\nstorage: {}", used.join("; "))
}
