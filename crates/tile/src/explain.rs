//! Why II is not lower, what would have to change for one less, and what each buffer costs.

use crate::agents::Plan;
use crate::analysis::Crowded;
use crate::buffers;
use crate::generate::problem::build;
use crate::generate::{Generated, serial, within_stages};
use sassafras_modulo::{Change, WhatIf, bounds};
use sassafras_tileir::program::{Program, Storage};
use serde::Serialize;
use std::collections::BTreeMap;

/// An explanation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// What binds II.
    pub binds: String,
    /// The resource, if one does.
    pub resource: Option<String>,
    /// The operations that hold it, or that are around the circuit.
    pub ops: Vec<String>,
    /// What would have to change for an II that is one less.
    pub for_one_less: Vec<String>,
    /// Whether the limits on slots that budgets made necessary cost anything.
    pub price_of_budgets: Option<String>,
    /// What each buffer costs, most expensive first.
    pub buffers: Vec<BufferCost>,
}

/// What a buffer costs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BufferCost {
    /// Its values.
    pub values: Vec<String>,
    /// Where.
    pub storage: Storage,
    /// All its bytes.
    pub bytes: u64,
    /// Slots.
    pub depth: u32,
    /// Cycles from the first write to the last read: why it needs that many.
    pub lives: i64,
    /// What one slot less would cost: the bound of II then.
    pub ii_with_one_less: Option<u64>,
}

/// Cycles of one iteration when nothing overlaps with the next; in steps of several where they are too many for a table.
pub fn serial_cycles(program: &Program, plans: &[Plan]) -> u64 {
    let quanta = (0..u32::BITS).map(|i| 1 << i);
    let cycles = |q: u32| {
        let problem = build(program, plans, &BTreeMap::new(), q).problem;
        Some(u64::from(serial::generate(program, &problem, q)?.ii) * u64::from(q))
    };
    quanta.into_iter().find_map(cycles).unwrap_or(u64::MAX)
}

/// Explains a schedule.
pub fn explain(program: &Program, generated: &Generated) -> Explanation {
    let analysis = &generated.analysis;
    let bound = build(program, &generated.plans, &analysis.asked, 1).problem;
    let found = bounds(&bound);
    // One less than the bound: what is asked for then is what binds.
    let less = u32::try_from(found.mii() - 1).unwrap_or(u32::MAX);
    let changes = if less == 0 { Vec::new() } else { WhatIf::new(&bound, less).changes };
    let (mut resource, mut ops) = (None, Vec::new());
    match changes.first() {
        Some(Change::Circuit { circuit, .. }) => ops.clone_from(&circuit.ops),
        Some(
            Change::Demand { resource: of, ops: who, .. } | Change::Halves { resource: of, ops: who, .. },
        ) => {
            resource = Some(*of);
            ops.clone_from(who);
        }
        Some(Change::OwnPattern { resource: of, op, .. }) => {
            resource = Some(*of);
            ops.push(*op);
        }
        Some(_) | None => {}
    }
    let limited = bounds(&build(program, &generated.plans, &analysis.caps, 1).problem).mii();
    let price = (limited > found.mii()).then(|| {
        let new = analysis.caps.iter().filter(|(v, d)| analysis.asked.get(v) != Some(d));
        let slots: Vec<String> = new.map(|(&v, d)| format!("`{}` to {d}", program.values[v].name)).collect();
        format!("limits on slots ({}) raise the bound from {} to {limited}", slots.join(", "), found.mii())
    });
    Explanation {
        binds: analysis.bound.clone(),
        resource: resource.map(|r| bound.resource_name(r).to_owned()),
        ops: ops.into_iter().map(|op| bound.name(op).to_owned()).collect(),
        for_one_less: for_one_less(program, generated),
        price_of_budgets: price,
        buffers: buffer_costs(program, generated),
    }
}

/// What would have to change for the II before this one: what bounds ask for there, those of limits on slots and stages
/// included, or else what happened to it. Where time is in steps, the one before is a step less.
fn for_one_less(program: &Program, generated: &Generated) -> Vec<String> {
    let analysis = &generated.analysis;
    if let Some(because) = analysis.serial_because {
        let mut why = vec![format!("iterations would have to overlap, which they do not: {because}")];
        why.extend(analysis.crowded.map(|c| crowded(&c)));
        return why;
    }
    let less = analysis.ii.saturating_sub(analysis.quantum);
    if less == 0 {
        return Vec::new();
    }
    let mut problem = build(program, &generated.plans, &analysis.caps, 1).problem;
    if let Some(stages) = analysis.stage_limit {
        problem = within_stages(&problem, stages);
    }
    let changes = WhatIf::new(&problem, less).changes;
    let mut why: Vec<String> = changes.iter().map(|c| c.explain(&problem, less)).collect();
    let tried = analysis.probes.contains(&(less, false));
    let here = analysis.crowded.filter(|c| c.ii == less);
    if why.is_empty() {
        why.push(match here {
            Some(c) => crowded(&c),
            None if analysis.proven => format!(
                "the bounds allow II {less}: exact search proves that no order of holds packs that tight"
            ),
            None if tried => format!(
                "the bounds allow II {less}: it was tried, and no order of holds that packs that tight was found"
            ),
            None => format!("the bounds allow II {less}: it was not tried"),
        });
    }
    if here.is_none() && (analysis.caps != analysis.asked || !tried && !analysis.proven) {
        why.extend(analysis.crowded.map(|c| crowded(&c)));
    }
    why
}

fn crowded(c: &Crowded) -> String {
    let Crowded { ii, storage, need, have } = c;
    format!("at II {ii} {storage} buffers would take {need} bytes, {have} are there")
}

fn buffer_costs(program: &Program, generated: &Generated) -> Vec<BufferCost> {
    let analysis = &generated.analysis;
    let mut costs: Vec<BufferCost> = generated
        .layout
        .plots
        .iter()
        .map(|p| {
            let lives = p.members.iter().map(|&(pipe, _, _)| {
                let (start, end) = buffers::life(program, analysis, &generated.layout.pipes[pipe]);
                end - start
            });
            let lives = lives.max().unwrap_or(0);
            let fewer = (p.depth > 1 && p.members.len() == 1).then(|| {
                let mut caps = analysis.caps.clone();
                caps.insert(program.origin(p.members[0].1), p.depth - 1);
                bounds(&build(program, &generated.plans, &caps, 1).problem).mii()
            });
            BufferCost {
                values: p.members.iter().map(|m| program.values[m.1].name.clone()).collect(),
                storage: p.storage,
                bytes: p.bytes * u64::from(p.depth),
                depth: p.depth,
                lives,
                ii_with_one_less: fewer,
            }
        })
        .collect();
    costs.sort_by_key(|c| std::cmp::Reverse(c.bytes));
    costs
}
