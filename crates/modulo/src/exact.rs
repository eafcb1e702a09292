//! The least II there is, with a proof, or as much of one as time allows.
//!
//! Goal: to say for each II from the bound on whether a schedule exists, so that a heuristic's can be measured and "II is not
//! lower" can be said without a "perhaps". [`least_ii`] walks II up from MII; where a schedule is at hand only smaller
//! IIs are looked at. Feasibility is not monotone in II, hence no halving.
//!
//! Every II is decided by [`branch`]. With the feature `pumpkin`, the module `solver` asks a general constraint solver
//! instead and answers in the same types: a second opinion, slower on most loops and faster on a few hard ones.
//!
//! Cost: exponential at worst, and limited in time per II and in all. Every schedule has been verified.

use crate::bounds::{Bounds, bounds};
use crate::branch::{self, Limits, Outcome};
use crate::closure::ClosureError;
use sassafras_problem::{Problem, ProblemError, Schedule};
use sassafras_problem::{Violation, verify};
use std::time::{Duration, Instant};
use thiserror::Error;

/// What was proven about an II.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exact {
    /// A schedule exists: this one.
    Feasible(Schedule),
    /// None exists.
    Infeasible,
    /// Neither is known.
    Undecided(Why),
}

/// [`Exact`] without the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A schedule exists.
    Feasible,
    /// None exists.
    Infeasible,
    /// Neither is known.
    Undecided(Why),
}

/// Why an II was not decided.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// Time was up.
    #[error("time was up")]
    Time,
    /// The II, or a number of the problem at this II, is larger than what is searched.
    #[error("a limit of size was reached")]
    Size,
    /// The solver broke off by itself.
    #[error("the solver failed")]
    Failed,
}

/// How much is tried.
#[derive(Clone, Debug)]
pub struct Options {
    /// For all IIs together.
    pub total: Duration,
    /// For each II.
    pub per_ii: Duration,
    /// Only smaller IIs are looked at: that of a schedule that is at hand. Nothing where none is; then II grows until a
    /// schedule is found or time is up.
    pub below: Option<u32>,
}

impl Default for Options {
    fn default() -> Options {
        Options { total: Duration::from_secs(1), per_ii: Duration::from_secs(1), below: None }
    }
}

/// What is known of the least II.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactFound {
    /// The bounds of the problem: every II below MII is infeasible.
    pub bounds: Bounds,
    /// The schedule with the least II that was found; nothing where none below [`Options::below`] was.
    pub schedule: Option<Schedule>,
    /// Every II that was looked at, ascending.
    pub verdicts: Vec<(u32, Verdict)>,
    /// Every II below has been proven infeasible.
    pub proven_below: u64,
    /// [`Options::below`].
    pub below: Option<u32>,
}

impl ExactFound {
    /// The least II, if it is known: that of the schedule, or that of the one at hand where all smaller ones are infeasible.
    pub fn least(&self) -> Option<u32> {
        let ii = self.schedule.as_ref().map(|s| s.ii).or(self.below)?;
        (u64::from(ii) <= self.proven_below).then_some(ii)
    }

    /// Whether an II has been proven infeasible.
    pub fn refuted(&self, ii: u32) -> bool {
        u64::from(ii) < self.proven_below
            || self.verdicts.iter().any(|&(at, v)| at == ii && v == Verdict::Infeasible)
    }

    /// What was proven, as a sentence.
    pub fn explain(&self) -> String {
        let (mii, proven) = (self.bounds.mii(), self.proven_below);
        match (self.least(), self.schedule.as_ref().map(|s| s.ii).or(self.below)) {
            (Some(ii), _) if u64::from(ii) == mii => {
                format!("II {ii} is the least there is: it is the bound")
            }
            (Some(ii), _) => {
                format!("II {ii} is the least there is: {mii} to {} were proven infeasible", ii - 1)
            }
            (None, Some(ii)) => {
                format!("the least II is {proven} to {ii}: {} before more was known", self.why())
            }
            (None, None) => {
                format!("the least II is {proven} or more: {} before more was known", self.why())
            }
        }
    }

    /// What was in the way of the first II that is not decided.
    fn why(&self) -> Why {
        let undecided = self.verdicts.iter().find_map(|&(_, v)| match v {
            Verdict::Undecided(why) => Some(why),
            _ => None,
        });
        // Without one, time for all was up before the next was looked at.
        undecided.unwrap_or(Why::Time)
    }
}

/// Why nothing can be said.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExactError {
    /// The problem makes no sense.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// The operations are too many, or their paths too long.
    #[error(transparent)]
    Closure(#[from] ClosureError),
    /// The verifier refused the schedule: a defect of the search.
    #[error("the schedule is wrong: {0}")]
    Refused(Violation),
}

/// Decides one II within `limit`.
pub fn decide(problem: &Problem, ii: u32, limit: Duration) -> Result<Exact, ExactError> {
    problem.check()?;
    decide_until(problem, ii, Instant::now().checked_add(limit))
}

fn decide_until(problem: &Problem, ii: u32, deadline: Option<Instant>) -> Result<Exact, ExactError> {
    match branch::solve(problem, ii, &Limits { nodes: u64::MAX, deadline })? {
        Outcome::Feasible(schedule) => {
            verify(problem, &schedule).map_err(ExactError::Refused)?;
            Ok(Exact::Feasible(schedule))
        }
        Outcome::Infeasible => Ok(Exact::Infeasible),
        // Nodes are not limited, so that what stops before its time stops for its size.
        Outcome::Stopped if deadline.is_none_or(|end| Instant::now() < end) => {
            Ok(Exact::Undecided(Why::Size))
        }
        Outcome::Stopped => Ok(Exact::Undecided(Why::Time)),
    }
}

/// The least II, or what is known of it when time is up.
///
/// An II that is not decided within its limit is left, and the next is looked at: a schedule there is still a schedule, but
/// no longer proven to be the least.
pub fn least_ii(problem: &Problem, options: &Options) -> Result<ExactFound, ExactError> {
    walk(problem, options, |ii, deadline| decide_until(problem, ii, deadline))
}

/// The walk from the bound upwards, whoever decides.
pub(crate) fn walk(
    problem: &Problem,
    options: &Options,
    mut decide_until: impl FnMut(u32, Option<Instant>) -> Result<Exact, ExactError>,
) -> Result<ExactFound, ExactError> {
    problem.check()?;
    let end = Instant::now().checked_add(options.total);
    let bounds = bounds(problem);
    let mii = bounds.mii();
    let mut found =
        ExactFound { bounds, schedule: None, verdicts: Vec::new(), proven_below: mii, below: options.below };
    for ii in u32::try_from(mii).unwrap_or(u32::MAX)..options.below.unwrap_or(u32::MAX) {
        let now = Instant::now();
        if end.is_some_and(|end| now >= end) {
            break;
        }
        let own = now.checked_add(options.per_ii);
        let deadline = [own, end].into_iter().flatten().min();
        let verdict = match decide_until(ii, deadline)? {
            Exact::Feasible(schedule) => {
                found.schedule = Some(schedule);
                Verdict::Feasible
            }
            Exact::Infeasible => {
                if u64::from(ii) == found.proven_below {
                    found.proven_below += 1;
                }
                Verdict::Infeasible
            }
            Exact::Undecided(why) => Verdict::Undecided(why),
        };
        found.verdicts.push((ii, verdict));
        // What is too large for the search does not become smaller.
        if matches!(verdict, Verdict::Feasible | Verdict::Undecided(Why::Size)) {
            break;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sassafras_problem::Use;

    #[test]
    fn between_the_bound_and_the_least() {
        // Rows of the two patterns meet at every distance but one, and the edges forbid that one at II 3 and 4.
        let mut p = Problem::new();
        let r = p.add_resource("port", 1);
        let at = |start| Use { resource: r, start, rows: 1, units: 1 };
        let a = p.add_op("a", vec![at(0), at(1)]);
        let b = p.add_op("b", vec![at(0)]);
        p.add_edge(a, b, 4, 0);
        p.add_edge(b, a, -1, 1);
        let found = least_ii(&p, &Options::default()).expect("valid");
        let verdicts = [(3, Verdict::Infeasible), (4, Verdict::Infeasible), (5, Verdict::Feasible)];
        assert_eq!((found.least(), &found.verdicts[..]), (Some(5), &verdicts[..]));
        assert_eq!(found.explain(), "II 5 is the least there is: 3 to 4 were proven infeasible");
        let below = least_ii(&p, &Options { below: Some(5), ..Options::default() }).expect("valid");
        assert_eq!((below.least(), below.schedule.clone()), (Some(5), None));
        assert!(below.refuted(4) && below.refuted(2) && !below.refuted(5));
        let none = least_ii(&p, &Options { total: Duration::ZERO, ..Options::default() }).expect("valid");
        assert_eq!(none.explain(), "the least II is 3 or more: time was up before more was known");
    }

    #[test]
    fn what_is_too_large_says_so_and_ends_the_walk() {
        let mut p = Problem::new();
        let r = p.add_resource("port", 1);
        p.add_op("a", vec![Use::first(r, branch::MAX_II)]);
        p.add_op("b", vec![Use::first(r, 1)]);
        let found = least_ii(&p, &Options::default()).expect("valid");
        assert_eq!(found.verdicts, [(branch::MAX_II + 1, Verdict::Undecided(Why::Size))]);
        let text = "the least II is 16385 or more: a limit of size was reached before more was known";
        assert_eq!(found.explain(), text);
    }

    #[test]
    fn it_stops_near_its_limit() {
        // Undecided for far longer.
        let p = crate::random::problem(crate::random::Shape::Dense, 60, 1);
        let mii = u32::try_from(bounds(&p).mii()).expect("small");
        let start = Instant::now();
        let verdict = decide(&p, mii, Duration::from_millis(50)).expect("valid");
        assert!(start.elapsed() < Duration::from_secs(2), "{:?} after {:?}", verdict, start.elapsed());
    }
}
