//! The model of a sub-core on small blocks, as a person would expect it.

use sassafras_deps::Node;
use sassafras_ir::Span;
use sassafras_ir::text::parse;
use sassafras_machine::Arch;
use sassafras_tepid::body::Body;
use sassafras_tepid::latency::Mined;
use sassafras_tepid::pipeline::Pipeline;
use sassafras_tepid::{Code, Sources};
use std::fmt::Write;

/// Runs `check` with the model of the first block of a function, for so many warps.
fn with_model(text: &str, is_loop: bool, warps: usize, check: impl FnOnce(&mut Pipeline<'_>, &[Node])) {
    let module = parse(&format!("func f sm_90 (R0, R2) {{\n{text}\n}}")).expect("parses");
    let f = &module.functions[0];
    let arch: Arch = "sm_90".parse().expect("an architecture");
    // General sources by place, as a decoder names them.
    let sources: Vec<Sources> = (f.blocks().flat_map(|block| f.block_insts(block)))
        .map(|&inst| {
            let mut spans = f.uses(inst).iter().map(|op| op.span());
            [(); 3].map(|()| spans.next().flatten()) as [Option<Span>; 3]
        })
        .collect();
    let code = Code::new(f, &sources, arch);
    let block = f.blocks().next().expect("a block");
    let body = Body::new(&code, &Mined::new(&code), block, is_loop);
    let order = body.original();
    check(&mut Pipeline::new(&body, warps), &order);
}

fn cycles(text: &str, is_loop: bool, warps: usize) -> u32 {
    let mut cycles = 0;
    with_model(text, is_loop, warps, |model, order| cycles = model.cycles(order));
    cycles
}

const CHAIN: &str = "^a:\n R4 = FADD R0, R2\n R5 = FADD R4, R2\n R6 = FADD R5, R2\n R0 = FADD R6, R2\n \
                     @P0 BRA ^a !branch\n^b:\n EXIT !exit";

#[test]
fn warps_hide_what_a_chain_waits_for() {
    // With few warps half of it is what many would take: here one cycle per instruction and warp.
    let (alone, four) = (cycles(CHAIN, true, 1), cycles(CHAIN, true, 4));
    assert!((10..=12).contains(&alone), "between five instructions and four links of four cycles, {alone}");
    assert!((20..=28).contains(&four), "four warps take turns: {four}");
}

#[test]
fn a_limit_says_no_where_the_cycles_say_more() {
    with_model(CHAIN, true, 2, |model, order| {
        let cycles = model.cycles(order);
        assert!(cycles >= model.bound());
        assert_eq!(model.cycles_within(order, cycles), Some(cycles));
        assert_eq!(model.cycles_within(order, cycles - 1), None);
    });
}

#[test]
fn registers_of_one_bank_take_turns() {
    let block = |second: u32, third: u32| {
        let mut text = String::from("^a:\n");
        for i in 0..16 {
            let base = 40 + 6 * i;
            let [second, third] = [base + second, base + third];
            writeln!(text, " R{} = FFMA R{base}, R{second}, R{third}", 10 + i).expect("memory");
        }
        text + " EXIT !exit"
    };
    let (spread, same) = (cycles(&block(1, 3), false, 1), cycles(&block(2, 4), false, 1));
    assert!(same > spread, "three sources of one bank: {same}, of both: {spread}");
}

#[test]
fn loads_wait_in_a_queue_and_not_in_the_way() {
    let mut text = String::from("^a:\n");
    for i in 0..3 {
        writeln!(text, " R{} = LDS shared.4[R0]", 10 + i).expect("memory");
    }
    for i in 0..8 {
        writeln!(text, " R{} = FADD R0, R2", 20 + i).expect("memory");
    }
    text += " EXIT !exit";
    let queued = cycles(&text, false, 1);
    assert!(cycles(&text, false, 3) >= queued, "more warps take longer");
    assert!(queued <= 14, "three loads of four cycles beside eight additions: {queued}");
}

#[test]
fn long_chains_of_joins_need_no_deep_stack() {
    // Every barrier waits for all before it: joins that feed joins.
    let mut text = String::from("^a:\n");
    for i in 0..20_000 {
        let line = if i % 4 == 3 { " BAR !barrier" } else { " STS shared.4[R0], R2" };
        writeln!(text, "{line}").expect("memory");
    }
    assert!(cycles(&(text + " EXIT !exit"), false, 1) >= 20_000);
}
