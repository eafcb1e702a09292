//! One attempt at one II: candidates by candidates, arm by arm, the first that succeeds.
//!
//! Candidates are groups; an operation without one is its own. Of those that remain, by the longest path that leaves them,
//! the first ones that are *ready*: what they need of the same iteration is seated. So what everything waits for comes while
//! the table is empty, and arms can choose among operations that do not need each other. Whatever is not ready is held over
//! to the next round ([`State::pending`]).
//!
//! For each set of candidates: permute, fuse, retry, cost-based. If all refuse, the marks that they left are forgotten and
//! the two heavy arms run again. If these refuse too, the attempt has failed. Another is made with one group at a time, as a
//! choice by cost can give away the row that only a later operation could use, or make values wait; then II must grow.
//!
//! Source: `tile-driver`, `tile-gates`; one group at a time is our own.

use super::arms::{Arm, cost_based, fuse, permute, retry};
use super::state::{Marks, State};
use crate::options::Options;
use cranelift_entity::EntityRef;
use sassafras_modulo::{Op, Schedule};

/// A schedule and the arm that seated each operation, or the first operation of the candidates that could not be seated.
/// `candidates`: the most operations of a set, unless a group has more.
pub fn place(state: &mut State<'_>, candidates: u32, options: &Options) -> Result<(Schedule, Vec<Arm>), Op> {
    let mut groups: Vec<Vec<Op>> =
        state.groups.members.iter().map(|g| g.iter().map(|op| Op::new(op.index())).collect()).collect();
    let height = |g: &Vec<Op>, s: &State<'_>| g.iter().map(|&op| s.height(op)).max().unwrap_or(0);
    groups.sort_by_key(|g| (-height(g, state), g[0]));
    let n = state.problem.ops().len();
    let mut arms = vec![Arm::Permute; n];
    // One snapshot per attempt: what an arm marked is known to those after it, for later candidates too.
    let mut marks = Marks::new(n);
    let shallow = state.problem.ops().filter(|&op| state.shallow(op));
    shallow.for_each(|op| marks.kill(op));
    let mut left: Vec<&Vec<Op>> = groups.iter().collect();
    while !left.is_empty() {
        let (mut set, mut count) = (Vec::new(), 0);
        for group in &left {
            let ready = !group.iter().any(|&op| state.pending(op, group));
            if count > 0 && (!ready || set.len() + group.len() > candidates as usize) {
                break;
            }
            // The first is taken as it is: groups that need each other are never ready.
            set.extend_from_slice(group);
            count += 1;
        }
        let arm = seat(state, &set, options, &mut marks).ok_or(set[0])?;
        set.iter().for_each(|op| arms[op.index()] = arm);
        left.drain(..count);
    }
    let schedule = state.schedule().ok_or_else(|| Op::new(0))?;
    Ok((schedule, arms))
}

fn seat(state: &mut State<'_>, set: &[Op], options: &Options, marks: &mut Marks) -> Option<Arm> {
    // Neither another order nor another choice of cycles helps a candidate that has none: only moving others does.
    let full = set.iter().any(|&op| state.seat(op).is_none());
    if !full && permute::run(state, set, options.permute_budget) {
        return Some(Arm::Permute);
    }
    if !full && fuse::run(state, set) {
        return Some(Arm::Fuse);
    }
    let marked = set.iter().any(|&op| marks.dead(op));
    if retry::run(state, set, options.retry_budget, marks) {
        return Some(Arm::Retry);
    }
    if !full && cost_based::run(state, set, marks) {
        return Some(Arm::CostBased);
    }
    // Without marks both would do the same again.
    if !marked {
        return None;
    }
    let mut fresh = Marks::new(state.problem.ops().len());
    if retry::run(state, set, options.retry_budget, &mut fresh) {
        return Some(Arm::FreshRetry);
    }
    let mut fresh = Marks::new(state.problem.ops().len());
    (!full && cost_based::run(state, set, &mut fresh)).then_some(Arm::FreshCostBased)
}
