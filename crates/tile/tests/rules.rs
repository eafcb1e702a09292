//! The documented rules of the tile scheduler, one test each: comparators, searches, gates, arms, fallbacks, keys.

use cranelift_entity::EntityRef;
use sassafras_machine::tile::pool;
use sassafras_modulo::{Confirm, Distances, Evidence, Gallop, Op, Table, first_feasible};
use sassafras_tile::analysis::compare;
use sassafras_tile::contract::ContractError;
use sassafras_tile::explain::explain;
use sassafras_tile::generate::arms::{Arm, cost_based, fuse, permute, retry};
use sassafras_tile::generate::compact::bytes;
use sassafras_tile::generate::cost::Cost;
use sassafras_tile::generate::evaluate::{bank_units, banks_allow, cost, held_units, pipe_allows};
use sassafras_tile::generate::groups::Groups;
use sassafras_tile::generate::state::{Marks, State};
use sassafras_tile::generate::{driver, problem, serial};
use sassafras_tile::random;
use sassafras_tile::{
    GenerateError, Generated, Generator, MaterialiseError, Options, Selection, generate, materialise,
};
use sassafras_tileir::program::{self, Program, parse};
use sassafras_tileir::scheduled::{Action, Backing, Flavour, Scheduled, Strategy};
use std::cmp::Ordering;
use std::collections::BTreeMap;

const STAGE: &str = "nv_tile.aws.stage";
const ORDER: &str = "nv_tile.aws.order";
const GID: &str = "tileas.schedule.constraint.gid";
const LEADER: &str = "tileas.schedule.constraint.leader_gid";
const DEPTH: &str = "tileas.schedule.constraint.max_depth";
const SERIAL: &str = "tileas.schedule.constraint.force_serial_execution";

fn read(body: &str) -> Program {
    let text = format!("loop l {{\n{body}\n}}");
    parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}")).remove(0)
}

/// Runs something on a placement attempt at one II with nothing placed.
fn at<R>(body: &str, ii: u32, run: impl FnOnce(&mut State<'_>) -> R) -> R {
    let program = read(body);
    let built = problem::build(&program, &[], &BTreeMap::new(), 1);
    let groups = Groups::of(&program);
    let distances = Distances::new(&built.problem, ii).expect("no positive circuit");
    let table = Table::new(&built.problem, ii).expect("a table");
    run(&mut State::new(&program, &built.problem, &groups, &distances, table, None))
}

fn op(i: usize) -> Op {
    Op::new(i)
}

fn generated(program: &Program, options: &Options) -> Generated {
    generate(program, options).unwrap_or_else(|e| panic!("{e}\n{}", program::print(program)))
}

fn both(program: &Program, options: &Options) -> (Generated, Scheduled) {
    let generated = generated(program, options);
    let scheduled = materialise(program, &generated).unwrap_or_else(|e| panic!("{e}"));
    (generated, scheduled)
}

/// A product: a load of 64 cycles' work and a matrix operation of 128.
const GEMM: &str = "
  arch sm_90
  resource tma 1
  resource tc_and_mma 1
  value a : shared 16384 f16
  value acc : register 32768 f32
  op load = tma_load () -> (a) { async latency 600 hold tma 0..64 }
  op mma = wgmma (a, acc[-1] in place) -> (acc) { in-order latency 160 hold tc_and_mma 0..128 }";

#[test]
fn stage_then_order_and_never_equal() {
    for seed in 0..60 {
        let program = random::program(2 + (seed % 19) as u32, seed);
        let Ok(Generated { analysis, .. }) = generate(&program, &Options::default()) else { continue };
        for a in program.ops.keys() {
            for b in program.ops.keys().filter(|&b| b != a) {
                let (x, y) = (analysis.place(a), analysis.place(b));
                let wanted = if x.stage != y.stage { x.stage.cmp(&y.stage) } else { x.order.cmp(&y.order) };
                assert_eq!(compare(&analysis, a, b), wanted);
                assert_ne!(wanted, Ordering::Equal, "seed {seed}");
                assert_ne!(x.order, y.order, "seed {seed}");
            }
        }
        let sorted = analysis.sorted();
        assert!(sorted.windows(2).all(|w| compare(&analysis, w[0], w[1]) == Ordering::Less));
    }
}

/// Stages come first, whatever orders say.
#[test]
fn a_later_stage_is_later_whatever_its_order() {
    let mut analysis = generated(&read(GEMM), &Options::default()).analysis;
    let (load, mma) = (program::Op::new(0), program::Op::new(1));
    for ((a, b), wanted) in [
        (((0, 1), (1, 0)), Ordering::Less),
        (((1, 0), (1, 1)), Ordering::Less),
        (((2, 0), (1, 7)), Ordering::Greater),
    ] {
        (analysis.places[0].stage, analysis.places[0].order) = a;
        (analysis.places[1].stage, analysis.places[1].order) = b;
        assert_eq!(compare(&analysis, load, mma), wanted);
        assert_eq!(compare(&analysis, mma, load), wanted.reverse());
        assert_eq!(analysis.sorted()[0], if wanted.is_lt() { load } else { mma });
    }
}

/// Ready operations in program order, whatever their latencies; a circle within an iteration has no order.
#[test]
fn the_serial_generator_takes_ready_operations_in_program_order() {
    let body = "
      op last = simt () -> () { async latency 1 }
      op c = simt () -> () { async latency 9 }
      op b = simt () -> () { async latency 1 }
      op a = simt () -> () { async latency 5 }
      op d = simt () -> () { async latency 1 }
      order b -> a latency 0 distance 0
      order a -> last latency 0 distance 0";
    let mut problem = problem::build(&read(body), &[], &BTreeMap::new(), 1).problem;
    let order: Vec<usize> = serial::order(&problem).iter().map(|o| o.index()).collect();
    assert_eq!(order, [1, 2, 3, 0, 4]);
    let program = read(body);
    let schedule = serial::generate(&program, &problem, 1).expect("a schedule");
    assert_eq!((schedule.ii, &schedule.times[..]), (9, &[6, 0, 0, 1, 0][..]));
    problem.add_edge(op(0), op(2), 1, 0);
    assert_eq!(serial::order(&problem).len(), 2, "only what is not around the circle");
    assert_eq!(serial::generate(&program, &problem, 1), None);
}

#[test]
fn costs_compare_component_by_component() {
    let key = |c: Cost| (c.resources, c.pipe, c.banks, c.order);
    let numbers = [0, 1, 7];
    let mut all = vec![Cost::INFEASIBLE];
    for pipe in numbers {
        for banks in numbers {
            all.extend(numbers.map(|order| Cost { resources: 0, pipe, banks, order: u64::from(order) }));
        }
    }
    for &a in &all {
        for &b in &all {
            assert_eq!(a.cmp(&b), key(a).cmp(&key(b)));
            // A better fourth component never pays for a worse third one, whatever they are.
            if (a.resources, a.pipe) == (b.resources, b.pipe) && a.banks < b.banks {
                assert!(a < b);
            }
        }
        assert!(a == Cost::INFEASIBLE || a < Cost::INFEASIBLE && a.feasible());
    }
    assert!(!Cost::INFEASIBLE.feasible());
}

#[test]
fn the_search_doubles_and_then_halves() {
    let search = |from: u32, most: u32, least: u32| {
        first_feasible(from..=most, Gallop::Value, Confirm::Nothing, |n| (n >= least).then_some(n))
    };
    let found = search(1, 100, 11);
    assert_eq!(found.found, Some((11, 11)));
    let probes: Vec<u32> = found.probes.iter().map(|p| p.0).collect();
    assert_eq!(probes, [1, 2, 4, 8, 16, 12, 10, 11]);
    // The upper end is probed even if no doubling hits it.
    assert_eq!(search(1, 100, 90).found, Some((90, 90)));
    // Never feasible: all doublings and the upper end, and no answer.
    let never = search(1, 100, 101);
    assert_eq!(never.found, None);
    let probes: Vec<u32> = never.probes.iter().map(|p| p.0).collect();
    assert_eq!(probes, [1, 2, 4, 8, 16, 32, 64, 100]);
    // A threshold of 0 is doubled to 1.
    assert_eq!(search(0, 7, 0).found, Some((0, 0)));
    assert_eq!(search(0, 7, 3).found, Some((3, 3)));
}

/// An II below the answer of a heuristic may work as well: what is known of those below is said.
#[test]
fn the_bracket_of_ii_is_confirmed() {
    let search =
        first_feasible(10..=30, Gallop::Step, Confirm::Bracket, |n| (n == 15 || n >= 17).then_some(n));
    assert_eq!(search.found.map(|f| f.0), Some(15));
    let all = generated(&read(GEMM), &Options::default()).analysis;
    assert_eq!((all.ii, all.evidence), (128, Evidence::Exhaustive));
}

/// So many operations that each hold a unit of a memory transport, of which there are enough.
fn bank_users(count: usize, rows: u32) -> String {
    let ops: String = (0..count)
        .map(|i| format!("op o{i} = smem_write () -> () {{ sync latency 1 hold tp_smem_wr 0..{rows} }}\n"))
        .collect();
    format!("resource tp_smem_wr 16\n{ops}")
}

#[test]
fn four_in_iteration_and_no_threshold_lifts_it() {
    assert_eq!(pool(1), 4);
    at(&bank_users(5, 1), 8, |state| {
        assert!((0..3).all(|i| state.place(op(i), 0)));
        assert_eq!(bank_units(state, op(3), 0), (4, 0));
        assert!(banks_allow(state, op(3), 0, 4));
        assert!(!banks_allow(state, op(3), 0, 3), "the threshold counts below the cap");
        assert_eq!(cost(state, op(3), 0).banks, 4);
        assert!(state.place(op(3), 0));
        assert_eq!(bank_units(state, op(4), 0), (5, 0));
        assert!(!banks_allow(state, op(4), 0, u32::MAX));
        // The table has room; the cap alone refuses.
        assert!(state.table.probe(op(4), 0));
        assert_eq!(cost(state, op(4), 0), Cost::INFEASIBLE);
        assert!(cost(state, op(4), 1).feasible());
    });
}

#[test]
fn three_carried_and_no_threshold_lifts_it() {
    assert_eq!(pool(6), 3);
    // Eight rows from row 4 on: rows 0 to 3 belong to the turn before.
    at(&bank_users(5, 8), 8, |state| {
        assert!((0..3).all(|i| state.place(op(i), 4)));
        assert_eq!(bank_units(state, op(3), 0), (1, 3));
        assert!(banks_allow(state, op(3), 0, 4) && !banks_allow(state, op(3), 0, 3));
        assert!(state.place(op(3), 4));
        assert_eq!(bank_units(state, op(4), 0), (1, 4));
        assert!(!banks_allow(state, op(4), 0, u32::MAX));
        assert!(state.table.probe(op(4), 0));
        assert_eq!(cost(state, op(4), 0), Cost::INFEASIBLE);
    });
}

#[test]
fn pipe_slots_ask_the_table_and_the_longest_path() {
    let body = "
      resource r 1
      value a : register 4 f32
      value b : register 4 f32
      op alone = simt () -> () { sync latency 1 hold r 0..1 }
      op first = simt () -> (a) { sync latency 5 }
      op second = simt (a) -> (b) { sync latency 7 }
      op third = simt (b) -> () { sync latency 1 hold r 0..1 }";
    at(body, 8, |state| {
        // No path is no number: nothing to be longer than.
        assert_eq!(state.distances.get(op(0), op(3)), None);
        assert!(pipe_allows(state, op(0), 0, 0));
        assert_eq!(cost(state, op(0), 0).pipe, 0);
        // The path over two operations counts, 5 + 7 cycles.
        assert_eq!(state.distances.get(op(1), op(3)), Some(12));
        assert!(pipe_allows(state, op(3), 12, 12));
        assert!(!pipe_allows(state, op(3), 12, 11));
        // What is longer than the rows costs the difference.
        assert_eq!(cost(state, op(3), 12).pipe, 4);
        assert_eq!(cost(state, op(2), 5).pipe, 0);
        // A row that is taken is refused whatever the threshold.
        assert!(state.place(op(0), 4));
        assert!(!pipe_allows(state, op(3), 12, u32::MAX));
        assert_eq!(cost(state, op(3), 12), Cost::INFEASIBLE);
    });
}

#[test]
fn evaluators_only_look() {
    at(&bank_users(5, 3), 8, |state| {
        assert!(state.place(op(0), 0) && state.place(op(1), 5));
        let (table, times) = (state.table.snapshot(), state.times().to_vec());
        for i in 2..5 {
            for time in 0..20 {
                let _ = cost(state, op(i), time);
                let _ = (banks_allow(state, op(i), time, 3), pipe_allows(state, op(i), time, 3));
            }
        }
        assert_eq!((state.table.snapshot(), state.times()), (table, &times[..]));
    });
}

/// The arm that seats each operation at one II.
fn arms(body: &str, ii: u32, options: &Options) -> Vec<Arm> {
    at(body, ii, |state| {
        driver::place(state, options.candidates, options).unwrap_or_else(|op| panic!("{op} is not seated")).1
    })
}

#[test]
fn orders_are_enough_for_most() {
    assert_eq!(arms(GEMM, 128, &Options::default()), [Arm::Permute, Arm::Permute]);
    let found = generated(&read(GEMM), &Options::default()).analysis;
    assert_eq!((found.generator, &found.arms[..]), (Generator::Arms, &[Arm::Permute, Arm::Permute][..]));
}

/// `a` in the first row leaves none for `b`, whose other row is taken by `x`; both in the second row fit.
const PAIR: &str = "
  resource t 1
  resource u 1
  resource r 2
  op x = simt () -> () { sync latency 1 hold t 0..1 }
  op a = simt () -> () { sync latency 1 hold u 0..1 hold r 0..1 G = 1 }
  op b = simt () -> () { sync latency 1 hold t 0..1 hold u 1..2 hold r 0..1 G = 1 }";

#[test]
fn two_in_one_cycle_where_one_order_is_not_enough() {
    let body = PAIR.replace('G', GID);
    // With more orders than one the first arm finds the other one, and the second is not asked.
    assert_eq!(arms(&body, 2, &Options::default()), [Arm::Permute; 3]);
    let options = Options { permute_budget: 1, candidates: 1, ..Options::default() };
    at(&body, 2, |state| {
        let (schedule, arms) = driver::place(state, options.candidates, &options).expect("a schedule");
        assert_eq!(arms, [Arm::Permute, Arm::Fuse, Arm::Fuse]);
        assert_eq!(schedule.times, [0, 1, 1]);
    });
    let refused = |body: &str| {
        at(body, 2, |state| {
            assert!(state.place(op(0), 0));
            assert!(!fuse::run(state, &[op(1), op(2)]), "{body}");
            assert_eq!(state.times(), [Some(0), None, None], "a failed arm leaves nothing behind");
        });
    };
    // Without a second unit of what both want, no cycle takes two.
    refused(&body.replace("resource r 2", "resource r 1"));
    // Nor do two that have nothing in common (`u` is now two resources) share a cycle,
    let apart = body
        .replacen("hold u 0..1 hold r 0..1", "hold w 0..1", 1)
        .replace("resource u 1", "resource u 1\nresource w 1");
    refused(&apart);
    // nor two of which one needs the other.
    refused(&format!("{body}\norder a -> b latency 1 distance 1"));
}

/// Among orders that all seat everything the cheapest is taken: `b` before `a` would be the first, since it is higher.
#[test]
fn the_first_arm_takes_the_cheapest_order() {
    let body = "
      resource r 1
      value vb : register 4 f32
      op a = simt () -> () { async latency 1 hold r 0..1 }
      op b = simt () -> (vb) { async latency 2 hold r 0..1 }
      op c = simt (vb) -> () { async latency 1 }";
    at(body, 4, |state| {
        assert!(state.height(op(1)) > state.height(op(0)));
        assert!(permute::run(state, &[op(0), op(1)], 1));
        assert_eq!((state.time(op(0)), state.time(op(1))), (Some(1), Some(0)), "one order: the first");
    });
    at(body, 4, |state| {
        assert!(permute::run(state, &[op(0), op(1)], 9));
        assert_eq!((state.time(op(0)), state.time(op(1))), (Some(0), Some(1)), "no pair the other way round");
    });
    // Banks come before pairs: beside `p` the row has two units, so `a`, which is alone with `r`, comes later.
    let banks = "
      resource r 1
      resource tp_smem_rd 4
      op p = smem_read () -> () { async latency 1 hold tp_smem_rd 0..1 }
      op a = smem_read () -> () { async latency 1 hold r 0..1 hold tp_smem_rd 0..1 }
      op b = simt () -> () { async latency 1 hold r 0..1 }";
    at(banks, 4, |state| {
        assert!(state.place(op(0), 0));
        assert!(permute::run(state, &[op(1), op(2)], 9));
        assert_eq!((state.time(op(1)), state.time(op(2))), (Some(1), Some(0)));
        // One unit in its row, its own, counted once.
        assert_eq!(held_units(state, 1), (1, 0));
    });
}

/// Rows 0 and 2 are taken one by one; two in succession are wanted.
const APART: &str = "
  resource t 1
  value a : register 4 f32
  op v = simt () -> (a) { sync latency 2 }
  op w = simt (a) -> () { sync latency 1 hold t 0..1 }
  op x = simt () -> () { sync latency 1 hold t 0..1 }
  op y = simt () -> () { sync latency 2 hold t 0..2 D }";

#[test]
fn what_is_in_the_way_moves() {
    let body = APART.replace('D', "");
    // Among candidates the first arm takes `y` before `x`; alone it finds no room, and `x` has to go.
    assert_eq!(arms(&body, 4, &Options::default()), [Arm::Permute; 4]);
    let alone = Options { candidates: 1, ..Options::default() };
    at(&body, 4, |state| {
        let (schedule, arms) = driver::place(state, 1, &alone).expect("a schedule");
        assert_eq!(schedule.times, [0, 2, 3, 0], "x has moved from 0 to 3");
        assert_eq!(arms, [Arm::Permute, Arm::Permute, Arm::Permute, Arm::Retry]);
    });
    // A budget of no cycles moves nothing.
    at(&body, 4, |state| {
        assert!(state.place(op(0), 0) && state.place(op(1), 2) && state.place(op(2), 0));
        let before = (state.table.snapshot(), state.times().to_vec());
        let mut marks = Marks::new(4);
        assert!(!retry::run(state, &[op(3)], 0, &mut marks));
        assert!(!marks.dead(op(3)), "the fourth arm has yet to look");
        assert_eq!((state.table.snapshot(), state.times()), (before.0, &before.1[..]));
        assert!(!cost_based::run(state, &[op(3)], &mut marks));
        assert!(marks.dead(op(3)), "no cycle is left for it");
        // Nothing is moved for marked ones, until the marks are forgotten.
        assert!(!retry::run(state, &[op(3)], 8, &mut marks));
        assert!(retry::run(state, &[op(3)], 8, &mut Marks::new(4)));
        state.remove(op(3));
        // Where there is room by now they are seated as they are, and live.
        state.remove(op(2));
        assert!(retry::run(state, &[op(3)], 0, &mut marks) && !marks.dead(op(3)));
    });
}

#[test]
fn marks_are_forgotten_before_ii_grows() {
    // An operation of depth 1 is dead from the start; afresh it is moved like any other.
    let alone = Options { candidates: 1, ..Options::default() };
    let body = APART.replace('D', &format!("{DEPTH} = 1"));
    let found = arms(&body, 4, &alone);
    assert_eq!(found, [Arm::Permute, Arm::Permute, Arm::Permute, Arm::FreshRetry]);
    // The same where only the fourth arm can do it.
    let body = TIED.replace("hold t 0..1 G = 1", &format!("hold t 0..1 G = 1 {DEPTH} = 1")).replace('G', GID);
    let options = Options { permute_budget: 1, retry_budget: 1, candidates: 1, ..Options::default() };
    let found = arms(&body, 8, &options);
    assert_eq!((found[1], found[2]), (Arm::FreshCostBased, Arm::FreshCostBased));
}

/// `b` is four cycles after `a`, neither more nor less, and has one row: the others are held by `x`, which cannot move,
/// since `p` is tied to it. The transport of `p` makes the first row dear for `a`.
const TIED: &str = "
  resource t 1
  resource tp_smem_rd 4
  value va : register 4 f32
  value vp : register 4 f32
  op p = smem_read () -> (vp) { sync latency 6 hold tp_smem_rd 0..1 }
  op a = simt () -> (va) { sync latency 4 G = 1 }
  op b = simt (va) -> () { sync latency 4 hold t 0..1 G = 1 }
  op x = simt (vp) -> () { sync latency 1 hold t 0..7 }
  op s = simt () -> () { sync latency 1 }
  order b -> a latency 4 distance 1
  order x -> p latency 2 distance 1
  order x -> s latency 10 distance 0";

#[test]
fn every_cycle_by_cost_where_nothing_can_move() {
    let body = TIED.replace('G', GID);
    let options = Options { permute_budget: 1, retry_budget: 1, candidates: 1, ..Options::default() };
    at(&body, 8, |state| {
        let (schedule, arms) = driver::place(state, options.candidates, &options).expect("a schedule");
        assert_eq!(schedule.times[..4], [0, 1, 5, 6]);
        assert_eq!((arms[1], arms[2]), (Arm::CostBased, Arm::CostBased), "in the first pass");
        assert_eq!((arms[0], arms[3]), (Arm::Permute, Arm::Permute));
    });
    at(&body, 8, |state| {
        assert!(state.place(op(0), 0) && state.place(op(3), 6));
        let group = [op(1), op(2)];
        let mut marks = Marks::new(5);
        // The cheap arms one by one.
        assert!(!permute::run(state, &group, 1));
        assert!(!fuse::run(state, &group));
        assert!(!retry::run(state, &group, 1, &mut Marks::new(5)));
        assert!(cost_based::run(state, &group, &mut marks));
        assert_eq!((state.time(op(1)), state.time(op(2))), (Some(1), Some(5)));
    });
}

#[test]
fn what_is_not_ready_is_held_over() {
    let body = "
      value va : register 4 f32
      op a = simt () -> (va) { async latency 3 }
      op b = simt (va) -> () { async latency 1 }
      op c = simt () -> () { async latency 1 }
      order c -> b latency 0 distance 1";
    at(body, 4, |state| {
        // What it needs is neither seated nor a candidate; what it needs of another iteration does not count.
        assert!(state.pending(op(1), &[op(1), op(2)]) && !state.pending(op(1), &[op(0), op(1)]));
        assert!(!state.pending(op(0), &[op(0)]) && !state.pending(op(2), &[op(2)]));
        assert!(state.place(op(0), 0) && !state.pending(op(1), &[op(1)]));
    });
    // Without attributes, whatever is ready is a candidate: `w` is seated last of three, behind `x` and `y`, which it would
    // have been in the way of.
    at(&APART.replace('D', ""), 4, |state| {
        let (schedule, _) = driver::place(state, 4, &Options::default()).expect("a schedule");
        assert_eq!(schedule.times[1..], [3, 0, 1]);
    });
}

#[test]
fn members_have_the_stage_of_whoever_is_first() {
    let body = format!(
        "op a = simt () -> () {{ async latency 1 {GID} = 1 }}
         op b = simt () -> () {{ async latency 1 {GID} = 2 {LEADER} = 1 }}"
    );
    at(&body, 4, |state| {
        assert!(state.place(op(0), 9));
        assert_eq!(state.window(op(1)), 8..=11);
        assert!(permute::run(state, &[op(1)], 9));
    });
    // Seated first, at its earliest, `a` is a stage before what `b` can do; the other order is tried.
    let body = format!(
        "resource r 1
         value v : register 4 f32
         op a = simt () -> () {{ async latency 1 hold r 0..1 {GID} = 1 }}
         op p = simt () -> (v) {{ async latency 6 }}
         op b = simt (v) -> () {{ async latency 1 {GID} = 1 }}
         op z = simt () -> () {{ async latency 20 }}
         order a -> z latency 20 distance 0"
    );
    at(&body, 4, |state| {
        assert!(state.place(op(1), 0) && state.height(op(0)) > state.height(op(2)));
        assert!(!permute::run(state, &[op(0), op(2)], 1), "the leader first, in its first stage");
        assert!(permute::run(state, &[op(0), op(2)], 9));
        assert_eq!((state.time(op(0)), state.time(op(2))), (Some(4), Some(6)));
    });
}

#[test]
fn groups_share_the_stage_of_their_leader() {
    let mut grouped = 0;
    for seed in 0..80u64 {
        let mut program = random::program(3 + (seed % 12) as u32, seed);
        let ops: Vec<program::Op> = program.ops.keys().collect();
        let (leader, member) = (ops[seed as usize % ops.len()], ops[(seed as usize * 7 + 1) % ops.len()]);
        if leader == member {
            continue;
        }
        program.ops[leader].attributes.gid = Some(5);
        program.ops[member].attributes.gid = Some(6);
        program.ops[member].attributes.leader_gid = Some(5);
        let found = match generate(&program, &Options::default()) {
            Ok(found) => found.analysis,
            // Too far apart for one stage at any II, or too large.
            Err(GenerateError::Prescribed { .. } | GenerateError::Buffers { .. }) => continue,
            Err(error) => panic!("{error}"),
        };
        let groups = Groups::of(&program);
        assert_eq!(groups.leaders[groups.of[member.index()]], leader);
        if found.generator != Generator::Serial {
            assert_eq!(found.place(leader).stage, found.place(member).stage, "seed {seed}");
            grouped += 1;
        }
    }
    assert!(grouped > 30, "{grouped}");
}

#[test]
fn max_depth_limits_slots() {
    let free = both(&read(GEMM), &Options::default());
    let depth = |s: &Scheduled| s.buffers.values().map(|b| b.depth).max();
    assert_eq!((free.0.analysis.ii, depth(&free.1)), (128, Some(6)));
    let limited = read(&GEMM.replace("hold tma 0..64", &format!("hold tma 0..64 {DEPTH} = 2")));
    let limited = both(&limited, &Options::default());
    assert_eq!(depth(&limited.1), Some(2));
    // The load's 600 cycles and the 160 of the reader twice per two turns.
    assert_eq!(limited.0.analysis.ii, 380);
    // The same by an option, by name; the tighter number is no second limit.
    let options = Options { depths: BTreeMap::from([("a".to_owned(), 2)]), ..Options::default() };
    let asked = both(&read(GEMM), &options);
    assert_eq!((asked.0.analysis.ii, depth(&asked.1)), (380, Some(2)));
}

#[test]
fn a_depth_below_what_is_carried_is_refused() {
    let body = "
      value a : shared 64 f16
      op load = tma_load () -> (a) { async latency 60 }
      op use = simt (a, a[-3]) -> () { sync latency 5 }";
    let options = Options { depths: BTreeMap::from([("a".to_owned(), 2)]), ..Options::default() };
    let wanted = GenerateError::Depth { value: "a".into(), asked: 2, least: 4 };
    assert_eq!(generate(&read(body), &options), Err(wanted));
}

/// So many operations in a row; the first is a transfer or not.
fn chain(count: usize, first: &str) -> String {
    let mut text = String::from("arch sm_90\nvalue v0 : shared 64 f16\n");
    for i in 1..count {
        text += &format!("value v{i} : register 64 f32\n");
    }
    text += &format!("op o0 = load () -> (v0) {{ {first} latency 50 }}\n");
    for i in 1..count {
        text += &format!("op o{i} = simt (v{}) -> (v{i}) {{ sync latency 5 }}\n", i - 1);
    }
    text
}

#[test]
fn the_documented_selection_of_the_serial_generator() {
    let documented = Options { selection: Selection::Documented, ..Options::default() };
    let because = |program: &Program, options: &Options| {
        let found = generated(program, options).analysis;
        assert_eq!(found.serial_because.is_some(), found.generator == Generator::Serial);
        assert!(!found.trivial, "chosen, not failed");
        if found.generator == Generator::Serial {
            assert_eq!(found.stages, 1);
        }
        found.serial_because
    };
    assert_eq!(Options::default().serial_threshold, 8);
    // Eight with a transfer: overlapped. Seven: too few. Eight without a transfer: nothing to wait for.
    assert_eq!(because(&read(&chain(8, "async")), &documented), None);
    let few = Some("fewer operations than the threshold");
    assert_eq!(because(&read(&chain(7, "async")), &documented), few);
    assert_eq!(because(&read(&chain(8, "sync")), &documented), Some("no asynchronous operation"));
    // None of that where overlapping is asked for always.
    assert_eq!(because(&read(&chain(7, "async")), &Options::default()), None);
    assert_eq!(because(&read(&chain(8, "sync")), &Options::default()), None);
    // What the source forces is forced in both.
    let forced = Some("the source forces serial execution");
    for options in [&documented, &Options::default()] {
        let mut program = read(&chain(9, "async"));
        program.serial = true;
        assert_eq!(because(&program, options), forced);
        let text = chain(9, "async").replacen("sync latency 5 ", &format!("sync latency 5 {SERIAL} "), 1);
        assert_eq!(because(&read(&text), options), forced);
    }
    for options in [
        Options { selection: Selection::Serial, ..Options::default() },
        Options { strategy: Strategy::None, ..Options::default() },
    ] {
        assert_eq!(because(&read(&chain(9, "async")), &options), Some("asked for"));
    }
}

#[test]
fn prescribed_stages_and_orders_are_kept() {
    let body = format!(
        "arch sm_90
         resource tma 1
         value a : shared 1024 f16
         op load = tma_load () -> (a) {{ async latency 40 hold tma 0..30 {STAGE} = 0 }}
         op use = simt (a) -> () {{ sync latency 10 {STAGE} = 3 }}
         op late = simt () -> () {{ sync latency 10 {STAGE} = 1 {ORDER} = 1 }}
         op early = simt () -> () {{ sync latency 10 {STAGE} = 1 {ORDER} = 0 }}"
    );
    let program = read(&body);
    let (found, scheduled) = both(&program, &Options::default());
    let place = |name: &str| found.analysis.place(program.op(name).expect("an operation"));
    assert_eq!(["load", "use", "late", "early"].map(|n| place(n).stage), [0, 3, 1, 1]);
    assert!(place("early").order < place("late").order);
    assert!(place("early").time < place("late").time);
    // The pipe has the key of its writer, which was prescribed.
    let pipe = scheduled.pipes.values().next().expect("a pipe");
    assert_eq!((pipe.stage, pipe.order), (0, place("load").order));
    // What no II can keep is refused, not ignored.
    let backwards = body.replace(&format!("{STAGE} = 3"), &format!("{STAGE} = 0")).replacen(
        &format!("0..30 {STAGE} = 0"),
        &format!("0..30 {STAGE} = 2"),
        1,
    );
    assert!(matches!(
        generate(&read(&backwards), &Options::default()),
        Err(GenerateError::Prescribed { .. })
    ));
}

/// Everything of one position comes before everything of the next, also around equal ones, and only within a stage.
#[test]
fn positions_are_kept_in_each_stage() {
    let op = |name: &str, stage: u32, order: u32| {
        format!("op {name} = simt () -> () {{ async latency 3 {STAGE} = {stage} {ORDER} = {order} }}\n")
    };
    let all = [("d", 0, 2), ("b", 0, 1), ("c", 0, 1), ("a", 0, 0), ("z", 1, 0), ("y", 1, 7)];
    let program = read(&all.map(|(name, stage, order)| op(name, stage, order)).concat());
    let found = generated(&program, &Options::default()).analysis;
    let place = |name: &str| found.place(program.op(name).expect("an operation"));
    for (a, stage, order) in all {
        assert_eq!(place(a).stage, stage);
        for (b, ..) in all.iter().filter(|o| o.1 == stage && o.2 > order) {
            assert!(place(a).order < place(b).order, "{a} {b}");
            assert!(compare(&found, program.op(a).expect("one"), program.op(b).expect("one")).is_lt());
        }
    }
    // A position in no stage says nothing.
    let text = format!("op a = simt () -> () {{ async latency 3 {ORDER} = 1 }}");
    assert_eq!(generate(&read(&text), &Options::default()), Err(GenerateError::Order { op: "a".into() }));
    // One that dependences contradict is refused.
    let text = format!(
        "value v : shared 64 f16
         op a = tma_load () -> (v) {{ async latency 3 {STAGE} = 0 {ORDER} = 1 }}
         op b = simt (v) -> () {{ sync latency 3 {STAGE} = 0 {ORDER} = 0 }}"
    );
    assert!(matches!(generate(&read(&text), &Options::default()), Err(GenerateError::Problem(_))));
}

/// What is read of this and of an earlier iteration by an operation that comes after the writer needs one slot more than
/// the iterations in between, for budgets too.
#[test]
fn the_fewest_slots_are_enough_to_make_progress() {
    let body = "
      arch sm_90
      value a : shared 64 f16
      op load = tma_load () -> (a) { async latency 60 hold tma 0..5 }
      op use = simt (a, a[-3]) -> () { sync latency 5 }";
    let with = |more: &str| read(&format!("resource tma 1\n{more}\n{body}"));
    let depth = |n| Options { depths: BTreeMap::from([("a".to_owned(), n)]), ..Options::default() };
    let wanted = GenerateError::Depth { value: "a".into(), asked: 3, least: 4 };
    assert_eq!(generate(&with(""), &depth(3)), Err(wanted));
    let four = generated(&with(""), &depth(4));
    assert_eq!(four.layout.depths, [4]);
    // Six slots would do for an II of 5; there is room for four and their barriers.
    let tight = generated(&with("budget shared 1280"), &Options::default());
    assert_eq!((tight.layout.depths, tight.analysis.ii), (vec![4], four.analysis.ii));
    // Where the reader comes before the writer, as many as iterations are enough.
    let turned = "
      value a : shared 64 f16
      op use = simt (a[-3]) -> () { sync latency 5 }
      op load = tma_load () -> (a) { async latency 60 }
      order use -> load latency 0 distance 0";
    assert_eq!(generated(&read(turned), &depth(3)).layout.plots[0].depth, 3);
}

/// Of several limits on one value the least counts, and none is one where it says 0.
#[test]
fn of_several_limits_the_least_counts() {
    let body = |depths: [u32; 2]| {
        read(&format!(
            "arch sm_90
             value z : shared 512 f16
             value upper : shared 256 f16 part of z
             value lower : shared 256 f16 part of z
             op half = tma_load () -> (upper) {{ async latency 100 {DEPTH} = {} }}
             op other = tma_load () -> (lower) {{ async latency 100 {DEPTH} = {} }}
             op use = simt (z) -> () {{ sync latency 5 }}",
            depths[0], depths[1]
        ))
    };
    let depths = |program: &Program, options: &Options| generated(program, options).layout.depths;
    let asked = Options { depths: BTreeMap::from([("z".to_owned(), 9)]), ..Options::default() };
    for program in [body([2, 3]), body([3, 2])] {
        assert_eq!(depths(&program, &Options::default()), [2]);
        assert_eq!(depths(&program, &asked), [2], "an option does not lift an attribute");
    }
    assert_eq!(depths(&body([0, 3]), &Options::default()), [1]);
}

/// A loop that prescribes stages is refused where buffers do not fit, not made serial.
#[test]
fn what_is_prescribed_is_not_given_up_for_budgets() {
    let body = |stages: [&str; 2], budget: u32| {
        format!(
            "budget shared {budget}
             value a : shared 1024 f16
             op load = tma_load () -> (a) {{ async latency 40 {} }}
             op use = simt (a) -> () {{ sync latency 10 {} }}",
            stages[0], stages[1]
        )
    };
    let (first, fifth) = (format!("{STAGE} = 0"), format!("{STAGE} = 5"));
    assert_eq!(generated(&read(&body([&first, &fifth], 9000)), &Options::default()).analysis.stages, 6);
    let error = generate(&read(&body([&first, &fifth], 2500)), &Options::default()).expect_err("refused");
    assert!(matches!(error, GenerateError::Buffers { have: 2500, .. }), "{error}");
    assert!(generate(&read(&body(["", ""], 2500)), &Options::default()).is_ok());
}

#[test]
fn a_value_from_before_the_loop_has_a_pipe_without_producers() {
    let body = "
      arch sm_90
      value q : shared 4096 f16
      value k : shared 4096 f16
      value s : register 4096 f32
      op load = tma_load () -> (k) { async latency 300 }
      op qk = wgmma (q, k) -> (s) { in-order latency 60 }
      op again = simt (q, s) -> () { sync latency 5 }";
    let program = read(body);
    let (found, scheduled) = both(&program, &Options::default());
    let alone: Vec<_> = scheduled.pipes.values().filter(|p| p.writers.is_empty()).collect();
    let [pipe] = alone[..] else { panic!("{alone:?}") };
    let names: Vec<&str> = pipe.readers.iter().map(|r| program.ops[r.op].name.as_str()).collect();
    assert_eq!(names, ["qk", "again"], "one pipe for all who read it");
    assert_eq!((pipe.flavour, pipe.initial, pipe.backing), (Flavour::Scalar, 0, Backing::Local));
    let first = found.analysis.place(program.op("qk").expect("an operation"));
    assert_eq!((pipe.stage, pipe.order), (first.stage, first.order), "the key of its first reader");
}

#[test]
fn groups_that_share_a_producer_are_one_pipe() {
    let body = "
      arch sm_90
      value x : shared 1024 f16
      value y : shared 2048 f16
      value z : shared 512 f16
      value upper : shared 256 f16 part of z
      value lower : shared 256 f16 part of z
      op two = tma_load () -> (x, y) { async latency 100 }
      op half = tma_load () -> (upper) { async latency 100 }
      op other = tma_load () -> (lower) { async latency 100 }
      op use_x = simt (x) -> () { sync latency 5 }
      op use_y = simt (y) -> () { sync latency 5 }
      op use_lower = simt (lower) -> () { sync latency 5 }
      op use_z = simt (z) -> () { sync latency 5 }";
    let program = read(body);
    let (found, scheduled) = both(&program, &Options::default());
    let name = |o: program::Op| program.ops[o].name.as_str();
    let shown: Vec<(Vec<&str>, Vec<&str>, usize)> = scheduled
        .pipes
        .values()
        .map(|p| {
            let values = p.values.iter().map(|&v| program.values[v].name.as_str());
            (p.writers.iter().map(|&w| name(w)).collect(), values.collect(), p.readers.len())
        })
        .collect();
    assert_eq!(shown, [(vec!["two"], vec!["x", "y"], 2), (vec!["half", "other"], vec!["z"], 2)]);
    // The canonical owner is the earliest by stage and order, and the pipe has its key.
    for p in scheduled.pipes.values() {
        let key = |o: &program::Op| (found.analysis.place(*o).stage, found.analysis.place(*o).order);
        let earliest = p.writers.iter().map(key).min().expect("a writer");
        assert_eq!((p.stage, p.order), earliest);
        assert_eq!(key(&p.writers[0]), earliest);
    }
}

#[test]
fn canonical_owners_of_random_loops_are_the_earliest() {
    for seed in 0..60 {
        let program = random::program(2 + (seed % 15) as u32, seed);
        let Ok(found) = generate(&program, &Options::default()) else { continue };
        let Ok(scheduled) = materialise(&program, &found) else { continue };
        let key = |o: program::Op| (found.analysis.place(o).stage, found.analysis.place(o).order);
        for p in scheduled.pipes.values() {
            let all = if p.writers.is_empty() {
                p.readers.iter().map(|r| key(r.op)).min()
            } else {
                p.writers.iter().map(|&w| key(w)).min()
            };
            assert_eq!(Some((p.stage, p.order)), all, "seed {seed}");
        }
        let mut producers: Vec<_> = scheduled
            .pipes
            .values()
            .filter(|p| !p.values.is_empty())
            .flat_map(|p| p.writers.iter().copied())
            .collect();
        let count = producers.len();
        producers.sort_unstable();
        producers.dedup();
        assert_eq!(producers.len(), count, "seed {seed}: no producer writes two pipes of values");
    }
}

/// Orders between the agents, and mutexes.
fn barriers(orders: usize, mutexes: usize) -> Program {
    let mut text = String::from("arch sm_100\nvalue a : shared 64 f16\n");
    text += "op load = tma_load () -> (a) { async latency 60 }\nop use = simt (a) -> () { sync latency 5 }\n";
    for i in 0..orders {
        text += &format!("op store{i} = tma_store () -> () {{ async latency 9 }}\n");
        text += &format!("order store{i} -> use latency 0 distance 1\n");
    }
    for i in 0..mutexes {
        text += &format!("mutex m{i} (load, use)\n");
    }
    read(&text)
}

#[test]
fn mutexes_come_before_pipes_and_numbers_are_given_lowest_first() {
    let program = barriers(3, 2);
    let (found, scheduled) = both(&program, &Options::default());
    let mutexes: Vec<u32> = scheduled.mutexes.values().map(|m| m.barrier).collect();
    assert_eq!(mutexes, [0, 1]);
    let named = |p: &sassafras_tileir::scheduled::PipeData| match p.backing {
        Backing::NamedBarrier(i) => Some(i),
        _ => None,
    };
    let pipes: Vec<u32> = scheduled.pipes.values().filter_map(named).collect();
    assert_eq!(pipes, [2, 3, 4]);
    // Values are never handed over at a named barrier.
    assert!(scheduled.pipes.values().all(|p| named(p).is_none() || p.values.is_empty()));
    // A mutex has the key of the earliest of its operations.
    for m in scheduled.mutexes.values() {
        let keys = program.mutexes[m.of].ops.iter().map(|&o| found.analysis.place(o));
        let first = keys.map(|p| (p.stage, p.order)).min();
        assert_eq!(Some((m.stage, m.order)), first);
    }
}

#[test]
fn there_are_32_named_barriers() {
    let run = |program: &Program| {
        let found = generated(program, &Options::default());
        materialise(program, &found)
    };
    assert!(run(&barriers(30, 2)).is_ok());
    assert_eq!(run(&barriers(30, 3)), Err(MaterialiseError::Barriers { wanted: 33, have: 32 }));
}

#[test]
fn buffers_that_do_not_fit_take_slots_away_and_then_overlap() {
    // Six slots are wanted; there is room for three and the barriers.
    let three = read(&format!("budget shared {}\n{GEMM}", 3 * 16384 + 1024));
    let found = generated(&three, &Options::default()).analysis;
    assert!(!found.trivial && found.constraint_iterations >= 1, "{found:?}");
    assert!(found.generator != Generator::Serial && found.ii > 128);
    let budget = |options: &Options| both(&three, options);
    let scheduled = budget(&Options::default()).1;
    assert!(scheduled.buffers.values().all(|b| b.depth <= 3) && !scheduled.trivial);
    // Not a single attempt to take slots away: iterations one after the other, and the flag is set.
    let options = Options { max_constraint_iterations: 0, ..Options::default() };
    let (found, scheduled) = budget(&options);
    assert_eq!((found.analysis.generator, found.analysis.stages), (Generator::Serial, 1));
    assert!(found.analysis.trivial && scheduled.trivial);
    assert_eq!(found.analysis.serial_because, Some("buffers do not fit otherwise"));
    // Where one slot each is too much there is no schedule at all.
    let none = read(&format!("budget shared 16000\n{GEMM}"));
    let error = generate(&none, &Options::default()).expect_err("too small");
    assert!(matches!(error, GenerateError::Buffers { have: 16000, .. }), "{error}");
}

#[test]
fn the_rebuilt_trip_count_is_the_trips_less_the_other_stages() {
    let program = read(GEMM);
    let options = Options { strategy: Strategy::Unspecialize, ..Options::default() };
    let (found, scheduled) = both(&program, &options);
    assert!(found.analysis.stages > 1 && found.analysis.stages <= options.unspecialized_stages);
    assert_eq!(scheduled.agents.len(), 1);
    let agent = scheduled.agents.values().next().expect("an agent");
    assert_eq!(agent.lead, found.analysis.stages - 1);
    assert_eq!(scheduled.short_below, u64::from(agent.lead));
    let runs = |steps: &[sassafras_tileir::scheduled::Step], op| {
        steps.iter().filter(|s| s.action == Action::Run(op)).count() as u64
    };
    for n in u64::from(agent.lead)..u64::from(agent.lead) + 6 {
        for op in program.ops.keys() {
            let rounds = n - u64::from(agent.lead);
            let all =
                runs(&agent.prologue, op) + rounds * runs(&agent.steady, op) + runs(&agent.epilogue, op);
            assert_eq!(all, n);
        }
    }
}

#[test]
fn time_is_quantised_above_the_threshold() {
    let body = "
      arch sm_90
      resource tma 1
      value a : shared 1024 f16
      op load = tma_load () -> (a) { async latency 12000 hold tma 0..10000 }
      op use = simt (a) -> () { sync latency 10 }";
    assert_eq!(Options::default().rrt_size_threshold, 4096);
    let quantised = generated(&read(body), &Options::default()).analysis;
    // 10000 rows are three times as many as allowed, rounded up.
    assert_eq!((quantised.quantum, quantised.ii), (3, 10002));
    assert!(quantised.places.iter().all(|p| p.time % 3 == 0));
    let exact = |threshold| Options { rrt_size_threshold: threshold, ..Options::default() };
    let found = generated(&read(body), &exact(0)).analysis;
    assert_eq!((found.quantum, found.ii), (1, 10000), "0 is never");
    let found = generated(&read(body), &exact(10000)).analysis;
    assert_eq!((found.quantum, found.ii), (1, 10000), "as many as allowed are allowed");
}

#[test]
fn a_persistent_loop_has_an_index_that_is_wide_enough() {
    let loop_of = |problem: &str| {
        let body = format!("persistent problem {problem} tile [128, 256] cluster [2, 1]\n{GEMM}");
        both(&read(&body), &Options::default()).1.tile_loop.expect("a loop over tiles")
    };
    let small = loop_of("[8192, 8192]");
    assert_eq!(
        (small.tiles.clone(), small.count, small.step, small.index_bits),
        (vec![64, 32], 1024, 132, 32)
    );
    let large = loop_of("[549755813888, 8192]");
    assert_eq!((large.count, large.index_bits), (1 << 36, 64));
    assert_eq!(both(&read(GEMM), &Options::default()).1.tile_loop, None);
}

#[test]
fn shapes_are_refused_before_anything_is_solved() {
    // Solving would fail too, and later: the value cannot have a single slot.
    let body = "
      persistent problem [4096, 4096] tile [128] cluster [1, 1]
      value a : shared 64 f16
      op load = tma_load () -> (a) { async latency 60 }
      op use = simt (a, a[-3]) -> () { sync latency 5 }";
    let options = Options { depths: BTreeMap::from([("a".to_owned(), 1)]), ..Options::default() };
    let error = generate(&read(body), &options);
    let wanted = ContractError::Rank { problem: 2, tile: 1, cluster: 2 };
    assert_eq!(error, Err(GenerateError::Contract(wanted)));
}

/// Numbers that texts may contain and nothing can be made of are refused, and nothing is allocated for them.
#[test]
fn what_is_too_large_is_refused() {
    let stage = |n: u32| {
        let text = format!("op a = simt () -> () {{ sync latency 1 {STAGE} = {n} }}");
        generate(&read(&text), &Options::default())
    };
    let refused = |n| GenerateError::Stage { op: "a".into(), stage: n, ops: 1, most: 65536 };
    assert_eq!(stage(u32::MAX), Err(refused(u32::MAX)));
    assert_eq!(stage(65536), Err(refused(65536)));
    assert_eq!(stage(3).map(|g| g.analysis.stages), Ok(4));
    let bytes = |n: u64| {
        let text = format!(
            "value a : shared {n} f16
             op load = tma_load () -> (a) {{ async latency 40 }}
             op use = simt (a) -> () {{ sync latency 10 }}"
        );
        generate(&read(&text), &Options::default())
    };
    let refused = GenerateError::Bytes { value: "a".into(), bytes: u64::MAX };
    assert_eq!(bytes(u64::MAX), Err(refused));
    assert!(matches!(bytes(1 << 40), Err(GenerateError::Buffers { .. })));
}

/// Nothing binds the II of operations that hold nothing; without a limit there would be a stage for every cycle.
#[test]
fn the_stages_of_a_loop_have_an_end() {
    let ops: String = (0..40)
        .map(|i| {
            format!(
                "value v{i} : shared 0 f16\nop o{i} = tma_load ({}) -> ({}) {{ async latency 100000 }}\n",
                if i == 0 { String::new() } else { format!("v{}", i - 1) },
                if i == 39 { String::new() } else { format!("v{i}") },
            )
        })
        .collect();
    let options = Options { unlimited: true, ..Options::default() };
    let started = std::time::Instant::now();
    let found = generated(&read(&ops), &options).analysis;
    assert!(found.stages <= 65536 / 40 && found.stages > 1, "{}", found.stages);
    assert_eq!(found.stage_limit, Some(65536 / 40));
    // The path of 39 latencies and one cycle within so many stages.
    assert_eq!(found.ii, (39 * 100_000u32 + 1).div_ceil(65536 / 40));
    assert!(started.elapsed().as_secs() < 30);
}

/// One agent runs this whatever is asked for, so its stages are those of one agent.
#[test]
fn the_stage_limit_is_that_of_the_agents_there_are() {
    let program = read(&chain(9, "sync"));
    for strategy in [Strategy::WarpSpecialize, Strategy::Unspecialize] {
        let options = Options { strategy, unspecialized_stages: 3, ..Options::default() };
        let (found, scheduled) = both(&program, &options);
        assert_eq!(scheduled.agents.len(), 1);
        assert_eq!(scheduled.strategy, Strategy::Unspecialize);
        assert!(found.analysis.stages <= 3, "{strategy:?}: {}", found.analysis.stages);
        assert_eq!(found.analysis.stage_limit, Some(3));
    }
    let defaults = Options::default();
    assert_eq!((defaults.unspecialized_stages, defaults.max_constraint_iterations), (4, 10));
}

/// What is said of smaller II, and of what would have to change for one less, is so whatever made the schedule.
#[test]
fn nothing_untrue_is_said_of_smaller_ii() {
    let one_less = |program: &Program, found: &Generated| explain(program, found).for_one_less;
    // Serial because it was asked for: nothing was tried.
    let program = read(GEMM);
    let serial = generated(&program, &Options { strategy: Strategy::None, ..Options::default() });
    assert_eq!(serial.analysis.known(), "iterations do not overlap: asked for");
    assert_ne!(serial.analysis.evidence, Evidence::Exhaustive);
    let pinned = read(&GEMM.replace("hold tma 0..64", &format!("hold tma 0..64 {STAGE} = 2")));
    let found = generated(&pinned, &Options { strategy: Strategy::None, ..Options::default() }).analysis;
    assert_eq!(
        found.known(),
        "iterations do not overlap: asked for; prescribed stages and groups are not kept"
    );
    assert_eq!(
        one_less(&program, &serial),
        ["iterations would have to overlap, which they do not: asked for"]
    );
    // Slots that budgets took away: the bound is what it was, and the reason is said.
    let three = read(&format!("budget shared {}\n{GEMM}", 3 * 16384 + 1024));
    let found = generated(&three, &Options::default());
    let a = &found.analysis;
    assert_eq!((a.mii.most(), a.ii), (128, 254), "a slot is free again after 600 + 160 cycles");
    assert!(!a.is_optimal() && a.asked.is_empty() && !a.caps.is_empty());
    assert!(a.known().starts_with("with these limits on slots, "), "{}", a.known());
    let why = one_less(&three, &found);
    let circuit = "latency around `load` -> `mma` -> `load` is 760 in 3 iterations, II 253 allows 759: it must fall by 1 \
                   or its distance grow by 1";
    assert_eq!(why[0], circuit);
    assert!(why[1].contains("shared buffers would take") && why[1].contains("50176 are there"), "{why:?}");
    // The same number of slots asked for: nothing can be lower.
    let asked = Options { depths: BTreeMap::from([("a".to_owned(), 3)]), ..Options::default() };
    let found = generated(&program, &asked).analysis;
    assert_eq!((found.mii.most(), found.mii.dependence, found.mii.recurrence), (254, 254, 128));
    assert!(found.is_optimal());
    // Fewer stages than there would have to be.
    let program = read(&chain(9, "async"));
    let options = Options { strategy: Strategy::Unspecialize, unspecialized_stages: 1, ..Options::default() };
    let found = generated(&program, &options);
    let why = one_less(&program, &found);
    assert!(found.analysis.known().starts_with("with at most 1 stages, "), "{}", found.analysis.known());
    assert!(why[0].contains("`the first stage`"), "{why:?}");
}

/// A row of several cycles: what was tried is said in cycles.
#[test]
fn rows_are_not_taken_for_cycles() {
    let body = "
      arch sm_90
      resource tma 1
      resource alu 1
      value a : shared 1024 f16
      value b : shared 1024 f16
      op load = tma_load () -> (a) { async latency 12000 hold tma 0..7001 }
      op second = tma_load () -> (b) { async latency 12000 hold tma 0..2001 }
      op use = simt (a, b) -> () { sync latency 10 hold alu 0..10 }";
    let found = generated(&read(body), &Options::default()).analysis;
    assert_eq!((found.quantum, found.mii.most()), (3, 9002));
    assert!(found.ii >= 9002 && found.probes.iter().all(|p| p.0 >= 9000), "{:?}", found.probes);
    assert!(!matches!(found.evidence, Evidence::From(from) if from < 9000), "{:?}", found.evidence);
    assert_ne!(found.evidence, Evidence::Exhaustive, "of cycles only every third was looked at");
}

/// A puzzle of rows: exact search finds what the others do not, and is named for it.
#[test]
fn whoever_made_a_schedule_is_named() {
    let mut by = BTreeMap::new();
    for seed in 0..400 {
        let program = random::program(20, seed);
        let options = Options { unlimited: true, ..Options::default() };
        let Ok(found) = generate(&program, &options) else { continue };
        let a = found.analysis;
        *by.entry(a.generator.word()).or_insert(0) += 1;
        assert_eq!(a.arms.is_empty(), a.generator != Generator::Arms);
        // An II that the arms did reach is theirs.
        let reached = a.probes.iter().any(|p| p.1 && p.0 <= a.ii);
        assert_eq!(reached, a.generator == Generator::Arms, "seed {seed}: {:?}", a.generator);
    }
    assert!(by["arms"] > 200, "{by:?}");
}

/// Before slots are limited for registers, operations are moved towards who needs their results.
#[test]
fn registers_above_the_budget_are_saved_before_slots_are_limited() {
    // `load` is ready 95 cycles before `use` is: too little to wait for a turn of 100, too long for one slot.
    let body = "
      resource tma 1
      value a : register 4096 f32
      value c : shared 1024 f16
      op slow = tma_load () -> (c) { async latency 105 hold tma 0..100 }
      op load = simt_load () -> (a) { async latency 10 }
      op use = simt (a, c) -> () { sync latency 5 hold alu 0..5 }";
    let with = |budget: &str| {
        generated(&read(&format!("arch sm_90\n{budget}\nresource alu 1\n{body}")), &Options::default())
    };
    let bytes = |g: &Generated| g.layout.used[&program::Storage::Register];
    let free = with("");
    assert_eq!((free.analysis.ii, bytes(&free)), (100, 2 * 4096));
    let tight = with("budget register 4096");
    assert_eq!((tight.analysis.ii, bytes(&tight)), (100, 4096));
    assert!(tight.analysis.caps.is_empty() && tight.analysis.constraint_iterations == 0);
}

/// Slots are taken where that costs no II, not where most bytes are.
#[test]
fn slots_are_given_up_by_what_they_cost() {
    // `deep` needs its slots for the II of 50; of `idle`, which is smaller, one is as good as two.
    let body = "
      arch sm_80
      resource tma 1
      resource alu 1
      value deep : shared 4096 f16
      value idle : shared 3072 f16
      op load = tma_load () -> (deep) { async latency 300 hold tma 0..25 }
      op other = tma_load () -> (idle) { async latency 10 hold tma 0..25 }
      op early = simt (idle) -> () { sync latency 5 hold alu 0..5 }
      op late = simt (idle, deep) -> () { sync latency 5 hold alu 0..5 }
      order early -> late latency 60 distance 0";
    let free = generated(&read(body), &Options::default());
    let slots = |g: &Generated, name: &str| {
        let v = read(body).values.iter().find(|v| v.1.name == name).map(|v| v.0);
        g.layout.plots.iter().find(|p| Some(p.members[0].1) == v).map(|p| p.depth)
    };
    assert_eq!(free.analysis.ii, 50);
    let (deep, idle) = (slots(&free, "deep").expect("one"), slots(&free, "idle").expect("one"));
    assert!(deep >= 7 && idle >= 2, "{deep} {idle}");
    let used = free.layout.used[&program::Storage::Shared];
    let tight = generated(&read(&format!("budget shared {}\n{body}", used - 1)), &Options::default());
    assert_eq!(tight.analysis.ii, 50, "{:?}", tight.analysis.caps);
    assert_eq!((slots(&tight, "deep"), slots(&tight, "idle")), (Some(deep), Some(idle - 1)));
}

/// What was probed: galloping until one works leaves a bracket, of which no II below the answer is left out. Returns whether
/// that is more than halving alone would look at.
fn bracket_was_tried(probes: &[(u32, bool)], ii: u32) -> bool {
    let Some(first) = probes.iter().position(|p| p.1) else { return false };
    let low = probes[..first].iter().map(|p| p.0).max().unwrap_or(0);
    let tried = |n: u32| probes.iter().any(|p| p.0 == n);
    if first > 0 {
        assert!((low..=ii).all(tried), "{probes:?}");
    }
    first > 0 && ii > low + 3
}

/// The arms' least II is looked for in the whole bracket, in `generate` too: halving alone would leave gaps.
#[test]
fn every_ii_of_the_bracket_is_tried() {
    let mut wide = 0;
    for seed in 0..400 {
        let options = Options { unlimited: true, rescue: false, ..Options::default() };
        let Ok(found) = generate(&random::program(16, seed), &options) else { continue };
        let a = found.analysis;
        wide += u32::from(bracket_was_tried(&a.probes, a.ii));
    }
    assert!(wide > 0, "some bracket has more than its ends");
}

/// The same where buffers have to fit.
#[test]
fn every_ii_of_the_bracket_is_tried_for_buffers() {
    let mut wide = 0;
    for seed in 0..150 {
        let mut program = random::program(10, seed);
        let Ok(free) = generate(&program, &Options::default()) else { continue };
        for (&storage, &used) in &free.layout.used {
            program.budgets.push((storage, used * 7 / 10));
        }
        let Ok(tight) = generate(&program, &Options::default()) else { continue };
        let a = tight.analysis;
        if a.generator == Generator::Arms && a.crowded.is_some() && a.quantum == 1 {
            wide += u32::from(bracket_was_tried(&a.probes, a.ii));
        }
    }
    assert!(wide > 0, "some bracket has more than its ends");
}

/// Where no generator overlaps anything in the stages there may be, the schedule is serial and says so.
#[test]
fn the_flag_is_set_where_generators_failed() {
    let weak = Options {
        strategy: Strategy::Unspecialize,
        unspecialized_stages: 1,
        unlimited: true,
        rescue: false,
        candidates: 1,
        permute_budget: 1,
        retry_budget: 0,
        ..Options::default()
    };
    let mut failed = 0;
    for seed in 0..2000 {
        let Ok(found) = generate(&random::program(9, seed), &weak) else { continue };
        let a = found.analysis;
        assert_eq!(a.trivial, a.generator == Generator::Serial, "seed {seed}");
        if a.trivial {
            failed += 1;
            assert_eq!(a.serial_because, Some("no generator found a schedule that overlaps"));
            assert!(a.stages == 1 && !a.probes.is_empty() && a.probes.iter().all(|p| !p.1), "seed {seed}");
        }
    }
    assert!(failed > 0);
}

/// Choosing among candidates and seating one by one: whichever makes values wait less.
#[test]
fn of_two_schedules_the_one_with_fewer_bytes() {
    let mut apart = 0;
    for seed in 0..300 {
        let program = random::program(14, seed);
        let with = |candidates| {
            let options = Options { candidates, unlimited: true, rescue: false, ..Options::default() };
            generate(&program, &options).map(|g| (g.analysis.ii, bytes(&program, &g.analysis.schedule())))
        };
        let (Ok(both), Ok(alone)) = (with(4), with(1)) else { continue };
        assert!(both <= alone, "seed {seed}: {both:?} {alone:?}");
        apart += u32::from(both < alone);
    }
    assert!(apart > 0, "a choice is worth something");
}
