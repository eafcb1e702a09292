//! The documented rules of materialisation and of buffers, one test each.

use sassafras_tile::{Generated, Options, generate, materialise};
use sassafras_tileir::program::{self, Program, parse};
use sassafras_tileir::scheduled::{self, PipeData, Scheduled, Strategy};
use sassafras_verify::tile::{Effort, Limits, Violation, check, prove};

fn read(body: &str) -> Program {
    let text = format!("loop l {{\n{body}\n}}");
    parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}")).remove(0)
}

/// Schedules, materialises and proves a loop.
fn both(program: &Program, options: &Options) -> (Generated, Scheduled) {
    let generated = generate(program, options).unwrap_or_else(|e| panic!("{e}\n{}", program::print(program)));
    let scheduled = materialise(program, &generated).unwrap_or_else(|e| panic!("{e}"));
    let effort = Effort { seeds: 1, large: 1, ..Effort::default() };
    prove(program, &scheduled, &Limits::NONE, &effort).unwrap_or_else(|v| panic!("{v}"));
    (generated, scheduled)
}

/// Writers, values and readers of a pipe.
fn ends(program: &Program, p: &PipeData) -> (Vec<String>, Vec<String>, Vec<String>) {
    let op = |o: program::Op| program.ops[o].name.clone();
    (
        p.writers.iter().map(|&w| op(w)).collect(),
        p.values.iter().map(|&v| program.values[v].name.clone()).collect(),
        p.readers.iter().map(|r| op(r.op)).collect(),
    )
}

/// All pipes in a line each, in the order of the alphabet whatever their keys are.
fn pipes(body: &str) -> Vec<String> {
    let program = read(body);
    let (_, scheduled) = both(&program, &Options::default());
    let line = |p: &PipeData| {
        let (mut writers, values, mut readers) = ends(&program, p);
        writers.sort();
        readers.sort();
        format!("({}) -> ({}) -> ({})", writers.join(", "), values.join(", "), readers.join(", "))
    };
    let mut lines: Vec<String> = scheduled.pipes.values().map(line).collect();
    lines.sort();
    lines
}

/// Two transfers into one tile, and who reads which part.
fn halves(readers: &str) -> String {
    format!(
        "arch sm_90
         value z : shared 512 f16
         value upper : shared 256 f16 part of z
         value lower : shared 256 f16 part of z
         op high = tma_load () -> (upper) {{ async latency 100 }}
         op low = tma_load () -> (lower) {{ async latency 140 }}
         {readers}"
    )
}

#[test]
fn only_what_reaches_a_consumer_is_live_there() {
    // Nobody reads both parts: two sets, two pipes, each with its own key and slots.
    let apart = halves(
        "op use_upper = simt (upper) -> () { sync latency 5 }
         op use_lower = simt (lower) -> () { sync latency 5 }",
    );
    assert_eq!(pipes(&apart), ["(high) -> (upper) -> (use_upper)", "(low) -> (lower) -> (use_lower)"]);
    let program = read(&apart);
    let (found, scheduled) = both(&program, &Options::default());
    for p in scheduled.pipes.values() {
        let place = found.analysis.place(p.writers[0]);
        assert_eq!((p.stage, p.order), (place.stage, place.order));
    }
    let sizes: Vec<u64> = scheduled.buffers.values().map(|b| b.bytes).collect();
    assert_eq!(sizes, [256, 256], "a slot for each part");
}

#[test]
fn an_operand_is_read_from_one_slot() {
    // One consumer that reads both parts makes them one set, for all consumers.
    let together = halves(
        "op use_upper = simt (upper) -> () { sync latency 5 }
         op use_both = simt (z) -> () { sync latency 5 }",
    );
    assert_eq!(pipes(&together), ["(high, low) -> (z) -> (use_both, use_upper)"]);
}

#[test]
fn what_a_producer_reads_of_the_same_storage_is_live_too() {
    let body = |read: &str| {
        format!(
            "arch sm_90
             value z : shared 512 f16
             value other : shared 256 f16
             value upper : shared 256 f16 part of z
             value lower : shared 256 f16 part of z
             op high = tma_load () -> (upper) {{ async latency 100 }}
             op elsewhere = tma_load () -> (other) {{ async latency 100 }}
             op update = smem_write ({read}[-1]) -> (lower) {{ async latency 30 }}
             op use_lower = simt (lower) -> () {{ sync latency 5 }}
             op use_others = simt (upper, other) -> () {{ sync latency 5 }}"
        )
    };
    // The consumer reads `lower` alone; what `update` leaves there is made from `upper`, so both are one set.
    assert_eq!(
        pipes(&body("upper")),
        [
            "(elsewhere) -> (other) -> (use_others)",
            "(high, update) -> (z) -> (update, use_lower, use_others)"
        ]
    );
    // The same update from other storage links nothing.
    assert_eq!(
        pipes(&body("other")),
        [
            "(elsewhere) -> (other) -> (update, use_others)",
            "(high) -> (upper) -> (use_others)",
            "(update) -> (lower) -> (use_lower)"
        ]
    );
}

#[test]
fn a_part_that_nothing_defines_is_from_before_the_loop() {
    let body = "arch sm_90
         value z : shared 512 f16
         value upper : shared 256 f16 part of z
         value lower : shared 256 f16 part of z
         op high = tma_load () -> (upper) { async latency 100 }
         op use_upper = simt (upper) -> () { sync latency 5 }
         op use_lower = simt (lower) -> () { sync latency 5 }";
    assert_eq!(pipes(body), ["() -> (lower) -> (use_lower)", "(high) -> (upper) -> (use_upper)"]);
    // Parts that do not fit side by side have bytes in common: nothing is known to be from before.
    let overlapping = body.replace("lower : shared 256", "lower : shared 400");
    assert_eq!(pipes(&overlapping), ["(high) -> (z) -> (use_lower, use_upper)"]);
}

#[test]
fn a_producer_of_several_values_joins_their_sets() {
    let body = halves(
        "value x : shared 128 f16
         op two = tma_load () -> (x) { async latency 50 }
         op use_upper = simt (upper) -> () { sync latency 5 }
         op use_lower = simt (lower) -> () { sync latency 5 }
         op use_x = simt (x) -> () { sync latency 5 }",
    );
    assert_eq!(pipes(&body).len(), 3);
    // `low` defines `x` as well: one pipe for both values, and `high` stays alone.
    let joined = body.replace("-> (lower)", "-> (lower, x)").replace("-> (x) { async", "-> () { async");
    assert_eq!(
        pipes(&joined),
        ["(high) -> (upper) -> (use_upper)", "(low) -> (lower, x) -> (use_lower, use_x)"]
    );
}

/// A product: a load of 64 cycles' work and a matrix operation of 128.
const GEMM: &str = "
  arch sm_90
  resource tma 1
  resource tc_and_mma 1
  value a : shared 16384 f16
  value acc : register 32768 f32
  op load = tma_load () -> (a) { async latency 300 hold tma 0..64 }
  op mma = wgmma (a, acc[-1] in place) -> (acc) { in-order latency 160 hold tc_and_mma 0..128 }";

#[test]
fn operands_of_unequal_stages_are_read_through_pipes() {
    let program = read(GEMM);
    let options = Options { strategy: Strategy::Unspecialize, ..Options::default() };
    let (found, scheduled) = both(&program, &options);
    let stage = |name: &str| found.analysis.place(program.op(name).expect("an operation")).stage;
    assert_eq!((stage("load"), stage("mma")), (0, 2));
    let text = scheduled::print(&scheduled, &program);
    let runs: Vec<&str> = text.lines().map(str::trim).filter(|l| l.starts_with("run mma")).collect();
    assert_eq!(runs, [""]);
    // What is printed is read back, and a text that leaves it out means the same.
    let again = |text: &str| scheduled::parse(text, std::slice::from_ref(&program)).map(|mut s| s.remove(0));
    assert_eq!(again(&text), Ok(scheduled.clone()));
    let bare: String = text
        .lines()
        .map(|l| match l.trim().strip_prefix("run mma (") {
            Some(rest) => format!("run mma {}\n", rest.split_once(')').expect("a list").1),
            None => format!("{l}\n"),
        })
        .collect();
    assert_eq!(again(&bare), Ok(scheduled));
    // The accumulator of the wrong iteration, or of the wrong turn.
    for (from, to) in [("Pipe_1[k - 1]", "Pipe_1[k + 0]"), ("turn 1 * k - 1", "turn 1 * k + 1")] {
        let wrong = again(&text.replacen(from, to, 1)).expect("it can be read");
        let found = check(&program, &wrong, &Limits::NONE).expect_err("it is wrong");
        assert!(matches!(found[..], [Violation::WrongSource { operand: 1, .. }]), "{found:?}");
    }
}
