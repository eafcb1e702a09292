//! The documented rules of the tile scheduler, one test each: comparators, searches, gates, arms, fallbacks, keys.

use cranelift_entity::EntityRef;
use sassafras_machine::tile::pool;
use sassafras_modulo::{Confirm, Distances, Evidence, Gallop, Op, Table, first_feasible};
use sassafras_tile::analysis::compare;
use sassafras_tile::contract::ContractError;
use sassafras_tile::generate::arms::{Arm, cost_based, fuse, permute, retry};
use sassafras_tile::generate::cost::Cost;
use sassafras_tile::generate::evaluate::{bank_units, banks_allow, cost, pipe_allows};
use sassafras_tile::generate::groups::Groups;
use sassafras_tile::generate::state::{Marks, State};
use sassafras_tile::generate::{driver, problem};
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
    at(body, ii, |state| driver::place(state, options).unwrap_or_else(|op| panic!("{op} is not seated")).1)
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
    let options = Options { permute_budget: 1, ..Options::default() };
    at(&body, 2, |state| {
        let (schedule, arms) = driver::place(state, &options).expect("a schedule");
        assert_eq!(arms, [Arm::Permute, Arm::Fuse, Arm::Fuse]);
        assert_eq!(schedule.times, [0, 1, 1]);
    });
    // Without a second unit of what both want, no cycle takes two.
    at(&body.replace("resource r 2", "resource r 1"), 2, |state| {
        assert!(state.place(op(0), 0));
        assert!(!fuse::run(state, &[op(1), op(2)]));
        assert_eq!(state.times(), [Some(0), None, None], "a failed arm leaves nothing behind");
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
    at(&body, 4, |state| {
        let (schedule, arms) = driver::place(state, &Options::default()).expect("a schedule");
        assert_eq!(schedule.times, [0, 2, 3, 0], "x has moved from 0 to 3");
        assert_eq!(arms, [Arm::Permute, Arm::Permute, Arm::Permute, Arm::Retry]);
    });
    // A budget of no cycles moves nothing.
    at(&body, 4, |state| {
        assert!(state.place(op(0), 0) && state.place(op(1), 2) && state.place(op(2), 0));
        let before = (state.table.snapshot(), state.times().to_vec());
        let mut marks = Marks::new(4);
        assert!(!retry::run(state, &[op(3)], 0, &mut marks));
        assert!(marks.dead(op(3)), "who was not seated is marked");
        assert_eq!((state.table.snapshot(), state.times()), (before.0, &before.1[..]));
        // Marked ones are skipped by the two arms that look, until the marks are forgotten.
        assert!(!retry::run(state, &[op(3)], 8, &mut marks));
        assert!(!cost_based::run(state, &[op(3)], &mut marks));
        assert!(retry::run(state, &[op(3)], 8, &mut Marks::new(4)));
    });
}

#[test]
fn marks_are_forgotten_before_ii_grows() {
    // An operation of depth 1 is dead from the start; afresh it is moved like any other.
    let body = APART.replace('D', &format!("{DEPTH} = 1"));
    let found = arms(&body, 4, &Options::default());
    assert_eq!(found, [Arm::Permute, Arm::Permute, Arm::Permute, Arm::FreshRetry]);
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
    let options = Options { permute_budget: 1, retry_budget: 1, ..Options::default() };
    at(&body, 8, |state| {
        let (schedule, arms) = driver::place(state, &options).expect("a schedule");
        assert_eq!(schedule.times[..4], [0, 1, 5, 6]);
        assert!(matches!(arms[1], Arm::CostBased | Arm::FreshCostBased), "{arms:?}");
        assert_eq!(arms[1], arms[2]);
        assert_eq!((arms[0], arms[3]), (Arm::Permute, Arm::Permute));
    });
    at(&body, 8, |state| {
        assert!(state.place(op(0), 0) && state.place(op(3), 6));
        let group = [op(1), op(2)];
        let mut marks = Marks::new(5);
        // The cheap arms one by one.
        assert!(!permute::run(state, &group, 1, &mut Marks::new(5)));
        assert!(!fuse::run(state, &group));
        assert!(!retry::run(state, &group, 1, &mut Marks::new(5)));
        assert!(cost_based::run(state, &group, &mut marks));
        assert_eq!((state.time(op(1)), state.time(op(2))), (Some(1), Some(5)));
    });
}

#[test]
fn members_wait_for_their_leader() {
    let body = format!(
        "op a = simt () -> () {{ sync latency 1 {GID} = 1 }}
         op b = simt () -> () {{ sync latency 1 {GID} = 2 {LEADER} = 1 }}"
    );
    at(&body, 4, |state| {
        let mut marks = Marks::new(2);
        assert!(state.pending(op(1), &[op(1)]) && !state.pending(op(0), &[op(0)]));
        assert!(!state.pending(op(1), &[op(0), op(1)]));
        assert!(!permute::run(state, &[op(1)], 9, &mut marks) && !fuse::run(state, &[op(1)]));
        assert!(!retry::run(state, &[op(1)], 9, &mut marks) && !cost_based::run(state, &[op(1)], &mut marks));
        assert!(state.place(op(0), 9));
        // Stage 2, as the leader.
        assert_eq!(state.window(op(1)), 8..=11);
        assert!(permute::run(state, &[op(1)], 9, &mut marks));
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
        assert_eq!((found.leaders[member.index()], found.leaders[leader.index()]), (leader, leader));
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
    let wanted = GenerateError::Depth { value: "a".into(), asked: 2, least: 3 };
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
    assert!(place("early").row <= place("late").row);
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
