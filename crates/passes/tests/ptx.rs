//! Scheduling of whole PTX modules.

use sassafras_list::registry::{self, Entry, Input, STRATEGIES};
use sassafras_passes::Options;
use sassafras_passes::ptx::schedule_ptx;
use sassafras_ptx::Module;

fn scheduled(source: &str, strategy: &str, change: impl Fn(&mut Options)) -> String {
    let mut module = Module::parse(source).expect("PTX");
    let strategy = registry::find(strategy).expect("a strategy");
    let mut options = Options { strategy, ..Options::default() };
    change(&mut options);
    schedule_ptx(&mut module, &options, None, |_| true).expect("legal");
    module.print()
}

fn all() -> impl Iterator<Item = &'static Entry> {
    STRATEGIES.iter().filter(|entry| entry.takes(Input::Ptx))
}

fn kernel(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
         \t.reg .pred %p<4>;\n\t.reg .b32 %r<32>;\n\t.reg .f32 %f<80>;\n\t.reg .b64 %d<16>;\n{body}\tret;\n}}\n"
    )
}

const LOADS: &str = "\tld.param.u64 %d0, [p];\n\
    \tld.global.f32 %f0, [%d0];\n\
    \tmul.rn.f32 %f1, %f0, %f0;\n\
    \tst.global.f32 [%d0+64], %f1;\n\
    \tld.global.nc.f32 %f2, [%d0+4];\n\
    \tmul.rn.f32 %f3, %f2, %f2; // twice\n\
    \tst.global.f32 [%d0+68], %f3;\n";

#[test]
fn the_original_order_is_the_same_text() {
    let source = kernel(LOADS);
    assert_eq!(scheduled(&source, "original", |_| {}), source);
}

#[test]
fn latency_comes_before_arithmetic() {
    let printed = scheduled(&kernel(LOADS), "converge", |_| {});
    let at = |text: &str| printed.find(text).unwrap_or_else(|| panic!("{text} in\n{printed}"));
    assert!(at("ld.global.nc.f32 %f2") < at("mul.rn.f32 %f1"), "{printed}");
    assert!(printed.contains("mul.rn.f32 %f3, %f2, %f2; // twice\n"), "comments move along");
}

const LOOP: &str = "$again:\n\
    \txor.b32 %r1, %r2, %r1;\n\
    \tadd.s32 %r3, %r3, %r2;\n\
    \tadd.f32 %f1, %f2, %f1;\n\
    \tsub.s32 %r4, %r2, %r4;\n\
    \tsetp.lt.s32 %p1, %r3, 100;\n\
    \t@%p1 bra $again;\n";

#[test]
fn recurrences_come_first() {
    let printed = scheduled(&kernel(LOOP), "source", |_| {});
    assert!(printed.contains("xor.b32 %r1, %r1, %r2;"), "{printed}");
    for same in ["add.s32 %r3, %r3, %r2;", "add.f32 %f1, %f2, %f1;", "sub.s32 %r4, %r2, %r4;"] {
        assert!(printed.contains(same), "{same} stays in\n{printed}");
    }
    let limited = |o: &mut Options| o.terms.chain_limit = 0;
    assert_eq!(scheduled(&kernel(LOOP), "source", limited), kernel(LOOP));
}

#[test]
fn chains_are_followed_up_to_their_limit() {
    let body = "$again:\n\
        \tadd.s32 %r2, %r9, %r1;\n\
        \tadd.s32 %r3, %r9, %r2;\n\
        \tmov.b32 %r1, %r3;\n\
        \tsetp.lt.s32 %p1, %r3, 100;\n\
        \t@%p1 bra $again;\n";
    let with = |limit: u32| scheduled(&kernel(body), "source", |o| o.terms.chain_limit = limit);
    assert_eq!(with(2), kernel(body), "three instructions go around");
    assert!(with(3).contains("add.s32 %r3, %r2, %r9;") && with(3).contains("add.s32 %r2, %r1, %r9;"));
}

#[test]
fn accumulators_stay_behind_the_wait_of_their_warp_group() {
    let accumulators: Vec<String> = (0..4).map(|i| format!("%f{i}")).collect();
    let body = format!(
        "\twgmma.fence.sync.aligned;\n\
         \twgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {{{}}}, %d1, %d2, 1, 1, 1;\n\
         \twgmma.commit_group.sync.aligned;\n\
         \tld.global.f32 %f20, [%d3];\n\
         \twgmma.wait_group.sync.aligned 0;\n\
         \tadd.rn.f32 %f21, %f0, %f20;\n\
         \tst.global.f32 [%d3+4], %f21;\n",
        accumulators.join(", ")
    );
    for strategy in all() {
        let printed = scheduled(&kernel(&body), strategy.name, |_| {});
        let at = |text: &str| printed.find(text).expect("still there");
        let (fence, mma) = (at("wgmma.fence"), at("wgmma.mma_async"));
        let (commit, wait) = (at("wgmma.commit_group"), at("wgmma.wait_group"));
        assert!(fence < mma && mma < commit && commit < wait && wait < at("add.rn.f32"), "{}", strategy.name);
    }
}

#[test]
fn directives_leave_registers() {
    // Eight values live at once, and room for them or not.
    let mut body = String::from("\tld.param.u64 %d0, [p];\n");
    for i in 0..24 {
        body += &format!("\tld.global.nc.f32 %f{i}, [%d0+{}];\n", 4 * i);
    }
    for i in 0..24 {
        body += &format!("\tst.global.f32 [%d0+{}], %f{i};\n", 1024 + 4 * i);
    }
    let source = kernel(&body);
    let limited = source.replace("(.param .u64 p)\n", "(.param .u64 p)\n.maxnreg 16\n");
    let source_order = "source";
    assert_eq!(scheduled(&source, source_order, |_| {}), source, "enough registers");
    assert_ne!(scheduled(&limited, source_order, |_| {}), limited, "too few registers");
}

#[test]
fn every_strategy_gives_a_module_that_parses_to_the_same_instructions() {
    for body in [LOADS, LOOP] {
        for strategy in all() {
            let printed = scheduled(&kernel(body), strategy.name, |_| {});
            let again = Module::parse(&printed).expect("PTX");
            let module = Module::parse(&kernel(body)).expect("PTX");
            assert_eq!(again.inst_count(), module.inst_count(), "{}", strategy.name);
        }
    }
}
