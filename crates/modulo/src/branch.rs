//! Branch and bound over rows at one II: a schedule, or a proof that there is none, or neither within the limits.
//!
//! Goal: to decide an II exactly, and to find packings that a scheduler which never looks back does not.
//!
//! What makes it small: an edge between operations that lie on no common circuit never forbids a pair of rows, since what
//! waits can wait for whole turns. So rows are searched alone, under two kinds of constraints: reservation patterns
//! modulo II, and differences of times within each strongly connected part. Operations that share neither a resource that
//! can run out nor a circuit are searched apart. Stages follow at the end by longest paths, as early as can be.
//!
//! Search: per operation a set of rows, one bit each. The next operation is the one with the fewest rows left, those
//! first that ran out of rows most often (Boussemart and others, 2004); of its rows those first that touch
//! what is held, then ascending. Where a resource of one unit has little to spare, the question is instead who holds a row
//! that follows a held one, or that nobody does: a few operations to choose from instead of many rows. Runs of growing
//! length start anew with the weights of those before and put the one question or the other first, so that a bad start is not
//! paid for long. The first operation of a part goes into row 0, since rows can be rotated, and operations with the same
//! pattern and on no circuit take their rows in their order, unless there are many. A failure returns to the last
//! decision that had to do with it (Prosser's conflict-directed backjumping, 1993).
//!
//! Propagation after each placement:
//! 1. within a strongly connected part the [closure](crate::closure) is kept closed: the distance of two operations with
//!    known rows is rounded up to the next that is congruent, and every other operation keeps the rows of the windows that
//!    all known ones leave it;
//! 2. rows at which a pattern meets too little are struck out, 64 at once;
//! 3. what still has to go on a resource must go into what is left: of a resource of one unit a gap holds no more than the
//!    largest sum of the waiting lengths that fits it; of a pool, rows with less left than any waiting use wants are lost.
//!
//! Cost: one closure, and per node a look at the rows of the operations that share a resource or a circuit with the one that was
//! placed. The number of nodes is exponential at worst, and limited.

use crate::closure::{ClosureError, Distances};
use crate::table::masks;
use cranelift_entity::EntityRef;
use sassafras_problem::pattern::{Segment, fold};
use sassafras_problem::{Problem, Resource, Schedule};
use std::time::Instant;

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Placements that may be tried.
    pub nodes: u64,
    /// The time after which no more are tried; looked at every few nodes.
    pub deadline: Option<Instant>,
}

/// What is known of an II.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// There is a schedule.
    Feasible(Schedule),
    /// There is none.
    Infeasible,
    /// A limit was reached before either was known, or the problem is beyond [`MAX_II`] or
    /// [`MAX_PART`].
    Stopped,
}

/// The largest II that is searched: a set of rows takes a bit per row and operation.
pub const MAX_II: u32 = 1 << 14;

/// Operations of a part up to which failures return further than one operation: as many as a set of them has bits.
const MASK: usize = u128::BITS as usize;

/// The most operations of a part that is searched, and the most rows that are left empty on the way: the search goes one call
/// deeper with each of either, and stacks are short.
pub const MAX_PART: usize = 1024;
const MAX_LOST: usize = 128;

/// Operations of a part from which runs are shorter.
const MANY: usize = 64;

/// Nodes that suffice to place `ops` operations in one run, or in each of two, with few failures.
pub(crate) fn runs(ops: usize, two: bool) -> u64 {
    let first = ops as u64 + Strategy::default().first_run / if ops > MANY { 4 } else { 1 };
    if two { 2 * first + first / Strategy::default().growth } else { first }
}

/// Decides whether `problem`, which [`Problem::check`] accepts, has a schedule of this II.
///
/// An error is what the closure cannot represent.
pub fn solve(problem: &Problem, ii: u32, limits: &Limits) -> Result<Outcome, ClosureError> {
    match Distances::new(problem, ii) {
        Ok(distances) => Ok(solve_closed(problem, &distances, limits).0),
        Err(ClosureError::PositiveCircuit(_)) => Ok(Outcome::Infeasible),
        Err(error) => Err(error),
    }
}

/// The same where the closure is at hand, with the nodes that it took.
pub(crate) fn solve_closed(problem: &Problem, distances: &Distances, limits: &Limits) -> (Outcome, u64) {
    let ii = distances.ii();
    if ii == 0 {
        return (Outcome::Infeasible, 0);
    }
    if ii > MAX_II {
        return (Outcome::Stopped, 0);
    }
    search_parts(problem, distances, limits, &Strategy::default())
}

/// What differs between searches that must come to the same verdict.
#[derive(Clone, Copy)]
struct Strategy {
    /// Nodes of the first run, and the part by which every further one is longer. Runs differ in what is branched on, and
    /// each learns from those before; their growing lengths keep the search complete.
    first_run: u64,
    growth: u64,
    /// What an empty row to spare costs in each run, in turn; see [`Search::spare_weight`].
    spare_weights: &'static [Option<usize>],
    /// Whether failures return further than one operation.
    jumps: bool,
}

impl Default for Strategy {
    fn default() -> Strategy {
        Strategy { first_run: 256, growth: 3, spare_weights: &[Some(1), None, Some(4)], jumps: true }
    }
}

fn search_parts(
    problem: &Problem,
    distances: &Distances,
    limits: &Limits,
    strategy: &Strategy,
) -> (Outcome, u64) {
    let ii = distances.ii();
    let mut nodes = 0;
    let mut rows = vec![0u32; problem.ops().len()];
    let Some(parts) = Parts::new(problem, distances) else { return (Outcome::Infeasible, 0) };
    for members in &parts.members {
        if members.len() > MAX_PART {
            return (Outcome::Stopped, nodes);
        }
        let left = Limits { nodes: limits.nodes.saturating_sub(nodes), ..*limits };
        let mut search = Search::new(problem, distances, &parts, members, left);
        search.jumps &= strategy.jumps;
        let step = search.run(strategy);
        nodes += search.nodes;
        match step {
            Step::Found => {
                for (local, &i) in members.iter().enumerate() {
                    rows[i] = search.rows[local];
                }
            }
            Step::Stopped => return (Outcome::Stopped, nodes),
            Step::Conflict(_) => return (Outcome::Infeasible, nodes),
        }
    }
    match stages(problem, ii, &rows) {
        Some(times) => (Outcome::Feasible(Schedule { ii, times }), nodes),
        // The differences were closed under all rows, so this does not happen; if it did, nothing is claimed.
        None => (Outcome::Stopped, nodes),
    }
}

/// The earliest times with these rows; nothing where the rows allow none.
pub(crate) fn stages(problem: &Problem, ii: u32, rows: &[u32]) -> Option<Vec<i64>> {
    let ii = i64::from(ii);
    let mut stage = vec![0i64; rows.len()];
    let edges: Vec<(usize, usize, i64)> = (problem.edges().iter())
        .map(|e| {
            let (from, to) = (e.from.index(), e.to.index());
            let cycles = i64::from(e.latency) + i64::from(rows[from]) - i64::from(rows[to]);
            // Rounded up.
            (from, to, -(-cycles).div_euclid(ii) - i64::from(e.distance))
        })
        .collect();
    for _ in 0..=rows.len() {
        let mut changed = false;
        for &(from, to, turns) in &edges {
            if stage[from] + turns > stage[to] {
                stage[to] = stage[from] + turns;
                changed = true;
            }
        }
        if !changed {
            let first = stage.iter().min().copied().unwrap_or(0);
            return Some(rows.iter().zip(&stage).map(|(&r, s)| (s - first) * ii + i64::from(r)).collect());
        }
    }
    None
}

/// Operations that have to do with each other, and the folded patterns of all.
pub(crate) struct Parts {
    /// By operation; only resources that can run out.
    pub segments: Vec<Vec<Segment>>,
    /// Per operation the first one of its strongly connected part.
    pub circuit: Vec<usize>,
    /// Sorted; operations that nothing constrains are in none.
    pub members: Vec<Vec<usize>>,
}

fn root(parent: &mut [usize], mut i: usize) -> usize {
    while parent[i] != i {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    i
}

impl Parts {
    /// Nothing where an operation does not fit even alone.
    pub fn new(problem: &Problem, distances: &Distances) -> Option<Parts> {
        let n = problem.ops().len();
        let ii = distances.ii();
        let mut segments: Vec<Vec<Segment>> = problem.ops().map(|op| fold(problem.uses(op), ii)).collect();
        let capacity = |r: Resource| u64::from(problem.capacity(r));
        if segments.iter().flatten().any(|s| s.units > capacity(s.resource)) {
            return None;
        }
        // A resource that all operations can have at once never matters.
        let mut most = vec![0u64; problem.resources().len()];
        for own in &segments {
            for r in problem.resources() {
                let units = own.iter().filter(|s| s.resource == r).map(|s| s.units).max();
                most[r.index()] = most[r.index()].saturating_add(units.unwrap_or(0));
            }
        }
        for own in &mut segments {
            own.retain(|s| most[s.resource.index()] > capacity(s.resource));
        }
        let mut circuit: Vec<usize> = (0..n).collect();
        let mut parent: Vec<usize> = (0..n).collect();
        for i in 0..n {
            if circuit[i] != i {
                continue;
            }
            for (j, of) in circuit.iter_mut().enumerate().skip(i + 1) {
                if distances.at(i, j).is_some() && distances.at(j, i).is_some() {
                    *of = i;
                    parent[j] = i;
                }
            }
        }
        let mut user = vec![None; most.len()];
        for (i, own) in segments.iter().enumerate() {
            for s in own {
                let other = *user[s.resource.index()].get_or_insert(i);
                let (a, b) = (root(&mut parent, i), root(&mut parent, other));
                parent[a.max(b)] = a.min(b);
            }
        }
        let mut members = vec![Vec::new(); n];
        for (i, own) in segments.iter().enumerate() {
            if !own.is_empty() || circuit.iter().filter(|&&c| c == circuit[i]).count() > 1 {
                members[root(&mut parent, i)].push(i);
            }
        }
        members.retain(|m| !m.is_empty());
        // Small parts first: what cannot be placed is often found there.
        members.sort_by_key(Vec::len);
        Some(Parts { segments, circuit, members })
    }
}

enum Step {
    Found,
    Stopped,
    /// The operations that the failure is due to.
    Conflict(u128),
}

/// A part of a pattern that several operations may have in common.
#[derive(Clone, Copy)]
struct Class {
    segment: Segment,
    /// The set of rows that have too little left for it, as an index into `Search::blocked`.
    threshold: usize,
}

/// Longest paths within one strongly connected part, of which `members` are local numbers.
struct Circuit {
    members: Vec<usize>,
    paths: Vec<i64>,
}

/// Who could hold a row that follows a held one.
struct Cover {
    resource: usize,
    row: usize,
    /// Operations and the rows they would be in.
    ways: Vec<(usize, u32)>,
    /// Ways and empty rows to spare.
    cost: usize,
}

/// How much of what was struck out a failure leaves.
#[derive(Clone, Copy)]
struct Mark {
    words: usize,
    ops: usize,
}

struct Search {
    n: usize,
    ii: usize,
    words: usize,
    limits: Limits,
    nodes: u64,
    /// Local: resources, their users, what they hold per row.
    capacity: Vec<u64>,
    users: Vec<Vec<usize>>,
    held: Vec<Vec<u64>>,
    /// Per resource the thresholds, as positions in `blocked`, with the units asked for.
    thresholds: Vec<Vec<(usize, u64)>>,
    blocked: Vec<u64>,
    classes: Vec<Class>,
    /// Per operation its classes; per class its operations.
    patterns: Vec<Vec<usize>>,
    having: Vec<Vec<usize>>,
    /// Per resource its classes.
    on: Vec<Vec<usize>>,
    circuits: Vec<Circuit>,
    /// Per operation its circuit and the position there.
    in_circuit: Vec<Option<(usize, usize)>>,
    /// Operations that can be exchanged.
    twins: Vec<Vec<usize>>,
    twin_of: Vec<Option<usize>>,
    /// The state.
    domains: Vec<u64>,
    /// How many rows each domain has.
    sizes: Vec<u32>,
    culprits: Vec<u128>,
    /// What words of domains, and sizes and culprits of operations, were before they were changed.
    old_words: Vec<(usize, u64)>,
    old_ops: Vec<(usize, u32, u128)>,
    rows: Vec<u32>,
    placed: Vec<bool>,
    weight: Vec<u64>,
    /// Whether failures are traced to operations: while a set has bits for all of them.
    jumps: bool,
    /// How much an empty row to spare costs against a way to hold one; nothing where rows are not branched on.
    spare_weight: Option<usize>,
    /// The nodes at which this run ends, and whether no other may follow.
    run_end: u64,
    over: bool,
    /// Rows that nobody shall hold: how many, and per resource who they are in sets of culprits.
    lost: usize,
    idle: Vec<u128>,
    /// Scratch.
    bad: Vec<u64>,
    turn: Vec<u64>,
    more: Vec<u64>,
}

/// The bits of `from` turned right by `by` of `ii` bits: bit `r` of the result is bit `(r + by) mod ii`.
fn rotate(into: &mut [u64], from: &[u64], by: usize, ii: usize) {
    let by = by % ii;
    into.fill(0);
    // Bits from `by` on move down, and the first `by` bits move up behind them.
    shift_down(into, from, by);
    shift_up(into, from, (ii - by) % ii, by != 0);
    let spare = into.len() * 64 - ii;
    if let Some(last) = into.last_mut() {
        *last &= u64::MAX >> spare;
    }
}

fn shift_down(into: &mut [u64], from: &[u64], by: usize) {
    let (words, bits) = (by / 64, by % 64);
    for (i, w) in into.iter_mut().enumerate() {
        let low = from.get(i + words).copied().unwrap_or(0);
        let high = if bits == 0 { 0 } else { from.get(i + words + 1).copied().unwrap_or(0) << (64 - bits) };
        *w |= (low >> bits) | high;
    }
}

fn shift_up(into: &mut [u64], from: &[u64], by: usize, wanted: bool) {
    if !wanted {
        return;
    }
    let (words, bits) = (by / 64, by % 64);
    for i in words..into.len() {
        let low = from[i - words] << bits;
        let high = if bits == 0 || i == words { 0 } else { from[i - words - 1] >> (64 - bits) };
        into[i] |= low | high;
    }
}

fn bit(set: &[u64], at: usize) -> bool {
    set[at / 64] >> (at % 64) & 1 == 1
}

fn set_range(set: &mut [u64], from: usize, to: usize) {
    for (word, mask) in masks(from as u32..to.max(from) as u32) {
        set[word] |= mask;
    }
}

impl Search {
    fn new(
        problem: &Problem,
        distances: &Distances,
        parts: &Parts,
        members: &[usize],
        limits: Limits,
    ) -> Search {
        let (n, ii) = (members.len(), distances.ii() as usize);
        let words = ii.div_ceil(64);
        let mut local = vec![None; problem.resources().len()];
        let mut s = Search {
            n,
            ii,
            words,
            limits,
            nodes: 0,
            capacity: Vec::new(),
            users: Vec::new(),
            held: Vec::new(),
            thresholds: Vec::new(),
            blocked: Vec::new(),
            classes: Vec::new(),
            patterns: vec![Vec::new(); n],
            having: Vec::new(),
            on: Vec::new(),
            circuits: Vec::new(),
            in_circuit: vec![None; n],
            twins: Vec::new(),
            twin_of: vec![None; n],
            domains: vec![0; n * words],
            sizes: vec![ii as u32; n],
            culprits: vec![0; n],
            old_words: Vec::new(),
            old_ops: Vec::new(),
            rows: vec![0; n],
            placed: vec![false; n],
            weight: vec![1; n],
            jumps: n <= MASK,
            spare_weight: None,
            run_end: 0,
            over: false,
            lost: 0,
            idle: Vec::new(),
            bad: vec![0; words],
            turn: vec![0; words],
            more: vec![0; words],
        };
        for i in 0..n {
            set_range(&mut s.domains[i * words..][..words], 0, ii);
        }
        for (i, &op) in members.iter().enumerate() {
            for segment in &parts.segments[op] {
                let resource = *local[segment.resource.index()].get_or_insert_with(|| {
                    s.capacity.push(u64::from(problem.capacity(segment.resource)));
                    s.users.push(Vec::new());
                    s.idle.push(0);
                    s.held.push(vec![0; ii]);
                    s.thresholds.push(Vec::new());
                    s.on.push(Vec::new());
                    s.capacity.len() - 1
                });
                if s.users[resource].last() != Some(&i) {
                    s.users[resource].push(i);
                }
                s.add_segment(i, Segment { resource: Resource::from_u32(resource as u32), ..*segment });
            }
        }
        for first in 0..n {
            let same: Vec<usize> = (0..n).filter(|&i| parts.circuit[members[i]] == members[first]).collect();
            if same.len() < 2 {
                continue;
            }
            let paths = same
                .iter()
                .flat_map(|&a| same.iter().map(move |&b| (a, b)))
                .map(|(a, b)| distances.at(members[a], members[b]).map_or(i64::MIN / 4, i64::from))
                .collect();
            for (at, &i) in same.iter().enumerate() {
                s.in_circuit[i] = Some((s.circuits.len(), at));
            }
            s.circuits.push(Circuit { members: same, paths });
        }
        for i in 0..n {
            if s.in_circuit[i].is_some() {
                continue;
            }
            let known = s.twins.iter().position(|t| s.patterns[t[0]] == s.patterns[i]);
            let at = known.unwrap_or_else(|| {
                s.twins.push(Vec::new());
                s.twins.len() - 1
            });
            s.twins[at].push(i);
            s.twin_of[i] = Some(at);
        }
        s
    }

    fn add_segment(&mut self, i: usize, segment: Segment) {
        let resource = segment.resource.index();
        let class = self.on[resource].iter().copied().find(|&c| self.classes[c].segment == segment);
        let class = class.unwrap_or_else(|| {
            let known = self.thresholds[resource].iter().find(|t| t.1 == segment.units).map(|t| t.0);
            let threshold = known.unwrap_or_else(|| {
                let at = self.blocked.len() / self.words;
                self.blocked.extend(std::iter::repeat_n(0, self.words));
                self.thresholds[resource].push((at, segment.units));
                at
            });
            self.classes.push(Class { segment, threshold });
            self.having.push(Vec::new());
            self.on[resource].push(self.classes.len() - 1);
            self.classes.len() - 1
        });
        self.having[class].push(i);
        self.patterns[i].push(class);
    }

    fn run(&mut self, strategy: &Strategy) -> Step {
        // The longest pattern into row 0; of twins the first, so that their order stands.
        let rows = |i: usize| self.patterns[i].iter().map(|&c| u64::from(self.classes[c].segment.rows)).sum();
        let first = (0..self.n).rev().max_by_key(|&i| -> u64 { rows(i) });
        let Some(first) = first else { return Step::Found };
        let first = self.twin_of[first].map_or(first, |t| self.twins[t][0]);
        let start = self.mark();
        let paths: Vec<Vec<i64>> = self.circuits.iter().map(|c| c.paths.clone()).collect();
        let jumps = self.jumps;
        // Long enough to place everything once. Of many operations a failure is seldom mended near it, so that to start
        // anew comes sooner.
        let first_run = if self.n > MANY { strategy.first_run / 4 } else { strategy.first_run };
        let mut nodes = first_run.saturating_add(self.n as u64);
        for run in 0.. {
            // Of many operations first what finds most.
            let turn = run + usize::from(self.n > MANY);
            self.spare_weight = strategy.spare_weights[turn % strategy.spare_weights.len()];
            self.run_end = self.nodes.saturating_add(nodes);
            self.nodes += 1;
            let step = match self.place(first, 0) {
                Ok(()) => self.descend(self.n - 1),
                Err(conflict) => Step::Conflict(conflict),
            };
            if !matches!(step, Step::Stopped) || self.over {
                return step;
            }
            // From the start, with the weights that were learnt.
            self.placed.fill(false);
            self.held.iter_mut().for_each(|h| h.fill(0));
            self.blocked.fill(0);
            self.idle.fill(0);
            (self.lost, self.jumps) = (0, jumps);
            self.restore(start);
            for (circuit, paths) in self.circuits.iter_mut().zip(&paths) {
                circuit.paths.copy_from_slice(paths);
            }
            nodes += nodes / strategy.growth + 1;
        }
        Step::Stopped
    }

    fn mask(&self, i: usize) -> u128 {
        if self.jumps { 1 << i } else { u128::MAX }
    }

    fn domain(&self, i: usize) -> &[u64] {
        &self.domains[i * self.words..][..self.words]
    }

    /// Whether this run ends; `over` where no other may follow.
    fn stop(&mut self) -> bool {
        let late = self.nodes.is_multiple_of(16) && self.limits.deadline.is_some_and(|d| Instant::now() >= d);
        self.over |= late || self.nodes >= self.limits.nodes;
        self.over || self.nodes >= self.run_end
    }

    fn descend(&mut self, left: usize) -> Step {
        if left == 0 {
            return Step::Found;
        }
        // Few rows and many failures; compared as fractions.
        let mut next: Option<(usize, u64)> = None;
        for i in (0..self.n).filter(|&i| !self.placed[i]) {
            let size = u64::from(self.sizes[i]);
            if next.is_none_or(|(j, best)| size * self.weight[j] < best * self.weight[i]) {
                next = Some((i, size));
            }
        }
        let Some((i, size)) = next else { return Step::Found };
        let saved = self.mark();
        match self.cover(size) {
            Some(cover) => self.branch_on_row(left, &cover, saved),
            None => self.branch_on_op(left, i, saved),
        }
    }

    /// Branches on the row of an operation.
    fn branch_on_op(&mut self, left: usize, i: usize, saved: Mark) -> Step {
        let mut conflict = self.culprits[i];
        for row in self.values(i) {
            let why = match self.try_row(i, row, left, saved) {
                Step::Conflict(why) => why,
                step => return step,
            };
            if why & self.mask(i) == 0 {
                // Another row would fail for the same reason.
                return Step::Conflict(why);
            }
            conflict |= why;
        }
        Step::Conflict(if self.jumps { conflict & !self.mask(i) } else { u128::MAX })
    }

    /// Everything below one placement; the state is as before unless a schedule was found.
    fn try_row(&mut self, i: usize, row: u32, left: usize, saved: Mark) -> Step {
        if self.stop() {
            return Step::Stopped;
        }
        self.nodes += 1;
        let paths = self.in_circuit[i].map(|(c, _)| (c, self.circuits[c].paths.clone()));
        let step = match self.place(i, row) {
            Ok(()) => self.descend(left - 1),
            Err(conflict) => Step::Conflict(conflict),
        };
        if let Step::Conflict(_) = step {
            self.unplace(i);
            self.restore(saved);
            if let Some((c, paths)) = &paths {
                self.circuits[*c].paths.copy_from_slice(paths);
            }
        }
        step
    }

    fn mark(&self) -> Mark {
        Mark { words: self.old_words.len(), ops: self.old_ops.len() }
    }

    fn restore(&mut self, mark: Mark) {
        for (at, word) in self.old_words.drain(mark.words..).rev() {
            self.domains[at] = word;
        }
        for (i, size, culprits) in self.old_ops.drain(mark.ops..).rev() {
            (self.sizes[i], self.culprits[i]) = (size, culprits);
        }
    }

    /// A row behind a held one, of a resource of one unit, that fewer than `most` placements would hold.
    fn cover(&self, most: u64) -> Option<Cover> {
        let weight = self.spare_weight.filter(|_| self.lost < MAX_LOST)?;
        let mut best: Option<Cover> = None;
        let mut ways = Vec::new();
        for (resource, users) in self.users.iter().enumerate().filter(|(r, _)| self.capacity[*r] == 1) {
            let waiting: Vec<usize> = users.iter().copied().filter(|&j| !self.placed[j]).collect();
            if waiting.is_empty() {
                continue;
            }
            // Rows that may stay empty: each is a way, too, at one of the next branches.
            let wanted = waiting.iter().flat_map(|&j| &self.patterns[j]).map(|&c| &self.classes[c].segment);
            let wanted =
                wanted.filter(|s| s.resource.index() == resource).map(|s| s.rows as usize).sum::<usize>();
            let free = self.held[resource].iter().filter(|&&h| h == 0).count();
            let spare = free.saturating_sub(wanted) * weight;
            for row in 0..self.ii {
                let limit = best.as_ref().map_or(most as usize, |b| b.cost);
                if spare >= limit {
                    break;
                }
                let before = if row == 0 { self.ii - 1 } else { row - 1 };
                if self.held[resource][row] > 0 || self.held[resource][before] == 0 {
                    continue;
                }
                ways.clear();
                for &c in &self.on[resource] {
                    let start = self.classes[c].segment.start as usize;
                    let at = if row >= start { row - start } else { row + self.ii - start };
                    for &j in self.having[c].iter().filter(|&&j| !self.placed[j] && bit(self.domain(j), at)) {
                        // Without an order of twins one is as good as another.
                        let twin = self.twin_of[j].filter(|_| self.n > MANY);
                        let again = |&(k, row): &(usize, u32)| {
                            row as usize == at && twin.is_some() && self.twin_of[k] == twin
                        };
                        if ways.iter().any(again) {
                            continue;
                        }
                        ways.push((j, at as u32));
                        // No more than it takes to see that there are too many.
                        if ways.len() + spare >= limit {
                            break;
                        }
                    }
                    if ways.len() + spare >= limit {
                        break;
                    }
                }
                let cost = ways.len() + spare;
                if cost < limit {
                    best = Some(Cover { resource, row, ways: ways.clone(), cost });
                }
            }
        }
        best
    }

    /// Branches on who holds a row, and on that nobody does.
    fn branch_on_row(&mut self, left: usize, cover: &Cover, saved: Mark) -> Step {
        let Cover { resource, row, ref ways, .. } = *cover;
        // Who could have held the row but for what others took, and who holds the one before.
        let waiting = self.users[resource].iter().filter(|&&j| !self.placed[j]);
        let mut conflict = waiting.fold(self.holders(resource), |set, &j| set | self.culprits[j]);
        let mut ways: Vec<(u32, u64, usize, u32)> = ways
            .iter()
            .map(|&(j, at)| {
                let rows = self.patterns[j].iter().map(|&c| u64::from(self.classes[c].segment.rows)).sum();
                (self.touches(j, at as usize), rows, j, at)
            })
            .collect();
        ways.sort_by_key(|&(touches, rows, j, at)| (std::cmp::Reverse((touches, rows)), j, at));
        for (_, _, j, at) in ways {
            let why = match self.try_row(j, at, left, saved) {
                Step::Conflict(why) => why,
                step => return step,
            };
            if why & self.mask(j) == 0 {
                return Step::Conflict(why);
            }
            conflict |= why & if self.jumps { !self.mask(j) } else { u128::MAX };
        }
        if self.stop() {
            return Step::Stopped;
        }
        self.nodes += 1;
        let mine =
            if self.jumps && self.n + self.lost < MASK { 1 << (self.n + self.lost) } else { u128::MAX };
        if mine == u128::MAX {
            self.jumps = false;
        }
        let before = self.idle[resource];
        self.idle[resource] |= mine;
        self.lost += 1;
        self.hold(resource, row, true);
        let step = match self.strike_held(resource, row, 1, mine) {
            Ok(()) if self.room(resource) => self.descend(left),
            Ok(()) => Step::Conflict(self.holders(resource)),
            Err(conflict) => Step::Conflict(conflict),
        };
        let Step::Conflict(why) = step else { return step };
        self.hold(resource, row, false);
        self.lost -= 1;
        self.idle[resource] = before;
        self.restore(saved);
        if why & mine == 0 {
            return Step::Conflict(why);
        }
        Step::Conflict(if self.jumps { conflict | why & !mine } else { u128::MAX })
    }

    /// How many ends of what an operation would hold in a row touch what is held.
    fn touches(&self, i: usize, row: usize) -> u32 {
        let mut touches = 0;
        for &c in &self.patterns[i] {
            let class = &self.classes[c];
            let blocked = &self.blocked[class.threshold * self.words..][..self.words];
            let start = row + class.segment.start as usize;
            touches += u32::from(bit(blocked, (start + self.ii - 1) % self.ii));
            touches += u32::from(bit(blocked, (start + class.segment.rows as usize) % self.ii));
        }
        touches
    }

    /// The rows of an operation, those first that leave no gap beside what is held.
    fn values(&self, i: usize) -> Vec<u32> {
        let rows = (0..self.ii).filter(|&r| bit(self.domain(i), r));
        let mut rows: Vec<(u32, u32)> = rows.map(|r| (self.touches(i, r), r as u32)).collect();
        rows.sort_by_key(|&(touches, row)| (std::cmp::Reverse(touches), row));
        rows.into_iter().map(|(_, row)| row).collect()
    }

    /// Adds what `i` holds in its row, or takes it off.
    fn change(&mut self, i: usize, add: bool) {
        for at in 0..self.patterns[i].len() {
            let segment = self.classes[self.patterns[i][at]].segment;
            let resource = segment.resource.index();
            for k in 0..segment.rows as usize {
                let row = (self.rows[i] as usize + segment.start as usize + k) % self.ii;
                self.held_by(resource, row, segment.units, add);
            }
        }
    }

    /// Lets nobody hold a row of a resource of one unit, or allows it again.
    fn hold(&mut self, resource: usize, row: usize, add: bool) {
        self.held_by(resource, row, 1, add);
    }

    /// Adds to what a row holds, or takes it off, and says for which uses too little is left.
    fn held_by(&mut self, resource: usize, row: usize, units: u64, add: bool) {
        let held = &mut self.held[resource][row];
        *held = if add { *held + units } else { *held - units };
        let left = self.capacity[resource].saturating_sub(*held);
        for &(set, units) in &self.thresholds[resource] {
            let word = &mut self.blocked[set * self.words + row / 64];
            let mask = 1 << (row % 64);
            *word = if left < units { *word | mask } else { *word & !mask };
        }
    }

    fn unplace(&mut self, i: usize) {
        self.change(i, false);
        self.placed[i] = false;
    }

    /// Places an operation in a row of its domain and propagates, or says who is to blame for what no longer works. What
    /// has been changed is undone by the caller in either case.
    fn place(&mut self, i: usize, row: u32) -> Result<(), u128> {
        self.rows[i] = row;
        self.placed[i] = true;
        self.change(i, true);
        if let Some((c, at)) = self.in_circuit[i] {
            self.close_circuit(c, at)?;
        }
        // Of many operations the order is in the way of finding anything, and no proof is near.
        if let Some(t) = self.twin_of[i].filter(|_| self.n <= MANY) {
            for later in [true, false] {
                self.bad.fill(0);
                let (from, to) = if later { (0, row as usize) } else { (row as usize + 1, self.ii) };
                set_range(&mut self.bad, from, to);
                for at in 0..self.twins[t].len() {
                    let other = self.twins[t][at];
                    if (other > i) == later {
                        self.strike(other, self.mask(i))?;
                    }
                }
            }
        }
        for at in 0..self.patterns[i].len() {
            let resource = self.classes[self.patterns[i][at]].segment.resource.index();
            let before =
                at.checked_sub(1).map(|at| self.classes[self.patterns[i][at]].segment.resource.index());
            if before == Some(resource) {
                continue;
            }
            if self.capacity[resource] > 1 {
                // All who hold some of it are to blame.
                self.strike_resource(resource, self.holders(resource))?;
            } else {
                for at in at..self.patterns[i].len() {
                    let s = self.classes[self.patterns[i][at]].segment;
                    if s.resource.index() == resource {
                        let from = (row as usize + s.start as usize) % self.ii;
                        self.strike_held(resource, from, s.rows as usize, self.mask(i))?;
                    }
                }
            }
            if !self.room(resource) {
                return Err(self.holders(resource));
            }
        }
        Ok(())
    }

    /// Strikes out the rows at which operations meet rows of a resource of one unit that have just been taken.
    fn strike_held(&mut self, resource: usize, from: usize, rows: usize, blame: u128) -> Result<(), u128> {
        for at in 0..self.on[resource].len() {
            let class = self.on[resource][at];
            let s = self.classes[class].segment;
            // From where it ends in the first of these rows to where it starts in the last.
            let back = (s.start as usize + s.rows as usize - 1) % self.ii;
            let start = (from + self.ii - back) % self.ii;
            for at in 0..self.having[class].len() {
                self.strike_arc(self.having[class][at], start, rows + s.rows as usize - 1, blame)?;
            }
        }
        Ok(())
    }

    /// Strikes out the rows at which operations find too little of a resource.
    fn strike_resource(&mut self, resource: usize, blame: u128) -> Result<(), u128> {
        for at in 0..self.on[resource].len() {
            let class = self.on[resource][at];
            if self.having[class].iter().all(|&j| self.placed[j]) {
                continue;
            }
            self.meet(class);
            for at in 0..self.having[class].len() {
                self.strike(self.having[class][at], blame)?;
            }
        }
        Ok(())
    }

    fn holders(&self, resource: usize) -> u128 {
        let placed = self.users[resource].iter().filter(|&&j| self.placed[j]);
        placed.fold(self.idle[resource], |set, &j| set | self.mask(j))
    }

    /// The rows at which a part of a pattern meets a row that has too little left, into `bad`.
    fn meet(&mut self, class: usize) {
        let Class { segment, threshold } = self.classes[class];
        let blocked = &self.blocked[threshold * self.words..][..self.words];
        rotate(&mut self.bad, blocked, segment.start as usize, self.ii);
        // A window of 1, 2, 4, ... rows at once, and the last step as long as it takes.
        let (mut covered, rows) = (1, segment.rows as usize);
        while covered < rows {
            let step = covered.min(rows - covered);
            self.turn.copy_from_slice(&self.bad);
            rotate(&mut self.more, &self.turn, step, self.ii);
            for (bad, more) in self.bad.iter_mut().zip(&self.more) {
                *bad |= more;
            }
            covered += step;
        }
    }

    /// Takes the rows of `bad` away from an operation that is not placed.
    fn strike(&mut self, i: usize, blame: u128) -> Result<(), u128> {
        if self.placed[i] {
            return Ok(());
        }
        let mut lost = 0;
        for word in 0..self.words {
            lost += self.strike_word(i, word, self.bad[word]);
        }
        self.struck(i, lost, blame)
    }

    /// Takes the `length` rows from `start` on away from an operation that is not placed.
    fn strike_arc(&mut self, i: usize, start: usize, length: usize, blame: u128) -> Result<(), u128> {
        if self.placed[i] {
            return Ok(());
        }
        let (start, end) = (start as u32, (start + length.min(self.ii)) as u32);
        let ii = self.ii as u32;
        let mut lost = 0;
        for (word, mask) in masks(start..end.min(ii)).chain(masks(0..end.saturating_sub(ii))) {
            lost += self.strike_word(i, word, mask);
        }
        self.struck(i, lost, blame)
    }

    fn strike_word(&mut self, i: usize, word: usize, bad: u64) -> u32 {
        let at = i * self.words + word;
        let old = self.domains[at];
        if old & bad == 0 {
            return 0;
        }
        self.old_words.push((at, old));
        self.domains[at] = old & !bad;
        (old & bad).count_ones()
    }

    fn struck(&mut self, i: usize, lost: u32, blame: u128) -> Result<(), u128> {
        if lost != 0 {
            self.old_ops.push((i, self.sizes[i], self.culprits[i]));
            self.sizes[i] -= lost;
            self.culprits[i] |= blame;
            if self.sizes[i] == 0 {
                self.weight[i] += 1;
            }
        }
        if self.sizes[i] == 0 { Err(self.culprits[i]) } else { Ok(()) }
    }

    /// Rounds the distances of operations with known rows up to congruent ones, closes again, and strikes out the rows
    /// outside the windows that are left.
    fn close_circuit(&mut self, c: usize, new: usize) -> Result<(), u128> {
        let ii = self.ii as i64;
        let circuit = &mut self.circuits[c];
        let k = circuit.members.len();
        let fixed: Vec<usize> = (0..k).filter(|&a| self.placed[circuit.members[a]]).collect();
        let row = |a: usize| i64::from(self.rows[circuit.members[a]]);
        let paths = &mut circuit.paths;
        let mut failed = false;
        let mut first = true;
        'closing: loop {
            let mut changed = false;
            for &a in &fixed {
                for &b in &fixed {
                    // Other pairs were rounded before, and are looked at again only if something moved.
                    if a == b || first && a != new && b != new {
                        continue;
                    }
                    let path = paths[a * k + b];
                    let longer = path + (row(b) - row(a) - path).rem_euclid(ii);
                    if longer == path {
                        continue;
                    }
                    if longer + paths[b * k + a] > 0 {
                        failed = true;
                        break 'closing;
                    }
                    changed = true;
                    for from in 0..k {
                        let head = paths[from * k + a] + longer;
                        for to in 0..k {
                            let whole = head + paths[b * k + to];
                            if whole > paths[from * k + to] {
                                paths[from * k + to] = whole;
                            }
                        }
                    }
                }
            }
            first = false;
            if !changed {
                break;
            }
        }
        let blame = fixed.iter().fold(0, |set, &a| set | self.mask(self.circuits[c].members[a]));
        if failed {
            return Err(blame);
        }
        for z in 0..k {
            let i = self.circuits[c].members[z];
            if self.placed[i] {
                continue;
            }
            for &a in &fixed {
                let paths = &self.circuits[c].paths;
                let (low, high) = (paths[a * k + z], -paths[z * k + a]);
                let length = high - low + 1;
                if length >= ii {
                    continue;
                }
                if length <= 0 {
                    return Err(blame);
                }
                let start = (i64::from(self.rows[self.circuits[c].members[a]]) + low).rem_euclid(ii) as usize;
                // The rows behind the window, around to its start.
                let end = start + length as usize;
                self.bad.fill(0);
                if end <= self.ii {
                    set_range(&mut self.bad, 0, start);
                    set_range(&mut self.bad, end, self.ii);
                } else {
                    set_range(&mut self.bad, end - self.ii, start);
                }
                self.strike(i, blame)?;
            }
        }
        Ok(())
    }

    /// Whether what still waits for a resource can go into what is left of it; see the module's comment.
    fn room(&mut self, resource: usize) -> bool {
        let waiting: Vec<Segment> = self.users[resource]
            .iter()
            .filter(|&&j| !self.placed[j])
            .flat_map(|&j| &self.patterns[j])
            .map(|&c| self.classes[c].segment)
            .filter(|s| s.resource.index() == resource)
            .collect();
        let Some(least) = waiting.iter().map(|s| s.units).min() else { return true };
        let wanted: u64 = waiting.iter().map(|s| s.units * u64::from(s.rows)).sum();
        let capacity = self.capacity[resource];
        let held = &self.held[resource];
        if capacity > 1 {
            let left = held.iter().map(|h| capacity - h).filter(|&l| l >= least).sum::<u64>();
            return left >= wanted;
        }
        let Some(taken) = held.iter().position(|&h| h > 0) else { return true };
        // Which lengths the waiting ones can fill together.
        let sums = &mut self.bad;
        let last = self.words * 64 - 1;
        sums.fill(0);
        sums[0] = 1;
        for s in &waiting {
            self.turn.copy_from_slice(sums);
            shift_up(sums, &self.turn, s.rows as usize, s.rows as usize <= last);
        }
        let usable = |gap: usize| (0..=gap.min(last)).rev().find(|&g| bit(sums, g)).unwrap_or(0) as u64;
        let (mut room, mut gap) = (0, 0);
        for k in 1..=self.ii {
            if held[(taken + k) % self.ii] == 0 {
                gap += 1;
            } else if gap > 0 {
                room += usable(gap);
                gap = 0;
            }
        }
        room >= wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{self, Shape};

    #[test]
    fn every_strategy_comes_to_the_same_verdict() {
        let plain =
            Strategy { first_run: u64::MAX / 2, spare_weights: &[None], jumps: false, ..Strategy::default() };
        // Short runs, so that there are many; empty rows for nothing, so that they are branched on wherever they can be.
        let eager = Strategy { first_run: 4, spare_weights: &[Some(0), None], ..Strategy::default() };
        let mut verdicts = [0; 2];
        for seed in 0..400 {
            let p = random::problem(Shape::ALL[seed as usize % 3], 3 + seed as usize % 6, seed);
            let mii = crate::bounds::bounds(&p).mii() as u32;
            for ii in mii.saturating_sub(2).max(1)..mii + 4 {
                let Ok(distances) = Distances::new(&p, ii) else { continue };
                let limits = Limits { nodes: 300_000, deadline: None };
                let feasible = |strategy: &Strategy| match search_parts(&p, &distances, &limits, strategy).0 {
                    Outcome::Feasible(schedule) => {
                        assert_eq!(crate::verify(&p, &schedule), Ok(()));
                        Some(true)
                    }
                    Outcome::Infeasible => Some(false),
                    Outcome::Stopped => None,
                };
                let Some(expected) = feasible(&plain) else { continue };
                verdicts[usize::from(expected)] += 1;
                for strategy in [eager, Strategy::default(), Strategy { jumps: false, ..eager }] {
                    assert!(feasible(&strategy).is_none_or(|f| f == expected), "seed {seed}, II {ii}");
                }
            }
        }
        assert!(verdicts.iter().all(|&v| v > 100), "{verdicts:?}");
    }

    #[test]
    fn large_parts_do_not_overflow_the_stack() {
        // One resource for all, and no slack: as deep as it goes.
        for (ops, stopped) in [(MAX_PART, false), (MAX_PART + 1, true)] {
            let mut p = Problem::new();
            let r = p.add_resource("port", 1);
            for i in 0..ops {
                p.add_op(format!("o{i}"), vec![crate::Use::first(r, 1)]);
            }
            let limits = Limits { nodes: 3 * ops as u64, deadline: None };
            let outcome = solve(&p, ops as u32, &limits).expect("small");
            assert_eq!(matches!(outcome, Outcome::Stopped), stopped);
        }
        for shape in Shape::ALL {
            let p = random::problem(shape, 900, 3);
            let ii = crate::bounds::bounds(&p).mii() as u32 + 200;
            let limits = Limits { nodes: 2000, deadline: None };
            if let Outcome::Feasible(schedule) = solve(&p, ii, &limits).expect("small") {
                assert_eq!(crate::verify(&p, &schedule), Ok(()));
            }
        }
    }

    #[test]
    fn rotations_are_rotations() {
        for ii in [1usize, 5, 63, 64, 65, 128, 130] {
            let words = ii.div_ceil(64);
            let mut from = vec![0u64; words];
            (0..ii).filter(|r| r * r % 7 < 3).for_each(|r| set_range(&mut from, r, r + 1));
            for by in 0..ii {
                let mut into = vec![0; words];
                rotate(&mut into, &from, by, ii);
                assert!((0..ii).all(|r| bit(&into, r) == bit(&from, (r + by) % ii)), "{by} of {ii}");
                assert!((ii..words * 64).all(|r| !bit(&into, r)));
            }
        }
    }
}
