//! What a placement costs: four components, compared one after the other, never added up.
//!
//! 1. *resources*: whether every slot has no more claimants than it has units, and no row more units of memory transports than
//!    the two caps of the pool vector. No later component matters where it fails;
//! 2. *pipe slots*: by how much the longest path from a predecessor is longer than the rows there are;
//! 3. *banks*: units of memory transports that are held in the row, in iteration and carried; of a whole schedule, in the
//!    fullest row;
//! 4. *order*: pairs of operations that are emitted the other way round than in the program (Kendall's tau).
//!
//! Source: `tile-scheduler` ("Worked Scoring Example"). The document's own example shares a slot between 15 cycles of work in
//! 8 rows. That passes only if a claim is looked at in the cycle it starts in, so [`Feasibility`] has both readings; the
//! generator always uses [`Feasibility::Slots`]. The caps are the fourth arm's: where another generator made the schedule its
//! cost may say that a row is above them.

use super::evaluate::{CARRIED, IN_ITERATION};
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
pub fn of_schedule(problem: &Problem, schedule: &Schedule, feasibility: Feasibility) -> Cost {
    let banks = match feasibility {
        Feasibility::Slots => fullest_row(problem, schedule),
        Feasibility::StartRow => starts_differ(problem, schedule).then(|| start_row_banks(problem, schedule)),
    };
    let Some(banks) = banks else { return Cost::INFEASIBLE };
    let ii = schedule.ii;
    let mut longest = 0;
    if let Ok(distances) = Distances::new(problem, ii) {
        for from in problem.ops() {
            for to in problem.ops().filter(|&to| to != from) {
                longest = longest.max(distances.get(from, to).unwrap_or(0));
            }
        }
    }
    let pipe = u32::try_from(longest).unwrap_or(0).saturating_sub(ii);
    Cost { resources: 0, pipe, banks, order: inversions(&emitted(schedule)) }
}

/// Units of banks in the row that has most of them, in iteration and carried; nothing where a slot or a cap does not allow the
/// schedule.
fn fullest_row(problem: &Problem, schedule: &Schedule) -> Option<u32> {
    let mut table = Table::new(problem, schedule.ii).ok()?;
    for op in problem.ops() {
        table.place(op, schedule.time(op)?).ok()?;
    }
    let banks: Vec<_> = problem.resources().filter(|&r| is_bank(problem, r)).collect();
    let rows = if banks.is_empty() { 0 } else { schedule.ii };
    let mut most = 0;
    for row in 0..rows {
        let inside: u32 = banks.iter().map(|&b| table.in_iteration(b, row)).sum();
        let carried: u32 = banks.iter().map(|&b| table.carried(b, row)).sum();
        if inside > tile::pool(IN_ITERATION) || carried > tile::pool(CARRIED) {
            return None;
        }
        most = most.max(inside + carried);
    }
    Some(most)
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
fn start_row_banks(problem: &Problem, schedule: &Schedule) -> u32 {
    let first = problem.ops().filter(|&op| schedule.row(op) == Some(0));
    let uses = first.flat_map(|op| problem.uses(op));
    uses.filter(|u| is_bank(problem, u.resource)).map(|u| u.units).sum()
}

/// What registers above a budget cost, in the unit of the document: so much each, up to a most. Counted per thread.
pub fn register_excess(registers: u64) -> u32 {
    let each = u64::from(tile::threshold("register_excess_cost"));
    let most = tile::threshold("register_excess_most");
    u32::try_from(registers.saturating_mul(each)).map_or(most, |cost| cost.min(most))
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
    fn pairs_are_counted_with_what_is_placed() {
        let op = |i: u32| Op::from_u32(i);
        // Operation 2 of four: 0 and 3 are placed, 1 is not.
        let times = [Some(5), None, None, Some(7)];
        let at = |time| inversions_of(&times, op(2), time);
        assert_eq!([at(4), at(5), at(6), at(7), at(8)], [1, 0, 0, 0, 1]);
        // Where everything is placed the sum over all is twice the number of pairs.
        let times = [3, 0, 2, 1].map(Some);
        let all: u64 = (0..4).map(|i| inversions_of(&times, op(i), times[i as usize].unwrap_or(0))).sum();
        let emitted = emitted(&Schedule { ii: 1, times: times.map(|t| t.unwrap_or(0)).to_vec() });
        assert_eq!(all, 2 * inversions(&emitted));
    }

    #[test]
    fn registers_above_the_budget_cost_so_much_each_up_to_a_most() {
        let golden = [(0, 0), (1, 17), (10, 170), (240, 4080), (241, 4096), (1000, 4096), (u64::MAX, 4096)];
        for (excess, cost) in golden {
            assert_eq!(register_excess(excess), cost, "{excess}");
        }
    }

    #[test]
    fn a_schedule_is_as_full_as_its_fullest_row() {
        let mut p = Problem::new();
        let read = p.add_resource("tp_smem_rd", 16);
        let other = p.add_resource("alu", 16);
        let two = |rows| sassafras_modulo::Use { resource: read, start: 0, rows, units: 2 };
        p.add_op("a", vec![two(3)]);
        p.add_op("b", vec![two(1), sassafras_modulo::Use::first(other, 2)]);
        let cost = |times: [i64; 2], ii| {
            of_schedule(&p, &Schedule { ii, times: times.to_vec() }, Feasibility::Slots)
        };
        // Nothing starts in row 0, and both are held in row 3.
        assert_eq!(cost([1, 3], 8).banks, 4);
        assert_eq!(cost([1, 4], 8).banks, 2);
        // Of 4 units in iteration and 3 carried: the last rows of `a` are carried, and one more than 3.
        assert_eq!(cost([7, 3], 8).banks, 2);
        let more = p.add_op("c", vec![two(3)]);
        let times = |t| Schedule { ii: 8, times: vec![7, 3, t] };
        assert_eq!(problem_cost(&p, &times(4)).banks, 2, "{more}");
        assert_eq!(problem_cost(&p, &times(7)), Cost::INFEASIBLE, "4 carried");
    }

    fn problem_cost(p: &Problem, s: &Schedule) -> Cost {
        of_schedule(p, s, Feasibility::Slots)
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
