//! Other registers for the values of closed loops: what they compute stays the same, and no register is used that there is not.

use sassafras_ir::cfg::Cfg;
use sassafras_ir::liveness::Liveness;
use sassafras_ir::text::parse;
use sassafras_ir::{Block, Function, Inst, Lane, Module, RegClass};
use sassafras_machine::Arch;
use sassafras_tepid::Code;
use sassafras_tepid::function::choose;
use sassafras_tepid::schedule::{Choice, Settings};
use sassafras_testkit::rng::Rng;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

fn arch() -> Arch {
    "sm_90".parse().expect("an architecture")
}

fn module(body: &str) -> Module {
    let text = format!(
        "func f sm_90 (R0, R2, R4, R5, R6, R7) {{\n^a:\n{body} P0 = ISETP R0, R2\n @P0 BRA ^a !branch\n\
         ^b:\n global.4[R2] = STG R4\n global.4[R2+4] = STG R5\n global.4[R2+8] = STG R6\n EXIT !exit\n}}"
    );
    parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn loop_of(f: &Function) -> Block {
    f.blocks().next().expect("a block")
}

fn chosen(f: &Function, registers: u32) -> Option<Choice> {
    let settings = Settings { registers, ..Settings::default() };
    let plan = choose(&Code::new(f, &[], arch()), &settings);
    plan.choices.into_iter().find(|choice| choice.block == loop_of(f))
}

fn mix(a: u64, b: u64) -> u64 {
    Rng::new(Rng::new(a).next_u64() ^ b).next_u64()
}

/// What the registers hold behind the loop's body, as numbers that tell apart what was computed from what.
fn run(f: &Function) -> HashMap<Lane, u64> {
    run_with(f, None)
}

/// The same, with one instruction that computes something else.
fn run_with(f: &Function, other: Option<Inst>) -> HashMap<Lane, u64> {
    let mut lanes: HashMap<Lane, u64> = HashMap::new();
    for &inst in f.block_insts(loop_of(f)) {
        let value =
            |lanes: &HashMap<Lane, u64>, lane: Lane| *lanes.get(&lane).unwrap_or(&mix(1, lane.bits().into()));
        let mut result =
            f.opcode_text(f.inst(inst).opcode).bytes().fold(7, |hash, byte| mix(hash, byte.into()));
        result = if other == Some(inst) { mix(result, 1) } else { result };
        f.for_each_read(inst, |read| result = mix(result, value(&lanes, read.lane)));
        let guard = f.inst(inst).guard.map(|guard| value(&lanes, guard.lane));
        let mut written = Vec::new();
        f.for_each_write(inst, |write| written.push((write.lane, write.part)));
        for (lane, part) in written {
            let new = mix(result, part.into());
            let new = guard.map_or(new, |guard| mix(mix(guard, value(&lanes, lane)), new));
            lanes.insert(lane, new);
        }
    }
    lanes
}

/// The function with the new order and registers, but for the registers of one instruction.
fn applied(f: &Function, choice: &Choice, but: Option<Inst>) -> Function {
    let mut new = f.clone();
    new.reorder(choice.block, &choice.order);
    let Some(names) = &choice.names else { return new };
    for inst in names.insts().into_iter().filter(|&inst| Some(inst) != but) {
        new.rename(inst, |span| names.read(inst, span), |span| names.written(inst, span));
    }
    new
}

/// What the registers hold that are wanted behind the body: by the next iteration, and by the code behind the loop.
fn wanted(old: &Function, lanes: &HashMap<Lane, u64>) -> Vec<(Lane, Option<u64>)> {
    let live = Liveness::new(old, &Cfg::new(old)).expect("small");
    live.live_out(loop_of(old)).map(|lane| (lane, lanes.get(&lane).copied())).collect()
}

/// A body that uses few registers for many values.
fn body(rng: &mut Rng) -> String {
    let mut text = String::new();
    let length = 10 + rng.below(24);
    for _ in 0..length {
        let temporary = 8 + rng.below(5);
        let result = if rng.below(4) == 0 { 4 + rng.below(3) } else { temporary };
        let mut source = || if rng.below(3) == 0 { 4 + rng.below(4) } else { 8 + rng.below(5) };
        let (a, b, c) = (source(), source(), source());
        match rng.below(8) {
            0 => writeln!(text, " R{result} = MUFU.RSQ R{a}"),
            1 => writeln!(text, " R8:2 = LDS.64 shared.8[R{a}]"),
            2 => writeln!(text, " P1 = FSETP R{a}, R{b}"),
            3 => writeln!(text, " @P1 R{result} = FMUL R{a}, R{b}"),
            _ => writeln!(text, " R{result} = FFMA R{a}, R{b}, R{c}"),
        }
        .expect("memory");
    }
    text
}

#[test]
fn two_chains_in_one_register_are_told_apart() {
    // The second may not start before the first is done: both go through R8.
    let chain = |into: u32| {
        let mut text = format!(" R8 = MUFU.RSQ R{into}\n");
        for _ in 0..6 {
            text += " R8 = FMUL R8, R8\n";
        }
        text + &format!(" R{into} = FADD R{into}, R8\n")
    };
    let module = module(&(chain(4) + &chain(5) + &chain(6)));
    let f = &module.functions[0];
    let choice = chosen(f, 32).expect("something to gain");
    assert_eq!(choice.by, "rename");
    assert_eq!(wanted(f, &run(&applied(f, &choice, None))), wanted(f, &run(f)));
    assert!(chosen(f, 0).is_none_or(|choice| choice.names.is_none()), "no registers, no names");
}

#[test]
fn what_random_loops_compute_stays_the_same() {
    let mut rng = Rng::new(11);
    let (mut renamed, mut noticed, mut broken) = (0, 0, 0);
    for _ in 0..60 {
        let module = module(&body(&mut rng));
        let f = &module.functions[0];
        let registers = 14 + rng.below(6) as u32;
        let Some(choice) = chosen(f, registers) else { continue };
        let (old, new) = (run(f), applied(f, &choice, None));
        assert_eq!(wanted(f, &run(&new)), wanted(f, &old));
        let Some(names) = &choice.names else { continue };
        renamed += 1;
        let mut used = BTreeSet::new();
        for &inst in new.block_insts(choice.block) {
            new.for_each_read(inst, |lane| _ = used.insert(lane.lane));
            new.for_each_write(inst, |lane| _ = used.insert(lane.lane));
        }
        let most = used.iter().filter(|lane| lane.class() == RegClass::Gpr).map(|lane| lane.index()).max();
        assert!(most < Some(registers), "{most:?} of {registers}");
        assert!(used.iter().all(|lane| !lane.is_virtual()));
        // One instruction that keeps its registers is one too many, unless nobody wants what it makes.
        let made = wanted(f, &run(&new));
        for inst in names.insts() {
            if wanted(f, &run_with(&new, Some(inst))) != made {
                broken += 1;
                noticed += u32::from(wanted(f, &run(&applied(f, &choice, Some(inst)))) != made);
            }
        }
    }
    assert!(renamed > 10, "only {renamed} of 60");
    // The old register may hold the same value by chance: random bodies compute some things twice.
    assert!(broken > 50 && noticed * 100 >= broken * 99, "{noticed} of {broken}");
}
