//! The documented rules of materialisation and of buffers, one test each.

use sassafras_machine::tile::threshold;
use sassafras_tile::buffers::table;
use sassafras_tile::contract::ContractError;
use sassafras_tile::materialise::post;
use sassafras_tile::view::view;
use sassafras_tile::{GenerateError, Generated, MaterialiseError, Options, generate, materialise};
use sassafras_tileir::program::{self, Program, Storage, parse};
use sassafras_tileir::scheduled::{
    self, Action, BARRIER_BYTES, Backing, BarrierArea, Flavour, MutexData, PipeData, Scheduled, Strategy,
};
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
fn a_part_that_nobody_reads_stays_with_the_others() {
    let unread = halves("op use_upper = simt (upper) -> () { sync latency 5 }");
    assert_eq!(pipes(&unread), ["(high, low) -> (z) -> (use_upper)"]);
}

#[test]
fn a_part_that_nobody_reads_goes_with_those_from_before_the_loop() {
    // Nobody waits for `lower`; who reads `upper`, which nothing in the loop defines, waits for the whole.
    let body = "  arch sm_90
  value whole : shared 2048 f16
  value upper : shared 1024 f16 part of whole
  value lower : shared 1024 f16 part of whole
  op load = tma_load () -> (lower) { async latency 90 }
  op use = simt (upper) -> () { latency 5 }";
    assert_eq!(pipes(body), ["(load) -> (whole) -> (use)"]);
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
             op update = smem_write ({read}[-1]) -> (lower) {{ sync latency 30 }}
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
    let body = |low: &str, two: &str| {
        format!(
            "arch sm_90
             value z : shared 512 f16
             value upper : shared 256 f16 part of z
             value lower : shared 256 f16 part of z
             value x : shared 128 f16
             op high = tma_load () -> (upper) {{ async latency 100 }}
             op low = tma_load () -> ({low}) {{ async latency 140 }}
             {two}
             op use_upper = simt (upper) -> () {{ sync latency 5 }}
             op use_lower = simt (lower) -> () {{ sync latency 5 }}
             op use_x = simt (x) -> () {{ sync latency 5 }}"
        )
    };
    let apart = body("lower", "op two = tma_load () -> (x) { async latency 50 }");
    assert_eq!(pipes(&apart).len(), 3);
    // `low` defines `x` as well: one pipe for both values, and `high` stays alone.
    assert_eq!(
        pipes(&body("lower, x", "")),
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
    let runs: Vec<&str> = text.lines().map(str::trim).filter(|l| l.starts_with("run ")).collect();
    // Two rounds of loads come before the first product, and two products after the last load.
    assert_eq!(
        runs,
        [
            "run load @ first + 0",
            "run load @ first + 1",
            "run load @ k + 2",
            "run mma (Pipe_0[k + 0] in buffer1 turn 1 * k + 0, Pipe_1[k - 1] in buffer0 turn 1 * k + 0) @ k + 0",
            "run mma (Pipe_0[n - 2] in buffer1 turn 1 * n - 2, Pipe_1[n - 3] in buffer0 turn 1 * n - 2) @ n - 2",
            "run mma (Pipe_0[n - 1] in buffer1 turn 1 * n - 1, Pipe_1[n - 2] in buffer0 turn 1 * n - 1) @ n - 1",
            "run load @ k + 0",
            "run mma (Pipe_0[k + 0] in buffer1 turn 1 * k + 0, Pipe_1[k - 1] in buffer0 turn 1 * k + 0) @ k + 0",
        ]
    );
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
    for (from, to) in
        [("Pipe_1[k - 1]", "Pipe_1[k + 0]"), ("buffer0 turn 1 * k + 0", "buffer0 turn 1 * k + 1")]
    {
        let wrong = again(&text.replacen(from, to, 1)).expect("it can be read");
        let found = check(&program, &wrong, &Limits::NONE).expect_err("it is wrong");
        assert!(matches!(found[..], [Violation::WrongSource { operand: 1, .. }]), "{found:?}");
    }
}

#[test]
fn slack_is_one_less_than_slots_and_none_for_mutexes() {
    let (_, deep) = both(&read(GEMM), &Options::default());
    assert!(deep.pipes.values().any(|p| p.depth > 2));
    for p in deep.pipes.values() {
        assert_eq!(p.slack(), p.depth - 1);
    }
    let program = read(&format!("{GEMM}\nmutex m (load, mma)"));
    let (generated, scheduled) = both(&program, &Options::default());
    assert_eq!(MutexData::SLACK, 0);
    let view = view(&program, &generated, &scheduled, &Options::default());
    assert!(view.pipes.iter().all(|p| p.slack == p.depth - 1) && view.mutexes[0].slack == 0);
}

#[test]
fn flavours_and_the_slots_of_scalars() {
    let body = "arch sm_90
         value a : shared 1024 f16
         value q : shared 512 f16
         value t : shared 0 token
         resource r 1
         op load = tma_load () -> (a) { async latency 60 }
         op mark = tma_store () -> (t) { async latency 9 }
         op use = simt (a, q, t) -> () { sync latency 400 hold r 0..400 }
         op last = tma_store () -> () { async latency 3 }
         order last -> use latency 0 distance 0";
    let program = read(body);
    let (_, scheduled) = both(&program, &Options::default());
    let shown: Vec<(String, Flavour, u32)> =
        scheduled.pipes.values().map(|p| (ends(&program, p).0.join(", "), p.flavour, p.depth)).collect();
    let of = |writer: &str| shown.iter().find(|s| s.0 == writer).map(|s| (s.1, s.2)).expect("a pipe");
    assert_eq!(of("load").0, Flavour::Tile);
    assert_eq!(of("").0, Flavour::Scalar, "from before the loop");
    // Without storage a second slot costs nothing, and lets the writer go on.
    assert_eq!((of("mark"), of("last")), ((Flavour::Scalar, 2), (Flavour::Scalar, 2)));
    assert_eq!(threshold("scalar_pipe_depth"), 2);
}

#[test]
fn only_real_barrier_objects_take_room() {
    assert_eq!(table(&read(GEMM)).barrier_bytes, BARRIER_BYTES);
    // Two agents: two objects for each slot of the tiles between them, none for the accumulator.
    let program = read(GEMM);
    let (generated, scheduled) = both(&program, &Options::default());
    let met = scheduled.pipes.values().filter(|p| p.backing == Backing::Mbarrier);
    let wanted: u64 = met.map(|p| 2 * u64::from(p.depth) * BARRIER_BYTES).sum();
    assert_eq!(scheduled.barriers, Some(BarrierArea { offset: 0, bytes: wanted }));
    assert!(wanted > 0 && generated.layout.barriers == wanted);
    let text = scheduled::print(&scheduled, &program);
    let again =
        |text: &str| scheduled::parse(text, std::slice::from_ref(&program)).expect("a loop").remove(0);
    assert_eq!(again(&text), scheduled);
    // A buffer over them, and too little room for them.
    let refused = |text: &str| {
        let found = check(&program, &again(text), &Limits::NONE).expect_err("it is wrong");
        found.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let over = text.replacen("at 1024 (Pipe_0", "at 0 (Pipe_0", 1);
    assert_ne!(over, text);
    assert_eq!(refused(&over), ["barriers and buffer1 overlap in shared storage"]);
    let small = text.replacen(&format!("barriers {wanted} at"), "barriers 8 at", 1);
    assert_eq!(refused(&small), [format!("barrier objects take {wanted} bytes, but have 8")]);
    // One agent of synchronous operations meets nobody.
    let alone = read(
        "arch sm_90
         value a : shared 1024 f16
         op write = smem_write () -> (a) { sync latency 5 }
         op use = simt (a) -> () { sync latency 5 }",
    );
    let (generated, scheduled) = both(&alone, &Options::default());
    assert_eq!((generated.layout.barriers, scheduled.barriers), (0, None));
    assert_eq!(generated.layout.used[&Storage::Shared], 1024);
}

/// So many transfers, each after the one before, and the first of the next iteration after the last.
fn ring(count: usize) -> Program {
    let mut text = String::from("arch sm_100\n");
    for i in 0..count {
        text += &format!("op x{i} = tma_store () -> () {{ async latency 9 }}\n");
    }
    for i in 0..count {
        let (to, distance) = ((i + 1) % count, u32::from(i + 1 == count));
        text += &format!("order x{i} -> x{to} latency 0 distance {distance}\n");
    }
    read(&text)
}

fn named(scheduled: &Scheduled) -> Vec<u32> {
    let number = |p: &PipeData| if let Backing::NamedBarrier(i) = p.backing { Some(i) } else { None };
    scheduled.pipes.values().filter_map(number).collect()
}

#[test]
fn named_barriers_are_used_again_where_users_take_turns() {
    // 32 have one each. The 33rd takes the lowest whose user is done before it begins, and begins again after it is done:
    // its neighbours in the ring are not.
    let (_, fits) = both(&ring(32), &Options::default());
    assert_eq!(named(&fits), (0..32).collect::<Vec<_>>());
    let program = ring(34);
    let (_, scheduled) = both(&program, &Options::default());
    let given = named(&scheduled);
    assert_eq!(given[..32], (0..32).collect::<Vec<_>>());
    assert!(given[32..].iter().all(|&b| b < 32));
    // The checker takes no number twice for two that touch: the reader of one is the writer of the next.
    let mut wrong = scheduled.clone();
    let pipes: Vec<_> = wrong.pipes.keys().collect();
    wrong.pipes[pipes[5]].backing = Backing::NamedBarrier(4);
    let found = check(&program, &wrong, &Limits::NONE).expect_err("it is wrong");
    assert!(found.iter().all(|v| matches!(v, Violation::BarrierTwice { barrier: 4, .. })), "{found:?}");
}

#[test]
fn one_pipe_is_filled_by_one_kind_of_transfer() {
    let body = halves("op use = simt (z) -> () { sync latency 5 }");
    let mixed = read(&body.replace("low = tma_load", "low = cp_async"));
    let generated = generate(&mixed, &Options::default()).expect("a schedule");
    let wanted = MaterialiseError::Producers {
        pipe: "Pipe_0".into(),
        first: "cp_async".into(),
        second: "tma_load".into(),
    };
    assert_eq!(materialise(&mixed, &generated), Err(wanted));
    // Apart, each has its own pipe.
    let apart = halves(
        "op use_upper = simt (upper) -> () { sync latency 5 }
         op use_lower = simt (lower) -> () { sync latency 5 }",
    );
    both(&read(&apart.replace("low = tma_load", "low = cp_async")), &Options::default());
}

#[test]
fn what_does_not_follow_from_the_analysis_is_refused() {
    let program = read(GEMM);
    let (generated, good) = both(&program, &Options::default());
    let refused = |change: &dyn Fn(&mut Scheduled)| {
        let mut bad = good.clone();
        change(&mut bad);
        post::check(&program, &generated.analysis, &bad).expect_err("it is wrong")
    };
    assert_eq!(post::check(&program, &generated.analysis, &good), Ok(()));
    let first = good.pipes.keys().next().expect("a pipe");
    let agent = good.agents.keys().next().expect("an agent");
    assert_eq!(refused(&|s| s.pipes[first].order += 7), "Pipe_0 is not where `load` is");
    assert_eq!(
        refused(&|s| s.pipes[first].backing = Backing::NamedBarrier(0)),
        "Pipe_0 carries values past a named barrier"
    );
    assert_eq!(
        refused(&|s| s.pipes[first].initial = 99),
        "Pipe_0 has fewer slots than values from before the loop"
    );
    assert_eq!(
        refused(&|s| s.agents[agent].lead += 1),
        "agent `transfers`: prologue and epilogue do not make up whole rounds"
    );
    assert_eq!(
        refused(&|s| s.agents[agent].steady.retain(|s| !matches!(s.action, Action::Run(_)))),
        "operation 0 runs 0 times in a round"
    );
}

#[test]
fn sharing_requires_equal_elements() {
    let body = |element: &str| {
        format!(
            "arch sm_90
             value a : register 4096 f32
             value b : register 4096 {element}
             value c : register 4096 f32
             op one = simt () -> (a) {{ sync latency 5 }}
             op two = simt (a) -> () {{ sync latency 5 }}
             op three = simt () -> (b) {{ sync latency 5 }}
             op four = simt (b) -> () {{ sync latency 5 }}
             order two -> three latency 0 distance 0
             order four -> one latency 0 distance 1"
        )
    };
    let buffers = |element: &str| {
        let program = read(&body(element));
        let (_, scheduled) = both(&program, &Options::default());
        scheduled.buffers.values().map(|b| b.members.len()).collect::<Vec<_>>()
    };
    assert_eq!(buffers("f32"), [2], "one slot for both");
    assert_eq!(buffers("f16"), [1, 1], "as many bytes, but of another type");
}

#[test]
fn the_loop_over_tiles_has_coordinates_and_work_tiles() {
    let body =
        |more: &str| format!("persistent problem [1000, 600] tile [128, 64] cluster [2, 1]\n{more}\n{GEMM}");
    let program = read(&body(""));
    let (_, scheduled) = both(&program, &Options { clusters: 7, ..Options::default() });
    let tiles = scheduled.tile_loop.clone().expect("a loop over tiles");
    assert_eq!((tiles.count, tiles.step, tiles.index_bits), (40, 7, 32));
    assert_eq!(tiles.work_tile(13).coordinates, [2, 3]);
    // Coordinates that miss tiles, or visit some twice.
    for (from, to) in
        [("coordinate over 4 of 10 times 1", "coordinate over 2 of 10 times 1"), ("times 2", "times 1")]
    {
        let text = scheduled::print(&scheduled, &program).replacen(from, to, 1);
        let wrong = scheduled::parse(&text, std::slice::from_ref(&program)).expect("a loop").remove(0);
        let found = check(&program, &wrong, &Limits::NONE).expect_err("it is wrong");
        assert!(matches!(found[..], [Violation::TileLoop { .. }]), "{found:?}");
    }
    // Descriptors of one kind, in the one form: what lies outside is not valid.
    let given =
        read(&body("work_tile cutlass [4, 2, 0]\nwork_tile cutlass [0, 0, 1]\nwork_tile cutlass [9, 0, 0]"));
    let (_, scheduled) = both(&given, &Options::default());
    let tiles = scheduled.tile_loop.expect("a loop over tiles");
    let shown: Vec<(&[u64], bool)> = tiles.work.iter().map(|w| (&w.coordinates[..], w.valid)).collect();
    assert_eq!(shown, [(&[4, 2][..], true), (&[0, 0], false), (&[9, 0], false)]);
    assert_eq!(tiles.count, 3);
    // Refused before anything is solved, whatever else is wrong.
    let refused =
        |more: &str| generate(&read(&body(more)), &Options::default()).expect_err("refused").to_string();
    assert_eq!(
        refused("work_tile cutlass [0, 0, 0]\nwork_tile async [1, 1]"),
        "work-tile information mixes CUTLASS descriptors and asynchronous values"
    );
    assert_eq!(
        refused("work_tile async [1]"),
        "work-tile information has 1 coordinates, the problem has 2 dimensions"
    );
    assert_eq!(refused("work_tile async [1, 1]\nwork_tile async [1, 1]"), "work tile [1, 1] is given twice");
    let loopless = generate(&read(&format!("work_tile async [1, 1]\n{GEMM}")), &Options::default());
    assert_eq!(loopless, Err(GenerateError::Contract(ContractError::Loopless)));
}

#[test]
fn without_limits_the_budgets_of_the_loop_are_none_either() {
    let program = read(&format!("budget shared 20000\n{GEMM}"));
    let limited = generate(&program, &Options::default()).expect("a schedule");
    assert!(limited.layout.used[&Storage::Shared] <= 20000);
    // Proven with no limits in `both`.
    let options = Options { unlimited: true, ..Options::default() };
    let (free, _) = both(&program, &options);
    assert!(free.analysis.ii < limited.analysis.ii && free.layout.used[&Storage::Shared] > 20000);
}
