//! Every strategy on random functions: legal (the pass checks it), deterministic, never slower by the model.

use proptest::prelude::*;
use sassafras_ir::{Module, text, verify};
use sassafras_list::Direction;
use sassafras_passes::{Choice, LatencySource, Options, schedule_module};
use sassafras_testkit::random::{Shape, function};
use sassafras_testkit::rng::Rng;

fn options(rng: &mut Rng) -> Options {
    Options {
        strategy: *rng.pick(&[
            Choice::CriticalPath,
            Choice::Original,
            Choice::Shuffle { seed: 5 },
        ]),
        latency: *rng.pick(&[LatencySource::Measured, LatencySource::Documented]),
        unknown_latency: None,
        direction: *rng.pick(&[Direction::TopDown, Direction::BottomUp]),
        trace: rng.chance(50),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sassafras_testkit::cases(150)))]

    #[test]
    fn schedules_are_legal_repeatable_and_not_slower(seed: u64, functions in 1usize..4, insts in 0usize..60) {
        let mut rng = Rng::new(seed);
        let original = Module {
            functions: (0..functions)
                .map(|_| {
                    let shape = Shape::random(&mut rng, 3, insts);
                    function(&mut rng, &shape)
                })
                .collect(),
        };
        let options = options(&mut rng);
        let (mut a, mut b) = (original.clone(), original.clone());
        let report = schedule_module(&mut a, &options, |_| true).expect("the checker accepts it");
        schedule_module(&mut b, &options, |_| true).expect("the checker accepts it");
        prop_assert_eq!(text::print(&a), text::print(&b));
        prop_assert_eq!(report.len(), functions);
        for f in &a.functions {
            prop_assert_eq!(verify::verify(f), Ok(()));
        }
        for block in report.iter().flat_map(|r| &r.blocks) {
            prop_assert_eq!(block.reasons.values().sum::<u64>(), block.instructions as u64);
            if options.strategy == Choice::CriticalPath {
                prop_assert!(block.after.cycles <= block.before.cycles);
            }
        }
        if options.strategy == Choice::Original {
            prop_assert_eq!(text::print(&a), text::print(&original));
        }
    }
}
