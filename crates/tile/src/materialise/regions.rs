//! The steps of an agent around the loop: rounds in which operations of later stages work on earlier iterations.
//!
//! In round `r` an operation that is `s` stages behind the agent's first works on iteration `r - s`. The first `lead`
//! rounds miss iterations before the loop (prologue), the last `lead` those behind it (epilogue); `lead` is one less than
//! the agent's stages, so that the steady steps are performed `n - lead` times. A loop of fewer trips than that performs
//! all steps of one iteration after those of the one before.
//!
//! Operands are rewritten on the way: a run says which fill of which pipe, in which turn of which buffer, each of its operands
//! is ([`Sources`]). An operation of a later stage than its producer's reads an earlier round's fill.

use super::steps::Links;
use crate::agents::Plan;
use crate::analysis::Analysis;
use sassafras_tileir::program::Program;
use sassafras_tileir::scheduled::{Action, AgentData, At, Base, Sources, Step};

/// Builds an agent.
pub fn rebuild(
    program: &Program,
    analysis: &Analysis,
    plan: &Plan,
    links: &Links,
    sources: &Sources<'_>,
) -> AgentData {
    let first = plan.ops.iter().map(|&op| analysis.place(op).stage).min().unwrap_or(0);
    let last = plan.ops.iter().map(|&op| analysis.place(op).stage).max().unwrap_or(0);
    let lead = last - first;
    let ordered = links.agent(program, analysis, &plan.ops);
    // Rounds go by rows, and within a row as in the program: the same order that decides who waits first.
    let mut rounds = ordered.clone();
    rounds.sort_by_key(|(op, _)| (analysis.place(*op).row, *op));
    let behind = |op| i64::from(analysis.place(op).stage - first);
    let steps = |base: Base, offset: i64, actions: &[Action]| -> Vec<Step> {
        let at = At { base, offset };
        let of = |action| if let Action::Run(op) = action { sources.of(op, at) } else { Vec::new() };
        actions.iter().map(|&action| Step { action, at, sources: of(action) }).collect()
    };
    let mut agent = AgentData {
        name: plan.name.to_owned(),
        warps: plan.warps,
        lead,
        prologue: Vec::new(),
        steady: Vec::new(),
        epilogue: Vec::new(),
        short: Vec::new(),
    };
    for round in 0..i64::from(lead) {
        for (op, actions) in rounds.iter().filter(|(op, _)| behind(*op) <= round) {
            agent.prologue.extend(steps(Base::First, round - behind(*op), actions));
        }
        for (op, actions) in rounds.iter().filter(|(op, _)| behind(*op) > round) {
            agent.epilogue.extend(steps(Base::Trips, round - behind(*op), actions));
        }
    }
    for (op, actions) in &rounds {
        agent.steady.extend(steps(Base::Round, i64::from(lead) - behind(*op), actions));
    }
    for (_, actions) in &ordered {
        agent.short.extend(steps(Base::Round, 0, actions));
    }
    agent
}
