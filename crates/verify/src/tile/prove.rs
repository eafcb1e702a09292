//! Many replays.

use super::random::Random;
use super::replay::Replayer;
use super::violation::Violation;
use super::{Delay, Limits, structure};
use sassafras_tileir::program::Program;
use sassafras_tileir::scheduled::Scheduled;
use serde::Serialize;

/// Up to so many trips, every number is replayed.
const EACH: u64 = 64;

/// How much is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Effort {
    /// Seeds for each number of trips and each kind of delay.
    pub seeds: u32,
    /// How many large numbers of trips.
    pub large: u32,
    /// The first seed.
    pub seed: u64,
    /// The most steps of all runs with one operation held; beyond that such runs are left out. See [`prove`].
    pub held_steps: u64,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort { seeds: 3, large: 4, seed: 1, held_steps: 1 << 22 }
    }
}

/// What was run without anything going wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Proof {
    /// The loop.
    pub name: String,
    /// The numbers of trips, in order.
    pub trips: Vec<u64>,
    /// The numbers of trips for which every operation of every iteration was held once.
    pub held: Vec<u64>,
    /// Whether runs with one operation held find everything: then no timing whatsoever makes the loop of [`held`](Proof::held)
    /// trips go wrong.
    pub exact: bool,
    /// The interval between iterations, if the schedule says when operations start: that was checked, too.
    pub rate: Option<u32>,
    /// The kinds of delays.
    pub delays: Vec<&'static str>,
    /// What was asked for.
    pub effort: Effort,
    /// Replays.
    pub replays: u64,
    /// Steps of all replays.
    pub steps: u64,
}

/// Checks a schedule and replays it for 0, 1, .. `2 * stages + 3` trips, around the number below which the short steps are
/// taken, until every slot has been used twice, and for some larger numbers.
///
/// Besides random delays there is, for each number of trips up to where steady rounds only repeat, one replay per
/// operation and iteration in which that one completes only when nobody else can go on. Without mutexes, and with one
/// agent per queue, these find everything that can go wrong at all for that number of trips: what an agent waits
/// for stays true once it is, so the more has completed, the more can happen, and holding `x` lets everything
/// happen that does not need `x`. Whatever must come after `x` and can start before it does so in that replay.
///
/// # Errors
/// The first thing that is wrong, with the replay in which it was found.
pub fn prove(
    program: &Program,
    scheduled: &Scheduled,
    limits: &Limits,
    effort: &Effort,
) -> Result<Proof, Violation> {
    if let Some(violation) = structure::violations(program, scheduled, limits).into_iter().next() {
        return Err(violation);
    }
    let mut replayer = Replayer::of_checked(program, scheduled);
    let mut proof = Proof {
        name: scheduled.name.clone(),
        trips: Vec::new(),
        held: Vec::new(),
        exact: replayer.monotone(),
        rate: (!scheduled.places.is_empty()).then_some(scheduled.ii),
        delays: Delay::RANDOM.iter().map(|d| d.word()).collect(),
        effort: *effort,
        replays: 0,
        steps: 0,
    };
    let mut random = Random::new(effort.seed);
    let small = small_trips(program, scheduled);
    let mut trips = small.clone();
    let last = small.last().copied().unwrap_or(0);
    trips.extend((0..effort.large).map(|_| last + 1 + u64::from(random.below(4 * last as u32 + 32))));
    trips.sort_unstable();
    trips.dedup();
    let mut run = |n: u64, seed: u64, delay: Delay| match replayer.run(n, seed, delay, false) {
        Ok(replay) => {
            proof.replays += 1;
            proof.steps += replay.steps;
            Ok(replay.steps)
        }
        Err(violation) => Err(Violation::InReplay {
            trips: n,
            delay: delay.to_string(),
            seed,
            violation: Box::new(violation),
        }),
    };
    let mut left = effort.held_steps;
    let mut held = Vec::new();
    for &n in &trips {
        let mut steps = 0;
        for delay in Delay::RANDOM {
            for _ in 0..effort.seeds.max(1) {
                steps = run(n, random.next(), delay)?;
            }
        }
        let cost = steps.saturating_mul(n).saturating_mul(program.ops.len() as u64);
        if small.binary_search(&n).is_err() || cost > left {
            continue;
        }
        left -= cost;
        for op in program.ops.keys() {
            for iteration in 0..n {
                run(n, random.next(), Delay::Hold { op, iteration })?;
            }
        }
        held.push(n);
    }
    proof.exact &= !held.is_empty();
    (proof.trips, proof.held) = (trips, held);
    Ok(proof)
}

/// Numbers of trips that may differ from each other by more than rounds that repeat.
fn small_trips(program: &Program, s: &Scheduled) -> Vec<u64> {
    let deepest = s.buffers.values().map(|b| b.depth).chain(s.pipes.values().map(|p| p.depth)).max();
    let distances = program.dependences().into_iter().map(|d| d.2);
    // Beyond this, nothing new: every slot has been used again, and every dependence is within the loop.
    let round = u64::from(s.stages.min(1 << 10))
        .max(u64::from(deepest.unwrap_or(1).min(1 << 10)))
        .max(distances.max().unwrap_or(0).into());
    let end = 2 * round + 3;
    let around = s.short_below.saturating_sub(1)..=s.short_below + end;
    let mut trips: Vec<u64> = (0..=end).chain(around.filter(|&n| n > end)).collect();
    // Deep pipes: the small ones all, then ever fewer.
    let mut next = EACH;
    trips.retain(|&n| {
        let taken = n <= next || n == s.short_below || n + 1 == s.short_below;
        if n >= next {
            next += next / 8;
        }
        taken
    });
    trips
}
