//! Classes of blocks and their ratios, as a person would expect them.

use sassafras_ir::text::parse;
use sassafras_machine::Arch;
use sassafras_tepid::Code;
use sassafras_tepid::body::Body;
use sassafras_tepid::classify::{Class, Place, Profile};
use sassafras_tepid::latency::Mined;
use sassafras_tepid::pipeline::Pipeline;

/// Runs `check` with the first block of a function.
fn with_block<T>(text: &str, check: impl FnOnce(&Code<'_>, &[sassafras_ir::Inst]) -> T) -> T {
    let module = parse(&format!("func f sm_90 (R0, R2) {{\n^a:\n{text}\n EXIT !exit\n}}")).expect("parses");
    let f = &module.functions[0];
    let arch: Arch = "sm_90".parse().expect("an architecture");
    let code = Code::new(f, &[], arch);
    check(&code, f.block_insts(f.blocks().next().expect("a block")))
}

fn profile(text: &str, place: Place) -> Profile {
    with_block(text, |code, insts| Profile::new(code, insts, place))
}

const MAC: &str = " R4 = FFMA R0, R2, R4\n R5 = FFMA R0, R2, R5\n R6 = FFMA R0, R2, R6\n R7 = FADD R0, R2";
const MATH: &str = " R4 = IADD3 R0, R2\n R5 = IADD3 R4, R2\n R6 = FFMA R0, R2, R6";
const DMA: &str = " R4 = LDS shared.4[R0]\n R5 = LDS shared.4[R2]\n R6 = FADD R4, R5";

#[test]
fn loops_are_what_keeps_their_pipes_busy() {
    assert_eq!(profile(MAC, Place::Loop).class, Class::Mac);
    assert_eq!(profile(MATH, Place::Loop).class, Class::Math);
    assert_eq!(profile(DMA, Place::Loop).class, Class::Dma);
    assert_eq!(profile(MAC, Place::Behind).class, Class::Epilogue);
    assert_eq!(profile(MAC, Place::Apart).class, Class::Straight);
}

#[test]
fn arithmetic_is_weighed_against_transfers() {
    let loads = profile(DMA, Place::Loop);
    assert_eq!((loads.math_cycles, loads.transfer_cycles), (1, 8));
    // An epilogue is judged by its stores.
    let stores = profile(&format!("{DMA}\n global.4[R2] = STG R6"), Place::Behind);
    assert_eq!(stores.transfer_cycles, 4);
}

#[test]
fn waiting_shows_what_is_not_hidden() {
    let waited = with_block(DMA, |code, insts| {
        let block = code.f.blocks().next().expect("a block");
        let body = Body::new(code, &Mined::new(code), block, false);
        assert_eq!(body.insts, insts);
        Pipeline::new(&body, 1).alone(&body.original()).waited
    });
    assert!(waited >= 20, "the addition waits for the second load: {waited}");
}
