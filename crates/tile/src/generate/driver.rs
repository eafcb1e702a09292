//! One attempt at one II: group by group, arm by arm, the first that succeeds.
//!
//! Groups come by the longest path that leaves them, so that what everything waits for is seated while the table is empty.
//! For each: permute, fuse, retry, cost-based. If all refuse, the marks that they left are forgotten and the two heavy arms
//! run again. If these refuse too, the attempt has failed and II must grow.
//!
//! Source: `tile-driver`.

use super::arms::{Arm, cost_based, fuse, permute, retry};
use super::state::{Marks, State};
use crate::options::Options;
use cranelift_entity::EntityRef;
use sassafras_modulo::{Op, Schedule};

/// A schedule and the arm that seated each operation, or the first operation of the group that could not be seated.
pub fn place(state: &mut State<'_>, options: &Options) -> Result<(Schedule, Vec<Arm>), Op> {
    let n = state.problem.ops().len();
    let mut groups: Vec<Vec<Op>> =
        state.groups.members.iter().map(|g| g.iter().map(|op| Op::new(op.index())).collect()).collect();
    let height = |g: &Vec<Op>, s: &State<'_>| g.iter().map(|&op| s.height(op)).max().unwrap_or(0);
    groups.sort_by_key(|g| (-height(g, state), g[0]));
    let mut arms = vec![Arm::Permute; n];
    // One snapshot per attempt: what an arm marked is known to those after it, in later groups too.
    let mut marks = Marks::new(n);
    for group in &groups {
        for &op in group.iter().filter(|&&op| state.shallow(op)) {
            marks.kill(op);
        }
        let arm = seat(state, group, options, &mut marks).ok_or(group[0])?;
        group.iter().for_each(|op| arms[op.index()] = arm);
    }
    let schedule = state.schedule().ok_or_else(|| Op::new(0))?;
    Ok((schedule, arms))
}

fn seat(state: &mut State<'_>, group: &[Op], options: &Options, marks: &mut Marks) -> Option<Arm> {
    // Marks are those of the arms that look at them; an order that does not work keeps nobody from being moved.
    let mut none = Marks::new(state.problem.ops().len());
    if permute::run(state, group, options.permute_budget, &mut none) {
        return Some(Arm::Permute);
    }
    if fuse::run(state, group) {
        return Some(Arm::Fuse);
    }
    if retry::run(state, group, options.retry_budget, marks) {
        return Some(Arm::Retry);
    }
    if cost_based::run(state, group, marks) {
        return Some(Arm::CostBased);
    }
    let mut fresh = Marks::new(state.problem.ops().len());
    if retry::run(state, group, options.retry_budget, &mut fresh) {
        return Some(Arm::FreshRetry);
    }
    let mut fresh = Marks::new(state.problem.ops().len());
    cost_based::run(state, group, &mut fresh).then_some(Arm::FreshCostBased)
}
