//! Each part against a slow twin that is obviously right.

use proptest::prelude::*;
use sassafras_modulo::closure::{Cell, ClosureError, close, close_scalar};
use sassafras_modulo::iterative::{self, Options};
use sassafras_modulo::{
    Distances, Exact, Op, Problem, Resource, Schedule, Table, Use, bounds, exact, verify,
};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// A random number generator that a proptest seed starts: large graphs need no shrinking of their single cells.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

/// The textbook's closure with `None` for no path, which also keeps paths through positive circuits out of numbers.
fn textbook(weights: &[Option<i64>], n: usize) -> Result<Vec<Option<i64>>, ()> {
    let mut d = weights.to_vec();
    for i in 0..n {
        d[i * n + i] = Some(d[i * n + i].map_or(0, |w| w.max(0)));
    }
    for k in 0..n {
        for i in 0..n {
            for j in 0..n {
                if let (Some(a), Some(b)) = (d[i * n + k], d[k * n + j])
                    && d[i * n + j].is_none_or(|c| a + b > c)
                {
                    // Far beyond every simple path, so that doubling around positive circuits ends somewhere.
                    d[i * n + j] = Some((a + b).min(1 << 40));
                }
            }
        }
    }
    if (0..n).any(|i| d[i * n + i] > Some(0)) { Err(()) } else { Ok(d) }
}

fn cells<T: Cell>(weights: &[Option<i64>]) -> Vec<T> {
    weights.iter().map(|w| w.and_then(|w| T::try_from(w).ok()).unwrap_or(T::NO_PATH)).collect()
}

fn compare<T: Cell + std::fmt::Debug>(weights: &[Option<i64>], n: usize) -> Result<(), TestCaseError> {
    let (mut fast, mut scalar) = (cells::<T>(weights), cells::<T>(weights));
    let result = close(&mut fast, n);
    prop_assert_eq!(&result, &close_scalar(&mut scalar, n));
    if matches!(result, Err(ClosureError::TooWide(..))) {
        return Ok(());
    }
    match textbook(weights, n) {
        Ok(expected) => {
            prop_assert_eq!(result, Ok(()));
            prop_assert!(fast == cells::<T>(&expected));
            prop_assert!(scalar == fast);
        }
        Err(()) => prop_assert!(matches!(result, Err(ClosureError::PositiveCircuit(_)))),
    }
    Ok(())
}

/// Weights of a random graph; `slack` below 0 allows positive circuits.
fn graph(seed: u64, n: usize, percent: u64, slack: i64, spread: u64) -> Vec<Option<i64>> {
    let mut random = Random(seed);
    let potential: Vec<i64> = (0..n).map(|_| random.below(spread) as i64).collect();
    let mut weight = |i: usize| {
        let there = random.below(100) < percent;
        there.then(|| potential[i % n] - potential[i / n] - slack - random.below(6) as i64)
    };
    (0..n * n).map(&mut weight).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn closure_is_the_textbook_s(
        seed in any::<u64>(),
        n in prop_oneof![1usize..20, 60usize..70, 125usize..132],
        percent in prop_oneof![Just(1u64), Just(3), Just(20), Just(100)],
        slack in prop_oneof![4 => Just(0i64), 1 => Just(-1), 1 => Just(-3)],
        spread in prop_oneof![Just(2u64), Just(40), Just(3000)],
    ) {
        let weights = graph(seed, n, percent, slack, spread);
        compare::<i32>(&weights, n)?;
        compare::<i16>(&weights, n)?;
    }
}

/// Small problems, with bad luck of every kind but always valid: edges forward within an iteration, any way across.
fn problem(seed: u64, ops: u64, edges: u64) -> Problem {
    let mut random = Random(seed);
    let mut p = Problem::new();
    let resources: Vec<(Resource, u64)> = (0..1 + random.below(3))
        .map(|i| {
            let capacity = 1 + random.below(5);
            (p.add_resource(format!("r{i}"), capacity as u32), capacity)
        })
        .collect();
    for i in 0..ops {
        let mut uses = Vec::new();
        // On different resources or in rows that do not overlap, so that no operation needs too much at once.
        for &(resource, capacity) in &resources {
            let mut start = random.below(4);
            for _ in 0..random.below(3) {
                let longest = if random.below(10) == 0 { 90 } else { 5 };
                let rows = 1 + random.below(longest);
                let units = 1 + random.below(capacity);
                uses.push(Use { resource, start: start as u32, rows: rows as u32, units: units as u32 });
                start += rows + random.below(4);
            }
        }
        p.add_op(format!("o{i}"), uses);
    }
    for _ in 0..edges {
        let (a, b) = (random.below(ops) as u32, random.below(ops) as u32);
        let latency = random.below(24) as i32 - 4;
        let distance = if a < b { random.below(3) } else { 1 + random.below(4) };
        p.add_edge(Op::from_u32(a), Op::from_u32(b), latency, distance as u32);
    }
    p
}

/// The largest ratio over all simple circuits, found by walking them all.
fn brute_force_ratio(p: &Problem) -> Option<(i64, i64)> {
    let mut best: Option<(i64, i64)> = None;
    let n = p.ops().len() as u32;
    for start in 0..n {
        // Paths from `start` through larger operations only: each circuit once.
        let mut stack = vec![(start, 1u64 << start, 0i64, 0i64)];
        while let Some((at, seen, latency, distance)) = stack.pop() {
            for e in p.edges().iter().filter(|e| e.from.as_u32() == at) {
                let (l, d) = (latency + i64::from(e.latency), distance + i64::from(e.distance));
                let to = e.to.as_u32();
                if to == start {
                    if l > 0 && best.is_none_or(|(bl, bd)| l * bd > bl * d) {
                        best = Some((l, d));
                    }
                } else if to > start && seen >> to & 1 == 0 {
                    stack.push((to, seen | 1 << to, l, d));
                }
            }
        }
    }
    best
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_recurrence_bound_is_exact(seed in any::<u64>(), ops in 1u64..7, edges in 0u64..13) {
        let p = problem(seed, ops, edges);
        prop_assert_eq!(p.check(), Ok(()));
        let b = bounds(&p);
        match (brute_force_ratio(&p), &b.critical) {
            (None, None) => prop_assert_eq!(b.recurrence, 1),
            (Some((l, d)), Some(c)) => {
                prop_assert_eq!(l * c.distance, c.latency * d);
                prop_assert_eq!(b.recurrence, (l as u64).div_ceil(d as u64));
                // The circuit is one, and it is what it says.
                prop_assert_eq!(c.edges.len(), c.ops.len());
                for (i, &e) in c.edges.iter().enumerate() {
                    prop_assert_eq!(p.edges()[e].from, c.ops[i]);
                    prop_assert_eq!(p.edges()[e].to, c.ops[(i + 1) % c.ops.len()]);
                }
                prop_assert_eq!(c.edges.iter().map(|&e| i64::from(p.edges()[e].latency)).sum::<i64>(), c.latency);
            }
            other => prop_assert!(false, "{other:?}"),
        }
        // The closure has the same opinion of every II.
        for ii in (b.recurrence as u32).saturating_sub(3).max(1)..b.recurrence as u32 + 3 {
            let feasible = u64::from(ii) >= b.recurrence;
            prop_assert_eq!(Distances::new(&p, ii).is_ok(), feasible, "at {}", ii);
        }
    }

    #[test]
    fn resource_bounds_are_bounds(seed in any::<u64>(), ops in 1u64..5) {
        // Below the bound no placement exists, by trying them all.
        let p = problem(seed, ops, 0);
        let (least, _) = bounds::resource_mii(&p);
        for ii in (1..least as i64).filter(|&ii| ii.pow(ops as u32) <= 5_000) {
            for code in 0..ii.pow(ops as u32) {
                let times = (0..ops as u32).map(|i| code / ii.pow(i) % ii).collect();
                let schedule = Schedule { ii: ii as u32, times };
                prop_assert!(verify(&p, &schedule).is_err());
            }
        }
    }

    #[test]
    fn tables_count_as_a_naive_one_does(seed in any::<u64>(), ops in 1u64..9, ii in prop_oneof![1u32..12, 60u32..140]) {
        let p = problem(seed, ops, 0);
        let mut random = Random(!seed);
        let mut table = Table::new(&p, ii).expect("small");
        // Cell by cell: resource, row, carried or not.
        let count = |placed: &HashMap<Op, i64>| {
            let mut naive: HashMap<(Resource, u32, bool), u32> = HashMap::new();
            for (&op, &time) in placed {
                let row = time.rem_euclid(i64::from(ii)) as u32;
                for u in p.uses(op) {
                    for r in row + u.start..row + u.start + u.rows {
                        *naive.entry((u.resource, r % ii, r >= ii)).or_default() += u.units;
                    }
                }
            }
            naive
        };
        let mut placed: HashMap<Op, i64> = HashMap::new();
        let mut saved = (table.snapshot(), placed.clone());
        for _ in 0..40 {
            let op = Op::from_u32(random.below(ops) as u32);
            let time = random.below(400) as i64 - 200;
            if placed.contains_key(&op) {
                prop_assert_eq!(table.unplace(op), placed.remove(&op));
            } else {
                let before = table.snapshot();
                let mut with = placed.clone();
                with.insert(op, time);
                let naive = count(&with);
                let sum = |r, row| [true, false].iter().map(|&c| naive.get(&(r, row, c)).unwrap_or(&0)).sum::<u32>();
                let mine = |r| p.uses(op).iter().any(|u| u.resource == r);
                let fits = p.resources().filter(|&r| mine(r)).all(|r| (0..ii).all(|row| sum(r, row) <= p.capacity(r)));
                prop_assert_eq!(table.probe(op, time), fits);
                let times = time..=time + random.below(2 * u64::from(ii)) as i64;
                prop_assert_eq!(table.earliest(op, times.clone()), times.clone().find(|&t| table.probe(op, t)));
                prop_assert_eq!(table.latest(op, times.clone()), times.rev().find(|&t| table.probe(op, t)));
                let blockers = table.blockers(op, time);
                prop_assert_eq!(table.snapshot(), before);
                prop_assert_eq!(table.place(op, time).is_ok(), fits);
                if fits {
                    prop_assert!(blockers.is_empty());
                    placed = with;
                } else {
                    // With them gone it fits, unless it does not fit even alone.
                    for b in blockers {
                        prop_assert_eq!(table.unplace(b), placed.remove(&b));
                    }
                    let alone = Table::new(&p, ii).expect("small").probe(op, time);
                    prop_assert_eq!(table.probe(op, time), alone);
                }
            }
            let naive = count(&placed);
            for r in p.resources() {
                for row in 0..ii {
                    prop_assert_eq!(table.carried(r, row), *naive.get(&(r, row, true)).unwrap_or(&0));
                    prop_assert_eq!(table.in_iteration(r, row), *naive.get(&(r, row, false)).unwrap_or(&0));
                }
            }
            match random.below(8) {
                0 => saved = (table.snapshot(), placed.clone()),
                1 => {
                    prop_assert!(table.restore(&saved.0));
                    placed = saved.1.clone();
                }
                _ => {}
            }
        }
    }
}

/// The solution constraints cell by cell.
fn naive_verify(p: &Problem, s: &Schedule) -> bool {
    let ii = i64::from(s.ii);
    let time = |op: Op| s.times[op.as_u32() as usize];
    let mut held: HashMap<(Resource, i64), u32> = HashMap::new();
    for op in p.ops() {
        for u in p.uses(op) {
            for row in u.start..u.start + u.rows {
                *held.entry((u.resource, (time(op) + i64::from(row)).rem_euclid(ii))).or_default() += u.units;
            }
        }
    }
    let mut edges = p.edges().iter();
    edges.all(|e| time(e.to) + ii * i64::from(e.distance) >= time(e.from) + i64::from(e.latency))
        && held.iter().all(|((resource, _), &units)| units <= p.capacity(*resource))
}

/// Whether any schedule of this II exists: rows by enumeration, stages by the closure of what the rows leave.
fn exists(p: &Problem, ii: u32) -> bool {
    let n = p.ops().len();
    let count = i64::from(ii).pow(n as u32);
    (0..count).any(|code| {
        let rows: Vec<i64> = (0..n as u32).map(|i| code / i64::from(ii).pow(i) % i64::from(ii)).collect();
        // In whole turns: stage(to) + distance >= stage(from) + (latency + row(from) - row(to)) / II, rounded up.
        let mut turns = vec![None; n * n];
        for e in p.edges() {
            let (a, b) = (e.from.as_u32() as usize, e.to.as_u32() as usize);
            let cycles = i64::from(e.latency) + rows[a] - rows[b];
            let least = -(-cycles).div_euclid(i64::from(ii)) - i64::from(e.distance);
            turns[a * n + b] = turns[a * n + b].max(Some(least));
        }
        let mut free = Problem::new();
        for r in p.resources() {
            free.add_resource("", p.capacity(r));
        }
        for op in p.ops() {
            free.add_op("", p.uses(op).to_vec());
        }
        naive_verify(&free, &Schedule { ii, times: rows }) && textbook(&turns, n).is_ok()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn schedules_are_right_and_mutants_are_noticed(seed in any::<u64>(), ops in 1u64..24, density in 0u64..4) {
        let p = problem(seed, ops, ops * density / 2);
        let found = iterative::schedule(&p, &Options::default()).expect("every valid problem has a schedule");
        prop_assert!(naive_verify(&p, &found.schedule));
        prop_assert_eq!(verify(&p, &found.schedule), Ok(()));
        prop_assert!(u64::from(found.schedule.ii) >= found.bounds.mii());
        prop_assert!(!found.explain(&p).is_empty());
        prop_assert_eq!(&iterative::schedule(&p, &Options::default()).expect("again"), &found);
        // One operation elsewhere, or another II: the verifier thinks what the naive one thinks.
        let mut random = Random(!seed);
        for _ in 0..20 {
            let mut mutant = found.schedule.clone();
            if random.below(4) == 0 {
                mutant.ii = (mutant.ii + random.below(5) as u32).saturating_sub(2).max(1);
            } else {
                mutant.times[random.below(ops) as usize] += random.below(21) as i64 - 10;
            }
            prop_assert_eq!(verify(&p, &mutant).is_ok(), naive_verify(&p, &mutant));
        }
        // An edge broken by one cycle is always noticed.
        for e in p.edges().iter().filter(|e| e.from != e.to) {
            let mut mutant = found.schedule.clone();
            let (from, to) = (e.from.as_u32() as usize, e.to.as_u32() as usize);
            mutant.times[to] = mutant.times[from] + i64::from(e.latency) - 1 - i64::from(mutant.ii) * i64::from(e.distance);
            prop_assert!(verify(&p, &mutant).is_err());
        }
    }

    #[test]
    fn nothing_is_found_where_nothing_is(seed in any::<u64>(), ops in 1u64..4, edges in 0u64..5) {
        let p = problem(seed, ops, edges);
        let found = iterative::schedule(&p, &Options::default()).expect("every valid problem has a schedule");
        prop_assume!(found.schedule.ii <= 14);
        prop_assert!(exists(&p, found.schedule.ii));
        for ii in (1..found.bounds.mii()).filter(|&ii| ii <= 14) {
            prop_assert!(!exists(&p, ii as u32), "II {} below the bound", ii);
        }
    }
}

/// How many IIs of tiny problems are feasible and infeasible.
static VERDICTS: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

/// Patterns of few rows and edges that pin operations to each other, so that every II in question can be enumerated.
fn tiny(seed: u64, ops: u64) -> Problem {
    let mut random = Random(seed);
    let mut p = Problem::new();
    let resources: Vec<(Resource, u64)> = (0..1 + random.below(2))
        .map(|i| {
            let capacity = 1 + random.below(3);
            (p.add_resource(format!("r{i}"), capacity as u32), capacity)
        })
        .collect();
    for i in 0..ops {
        let mut uses = Vec::new();
        for &(resource, capacity) in &resources {
            let mut start = random.below(3);
            for _ in 0..random.below(3) {
                let rows = 1 + random.below(3);
                let units = 1 + random.below(capacity);
                uses.push(Use { resource, start: start as u32, rows: rows as u32, units: units as u32 });
                start += rows + random.below(3);
            }
        }
        p.add_op(format!("o{i}"), uses);
    }
    for _ in 0..random.below(2 * ops) {
        let (a, b) = (random.below(ops) as u32, random.below(ops) as u32);
        let (a, b) = (a.min(b), a.max(b));
        let latency = random.below(9) as i32;
        if a < b {
            p.add_edge(Op::from_u32(a), Op::from_u32(b), latency, 0);
        }
        if random.below(2) == 0 {
            // Little more than what comes back, or far more.
            let distance = 1 + random.below(3);
            p.add_edge(Op::from_u32(b), Op::from_u32(a), random.below(8) as i32 - 3, distance as u32);
        }
    }
    p
}

/// Whatever decides an II.
type Decide = fn(&Problem, u32, Duration) -> Result<Exact, exact::ExactError>;

const DECIDERS: &[Decide] = &[
    exact::decide,
    #[cfg(feature = "pumpkin")]
    sassafras_modulo::solver::decide,
];

fn exact_agrees(seed: u64, ops: u64) -> Result<(), TestCaseError> {
    let p = tiny(seed, ops);
    prop_assert_eq!(p.check(), Ok(()));
    for ii in (1u32..=12).filter(|ii| ii.pow(ops as u32) <= 20_000) {
        let feasible = exists(&p, ii);
        for decide in DECIDERS {
            match decide(&p, ii, Duration::from_secs(60)).expect("valid") {
                Exact::Feasible(schedule) => {
                    prop_assert!(feasible);
                    prop_assert_eq!(schedule.ii, ii);
                    prop_assert!(naive_verify(&p, &schedule));
                }
                Exact::Infeasible => prop_assert!(!feasible, "II {}", ii),
                Exact::Undecided(why) => prop_assert!(false, "II {} is not decided: {}", ii, why),
            }
        }
        // Below the bounds the verdict is no news.
        if u64::from(ii) >= bounds(&p).mii() {
            VERDICTS[usize::from(feasible)].fetch_add(1, Relaxed);
        }
    }
    Ok(())
}

#[test]
fn exact_is_exact() {
    let config = ProptestConfig { cases: 400, ..ProptestConfig::default() };
    proptest!(config, |(seed in any::<u64>(), ops in 1u64..6)| exact_agrees(seed, ops)?);
    let [infeasible, feasible] = [&VERDICTS[0], &VERDICTS[1]].map(|v| v.load(Relaxed));
    assert!(infeasible > 20 && feasible > 200, "{infeasible} infeasible, {feasible} feasible");
}

/// Loops as compilers see them: one unit each, seldom for more than a cycle, chains and a few recurrences.
fn simple_loop(seed: u64, ops: u64) -> Problem {
    let mut random = Random(seed);
    let mut p = Problem::new();
    let issue = p.add_resource("issue", 2);
    let units: Vec<Resource> =
        ["memory", "float", "integer"].iter().zip([1, 1, 2]).map(|(n, c)| p.add_resource(*n, c)).collect();
    for i in 0..ops {
        let rows = if random.below(8) == 0 { 4 } else { 1 };
        let unit = Use::first(units[random.below(3) as usize], rows);
        let op = p.add_op(format!("o{i}"), vec![Use::first(issue, 1), unit]);
        for _ in 0..2 {
            if i > 0 {
                p.add_edge(Op::from_u32(random.below(i) as u32), op, 1 + random.below(8) as i32, 0);
            }
        }
        if random.below(8) == 0 {
            let to = Op::from_u32((i - random.below(i.min(6) + 1)) as u32);
            p.add_edge(op, to, 1 + random.below(4) as i32, 1 + random.below(2) as u32);
        }
    }
    p
}

#[test]
fn most_loops_reach_the_bound() {
    let found =
        |seed| iterative::schedule(&simple_loop(seed, 4 + seed % 60), &Options::default()).expect("found");
    let optimal = (0..200).filter(|&seed| found(seed).is_optimal()).count();
    // Of 1,327 loops of Rau's about 96 % did; ours are random, so this only guards against getting worse.
    assert!(optimal >= 190, "{optimal} of 200");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn nothing_panics(seed in any::<u64>()) {
        let mut random = Random(seed);
        let numbers = [0, 1, 1, 2, 2, 3, 5, 64, 1000, 1 << 20, (1 << 20) + 1, 1 << 24, u32::MAX / 2, u32::MAX];
        // Mostly small ones, so that some problems are valid.
        let mut number = |usual: u64| numbers[random.below(if seed % 3 == 0 { 14 } else { usual }) as usize];
        let mut p = Problem::new();
        for _ in 0..1 + number(5) % 4 {
            let capacity = number(9).saturating_add(seed as u32 % 2 * 4);
            p.add_resource("r", capacity);
        }
        for _ in 0..number(7) % 6 {
            let uses = (0..number(6) % 4)
                .map(|_| Use {
                    resource: Resource::from_u32(number(4) % (1 + seed as u32 % 4)),
                    start: number(8),
                    rows: number(9).saturating_add(seed as u32 % 2),
                    units: number(6).saturating_add(seed as u32 % 2),
                })
                .collect();
            p.add_op("o", uses);
        }
        let around = if seed % 5 == 0 { 6 } else { p.ops().len().max(1) as u32 };
        for _ in 0..number(8) % 7 {
            let (from, to) = (Op::from_u32(number(6) % around), Op::from_u32(number(6) % around));
            let latency = number(9) as i32;
            p.add_edge(from, to, if number(5) == 0 { latency.wrapping_neg() } else { latency }, number(9));
        }
        let ii = number(10);
        let times = p.ops().map(|_| i64::from(number(14)) - i64::from(number(14))).collect();
        let _ = verify(&p, &Schedule { ii, times });
        let _ = Distances::new(&p, ii);
        if let Ok(mut table) = Table::new(&p, ii) {
            for op in p.ops() {
                let time = i64::from(number(14)) << 31;
                let _ = (table.blockers(op, time), table.earliest(op, time..=i64::MAX), table.place(op, time));
                let _ = (table.latest(op, i64::MIN..=time), table.latest(op, i64::MIN..=i64::MIN), table.unplace(op));
            }
        }
        let result = iterative::schedule(&p, &Options { max_ii: Some(1 << 20), ..Options::default() });
        prop_assert!(!matches!(result, Err(iterative::IterativeError::Refused(_))));
    }
}
