//! The worked scoring example of `tile-scheduler`, as documented and under real slot arithmetic.

use sassafras_modulo::{Evidence, Schedule, bounds};
use sassafras_tile::explain::explain;
use sassafras_tile::generate::cost::{Cost, Feasibility, of_schedule};
use sassafras_tile::generate::problem::build;
use sassafras_tile::{Options, generate};
use sassafras_tileir::program::{Program, parse};
use std::collections::BTreeMap;

fn example() -> Program {
    parse(include_str!("loops/worked_example.tile")).expect("a loop").remove(0)
}

/// Cycles of load, write, matrix operation and read.
fn cost(times: [i64; 4], ii: u32, feasibility: Feasibility) -> Cost {
    let program = example();
    let built = build(&program, &[], &BTreeMap::new(), 1);
    of_schedule(&built.problem, &Schedule { ii, times: times.to_vec() }, feasibility)
}

#[test]
fn candidate_a_is_rejected_at_the_first_component() {
    for mode in [Feasibility::StartRow, Feasibility::Slots] {
        assert_eq!(cost([0, 0, 0, 0], 8, mode), Cost::INFEASIBLE, "{mode:?}");
    }
}

#[test]
fn candidate_b_has_the_documented_vector_in_start_row_mode() {
    let vector = Cost { resources: 0, pipe: 0, banks: 3, order: 2 };
    assert_eq!(cost([0, 8, 0, 0], 8, Feasibility::StartRow), vector);
    // 15 cycles of one slot do not fit into 8 rows.
    assert_eq!(cost([0, 8, 0, 0], 8, Feasibility::Slots), Cost::INFEASIBLE);
}

#[test]
fn the_first_component_decides_before_any_other() {
    let [a, b] = [[0, 0, 0, 0], [0, 8, 0, 0]].map(|t| cost(t, 8, Feasibility::StartRow));
    assert!(b < a);
}

#[test]
fn a_longer_path_than_rows_costs_the_difference() {
    assert_eq!(cost([0, 8, 0, 0], 8, Feasibility::StartRow).pipe, 0);
    assert_eq!(cost([0, 6, 0, 0], 6, Feasibility::StartRow).pipe, 2);
}

#[test]
fn the_generator_proves_an_interval_of_15() {
    let program = example();
    let found = generate(&program, &Options::default()).expect("a schedule").analysis;
    assert_eq!((found.ii, found.mii.most(), found.mii.resource, found.mii.fine), (15, 15, 15, 15));
    assert_eq!(found.evidence, Evidence::Exhaustive);
    assert!(found.is_optimal());
    assert!(found.bound.contains("tp_smem_wr"), "{}", found.bound);
    let problem = build(&program, &[], &BTreeMap::new(), 1).problem;
    assert_eq!(bounds(&problem).mii(), 15);
}

#[test]
fn it_says_what_one_less_would_take() {
    let program = example();
    let found = explain(&program, &generate(&program, &Options::default()).expect("a schedule"));
    assert_eq!(found.resource.as_deref(), Some("tp_smem_wr"));
    assert_eq!(found.ops, ["tiled_tma_load", "smem_write"]);
    let wanted = "`tp_smem_wr` is wanted for 15 unit-cycles, II 14 allows 14: shorten or move 1 unit-cycle of `tiled_tma_load`, `smem_write`";
    assert!(found.for_one_less.iter().any(|line| line == wanted), "{:?}", found.for_one_less);
    assert_eq!(found.price_of_budgets, None);
}
