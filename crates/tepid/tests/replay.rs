//! Code run by its control fields, as a person would expect it.

use sassafras_ir::text::parse;
use sassafras_machine::Arch;
use sassafras_tepid::replay::Replay;
use sassafras_tepid::{Code, Fields, Sources};

/// Cycles per iteration and warp of a body with these fields.
fn cycles(body: &str, fields: &[Fields], warps: usize) -> f64 {
    let module = parse(&format!("func f sm_90 (R0, R2) {{\n^a:\n{body}\n EXIT !exit\n}}")).expect("parses");
    let f = &module.functions[0];
    let insts = &f.block_insts(f.blocks().next().expect("a block"))[..fields.len()];
    let sources: Vec<Sources> = (f.blocks().flat_map(|block| f.block_insts(block)))
        .map(|&inst| {
            let mut spans = f.uses(inst).iter().map(|op| op.span());
            [(); 3].map(|()| spans.next().flatten())
        })
        .collect();
    let arch: Arch = "sm_90".parse().expect("an architecture");
    let code = Code::new(f, &sources, arch);
    let replay = Replay::new(&code, insts, fields);
    let cycles = replay.cycles(warps);
    // A limit changes nothing, but that more than it is not told.
    assert!(replay.least() <= cycles);
    assert_eq!(replay.cycles_within(warps, cycles), Some(cycles));
    for limit in [0, cycles / 2, cycles - 1] {
        assert_eq!(replay.cycles_within(warps, limit), None, "{limit} of {cycles}");
    }
    f64::from(cycles) / 16.0
}

fn stall(stall: u8) -> Fields {
    Fields { stall, yields: false, write: None, read: None, wait: 0, reuse: 0 }
}

const SUM: &str = " R4 = FADD R0, R3\n R5 = FADD R0, R3\n";

#[test]
fn stalls_are_waited_for_unless_another_warp_goes() {
    assert_eq!(cycles(SUM, &[stall(4), stall(4)], 1), 8.0);
    let two = cycles(SUM, &[stall(4), stall(4)], 2);
    assert!((4.0..5.0).contains(&two), "two warps share eight cycles: {two}");
    assert_eq!(cycles(SUM, &[stall(1), stall(1)], 4), 2.0, "one instruction per cycle");
}

#[test]
fn a_stall_of_nothing_lets_the_pipeline_drain() {
    let spread = cycles(SUM, &[stall(15), stall(1)], 1);
    let drained = cycles(SUM, &[stall(0), stall(1)], 1);
    assert!((4.0..spread).contains(&drained), "{drained}");
    assert_eq!(cycles(SUM, &[stall(0), stall(0)], 1), 2.0 * (drained - 1.0));
}

#[test]
fn who_waits_for_a_scoreboard_waits_for_the_result() {
    let body = " R4 = MUFU.RSQ R0\n R5 = FADD R4, R3\n";
    let sets = Fields { write: Some(0), ..stall(1) };
    let waits = Fields { wait: 1, ..stall(1) };
    let (late, free) = (cycles(body, &[sets, waits], 1), cycles(body, &[sets, stall(1)], 1));
    assert!(late >= free + 10.0, "{late} against {free}");
}

#[test]
fn three_sources_of_one_bank_hold_everybody_up() {
    let (alike, mixed) = (" R4 = FFMA R0, R2, R6\n", " R4 = FFMA R0, R3, R6\n");
    let many = |body: &str| cycles(&body.repeat(8), &[stall(1); 8], 8);
    assert!(many(alike) >= 22.0, "three registers of a bank take three cycles: {}", many(alike));
    assert!(many(mixed) <= 16.0, "two take two: {}", many(mixed));
}

#[test]
fn what_is_kept_is_not_read_again() {
    let body = " R4 = FFMA R0, R2, R6\n".repeat(8);
    let keeps = [Fields { reuse: 0b111, ..stall(1) }; 8];
    assert!(cycles(&body, &keeps, 1) <= 9.0);
    assert!(cycles(&body, &[stall(1); 8], 1) >= 22.0);
}

#[test]
fn warps_meet_at_a_barrier() {
    let body = format!("{SUM} BAR.SYNC !barrier\n");
    let apart = cycles(&body, &[stall(1), stall(1), stall(1)], 1);
    let late = cycles(&body, &[stall(15), stall(1), stall(1)], 4);
    assert!(late * 4.0 >= apart + 14.0, "all wait for the last: {late} and {apart}");
}
