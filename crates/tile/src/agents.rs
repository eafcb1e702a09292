//! Which warps run which operations.
//!
//! `none` and `unspecialize`: one agent runs everything. `warp-specialize`: operations that hand values over in registers
//! stay together; of the sets that remain, those of nothing but transfers that produce something go to the agent
//! `transfers`, those of nothing but in-order operations (matrix units on tensor memory) to `matrix`, all others to
//! `compute`. Where several agents may compute, what is left of the sets is divided among them so that they are busy for as
//! long as each other: the parts of tiles that are in parts. A loop in which all that gives one agent is not specialised.
//!
//! Source: `tile-materialise` (agents of warp-specialised materialisation); on sm_90 matrix operations accumulate in
//! registers, so that they stay with what reads them.

use crate::generate::problem::busy;
use crate::options::Options;
use crate::union::Union;
use cranelift_entity::EntityRef;
use sassafras_machine::tile::threshold;
use sassafras_tileir::program::{Execution, Op, Program, Storage};
use sassafras_tileir::scheduled::Strategy;

/// An agent to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// Its warps.
    pub warps: u32,
    /// What it runs, in program order.
    pub ops: Vec<Op>,
}

/// Divides a loop's operations.
pub fn plan(program: &Program, options: &Options) -> Vec<Plan> {
    let compute = threshold("agent_warps_compute");
    let one = || vec![Plan { name: "all".to_owned(), warps: compute, ops: program.ops.keys().collect() }];
    if options.strategy != Strategy::WarpSpecialize {
        return one();
    }
    let mut union = Union::new(program.ops.len());
    let writers = program.writers();
    for (reader, data) in program.ops.iter() {
        for o in data.operands.iter().filter(|o| program.values[o.value].storage == Storage::Register) {
            for w in &writers[o.value.index()] {
                union.join(w.index(), reader.index());
            }
        }
    }
    let agent = |name: &str, warps: u32| Plan { name: name.to_owned(), warps, ops: Vec::new() };
    let mut plans = vec![
        agent("transfers", threshold("agent_warps_transfers")),
        agent("matrix", threshold("agent_warps_matrix")),
    ];
    // Sets that compute, with how long each keeps its warps.
    let mut computing: Vec<(u64, Vec<Op>)> = Vec::new();
    for set in union.sets() {
        let ops: Vec<Op> = set.into_iter().map(Op::new).collect();
        let all = |wanted: Execution| ops.iter().all(|&o| program.ops[o].execution == wanted);
        let produces = ops.iter().all(|&o| {
            let results = &program.ops[o].results;
            !results.is_empty() && results.iter().all(|&v| program.values[v].storage != Storage::Register)
        });
        match () {
            () if produces && all(Execution::Async) => plans[0].ops.extend(ops),
            () if produces && all(Execution::InOrder) => plans[1].ops.extend(ops),
            () => computing.push((ops.iter().map(|&o| u64::from(busy(program, o))).sum(), ops)),
        }
    }
    // The longest first, each to the agent that has least to do.
    computing.sort_by_key(|(cycles, ops)| (std::cmp::Reverse(*cycles), ops.first().copied()));
    let count = (options.compute_agents.max(1) as usize).min(computing.len());
    let mut agents: Vec<(u64, Plan)> = (0..count)
        .map(|i| (0, agent(&if count == 1 { "compute".to_owned() } else { format!("compute.{i}") }, compute)))
        .collect();
    for (cycles, ops) in computing {
        if let Some(least) = agents.iter_mut().min_by_key(|a| a.0) {
            least.0 += cycles;
            least.1.ops.extend(ops);
        }
    }
    plans.extend(agents.into_iter().map(|a| a.1));
    let mut plans: Vec<Plan> = plans.into_iter().filter(|p| !p.ops.is_empty()).collect();
    plans.iter_mut().for_each(|p| p.ops.sort_unstable());
    if plans.len() < 2 { one() } else { plans }
}
