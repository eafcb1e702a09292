//! How the time of the hazard checker grows: with instructions and blocks, not with their square. Margins are wide, so that
//! only another power shows.

use sassafras_ir::function::InstSpec;
use sassafras_ir::{Effects, Function, Lane, Operand, Payload, RegClass, Span};
use sassafras_machine::Arch;
use sassafras_testkit::timing::seconds;
use sassafras_verify::hazards::{MOST_FINDINGS, Paths, Rules, check};

/// Stall 1, no scoreboard, no wait.
const FIELDS: u128 = (1 | 7 << 5 | 7 << 8) << 105;

/// The power by which the time grows from the one size to the other; the best of three rounds.
fn power<I, T>(sizes: [usize; 2], prepare: impl Fn(usize) -> I, call: impl Fn(&I) -> T) -> f64 {
    let inputs = sizes.map(prepare);
    let [few, many] =
        inputs.each_ref().map(|input| (0..3).map(|_| seconds(|| call(input))).fold(f64::INFINITY, f64::min));
    (many / few).ln() / (sizes[1] as f64 / sizes[0] as f64).ln()
}

fn rules() -> &'static Rules {
    let arch: Arch = "sm_80".parse().expect("an architecture");
    Rules::of(arch)
}

/// As many blocks as instructions, all opaque: what a section of zeros becomes.
fn opaque(count: usize) -> Function {
    let mut f = Function::new("f", "sm_80");
    for i in 0..count {
        let block = f.add_block(&format!("L{i:x}"));
        let last = i + 1 == count;
        let effects = if last { Effects::OPAQUE | Effects::EXIT } else { Effects::OPAQUE };
        f.push(
            block,
            &InstSpec {
                opcode: "OPAQUE",
                guard: None,
                defs: &[],
                uses: &[],
                effects: Some(effects),
                payload: Payload::Word(0),
            },
        );
    }
    f
}

/// One block in which every instruction reads the result of the one before too soon.
fn chain(count: usize) -> Function {
    let mut f = Function::new("f", "sm_80");
    let block = f.add_block("entry");
    let lane = Lane::physical(RegClass::Gpr, 1).expect("a register");
    let span = Operand::Reg(Span::new(lane, 1).expect("one lane"));
    for i in 0..count {
        let last = i + 1 == count;
        let (defs, uses): (&[Operand], &[Operand]) = if last { (&[], &[]) } else { (&[span], &[span, span]) };
        let opcode = if last { "EXIT" } else { "FADD" };
        let effects = if last { Effects::EXIT } else { Effects::empty() };
        f.push(
            block,
            &InstSpec {
                opcode,
                guard: None,
                defs,
                uses,
                effects: Some(effects),
                payload: Payload::Word(FIELDS),
            },
        );
    }
    f
}

#[test]
fn blocks_cost_the_same_however_many_there_are() {
    let grown = power([50_000, 400_000], opaque, |f| check(f, rules()).findings.len());
    assert!(grown < 1.35, "power {grown:.2}");
}

#[test]
fn findings_cost_the_same_however_many_there_are() {
    let grown = power(
        [MOST_FINDINGS / 16, MOST_FINDINGS / 2],
        |count| {
            let f = chain(count);
            let found = check(&f, rules());
            assert!(found.findings.len() > count / 2 && found.more == 0, "{}", found.findings.len());
            (f, found)
        },
        |(f, found)| {
            let paths = Paths::new(f);
            found.findings.iter().map(|finding| paths.of(finding).len()).sum::<usize>()
        },
    );
    assert!(grown < 1.4, "power {grown:.2}");
}

#[test]
fn of_very_many_findings_the_number_is_right() {
    let found = |count: usize| {
        let report = check(&chain(count), rules());
        assert!(report.findings.len() <= MOST_FINDINGS);
        report.findings.len() as u64 + report.more
    };
    let [few, many] = [1_000, 30_000].map(found);
    assert!(few > 900, "{few}");
    // Every instruction of the chain has as many.
    assert_eq!(many, few + 29_000 * few.div_ceil(1_000));
}
