//! Anti-dependences broken by renaming, on blocks in text.

use sassafras_deps::latency::UnitLatency;
use sassafras_deps::paths::Paths;
use sassafras_deps::{BuildOptions, Node, build};
use sassafras_ir::{Function, text};
use sassafras_list::strategies::{Boosted, Converge, Terms};
use sassafras_list::{Direction, Resources, schedule};
use sassafras_tepid::Code;
use sassafras_tepid::rename::{Breaker, Breaking, Broken, Half};

/// Two loads into one register, each with its sum and its store.
const TWICE: &str = "func f sm_90 (R2:2, R6:2, R1) {
^a:
  R4 = LDG.E global.4[R2:2]
  R5 = FADD R4, R1
  STG.E global.4[R6:2], R5
  R4 = LDG.E global.4[R2:2+4]
  R5 = FADD R4, R1
  STG.E global.4[R6:2+4], R5
  EXIT !exit
}
";

fn order(f: &Function) -> Option<Vec<Node>> {
    let insts = f.block_insts(f.blocks().next()?);
    let graph = build(f, insts, &UnitLatency, BuildOptions::default());
    let terms = Terms { cycles: false, ..Terms::default() };
    let boosted = Boosted::new(&graph, []);
    let resources = Resources::unlimited(1, insts.len());
    let mut converge = Converge::new(&graph, boosted, terms);
    Some(schedule(&graph, &Paths::new(&graph), &resources, Direction::TopDown, &mut converge).order)
}

fn broken(breaking: Breaking, half: Option<Half>, registers: u32) -> Option<Broken> {
    let module = text::parse(TWICE).expect("text");
    let f = &module.functions[0];
    let sources = vec![Default::default(); f.inst_count()];
    let code = Code::new(f, &sources, "sm_90".parse().expect("known"));
    let breaker = Breaker::new(&code, registers, breaking, half)?;
    breaker.block(f.blocks().next().expect("a block"), order)
}

fn renamed(broken: &Broken) -> usize {
    broken.names.insts().len()
}

#[test]
fn with_free_registers_everything_moves() {
    let all = broken(Breaking::All, None, 32).expect("there are registers");
    assert!(renamed(&all) > 0);
    let places: Vec<u32> = all.order.iter().map(|inst| inst.as_u32()).collect();
    let at = |inst: u32| places.iter().position(|&place| place == inst).expect("still there");
    assert!(at(3) < at(2), "the second load no longer waits for the first sum: {places:?}");
}

#[test]
fn without_free_registers_nothing_is_renamed() {
    assert!(broken(Breaking::All, None, 0).is_none());
    // R0 to R7 are all there is; R0 is free, and nothing else.
    let tight = broken(Breaking::All, None, 8);
    assert!(tight.is_none_or(|tight| renamed(&tight) <= 4));
}

#[test]
fn critical_breaks_no_more_than_all() {
    let all = broken(Breaking::All, None, 32).map_or(0, |b| renamed(&b));
    let critical = broken(Breaking::Critical, None, 32).map_or(0, |b| renamed(&b));
    assert!(critical <= all);
}

#[test]
fn halves_break_less() {
    let count = |half| broken(Breaking::All, half, 32).map_or(0, |b| renamed(&b));
    let (all, even, odd) = (count(None), count(Some(Half::Even)), count(Some(Half::Odd)));
    assert!(even < all || odd < all, "{even} and {odd} of {all}");
    assert!(even > 0 || odd > 0);
}
