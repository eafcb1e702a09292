//! Why II is not lower, what would have to change for one less, and what each buffer costs.

use crate::agents::Plan;
use crate::buffers;
use crate::generate::problem::build;
use crate::generate::{Generated, serial};
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

/// Cycles of one iteration when nothing overlaps with the next.
pub fn serial_cycles(program: &Program, plans: &[Plan]) -> u64 {
    let built = build(program, plans, &BTreeMap::new(), 1);
    serial::generate(program, &built.problem, 1).map_or(0, |s| u64::from(s.ii))
}

/// Explains a schedule.
pub fn explain(program: &Program, generated: &Generated) -> Explanation {
    let analysis = &generated.analysis;
    let built = build(program, &generated.plans, &analysis.caps, 1);
    let found = bounds(&built.problem);
    let above = u64::from(analysis.ii).saturating_sub(found.mii());
    // One less than the bound: what is asked for then is what binds.
    let less = u32::try_from(found.mii() - 1).unwrap_or(u32::MAX);
    let changes = if less == 0 { Vec::new() } else { WhatIf::new(&built.problem, less).changes };
    let mut for_one_less: Vec<String> = changes.iter().map(|c| c.explain(&built.problem, less)).collect();
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
    let resource = resource.map(|r| built.problem.resource_name(r).to_owned());
    let ops = ops.into_iter().map(|op| built.problem.name(op).to_owned()).collect();
    if above > 0 {
        for_one_less.insert(
            0,
            if analysis.proven {
                format!(
                    "II is {above} above the bound: exact search proves that no order of holds packs tighter"
                )
            } else {
                format!("II is {above} above the bound: no order of holds that packs tighter was found")
            },
        );
    }
    let free = bounds(&build(program, &generated.plans, &BTreeMap::new(), 1).problem).mii();
    let price = (found.mii() > free).then(|| {
        let limited: Vec<String> =
            analysis.caps.iter().map(|(&v, d)| format!("`{}` to {d}", program.values[v].name)).collect();
        format!("limits on slots ({}) raise the bound from {free} to {}", limited.join(", "), found.mii())
    });
    Explanation {
        binds: analysis.bound.clone(),
        resource,
        ops,
        for_one_less,
        price_of_budgets: price,
        buffers: buffer_costs(program, generated),
    }
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
