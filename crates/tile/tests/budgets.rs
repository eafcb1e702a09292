//! Loops that are tight on storage: results in the place of operands, larger II, and what stays serial.

use sassafras_tile::buffers::table;
use sassafras_tile::{Generated, Generator, Options, generate, materialise};
use sassafras_tileir::program::{Program, Storage, parse};
use sassafras_tileir::scheduled::Scheduled;
use sassafras_verify::tile::{Effort, Limits, explore, prove};

fn one(text: &str) -> Program {
    parse(text).unwrap_or_else(|e| panic!("{e}\n{text}")).remove(0)
}

/// Schedules, and proves what comes out twice: by replays, and by trying everything for few trips.
fn sound(program: &Program) -> (Generated, Scheduled) {
    let options = Options::default();
    let generated = generate(program, &options).expect("a schedule");
    let scheduled = materialise(program, &generated).expect("a loop");
    prove(program, &scheduled, &Limits::of(table(program)), &Effort::default()).expect("no complaint");
    for trips in 0..4 {
        explore(program, &scheduled, trips, 200_000, true).expect("no complaint");
    }
    (generated, scheduled)
}

/// Three steps of arithmetic; `place` says whether results may take the place of operands.
fn chain(place: &str, more: &str) -> String {
    format!(
        "loop chain {{
  arch sm_90
  resource alu 1
  value a : register 4096 f32
  value b : register 4096 f32
  value c : register 4096 f32
  op load = simt_load () -> (a) {{ latency 10 hold alu 0..10 }}
  op f = simt (a{place}) -> (b) {{ latency 10 hold alu 0..10 }}
  op g = simt (b{place}) -> (c) {{ latency 10 hold alu 0..10 }}
  op s = simt_store (c) -> () {{ latency 10 hold alu 0..10 }}
{more}}}"
    )
}

#[test]
fn results_take_the_place_of_operands_that_die() {
    let (generated, scheduled) = sound(&one(&chain(" in place", "")));
    assert_eq!((generated.analysis.ii, scheduled.bytes(Storage::Register)), (40, 4096));
    // Without the permission the operand is there as long as the result is made.
    let (_, scheduled) = sound(&one(&chain("", "")));
    assert_eq!(scheduled.bytes(Storage::Register), 2 * 4096);
}

#[test]
fn an_operand_that_is_read_later_keeps_its_place() {
    let later =
        "  op t = simt_store (a) -> () { latency 10 hold alu 0..10 }\n  order g -> t latency 0 distance 0\n";
    let (_, scheduled) = sound(&one(&chain(" in place", later)));
    assert!(scheduled.bytes(Storage::Register) >= 2 * 4096);
}

#[test]
fn operations_that_run_on_by_themselves_have_no_permission() {
    let text = chain(" in place", "").replace("-> (b) { ", "-> (b) { in-order ");
    let program = parse(&text).map(|mut p| p.remove(0));
    assert!(program.map_or(true, |p| p.check().is_err()));
}

#[test]
fn ii_grows_before_iterations_stop_to_overlap() {
    // At II 20 each value has one slot, and there are two for three values: two share one from II 40 on. One iteration after
    // the other takes 140 cycles.
    let program = one("loop tight {
  arch sm_90
  budget register 8192
  resource r0 1
  resource r1 1
  resource r2 1
  resource r3 1
  value a : register 4096 f32
  value b : register 4096 f32
  value c : register 4096 f32
  op load = simt_load () -> (a) { latency 10 hold r0 0..5 }
  op f = simt (a) -> (b) { latency 10 hold r1 0..5 }
  op g = simt (b) -> (c) { latency 10 hold r2 0..5 }
  op s = simt_store (c) -> () { latency 10 hold r3 0..5 }
  op t = tma_store () -> () { async latency 100 }
  order s -> t latency 0 distance 0
}");
    let (generated, scheduled) = sound(&program);
    assert_eq!(generated.analysis.generator, Generator::Arms);
    assert_eq!((generated.analysis.ii, scheduled.bytes(Storage::Register)), (40, 8192));
}

#[test]
fn bounds_are_cycles_whatever_a_row_stands_for() {
    let options = Options { rrt_size_threshold: 7, ..Options::default() };
    // Steps of six cycles are no better than one iteration after the other, which needs none.
    let generated = generate(&one(&chain(" in place", "")), &options).expect("a schedule");
    assert_eq!((generated.analysis.generator, generated.analysis.ii), (Generator::Serial, 40));
    // Where the first result takes long they are.
    let program = one(&chain(" in place", "").replacen("latency 10", "latency 60", 1));
    let generated = generate(&program, &options).expect("a schedule");
    assert_eq!((generated.analysis.quantum, generated.analysis.ii), (6, 48));
    assert!(generated.analysis.probes.iter().all(|p| p.0 % 6 == 0 && p.0 >= 40), "cycles, not rows");
    assert_eq!(generated.analysis.mii.most(), 40);
    assert!(generated.analysis.bound.contains("40 unit-cycles"), "{}", generated.analysis.bound);
}

#[test]
fn an_ii_above_the_bound_is_proven_where_exact_search_can() {
    // `f` holds the unit in its first and third cycle: of four rows it leaves two that do not follow each other, and `g` needs
    // two that do.
    let program = one("loop holes {
  arch sm_90
  resource alu 1
  op f = simt () -> () { async latency 4 hold alu 0..1 hold alu 2..3 }
  op g = simt () -> () { async latency 2 hold alu 0..2 }
}");
    let (generated, _) = sound(&program);
    let analysis = &generated.analysis;
    assert_eq!((analysis.mii.most(), analysis.ii, analysis.proven), (4, 5, true));
    assert!(analysis.is_optimal());
}

#[test]
fn few_stages_are_kept_by_every_generator() {
    use sassafras_tileir::scheduled::Strategy;
    for seed in 0..300 {
        let program = sassafras_tile::random::program(12, seed);
        let options =
            Options { strategy: Strategy::Unspecialize, unspecialized_stages: 2, ..Options::default() };
        if let Ok(generated) = generate(&program, &options) {
            assert!(generated.analysis.stages <= 2, "{seed}: {}", generated.analysis.stages);
        }
    }
}

#[test]
fn synchronous_operations_of_an_agent_take_turns() {
    // Nothing is held but the warps: as long as each takes, one after the other.
    let text = "loop turns {
  arch sm_90
  resource alu 1
  op f = simt () -> () { latency 100 }
  op g = simt () -> () { latency 100 }
  op h = simt () -> () { latency 100 hold alu 0..30 }
}";
    let (generated, _) = sound(&one(text));
    // What comes after the last hold is waiting, which others can use.
    assert_eq!(generated.analysis.ii, 230);
    assert!(generated.analysis.bound.contains("warps of all"), "{}", generated.analysis.bound);
    // What runs by itself takes nobody's turn.
    let (generated, _) = sound(&one(&text.replace("{ latency", "{ async latency")));
    assert_eq!(generated.analysis.ii, 30);
}

#[test]
fn agents_that_compute_share_what_registers_do_not_hold_together() {
    let program = one("loop parts {
  arch sm_90
  value a : register 64 f32
  value b : register 64 f32
  value s : shared 64 f32
  op load = tma_load () -> (s) { async latency 10 }
  op f = simt (s) -> (a) { latency 60 }
  op g = simt (a) -> () { latency 40 }
  op h = simt (s) -> (b) { latency 50 }
  op i = simt (b) -> () { latency 40 }
}");
    let agents = |compute_agents| {
        let options = Options { compute_agents, ..Options::default() };
        let generated = generate(&program, &options).expect("a schedule");
        let names: Vec<String> =
            generated.plans.iter().map(|p| format!("{}:{}", p.name, p.ops.len())).collect();
        (generated.analysis.ii, names.join(" "))
    };
    assert_eq!(agents(1), (190, "transfers:1 compute:4".to_owned()));
    assert_eq!(agents(2), (100, "transfers:1 compute.0:2 compute.1:2".to_owned()));
    // There are no more than sets.
    assert_eq!(agents(3), agents(2));
}
