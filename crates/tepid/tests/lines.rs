//! Lines of memory, streams and orders from outside, as a person would expect them.

use sassafras_ir::cfg::Cfg;
use sassafras_ir::text::parse;
use sassafras_ir::{Function, Inst, Module};
use sassafras_list::registry;
use sassafras_machine::Arch;
use sassafras_tepid::Code;
use sassafras_tepid::body::{Around, Body, Entry};
use sassafras_tepid::classify::Place;
use sassafras_tepid::function::{choose, given};
use sassafras_tepid::latency::Mined;
use sassafras_tepid::pipeline::Pipeline;
use sassafras_tepid::schedule::Settings;
use sassafras_tepid::streams::Streams;

fn module(text: &str) -> Module {
    parse(&format!("func f sm_90 (R0, R2, R4, R5, R6, R7) {{\n{text}\n}}")).expect("parses")
}

fn arch() -> Arch {
    "sm_90".parse().expect("an architecture")
}

/// What the stores of the first block write to, in an order of it.
fn stored(f: &Function, order: &[Inst]) -> Vec<i64> {
    order
        .iter()
        .flat_map(|&inst| f.accesses(inst))
        .filter(|(_, write)| *write)
        .map(|(a, _)| a.offset)
        .collect()
}

/// The orders that a policy gives the first block, by offset.
fn by_policy(text: &str, policy: Option<&str>) -> Vec<i64> {
    let module = module(text);
    let f = &module.functions[0];
    let code = Code::new(f, &[], arch());
    let plan = choose(&code, &Settings { strategy: policy.and_then(registry::find), ..Settings::default() });
    let first = f.blocks().next().expect("a block");
    let choice = plan.choices.iter().find(|choice| choice.block == first);
    stored(f, choice.map_or(f.block_insts(first), |choice| &choice.order))
}

const BROKEN: &str = "^a:\n global.4[R2] = STG R4\n global.4[R2+256] = STG R5\n global.4[R2+4] = STG R6\n \
                      global.4[R2+260] = STG R7\n global.4[R2+8] = STG R4\n EXIT !exit";

#[test]
fn stores_of_a_line_stand_together() {
    for policy in [None, Some("store-lines"), Some("height"), Some("reuse")] {
        let offsets = by_policy(BROKEN, policy);
        let lines: Vec<i64> = offsets.iter().map(|offset| offset / 256).collect();
        assert_eq!(lines, [0, 0, 0, 1, 1], "{policy:?}: {offsets:?}");
    }
}

#[test]
fn a_line_that_goes_on_behind_the_block_comes_last() {
    let text = "^a:\n global.4[R2] = STG R4\n global.4[R2+256] = STG R5\n global.4[R2+260] = STG R7\n \
                global.4[R2+4] = STG R6\n @P0 EXIT !exit\n^b:\n global.4[R2+8] = STG R4\n EXIT !exit";
    assert_eq!(by_policy(text, Some("store-lines")), [256, 260, 0, 4]);
}

#[test]
fn a_base_that_changes_is_another_line() {
    let text = "^a:\n global.4[R2] = STG R4\n R2 = IADD3 R2, R0\n global.4[R2+4] = STG R5\n EXIT !exit";
    assert_eq!(by_policy(text, Some("store-lines")), [0, 4]);
}

#[test]
fn coming_back_to_a_line_costs() {
    let module = module(BROKEN);
    let f = &module.functions[0];
    let code = Code::new(f, &[], arch());
    let block = f.blocks().next().expect("a block");
    let around = Around {
        is_loop: false,
        place: Place::Apart,
        entry: Entry::default(),
        following: Vec::new(),
        together: false,
    };
    let body = Body::among(&code, &Mined::new(&code), block, &around);
    let mut order = body.original();
    let mut model = Pipeline::new(&body, 2);
    let broken = model.cycles(&order);
    // 0, 4, 8, 256, 260
    order.swap(1, 2);
    order.swap(2, 4);
    assert!(model.cycles(&order) < broken);
}

#[test]
fn loops_are_told_apart_by_what_they_wait_for() {
    let of = |body: &str| {
        let module = module(&format!("^a:\n{body}\n @P0 BRA ^a !branch\n^b:\n EXIT !exit"));
        let f = &module.functions[0];
        let streams = Streams::new(&Code::new(f, &[], arch()), &Cfg::new(f));
        let first = f.blocks().next().expect("a block");
        let last = f.blocks().next_back().expect("a block");
        assert!(!streams.is_stream(last) && !streams.is_closed(last), "no loop");
        (streams.is_stream(first), streams.is_closed(first))
    };
    let load = " R4 = LDG global.4[R2]";
    assert_eq!(of(load), (true, false));
    assert_eq!(of(&format!("{load}\n BAR !barrier")), (false, false));
    assert_eq!(of(" R4 = LDS shared.4[R0]\n R5 = FADD R4, R5"), (false, true));
    assert_eq!(of(" R5 = FADD R4, R5\n BAR !barrier"), (false, false));
}

#[test]
fn an_order_from_outside_is_made_legal() {
    let module = module("^a:\n R4 = FADD R0, R2\n R5 = FADD R4, R2\n R6 = FADD R0, R2\n EXIT !exit");
    let f = &module.functions[0];
    let code = Code::new(f, &[], arch());
    let block = f.blocks().next().expect("a block");
    let insts = f.block_insts(block);
    let order = |wanted: &[u32]| -> Vec<usize> {
        let made = given(&code, block, wanted);
        made.iter().map(|inst| insts.iter().position(|i| i == inst).expect("its own")).collect()
    };
    assert_eq!(order(&[2, 0, 1, 3]), [2, 0, 1, 3]);
    assert_eq!(order(&[1, 2, 0, 3]), [2, 0, 1, 3], "1 waits for 0");
    assert_eq!(order(&[3, 2, 1, 0]), [2, 0, 1, 3], "nothing follows the end");
}
