//! Words of whole blocks by the documented way: every dependence is covered by cycles or by a scoreboard.

use std::fmt::Write;

use proptest::prelude::*;
use sassafras_control::{Field, Scoreboard, WaitMask};
use sassafras_ir::Function;
use sassafras_ir::text::parse;
use sassafras_machine::Arch;
use sassafras_model::stall::{SchedMode, StallCap, StallContext, StallKnobs};
use sassafras_tepid::body::Body;
use sassafras_tepid::code::{Code, Distances, Touch};
use sassafras_tepid::join::block::{Emitted, emit};
use sassafras_tepid::latency::Mined;

fn function(text: &str) -> Function {
    let source = format!("func f sm_90 (R0:2, R2:2) {{\n^a:\n{text} EXIT !exit\n}}");
    parse(&source).unwrap_or_else(|e| panic!("{}", e.render("f", &source, false))).functions.remove(0)
}

fn arch() -> Arch {
    "sm_90".parse().expect("an architecture")
}

fn emitted(f: &Function, cap: StallCap) -> Emitted {
    let code = Code::new(f, &[], arch());
    let model = Mined::new(&code);
    let body = Body::new(&code, &model, f.blocks().next().expect("a block"), false);
    emit(&code, &body, &body.original(), cap, WaitMask::NONE)
}

fn text(emitted: &Emitted) -> Vec<String> {
    emitted.words.iter().map(|joined| joined.control.to_string()).collect()
}

#[test]
fn a_small_block_as_a_person_would_write_it() {
    let f = function(
        " R4 = LDG.E global.4[R0:2]
 R5 = LDS shared.4[R2]
 R6 = FADD R2, R3
 R7 = FADD R6, R3
 R8 = FADD R4, R7
 R9 = FADD R5, R8
 global.4[R0:2] = STG.E R9
 R9 = FADD R2, R2
",
    );
    let made = emitted(&f, StallCap::Uncapped);
    assert_eq!(
        text(&made),
        [
            "B------:R-:W0:-:S01", // two loads, each with a scoreboard of its own
            "B------:R-:W1:-:S01",
            "B------:R-:W-:Y:S04", // four cycles from sum to sum
            "B------:R-:W-:Y:S04",
            "B0-----:R-:W-:Y:S04", // waited for where it is read
            "B-1----:R-:W-:Y:S05",
            "B------:R2:W-:-:S02", // what it stores is overwritten: a read scoreboard, two cycles until it may be waited for
            "B--2---:R-:W-:-:S01",
            "B------:R-:W-:-:S05",
        ]
    );
    assert!(made.leaving.is_empty() && made.uncovered.iter().all(|&cycles| cycles == 0));
}

#[test]
fn a_cap_spreads_the_wait_or_tells_what_is_missing() {
    let f = function(" R4 = FADD R2, R3\n R9 = FADD R2, R3\n R5 = FADD R4, R3\n");
    let stalls = |cap| {
        let made = emitted(&f, cap);
        let stalls: Vec<u8> = made.words.iter().map(|joined| joined.control.stall().cycles()).collect();
        (stalls, made.uncovered)
    };
    assert_eq!(stalls(StallCap::Uncapped).0[..2], [1, 3]);
    // At most two cycles each: the one before takes the rest.
    assert_eq!(stalls(StallCap::Cycles(2)).0[..2], [2, 2]);
    let (short, uncovered) = stalls(StallCap::Cycles(1));
    assert_eq!((&short[..2], &uncovered[..3]), (&[1, 1][..], &[0, 0, 2][..]));
}

#[test]
fn the_cap_of_knobs_and_modes_applies() {
    let f = function(" R4 = FADD R2, R3\n R5 = FADD R4, R3\n");
    let at = |mode, knobs| {
        let context = StallContext { mode, short_stall: false, arch_default: 15, knobs };
        emitted(&f, context.cap()).words[0].control.stall().cycles()
    };
    let three = StallKnobs { knob_805: Some(3), knob_806: None };
    assert_eq!((at(SchedMode::Ilp, StallKnobs::default()), at(SchedMode::Ilp, three)), (4, 3));
    assert_eq!(at(SchedMode::DynBatch, three), 4);
}

#[test]
fn seven_loads_share_six_scoreboards() {
    let mut loads = String::new();
    for i in 0..7 {
        writeln!(loads, " R{} = LDG.E global.4[R0:2+{}]", 10 + i, 4 * i).expect("text");
    }
    let made = emitted(&function(&loads), StallCap::Uncapped);
    let boards: Vec<Option<u8>> =
        made.words[..7].iter().map(|joined| joined.control.write().map(Scoreboard::index)).collect();
    // All are alike, so the seventh joins the newest.
    assert_eq!(boards, [0, 1, 2, 3, 4, 5, 5].map(Some));
    assert_eq!(made.leaving, WaitMask::ALL);
}

/// Lines of a block over few registers, so that everything depends on everything.
fn line() -> impl Strategy<Value = String> {
    let r = || 4u8..12;
    prop_oneof![
        (r(), r(), r()).prop_map(|(d, a, b)| format!(" R{d} = FADD R{a}, R{b}\n")),
        (r(), r(), r()).prop_map(|(d, a, b)| format!(" R{d} = IADD3 R{a}, R{b}, RZ\n")),
        (r(), r()).prop_map(|(d, a)| format!(" R{d} = MUFU.RCP R{a}\n")),
        (r(), r()).prop_map(|(d, a)| format!(" R{d} = LDS shared.4[R{a}]\n")),
        (r(), r()).prop_map(|(s, a)| format!(" shared.4[R{a}] = STS R{s}\n")),
        r().prop_map(|d| format!(" R{d} = LDG.E global.4[R0:2]\n")),
        (r(), r()).prop_map(|(a, b)| format!(" P0 = ISETP.GE R{a}, R{b}\n")),
        (r(), r()).prop_map(|(d, a)| format!(" @P0 R{d} = FADD R{a}, R{a}\n")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Derived again from the lanes: for everything that an instruction touches, whoever wrote it last is far enough, or its
    /// scoreboard has been waited for since.
    #[test]
    fn every_dependence_is_covered(lines in proptest::collection::vec(line(), 1..30)) {
        let f = function(&lines.concat());
        let code = Code::new(&f, &[], arch());
        let made = emitted(&f, StallCap::Uncapped);
        let insts = f.block_insts(f.blocks().next().expect("a block"));
        prop_assert!(made.uncovered.iter().all(|&cycles| cycles == 0));
        let mut distances = Distances::new(&code);
        let wait = |at: usize| made.words[at].control.wait();
        let covered = |from: usize, to: usize| {
            let set = [made.words[from].control.write(), made.words[from].control.read()];
            set.into_iter().flatten().any(|board| (from + 1..=to).any(|at| wait(at).contains(board)))
        };
        for (to, &consumer) in insts.iter().enumerate() {
            let touched: Vec<Touch> = code.reads(consumer).iter().chain(code.writes(consumer)).copied().collect();
            for touch in touched {
                let writes = |at: &usize| code.writes(insts[*at]).iter().any(|w| w.lane == touch.lane);
                let Some(from) = (0..to).rev().find(writes) else { continue };
                let producer = insts[from];
                let written = *code.writes(producer).iter().find(|w| w.lane == touch.lane).expect("found");
                if code.is_guarded(producer, &written) {
                    prop_assert!(covered(from, to), "{from} -> {to}: {:?}", text(&made));
                } else {
                    let least = distances.between(producer, written.high, consumer, &touch).expected();
                    let given = made.cycles[to] - made.cycles[from];
                    prop_assert!(given >= u64::from(least), "{from} -> {to}: {given} of {least}");
                }
            }
            // What it overwrites has been read by those who read late.
            for written in code.writes(consumer) {
                let reads = |at: &usize| {
                    code.op(insts[*at]).decoupled && code.reads(insts[*at]).iter().any(|r| r.lane == written.lane)
                };
                let between = |at: usize| (at + 1..to).any(|at| code.writes(insts[at]).iter().any(|w| w.lane == written.lane));
                for from in (0..to).filter(reads).filter(|&at| !between(at)) {
                    prop_assert!(covered(from, to), "sources of {from} before {to}: {:?}", text(&made));
                }
            }
        }
        // The stalls add up to the cycles, and no word waits for a scoreboard that was set the cycle before.
        for at in 1..insts.len() {
            let stall = u64::from(made.words[at - 1].control.raw().get(Field::Stall));
            prop_assert_eq!(made.cycles[at], made.cycles[at - 1] + stall);
            for board in [made.words[at - 1].control.write(), made.words[at - 1].control.read()].into_iter().flatten() {
                prop_assert!(!wait(at).contains(board) || stall >= 2);
            }
        }
    }
}
