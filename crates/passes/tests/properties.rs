//! Every strategy on random functions: legal (the pass checks it), deterministic, never slower by the model.

use proptest::prelude::*;
use sassafras_ir::{Module, text, verify};
use sassafras_list::{Direction, registry};
use sassafras_passes::{LatencySource, Options, schedule_module};
use sassafras_testkit::random::{Shape, function};
use sassafras_testkit::rng::Rng;

fn options(rng: &mut Rng) -> Options {
    Options {
        strategy: registry::get(["critical-path", "original", "shuffle"][rng.below(3)]),
        seed: 5,
        latency: *rng.pick(&[LatencySource::Measured, LatencySource::Documented]),
        unknown_latency: None,
        direction: *rng.pick(&[Direction::TopDown, Direction::BottomUp]),
        trace: rng.chance(50),
        ..Options::default()
    }
}

#[test]
fn of_several_errors_the_first_in_the_module_is_reported() {
    // The first error comes late, behind much work; another thread meets the other one at once.
    let work = "  R1 = MOV R0\n".repeat(2000);
    let mut source = String::new();
    for i in 0..64 {
        let (arch, body) = match i {
            20 => ("sm_first", ""),
            40 => ("sm_second", ""),
            0..20 => ("sm_90", work.as_str()),
            _ => ("sm_90", ""),
        };
        source += &format!("func f{i} {arch} {{\n^a:\n{body}  EXIT !exit\n}}\n");
    }
    let mut module = text::parse(&source).expect("a right text");
    let options = options(&mut Rng::new(1));
    let error = schedule_module(&mut module, &options, |_| true).expect_err("two are wrong");
    assert!(error.to_string().contains("sm_first"), "{error}");
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
            if options.strategy.name == "critical-path" {
                prop_assert!(block.after.cycles <= block.before.cycles);
            }
        }
        if options.strategy.keeps() {
            prop_assert_eq!(text::print(&a), text::print(&original));
        }
    }
}
