//! Parts of functions that take longer by the clock that decides. How long functions take is in `filetests/clock`.

use sassafras_ir::Function;
use sassafras_ir::text::parse;
use sassafras_machine::Arch;
use sassafras_tepid::clock::Time;
use sassafras_tepid::{Code, Fields};

const LOOP: &str = "^a:\n R4 = FADD R0, R2\n^b:\n R4 = FADD R4, R2\n R5 = FADD R4, R2\n @P0 BRA ^b !branch\n^c:\n EXIT !exit";

fn function(text: &str) -> Function {
    let module = parse(&format!("func f sm_90 (R0, R2) {{\n{text}\n}}")).expect("parses");
    module.functions.into_iter().next().expect("a function")
}

/// With these stalls, one by one, for one warp.
fn time(f: &Function, stalls: &[u8]) -> Time {
    let arch: Arch = "sm_90".parse().expect("an architecture");
    let stall = |&stall: &u8| Fields { stall, yields: false, write: None, read: None, wait: 0, reuse: 0 };
    let fields: Vec<Fields> = stalls.iter().map(stall).collect();
    Time::of(&Code::new(f, &[], arch), &fields, 1)
}

#[test]
fn parts_that_take_longer_are_named() {
    let f = function(LOOP);
    let before = time(&f, &[4, 4, 4, 5, 1]);
    let slower = |stalls: &[u8]| {
        let now = time(&f, stalls);
        now.slower(&before, 5).map(|(_, now)| now.repeats).collect::<Vec<_>>()
    };
    assert_eq!(slower(&[4, 4, 5, 5, 1]), [true]);
    assert_eq!(slower(&[9, 4, 4, 5, 1]), [false]);
    assert!(slower(&[4, 4, 4, 4, 1]).is_empty() && slower(&[4, 4, 4, 5, 1]).is_empty());
}
