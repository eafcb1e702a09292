//! What a placement costs: four components, compared one after the other, never added up.
//!
//! 1. *resources*: whether every slot has no more claimants than it has units. No later component matters where it fails;
//! 2. *pipe slots*: by how much the longest path from a predecessor is longer than the rows there are;
//! 3. *banks*: units of memory transports that are held in the row, in iteration and carried;
//! 4. *order*: pairs of operations that are emitted the other way round than in the program (Kendall's tau).
//!
//! Source: `tile-scheduler` ("Worked Scoring Example"). The document's own example shares a slot between 15 cycles of work in
//! 8 rows. That passes only if a claim is looked at in the cycle it starts in, so [`Feasibility`] has both readings; the
//! generator always uses [`Feasibility::Slots`].

use cranelift_entity::EntityRef;
use sassafras_machine::tile;
use sassafras_modulo::{Distances, Op, Problem, Schedule, Table};
use serde::Serialize;

/// How the first component is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feasibility {
    /// Slot by slot and row by row, modulo II: what a machine can do.
    Slots,
    /// Two claims of one slot meet only if they start in the same cycle: the document's worked example.
    StartRow,
}

/// A cost. The derived order is the lexicographic one: components are declared from the hardest to the softest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Cost {
    /// 0, or [`Cost::NEVER`] where resources do not allow it.
    pub resources: u32,
    /// Pipe slots.
    pub pipe: u32,
    /// Banks.
    pub banks: u32,
    /// Inversions.
    pub order: u64,
}

impl Cost {
    /// The first component of what cannot be.
    pub const NEVER: u32 = u32::MAX;

    /// What is not feasible.
    pub const INFEASIBLE: Cost = Cost { resources: Cost::NEVER, pipe: 0, banks: 0, order: 0 };

    /// Whether resources allow it.
    pub fn feasible(self) -> bool {
        self.resources != Cost::NEVER
    }
}

/// Inversions between two orders of the same things: pairs that stand the other way round. Merge sort, n log n.
pub fn inversions(sequence: &[usize]) -> u64 {
    fn sort(items: &mut [usize], spare: &mut Vec<usize>) -> u64 {
        if items.len() < 2 {
            return 0;
        }
        let middle = items.len() / 2;
        let mut count = sort(&mut items[..middle], spare) + sort(&mut items[middle..], spare);
        spare.clear();
        let (mut left, mut right) = (0, middle);
        while left < middle || right < items.len() {
            if right == items.len() || left < middle && items[left] <= items[right] {
                spare.push(items[left]);
                left += 1;
            } else {
                // It passes everything that is left of the left half.
                count += (middle - left) as u64;
                spare.push(items[right]);
                right += 1;
            }
        }
        items.copy_from_slice(spare);
        count
    }
    sort(&mut sequence.to_vec(), &mut Vec::with_capacity(sequence.len()))
}

/// The order in which a schedule emits operations: by time, and where times are equal as in the program.
pub fn emitted(schedule: &Schedule) -> Vec<usize> {
    let mut order: Vec<usize> = (0..schedule.times.len()).collect();
    order.sort_by_key(|&i| (schedule.times[i], i));
    order
}

/// The slots that count for bank pressure, by name.
pub fn is_bank(problem: &Problem, resource: sassafras_modulo::Resource) -> bool {
    tile::slot(problem.resource_name(resource)).is_some_and(|s| s.bank)
}

/// What a whole schedule costs.
///
/// `path`: the pair of operations whose distance the second component looks at, nothing for all pairs.
pub fn of_schedule(
    problem: &Problem,
    schedule: &Schedule,
    feasibility: Feasibility,
    path: Option<(Op, Op)>,
) -> Cost {
    let feasible = match feasibility {
        Feasibility::Slots => fits(problem, schedule),
        Feasibility::StartRow => starts_differ(problem, schedule),
    };
    if !feasible {
        return Cost::INFEASIBLE;
    }
    let ii = schedule.ii;
    let mut longest = 0;
    if let Ok(distances) = Distances::new(problem, ii) {
        for from in problem.ops() {
            for to in problem.ops() {
                if from != to && path.is_none_or(|p| p == (from, to)) {
                    longest = longest.max(distances.get(from, to).unwrap_or(0));
                }
            }
        }
    }
    let pipe = u32::try_from(longest).unwrap_or(0).saturating_sub(ii);
    let (inside, carried) = start_row_banks(problem, schedule);
    Cost { resources: 0, pipe, banks: inside + carried, order: inversions(&emitted(schedule)) }
}

fn fits(problem: &Problem, schedule: &Schedule) -> bool {
    let Ok(mut table) = Table::new(problem, schedule.ii) else { return false };
    problem.ops().all(|op| schedule.time(op).is_some_and(|t| table.place(op, t).is_ok()))
}

/// Whether no two operations start in one cycle that want more of a slot together than there is.
fn starts_differ(problem: &Problem, schedule: &Schedule) -> bool {
    let mut claims = std::collections::BTreeMap::new();
    problem.ops().all(|op| {
        let Some(time) = schedule.time(op) else { return false };
        problem.uses(op).iter().filter(|u| u.start == 0).all(|u| {
            let held: &mut u64 = claims.entry((u.resource, time)).or_default();
            *held += u64::from(u.units);
            *held <= u64::from(problem.capacity(u.resource))
        })
    })
}

/// Units of banks that are claimed in row 0: by operations of the first stage, and by those of later ones.
fn start_row_banks(problem: &Problem, schedule: &Schedule) -> (u32, u32) {
    let (mut inside, mut carried) = (0, 0);
    for op in problem.ops() {
        if schedule.row(op) != Some(0) {
            continue;
        }
        let units: u32 =
            problem.uses(op).iter().filter(|u| is_bank(problem, u.resource)).map(|u| u.units).sum();
        match schedule.stage(op) {
            Some(0) => inside += units,
            _ => carried += units,
        }
    }
    (inside, carried)
}

/// How many of the operations placed so far would be emitted the other way round than in the program because of `op` at
/// `time`.
pub fn inversions_of(times: &[Option<i64>], op: Op, time: i64) -> u64 {
    let at = op.index();
    let other_way = |(i, t): (usize, &Option<i64>)| match t {
        Some(t) => i < at && *t > time || i > at && *t < time,
        None => false,
    };
    times.iter().enumerate().filter(|&(i, t)| i != at && other_way((i, t))).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inversions_are_counted() {
        assert_eq!(inversions(&[]), 0);
        assert_eq!(inversions(&[0, 2, 3, 1]), 2);
        assert_eq!(inversions(&[3, 2, 1, 0]), 6);
        let slow = |s: &[usize]| {
            (0..s.len()).flat_map(|i| (i..s.len()).map(move |j| (i, j))).filter(|&(i, j)| s[i] > s[j]).count()
        };
        let mut x = 1u64;
        for n in 0..40 {
            let s: Vec<usize> = (0..n)
                .map(|_| {
                    x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    (x >> 59) as usize
                })
                .collect();
            assert_eq!(inversions(&s), slow(&s) as u64, "{s:?}");
        }
    }

    #[test]
    fn a_softer_component_never_outweighs_a_harder_one() {
        let cost = |resources, pipe, banks, order| Cost { resources, pipe, banks, order };
        let mut costs =
            [cost(0, 1, 0, 0), cost(0, 0, 3, 0), Cost::INFEASIBLE, cost(0, 0, 2, 900), cost(0, 0, 2, 3)];
        costs.sort();
        assert_eq!(
            costs,
            [cost(0, 0, 2, 3), cost(0, 0, 2, 900), cost(0, 0, 3, 0), cost(0, 1, 0, 0), Cost::INFEASIBLE]
        );
    }
}
