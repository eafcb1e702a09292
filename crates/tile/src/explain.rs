//! Why II is not lower, what would have to change for one less, and what each buffer costs.

use crate::generate::problem::{build, duration};
use crate::generate::{Generated, serial};
use sassafras_modulo::{Reason, bounds};
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
pub fn serial_cycles(program: &Program) -> u64 {
    let built = build(program, &BTreeMap::new(), 1);
    serial::generate(program, &built.problem, 1).map_or(0, |s| u64::from(s.ii))
}

/// Explains a schedule.
pub fn explain(program: &Program, generated: &Generated) -> Explanation {
    let analysis = &generated.analysis;
    let built = build(program, &analysis.caps, 1);
    let found = bounds(&built.problem);
    let reason = found.reason();
    let mut for_one_less = Vec::new();
    let (mut resource, mut ops) = (None, Vec::new());
    let above = u64::from(analysis.ii).saturating_sub(found.mii());
    match &reason {
        Reason::Recurrence(r) => {
            ops = r
                .edges
                .iter()
                .map(|&e| built.problem.name(built.problem.edges()[e].from).to_owned())
                .collect();
            let less = found.mii().saturating_sub(1);
            let latency: i64 = r.edges.iter().map(|&e| i64::from(built.problem.edges()[e].latency)).sum();
            let distance: u64 = r.edges.iter().map(|&e| u64::from(built.problem.edges()[e].distance)).sum();
            let allowed = i64::try_from(less.saturating_mul(distance)).unwrap_or(i64::MAX);
            for_one_less.push(format!(
                "the {latency} cycles around {} must become {allowed} or fewer, or the {distance} iterations they span more",
                ops.iter().map(|o| format!("`{o}`")).collect::<Vec<_>>().join(" → ")
            ));
        }
        _ => {
            // The resource that is wanted most per unit.
            let wanted = program.resources.iter().map(|(r, data)| {
                let holds = program.ops.values().flat_map(|o| &o.holds).filter(|h| h.resource == r);
                let held: u64 = holds.map(|h| u64::from(h.rows) * u64::from(h.units)).sum();
                (held.div_ceil(u64::from(data.capacity.max(1))), held, r)
            });
            if let Some((_, held, r)) = wanted.max_by_key(|w| w.0) {
                let data = &program.resources[r];
                let mut users: Vec<(u64, &str)> = program
                    .ops
                    .values()
                    .filter_map(|o| {
                        let own: u64 = o
                            .holds
                            .iter()
                            .filter(|h| h.resource == r)
                            .map(|h| u64::from(h.rows) * u64::from(h.units))
                            .sum();
                        (own > 0).then_some((own, o.name.as_str()))
                    })
                    .collect();
                users.sort_by_key(|u| (std::cmp::Reverse(u.0), u.1));
                ops = users.iter().map(|u| u.1.to_owned()).collect();
                resource = Some(data.name.clone());
                let allowed = found.mii().saturating_sub(1).saturating_mul(data.capacity.into());
                for_one_less.push(format!(
                    "`{}` is held for {held} unit-cycles per iteration and an II of {} has {allowed}: {} of them must go from {}",
                    data.name,
                    found.mii().saturating_sub(1),
                    held.saturating_sub(allowed),
                    users.iter().map(|u| format!("`{}` ({})", u.1, u.0)).collect::<Vec<_>>().join(", ")
                ));
                for_one_less.push(format!("or there must be {} units of `{}`", data.capacity + 1, data.name));
            }
        }
    }
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
    let free = bounds(&build(program, &BTreeMap::new(), 1).problem).mii();
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
    let ii = i64::from(analysis.ii);
    let writers = program.writers();
    let mut costs: Vec<BufferCost> = generated
        .layout
        .plots
        .iter()
        .map(|p| {
            let lives = p.members.iter().map(|&(_, value, _)| {
                let start = writers[cranelift_entity::EntityRef::index(value)]
                    .iter()
                    .map(|&w| analysis.place(w).time)
                    .min()
                    .unwrap_or(0);
                let reads = program.ops.iter().flat_map(|(op, data)| {
                    let own = data.operands.iter().filter(|o| program.origin(o.value) == value);
                    own.map(move |o| {
                        analysis.place(op).time
                            + i64::from(duration(program, op))
                            + ii * i64::from(o.distance)
                    })
                });
                reads.max().unwrap_or(start) - start
            });
            let lives = lives.max().unwrap_or(0);
            let fewer = (p.depth > 1 && p.members.len() == 1).then(|| {
                let mut caps = analysis.caps.clone();
                caps.insert(p.members[0].1, p.depth - 1);
                bounds(&build(program, &caps, 1).problem).mii()
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
