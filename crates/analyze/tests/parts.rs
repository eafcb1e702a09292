//! The parts of an analysis on code that a person can count through.

use sassafras_analyze::critical::{Cause, Chain};
use sassafras_analyze::hiding::hiding;
use sassafras_analyze::scoreboards::pressure;
use sassafras_analyze::steady::{Steady, Watched};
use sassafras_analyze::units::Units;
use sassafras_deps::{BuildOptions, build};
use sassafras_ir::cfg::Cfg;
use sassafras_ir::dominators::Dominators;
use sassafras_ir::loops::Loops;
use sassafras_ir::text::parse;
use sassafras_ir::{Inst, Module};
use sassafras_machine::Arch;
use sassafras_machine::guidance::GuidanceUnit;
use sassafras_tepid::latency::Mined;
use sassafras_tepid::way;
use sassafras_tepid::{Code, Fields};

fn module(blocks: &str) -> Module {
    parse(&format!("func f sm_90 (R0, R2) {{\n{blocks}\n}}")).expect("parses")
}

/// Runs a body, a block of its own, with these fields.
fn with(body: &str, fields: &[Fields], see: impl FnOnce(&Code<'_>, &[Inst], &[Fields])) {
    let module = module(&format!("^a:\n{body}\n EXIT !exit"));
    let f = &module.functions[0];
    let insts = &f.block_insts(f.blocks().next().expect("a block"))[..fields.len()];
    let arch: Arch = "sm_90".parse().expect("an architecture");
    let mut all = fields.to_vec();
    all.push(stall(1));
    see(&Code::new(f, &[], arch), insts, &all);
}

fn stall(stall: u8) -> Fields {
    Fields { stall, yields: false, write: None, read: None, wait: 0, reuse: 0 }
}

fn sets(board: u8) -> Fields {
    Fields { write: Some(board), ..stall(1) }
}

fn waits(mask: u8) -> Fields {
    Fields { wait: mask, ..stall(1) }
}

#[test]
fn a_way_avoids_calls_and_is_otherwise_the_longest() {
    let text = "^a:\n R4 = FADD R0, R2\n^head:\n R5 = FADD R4, R2\n @P0 BRA ^short !branch\n^slow:\n CALL !call\n R6 = FADD R5, R2\n \
                BRA ^last !branch\n^short:\n R6 = FADD R5, R2\n^last:\n R7 = FADD R6, R2\n @P1 BRA ^head !branch\n^b:\n EXIT !exit";
    let module = module(text);
    let f = &module.functions[0];
    let cfg = Cfg::new(f);
    let loops = Loops::new(f, &cfg, &Dominators::new(f, &cfg));
    let id = loops.iter().next().expect("a loop");
    let names =
        |way: &way::Way| way.blocks.iter().map(|&block| f.block_name(block).to_owned()).collect::<Vec<_>>();
    let around = way::around(f, &cfg, &loops, id);
    assert_eq!(names(&around), ["head", "short", "last"]);
    assert_eq!(around.insts.len(), 5);
    assert_eq!(names(&way::through(f, &cfg)), ["a", "head", "short", "last", "b"]);
}

#[test]
fn hidden_is_what_goes_on_until_somebody_needs_it() {
    let body = " R4 = LDS shared.4[R0]\n R8 = FADD R0, R2\n R9 = FADD R0, R2\n R5 = FADD R4, R2\n";
    let fields = [sets(0), stall(2), stall(3), waits(1)];
    with(body, &fields, |code, insts, fields| {
        let found = hiding(code, insts, fields, false);
        let names: Vec<&str> = found.iter().map(|hiding| hiding.name).collect();
        assert_eq!(names, ["LDS", "LDG", "Xu64", "Antidep"]);
        let lds = &found[0];
        assert_eq!((lds.name, lds.num, lds.min, lds.max, lds.whole), ("LDS", 1, 6, 6, 0));
        assert_eq!(found[1].num + found[2].num + found[3].num, 0);
    });
    // In a loop the first reader may be in the next iteration; nobody in sight means all of it.
    let body = " R5 = FADD R4, R2\n R4 = LDS shared.4[R0]\n R8 = FADD R0, R2\n";
    with(body, &[waits(1), sets(0), stall(15)], |code, insts, fields| {
        assert_eq!(hiding(code, insts, fields, true)[0].max, 16);
        assert_eq!(hiding(code, insts, fields, false)[0].whole, 1);
    });
}

#[test]
fn sharing_a_scoreboard_costs_what_the_later_result_takes_longer() {
    let body = " R4 = LDS shared.4[R0]\n R6 = LDG global.4[R2]\n R5 = FADD R4, R2\n R7 = FADD R6, R2\n";
    let difference = |fields: [Fields; 4]| {
        let mut found = None;
        with(body, &fields, |code, insts, fields| {
            let steady = Steady::new(code, insts, fields, 1, false);
            found = Some(pressure(code, insts, fields, &steady));
        });
        found.expect("looked at")
    };
    let apart = difference([sets(0), sets(1), waits(1), waits(2)]);
    assert_eq!((apart.stall_difference, apart.all.instructions, apart.all.peak), (Some(0), 2, 2));
    assert_eq!((apart.unordered.instructions, apart.overload, apart.model), (1, 0, 63));
    // What follows the first reader could have gone on while the load was under way.
    let long = Fields { stall: 15, ..waits(1) };
    let shared = difference([sets(0), sets(0), long, waits(1)]);
    assert!(shared.stall_difference.is_some_and(|cycles| (14..=16).contains(&cycles)), "{shared:?}");
    assert_eq!(difference([sets(0), sets(1), long, waits(2)]).stall_difference, Some(0));
}

#[test]
fn the_chain_of_a_loop_names_its_causes() {
    let body = " R0 = FADD R0, R2\n R4 = MUFU.RSQ R0\n R0 = FADD R4, R2\n";
    with(body, &[stall(5), sets(3), Fields { wait: 8, ..stall(4) }], |code, insts, fields| {
        let steady = Steady::new(code, insts, fields, 1, true);
        let graph = build(code.f, insts, &Mined::new(code), BuildOptions { carried: true });
        let chain = Chain { code, insts, fields, graph: &graph, steady: &steady };
        let links = chain.links(|inst| u64::from(inst.as_u32()) * 16);
        let causes: Vec<&Cause> = links.iter().map(|link| &link.cause).collect();
        assert!(matches!(causes[0], Cause::Start), "{links:?}");
        assert!(causes.contains(&&Cause::Scoreboard { board: 3 }), "{links:?}");
        let raw = |cause: &&&Cause| matches!(cause, Cause::Dependence { hazard: "raw", register: Some(r) } if r == "R0");
        assert!(causes.iter().any(|cause| raw(&cause)), "{links:?}");
        let total: u32 = links.iter().map(|link| link.cycles).sum();
        assert_eq!(f64::from(total), steady.alone, "{links:?}");
    });
}

#[test]
fn what_bounds_code_is_named() {
    let bound = |body: &str, fields: &[Fields], warps: usize| {
        let mut found = (None, String::new());
        with(body, fields, |code, insts, fields| {
            let steady = Steady::new(code, insts, fields, warps, true);
            let units = Units::new(code, insts, steady.cycles);
            found = (units.bottleneck, units.bound_by(steady.shared()).to_string());
        });
        found
    };
    let alu = " R4 = LOP3 R0, R2\n R5 = LOP3 R0, R2\n";
    assert_eq!(bound(alu, &[stall(2); 2], 4), (Some(GuidanceUnit::Alu), "ALU".to_owned()));
    let mixed = " R4 = LOP3 R0, R2\n R5 = FADD R0, R2\n R6 = FADD R0, R2\n";
    assert_eq!(bound(mixed, &[stall(1); 3], 4).1, "issue slots");
    assert_eq!(bound(mixed, &[stall(9); 3], 1).1, "latency: stalls");
    let load = " R4 = LDG global.4[R2]\n R5 = FADD R4, R0\n";
    assert_eq!(
        bound(load, &[sets(0), waits(1)], 2),
        (Some(GuidanceUnit::Lsu), "latency: scoreboards".to_owned())
    );
}

#[test]
fn cycles_add_up() {
    let body = " R4 = LDS shared.4[R0]\n R8 = FADD R0, R2\n R5 = FADD R4, R2\n";
    for warps in [1, 2, 5] {
        with(body, &[sets(0), stall(4), waits(1)], |code, insts, fields| {
            let steady = Steady::new(code, insts, fields, warps, true);
            for (cycles, all) in [(steady.shared().clone(), steady.cycles), (steady.own(), steady.alone)] {
                let sum = cycles.issued + cycles.register_banks + cycles.idle();
                assert!((sum - all).abs() < 0.6, "{warps} warps: {sum} of {all}");
            }
        });
    }
}

/// Sums that are made while code is run say what they do when all that is issued is kept.
#[test]
fn times_alone_are_those_of_a_run_that_is_watched() {
    let body = " R4 = LDS shared.4[R0]\n R8 = FADD R0, R2\n R5 = FADD R4, R2\n";
    for (warps, repeats) in [(1, true), (3, true), (4, false), (1, false)] {
        with(body, &[sets(0), stall(4), waits(1)], |code, insts, fields| {
            let steady = Steady::new(code, insts, fields, warps, repeats);
            assert_eq!(Steady::times(code, insts, fields, warps, repeats), (steady.cycles, steady.alone));
            if repeats {
                let watched = Watched::new(code, insts, fields, warps);
                assert_eq!(watched.issues.len() % (insts.len() * warps), 0);
                assert!(watched.window.0 > 0 && watched.window.1 > watched.window.0);
                let counted = watched.issues.iter().filter(|issue| issue.at >= watched.window.0).count();
                let cycles =
                    f64::from(watched.window.1 - watched.window.0) * insts.len() as f64 / counted as f64;
                assert!((cycles - steady.cycles).abs() < 0.01, "{cycles} {}", steady.cycles);
            }
        });
    }
}
