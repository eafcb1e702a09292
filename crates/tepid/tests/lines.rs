//! Lines of memory, streams and orders from outside, as a person would expect them. Orders by policy are in `filetests/orders`.

use sassafras_ir::Module;
use sassafras_ir::cfg::Cfg;
use sassafras_ir::text::parse;
use sassafras_machine::Arch;
use sassafras_tepid::Code;
use sassafras_tepid::body::{Around, Body, Entry};
use sassafras_tepid::classify::Place;
use sassafras_tepid::function::given;
use sassafras_tepid::latency::Mined;
use sassafras_tepid::pipeline::Pipeline;
use sassafras_tepid::streams::Streams;

fn module(text: &str) -> Module {
    parse(&format!("func f sm_90 (R0, R2, R4, R5, R6, R7) {{\n{text}\n}}")).expect("parses")
}

fn arch() -> Arch {
    "sm_90".parse().expect("an architecture")
}

const BROKEN: &str = "^a:\n global.4[R2] = STG R4\n global.4[R2+256] = STG R5\n global.4[R2+4] = STG R6\n \
                      global.4[R2+260] = STG R7\n global.4[R2+8] = STG R4\n EXIT !exit";

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
