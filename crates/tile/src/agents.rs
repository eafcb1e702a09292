//! Which warps run which operations.
//!
//! `none` and `unspecialize`: one agent runs everything. `warp-specialize`: operations that hand values over in registers
//! stay together; of the sets that remain, those of nothing but transfers that produce something go to the agent
//! `transfers`, those of nothing but in-order operations (matrix units on tensor memory) to `matrix`, all others to
//! `compute`. A loop in which that gives one agent is not specialised.
//!
//! Source: `tile-materialise` (agents of warp-specialised materialisation); on sm_90 matrix operations accumulate in
//! registers, so that they stay with what reads them.

use crate::union::Union;
use cranelift_entity::EntityRef;
use sassafras_machine::tile::threshold;
use sassafras_tileir::program::{Execution, Op, Program, Storage};
use sassafras_tileir::scheduled::Strategy;

/// An agent to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Its name.
    pub name: &'static str,
    /// Its warps.
    pub warps: u32,
    /// What it runs, in program order.
    pub ops: Vec<Op>,
}

/// Divides a loop's operations.
pub fn plan(program: &Program, strategy: Strategy) -> Vec<Plan> {
    let compute = threshold("agent_warps_compute");
    let one =
        |program: &Program| vec![Plan { name: "all", warps: compute, ops: program.ops.keys().collect() }];
    if strategy != Strategy::WarpSpecialize {
        return one(program);
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
    let mut plans = [
        Plan { name: "transfers", warps: threshold("agent_warps_transfers"), ops: Vec::new() },
        Plan { name: "matrix", warps: threshold("agent_warps_matrix"), ops: Vec::new() },
        Plan { name: "compute", warps: compute, ops: Vec::new() },
    ];
    for set in union.sets() {
        let ops: Vec<Op> = set.into_iter().map(Op::new).collect();
        let all = |wanted: Execution| ops.iter().all(|&o| program.ops[o].execution == wanted);
        let produces = ops.iter().all(|&o| {
            let results = &program.ops[o].results;
            !results.is_empty() && results.iter().all(|&v| program.values[v].storage != Storage::Register)
        });
        let which = match () {
            () if produces && all(Execution::Async) => 0,
            () if produces && all(Execution::InOrder) => 1,
            () => 2,
        };
        plans[which].ops.extend(ops);
    }
    let mut plans: Vec<Plan> = plans.into_iter().filter(|p| !p.ops.is_empty()).collect();
    plans.iter_mut().for_each(|p| p.ops.sort_unstable());
    if plans.len() < 2 { one(program) } else { plans }
}
