//! Random loops: whatever generation and materialisation make of them, the checker replays without a complaint.

use sassafras_tile::random::program;
use sassafras_tile::{GenerateError, MaterialiseError, Options, generate, materialise};
use sassafras_tileir::program::{Program, print};
use sassafras_tileir::scheduled::{self, Strategy};
use sassafras_verify::tile::{Effort, Limits, prove};

/// Schedules and proves a loop; nothing where it has no schedule for a reason that is its own.
fn prove_one(program: &Program, strategy: Strategy) -> Option<u32> {
    let options = Options { strategy, ..Options::default() };
    let generated = match generate(program, &options) {
        Ok(generated) => generated,
        // Some draws need more storage than there is even one iteration at a time.
        Err(GenerateError::Buffers { .. } | GenerateError::Problem(_)) => return None,
        Err(error) => panic!("{error}\n{}", print(program)),
    };
    let scheduled = match materialise(program, &generated) {
        Ok(scheduled) => scheduled,
        Err(MaterialiseError::Barriers { .. }) => return None,
        Err(error) => panic!("{error}\n{}", print(program)),
    };
    let budget = sassafras_tile::buffers::table(program);
    let limits = Limits::of(budget);
    let effort = Effort { seeds: 1, large: 1, held_steps: 1 << 14, ..Effort::default() };
    if let Err(violation) = prove(program, &scheduled, &limits, &effort) {
        panic!("{violation}\n{}\n{}", print(program), scheduled::print(&scheduled, program));
    }
    let text = scheduled::print(&scheduled, program);
    let again =
        scheduled::parse(&text, std::slice::from_ref(program)).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(again[0], scheduled, "{text}");
    Some(generated.analysis.ii)
}

#[test]
fn random_loops_are_proven() {
    let mut proven = 0;
    let count = std::env::var("RANDOM_LOOPS").ok().and_then(|n| n.parse().ok()).unwrap_or(500u64);
    for seed in 0..count {
        let program = program(2 + (seed % 23) as u32, seed);
        let again = sassafras_tileir::program::parse(&print(&program))
            .unwrap_or_else(|e| panic!("{e}\n{}", print(&program)));
        assert_eq!(again[0], program);
        for strategy in Strategy::ALL {
            proven += u32::from(prove_one(&program, strategy).is_some());
        }
    }
    // Those that have no schedule are few.
    assert!(u64::from(proven) > count * 3 * 8 / 10, "{proven}");
}
