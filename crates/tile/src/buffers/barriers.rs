//! Named barriers: the lowest free number first, then the lowest whose users are never in use together.
//!
//! Iterations overlap, and agents drift apart as far as pipes let them, so that rows of the schedule say nothing of who is in use
//! when. Dependences do: two users take turns at a number if each comes after the other's last step and before its next first
//! one by dependences alone ([`Turns`]).
//!
//! Source: `tile-buffers` (second step), which compares lifetimes.

use cranelift_entity::EntityRef;
use sassafras_tileir::program::{Op, Program};

/// Who uses a number: operations that begin a use in iteration `i`, and those that end it, so many iterations later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Those that begin.
    pub first: Vec<Op>,
    /// Those that end, with their distance.
    pub last: Vec<(Op, u32)>,
}

/// Who comes before whom, by dependences.
pub struct Turns {
    /// For each pair the least number of iterations that a path of dependences spans.
    least: Vec<Vec<Option<u32>>>,
}

impl Turns {
    /// Dependences along which an operation is complete before the other starts: all but those inside of one in-order queue.
    ///
    /// Cost: operations times dependences.
    pub fn new(program: &Program) -> Turns {
        let count = program.ops.len();
        let mut after: Vec<Vec<(usize, u32)>> = vec![Vec::new(); count];
        for (from, to, distance) in program.dependences() {
            if program.queue(from).is_none() || program.queue(from) != program.queue(to) {
                after[from.index()].push((to.index(), distance));
            }
        }
        let from = |start: usize| {
            let mut least: Vec<Option<u32>> = vec![None; count];
            let mut next: Vec<(usize, u32)> = after[start].clone();
            while let Some((at, distance)) = next.pop() {
                if least[at].is_none_or(|l| distance < l) {
                    least[at] = Some(distance);
                    next.extend(after[at].iter().map(|&(to, d)| (to, distance.saturating_add(d))));
                }
            }
            least
        };
        Turns { least: (0..count).map(from).collect() }
    }

    /// Whether two users take turns.
    pub fn apart(&self, a: &User, b: &User) -> bool {
        let then = |x: &User, y: &User, within: u32| {
            x.last.iter().all(|&(op, late)| {
                let least = &self.least[op.index()];
                y.first.iter().all(|f| least[f.index()].is_some_and(|d| d.saturating_add(late) <= within))
            })
        };
        then(a, b, 0) && then(b, a, 1) || then(b, a, 0) && then(a, b, 1)
    }
}

/// Numbers for all users, in order, out of `count`; the position of the first that finds none.
pub fn assign(users: usize, count: u32, apart: impl Fn(usize, usize) -> bool) -> Result<Vec<u32>, usize> {
    let mut bound: Vec<Vec<usize>> = vec![Vec::new(); count as usize];
    let mut given = Vec::with_capacity(users);
    for user in 0..users {
        let unbound = bound.iter().position(Vec::is_empty);
        let shared = || bound.iter().position(|b| b.iter().all(|&other| apart(other, user)));
        let Some(at) = unbound.or_else(shared) else { return Err(user) };
        bound[at].push(user);
        given.push(at as u32);
    }
    Ok(given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_ones_first_then_those_that_are_free_again() {
        let lives = |lives: &'static [(i64, i64)]| {
            move |a: usize, b: usize| lives[a].1 <= lives[b].0 || lives[b].1 <= lives[a].0
        };
        assert_eq!(assign(3, 3, lives(&[(0, 5), (5, 9), (2, 7)])), Ok(vec![0, 1, 2]));
        assert_eq!(assign(4, 2, lives(&[(0, 5), (3, 9), (5, 7), (9, 12)])), Ok(vec![0, 1, 0, 0]));
        assert_eq!(assign(3, 2, lives(&[(0, 5), (3, 9), (4, 7)])), Err(2));
        assert_eq!(assign(1, 0, |_, _| true), Err(0));
        assert_eq!(assign(33, 32, |_, _| false), Err(32));
        assert_eq!(assign(32, 32, |_, _| false).map(|g| g[31]), Ok(31));
    }
}
