//! What must hold of a materialised loop, whatever it was made from.

use crate::analysis::Analysis;
use sassafras_tileir::program::Program;
use sassafras_tileir::scheduled::{Action, Backing, Scheduled};

/// Says what is wrong, if anything: keys that differ from the analysis, operations that run not at all or twice, values
/// behind a named barrier, rounds that do not add up.
pub fn check(program: &Program, analysis: &Analysis, scheduled: &Scheduled) -> Result<(), String> {
    for (pipe, p) in scheduled.pipes.iter() {
        if let Some(op) = p.writers.first().copied().or(p.readers.first().map(|r| r.op)) {
            let place = analysis.place(op);
            if (p.stage, p.order) != (place.stage, place.order) {
                return Err(format!("{pipe} is not where `{}` is", program.ops[op].name));
            }
        }
        let carries = p.values.iter().any(|&v| program.values[v].bytes > 0);
        if carries && matches!(p.backing, Backing::NamedBarrier(_)) {
            return Err(format!("{pipe} carries values past a named barrier"));
        }
        if p.depth < p.initial {
            return Err(format!("{pipe} has fewer slots than values from before the loop"));
        }
    }
    let mut runs = vec![0u32; program.ops.len()];
    for agent in scheduled.agents.values() {
        for step in &agent.steady {
            if let Action::Run(op) = step.action {
                runs[cranelift_entity::EntityRef::index(op)] += 1;
            }
        }
        let (edge, body) = (agent.prologue.len() + agent.epilogue.len(), agent.steady.len());
        if edge != body * agent.lead as usize {
            return Err(format!("agent `{}`: prologue and epilogue do not make up whole rounds", agent.name));
        }
    }
    match runs.iter().position(|&r| r != 1) {
        Some(i) => Err(format!("operation {i} runs {} times in a round", runs[i])),
        None => Ok(()),
    }
}
