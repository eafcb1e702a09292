//! What a schedule claims of its rate is checked by a checker that knows nothing of how it was made; here it is checked against
//! the one that does.

use cranelift_entity::EntityRef;
use sassafras_modulo::{Schedule, verify};
use sassafras_tile::generate::problem::build;
use sassafras_tile::{Generated, Options, generate, materialise, random};
use sassafras_tileir::program::{Op, Program};
use sassafras_tileir::scheduled::Scheduled;
use sassafras_verify::tile::{Limits, Violation, check};

fn made(seed: u64) -> Option<(Program, Generated, Scheduled)> {
    let program = random::program(3 + (seed % 12) as u32, seed);
    let options = Options { unlimited: true, ..Options::default() };
    let generated = generate(&program, &options).ok()?;
    let scheduled = materialise(&program, &generated).ok()?;
    Some((program, generated, scheduled))
}

fn violations(program: &Program, scheduled: &Scheduled) -> Vec<Violation> {
    check(program, scheduled, &Limits::NONE).err().unwrap_or_default()
}

/// Too early, or too much at once.
fn is_impossible(found: &[Violation]) -> bool {
    found.iter().any(|v| matches!(v, Violation::Early { .. } | Violation::Overbooked { .. }))
}

#[test]
fn operations_at_other_times_are_refused_where_the_problem_says_so() {
    let (mut refused, mut seen) = (0, 0);
    for seed in 0..400 {
        let Some((program, generated, scheduled)) = made(seed) else { continue };
        assert_eq!(violations(&program, &scheduled), [], "{seed}");
        let problem = build(&program, &generated.plans, &generated.analysis.caps, 1).problem;
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = |below: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % below
        };
        for _ in 0..8 {
            let mut other = scheduled.clone();
            let op = next(program.ops.len() as u64) as usize;
            other.places[op].row = next(other.ii.into()) as u32;
            other.places[op].stage = next(other.stages.into()) as u32;
            let times = (0..program.ops.len()).map(|i| {
                let place = other.places[i];
                i64::from(place.stage) * i64::from(other.ii) + i64::from(place.row)
            });
            let schedule = Schedule { ii: other.ii, times: times.collect() };
            seen += 1;
            // Orders and keys are wrong by now; whether times are too does not depend on them.
            let mut by_time: Vec<usize> = (0..other.places.len()).collect();
            by_time.sort_by_key(|&i| (other.places[i].stage, other.places[i].row, i));
            by_time.iter().enumerate().for_each(|(order, &i)| other.places[i].order = order as u32);
            for pipe in other.pipes.values_mut() {
                let owner: Option<Op> = pipe.writers.first().copied().or(pipe.readers.first().map(|r| r.op));
                if let Some(owner) = owner {
                    let place = other.places[owner.index()];
                    (pipe.stage, pipe.order) = (place.stage, place.order);
                }
            }
            if verify(&problem, &schedule).is_err() {
                refused += 1;
                let found = violations(&program, &other);
                assert!(is_impossible(&found), "{seed}: {found:?}");
            }
        }
    }
    assert!(refused > 500 && refused < seen, "{refused} of {seen}");
}

#[test]
fn a_smaller_ii_than_there_can_be_is_refused() {
    let mut seen = 0;
    for seed in 0..400 {
        let Some((program, generated, mut scheduled)) = made(seed) else { continue };
        if !generated.analysis.is_optimal() || scheduled.ii == 1 {
            continue;
        }
        scheduled.ii -= 1;
        let last = scheduled.ii - 1;
        scheduled.places.iter_mut().for_each(|p| p.row = p.row.min(last));
        assert!(is_impossible(&violations(&program, &scheduled)), "{seed}");
        seen += 1;
    }
    assert!(seen > 100, "{seen}");
}
